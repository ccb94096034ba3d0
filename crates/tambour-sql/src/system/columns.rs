//! The columns of tables, and of each part, as rows.

use super::parts::{self, PartRow, part_rows};
use super::{Sheet, Tables, place, placed};
use std::sync::Arc;
use tambour_codec::spec::CodecSpec;
use tambour_part::part::{ColumnSize, Form, StreamMarks};
use tambour_part::types::Column;
use tambour_table::schema::expression::Expression;
use tambour_table::schema::{ColumnDefinition, ColumnKind, TableDefinition};
use tambour_table::{Table, TableError};

/// A column as its table's statement has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    pub(crate) name: String,
    pub(crate) data_type: String,
    /// `DEFAULT`, `MATERIALIZED`, `ALIAS`, `EPHEMERAL` or nothing.
    pub(crate) default_kind: &'static str,
    pub(crate) default: String,
    pub(crate) comment: String,
    pub(crate) codec: String,
    pub(crate) ttl: String,
}

impl Shown {
    fn of(written: &ColumnDefinition) -> Self {
        let (column, clauses) = (&written.column, &written.clauses);
        let data_type = match &clauses.aggregate {
            Some(function) => format!("SimpleAggregateFunction({function}, {})", column.data_type),
            None => column.data_type.to_string(),
        };
        let has_word = clauses.default.is_some() || clauses.kind != ColumnKind::Given;
        let codec = written.codec.as_ref().and_then(CodecSpec::in_clickhouse);
        Self {
            name: column.name.clone(),
            data_type,
            default_kind: if has_word { clauses.kind.word() } else { "" },
            default: clauses.default.clone().unwrap_or_default(),
            comment: written.comment.clone().unwrap_or_default(),
            codec: codec.map_or_else(String::new, |codec| codec.to_string()),
            ttl: clauses.ttl.clone().unwrap_or_default(),
        }
    }
    fn plain(column: &Column) -> Self {
        let (name, data_type) = (column.name.clone(), column.data_type.to_string());
        Self { name, data_type, ..Self::default() }
    }
}

/// The columns of a table: those that parts hold, then those that are computed.
pub(crate) fn shown(table: &Table) -> Vec<Shown> {
    let definition = table.definition();
    let written = |name: &str| definition?.columns.iter().find(|it| it.column.name == name);
    let stored = table.columns().iter();
    let stored = stored.map(|it| written(&it.name).map_or_else(|| Shown::plain(it), Shown::of));
    let unstored = definition.map_or(&[][..], |it| it.unstored.as_slice()).iter().map(Shown::of);
    stored.chain(unstored).collect()
}

/// A column and what is said of it.
struct ColumnRow {
    database: String,
    table: String,
    shown: Shown,
    position: u64,
    sizes: ColumnSize,
    in_partition: bool,
    in_sorting: bool,
    in_primary: bool,
    in_sampling: bool,
}

/// True of a column that is in one of these expressions.
fn is_in(expressions: &[Expression], column: &str) -> bool {
    expressions.iter().any(|it| it.columns().contains(&column))
}

fn column_rows(tables: Tables<'_>, has_sizes: bool) -> Result<Vec<ColumnRow>, TableError> {
    let mut rows = Vec::new();
    for (registered, table) in tables {
        let first = rows.len();
        let (database, table_name) = place(registered, table);
        let sampling = table.definition().and_then(|it| it.clauses.sample_by.as_deref());
        let sampling = sampling.and_then(|it| Expression::parse_key(it).ok()).unwrap_or_default();
        for (index, shown) in shown(table).into_iter().enumerate() {
            let uses = |key: fn(&TableDefinition) -> &[Expression]| {
                table.definition().is_some_and(|it| is_in(key(it), &shown.name))
            };
            rows.push(ColumnRow {
                database: database.to_owned(),
                table: table_name.to_owned(),
                position: index as u64 + 1,
                sizes: ColumnSize::default(),
                in_partition: uses(|it| &it.partition_by),
                in_sorting: uses(|it| &it.order_by),
                in_primary: uses(|it| &it.primary_key),
                in_sampling: is_in(&sampling, &shown.name),
                shown,
            });
        }
        let parts = table.parts().iter().zip(table.part_names());
        for (part, name) in parts.filter(|_| has_sizes) {
            let sizes = part.column_sizes().map_err(placed(table, name))?;
            for (column, size) in part.columns().iter().zip(sizes) {
                let row = rows[first..].iter_mut().find(|row| row.shown.name == column.name);
                if let Some(row) = row {
                    row.add(size);
                }
            }
        }
    }
    Ok(rows)
}

impl ColumnRow {
    fn add(&mut self, size: ColumnSize) {
        self.sizes.compressed += size.compressed;
        self.sizes.uncompressed += size.uncompressed;
        self.sizes.marks += size.marks;
        for codec in size.codecs {
            if !self.sizes.codecs.contains(&codec) {
                self.sizes.codecs.push(codec);
            }
        }
    }
}

