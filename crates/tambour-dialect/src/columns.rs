//! Names that need the tables: `COLUMNS('pattern') APPLY(f)` in a list of results, and columns with a dot in their name
//! (`nest.a` of a Nested), which the parser takes for a table and its column.

use super::lexical::{closing, is_word, next};
use super::sample::Sampling;
use super::{call, refused};
use crate::DialectError;
use datafusion::arrow::array::{BooleanArray, StringArray};
use datafusion::arrow::compute::regexp_is_match_scalar;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, Expr, Ident, Select, SelectItem, TableFactor, Value, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};
use std::collections::BTreeMap;
use std::ops::{ControlFlow, Deref, DerefMut};

/// What is known of tables before planning: their columns by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalog {
    columns: BTreeMap<String, Vec<String>>,
    /// What those are sampled by that can be.
    pub samplings: BTreeMap<String, Sampling>,
}

impl Catalog {
    /// Nothing is known.
    pub fn new() -> Self {
        Self::default()
    }
}

impl FromIterator<(String, Vec<String>)> for Catalog {
    fn from_iter<I: IntoIterator<Item = (String, Vec<String>)>>(tables: I) -> Self {
        Self { columns: tables.into_iter().collect(), samplings: BTreeMap::new() }
    }
}

impl Deref for Catalog {
    type Target = BTreeMap<String, Vec<String>>;

    fn deref(&self) -> &Self::Target {
        &self.columns
    }
}

impl DerefMut for Catalog {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.columns
    }
}

/// What COLUMNS is called after the tokens were read.
pub(super) const COLUMNS: &str = "\u{1f}columns";

/// `COLUMNS('a') APPLY(f)` becomes a call with f as its second argument; `* APPLY(f)` one with all columns.
pub(super) fn arrange(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    while at < tokens.len() {
        let after = next(tokens, at);
        let is = |place: Option<usize>, word: &str| {
            place.is_some_and(|it| is_word(&tokens[it].token, word))
        };
        let is_all = tokens[at].token == Token::Mul && is(after, "APPLY");
        if is_all {
            let span = tokens[at].span;
            let call = [
                Token::make_word(COLUMNS, Some('"')),
                Token::LParen,
                Token::SingleQuotedString(String::new()),
                Token::RParen,
            ];
            tokens.splice(at..=at, call.map(|token| TokenWithSpan { token, span }));
            functions(tokens, at + 1);
        } else if is_word(&tokens[at].token, "COLUMNS")
            && let Some(open) = after.filter(|it| tokens[*it].token == Token::LParen)
        {
            tokens[at].token = Token::make_word(COLUMNS, Some('"'));
            functions(tokens, open);
        }
        at += 1;
    }
}

/// Moves the functions of APPLY into the parentheses of a call.
fn functions(tokens: &mut [TokenWithSpan], open: usize) {
    let blank = || Token::Whitespace(Whitespace::Space);
    let Some(mut end) = closing(tokens, open) else { return };
    while let Some(apply) = next(tokens, end).filter(|it| is_word(&tokens[*it].token, "APPLY")) {
        let Some(inner) = next(tokens, apply).filter(|it| tokens[*it].token == Token::LParen)
        else {
            return;
        };
        let Some(last) = closing(tokens, inner) else { return };
        tokens[end].token = Token::Comma;
        tokens[apply].token = blank();
        tokens[inner].token = blank();
        end = last;
    }
}

/// Writes the columns out that COLUMNS stands for.
pub(super) fn expand(select: &mut Select, catalog: &Catalog) -> Result<(), DialectError> {
    let is_one = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(Expr::Function(it)) => call::name(it) == Some(COLUMNS),
        _ => false,
    };
    if !select.projection.iter().any(is_one) {
        return Ok(());
    }
    let known = known(select, catalog)?;
    let mut expanded = Vec::with_capacity(select.projection.len());
    for item in std::mem::take(&mut select.projection) {
        match item {
            SelectItem::UnnamedExpr(Expr::Function(mut function))
                if call::name(&function) == Some(COLUMNS) =>
            {
                let list = call::arguments(&mut function).unwrap_or_default();
                expanded.extend(results(list, &known)?);
            }
            other => expanded.push(other),
        }
    }
    if expanded.is_empty() {
        return Err(refused("COLUMNS", "no column has such a name"));
    }
    select.projection = expanded;
    Ok(())
}

