//! Nested columns: `nest.x` and `nest.y` are arrays of the same sizes, which are kept once.

use super::StreamName;
use super::path::{Path, nested_name};
use crate::types::{Column, DataType};
use crate::{PartError, Place};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType as Arrow;
use std::collections::HashMap;

/// The stream of sizes that a column shares with the other columns of its Nested (`nest.size0` of `nest.x`); `None` for
/// columns that are not part of one. Each column writes it; a part keeps that of one of them.
pub fn shared_sizes(column: &str, data_type: &DataType) -> Option<StreamName> {
    let is_array = matches!(data_type, DataType::Array(_) | DataType::Map(..));
    (is_array && nested_name(column).is_some()).then(|| Path::new(column).sizes())
}

/// Checks that columns which share a stream of sizes agree in them, row by row. `arrays` belong to `columns`, in order;
/// `first_row` is added to the row in the error.
pub fn check_shared_sizes(
    columns: &[Column],
    arrays: &[ArrayRef],
    first_row: u64,
) -> Result<(), PartError> {
    let mut seen: HashMap<StreamName, (&str, &ArrayRef)> = HashMap::new();
    for (column, array) in columns.iter().zip(arrays) {
        let Some(sizes) = shared_sizes(&column.name, &column.data_type) else { continue };
        let Some((other, first)) = seen.get(&sizes) else {
            seen.insert(sizes, (&column.name, array));
            continue;
        };
        if let Some(row) =
            (0..array.len().max(first.len())).find(|&row| size(array, row) != size(first, row))
        {
            let (got, expected) = (size(array, row).unwrap_or(0), size(first, row).unwrap_or(0));
            let reason = format!(
                "an array of {got} elements beside one of {expected} in `{other}`, of the same Nested"
            );
            return Err(PartError::value(
                Place::column(&column.name).at_row(first_row + row as u64),
                reason,
            ));
        }
    }
    Ok(())
}

fn size(array: &dyn Array, row: usize) -> Option<usize> {
    if row >= array.len() {
        return None;
    }
    Some(match array.data_type() {
        Arrow::List(_) => array.as_list::<i32>().value_length(row).unsigned_abs() as usize,
        Arrow::LargeList(_) => usize::try_from(array.as_list::<i64>().value_length(row)).ok()?,
        Arrow::FixedSizeList(_, size) => size.unsigned_abs() as usize,
        Arrow::Map(..) => array.as_map().value_length(row).unsigned_abs() as usize,
        _ => return None,
    })
}
