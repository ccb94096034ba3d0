//! Arithmetic on integers and floats with ClickHouse's result types: sums and products are as wide as both operands
//! together need (up to 64 bits, where they wrap), quotients as wide as the dividend, remainders as the divisor.

use super::civil;
use super::numbers::Numbers;
use super::{Call, Function, Operand, Signature, expect_count, wrong};
use super::{tuple, wide};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Decimal256Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_buffer::i256;
use std::sync::Arc;
use tambour_part::types::DataType;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("plus", plus_type, |c| sum(c, i64::wrapping_add, |a, b| a + b)),
    Function::new("minus", minus_type, |c| sum(c, i64::wrapping_sub, |a, b| a - b)),
    Function::new(
        "multiply",
        |n, s| wide_type(n, s, false),
        |c| sum(c, i64::wrapping_mul, |a, b| a * b),
    ),
    Function::new("negate", negate_type, negate),
    Function::new("intDiv", int_div_type, |c| divide(c, OnZero::Error)).monotonic(),
    Function::new("intDivOrZero", int_div_type, |c| divide(c, OnZero::Zero)),
    Function::new("modulo", modulo_type, remainder).aliases(&["mod"]),
    Function::new("moduloLegacy", modulo_legacy_type, remainder_legacy),
];

/// Width in bits and signedness of an integer type of at most 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integer {
    /// Its width.
    pub bits: u8,
    /// True if it may be negative.
    pub is_signed: bool,
}

/// What kind of integer a type is, if it is one.
pub fn integer(data_type: &DataType) -> Option<Integer> {
    let (bits, is_signed) = match data_type {
        DataType::UInt8 | DataType::Bool => (8, false),
        DataType::UInt16 => (16, false),
        DataType::UInt32 => (32, false),
        DataType::UInt64 => (64, false),
        DataType::Int8 => (8, true),
        DataType::Int16 => (16, true),
        DataType::Int32 => (32, true),
        DataType::Int64 => (64, true),
        _ => return None,
    };
    Some(Integer { bits, is_signed })
}

impl Integer {
    /// The type of this width and sign.
    pub fn data_type(self) -> DataType {
        match (self.bits, self.is_signed) {
            (8, false) => DataType::UInt8,
            (16, false) => DataType::UInt16,
            (32, false) => DataType::UInt32,
            (_, false) => DataType::UInt64,
            (8, true) => DataType::Int8,
            (16, true) => DataType::Int16,
            (32, true) => DataType::Int32,
            (_, true) => DataType::Int64,
        }
    }
}

fn is_float(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float32 | DataType::Float64)
}

fn refuse(name: &str, s: &[Signature]) -> FunctionError {
    let types: Vec<String> = s.iter().map(|argument| argument.data_type.to_string()).collect();
    wrong(name, format!("it does not take {}", types.join(" and ")))
}

fn two(
    name: &'static str,
    s: &[Signature],
) -> Result<(Option<Integer>, Option<Integer>), FunctionError> {
    expect_count(name, s, 2..=2)?;
    match s {
        [left, right] => Ok((integer(&left.data_type), integer(&right.data_type))),
        _ => Err(refuse(name, s)),
    }
}

/// Twice the wider operand, at most 64 bits; floats give Float64.
fn wide_type(
    name: &'static str,
    s: &[Signature],
    always_signed: bool,
) -> Result<DataType, FunctionError> {
    if let Some(wide) = wide::result_type(name, s) {
        return Ok(wide);
    }
    match two(name, s)? {
        (Some(left), Some(right)) => Ok(Integer {
            bits: (left.bits.max(right.bits) * 2).min(64),
            is_signed: always_signed || left.is_signed || right.is_signed,
        }
        .data_type()),
        _ if s.iter().any(|a| is_float(&a.data_type))
            && s.iter().all(|a| is_float(&a.data_type) || integer(&a.data_type).is_some()) =>
        {
            Ok(DataType::Float64)
        }
        _ => Err(refuse(name, s)),
    }
}

fn plus_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    match s {
        [
            Signature {
                data_type: time @ (DataType::Date | DataType::Date32 | DataType::DateTime { .. }),
                ..
            },
            right,
        ] if integer(&right.data_type).is_some() => Ok(time.clone()),
        _ => wide_type(name, s, false),
    }
}

fn minus_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    match s {
        [
            Signature { data_type: DataType::Date, .. },
            Signature { data_type: DataType::Date, .. },
        ] => Ok(DataType::Int32),
        [
            Signature {
                data_type: DataType::Date | DataType::Date32 | DataType::DateTime { .. },
                ..
            },
            _,
        ] => plus_type(name, s),
        _ => wide_type(name, s, true),
    }
}

