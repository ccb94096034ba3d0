//! A table: a directory of parts and a sidecar.
//!
//! `tambour.json`, the sidecar, holds the CREATE TABLE statement and the list of live parts; replacing it (write aside,
//! sync, rename, sync the directory) *is* the commit. Live parts may still carry their temporary directory name: recovery
//! rolls the renames forward. A directory without a sidecar is a copy of a ClickHouse table directory: its live parts are
//! found by the covering logic over the directory names, its columns in their columns.txt.

pub mod insert;
pub mod merge;
mod ordinal;
pub mod predicate;
mod prune;
pub mod scan;
mod span;

use crate::StoreError;
use crate::schema::TableDefinition;
use std::path::Path;
use std::sync::Arc;
use tambour_part::Part;
use tambour_part::storage::Storage;
use tambour_part::types::Column;

/// Name of the sidecar file.
pub const SIDECAR: &str = "tambour.json";

/// A directory name of a part: `<partition id>_<min block>_<max block>_<level>[_<mutation>]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartName {
    /// Partition id.
    pub partition: String,
    /// First block number.
    pub block_min: u64,
    /// Last block number.
    pub block_max: u64,
    /// How often it was merged.
    pub level: u32,
    /// Block number of the last mutation.
    pub mutation: Option<u64>,
}

impl PartName {
    /// Parses a directory name; `None` if it is none of a part.
    pub fn parse(_name: &str) -> Option<Self> {
        todo!()
    }
    /// True if this part replaces `other` (same partition, its block range contains the other's).
    pub fn covers(&self, _other: &Self) -> bool {
        todo!()
    }
}

/// An opened table: a snapshot of its definition and live parts. Reading takes no lock.
#[derive(Debug)]
pub struct Table {
    // storage, path, definition, parts
}

impl Table {
    /// Opens a table directory: one with a sidecar, or a directory of ClickHouse parts.
    pub fn open(_path: &Path) -> Result<Self, StoreError> {
        todo!()
    }
    /// The same over any storage.
    pub fn open_on(_storage: &Arc<dyn Storage>, _path: &Path) -> Result<Self, StoreError> {
        todo!()
    }
    /// The directory.
    pub fn path(&self) -> &Path {
        todo!()
    }
    /// The directory's name: the table's name in SQL.
    pub fn name(&self) -> &str {
        todo!()
    }
    /// Its definition, if there is a sidecar (or a .sql file beside the parts).
    pub fn definition(&self) -> Option<&TableDefinition> {
        todo!()
    }
    /// Its columns: of the definition, else of the parts (which must agree).
    pub fn columns(&self) -> &[Column] {
        todo!()
    }
    /// Live parts, by partition and block number.
    pub fn parts(&self) -> &[Arc<Part>] {
        todo!()
    }
    /// Rows of all live parts.
    pub fn rows(&self) -> u64 {
        todo!()
    }
    /// The storage it lives on.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        todo!()
    }
}
