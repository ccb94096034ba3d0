//! Values of types that are bytes in a table, as pandas and polars hand them over: the bytes themselves, in a column of bytes.

use super::misfit::Misfit;
use crate::build;
use crate::infer::Reading;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Decimal256Array, FixedSizeBinaryArray};
use arrow_buffer::{NullBuffer, i256};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::DataType as Arrow;
use std::sync::Arc;
use tambour_part::DataType;
use tambour_part::types::Strings;

/// Bytes of a value of types whose values are bytes for Arrow.
fn width(scalar: &DataType) -> Option<i32> {
    match scalar {
        DataType::Uuid | DataType::Ipv6 => Some(16),
        DataType::Int256 | DataType::UInt256 => Some(32),
        _ => None,
    }
}

fn is_bytes(data_type: &Arrow) -> bool {
    matches!(data_type, Arrow::Binary | Arrow::LargeBinary | Arrow::BinaryView)
}

/// The values of a column of sixteen bytes each as integers of 128 bits: so ClickHouse writes them, the least byte first, and so it
/// reads them into a column of that type. Nothing of other columns.
pub(super) fn integers(array: &ArrayRef, scalar: &DataType) -> Option<ArrayRef> {
    let is_signed = match scalar {
        DataType::Int128 => true,
        DataType::UInt128 => false,
        _ => return None,
    };
    let bytes = array.as_fixed_size_binary_opt().filter(|bytes| bytes.value_length() == 16)?;
    let integer = |bytes: &[u8]| {
        let bits = <[u8; 16]>::try_from(bytes).map_or(0, u128::from_le_bytes);
        let high = if is_signed && bits.cast_signed() < 0 { -1 } else { 0 };
        i256::from_parts(bits, high)
    };
    let integers: Decimal256Array = bytes.iter().map(|value| value.map(integer)).collect();
    Some(Arc::new(integers.with_data_type(scalar.arrow(Strings::Utf8))))
}

/// The values of a column of bytes, if each of them has the width of the type and not all of them are texts that the type reads:
/// sixteen characters may be an address.
pub(super) fn values(array: &ArrayRef, scalar: &DataType) -> Result<Option<ArrayRef>, Misfit> {
    let Some(width) = width(scalar).filter(|_| is_bytes(array.data_type())) else {
        return Ok(None);
    };
    let wide = cast_with_options(array, &Arrow::LargeBinary, &CastOptions::default())?;
    let wide = wide.as_binary::<i64>();
    let length = width.unsigned_abs() as usize;
    if wide.iter().flatten().any(|value| value.len() != length) {
        return Ok(None);
    }
    let reading = Reading::plain(scalar.clone());
    let mut builder = build::builder(&reading, 1)?;
    if wide.iter().flatten().all(|value| builder.text(value).is_ok()) {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(wide.len() * length);
    for value in wide {
        match value {
            Some(value) => bytes.extend_from_slice(value),
            None => bytes.resize(bytes.len() + length, 0),
        }
    }
    let nulls: Option<NullBuffer> = wide.nulls().cloned();
    Ok(Some(Arc::new(FixedSizeBinaryArray::try_new(width, bytes.into(), nulls)?)))
}
