//! Changing rows: parts are written anew and replace the old ones, all of them in one commit.
//!
//! Parts stay immutable. A part that a change does not touch keeps its name and its files; of one that it touches, only the columns that
//! change are written, where that can be ([`amend`]).

use super::alter::Altered;
use super::insert::InsertOptions;
use super::key::Key;
use super::locked::{LockedTable, Manner};
use super::merge::{estimate_row_bytes, partition_values};
use super::name::PartName;
use super::open::open_part;
use super::partition::RangeColumns;
use super::run::{RunReader, RunRequest, RunWriter};
use super::shape::{Shape, Work};
use super::sidecar::{LivePart, Sidecar};
use super::{Table, recompress, statistics};
use crate::TableError;
use crate::schema::TableDefinition;
use crate::task::{MutationTask, Task};
use arrow_array::RecordBatch;
use arrow_buffer::BooleanBuffer;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_part::Part;
use tambour_part::types::{Strings, arrow_schema};
use tambour_part::write::{Dialect, can_mask, mask};
use tambour_storage::Storage;

mod amend;
mod fresh;
mod parts;

use amend::{Amending, ColumnRows};
pub use parts::{detached_parts, drop_detached};

/// Rows that are handed out at a time, at most.
const BATCH_ROWS_MAX: u64 = 65_536;

/// A change in progress: it holds the table's lock. Dropped without [`Rewrite::commit`]: nothing happened.
#[derive(Debug)]
pub struct Rewrite {
    /// `None` only when it is over.
    locked: Option<LockedTable>,
    table: Arc<Table>,
    definition: TableDefinition,
    /// What the table becomes, if that is not what it is.
    altered: Option<Altered>,
    options: InsertOptions,
    work: Arc<Work>,
    next: Sidecar,
    summary: RewriteSummary,
    /// The part that was written and is changed once more, by its name.
    fresh: Option<(String, Arc<Part>)>,
    /// What others are told.
    task: Task,
}

/// What a change did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RewriteSummary {
    /// Parts that were replaced or dropped.
    pub parts: u64,
    /// Their rows ...
    pub rows_before: u64,
    /// ... and the rows that came in their place.
    pub rows_after: u64,
    /// Parts that were attached; their rows are among `rows_after`.
    pub parts_added: u64,
}

/// The new rows of one part, or new values of some of its columns.
#[derive(Debug)]
pub struct PartDraft {
    table: PathBuf,
    old: PartName,
    form: Form,
}

#[derive(Debug)]
enum Form {
    /// All columns are written, of all rows that stay.
    Rows(Box<RunWriter>),
    /// Some columns are, of all rows.
    Columns(Box<Amending>),
}

impl Rewrite {
    /// Takes the lock of a table, and finishes or takes back what a crash left. `operation` is for messages.
    pub fn begin(
        storage: &Arc<dyn Storage>,
        path: &Path,
        operation: &'static str,
        options: InsertOptions,
    ) -> Result<Self, TableError> {
        let task = Task::Other(operation.to_owned());
        Self::begin_task((storage, path), operation, task, options)
    }

    /// The same for a mutation, of which other processes are told (see [`crate::task`]): `command` is its text.
    pub fn begin_mutation(
        storage: &Arc<dyn Storage>,
        path: &Path,
        operation: &'static str,
        command: String,
        options: InsertOptions,
    ) -> Result<Self, TableError> {
        let task = Task::Mutation(MutationTask { command, ..MutationTask::default() });
        Self::begin_task((storage, path), operation, task, options)
    }

    fn begin_task(
        (storage, path): (&Arc<dyn Storage>, &Path),
        operation: &'static str,
        mut task: Task,
        options: InsertOptions,
    ) -> Result<Self, TableError> {
        let locked = LockedTable::acquire_for(storage, path, false, Manner::Waiting(&task))?;
        match prepare(&locked, operation) {
            Ok((table, definition, next)) => {
                let work = Work::begin(storage.as_ref(), path, next.next_block);
                let (table, summary) = (Arc::new(table), RewriteSummary::default());
                if let Task::Mutation(mutation) = &mut task {
                    mutation.number = next.next_block;
                    mutation.parts_to_do = table.part_names().to_vec();
                    locked.show(&task);
                }
                let locked = Some(locked);
                let (altered, fresh) = (None, None);
                Ok(Self {
                    locked,
                    table,
                    definition,
                    altered,
                    options,
                    work,
                    next,
                    summary,
                    fresh,
                    task,
                })
            }
            Err(error) => {
                locked.discard();
                Err(error)
            }
        }
    }

