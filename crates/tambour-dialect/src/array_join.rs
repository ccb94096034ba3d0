//! `ARRAY JOIN a, f(b) AS c`: a subquery that has a row for each element.

use super::ambiguous::Scope;
use super::columns::Catalog;
use super::grammar::Grammar;
use super::lexical::{closing, is_keyword, next};
use super::{call, marks, refused};
use crate::DialectError;
use crate::walk::{walk, walk_mut};
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::ast::{
    ExceptSelectItem, Expr, FunctionArguments, Ident, Join, JoinOperator, ObjectName, Query,
    Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, TableAlias, TableFactor,
    TableWithJoins, Visitor, VisitorMut,
};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// `ARRAY JOIN [1, 2] AS a` is `ARRAY JOIN array(1, 2) AS a`: the parser takes what is joined for a table or a function.
pub(super) fn arrange(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    while at + 1 < tokens.len() {
        let join = next(tokens, at).filter(|_| is_keyword(&tokens[at].token, Keyword::ARRAY));
        if let Some(join) = join.filter(|it| is_keyword(&tokens[*it].token, Keyword::JOIN)) {
            lists(tokens, join);
        }
        at += 1;
    }
}

fn lists(tokens: &mut Vec<TokenWithSpan>, join: usize) {
    let mut is_start = true;
    let mut at = join;
    while let Some(place) = next(tokens, at) {
        at = place;
        match &tokens[place].token {
            Token::LBracket if is_start => {
                let Some(end) = closing(tokens, place) else { return };
                let span = tokens[place].span;
                tokens[end].token = Token::RParen;
                tokens[place].token = Token::LParen;
                let name = TokenWithSpan { token: Token::make_word("array", None), span };
                tokens.insert(place, name);
                at = end + 1;
            }
            Token::LParen | Token::LBracket => match closing(tokens, place) {
                Some(end) => at = end,
                None => return,
            },
            Token::RParen | Token::SemiColon | Token::EOF => return,
            Token::Word(word) if word.quote_style.is_none() && is_clause(word.keyword) => return,
            _ => {}
        }
        is_start = tokens[at].token == Token::Comma;
    }
}

fn is_clause(keyword: Keyword) -> bool {
    use Keyword::{
        FORMAT, GROUP, HAVING, INNER, JOIN, LEFT, LIMIT, ORDER, PREWHERE, QUALIFY, SETTINGS, UNION,
        WHERE, WINDOW,
    };
    matches!(
        keyword,
        WHERE
            | PREWHERE
            | GROUP
            | HAVING
            | ORDER
            | LIMIT
            | SETTINGS
            | FORMAT
            | UNION
            | WINDOW
            | QUALIFY
            | INNER
            | LEFT
            | JOIN
    )
}

/// True for the operators of ARRAY JOIN; and if it keeps rows with empty arrays.
fn kind(operator: &JoinOperator) -> Option<bool> {
    match operator {
        JoinOperator::ArrayJoin | JoinOperator::InnerArrayJoin => Some(false),
        JoinOperator::LeftArrayJoin => Some(true),
        _ => None,
    }
}

/// True for the operators of ARRAY JOIN.
pub(super) fn is_array(operator: &JoinOperator) -> bool {
    kind(operator).is_some()
}

/// In ORDER BY of a SELECT with ARRAY JOIN of a Nested by another name, `n.a` is a column.
pub(super) fn order_by(query: &mut Query, catalog: &Catalog) {
    let SetExpr::Select(select) = &*query.body else { return };
    let joins = select.from.iter().flat_map(|table| &table.joins);
    let mut nested = Nested::default();
    for join in joins.filter(|join| is_array(&join.join_operator)) {
        if let Ok(array) = array(join.relation.clone(), catalog) {
            nested.arrays(array, catalog);
        }
    }
    if !nested.columns.is_empty() {
        let _ = walk_mut(&mut query.order_by, &mut nested);
    }
}

