//! Rounding besides `round`: `ceil`, `floor`, `trunc`, `roundBankers`, and to the steps of `roundToExp2`, `roundAge`,
//! `roundDuration`, `roundDown`.

use super::super::access::{Kind, item_of, rule, takes, type_at, wide_integers};
use super::super::arithmetic::{Integer, integer};
use super::super::array::compare_items;
use super::super::moment::constant_integer;
use super::super::supertype::{supertype, widened};
use super::super::{Call, Function, Operand, Signature, cast, expect_count, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Decimal256Type, Float64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_buffer::i256;
use arrow_schema::DataType as ArrowType;
use arrow_select::interleave::interleave;
use std::sync::Arc;
use tambour_part::types::DataType;

/// Where a number between two others goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Way {
    Up,
    Down,
    ToZero,
    HalfToEven,
    HalfAway,
}

/// The functions of this room.
pub(in super::super) const FUNCTIONS: &[Function] = &[
    Function::new("ceil", round_type, |c| round(c, Way::Up)).any_case().aliases(&["ceiling"]),
    Function::new("floor", round_type, |c| round(c, Way::Down)).any_case(),
    Function::new("trunc", round_type, |c| round(c, Way::ToZero)).any_case().aliases(&["truncate"]),
    Function::new("roundBankers", round_type, |c| round(c, Way::HalfToEven)),
    Function::new("roundToExp2", same_type, round_to_exp2),
    Function::new("roundAge", rule!(Number => DataType::UInt8), |c| {
        let ages = c.floats(0)?;
        c.make_integers(|row| match ages.get(row) {
            age if age < 1.0 => 0,
            age if age < 18.0 => 17,
            age if age < 25.0 => 18,
            age if age < 35.0 => 25,
            age if age < 45.0 => 35,
            age if age < 55.0 => 45,
            _ => 55,
        })
    }),
    Function::new("roundDuration", rule!(Number => DataType::UInt16), |c| {
        const STEPS: [i128; 15] =
            [1, 10, 30, 60, 120, 180, 240, 300, 600, 1200, 1800, 3600, 7200, 18_000, 36_000];
        let durations = c.floats(0)?;
        c.make_integers(|row| {
            let duration = durations.get(row);
            let duration = if duration.is_nan() { f64::INFINITY } else { duration };
            let below = STEPS.iter().rev().find(|step| **step as f64 <= duration);
            below.copied().unwrap_or(0)
        })
    }),
    Function::new("roundDown", down_type, round_down),
];

/// The type of numbers and of what they are rounded to. Items that are written out have a sign here.
fn down_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Numeric, Kind::Array], &[])?;
    let is_number = |it: &DataType| {
        integer(it).is_some()
            || matches!(it, DataType::Float32 | DataType::Float64 | DataType::Decimal { .. })
    };
    let (number, item) = (type_at(s, 0), item_of(type_at(s, 1)));
    if [number, item].into_iter().any(|it| *it == DataType::Bool || !is_number(it)) {
        return Err(wrong(name, format!("it does not take {number} and {item}")));
    }
    if (number, item) == (&DataType::UInt64, &DataType::Int64) {
        return Ok(DataType::UInt64);
    }
    supertype(number, item)
        .ok_or_else(|| wrong(name, format!("there is no common type of {number} and {item}")))
}

/// The steps: those of all rows, none of which is NULL.
fn steps(call: &Call) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(1)?;
    let values = lists.items.values.clone();
    if !call.operand(1)?.is_constant || values.is_empty() || values.null_count() > 0 {
        return Err(wrong(call.name, "the array must be constant, and hold numbers"));
    }
    let is_below = *call.result == DataType::UInt64
        && wide_integers(&values)?.into_iter().any(|number| number < 0);
    if is_below {
        return Err(wrong(call.name, "a step below 0 is beside numbers without a sign"));
    }
    Ok(values)
}

