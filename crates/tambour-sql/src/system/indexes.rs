//! The skip indexes of tables as rows.

use super::{Sheet, Tables, place};
use std::sync::Arc;
use tambour_index::{Found, look_into};
use tambour_table::Table;

/// `system.data_skipping_indices`.
pub(super) fn sheet(tables: Tables<'_>) -> Sheet {
    let of_table = |(name, table): &(String, Arc<Table>)| {
        let (database, table_name) = place(name, table);
        let owned = (database.to_owned(), table_name.to_owned());
        look_into(table).into_iter().map(move |found| (owned.clone(), found))
    };
    let rows: Vec<((String, String), Found)> = tables.iter().flat_map(of_table).collect();
    let rows = rows.as_slice();
    let mut sheet = Sheet::default();
    sheet.text("database", rows, |((database, _), _)| database.clone());
    sheet.text("table", rows, |((_, table), _)| table.clone());
    sheet.text("name", rows, |(_, found)| found.index.definition.name.clone());
    sheet.text("type", rows, |(_, found)| found.index.definition.kind.clone());
    sheet.text("type_full", rows, |(_, found)| found.index.definition.kind_full.clone());
    sheet.text("expr", rows, |(_, found)| found.index.definition.expression.clone());
    sheet.text("creation", rows, |(_, found)| {
        if found.index.definition.is_implicit { "Implicit" } else { "Explicit" }
    });
    sheet.number("granularity", rows, |(_, found)| found.index.definition.granularity as u64);
    sheet.number("data_compressed_bytes", rows, |(_, found)| found.sizes.compressed);
    sheet.number("data_uncompressed_bytes", rows, |(_, found)| found.sizes.uncompressed);
    sheet.number("marks_bytes", rows, |(_, found)| found.sizes.marks);
    sheet
}
