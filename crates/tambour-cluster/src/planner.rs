//! From a logical plan to one for several workers.

use crate::codec::Codec;
use crate::subquery::{self, Plans, state_of};
use crate::{explain, split};
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, not_impl_err};
use datafusion::execution::SessionState;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::{ExecutionPlan, Partitioning};
use datafusion_distributed::DistributedExec;
use std::sync::Arc;
use tambour_plan::lazily::LazyPlanner;
use tambour_sql::exec::TambourScanExec;
use tambour_sql::travel::reads_places;

/// Plans queries; has them divided by the engine's planner where that can be.
#[derive(Debug)]
pub(crate) struct Planner {
    /// The engine's planner.
    pub(crate) engine: Arc<dyn QueryPlanner + Send + Sync>,
}

#[async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let state = state_of(session)?;
        if let LogicalPlan::Explain(explain) = plan {
            let physical = self.plan(&explain.plan, state).await?;
            if !is_divided(&physical) {
                return LazyPlanner.create_physical_plan(plan, state).await;
            }
            return Ok(explain::explained(explain, &explain.plan, &physical));
        }
        self.plan(plan, state).await
    }
}

#[async_trait]
impl Plans for Planner {
    async fn plan(
        &self,
        plan: &LogicalPlan,
        state: &SessionState,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let filled = subquery::evaluated(plan, state, self).await?;
        // With values in their places, filters reach the scans.
        let filled = filled.map(|plan| state.optimize(&plan)).transpose()?;
        let plan = filled.as_ref().unwrap_or(plan);
        let local = LazyPlanner.create_physical_plan(plan, state).await?;
        if sendable(&local, state).is_err() {
            // Something in it has no form on the wire: it runs here, as without workers.
            return Ok(local);
        }
        let divided = self.engine.create_physical_plan(plan, state).await?;
        split::check(&divided)?;
        Ok(divided)
    }
}

/// Looks whether every node and expression of a plan can be sent.
fn sendable(plan: &Arc<dyn ExecutionPlan>, state: &SessionState) -> Result<()> {
    let mut has_scan = false;
    plan.apply(|node| {
        if let Some(scan) = node.downcast_ref::<TambourScanExec>() {
            has_scan = true;
            if reads_places(scan) {
                return not_impl_err!("columns that say where a row lies");
            }
        }
        if let Some(aggregate) = aggregate_of(node) {
            for expr in aggregate.aggr_expr() {
                let known = state.aggregate_functions().get(expr.fun().name());
                if known.map(AsRef::as_ref) != Some(expr.fun()) {
                    return not_impl_err!("the aggregate {}", expr.fun().name());
                }
            }
        }
        if let Some(repartition) = node.downcast_ref::<RepartitionExec>()
            && let Partitioning::Hash(keys, _) = repartition.partitioning()
            && keys.iter().any(|key| !key.is::<Column>())
        {
            return not_impl_err!("a shuffle by more than columns");
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    if !has_scan {
        return not_impl_err!("nothing to read on workers");
    }
    let inner = match plan.downcast_ref::<datafusion::physical_plan::analyze::AnalyzeExec>() {
        Some(analyze) => Arc::clone(analyze.input()),
        None => Arc::clone(plan),
    };
    Codec::default().encode(inner, &state.task_ctx()).map(drop)
}

fn aggregate_of(node: &Arc<dyn ExecutionPlan>) -> Option<&AggregateExec> {
    match tambour_sql::travel::groups_stock(node.as_ref()) {
        Some(stock) => Some(stock.as_ref()),
        None => node.downcast_ref::<AggregateExec>(),
    }
}

/// True if workers run a part of a plan.
fn is_divided(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.exists(|node| Ok(node.is::<DistributedExec>())).unwrap_or(false)
}
