//! SQL over tables for programs that wait for the answer.

use crate::{Error, Table};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvError, RecvTimeoutError, sync_channel};
use std::time::Duration;
use std::{fmt, mem};
use tambour_sql::{Planned, Session, SessionOptions};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

/// Runs one statement over some tables, each under its own name, and yields the batches of the result as they come.
///
/// A SELECT is planned here and runs when the first batch is asked for. Statements that change something run at once.
///
/// It waits, so it must not be called where a `tokio` runtime runs; there a [`Session`] is right, which also keeps its tables
/// for more than one statement.
///
/// ```
/// # use tambour::ImportOptions;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
/// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
/// # let table = tambour::import([&csv], &hits, &ImportOptions::default())?;
/// let top = tambour::sql(&[&table], "SELECT page, sum(visits) AS visits FROM hits GROUP BY page")?;
/// assert_eq!(top.schema().field(1).name(), "visits");
/// let rows: usize = top.map(|batch| batch.map(|batch| batch.num_rows())).sum::<Result<_, _>>()?;
/// assert_eq!(rows, 2);
/// # Ok(())
/// # }
/// ```
pub fn sql(tables: &[&Table], statement: &str) -> Result<QueryBatches, Error> {
    let session = Session::new(&SessionOptions::default())?;
    for table in tables {
        session.register(table.snapshot())?;
    }
    sql_in(&session, statement)
}

/// The same in a session, with all that is registered in it.
pub fn sql_in(session: &Session, statement: &str) -> Result<QueryBatches, Error> {
    let (schema, planned) = threads()?.block_on(async {
        let query = session.sql(statement).await?;
        Ok::<_, Error>((query.schema(), query.plan().await?))
    })?;
    Ok(QueryBatches { schema, state: State::Planned(Box::new(planned)) })
}

/// The threads of one query; to drop them is to wait for their end.
fn threads() -> Result<Runtime, Error> {
    tokio::runtime::Builder::new_multi_thread()
        .thread_name("query")
        .enable_all()
        .build()
        .map_err(|cause| Error::Runtime { cause })
}

/// Batches that wait for the caller.
const AHEAD: usize = 2;

/// The batches of a result; see [`fn@sql`].
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
/// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
/// # let table = tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
/// for batch in tambour::sql(&[&table], "SELECT page FROM hits WHERE visits > 10")? {
///     assert_eq!(batch?.num_columns(), 1);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct QueryBatches {
    schema: SchemaRef,
    state: State,
}

/// How far a query is.
enum State {
    /// It has no threads yet, so that the process may fork. In the child, a lock that one of them held would never be given back, and
    /// even those that wait for work would be left over in the queues of their locks.
    Planned(Box<Planned>),
    /// Not a channel of `tokio`: who waits for it must be able to look up while all threads of the query compute.
    Running(Receiver<Came>, Runtime, JoinHandle<()>),
    /// After the last batch, and after an error.
    Ended,
}

/// A batch, an error, or the end.
type Came = Option<Result<RecordBatch, Error>>;

impl fmt::Debug for QueryBatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryBatches").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl Drop for QueryBatches {
    fn drop(&mut self) {
        if let State::Running(receiver, runtime, work) = mem::replace(&mut self.state, State::Ended)
        {
            // First, so that nobody waits for room in it.
            drop(receiver);
            // Not waited for: what computes looks up only now and then.
            work.abort();
            runtime.shutdown_background();
        }
    }
}

impl QueryBatches {
    /// The schema of every batch.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
    /// # let table = tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
    /// // The schema is known before the first batch arrives, and also if none does.
    /// let none = tambour::sql(&[&table], "SELECT page, visits * 2 AS twice FROM hits WHERE visits > 99")?;
    /// assert_eq!(none.schema().field(1).name(), "twice");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The next batch, if it comes within this time: for callers who look at something else now and then. `None` if it does
    /// not; the next call waits on.
    pub fn next_within(&mut self, patience: Duration) -> Option<Option<<Self as Iterator>::Item>> {
        self.next_by(|receiver| match receiver.recv_timeout(patience) {
            Ok(came) => Some(Ok(came)),
            Err(RecvTimeoutError::Disconnected) => Some(Err(RecvError)),
            Err(RecvTimeoutError::Timeout) => None,
        })
    }

    /// What the receiver is asked for in this way, for the caller; after an error, and at the end, nothing follows.
    fn next_by(
        &mut self,
        ask: impl FnOnce(&Receiver<Came>) -> Option<Result<Came, RecvError>>,
    ) -> Option<Came> {
        self.state = match mem::replace(&mut self.state, State::Ended) {
            State::Planned(planned) => match started(*planned) {
                Ok(running) => running,
                Err(error) => return Some(Some(Err(error))),
            },
            state => state,
        };
        let State::Running(receiver, ..) = &self.state else { return Some(None) };
        let came = ask(receiver)?;
        if matches!(came, Ok(Some(Ok(_)))) {
            return came.ok();
        }
        if let State::Running(_, runtime, work) = mem::replace(&mut self.state, State::Ended)
            && came.is_err()
            && let Err(ended) = runtime.block_on(work)
            && ended.is_panic()
        {
            // As if it had run here.
            resume_unwind(ended.into_panic());
        }
        Some(came.ok().flatten())
    }
}

/// Starts a query on its threads.
fn started(planned: Planned) -> Result<State, Error> {
    let runtime = threads()?;
    let (sender, receiver) = sync_channel(AHEAD);
    let mut execution = runtime.block_on(async { planned.start() })?;
    let work = runtime.spawn(async move {
        loop {
            let came = execution.next().await.map_err(Error::from).transpose();
            let is_last = !matches!(came, Some(Ok(_)));
            // Where nobody wants more of it, it ends.
            if sender.send(came).is_err() || is_last {
                return;
            }
        }
    });
    Ok(State::Running(receiver, runtime, work))
}

impl Iterator for QueryBatches {
    type Item = Result<RecordBatch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_by(|receiver| Some(receiver.recv())).flatten()
    }
}
