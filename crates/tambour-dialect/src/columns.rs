//! Names that need the tables: `COLUMNS('pattern') APPLY(f)` in a list of results, and columns with a dot in their name
//! (`nest.a` of a Nested), which the parser takes for a table and its column.

use super::ambiguous::Scope;
use super::lexical::{closing, is_word, next};
use super::sample::Sampling;
use super::unstored::Alias;
use super::{call, refused};
use crate::DialectError;
use crate::walk::{walk_expressions, walk_mut};
use datafusion::arrow::array::{BooleanArray, StringArray};
use datafusion::arrow::compute::regexp_is_match_scalar;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Query,
    Select, SelectItem, TableFactor, TableWithJoins, Value, VisitorMut,
};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};
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

/// What COLUMNS, and APPLY and EXCEPT after it, are called after the tokens were read.
pub(super) const COLUMNS: &str = "\u{1f}columns";
const APPLY: &str = "\u{1f}apply";
const EXCEPT: &str = "\u{1f}except";

/// `COLUMNS('a') APPLY(f) EXCEPT(b)` becomes a call whose further arguments are calls of these; `* APPLY(f)` one with all columns.
pub(super) fn arrange(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    while at < tokens.len() {
        let after = next(tokens, at);
        if tokens[at].token == Token::Mul && is_applied(tokens, at) {
            let span = tokens[at].span;
            let call = [
                Token::make_word(COLUMNS, Some('"')),
                Token::LParen,
                Token::SingleQuotedString(String::new()),
                Token::RParen,
            ];
            tokens.splice(at..=at, call.map(|token| TokenWithSpan { token, span }));
            modifiers(tokens, at + 1);
        } else if is_word(&tokens[at].token, "COLUMNS")
            && let Some(open) = after.filter(|it| tokens[*it].token == Token::LParen)
        {
            tokens[at].token = Token::make_word(COLUMNS, Some('"'));
            modifiers(tokens, open);
        }
        at += 1;
    }
}

/// True if APPLY stands after an asterisk, or after EXCEPT after it.
fn is_applied(tokens: &[TokenWithSpan], star: usize) -> bool {
    let mut at = star;
    while let Some(word) = next(tokens, at) {
        if is_word(&tokens[word].token, "APPLY") {
            return true;
        }
        if !is_word(&tokens[word].token, "EXCEPT") {
            return false;
        }
        let Some(inner) = next(tokens, word) else { return false };
        let end = match tokens[inner].token {
            Token::LParen => closing(tokens, inner),
            _ => Some(inner),
        };
        let Some(end) = end else { return false };
        at = end;
    }
    false
}

/// Moves what stands after the parentheses of a call into them.
fn modifiers(tokens: &mut Vec<TokenWithSpan>, open: usize) {
    let Some(mut end) = closing(tokens, open) else { return };
    while let Some(word) = next(tokens, end) {
        let name = if is_word(&tokens[word].token, "APPLY") {
            APPLY
        } else if is_word(&tokens[word].token, "EXCEPT") {
            EXCEPT
        } else {
            return;
        };
        let Some(inner) = next(tokens, word) else { return };
        let last = match tokens[inner].token {
            Token::LParen => closing(tokens, inner),
            // `APPLY f` is `APPLY(f)`, and `APPLY x -> x + 1` goes up to the next comma or clause.
            Token::Word(_) => {
                let last = end_of_lambda(tokens, inner).unwrap_or(inner);
                let span = tokens[inner].span;
                tokens.insert(last + 1, TokenWithSpan { token: Token::RParen, span });
                tokens.insert(inner, TokenWithSpan { token: Token::LParen, span });
                Some(last + 2)
            }
            _ => None,
        };
        let Some(last) = last else { return };
        // The parenthesis that ended the call ends it after this.
        tokens[word].token = Token::make_word(name, Some('"'));
        let closing = tokens[end].clone();
        tokens[end].token = Token::Comma;
        tokens.insert(last + 1, closing);
        end = last + 1;
    }
}

/// The last token of a lambda that stands without parentheses.
fn end_of_lambda(tokens: &[TokenWithSpan], start: usize) -> Option<usize> {
    let arrow = next(tokens, start).filter(|it| tokens[*it].token == Token::Arrow)?;
    let mut last = arrow;
    let mut at = arrow;
    while let Some(place) = next(tokens, at) {
        let is_end = match &tokens[place].token {
            Token::Comma | Token::RParen | Token::SemiColon | Token::EOF => true,
            token => ["FROM", "APPLY", "EXCEPT", "UNION", "FORMAT", "SETTINGS"]
                .iter()
                .any(|word| is_word(token, word)),
        };
        if is_end {
            break;
        }
        at = match tokens[place].token {
            Token::LParen | Token::LBracket => closing(tokens, place)?,
            _ => place,
        };
        last = at;
    }
    Some(last)
}