/// Makes subqueries of the ARRAY JOINs of a SELECT.
pub(super) fn from(select: &mut Select, scope: &Scope<'_>) -> Result<(), DialectError> {
    let mut nested = Nested::default();
    let mut at = 0;
    while at < select.from.len() {
        let found = select.from[at]
            .joins
            .iter()
            .enumerate()
            .find_map(|(index, join)| Some((index, kind(&join.join_operator)?)));
        match found {
            Some((index, keeps_empty)) => {
                let is_all =
                    select.projection.iter().any(|it| matches!(it, SelectItem::Wildcard(_)));
                let named = joined(&mut select.from, at, index, keeps_empty, scope, &mut nested)?;
                if let Some(name) = named.shadowed.as_ref().filter(|_| is_all) {
                    return Err(refused(
                        format!("* beside elements named {name}, which is also a column,"),
                        "give the elements another name with AS",
                    ));
                }
                leave_out(&mut select.projection, &named);
            }
            None => at += 1,
        }
    }
    if !nested.columns.is_empty() {
        let _ = walk_mut(select, &mut nested);
    }
    Ok(())
}

/// The names that an ARRAY JOIN gives.
#[derive(Default)]
struct Named {
    /// One that a column has, whose array is another one or has been given the name again.
    shadowed: Option<String>,
    /// Those of elements that are not called as their array is: `*` does not stand for them.
    elements: Vec<String>,
    /// The table whose arrays they are, if it is one.
    table: Option<String>,
}

/// Leaves names out of `*`, and out of `t.*` of the table whose arrays are joined.
fn leave_out(projection: &mut [SelectItem], named: &Named) {
    let is_own = |table: &ObjectName| {
        let last = table.0.last().and_then(|last| last.as_ident());
        last.is_some_and(|last| Some(&last.value) == named.table.as_ref())
    };
    for item in projection {
        let options = match item {
            SelectItem::Wildcard(options) => options,
            SelectItem::QualifiedWildcard(
                SelectItemQualifiedWildcardKind::ObjectName(table),
                options,
            ) if is_own(table) => options,
            _ => continue,
        };
        let mut names = named.elements.iter().map(|name| Ident::with_quote('"', name.clone()));
        match &mut options.opt_except {
            Some(except) => except.additional_elements.extend(names),
            None => {
                options.opt_except = names.next().map(|first_element| ExceptSelectItem {
                    first_element,
                    additional_elements: names.collect(),
                });
            }
        }
    }
}

/// `n.a` after `ARRAY JOIN nest AS n`: the elements of `nest.a`.
#[derive(Default)]
struct Nested {
    columns: BTreeSet<String>,
}

impl Nested {
    /// The columns of a Nested that is joined by its name alone; a plain column stays what it is.
    fn arrays(&mut self, (array, own): (Expr, Ident), catalog: &Catalog) -> Vec<(Expr, Ident)> {
        let Expr::Identifier(name) = &array else { return vec![(array, own)] };
        let prefix = format!("{}.", name.value);
        let columns: BTreeSet<&str> = catalog.values().flatten().map(String::as_str).collect();
        let parts: Vec<&str> = columns.iter().filter_map(|it| it.strip_prefix(&prefix)).collect();
        if columns.contains(name.value.as_str()) || parts.is_empty() {
            return vec![(array, own)];
        }
        let quoted = |start: &str, part: &str| Ident::with_quote('"', format!("{start}.{part}"));
        let arrays = parts.iter().map(|part| {
            let element = quoted(&own.value, part);
            self.columns.insert(element.value.clone());
            (Expr::Identifier(quoted(&name.value, part)), element)
        });
        arrays.collect()
    }
}

impl VisitorMut for Nested {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::CompoundIdentifier(parts) = &*expr else { return ControlFlow::Continue(()) };
        let whole = parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".");
        if self.columns.contains(&whole) {
            *expr = Expr::Identifier(Ident::with_quote('"', whole));
        }
        ControlFlow::Continue(())
    }
}

