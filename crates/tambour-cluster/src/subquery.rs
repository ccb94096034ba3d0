//! Scalar subqueries that do not depend on the row: each is evaluated first, once, and its value stands in the plan. The engine
//! has no node for them, and turns them into joins that answer silently where a subquery has several rows.

use datafusion::catalog::Session;
use datafusion::common::metadata::FieldMetadata;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue, exec_err, plan_err};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan, Subquery};
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures::StreamExt;
use std::sync::Arc;

/// How a plan of a subquery is made.
#[async_trait::async_trait]
pub(crate) trait Plans: Send + Sync {
    /// Plans it.
    async fn plan(
        &self,
        plan: &LogicalPlan,
        state: &SessionState,
    ) -> Result<Arc<dyn ExecutionPlan>>;
}

/// The plan with the values of its scalar subqueries; `None` if it has none.
pub(crate) async fn evaluated(
    plan: &LogicalPlan,
    state: &SessionState,
    plans: &dyn Plans,
) -> Result<Option<LogicalPlan>> {
    let mut found: Vec<Subquery> = Vec::new();
    collect(plan, &mut found)?;
    if found.is_empty() {
        return Ok(None);
    }
    let mut known: Vec<(Subquery, Expr)> = Vec::with_capacity(found.len());
    for subquery in found {
        if known.iter().any(|(other, _)| *other == subquery) {
            continue;
        }
        let literal = value(&subquery, state, plans).await?;
        known.push((subquery, literal));
    }
    let replaced = plan.clone().transform_down_with_subqueries(|node| {
        let names = datafusion::logical_expr::expr_rewriter::NamePreserver::new(&node);
        node.map_expressions(|expr| {
            let name = names.save(&expr);
            let replaced = expr.transform_down(|expr| {
                let Expr::ScalarSubquery(subquery) = &expr else {
                    return Ok(Transformed::no(expr));
                };
                let literal = known.iter().find(|(other, _)| other == subquery);
                Ok(match literal {
                    Some((_, literal)) => Transformed::yes(literal.clone()),
                    None => Transformed::no(expr),
                })
            })?;
            Ok(replaced.update_data(|expr| name.restore(expr)))
        })
    })?;
    let plan = replaced.data.recompute_schema()?;
    let mut left = Vec::new();
    collect(&plan, &mut left)?;
    if !left.is_empty() {
        return plan_err!("a scalar subquery stands where it cannot be evaluated ahead");
    }
    Ok(Some(plan))
}

/// The subqueries of a plan that do not depend on rows around them; of nested ones the outermost.
fn collect(plan: &LogicalPlan, found: &mut Vec<Subquery>) -> Result<()> {
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let Expr::ScalarSubquery(subquery) = expr
                    && subquery.outer_ref_columns.is_empty()
                {
                    found.push(subquery.clone());
                    return Ok(TreeNodeRecursion::Jump);
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(())
}

/// The only value of a subquery, or NULL.
async fn value(subquery: &Subquery, state: &SessionState, plans: &dyn Plans) -> Result<Expr> {
    let optimized = state.optimize(&subquery.subquery)?;
    let schema = Arc::clone(subquery.subquery.schema());
    let Some(field) = schema.fields().first().filter(|_| schema.fields().len() == 1) else {
        return plan_err!("a scalar subquery has one column, not {}", schema.fields().len());
    };
    let plan = plans.plan(&optimized, state).await?;
    let mut stream = execute_stream(plan, state.task_ctx())?;
    let mut value = None;
    while let Some(batch) = stream.next().await {
        let batch = batch?;
        if batch.num_rows() + usize::from(value.is_some()) > 1 {
            return exec_err!("Scalar subquery returned more than one row");
        }
        if batch.num_rows() == 1 {
            value = Some(ScalarValue::try_from_array(batch.column(0), 0)?);
        }
    }
    let value = match value {
        Some(value) if value.data_type() == *field.data_type() => value,
        Some(value) => value.cast_to(field.data_type())?,
        None => ScalarValue::try_from(field.data_type())?,
    };
    let metadata = (!field.metadata().is_empty()).then(|| FieldMetadata::from(field.as_ref()));
    Ok(Expr::Literal(value, metadata))
}

/// The state that a planner is handed.
pub(crate) fn state_of(session: &dyn Session) -> Result<&SessionState> {
    if let Some(state) = session.as_any().downcast_ref::<SessionState>() {
        return Ok(state);
    }
    exec_err!("the planner for several workers takes a session of its own")
}
