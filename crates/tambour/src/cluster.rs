//! Queries over several workers, for programs that wait for the answer.

mod advice;
mod errand;
mod parts;
mod told;
mod work;

pub use errand::TableErrands;
pub use told::Told;
pub use work::ClusterVerification;

use crate::{Error, QueryBatches, Table, sql_in};
use std::path::Path;
use std::sync::Arc;
use tambour_cluster as engine;
pub use tambour_cluster::{
    ClusterError, ClusterOptions, Served, TlsIdentity, WorkerInfo, WorkerOptions, serve,
};
use tambour_sql::{Session, SessionOptions};

/// Workers that read tables from a directory that all see; see the [guide](https://github.com/tambour-db/tambour/blob/main/docs/scale-out.md).
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
/// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
/// let table = tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
/// // Workers on threads of this process; elsewhere `tambour worker` starts one.
/// let workers = tambour::LocalCluster::start(2, directory.path())?;
/// let cluster = tambour::Cluster::connect(workers.addresses())?;
/// let batches = cluster.sql(&[&table], "SELECT sum(visits) AS visits FROM hits")?;
/// let rows: usize = batches.map(|batch| batch.map(|batch| batch.num_rows())).sum::<Result<_, _>>()?;
/// assert_eq!(rows, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Cluster(engine::Cluster);

impl Cluster {
    /// Looks that every worker (`host:port`) answers and runs this version.
    ///
    /// ```
    /// let error = tambour::Cluster::connect(["localhost"]).unwrap_err();
    /// assert!(error.to_string().contains("host:port"));
    /// ```
    pub fn connect<A: AsRef<str>>(addresses: impl IntoIterator<Item = A>) -> Result<Self, Error> {
        Self::connect_with(addresses, &ClusterOptions::default())
    }

    /// The same with options: a token, certificates for encrypted connections.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// use tambour::cluster::ClusterOptions;
    ///
    /// let workers = tambour::LocalCluster::start(1, directory.path())?;
    /// let options = ClusterOptions::default().token("sesame");
    /// let cluster = tambour::Cluster::connect_with(workers.addresses(), &options)?;
    /// assert_eq!(cluster.workers()?.len(), 1);
    /// # Ok::<(), tambour::Error>(())
    /// ```
    pub fn connect_with<A: AsRef<str>>(
        addresses: impl IntoIterator<Item = A>,
        options: &ClusterOptions,
    ) -> Result<Self, Error> {
        let addresses: Vec<String> =
            addresses.into_iter().map(|address| address.as_ref().to_owned()).collect();
        Ok(Self(runtime()?.block_on(engine::Cluster::connect(&addresses, options))?))
    }

    /// What the workers say of themselves.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// let workers = tambour::LocalCluster::start(2, directory.path())?;
    /// let infos = tambour::Cluster::connect(workers.addresses())?.workers()?;
    /// assert_eq!(infos[0].address, workers.addresses()[0]);
    /// # Ok::<(), tambour::Error>(())
    /// ```
    pub fn workers(&self) -> Result<Vec<WorkerInfo>, Error> {
        Ok(runtime()?.block_on(self.0.workers())?)
    }

    /// Runs one statement over some tables, each under its own name, like [`fn@crate::sql`].
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
    /// # let table = tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
    /// let workers = tambour::LocalCluster::start(2, directory.path())?;
    /// let cluster = tambour::Cluster::connect(workers.addresses())?;
    /// assert_eq!(cluster.sql(&[&table], "SELECT page FROM hits")?.count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sql(&self, tables: &[&Table], statement: &str) -> Result<QueryBatches, Error> {
        let session = self.session(&SessionOptions::default())?;
        for table in tables {
            session.register(table.snapshot())?;
        }
        sql_in(&session, statement)
    }

    /// The workers of a session, if it has any.
    ///
    /// ```
    /// let session = tambour::Session::new(&tambour::SessionOptions::default())?;
    /// assert!(tambour::Cluster::of(&session).is_none());
    /// # Ok::<(), tambour::Error>(())
    /// ```
    pub fn of(session: &Session) -> Option<Self> {
        engine::Cluster::of(session).map(Self)
    }

    /// A session whose queries run on the workers.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// let workers = tambour::LocalCluster::start(1, directory.path())?;
    /// let cluster = tambour::Cluster::connect(workers.addresses())?;
    /// let session = cluster.session(&tambour::SessionOptions::default())?;
    /// assert!(session.tables().is_empty());
    /// # Ok::<(), tambour::Error>(())
    /// ```
    pub fn session(&self, options: &SessionOptions) -> Result<Session, Error> {
        Ok(self.0.session(options)?)
    }
}

/// Workers on threads of this process, for tests and examples; they end when it is dropped.
///
/// ```
/// # let directory = tempfile::tempdir().unwrap();
/// let workers = tambour::LocalCluster::start(3, directory.path())?;
/// assert_eq!(workers.addresses().len(), 3);
/// # Ok::<(), tambour::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LocalCluster(Arc<engine::LocalCluster>);

impl LocalCluster {
    /// Starts workers over the tables below a directory, which may write there, too.
    ///
    /// ```
    /// assert!(tambour::LocalCluster::start(1, "/nonexistent").is_err());
    /// ```
    pub fn start(count: usize, root: impl AsRef<Path>) -> Result<Self, Error> {
        let mut options = WorkerOptions::below(root.as_ref());
        options.errands = Some(Arc::new(TableErrands { write: true, ..TableErrands::default() }));
        Ok(Self(Arc::new(engine::LocalCluster::start_with(count, &options)?)))
    }

    /// Their addresses.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// let workers = tambour::LocalCluster::start(1, directory.path())?;
    /// assert!(workers.addresses()[0].starts_with("127.0.0.1:"));
    /// # Ok::<(), tambour::Error>(())
    /// ```
    pub fn addresses(&self) -> &[String] {
        self.0.addresses()
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, Error> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|cause| Error::Runtime { cause })
}