fn joined(
    from: &mut Vec<TableWithJoins>,
    at: usize,
    index: usize,
    keeps_empty: bool,
    scope: &Scope<'_>,
    nested: &mut Nested,
) -> Result<Named, DialectError> {
    let mut rest: Vec<Join> = from[at].joins.split_off(index);
    let first = rest.remove(0).relation;
    let mut members = vec![first];
    // What follows a comma belongs to the list of arrays, too.
    while rest.is_empty() && at + 1 < from.len() {
        let TableWithJoins { relation, joins } = from.remove(at + 1);
        members.push(relation);
        rest = joins;
    }
    // Those of one Nested have the same length.
    let is_listed = members.len() > 1;
    let again = members.iter().find_map(named_again);
    let catalog = scope.catalog;
    let arrays = members.into_iter().map(|it| array(it, catalog)).collect::<Result<Vec<_>, _>>()?;
    let mut arrays: Vec<(Expr, Ident)> =
        arrays.into_iter().flat_map(|array| nested.arrays(array, catalog)).collect();
    if let TableFactor::Derived { alias: alias @ None, .. } = &mut from[at].relation
        && arrays.len() > 1
    {
        // The name tells its columns from the elements.
        let name = Ident::with_quote('"', BASE);
        *alias = Some(TableAlias { explicit: true, name, columns: Vec::new(), at: None });
    }
    let (columns, table) = match &from[at] {
        table if !table.joins.is_empty() => (None, None),
        table => (scope.of_relation(&table.relation), name(&table.relation)),
    };
    let shadowed = shadowed(columns.as_deref().unwrap_or_default(), &arrays);
    let own_name = table.as_ref().map(|table| table.name.value.clone());
    if let Some(table) = table {
        let mut columns = Columns {
            table: table.name,
            names: arrays.iter().map(|(_, own)| own.value.clone()).collect(),
        };
        for (array, own) in &mut arrays {
            if !matches!(array, Expr::Identifier(name) if name.value == own.value) {
                let _ = walk_mut(array, &mut columns);
            }
        }
    }
    let others = arrays.iter().filter(|array| !is_own(array));
    let named = Named {
        shadowed: shadowed.first().cloned().or(again),
        elements: others.map(|(_, own)| own.value.clone()).collect(),
        table: own_name,
    };
    let below = Below { columns, shadowed };
    over(&mut from[at], arrays, (keeps_empty, is_listed), &below)?;
    from[at].joins = rest;
    Ok(named)
}

/// The name of `ARRAY JOIN a AS a`, beside which `*` has the arrays.
fn named_again(member: &TableFactor) -> Option<String> {
    let TableFactor::Table { name, alias: Some(alias), args: None, .. } = member else {
        return None;
    };
    let is_same = name.0.last()?.as_ident()?.value == alias.name.value;
    is_same.then(|| alias.name.value.clone())
}

/// The name of a subquery that has none.
const BASE: &str = "arrays";

/// What is known of the table whose arrays are joined.
#[derive(Default)]
struct Below {
    /// Its columns, if it is one table that is known.
    columns: Option<Vec<String>>,
    /// Those of them that elements of other arrays hide.
    shadowed: BTreeSet<String>,
}

/// True for elements that are called as their array is.
fn is_own((array, own): &(Expr, Ident)) -> bool {
    matches!(array, Expr::Identifier(name) if name.value == own.value)
}

/// Columns of a table that elements of other arrays hide.
fn shadowed(columns: &[String], arrays: &[(Expr, Ident)]) -> BTreeSet<String> {
    let others = arrays.iter().filter(|array| !is_own(array));
    let names = others.map(|(_, own)| own.value.clone());
    names.filter(|name| columns.contains(name)).collect()
}

/// Puts the table in front of its columns, where elements have their names: an array is a function of whole arrays.
struct Columns {
    table: Ident,
    names: BTreeSet<String>,
}

impl VisitorMut for Columns {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = &*expr
            && self.names.contains(&name.value)
        {
            *expr = Expr::CompoundIdentifier(vec![self.table.clone(), name.clone()]);
        }
        ControlFlow::Continue(())
    }
}

/// The only table of a SELECT with the elements of some arrays, each joined by itself.
pub(super) fn below(select: &mut Select, arrays: Vec<(Expr, Ident)>) -> Result<(), DialectError> {
    for array in arrays {
        if let Some(table) = select.from.first_mut() {
            over(table, vec![array], (false, false), &Below::default())?;
        }
    }
    Ok(())
}

