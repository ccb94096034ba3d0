//! Columns that `*` does not stand for: those that are MATERIALIZED, ALIAS columns, which are expressions over the others, and those
//! that no table stores, such as `_part`.

use super::ambiguous::Scope;
use super::grammar::Grammar;
use super::{merged, refused, using};
use crate::marks::{MERGED, PLACES};
use crate::walk::walk;
use crate::{Catalog, DialectError};
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::ast::{
    ExceptSelectItem, Expr, Ident, Query, Select, SelectItem, SelectItemQualifiedWildcardKind,
    SetExpr, TableAlias, TableFactor, Visitor, WildcardAdditionalOptions,
};
use datafusion::sql::sqlparser::parser::Parser;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// An ALIAS column: its name, and its expression with its type, as ClickHouse's SQL.
pub(crate) type Alias = (String, String);

/// The columns that say where a row lies. A table that has such a column of its own keeps it.
pub const PLACES_OF_ROWS: [&str; 4] = ["_part", "_partition_id", "_table", "_database"];

/// Makes subqueries of tables whose ALIAS columns are asked for, and takes hidden columns out of `*`.
pub(super) fn translate(query: &mut Query, scope: &Scope<'_>) -> Result<(), DialectError> {
    let catalog = scope.catalog;
    if catalog.hidden.is_empty() && catalog.aliases.is_empty() && catalog.parts.is_empty() {
        return Ok(());
    }
    let mut names = Names::default();
    let _ = walk(query, &mut names);
    let mut last = Names::default();
    let _ = walk(&query.order_by, &mut last);
    let _ = walk(&query.limit_clause, &mut last);
    of_body(&mut query.body, scope, (&names.found, &last))
}

/// The names in a whole query, and those after its last SELECT.
type Asked<'a> = (&'a BTreeSet<String>, &'a Names);

fn of_body(body: &mut SetExpr, scope: &Scope<'_>, names: Asked<'_>) -> Result<(), DialectError> {
    match body {
        SetExpr::Select(select) => of_select(select, scope, names),
        SetExpr::SetOperation { left, right, .. } => {
            of_body(left, scope, names)?;
            of_body(right, scope, names)
        }
        _ => Ok(()),
    }
}

