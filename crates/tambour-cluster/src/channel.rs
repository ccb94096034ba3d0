//! Connections to workers: with a timeout, with keep-alive, by name in every error, and with the rows counted.

use crate::codec::Envelope;
use crate::network::{self, KEEP_ALIVE, KEEP_ALIVE_TIMEOUT};
use crate::tls::Authority;
use crate::wire::{Token, add_headers};
use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_distributed::grpc::{BoxCloneSyncChannel, create_worker_client};
use datafusion_distributed::{
    ChannelResolver, CoordinatorToWorkerMsg, ExecuteTaskRequest, GetWorkerInfoRequest,
    GetWorkerInfoResponse, MaybeEncoded, NetworkBoundaryExt, SetPlanRequest, TaskMetrics,
    WorkerChannel, WorkerToCoordinatorMsg,
};
use futures::StreamExt;
use futures::stream::BoxStream;
use http::HeaderMap;
use std::collections::HashMap;
use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tambour_sql::exec::{Read, TambourScanExec};
use tonic::codegen::Service;
use tonic::transport::Endpoint;
use url::Url;

/// How long a worker may take to accept a connection.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Connections that are open.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connections {
    open: Arc<Mutex<HashMap<Url, BoxCloneSyncChannel>>>,
    secrets: Secrets,
}

/// What a caller shows, and what it checks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets {
    pub(crate) token: Option<Token>,
    pub(crate) authority: Option<Authority>,
}

impl Connections {
    pub(crate) fn new(secrets: Secrets) -> Self {
        Self { secrets, ..Self::default() }
    }

    /// Whether connections are not encrypted.
    pub(crate) fn is_plain(&self) -> bool {
        self.secrets.authority.is_none()
    }

    async fn connect(&self, url: &Url) -> Result<BoxCloneSyncChannel> {
        let known = self.open.lock().unwrap_or_else(PoisonError::into_inner).get(url).cloned();
        // One whose task has ended is dead.
        if let Some(mut channel) = known
            && poll_fn(|context| channel.poll_ready(context)).await.is_ok()
        {
            return Ok(channel);
        }
        let is_encrypted = self.secrets.authority.is_some();
        let unreachable = |error: tonic::transport::Error| {
            let cause = innermost(&error);
            let hint = if is_encrypted && is_other_protocol(&error) { UNENCRYPTED } else { "" };
            exec_datafusion_err!("worker {}: it cannot be reached: {cause}{hint}", name(url))
        };
        let mut endpoint = Endpoint::from_shared(url.to_string()).map_err(unreachable)?;
        if let Some(authority) = &self.secrets.authority {
            endpoint = endpoint.tls_config(authority.config(url)).map_err(unreachable)?;
        }
        let endpoint = endpoint
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
            .keep_alive_while_idle(true);
        // The connection's task lives where it was begun.
        let network = network::handle()?;
        let connected = network.spawn(async move { endpoint.connect().await }).await;
        let connected = connected.map_err(|error| exec_datafusion_err!("connect: {error}"))?;
        let channel = BoxCloneSyncChannel::new(connected.map_err(unreachable)?);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.insert(url.clone(), channel.clone());
        Ok(channel)
    }
}

#[async_trait]
impl ChannelResolver for Connections {
    async fn get_worker_client_for_url(&self, url: &Url) -> Result<Box<dyn WorkerChannel>> {
        let inner = create_worker_client(self.connect(url).await?);
        Ok(Box::new(Channel { inner, worker: name(url), token: self.secrets.token.clone() }))
    }
}

/// A worker as users write it: host and port.
pub(crate) fn name(url: &Url) -> String {
    let host = url.host_str().unwrap_or("?");
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// The cause at the bottom, which says most.
pub(crate) fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut last = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    last.to_string()
}

/// What is added where TLS met something else.
const UNENCRYPTED: &str = " (a worker without --tls-cert is called without --tls-ca)";

/// Whether the other side answered the greeting of TLS in another protocol.
fn is_other_protocol(error: &(dyn Error + 'static)) -> bool {
    std::iter::successors(Some(error), |&error| error.source())
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::InvalidData)
        && !innermost(error).contains("certificate")
}

/// A connection to a worker, for one request.
struct Channel {
    inner: Box<dyn WorkerChannel>,
    worker: String,
    token: Option<Token>,
}

/// The error with the worker's name in front, unless another worker is named there already.
fn named(worker: &str, error: DataFusionError) -> DataFusionError {
    let text = broken(&error).unwrap_or_else(|| error.strip_backtrace());
    let text = PREFIXES
        .iter()
        .fold(text.as_str(), |text, prefix| text.strip_prefix(prefix).unwrap_or(text));
    if text.starts_with(NAMED) {
        return exec_datafusion_err!("{text}");
    }
    exec_datafusion_err!("{NAMED}{worker}: {text}")
}

/// What is said of a request whose connection ended before its answer.
fn broken(error: &DataFusionError) -> Option<String> {
    let DataFusionError::External(error) = error.find_root() else { return None };
    let status = error.downcast_ref::<tonic::Status>()?;
    status.source()?;
    Some(format!("{BROKEN}: {}", innermost(status)))
}

