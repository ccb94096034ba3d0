//! EXPLAIN of plans for several workers: the stages, and which worker reads which parts.

use datafusion::common::display::{PlanType, StringifiedPlan};
use datafusion::logical_expr::{Explain, LogicalPlan};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::explain::ExplainExec;
use datafusion_distributed::display_plan_ascii;
use std::sync::Arc;

/// The rows of EXPLAIN: the logical plan, and the physical one with its stages.
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
