//! EXPLAIN of plans for several workers: the stages, and on how many workers each runs.

use async_trait::async_trait;
use datafusion::common::Result;
use datafusion::common::display::{PlanType, StringifiedPlan};
use datafusion::logical_expr::{Explain, LogicalPlan};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::explain::ExplainExec;
use datafusion_distributed::{
    BroadcastExec, DistributedExec, DistributedLeafExec, DistributedMetricsFormat,
    NetworkBoundaryExt, NetworkBroadcastExec, NetworkShuffleExec, display_plan_ascii,
    rewrite_distributed_plan_with_metrics,
};
use std::sync::Arc;
use tambour_sql::exec::untold;
use tambour_sql::explain::{self, Explainer, Node};

/// The operators that divide a plan, in words.
#[derive(Debug)]
pub(crate) struct Stages;

#[async_trait]
impl Explainer for Stages {
    fn node(&self, plan: &Arc<dyn ExecutionPlan>) -> Option<Node> {
        if let Some(boundary) = plan.as_network_boundary() {
            let stage = boundary.input_stage();
            let rows = if plan.is::<NetworkShuffleExec>() {
                "its rows are divided among those who ask for them"
            } else if plan.is::<NetworkBroadcastExec>() {
                "its rows go to all who ask for them"
            } else {
                "its rows are gathered"
            };
            let plural = if stage.task_count() == 1 { "" } else { "s" };
            return Some(Node {
                title: format!("Stage {} on {} worker{plural}", stage.num(), stage.task_count()),
                details: vec![rows.to_owned()],
                inputs: stage.local_plan().cloned().into_iter().collect(),
                ..Node::default()
            });
        }
        if let Some(leaf) = plan.downcast_ref::<DistributedLeafExec>() {
            let mut node = explain::node(leaf.original());
            node.details.push("each worker reads a share".to_owned());
            // The engine has brought the workers' own metrics here.
            node.metrics = plan.metrics().as_ref().map(untold);
            return Some(node);
        }
        let carries_on = plan.is::<DistributedExec>()
            || plan.is::<BroadcastExec>()
            || plan.name() == "SamplerExec";
        let inputs = || plan.children().into_iter().cloned().collect();
        carries_on.then(|| Node { inputs: inputs(), ..Node::default() })
    }

    async fn measured(&self, plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        rewrite_distributed_plan_with_metrics(plan, DistributedMetricsFormat::Aggregated).await
    }
}

/// The rows of EXPLAIN VERBOSE: the logical plan, and the physical one with its stages, in the engine's words.
pub(crate) fn explained(
    explain: &Explain,
    logical: &LogicalPlan,
    physical: &Arc<dyn ExecutionPlan>,
) -> Arc<dyn ExecutionPlan> {
    let text = display_plan_ascii(physical.as_ref(), false);
    let plans = vec![
        StringifiedPlan::new(PlanType::FinalLogicalPlan, logical.display_indent().to_string()),
        StringifiedPlan::new(PlanType::FinalPhysicalPlan, text),
    ];
    let schema = Arc::clone(explain.schema.inner());
    Arc::new(ExplainExec::new(schema, plans, explain.verbose))
}