/// A subquery of a table and the elements of some arrays, side by side. Empty arrays may keep their row, and the lengths may
/// have to be looked at.
fn over(
    below: &mut TableWithJoins,
    mut arrays: Vec<(Expr, Ident)>,
    (keeps_empty, is_listed): (bool, bool),
    known: &Below,
) -> Result<(), DialectError> {
    let base = std::mem::take(&mut below.joins);
    let alias = if base.is_empty() { name(&below.relation) } else { None };
    let mut query = parsed(&text(&arrays, known, is_listed))?;
    if is_listed {
        let all = arrays.iter().map(|(array, _)| array.clone()).collect();
        if let Some((first, _)) = arrays.first_mut() {
            *first = Expr::Function(call::call(marks::ALIGNED, all));
        }
    }
    if let Some(inner) = select_of(&mut query) {
        let mut wholes = Vec::new();
        for (place, (array, own)) in arrays.into_iter().enumerate() {
            let array = if is_listed {
                wholes.push(array);
                Expr::Identifier(Ident::with_quote('"', whole(place)))
            } else {
                array
            };
            fill(&mut inner.projection, &own.value, rows_of(array, keeps_empty));
        }
        let lowest = match inner.from.first_mut().map(|table| &mut table.relation) {
            Some(TableFactor::Derived { subquery, .. }) => select_of(subquery),
            _ => Some(inner),
        };
        if let Some(lowest) = lowest {
            for (place, array) in wholes.into_iter().enumerate() {
                fill(&mut lowest.projection, &whole(place), array);
            }
            if let Some(table) = lowest.from.first_mut() {
                std::mem::swap(&mut table.relation, &mut below.relation);
                table.joins = base;
            }
        }
    }
    below.relation = TableFactor::Derived { lateral: false, subquery: query, alias, sample: None };
    Ok(())
}

/// The name by which others call a table.
fn name(table: &TableFactor) -> Option<TableAlias> {
    let of = |name: Ident| TableAlias { explicit: true, name, columns: Vec::new(), at: None };
    match table {
        TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. } => Some(alias.clone()),
        TableFactor::Table { name, .. } => {
            name.0.last().and_then(|part| part.as_ident()).map(|ident| of(ident.clone()))
        }
        _ => None,
    }
}

/// An array with the name that its elements get.
fn array(member: TableFactor, catalog: &Catalog) -> Result<(Expr, Ident), DialectError> {
    let TableFactor::Table { name, alias, args, .. } = &member else {
        return Err(refused(format!("ARRAY JOIN {member}"), "it takes columns and functions"));
    };
    let parts: Option<Vec<Ident>> = name.0.iter().map(|part| part.as_ident().cloned()).collect();
    let Some(mut parts) = parts.filter(|parts| !parts.is_empty()) else {
        return Err(refused(format!("ARRAY JOIN {member}"), "it takes columns and functions"));
    };
    let own = alias.as_ref().map(|alias| alias.name.clone());
    if let Some(arguments) = args {
        let Some(function) = parts.pop().filter(|_| parts.is_empty()) else {
            return Err(refused(format!("ARRAY JOIN {member}"), "there is no such function"));
        };
        let mut call = call::call(&function.value, Vec::new());
        if let FunctionArguments::List(list) = &mut call.args {
            list.args.clone_from(&arguments.args);
        }
        call.name = ObjectName::from(vec![Ident::new(function.value)]);
        let Some(own) = own else {
            return Err(refused(format!("ARRAY JOIN {member}"), "give the result a name with AS"));
        };
        return Ok((Expr::Function(call), own));
    }
    let whole = parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".");
    if parts.len() > 1 && catalog.values().any(|columns| columns.contains(&whole)) {
        // `nest.a` is a column, and its elements are called so too.
        parts = vec![Ident::with_quote('"', whole)];
    }
    let last = parts.last().cloned();
    let column = if parts.len() == 1 {
        parts.pop().map(Expr::Identifier)
    } else {
        Some(Expr::CompoundIdentifier(parts))
    };
    match (column, own.or(last)) {
        (Some(column), Some(own)) => Ok((column, own)),
        _ => Err(refused("ARRAY JOIN of nothing", "name an array")),
    }
}

fn select_of(query: &mut Query) -> Option<&mut Select> {
    match &mut *query.body {
        SetExpr::Select(select) => Some(select),
        _ => None,
    }
}

/// Puts an expression in the place of what has a name.
fn fill(projection: &mut [SelectItem], name: &str, with: Expr) {
    let named = projection.iter_mut().find_map(|item| match item {
        SelectItem::ExprWithAlias { expr, alias } if alias.value == name => Some(expr),
        _ => None,
    });
    if let Some(expr) = named {
        *expr = with;
    }
}

/// The name of an array whose elements are joined with those of others.
fn whole(place: usize) -> String {
    format!("\u{1f}array {place}")
}

/// The elements of an array as rows.
fn rows_of(array: Expr, keeps_empty: bool) -> Expr {
    let array = if keeps_empty {
        Expr::Function(call::call("emptyArrayToSingle", vec![array]))
    } else {
        array
    };
    // By the engine's name: several of them stand side by side here.
    Expr::Function(call::call("unnest", vec![array]))
}

