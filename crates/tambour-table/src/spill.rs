//! Chunks to runs: each chunk is split by partition, sorted, and appended to the runs of its partitions.
//!
//! A chunk that begins where the last one ended (input that is sorted already) goes on with the same run; otherwise a new
//! run begins, and the partition needs a merge in the end.

use super::chunk::{Chunk, Order};
use super::engine::{Fold, sorting_key};
use super::key::{Key, Keys, OwnedKey};
use super::partition::{Partitioner, RangeColumns, Values};
use super::run::{Run, RunWriter};
use super::shape::Shape;
use crate::TableError;
use crate::schema::TableDefinition;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::sync::Arc;

/// Memory that an open part takes per column, roughly: blocks being filled and compressed.
const WRITER_BYTES_PER_COLUMN: u64 = 1 << 20;

/// Most runs that are open at the same time.
const OPEN_MAX: u64 = 8;

/// Rows that are put into order and handed on at a time, about.
const PIECE_ROWS: usize = 16_384;

/// Everything that a partition has got.
#[derive(Debug)]
pub(super) struct PartitionRuns {
    /// Values of the partition key.
    pub values: Values,
    /// Its runs, oldest first.
    pub runs: Vec<Run>,
}

/// Turns chunks into runs.
#[derive(Debug)]
pub(super) struct Spiller {
    shape: Arc<Shape>,
    definition: TableDefinition,
    rows_per_part: Option<u64>,
    open_max: usize,
    /// Made for the Arrow schema of the first chunk.
    tools: Option<Tools>,
    partitions: Vec<Partition>,
    chunks: u64,
}

#[derive(Debug)]
struct Tools {
    key: Key,
    partitioner: Partitioner,
    ranges: Arc<RangeColumns>,
    schema: SchemaRef,
}

#[derive(Debug, Default)]
struct Partition {
    runs: Vec<Run>,
    open: Option<OpenRun>,
}

#[derive(Debug)]
struct OpenRun {
    writer: RunWriter,
    /// What the engine does to the rows before they are written.
    fold: Option<Fold>,
    last: OwnedKey,
    /// When it was last written to.
    chunk: u64,
}

impl Spiller {
    pub(super) fn new(
        shape: Arc<Shape>,
        definition: TableDefinition,
        rows_per_part: Option<u64>,
        memory_bytes: u64,
    ) -> Self {
        let writer_bytes = WRITER_BYTES_PER_COLUMN * definition.columns.len().max(1) as u64;
        let open_max = (memory_bytes / 8 / writer_bytes).clamp(1, OPEN_MAX);
        let open_max = usize::try_from(open_max).unwrap_or(1);
        let (tools, partitions) = (None, Vec::new());
        Self { shape, definition, rows_per_part, open_max, tools, partitions, chunks: 0 }
    }

    /// Writes a chunk; its keys are given if it is in their order.
    pub(super) fn write(
        &mut self,
        (batches, keys): (Vec<RecordBatch>, Option<Keys>),
    ) -> Result<(), TableError> {
        let Some(schema) = batches.first().map(RecordBatch::schema) else { return Ok(()) };
        let mut tools = match self.tools.take() {
            Some(tools) => tools,
            None => Tools::new(&self.definition, &schema)?,
        };
        let chunk = Chunk::new(batches);
        self.chunks += 1;
        let result = self.spill(&mut tools, &chunk, keys);
        self.tools = Some(tools);
        result
    }

    fn spill(
        &mut self,
        tools: &mut Tools,
        chunk: &Chunk,
        keys: Option<Keys>,
    ) -> Result<(), TableError> {
        // Keys that were looked at are in order.
        let is_ordered = keys.is_some();
        let keys = match keys {
            Some(keys) => keys,
            None => tools.keys(chunk)?,
        };
        for (number, order) in tools.partitioner.split(chunk)? {
            let order = if is_ordered { order } else { order.sorted(&keys) };
            let Some((first, last)) = order.ends() else { continue };
            if self.partitions.len() <= number {
                self.partitions.resize_with(number + 1, Partition::default);
            }
            let goes_on = match &self.partitions[number].open {
                Some(open) => keys.compare_owned(first, &open.last).is_ge(),
                None => false,
            };
            if !goes_on {
                self.begin_run(tools, number)?;
            }
            let last = keys.owned(last);
            self.append(number, chunk, &order, last)?;
        }
        Ok(())
    }