fn negate_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=1)?;
    if let Some(wide) = wide::result_type(name, s) {
        return Ok(wide);
    }
    match s.first().map(|first| &first.data_type) {
        Some(DataType::Tuple(_)) => tuple::each_type(name, s),
        Some(same) if is_float(same) || matches!(same, DataType::Decimal { .. }) => {
            Ok(same.clone())
        }
        Some(other) => match integer(other) {
            Some(Integer { bits, is_signed }) => {
                let bits = if is_signed { bits } else { (bits * 2).min(64) };
                Ok(Integer { bits, is_signed: true }.data_type())
            }
            None => Err(refuse(name, s)),
        },
        None => Err(refuse(name, s)),
    }
}

fn int_div_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    if let Some(wide) = wide::result_type(name, s) {
        return Ok(wide);
    }
    match two(name, s)? {
        (Some(left), Some(right)) => {
            Ok(Integer { is_signed: left.is_signed || right.is_signed, ..left }.data_type())
        }
        _ => super::quotient::data_type(s).ok_or_else(|| refuse(name, s)),
    }
}

/// Unsigned dividends: as wide as the divisor. Signed ones: one step wider.
fn modulo_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    match two(name, s)? {
        (Some(Integer { is_signed: true, .. }), Some(right)) => {
            Ok(Integer { bits: (right.bits * 2).min(64), is_signed: true }.data_type())
        }
        (Some(_), Some(right)) => Ok(Integer { is_signed: false, ..right }.data_type()),
        _ if s.iter().any(|a| matches!(a.data_type, DataType::Decimal { .. }))
            && !s.iter().any(|a| is_float(&a.data_type)) =>
        {
            super::decimal::remainder_type(name, s)
        }
        // Floats, and integers of more bits.
        _ => wide_type(name, s, false),
    }
}

/// The type rule before ClickHouse 20.9, which partition keys keep for ever.
fn modulo_legacy_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    match two(name, s)? {
        (Some(left), Some(right)) => {
            Ok(Integer { is_signed: left.is_signed || right.is_signed, ..right }.data_type())
        }
        _ => Err(refuse(name, s)),
    }
}

/// The operands of a call: two, or the argument count was not checked.
fn operands<'a>(call: &'a Call) -> Result<(&'a Operand, &'a Operand), FunctionError> {
    match call.operands {
        [left, right] => Ok((left, right)),
        _ => Err(wrong(call.name, "it takes 2 arguments")),
    }
}

/// The bits of integers as 64-bit ones, sign-extended where the type is signed; dates as days, instants as seconds.
pub(super) fn bits(operand: &Operand) -> Result<Vec<i64>, FunctionError> {
    Ok(match Numbers::of(&operand.values)? {
        Numbers::Integers(array) => array.values().to_vec(),
        Numbers::Unsigned(array) => array.values().iter().map(|number| *number as i64).collect(),
        Numbers::Floats(array) => array.values().iter().map(|number| *number as i64).collect(),
    })
}

fn floats(operand: &Operand) -> Result<Vec<f64>, FunctionError> {
    let wide = super::cast(&operand.values, &arrow_schema::DataType::Float64)?;
    Ok(arrow_array::cast::AsArray::as_primitive::<Float64Type>(&wide).values().to_vec())
}

/// Pairs the values of two operands; a constant is repeated.
pub(super) fn pair<T: Copy, R>(
    call: &Call,
    left: &[T],
    right: &[T],
    make: impl Fn(T, T) -> R,
) -> Vec<R> {
    match (left, right) {
        ([left], _) if call.rows != 1 => right.iter().map(|right| make(*left, *right)).collect(),
        (_, [right]) if call.rows != 1 => left.iter().map(|left| make(*left, *right)).collect(),
        _ => left.iter().zip(right).map(|(left, right)| make(*left, *right)).collect(),
    }
}