fn of_select(
    select: &mut Select,
    scope: &Scope<'_>,
    (names, last): Asked<'_>,
) -> Result<(), DialectError> {
    let catalog = scope.catalog;
    let is_place = |name: &&str| names.contains(*name);
    let is_any = PLACES_OF_ROWS.iter().any(is_place);
    let places = is_any.then(|| Places::of(select, scope, last)).transpose()?;
    let is_join = using::is_join(select);
    let has_all = select.projection.iter().any(|item| matches!(item, SelectItem::Wildcard(_)));
    // What is hidden in each table, by the name that the table has here.
    let mut hidden: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for table in &mut select.from {
        let joined = table.joins.iter_mut().map(|join| &mut join.relation);
        for factor in std::iter::once(&mut table.relation).chain(joined) {
            let Some((name, alias)) = named(factor) else { continue };
            if scope.queries.contains_key(&name) {
                continue;
            }
            let mut of_table = catalog.hidden.get(&name).cloned().unwrap_or_default();
            let mut columns = catalog.get(&name).cloned().unwrap_or_default();
            let places = places.as_ref().and_then(|it| it.of_table(catalog, &name, &alias));
            if let Some(places) = places
                && with_places(factor, scope.queries)?
            {
                if is_join && has_all {
                    return Err(refused(
                        "* of a join beside _part and the like",
                        "name the columns",
                    ));
                }
                columns.extend_from_slice(&places);
                of_table.extend(places);
            }
            let aliases = catalog.aliases.get(&name).map_or(&[][..], Vec::as_slice);
            if aliases.iter().any(|(column, _)| names.contains(column)) {
                if is_join && has_all {
                    return Err(refused("* of a join beside an ALIAS column", "name the columns"));
                }
                computed(factor, &alias, &columns, aliases)?;
                of_table.extend(aliases.iter().map(|(column, _)| column.clone()));
            }
            if !of_table.is_empty() {
                hidden.insert(alias.value, of_table);
            }
        }
    }
    for item in &mut select.projection {
        match item {
            // That of a join is written out later: another table may have a column of a hidden name.
            SelectItem::Wildcard(options) if !is_join => {
                hidden.values().flatten().for_each(|name| leave_out(options, name));
            }
            SelectItem::QualifiedWildcard(
                SelectItemQualifiedWildcardKind::ObjectName(name),
                options,
            ) => {
                let table = name.0.last().and_then(|part| part.as_ident());
                let of_table = table.and_then(|table| hidden.get(&table.value));
                of_table.into_iter().flatten().for_each(|name| leave_out(options, name));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The table's own name, and the one that it has in the query.
fn named(factor: &TableFactor) -> Option<(String, Ident)> {
    let TableFactor::Table { name, args: None, alias, .. } = factor else { return None };
    let own = name.0.last()?.as_ident()?.clone();
    let alias = alias.as_ref().map_or_else(|| own.clone(), |alias| alias.name.clone());
    Some((own.value, alias))
}

/// The names by which a SELECT may ask for columns of [`PLACES_OF_ROWS`].
struct Places {
    names: Names,
    /// Names without a table are those of the only one.
    is_single: bool,
}

impl Places {
    /// In ClickHouse, a name of several tables is the first one's.
    fn of(select: &Select, scope: &Scope<'_>, last: &Names) -> Result<Self, DialectError> {
        let mut names = last.clone();
        let rest = Select { from: Vec::new(), ..select.clone() };
        let _ = walk(&rest, &mut names);
        let mut factors = Vec::new();
        for table in &select.from {
            factors.push(&table.relation);
            for join in &table.joins {
                let _ = walk(&join.join_operator, &mut names);
                factors.push(&join.relation);
            }
        }
        let is_table = |it: &&&TableFactor| {
            matches!(it, TableFactor::Table { .. } | TableFactor::Derived { .. })
        };
        let is_single = factors.iter().filter(is_table).count() < 2;
        let first = factors.first().and_then(|first| named(first));
        if !is_single
            && let Some((name, alias)) = first
            && scope.catalog.parts.contains(&name)
            && !scope.queries.contains_key(&name)
            && let Some(place) = missing(scope.catalog, &name).find(|it| names.bare.contains(*it))
        {
            return Err(refused(format!("{place} of a join"), format!("write {alias}.{place}")));
        }
        Ok(Self { names, is_single })
    }

    /// Those that a table lacks, if one of them is asked for.
    fn of_table(&self, catalog: &Catalog, name: &str, alias: &Ident) -> Option<Vec<String>> {
        let is_asked = |place: &str| {
            self.names.of_tables.contains(&(alias.value.clone(), place.to_owned()))
                || self.is_single && self.names.bare.contains(place)
        };
        let is_any = catalog.parts.contains(name) && missing(catalog, name).any(is_asked);
        is_any.then(|| missing(catalog, name).map(str::to_owned).collect())
    }
}

/// The columns of [`PLACES_OF_ROWS`] that a table has not itself.
fn missing(catalog: &Catalog, table: &str) -> impl Iterator<Item = &'static str> {
    let columns = catalog.get(table).map_or(&[][..], Vec::as_slice);
    PLACES_OF_ROWS.into_iter().filter(|place| !columns.iter().any(|own| own == place))
}

/// `t` becomes the table of the same name that has the columns of [`PLACES_OF_ROWS`]. False of tables that a mark stands for already.
fn with_places(factor: &mut TableFactor, queries: &Catalog) -> Result<bool, DialectError> {
    let TableFactor::Table { name, alias, args: None, with_hints, sample: None, .. } = factor
    else {
        return Ok(false);
    };
    if !with_hints.is_empty() {
        let reason = "a row after the merge may be of several parts";
        return Err(refused("_part and the like with FINAL", reason));
    }
    let first = name.0.first().and_then(|part| part.as_ident());
    if first.is_some_and(|first| first.value == PLACES || first.value == MERGED) {
        return Ok(false);
    }
    Ok(merged::stands_in(PLACES, name, alias, queries))
}

/// `t` becomes `(SELECT a, b, a + b AS c FROM t) AS t`; columns that read others that are computed stand around these.
fn computed(
    factor: &mut TableFactor,
    alias: &Ident,
    columns: &[String],
    aliases: &[Alias],
) -> Result<(), DialectError> {
    let mut reads = BTreeMap::new();
    for (name, sql) in aliases {
        reads.insert(name.clone(), names_in(&super::parse_expression(sql)?));
    }
    let layers = in_layers(reads).map_err(|names| {
        refused(format!("the ALIAS columns {}", names.join(", ")), "they need each other")
    })?;
    let mut columns = columns.to_vec();
    for layer in layers {
        let ready = aliases.iter().filter(|(name, _)| layer.contains(name)).cloned();
        around(factor, alias, &columns, &ready.collect::<Vec<_>>())?;
        columns.extend(layer);
    }
    Ok(())
}

/// Names with what each of them reads, in layers: each reads nothing of its own layer and of those after it. An error has those that
/// need each other.
pub fn in_layers(
    mut waiting: BTreeMap<String, BTreeSet<String>>,
) -> Result<Vec<Vec<String>>, Vec<String>> {
    let mut layers = Vec::new();
    while !waiting.is_empty() {
        let names: BTreeSet<String> = waiting.keys().cloned().collect();
        let ready = waiting.iter().filter(|(_, reads)| reads.is_disjoint(&names));
        let ready: Vec<String> = ready.map(|(name, _)| name.clone()).collect();
        if ready.is_empty() {
            return Err(names.into_iter().collect());
        }
        waiting.retain(|name, _| !ready.contains(name));
        layers.push(ready);
    }
    Ok(layers)
}

fn around(
    factor: &mut TableFactor,
    alias: &Ident,
    columns: &[String],
    aliases: &[Alias],
) -> Result<(), DialectError> {
    let quoted = |name: &String| Ident::with_quote('"', name.clone()).to_string();
    let computed = aliases.iter().map(|(name, sql)| format!("{sql} AS {}", quoted(name)));
    let all: Vec<String> = columns.iter().map(quoted).chain(computed).collect();
    let sql = format!("SELECT {} FROM \"nothing\"", all.join(", "));
    let tokens = super::lexical::tokens(&sql)?;
    let parsed = Parser::new(&Grammar).with_tokens_with_locations(tokens).parse_query();
    let mut subquery = parsed.map_err(DataFusionError::from)?;
    if let SetExpr::Select(inner) = &mut *subquery.body
        && let Some(table) = inner.from.first_mut()
    {
        std::mem::swap(&mut table.relation, factor);
    }
    let alias = TableAlias { explicit: true, name: alias.clone(), columns: Vec::new(), at: None };
    *factor = TableFactor::Derived { lateral: false, subquery, alias: Some(alias), sample: None };
    Ok(())
}

fn leave_out(options: &mut WildcardAdditionalOptions, name: &str) {
    let name = Ident::with_quote('"', name);
    match &mut options.opt_except {
        Some(except) => {
            let is_there = except.first_element.value == name.value
                || except.additional_elements.iter().any(|it| it.value == name.value);
            if !is_there {
                except.additional_elements.push(name);
            }
        }
        none => {
            *none = Some(ExceptSelectItem { first_element: name, additional_elements: Vec::new() });
        }
    }
}

/// The names in an expression, those of columns among them; those of a Nested's columns have a dot.
pub fn columns_of(expression: &str) -> Result<BTreeSet<String>, DialectError> {
    super::parse_expression(expression).map(|it| names_in(&it))
}

fn names_in(expression: &Expr) -> BTreeSet<String> {
    let mut names = Names::default();
    let _ = walk(expression, &mut names);
    names.found
}

/// All names of columns in a query, and in those inside.
#[derive(Clone, Default)]
struct Names {
    found: BTreeSet<String>,
    /// Those without a table that are not in a query inside.
    bare: BTreeSet<String>,
    /// Those with one.
    of_tables: BTreeSet<(String, String)>,
    /// How many queries stand around.
    depth: usize,
}

impl Visitor for Names {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }
    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(name) => {
                self.found.insert(name.value.clone());
                if self.depth == 0 {
                    self.bare.insert(name.value.clone());
                }
            }
            Expr::CompoundIdentifier(parts) => {
                self.found.extend(parts.last().map(|part| part.value.clone()));
                let path: Vec<&str> = parts.iter().map(|part| part.value.as_str()).collect();
                self.found.insert(path.join("."));
                if let [.., table, column] = parts.as_slice() {
                    self.of_tables.insert((table.value.clone(), column.value.clone()));
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