/// The columns of the tables of a SELECT.
fn known(select: &Select, catalog: &Catalog) -> Result<Vec<String>, DialectError> {
    let unknown =
        || refused("COLUMNS of a subquery or join", "name the columns, or read from one table");
    let [table] = select.from.as_slice() else { return Err(unknown()) };
    let TableFactor::Table { name, args: None, .. } = &table.relation else {
        return Err(unknown());
    };
    let last = name.0.last().and_then(|part| part.as_ident());
    match last.and_then(|last| catalog.get(&last.value)) {
        Some(columns) if table.joins.is_empty() => Ok(columns.clone()),
        _ => Err(unknown()),
    }
}

fn results(list: Vec<Expr>, known: &[String]) -> Result<Vec<SelectItem>, DialectError> {
    let mut list = list.into_iter();
    let pattern = match list.next() {
        Some(Expr::Value(value)) => match value.value {
            Value::SingleQuotedString(text) => text,
            other => {
                return Err(refused(format!("COLUMNS({other})"), "it takes a pattern in quotes"));
            }
        },
        _ => return Err(refused("COLUMNS of this", "it takes a pattern in quotes")),
    };
    let functions: Vec<Expr> = list.collect();
    matching(&pattern, known)?
        .into_iter()
        .map(|name| {
            let mut expr = Expr::Identifier(Ident::with_quote('"', name));
            for function in &functions {
                expr = applied(function, expr)?;
            }
            Ok(match expr {
                Expr::Identifier(_) => SelectItem::UnnamedExpr(expr),
                other => {
                    let alias = Ident::with_quote('"', other.to_string().replace('"', ""));
                    SelectItem::ExprWithAlias { expr: other, alias }
                }
            })
        })
        .collect()
}

fn matching(pattern: &str, known: &[String]) -> Result<Vec<String>, DialectError> {
    let names = StringArray::from_iter_values(known);
    let found: BooleanArray = regexp_is_match_scalar(&names, pattern, None)
        .map_err(|error| DialectError::Syntax(error.into()))?;
    let is_found = |index: usize| found.value(index);
    Ok(known
        .iter()
        .enumerate()
        .filter(|(index, _)| is_found(*index))
        .map(|(_, name)| name.clone())
        .collect())
}

/// A function of APPLY on a column.
fn applied(function: &Expr, column: Expr) -> Result<Expr, DialectError> {
    match function {
        Expr::Identifier(name) => Ok(Expr::Function(call::call(&name.value, vec![column]))),
        Expr::Lambda(lambda) => {
            let mut body = (*lambda.body).clone();
            let Some(parameter) = lambda.params.iter().next().map(|it| it.name.value.clone())
            else {
                return Err(refused("APPLY of this lambda", "it takes one parameter"));
            };
            // The visit never ends early.
            let _ = body.visit(&mut Parameter { parameter, column });
            Ok(body)
        }
        other => {
            Err(refused(format!("APPLY({other})"), "it takes the name of a function or x -> ..."))
        }
    }
}

/// Puts a column in the place of a lambda's parameter.
struct Parameter {
    parameter: String,
    column: Expr,
}

impl VisitorMut for Parameter {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if matches!(expr, Expr::Identifier(name) if name.value == self.parameter) {
            *expr = self.column.clone();
        }
        ControlFlow::Continue(())
    }
}

/// A column whose name has a dot, written without quotes.
pub(super) fn dotted(expr: &mut Expr, catalog: &Catalog) {
    if let Expr::CompoundFieldAccess { root, access_chain } = expr {
        // `nest.a[1]`
        if let (Expr::Identifier(first), Some(AccessExpr::Dot(Expr::Identifier(second)))) =
            (&**root, access_chain.first())
        {
            let mut column = Expr::CompoundIdentifier(vec![first.clone(), second.clone()]);
            dotted(&mut column, catalog);
            if matches!(column, Expr::Identifier(_)) {
                **root = column;
                access_chain.remove(0);
            }
        }
        return;
    }
    let Expr::CompoundIdentifier(parts) = expr else { return };
    let is_column =
        |name: &str| catalog.values().any(|columns| columns.iter().any(|it| it == name));
    let joined = |parts: &[Ident]| {
        parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".")
    };
    let whole = joined(parts);
    if is_column(&whole) {
        *expr = Expr::Identifier(Ident::with_quote('"', whole));
    } else if let [table, rest @ ..] = parts.as_slice()
        && rest.len() > 1
        && is_column(&joined(rest))
    {
        let column = Ident::with_quote('"', joined(rest));
        *expr = Expr::CompoundIdentifier(vec![table.clone(), column]);
    }
}