/// 64-bit results as the array of the call's type; the bits that do not fit are dropped.
pub(super) fn narrow(call: &Call, values: Vec<i64>) -> Result<ArrayRef, FunctionError> {
    fn typed<T: ArrowPrimitiveType>(values: &[i64], cut: impl Fn(i64) -> T::Native) -> ArrayRef {
        Arc::new(PrimitiveArray::<T>::from_iter_values(values.iter().map(|value| cut(*value))))
    }
    Ok(match call.result {
        DataType::UInt8 => typed::<UInt8Type>(&values, |v| v as u8),
        DataType::UInt16 => typed::<UInt16Type>(&values, |v| v as u16),
        DataType::UInt32 => typed::<UInt32Type>(&values, |v| v as u32),
        DataType::UInt64 => typed::<UInt64Type>(&values, |v| v as u64),
        DataType::Int8 => typed::<Int8Type>(&values, |v| v as i8),
        DataType::Int16 => typed::<Int16Type>(&values, |v| v as i16),
        DataType::Int32 => typed::<Int32Type>(&values, |v| v as i32),
        DataType::Int64 => Arc::new(PrimitiveArray::<Int64Type>::new(values.into(), None)),
        DataType::Date => typed::<Date32Type>(&values, |v| i32::from(v as u16)),
        DataType::Date32 => {
            let calendar = i64::from(civil::FIRST_DAY)..=i64::from(civil::LAST_DAY);
            let left = |row: &usize| !calendar.contains(&values[*row]) && !call.is_null(*row);
            if let Some(row) = (0..values.len()).find(left) {
                let problem = "the date is outside of the years 0 to 9999";
                return Err(call.value_error(row, problem));
            }
            typed::<Date32Type>(&values, |v| v as i32)
        }
        DataType::DateTime { .. } => {
            let instants = values.iter().map(|value| i64::from(*value as u32));
            let instants = PrimitiveArray::<TimestampSecondType>::from_iter_values(instants);
            return super::moment::with_zone(instants, call.result);
        }
        other => return Err(wrong(call.name, format!("it cannot give {other}"))),
    })
}

fn sum(
    call: &Call,
    integers: fn(i64, i64) -> i64,
    of_floats: fn(f64, f64) -> f64,
) -> Result<ArrayRef, FunctionError> {
    if wide::takes(call) {
        return wide::evaluate(call);
    }
    let (left, right) = operands(call)?;
    if matches!(call.result, DataType::Float64) {
        let values = pair(call, &floats(left)?, &floats(right)?, of_floats);
        return Ok(Arc::new(PrimitiveArray::<Float64Type>::new(values.into(), None)));
    }
    narrow(call, pair(call, &bits(left)?, &bits(right)?, integers))
}

fn negate(call: &Call) -> Result<ArrayRef, FunctionError> {
    if wide::takes(call) {
        return wide::evaluate(call);
    }
    let Some(operand) = call.operands.first() else { return Err(refuse(call.name, &[])) };
    match call.result {
        DataType::Tuple(_) => tuple::each(call),
        DataType::Decimal { .. } => negate_decimals(call),
        DataType::Float64 | DataType::Float32 => {
            let negative: PrimitiveArray<Float64Type> =
                floats(operand)?.into_iter().map(|float| -float).collect::<Vec<f64>>().into();
            super::cast(
                &(Arc::new(negative) as ArrayRef),
                call.result.field("", tambour_part::types::Strings::Utf8).data_type(),
            )
        }
        _ => narrow(call, bits(operand)?.into_iter().map(i64::wrapping_neg).collect()),
    }
}

fn negate_decimals(call: &Call) -> Result<ArrayRef, FunctionError> {
    let values = call.values(0)?;
    let data_type = values.data_type().clone();
    if let Some(numbers) = values.as_primitive_opt::<Decimal128Type>() {
        let negative: PrimitiveArray<Decimal128Type> = numbers.unary(i128::wrapping_neg);
        return Ok(Arc::new(negative.with_data_type(data_type)));
    }
    match values.as_primitive_opt::<Decimal256Type>() {
        Some(numbers) => {
            let negative: PrimitiveArray<Decimal256Type> = numbers.unary(i256::wrapping_neg);
            Ok(Arc::new(negative.with_data_type(data_type)))
        }
        None => Err(wrong(call.name, format!("it cannot read {data_type}"))),
    }
}

/// What division by zero gives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnZero {
    Error,
    Zero,
}

/// A number read as a signed one of the same width: what C++ does when one side is signed.
fn as_signed(value: i64, bits: u8) -> i64 {
    match bits {
        8 => i64::from(value as i8),
        16 => i64::from(value as i16),
        32 => i64::from(value as i32),
        _ => value,
    }
}

/// The least value of a signed integer.
fn least(bits: u8) -> i64 {
    i64::MIN >> (64 - bits)
}

/// True in the rows where an operand is NULL: what stands there must not raise errors.
fn is_null(call: &Call, row: usize) -> bool {
    call.operands.iter().any(|operand| {
        let row = if operand.is_constant { 0 } else { row };
        row < operand.values.len() && operand.values.is_null(row)
    })
}

/// Runs a division that can fail; the row of a failure is found only when there is one.
fn checked(
    call: &Call,
    left: &[i64],
    right: &[i64],
    make: impl Fn(i64, i64) -> Option<i64>,
) -> Result<ArrayRef, FunctionError> {
    let results = pair(call, left, right, &make);
    let values: Option<Vec<i64>> = results.iter().copied().collect();
    if let Some(values) = values {
        return narrow(call, values);
    }
    let mut values = Vec::with_capacity(results.len());
    for (row, result) in results.into_iter().enumerate() {
        match result {
            Some(value) => values.push(value),
            None if is_null(call, row) => values.push(0),
            None => {
                let divisor = right.get(row).or(right.first()).copied().unwrap_or(0);
                let problem = if divisor == 0 {
                    "division by zero"
                } else {
                    "division of the least signed number by minus one"
                };
                return Err(call.value_error(row, problem));
            }
        }
    }
    narrow(call, values)
}

