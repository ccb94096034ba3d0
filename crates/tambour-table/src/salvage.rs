//! Salvaging a damaged part: a new table of the rows that its blocks still hold.
//!
//! A row is kept if every column that can be read at all can be read at that row; a column of which nothing can be read is
//! left out. What is lost is listed, with the place and the reason. Damage is found granule by granule, and what a block
//! holds is believed only if its checksum is right.

use super::fill::Fill;
use super::insert::{Existing, Insert, InsertOptions};
use super::name::PartName;
use super::open::{self, load_sidecar};
use crate::TableError;
use crate::schema::expression::Expression;
use crate::schema::{ColumnDefinition, TableDefinition};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use tambour_part::part::{Derive, Mend, OpenOptions, ReadRequest};
use tambour_part::types::{Column, Strings, arrow_schema};
use tambour_part::{Part, PartError, Place};
use tambour_storage::Storage;

/// Rows of a batch on its way into the new table.
const BATCH_ROWS: usize = 65_536;

/// Rows that were lost, or a column.
#[derive(Debug)]
pub struct Loss {
    /// The column that could not be read.
    pub column: String,
    /// The rows that are lost with it, counted in the part from 0; `None`: the whole column, while its rows are kept.
    pub rows: Option<Range<u64>>,
    /// Why.
    pub reason: String,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Salvage {
    /// Rows that the part had, as far as it says.
    pub rows: u64,
    /// Rows in the new table.
    pub rows_saved: u64,
    /// Columns in the new table.
    pub columns_saved: usize,
    /// What was lost, column by column, then row by row.
    pub losses: Vec<Loss>,
    /// Bits of blocks that were put right, each with the name of its file: with them, the blocks have their checksums.
    pub mends: Vec<(String, Mend)>,
    /// Files of marks that were lost, or another part's: where granules start was found again by reading the columns.
    pub marks_rebuilt: Vec<String>,
    /// True if checksums.txt was sound and of this part. Otherwise nothing proves that its files belong together.
    pub is_proven: bool,
}

impl Salvage {
    /// Whether everything was saved. (Rows that lightweight deletes hide are not missed.)
    pub fn is_whole(&self) -> bool {
        self.losses.is_empty()
    }
}

/// How to salvage.
#[derive(Clone, Debug)]
pub struct SalvageOptions {
    /// The table that the part is of, if no file says it.
    pub definition: Option<TableDefinition>,
    /// Keep rows of which some columns are lost, with defaults there.
    pub fill: bool,
    /// Threads.
    pub threads: usize,
}

impl Default for SalvageOptions {
    /// Only whole rows, one thread.
    fn default() -> Self {
        Self { definition: None, fill: false, threads: 1 }
    }
}

/// Salvages the part at `path` into a new table at `target`. The definition is the one given, or that of the table around the part,
/// where there is one, else one without keys: rows stay in their order. Types that the part does not tell any more come from
/// there, too, or from a part beside it.
///
/// An error means that nothing could be saved, or that the table could not be written; then there is none.
pub fn salvage(
    storage: &Arc<dyn Storage>,
    path: &Path,
    target: &Path,
    options: &SalvageOptions,
) -> Result<Salvage, TableError> {
    salvage_into((storage, path), (storage, target), options)
}

/// The same from one storage into another: what is only read need not take the new table.
pub fn salvage_into(
    (storage, path): (&Arc<dyn Storage>, &Path),
    (writing, target): (&Arc<dyn Storage>, &Path),
    options: &SalvageOptions,
) -> Result<Salvage, TableError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let table = path.parent().unwrap_or(path);
    let surrounding = options.definition.clone();
    let surrounding = surrounding.or_else(|| surrounding_definition(storage, table));
    let columns = match &surrounding {
        Some(known) => Some(known.plain_columns()),
        None => sibling_columns(storage, table, &name),
    };
    let opening = OpenOptions {
        index_granularity: surrounding.as_ref().map(|known| known.index_granularity() as u64),
        damaged: true,
        columns,
        content_hash: known_hash(storage, table, &name),
        ..OpenOptions::default()
    };
    let part = Part::open_with(storage, path, &opening).map(Arc::new);
    let part = part.map_err(TableError::part(table, &name))?;

    let mut result =
        Salvage { rows: part.rows(), is_proven: part.is_proven(), ..Salvage::default() };
    for column in part.unreadable_columns() {
        let (column, reason) = (column.name.clone(), column.reason.clone());
        result.losses.push(Loss { column, rows: None, reason });
    }
    let found = sound_columns(&part, &mut result.losses);
    if found.is_empty() {
        let reason = result.losses.first().map_or("it has no columns", |loss| loss.reason.as_str());
        let reason = format!("no column can be read: {reason}");
        return Err(TableError::part(table, &name)(PartError::malformed(
            Place::file(path),
            reason,
        )));
    }
    let definition = definition(&part, &found, surrounding, (target, options.fill));
    let inserting = InsertOptions {
        existing: Existing::Refuse,
        threads: options.threads,
        ..InsertOptions::default()
    };
    let mut insert = Insert::begin(writing, target, &definition, inserting)?;
    result.columns_saved = found.len();
    let copying =
        Copying { part: &part, found: &found, definition: &definition, fill: options.fill };
    match copying.run(&mut insert, &|cause| TableError::part(table, &name)(cause)) {
        Ok(rows) => result.rows_saved = rows,
        Err(error) => {
            insert.abort()?;
            return Err(error);
        }
    }
    insert.commit()?;
    result.mends = part.mends();
    result.marks_rebuilt = part.rebuilt_marks().to_vec();
    Ok(result)
}

