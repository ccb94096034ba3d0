//! Whole quotients of floats and decimals: `intDiv(7.5, 2)`. They are as wide as the dividend, and signed.

use super::arithmetic::{Integer, integer};
use super::decimal::{class, power, whole_numbers};
use super::{Call, Operand, Signature, bare, cast, wrong};
use crate::FunctionError;
use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_buffer::i256;
use arrow_schema::DataType as ArrowType;
use tambour_part::types::DataType;

/// Digits after the point of a decimal or an integer.
fn scale(data_type: &DataType) -> Option<u8> {
    match data_type {
        DataType::Decimal { scale, .. } => Some(*scale),
        other => integer(other).map(|_| 0),
    }
}

fn is_float(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float32 | DataType::Float64)
}

/// The width of what a dividend gives.
fn bits(data_type: &DataType) -> Option<u8> {
    match data_type {
        DataType::Float32 => Some(32),
        DataType::Float64 => Some(64),
        DataType::Decimal { precision, .. } => match class(*precision) {
            9 => Some(32),
            18 => Some(64),
            // A quotient of 128 bits is not an integer here.
            _ => None,
        },
        other => integer(other).map(|it| it.bits),
    }
}

/// The type of a quotient; `None` if these are not divided.
pub(super) fn data_type(s: &[Signature]) -> Option<DataType> {
    let [left, right] = s else { return None };
    let (left, right) = (&left.data_type, &right.data_type);
    if bits(right).is_none() && scale(right).is_none() {
        return None;
    }
    if let (DataType::Decimal { scale: left, .. }, DataType::Decimal { scale: right, .. }) =
        (left, right)
        && left < right
    {
        return None;
    }
    Some(Integer { bits: bits(left)?, is_signed: true }.data_type())
}

/// The whole part of each quotient. Quotients that do not fit are errors, as is a divisor of zero unless it gives zero.
pub(super) fn whole(call: &Call, zero_gives_zero: bool) -> Result<ArrayRef, FunctionError> {
    let [left, right] = call.operands else {
        return Err(wrong(call.name, "it takes 2 arguments"));
    };
    let number = Integer { is_signed: true, ..integer(bare(call.result)).unwrap_or(WIDEST) };
    let is_float = is_float(&left.data_type) || is_float(&right.data_type);
    let found =
        if is_float { of_floats(call, left, right, number)? } else { exact(call, left, right)? };
    let least = -(1_i128 << (number.bits - 1));
    let mut numbers = Vec::with_capacity(call.rows);
    for (row, quotient) in found.into_iter().enumerate() {
        numbers.push(match quotient {
            _ if call.is_null(row) => 0,
            Quotient::OfZero if zero_gives_zero => 0,
            Quotient::OfZero => return Err(call.value_error(row, "division by zero")),
            Quotient::Whole(whole) if (least..-least).contains(&whole) => whole,
            _ => {
                return Err(
                    call.value_error(row, "the quotient or the divisor is infinite or too large")
                );
            }
        });
    }
    call.make_integers(|row| numbers[row])
}

const WIDEST: Integer = Integer { bits: 64, is_signed: true };

/// What a division comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quotient {
    Whole(i128),
    OfZero,
    TooLarge,
}

fn of_floats(
    call: &Call,
    left: &Operand,
    right: &Operand,
    number: Integer,
) -> Result<Vec<Quotient>, FunctionError> {
    // Floats of 32 bits stay such, and make such of integers beside them.
    let is_wide = |operand: &Operand| {
        matches!(operand.data_type, DataType::Float64 | DataType::Decimal { .. })
    };
    let is_narrow = !is_wide(left) && !is_wide(right);
    let floats = |operand: &Operand| {
        let wide = cast(&operand.expanded(call.rows)?, &ArrowType::Float64)?;
        let wide = wide.as_primitive::<Float64Type>().values();
        let narrow = |float: &f64| if is_narrow { f64::from(*float as f32) } else { *float };
        Ok::<Vec<f64>, FunctionError>(wide.iter().map(narrow).collect())
    };
    let (dividends, divisors) = (floats(left)?, floats(right)?);
    let least = -((1_u64 << (number.bits - 1)) as f64);
    let most = ((1_u64 << (number.bits - 1)) - 1) as f64;
    let divide = |(dividend, divisor): (f64, f64)| {
        if divisor == 0.0 {
            return Quotient::OfZero;
        }
        let quotient = dividend / divisor;
        let quotient = if is_narrow { f64::from(quotient as f32) } else { quotient };
        // The ends themselves are too large there. An infinite divisor is refused, though its quotient is zero.
        let is_there = quotient > least && quotient < most && divisor.is_finite();
        if is_there { Quotient::Whole(quotient as i128) } else { Quotient::TooLarge }
    };
    Ok(dividends.into_iter().zip(divisors).map(divide).collect())
}

fn exact(call: &Call, left: &Operand, right: &Operand) -> Result<Vec<Quotient>, FunctionError> {
    let side = |operand: &Operand| {
        let values = operand.expanded(call.rows)?;
        whole_numbers(call, &Operand { values, ..operand.clone() })
    };
    let (dividends, divisors) = (side(left)?, side(right)?);
    let scales = (scale(&left.data_type).unwrap_or(0), scale(&right.data_type).unwrap_or(0));
    let reads_sign = right.data_type == DataType::UInt64;
    let moved = |number: i256, by: u8| power(by).and_then(|by| number.checked_mul(by));
    let divide = |(dividend, divisor): (i256, i256)| {
        if divisor == i256::ZERO {
            return Quotient::OfZero;
        }
        // There the largest UInt64 divide as negative numbers.
        if reads_sign && divisor > i256::from(i64::MAX) {
            return Quotient::TooLarge;
        }
        let dividend = moved(dividend, scales.1.saturating_sub(scales.0));
        let divisor = moved(divisor, scales.0.saturating_sub(scales.1));
        let quotient = dividend.zip(divisor).and_then(|(a, b)| a.checked_div(b)?.to_i128());
        quotient.map_or(Quotient::TooLarge, Quotient::Whole)
    };
    Ok(dividends.into_iter().zip(divisors).map(divide).collect())
}
