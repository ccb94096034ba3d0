//! Columns of a part beside those of the table.

use crate::TableError;
use arrow_array::ArrayRef;
use arrow_cast::cast;
use arrow_schema::DataType as ArrowType;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use tambour_part::Part;
use tambour_part::types::{Column, DataType};

/// The part must have exactly the table's columns, in any order.
pub(super) fn check_columns(
    table: &Path,
    name: &str,
    expected: &[Column],
    part: &Part,
) -> Result<(), TableError> {
    let differs = |expected: String, got: String| {
        let (table, part) = (table.to_owned(), name.to_owned());
        Err(TableError::PartDiffers { table, part, field: "columns", expected, got })
    };
    let columns = part.columns().iter();
    let by_name: HashMap<_, _> =
        columns.map(|column| (column.name.as_str(), &column.data_type)).collect();
    for column in expected {
        let wanted = format!("{} {}", column.name, column.data_type);
        match by_name.get(column.name.as_str()) {
            Some(data_type) if is_same_data(data_type, &column.data_type) => {}
            Some(data_type) => return differs(wanted, format!("{} {data_type}", column.name)),
            None => {
                // What an old part's rows have in it would be decided by a DEFAULT that is not in the part.
                let what = format!(
                    "column `{}`, which is missing in part {name:?} (added by ALTER TABLE?),",
                    column.name
                );
                return Err(TableError::Unsupported { path: table.to_owned(), what });
            }
        }
    }
    let expected: HashSet<_> = expected.iter().map(|column| column.name.as_str()).collect();
    match by_name.keys().find(|name| !expected.contains(*name)) {
        Some(other) => differs("no other column".to_owned(), (*other).to_owned()),
        None => Ok(()),
    }
}

/// True if values of both types are stored alike: the zone of a time is only shown, and old servers leave it out.
fn is_same_data(left: &DataType, right: &DataType) -> bool {
    match (left, right) {
        (DataType::DateTime { .. }, DataType::DateTime { .. }) => true,
        (DataType::DateTime64 { precision: one, .. }, DataType::DateTime64 { precision, .. }) => {
            one == precision
        }
        (DataType::Nullable(one), DataType::Nullable(other))
        | (DataType::LowCardinality(one), DataType::LowCardinality(other))
        | (DataType::Array(one), DataType::Array(other)) => is_same_data(one, other),
        (DataType::Tuple(one), DataType::Tuple(other)) => {
            let mut pairs = one.iter().zip(other);
            one.len() == other.len()
                && pairs.all(|(one, other)| one.0 == other.0 && is_same_data(&one.1, &other.1))
        }
        (DataType::Map(key, value), DataType::Map(other_key, other_value)) => {
            is_same_data(key, other_key) && is_same_data(value, other_value)
        }
        _ => left == right,
    }
}

/// Gives an array the Arrow type that its column has in the table: the same values, another zone.
pub(super) fn conform(array: &ArrayRef, wanted: &ArrowType) -> Result<ArrayRef, TableError> {
    if array.data_type() == wanted {
        return Ok(Arc::clone(array));
    }
    cast(array, wanted).map_err(TableError::arrow("giving times the zone of the table"))
}
