//! Values as texts: `toString`.

use super::moment::{self, Moments};
use super::text::Texts;
use super::value::print::{self, InstantPrinter};
use super::{Call, Operand, cast, civil, nested, wrong};
use crate::FunctionError;
use arrow_array::builder::BinaryViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Decimal256Type, Float32Type, Float64Type, UInt32Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType as ArrowType;
use std::sync::Arc;
use tambour_part::types::DataType;

/// The function itself.
pub(super) fn to_string(call: &Call) -> Result<ArrayRef, FunctionError> {
    let values = call.values(0)?;
    let Some(operand) = call.operands.first() else {
        return Err(wrong(call.name, "it takes an argument"));
    };
    match &operand.data_type {
        DataType::Date
        | DataType::Date32
        | DataType::DateTime { .. }
        | DataType::DateTime64 { .. } => moments(call, &operand.data_type),
        DataType::FixedString(_) => Ok(fixed_string(&values)),
        DataType::Float32 | DataType::BFloat16 => {
            let floats = cast(&values, &ArrowType::Float32)?;
            let floats = floats.as_primitive::<Float32Type>();
            printed(floats.len(), |row, text| print::float32(floats.value(row), text))
        }
        DataType::Float64 => {
            let floats = values.as_primitive::<Float64Type>();
            printed(floats.len(), |row, text| print::float64(floats.value(row), text))
        }
        DataType::Array(_) | DataType::Tuple(_) | DataType::Map(..) => {
            nested::texts(&Operand { values, is_constant: false, ..operand.clone() })
        }
        DataType::Decimal { .. } => decimals(&values),
        DataType::Uuid | DataType::Ipv6 => sixteen_bytes(call, &values, &operand.data_type),
        DataType::Ipv4 => {
            let numbers = values.as_primitive::<UInt32Type>();
            printed(numbers.len(), |row, text| print::ipv4(numbers.value(row), text))
        }
        DataType::Int256 | DataType::UInt256 => {
            let is_signed = operand.data_type == DataType::Int256;
            let numbers = values.as_fixed_size_binary();
            printed(numbers.len(), |row, text| print::wide(numbers.value(row), is_signed, text))
        }
        DataType::String => Ok(values),
        _ => cast(&values, &ArrowType::Utf8View),
    }
}

/// An array of texts, each written by `print`.
fn printed(rows: usize, print: impl Fn(usize, &mut Vec<u8>)) -> Result<ArrayRef, FunctionError> {
    let mut builder = BinaryViewBuilder::with_capacity(rows);
    let mut text = Vec::new();
    for row in 0..rows {
        text.clear();
        print(row, &mut text);
        builder.append_value(&text);
    }
    let texts = builder.finish().to_string_view().map_err(FunctionError::arrow("writing texts"))?;
    Ok(Arc::new(texts))
}

/// `2024-03-15`, `2024-03-15 01:02:03`, `2024-03-15 01:02:03.456`.
fn moments(call: &Call, data_type: &DataType) -> Result<ArrayRef, FunctionError> {
    let precision = match data_type {
        DataType::DateTime64 { precision, .. } => *precision,
        _ => 0,
    };
    let printer = |tick| {
        Ok::<_, FunctionError>(InstantPrinter { zone: moment::zone(call, 1)?, tick, precision })
    };
    match Moments::of(call, 0)? {
        Moments::Days(days) => printed(days.len(), |row, text| {
            print::date(civil::clamp(days.value(row).into()).into(), text);
        }),
        Moments::Seconds(seconds) => {
            let printer = printer(0)?;
            printed(seconds.len(), |row, text| printer.write(seconds.value(row), text))
        }
        Moments::Ticks(ticks, per_second) => {
            let printer = printer(per_second.ilog10() as u8)?;
            printed(ticks.len(), |row, text| printer.write(ticks.value(row), text))
        }
    }
}

/// Digits with a point; zeros at the end are left out.
fn decimals(values: &ArrayRef) -> Result<ArrayRef, FunctionError> {
    match values.data_type() {
        ArrowType::Decimal128(_, scale) => {
            let numbers = values.as_primitive::<Decimal128Type>();
            printed(numbers.len(), |row, text| print::decimal128(numbers.value(row), *scale, text))
        }
        ArrowType::Decimal256(_, scale) => {
            let numbers = values.as_primitive::<Decimal256Type>();
            printed(numbers.len(), |row, text| print::decimal256(numbers.value(row), *scale, text))
        }
        _ => cast(values, &ArrowType::Utf8View),
    }
}

/// Up to the first zero byte.
fn fixed_string(values: &ArrayRef) -> ArrayRef {
    let texts = Texts::of(values);
    texts.map_texts(|text, out| {
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        out.extend_from_slice(&text[..end]);
    })
}

fn sixteen_bytes(
    call: &Call,
    values: &ArrayRef,
    data_type: &DataType,
) -> Result<ArrayRef, FunctionError> {
    let Some(array) = values.as_fixed_size_binary_opt().filter(|array| array.value_length() == 16)
    else {
        return Err(wrong(
            call.name,
            format!("it cannot read {} as {data_type}", values.data_type()),
        ));
    };
    let print = if *data_type == DataType::Uuid { print::uuid } else { print::ipv6 };
    printed(array.len(), |row, text| print(array.value(row), text))
}
