//! Whether the indexes of a table are right about its rows.

use crate::entry::Entry;
use crate::kind::{Index, Kind};
use crate::prune::open;
use crate::{IndexError, Indexes, text};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use tambour_part::Part;
use tambour_part::part::{ReadRequest, SkipFile};
use tambour_part::types::Strings;
use tambour_storage::Storage;
use tambour_table::verify::{self, TableVerification, VerifyProgress};
use tambour_table::{Table, TableError};

/// Rows that are compared at once.
const BATCH_ROWS: usize = 65_536;

/// [`tambour_table::verify::verify`], and then the same for skip indexes: every entry is compared with every row that it is of.
pub fn verify(
    storage: &Arc<dyn Storage>,
    path: &Path,
    progress: &mut dyn FnMut(&VerifyProgress),
) -> Result<TableVerification, TableError> {
    let mut seen = verify::verify(storage, path, progress)?;
    add(storage, path, &|_| true, &mut seen);
    Ok(seen)
}

/// The same for some of the parts.
pub fn verify_parts(
    storage: &Arc<dyn Storage>,
    path: &Path,
    parts: &[String],
) -> Result<TableVerification, TableError> {
    let mut seen = verify::verify_parts(storage, path, parts)?;
    add(storage, path, &|name| parts.iter().any(|it| it == name), &mut seen);
    Ok(seen)
}

/// A table with other damage is not asked for its indexes.
fn add(
    storage: &Arc<dyn Storage>,
    path: &Path,
    is_wanted: &dyn Fn(&str) -> bool,
    seen: &mut TableVerification,
) {
    if seen.damage.is_empty()
        && let Ok(table) = Table::open_on(storage, path)
    {
        seen.damage.extend(check(&table, is_wanted));
    }
}

/// Compares the indexes of some parts with their rows; all that is wrong, one thing of each index of a part. What cannot be compared,
/// as kinds and expressions that are not understood, is not wrong.
pub fn check(table: &Table, is_wanted: &dyn Fn(&str) -> bool) -> Vec<TableError> {
    let indexes = Indexes::new(table);
    let mut damage = Vec::new();
    for (part, name) in
        table.parts().iter().zip(table.part_names()).filter(|(_, name)| is_wanted(name))
    {
        for index in indexes.all() {
            match check_index(table, part, index) {
                Ok(()) | Err(IndexError::Unusable { .. }) => {}
                Err(cause) => damage.push(TableError::Index {
                    table: table.path().to_owned(),
                    part: name.clone(),
                    index: index.definition.name.clone(),
                    cause: Box::new(cause),
                }),
            }
        }
    }
    damage
}

fn check_index(table: &Table, part: &Arc<Part>, index: &Index) -> Result<(), IndexError> {
    // Files of kinds that are not understood are checked as files are.
    if !index.is_usable() {
        return Ok(());
    }
    if index.kind == Kind::Text {
        return text::check(table, part, index);
    }
    let Some(mut file) = open(part, index)? else { return Ok(()) };
    let (size, count) = (index.definition.granularity, part.granules().len());
    for entry in 0..file.entries() {
        let granules = entry * size..(entry + 1).saturating_mul(size).min(count);
        let granule = granules.start;
        if !holds(table, part, index, &mut file, entry, granules)? {
            return Err(IndexError::Wrong { entry, granule });
        }
    }
    Ok(())
}

/// True if an entry is right about the rows of some granules.
pub(crate) fn holds(
    table: &Table,
    part: &Arc<Part>,
    index: &Index,
    file: &mut SkipFile,
    entry: usize,
    granules: Range<usize>,
) -> Result<bool, IndexError> {
    let place = |name: &String| part.columns().iter().position(|it| it.name == *name);
    let columns = index.definition.columns.iter().map(place).collect::<Option<Vec<_>>>();
    let Some(columns) = columns else {
        return Err(IndexError::Unusable { reason: "the part lacks its columns" });
    };
    let bytes = file.entry(entry)?;
    let known = Entry::read(index, file.extension(), entry, &bytes)?;
    let granules = std::iter::once(granules).collect();
    let request =
        ReadRequest { columns, granules, batch_rows: BATCH_ROWS, strings: Strings::Binary };
    let failed = |cause| TableError::part(table.path(), part.name())(cause);
    for batch in part.scan(request).map_err(failed)? {
        if !known.covers(index, &batch.map_err(failed)?)? {
            return Ok(false);
        }
    }
    Ok(true)
}
