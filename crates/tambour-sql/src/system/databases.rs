//! The databases of a session as rows.

use super::{DATABASE, SCHEMA, Sheet, Tables, place};
use std::path::Component;
use tambour_table::Table;

/// A database: its name, and the engine that ClickHouse would keep it with.
struct Row {
    name: String,
    engine: &'static str,
}

/// Tables of an Atomic database lie in `store/`, those of an Ordinary one in directories of their names.
fn engine(table: &Table) -> &'static str {
    let is_store = |it: Component<'_>| it.as_os_str() == "store";
    if table.path().components().any(is_store) { "Atomic" } else { "Ordinary" }
}

/// `system.databases`.
pub(super) fn fill(sheet: &mut Sheet, tables: Tables<'_>) {
    let mut rows = vec![
        Row { name: DATABASE.to_owned(), engine: "Ordinary" },
        Row { name: SCHEMA.to_owned(), engine: "Memory" },
    ];
    for (registered, table) in tables {
        let (name, engine) = (place(registered, table).0, engine(table));
        match rows.iter_mut().find(|row| row.name == name) {
            Some(row) => row.engine = engine,
            None => rows.push(Row { name: name.to_owned(), engine }),
        }
    }
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    let rows = rows.as_slice();
    sheet.text("name", rows, |row| row.name.clone());
    sheet.text("engine", rows, |row| row.engine);
    sheet.text("engine_full", rows, |row| row.engine);
    sheet.text("comment", rows, |_| "");
    sheet.flag("is_external", rows, |_| false);
}
