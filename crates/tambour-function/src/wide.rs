//! Arithmetic on integers of 128 and 256 bits, and their bits, with ClickHouse's result types. It wraps around, as there; a division by
//! zero is an error, and so is that of the least number by -1.

use super::arithmetic::integer;
use super::retype::{array_of, whole_numbers, wrapped};
use super::{Call, Operand, Signature, wrong};
use crate::FunctionError;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_buffer::i256;
use std::sync::Arc;
use tambour_part::types::DataType;

/// Width in bits and signedness of an integer of any width.
#[derive(Clone, Copy)]
pub(super) struct Wide {
    pub(super) bits: u32,
    pub(super) is_signed: bool,
}

impl Wide {
    /// That of a type, narrow ones too.
    pub(super) fn of(data_type: &DataType) -> Option<Self> {
        let (bits, is_signed) = match data_type {
            DataType::Int128 => (128, true),
            DataType::UInt128 => (128, false),
            DataType::Int256 => (256, true),
            DataType::UInt256 => (256, false),
            other => integer(other).map(|it| (u32::from(it.bits), it.is_signed))?,
        };
        Some(Self { bits, is_signed })
    }
    fn is_wide(self) -> bool {
        self.bits > 64
    }
    /// True for the least number by -1: what comes of it does not fit.
    fn has_no_quotient(self, left: i256, right: i256) -> bool {
        let least = i256::MINUS_ONE << u8::try_from(self.bits - 1).unwrap_or(u8::MAX);
        self.is_signed && left == least && right == i256::MINUS_ONE
    }
    fn bytes(self) -> usize {
        self.bits as usize / 8
    }
    /// By how many bits a number is shifted; `None` if none of them are left.
    fn shifted(self, by: i256) -> Option<u8> {
        let by = by.to_i128().and_then(|by| u8::try_from(by).ok())?;
        (u32::from(by) < self.bits).then_some(by)
    }
    /// The bits go, and the sign stays, if there is one.
    fn right(self, number: i256, by: u8) -> i256 {
        let filled = number >> by;
        if self.is_signed || by == 0 || !number.is_negative() {
            return filled;
        }
        filled & !(i256::MINUS_ONE << (255 - by + 1))
    }
    fn data_type(self) -> DataType {
        match (self.bits, self.is_signed) {
            (8, false) => DataType::UInt8,
            (16, false) => DataType::UInt16,
            (32, false) => DataType::UInt32,
            (64, false) => DataType::UInt64,
            (128, false) => DataType::UInt128,
            (_, false) => DataType::UInt256,
            (8, true) => DataType::Int8,
            (16, true) => DataType::Int16,
            (32, true) => DataType::Int32,
            (64, true) => DataType::Int64,
            (128, true) => DataType::Int128,
            (_, true) => DataType::Int256,
        }
    }
}

/// The type of an operator's result, if an operand is such an integer and all are integers.
pub(super) fn result_type(name: &str, s: &[Signature]) -> Option<DataType> {
    let operands: Vec<Wide> = s.iter().map(|it| Wide::of(&it.data_type)).collect::<Option<_>>()?;
    if !operands.iter().any(|it| it.is_wide()) {
        return None;
    }
    let wide = match (name, operands.as_slice()) {
        ("negate", [only]) => Wide { is_signed: true, ..*only },
        ("abs", [only]) => Wide { is_signed: false, ..*only },
        ("bitNot", [only]) => *only,
        ("sign", [_]) => Wide { bits: 8, is_signed: true },
        ("bitCount", [only]) => {
            Wide { bits: if only.bits > 128 { 16 } else { 8 }, is_signed: false }
        }
        ("bitShiftLeft" | "bitShiftRight", [left, right])
            if left.is_wide() && !right.is_wide() && !right.is_signed =>
        {
            *left
        }
        ("plus" | "multiply" | "bitAnd" | "bitOr" | "bitXor", [left, right]) => {
            Wide { bits: left.bits.max(right.bits), is_signed: left.is_signed || right.is_signed }
        }
        ("minus", [left, right]) => Wide { bits: left.bits.max(right.bits), is_signed: true },
        // One with a sign and one without: what ClickHouse makes of them depends on their widths in ways of its own.
        ("intDiv" | "intDivOrZero", [left, right])
            if left.is_signed == right.is_signed
                || left.is_signed && left.is_wide() && !right.is_wide() =>
        {
            *left
        }
        ("modulo" | "moduloOrZero", [left, right])
            if left.is_signed == right.is_signed || left.is_signed && !right.is_wide() =>
        {
            let wider = if right.bits < 64 { right.bits * 2 } else { right.bits };
            Wide { bits: if left.is_signed { wider } else { right.bits }, ..*left }
        }
        _ => return None,
    };
    Some(wide.data_type())
}

