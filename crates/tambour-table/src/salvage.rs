//! Salvaging a damaged part: a new table of the rows that its blocks still hold.
//!
//! A row is kept if every column that can be read at all can be read at that row; a column of which nothing can be read is
//! left out. What is lost is listed, with the place and the reason. Damage is found granule by granule, and what a block
//! holds is believed only if its checksum is right.

use super::insert::{Existing, Insert, InsertOptions};
use super::open::load_sidecar;
use crate::TableError;
use crate::schema::{ColumnDefinition, TableDefinition};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use tambour_part::part::{OpenOptions, ReadRequest};
use tambour_part::types::Strings;
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
}

impl Salvage {
    /// Whether everything was saved. (Rows that lightweight deletes hide are not missed.)
    pub fn is_whole(&self) -> bool {
        self.losses.is_empty()
    }
}

/// Salvages the part at `path` into a new table at `target`. The definition is that of the table around the part, where
/// there is one, else one without keys: rows stay in their order.
///
/// An error means that nothing could be saved, or that the table could not be written; then there is none.
pub fn salvage(
    storage: &Arc<dyn Storage>,
    path: &Path,
    target: &Path,
    threads: usize,
) -> Result<Salvage, TableError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let table = path.parent().unwrap_or(path);
    let surrounding = surrounding_definition(storage, table);
    let options = OpenOptions {
        index_granularity: surrounding.as_ref().map(|known| known.index_granularity() as u64),
        damaged: true,
        ..OpenOptions::default()
    };
    let part = Part::open_with(storage, path, &options).map(Arc::new);
    let part = part.map_err(TableError::part(table, &name))?;

    let mut result = Salvage { rows: part.rows(), ..Salvage::default() };
    for column in part.unreadable_columns() {
        let (column, reason) = (column.name.clone(), column.reason.clone());
        result.losses.push(Loss { column, rows: None, reason });
    }
    let (columns, good) = sound_columns(&part, &mut result.losses);
    if columns.is_empty() {
        let reason = result.losses.first().map_or("it has no columns", |loss| loss.reason.as_str());
        let reason = format!("no column can be read: {reason}");
        return Err(TableError::part(table, &name)(PartError::malformed(
            Place::file(path),
            reason,
        )));
    }
    let definition = definition(&part, &columns, surrounding, target);
    let options = InsertOptions { existing: Existing::Refuse, threads, ..InsertOptions::default() };
    let mut insert = Insert::begin(storage, target, &definition, options)?;
    let request =
        ReadRequest { columns, granules: good, batch_rows: BATCH_ROWS, strings: Strings::Binary };
    result.columns_saved = request.columns.len();
    match copy(&part, request, &mut insert, &|cause| TableError::part(table, &name)(cause)) {
        Ok(rows) => result.rows_saved = rows,
        Err(error) => {
            insert.abort()?;
            return Err(error);
        }
    }
    insert.commit()?;
    Ok(result)
}

/// What the sidecar of the directory around the part says, as far as that can be read.
fn surrounding_definition(storage: &Arc<dyn Storage>, table: &Path) -> Option<TableDefinition> {
    let sidecar = load_sidecar(storage.as_ref(), table).ok().flatten()?;
    TableDefinition::parse(&sidecar.statement).ok()
}

/// The columns of which something can be read, and the granules at which all of these can. What is lost is added.
fn sound_columns(part: &Arc<Part>, losses: &mut Vec<Loss>) -> (Vec<usize>, Vec<Range<usize>>) {
    let mut sound = Vec::new();
    let mut good = vec![true; part.granules().len()];
    let mut lost_rows = Vec::new();
    for (index, column) in part.columns().iter().enumerate() {
        let bad = bad_granules(part, index);
        if bad.len() == good.len() && !good.is_empty() {
            let reason = bad.into_iter().next().map(|(_, error)| reason(&error));
            let (column, reason) = (column.name.clone(), reason.unwrap_or_default());
            losses.push(Loss { column, rows: None, reason });
            continue;
        }
        sound.push(index);
        lost_rows.extend(lost_ranges(part, &column.name, &bad));
        for (granule, _) in bad {
            good[granule] = false;
        }
    }
    losses.extend(lost_rows);
    (sound, ranges(&good))
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

/// Where it is true.
fn ranges(good: &[bool]) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for (at, _) in good.iter().enumerate().filter(|(_, good)| **good) {
        match ranges.last_mut() {
            Some(range) if range.end == at => range.end += 1,
            _ => ranges.push(at..at + 1),
        }
    }
    ranges
}

/// The definition of the new table.
fn definition(
    part: &Part,
    columns: &[usize],
    surrounding: Option<TableDefinition>,
    target: &Path,
) -> TableDefinition {
    let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let columns: Vec<_> = columns.iter().map(|index| &part.columns()[*index]).collect();
    let whole = columns.len() == part.columns().len() + part.unreadable_columns().len();
    if let Some(known) = surrounding
        && whole
        && known.plain_columns().iter().eq(columns.iter().copied())
    {
        return TableDefinition { name, ..known };
    }
    let plain = |column: &&tambour_part::types::Column| {
        ColumnDefinition::new(column.name.clone(), column.data_type.clone())
    };
    TableDefinition::new(name, columns.iter().map(plain).collect())
}

/// All good rows, from the part to the table; how many they are.
fn copy(
    part: &Arc<Part>,
    request: ReadRequest,
    insert: &mut Insert,
    wrap: &dyn Fn(PartError) -> TableError,
) -> Result<u64, TableError> {
    let mut rows = 0;
    for batch in part.read(request).map_err(wrap)? {
        let batch = batch.map_err(wrap)?;
        rows += batch.num_rows() as u64;
        insert.write(batch)?;
    }
    Ok(rows)
}
