//! `EXISTS (SELECT …)` as a value: DataFusion knows it in conditions only. A result is 1 or 0 by the count of the rows.

use super::call::call;
use super::{alias, sets};
use crate::DialectError;
use crate::walk::walk_mut;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, GroupByExpr, Query, Select, SelectItem, SetExpr, Value, VisitorMut,
};
use std::ops::ControlFlow;

/// Rewrites what stands among the results of a SELECT.
pub(super) fn as_values(select: &mut Select) -> Result<(), DialectError> {
    match walk_mut(&mut select.projection, &mut Values { queries: 0 }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// The walk over results.
struct Values {
    /// Queries around, whose conditions are their own.
    queries: usize,
}

impl VisitorMut for Values {
    type Break = DialectError;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<DialectError> {
        self.queries += 1;
        ControlFlow::Continue(())
    }
    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<DialectError> {
        self.queries -= 1;
        ControlFlow::Continue(())
    }
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<DialectError> {
        let Expr::Exists { subquery, negated } = expr else { return ControlFlow::Continue(()) };
        if self.queries > 0 {
            return ControlFlow::Continue(());
        }
        match counted((**subquery).clone(), *negated) {
            Ok(value) => {
                *expr = value;
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    }
}

/// 1 or 0 by whether a query has rows.
fn counted(query: Query, negated: bool) -> Result<Expr, DialectError> {
    let op = if negated { BinaryOperator::Eq } else { BinaryOperator::Gt };
    let number = |text: &str| Expr::value(Value::Number(text.to_owned(), false));
    let count = Box::new(Expr::Function(call("count", Vec::new())));
    let count = Expr::BinaryOp { left: count, op, right: Box::new(number("0")) };
    // A subquery that depends on the query around it is NULL where no row matches.
    let known = |query: Query| {
        let absent = number(if negated { "1" } else { "0" });
        let known = call("coalesce", vec![Expr::Subquery(Box::new(query)), absent]);
        Expr::Function(call("toUInt8", vec![Expr::Function(known)]))
    };
    let counting = SelectItem::UnnamedExpr(Expr::Function(call("toUInt8", vec![count])));
    let mut query = query;
    if let Some(select) = plain(&mut query) {
        select.projection = vec![counting];
        return Ok(known(query));
    }
    sets::within("SELECT 1 FROM (SELECT 1)", &mut query)?;
    if let SetExpr::Select(select) = &mut *query.body {
        select.projection = vec![counting];
    }
    Ok(known(query))
}

/// The SELECT of a query that is nothing else, whose rows are those of its tables: it may depend on the query around it.
fn plain(query: &mut Query) -> Option<&mut Select> {
    if query.limit_clause.is_some() || query.fetch.is_some() || query.with.is_some() {
        return None;
    }
    let SetExpr::Select(select) = &mut *query.body else { return None };
    let is_grouped = match &select.group_by {
        GroupByExpr::All(_) => true,
        GroupByExpr::Expressions(keys, modifiers) => !keys.is_empty() || !modifiers.is_empty(),
    };
    let has_aggregates = select.projection.iter().any(|item| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            alias::needs_more_rows(expr)
        }
        _ => false,
    });
    let is_plain = !is_grouped
        && !has_aggregates
        && !select.from.is_empty()
        && select.distinct.is_none()
        && select.having.is_none()
        && select.qualify.is_none()
        && select.lateral_views.is_empty();
    if is_plain { Some(select) } else { None }
}