/// True for integers of 128 and 256 bits.
pub fn is_wide(data_type: &DataType) -> bool {
    Wide::of(data_type).is_some_and(Wide::is_wide)
}

/// True if an operand is such an integer.
pub(super) fn takes(call: &Call) -> bool {
    call.operands.iter().any(|it| is_wide(&it.data_type))
}

/// What an operator makes of them.
pub(super) fn evaluate(call: &Call) -> Result<ArrayRef, FunctionError> {
    let numbers: Vec<Vec<i256>> =
        call.operands.iter().map(|it| numbers(call, it)).collect::<Result<_, _>>()?;
    let kinds: Vec<Wide> = call.operands.iter().filter_map(|it| Wide::of(&it.data_type)).collect();
    let [kind, ..] = kinds.as_slice() else { return Err(wrong(call.name, "it takes integers")) };
    let is_signed = kinds.iter().any(|it| it.is_signed);
    let at = |operand: usize, row: usize| {
        let values = &numbers[operand];
        values.get(if call.operands[operand].is_constant { 0 } else { row }).copied()
    };
    let mut results = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let left = at(0, row).unwrap_or_default();
        let right = if kinds.len() > 1 { at(1, row).unwrap_or_default() } else { i256::ZERO };
        results.push(match call.name {
            "negate" => left.wrapping_neg(),
            "abs" if kind.is_signed => left.wrapping_abs(),
            "abs" => left,
            "bitNot" => !left,
            "sign" if left == i256::ZERO => i256::ZERO,
            "sign" if kind.is_signed && left.is_negative() => i256::MINUS_ONE,
            "sign" => i256::ONE,
            "bitCount" => {
                let bytes = left.to_le_bytes();
                let ones = bytes.iter().take(kind.bytes()).map(|byte| byte.count_ones());
                i256::from(i64::from(ones.sum::<u32>()))
            }
            "bitAnd" => left & right,
            "bitOr" => left | right,
            "bitXor" => left ^ right,
            "bitShiftLeft" => kind.shifted(right).map_or(i256::ZERO, |by| left << by),
            "bitShiftRight" => kind.shifted(right).map_or(i256::ZERO, |by| kind.right(left, by)),
            "plus" => left.wrapping_add(right),
            "minus" => left.wrapping_sub(right),
            "multiply" => left.wrapping_mul(right),
            "intDivOrZero" | "moduloOrZero" if right == i256::ZERO => i256::ZERO,
            _ if right == i256::ZERO && call.is_null(row) => i256::ZERO,
            _ if right == i256::ZERO => return Err(call.value_error(row, "division by zero")),
            "intDivOrZero" | "moduloOrZero" if kind.has_no_quotient(left, right) => i256::ZERO,
            _ if kind.has_no_quotient(left, right) && !call.is_null(row) => {
                return Err(call.value_error(row, "division of the least number by -1"));
            }
            "modulo" | "moduloOrZero" => remainder(left, right, is_signed),
            _ => quotient(left, right, is_signed),
        });
    }
    let result = Wide::of(call.result).ok_or_else(|| wrong(call.name, "it gives integers"))?;
    made(call, result, results)
}

/// The bytes of such integers, the highest first, without zeros before them; one at least. `None` if they are others.
pub fn significant_bytes(call: &Call) -> Result<Option<Vec<Vec<u8>>>, FunctionError> {
    let operand = call.operand(0)?;
    let Some(kind) = Wide::of(&operand.data_type).filter(|it| it.is_wide()) else {
        return Ok(None);
    };
    let significant = |number: i256| {
        let bytes = number.to_be_bytes();
        let bytes = bytes.get(bytes.len() - kind.bytes()..).unwrap_or_default();
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count().min(kind.bytes() - 1);
        bytes.get(zeros..).unwrap_or_default().to_vec()
    };
    let numbers = whole_numbers(call, &operand.expanded(call.rows)?)?;
    Ok(Some(numbers.into_iter().map(significant).collect()))
}

/// The numbers of a type that the result has.
fn made(call: &Call, kind: Wide, numbers: Vec<i256>) -> Result<ArrayRef, FunctionError> {
    if kind.is_wide() {
        let cut = |number| Some(wrapped(number, kind.bits, kind.is_signed));
        return array_of(numbers.into_iter().map(cut).collect(), kind.bits);
    }
    let low = numbers.into_iter().map(|number| number.to_parts().0.cast_signed());
    super::access::integer_array(call.name, call.result, low)
}

fn numbers(call: &Call, operand: &Operand) -> Result<Vec<i256>, FunctionError> {
    whole_numbers(call, &operand.values)
}

