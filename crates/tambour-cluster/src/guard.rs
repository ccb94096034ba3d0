//! What stands around the head of a stage on a worker.
//!
//! The head runs on the worker's threads, not on those of the network that ask for its batches.
//! The engine drops a panic that happens while the head is polled: the stream just ends, and the query would answer from what
//! came before. Here a panic becomes an error. A worker that is stopping ends its streams with an error, too. The guard hides
//! from walks over the plan: metrics are told apart by their place in it.

use crate::found;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PhysicalExpr,
    PlanProperties, ReplaceChildrenOptions,
};
use datafusion_distributed::{
    WorkerPlanRewriteEvent, WorkerPlanRewriteEventResponse, WorkerPlanRewriteHandler,
};
use futures::{FutureExt, StreamExt};
use std::any::Any;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::watch;

/// Puts the guard around plans.
#[derive(Clone)]
pub(crate) struct Guard {
    /// Where plans run.
    threads: Handle,
    /// True when the worker stops.
    stopping: watch::Sender<bool>,
    /// What changes plans before.
    before: Option<Arc<dyn WorkerPlanRewriteHandler>>,
}

impl Guard {
    pub(crate) fn new(threads: Handle, before: Option<Arc<dyn WorkerPlanRewriteHandler>>) -> Self {
        Self { threads, stopping: watch::Sender::new(false), before }
    }

    /// Ends all streams with an error.
    pub(crate) fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Ready when the worker stops.
    async fn stopped(&self) {
        // The sender is here: the channel does not close.
        let _ = self.stopping.subscribe().wait_for(|&stopping| stopping).await;
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("stopping", &self.stopping).finish_non_exhaustive()
    }
}

impl WorkerPlanRewriteHandler for Guard {
    fn rewrite_worker_plan(
        &self,
        event: WorkerPlanRewriteEvent<'_>,
    ) -> Result<WorkerPlanRewriteEventResponse> {
        let session_config = event.session_config;
        let plan = found::connected(event.plan, session_config)?;
        let plan = match &self.before {
            Some(before) => {
                before.rewrite_worker_plan(WorkerPlanRewriteEvent { plan, session_config })?.plan
            }
            None => plan,
        };
        let guarded = GuardExec { plan, guard: self.clone() };
        Ok(WorkerPlanRewriteEventResponse::new(Arc::new(guarded)))
    }
}

/// Batches that wait for the network at most.
const BATCHES: usize = 2;

#[derive(Debug)]
struct GuardExec {
    plan: Arc<dyn ExecutionPlan>,
    guard: Guard,
}

impl DisplayAs for GuardExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan.fmt_as(format, f)
    }
}

impl ExecutionPlan for GuardExec {
    fn name(&self) -> &str {
        self.plan.name()
    }
    fn downcast_delegate(&self) -> Option<&dyn ExecutionPlan> {
        Some(self.plan.as_ref())
    }
    fn properties(&self) -> &Arc<PlanProperties> {
        self.plan.properties()
    }
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.plan.children()
    }
    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.plan.apply_expressions(visit)
    }
    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        let plan = Arc::clone(&self.plan).replace_children(children, options)?;
        Ok(Arc::new(Self { plan, guard: self.guard.clone() }))
    }
    fn metrics(&self) -> Option<MetricsSet> {
        self.plan.metrics()
    }
    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let mut stream = RecordBatchReceiverStreamBuilder::new(self.schema(), BATCHES);
        let (plan, guard, sender) = (Arc::clone(&self.plan), self.guard.clone(), stream.tx());
        let head = async move {
            let mut batches = plan.execute(partition, context).map_err(in_one_line)?;
            while let Some(batch) = batches.next().await {
                if sender.send(Ok(batch.map_err(in_one_line)?)).await.is_err() {
                    // Nobody listens any more.
                    break;
                }
            }
            Ok(())
        };
        let guarded = async move {
            tokio::select! {
                biased;
                () = guard.stopped() => Err(exec_datafusion_err!("it is stopping")),
                ended = AssertUnwindSafe(head).catch_unwind() => {
                    ended.unwrap_or_else(|panic| Err(panicked(panic.as_ref())))
                }
            }
        };
        stream.spawn_on(guarded, &self.guard.threads);
        Ok(stream.build())
    }
}

/// An error with its causes in its text, if it is one of a table: on the wire it has no others.
fn in_one_line(error: DataFusionError) -> DataFusionError {
    let DataFusionError::External(root) = error.find_root() else { return error };
    let causes = std::iter::successors(root.source(), |cause| cause.source());
    let text = causes.fold(root.to_string(), |text, cause| {
        let cause = cause.to_string();
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    });
    exec_datafusion_err!("{text}")
}

/// The error for a panic.
fn panicked(panic: &(dyn Any + Send)) -> DataFusionError {
    let said = panic.downcast_ref::<&str>().copied();
    let said = said.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    exec_datafusion_err!("it panicked: {}", said.unwrap_or("without a message"))
}
