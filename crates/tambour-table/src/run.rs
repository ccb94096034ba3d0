//! A run: sorted rows of one partition, in one part or several that follow each other.

use super::conform::conform;
use super::draft::{Draft, Durability};
use super::key::{Key, Keys, OwnedKey};
use super::open::open_part;
use super::partition::{RangeColumns, Ranges, Values};
use super::shape::Shape;
use crate::TableError;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use tambour_part::part::{PartReader, ReadRequest};
use tambour_part::types::{Column, Strings, arrow_schema};
use tambour_part::write::{PartSummary, PartWriter};
use tambour_part::{Part, PartError};
use tambour_storage::commit;

/// A part of a run.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    /// Its directory in the table's.
    pub directory: String,
    /// What was written.
    pub summary: PartSummary,
}

/// What a finished run consists of.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    /// Its parts, in the order of the rows.
    pub segments: Vec<Segment>,
}

impl Run {
    /// Rows, and bytes before compression.
    pub(super) fn size(&self) -> (u64, u64) {
        let sizes = self.segments.iter().map(|s| (s.summary.rows, s.summary.uncompressed));
        sizes.fold((0, 0), |(rows, bytes), size| (rows + size.0, bytes + size.1))
    }

    /// Removes the parts.
    pub(super) fn remove(&self, shape: &Shape) -> Result<(), TableError> {
        for segment in &self.segments {
            let path = shape.path.join(&segment.directory);
            commit::remove_directory(shape.storage.as_ref(), &path)?;
        }
        Ok(())
    }

    /// Opens the parts.
    pub(super) fn open(&self, shape: &Shape) -> Result<Vec<(String, Arc<Part>)>, TableError> {
        let open = |segment: &Segment| {
            let path = shape.path.join(&segment.directory);
            let part = open_part(&shape.storage, &path, Some(shape.granularity()))
                .map_err(TableError::part(&shape.path, &segment.directory))?;
            Ok((segment.directory.clone(), Arc::new(part)))
        };
        self.segments.iter().map(open).collect()
    }
}

/// Writes a run, cut into parts of at most this many rows.
#[derive(Debug)]
pub(super) struct RunWriter {
    shape: Arc<Shape>,
    columns: Arc<RangeColumns>,
    values: Values,
    rows_max: u64,
    is_draft: bool,
    open: Option<OpenSegment>,
    run: Run,
}

#[derive(Debug)]
struct OpenSegment {
    directory: String,
    writer: PartWriter,
    durability: Durability,
    ranges: Ranges,
}

impl RunWriter {
    /// A run of a partition. A draft will be merged with others and is written for speed, in one part.
    pub(super) fn new(
        shape: &Arc<Shape>,
        columns: &Arc<RangeColumns>,
        values: Values,
        rows_max: Option<u64>,
        is_draft: bool,
    ) -> Self {
        let rows_max = if is_draft { None } else { rows_max };
        Self {
            shape: Arc::clone(shape),
            columns: Arc::clone(columns),
            values,
            rows_max: rows_max.unwrap_or(u64::MAX).max(1),
            is_draft,
            open: None,
            run: Run::default(),
        }
    }

    /// Appends sorted rows.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), TableError> {
        let mut rest = batch.clone();
        while rest.num_rows() > 0 {
            let open = match &mut self.open {
                Some(open) => open,
                None => self.open.insert(OpenSegment::create(&self.shape, self.is_draft)?),
            };
            let room = self.rows_max.saturating_sub(open.writer.rows());
            let rows = usize::try_from(room).unwrap_or(usize::MAX).min(rest.num_rows());
            let piece = rest.slice(0, rows);
            rest = rest.slice(rows, rest.num_rows() - rows);
            self.columns.widen(&mut open.ranges, &piece)?;
            let keys = self.shape.primary_key(&piece)?;
            let place = |cause| self.shape.part_error(&open.directory, cause);
            open.writer.write(&piece, &keys).map_err(place)?;
            if open.writer.rows() >= self.rows_max {
                self.close(true)?;
            }
        }
        Ok(())
    }

    /// Ends the run. If it `may_be_final`, it survives a crash from now on.
    pub(super) fn finish(mut self, may_be_final: bool) -> Result<Run, TableError> {
        self.close(may_be_final)?;
        Ok(self.run)
    }

    fn close(&mut self, is_durable: bool) -> Result<(), TableError> {
        let Some(open) = self.open.take() else { return Ok(()) };
        // Two files per column, as many again where there are several streams, and a handful for the part.
        let files = 3 * self.shape.columns().len() as u64 + 6;
        if is_durable && self.shape.work().sync_singly(files) {
            open.durability.require();
        }
        let partition = self.columns.partition(&self.values, &open.ranges)?;
        let place = |cause| self.shape.part_error(&open.directory, cause);
        let summary = open.writer.finish(&partition).map_err(place)?;
        self.run.segments.push(Segment { directory: open.directory, summary });
        Ok(())
    }
}