fn divide(call: &Call, on_zero: OnZero) -> Result<ArrayRef, FunctionError> {
    if wide::takes(call) {
        return wide::evaluate(call);
    }
    let (left, right) = operands(call)?;
    let (Some(a), Some(b)) = (integer(&left.data_type), integer(&right.data_type)) else {
        return super::quotient::whole(call, on_zero == OnZero::Zero);
    };
    let failed = (on_zero == OnZero::Zero).then_some(0);
    checked(call, &bits(left)?, &bits(right)?, |left, right| quotient(left, right, a, b).or(failed))
}

/// The quotients of integers; nothing where there is none, or it leaves the type.
pub(super) fn quotients(call: &Call) -> Result<Vec<Option<i64>>, FunctionError> {
    let (left, right) = operands(call)?;
    let (Some(a), Some(b)) = (integer(&left.data_type), integer(&right.data_type)) else {
        return Err(wrong(call.name, "it takes integers"));
    };
    let divide = |left, right| quotient(left, right, a, b);
    Ok(pair(call, &bits(left)?, &bits(right)?, divide))
}

/// The quotient of numbers of these types. Beside a number with a sign, the other is read as one.
fn quotient(left: i64, right: i64, a: Integer, b: Integer) -> Option<i64> {
    if !a.is_signed && !b.is_signed {
        return (left as u64).checked_div(right as u64).map(|quotient| quotient as i64);
    }
    let (left, right) = (as_signed(left, a.bits), as_signed(right, a.bits.max(b.bits)));
    if right == 0 || right == -1 && left == least(a.bits) {
        return None;
    }
    Some(left / right)
}

/// The remainder of C++: both sides converted to their common type first, so that negative numbers beside wide unsigned
/// ones become large.
fn remainder_legacy(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (left, right) = operands(call)?;
    let (Some(a), Some(b)) = (integer(&left.data_type), integer(&right.data_type)) else {
        return Err(wrong(call.name, "it takes integers"));
    };
    let is_unsigned = |of: Integer, other: Integer| {
        !of.is_signed && of.bits >= 32 && (!other.is_signed || of.bits >= other.bits)
    };
    let (left, right) = (bits(left)?, bits(right)?);
    if is_unsigned(a, b) || is_unsigned(b, a) {
        let width = a.bits.max(b.bits);
        let common = |value: i64| if width == 32 { u64::from(value as u32) } else { value as u64 };
        return checked(call, &left, &right, |left, right| {
            common(left).checked_rem(common(right)).map(|rest| rest as i64)
        });
    }
    checked(call, &left, &right, |left, right| {
        if right == 0 || right == -1 && a.is_signed && left == least(a.bits) {
            return None;
        }
        Some(left % right)
    })
}

fn remainder(call: &Call) -> Result<ArrayRef, FunctionError> {
    if matches!(call.result, DataType::Decimal { .. }) {
        return super::decimal::remainder(call);
    }
    if wide::takes(call) {
        return wide::evaluate(call);
    }
    let (left, right) = operands(call)?;
    if matches!(call.result, DataType::Float64) {
        // ClickHouse takes what a quotient without its fraction leaves: 7 % 0.7 is 0.
        let rest = |left: f64, right: f64| left - (left / right).trunc() * right;
        let values = pair(call, &floats(left)?, &floats(right)?, rest);
        return Ok(Arc::new(PrimitiveArray::<Float64Type>::new(values.into(), None)));
    }
    let (Some(a), Some(b)) = (integer(&left.data_type), integer(&right.data_type)) else {
        return Err(wrong(call.name, "it takes integers"));
    };
    let (left, right) = (bits(left)?, bits(right)?);
    if !a.is_signed && !b.is_signed {
        return checked(call, &left, &right, |left, right| {
            (left as u64).checked_rem(right as u64).map(|rest| rest as i64)
        });
    }
    let wide = |value: i64, of: Integer| {
        if of.is_signed { i128::from(value) } else { i128::from(value as u64) }
    };
    let is_wide = |of: Integer| !of.is_signed && of.bits == 64;
    if is_wide(a) || is_wide(b) {
        return checked(call, &left, &right, |left, right| {
            wide(left, a).checked_rem(wide(right, b)).map(|rest| rest as i64)
        });
    }
    checked(call, &left, &right, |left, right| {
        if right == 0 || right == -1 && a.is_signed && left == least(a.bits) {
            return None;
        }
        Some(left % right)
    })
}
