//! Names that need the tables: `COLUMNS('pattern') APPLY(f)` in a list of results, and columns with a dot in their name
//! (`nest.a` of a Nested), which the parser takes for a table and its column.

use super::ambiguous::Scope;
use super::lexical::{closing, is_word, next};
use super::sample::Sampling;
use super::unstored::Alias;
use super::{call, refused};
use crate::DialectError;
use crate::walk::walk_mut;
use datafusion::arrow::array::{BooleanArray, StringArray};
use datafusion::arrow::compute::regexp_is_match_scalar;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Query,
    Select, SelectItem, TableFactor, TableWithJoins, Value, VisitorMut,
};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{ControlFlow, Deref, DerefMut};

/// What is known of tables before planning: their columns by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalog {
    columns: BTreeMap<String, Vec<String>>,
    /// What those are sampled by that can be.
    pub samplings: BTreeMap<String, Sampling>,
    /// The columns that `*` does not stand for, of tables that have such.
    pub hidden: BTreeMap<String, Vec<String>>,
    /// The tables that have the columns [`crate::PLACES_OF_ROWS`].
    pub parts: BTreeSet<String>,
    /// The columns that are expressions over others, of tables that have such.
    pub aliases: BTreeMap<String, Vec<Alias>>,
}

impl Catalog {
    /// Nothing is known.
    pub fn new() -> Self {
        Self::default()
    }
    /// The columns of a table that `*` stands for.
    pub(super) fn shown(&self, table: &str) -> Option<Vec<String>> {
        let hidden = self.hidden.get(table).map_or(&[][..], Vec::as_slice);
        let shown = self.columns.get(table)?.iter().filter(|column| !hidden.contains(column));
        Some(shown.cloned().collect())
    }
}