/// What the sidecar of the directory around the part says, or a .sql file there, as far as that can be read.
fn surrounding_definition(storage: &Arc<dyn Storage>, table: &Path) -> Option<TableDefinition> {
    if let Ok(Some(sidecar)) = load_sidecar(storage.as_ref(), table) {
        return TableDefinition::parse(&sidecar.statement).ok();
    }
    let entries = storage.list(table).ok()?;
    let names = entries.iter().map(|entry| entry.name.as_str());
    open::definition_beside(storage, table, names).ok().flatten()
}

/// The hash that the sidecar of the directory around the part knows it by.
fn known_hash(storage: &Arc<dyn Storage>, table: &Path, name: &str) -> Option<String> {
    let sidecar = load_sidecar(storage.as_ref(), table).ok()??;
    let mut parts = sidecar.parts.into_iter();
    parts.find(|part| part.name == name).map(|part| part.hash)
}

/// The columns of a sound part beside this one.
fn sibling_columns(storage: &Arc<dyn Storage>, table: &Path, name: &str) -> Option<Vec<Column>> {
    PartName::parse(name)?;
    let entries = storage.list(table).ok()?;
    let siblings = entries.iter().filter(|entry| {
        entry.is_directory && entry.name != name && PartName::parse(&entry.name).is_some()
    });
    let mut opened =
        siblings.filter_map(|entry| Part::open(storage, &table.join(&entry.name)).ok());
    opened.next().map(|part| part.columns().to_vec())
}

/// A column of which something can be read: its index, and the granules that are bad.
struct Found {
    index: usize,
    bad: HashSet<usize>,
}

/// The columns of which something can be read. What is lost is added to the losses.
fn sound_columns(part: &Arc<Part>, losses: &mut Vec<Loss>) -> Vec<Found> {
    let mut sound = Vec::new();
    let mut lost_rows = Vec::new();
    let count = part.granules().len();
    for (index, column) in part.columns().iter().enumerate() {
        let bad = bad_granules(part, index);
        let mut fault = bad.first().filter(|_| bad.len() == count).map(|(_, error)| reason(error));
        if fault.is_none()
            && let Err(error) = part.check_files(index)
        {
            fault = Some(format!(
                "every block is sound, and yet the file is another: {}",
                reason(&error)
            ));
        }
        if let Some(reason) = fault {
            losses.push(Loss { column: column.name.clone(), rows: None, reason });
            continue;
        }
        lost_rows.extend(lost_ranges(part, &column.name, &bad));
        sound.push(Found { index, bad: bad.into_iter().map(|(granule, _)| granule).collect() });
    }
    losses.extend(lost_rows);
    sound
}

/// Reads a column granule by granule; those that cannot be read, with the reasons.
fn bad_granules(part: &Arc<Part>, column: usize) -> Vec<(usize, PartError)> {
    let count = part.granules().len();
    let mut bad = Vec::new();
    let mut next = 0;
    while next < count {
        // Whole granules are read, so that one row asks for one granule.
        let rest = next..count;
        let request = ReadRequest {
            columns: vec![column],
            granules: Vec::from([rest]),
            batch_rows: 1,
            strings: Strings::Binary,
        };
        let mut batches = match part.read(request) {
            Ok(batches) => batches,
            Err(error) => {
                bad.push((next, error));
                next += 1;
                continue;
            }
        };
        // Granules whose rows are all deleted yield no batch, so the reader says where it stands.
        let Some(error) = batches.find_map(Result::err) else { break };
        let at = batches.granule().unwrap_or(next).max(next);
        bad.push((at, error));
        next = at + 1;
    }
    bad
}

/// Bad granules as ranges of rows: one loss for those that follow each other, with the first reason.
fn lost_ranges(part: &Part, column: &str, bad: &[(usize, PartError)]) -> Vec<Loss> {
    let mut starts = vec![0];
    for rows in part.granules() {
        starts.push(starts[starts.len() - 1] + rows);
    }
    let mut losses: Vec<Loss> = Vec::new();
    for (granule, error) in bad {
        let rows = starts[*granule]..starts[granule + 1];
        match losses.last_mut().and_then(|loss| loss.rows.as_mut()) {
            Some(before) if before.end == rows.start => before.end = rows.end,
            _ => losses.push(Loss {
                column: column.to_owned(),
                rows: Some(rows),
                reason: reason(error),
            }),
        }
    }
    losses
}

