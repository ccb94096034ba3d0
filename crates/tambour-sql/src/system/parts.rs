//! The parts of tables as rows.

use super::tables::engine;
use super::{Sheet, Tables, partition_text, place, placed};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType as ArrowType, Int64Type, TimeUnit};
use std::sync::Arc;
use tambour_part::Part;
use tambour_part::part::{Form, SkipSizes, Totals};
use tambour_part::types::{Column, DataType};
use tambour_table::{PartName, Table, TableError};

/// Where the codec of columns that name none is not known.
const UNKNOWN_CODEC: &str = "UNKNOWN";

/// Marks as ClickHouse counts them: the final one too.
pub(super) fn marks(part: &Part) -> u64 {
    part.granules().len() as u64 + u64::from(part.has_final_mark())
}

/// A part and what is said of it.
pub(super) struct PartRow {
    pub(super) database: String,
    pub(super) table_name: String,
    pub(super) table: Arc<Table>,
    pub(super) part: Arc<Part>,
    pub(super) name: String,
    parsed: Option<PartName>,
    partition: String,
    totals: Totals,
    ends: Ends,
}

impl PartRow {
    fn number(&self, of: impl Fn(&PartName) -> u64) -> u64 {
        self.parsed.as_ref().map_or(0, of)
    }
}

/// What the files of a part add up to.
pub(super) fn part_totals(table: &Table, part: &Part, name: &str) -> Result<Totals, TableError> {
    part.totals().map_err(placed(table, name))
}

/// The parts of all tables.
pub(super) fn part_rows(tables: Tables<'_>) -> Result<Vec<PartRow>, TableError> {
    let mut rows = Vec::new();
    for (registered, table) in tables {
        let (database, table_name) = place(registered, table);
        for (part, name) in table.parts().iter().zip(table.part_names()) {
            rows.push(PartRow {
                database: database.to_owned(),
                table_name: table_name.to_owned(),
                table: Arc::clone(table),
                part: Arc::clone(part),
                name: name.clone(),
                parsed: PartName::parse(name),
                partition: partition_text(table, part, name)?,
                totals: part_totals(table, part, name)?,
                ends: Ends::of(table, part, name)?,
            });
        }
    }
    Ok(rows)
}

/// Wide or compact, as ClickHouse writes it.
pub(super) fn form(part: &Part) -> &'static str {
    match part.form() {
        Form::Wide => "Wide",
        Form::Compact => "Compact",
    }
}

/// The codec of columns that name none.
pub(super) fn default_codec(table: &Table, part: &Part, name: &str) -> Result<String, TableError> {
    let known = part.default_codec().map_err(placed(table, name))?;
    Ok(known.unwrap_or_else(|| UNKNOWN_CODEC.to_owned()))
}

/// `system.parts`.
pub(super) fn fill(sheet: &mut Sheet, tables: Tables<'_>) -> Result<(), TableError> {
    let rows = part_rows(tables)?;
    let rows = rows.as_slice();
    begin(sheet, rows);
    sheet.number("files", rows, |row| row.totals.files);
    sizes(sheet, rows);
    sheet.number("primary_key_size", rows, |row| row.part.primary_key_size());
    let listed = ["compressed", "uncompressed", "marks"];
    let listed = listed.map(|it| match it {
        "marks" => "secondary_indices_marks_bytes".to_owned(),
        other => format!("secondary_indices_{other}_bytes"),
    });
    let skip = if listed.iter().any(|name| sheet.has(name)) {
        rows.iter().map(skip_sizes).collect::<Result<Vec<_>, _>>()?
    } else {
        vec![SkipSizes::default(); rows.len()]
    };
    sheet.number(&listed[0], &skip, |sizes| sizes.compressed);
    sheet.number(&listed[1], &skip, |sizes| sizes.uncompressed);
    sheet.number(&listed[2], &skip, |sizes| sizes.marks);
    place_in_table(sheet, rows)?;
    sheet.text("hash_of_all_files", rows, |row| row.part.hash_of_all_files().unwrap_or_default());
    sheet.read_text("default_compression_codec", rows, |row| {
        default_codec(&row.table, &row.part, &row.name)
    })?;
    sheet.texts("projections", rows, |row| row.part.projections());
    sheet.flag("has_lightweight_delete", rows, |row| row.part.has_deleted_rows());
    Ok(())
}

/// The columns with which `system.parts` and `system.parts_columns` begin.
pub(super) fn begin<R: AsRef<PartRow>>(sheet: &mut Sheet, rows: &[R]) {
    sheet.text("partition", rows, |row| row.as_ref().partition.clone());
    sheet.text("name", rows, |row| row.as_ref().name.clone());
    sheet.text("part_type", rows, |row| form(&row.as_ref().part));
    sheet.flag("active", rows, |_| true);
    sheet.number("marks", rows, |row| marks(&row.as_ref().part));
    sheet.number("rows", rows, |row| row.as_ref().part.rows());
}

/// Sizes of parts.
pub(super) fn sizes<R: AsRef<PartRow>>(sheet: &mut Sheet, rows: &[R]) {
    sheet.number("bytes_on_disk", rows, |row| row.as_ref().totals.bytes);
    sheet.number("data_compressed_bytes", rows, |row| row.as_ref().totals.compressed);
    sheet.number("data_uncompressed_bytes", rows, |row| row.as_ref().totals.uncompressed);
    sheet.number("marks_bytes", rows, |row| row.as_ref().totals.marks);
}

