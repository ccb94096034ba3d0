//! SQL over tables for programs that wait for the answer.

use crate::{Error, Table};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::fmt;
use tambour_sql::{Execution, Session, SessionOptions};
use tokio::runtime::Runtime;

/// Runs one statement over some tables, each under its own name, and yields the batches of the result as they come.
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
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_name("query")
        .enable_all()
        .build()
        .map_err(|cause| Error::Runtime { cause })?;
    let (schema, execution) = runtime.block_on(async {
        let query = session.sql(statement).await?;
        Ok::<_, Error>((query.schema(), query.execute().await?))
    })?;
    Ok(QueryBatches { schema, execution, runtime: Some(runtime) })
}

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
    execution: Execution,
    /// `None` after an error, and at the end.
    runtime: Option<Runtime>,
}

impl fmt::Debug for QueryBatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryBatches").field("schema", &self.schema).finish_non_exhaustive()
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
}

impl Iterator for QueryBatches {
    type Item = Result<RecordBatch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.runtime.as_ref()?.block_on(self.execution.next()).transpose();
        if !matches!(item, Some(Ok(_))) {
            self.runtime = None;
        }
        item.map(|batch| batch.map_err(Error::from))
    }
}
