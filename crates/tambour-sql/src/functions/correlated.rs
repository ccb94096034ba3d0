//! Counts in subqueries that refer to the row around them. Where no row matches, ClickHouse's subquery has no row, and is NULL;
//! elsewhere a count of no rows is 0.

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, plan_err};
use datafusion::error::Result;
use datafusion::functions::core::expr_fn::nullif;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, Subquery, lit};
use std::sync::Arc;

/// The subquery with NULL in the place of a count of 0 rows.
pub(super) fn without_zeros(query: Subquery) -> Result<Transformed<Expr>> {
    if query.outer_ref_columns.is_empty() {
        return Ok(Transformed::no(Expr::ScalarSubquery(query)));
    }
    let mut is_changed = false;
    let plan = query.subquery.as_ref().clone().transform_down(|node| {
        let LogicalPlan::Projection(shown) = &node else { return Ok(Transformed::no(node)) };
        let LogicalPlan::Aggregate(aggregate) = shown.input.as_ref() else {
            return Ok(Transformed::no(node));
        };
        if !aggregate.group_expr.is_empty() {
            return Ok(Transformed::no(node));
        }
        let counts = counts(&aggregate.aggr_expr)?;
        if counts.is_empty() {
            return Ok(Transformed::no(node));
        }
        is_changed = true;
        let exprs = shown.expr.iter().map(|expr| or_null(expr.clone(), &counts));
        let shown = Projection::try_new(exprs.collect::<Result<_>>()?, Arc::clone(&shown.input))?;
        Ok(Transformed::yes(LogicalPlan::Projection(shown)))
    })?;
    let query = Expr::ScalarSubquery(Subquery { subquery: Arc::new(plan.data), ..query });
    Ok(if is_changed { Transformed::yes(query) } else { Transformed::no(query) })
}

/// Names of the counts of all rows.
fn counts(aggregates: &[Expr]) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for aggregate in aggregates {
        let Expr::AggregateFunction(call) = aggregate else { continue };
        if call.func.name() != "count" {
            continue;
        }
        let is_plain = call.params.filter.is_none()
            && !call.params.distinct
            && call.params.args.iter().all(|it| matches!(it, Expr::Literal(..)));
        if !is_plain {
            return plan_err!(
                "a count that leaves out rows, in a subquery that refers to the row around it, is \
                 NULL in ClickHouse where no row matches, and 0 here; write a JOIN"
            );
        }
        names.push(aggregate.schema_name().to_string());
    }
    Ok(names)
}

fn or_null(expr: Expr, counts: &[String]) -> Result<Expr> {
    let replaced = expr.transform_up(|part| {
        let is_count = matches!(&part, Expr::Column(Column { name, .. }) if counts.contains(name));
        Ok(if is_count {
            Transformed::yes(nullif(part, lit(0_i64)))
        } else {
            Transformed::no(part)
        })
    });
    Ok(replaced?.data)
}
