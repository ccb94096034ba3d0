//! Values that are written more finely than their type, and none of which may lose by it.

use super::misfit::{Misfit, OUT_OF_RANGE, first, text};
use arrow_array::cast::AsArray;
use arrow_array::types as arrow;
use arrow_array::{Array, ArrayRef};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType as Arrow, Field, TimeUnit};
use std::sync::Arc;
use tambour_function::value::number;
use tambour_function::value::time::TOO_FINE;
use tambour_part::DataType;
use tambour_part::types::unit_precision;

/// Floats that are whole numbers, as integers.
pub(crate) fn whole(array: &ArrayRef) -> Result<ArrayRef, Misfit> {
    if !array.data_type().is_floating() {
        return Ok(Arc::clone(array));
    }
    let floats = cast_with_options(array, &Arrow::Float64, &CastOptions::default())?;
    let floats = floats.as_primitive::<arrow::Float64Type>();
    let wrong = first(floats.iter(), |value| number::whole(value).is_ok());
    if let Some(row) = wrong {
        let reason = number::whole(floats.value(row)).err().unwrap_or(OUT_OF_RANGE);
        let field = Field::new("", array.data_type().clone(), true);
        return Err(Misfit::Value { row, reason, value: text(array, &field, row) });
    }
    // What stands under a NULL is nobody's number.
    let whole = floats.unary::<_, arrow::Int64Type>(|value| number::whole(value).unwrap_or(0));
    Ok(Arc::new(whole))
}

/// Digits of a second's fraction that moments of a type have; `None` for all other types.
pub(crate) fn precision(data_type: &DataType) -> Option<u8> {
    match data_type.unwrapped() {
        DataType::DateTime { .. } => Some(0),
        DataType::DateTime64 { precision, .. } => Some(*precision),
        _ => None,
    }
}

/// Refuses moments with a finer fraction of a second than this many digits hold. What is not a moment yet, like text, is for the
/// reader of text to check.
pub(crate) fn check_exact(array: &ArrayRef, precision: u8) -> Result<(), Misfit> {
    let value = match array.data_type() {
        Arrow::Dictionary(_, value) => value.as_ref(),
        other => other,
    };
    let plain = match value {
        Arrow::Date64 => Arrow::Timestamp(TimeUnit::Millisecond, None),
        other => other.clone(),
    };
    let Arrow::Timestamp(unit, _) = plain else { return Ok(()) };
    let digits = unit_precision(unit).saturating_sub(precision);
    if digits > 0 {
        let per_tick = 10_i64.pow(digits.into());
        let array = cast_with_options(array, &plain, &CastOptions::default())?;
        let ticks = cast_with_options(&array, &Arrow::Int64, &CastOptions::default())?;
        let ticks = ticks.as_primitive::<arrow::Int64Type>();
        if let Some(row) = first(ticks.iter(), |tick| tick % per_tick == 0) {
            let field = Field::new("", array.data_type().clone(), true);
            return Err(Misfit::Value { row, reason: TOO_FINE, value: text(&array, &field, row) });
        }
    }
    Ok(())
}
