//! A scan is a value: it names what is read, and can be run later, in another process, on another machine.

use super::Table;
use super::predicate::Predicate;
use crate::StoreError;
use arrow_array::RecordBatch;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tambour_part::storage::Storage;
use tambour_part::types::Strings;

/// A part as a scan names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanPart {
    /// Directory name.
    pub name: String,
    /// Content hash; another content under the same name is refused.
    pub content_hash: String,
    /// Rows.
    pub rows: u64,
    /// Number of granules.
    pub granules: usize,
}

/// A run of granules of one part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanRange {
    /// Index into [`Scan::parts`].
    pub part: usize,
    /// First granule.
    pub start: usize,
    /// One past the last granule.
    pub end: usize,
}

/// What to read of a table: location, parts with content hashes, columns, filters, granule ranges, partitions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scan {
    /// Location as URL (`file:///…`).
    pub table: String,
    /// Columns by name, in the order wanted.
    pub columns: Vec<String>,
    /// What was pushed down; granules that cannot match are already left out of `partitions`.
    pub predicate: Predicate,
    /// Rows that suffice, if the query has a bare LIMIT.
    pub limit: Option<u64>,
    /// Strings as text or bytes (true = bytes).
    pub binary_strings: bool,
    /// Rows per batch at least.
    pub batch_rows: usize,
    /// The parts.
    pub parts: Vec<ScanPart>,
    /// Work lists; the same table and arguments give the same lists.
    pub partitions: Vec<Vec<ScanRange>>,
    /// True if every partition yields rows in the order of the sorting key.
    pub ordered: bool,
}

/// What pruning did, for EXPLAIN and the statistics line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pruned {
    /// Parts and granules of the table.
    pub parts_total: usize,
    /// Parts left after partition and min-max pruning.
    pub parts_left: usize,
    /// Granules of the table.
    pub granules_total: usize,
    /// Granules left after the primary index.
    pub granules_left: usize,
}

/// How a scan is wanted.
#[derive(Clone, Debug)]
pub struct ScanRequest {
    /// Columns by name; may be empty.
    pub columns: Vec<String>,
    /// Filters.
    pub predicate: Predicate,
    /// A bare LIMIT.
    pub limit: Option<u64>,
    /// Partitions wanted.
    pub partitions: usize,
    /// Keep the sorting key's order within partitions: one sorted run per partition.
    pub ordered: bool,
    /// Rows per batch at least.
    pub batch_rows: usize,
    /// How strings are handed out.
    pub strings: Strings,
}

impl Scan {
    /// Plans a scan: prunes and cuts the rest into partitions of about equal rows, deterministically.
    pub fn plan(_table: &Table, _request: &ScanRequest) -> Result<(Self, Pruned), StoreError> {
        todo!()
    }
    /// Opens one partition. `table` may be handed in when it is open already; its parts are checked against the hashes.
    pub fn run(
        &self,
        _partition: usize,
        _storage: &Arc<dyn Storage>,
        _table: Option<&Table>,
    ) -> Result<ScanReader, StoreError> {
        todo!()
    }
    /// Rows in one partition (before filters).
    pub fn partition_rows(&self, _partition: usize, _table: &Table) -> u64 {
        todo!()
    }
}

/// Batches of one partition.
#[derive(Debug)]
pub struct ScanReader {}

impl ScanReader {
    /// Compressed bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        todo!()
    }
}

impl Iterator for ScanReader {
    type Item = Result<RecordBatch, StoreError>;
    fn next(&mut self) -> Option<Self::Item> {
        todo!()
    }
}