/// The quotient of numbers of which one has a sign, or of two without.
fn quotient(left: i256, right: i256, is_signed: bool) -> i256 {
    if is_signed || !left.is_negative() && !right.is_negative() {
        return left.wrapping_div(right);
    }
    long_division(left, right).0
}

fn remainder(left: i256, right: i256, is_signed: bool) -> i256 {
    if is_signed || !left.is_negative() && !right.is_negative() {
        return left.wrapping_rem(right);
    }
    long_division(left, right).1
}

/// Quotient and remainder of numbers without a sign of which one has its highest bit set, bit by bit.
fn long_division(left: i256, right: i256) -> (i256, i256) {
    let less = |a: i256, b: i256| {
        let (a, b) = (a.to_parts(), b.to_parts());
        (a.1.cast_unsigned(), a.0) < (b.1.cast_unsigned(), b.0)
    };
    let (mut quotient, mut rest) = (i256::ZERO, i256::ZERO);
    for bit in (0..=255_u8).rev() {
        let is_over = rest.is_negative();
        rest = rest << 1;
        if ((left >> bit) & i256::ONE) == i256::ONE {
            rest = rest.wrapping_add(i256::ONE);
        }
        if is_over || !less(rest, right) {
            rest = rest.wrapping_sub(right);
            quotient = quotient | (i256::ONE << bit);
        }
    }
    (quotient, rest)
}

/// Integers of these widths as floats of 64 bits: of up to 128 bits the nearest ones.
pub(super) fn floats(call: &Call, operand: &Operand) -> Result<Vec<f64>, FunctionError> {
    let kind = Wide::of(&operand.data_type);
    let is_signed = kind.is_some_and(|it| it.is_signed);
    let is_longest = kind.is_some_and(|it| it.bits > 128);
    let float =
        |number| if is_longest { stepwise(number, is_signed) } else { float(number, is_signed) };
    Ok(numbers(call, operand)?.into_iter().map(float).collect())
}

/// Of 256 bits: 64 after 64, the highest first, with a rounding each time.
fn stepwise(number: i256, is_signed: bool) -> f64 {
    let is_negative = is_signed && number.is_negative();
    let magnitude = if is_negative { number.wrapping_neg() } else { number };
    let bytes = magnitude.to_be_bytes();
    let words = bytes
        .chunks_exact(8)
        .map(|word| word.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte)));
    let float = words.fold(0.0, |float: f64, word| float * 2_f64.powi(64) + word as f64);
    if is_negative { -float } else { float }
}

fn float(number: i256, is_signed: bool) -> f64 {
    let (low, high) = number.to_parts();
    if is_signed && high < 0 { low.cast_signed() as f64 } else { low as f64 }
}

/// Such integers converted to a narrower type, whose low bits they are.
pub(super) fn converted(call: &Call) -> Result<ArrayRef, FunctionError> {
    let operand = call.operand(0)?;
    let nulls = operand.values.logical_nulls();
    let array: ArrayRef = match super::bare(call.result) {
        DataType::Float64 => {
            Arc::new(PrimitiveArray::<Float64Type>::new(floats(call, operand)?.into(), nulls))
        }
        DataType::Float32 => {
            let narrow: Vec<f32> = floats(call, operand)?.into_iter().map(|it| it as f32).collect();
            Arc::new(PrimitiveArray::<Float32Type>::new(narrow.into(), nulls))
        }
        other => {
            let low = numbers(call, operand)?.into_iter().map(|it| it.to_parts().0.cast_signed());
            super::access::integer_array(call.name, other, low)?
        }
    };
    Ok(array)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsigned_numbers_divide_past_the_highest_bit() {
        let most = i256::MINUS_ONE;
        let three = i256::from_i128(3);
        let (quotient, rest) = long_division(most, three);
        assert_eq!(quotient.wrapping_mul(three).wrapping_add(rest), most);
        assert_eq!(rest, i256::ZERO);
        assert_eq!(long_division(three, most), (i256::ZERO, three));
        assert_eq!(long_division(most, most), (i256::ONE, i256::ZERO));
        let half = i256::MIN;
        assert_eq!(long_division(most, half), (i256::ONE, i256::MAX));
    }

    #[test]
    fn floats_are_the_nearest_ones() {
        for text in [
            "0",
            "-1",
            "9007199254740993",
            "-170141183460469231731687303715884105728",
            "340282366920938463463374607431768211455",
        ] {
            let number = i256::from_string(text).unwrap();
            let wanted: f64 = text.parse().unwrap();
            assert_eq!(float(number, true).to_bits(), wanted.to_bits(), "{text}");
            let gap = (stepwise(number, true) - wanted).abs();
            assert!(gap <= wanted.abs() * f64::EPSILON, "{text}");
        }
        assert_eq!(stepwise(i256::MINUS_ONE, false).to_bits(), 2_f64.powi(256).to_bits());
    }
}
