//! Merging: a streaming k-way merge of sorted parts with bounded memory.

use super::alter::key_of;
use super::conform::fit;
use super::engine::{Engine, Fold, Folded, Use, sorting_key};
use super::expire::Expiry;
use super::key::Key;
use super::locked::LockedTable;
use super::name::PartName;
use super::open::{open_live_part, open_part};
use super::partition::{RangeColumns, Values};
use super::run::{Run, RunReader, RunRequest, RunWriter};
use super::shape::{Shape, Work};
use super::sidecar::LivePart;
use super::statistics;
use super::tournament::{Sorted, Tournament};
use crate::TableError;
use crate::schema::{ChooseCodec, TableDefinition};
use crate::task::{MergeTask, Task};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use tambour_part::Part;
use tambour_part::part::Form;
use tambour_part::types::{Column, Strings, arrow_schema};
use tambour_part::write::Dialect;
use tambour_storage::Storage;

pub mod background;
mod choose;

/// How to merge.
#[derive(Clone, Debug)]
pub struct OptimizeOptions {
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Threads.
    pub threads: usize,
    /// The time in Unix seconds by which rows and values go that TTL lets expire; `None`: all stay.
    pub now: Option<i64>,
    /// The ID of the only partition whose parts are merged; `None`: all.
    pub partition: Option<String>,
}

impl Default for OptimizeOptions {
    /// 1 GiB of memory, one thread, all partitions; nothing expires.
    fn default() -> Self {
        Self { memory_bytes: 1 << 30, threads: 1, now: None, partition: None }
    }
}

/// What a merge did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptimizeSummary {
    /// Parts merged away.
    pub parts_before: u64,
    /// Parts after.
    pub parts_after: u64,
    /// Rows written.
    pub rows: u64,
    /// Rows that went because of their TTL.
    pub rows_expired: u64,
}

/// Named, opened parts whose rows follow each other.
pub(super) type Parts = Vec<(String, Arc<Part>)>;

/// Sources that are read at the same time, at least and at most.
const FAN_IN_MIN: u64 = 2;
const FAN_IN_MAX: u64 = 64;
/// Memory that a source takes per column besides its rows, roughly: blocks and marks.
const READER_BYTES_PER_COLUMN: u64 = 256 << 10;
/// Most rows that are read of a source, and made of all, at a time.
const BATCH_ROWS_MAX: u64 = 65_536;
/// Batches between the merging and the writing thread.
const QUEUE: usize = 2;
/// How many rows are written before others are told again.
const SHOWN_ROWS: u64 = 1 << 18;

/// Asked between batches; true ends a merge, which leaves the table as it was.
pub type Halt<'a> = dyn Fn() -> bool + Sync + 'a;

