//! Inserting: sort, partition, spill, merge, commit.

use super::chunk::is_sorted;
use super::engine::{Engine, sorting_key};
use super::intake::Intake;
use super::key::{Key, Keys, OwnedKey};
use super::locked::{Contents, LockedTable, contents};
use super::merge::{Merge, estimate_row_bytes};
use super::name::PartName;
use super::open::open_part;
use super::run::{Run, Segment};
use super::shape::{Shape, Work};
use super::sidecar::{LivePart, Sidecar};
use super::spill::{PartitionRuns, Spiller};
use super::statistics;
use crate::TableError;
use crate::schema::TableDefinition;
use arrow_array::RecordBatch;
use crossbeam_channel::Sender;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use tambour_part::write::{Dialect, Partition};
use tambour_storage::Storage;

/// What should happen when the table exists already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// It is an error (kind Conflict).
    #[default]
    Refuse,
    /// Rows are added. The definition may have wider types and more columns than the table's; keys must be the same.
    Append,
    /// Rows are added to a table that is there and has this definition: an error (kind Conflict) if it has been altered.
    Same,
    /// Its parts are replaced in the same commit.
    Replace,
}

/// How to insert.
#[derive(Clone, Debug)]
pub struct InsertOptions {
    /// What if the table exists.
    pub existing: Existing,
    /// The table's definition when the rows were looked at, if [`Existing::Append`] depends on it: an error (kind Conflict) if it has been
    /// altered since.
    pub seen: Option<TableDefinition>,
    /// Dialect of the parts.
    pub dialect: Dialect,
    /// Most rows of a part; `None`: no limit.
    pub rows_per_part: Option<u64>,
    /// Bytes of memory for pending rows, all stages together.
    pub memory_bytes: u64,
    /// Threads.
    pub threads: usize,
}

impl Default for InsertOptions {
    /// A new table, the new dialect, 1 GiB of memory, one thread.
    fn default() -> Self {
        Self {
            existing: Existing::default(),
            seen: None,
            dialect: Dialect::default(),
            rows_per_part: None,
            memory_bytes: 1 << 30,
            threads: 1,
        }
    }
}

/// Rows that wait take at most one part in this many of the memory; then there are the rows being sorted and written, their
/// keys, and the blocks being filled. Larger chunks are slower: sorting leaves the caches, and the system fills fresh memory
/// with zeros.
const CHUNK_SHARE: u64 = 8;
/// Rows that come in the order of the key are handed on when they take this much: they need not wait for others.
const ORDERED_BYTES: u64 = 8 << 20;

/// An insert in progress: owns the table's lock and a temporary directory. Dropped without `commit`: nothing happened.
#[derive(Debug)]
pub struct Insert {
    /// `None` only when it is over.
    table: Option<LockedTable>,
    stage: Option<Stage>,
    intake: Intake,
    watch: Watch,
    chunk_bytes: u64,
    shape: Arc<Shape>,
    definition: TableDefinition,
    options: InsertOptions,
    /// The sidecar after the commit, still without the new parts.
    next: Sidecar,
    rows: u64,
}

/// Who sorts and spills.
#[derive(Debug)]
enum Stage {
    /// The thread that calls.
    Here(Box<Spiller>),
    /// A thread of its own, while the caller makes more rows.
    Beside(Sender<Pending>, JoinHandle<Result<Spiller, TableError>>),
}

/// Rows on their way, and their keys if these were looked at.
type Pending = (Vec<RecordBatch>, Option<Keys>);

/// Finds out whether rows come in the order of the key.
#[derive(Debug)]
struct Watch {
    key: Option<Key>,
    /// The key of the last row that was handed on.
    last: Option<OwnedKey>,
    /// The rows that wait are known to be in another order.
    is_over: bool,
}

