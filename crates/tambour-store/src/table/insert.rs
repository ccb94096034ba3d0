//! Inserting: sort, partition, spill, merge, commit.

use super::Table;
use crate::StoreError;
use crate::schema::TableDefinition;
use arrow_array::RecordBatch;
use std::path::Path;
use std::sync::Arc;
use tambour_part::storage::Storage;
use tambour_part::write::Dialect;

/// What should happen when the table exists already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// It is an error (kind Conflict).
    #[default]
    Refuse,
    /// Rows are added; the definition must be the same.
    Append,
    /// Its parts are replaced in the same commit.
    Replace,
}

/// How to insert.
#[derive(Clone, Debug)]
pub struct InsertOptions {
    /// What if the table exists.
    pub existing: Existing,
    /// Dialect of the parts.
    pub dialect: Dialect,
    /// Most rows of a part; `None`: no limit.
    pub rows_per_part: Option<u64>,
    /// Bytes of memory for pending rows, all stages together.
    pub memory_bytes: u64,
    /// Threads.
    pub threads: usize,
}

/// An insert in progress: owns the table's lock and a temporary directory. Dropped without `commit`: nothing happened.
#[derive(Debug)]
pub struct Insert {}

/// What an insert did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InsertSummary {
    /// Rows inserted.
    pub rows: u64,
    /// Parts made live.
    pub parts: u64,
    /// Bytes of the columns before compression.
    pub uncompressed: u64,
    /// Bytes on disk.
    pub compressed: u64,
}

impl Insert {
    /// Takes the lock and prepares.
    pub fn begin(
        _storage: &Arc<dyn Storage>,
        _path: &Path,
        _definition: &TableDefinition,
        _options: InsertOptions,
    ) -> Result<Self, StoreError> {
        todo!()
    }
    /// Adds rows in any order; columns in the order of the definition.
    pub fn write(&mut self, _batch: RecordBatch) -> Result<(), StoreError> {
        todo!()
    }
    /// Writes what is pending, merges spilled parts, and makes all parts visible at once.
    pub fn commit(self) -> Result<InsertSummary, StoreError> {
        todo!()
    }
    /// Gives up and removes every trace.
    pub fn abort(self) -> Result<(), StoreError> {
        todo!()
    }
}

#[expect(dead_code, reason = "skeleton")]
fn unused(_: Table) {}
