//! The order of a subquery's rows, for aggregates that show it: `groupArray(x)` over `(SELECT x … ORDER BY y)`.
//!
//! To the engine rows of a subquery have no order, and it drops a sort that nobody asks for. Aggregates whose result depends on the order
//! of rows ask for it here; sort keys that the subquery does not hand out are handed on to them.

use super::call_of;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::functions_aggregate::first_last::first_value_udaf;
use datafusion::logical_expr::expr::{AggregateFunction, NullTreatment, Sort as SortExpr};
use datafusion::logical_expr::{
    Aggregate, Expr, Filter, Limit, LogicalPlan, Projection, SubqueryAlias,
};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Aggregates whose result depends on the order of rows.
const SENSITIVE: &[&str] = &["array_agg", "first_value", "last_value", "any_value"];

/// The rule.
#[derive(Debug)]
pub(crate) struct OrderOfSubqueries;

impl OptimizerRule for OrderOfSubqueries {
    fn name(&self) -> &'static str {
        "order_of_subqueries"
    }
    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }
    fn rewrite(
        &self,
        plan: LogicalPlan,
        _config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Aggregate(aggregate) = &plan else { return Ok(Transformed::no(plan)) };
        if !aggregate.aggr_expr.iter().any(is_sensitive) {
            return Ok(Transformed::no(plan));
        }
        let Some((input, order)) = ordered(&aggregate.input, &no_order)? else {
            return Ok(Transformed::no(plan));
        };
        let calls = aggregate.aggr_expr.iter().map(|call| with_order(call, &order)).collect();
        let input = Arc::new(input);
        let made = Aggregate::try_new(input, aggregate.group_expr.clone(), calls)?;
        Ok(Transformed::yes(LogicalPlan::Aggregate(made)))
    }
}

fn is_sensitive(expr: &Expr) -> bool {
    let Some(call) = call_of(expr) else { return false };
    SENSITIVE.contains(&call.func.name())
        && call.params.order_by.is_empty()
        && !call.params.distinct
}

/// The same aggregate over rows in an order, under the name that it had.
fn with_order(expr: &Expr, order: &[SortExpr]) -> Expr {
    let Some(call) = call_of(expr).filter(|_| is_sensitive(expr)) else { return expr.clone() };
    let mut params = call.params.clone();
    order.clone_into(&mut params.order_by);
    let func = if call.func.name() == "any_value" {
        params.null_treatment = Some(NullTreatment::IgnoreNulls);
        first_value_udaf()
    } else {
        Arc::clone(&call.func)
    };
    let (qualifier, name) = expr.qualified_name();
    Expr::AggregateFunction(AggregateFunction { func, params }).alias_qualified(qualifier, name)
}

/// A plan and the order of its rows.
pub type Ordered = (LogicalPlan, Vec<SortExpr>);

#[expect(clippy::unnecessary_wraps, reason = "another source may fail")]
fn no_order(_: &LogicalPlan) -> Result<Option<Ordered>> {
    Ok(None)
}

/// The plan with all that its rows are ordered by among its columns, and the order; none if its rows have none. `source` knows the order of
/// what is at the bottom.
pub fn ordered(
    plan: &LogicalPlan,
    source: &dyn Fn(&LogicalPlan) -> Result<Option<Ordered>>,
) -> Result<Option<Ordered>> {
    match plan {
        LogicalPlan::Sort(sort) => Ok(Some((plan.clone(), sort.expr.clone()))),
        LogicalPlan::Limit(limit) => Ok(ordered(&limit.input, source)?.map(|(input, order)| {
            let limit = Limit { input: Arc::new(input), ..limit.clone() };
            (LogicalPlan::Limit(limit), order)
        })),
        LogicalPlan::Filter(filter) => {
            let Some((input, order)) = ordered(&filter.input, source)? else { return Ok(None) };
            let filter = Filter::try_new(filter.predicate.clone(), Arc::new(input))?;
            Ok(Some((LogicalPlan::Filter(filter), order)))
        }
        LogicalPlan::Projection(projection) => {
            let Some((input, mut order)) = ordered(&projection.input, source)? else {
                return Ok(None);
            };
            let mut columns = projection.expr.clone();
            for key in &mut order {
                key.expr = handed_on(&key.expr, &mut columns);
            }
            let projection = Projection::try_new(columns, Arc::new(input))?;
            Ok(Some((LogicalPlan::Projection(projection), order)))
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let Some((input, mut order)) = ordered(&alias.input, source)? else { return Ok(None) };
            let inner = Arc::clone(input.schema());
            let alias = SubqueryAlias::try_new(Arc::new(input), alias.alias.clone())?;
            for key in &mut order {
                key.expr = renamed(&key.expr, &inner, &alias.schema)?;
            }
            Ok(Some((LogicalPlan::SubqueryAlias(alias), order)))
        }
        other => source(other),
    }
}

/// The column of a projection that has the value of an expression; it is added if there is none.
fn handed_on(expr: &Expr, columns: &mut Vec<Expr>) -> Expr {
    let bare = |column: &Expr| match column {
        Expr::Alias(alias) => alias.expr.as_ref().clone(),
        other => other.clone(),
    };
    let place = columns.iter().position(|column| bare(column) == *expr);
    let place = place.unwrap_or_else(|| {
        columns.push(expr.clone().alias(format!("\u{1f}order{}", columns.len())));
        columns.len() - 1
    });
    let named = columns.get(place).unwrap_or(expr);
    let (relation, name) = named.qualified_name();
    Expr::Column(Column::new(relation, name))
}

/// An expression over the columns of a plan as one over the same columns under an alias.
fn renamed(expr: &Expr, from: &DFSchema, to: &DFSchema) -> Result<Expr> {
    let of = |expr: Expr| {
        let Expr::Column(column) = &expr else { return Ok(Transformed::no(expr)) };
        let place = from.index_of_column(column)?;
        Ok(Transformed::yes(Expr::Column(Column::from(to.qualified_field(place)))))
    };
    expr.clone().transform(of).data()
}