/// Merges the parts of each partition into one, and writes compact ones that are alone anew, as wide ones; atomic as a
/// whole. `progress` is told the rows written so far.
pub fn optimize(
    storage: &Arc<dyn Storage>,
    path: &Path,
    options: &OptimizeOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<OptimizeSummary, TableError> {
    optimize_with(storage, path, options, None, progress)
}

/// As [`optimize`], with other codecs, which also go into the table's statement: every part is written anew then.
pub fn optimize_with(
    storage: &Arc<dyn Storage>,
    path: &Path,
    options: &OptimizeOptions,
    codecs: Option<&ChooseCodec<'_>>,
    progress: &mut dyn FnMut(u64),
) -> Result<OptimizeSummary, TableError> {
    let mut table = LockedTable::acquire(storage, path, false, "OPTIMIZE")?;
    let result = optimize_locked(&mut table, options, codecs, progress);
    if result.is_err() {
        table.discard();
    }
    result
}

fn optimize_locked(
    table: &mut LockedTable,
    options: &OptimizeOptions,
    codecs: Option<&ChooseCodec<'_>>,
    progress: &mut dyn FnMut(u64),
) -> Result<OptimizeSummary, TableError> {
    let path = table.path().to_owned();
    let Some((sidecar, definition)) = table.describe()? else {
        return Err(TableError::NotATable {
            path,
            problem: "it holds neither a sidecar nor parts",
        });
    };
    let Some(mut definition) = definition else {
        return Err(TableError::DefinitionUnknown { table: path, operation: "merging" });
    };
    let engine = Engine::of(&definition)?;
    if let Some(choose) = codecs {
        definition.choose_codecs(choose);
    }
    super::recompress::forget(table)?;
    let expiry = Expiry::new(&definition, options.now).map(Arc::new);
    let mut next = sidecar.clone();
    next.parts.clear();
    next.statement = definition.stored();
    let work = Work::begin(table.storage().as_ref(), &path, sidecar.next_block);
    let mut summary = OptimizeSummary::default();
    for group in by_partition(&sidecar.parts) {
        let is_asked = |name: &PartName| {
            options.partition.as_ref().is_none_or(|asked| *asked == name.partition)
        };
        if !group.iter().any(|(name, _)| is_asked(name)) {
            next.parts.extend(group.into_iter().map(|(_, part)| part));
            continue;
        }
        if let [(_, only)] = group.as_slice()
            && codecs.is_none()
            && !is_to_rewrite(table, (&definition, &engine), only, expiry.as_deref())?
        {
            next.parts.push(only.clone());
            continue;
        }
        check_mutations(&path, names_of(&group))?;
        let done = summary.rows;
        let mut told = |rows| progress(done + rows);
        let what = (&definition, group.as_slice());
        let how = (options, expiry.as_ref(), None);
        let (part, rows) = merge_parts(table, &work, what, how, &mut told)?;
        // No part if all rows were deleted ones.
        next.parts.extend(part);
        next.removed.extend(group.into_iter().map(|(_, part)| part.name));
        summary.rows += rows;
    }
    summary.rows_expired = expiry.map_or(0, |expiry| expiry.rows_gone());
    summary.parts_before = sidecar.parts.len() as u64;
    summary.parts_after = next.parts.len() as u64;
    // What was written anew has another name, by its level.
    if next.removed != sidecar.removed || codecs.is_some() {
        // Numbers temporary directories too: those of the next writer must have other names.
        next.next_block += 1;
        work.sync(&path)?;
        table.commit(next)?;
    }
    Ok(summary)
}

/// Whether a part has all columns in one file, or not those of the table, or rows that a mask hides, that the engine has not
/// seen, or that have expired: only a new part changes that.
fn is_to_rewrite(
    table: &LockedTable,
    (definition, engine): (&TableDefinition, &Engine),
    live: &LivePart,
    expiry: Option<&Expiry>,
) -> Result<bool, TableError> {
    let level = PartName::parse(&live.name).map_or(0, |name| name.level);
    if !engine.is_plain() && level == 0 {
        return Ok(true);
    }
    let granularity = Some(definition.index_granularity());
    let part = open_live_part(table.storage(), table.path(), live, granularity)?;
    let definition = written_columns((definition, engine), expiry, [&part]);
    let columns = definition.plain_columns();
    let part = fit(table.path(), &live.name, (&columns, Some(&definition)), part)?;
    if part.form() == Form::Compact || part.has_deleted_rows() || part.is_outdated() {
        return Ok(true);
    }
    match expiry {
        Some(expiry) => expiry.concerns(table.path(), &Arc::new(part), &columns),
        None => Ok(false),
    }
}

/// The names of parts, in the order of a table, by partition: those that a merge makes one part of.
pub fn partitions(parts: &[String]) -> Vec<Vec<String>> {
    let partition = |name: &String| PartName::parse(name).map(|name| name.partition);
    let groups = parts.chunk_by(|a, b| partition(a) == partition(b));
    groups.map(<[String]>::to_vec).collect()
}

/// An error if some of the parts of a partition still wait for a mutation that others have had.
pub fn check_merge(table: &Path, parts: &[String]) -> Result<(), TableError> {
    let names: Vec<PartName> = parts.iter().filter_map(|name| PartName::parse(name)).collect();
    check_mutations(table, names.iter())
}

fn names_of(group: &[(PartName, LivePart)]) -> impl Iterator<Item = &PartName> + Clone {
    group.iter().map(|(name, _)| name)
}

/// A part that still waits for a mutation cannot become one with a part that has had it: nobody could tell any more.
fn check_mutations<'a>(
    path: &Path,
    group: impl Iterator<Item = &'a PartName> + Clone,
) -> Result<(), TableError> {
    let last = group.clone().filter_map(|name| name.mutation).max().unwrap_or(0);
    let waits = |name: &&PartName| name.mutation.unwrap_or(0) < last && name.block_min < last;
    match group.clone().find(waits) {
        None => Ok(()),
        Some(name) => {
            let what = format!("merging part {name}, which waits for mutation {last}");
            Err(TableError::Unsupported { path: path.to_owned(), what })
        }
    }
}

/// Live parts of each partition, oldest first.
fn by_partition(parts: &[LivePart]) -> Vec<Vec<(PartName, LivePart)>> {
    let mut groups: Vec<Vec<(PartName, LivePart)>> = Vec::new();
    for part in parts {
        // The names were checked when the sidecar was read.
        let Some(name) = PartName::parse(&part.name) else { continue };
        match groups.last_mut() {
            Some(group) if group.last().is_some_and(|last| last.0.partition == name.partition) => {
                group.push((name, part.clone()));
            }
            _ => groups.push(vec![(name, part.clone())]),
        }
    }
    groups
}

