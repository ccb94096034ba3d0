//! Batches of one partition of a scan.

use super::{TambourScanExec, decoded_bytes, external};
use crate::late::Chooser;
use arrow::array::RecordBatch;
use arrow::compute::BatchCoalescer;
use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::RecordBatchStream;
use datafusion::physical_plan::metrics::{BaselineMetrics, Count};
use futures::Stream;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tambour_table::scan::ScanReader;

/// Batches without a row after which others may run.
const EMPTY_BATCHES: usize = 4;

/// Batches of one partition.
pub(super) struct ScanStream {
    pub(super) schema: SchemaRef,
    pub(super) output: Arc<[usize]>,
    pub(super) chooser: Option<Chooser>,
    /// Rows that filters left, until there are enough for a batch.
    pub(super) gathered: Option<BatchCoalescer>,
    pub(super) state: State,
    /// Bytes that a batch of it may take.
    pub(super) bytes_max: u64,
    /// Columns of which only lengths are read.
    pub(super) lengths: Vec<usize>,
    pub(super) baseline: BaselineMetrics,
    pub(super) compressed: Count,
    pub(super) decoded: Count,
    pub(super) ended: Count,
}

pub(super) enum State {
    Planned(Box<TambourScanExec>, usize),
    Open(Box<ScanReader>),
    Done,
}

impl ScanStream {
    /// Opens the partition when it is asked for the first time.
    fn open(&mut self) -> Result<()> {
        let State::Planned(plan, partition) = &self.state else { return Ok(()) };
        let reader = plan.scan.run(*partition, plan.table.storage(), Some(&plan.table));
        let reader = reader.map_err(external)?.with_bytes_max(self.bytes_max);
        let reader = reader.with_lengths_of(self.lengths.clone());
        let reader = if plan.is_reversed { reader.reversed() } else { reader };
        self.state = State::Open(Box::new(reader));
        Ok(())
    }

    /// The next batch of the reader, which may be empty where there is a filter.
    fn read(&mut self) -> Result<Option<RecordBatch>> {
        self.open()?;
        let State::Open(reader) = &mut self.state else { return Ok(None) };
        let before = reader.bytes_read();
        let item = match &mut self.chooser {
            Some(chooser) => {
                let item = reader.next_kept(&chooser.leading(), chooser);
                if let Some(error) = chooser.take_error() {
                    return Err(error);
                }
                item
            }
            None => reader.next(),
        };
        let read = reader.bytes_read().saturating_sub(before);
        self.compressed.add(usize::try_from(read).unwrap_or(usize::MAX));
        let Some(batch) = item.transpose().map_err(external)? else { return Ok(None) };
        let leading = self.chooser.as_ref().map(Chooser::leading).unwrap_or_default();
        let late = (0..batch.num_columns()).filter(|it| !leading.contains(it));
        let bytes = |it: usize| {
            if self.lengths.contains(&it) {
                return batch.num_rows() * size_of::<u64>();
            }
            decoded_bytes(batch.column(it))
        };
        self.decoded.add(late.map(bytes).sum());
        let places = self.chooser.as_mut().and_then(Chooser::take_places);
        let batch = if self.output.iter().copied().eq(0..batch.num_columns()) {
            batch
        } else {
            batch.project(&self.output)?
        };
        let Some(places) = places else { return Ok(Some(batch)) };
        let mut columns = batch.columns().to_vec();
        columns.push(Arc::new(places));
        Ok(Some(RecordBatch::try_new(Arc::clone(&self.schema), columns)?))
    }

    /// The next batch for the operator above; `None` for nothing yet.
    fn advance(&mut self) -> Result<Option<Poll<RecordBatch>>> {
        for _ in 0..EMPTY_BATCHES {
            if let Some(batch) =
                self.gathered.as_mut().and_then(BatchCoalescer::next_completed_batch)
            {
                return Ok(Some(Poll::Ready(batch)));
            }
            if matches!(self.state, State::Done) {
                return Ok(None);
            }
            match (self.read()?, &mut self.gathered) {
                (Some(batch), _) if batch.num_rows() == 0 => {}
                (Some(batch), None) => return Ok(Some(Poll::Ready(batch))),
                (Some(batch), Some(gathered)) => gathered.push_batch(batch)?,
                (None, gathered) => {
                    self.state = State::Done;
                    self.ended.add(1);
                    if let Some(gathered) = gathered {
                        gathered.finish_buffered_batch()?;
                    }
                }
            }
        }
        Ok(Some(Poll::Pending))
    }
}

impl Stream for ScanStream {
    type Item = Result<RecordBatch>;
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let time = self.baseline.elapsed_compute().clone();
        let timer = time.timer();
        let item = self.advance();
        timer.done();
        let item = match item {
            Ok(Some(Poll::Pending)) => {
                // A scan that finds nothing for long lets others run.
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            Ok(Some(Poll::Ready(batch))) => Some(Ok(batch)),
            Ok(None) => None,
            Err(error) => {
                self.state = State::Done;
                self.gathered = None;
                Some(Err(error))
            }
        };
        self.baseline.record_poll(Poll::Ready(item))
    }
}

impl RecordBatchStream for ScanStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
