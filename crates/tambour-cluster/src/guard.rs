//! What stands around the head of a stage on a worker.
//!
//! The engine drops a panic that happens while the head is polled: the stream just ends, and the query would answer from what
//! came before. Here a panic becomes an error. A worker that is stopping ends its streams with an error, too. The guard hides
//! from walks over the plan: metrics are told apart by their place in it.

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PhysicalExpr,
    PlanProperties, ReplaceChildrenOptions,
};
use datafusion_distributed::{
    WorkerPlanRewriteEvent, WorkerPlanRewriteEventResponse, WorkerPlanRewriteHandler,
};
use futures::Stream;
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

/// Puts the guard around plans.
#[derive(Clone, Default)]
pub(crate) struct Guard {
    /// Set when the worker stops.
    pub(crate) is_stopping: Arc<AtomicBool>,
    /// What changes plans before.
    pub(crate) before: Option<Arc<dyn WorkerPlanRewriteHandler>>,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("is_stopping", &self.is_stopping).finish_non_exhaustive()
    }
}

impl WorkerPlanRewriteHandler for Guard {
    fn rewrite_worker_plan(
        &self,
        event: WorkerPlanRewriteEvent<'_>,
    ) -> Result<WorkerPlanRewriteEventResponse> {
        let plan = match &self.before {
            Some(before) => before.rewrite_worker_plan(event)?.plan,
            None => event.plan,
        };
        let guarded = GuardExec { plan, guard: self.clone() };
        Ok(WorkerPlanRewriteEventResponse::new(Arc::new(guarded)))
    }
}

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
        let opened = catch_unwind(AssertUnwindSafe(|| self.plan.execute(partition, context)));
        let inner = opened.unwrap_or_else(|panic| Err(panicked(panic.as_ref())))?;
        Ok(Box::pin(Guarded {
            schema: inner.schema(),
            inner: Some(inner),
            guard: self.guard.clone(),
        }))
    }
}

/// The error for a panic.
fn panicked(panic: &(dyn Any + Send)) -> datafusion::error::DataFusionError {
    let said = panic.downcast_ref::<&str>().copied();
    let said = said.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    exec_datafusion_err!("it panicked: {}", said.unwrap_or("without a message"))
}

struct Guarded {
    schema: SchemaRef,
    /// `None` after the end.
    inner: Option<SendableRecordBatchStream>,
    guard: Guard,
}

impl Stream for Guarded {
    type Item = Result<RecordBatch>;
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let is_stopping = self.guard.is_stopping.load(Ordering::Relaxed);
        let Some(inner) = &mut self.inner else { return Poll::Ready(None) };
        let polled = if is_stopping {
            Poll::Ready(Some(Err(exec_datafusion_err!("it is stopping"))))
        } else {
            catch_unwind(AssertUnwindSafe(|| inner.as_mut().poll_next(context)))
                .unwrap_or_else(|panic| Poll::Ready(Some(Err(panicked(panic.as_ref())))))
        };
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            self.inner = None;
        }
        polled
    }
}

impl RecordBatchStream for Guarded {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