impl OpenSegment {
    fn create(shape: &Shape, is_draft: bool) -> Result<Self, TableError> {
        let directory = shape.directory();
        let (storage, durability) = Draft::over(&shape.storage);
        let path = shape.path.join(&directory);
        let mut writer = PartWriter::create(&storage, &path, shape.spec(is_draft))
            .map_err(|cause| shape.part_error(&directory, cause))?;
        if !is_draft {
            writer.gather_statistics();
        }
        Ok(Self { directory, writer, durability, ranges: Ranges::default() })
    }
}

impl Shape {
    fn part_error(&self, directory: &str, cause: PartError) -> TableError {
        TableError::Part { table: self.path.clone(), part: directory.to_owned(), cause }
    }
}

/// Which rows are read of a run.
#[derive(Clone, Debug)]
pub(super) struct RunRequest {
    /// The table, for errors.
    pub table: PathBuf,
    /// The sorting key.
    pub key: Arc<Key>,
    /// Columns in the order wanted, with the table's types; the key's must be among them.
    pub columns: Vec<Column>,
    /// Rows per batch at least.
    pub batch_rows: usize,
}

/// Reads the parts of a run one after another, and makes sure that it is sorted.
#[derive(Debug)]
pub(super) struct RunReader {
    request: RunRequest,
    schema: SchemaRef,
    parts: VecDeque<(String, Arc<Part>)>,
    open: Option<(String, PartReader)>,
    /// Rows of the open part that were read before.
    row: u64,
    last: Option<OwnedKey>,
}

impl RunReader {
    pub(super) fn new(request: RunRequest, parts: Vec<(String, Arc<Part>)>) -> Self {
        let schema = Arc::new(arrow_schema(&request.columns, Strings::Binary));
        Self { request, schema, parts: parts.into(), open: None, row: 0, last: None }
    }

    fn read(&mut self) -> Result<Option<(RecordBatch, Keys)>, TableError> {
        loop {
            if let Some((name, reader)) = &mut self.open {
                let error = TableError::part(&self.request.table, name);
                match reader.next().transpose().map_err(error)? {
                    Some(batch) if batch.num_rows() == 0 => {}
                    Some(batch) => return self.check(batch).map(Some),
                    None => self.open = None,
                }
            } else if let Some((name, part)) = self.parts.pop_front() {
                let reader = self.request.open(&name, &part)?;
                self.open = Some((name, reader));
                self.row = 0;
            } else {
                return Ok(None);
            }
        }
    }

    /// The types of the table, where those of the part are a little different.
    fn conform(&self, batch: RecordBatch) -> Result<RecordBatch, TableError> {
        let fields = self.schema.fields();
        let mut pairs = fields.iter().zip(batch.columns());
        if pairs.all(|(field, column)| field.data_type() == column.data_type()) {
            return Ok(batch);
        }
        let pairs = fields.iter().zip(batch.columns());
        let columns = pairs.map(|(field, column)| conform(column, field.data_type()));
        RecordBatch::try_new(Arc::clone(&self.schema), columns.collect::<Result<_, _>>()?)
            .map_err(TableError::arrow("reading rows of a part"))
    }

    /// Every row must not be smaller than the one before it, which may be in another batch or part.
    fn check(&mut self, batch: RecordBatch) -> Result<(RecordBatch, Keys), TableError> {
        let batch = self.conform(batch)?;
        let keys = self.request.key.evaluate(&batch)?;
        let is_behind = match &self.last {
            Some(last) => keys.compare_owned(0, last).is_lt(),
            None => false,
        };
        if let Some(row) = if is_behind { Some(0) } else { keys.first_unsorted() } {
            let (table, row) = (self.request.table.clone(), self.row + row as u64);
            let part = self.open.as_ref().map(|(name, _)| name.clone()).unwrap_or_default();
            return Err(TableError::Unsorted { table, part, row });
        }
        self.last = Some(keys.owned(batch.num_rows() - 1));
        self.row += batch.num_rows() as u64;
        Ok((batch, keys))
    }
}

impl Iterator for RunReader {
    type Item = Result<(RecordBatch, Keys), TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

impl RunRequest {
    fn open(&self, name: &str, part: &Arc<Part>) -> Result<PartReader, TableError> {
        let mut columns = Vec::with_capacity(self.columns.len());
        for wanted in &self.columns {
            let index = part.columns().iter().position(|column| column.name == wanted.name);
            columns.push(index.ok_or_else(|| TableError::PartDiffers {
                table: self.table.clone(),
                part: name.to_owned(),
                field: "columns",
                expected: wanted.name.clone(),
                got: "no such column".to_owned(),
            })?);
        }
        let granules = std::iter::once(0..part.granules().len()).collect();
        // Bytes, so that strings which are not text are carried over as they are.
        let strings = Strings::Binary;
        let request = ReadRequest { columns, granules, batch_rows: self.batch_rows, strings };
        part.read(request).map_err(TableError::part(&self.table, name))
    }
}