/// An error with what it was caused by, in a line.
fn reason(error: &PartError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

/// The definition of the new table: the known one as far as its columns are saved, or will be filled.
fn definition(
    part: &Part,
    found: &[Found],
    surrounding: Option<TableDefinition>,
    (target, fill): (&Path, bool),
) -> TableDefinition {
    let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let saved: Vec<&Column> = found.iter().map(|it| &part.columns()[it.index]).collect();
    let plain =
        |column: &&Column| ColumnDefinition::new(column.name.clone(), column.data_type.clone());
    let Some(mut known) = surrounding else {
        return TableDefinition::new(name, saved.iter().map(plain).collect());
    };
    let find = |name: &str| saved.iter().find(|column| column.name == name);
    known.columns.retain(|it| {
        let is_fillable = fill && !it.column.data_type.is_foreign();
        is_fillable || find(&it.column.name).is_some()
    });
    for column in &mut known.columns {
        if let Some(saved) = find(&column.column.name) {
            column.column.data_type = saved.data_type.clone();
        }
    }
    let columns = known.plain_columns();
    let is_kept = |expression: &Expression| expression.data_type(&columns).is_ok();
    let has_all = |saved: &&&Column| columns.iter().any(|column| column.name == saved.name);
    if !saved.iter().all(|saved| has_all(&saved)) {
        return TableDefinition::new(name, saved.iter().map(plain).collect());
    }
    if !known.order_by.iter().all(is_kept) || !known.primary_key.iter().all(is_kept) {
        (known.order_by, known.primary_key) = (Vec::new(), Vec::new());
    }
    if !known.partition_by.iter().all(is_kept) {
        known.partition_by.clear();
    }
    TableDefinition { name, ..known }
}

/// From the part to the table.
struct Copying<'a> {
    part: &'a Arc<Part>,
    found: &'a [Found],
    definition: &'a TableDefinition,
    fill: bool,
}

impl Copying<'_> {
    /// All rows that are kept; how many they are.
    fn run(
        &self,
        insert: &mut Insert,
        wrap: &dyn Fn(PartError) -> TableError,
    ) -> Result<u64, TableError> {
        let mut rows = 0;
        let count = self.part.granules().len();
        let bad_at = |granule: usize| -> Vec<usize> {
            let bad = self.found.iter().filter(|it| it.bad.contains(&granule));
            bad.map(|it| it.index).collect()
        };
        let mut start = 0;
        while start < count {
            // Granules that follow each other with the same columns lost.
            let lost = bad_at(start);
            let end = (start + 1..count).find(|&at| bad_at(at) != lost).unwrap_or(count);
            if lost.is_empty() || self.fill {
                rows += self.copy(start..end, &lost, insert, wrap)?;
            }
            start = end;
        }
        Ok(rows)
    }

    fn copy(
        &self,
        granules: Range<usize>,
        lost: &[usize],
        insert: &mut Insert,
        wrap: &dyn Fn(PartError) -> TableError,
    ) -> Result<u64, TableError> {
        let kept = self.found.iter().map(|it| it.index).filter(|index| !lost.contains(index));
        let kept: Vec<usize> = kept.collect();
        let request = ReadRequest {
            columns: kept.clone(),
            granules: std::iter::once(granules).collect(),
            batch_rows: BATCH_ROWS,
            strings: Strings::Binary,
        };
        let columns = self.definition.plain_columns();
        let schema = Arc::new(arrow_schema(&columns, Strings::Binary));
        let stored: Vec<Column> =
            kept.iter().map(|index| self.part.columns()[*index].clone()).collect();
        let mut rows = 0;
        for batch in self.part.read(request).map_err(wrap)? {
            let batch = batch.map_err(wrap)?;
            let values = |column: &Column| {
                let name = |index: &&usize| self.part.columns()[**index].name == column.name;
                let at = kept.iter().position(|index| name(&index));
                match at {
                    Some(at) => Ok(Arc::clone(batch.column(at))),
                    None => filled(column, &stored, &batch).map_err(wrap),
                }
            };
            let arrays = columns.iter().map(values).collect::<Result<Vec<ArrayRef>, _>>()?;
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), arrays, &options)
                .map_err(TableError::arrow("putting saved rows together"))?;
            rows += batch.num_rows() as u64;
            insert.write(batch)?;
        }
        Ok(rows)
    }
}

/// Defaults for the rows of a batch of stored columns; arrays of a Nested are as long as those beside them.
fn filled(column: &Column, stored: &[Column], batch: &RecordBatch) -> Result<ArrayRef, PartError> {
    let wrong = |reason: String| PartError::argument(format!("column {:?}: {reason}", column.name));
    let (from, fill) = Fill::new(column, None, stored).map_err(wrong)?;
    fill.derive(&batch.project(&from).map_err(|error| wrong(error.to_string()))?)
}
