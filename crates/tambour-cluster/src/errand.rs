//! Errands: work on tables and files other than queries, done whole by one worker each.
//!
//! An errand is a text that those who send it and those who run it understand ([`Errands`]). It travels as a plan of one node,
//! by the engine's own service: so that tokens, versions, encryption and keep-alive are those of queries.

use crate::channel::{Connections, name};
use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::tables::Tables;
use datafusion::arrow::array::{ArrayRef, AsArray, BooleanArray, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, exec_datafusion_err, exec_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PhysicalExpr, PlanProperties,
};
use datafusion_distributed::{
    ChannelResolver, ExecuteTaskRequest, MaybeEncoded, ProducerHead, SetPlanRequest, TaskKey,
};
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use http::HeaderMap;
use std::collections::VecDeque;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use tambour_sql::SessionOptions;
use url::Url;
use uuid::Uuid;

/// What a worker does when it is sent on an errand.
pub trait Errands: fmt::Debug + Send + Sync {
    /// Does one on a thread that may wait. What it answers, or the error, goes back as it is. Paths are looked at by `root`
    /// before they are touched.
    fn run(&self, errand: &str, root: &Root) -> Result<String, String>;
}

/// The directory below which a worker works.
#[derive(Clone, Debug)]
pub struct Root(Arc<Tables>);

impl Root {
    /// The path without links and dots, if it is there and below the root.
    pub fn existing(&self, path: &Path) -> Result<PathBuf, String> {
        self.0.allowed(path).map_err(|error| plain(&error))
    }
    /// The same for one that is going to be made in a directory that is there.
    pub fn new_in(&self, path: &Path) -> Result<PathBuf, String> {
        let (Some(directory), Some(file)) = (path.parent(), path.file_name()) else {
            return Err(format!("{} does not name a file", path.display()));
        };
        Ok(self.existing(directory)?.join(file))
    }
}

/// What came of an errand: the worker's answer, or why it did not do it.
pub type Outcome = std::result::Result<String, String>;

impl Cluster {
    /// Sends the workers on all errands: each takes `abreast` of them at a time, and the next one as soon as one is done. An
    /// errand whose worker is lost is given to another; it must do no harm when it is done twice. An error if the last worker
    /// is lost. `done` is told the number of an errand, the address of the worker, and the outcome.
    pub async fn send(
        &self,
        errands: &[String],
        abreast: usize,
        done: &mut (dyn FnMut(usize, &str, Outcome) + Send),
    ) -> std::result::Result<(), ClusterError> {
        let mut waiting: VecDeque<usize> = (0..errands.len()).collect();
        let places = 0..abreast.max(1);
        let mut idle: VecDeque<&Url> =
            places.flat_map(|_| self.urls().iter()).take(errands.len().max(1)).collect();
        let connections = Connections::new(self.secrets());
        // The settings of a session travel with every plan.
        let context = self.session(&SessionOptions::default())?.context().task_ctx();
        let mut running = FuturesUnordered::new();
        let mut lost = None;
        loop {
            while let (Some(&number), Some(&url)) = (waiting.front(), idle.front()) {
                waiting.pop_front();
                idle.pop_front();
                let sent = ask(&connections, &context, url, &errands[number]);
                running.push(sent.map(move |outcome| (number, url, outcome)));
            }
            let Some((number, url, outcome)) = running.next().await else { break };
            match outcome {
                Ok(outcome) => {
                    idle.push_back(url);
                    done(number, &name(url), outcome);
                }
                Err(error) => {
                    idle.retain(|other| *other != url);
                    waiting.push_back(number);
                    let (worker, problem) = (name(url), plain(&error));
                    let own = format!("worker {worker}: ");
                    let problem = problem.strip_prefix(&own).unwrap_or(&problem).to_owned();
                    lost = Some(ClusterError::Unreachable { worker, problem });
                }
            }
        }
        match lost {
            Some(error) if !waiting.is_empty() => Err(error),
            _ => Ok(()),
        }
    }
}

/// An error in words, without what the engine puts in front.
fn plain(error: &datafusion::error::DataFusionError) -> String {
    let text = error.strip_backtrace();
    text.strip_prefix("Execution error: ").unwrap_or(&text).to_owned()
}