/// `system.columns`.
pub(super) fn fill(sheet: &mut Sheet, tables: Tables<'_>) -> Result<(), TableError> {
    let of_blocks =
        ["data_compressed_bytes", "data_uncompressed_bytes", "marks_bytes", "compression_codec"];
    let has_sizes = of_blocks.iter().any(|name| sheet.has(name));
    let rows = column_rows(tables, has_sizes)?;
    let rows = rows.as_slice();
    sheet.text("database", rows, |row| row.database.clone());
    sheet.text("table", rows, |row| row.table.clone());
    sheet.text("name", rows, |row| row.shown.name.clone());
    sheet.text("type", rows, |row| row.shown.data_type.clone());
    sheet.number("position", rows, |row| row.position);
    sheet.text("default_kind", rows, |row| row.shown.default_kind);
    sheet.text("default_expression", rows, |row| row.shown.default.clone());
    sheet.number("data_compressed_bytes", rows, |row| row.sizes.compressed);
    sheet.number("data_uncompressed_bytes", rows, |row| row.sizes.uncompressed);
    sheet.number("marks_bytes", rows, |row| row.sizes.marks);
    sheet.text("comment", rows, |row| row.shown.comment.clone());
    sheet.flag("is_in_partition_key", rows, |row| row.in_partition);
    sheet.flag("is_in_sorting_key", rows, |row| row.in_sorting);
    sheet.flag("is_in_primary_key", rows, |row| row.in_primary);
    sheet.flag("is_in_sampling_key", rows, |row| row.in_sampling);
    // Where ClickHouse shows the codec that was asked for, this is what the blocks were really written with.
    sheet.text("compression_codec", rows, |row| row.sizes.codecs.join(", "));
    Ok(())
}

/// A column of a part.
struct PartColumn {
    part: Arc<PartRow>,
    column: Column,
    shown: Shown,
    position: u64,
    size: ColumnSize,
    streams: Vec<StreamMarks>,
}

impl AsRef<PartRow> for PartColumn {
    fn as_ref(&self) -> &PartRow {
        &self.part
    }
}

/// The columns of all parts, as they lie there: one that a table has got since is in none of the older parts.
fn part_columns(tables: Tables<'_>, sheet: &Sheet) -> Result<Vec<PartColumn>, TableError> {
    let has = |names: &[&str]| names.iter().any(|name| sheet.has(name));
    let has_streams = has(&["substreams", "filenames"]);
    let has_sizes = has(&[
        "column_bytes_on_disk",
        "column_data_compressed_bytes",
        "column_data_uncompressed_bytes",
        "column_marks_bytes",
    ]);
    let mut rows = Vec::new();
    for row in part_rows(tables)? {
        let row = Arc::new(row);
        let here = |cause| placed(&row.table, &row.name)(cause);
        let written = shown(&row.table);
        let mut sizes = if has_sizes { row.part.stored_sizes().map_err(here)? } else { Vec::new() };
        let mut streams =
            if has_streams { row.part.column_marks().map_err(here)? } else { Vec::new() };
        let columns: Vec<Column> = row.part.stored_columns().cloned().collect();
        sizes.resize_with(columns.len(), ColumnSize::default);
        streams.resize_with(columns.len(), Vec::new);
        let columns = columns.into_iter().zip(sizes).zip(streams).enumerate();
        rows.extend(columns.map(|(index, ((column, size), streams))| {
            let shown = written.iter().find(|it| it.name == column.name).cloned();
            let (part, position) = (Arc::clone(&row), index as u64 + 1);
            let shown = shown.unwrap_or_default();
            PartColumn { part, column, shown, position, size, streams }
        }));
    }
    Ok(rows)
}

/// `system.parts_columns`.
pub(super) fn fill_parts(sheet: &mut Sheet, tables: Tables<'_>) -> Result<(), TableError> {
    let rows = part_columns(tables, sheet)?;
    let rows = rows.as_slice();
    parts::begin(sheet, rows);
    parts::sizes(sheet, rows);
    parts::place_in_table(sheet, rows)?;
    sheet.text("column", rows, |row| row.column.name.clone());
    sheet.text("type", rows, |row| row.column.data_type.to_string());
    sheet.number("column_position", rows, |row| row.position);
    sheet.text("default_kind", rows, |row| row.shown.default_kind);
    sheet.text("default_expression", rows, |row| row.shown.default.clone());
    sheet.number("column_bytes_on_disk", rows, |row| row.size.compressed + row.size.marks);
    sheet.number("column_data_compressed_bytes", rows, |row| row.size.compressed);
    sheet.number("column_data_uncompressed_bytes", rows, |row| row.size.uncompressed);
    sheet.number("column_marks_bytes", rows, |row| row.size.marks);
    sheet.texts("substreams", rows, |row| {
        row.streams.iter().map(|stream| stream.name.clone()).collect()
    });
    // All streams of a compact part are in one file, which ClickHouse does not name either.
    sheet.texts("filenames", rows, |row| match row.part.part.form() {
        Form::Wide => row.streams.iter().map(|stream| stream.file.clone()).collect(),
        Form::Compact => vec![String::new(); row.streams.len()],
    });
    Ok(())
}