/// Merges the parts of one partition into a new one, which is durable in a temporary directory then.
fn merge_parts(
    table: &LockedTable,
    work: &Arc<Work>,
    (definition, group): (&TableDefinition, &[(PartName, LivePart)]),
    (options, expiry, halt): (&OptimizeOptions, Option<&Arc<Expiry>>, Option<&Halt<'_>>),
    progress: &mut dyn FnMut(u64),
) -> Result<(Option<LivePart>, u64), TableError> {
    let (storage, path) = (table.storage(), table.path());
    let granularity = Some(definition.index_granularity());
    let opened = group.iter().map(|(_, live)| {
        Ok((live.name.clone(), open_live_part(storage, path, live, granularity)?))
    });
    let opened: Vec<(String, Part)> = opened.collect::<Result<_, TableError>>()?;
    let engine = Engine::of(definition)?;
    let sources = opened.iter().map(|(_, part)| part);
    let definition = &written_columns((definition, &engine), expiry.map(Arc::as_ref), sources);
    let fitted = |(name, part): (String, Part)| {
        let part = fit(path, &name, (&definition.plain_columns(), Some(definition)), part)?;
        if let Some(column) = part.unreadable_columns().first() {
            let what = format!("column {:?} of part {name:?}", column.name);
            return Err(TableError::Unsupported { path: path.to_owned(), what });
        }
        Ok((name, Arc::new(part)))
    };
    let parts: Parts = opened.into_iter().map(fitted).collect::<Result<_, TableError>>()?;
    let is_old = parts.iter().all(|(_, part)| part.mark_extension() == "mrk");
    let dialect = if is_old { Dialect::Old } else { Dialect::New };
    let place = (storage, path);
    let shape = Arc::new(Shape::new(place, definition, dialect, options.threads, work)?);
    let values = partition_values(path, definition, &parts)?;
    let merge = Merge::new(&shape, definition, options.memory_bytes)?;
    let merge = merge.expiring(expiry).halting(halt);
    let row_bytes = row_bytes(&parts)?;
    let names: Vec<PartName> = group.iter().map(|(name, _)| name.clone()).collect();
    let name = PartName::merged(&names).ok_or_else(|| TableError::Unsupported {
        path: path.to_owned(),
        what: "a part of a level above 4294967295".to_owned(),
    })?;
    let mut task = describe(&name, &parts);
    table.show(&Task::Merge(task.clone()));
    let mut told = |rows: u64| {
        if rows.saturating_sub(task.rows_written) >= SHOWN_ROWS {
            task.rows_written = rows;
            table.show(&Task::Merge(task.clone()));
        }
        progress(rows);
    };
    let runs = parts.into_iter().map(|part| vec![part]).collect();
    let run = merge.merge(runs, row_bytes, &values, None, &mut told)?;
    let [segment] = run.segments.as_slice() else { return Ok((None, 0)) };
    let part = open_part(storage, &path.join(&segment.directory), granularity)
        .map_err(TableError::part(path, &segment.directory))?;
    statistics::keep(storage.as_ref(), path, &part, &segment.summary.statistics);
    let directory = Some(segment.directory.clone());
    let live = LivePart::new(&name, directory, part.content_hash(), part.rows());
    Ok((Some(live), segment.summary.rows))
}

/// The definition with the columns that the merged part has. As in ClickHouse, one that no part has and that is given no DEFAULT is
/// left out: its rows have the DEFAULT that it may get later. Engines and TTLs see all columns.
fn written_columns<'a>(
    (definition, engine): (&TableDefinition, &Engine),
    expiry: Option<&Expiry>,
    parts: impl IntoIterator<Item = &'a Part>,
) -> TableDefinition {
    let mut written = definition.clone();
    if expiry.is_some() || !engine.is_plain() {
        return written;
    }
    let columns = parts.into_iter().flat_map(Part::stored_columns);
    let stored: HashSet<&str> = columns.map(|it| it.name.as_str()).collect();
    written.columns.retain(|column| {
        let name = column.column.name.as_str();
        stored.contains(name)
            || column.clauses.default.is_some()
            || key_of(definition, name).is_some()
    });
    written
}

/// A merge as others are told of it.
fn describe(result: &PartName, parts: &Parts) -> MergeTask {
    MergeTask {
        partition: result.partition.clone(),
        sources: parts.iter().map(|(name, _)| name.clone()).collect(),
        result: result.to_string(),
        bytes: parts.iter().map(|(_, part)| part.bytes_on_disk()).sum(),
        rows: parts.iter().map(|(_, part)| part.rows()).sum(),
        rows_written: 0,
    }
}

