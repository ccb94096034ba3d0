//! Aggregates in subqueries that refer to the row around them. Where no row matches, ClickHouse's subquery has no row, and is NULL;
//! elsewhere an aggregate of no rows has one.

use super::literal::bare_type;
use super::typed::Typed;
use super::written;
use crate::walk::{Walk, everywhere};
use arrow::datatypes::DataType as ArrowType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, ExprSchema};
use datafusion::error::{DataFusionError, Result};
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    Aggregate, Expr, Filter, LogicalPlan, Projection, Subquery, lit, when,
};
use std::sync::Arc;
use tambour_part::types::DataType;

/// The name of a count of the rows that match.
const MATCHES: &str = "rows that match";

/// The subquery without its row where no row matches.
pub(super) fn without_empty(query: Subquery) -> Result<Transformed<Expr>> {
    if query.outer_ref_columns.is_empty() {
        let Some(plan) = or_nothing(&query.subquery)? else {
            return Ok(Transformed::no(Expr::ScalarSubquery(query)));
        };
        let query = Subquery { subquery: Arc::new(plan), ..query };
        return Ok(Transformed::yes(Expr::ScalarSubquery(query)));
    }
    let plan = query.subquery.as_ref().clone().transform_up(|node| {
        if let LogicalPlan::Projection(shown) = &node
            && shown.input.schema().has_column_with_unqualified_name(MATCHES)
        {
            return Ok(Transformed::yes(nullable(shown)?));
        }
        let LogicalPlan::Aggregate(aggregate) = &node else { return Ok(Transformed::no(node)) };
        let is_of_outer_row = aggregate.input.exists(|it| Ok(it.contains_outer_reference()))?;
        let is_known = aggregate.schema.has_column_with_unqualified_name(MATCHES);
        if !aggregate.group_expr.is_empty() || !is_of_outer_row || is_known {
            return Ok(Transformed::no(node));
        }
        let mut calls = aggregate.aggr_expr.clone();
        calls.push(count(lit(1_i64)).alias(MATCHES));
        let counted = Aggregate::try_new(Arc::clone(&aggregate.input), Vec::new(), calls)?;
        let counted = Arc::new(LogicalPlan::Aggregate(counted));
        let matched = Filter::try_new(some_match(), counted)?;
        Ok(Transformed::yes(LogicalPlan::Filter(matched)))
    })?;
    let is_list = |data_type: &ArrowType| {
        matches!(data_type, ArrowType::List(_) | ArrowType::LargeList(_) | ArrowType::Map(..))
    };
    if plan.transformed && plan.data.schema().fields().iter().any(|it| is_list(it.data_type())) {
        return Err(DataFusionError::Plan(
            "a subquery of the row around it gives an array or a map, which is empty and not NULL where no row matches: \
             join the two instead"
                .to_owned(),
        ));
    }
    let query = Subquery { subquery: Arc::new(plan.data), ..query };
    Ok(Transformed::new_transformed(Expr::ScalarSubquery(query), plan.transformed))
}

/// A subquery whose value is NULL where it has no row, as its type says then; `None` if that says so already, or cannot.
fn or_nothing(plan: &Arc<LogicalPlan>) -> Result<Option<LogicalPlan>> {
    let mut plan = Arc::clone(plan);
    // A number that is written out has as few bits as it needs, before its type is said.
    if let LogicalPlan::Projection(shown) = plan.as_ref()
        && let [only] = shown.expr.as_slice()
    {
        let name = only.schema_name().to_string();
        let mut value = only.clone().unalias();
        if written::of_all(&mut [&mut value], shown.input.schema())? {
            let narrow = Projection::try_new(vec![value.alias(name)], Arc::clone(&shown.input))?;
            plan = Arc::new(LogicalPlan::Projection(narrow));
        }
    }
    let schema = plan.schema();
    let [only] = schema.fields().as_ref() else { return Ok(None) };
    let nullable = bare_type(only).map(DataType::made_nullable);
    let Some(nullable @ DataType::Nullable(_)) = nullable else { return Ok(None) };
    if only.is_nullable() || matches!(only.data_type(), ArrowType::Dictionary(..)) {
        return Ok(None);
    }
    let column = Expr::Column(Column::from(schema.qualified_field(0)));
    let value = Typed::call(column, &nullable).alias(only.name());
    Ok(Some(LogicalPlan::Projection(Projection::try_new(vec![value], plan)?)))
}

fn some_match() -> Expr {
    Expr::Column(Column::new_unqualified(MATCHES)).gt(lit(0_i64))
}

/// The same results as they are where there is no row: the engine asks their types whether they may be NULL.
fn nullable(shown: &Projection) -> Result<LogicalPlan> {
    let expressions = shown.expr.iter().map(|expr| {
        let name = expr.schema_name().to_string();
        Ok(when(some_match(), expr.clone().unalias()).end()?.alias(name))
    });
    let expressions = expressions.collect::<Result<_>>()?;
    Ok(LogicalPlan::Projection(Projection::try_new(expressions, Arc::clone(&shown.input))?))
}

/// Gives the references of subqueries to the row around them the types that its columns have now: those were written down
/// when the query was planned, before the pass.
pub(super) fn referred(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let has_outer = |expr: &Expr| {
        expr.exists(|it| {
            Ok(match it {
                Expr::Exists(exists) => !exists.subquery.outer_ref_columns.is_empty(),
                Expr::InSubquery(set) => !set.subquery.outer_ref_columns.is_empty(),
                Expr::ScalarSubquery(query) => !query.outer_ref_columns.is_empty(),
                _ => false,
            })
        })
    };
    let mut is_correlated = false;
    for expr in plan.expressions() {
        is_correlated |= has_outer(&expr)?;
    }
    if !is_correlated {
        return Ok(Transformed::no(plan));
    }
    let schema = merge_schema(&plan.inputs());
    let mut current = |expr: Expr| -> Result<Transformed<Expr>> {
        let Expr::OuterReferenceColumn(field, column) = expr else {
            return Ok(Transformed::no(expr));
        };
        Ok(match schema.field_from_column(&column).map(Arc::clone) {
            Ok(now) if now != field => Transformed::yes(Expr::OuterReferenceColumn(now, column)),
            _ => Transformed::no(Expr::OuterReferenceColumn(field, column)),
        })
    };
    plan.map_subqueries(|query| {
        let query = everywhere(query, &mut |node| {
            let node = node.map_expressions(|expr| expr.up(&mut current))?;
            node.map_data(LogicalPlan::recompute_schema)
        })?;
        let LogicalPlan::Subquery(mut query) = query else { return Ok(Transformed::no(query)) };
        for outer in &mut query.outer_ref_columns {
            *outer = std::mem::take(outer).up(&mut current)?.data;
        }
        Ok(Transformed::yes(LogicalPlan::Subquery(query)))
    })
}
