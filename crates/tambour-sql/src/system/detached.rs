//! The directories in `detached/` of tables as rows.

use super::{Sheet, Tables, place};
use tambour_table::rewrite::detached_parts;
use tambour_table::{PartName, TableError};

/// A directory in `detached/`: its table and its name, and what of the name is a part's, past a reason if it has one.
struct DetachedRow {
    database: String,
    table: String,
    name: String,
    reason: String,
    parsed: Option<PartName>,
    path: String,
}

/// `system.detached_parts`.
pub(super) fn fill(sheet: &mut Sheet, tables: Tables<'_>) -> Result<(), TableError> {
    let mut rows = Vec::new();
    for (table_name, table) in tables {
        let (database, own) = place(table_name, table);
        for name in detached_parts(table.storage(), table.path())? {
            // `broken_all_1_1_0`: reasons are words, and names of parts begin with a partition.
            let pieces =
                name.match_indices('_').map(|(at, _)| (name.get(..at), name.get(at + 1..)));
            let whole = std::iter::once((Some(""), Some(name.as_str())));
            let parsed = whole
                .chain(pieces)
                .find_map(|(reason, rest)| Some((reason?.to_owned(), PartName::parse(rest?)?)));
            let (reason, parsed) = match parsed {
                Some((reason, parsed)) => (reason, Some(parsed)),
                None => (String::new(), None),
            };
            rows.push(DetachedRow {
                database: database.to_owned(),
                table: own.to_owned(),
                path: format!("{}/detached/{name}/", table.path().display()),
                name,
                reason,
                parsed,
            });
        }
    }
    let rows = rows.as_slice();
    let number = |row: &DetachedRow, of: fn(&PartName) -> u64| row.parsed.as_ref().map_or(0, of);
    sheet.text("database", rows, |row| row.database.clone());
    sheet.text("table", rows, |row| row.table.clone());
    sheet.text("partition_id", rows, |row| {
        row.parsed.as_ref().map_or_else(String::new, |name| name.partition.clone())
    });
    sheet.text("name", rows, |row| row.name.clone());
    sheet.text("path", rows, |row| row.path.clone());
    sheet.text("reason", rows, |row| row.reason.clone());
    sheet.signed("min_block_number", rows, |row| number(row, |name| name.block_min));
    sheet.signed("max_block_number", rows, |row| number(row, |name| name.block_max));
    sheet.small("level", rows, |row| row.parsed.as_ref().map_or(0, |name| name.level));
    Ok(())
}
