//! The walk over a statement: clauses of queries and conditions.

use super::{alias, call, naming, refused, scalar};
use crate::SqlError;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, GroupByExpr, Ident, JoinOperator, LimitClause,
    OrderByKind, Query, Select, TableFactor, UnaryOperator, VisitorMut,
};
use std::ops::ControlFlow;

/// Rewrites a statement in place.
#[derive(Debug, Default)]
pub(super) struct Rewriter {
    /// What was ignored.
    pub(super) notes: Vec<String>,
}

fn flow(result: Result<(), SqlError>) -> ControlFlow<SqlError> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}

impl VisitorMut for Rewriter {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        flow(self.query(query))
    }
    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<SqlError> {
        flow(Self::select(select))
    }
    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<SqlError> {
        for condition in [&mut select.selection, &mut select.having] {
            if let Some(expr) = condition.take() {
                *condition = Some(condition_of(expr));
            }
        }
        ControlFlow::Continue(())
    }
    fn pre_visit_table_factor(&mut self, table: &mut TableFactor) -> ControlFlow<SqlError> {
        flow(check_table(table))
    }
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        flow(call::rewrite(expr))
    }
}

impl Rewriter {
    fn query(&mut self, query: &mut Query) -> Result<(), SqlError> {
        scalar::inline(query)?;
        for setting in query.settings.take().unwrap_or_default() {
            self.notes
                .push(format!("SETTINGS {} = {} has no effect here", setting.key, setting.value));
        }
        if query.format_clause.is_some() {
            return Err(refused("FORMAT in a subquery", "only the outermost query has a format"));
        }
        if let Some(LimitClause::LimitOffset { limit_by, .. }) = &query.limit_clause
            && !limit_by.is_empty()
        {
            return Err(refused(
                "LIMIT ... BY",
                "number the rows with row_number() OVER (PARTITION BY ...) instead",
            ));
        }
        let Some(order_by) = &query.order_by else { return Ok(()) };
        let is_filled = match &order_by.kind {
            OrderByKind::Expressions(items) => items.iter().any(|item| item.with_fill.is_some()),
            OrderByKind::All(_) => false,
        };
        if is_filled || order_by.interpolate.is_some() {
            return Err(refused("ORDER BY ... WITH FILL", "rows are not made up here"));
        }
        Ok(())
    }

    fn select(select: &mut Select) -> Result<(), SqlError> {
        if let GroupByExpr::All(modifiers) | GroupByExpr::Expressions(_, modifiers) =
            &select.group_by
            && !modifiers.is_empty()
        {
            return Err(refused(
                format!(
                    "GROUP BY ... {}",
                    modifiers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
                ),
                "write GROUP BY ROLLUP (...), CUBE (...) or GROUPING SETS (...)",
            ));
        }
        let joins = select.from.iter().flat_map(|table| &table.joins);
        for join in joins {
            match join.join_operator {
                JoinOperator::ArrayJoin
                | JoinOperator::LeftArrayJoin
                | JoinOperator::InnerArrayJoin => {
                    return Err(refused("ARRAY JOIN", "use unnest(...) in the list of results"));
                }
                JoinOperator::AsOf { .. } => {
                    return Err(refused("ASOF JOIN", "it is not there yet"));
                }
                _ => {}
            }
        }
        let aliases = alias::of_results(&select.projection)?;
        naming::name(&mut select.projection);
        alias::apply(select, &aliases)?;
        naming::distinguish(&mut select.projection);
        if let Some(prewhere) = select.prewhere.take() {
            select.selection = Some(match select.selection.take() {
                Some(selection) => Expr::BinaryOp {
                    left: Box::new(Expr::Nested(Box::new(condition_of(prewhere)))),
                    op: BinaryOperator::And,
                    right: Box::new(Expr::Nested(Box::new(condition_of(selection)))),
                },
                None => prewhere,
            });
        }
        Ok(())
    }
}

/// The parser takes FINAL for another name of the table.
fn check_table(table: &TableFactor) -> Result<(), SqlError> {
    let TableFactor::Table { alias, sample, .. } = table else { return Ok(()) };
    let is_final =
        |name: &Ident| name.quote_style.is_none() && name.value.eq_ignore_ascii_case("FINAL");
    if alias.as_ref().is_some_and(|alias| is_final(&alias.name)) {
        return Err(refused(
            "FINAL",
            "rows are returned as they are in the parts; group them by the key instead",
        ));
    }
    if sample.is_some() {
        return Err(refused("SAMPLE", "filter by the sampling expression instead"));
    }
    Ok(())
}

/// An expression as a condition: numbers other than 0 are true.
pub(super) fn condition_of(expr: Expr) -> Expr {
    if is_condition(&expr) {
        return expr;
    }
    Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(expr),
        data_type: DataType::Boolean,
        array: false,
        format: None,
    }
}

fn is_condition(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_condition(inner),
        Expr::UnaryOp { op: UnaryOperator::Not, .. } => true,
        Expr::BinaryOp { op, .. } => !matches!(
            op,
            BinaryOperator::Plus
                | BinaryOperator::Minus
                | BinaryOperator::Multiply
                | BinaryOperator::Divide
                | BinaryOperator::Modulo
        ),
        Expr::Value(_) | Expr::Cast { .. } | Expr::Case { .. } | Expr::Function(_) => false,
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => false,
        _ => true,
    }
}
