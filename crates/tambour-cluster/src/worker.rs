//! The worker's side: a server that runs parts of plans over tables below a directory.

use crate::channel::{Connections, Secrets, innermost};
use crate::codec::Codec;
use crate::errand::Errands;
use crate::error::ClusterError;
use crate::guard::Guard;
use crate::network::{self, KEEP_ALIVE, KEEP_ALIVE_TIMEOUT};
use crate::tables::Tables;
use crate::tls::{Authority, TlsIdentity};
use crate::wire::{Token, accept, introduction};
use datafusion::common::exec_datafusion_err;
use datafusion::execution::SessionState;
use datafusion_distributed::{
    DistributedExt, Worker, WorkerPlanRewriteHandler, WorkerQueryContext,
};
use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tambour_sql::SessionOptions;
use tambour_sql::context::runtime;
use tambour_sql::scan_options::ScanOptions;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

/// Bytes of a request at most; answers have no limit.
const REQUEST_BYTES_MAX: usize = 128 << 20;
/// How long a worker that stops waits for its streams to end.
const PATIENCE: Duration = Duration::from_secs(3);

/// How a worker runs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WorkerOptions {
    /// Where it listens: `host:port`; port 0 takes a free one.
    pub listen: String,
    /// The directory below which it opens tables.
    pub root: PathBuf,
    /// Bytes that the operators of all queries together may hold before they spill; `None`: no limit.
    pub memory_bytes: Option<u64>,
    /// Threads, for what it says of itself; the runtime on which it is begun has them.
    pub threads: usize,
    /// What coordinators must know.
    pub token: Option<String>,
    /// With it, connections are encrypted.
    pub tls: Option<TlsIdentity>,
    /// Certificates, in PEM, that those of other workers are checked against; `None`: the own one.
    pub tls_authority: Option<Vec<u8>>,
    /// What it does beside queries; `None`: nothing.
    pub errands: Option<Arc<dyn Errands>>,
}

impl WorkerOptions {
    /// One that opens tables below this directory, on one thread, at a free port of this machine.
    pub fn below(root: impl Into<PathBuf>) -> Self {
        Self {
            listen: "127.0.0.1:0".to_owned(),
            root: root.into(),
            memory_bytes: None,
            threads: 1,
            token: None,
            tls: None,
            tls_authority: None,
            errands: None,
        }
    }
}

/// A worker that listens.
pub struct Served {
    listener: tokio::net::TcpListener,
    address: SocketAddr,
    server: Server,
    worker: Worker,
    tables: Arc<Tables>,
    guard: Guard,
    network: Handle,
}

