//! The bytes of a value as another: `reinterpretAsUInt32('abcd')`, `reinterpretAsString(1)`. Numbers are the bytes of little-endian
//! machines; what is too long is cut, what is too short gets zeros.

use super::access::type_at;
use super::{Call, Function, Signature, expect_count, wrong};
use crate::FunctionError;
use arrow_array::types::{
    Date32Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use std::sync::Arc;
use tambour_part::types::DataType;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "reinterpretAsUInt8",
        |n, s| number(n, s, DataType::UInt8),
        |c| numbers::<UInt8Type, 1>(c, u8::from_le_bytes),
    ),
    Function::new(
        "reinterpretAsUInt16",
        |n, s| number(n, s, DataType::UInt16),
        |c| numbers::<UInt16Type, 2>(c, u16::from_le_bytes),
    ),
    Function::new(
        "reinterpretAsUInt32",
        |n, s| number(n, s, DataType::UInt32),
        |c| numbers::<UInt32Type, 4>(c, u32::from_le_bytes),
    ),
    Function::new(
        "reinterpretAsUInt64",
        |n, s| number(n, s, DataType::UInt64),
        |c| numbers::<UInt64Type, 8>(c, u64::from_le_bytes),
    ),
    Function::new(
        "reinterpretAsInt8",
        |n, s| number(n, s, DataType::Int8),
        |c| numbers::<Int8Type, 1>(c, i8::from_le_bytes),
    ),
    Function::new(
        "reinterpretAsInt16",
        |n, s| number(n, s, DataType::Int16),
        |c| numbers::<Int16Type, 2>(c, i16::from_le_bytes),
    ),
    Function::new(
        "reinterpretAsInt32",
        |n, s| number(n, s, DataType::Int32),
        |c| numbers::<Int32Type, 4>(c, i32::from_le_bytes),
    ),
    Function::new(
        "reinterpretAsInt64",
        |n, s| number(n, s, DataType::Int64),
        |c| numbers::<Int64Type, 8>(c, i64::from_le_bytes),
    ),
    Function::new(
        "reinterpretAsFloat32",
        |n, s| number(n, s, DataType::Float32),
        |c| numbers::<Float32Type, 4>(c, f32::from_le_bytes),
    ),
    Function::new(
        "reinterpretAsFloat64",
        |n, s| number(n, s, DataType::Float64),
        |c| numbers::<Float64Type, 8>(c, f64::from_le_bytes),
    ),
    Function::new(
        "reinterpretAsDate",
        |n, s| number(n, s, DataType::Date),
        |c| numbers::<Date32Type, 2>(c, |bytes| i32::from(u16::from_le_bytes(bytes))),
    ),
    Function::new(
        "reinterpretAsDateTime",
        |n, s| number(n, s, DataType::DateTime { zone: None }),
        |c| numbers::<TimestampSecondType, 4>(c, |bytes| i64::from(u32::from_le_bytes(bytes))),
    ),
    Function::new("reinterpretAsInt128", |n, s| number(n, s, DataType::Int128), |c| wide(c, 16)),
    Function::new("reinterpretAsUInt128", |n, s| number(n, s, DataType::UInt128), |c| wide(c, 16)),
    Function::new("reinterpretAsInt256", |n, s| number(n, s, DataType::Int256), |c| wide(c, 32)),
    Function::new("reinterpretAsUInt256", |n, s| number(n, s, DataType::UInt256), |c| wide(c, 32)),
    Function::new("reinterpretAsUUID", |n, s| number(n, s, DataType::Uuid), uuids),
    Function::new("reinterpretAsString", text_type, texts).bytes(),
];

/// Bytes of a value of a type; `None` for texts, which have as many as they like.
fn width(name: &str, data_type: &DataType) -> Result<Option<usize>, FunctionError> {
    use DataType as T;
    Ok(match data_type {
        T::String | T::FixedString(_) => None,
        T::UInt8 | T::Int8 => Some(1),
        T::UInt16 | T::Int16 | T::Date => Some(2),
        T::UInt32 | T::Int32 | T::Float32 | T::Date32 | T::DateTime { .. } => Some(4),
        T::UInt64 | T::Int64 | T::Float64 | T::DateTime64 { .. } => Some(8),
        other => {
            let problem = format!("it takes numbers, dates, times and texts, not {other}");
            return Err(wrong(name, problem));
        }
    })
}

