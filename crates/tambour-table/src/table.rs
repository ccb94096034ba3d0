//! An opened table.

use crate::schema::TableDefinition;
use crate::{TableError, open, store, unproven};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use tambour_part::part::Seen;
use tambour_part::types::Column;
use tambour_part::{BlockCache, Part};
use tambour_storage::Storage;

/// An opened table: a snapshot of its definition and live parts. Reading takes no lock.
#[derive(Debug)]
pub struct Table {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) path: PathBuf,
    pub(crate) name: String,
    /// The database that a server has it in.
    pub(crate) database: Option<String>,
    pub(crate) definition: Option<TableDefinition>,
    pub(crate) columns: Vec<Column>,
    pub(crate) names: Vec<String>,
    pub(crate) parts: Vec<Arc<Part>>,
    pub(crate) rows: u64,
    /// Where each part is in `parts`, by name; made when one is looked for.
    pub(crate) places: OnceLock<HashMap<String, usize>>,
}

impl Table {
    /// Opens a table directory: one with a sidecar, a directory of ClickHouse parts, or a single part. The path may be the URL of
    /// one in an object store ([`crate::store`]).
    pub fn open(path: &Path) -> Result<Self, TableError> {
        Self::open_on(&store::storage_of(path)?, path)
    }
    /// The same over any storage.
    pub fn open_on(storage: &Arc<dyn Storage>, path: &Path) -> Result<Self, TableError> {
        open::open(storage, path)
    }
    /// A table with some of its parts, by name.
    pub fn open_parts(
        storage: &Arc<dyn Storage>,
        path: &Path,
        parts: &[String],
    ) -> Result<Self, TableError> {
        open::open_some(storage, path, parts)
    }
    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// The directory's name: the table's name in SQL.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// The database that it is in, if it was found on a server's disk ([`crate::server`]).
    pub fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }
    /// Its definition, if there is a sidecar (or a .sql file beside the parts).
    pub fn definition(&self) -> Option<&TableDefinition> {
        self.definition.as_ref()
    }
    /// True if another process has altered the table since it was opened. One that is gone has not been.
    pub fn is_altered(&self) -> Result<bool, TableError> {
        let sidecar = open::load_sidecar(self.storage.as_ref(), &self.path)?;
        let now = sidecar.map(|it| TableDefinition::parse(&it.statement)).transpose()?;
        Ok(now.is_some() && now != self.definition)
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
    /// A live part and its name.
    pub fn part_by_name(&self, name: &str) -> Option<(&Arc<Part>, &str)> {
        let places = self.places.get_or_init(|| {
            self.names.iter().enumerate().map(|(index, name)| (name.clone(), index)).collect()
        });
        let index = *places.get(name)?;
        Some((&self.parts[index], &self.names[index]))
    }
    /// Rows of all live parts; those that lightweight deletes hide are counted too, see [`Table::has_deleted_rows`].
    pub fn rows(&self) -> u64 {
        self.rows
    }
    /// True if readers may get fewer rows than [`Table::rows`].
    pub fn has_deleted_rows(&self) -> bool {
        self.parts.iter().any(|part| part.has_deleted_rows())
    }
    /// From now on, reads of a few granules keep the blocks that they decode, and look for them there: [`Part::cache_blocks`].
    pub fn cache_blocks(&self, cache: &Arc<BlockCache>) {
        for part in &self.parts {
            part.cache_blocks(cache);
        }
    }
    /// The same table with one of its parts only, by name.
    pub fn only(&self, part: &str) -> Option<Self> {
        let only = Arc::clone(self.part_by_name(part)?.0);
        Some(Self {
            storage: Arc::clone(&self.storage),
            path: self.path.clone(),
            name: self.name.clone(),
            database: self.database.clone(),
            definition: self.definition.clone(),
            columns: self.columns.clone(),
            names: vec![part.to_owned()],
            rows: only.rows(),
            parts: vec![only],
            places: OnceLock::new(),
        })
    }
    /// The same table with more columns, and its parts with what they have of them, by their names.
    #[must_use]
    pub fn seen_with(&self, more: Vec<Column>, of_part: &dyn Fn(&str) -> Vec<Seen>) -> Self {
        let parts = self.parts.iter().zip(&self.names);
        Self {
            storage: Arc::clone(&self.storage),
            path: self.path.clone(),
            name: self.name.clone(),
            database: self.database.clone(),
            definition: self.definition.clone(),
            columns: self.columns.iter().cloned().chain(more).collect(),
            names: self.names.clone(),
            rows: self.rows,
            parts: parts.map(|(part, name)| Arc::new(part.seen_with(&of_part(name)))).collect(),
            places: OnceLock::new(),
        }
    }
    /// The rows of some parts in the order of a projection, as a table with this definition. `None` unless each of these parts has the
    /// projection, with all of its rows, with these columns, and in this order.
    pub fn projected(
        &self,
        projection: &str,
        definition: TableDefinition,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Option<Self> {
        open::projected(self, projection, definition, is_wanted)
    }
    /// What a flipped bit could have changed without a word, since `columns.txt` of the only part is all that says it: names of
    /// enums, scales, time zones. Nothing if there is a definition, or another part that agrees.
    pub fn unproven(&self) -> Vec<String> {
        if self.definition.is_some() || self.parts.len() != 1 {
            return Vec::new();
        }
        unproven::of(&self.columns, self.parts[0].has_names())
    }
    /// The storage it lives on.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }
}