    /// The table as it is before the change.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Its definition.
    pub fn definition(&self) -> &TableDefinition {
        &self.definition
    }

    /// Tells others that a mutation has come to a part.
    pub fn come_to(&mut self, part: &str) {
        if let (Task::Mutation(mutation), Some(locked)) = (&mut self.task, &self.locked) {
            mutation.parts_to_do.retain(|other| other != part);
            part.clone_into(&mut mutation.part);
            locked.show(&self.task);
        }
    }

    /// From here on parts are written with the columns of another definition, which the table has after the commit. An error if
    /// it cannot be read so.
    pub fn redefine(&mut self, altered: Altered) -> Result<(), TableError> {
        // Finds keys and codecs that cannot be written.
        let place = (self.table.storage(), self.table.path());
        let (definition, threads) = (altered.definition(), self.options.threads);
        Shape::new(place, definition, Dialect::New, threads, &self.work)?;
        self.next.statement = definition.stored();
        self.altered = Some(altered);
        Ok(())
    }

    /// True if a part must be written anew for [`Rewrite::redefine`].
    pub fn is_touched(&self, part: &str) -> Result<bool, TableError> {
        match &self.altered {
            Some(altered) => altered.is_touched(self.table.path(), part, &self.part(part)?),
            None => Ok(false),
        }
    }

    /// The columns of the new definition that a part lacks and whose DEFAULT takes a query to compute, by their places there.
    pub fn unfilled(&self, part: &str) -> Result<Vec<usize>, TableError> {
        let part = self.part(part)?;
        Ok(self.altered.as_ref().map(|altered| altered.unfilled(&part)).unwrap_or_default())
    }

    /// Rows of the old definition, and the columns of [`Rewrite::unfilled`] after them, as rows of the new one; its recast
    /// columns are cast already.
    pub fn adapt(&self, batch: RecordBatch, computed: &[usize]) -> Result<RecordBatch, TableError> {
        match &self.altered {
            Some(altered) => altered.adapt(self.table.path(), &batch, computed),
            None => Ok(batch),
        }
    }

    /// What parts are written as.
    fn target(&self) -> &TableDefinition {
        self.altered.as_ref().map_or(&self.definition, Altered::definition)
    }

    /// The rows of a part in their order, with all columns of the table, strings as bytes. Deleted rows are left out.
    pub fn rows(&self, part: &str) -> Result<PartRows, TableError> {
        let part = (part.to_owned(), self.part(part)?);
        let sizes = part.1.column_sizes().map_err(TableError::part(self.table.path(), &part.0))?;
        let bytes = sizes.iter().map(|size| size.uncompressed).sum();
        let columns = self.definition.plain_columns();
        let row_bytes = estimate_row_bytes(part.1.rows(), bytes, columns.len()).max(1);
        let share = self.options.memory_bytes / 4 / row_bytes;
        let batch_rows = usize::try_from(share.clamp(1, BATCH_ROWS_MAX)).unwrap_or(1);
        let schema = Arc::new(arrow_schema(&columns, Strings::Binary));
        let key = Arc::new(Key::new(&self.definition.order_by, &columns, &schema)?);
        let table = self.table.path().to_owned();
        let request = RunRequest { table, key, columns, batch_rows };
        Ok(PartRows(Reader::All(Box::new(RunReader::new(request, vec![part])))))
    }

    /// Begins a part that will stand in the place of another: with its rows in the same order, fewer or with other values
    /// in columns that are in no key.
    pub fn replace(&self, part: &str) -> Result<PartDraft, TableError> {
        let old = (part.to_owned(), self.part(part)?);
        let is_old = old.1.mark_extension() == "mrk";
        let dialect = if is_old { Dialect::Old } else { Dialect::New };
        let (storage, path) = (self.table.storage(), self.table.path());
        let threads = self.options.threads;
        let place = (storage, path);
        let target = self.target();
        let shape = Arc::new(Shape::new(place, target, dialect, threads, &self.work)?);
        let schema = Arc::new(arrow_schema(&target.plain_columns(), Strings::Binary));
        let ranges = Arc::new(RangeColumns::new(target, &schema)?);
        let name = self.name(part)?;
        let values = partition_values(path, &self.definition, &vec![old])?;
        let writer = RunWriter::new(&shape, &ranges, values, None, false);
        let form = Form::Rows(Box::new(writer));
        Ok(PartDraft { table: path.to_owned(), old: name, form })
    }

