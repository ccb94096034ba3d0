//! Decimals: conversions to them, which cut digits off and never round, products and quotients with a scale of one's
//! choice, and remainders.

use super::access::{Failure, Kind, takes, type_at, wide_integers};
use super::arithmetic::integer;
use super::moment::constant_integer;
use super::text::Texts;
use super::{Call, Function, Operand, Signature, bare, cast, expect_count, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Decimal256Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_buffer::i256;
use arrow_schema::DataType as ArrowType;
use std::sync::Arc;
use tambour_part::types::DataType;

macro_rules! conversions {
    ($($name:literal $or_zero:literal $or_null:literal $or_default:literal $precision:literal;)+) => {
        &[
            $(
                Function::new(
                    $name,
                    |n, s| decimal_type(n, s, $precision),
                    |c| convert(c, Failure::Error),
                ),
                Function::new(
                    $or_zero,
                    |n, s| text_type(n, s, $precision),
                    |c| convert(c, Failure::Zero),
                ),
                Function::new(
                    $or_null,
                    |n, s| text_type(n, s, $precision).map(DataType::made_nullable),
                    |c| convert(c, Failure::Null),
                ),
                Function::new($or_default, |n, s| default_type(n, s, $precision), or_default)
                    .takes_nulls(),
            )+
            Function::new("multiplyDecimal", product_type, |c| scaled(c, false)),
            Function::new("divideDecimal", product_type, |c| scaled(c, true)),
        ]
    };
}

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = conversions! {
    "toDecimal32" "toDecimal32OrZero" "toDecimal32OrNull" "toDecimal32OrDefault" 9;
    "toDecimal64" "toDecimal64OrZero" "toDecimal64OrNull" "toDecimal64OrDefault" 18;
    "toDecimal128" "toDecimal128OrZero" "toDecimal128OrNull" "toDecimal128OrDefault" 38;
    "toDecimal256" "toDecimal256OrZero" "toDecimal256OrNull" "toDecimal256OrDefault" 76;
};

const DIGITS_MAX: u8 = 76;

fn scale(
    name: &'static str,
    s: &[Signature],
    index: usize,
    precision: u8,
) -> Result<u8, FunctionError> {
    match constant_integer(name, s, index)?.map(u8::try_from) {
        Some(Ok(scale)) if scale <= precision => Ok(scale),
        _ => Err(wrong(name, format!("the scale must be a constant from 0 to {precision}"))),
    }
}

fn is_taken(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::String
            | DataType::FixedString(_)
            | DataType::Float32
            | DataType::Float64
            | DataType::Decimal { .. }
            | DataType::Int128
            | DataType::UInt128
    ) || integer(data_type).is_some()
}

fn decimal_type(
    name: &'static str,
    s: &[Signature],
    precision: u8,
) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=2)?;
    match s.first().map(|first| &first.data_type) {
        Some(taken) if is_taken(taken) => {
            Ok(DataType::Decimal { precision, scale: scale(name, s, 1, precision)? })
        }
        Some(other) => Err(wrong(name, format!("it does not take {other}"))),
        None => Err(wrong(name, "it takes an argument")),
    }
}

fn text_type(
    name: &'static str,
    s: &[Signature],
    precision: u8,
) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Text, Kind::ConstInteger], &[])?;
    decimal_type(name, s, precision)
}

fn default_type(
    name: &'static str,
    s: &[Signature],
    precision: u8,
) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=3)?;
    // ClickHouse gives the default for each of them.
    if let wide @ (DataType::Int128 | DataType::UInt128) = bare(type_at(s, 0)) {
        return Err(wrong(name, format!("it does not take {wide}")));
    }
    let result = decimal_type(name, s.get(..2).unwrap_or_default(), precision)?;
    match s.get(2) {
        Some(default) if default.data_type != result => {
            Err(wrong(name, format!("the default must be of type {result}")))
        }
        _ => Ok(result),
    }
}