/// Sends one worker on an errand. An error is that of the worker or of the way to it.
async fn ask(
    connections: &Connections,
    context: &Arc<TaskContext>,
    url: &Url,
    errand: &str,
) -> Result<Outcome> {
    let plan = Arc::new(ErrandExec::new(errand.to_owned(), None)) as Arc<dyn ExecutionPlan>;
    let key = TaskKey { query_id: Uuid::new_v4(), stage_id: 0, task_number: 0 };
    let metrics = ExecutionPlanMetricsSet::new();
    let mut channel = connections.get_worker_client_for_url(url).await?;
    // The worker keeps the plan for as long as this side of the channel is open.
    let (open, closed) = tokio::sync::oneshot::channel::<()>();
    let silence = futures::stream::once(closed).filter_map(async |_| None).boxed();
    let request = SetPlanRequest {
        task_key: key,
        task_count: 1,
        plan: MaybeEncoded::Decoded(plan),
        work_unit_feed_declarations: Vec::new(),
        target_worker_url: url.clone(),
        query_start_time_ns: 0,
    };
    let headers = HeaderMap::new;
    let mut told =
        channel.coordinator_channel(headers(), request, silence, metrics.clone(), context).await?;
    let request = ExecuteTaskRequest {
        task_key: key,
        target_partition_start: 0,
        target_partition_end: 1,
        producer_head: ProducerHead::None,
    };
    let mut answers = channel.execute_task(headers(), request, metrics, context).await?;
    let Some(answer) = answers.pop() else { return exec_err!("no answer") };
    let mut answer = answer.fuse();
    let mut rows = Vec::new();
    loop {
        tokio::select! {
            batch = answer.next() => match batch {
                Some(batch) => rows.push(batch?),
                None => break,
            },
            // An error here is one of the plan, which never began.
            Some(message) = told.next() => drop(message?),
        }
    }
    drop(open);
    let [row] = &rows[..] else { return exec_err!("{} answers instead of one", rows.len()) };
    read(row)
}

/// The only row: whether it was done, and the answer.
fn read(row: &RecordBatch) -> Result<Outcome> {
    let wrong = || exec_datafusion_err!("an answer of another form");
    if row.num_rows() != 1 || row.num_columns() != 2 {
        return Err(wrong());
    }
    let is_done = row.column(0).as_boolean_opt().ok_or_else(wrong)?.value(0);
    let text = row.column(1).as_string_opt::<i32>().ok_or_else(wrong)?.value(0).to_owned();
    Ok(if is_done { Ok(text) } else { Err(text) })
}

static ANSWER: LazyLock<SchemaRef> = LazyLock::new(|| {
    Arc::new(Schema::new(vec![
        Field::new("is_done", DataType::Boolean, false),
        Field::new("answer", DataType::Utf8, false),
    ]))
});

/// An errand as the node of a plan.
#[derive(Debug)]
pub(crate) struct ErrandExec {
    errand: String,
    /// Who runs it; on the coordinator nobody.
    runner: Option<(Arc<dyn Errands>, Root)>,
    properties: Arc<PlanProperties>,
}

impl ErrandExec {
    pub(crate) fn new(errand: String, runner: Option<(Arc<dyn Errands>, Arc<Tables>)>) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&ANSWER)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        let runner = runner.map(|(errands, tables)| (errands, Root(tables)));
        Self { errand, runner, properties: Arc::new(properties) }
    }
    pub(crate) fn errand(&self) -> &str {
        &self.errand
    }
}

impl DisplayAs for ErrandExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Errand")
    }
}

impl ExecutionPlan for ErrandExec {
    fn name(&self) -> &'static str {
        "Errand"
    }
    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }
    fn apply_expressions(
        &self,
        _visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }
    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }
    fn execute(
        &self,
        _partition: usize,
        _context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let Some((errands, root)) = self.runner.clone() else {
            return exec_err!("this worker runs queries only");
        };
        let errand = self.errand.clone();
        let mut stream = RecordBatchReceiverStreamBuilder::new(Arc::clone(&ANSWER), 1);
        let sender = stream.tx();
        stream.spawn_blocking(move || {
            let outcome = errands.run(&errand, &root);
            let (is_done, text) = match outcome {
                Ok(answer) => (true, answer),
                Err(reason) => (false, reason),
            };
            let columns: Vec<ArrayRef> = vec![
                Arc::new(BooleanArray::from(vec![is_done])),
                Arc::new(StringArray::from(vec![text])),
            ];
            let row = RecordBatch::try_new(Arc::clone(&ANSWER), columns)?;
            // Nobody may be listening any more.
            drop(sender.blocking_send(Ok(row)));
            Ok(())
        });
        Ok(stream.build())
    }
}
