//! The coordinator's side: workers by address, and sessions whose queries run on them.

use crate::broadcast;
use crate::channel::{BROKEN, CONNECT_TIMEOUT, Connections, Secrets, name};
use crate::codec::Codec;
use crate::error::ClusterError;
use crate::explain::Stages;
use crate::planner::Planner;
use crate::split::{self, Workers};
use crate::tls::Authority;
use crate::wire::{Token, introduced, version};
use datafusion::execution::SessionStateBuilder;
use datafusion_distributed::{
    ChannelResolver, DistributedExt, GetWorkerInfoRequest, SessionStateBuilderExt,
};
use std::sync::Arc;
use tambour_sql::explain::Explained;
use tambour_sql::scan_options::ScanOptions;
use tambour_sql::{Session, SessionOptions};
use url::Url;

/// Bytes of the small side of a join up to which every worker gets all of it.
const BROADCAST_BYTES: usize = 64 << 20;
/// The same in rows.
const BROADCAST_ROWS: usize = 1 << 20;
/// Rows after which a worker looks whether grouping its share saves anything: a row that is sent costs several times one that is grouped.
const GROUP_ROWS: usize = 2 << 20;

/// How a cluster is used.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClusterOptions {
    /// What the workers' token files hold, if they have one.
    pub token: Option<String>,
    /// Certificates, in PEM, that those of the workers are checked against. With them, connections are encrypted.
    pub tls_authority: Option<Vec<u8>>,
    /// Rows from which a scan is divided; smaller ones are read here.
    pub rows_min: u64,
}

impl Default for ClusterOptions {
    fn default() -> Self {
        Self { token: None, tls_authority: None, rows_min: split::ROWS_MIN }
    }
}

impl ClusterOptions {
    /// Shows the workers a token.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }
    /// Encrypts connections, and checks the workers' certificates against these, in PEM.
    #[must_use]
    pub fn tls_authority(mut self, certificates: impl Into<Vec<u8>>) -> Self {
        self.tls_authority = Some(certificates.into());
        self
    }
    /// Divides scans of this many rows and more.
    #[must_use]
    pub fn rows_min(mut self, rows: u64) -> Self {
        self.rows_min = rows;
        self
    }
}

/// What a worker says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerInfo {
    /// Its address as it was given.
    pub address: String,
    /// Its version.
    pub version: String,
    /// Its threads.
    pub threads: usize,
    /// The directory below which it opens tables.
    pub root: String,
}

/// Workers.
#[derive(Clone, Debug)]
pub struct Cluster {
    urls: Workers,
    secrets: Secrets,
    rows_min: u64,
}

impl Cluster {
    /// Looks that every worker answers and runs this version.
    pub async fn connect(
        addresses: &[String],
        options: &ClusterOptions,
    ) -> Result<Self, ClusterError> {
        let authority = options.tls_authority.as_deref().map(Authority::new).transpose()?;
        let scheme = if authority.is_some() { "https" } else { "http" };
        let secrets = Secrets { token: Token::given(options.token.as_deref())?, authority };
        let urls = Workers(Arc::new(urls_of(addresses, scheme)?));
        let cluster = Self { urls, secrets, rows_min: options.rows_min };
        cluster.workers().await?;
        Ok(cluster)
    }

    /// What the workers say of themselves; an error if one does not answer or runs another version.
    pub async fn workers(&self) -> Result<Vec<WorkerInfo>, ClusterError> {
        let connections = Connections::new(self.secrets.clone());
        let asked = self.urls.0.iter().map(|url| info_of(&connections, url));
        futures::future::join_all(asked).await.into_iter().collect()
    }

    /// A session whose queries run on the workers.
    pub fn session(&self, options: &SessionOptions) -> Result<Session, ClusterError> {
        Ok(Session::with(options, |builder| self.added(builder))?)
    }

    /// The workers of a session, if it has any.
    pub fn of(session: &Session) -> Option<Self> {
        let state = session.context().state();
        state.config().get_extension::<Self>().map(|cluster| cluster.as_ref().clone())
    }

    pub(crate) fn urls(&self) -> &[Url] {
        &self.urls.0
    }

    pub(crate) fn secrets(&self) -> Secrets {
        self.secrets.clone()
    }