fn convert(call: &Call, failure: Failure) -> Result<ArrayRef, FunctionError> {
    let operand = call.operand(0)?;
    let values = operand.expanded(call.rows)?;
    decimals(call, &Operand { values, ..operand.clone() }, bare(call.result), failure)
}

fn or_default(call: &Call) -> Result<ArrayRef, FunctionError> {
    let found = convert(call, Failure::Null)?;
    let default = match call.operands.get(2) {
        Some(default) => default.values.clone(),
        None => cast(
            &(Arc::new(arrow_array::Int64Array::from(vec![0])) as ArrayRef),
            found.data_type(),
        )?,
    };
    super::number::filled(&found, &default)
}

/// Values as decimals of a type.
pub(super) fn decimals(
    call: &Call,
    operand: &Operand,
    result: &DataType,
    failure: Failure,
) -> Result<ArrayRef, FunctionError> {
    let DataType::Decimal { precision, scale } = result else {
        return Err(wrong(call.name, "its result is a decimal"));
    };
    let source = Source::of(operand)?;
    let limit = power(*precision);
    // Where a text may fail, one of a FixedString with zeros at its end fails, as in ClickHouse.
    let is_strict =
        failure != Failure::Error && matches!(operand.data_type, DataType::FixedString(_));
    let texts = is_strict.then(|| Texts::of(&operand.values));
    let is_filled = |row: usize| {
        texts.as_ref().and_then(|texts| texts.value(row)).is_some_and(|text| text.ends_with(&[0]))
    };
    let mut numbers = Vec::with_capacity(operand.values.len());
    for row in 0..operand.values.len() {
        if operand.values.is_null(row) {
            numbers.push(None);
            continue;
        }
        let found = source.scaled(row, *scale).filter(|number| {
            !is_filled(row)
                && number.checked_abs().is_some_and(|size| limit.is_none_or(|limit| size < limit))
        });
        numbers.push(match (found, failure) {
            (Some(number), _) => Some(number),
            (None, Failure::Zero) => Some(i256::ZERO),
            (None, Failure::Null) => None,
            (None, Failure::Error) => {
                return Err(call.value_error(row, format!("the value does not fit {result}")));
            }
        });
    }
    array(numbers, *precision, *scale)
}

fn array(numbers: Vec<Option<i256>>, precision: u8, scale: u8) -> Result<ArrayRef, FunctionError> {
    let make = FunctionError::arrow("make decimals");
    let scale = i8::try_from(scale).unwrap_or(i8::MAX);
    if precision <= 38 {
        let narrow = numbers.into_iter().map(|number| number.and_then(i256::to_i128));
        let array: PrimitiveArray<Decimal128Type> = narrow.collect();
        return Ok(Arc::new(array.with_precision_and_scale(precision, scale).map_err(make)?));
    }
    let array: PrimitiveArray<Decimal256Type> = numbers.into_iter().collect();
    Ok(Arc::new(array.with_precision_and_scale(precision, scale).map_err(make)?))
}

pub(super) fn power(digits: u8) -> Option<i256> {
    i256::from_i128(10).checked_pow(u32::from(digits))
}

/// What decimals are made of.
enum Source {
    /// Numbers with this many digits after the point.
    Scaled(Vec<i256>, u8),
    Floats(PrimitiveArray<Float64Type>),
    Narrow(PrimitiveArray<Float32Type>),
    Texts(Texts),
}

impl Source {
    fn of(operand: &Operand) -> Result<Self, FunctionError> {
        let values = &operand.values;
        Ok(match values.data_type() {
            ArrowType::Decimal128(_, scale) => {
                let numbers = values.as_primitive::<Decimal128Type>().values();
                let wide = numbers.iter().map(|number| i256::from_i128(*number)).collect();
                Self::Scaled(wide, scale.unsigned_abs())
            }
            ArrowType::Decimal256(_, scale) => {
                let numbers = values.as_primitive::<Decimal256Type>().values();
                Self::Scaled(numbers.to_vec(), scale.unsigned_abs())
            }
            ArrowType::Float32 => Self::Narrow(values.as_primitive::<Float32Type>().clone()),
            ArrowType::Float64 => Self::Floats(values.as_primitive::<Float64Type>().clone()),
            number if number.is_integer() || *number == ArrowType::Boolean => {
                let wide = wide_integers(values)?.into_iter().map(i256::from_i128).collect();
                Self::Scaled(wide, 0)
            }
            _ => Self::Texts(Texts::of(values)),
        })
    }

