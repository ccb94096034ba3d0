//! `arrayJoin(array)` wherever a clause has it: an ARRAY JOIN below the SELECT, one for each array.
//!
//! A list of results may have one array, which the engine makes rows of. It cannot where the elements are looked at by a condition
//! or an aggregate, where there are two arrays, or where rows are ordered by what is not a result.

use super::ambiguous::Scope;
use super::columns::Catalog;
use super::{aggregate, array_join, call, naming};
use crate::DialectError;
use crate::walk::{walk, walk_mut};
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Ident,
    LimitClause, OrderBy, OrderByKind, Query, Select, SelectItem, SetExpr, Visit, Visitor,
    VisitorMut,
};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Makes ARRAY JOINs of the calls that the engine cannot make rows of.
pub(super) fn lift(query: &mut Query, catalog: &Catalog) -> Result<(), DialectError> {
    let limit_by: &[Expr] = match &query.limit_clause {
        Some(LimitClause::LimitOffset { limit_by, .. }) => limit_by,
        _ => &[],
    };
    of_body(&mut query.body, query.order_by.as_mut(), limit_by, catalog)
}

/// The SELECT of a query, or those of its UNION.
fn of_body(
    body: &mut SetExpr,
    order_by: Option<&mut OrderBy>,
    limit_by: &[Expr],
    catalog: &Catalog,
) -> Result<(), DialectError> {
    match body {
        SetExpr::Select(select) => of_select(select, order_by, limit_by, catalog),
        SetExpr::SetOperation { left, right, .. } => {
            of_body(left, None, &[], catalog)?;
            of_body(right, None, &[], catalog)
        }
        _ => Ok(()),
    }
}

fn of_select(
    select: &mut Select,
    order_by: Option<&mut OrderBy>,
    limit_by: &[Expr],
    catalog: &Catalog,
) -> Result<(), DialectError> {
    let order: Vec<Expr> = match order_by.as_ref().map(|order| &order.kind) {
        Some(OrderByKind::Expressions(keys)) => keys.iter().map(|key| key.expr.clone()).collect(),
        _ => Vec::new(),
    };
    let of_order = Calls::of(&order);
    let found = Calls::of(&*select);
    if (found.texts.is_empty() && of_order.texts.is_empty())
        || !is_needed(select, &order, limit_by, &found)
        || !is_possible(select, &found, &of_order)
    {
        return Ok(());
    }
    if select.from.is_empty() {
        select.from = array_join::one_row()?;
    }
    let queries = Catalog::new();
    array_join::from(select, &Scope { catalog, queries: &queries })?;
    let queries = Catalog::new();
    let tables = naming::Tables::of(select, Some(&Scope { catalog, queries: &queries }));
    let mut names = naming::of_all(&select.projection, &tables);
    for (item, name) in select.projection.iter().zip(&mut names) {
        name.take_if(|_| Calls::of(item).texts.is_empty());
    }
    naming::give(&mut select.projection, names);
    let mut lifted = Lifted::default();
    let _ = walk_mut(&mut select.projection, &mut lifted);
    for condition in
        [&mut select.prewhere, &mut select.selection, &mut select.having, &mut select.qualify]
    {
        let _ = walk_mut(condition, &mut lifted);
    }
    let _ = walk_mut(&mut select.group_by, &mut lifted);
    if let Some(order_by) = order_by {
        let _ = walk_mut(order_by, &mut lifted);
    }
    array_join::below(select, lifted.arrays)
}

/// A SELECT without FROM is over the one row of `system.one`; its column is called `dummy`.
pub(super) fn over_one_row(select: &mut Select) -> Result<(), DialectError> {
    let is_all = select.projection.iter().any(|item| matches!(item, SelectItem::Wildcard(_)));
    if select.from.is_empty() && (is_all || Calls::of(&*select).names.contains("dummy")) {
        select.from = array_join::one_row()?;
    }
    Ok(())
}

/// True if the elements are looked at where a list of results does not show them.
fn is_needed(select: &Select, order: &[Expr], limit_by: &[Expr], found: &Calls) -> bool {
    let mut shown = BTreeSet::new();
    let mut elements = BTreeSet::new();
    for item in &select.projection {
        match item {
            SelectItem::ExprWithAlias { expr, alias } => {
                shown.insert(alias.value.as_str());
                if !Calls::of(expr).texts.is_empty() {
                    elements.insert(alias.value.as_str());
                }
            }
            SelectItem::UnnamedExpr(Expr::Identifier(name)) => {
                shown.insert(name.value.as_str());
            }
            _ => {}
        }
    }
    let is_looked_at = |condition: &Expr| {
        let calls = Calls::of(condition);
        !calls.texts.is_empty() || calls.names.iter().any(|name| elements.contains(name.as_str()))
    };
    let conditions = [&select.prewhere, &select.selection, &select.having, &select.qualify];
    let is_shown = |key: &Expr| match key {
        Expr::Identifier(name) => shown.contains(name.value.as_str()),
        Expr::Value(_) => true,
        _ => false,
    };
    found.texts.len() > 1
        || found.is_aggregated
        || conditions.into_iter().flatten().chain(limit_by).any(is_looked_at)
        || !order.iter().all(is_shown)
}