/// The query of all columns and the elements; these stand where the arrays do whose names they have. Arrays that are listed are
/// columns of a query below: the engine makes rows of columns first, and a function of several arrays would no longer find
/// them.
fn text(arrays: &[(Expr, Ident)], known: &Below, is_listed: bool) -> String {
    let quoted = |name: &str| Ident::with_quote('"', name).to_string();
    let one = |name: &str| format!("1 AS {}", quoted(name));
    let wholes: Vec<String> =
        (0..arrays.len()).filter(|_| is_listed).map(|place| one(&whole(place))).collect();
    let below = if is_listed {
        format!("(SELECT *, {} FROM \"nothing\")", wholes.join(", "))
    } else {
        "\"nothing\"".to_owned()
    };
    let (own, others): (Vec<_>, Vec<_>) = arrays.iter().partition(|array| is_own(array));
    let is_element = |name: &String| own.iter().any(|(_, own)| own.value == *name);
    let mut results = Vec::new();
    if let Some(columns) = &known.columns
        && own.iter().all(|(_, own)| columns.contains(&own.value))
    {
        let columns = columns.iter().filter(|name| !known.shadowed.contains(*name));
        results.extend(columns.map(|it| if is_element(it) { one(it) } else { quoted(it) }));
    } else {
        let hidden = own.iter().map(|(_, own)| quoted(&own.value));
        let hidden = hidden.chain(known.shadowed.iter().map(|name| quoted(name)));
        let hidden = hidden.chain((0..wholes.len()).map(|place| quoted(&whole(place))));
        let hidden: Vec<String> = hidden.collect();
        results.push(match hidden.as_slice() {
            [] => "*".to_owned(),
            names => format!("* EXCEPT ({})", names.join(", ")),
        });
        results.extend(own.iter().map(|(_, own)| one(&own.value)));
    }
    results.extend(others.iter().map(|(_, own)| one(&own.value)));
    format!("SELECT {} FROM {below}", results.join(", "))
}

/// The FROM of a query over one row, which a SELECT without FROM is.
pub(super) fn one_row() -> Result<Vec<TableWithJoins>, DialectError> {
    Ok(match *parsed("SELECT 1 FROM system.one")?.body {
        SetExpr::Select(select) => select.from,
        _ => Vec::new(),
    })
}

/// A query of ours.
pub(super) fn parsed(sql: &str) -> Result<Box<Query>, DialectError> {
    let query = Parser::new(&Grammar).try_with_sql(sql).and_then(|mut parser| parser.parse_query());
    Ok(query.map_err(DataFusionError::from)?)
}

/// Refuses what rows cannot be made of: two different arrays in a list of results, an array in a condition.
pub(super) fn check(select: &Select) -> Result<(), DialectError> {
    let mut arrays = BTreeSet::new();
    for item in &select.projection {
        if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
            collect(expr, &mut arrays);
        }
    }
    if arrays.len() > 1 {
        return Err(refused(
            "arrayJoin of several arrays",
            "write one in a subquery, or ARRAY JOIN a, b for elements side by side",
        ));
    }
    let mut in_conditions = BTreeSet::new();
    for expr in
        [&select.selection, &select.prewhere, &select.having, &select.qualify].into_iter().flatten()
    {
        collect(expr, &mut in_conditions);
    }
    if in_conditions.is_empty() {
        return Ok(());
    }
    Err(refused("arrayJoin in a condition", "write ARRAY JOIN, or a subquery with arrayJoin in it"))
}

/// The calls of arrayJoin in an expression, as text, subqueries left out.
fn collect(expr: &Expr, found: &mut BTreeSet<String>) {
    struct Search<'a> {
        found: &'a mut BTreeSet<String>,
        subqueries: usize,
    }
    impl Visitor for Search<'_> {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.subqueries += 1;
            ControlFlow::Continue(())
        }
        fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.subqueries -= 1;
            ControlFlow::Continue(())
        }
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if let Expr::Function(function) = expr
                && self.subqueries == 0
                && call::name(function) == Some("arrayJoin")
            {
                self.found.insert(function.to_string());
            }
            ControlFlow::Continue(())
        }
    }
    let _ = walk(expr, &mut Search { found, subqueries: 0 });
}
