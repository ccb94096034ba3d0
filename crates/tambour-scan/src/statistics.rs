//! What the engine may know of a table before reading it.
//!
//! "Exact" is a promise: the engine answers `count(*)`, `min` and `max` from it without a scan. So a number is exact only if
//! nothing can have made it wrong: rows are not, once some are marked as deleted; extremes in min-max files are not, once a
//! merge (or an engine that drops rows) may have left them too wide.

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType as ArrowType, Schema};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics};
use tambour_part::statistics::Summary;
use tambour_part::{DataType, Part};
use tambour_table::scan::sorts_like_arrow;
use tambour_table::schema::expression::Expression;
use tambour_table::statistics::PartStatistics;
use tambour_table::{PartName, Table, TableError};

/// Granules up to which primary indexes are read for the extremes of the first key column.
const INDEX_GRANULES: usize = 16_384;
/// Bytes of a text, as a guess: its view, and some letters.
const TEXT_BYTES: usize = 32;
/// Bytes of an array or a map, as a guess.
const LIST_BYTES: usize = 64;

/// True if the rows that parts count are the rows that will be read: none is hidden by a lightweight delete.
pub(crate) fn has_exact_rows(table: &Table) -> bool {
    !table.has_deleted_rows()
}

/// Statistics of a whole table, its columns in the order of `schema`.
pub(crate) fn of_table(table: &Table, schema: &Schema) -> Statistics {
    let rows = usize::try_from(table.rows()).unwrap_or(usize::MAX);
    let is_exact = has_exact_rows(table);
    let rows = if is_exact { Precision::Exact(rows) } else { Precision::Inexact(rows) };
    let column_statistics: Vec<ColumnStatistics> = table
        .columns()
        .iter()
        .zip(schema.fields())
        .map(|(column, field)| {
            let (min, max) = extremes(table, &column.name, &column.data_type, field.data_type());
            let soften = |value: Precision<ScalarValue>| {
                if is_exact { value } else { value.to_inexact() }
            };
            let byte_size = rows.multiply(&Precision::Inexact(width(field.data_type())));
            ColumnStatistics {
                null_count: if field.is_nullable() {
                    Precision::Absent
                } else {
                    Precision::Exact(0)
                },
                min_value: soften(min),
                max_value: soften(max),
                byte_size,
                ..ColumnStatistics::default()
            }
        })
        .collect();
    let total_byte_size = bytes_of(&column_statistics);
    Statistics { num_rows: rows, total_byte_size, column_statistics }
}

/// The bytes of some columns together, by which joins choose the side that is held in memory.
pub(crate) fn bytes_of(columns: &[ColumnStatistics]) -> Precision<usize> {
    let zero = Precision::Inexact(0);
    columns.iter().fold(zero, |sum, column| sum.add(&column.byte_size))
}

/// Bytes of a value in memory, roughly.
fn width(data_type: &ArrowType) -> usize {
    match data_type {
        ArrowType::Null => 0,
        ArrowType::Boolean => 1,
        ArrowType::FixedSizeBinary(bytes) => usize::try_from(*bytes).unwrap_or(0),
        ArrowType::Dictionary(key, _) => width(key),
        ArrowType::Struct(fields) => fields.iter().map(|field| width(field.data_type())).sum(),
        ArrowType::List(_) | ArrowType::LargeList(_) | ArrowType::Map(..) => LIST_BYTES,
        other => other.primitive_width().unwrap_or(TEXT_BYTES),
    }
}

/// Minimum and maximum of a column, as far as the parts tell.
fn extremes(
    table: &Table,
    name: &str,
    data_type: &DataType,
    arrow: &ArrowType,
) -> (Precision<ScalarValue>, Precision<ScalarValue>) {
    let absent = (Precision::Absent, Precision::Absent);
    if !sorts_like_arrow(data_type) {
        return absent;
    }
    let mut found: Option<(Precision<ScalarValue>, Precision<ScalarValue>)> = None;
    // Other engines of the family drop rows on insert, after the extremes were taken.
    let is_plain = table.definition().is_some_and(|it| it.clauses.engine.is_none());
    // Asked of the table once: it counts the granules of all parts.
    let types = index_types(table, name, data_type);
    let parts = table.parts().iter().zip(table.part_names());
    for (part, part_name) in parts.filter(|(part, _)| part.rows() > 0) {
        let is_fresh = is_plain
            && PartName::parse(part_name).is_some_and(|it| it.level == 0 && it.mutation.is_none());
        let of_index = types.as_ref().and_then(|types| from_index(part, types, arrow));
        let of_part = of_index.or_else(|| from_minmax(part, name, arrow, is_fresh));
        let Some((min, max)) = of_part else { return absent };
        found = Some(match found {
            None => (min, max),
            Some((low, high)) => (low.min(&min), high.max(&max)),
        });
    }
    found.unwrap_or(absent)
}