impl Watch {
    /// The keys of the rows that wait, if these are in order after those that were handed on.
    fn ordered(
        &mut self,
        definition: &TableDefinition,
        batches: &[RecordBatch],
    ) -> Result<Option<Keys>, TableError> {
        let Some(first) = batches.first() else { return Ok(None) };
        let key = if let Some(key) = &self.key {
            key
        } else {
            let columns = definition.plain_columns();
            self.key.insert(Key::new(&sorting_key(definition), &columns, &first.schema())?)
        };
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        let mut keys = key.keys(rows);
        for batch in batches {
            key.append(&mut keys, batch)?;
        }
        let goes_on = self.last.as_ref().is_none_or(|last| keys.compare_owned(0, last).is_ge());
        if !(goes_on && is_sorted(&keys, 0..rows)) {
            self.is_over = true;
            return Ok(None);
        }
        self.last = Some(keys.owned(rows - 1));
        Ok(Some(keys))
    }
}

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
    /// Live parts from before that have the very content of one that was added: the same rows may have been inserted twice.
    pub repeated: Vec<String>,
}

impl Insert {
    /// Takes the lock and prepares.
    pub fn begin(
        storage: &Arc<dyn Storage>,
        path: &Path,
        definition: &TableDefinition,
        options: InsertOptions,
    ) -> Result<Self, TableError> {
        // Looked at before anything is touched; and again under the lock.
        if options.existing == Existing::Refuse {
            refuse_existing(storage.as_ref(), path)?;
        }
        let may_create = options.existing != Existing::Same;
        let table = LockedTable::acquire(storage, path, may_create, "INSERT")?;
        match Self::prepare(&table, definition, &options) {
            Err(error) => {
                table.discard();
                Err(error)
            }
            Ok((next, shape)) => {
                let (rows_per_part, memory) = (options.rows_per_part, options.memory_bytes);
                let spiller =
                    Spiller::new(Arc::clone(&shape), definition.clone(), rows_per_part, memory);
                Ok(Self {
                    table: Some(table),
                    stage: Some(Stage::new(spiller, shape.threads)),
                    intake: Intake::new(&shape.columns()),
                    watch: Watch { key: None, last: None, is_over: false },
                    chunk_bytes: memory / CHUNK_SHARE,
                    shape,
                    definition: definition.clone(),
                    options,
                    next,
                    rows: 0,
                })
            }
        }
    }

    fn prepare(
        table: &LockedTable,
        definition: &TableDefinition,
        options: &InsertOptions,
    ) -> Result<(Sidecar, Arc<Shape>), TableError> {
        super::recompress::forget(table)?;
        refuse_foreign(table.path(), definition)?;
        let next = match (table.describe()?, options.existing) {
            (None, Existing::Same) => {
                let path = table.path().to_owned();
                let problem = "it holds neither a sidecar nor parts";
                return Err(TableError::NotATable { path, problem });
            }
            (Some((_, Some(known))), Existing::Same)
                if table.has_sidecar() && known.stored() != definition.stored() =>
            {
                return Err(TableError::Altered { table: table.path().to_owned() });
            }
            (Some((_, Some(known))), Existing::Append)
                if table.has_sidecar()
                    && options.seen.as_ref().is_some_and(|it| it.stored() != known.stored()) =>
            {
                return Err(TableError::Altered { table: table.path().to_owned() });
            }
            (None, _) => Sidecar::new(definition.stored()),
            (Some(_), Existing::Refuse) => {
                return Err(TableError::Exists { path: table.path().to_owned() });
            }
            (Some((mut sidecar, Some(known))), Existing::Append | Existing::Same) => {
                if super::evolve::evolve(table, &sidecar, &known, definition)? {
                    sidecar.statement = definition.stored();
                }
                sidecar
            }
            (Some((_, None)), Existing::Append | Existing::Same) => {
                let table = table.path().to_owned();
                return Err(TableError::DefinitionUnknown { table, operation: "adding rows" });
            }
            (Some((mut sidecar, _)), Existing::Replace) => {
                sidecar.removed.extend(sidecar.parts.drain(..).map(|part| part.name));
                sidecar.statement = definition.stored();
                sidecar
            }
        };
        let place = (table.storage(), table.path());
        let (dialect, threads) = (options.dialect, options.threads);
        let work = Work::begin(table.storage().as_ref(), table.path(), next.next_block);
        let shape = Arc::new(Shape::new(place, definition, dialect, threads, &work)?);
        // Finds expressions that cannot be evaluated before rows are read for an hour.
        Merge::new(&shape, definition, options.memory_bytes)?;
        Ok((next, shape))
    }