/// How a message begins that tells of a connection that ended.
pub(crate) const BROKEN: &str = "the connection broke";

/// How a message begins that names a worker.
const NAMED: &str = "worker ";
/// What the engine puts in front of messages on their way.
const PREFIXES: [&str; 3] = ["Execution error: ", "External error: ", "Execution error: "];

#[async_trait]
impl WorkerChannel for Channel {
    async fn coordinator_channel(
        &mut self,
        mut headers: HeaderMap,
        mut request: SetPlanRequest,
        messages: BoxStream<'static, CoordinatorToWorkerMsg>,
        metrics: ExecutionPlanMetricsSet,
        context: &Arc<TaskContext>,
    ) -> Result<BoxStream<'static, Result<WorkerToCoordinatorMsg>>> {
        add_headers(&mut headers, self.token.as_ref(), context.session_config().options())?;
        let mut sent = None;
        if let MaybeEncoded::Decoded(plan) = &request.plan {
            sent = Some(Arc::clone(plan));
            let envelope = Envelope::new(Arc::clone(plan), Arc::clone(context));
            request.plan = MaybeEncoded::Decoded(Arc::new(envelope));
        }
        let worker = self.worker.clone();
        let answer =
            self.inner.coordinator_channel(headers, request, messages, metrics, context).await;
        let answer = answer.map_err(|error| named(&worker, error))?;
        Ok(answer
            .map(move |message| {
                let message = message.map_err(|error| named(&worker, error))?;
                if let (WorkerToCoordinatorMsg::TaskMetrics(told), Some(plan)) = (&message, &sent) {
                    compare(plan, told, &worker)?;
                }
                Ok(message)
            })
            .boxed())
    }

    async fn execute_task(
        &mut self,
        headers: HeaderMap,
        request: ExecuteTaskRequest,
        metrics: ExecutionPlanMetricsSet,
        context: &Arc<TaskContext>,
    ) -> Result<Vec<BoxStream<'static, Result<RecordBatch>>>> {
        let answer = self.inner.execute_task(headers, request, metrics, context).await;
        let streams = answer.map_err(|error| named(&self.worker, error))?;
        let name_all = |stream: BoxStream<'static, Result<RecordBatch>>| {
            let worker = self.worker.clone();
            stream.map(move |batch| batch.map_err(|error| named(&worker, error))).boxed()
        };
        Ok(streams.into_iter().map(name_all).collect())
    }

    async fn get_worker_info(
        &mut self,
        request: GetWorkerInfoRequest,
    ) -> Result<GetWorkerInfoResponse> {
        let answer = self.inner.get_worker_info(request).await;
        answer.map_err(|error| named(&self.worker, error))
    }
}

/// Compares the rows that a worker has read with those that its plan reads: more are always wrong, fewer are if the scans were
/// read to their end. What was read is told to the scans, for the statistics of the query.
fn compare(plan: &Arc<dyn ExecutionPlan>, told: &TaskMetrics, worker: &str) -> Result<()> {
    let mut place = 0;
    // The engine puts an operator of its own on top of some plans.
    let count = size(plan)?;
    let ahead = told.pre_order_plan_metrics.len().saturating_sub(count);
    plan.apply(|node| {
        let metrics = told.pre_order_plan_metrics.get(ahead + place);
        place += 1;
        if let (Some(scan), Some(metrics)) = (node.downcast_ref::<TambourScanExec>(), metrics) {
            let read = Read::of(metrics);
            check(scan, &read, worker)?;
            scan.tell(&read);
            let together = scan.read();
            let together = together.rows.saturating_add(together.skipped);
            if let Some(planned) = scan.planned_together()
                && together > planned
            {
                let table = scan.table().name();
                return Err(exec_datafusion_err!(
                    "the workers read or skipped {together} rows of table {table}, the plan has {planned}"
                ));
            }
        }
        Ok(if node.is_network_boundary() {
            TreeNodeRecursion::Jump
        } else {
            TreeNodeRecursion::Continue
        })
    })?;
    Ok(())
}

/// Nodes of a stage.
fn size(plan: &Arc<dyn ExecutionPlan>) -> Result<usize> {
    let mut count = 0;
    plan.apply(|node| {
        count += 1;
        Ok(if node.is_network_boundary() {
            TreeNodeRecursion::Jump
        } else {
            TreeNodeRecursion::Continue
        })
    })?;
    Ok(count)
}

fn check(scan: &TambourScanExec, read: &Read, worker: &str) -> Result<()> {
    let most = scan.planned_rows_max();
    let is_ended = read.ended >= scan.scan().partitions.len() as u64;
    let seen = read.rows.saturating_add(read.skipped);
    let is_short = is_ended && scan.planned_rows().is_some_and(|rows| seen < rows);
    if seen > most || is_short {
        return Err(exec_datafusion_err!(
            "worker {worker}: it read or skipped {seen} rows of table {}, the plan has {most}",
            scan.table().name()
        ));
    }
    Ok(())
}
