//! A table as programs use it.

use crate::Error;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

/// An opened table: a snapshot of its definition and its parts, cheap to clone. Whoever writes to the table later does not
/// change what is read through this one.
///
/// The rest of what it tells, like [`rows`](tambour_table::Table::rows) and [`columns`](tambour_table::Table::columns), is that
/// of the layer's own table, to which it dereferences.
#[derive(Clone, Debug)]
pub struct Table {
    snapshot: Arc<tambour_table::Table>,
}

impl Table {
    /// Opens a table directory: one that Tambour made, a directory of ClickHouse parts, or a single part.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Ok(tambour_table::Table::open(path.as_ref())?.into())
    }
}

impl From<tambour_table::Table> for Table {
    fn from(table: tambour_table::Table) -> Self {
        Self { snapshot: Arc::new(table) }
    }
}

impl Deref for Table {
    type Target = tambour_table::Table;

    fn deref(&self) -> &tambour_table::Table {
        &self.snapshot
    }
}