/// The greatest step that is not above the number, or else the least one. A NaN stays.
fn round_down(call: &Call) -> Result<ArrayRef, FunctionError> {
    let of_result = |values: &ArrayRef| {
        let values = widened(values, call.result)?;
        Ok::<_, FunctionError>(Operand {
            data_type: call.result.clone(),
            values,
            is_constant: false,
        })
    };
    let (numbers, steps) = (of_result(&call.values(0)?)?, of_result(&steps(call)?)?);
    let is_nan = |operand: &Operand| {
        let floats = matches!(call.result, DataType::Float32 | DataType::Float64)
            .then(|| cast(&operand.values, &ArrowType::Float64))
            .transpose()?;
        let nan = floats.map(|floats| {
            let floats = floats.as_primitive::<Float64Type>();
            floats.iter().map(|it| it.is_some_and(f64::is_nan)).collect::<Vec<bool>>()
        });
        Ok::<_, FunctionError>(nan.unwrap_or_default())
    };
    if is_nan(&steps)?.contains(&true) {
        return Err(wrong(call.name, "the array must not hold NaN"));
    }
    let stays = is_nan(&numbers)?;
    let compared = compare_items(&[&numbers, &steps])?;
    let [of_numbers, of_steps] = compared.as_slice() else {
        return Err(wrong(call.name, "it takes a number and an array"));
    };
    let mut order: Vec<usize> = (0..steps.values.len()).collect();
    order.sort_by(|a, b| of_steps.get(*a).cmp(of_steps.get(*b)));
    let place = |row: usize| {
        if stays.get(row).copied().unwrap_or(false) {
            return (0, row);
        }
        let above = order.partition_point(|at| of_steps.get(*at) <= of_numbers.get(row));
        (1, order.get(above.saturating_sub(1)).copied().unwrap_or(0))
    };
    let places: Vec<(usize, usize)> = (0..call.rows).map(place).collect();
    interleave(&[numbers.values.as_ref(), steps.values.as_ref()], &places)
        .map_err(FunctionError::arrow("take steps"))
}

fn round_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=2)?;
    takes(name, s.get(..1).unwrap_or_default(), &[Kind::Numeric], &[])?;
    constant_integer(name, s, 1)?;
    match type_at(s, 0) {
        DataType::Bool => {
            Err(wrong(name, "it does not take Bool, of which ClickHouse makes Bools"))
        }
        other => Ok(other.clone()),
    }
}

fn same_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Number], &[])?;
    Ok(type_at(s, 0).clone())
}

fn of_float(float: f64, way: Way) -> f64 {
    match way {
        Way::Up => float.ceil(),
        Way::Down => float.floor(),
        Way::ToZero => float.trunc(),
        Way::HalfToEven => float.round_ties_even(),
        Way::HalfAway => float.round(),
    }
}

fn of_integer(number: i128, unit: i128, way: Way) -> i128 {
    let down = number - number.rem_euclid(unit);
    let rest = number - down;
    // Not twice the rest, which may have no room.
    let half = rest.cmp(&(unit - rest));
    match way {
        _ if rest == 0 => number,
        Way::Up => down + unit,
        Way::Down => down,
        Way::ToZero if number < 0 => down + unit,
        Way::ToZero => down,
        Way::HalfToEven => {
            let is_up = half.is_gt() || half.is_eq() && down.div_euclid(unit) % 2 != 0;
            if is_up { down + unit } else { down }
        }
        Way::HalfAway => {
            let is_up = half.is_gt() || half.is_eq() && number > 0;
            if is_up { down + unit } else { down }
        }
    }
}

/// The same of numbers of 256 bits; what leaves them wraps around.
fn of_widest(number: i256, unit: i256, way: Way) -> i256 {
    let (zero, one) = (i256::ZERO, i256::ONE);
    let cut = number.wrapping_rem(unit);
    let rest = if cut < zero { cut.wrapping_add(unit) } else { cut };
    let down = number.wrapping_sub(rest);
    let half = rest.cmp(&unit.wrapping_sub(rest));
    let is_up = match way {
        _ if rest == zero => false,
        Way::Up => true,
        Way::Down => false,
        Way::ToZero => number < zero,
        Way::HalfToEven => {
            let is_odd = down.wrapping_div(unit).wrapping_rem(one.wrapping_add(one)) != zero;
            half.is_gt() || half.is_eq() && is_odd
        }
        Way::HalfAway => half.is_gt() || half.is_eq() && number > zero,
    };
    if is_up { down.wrapping_add(unit) } else { down }
}

/// Decimals without this many of their digits, which become zeros.
pub(in super::super) fn decimals(
    values: &ArrayRef,
    (precision, dropped): (u8, i64),
    way: Way,
) -> ArrayRef {
    if dropped <= 0 {
        return values.clone();
    }
    // ClickHouse has no room for greater powers of ten.
    let is_past = dropped > most_digits(precision);
    if let Some(numbers) = values.as_primitive_opt::<Decimal128Type>() {
        let unit = power(dropped);
        let rounded: PrimitiveArray<Decimal128Type> =
            numbers.unary(|number| if is_past { 0 } else { of_integer(number, unit, way) });
        return Arc::new(rounded.with_data_type(values.data_type().clone()));
    }
    let Some(numbers) = values.as_primitive_opt::<Decimal256Type>() else { return values.clone() };
    let ten = i256::from_i128(10);
    let unit = (0..dropped.min(MOST_DIGITS)).fold(i256::ONE, |it, _| it.wrapping_mul(ten));
    let round = |number| if is_past { i256::ZERO } else { of_widest(number, unit, way) };
    let rounded: PrimitiveArray<Decimal256Type> = numbers.unary(round);
    Arc::new(rounded.with_data_type(values.data_type().clone()))
}

