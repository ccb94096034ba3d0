//! Running one partition of a scan.

use super::super::conform::conform;
use crate::TableError;
use arrow_array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_part::Part;
use tambour_part::part::{
    BATCH_BYTES_MAX, CACHED_GRANULES_MAX, PartReader, ReadRequest, RowFilter,
};

/// What decides on rows while a scan reads them.
pub trait ScanFilter: Send {
    /// The part that is read from now on.
    fn opens(&mut self, part: &Part);
    /// False if no row of these granules can be kept: they are not read.
    fn wants(&mut self, granules: &std::ops::Range<usize>) -> bool;
    /// See [`RowFilter::early`].
    fn early(&self) -> usize {
        0
    }
    /// False if the first columns show that no row is kept: see [`RowFilter::may_keep`].
    fn may_keep(&mut self, _rows: &RecordBatch) -> bool {
        true
    }
    /// The rows to keep, given the columns that the filter asked for, in the types of the table. `None` ends the scan.
    fn kept(&mut self, rows: &RecordBatch) -> Option<BooleanArray>;
}

/// A filter of the scan as one of a part.
struct InPart<'a> {
    filter: &'a mut dyn ScanFilter,
    schema: &'a SchemaRef,
    problem: Option<TableError>,
}

impl RowFilter for InPart<'_> {
    fn wants(&mut self, granules: &std::ops::Range<usize>) -> bool {
        self.filter.wants(granules)
    }
    fn early(&self) -> usize {
        self.filter.early()
    }
    fn may_keep(&mut self, rows: &RecordBatch) -> bool {
        let schema = self.schema.project(&(0..rows.num_columns()).collect::<Vec<_>>());
        let schema = schema.map_err(TableError::arrow("filter a batch"));
        match schema.and_then(|schema| conformed(rows, &Arc::new(schema))) {
            Ok(rows) => self.filter.may_keep(&rows),
            Err(error) => {
                self.problem = Some(error);
                false
            }
        }
    }
    fn kept(&mut self, rows: &RecordBatch) -> Option<BooleanArray> {
        match conformed(rows, self.schema) {
            Ok(rows) => self.filter.kept(&rows),
            Err(error) => {
                self.problem = Some(error);
                None
            }
        }
    }
}

/// Batches of one partition.
#[derive(Debug)]
pub struct ScanReader {
    table: PathBuf,
    schema: SchemaRef,
    reads: VecDeque<(Arc<Part>, String, ReadRequest)>,
    /// The part that is being read, by name.
    current: Option<(String, PartReader)>,
    bytes_read: u64,
    /// Rows that are still wanted.
    left: u64,
    /// More than what a cache of blocks is for.
    is_large: bool,
    is_reversed: bool,
    bytes_max: u64,
    /// Columns of which only the lengths of texts are wanted.
    lengths: Vec<usize>,
}

impl ScanReader {
    /// Reads some parts, one after the other, until `left` rows have come.
    pub(super) fn new(
        table: &Path,
        schema: SchemaRef,
        reads: VecDeque<(Arc<Part>, String, ReadRequest)>,
        left: u64,
    ) -> Self {
        let ranges = reads.iter().flat_map(|(_, _, request)| &request.granules);
        let granules: usize = ranges.map(ExactSizeIterator::len).sum();
        Self {
            is_large: granules > CACHED_GRANULES_MAX,
            table: table.to_owned(),
            schema,
            reads,
            current: None,
            bytes_read: 0,
            left,
            is_reversed: false,
            bytes_max: BATCH_BYTES_MAX,
            lengths: Vec::new(),
        }
    }

    /// Compressed bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read + self.current.as_ref().map_or(0, |(_, reader)| reader.bytes_read())
    }
    /// The schema of its batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Refuses batches that take more than this many bytes: see [`PartReader::with_bytes_max`].
    #[must_use]
    pub fn with_bytes_max(mut self, bytes: u64) -> Self {
        self.bytes_max = bytes;
        self
    }

    /// Texts of these columns, by their places, have their lengths and any bytes: see [`PartReader::with_lengths_of`].
    #[must_use]
    pub fn with_lengths_of(mut self, places: Vec<usize>) -> Self {
        self.lengths = places;
        self
    }

    /// Reads the last part first and the last granules of each part first.
    #[must_use]
    pub fn reversed(mut self) -> Self {
        self.reads.make_contiguous().reverse();
        self.is_reversed = true;
        self
    }

    /// The next batch of rows that a filter keeps, which may be none of many. `leading` are the places of its columns. `None`
    /// is the end, or the filter's own wish.
    pub fn next_kept(
        &mut self,
        leading: &[usize],
        filter: &mut dyn ScanFilter,
    ) -> Option<Result<RecordBatch, TableError>> {
        let item = self.advance(Some((leading, filter))).transpose();
        if matches!(item, Some(Err(_))) {
            // Nothing follows an error.
            self.left = 0;
        }
        item
    }

    fn advance(
        &mut self,
        mut filter: Option<(&[usize], &mut dyn ScanFilter)>,
    ) -> Result<Option<RecordBatch>, TableError> {
        while self.left > 0 {
            if let Some((name, reader)) = &mut self.current {
                let batch = match &mut filter {
                    None => reader.next(),
                    Some((leading, filter)) => {
                        let schema = self.schema.project(leading);
                        let schema = schema.map_err(TableError::arrow("filter a batch"))?;
                        let (schema, problem) = (&Arc::new(schema), None);
                        let mut filter = InPart { filter: &mut **filter, schema, problem };
                        let batch = reader.next_kept(leading, &mut filter);
                        if let Some(problem) = filter.problem {
                            return Err(problem);
                        }
                        batch
                    }
                };
                let Some(batch) = batch else {
                    self.bytes_read += reader.bytes_read();
                    self.current = None;
                    continue;
                };
                let batch = batch.map_err(TableError::part(&self.table, name))?;
                if batch.num_rows() > 0 || filter.is_some() {
                    return self.shaped(&batch).map(Some);
                }
            } else if let Some((part, name, request)) = self.reads.pop_front() {
                if let Some((_, filter)) = &mut filter {
                    filter.opens(&part);
                }
                let reader = if self.is_large { part.scan(request) } else { part.read(request) };
                let reader = reader.map_err(TableError::part(&self.table, &name))?;
                let mut reader =
                    reader.with_bytes_max(self.bytes_max).with_lengths_of(&self.lengths);
                if self.is_reversed {
                    reader.reverse();
                }
                self.current = Some((name, reader));
            } else {
                break;
            }
        }
        Ok(None)
    }

    /// The batch under the scan's schema, not longer than is wanted.
    fn shaped(&mut self, batch: &RecordBatch) -> Result<RecordBatch, TableError> {
        let rows = usize::try_from(self.left).unwrap_or(usize::MAX).min(batch.num_rows());
        self.left -= rows as u64;
        conformed(&batch.slice(0, rows), &self.schema)
    }
}

/// The batch under another schema of the same columns.
pub(super) fn conformed(
    batch: &RecordBatch,
    schema: &SchemaRef,
) -> Result<RecordBatch, TableError> {
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns
        .map(|(column, field)| conform(column, field.data_type()))
        .collect::<Result<_, _>>()?;
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
        .map_err(TableError::arrow("read a batch"))
}

impl Iterator for ScanReader {
    type Item = Result<RecordBatch, TableError>;
    fn next(&mut self) -> Option<Self::Item> {
        let item = self.advance(None).transpose();
        if matches!(item, Some(Err(_))) {
            // Nothing follows an error.
            self.left = 0;
        }
        item
    }
}
