//! Bringing arrays to the Arrow type that a column works with, without losing anything silently.

use super::fault::Fault;
use super::tree::Nulls;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_cast::display::array_value_to_string;
use arrow_schema::DataType as Arrow;
use std::sync::Arc;

/// The same values as `wanted`; the first one that does not fit is the fault. Only conversions that are exact wherever
/// they succeed may be asked for.
pub(super) fn coerce(values: &ArrayRef, wanted: &Arrow) -> Result<ArrayRef, Fault> {
    if values.data_type() == wanted {
        return Ok(Arc::clone(values));
    }
    if let Arrow::Dictionary(_, inner) = values.data_type() {
        return coerce(&arrow_cast::cast(values, inner)?, wanted);
    }
    let cast = arrow_cast::cast(values, wanted)?;
    if cast.null_count() > values.logical_null_count() {
        let lost = |&row: &usize| cast.is_null(row) && !is_null(values, row);
        if let Some(row) = (0..values.len()).find(lost) {
            return Err(out_of_range(values, row, wanted));
        }
    }
    Ok(cast)
}

/// A fault about one value, which is shown.
pub(super) fn out_of_range(
    values: &dyn Array,
    row: usize,
    wanted: impl std::fmt::Display,
) -> Fault {
    Fault::value(row, format!("{} does not fit {wanted}", shown(values, row)))
}

/// A value as text, at most some hundred characters of it.
pub(super) fn shown(values: &dyn Array, row: usize) -> String {
    let text = array_value_to_string(values, row).unwrap_or_else(|_| "a value".to_owned());
    if text.chars().nth(200).is_some() {
        return text.chars().take(200).chain("...".chars()).collect();
    }
    text
}

fn is_null(values: &dyn Array, row: usize) -> bool {
    values.slice(row, 1).logical_null_count() > 0
}

/// A fault if NULLs are refused and there is one.
pub(super) fn refuse_nulls(values: &dyn Array, nulls: Nulls) -> Result<(), Fault> {
    match (nulls, logical_nulls(values)) {
        (Nulls::Refused, Some(found)) => {
            let row = found.iter().position(|valid| !valid).unwrap_or_default();
            Err(Fault::value(row, "NULL in a column that is not Nullable"))
        }
        _ => Ok(()),
    }
}

/// Which values are NULL, keys and values of dictionaries alike; `None` if none is.
pub(super) fn logical_nulls(values: &dyn Array) -> Option<NullBuffer> {
    values.logical_nulls().filter(|nulls| nulls.null_count() > 0)
}