/// Writes the columns out that COLUMNS stands for.
pub(super) fn expand(select: &mut Select, scope: &Scope<'_>) -> Result<(), DialectError> {
    if !select.projection.iter().any(|item| pattern_in(item).is_some()) {
        spread(select, scope);
        return Ok(());
    }
    let known = known(select, scope)?;
    let mut expanded = Vec::with_capacity(select.projection.len());
    for item in std::mem::take(&mut select.projection) {
        if pattern_in(&item).is_none() {
            expanded.push(item);
            continue;
        }
        match item {
            SelectItem::UnnamedExpr(Expr::Function(function)) if is_pattern(&function) => {
                expanded.extend(found(&function, &known)?);
            }
            mut item => {
                if let ControlFlow::Break(error) =
                    walk_mut(&mut item, &mut Within { known: &known })
                {
                    return Err(error);
                }
                if pattern_in(&item).is_some() {
                    return Err(refused("COLUMNS beside an operator", "it is several columns"));
                }
                expanded.push(item);
            }
        }
    }
    if expanded.is_empty() {
        return Err(refused("COLUMNS", "no column has such a name"));
    }
    check_names(&expanded)?;
    select.projection = expanded;
    Ok(())
}

/// Refuses a column of COLUMNS that has the name of another result: bare, it would be read as that one.
fn check_names(projection: &[SelectItem]) -> Result<(), DialectError> {
    for item in projection {
        let SelectItem::ExprWithAlias { expr, alias } = item else { continue };
        let is_it = |it: &SelectItem| match it {
            SelectItem::UnnamedExpr(Expr::Identifier(name)) => name.value == alias.value,
            _ => false,
        };
        if projection.iter().any(is_it) {
            return Err(refused(
                format!("the name {} for two results beside COLUMNS", alias.value),
                format!("it stands for the column and for {expr}"),
            ));
        }
    }
    Ok(())
}

/// COLUMNS in a result, if it is there.
fn pattern_in(item: &SelectItem) -> Option<Function> {
    let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else {
        return None;
    };
    let found = walk_expressions(expr, |expr| match expr {
        Expr::Function(function) if is_pattern(function) => ControlFlow::Break(function.clone()),
        _ => ControlFlow::Continue(()),
    });
    found.break_value()
}

fn value_of(item: SelectItem) -> Expr {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => expr,
        _ => Expr::value(Value::Null),
    }
}

/// The columns that COLUMNS stands for.
fn found(function: &Function, known: &[String]) -> Result<Vec<SelectItem>, DialectError> {
    results(call::arguments(&mut function.clone()).unwrap_or_default(), known)
}

/// Among the arguments of a function, COLUMNS is as many arguments; elsewhere it stands for one column only.
struct Within<'a> {
    known: &'a [String],
}

impl Within<'_> {
    fn columns(&self, expr: &Expr) -> Result<Option<Vec<Expr>>, DialectError> {
        match expr {
            Expr::Function(function) if is_pattern(function) => {
                let columns = found(function, self.known)?;
                Ok(Some(columns.into_iter().map(value_of).collect()))
            }
            _ => Ok(None),
        }
    }

    fn replace(&self, expr: &mut Expr) -> Result<(), DialectError> {
        if let Some(columns) = self.columns(expr)? {
            if let Ok([only]) = <[Expr; 1]>::try_from(columns) {
                *expr = only;
            }
            return Ok(());
        }
        let Expr::Function(function) = expr else { return Ok(()) };
        let Some(arguments) = call::arguments(function) else { return Ok(()) };
        let mut all = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match self.columns(&argument)? {
                Some(columns) => all.extend(columns),
                None => all.push(argument),
            }
        }
        call::set_arguments(function, all);
        Ok(())
    }
}

impl VisitorMut for Within<'_> {
    type Break = DialectError;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<DialectError> {
        match self.replace(expr) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
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
    let (mut names, mut functions, mut is_first) = (Vec::new(), Vec::new(), true);
    for argument in list {
        match argument {
            Expr::Value(value) if is_first => match value.value {
                Value::SingleQuotedString(pattern) => names = matching(&pattern, known)?,
                other => {
                    return Err(refused(
                        format!("COLUMNS({other})"),
                        "it takes a pattern in quotes, or names",
                    ));
                }
            },
            Expr::Identifier(name) => names.push(name.value),
            Expr::Function(mut function) if call::name(&function) == Some(APPLY) => {
                functions.extend(call::arguments(&mut function).unwrap_or_default());
            }
            Expr::Function(mut function) if call::name(&function) == Some(EXCEPT) => {
                let except = call::arguments(&mut function).unwrap_or_default();
                let except: Vec<String> = except.iter().map(ToString::to_string).collect();
                names.retain(|name| !except.iter().any(|it| it.trim_matches(['`', '"']) == name));
            }
            _ => return Err(refused("COLUMNS of this", "it takes a pattern in quotes, or names")),
        }
        is_first = false;
    }
    names
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
    // The parser does not take NULL for a name.
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
