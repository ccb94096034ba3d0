//! A table: a directory of parts and a sidecar.
//!
//! `tambour.json`, the sidecar, holds the CREATE TABLE statement and the list of live parts; replacing it (write aside,
//! sync, rename, sync the directory) *is* the commit. Live parts may still carry their temporary directory name: recovery
//! rolls the renames forward. A directory without a sidecar is a copy of a ClickHouse table directory: its live parts are
//! found by the covering logic over the directory names, its columns in their columns.txt.
//!
//! The way of the rows: [`insert::Insert`] collects batches, sorts and spills them as parts, merges the spilled parts and
//! commits; [`merge::optimize`] merges what several inserts left; [`verify::verify`] reads everything and checks it.

mod canonical;
mod chunk;
mod conform;
mod draft;
pub mod insert;
mod intake;
mod key;
mod locked;
pub mod merge;
mod name;
mod open;
mod ordinal;
mod parallel;
mod partition;
pub mod predicate;
mod prune;
pub mod recompress;
mod run;
pub mod salvage;
pub mod scan;
mod shape;
mod sidecar;
mod span;
mod spill;
#[cfg(test)]
mod tests;
mod tournament;
pub mod verify;

pub use name::PartName;
pub use sidecar::SIDECAR;

use crate::StoreError;
use crate::schema::TableDefinition;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_part::Part;
use tambour_part::storage::{self, Storage};
use tambour_part::types::Column;

/// An opened table: a snapshot of its definition and live parts. Reading takes no lock.
#[derive(Debug)]
pub struct Table {
    storage: Arc<dyn Storage>,
    path: PathBuf,
    name: String,
    definition: Option<TableDefinition>,
    columns: Vec<Column>,
    names: Vec<String>,
    parts: Vec<Arc<Part>>,
    rows: u64,
}

impl Table {
    /// Opens a table directory: one with a sidecar, a directory of ClickHouse parts, or a single part.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_on(&storage::disk(), path)
    }
    /// The same over any storage.
    pub fn open_on(storage: &Arc<dyn Storage>, path: &Path) -> Result<Self, StoreError> {
        open::open(storage, path)
    }
    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// The directory's name: the table's name in SQL.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Its definition, if there is a sidecar (or a .sql file beside the parts).
    pub fn definition(&self) -> Option<&TableDefinition> {
        self.definition.as_ref()
    }
    /// Its columns: of the definition, else of the parts (which must agree).
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }
    /// Live parts, by partition and block number.
    pub fn parts(&self) -> &[Arc<Part>] {
        &self.parts
    }
    /// Names of the live parts, in the order of [`Table::parts`]. A part's directory may still have another name.
    pub fn part_names(&self) -> &[String] {
        &self.names
    }
    /// Rows of all live parts; those that lightweight deletes hide are counted too, see [`Table::has_deleted_rows`].
    pub fn rows(&self) -> u64 {
        self.rows
    }
    /// True if readers may get fewer rows than [`Table::rows`].
    pub fn has_deleted_rows(&self) -> bool {
        self.parts.iter().any(|part| part.has_deleted_rows())
    }
    /// The storage it lives on.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }
}
