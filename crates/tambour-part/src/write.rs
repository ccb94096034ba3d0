//! Writing a wide part.

use crate::PartError;
use crate::storage::Storage;
use crate::types::{Column, DataType};
use arrow_array::{ArrayRef, RecordBatch};
use std::path::Path;
use std::sync::Arc;
use tambour_codec::spec::CodecSpec;

/// Which ClickHouse versions can attach what is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// `.mrk2`, final mark (ClickHouse 19.11 and later).
    #[default]
    New,
    /// `.mrk`, no final mark, only NONE, LZ4 and ZSTD (18.16 and everything later).
    Old,
}

/// What a part to be written is like.
#[derive(Clone, Debug)]
pub struct PartSpec {
    /// Columns with their codecs.
    pub columns: Vec<(Column, CodecSpec)>,
    /// Types of the primary key expressions; empty for `tuple()`.
    pub key_types: Vec<DataType>,
    /// Rows of a granule.
    pub index_granularity: usize,
    /// The dialect.
    pub dialect: Dialect,
    /// Threads that may encode columns at the same time (1 = none besides the caller's).
    pub threads: usize,
}

/// The partition of a part: key values, and ranges of its source columns.
#[derive(Clone, Debug, Default)]
pub struct Partition {
    /// Type and one-row array per PARTITION BY expression; empty for none.
    pub values: Vec<(DataType, ArrayRef)>,
    /// Column name, its type, and a two-row array: minimum and maximum.
    pub ranges: Vec<(String, DataType, ArrayRef)>,
}

impl Partition {
    /// The partition id as ClickHouse names it (`all`, `202402`, `202402--5`, 32 hex digits); format document §12.
    pub fn id(&self) -> Result<String, PartError> {
        todo!()
    }
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartSummary {
    /// Rows.
    pub rows: u64,
    /// Granules.
    pub granules: u64,
    /// Bytes of all files.
    pub bytes_on_disk: u64,
    /// Bytes of the columns before compression.
    pub uncompressed: u64,
}

/// Writes a part into a new directory (which the caller renames when all is durable).
#[derive(Debug)]
pub struct PartWriter {}

impl PartWriter {
    /// Creates the directory and opens the streams.
    pub fn create(
        _storage: &Arc<dyn Storage>,
        _path: &Path,
        _spec: PartSpec,
    ) -> Result<Self, PartError> {
        todo!()
    }
    /// Appends rows, already sorted. `batch` has the columns of the spec in their order; `keys` the values of the primary
    /// key expressions for the same rows.
    pub fn write(&mut self, _batch: &RecordBatch, _keys: &[ArrayRef]) -> Result<(), PartError> {
        todo!()
    }
    /// Rows so far.
    pub fn rows(&self) -> u64 {
        todo!()
    }
    /// Writes index, partition, count and checksums, and syncs every file and the directory.
    pub fn finish(self, _partition: &Partition) -> Result<PartSummary, PartError> {
        todo!()
    }
    /// Gives up: removes the directory.
    pub fn abort(self) -> Result<(), PartError> {
        todo!()
    }
}