    fn added(&self, mut builder: SessionStateBuilder) -> SessionStateBuilder {
        let config = builder.config().get_or_insert_default();
        config.set_extension(Arc::new(self.clone()));
        config.set_extension(Arc::new(Explained(Arc::new(Stages))));
        let settings = config.options_mut();
        let partitions = &mut settings.execution.target_partitions;
        // With one partition the engine divides nothing.
        *partitions = (*partitions).max(2);
        // What operators find while they run does not travel; a worker connects those of its own stage (`crate::found`).
        settings.optimizer.enable_dynamic_filter_pushdown = false;
        settings.optimizer.enable_topk_dynamic_filter_pushdown = false;
        settings.optimizer.enable_join_dynamic_filter_pushdown = false;
        settings.optimizer.enable_aggregate_dynamic_filter_pushdown = false;
        settings.execution.skip_partial_aggregation_probe_rows_threshold = GROUP_ROWS;
        settings.optimizer.hash_join_single_partition_threshold = BROADCAST_BYTES;
        settings.optimizer.hash_join_single_partition_threshold_rows = BROADCAST_ROWS;
        if let Some(scans) = settings.extensions.get_mut::<ScanOptions>() {
            scans.scan_first_keys = false;
            scans.scan_late_columns = false;
            scans.scan_ends = false;
            // Workers look for parts by their names.
            scans.scan_projections = false;
        }
        let urls = self.urls.clone();
        if let Some(optimizer) = builder.physical_optimizers() {
            broadcast::add(optimizer, urls.0.len());
        }
        let mut builder = builder
            .with_distributed_worker_resolver(urls.clone())
            .with_distributed_channel_resolver(Connections::new(self.secrets.clone()))
            .with_distributed_planner()
            .with_distributed_user_codec(Codec::default())
            .with_distributed_desired_task_count_handler(split::tasks(&urls, self.rows_min))
            .with_distributed_scale_up_leaf_node_handler(urls.clone())
            .with_distributed_route_tasks_handler(urls);
        if let Some(config) = builder.config() {
            // Each is evaluated ahead, so the engine meets none.
            config.options_mut().optimizer.enable_physical_uncorrelated_scalar_subquery = true;
            // Only an engine without this setting answers with an error.
            let _ = config.set_distributed_children_isolator_unions(false);
        }
        if let Some(engine) = builder.query_planner().take() {
            builder = builder.with_query_planner(Arc::new(Planner { engine }));
        }
        builder
    }
}

fn urls_of(addresses: &[String], scheme: &str) -> Result<Vec<Url>, ClusterError> {
    let mut urls: Vec<Url> = Vec::with_capacity(addresses.len());
    for address in addresses {
        let bad = || ClusterError::Address { address: address.clone() };
        let url = Url::parse(&format!("{scheme}://{address}/")).map_err(|_| bad())?;
        let is_plain = url.path() == "/"
            && url.username().is_empty()
            && url.query().is_none()
            && url.fragment().is_none()
            && url.host().is_some()
            && address.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        if !is_plain {
            return Err(bad());
        }
        if urls.contains(&url) {
            let problem = format!("{address} is given twice");
            return Err(ClusterError::Workers { problem });
        }
        urls.push(url);
    }
    if urls.is_empty() {
        return Err(ClusterError::Workers { problem: "none is given".to_owned() });
    }
    Ok(urls)
}

async fn info_of(connections: &Connections, url: &Url) -> Result<WorkerInfo, ClusterError> {
    let address = name(url);
    let ask = async {
        let mut channel = connections.get_worker_client_for_url(url).await?;
        channel.get_worker_info(GetWorkerInfoRequest {}).await
    };
    let unreachable = |problem: String| {
        let own = format!("worker {address}: ");
        let problem = problem.strip_prefix(&own).unwrap_or(&problem).to_owned();
        ClusterError::Unreachable { worker: address.clone(), problem }
    };
    let told = tokio::time::timeout(CONNECT_TIMEOUT, ask)
        .await
        .map_err(|_| unreachable(format!("no answer within {} s", CONNECT_TIMEOUT.as_secs())))?
        .map_err(|error| {
            let text = error.strip_backtrace();
            let text = text.strip_prefix("Execution error: ").unwrap_or(&text);
            // An encrypted worker hangs up on a caller that speaks plainly.
            let is_plain = connections.is_plain() && text.contains(BROKEN);
            let hint =
                if is_plain { " (a worker with --tls-cert is called with --tls-ca)" } else { "" };
            unreachable(format!("{text}{hint}"))
        })?;
    let Some((there, threads, root)) = introduced(&told.version) else {
        let (expected, got) = (version(), format!("{:?}", told.version));
        return Err(ClusterError::Version { worker: address, expected, got });
    };
    if there != version() {
        let expected = version();
        return Err(ClusterError::Version { worker: address, expected, got: there });
    }
    Ok(WorkerInfo { address, version: there, threads, root })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let urls = |list: &[&str]| {
            urls_of(&list.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>(), "http")
        };
        assert_eq!(urls(&["a:1", "127.0.0.1:7100", "[::1]:9"]).unwrap().len(), 3);
        for bad in ["a", "http://a:1", "a:x", "a:1/x", "u@a:1", ":1", "a:99999", ""] {
            assert!(matches!(urls(&[bad]), Err(ClusterError::Address { .. })), "{bad}");
        }
        assert!(matches!(urls(&["a:1", "a:1"]), Err(ClusterError::Workers { .. })));
        assert!(matches!(urls(&[]), Err(ClusterError::Workers { .. })));
    }
}