/// The multiple where what is added on the way leaves the type, and wraps around: of a type without such multiples it is 0.
/// Halves of narrow numbers are added in 32 bits, where those have room; the whole step below them is taken before.
pub(in super::super) fn wrapped(
    data_type: &DataType,
    number: i128,
    (added, is_half): (i128, bool),
    unit: i128,
) -> Option<i128> {
    let Integer { bits, is_signed } = integer(data_type)?;
    let low = if is_signed { -(1_i128 << (bits - 1)) } else { 0 };
    let range = low..low + (1_i128 << bits);
    if unit >= range.end {
        return Some(0);
    }
    let is_narrow = bits < 32 && is_half;
    let toward = match (number < 0, is_narrow) {
        (false, true) => return None,
        (true, true) => number - unit,
        (true, false) => number - added,
        (false, false) => number + added,
    };
    if range.contains(&toward) {
        return None;
    }
    let around = (toward - low).rem_euclid(1_i128 << bits) + low;
    let around = if is_narrow { around + added } else { around };
    Some(around / unit * unit)
}

/// A power of ten for floats. ClickHouse keeps it in 64 bits, which those above have no room in.
pub(in super::super) fn float_power(digits: i64) -> f64 {
    u32::try_from(digits.unsigned_abs())
        .ok()
        .and_then(|digits| 10_u64.checked_pow(digits))
        .unwrap_or(u64::MAX) as f64
}

fn power(digits: i64) -> i128 {
    10_i128.pow(digits.unsigned_abs().min(38) as u32)
}

/// Those of numbers of 256 bits.
const MOST_DIGITS: i64 = 76;

/// The digits of the greatest power of ten that the number of a decimal holds.
fn most_digits(precision: u8) -> i64 {
    match precision {
        0..=9 => 9,
        10..=18 => 18,
        19..=38 => 38,
        _ => MOST_DIGITS,
    }
}

fn round(call: &Call, way: Way) -> Result<ArrayRef, FunctionError> {
    let signatures: Vec<Signature> = call.operands.iter().map(Operand::signature).collect();
    let digits = constant_integer(call.name, &signatures, 1)?.unwrap_or(0).clamp(-80, 80);
    match call.result {
        DataType::Float32 => {
            let (floats, unit) = (call.floats(0)?, float_power(digits) as f32);
            call.make_floats(|row| {
                let float = floats.get(row) as f32;
                let scaled = if digits >= 0 { float * unit } else { float / unit };
                let rounded = of_float(f64::from(scaled), way) as f32;
                f64::from(if digits >= 0 { rounded / unit } else { rounded * unit })
            })
        }
        DataType::Float64 => {
            let (floats, unit) = (call.floats(0)?, float_power(digits));
            call.make_floats(|row| {
                let float = floats.get(row);
                if digits >= 0 {
                    of_float(float * unit, way) / unit
                } else {
                    of_float(float / unit, way) * unit
                }
            })
        }
        DataType::Decimal { precision, scale } => {
            Ok(decimals(&call.values(0)?, (*precision, i64::from(*scale) - digits), way))
        }
        _ => {
            let (numbers, unit) = (call.integers(0)?, power(digits));
            call.make_integers(|row| {
                let number = numbers.get(row);
                if digits >= 0 {
                    return number;
                }
                let added = match way {
                    Way::Up if number >= 0 => unit - 1,
                    Way::Down if number < 0 => unit - 1,
                    Way::HalfToEven => unit / 2,
                    _ => 0,
                };
                wrapped(call.result, number, (added, way == Way::HalfToEven), unit)
                    .unwrap_or_else(|| of_integer(number, unit, way))
            })
        }
    }
}

/// The power of two below; of negative integers 0.
fn round_to_exp2(call: &Call) -> Result<ArrayRef, FunctionError> {
    if matches!(call.result, DataType::Float32 | DataType::Float64) {
        let floats = call.floats(0)?;
        let is_wide = *call.result == DataType::Float64;
        return call.make_floats(|row| {
            // Sign and exponent stay.
            let float = floats.get(row);
            if is_wide {
                f64::from_bits(float.to_bits() & 0xfff0_0000_0000_0000)
            } else {
                f64::from(f32::from_bits((float as f32).to_bits() & 0xff80_0000))
            }
        });
    }
    let numbers = call.integers(0)?;
    call.make_integers(|row| {
        let number = numbers.get(row);
        let magnitude = number.unsigned_abs();
        let below = magnitude.checked_ilog2().map_or(0, |bit| 1_i128 << bit);
        if number < 0 { 0 } else { below }
    })
}