/// The partition key's values, as the first part has them.
pub(super) fn partition_values(
    path: &Path,
    definition: &TableDefinition,
    parts: &Parts,
) -> Result<Values, TableError> {
    let columns = definition.plain_columns();
    let types = definition.partition_by.iter().map(|expression| expression.data_type(&columns));
    let types = types.collect::<Result<Vec<_>, _>>()?;
    let Some((name, part)) = parts.first().filter(|_| !types.is_empty()) else {
        return Ok(Vec::new());
    };
    let values = part.partition_values(&types).map_err(TableError::part(path, name))?;
    Ok(types.into_iter().zip(values).collect())
}

/// Bytes of a row in memory, roughly.
fn row_bytes(parts: &Parts) -> Result<u64, TableError> {
    let (mut rows, mut bytes) = (0, 0);
    for (name, part) in parts {
        let sizes = part.column_sizes().map_err(TableError::part(part.path(), name))?;
        bytes += sizes.iter().map(|size| size.uncompressed).sum::<u64>();
        rows += part.rows();
    }
    Ok(estimate_row_bytes(rows, bytes, parts.first().map_or(0, |(_, part)| part.columns().len())))
}

/// Values in memory are wider than on disk (16 bytes per string or decimal), hence an allowance for each column.
pub(super) fn estimate_row_bytes(rows: u64, uncompressed: u64, columns: usize) -> u64 {
    uncompressed / rows.max(1) + 12 * columns as u64
}

/// Merges runs of one table.
pub(super) struct Merge<'a> {
    shape: Arc<Shape>,
    key: Arc<Key>,
    ranges: Arc<RangeColumns>,
    columns: Vec<Column>,
    schema: SchemaRef,
    /// What happens to rows with the same key; nothing if only ClickHouse knows.
    engine: Engine,
    /// What goes for its age.
    expiry: Option<Arc<Expiry>>,
    /// What ends it early.
    halt: Option<&'a Halt<'a>>,
    memory_bytes: u64,
}

impl<'a> Merge<'a> {
    pub(super) fn new(
        shape: &Arc<Shape>,
        definition: &TableDefinition,
        memory_bytes: u64,
    ) -> Result<Self, TableError> {
        let columns = definition.plain_columns();
        let schema = Arc::new(arrow_schema(&columns, Strings::Binary));
        Ok(Self {
            shape: Arc::clone(shape),
            key: Arc::new(Key::new(&sorting_key(definition), &columns, &schema)?),
            ranges: Arc::new(RangeColumns::new(definition, &schema)?),
            columns,
            schema,
            engine: Engine::of(definition).unwrap_or(Engine::Plain),
            expiry: None,
            halt: None,
            memory_bytes,
        })
    }

    /// Leaves out what has expired.
    fn expiring(self, expiry: Option<&Arc<Expiry>>) -> Self {
        Self { expiry: expiry.cloned(), ..self }
    }

    /// Ends with an error when it is told to.
    fn halting(self, halt: Option<&'a Halt<'a>>) -> Self {
        Self { halt, ..self }
    }

