//! What all parts of a table that are written together have in common.

use super::locked::OWN;
use crate::StoreError;
use crate::schema::TableDefinition;
use crate::schema::expression::Expression;
use arrow_array::{ArrayRef, RecordBatch};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tambour_codec::spec::CodecSpec;
use tambour_part::storage::Storage;
use tambour_part::types::{Column, DataType};
use tambour_part::write::{Dialect, PartSpec};

/// How parts are written, and where.
#[derive(Debug)]
pub(super) struct Shape {
    /// Where the table lives.
    pub storage: Arc<dyn Storage>,
    /// The table's directory.
    pub path: PathBuf,
    columns: Vec<(Column, CodecSpec)>,
    primary_key: Vec<Expression>,
    key_types: Vec<DataType>,
    granularity: usize,
    dialect: Dialect,
    /// Threads of everything together.
    pub threads: usize,
    /// Tells the temporary directories of this writer from those of the ones before.
    id: u64,
    directories: AtomicU64,
}

impl Shape {
    /// The shape of parts of this definition. `id` is the table's next block number.
    pub(super) fn new(
        (storage, path): (&Arc<dyn Storage>, &Path),
        definition: &TableDefinition,
        dialect: Dialect,
        threads: usize,
        id: u64,
    ) -> Result<Self, StoreError> {
        let columns = definition
            .columns
            .iter()
            .map(|c| (c.column.clone(), c.codec.clone().unwrap_or_else(CodecSpec::lz4)))
            .collect();
        Ok(Self {
            storage: Arc::clone(storage),
            path: path.to_owned(),
            columns,
            primary_key: definition.primary_key.clone(),
            key_types: definition.primary_key_types()?,
            granularity: definition.index_granularity(),
            dialect,
            threads: threads.max(1),
            id,
            directories: AtomicU64::new(0),
        })
    }

    /// A name for a directory that nobody has used.
    pub(super) fn directory(&self) -> String {
        let number = self.directories.fetch_add(1, Ordering::Relaxed);
        format!("{OWN}{}_{number}", self.id)
    }

    /// The columns.
    pub(super) fn columns(&self) -> Vec<Column> {
        self.columns.iter().map(|(column, _)| column.clone()).collect()
    }

    /// Rows of a granule.
    pub(super) fn granularity(&self) -> usize {
        self.granularity
    }

    /// What a part to be written is like. A draft is read once and removed: speed is all that counts.
    pub(super) fn spec(&self, is_draft: bool) -> PartSpec {
        let columns = self.columns.iter().map(|(column, codec)| {
            (column.clone(), if is_draft { CodecSpec::lz4() } else { codec.clone() })
        });
        PartSpec {
            columns: columns.collect(),
            key_types: self.key_types.clone(),
            index_granularity: self.granularity,
            dialect: self.dialect,
            threads: self.threads,
        }
    }

    /// Values of the primary key expressions.
    pub(super) fn primary_key(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>, StoreError> {
        self.primary_key.iter().map(|expression| expression.evaluate(batch)).collect()
    }
}