impl FromIterator<(String, Vec<String>)> for Catalog {
    fn from_iter<I: IntoIterator<Item = (String, Vec<String>)>>(tables: I) -> Self {
        Self { columns: tables.into_iter().collect(), ..Self::default() }
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
fn functions(tokens: &mut Vec<TokenWithSpan>, open: usize) {
    let blank = || Token::Whitespace(Whitespace::Space);
    let Some(mut end) = closing(tokens, open) else { return };
    while let Some(apply) = next(tokens, end).filter(|it| is_word(&tokens[*it].token, "APPLY")) {
        let Some(inner) = next(tokens, apply) else { return };
        let last = match tokens[inner].token {
            Token::LParen => {
                let Some(last) = closing(tokens, inner) else { return };
                tokens[inner].token = blank();
                last
            }
            // `APPLY f` is `APPLY(f)`.
            Token::Word(_) => {
                let span = tokens[inner].span;
                tokens.insert(inner + 1, TokenWithSpan { token: Token::RParen, span });
                inner + 1
            }
            _ => return,
        };
        tokens[end].token = Token::Comma;
        tokens[apply].token = blank();
        end = last;
    }
}

/// Writes the columns out that COLUMNS stands for.
pub(super) fn expand(select: &mut Select, scope: &Scope<'_>) -> Result<(), DialectError> {
    let is_one = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(Expr::Function(it)) => is_pattern(it),
        _ => false,
    };
    if !select.projection.iter().any(is_one) {
        spread(select, scope);
        return Ok(());
    }
    let known = known(select, scope)?;
    let mut expanded = Vec::with_capacity(select.projection.len());
    for item in std::mem::take(&mut select.projection) {
        match item {
            SelectItem::UnnamedExpr(Expr::Function(mut function)) if is_pattern(&function) => {
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

/// The columns of what a SELECT reads from.
fn known(select: &Select, scope: &Scope<'_>) -> Result<Vec<String>, DialectError> {
    if let [TableWithJoins { relation: TableFactor::Table { name, args: None, .. }, joins }] =
        select.from.as_slice()
        && let Some(own) = name.0.last().and_then(|last| last.as_ident())
        && joins.is_empty()
        && !scope.queries.contains_key(&own.value)
    {
        // Unlike `*`, COLUMNS finds columns that are MATERIALIZED too.
        if scope.catalog.aliases.contains_key(&own.value) {
            return Err(refused("COLUMNS of a table with ALIAS columns", "name the columns"));
        }
        if let Some(columns) = scope.catalog.get(&own.value) {
            return Ok(columns.clone());
        }
    }
    all_of(&select.from, scope).ok_or_else(|| {
        refused("COLUMNS of a join or a function", "name the columns, or read from one table")
    })
}

/// The columns that `*` stands for, of one table or one subquery; `None` where they are not known.
fn all_of(from: &[TableWithJoins], scope: &Scope<'_>) -> Option<Vec<String>> {
    match from {
        [TableWithJoins { relation, joins }] if joins.is_empty() => scope.of_relation(relation),
        _ => None,
    }
}

/// True for COLUMNS.
pub(super) fn is_pattern(function: &Function) -> bool {
    call::name(function) == Some(COLUMNS)
}

/// `f(*)` takes all columns, but for `count(*)`.
fn spread(select: &mut Select, scope: &Scope<'_>) {
    let Some(columns) = all_of(&select.from, scope) else { return };
    let _ = walk_mut(&mut select.projection, &mut Spread { columns, queries: 0 });
}

struct Spread {
    columns: Vec<String>,
    queries: usize,
}

impl VisitorMut for Spread {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.queries += 1;
        ControlFlow::Continue(())
    }
    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.queries -= 1;
        ControlFlow::Continue(())
    }
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
        let is_count = call::name(function).is_none_or(|name| name.eq_ignore_ascii_case("count"));
        let FunctionArguments::List(list) = &mut function.args else {
            return ControlFlow::Continue(());
        };
        let is_all =
            |it: &FunctionArg| matches!(it, FunctionArg::Unnamed(FunctionArgExpr::Wildcard));
        if self.queries > 0 || is_count || !list.args.iter().any(is_all) {
            return ControlFlow::Continue(());
        }
        let column = |name: &String| {
            let column = Expr::Identifier(Ident::with_quote('"', name.clone()));
            FunctionArg::Unnamed(FunctionArgExpr::Expr(column))
        };
        let args = std::mem::take(&mut list.args);
        list.args = args
            .into_iter()
            .flat_map(|it| {
                if is_all(&it) { self.columns.iter().map(column).collect() } else { vec![it] }
            })
            .collect();
        ControlFlow::Continue(())
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
            let _ = walk_mut(&mut body, &mut Parameter { parameter, column });
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

/// `n.null` and `a.size0`: what a column is stored as beside its values.
fn subcolumn(parts: &[Ident], is_column: &dyn Fn(&str) -> bool) -> Option<Expr> {
    let (last, column) = parts.split_last()?;
    let name = column.last().filter(|it| column.len() < 3 && is_column(&it.value))?;
    let column = match column {
        [_] => Expr::Identifier(name.clone()),
        several => Expr::CompoundIdentifier(several.to_vec()),
    };
    match last.value.as_str() {
        "null" => {
            let flag = Expr::IsNull(Box::new(column));
            Some(Expr::Function(call::call("toUInt8", vec![flag])))
        }
        "size0" => Some(Expr::Function(call::call("length", vec![column]))),
        _ => None,
    }
}

/// A column whose name has a dot, written without quotes.
pub(super) fn dotted(expr: &mut Expr, catalog: &Catalog) {
    let is_column =
        |name: &str| catalog.values().any(|columns| columns.iter().any(|it| it == name));
    // NULL is no name for the parser.
    if let Expr::CompoundFieldAccess { root, access_chain } = &*expr
        && let [AccessExpr::Dot(Expr::Value(value))] = access_chain.as_slice()
        && value.value == Value::Null
    {
        let mut parts = match root.as_ref() {
            Expr::Identifier(name) => vec![name.clone()],
            Expr::CompoundIdentifier(parts) => parts.clone(),
            _ => return,
        };
        parts.push(Ident::new("null"));
        if let Some(piece) = subcolumn(&parts, &is_column) {
            *expr = piece;
        }
        return;
    }
    let Expr::CompoundIdentifier(parts) = expr else { return };
    let joined = |parts: &[Ident]| {
        parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".")
    };
    let whole = joined(parts);
    if is_column(&whole) {
        *expr = Expr::Identifier(Ident::with_quote('"', whole));
    } else if let Some(piece) = subcolumn(parts, &is_column) {
        *expr = piece;
    } else if let [table, rest @ ..] = parts.as_slice()
        && rest.len() > 1
        && is_column(&joined(rest))
    {
        let column = Ident::with_quote('"', joined(rest));
        *expr = Expr::CompoundIdentifier(vec![table.clone(), column]);
    }
}