    /// Adds rows in any order; columns in the order of the definition.
    #[expect(clippy::needless_pass_by_value, reason = "the rows are kept")]
    pub fn write(&mut self, batch: RecordBatch) -> Result<(), TableError> {
        if self.stage.is_none() {
            return Err(TableError::Stopped);
        }
        self.intake.push(&batch)?;
        self.rows += batch.num_rows() as u64;
        let bytes = self.intake.bytes() as u64;
        let is_full = bytes >= self.chunk_bytes || self.intake.rows() >= super::chunk::ROWS_MAX / 2;
        if !self.watch.is_over && (is_full || bytes >= ORDERED_BYTES) {
            let batches = self.intake.batches()?;
            if let Some(keys) = self.watch.ordered(&self.definition, batches)? {
                return self.spill(Some(keys));
            }
        }
        if is_full { self.spill(None) } else { Ok(()) }
    }

    /// Hands the rows collected so far on, with their keys if these are known.
    fn spill(&mut self, keys: Option<Keys>) -> Result<(), TableError> {
        let chunk = (self.intake.take()?, keys);
        let stage = self.stage.as_mut().ok_or(TableError::Stopped)?;
        let is_accepted = match stage {
            Stage::Here(spiller) => {
                let written = spiller.write(chunk);
                if written.is_err() {
                    self.stage = None;
                }
                return written;
            }
            Stage::Beside(sender, _) => sender.send(chunk).is_ok(),
        };
        if is_accepted {
            return Ok(());
        }
        // The other thread is gone: because of an error, which it returns.
        match self.stage.take().ok_or(TableError::Stopped)?.finish() {
            Ok(_) => Err(TableError::Stopped),
            Err(error) => Err(error),
        }
    }

    /// Writes what is pending, merges spilled parts, and makes all parts visible at once.
    pub fn commit(self) -> Result<InsertSummary, TableError> {
        self.commit_if(&mut || Ok(()))
    }

