//! The tables of a session as rows.

use super::parts::{marks, part_totals};
use super::{Sheet, Tables, place};
use std::sync::Arc;
use tambour_table::schema::expression::Expression;
use tambour_table::schema::{TableDefinition, one_line};
use tambour_table::{Table, TableError};

/// What a server writes in the place of a table's name.
const UNNAMED: &str = "_";

/// A registered table.
type Entry = (String, Arc<Table>);

fn key_text(expressions: &[Expression]) -> String {
    expressions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Something that the statement of a table says; nothing if there is none.
fn said<T: Default>(table: &Table, of: impl Fn(&TableDefinition) -> T) -> T {
    table.definition().map_or_else(T::default, of)
}

/// The statement of a table that is known by a name; a server's own statement is kept in a file that has it.
pub(crate) fn statement(name: &str, table: &Table) -> Option<TableDefinition> {
    let mut statement = table.definition()?.clone();
    if statement.name == UNNAMED {
        name.clone_into(&mut statement.name);
    }
    Some(statement)
}

/// The engine of a table without its arguments.
pub(super) fn engine(table: &Table) -> String {
    let written = said(table, |it| it.clauses.engine.clone());
    let name = written.as_deref().and_then(|it| it.split('(').next()).unwrap_or("MergeTree");
    name.trim().to_owned()
}

/// `system.tables`.
pub(super) fn fill(sheet: &mut Sheet, tables: Tables<'_>) -> Result<(), TableError> {
    let key = |table: &Table, of: fn(&TableDefinition) -> &[Expression]| {
        said(table, |definition| key_text(of(definition)))
    };
    sheet.text("database", tables, |(name, table)| place(name, table).0.to_owned());
    sheet.text("name", tables, |(name, table)| place(name, table).1.to_owned());
    sheet.text("engine", tables, |(_, table)| engine(table));
    sheet.texts("data_paths", tables, |(_, table)| vec![format!("{}/", table.path().display())]);
    sheet.text("create_table_query", tables, |(name, table)| {
        let statement = statement(place(name, table).1, table);
        statement.map_or_else(String::new, |it| one_line(&it.to_string()))
    });
    sheet.text("engine_full", tables, |(_, table)| said(table, engine_full));
    sheet.text("partition_key", tables, |(_, table)| {
        let key = key(table, |it| &it.partition_by);
        let is_tuple = said(table, |it| it.partition_by.len() > 1);
        if is_tuple { format!("({key})") } else { key }
    });
    sheet.text("sorting_key", tables, |(_, table)| key(table, |it| &it.order_by));
    sheet.text("primary_key", tables, |(_, table)| key(table, |it| &it.primary_key));
    sheet.text("sampling_key", tables, |(_, table)| {
        said(table, |it| it.clauses.sample_by.clone().unwrap_or_default())
    });
    sheet.texts("skipping_indices_types", tables, |(_, table)| said(table, index_types));
    sheet.maybe("total_rows", tables, |(_, table)| Some(table.rows()));
    let listed = ["total_bytes", "total_bytes_uncompressed"];
    let totals = if listed.iter().any(|name| sheet.has(name)) {
        tables.iter().map(totals).collect::<Result<Vec<_>, _>>()?
    } else {
        vec![(0, 0); tables.len()]
    };
    sheet.maybe(listed[0], &totals, |(bytes, _)| Some(*bytes));
    sheet.maybe(listed[1], &totals, |(_, uncompressed)| Some(*uncompressed));
    let parts = |(_, table): &Entry| Some(table.parts().len() as u64);
    sheet.maybe("parts", tables, parts);
    sheet.maybe("active_parts", tables, parts);
    sheet.maybe("total_marks", tables, |(_, table)| {
        Some(table.parts().iter().map(|part| marks(part)).sum())
    });
    sheet.text("comment", tables, |(_, table)| {
        said(table, |it| it.clauses.comment.clone().unwrap_or_default())
    });
    sheet.flag("has_own_data", tables, |_| true);
    Ok(())
}

/// Bytes of the files of a table's parts, and the same after decompression.
fn totals((_, table): &Entry) -> Result<(u64, u64), TableError> {
    let mut sums = (0, 0);
    for (part, name) in table.parts().iter().zip(table.part_names()) {
        let totals = part_totals(table, part, name)?;
        sums.0 += totals.bytes;
        sums.1 += totals.contents;
    }
    Ok(sums)
}

fn index_types(definition: &TableDefinition) -> Vec<String> {
    let mut kinds: Vec<String> = Vec::new();
    for index in definition.indexes() {
        if !kinds.contains(&index.kind) {
            kinds.push(index.kind);
        }
    }
    kinds
}

/// What stands after ENGINE, on one line.
fn engine_full(definition: &TableDefinition) -> String {
    let mut bare = definition.clone();
    bare.clauses.comment = None;
    let text = bare.to_string();
    // Texts have no line breaks of their own, and elements of the list are indented.
    text.split_once("\nENGINE = ").map_or_else(String::new, |(_, engine)| one_line(engine))
}
