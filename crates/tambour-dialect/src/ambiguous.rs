//! A bare name that several tables of a join have is the column of the first of them, as ClickHouse has it
//! (`single_join_prefer_left_table`). The engine refuses such names, so they get their table here. Where the columns of a table
//! are not known before planning, the names stay and are refused.

use super::columns::{self, Catalog};
use super::{naming, using};
use crate::walk::walk_mut;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, JoinConstraint, JoinOperator, ObjectName, OrderByKind, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, TableAlias, TableFactor, VisitorMut,
    WildcardAdditionalOptions,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// The columns that queries in WITH return, beside those of tables.
pub(super) fn of_with(query: &Query, catalog: &Catalog, queries: &mut Catalog) {
    for table in query.with.iter().flat_map(|with| &with.cte_tables) {
        let scope = Scope { catalog, queries };
        let columns = scope.of_query(&table.query).map(|columns| renamed(columns, &table.alias));
        queries.remove(&table.alias.name.value);
        if let Some(columns) = columns {
            queries.insert(table.alias.name.value.clone(), columns);
        }
    }
}

/// Puts the table in front of the bare names of a SELECT that several tables have.
pub(super) fn prefer_left(select: &mut Select, catalog: &Catalog, queries: &Catalog) {
    let mut tables = Scope { catalog, queries }.doubled(select);
    let (merged, of_left) = merged(select);
    // The engine merges the columns of USING, but not in conditions of rows.
    let keys = tables.extract_if(.., |name, _| merged.contains(name));
    let keys = keys.filter(|(name, _)| of_left.contains(name)).collect();
    for (tables, is_everywhere) in [(tables, true), (keys, false)] {
        let mut qualifier = Names::new(tables);
        // Nothing breaks off.
        let _ = if is_everywhere {
            walk_mut(select, &mut qualifier)
        } else {
            let mut conditions = [&mut select.selection, &mut select.prewhere].into_iter();
            conditions.try_for_each(|condition| walk_mut(condition, &mut qualifier))
        };
    }
}

/// The columns of USING, and those of them whose value is the left one.
fn merged(select: &Select) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut all, mut of_left) = (BTreeSet::new(), BTreeSet::new());
    for join in select.from.iter().flat_map(|from| &from.joins) {
        let (is_left, on) = match &join.join_operator {
            JoinOperator::Join(on)
            | JoinOperator::Inner(on)
            | JoinOperator::Left(on)
            | JoinOperator::LeftOuter(on) => (true, on),
            JoinOperator::Right(on)
            | JoinOperator::RightOuter(on)
            | JoinOperator::FullOuter(on) => (false, on),
            _ => continue,
        };
        let JoinConstraint::Using(names) = on else { continue };
        for name in names.iter().filter_map(|it| it.0.last()?.as_ident()) {
            if is_left && !all.contains(&name.value) {
                of_left.insert(name.value.clone());
            } else {
                of_left.remove(&name.value);
            }
            all.insert(name.value.clone());
        }
    }
    (all, of_left)
}

/// The same in the ORDER BY after a SELECT, where names of results come first.
pub(super) fn prefer_left_in_order(query: &mut Query, catalog: &Catalog, queries: &Catalog) {
    let SetExpr::Select(select) = &*query.body else { return };
    let mut tables = Scope { catalog, queries }.doubled(select);
    let (merged, _) = merged(select);
    tables.retain(|name, _| !merged.contains(name));
    for item in &select.projection {
        if let SelectItem::ExprWithAlias { alias, .. } = item {
            tables.remove(&alias.value);
        }
    }
    if tables.is_empty() || select.distinct.is_some() {
        return;
    }
    let Some(order_by) = &mut query.order_by else { return };
    let OrderByKind::Expressions(items) = &mut order_by.kind else { return };
    let mut qualifier = Names::new(tables);
    for item in items {
        let _ = walk_mut(&mut item.expr, &mut qualifier);
    }
}

/// Where the columns of tables and of queries in WITH are looked up.
pub(super) struct Scope<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) queries: &'a Catalog,
}