    /// Begins a part that will stand in the place of another, with the same rows and other values in these columns of the table, by
    /// their places; and the rows to make them of. True if these have just those columns, in this order; otherwise they have all.
    pub fn update(
        &self,
        part: &str,
        columns: &[usize],
    ) -> Result<(PartDraft, PartRows, bool), TableError> {
        match self.amend_columns(part, columns)? {
            Some(amending) => Ok((self.draft(part, amending)?, self.rows_of(part, columns)?, true)),
            None => Ok((self.replace(part)?, self.rows(part)?, false)),
        }
    }

    /// Begins a part that is as [`Rewrite::redefine`] says, of which only some columns are written, if that can be; with the rows of the
    /// columns whose values are computed anew, by their places before. These come in this order, and those of
    /// [`Rewrite::unfilled`] after them.
    pub fn amend(
        &self,
        part: &str,
    ) -> Result<Option<(PartDraft, PartRows, Vec<usize>)>, TableError> {
        let Some(altered) = &self.altered else { return Ok(None) };
        let Some((amending, recasts)) = self.amend_altered(altered, part)? else { return Ok(None) };
        let rows = self.rows_of(part, &recasts)?;
        Ok(Some((self.draft(part, amending)?, rows, recasts)))
    }

    fn draft(&self, part: &str, amending: Amending) -> Result<PartDraft, TableError> {
        let (table, old) = (self.table.path().to_owned(), self.name(part)?);
        Ok(PartDraft { table, old, form: Form::Columns(Box::new(amending)) })
    }

    /// Puts a finished part in the place of the old one, and gives its name. If it has no rows, the old one is dropped.
    pub fn put(&mut self, draft: PartDraft) -> Result<Option<String>, TableError> {
        let PartDraft { old, form, .. } = draft;
        let writer = match form {
            Form::Rows(writer) => writer,
            Form::Columns(amending) => {
                let (directory, part) = self.amended(*amending)?;
                let part = Arc::new(part);
                if let Some(altered) = &self.altered {
                    altered.try_defaults(self.table.path(), &old.to_string(), &part)?;
                }
                return self.put_written(&old, directory, &part).map(Some);
            }
        };
        let run = writer.finish(true)?;
        let Some(segment) = run.segments.first() else {
            return self.drop_part(&old.to_string()).map(|()| None);
        };
        let part = self.written(&segment.directory)?;
        let storage = self.table.storage().as_ref();
        statistics::keep(storage, self.table.path(), &part, &segment.summary.statistics);
        self.put_written(&old, segment.directory.clone(), &part).map(Some)
    }

    /// Hides rows of a part: those whose bit is set, counted over the rows that it shows. The part that stands in its place has the same
    /// files and a mask beside them.
    pub fn hide_rows(&mut self, part: &str, deleted: &BooleanBuffer) -> Result<(), TableError> {
        let old = self.part(part)?;
        let name = self.name(part)?;
        let directory = self.work.directory();
        let target = self.table.path().join(&directory);
        let storage = Arc::clone(self.table.storage());
        let left = mask(&old, &storage, &target, deleted)
            .map_err(TableError::part(self.table.path(), part))?;
        if left == 0 {
            // Its directory goes with what else a commit finds.
            return self.drop_part(part);
        }
        self.make_durable(&target)?;
        let written = self.written(&directory)?;
        self.put_written(&name, directory, &written).map(drop)
    }

    /// True of a part that can have a mask for [`Rewrite::hide_rows`]: others are written anew.
    pub fn can_hide_rows(&self, part: &str) -> Result<bool, TableError> {
        Ok(self.altered.is_none() && can_mask(self.part(part)?.as_ref()))
    }

    /// Opens a part that was written, to learn what it has become.
    fn written(&self, directory: &str) -> Result<Part, TableError> {
        let path = self.table.path();
        let granularity = Some(self.definition.index_granularity());
        open_part(self.table.storage(), &path.join(directory), granularity)
            .map_err(TableError::part(path, directory))
    }