    /// The number of a row with this many digits after the point; those beyond are cut off.
    fn scaled(&self, row: usize, scale: u8) -> Option<i256> {
        match self {
            Self::Scaled(numbers, have) => rescaled(*numbers.get(row)?, *have, scale),
            Self::Floats(floats) => of_float(floats.value(row) * 10_f64.powi(scale.into())),
            Self::Narrow(floats) => {
                of_float((floats.value(row) * 10_f32.powi(scale.into())).into())
            }
            Self::Texts(texts) => of_text(texts.value(row)?, scale),
        }
    }
}

/// The digits of decimals, or integers.
pub(super) fn whole_numbers(call: &Call, operand: &Operand) -> Result<Vec<i256>, FunctionError> {
    match Source::of(operand)? {
        Source::Scaled(numbers, _) => Ok(numbers),
        _ => Err(wrong(call.name, "it takes decimals and integers")),
    }
}

fn rescaled(number: i256, have: u8, wanted: u8) -> Option<i256> {
    if wanted >= have {
        return number.checked_mul(power(wanted - have)?);
    }
    number.checked_div(power(have - wanted)?)
}

/// The whole part of a float of up to 38 digits.
fn of_float(float: f64) -> Option<i256> {
    (float.abs() < 1.7e38).then(|| i256::from_i128(float as i128))
}

/// `-1.5`, `.5`, `1e3`; digits beyond the scale are cut off.
fn of_text(text: &[u8], scale: u8) -> Option<i256> {
    // Fixed strings end with zero bytes.
    let end = text.iter().rposition(|byte| *byte != 0)? + 1;
    let text = std::str::from_utf8(&text[..end]).ok()?;
    let (is_negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // As there, points after the first one are passed over.
    let fraction = fraction.replace('.', "");
    // Without a digit it is 0 there, if there is a sign, a point or an exponent.
    if !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = whole.bytes().chain(fraction.bytes()).map(|byte| i128::from(byte - b'0'));
    let kept = i64::try_from(whole.len()).ok()? + i64::from(exponent) + i64::from(scale);
    let kept = usize::try_from(kept.max(0)).ok()?;
    if kept > usize::from(DIGITS_MAX) + whole.len() {
        return None;
    }
    let ten = i256::from_i128(10);
    let mut number = i256::ZERO;
    for digit in digits.chain(std::iter::repeat(0)).take(kept) {
        number = number.checked_mul(ten)?.checked_add(i256::from_i128(digit))?;
    }
    Some(if is_negative { number.wrapping_neg() } else { number })
}

fn product_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=3)?;
    let scale_of = |index: usize| match s.get(index).map(|argument| &argument.data_type) {
        Some(DataType::Decimal { scale, .. }) => Ok(*scale),
        _ => Err(wrong(name, "it takes two decimals")),
    };
    let widest = scale_of(0)?.max(scale_of(1)?);
    let scale = if s.len() > 2 { scale(name, s, 2, DIGITS_MAX)? } else { widest };
    Ok(DataType::Decimal { precision: DIGITS_MAX, scale })
}