impl Scope<'_> {
    /// The names that several tables of a SELECT have, each with the column of the first of those tables.
    fn doubled(&self, select: &Select) -> BTreeMap<String, Expr> {
        let mut first: BTreeMap<String, Ident> = BTreeMap::new();
        let mut doubled = BTreeMap::new();
        for relation in relations(select) {
            // What an unknown table has could come first.
            let (Some(name), Some(columns)) = (name(relation), self.of_relation(relation)) else {
                break;
            };
            for column in columns {
                match first.get(&column) {
                    Some(table) => {
                        let value = using::qualified(table, &column);
                        doubled.entry(column).or_insert(value);
                    }
                    None => {
                        first.insert(column, name.clone());
                    }
                }
            }
        }
        doubled
    }

    /// The columns of a table or a subquery that `*` stands for; `None` where they are not known.
    pub(super) fn of_relation(&self, relation: &TableFactor) -> Option<Vec<String>> {
        match relation {
            TableFactor::Table { name, args: None, alias, .. } => {
                let last = &name.0.last()?.as_ident()?.value;
                if let Some(column) = of_system(name) {
                    return Some(with_alias(vec![column.to_owned()], alias.as_ref()));
                }
                let known = match self.queries.get(last) {
                    Some(known) => known.clone(),
                    None => self.catalog.shown(last)?,
                };
                Some(with_alias(known, alias.as_ref()))
            }
            TableFactor::Table { name, args: Some(_), alias, .. } => {
                let function = name.0.last()?.as_ident()?.value.to_ascii_lowercase();
                let column = match function.as_str() {
                    "numbers" | "numbers_mt" => "number",
                    "zeros" | "zeros_mt" => "zero",
                    _ => return None,
                };
                Some(with_alias(vec![column.to_owned()], alias.as_ref()))
            }
            TableFactor::Derived { subquery, alias, lateral: false, .. } => {
                Some(with_alias(self.of_query(subquery)?, alias.as_ref()))
            }
            _ => None,
        }
    }

    /// The columns of a table that `*` leaves out.
    pub(super) fn hidden(&self, relation: &TableFactor) -> Vec<String> {
        let TableFactor::Table { name, args: None, .. } = relation else { return Vec::new() };
        let Some(own) = name.0.last().and_then(|last| last.as_ident()) else { return Vec::new() };
        match self.catalog.hidden.get(&own.value) {
            Some(hidden) if !self.queries.contains_key(&own.value) => hidden.clone(),
            _ => Vec::new(),
        }
    }

    fn of_query(&self, query: &Query) -> Option<Vec<String>> {
        if query.with.is_some() {
            return None;
        }
        let mut body = &*query.body;
        loop {
            match body {
                SetExpr::Select(select) => return self.of_select(select),
                SetExpr::Query(query) => return self.of_query(query),
                SetExpr::SetOperation { left, .. } => body = left,
                _ => return None,
            }
        }
    }

    fn of_select(&self, select: &Select) -> Option<Vec<String>> {
        if let Some(names) = using::names(select, self) {
            return Some(names);
        }
        let mut columns = Vec::new();
        let tables = naming::Tables::of(select, Some(self));
        for (item, written) in
            select.projection.iter().zip(naming::of_all(&select.projection, &tables))
        {
            match item {
                SelectItem::ExprWithAlias { alias, .. } => columns.push(alias.value.clone()),
                SelectItem::UnnamedExpr(Expr::Function(call)) if columns::is_pattern(call) => {
                    return None;
                }
                SelectItem::UnnamedExpr(_) if let Some(written) = written => columns.push(written),
                SelectItem::UnnamedExpr(Expr::Identifier(name)) => columns.push(name.value.clone()),
                SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
                    columns.push(parts.last()?.value.clone());
                }
                SelectItem::Wildcard(options)
                | SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(_),
                    options,
                ) if *options == WildcardAdditionalOptions::default() => {
                    let [from] = select.from.as_slice() else { return None };
                    if !from.joins.is_empty() {
                        return None;
                    }
                    columns.extend(self.of_relation(&from.relation)?);
                }
                _ => return None,
            }
        }
        Some(columns)
    }
}

/// What a SELECT reads, in the order in which it is written.
pub(super) fn relations(select: &Select) -> impl Iterator<Item = &TableFactor> {
    select.from.iter().flat_map(|from| {
        std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation))
    })
}

/// What a table is called in the query.
pub(super) fn name(relation: &TableFactor) -> Option<Ident> {
    match relation {
        TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. } => Some(alias.name.clone()),
        TableFactor::Table { name, args: None, .. } => name.0.last()?.as_ident().cloned(),
        _ => None,
    }
}

/// The column of `system.one` and of `system.numbers`.
fn of_system(name: &ObjectName) -> Option<&'static str> {
    let [database, table] = name.0.as_slice() else { return None };
    let is_system = database.as_ident().is_some_and(|it| it.value == "system");
    match table.as_ident()?.value.as_str() {
        "one" if is_system => Some("dummy"),
        "numbers" | "numbers_mt" if is_system => Some("number"),
        "zeros" | "zeros_mt" if is_system => Some("zero"),
        _ => None,
    }
}

fn with_alias(columns: Vec<String>, alias: Option<&TableAlias>) -> Vec<String> {
    match alias {
        Some(alias) => renamed(columns, alias),
        None => columns,
    }
}

/// `AS name (a, b)` renames the first columns.
fn renamed(mut columns: Vec<String>, alias: &TableAlias) -> Vec<String> {
    for (column, named) in columns.iter_mut().zip(&alias.columns) {
        column.clone_from(&named.name.value);
    }
    columns
}

/// Puts expressions in the place of bare names, but not in queries inside, which have tables of their own, nor in lambdas
/// that call a parameter so.
#[derive(Default)]
pub(super) struct Names {
    values: BTreeMap<String, Expr>,
    /// What the parameters of the lambdas around hide.
    hidden: Vec<Vec<(String, Expr)>>,
    queries: usize,
}

impl Names {
    pub(super) fn new(values: BTreeMap<String, Expr>) -> Self {
        Self { values, ..Self::default() }
    }

    /// Leaves a name alone, until it is [put back](Self::put_back).
    pub(super) fn set_aside(&mut self, name: &str) -> Option<(String, Expr)> {
        self.values.remove_entry(name)
    }

    pub(super) fn put_back(&mut self, name: Option<(String, Expr)>) {
        self.values.extend(name);
    }
}

impl VisitorMut for Names {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.queries -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Lambda(lambda) = expr {
            let parameters = lambda.params.iter();
            let taken = parameters.filter_map(|it| self.values.remove_entry(&it.name.value));
            let taken = taken.collect();
            self.hidden.push(taken);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Lambda(_) => self.values.extend(self.hidden.pop().into_iter().flatten()),
            Expr::Identifier(name) if self.queries == 0 => {
                if let Some(value) = self.values.get(&name.value) {
                    *expr = value.clone();
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
