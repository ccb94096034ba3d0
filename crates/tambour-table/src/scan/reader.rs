//! Running one partition of a scan.

use super::super::conform::conform;
use crate::TableError;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_part::Part;
use tambour_part::part::{PartReader, ReadRequest};

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
}

impl ScanReader {
    /// Reads some parts, one after the other, until `left` rows have come.
    pub(super) fn new(
        table: &Path,
        schema: SchemaRef,
        reads: VecDeque<(Arc<Part>, String, ReadRequest)>,
        left: u64,
    ) -> Self {
        Self { table: table.to_owned(), schema, reads, current: None, bytes_read: 0, left }
    }

    /// Compressed bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read + self.current.as_ref().map_or(0, |(_, reader)| reader.bytes_read())
    }
    /// The schema of its batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn advance(&mut self) -> Result<Option<RecordBatch>, TableError> {
        while self.left > 0 {
            if let Some((name, reader)) = &mut self.current {
                let Some(batch) = reader.next() else {
                    self.bytes_read += reader.bytes_read();
                    self.current = None;
                    continue;
                };
                let batch = batch.map_err(TableError::part(&self.table, name))?;
                if batch.num_rows() > 0 {
                    return self.shaped(&batch).map(Some);
                }
            } else if let Some((part, name, request)) = self.reads.pop_front() {
                let reader = part.read(request).map_err(TableError::part(&self.table, &name))?;
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
        let batch = batch.slice(0, rows);
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let columns = batch.columns().iter().zip(self.schema.fields());
        let columns = columns
            .map(|(column, field)| conform(column, field.data_type()))
            .collect::<Result<_, _>>()?;
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(TableError::arrow("read a batch"))
    }
}

impl Iterator for ScanReader {
    type Item = Result<RecordBatch, TableError>;
    fn next(&mut self) -> Option<Self::Item> {
        let item = self.advance().transpose();
        if matches!(item, Some(Err(_))) {
            // Nothing follows an error.
            self.left = 0;
        }
        item
    }
}