fn scaled(call: &Call, is_quotient: bool) -> Result<ArrayRef, FunctionError> {
    let DataType::Decimal { scale, .. } = call.result else {
        return Err(wrong(call.name, "its result is a decimal"));
    };
    let side = |index: usize| {
        let operand = Operand { values: call.values(index)?, ..call.operand(index)?.clone() };
        Source::of(&operand)
    };
    let (Source::Scaled(left, left_scale), Source::Scaled(right, right_scale)) =
        (side(0)?, side(1)?)
    else {
        return Err(wrong(call.name, "it takes two decimals"));
    };
    let mut numbers = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        if call.is_null(row) {
            numbers.push(None);
            continue;
        }
        let found = if is_quotient {
            let up = i16::from(*scale) + i16::from(right_scale) - i16::from(left_scale);
            moved(left[row], up).and_then(|number| number.checked_div(right[row]))
        } else {
            let up = i16::from(*scale) - i16::from(left_scale) - i16::from(right_scale);
            left[row].checked_mul(right[row]).and_then(|number| moved(number, up))
        };
        let Some(number) = found else {
            return Err(call.value_error(row, "the result does not fit, or the divisor is zero"));
        };
        numbers.push(Some(number));
    }
    array(numbers, DIGITS_MAX, *scale)
}

/// A number with this many digits more, or fewer.
fn moved(number: i256, digits: i16) -> Option<i256> {
    let by = power(u8::try_from(digits.unsigned_abs()).ok()?)?;
    if digits >= 0 { number.checked_mul(by) } else { number.checked_div(by) }
}

/// The precision of the machine's decimals that hold one of this precision.
pub fn class(precision: u8) -> u8 {
    match precision {
        0..=9 => 9,
        10..=18 => 18,
        19..=38 => 38,
        _ => DIGITS_MAX,
    }
}

/// The type of a remainder of decimals and integers.
pub(super) fn remainder_type(
    name: &'static str,
    s: &[Signature],
) -> Result<DataType, FunctionError> {
    let mut found: Option<(u8, u8)> = None;
    for argument in s {
        match &argument.data_type {
            DataType::Decimal { precision, scale } => {
                let (have, of_other) = found.unwrap_or((0, *scale));
                if of_other != *scale {
                    return Err(wrong(name, "the decimals must have the same scale"));
                }
                found = Some((have.max(class(*precision)), *scale));
            }
            other if integer(other).is_some() => {}
            other => return Err(wrong(name, format!("it does not take a decimal and {other}"))),
        }
    }
    let (precision, scale) = found.ok_or_else(|| wrong(name, "it takes numbers"))?;
    Ok(DataType::Decimal { precision, scale })
}

/// The remainder of the digits, whatever the point stands before: what ClickHouse does.
pub(super) fn remainder(call: &Call) -> Result<ArrayRef, FunctionError> {
    let DataType::Decimal { precision, scale } = bare(call.result) else {
        return Err(wrong(call.name, "its result is a decimal"));
    };
    let side = |index: usize| {
        whole_numbers(
            call,
            &Operand { values: call.values(index)?, ..call.operand(index)?.clone() },
        )
    };
    let (left, right) = (side(0)?, side(1)?);
    // Integers are taken in the width of the decimal, as there.
    let bits = match precision {
        0..=9 => 32,
        10..=18 => 64,
        _ => 128_u8,
    };
    let taken = |number: i256| (number << (255 - (bits - 1))) >> (255 - (bits - 1));
    let mut numbers = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        if call.is_null(row) {
            numbers.push(None);
            continue;
        }
        match taken(left[row]).checked_rem(taken(right[row])) {
            Some(rest) => numbers.push(Some(rest)),
            None => return Err(call.value_error(row, "division by zero")),
        }
    }
    array(numbers, *precision, *scale)
}

#[cfg(test)]
mod tests {
    use super::{i256, of_text};

    #[test]
    fn texts_are_cut_and_not_rounded() {
        for (text, number) in [
            ("1.999", Some(199)),
            ("-1.999", Some(-199)),
            (".5", Some(50)),
            ("5.", Some(500)),
            ("1e2", Some(10_000)),
            ("12345e-3", Some(1_234)),
            ("1e-5", Some(0)),
            ("", None),
            ("1.2.3", Some(123)),
            ("10.0.0.1", Some(1_000)),
            ("x", None),
            ("1e99999", None),
        ] {
            assert_eq!(of_text(text.as_bytes(), 2), number.map(i256::from_i128), "{text}");
        }
    }
}