/// True if the arrays are there before anything else of the SELECT is.
fn is_possible(select: &Select, found: &Calls, of_order: &Calls) -> bool {
    let is_own = |name: &String, call: &str| {
        select.projection.iter().all(|item| match item {
            SelectItem::ExprWithAlias { expr, alias } => {
                alias.value != *name || Calls::of(expr).texts.contains(call)
            }
            _ => true,
        })
    };
    let is_plain = |item: &SelectItem| {
        matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. })
    };
    let are_keys = matches!(&select.group_by, GroupByExpr::Expressions(..));
    let is_one_table = match select.from.as_slice() {
        [] => true,
        [table] => table.joins.iter().all(|join| array_join::is_array(&join.join_operator)),
        _ => false,
    };
    let mut arrays = found.arrays.iter().chain(&of_order.arrays);
    let texts: BTreeSet<&String> = found.texts.union(&of_order.texts).collect();
    let words: BTreeSet<Vec<String>> = texts.iter().map(|text| words(text)).collect();
    // The same array in two spellings would be joined with itself.
    is_one_table
        && are_keys
        && words.len() == texts.len()
        && select.projection.iter().all(is_plain)
        && arrays.all(|(call, array)| {
            let inside = Calls::of(array);
            !inside.has_aggregate && inside.names.iter().all(|name| is_own(name, call))
        })
}

/// What two spellings of an array have in common: names without those of tables, and numbers.
fn words(text: &str) -> Vec<String> {
    let is_other = |c: char| !c.is_alphanumeric() && c != '_' && c != '.';
    let words = text.split(is_other).map(|word| word.rsplit('.').next().unwrap_or(word));
    let words = words.map(str::to_lowercase);
    words.filter(|word| !word.is_empty() && word != "array" && word != "tuple").collect()
}

/// What there is of calls of `arrayJoin` outside of subqueries.
#[derive(Default)]
struct Calls {
    texts: BTreeSet<String>,
    arrays: Vec<(String, Expr)>,
    /// Columns and other names.
    names: BTreeSet<String>,
    has_aggregate: bool,
    /// One is inside an aggregate.
    is_aggregated: bool,
    subqueries: usize,
    aggregates: usize,
}

impl Calls {
    fn of(what: &impl Visit) -> Self {
        let mut calls = Self::default();
        let _ = walk(what, &mut calls);
        calls
    }
}

/// True for calls that take all rows of a group or a window.
fn is_over_rows(function: &Function) -> bool {
    aggregate::is_one(function) || function.over.is_some()
}

/// The array of a call.
fn array_of(function: &Function) -> Option<&Expr> {
    let FunctionArguments::List(list) = &function.args else { return None };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(array))]
            if call::name(function) == Some("arrayJoin") =>
        {
            Some(array)
        }
        _ => None,
    }
}

impl Visitor for Calls {
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
        if self.subqueries > 0 {
            return ControlFlow::Continue(());
        }
        match expr {
            Expr::Identifier(name) => {
                self.names.insert(name.value.clone());
            }
            Expr::Function(function) => {
                if is_over_rows(function) {
                    self.has_aggregate = true;
                    self.aggregates += 1;
                }
                if let Some(array) = array_of(function) {
                    self.is_aggregated |= self.aggregates > 0;
                    let text = function.to_string();
                    self.texts.insert(text.clone());
                    self.arrays.push((text, array.clone()));
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if self.subqueries == 0
            && let Expr::Function(function) = expr
            && is_over_rows(function)
        {
            self.aggregates -= 1;
        }
        ControlFlow::Continue(())
    }
}

/// Names instead of calls, the innermost first: an array may be made of the elements of another.
#[derive(Default)]
struct Lifted {
    arrays: Vec<(Expr, Ident)>,
    texts: Vec<String>,
    subqueries: usize,
}

impl VisitorMut for Lifted {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.subqueries += 1;
        ControlFlow::Continue(())
    }
    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.subqueries -= 1;
        ControlFlow::Continue(())
    }
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.subqueries > 0 {
            return ControlFlow::Continue(());
        }
        let Expr::Function(function) = &*expr else { return ControlFlow::Continue(()) };
        let Some(array) = array_of(function) else { return ControlFlow::Continue(()) };
        let text = function.to_string();
        let place = self.texts.iter().position(|known| *known == text);
        let place = place.unwrap_or_else(|| {
            // No name that anybody types.
            let name = Ident::with_quote('"', format!("\u{1f}array{}", self.arrays.len()));
            self.arrays.push((array.clone(), name));
            self.texts.push(text);
            self.arrays.len() - 1
        });
        if let Some((_, name)) = self.arrays.get(place) {
            *expr = Expr::Identifier(name.clone());
        }
        ControlFlow::Continue(())
    }
}
