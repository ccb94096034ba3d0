//! Statements on their way from words to batches: understood, planned, running.

use crate::SqlError;
use crate::fill::Filling;
use crate::results;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::DataFrame;
use futures::StreamExt;
use std::sync::Arc;
use tambour_scan::{arrival, exec};

/// A statement that was understood.
#[derive(Debug)]
pub struct Query {
    pub(crate) frame: DataFrame,
    pub(crate) format: Option<String>,
    pub(crate) notes: Vec<String>,
    pub(crate) totals: Option<DataFrame>,
    pub(crate) fill: Option<Filling>,
}

impl Query {
    /// Columns of the result; fields that are plain columns of a table keep their ClickHouse type as metadata.
    pub fn schema(&self) -> SchemaRef {
        results::restored(self.frame.schema().inner())
    }
    /// The format of a trailing `FORMAT …` clause.
    pub fn format(&self) -> Option<&str> {
        self.format.as_deref()
    }
    /// What was understood but has no effect (`SETTINGS …`).
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
    /// Plans it to the end: what is wrong with the statement is said here, and nothing runs yet.
    pub async fn plan(self) -> Result<Planned, SqlError> {
        let task = Arc::new(self.frame.task_ctx());
        let plan = self.frame.create_physical_plan().await?;
        Ok(Planned { plan, task, totals: self.totals, fill: self.fill })
    }
    /// The same on one thread, so that rows stay in their order.
    pub(crate) fn on_one_thread(mut self) -> Self {
        let (mut state, plan) = self.frame.into_parts();
        state.config_mut().options_mut().execution.target_partitions = 1;
        self.frame = DataFrame::new(state, plan);
        self
    }
    /// Plans and starts it.
    pub async fn execute(self) -> Result<Execution, SqlError> {
        self.plan().await?.start()
    }
}

/// A statement that can be started.
#[derive(Debug)]
pub struct Planned {
    plan: Arc<dyn ExecutionPlan>,
    task: Arc<TaskContext>,
    totals: Option<DataFrame>,
    fill: Option<Filling>,
}

impl Planned {
    /// Columns of the result.
    pub(crate) fn schema(&self) -> SchemaRef {
        results::restored(&self.plan.schema())
    }
    /// Starts it once more: rows that are made for each run, without a row of totals and what fills gaps.
    pub(crate) fn rows(&self) -> Result<SendableRecordBatchStream, SqlError> {
        Ok(results::stream(arrival::run(&self.plan, Arc::clone(&self.task))?))
    }
    /// Starts it on the runtime that this is called on.
    pub fn start(self) -> Result<Execution, SqlError> {
        let stream = self.rows()?;
        let stream = match self.fill {
            Some(fill) => fill.stream(stream),
            None => stream,
        };
        Ok(Execution { stream, plan: self.plan, totals: self.totals })
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
    /// Granules that were left out, by what did it: partitions and ranges of parts, the primary index, skip indexes of the kinds
    /// minmax and set, Bloom filters, and inverted indexes ([`tambour_table::scan::Pruned::left_out`]).
    pub left_out: [u64; 6],
}

/// A running statement.
pub struct Execution {
    /// Its batches.
    pub stream: SendableRecordBatchStream,
    plan: Arc<dyn ExecutionPlan>,
    totals: Option<DataFrame>,
}

impl Execution {
    /// The next batch.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>, SqlError> {
        Ok(self.stream.next().await.transpose()?)
    }
    /// All batches.
    pub async fn collect(&mut self) -> Result<Vec<RecordBatch>, SqlError> {
        let mut batches = Vec::new();
        while let Some(batch) = self.next().await? {
            batches.push(batch);
        }
        Ok(batches)
    }
    /// The row of WITH TOTALS, once; it is computed when it is asked for.
    pub async fn totals(&mut self) -> Result<Option<RecordBatch>, SqlError> {
        let Some(frame) = self.totals.take() else { return Ok(None) };
        let batches = frame.collect().await?;
        let row = batches.into_iter().find(|batch| batch.num_rows() > 0);
        Ok(row.map(|batch| batch.slice(0, 1)))
    }
    /// What was read so far; may be asked at any time.
    pub fn statistics(&self) -> ScanStatistics {
        let mut total = ScanStatistics::default();
        let mut waiting: Vec<&Arc<dyn ExecutionPlan>> = vec![&self.plan];
        while let Some(plan) = waiting.pop() {
            waiting.extend(plan.children());
            let Some((read, pruned)) = exec::read_by(plan.as_ref()) else { continue };
            total.rows += read.rows;
            total.bytes += read.bytes;
            total.compressed += read.compressed;
            total.granules.0 += pruned.granules_total as u64;
            total.granules.1 += pruned.granules_left as u64;
            total.parts.0 += pruned.parts_total as u64;
            total.parts.1 += pruned.parts_left as u64;
            for (sum, (_, granules)) in total.left_out.iter_mut().zip(pruned.left_out()) {
                *sum += granules as u64;
            }
        }
        total
    }
}

impl std::fmt::Debug for Execution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Execution").field("plan", &self.plan).finish_non_exhaustive()
    }
}