    /// The same, if the caller has no objection when everything is written; otherwise nothing happened.
    pub fn commit_if<E: From<TableError>>(
        mut self,
        allow: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<InsertSummary, E> {
        let result = self.finish(allow);
        if let Some(table) = self.table.take()
            && result.is_err()
        {
            table.discard();
        }
        result
    }

    /// Gives up and removes every trace.
    pub fn abort(mut self) -> Result<(), TableError> {
        self.give_up();
        Ok(())
    }

    fn give_up(&mut self) {
        if let Some(stage) = self.stage.take() {
            // Whether it had an error does not matter any more.
            let _ = stage.finish();
        }
        if let Some(table) = self.table.take() {
            table.discard();
        }
    }

    fn finish<E: From<TableError>>(
        &mut self,
        allow: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<InsertSummary, E> {
        let summary = self.write_parts()?;
        allow()?;
        let table = self.table.as_mut().ok_or(TableError::Stopped)?;
        table.commit(self.next.clone())?;
        Ok(summary)
    }

    /// Writes all parts, which nobody sees yet.
    fn write_parts(&mut self) -> Result<InsertSummary, TableError> {
        self.spill(None)?;
        let spiller = self.stage.take().ok_or(TableError::Stopped)?.finish()?;
        let mut summary = InsertSummary { rows: self.rows, ..InsertSummary::default() };
        let merge = Merge::new(&self.shape, &self.definition, self.options.memory_bytes)?;
        let before = self.next.parts.len();
        for partition in spiller.finish()? {
            let id = Partition { values: partition.values.clone(), ranges: Vec::new() }
                .id()
                .map_err(TableError::part(&self.shape.path, "of this insert"))?;
            let run = self.unite(&merge, partition)?;
            for segment in run.segments {
                self.add(&id, &segment)?;
                summary.parts += 1;
                summary.uncompressed += segment.summary.uncompressed;
                summary.compressed += segment.summary.bytes_on_disk;
            }
        }
        let (known, added) = self.next.parts.split_at(before);
        let is_added = |part: &&LivePart| added.iter().any(|it| it.hash == part.hash);
        summary.repeated = known.iter().filter(is_added).map(|part| part.name.clone()).collect();
        self.next.sort_parts();
        self.shape.work().sync(&self.shape.path)?;
        Ok(summary)
    }

    /// Makes one run of the runs of a partition.
    fn unite(&self, merge: &Merge, partition: PartitionRuns) -> Result<Run, TableError> {
        let PartitionRuns { values, mut runs } = partition;
        if runs.len() <= 1 {
            return Ok(runs.pop().unwrap_or_default());
        }
        let sizes = runs.iter().map(Run::size);
        let (rows, bytes) = sizes.fold((0, 0), |sum, size| (sum.0 + size.0, sum.1 + size.1));
        let row_bytes = estimate_row_bytes(rows, bytes, self.definition.columns.len());
        let opened = runs.iter().map(|run| run.open(&self.shape)).collect::<Result<_, _>>()?;
        let rows_per_part = self.options.rows_per_part;
        let run = merge.merge(opened, row_bytes, &values, rows_per_part, &mut |_| {})?;
        runs.iter().try_for_each(|run| run.remove(&self.shape))?;
        Ok(run)
    }

    /// Adds a part, which gets the next block number.
    fn add(&mut self, partition: &str, segment: &Segment) -> Result<(), TableError> {
        let path = self.shape.path.join(&segment.directory);
        let part = open_part(&self.shape.storage, &path, Some(self.shape.granularity()))
            .map_err(TableError::part(&self.shape.path, &segment.directory))?;
        let block = self.next.next_block;
        // As ClickHouse has it: a part of level 1 has been through the engine.
        let engine = Engine::of(&self.definition).unwrap_or(Engine::Plain);
        let name = PartName {
            partition: partition.to_owned(),
            block_min: block,
            block_max: block,
            level: u32::from(!engine.is_plain()),
            mutation: None,
            days: None,
        };
        self.next.next_block += 1;
        let directory = Some(segment.directory.clone());
        let (storage, table) = (self.shape.storage.as_ref(), &self.shape.path);
        statistics::keep(storage, table, &part, &segment.summary.statistics);
        let (hash, rows) = (part.content_hash(), part.rows());
        self.next.parts.push(LivePart::new(&name, directory, hash, rows));
        Ok(())
    }
}

impl Drop for Insert {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl Stage {
    fn new(mut spiller: Spiller, threads: usize) -> Self {
        if threads <= 1 {
            return Self::Here(Box::new(spiller));
        }
        // No queue: while a chunk is sorted and written, at most one other is being filled.
        let (sender, receiver) = crossbeam_channel::bounded::<Pending>(0);
        let handle = std::thread::spawn(move || {
            for chunk in receiver {
                spiller.write(chunk)?;
            }
            Ok(spiller)
        });
        Self::Beside(sender, handle)
    }

    /// Waits for what was handed on.
    fn finish(self) -> Result<Spiller, TableError> {
        match self {
            Self::Here(spiller) => Ok(*spiller),
            Self::Beside(sender, handle) => {
                drop(sender);
                handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
        }
    }
}

/// Rows cannot have values of a type that is known by name only.
fn refuse_foreign(path: &Path, definition: &TableDefinition) -> Result<(), TableError> {
    match definition.columns.iter().find(|it| it.column.data_type.is_foreign()) {
        None => Ok(()),
        Some(it) => {
            let what =
                format!("writing column `{}` of type {}", it.column.name, it.column.data_type);
            Err(TableError::Unsupported { path: path.to_owned(), what })
        }
    }
}

fn refuse_existing(storage: &dyn Storage, path: &Path) -> Result<(), TableError> {
    match contents(storage, path)? {
        Contents::Table | Contents::Parts => Err(TableError::Exists { path: path.to_owned() }),
        Contents::Absent | Contents::Fresh | Contents::Other(_) => Ok(()),
    }
}
