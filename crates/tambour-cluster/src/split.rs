//! Which worker reads what.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, exec_datafusion_err, internal_err};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion_distributed::{
    DesiredTaskCountEvent, DesiredTaskCountEventResponse, DistributedLeafExec, NetworkBoundary,
    NetworkBoundaryExt, RouteTasksEvent, RouteTasksEventResponse, RouteTasksHandler,
    ScaleUpLeafNodeEvent, ScaleUpLeafNodeEventResponse, ScaleUpLeafNodeHandler, WorkerResolver,
};
use std::sync::Arc;
use tambour_sql::exec::TambourScanExec;
use url::Url;

/// Rows from which a scan is worth the way to the workers.
pub(crate) const ROWS_MIN: u64 = 20_000;

/// The workers, in a fixed order.
#[derive(Clone, Debug)]
pub(crate) struct Workers(pub(crate) Arc<Vec<Url>>);

impl Workers {
    fn names(&self, count: usize) -> Vec<String> {
        self.0.iter().take(count).map(ToString::to_string).collect()
    }
}

impl WorkerResolver for Workers {
    fn get_urls(&self) -> Result<Vec<Url>> {
        Ok(self.0.to_vec())
    }
}

/// The number of tasks for a scan: one for each worker. A scan with one partition stays whole: what is above it may rely on
/// seeing all rows.
pub(crate) fn tasks(
    workers: &Workers,
    rows_min: u64,
) -> impl Fn(DesiredTaskCountEvent<'_>) -> Option<Result<DesiredTaskCountEventResponse>>
+ Send
+ Sync
+ 'static {
    let count = workers.0.len();
    move |event: DesiredTaskCountEvent<'_>| {
        let scan = event.plan.downcast_ref::<TambourScanExec>()?;
        let partitions = event.plan.output_partitioning().partition_count();
        Some(Ok(if partitions < 2 {
            DesiredTaskCountEventResponse::maximum(1)
        } else if scan.planned_rows_max() < rows_min {
            DesiredTaskCountEventResponse::desired(1)
        } else {
            DesiredTaskCountEventResponse::desired(count)
        }))
    }
}

impl ScaleUpLeafNodeHandler for Workers {
    fn handle(
        &self,
        event: ScaleUpLeafNodeEvent<'_>,
    ) -> Option<Result<ScaleUpLeafNodeEventResponse>> {
        let scan = event.plan.downcast_ref::<TambourScanExec>()?;
        Some(self.divided(event.plan, scan, event.task_count))
    }
}

impl Workers {
    fn divided(
        &self,
        plan: &Arc<dyn ExecutionPlan>,
        scan: &TambourScanExec,
        tasks: usize,
    ) -> Result<ScaleUpLeafNodeEventResponse> {
        let partitions = plan.output_partitioning().partition_count();
        let shares =
            if tasks < 2 { scan.whole() } else { scan.shares(&self.names(tasks), partitions)? };
        let rows: u64 = shares.iter().map(TambourScanExec::planned_rows_max).sum();
        if rows != scan.planned_rows_max() || shares.len() != tasks.max(1) {
            return internal_err!(
                "the shares of {tasks} workers have {rows} rows, the scan {}",
                scan.planned_rows_max()
            );
        }
        let shares = shares.into_iter().map(|share| Arc::new(share) as Arc<dyn ExecutionPlan>);
        let leaf = DistributedLeafExec::try_new(Arc::clone(plan), shares)?;
        Ok(ScaleUpLeafNodeEventResponse::new(Arc::new(leaf)))
    }
}

impl RouteTasksHandler for Workers {
    /// Task and worker have one number: a share is made for the worker that gets it.
    fn handle(&self, event: RouteTasksEvent<'_>) -> Option<Result<RouteTasksEventResponse>> {
        if event.task_count > self.0.len() {
            let count = event.task_count;
            return Some(Err(exec_datafusion_err!(
                "a stage has {count} tasks, there are {} workers",
                self.0.len()
            )));
        }
        let urls = self.0.iter().take(event.task_count).cloned().collect();
        Some(Ok(RouteTasksEventResponse::new(urls)))
    }
}

/// Looks that no scan is in a stage as a whole, which several tasks would read each.
pub(crate) fn check(plan: &Arc<dyn ExecutionPlan>) -> Result<()> {
    plan.apply(|node| {
        if let Some(stage) = node.as_network_boundary().map(NetworkBoundary::input_stage)
            && let Some(plan) = stage.local_plan()
        {
            check_stage(plan, stage.task_count())?;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

pub(crate) fn check_stage(plan: &Arc<dyn ExecutionPlan>, tasks: usize) -> Result<()> {
    plan.apply(|node| {
        if node.is_network_boundary() {
            return Ok(TreeNodeRecursion::Jump);
        }
        if let Some(scan) = node.downcast_ref::<TambourScanExec>() {
            return internal_err!("{tasks} tasks would each read all of {}", scan.table().name());
        }
        if let Some(leaf) = node.downcast_ref::<DistributedLeafExec>()
            && leaf.variants().len() != tasks
        {
            return internal_err!("{} shares for {tasks} tasks", leaf.variants().len());
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}
