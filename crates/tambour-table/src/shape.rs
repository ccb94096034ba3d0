//! What all parts of a table that are written together have in common.

use super::locked::OWN;
use crate::TableError;
use crate::schema::TableDefinition;
use crate::schema::expression::Expression;
use arrow_array::{ArrayRef, RecordBatch};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tambour_codec::spec::CodecSpec;
use tambour_part::types::{Column, DataType};
use tambour_part::write::{Dialect, PartSpec, SPARSE_RATIO_DEFAULT, StringLayout};
use tambour_storage::{Barrier, Storage};

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
    sparse_ratio: f64,
    dialect: Dialect,
    /// Threads of everything together.
    pub threads: usize,
    work: Arc<Work>,
}

/// What all that one writer writes before its commit has in common.
#[derive(Debug)]
pub(super) struct Work {
    /// Tells the temporary directories of this writer from those of the ones before.
    id: u64,
    directories: AtomicU64,
    durability: Mutex<Durability>,
}

/// How parts that will be committed are made durable: a few files one by one, many of them all at once in the end.
#[derive(Debug)]
struct Durability {
    synced_files: u64,
    barrier: Option<Box<dyn Barrier>>,
    is_barrier_needed: bool,
}

/// Most files that are synced one by one. Each takes some milliseconds on a plain disk, and syncing a whole file system
/// waits for what other programs have written, too.
const SYNCED_FILES_MAX: u64 = if cfg!(test) { 12 } else { 256 };

impl Work {
    /// Work on a table; `id` is its next block number.
    pub(super) fn begin(storage: &dyn Storage, path: &Path, id: u64) -> Arc<Self> {
        // Without a barrier everything is synced one by one, which always works.
        let barrier = storage.barrier(path).ok();
        let durability = Durability { synced_files: 0, barrier, is_barrier_needed: false };
        Arc::new(Self { id, directories: AtomicU64::new(0), durability: Mutex::new(durability) })
    }

    /// A name for a directory that nobody has used.
    pub(super) fn directory(&self) -> String {
        let number = self.directories.fetch_add(1, Ordering::Relaxed);
        format!("{OWN}{}_{number}", self.id)
    }

    /// True if this many files should be synced on their own; otherwise [`Work::sync`] does it.
    pub(super) fn sync_singly(&self, files: u64) -> bool {
        let mut durability = self.durability.lock().unwrap_or_else(PoisonError::into_inner);
        durability.synced_files += files;
        if durability.synced_files <= SYNCED_FILES_MAX || durability.barrier.is_none() {
            return true;
        }
        durability.is_barrier_needed = true;
        false
    }

    /// Makes everything durable that was not synced on its own. Called once, before the commit.
    pub(super) fn sync(&self, path: &Path) -> Result<(), TableError> {
        let mut durability = self.durability.lock().unwrap_or_else(PoisonError::into_inner);
        let is_needed = durability.is_barrier_needed;
        match durability.barrier.as_mut().filter(|_| is_needed) {
            Some(barrier) => {
                barrier.sync().map_err(TableError::file("sync the file system of", path))
            }
            None => Ok(()),
        }
    }
}

/// The share of defaults above which columns are sparse.
fn sparse_ratio(definition: &TableDefinition) -> f64 {
    let written = definition.setting("ratio_of_defaults_for_sparse_serialization");
    let ratio = written.and_then(|it| it.parse().ok()).filter(|it| (0.0..=1.0).contains(it));
    ratio.unwrap_or(SPARSE_RATIO_DEFAULT)
}

impl Shape {
    /// The shape of parts of this definition.
    pub(super) fn new(
        (storage, path): (&Arc<dyn Storage>, &Path),
        definition: &TableDefinition,
        dialect: Dialect,
        threads: usize,
        work: &Arc<Work>,
    ) -> Result<Self, TableError> {
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
            sparse_ratio: sparse_ratio(definition),
            dialect,
            threads: threads.max(1),
            work: Arc::clone(work),
        })
    }

    /// A name for a directory that nobody has used.
    pub(super) fn directory(&self) -> String {
        self.work.directory()
    }

    /// The work that this is part of.
    pub(super) fn work(&self) -> &Work {
        &self.work
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
            strings: if is_draft { StringLayout::Inline } else { StringLayout::Smaller },
            sparse_ratio: (!is_draft).then_some(self.sparse_ratio),
        }
    }

    /// Values of the primary key expressions.
    pub(super) fn primary_key(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>, TableError> {
        self.primary_key.iter().map(|expression| expression.evaluate(batch)).collect()
    }
}
