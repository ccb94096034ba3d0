//! Numbers in queries: `round` as ClickHouse rounds, bits, `isNaN`, and `assumeNotNull`.

use super::arithmetic::{Integer, bits, integer, narrow, pair};
use super::element::default_of;
use super::math::round::{Way, decimals, float_power, wrapped};
use super::moment::constant_integer;
use super::{Call, Function, Signature, cast, expect_count, wide, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, UInt8Type};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType as ArrowType;
use arrow_select::interleave::interleave;
use std::sync::Arc;
use tambour_part::types::DataType;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("round", round_type, round).any_case(),
    Function::new("bitAnd", bits_type, |c| of_bits(c, |a, b| a & b)),
    Function::new("bitOr", bits_type, |c| of_bits(c, |a, b| a | b)),
    Function::new("bitXor", bits_type, |c| of_bits(c, |a, b| a ^ b)),
    Function::new("isNaN", kind_type, |c| kind(c, f64::is_nan)).predicate(),
    Function::new("isFinite", kind_type, |c| kind(c, f64::is_finite)).predicate(),
    Function::new("isInfinite", kind_type, |c| kind(c, f64::is_infinite)).predicate(),
    Function::new("assumeNotNull", same_type, assume_not_null).takes_nulls(),
];

fn round_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=2)?;
    constant_integer(name, s, 1)?;
    match s.first().map(|first| &first.data_type) {
        Some(same @ (DataType::Float32 | DataType::Float64 | DataType::Decimal { .. })) => {
            Ok(same.clone())
        }
        Some(same) if integer(same).is_some() => Ok(same.clone()),
        Some(other) => Err(wrong(name, format!("it does not take {other}"))),
        None => Err(wrong(name, "it takes an argument")),
    }
}

/// Halves go to the even neighbour in floats, away from zero in decimals and integers.
fn round(call: &Call) -> Result<ArrayRef, FunctionError> {
    let signatures: Vec<Signature> = call.operands.iter().map(super::Operand::signature).collect();
    let digits = constant_integer(call.name, &signatures, 1)?.unwrap_or(0).clamp(-80, 80) as i32;
    let values = call.values(0)?;
    Ok(match call.result {
        DataType::Float64 => {
            let power = float_power(i64::from(digits));
            Arc::new(values.as_primitive::<Float64Type>().unary::<_, Float64Type>(|value| {
                if digits >= 0 {
                    (value * power).round_ties_even() / power
                } else {
                    (value / power).round_ties_even() * power
                }
            }))
        }
        DataType::Float32 => {
            let power = float_power(i64::from(digits)) as f32;
            Arc::new(values.as_primitive::<Float32Type>().unary::<_, Float32Type>(|value| {
                if digits >= 0 {
                    (value * power).round_ties_even() / power
                } else {
                    (value / power).round_ties_even() * power
                }
            }))
        }
        DataType::Decimal { precision, scale } => {
            decimals(&values, (*precision, i64::from(*scale) - i64::from(digits)), Way::HalfAway)
        }
        _ if digits >= 0 => values,
        _ => {
            let unit = power(digits.abs());
            let whole = bits(&call.operands[0])?;
            let is_signed = integer(call.result).is_some_and(|it| it.is_signed);
            let wide = |bits: i64| {
                if is_signed { i128::from(bits) } else { i128::from(bits.cast_unsigned()) }
            };
            let round = |bits: &i64| {
                let number = wide(*bits);
                wrapped(call.result, number, (unit / 2, true), unit)
                    .unwrap_or_else(|| half_away(number, unit)) as i64
            };
            narrow(call, whole.iter().map(round).collect())?
        }
    })
}

fn power(digits: i32) -> i128 {
    10_i128.checked_pow(digits.unsigned_abs()).unwrap_or(i128::MAX)
}

fn half_away(number: i128, unit: i128) -> i128 {
    let rest = number % unit;
    let cut = number - rest;
    if rest.unsigned_abs() >= unit.unsigned_abs().div_ceil(2) {
        cut.saturating_add(unit * number.signum())
    } else {
        cut
    }
}

fn bits_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=2)?;
    if let Some(found) = wide::result_type(name, s) {
        return Ok(found);
    }
    match s {
        [left, right] => match (integer(&left.data_type), integer(&right.data_type)) {
            (Some(left), Some(right)) => Ok(Integer {
                bits: left.bits.max(right.bits),
                is_signed: left.is_signed || right.is_signed,
            }
            .data_type()),
            _ => Err(wrong(name, "it takes integers")),
        },
        _ => Err(wrong(name, "it takes 2 arguments")),
    }
}

fn of_bits(call: &Call, make: fn(i64, i64) -> i64) -> Result<ArrayRef, FunctionError> {
    match call.operands {
        _ if wide::takes(call) => wide::evaluate(call),
        [left, right] => narrow(call, pair(call, &bits(left)?, &bits(right)?, make)),
        _ => Err(wrong(call.name, "it takes 2 arguments")),
    }
}

fn kind_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=1)?;
    match s.first().map(|first| &first.data_type) {
        Some(DataType::Float32 | DataType::Float64) => Ok(DataType::UInt8),
        Some(other) if integer(other).is_some() => Ok(DataType::UInt8),
        _ => Err(wrong(name, "it takes a number")),
    }
}

fn kind(call: &Call, is_it: fn(f64) -> bool) -> Result<ArrayRef, FunctionError> {
    let floats = cast(&call.values(0)?, &ArrowType::Float64)?;
    let of_row = |float: f64| u8::from(is_it(float));
    Ok(Arc::new(floats.as_primitive::<Float64Type>().unary::<_, UInt8Type>(of_row)))
}

fn same_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=1)?;
    Ok(s.first().map_or(DataType::String, |first| super::bare(&first.data_type).clone()))
}

/// The default of the type stands for NULL.
fn assume_not_null(call: &Call) -> Result<ArrayRef, FunctionError> {
    let values = call.values(0)?;
    let Some(nulls) = values.logical_nulls().filter(|nulls| nulls.null_count() > 0) else {
        return Ok(values);
    };
    let default = default_of(&values)?;
    with_default(&values, &nulls, &default)
}

/// Values with others in the place of NULLs, one for all or one for each.
pub(super) fn filled(values: &ArrayRef, default: &ArrayRef) -> Result<ArrayRef, FunctionError> {
    match values.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
        Some(nulls) => with_default(values, &nulls, default),
        None => Ok(values.clone()),
    }
}

fn with_default(
    values: &ArrayRef,
    nulls: &NullBuffer,
    default: &ArrayRef,
) -> Result<ArrayRef, FunctionError> {
    let of_row = |row: usize| if default.len() == values.len() { row } else { 0 };
    let place = |row: usize| if nulls.is_null(row) { (1, of_row(row)) } else { (0, row) };
    let places: Vec<(usize, usize)> = (0..values.len()).map(place).collect();
    interleave(&[values.as_ref(), default.as_ref()], &places)
        .map_err(FunctionError::arrow("fill in defaults"))
}

#[cfg(test)]
mod tests {
    use super::half_away;

    #[test]
    fn halves_go_away_from_zero() {
        for (number, unit, rounded) in [
            (25, 10, 30),
            (-25, 10, -30),
            (24, 10, 20),
            (255, 10, 260),
            (-4, 10, 0),
            (50, 100, 100),
        ] {
            assert_eq!(half_away(number, unit), rounded, "{number}");
        }
    }
}