/// What the name of a part and its table say.
pub(super) fn place_in_table<R: AsRef<PartRow>>(
    sheet: &mut Sheet,
    rows: &[R],
) -> Result<(), TableError> {
    numbered(sheet, rows);
    sheet.read_number("primary_key_bytes_in_memory", rows, |row| key_bytes(row.as_ref()))?;
    sheet.text("database", rows, |row| row.as_ref().database.clone());
    sheet.text("table", rows, |row| row.as_ref().table_name.clone());
    sheet.text("engine", rows, |row| engine(&row.as_ref().table));
    sheet.text("path", rows, |row| format!("{}/", row.as_ref().part.path().display()));
    Ok(())
}

/// Ends of times, and what the name of a part says.
pub(super) fn numbered<R: AsRef<PartRow>>(sheet: &mut Sheet, rows: &[R]) {
    sheet.date("min_date", rows, |row| row.as_ref().ends.dates.0);
    sheet.date("max_date", rows, |row| row.as_ref().ends.dates.1);
    sheet.time("min_time", rows, |row| row.as_ref().ends.times.0);
    sheet.time("max_time", rows, |row| row.as_ref().ends.times.1);
    sheet.text("partition_id", rows, |row| {
        row.as_ref().parsed.as_ref().map_or_else(String::new, |name| name.partition.clone())
    });
    sheet.signed("min_block_number", rows, |row| row.as_ref().number(|name| name.block_min));
    sheet.signed("max_block_number", rows, |row| row.as_ref().number(|name| name.block_max));
    sheet.small("level", rows, |row| row.as_ref().parsed.as_ref().map_or(0, |name| name.level));
    sheet.number("data_version", rows, |row| {
        row.as_ref().number(|name| name.mutation.unwrap_or(name.block_min))
    });
}

impl AsRef<Self> for PartRow {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// What a part says of its files and its name.
impl PartRow {
    pub(super) fn totals(&self) -> Totals {
        self.totals
    }
    pub(super) fn partition(&self) -> &str {
        &self.partition
    }
}

/// Bytes of the primary index in memory; 0 of a part without one, or of a key that is not known.
fn key_bytes(row: &PartRow) -> Result<u64, TableError> {
    let Some(definition) = row.table.definition().filter(|_| row.part.has_primary_index()) else {
        return Ok(0);
    };
    let types = definition.primary_key_types()?;
    row.part.primary_key_bytes(&types).map_err(placed(&row.table, &row.name))
}

/// What the skip indexes of a part take.
fn skip_sizes(row: &PartRow) -> Result<SkipSizes, TableError> {
    let mut sum = SkipSizes::default();
    for index in row.part.skip_names().map_err(placed(&row.table, &row.name))? {
        let file = row.part.skip_file(&index).map_err(placed(&row.table, &row.name))?;
        let sizes = file.map(|file| file.sizes()).unwrap_or_default();
        sum.compressed += sizes.compressed;
        sum.uncompressed += sizes.uncompressed;
        sum.marks += sizes.marks;
    }
    Ok(sum)
}

/// The least and the greatest date or time of the partition key's column in a part; zeros where there is none.
#[derive(Clone, Copy, Default)]
struct Ends {
    /// Days since 1970.
    dates: (i32, i32),
    /// Seconds since 1970.
    times: (i64, i64),
}

impl Ends {
    fn of(table: &Table, part: &Part, name: &str) -> Result<Self, TableError> {
        let mut ends = Self::default();
        let Some(column) = dated(table) else { return Ok(ends) };
        let found = part.minmax(&column.name).map_err(placed(table, name))?;
        let Some(values) = found.filter(|values| values.len() == 2) else { return Ok(ends) };
        if *column.data_type.unwrapped() == DataType::Date {
            let days = numbers(&values);
            let day = |at: i64| i32::try_from(at).unwrap_or_default();
            ends.dates = (day(days.0), day(days.1));
        } else {
            let seconds = ArrowType::Timestamp(TimeUnit::Second, None);
            let values = arrow::compute::cast(&values, &seconds).unwrap_or(values);
            ends.times = numbers(&values);
        }
        Ok(ends)
    }
}

/// Both values as numbers.
fn numbers(values: &ArrayRef) -> (i64, i64) {
    // Dates are numbers by way of those of their own width.
    let narrow = match values.data_type() {
        ArrowType::Date32 => arrow::compute::cast(values, &ArrowType::Int32).ok(),
        _ => None,
    };
    let values = narrow.as_ref().unwrap_or(values);
    let Ok(values) = arrow::compute::cast(values, &ArrowType::Int64) else { return (0, 0) };
    let values = values.as_primitive::<Int64Type>();
    let at = |row: usize| if values.is_null(row) { 0 } else { values.value(row) };
    (at(0), at(1))
}

/// The column of the partition key that has the dates or times of a part: its only date, or, where there is none, its only time.
fn dated(table: &Table) -> Option<&Column> {
    let definition = table.definition()?;
    let names: Vec<&str> = definition.partition_by.iter().flat_map(|it| it.columns()).collect();
    let of = |is_it: fn(&DataType) -> bool| -> Vec<&Column> {
        let columns = table.columns().iter();
        columns.filter(|it| names.contains(&it.name.as_str()) && is_it(&it.data_type)).collect()
    };
    let dates = of(|it| *it == DataType::Date);
    let found = if dates.is_empty() {
        of(|it| matches!(it, DataType::DateTime { .. } | DataType::DateTime64 { .. }))
    } else {
        dates
    };
    match found.as_slice() {
        [only] => Some(only),
        _ => None,
    }
}
