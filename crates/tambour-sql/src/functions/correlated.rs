//! Counts in subqueries that refer to the row around them. Where no row matches, ClickHouse's subquery has no row, and is NULL;
//! elsewhere a count of no rows is 0.

use datafusion::common::plan_err;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::functions::core::expr_fn::nullif;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, Subquery, lit};
use std::sync::Arc;

/// The subquery with NULL in the place of a count of 0 rows.
pub(super) fn without_zeros(query: Subquery) -> Result<Transformed<Expr>> {
    if query.outer_ref_columns.is_empty() {
        return Ok(Transformed::no(Expr::ScalarSubquery(query)));
    }
    let plan = query.subquery.as_ref().clone().transform_up(|node| {
        let LogicalPlan::Aggregate(aggregate) = &node else { return Ok(Transformed::no(node)) };
        let is_of_outer_row = aggregate.input.exists(|it| Ok(it.contains_outer_reference()))?;
        if !aggregate.group_expr.is_empty() || !is_of_outer_row {
            return Ok(Transformed::no(node));
        }
        let counts = counts(&aggregate.aggr_expr)?;
        if counts.is_empty() {
            return Ok(Transformed::no(node));
        }
        let columns = node.schema().columns().into_iter().map(|column| {
            let name = column.name.clone();
            let is_count = counts.contains(&name);
            let column = Expr::Column(column);
            if is_count { nullif(column, lit(0_i64)).alias(name) } else { column }
        });
        let columns = columns.collect();
        Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(node))?)))
    })?;
    let query = Subquery { subquery: Arc::new(plan.data), ..query };
    Ok(Transformed::new_transformed(Expr::ScalarSubquery(query), plan.transformed))
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
