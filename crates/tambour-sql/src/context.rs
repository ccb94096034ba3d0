//! Sessions: the tables, functions and settings that queries run with.

use crate::SqlError;
use arrow::datatypes::SchemaRef;
use datafusion::execution::SendableRecordBatchStream;
use std::path::PathBuf;
use std::sync::Arc;
use tambour_store::Table;

/// How a session runs its queries.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// Partitions that may run at the same time.
    pub threads: usize,
    /// Bytes that sorts, joins and groups may hold before they spill; `None`: no limit.
    pub memory_bytes: Option<u64>,
    /// Where to spill; `None`: the system's directory for temporary files.
    pub spill_directory: Option<PathBuf>,
    /// Rows per batch of a scan at least.
    pub batch_rows: usize,
    /// Results that depend on nothing but data and query: one partition, so neither the order of rows without ORDER BY nor
    /// sums of floats vary.
    pub deterministic: bool,
    /// Strings as bytes instead of text: also those that are not UTF-8 can be read.
    pub binary_strings: bool,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: None,
            spill_directory: None,
            batch_rows: 8192,
            deterministic: false,
            binary_strings: false,
        }
    }
}

/// A set of tables to query.
#[derive(Debug)]
pub struct Session {}

impl Session {
    /// A session without tables; `system` is there.
    pub fn new(_options: &SessionOptions) -> Result<Self, SqlError> {
        todo!()
    }
    /// Adds a table under its own name; `t` and `default.t` both find it.
    pub fn register(&self, _table: Arc<Table>) -> Result<(), SqlError> {
        todo!()
    }
    /// Adds a table under another name.
    pub fn register_as(&self, _name: &str, _table: Arc<Table>) -> Result<(), SqlError> {
        todo!()
    }
    /// The tables in the order of registration, with their names.
    pub fn tables(&self) -> Vec<(String, Arc<Table>)> {
        todo!()
    }
    /// Parses and plans one statement, ClickHouse's dialect included.
    pub async fn sql(&self, _statement: &str) -> Result<Query, SqlError> {
        todo!()
    }
    /// Names of all functions, for completion.
    pub fn function_names(&self) -> Vec<String> {
        todo!()
    }
    /// DataFusion's own context, for what is not covered here.
    pub fn context(&self) -> &datafusion::prelude::SessionContext {
        todo!()
    }
}

/// A planned statement.
#[derive(Debug)]
pub struct Query {}

impl Query {
    /// Columns of the result; fields that are plain columns of a table keep their ClickHouse type as metadata.
    pub fn schema(&self) -> SchemaRef {
        todo!()
    }
    /// The format of a trailing `FORMAT …` clause.
    pub fn format(&self) -> Option<&str> {
        todo!()
    }
    /// Starts it.
    pub async fn execute(self) -> Result<Execution, SqlError> {
        todo!()
    }
}

/// What the scans of a query have read so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanStatistics {
    /// Rows.
    pub rows: u64,
    /// Bytes after decompression.
    pub bytes: u64,
    /// Bytes before decompression.
    pub compressed: u64,
    /// Granules of the tables, and those that were left after pruning.
    pub granules: (u64, u64),
    /// Parts of the tables, and those that were left after pruning.
    pub parts: (u64, u64),
}

/// A running statement.
pub struct Execution {
    /// Its batches.
    pub stream: SendableRecordBatchStream,
}

impl Execution {
    /// The next batch.
    pub async fn next(&mut self) -> Result<Option<arrow::array::RecordBatch>, SqlError> {
        todo!()
    }
    /// What was read so far; may be asked at any time.
    pub fn statistics(&self) -> ScanStatistics {
        todo!()
    }
}

impl std::fmt::Debug for Execution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Execution").finish_non_exhaustive()
    }
}