impl std::fmt::Debug for Served {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Served").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Listens. Nothing is answered before [`Served::run`].
pub async fn serve(options: &WorkerOptions) -> Result<Served, ClusterError> {
    serve_with(options, None).await
}

/// The same with something that changes plans before the guard is put around them.
pub(crate) async fn serve_with(
    options: &WorkerOptions,
    before: Option<Arc<dyn WorkerPlanRewriteHandler>>,
) -> Result<Served, ClusterError> {
    let root_error = |cause| ClusterError::Root { root: options.root.display().to_string(), cause };
    let tables = Arc::new(Tables::below(&options.root).map_err(root_error)?);
    let secrets = secrets(options)?;
    let server = server(options)?;
    let listen_error = |cause| ClusterError::Listen { address: options.listen.clone(), cause };
    let network = network::handle().map_err(listen_error)?;
    let bound = network.spawn(tokio::net::TcpListener::bind(options.listen.clone())).await;
    let listener = bound.map_err(std::io::Error::other).flatten().map_err(listen_error)?;
    let address = listener.local_addr().map_err(listen_error)?;
    if !address.ip().is_loopback() && secrets.token.is_none() {
        return Err(ClusterError::Open { address });
    }
    let guard = Guard::new(Handle::current(), before);
    let resources = runtime(&SessionOptions {
        memory_bytes: options.memory_bytes,
        ..SessionOptions::default()
    })?;
    let sessions = Sessions {
        token: secrets.token.clone(),
        tables: Arc::clone(&tables),
        errands: options.errands.clone(),
        guard: guard.clone(),
        connections: Connections::new(secrets),
    };
    let worker = Worker::from_session_builder(move |context: WorkerQueryContext| {
        let state = sessions.state(context);
        async move { state }
    })
    .with_runtime_env(resources)
    .with_version(introduction(&tables.root().display().to_string(), options.threads));
    Ok(Served { listener, address, server, worker, tables, guard, network })
}

/// What this worker shows to others and checks of them.
fn secrets(options: &WorkerOptions) -> Result<Secrets, ClusterError> {
    let own = options.tls.as_ref().map(|identity| &identity.certificate);
    let authority = options.tls_authority.as_ref().or(own);
    let authority = authority.map(|pem| Authority::new(pem)).transpose()?;
    Ok(Secrets { token: Token::given(options.token.as_deref())?, authority })
}

/// The server without its service.
fn server(options: &WorkerOptions) -> Result<Server, ClusterError> {
    let server = Server::builder()
        .http2_keepalive_interval(Some(KEEP_ALIVE))
        .http2_keepalive_timeout(Some(KEEP_ALIVE_TIMEOUT));
    let Some(identity) = &options.tls else { return Ok(server) };
    server.tls_config(identity.config()).map_err(|error| {
        let problem = format!("certificate or key: {}", innermost(&error));
        ClusterError::Tls { problem }
    })
}

/// What the session of every query has.
struct Sessions {
    token: Option<Token>,
    tables: Arc<Tables>,
    errands: Option<Arc<dyn Errands>>,
    guard: Guard,
    connections: Connections,
}

impl Sessions {
    fn state(&self, context: WorkerQueryContext) -> datafusion::error::Result<SessionState> {
        let WorkerQueryContext { mut builder, headers } = context;
        let config = builder.config().get_or_insert_default();
        config.options_mut().extensions.insert(ScanOptions::default());
        accept(&headers, self.token.as_ref(), config)?;
        let builder = builder
            .with_distributed_user_codec(Codec {
                tables: Some(Arc::clone(&self.tables)),
                errands: self.errands.clone(),
            })
            .with_distributed_channel_resolver(self.connections.clone())
            .with_distributed_worker_plan_rewrite_handler(self.guard.clone());
        tambour_sql::travel::session(builder).map_err(|error| exec_datafusion_err!("{error}"))
    }
}

impl Served {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
    /// The directory below which it opens tables.
    pub fn root(&self) -> &Path {
        self.tables.root()
    }
    /// Answers until `stop` is ready; then running queries get an error, and it ends. Plans run on the runtime on which the
    /// worker was begun.
    pub async fn run(mut self, stop: impl Future<Output = ()> + Send) -> Result<(), ClusterError> {
        let incoming = TcpIncoming::from(self.listener).with_nodelay(Some(true));
        let service = self.worker.into_worker_server().max_decoding_message_size(REQUEST_BYTES_MAX);
        let (sender, stopped) = tokio::sync::oneshot::channel::<()>();
        let server =
            self.server.add_service(service).serve_with_incoming_shutdown(incoming, async {
                // Either it is sent or nobody can send it any more.
                let _ = stopped.await;
            });
        // Dropped, it ends the server.
        let mut running = JoinSet::new();
        running.spawn_on(server, &self.network);
        let ended = tokio::select! {
            ended = running.join_next() => ended,
            () = stop => {
                self.guard.stop();
                let _ = sender.send(());
                // Who does not take the error in time finds the connection closed.
                tokio::time::timeout(PATIENCE, running.join_next()).await.unwrap_or(None)
            }
        };
        let failed = |problem| ClusterError::Server { problem };
        match ended {
            None | Some(Ok(Ok(()))) => Ok(()),
            Some(Ok(Err(error))) => Err(failed(error.to_string())),
            Some(Err(error)) => Err(failed(error.to_string())),
        }
    }
}