/// From the min-max file: exact for parts as they were inserted, since merges keep the extremes of rows that they drop.
fn from_minmax(
    part: &Part,
    name: &str,
    arrow: &ArrowType,
    is_fresh: bool,
) -> Option<(Precision<ScalarValue>, Precision<ScalarValue>)> {
    // A file that cannot be read is reported by whoever needs it.
    let values = part.minmax(name).ok()??;
    let precision = |row| {
        let value = value_at(&values, row, arrow);
        value.map_or(Precision::Absent, |value| {
            if is_fresh { Precision::Exact(value) } else { Precision::Inexact(value) }
        })
    };
    Some((precision(0), precision(1)))
}

/// The types of the primary key if this column is its first, of this very type, and the indexes are small enough to be read.
fn index_types(table: &Table, name: &str, data_type: &DataType) -> Option<Vec<DataType>> {
    let definition = table.definition()?;
    let is_first = matches!(
        definition.primary_key.first(),
        Some(Expression::Column(column)) if column == name
    );
    let granules = || table.parts().iter().map(|part| part.granules().len()).sum::<usize>();
    if !is_first || granules() > INDEX_GRANULES {
        return None;
    }
    definition.primary_key_types().ok().filter(|types| types.first() == Some(data_type))
}

/// From the primary index, for its first column: the key of the first row and, with a final mark, that of the last.
fn from_index(
    part: &Part,
    types: &[DataType],
    arrow: &ArrowType,
) -> Option<(Precision<ScalarValue>, Precision<ScalarValue>)> {
    if !part.has_primary_index() {
        return None;
    }
    let entries = part.primary_index(types).ok()?;
    let keys = entries.first()?;
    let exact = |row| value_at(keys, row, arrow).map_or(Precision::Absent, Precision::Exact);
    let last = keys.len().checked_sub(1)?;
    Some((exact(0), if part.has_final_mark() { exact(last) } else { Precision::Absent }))
}

/// A value that is not NULL, in the type of the scan's column.
fn value_at(values: &ArrayRef, row: usize, arrow: &ArrowType) -> Option<ScalarValue> {
    if row >= values.len() || values.is_null(row) {
        return None;
    }
    ScalarValue::try_from_array(values, row).ok()?.cast_to(arrow).ok()
}

/// The statistics that are kept beside the parts of a table, of those that have rows; none if a part has none.
pub(crate) fn kept(table: &Table) -> Result<Option<Vec<PartStatistics>>, TableError> {
    let mut opened = Vec::new();
    for part in table.parts().iter().filter(|part| part.rows() > 0) {
        let statistics = PartStatistics::open(table.storage().as_ref(), table.path(), part)?;
        let Some(statistics) = statistics else { return Ok(None) };
        opened.push(statistics);
    }
    Ok(Some(opened))
}

/// What they say of all rows of a column; nothing of a column that has no values, or another type in a part.
pub(crate) fn total(table: &Table, kept: &[PartStatistics], name: &str) -> Option<Summary> {
    let column = table.columns().iter().find(|it| it.name == name)?;
    let parts = table.parts().iter().filter(|part| part.rows() > 0);
    let totals = kept.iter().zip(parts).map(|(known, part)| known.total(part, column));
    let total = totals.collect::<Option<Vec<_>>>()?.into_iter().fold(Summary::EMPTY, Summary::and);
    Some(total).filter(|total| total.rows == table.rows() && total.values() > 0)
}

/// Statistics of a scan that reads `rows` rows, given those of all rows. A part of the rows keeps bounds, but not exact ones.
pub(crate) fn of_some_rows(
    all: &Statistics,
    rows: u64,
    is_exact: bool,
    is_all: bool,
) -> Statistics {
    if is_all {
        return all.clone();
    }
    let rows = usize::try_from(rows).unwrap_or(usize::MAX);
    let num_rows = if is_exact { Precision::Exact(rows) } else { Precision::Inexact(rows) };
    let total = all.num_rows.get_value().copied().unwrap_or(rows).max(1);
    let share = |bytes: &Precision<usize>| {
        bytes.get_value().map_or(Precision::Absent, |bytes| {
            let share = (*bytes as u128) * (rows as u128) / (total as u128);
            Precision::Inexact(usize::try_from(share).unwrap_or(usize::MAX))
        })
    };
    let column_statistics = all
        .column_statistics
        .iter()
        .map(|column| ColumnStatistics {
            null_count: match column.null_count {
                Precision::Exact(0) => Precision::Exact(0),
                _ => Precision::Absent,
            },
            min_value: column.min_value.clone().to_inexact(),
            max_value: column.max_value.clone().to_inexact(),
            byte_size: share(&column.byte_size),
            ..ColumnStatistics::default()
        })
        .collect();
    Statistics { num_rows, total_byte_size: share(&all.total_byte_size), column_statistics }
}