    /// Merges runs into one, in several passes if there are too many to read at once; the earlier ones then merge no more than they
    /// must. The result is durable.
    pub(super) fn merge(
        &self,
        runs: Vec<Parts>,
        row_bytes: u64,
        values: &Values,
        rows_per_part: Option<u64>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Run, TableError> {
        let (fan_in, batch_rows) = self.plan(runs.len(), row_bytes);
        let mut runs: Vec<(Parts, Option<Run>)> = runs.into_iter().map(|run| (run, None)).collect();
        while runs.len() > fan_in {
            let mut excess = runs.len() - fan_in;
            let mut next = Vec::with_capacity(fan_in);
            let mut left = runs.into_iter();
            // Neighbours only, so that equal keys keep the order of their runs.
            while excess > 0 && left.len() > 1 {
                let group = left.by_ref().take((excess + 1).min(fan_in));
                let (group, drafts): (Vec<Parts>, Vec<Option<Run>>) = group.unzip();
                excess -= group.len() - 1;
                let writer = self.writer(values, None, true);
                let run = self.pass(group, batch_rows, writer, false, &mut |_| {})?;
                remove_all(drafts, &self.shape)?;
                next.push((run.open(&self.shape)?, Some(run)));
            }
            next.extend(left);
            runs = next;
        }
        let (runs, drafts): (Vec<Parts>, Vec<Option<Run>>) = runs.into_iter().unzip();
        let writer = self.writer(values, rows_per_part, false);
        let run = self.pass(runs, batch_rows, writer, true, progress)?;
        remove_all(drafts, &self.shape)?;
        Ok(run)
    }

    /// How many runs are read at once, and how many rows of each.
    fn plan(&self, runs: usize, row_bytes: u64) -> (usize, usize) {
        // Half of the memory is for reading; the rest for the rows being put together, written and compressed.
        let memory = self.memory_bytes / 2;
        let granule_bytes = row_bytes.saturating_mul(self.shape.granularity() as u64).max(1);
        let blocks = READER_BYTES_PER_COLUMN * self.columns.len() as u64;
        // Of each source there is the batch being merged, and the one before it until the result is made.
        let least = granule_bytes.saturating_mul(2).saturating_add(blocks).max(1);
        let fan_in = (memory / least).clamp(FAN_IN_MIN, FAN_IN_MAX).min(runs.max(2) as u64);
        let share = (memory / fan_in).saturating_sub(blocks) / 2;
        let rows = (share / row_bytes.max(1)).clamp(1, BATCH_ROWS_MAX);
        (usize::try_from(fan_in).unwrap_or(2), usize::try_from(rows).unwrap_or(1))
    }

    fn writer(&self, values: &Values, rows_per_part: Option<u64>, is_draft: bool) -> RunWriter {
        RunWriter::new(&self.shape, &self.ranges, values.clone(), rows_per_part, is_draft)
    }

    /// One pass over some runs. The writing has a thread of its own if there may be more than one.
    fn pass(
        &self,
        runs: Vec<Parts>,
        batch_rows: usize,
        mut writer: RunWriter,
        is_final: bool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Run, TableError> {
        let request = RunRequest {
            table: self.shape.path.clone(),
            key: Arc::clone(&self.key),
            columns: self.columns.clone(),
            batch_rows,
        };
        let mark = |(number, parts): (usize, &Parts)| {
            parts.first().map_or(0, |(name, _)| self.engine.mark(number, name))
        };
        let marks: Vec<u32> = runs.iter().enumerate().map(mark).collect();
        let source = |parts| Box::new(RunReader::new(request.clone(), parts)) as Sorted<'static>;
        let sources = runs.into_iter().map(source).collect();
        let rows_max = batch_rows.max(self.shape.granularity());
        let tournament = Tournament::new(sources, rows_max).marked(marks);
        // Only where all rows with a key meet.
        let fold = if is_final && !self.engine.is_plain() {
            let rows = (self.columns.as_slice(), &self.schema);
            Some(Fold::new(&self.engine, &self.key, rows, Use::Store)?)
        } else {
            None
        };
        let expiry = self.expiry.as_ref().filter(|_| is_final);
        let batches = Folded::new(tournament, fold).map(|batch| match (self.halt, expiry) {
            (Some(halt), _) if halt() => {
                Err(TableError::GivenUp { table: self.shape.path.clone() })
            }
            (_, Some(expiry)) => expiry.apply(batch?),
            (_, None) => batch,
        });
        if self.shape.threads > 1 {
            return write_beside(batches, writer, is_final, progress);
        }
        let mut rows = 0;
        for batch in batches {
            let batch = batch?;
            writer.write(&batch)?;
            rows += batch.num_rows() as u64;
            progress(rows);
        }
        writer.finish(is_final)
    }
}

/// Merges in this thread and writes in another.
fn write_beside(
    batches: impl Iterator<Item = Result<RecordBatch, TableError>>,
    mut writer: RunWriter,
    is_final: bool,
    progress: &mut dyn FnMut(u64),
) -> Result<Run, TableError> {
    std::thread::scope(|scope| {
        let (sender, receiver) = crossbeam_channel::bounded::<RecordBatch>(QUEUE);
        let writing = scope.spawn(move || {
            for batch in receiver {
                writer.write(&batch)?;
            }
            Ok::<_, TableError>(writer)
        });
        let mut read = Ok(());
        let mut rows = 0;
        for batch in batches {
            match batch {
                Err(error) => read = Err(error),
                Ok(batch) => {
                    rows += batch.num_rows() as u64;
                    // Nobody receives any more: the writer has an error, which is found below.
                    if sender.send(batch).is_ok() {
                        progress(rows);
                        continue;
                    }
                }
            }
            break;
        }
        drop(sender);
        let written = writing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        read?;
        written?.finish(is_final)
    })
}

fn remove_all(drafts: Vec<Option<Run>>, shape: &Shape) -> Result<(), TableError> {
    drafts.into_iter().flatten().try_for_each(|run| run.remove(shape))
}