fn number(
    name: &'static str,
    s: &[Signature],
    result: DataType,
) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=1)?;
    width(name, type_at(s, 0))?;
    Ok(result)
}

fn text_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    number(name, s, DataType::String)
}

/// Calls with the bytes of each row.
fn each(call: &Call, mut take: impl FnMut(&[u8])) -> Result<(), FunctionError> {
    let Some(operand) = call.operands.first() else {
        return Err(wrong(call.name, "an argument is missing"));
    };
    let Some(width) = width(call.name, &operand.data_type)? else {
        let texts = call.texts(0)?;
        for row in 0..call.rows {
            take(texts.get(row));
        }
        return Ok(());
    };
    let values = call.values(0)?;
    let (Some(stored), data) = (values.data_type().primitive_width(), values.to_data()) else {
        return Err(wrong(call.name, "it takes plain values"));
    };
    let bytes = data.buffers().first().map_or(&[][..], |buffer| buffer.as_slice());
    for row in 0..values.len() {
        let start = (data.offset() + row) * stored;
        // Dates and times are wider here than there; their values are not.
        take(bytes.get(start..start + width).unwrap_or_default());
    }
    Ok(())
}

fn numbers<T: arrow_array::ArrowPrimitiveType, const N: usize>(
    call: &Call,
    make: impl Fn([u8; N]) -> T::Native,
) -> Result<ArrayRef, FunctionError> {
    let mut made = Vec::with_capacity(call.rows);
    each(call, |bytes| {
        let mut whole = [0; N];
        let length = bytes.len().min(N);
        if let (Some(to), Some(from)) = (whole.get_mut(..length), bytes.get(..length)) {
            to.copy_from_slice(from);
        }
        made.push(make(whole));
    })?;
    Ok(Arc::new(PrimitiveArray::<T>::from_iter_values(made)))
}

/// Zeros at the end of a number or a FixedString are not part of the text.
fn texts(call: &Call) -> Result<ArrayRef, FunctionError> {
    let is_text =
        call.operands.first().is_some_and(|operand| operand.data_type == DataType::String);
    let mut made: Vec<Vec<u8>> = Vec::with_capacity(call.rows);
    each(call, |bytes| {
        let last = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
        made.push(if is_text { bytes } else { bytes.get(..last).unwrap_or_default() }.to_vec());
    })?;
    call.make_texts(|row, out| out.extend_from_slice(made.get(row).map_or(&[], Vec::as_slice)))
}

/// Integers of 128 and 256 bits: the bytes of a value, filled up with zeros.
fn wide(call: &Call, width: usize) -> Result<ArrayRef, FunctionError> {
    let mut made = Vec::with_capacity(call.rows * width);
    let mut rows = 0;
    each(call, |bytes| {
        rows += 1;
        made.extend_from_slice(bytes.get(..bytes.len().min(width)).unwrap_or_default());
        made.resize(rows * width, 0);
    })?;
    if width > 16 {
        return call.make_fixed(width, |row, out| {
            out.extend_from_slice(made.get(row * width..(row + 1) * width).unwrap_or_default());
        });
    }
    let is_signed = matches!(call.result, DataType::Int128);
    let integers = made.chunks_exact(16).map(|bytes| {
        let number = u128::from_le_bytes(bytes.try_into().unwrap_or_default());
        let high = if is_signed && number >> 127 == 1 { -1 } else { 0 };
        arrow_buffer::i256::from_parts(number, high)
    });
    let array = PrimitiveArray::<Decimal256Type>::from_iter_values(integers)
        .with_precision_and_scale(76, 0)
        .map_err(FunctionError::arrow("make wide integers"))?;
    let typed = call.result.field("", tambour_part::types::Strings::Utf8);
    super::cast(&(Arc::new(array) as ArrayRef), typed.data_type())
}

/// The halves of a UUID are integers of 64 bits, which the machine writes backwards.
fn uuids(call: &Call) -> Result<ArrayRef, FunctionError> {
    let mut made: Vec<[u8; 16]> = Vec::with_capacity(call.rows);
    each(call, |bytes| {
        let mut whole = [0; 16];
        let length = bytes.len().min(16);
        if let (Some(to), Some(from)) = (whole.get_mut(..length), bytes.get(..length)) {
            to.copy_from_slice(from);
        }
        for half in whole.chunks_mut(8) {
            half.reverse();
        }
        made.push(whole);
    })?;
    call.make_fixed(16, |row, out| out.extend_from_slice(&made[row]))
}