    /// Puts a part in the place of another one.
    fn put_written(
        &mut self,
        old: &PartName,
        directory: String,
        part: &Part,
    ) -> Result<String, TableError> {
        let name = PartName::merged(std::slice::from_ref(old)).ok_or_else(|| {
            let what = "a part of a level above 4294967295".to_owned();
            TableError::Unsupported { path: self.table.path().to_owned(), what }
        })?;
        let live = LivePart::new(&name, Some(directory), part.content_hash(), part.rows());
        self.summary.rows_after += live.rows;
        self.drop_part(&old.to_string())?;
        self.next.parts.push(live);
        Ok(name.to_string())
    }

    /// Drops a part with all of its rows.
    pub fn drop_part(&mut self, part: &str) -> Result<(), TableError> {
        if !self.drop_fresh(part) {
            let name = self.take_part(part)?;
            self.next.removed.push(name);
        }
        Ok(())
    }

    /// Takes a part out of the table.
    fn take_part(&mut self, part: &str) -> Result<String, TableError> {
        let index = self.next.parts.iter().position(|live| live.name == part);
        let old = self.next.parts.remove(index.ok_or_else(|| self.missing(part))?);
        self.summary.parts += 1;
        self.summary.rows_before += old.rows;
        Ok(old.name)
    }

    /// Makes the new parts visible and the old ones disappear, at once.
    pub fn commit(mut self) -> Result<RewriteSummary, TableError> {
        let Some(mut locked) = self.locked.take() else { return Err(TableError::Stopped) };
        let is_same = self.summary.parts == 0 && self.summary.parts_added == 0;
        if is_same && self.altered.is_none() {
            return Ok(self.summary);
        }
        self.next.sort_parts();
        // Numbers temporary directories too: those of the next writer must have other names.
        self.next.next_block += 1;
        let synced = self.work.sync(self.table.path());
        if let Err(error) = synced.and_then(|()| locked.commit(self.next.clone())) {
            locked.discard();
            return Err(error);
        }
        Ok(self.summary)
    }

    fn part(&self, name: &str) -> Result<Arc<Part>, TableError> {
        if let Some((_, part)) = self.fresh.as_ref().filter(|(fresh, _)| fresh == name) {
            return Ok(Arc::clone(part));
        }
        let found = self.table.part_by_name(name);
        found.map(|(part, _)| Arc::clone(part)).ok_or_else(|| self.missing(name))
    }

    fn name(&self, part: &str) -> Result<PartName, TableError> {
        PartName::parse(part).ok_or_else(|| self.missing(part))
    }

    fn missing(&self, part: &str) -> TableError {
        TableError::PartMissing { table: self.table.path().to_owned(), part: part.to_owned() }
    }
}

impl Drop for Rewrite {
    fn drop(&mut self) {
        if let Some(locked) = self.locked.take() {
            locked.discard();
        }
    }
}

impl PartDraft {
    /// Appends rows, with the columns of the table or those that are written, strings as bytes.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), TableError> {
        match &mut self.form {
            Form::Rows(writer) => writer.write(batch),
            Form::Columns(amending) => amending.write(&self.table, batch),
        }
    }
}

/// The rows of a part, batch by batch; see [`Rewrite::rows`].
#[derive(Debug)]
pub struct PartRows(Reader);

#[derive(Debug)]
enum Reader {
    /// With all columns; that they are sorted is checked.
    All(Box<RunReader>),
    /// With some columns.
    Columns(Box<ColumnRows>),
}

impl Iterator for PartRows {
    type Item = Result<RecordBatch, TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Reader::All(reader) => reader.next().map(|read| read.map(|(batch, _)| batch)),
            Reader::Columns(reader) => reader.next(),
        }
    }
}

/// The table, its definition, and the sidecar that the next one is made of.
fn prepare(
    locked: &LockedTable,
    operation: &'static str,
) -> Result<(Table, TableDefinition, Sidecar), TableError> {
    let path = locked.path().to_owned();
    let Some((sidecar, definition)) = locked.describe()? else {
        let problem = "it holds neither a sidecar nor parts";
        return Err(TableError::NotATable { path, problem });
    };
    let Some(definition) = definition else {
        return Err(TableError::DefinitionUnknown { table: path, operation });
    };
    recompress::forget(locked)?;
    let table = Table::open_on(locked.storage(), &path)?;
    for (name, part) in table.part_names().iter().zip(table.parts()) {
        if let Some(column) = part.unreadable_columns().first() {
            let what = format!("{operation}: column {:?} of part {name:?}", column.name);
            return Err(TableError::Unsupported { path, what });
        }
    }
    Ok((table, definition, sidecar))
}
