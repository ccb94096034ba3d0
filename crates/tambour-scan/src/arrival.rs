//! Rows without ORDER BY in the order of where they come from, where that costs nothing: the rows of `numbers` and of files,
//! the first of a LIMIT, and the sides of a UNION ALL one after the other. Dealt out to several threads, rows come as
//! these finish, and two runs of `LIMIT 3` show different ones.

use crate::exec::TambourScanExec;
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::common::spawn_buffered;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::{
    ExecutionPlan, ExecutionPlanProperties, Partitioning, execute_stream,
    replace_children_if_necessary,
};
use futures::{StreamExt, stream};
use std::sync::Arc;

/// Rows of a LIMIT for which the rows of a table are not dealt out.
const FEW: usize = 65_536;
/// Batches that each side of a UNION ALL may be ahead.
const AHEAD: usize = 2;

/// Takes away what deals out rows to threads.
#[derive(Debug)]
pub(crate) struct OrderOfArrival;

impl PhysicalOptimizerRule for OrderOfArrival {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = undealt(&plan, false)?.unwrap_or(plan);
        plan.transform_down(|node| {
            let Some(gather) = node.downcast_ref::<CoalescePartitionsExec>() else {
                return Ok(Transformed::no(node));
            };
            let has_few = gather.fetch().is_some_and(|rows| rows <= FEW);
            Ok(match undealt(gather.input(), has_few)? {
                Some(input) => Transformed::yes(replace_children_if_necessary(node, vec![input])?),
                None => Transformed::no(node),
            })
        })
        .data()
    }
    fn name(&self) -> &'static str {
        "order_of_arrival"
    }
    fn schema_check(&self) -> bool {
        true
    }
}

/// The same rows in one stream, if nothing but a row by row operator is above a division of one; `has_few`: only the first
/// rows are wanted.
fn undealt(plan: &Arc<dyn ExecutionPlan>, has_few: bool) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(division) = plan.downcast_ref::<RepartitionExec>() {
        let input = division.input();
        let is_dealt = matches!(division.partitioning(), Partitioning::RoundRobinBatch(_))
            && input.output_partitioning().partition_count() == 1;
        let reads = input.exists(|node| Ok(node.is::<TambourScanExec>()))?;
        return Ok((is_dealt && (has_few || !reads)).then(|| Arc::clone(input)));
    }
    let Some(input) = carried(plan) else { return Ok(None) };
    let few = plan.downcast_ref::<LocalLimitExec>().map(LocalLimitExec::fetch);
    let few =
        few.or_else(|| plan.downcast_ref::<GlobalLimitExec>().and_then(GlobalLimitExec::fetch));
    let has_few = has_few || few.is_some_and(|rows| rows <= FEW);
    let Some(undealt) = undealt(input, has_few)? else { return Ok(None) };
    let mut children: Vec<_> = plan.children().into_iter().cloned().collect();
    for child in children.iter_mut().filter(|child| Arc::ptr_eq(child, input)) {
        *child = Arc::clone(&undealt);
    }
    Ok(Some(replace_children_if_necessary(Arc::clone(plan), children)?))
}

/// The input of an operator that leaves rows in their order. A hash join hands on the rows that it looks up one after the
/// other, if it has gathered the others.
fn carried(plan: &Arc<dyn ExecutionPlan>) -> Option<&Arc<dyn ExecutionPlan>> {
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        return (*join.partition_mode() == PartitionMode::CollectLeft).then(|| join.right());
    }
    let carries = plan.is::<ProjectionExec>()
        || plan.is::<FilterExec>()
        || plan.is::<UnnestExec>()
        || plan.is::<CooperativeExec>()
        || plan.is::<LocalLimitExec>()
        || plan.is::<GlobalLimitExec>();
    carries.then(|| plan.children().into_iter().next()).flatten()
}

/// True for a UNION ALL under operators that leave rows in their order.
fn is_union(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<UnionExec>() || carried(plan).is_some_and(is_union)
}

/// The rows of a plan; those of a UNION ALL side by side, while all sides run.
pub fn run(
    plan: &Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
) -> Result<SendableRecordBatchStream> {
    let count = plan.output_partitioning().partition_count();
    if count == 1 || !is_union(plan) {
        return execute_stream(Arc::clone(plan), context);
    }
    let sides = (0..count)
        .map(|side| Ok(spawn_buffered(plan.execute(side, Arc::clone(&context))?, AHEAD)))
        .collect::<Result<Vec<_>>>()?;
    let rows = stream::iter(sides).flatten();
    Ok(Box::pin(RecordBatchStreamAdapter::new(plan.schema(), rows)))
}
