//! The projections of tables, and those that parts have, as rows.

use super::parts::{self, PartRow, default_codec, form, marks, part_rows};
use super::tables::engine;
use super::{Sheet, Tables, place};
use std::sync::Arc;
use tambour_index::Projection;
use tambour_part::Part;
use tambour_part::part::Totals;
use tambour_table::TableError;

/// A projection of a statement, and where it is.
struct Row {
    database: String,
    table: String,
    projection: Projection,
}

/// `system.projections`.
pub(super) fn fill(sheet: &mut Sheet, tables: Tables<'_>) {
    let mut rows = Vec::new();
    for (registered, table) in tables {
        let (database, table_name) = place(registered, table);
        rows.extend(Projection::all(table).map(|projection| Row {
            database: database.to_owned(),
            table: table_name.to_owned(),
            projection,
        }));
    }
    let rows = rows.as_slice();
    sheet.text("database", rows, |row| row.database.clone());
    sheet.text("table", rows, |row| row.table.clone());
    sheet.text("name", rows, |row| row.projection.name.clone());
    sheet.either("type", ["Normal", "Aggregate"], rows, |row| row.projection.is_aggregate);
    sheet.texts("sorting_key", rows, |row| row.projection.key.clone());
    sheet.text("query", rows, |row| row.projection.query.clone());
}

/// A projection of a part.
struct ProjectionPart {
    parent: Arc<PartRow>,
    name: String,
    part: Option<Part>,
    totals: Totals,
    /// What is wrong with it.
    broken: String,
}

impl AsRef<PartRow> for ProjectionPart {
    fn as_ref(&self) -> &PartRow {
        &self.parent
    }
}

impl ProjectionPart {
    fn open(parent: &Arc<PartRow>, name: String) -> Self {
        let opened = parent.part.projection(&name);
        let opened = opened.and_then(|part| part.totals().map(|totals| (part, totals)));
        let parent = Arc::clone(parent);
        match opened {
            Ok((part, totals)) => {
                Self { parent, name, part: Some(part), totals, broken: String::new() }
            }
            Err(error) => {
                let broken = error.to_string();
                Self { parent, name, part: None, totals: Totals::default(), broken }
            }
        }
    }
    fn number(&self, of: impl Fn(&Part) -> u64) -> u64 {
        self.part.as_ref().map_or(0, of)
    }
    fn text(&self, of: impl Fn(&Part) -> String) -> String {
        self.part.as_ref().map_or_else(String::new, of)
    }
}

/// `system.projection_parts`.
pub(super) fn fill_parts(sheet: &mut Sheet, tables: Tables<'_>) -> Result<(), TableError> {
    let mut rows = Vec::new();
    for parent in part_rows(tables)? {
        let parent = Arc::new(parent);
        let names = parent.part.projections().into_iter();
        rows.extend(names.map(|name| ProjectionPart::open(&parent, name)));
    }
    let rows = rows.as_slice();
    sheet.text("partition", rows, |row| row.parent.partition().to_owned());
    sheet.text("name", rows, |row| row.name.clone());
    sheet.text("part_type", rows, |row| row.text(|part| form(part).to_owned()));
    sheet.text("parent_name", rows, |row| row.parent.name.clone());
    sheet.text("parent_part_type", rows, |row| form(&row.parent.part));
    sheet.flag("active", rows, |_| true);
    sheet.number("marks", rows, |row| row.number(marks));
    sheet.number("rows", rows, |row| row.number(Part::rows));
    sheet.number("files", rows, |row| row.totals.files);
    sheet.number("bytes_on_disk", rows, |row| row.totals.bytes);
    sheet.number("data_compressed_bytes", rows, |row| row.totals.compressed);
    sheet.number("data_uncompressed_bytes", rows, |row| row.totals.uncompressed);
    sheet.number("marks_bytes", rows, |row| row.totals.marks);
    sheet.number("parent_marks", rows, |row| marks(&row.parent.part));
    sheet.number("parent_rows", rows, |row| row.parent.part.rows());
    sheet.number("parent_bytes_on_disk", rows, |row| row.parent.totals().bytes);
    sheet.number("parent_data_compressed_bytes", rows, |row| row.parent.totals().compressed);
    sheet.number("parent_data_uncompressed_bytes", rows, |row| row.parent.totals().uncompressed);
    sheet.number("parent_marks_bytes", rows, |row| row.parent.totals().marks);
    parts::numbered(sheet, rows);
    sheet.text("database", rows, |row| row.parent.database.clone());
    sheet.text("table", rows, |row| row.parent.table_name.clone());
    sheet.text("engine", rows, |row| engine(&row.parent.table));
    sheet.text("path", rows, |row| row.text(|part| format!("{}/", part.path().display())));
    sheet.text("hash_of_all_files", rows, |row| {
        row.text(|part| part.hash_of_all_files().unwrap_or_default())
    });
    sheet.read_text("default_compression_codec", rows, |row| match &row.part {
        Some(part) => default_codec(&row.parent.table, part, &row.parent.name),
        None => Ok(String::new()),
    })?;
    sheet.flag("is_broken", rows, |row| row.part.is_none());
    sheet.text("exception", rows, |row| row.broken.clone());
    Ok(())
}
