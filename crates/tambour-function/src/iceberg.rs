//! The transforms of Apache Iceberg's partitions: `icebergHash`, `icebergBucket`, `icebergTruncate`
//! (<https://iceberg.apache.org/spec/#partition-transforms>).

use super::access::{Kind, integer_array, takes, type_at, wide_integers};
use super::arithmetic::{Integer, integer};
use super::mixing::murmur_3_32;
use super::moment::constant_integer;
use super::string::letter_width;
use super::{Call, Function, Signature, cast, expect_count, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_schema::DataType as ArrowType;
use std::sync::Arc;
use tambour_part::types::DataType;

/// Digits of the decimals that are cut.
const CUT_DIGITS_MAX: u8 = 18;
/// Digits of the decimals that are hashed.
const HASHED_DIGITS_MAX: u8 = 38;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "icebergHash",
        |n, s| {
            expect_count(n, s, 1..=1)?;
            expect_hashed(n, type_at(s, 0)).map(|()| DataType::Int32)
        },
        |c| {
            let hashes = hashes(c, 0)?;
            c.make_integers(|row| i128::from(hashes[row].cast_signed()))
        },
    ),
    Function::new("icebergBucket", bucket_type, bucket),
    Function::new("icebergTruncate", cut_type, cut),
];

fn expect_hashed(name: &str, data_type: &DataType) -> Result<(), FunctionError> {
    match data_type {
        DataType::String
        | DataType::FixedString(_)
        | DataType::Float32
        | DataType::Float64
        | DataType::Date
        | DataType::Date32
        | DataType::Uuid => Ok(()),
        DataType::Decimal { precision, .. } if *precision <= HASHED_DIGITS_MAX => Ok(()),
        number if integer(number).is_some() => Ok(()),
        other => Err(wrong(name, format!("it does not take {other}"))),
    }
}

/// The hash of each value: integers and days as 64 bits, decimals by as few bytes as they need, the highest first.
fn hashes(call: &Call, index: usize) -> Result<Vec<u32>, FunctionError> {
    let values = call.values(index)?;
    let of_number = |number: i64| murmur_3_32(&number.to_le_bytes());
    Ok(match &call.operand(index)?.data_type {
        DataType::String | DataType::FixedString(_) | DataType::Uuid => {
            let texts = call.texts(index)?;
            (0..call.rows).map(|row| murmur_3_32(texts.get(row))).collect()
        }
        DataType::Float32 | DataType::Float64 => {
            let floats = cast(&values, &ArrowType::Float64)?;
            let of_float = |float: &f64| {
                let one = if float.is_nan() { f64::NAN } else { *float + 0.0 };
                murmur_3_32(&one.to_le_bytes())
            };
            floats.as_primitive::<Float64Type>().values().iter().map(of_float).collect()
        }
        DataType::Decimal { .. } => match values.as_primitive_opt::<Decimal128Type>() {
            Some(decimals) => {
                decimals.values().iter().map(|number| murmur_3_32(&least_bytes(*number))).collect()
            }
            None => return Err(wrong(call.name, "it does not take such decimals")),
        },
        DataType::Date | DataType::Date32 => {
            let days = wide_integers(&cast(&values, &ArrowType::Int32)?)?;
            days.into_iter().map(|day| of_number(day as i64)).collect()
        }
        _ => wide_integers(&values)?.into_iter().map(|number| of_number(number as i64)).collect(),
    })
}

/// The bytes of a number, the highest first, without those that only carry the sign on.
fn least_bytes(number: i128) -> Vec<u8> {
    let bytes = number.to_be_bytes();
    let fill = if number < 0 { 0xff } else { 0 };
    let is_needless = |pair: &[u8]| pair[0] == fill && (pair[1] ^ fill) & 0x80 == 0;
    let first = bytes.windows(2).take_while(|pair| is_needless(pair)).count();
    bytes.get(first..).unwrap_or_default().to_vec()
}

/// The first argument: a constant that is positive.
fn width(name: &'static str, s: &[Signature]) -> Result<i64, FunctionError> {
    let refused = || wrong(name, "its first argument must be a constant integer from 1 on");
    match constant_integer(name, s, 0)? {
        Some(width @ 1..) if integer(type_at(s, 0)).is_some_and(|it| !it.is_signed) => Ok(width),
        _ => Err(refused()),
    }
}

fn signatures(call: &Call) -> Vec<Signature> {
    call.operands.iter().map(super::Operand::signature).collect()
}

fn bucket_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::ConstInteger, Kind::Any], &[])?;
    if i32::try_from(width(name, s)?).is_err() {
        return Err(wrong(name, "the number of buckets must fit an Int32"));
    }
    expect_hashed(name, type_at(s, 1)).map(|()| DataType::UInt32)
}

fn bucket(call: &Call) -> Result<ArrayRef, FunctionError> {
    let count = width(call.name, &signatures(call))?;
    let hashes = hashes(call, 1)?;
    call.make_integers(|row| i128::from(i64::from(hashes[row] & 0x7fff_ffff) % count))
}

fn cut_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::ConstInteger, Kind::Any], &[])?;
    width(name, s)?;
    match (type_at(s, 1), integer(type_at(s, 0)), integer(type_at(s, 1))) {
        (DataType::String | DataType::FixedString(_), ..) => Ok(DataType::String),
        (decimal @ DataType::Decimal { precision, .. }, ..) if *precision <= CUT_DIGITS_MAX => {
            Ok(decimal.clone())
        }
        (_, Some(width), Some(number)) => {
            let bits = (width.bits.max(number.bits) * 2).min(64);
            Ok(Integer { bits, is_signed: true }.data_type())
        }
        (other, ..) => Err(wrong(name, format!("it does not take {other}"))),
    }
}

/// The multiple of the width that is not above; of a text as many letters.
fn cut(call: &Call) -> Result<ArrayRef, FunctionError> {
    let width = width(call.name, &signatures(call))?;
    if matches!(call.result, DataType::String) {
        let texts = call.texts(1)?;
        return call.make_texts(|row, out| {
            let text = texts.get(row);
            let mut end = 0;
            for _ in 0..width {
                let Some(first) = text.get(end) else { break };
                // What begins no letter is one.
                end += letter_width(*first);
            }
            out.extend_from_slice(text.get(..end.min(text.len())).unwrap_or_default());
        });
    }
    let whole = |number: i128| number.div_euclid(width.into()) * i128::from(width);
    let values = call.values(1)?;
    if let Some(decimals) = values.as_primitive_opt::<Decimal128Type>() {
        let cut: PrimitiveArray<Decimal128Type> = decimals.unary(whole);
        return Ok(Arc::new(cut.with_data_type(values.data_type().clone())));
    }
    let mut numbers = Vec::with_capacity(call.rows);
    for (row, number) in wide_integers(&values)?.into_iter().enumerate() {
        let cut = whole(number);
        if i64::try_from(number).is_err() || i64::try_from(cut).is_err() {
            return Err(call.value_error(row, "the value does not fit an Int64"));
        }
        numbers.push(cut);
    }
    integer_array(call.name, call.result, numbers.into_iter())
}

#[cfg(test)]
mod tests {
    use super::least_bytes;

    #[test]
    fn decimals_have_as_few_bytes_as_they_need() {
        assert_eq!(least_bytes(1420), [0x05, 0x8c]);
        assert_eq!(least_bytes(-1420), [0xfa, 0x74]);
        assert_eq!((least_bytes(0), least_bytes(-1)), (vec![0], vec![0xff]));
        assert_eq!((least_bytes(128), least_bytes(-128)), (vec![0, 0x80], vec![0x80]));
    }
}