    /// Opens a new run for a partition, with the one before it closed, and others if too many are open.
    fn begin_run(&mut self, tools: &Tools, number: usize) -> Result<(), TableError> {
        // A run that is followed by another one will be merged: it need not survive a crash.
        self.close(number, false)?;
        while self.partitions.iter().filter(|partition| partition.open.is_some()).count()
            >= self.open_max
        {
            let age = |(_, partition): &(usize, &Partition)| {
                partition.open.as_ref().map_or(u64::MAX, |open| open.chunk)
            };
            let Some((oldest, _)) = self.partitions.iter().enumerate().min_by_key(age) else {
                break;
            };
            self.close(oldest, true)?;
        }
        let partition = &mut self.partitions[number];
        let values = tools.partitioner.values(number).clone();
        let is_draft = !partition.runs.is_empty();
        let (shape, ranges) = (&self.shape, &tools.ranges);
        let writer = RunWriter::new(shape, ranges, values, self.rows_per_part, is_draft);
        let fold = Fold::of_insert(&self.definition, &tools.schema)?;
        partition.open = Some(OpenRun { writer, fold, last: OwnedKey::None, chunk: self.chunks });
        Ok(())
    }

    fn append(
        &mut self,
        number: usize,
        chunk: &Chunk,
        order: &Order,
        last: OwnedKey,
    ) -> Result<(), TableError> {
        let granularity = self.shape.granularity().max(1);
        let piece_rows = (PIECE_ROWS / granularity).max(1) * granularity;
        let Some(open) = &mut self.partitions[number].open else { return Ok(()) };
        open.last = last;
        open.chunk = self.chunks;
        let write = &mut |batch| open.write(batch);
        chunk.for_each(order, piece_rows.min(4 * PIECE_ROWS), write)
    }

    /// Closes the open run of a partition; it is final if it stays the only one.
    fn close(&mut self, number: usize, may_be_final: bool) -> Result<(), TableError> {
        let partition = &mut self.partitions[number];
        let Some(open) = partition.open.take() else { return Ok(()) };
        let run = open.finish(may_be_final && partition.runs.is_empty())?;
        partition.runs.push(run);
        Ok(())
    }

    /// Closes everything. A run that is the only one of its partition is durable.
    pub(super) fn finish(mut self) -> Result<Vec<PartitionRuns>, TableError> {
        for number in 0..self.partitions.len() {
            self.close(number, true)?;
        }
        let Some(tools) = self.tools else { return Ok(Vec::new()) };
        let partitions = self.partitions.into_iter().enumerate();
        let runs = |(number, partition): (usize, Partition)| PartitionRuns {
            values: tools.partitioner.values(number).clone(),
            runs: partition.runs,
        };
        Ok(partitions.map(runs).collect())
    }
}

impl OpenRun {
    fn write(&mut self, batch: RecordBatch) -> Result<(), TableError> {
        match &mut self.fold {
            None => self.writer.write(&batch),
            Some(fold) => fold.push(batch, &[])?.iter().try_for_each(|it| self.writer.write(it)),
        }
    }

    fn finish(mut self, may_be_final: bool) -> Result<Run, TableError> {
        if let Some(mut fold) = self.fold.take() {
            fold.finish()?.iter().try_for_each(|it| self.writer.write(it))?;
        }
        self.writer.finish(may_be_final)
    }
}

impl Tools {
    fn keys(&self, chunk: &Chunk) -> Result<Keys, TableError> {
        let mut keys = self.key.keys(chunk.rows());
        for batch in chunk.batches() {
            self.key.append(&mut keys, batch)?;
        }
        Ok(keys)
    }

    fn new(definition: &TableDefinition, schema: &SchemaRef) -> Result<Self, TableError> {
        Ok(Self {
            key: Key::new(&sorting_key(definition), &definition.plain_columns(), schema)?,
            partitioner: Partitioner::new(definition, schema)?,
            ranges: Arc::new(RangeColumns::new(definition, schema)?),
            schema: Arc::clone(schema),
        })
    }
}
