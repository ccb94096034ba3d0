//! Bits: `bitNot`, `bitShiftLeft`, `bitRotateLeft`, `bitTest`, `bitCount`, `bitHammingDistance`, `byteSwap`, `bitmaskToArray`.

use super::super::access::{Kind, array_of, list_array, rule, takes, type_at};
use super::super::arithmetic::{Integer, integer};
use super::super::{Call, Function, Signature, expect_count, wide, wrong};
use super::bit_text;
use crate::FunctionError;
use arrow_array::ArrayRef;
use arrow_array::types::UInt8Type;
use tambour_part::types::DataType;

/// The functions of this room.
pub(in super::super) const FUNCTIONS: &[Function] = &[
    Function::new("bitNot", not_type, |c| {
        if wide::takes(c) {
            return wide::evaluate(c);
        }
        let numbers = c.integers(0)?;
        c.make_integers(|row| !numbers.get(row))
    }),
    Function::new("byteSwap", same_type, |c| {
        let (numbers, bits) = (c.integers(0)?, width(c, 0)?);
        c.make_integers(|row| {
            let swapped = (numbers.get(row) as u64).swap_bytes() >> (64 - bits);
            i128::from(swapped)
        })
    })
    .any_case(),
    Function::new("bitShiftLeft", shift_type, |c| {
        if is_text(c)? {
            return bit_text::shift(c, true);
        }
        if wide::takes(c) {
            return wide::evaluate(c);
        }
        let (numbers, by, bits) = (c.integers(0)?, counts(c)?, width(c, 0)?.into());
        c.make_integers(|row| {
            let by = by.get(row);
            if (0..bits).contains(&by) { numbers.get(row) << by } else { 0 }
        })
    })
    .bytes(),
    Function::new("bitShiftRight", shift_type, |c| {
        if is_text(c)? {
            return bit_text::shift(c, false);
        }
        if wide::takes(c) {
            return wide::evaluate(c);
        }
        let (numbers, by, bits) = (c.integers(0)?, counts(c)?, width(c, 0)?.into());
        c.make_integers(|row| {
            let by = by.get(row);
            if (0..bits).contains(&by) { in_result(c, numbers.get(row)) >> by } else { 0 }
        })
    })
    .bytes(),
    Function::new("bitRotateLeft", pair_type, |c| rotate(c, true)),
    Function::new("bitRotateRight", pair_type, |c| rotate(c, false)),
    Function::new("bitTest", rule!(Integer Integer => DataType::UInt8), |c| {
        let (numbers, places) = (c.integers(0)?, c.integers(1)?);
        for row in 0..c.rows {
            let is_there = (0..i128::from(width(c, 0)?)).contains(&places.get(row));
            if !is_there && !c.is_null(row) {
                return Err(c.value_error(row, format!("there is no bit {}", places.get(row))));
            }
        }
        c.make_numbers::<UInt8Type>(|row| {
            (numbers.get(row) >> places.get(row).clamp(0, 127) & 1) as u8
        })
    }),
    Function::new("bitTestAll", many_type, |c| test_many(c, true)),
    Function::new("bitTestAny", many_type, |c| test_many(c, false)),
    Function::new("bitCount", count_type, bit_count),
    Function::new("bitHammingDistance", distance_type, distance),
    Function::new(
        "bitmaskToArray",
        |n, s| match type_at(s, 0) {
            DataType::Bool => {
                Err(wrong(n, "it does not take Bool, of which ClickHouse makes Bools"))
            }
            _ => same_type(n, s).map(array_of),
        },
        |c| {
            let (numbers, bits) = (c.integers(0)?, width(c, 0)?);
            let mut found: Vec<i128> = Vec::new();
            let mut lengths = Vec::with_capacity(c.rows);
            for row in 0..c.rows {
                let before = found.len();
                let number = numbers.get(row);
                found.extend((0..bits).filter(|bit| number >> bit & 1 == 1).map(|bit| 1 << bit));
                lengths.push(found.len() - before);
            }
            let item = super::super::access::item_of(c.result);
            let values = super::super::access::integer_array(c.name, item, found.into_iter())?;
            list_array(lengths, values, item)
        },
    ),
    Function::new("bitPositionsToArray", rule!(Integer => array_of(DataType::UInt64)), |c| {
        let (numbers, bits) = (c.integers(0)?, width(c, 0)?);
        let mut found: Vec<i128> = Vec::new();
        let mut lengths = Vec::with_capacity(c.rows);
        for row in 0..c.rows {
            let before = found.len();
            let number = numbers.get(row);
            found.extend((0..bits).filter(|bit| number >> bit & 1 == 1).map(i128::from));
            lengths.push(found.len() - before);
        }
        let item = &DataType::UInt64;
        let values = super::super::access::integer_array(c.name, item, found.into_iter())?;
        list_array(lengths, values, item)
    }),
    Function::new("bitmaskToList", rule!(Integer => DataType::String), |c| {
        let is_signed = integer(&c.operand(0)?.data_type).is_some_and(|it| it.is_signed);
        let (numbers, bits) = (c.integers(0)?, width(c, 0)?);
        c.make_texts(|row, out| {
            let number = numbers.get(row);
            for bit in (0..bits).filter(|bit| number >> bit & 1 == 1) {
                if !out.is_empty() {
                    out.push(b',');
                }
                let is_sign = is_signed && bit + 1 == bits;
                let value = 1_i128 << bit;
                let value = if is_sign { -value } else { value };
                out.extend(value.to_string().into_bytes());
            }
        })
    }),
];

fn not_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    wide::result_type(name, s).map_or_else(|| same_type(name, s), Ok)
}

fn same_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Integer], &[])?;
    Ok(match type_at(s, 0) {
        DataType::Bool => DataType::UInt8,
        other => other.clone(),
    })
}

fn shift_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    match bit_text::shift_type(name, s)? {
        Some(text) => Ok(text),
        None => wide::result_type(name, s).map_or_else(|| pair_type(name, s), Ok),
    }
}

fn is_text(call: &Call) -> Result<bool, FunctionError> {
    let data_type = &call.operand(0)?.data_type;
    Ok(matches!(data_type, DataType::String | DataType::FixedString(_)))
}

fn pair_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Integer, Kind::Integer], &[])?;
    match (integer(type_at(s, 0)), integer(type_at(s, 1))) {
        (Some(left), Some(right)) => Ok(Integer {
            bits: left.bits.max(right.bits),
            is_signed: left.is_signed || right.is_signed,
        }
        .data_type()),
        _ => Err(wrong(name, "it takes integers")),
    }
}

fn width(call: &Call, index: usize) -> Result<u32, FunctionError> {
    Ok(integer(&call.operand(index)?.data_type).map_or(64, |it| u32::from(it.bits)))
}

fn result_width(call: &Call) -> i128 {
    integer(call.result).map_or(64, |it| i128::from(it.bits))
}

/// The number with the bits that the type of the result has.
fn in_result(call: &Call, number: i128) -> i128 {
    match integer(call.result) {
        Some(Integer { bits, is_signed: false }) => number & ((1_i128 << bits) - 1),
        Some(Integer { bits: 8, .. }) => i128::from(number as i8),
        Some(Integer { bits: 16, .. }) => i128::from(number as i16),
        Some(Integer { bits: 32, .. }) => i128::from(number as i32),
        _ => i128::from(number as i64),
    }
}

/// By how many bits; a negative number is an error.
fn counts(call: &Call) -> Result<super::super::access::Integers, FunctionError> {
    let counts = call.integers(1)?;
    for row in 0..call.rows {
        if counts.get(row) < 0 && !call.is_null(row) {
            return Err(call.value_error(row, "the shift must not be negative"));
        }
    }
    Ok(counts)
}

fn rotate(call: &Call, to_left: bool) -> Result<ArrayRef, FunctionError> {
    let (numbers, by) = (call.integers(0)?, call.integers(1)?);
    let bits = result_width(call);
    let mask = (1_i128 << bits) - 1;
    call.make_integers(|row| {
        let number = numbers.get(row) & mask;
        let by = by.get(row).rem_euclid(bits);
        let by = if to_left { by } else { (bits - by) % bits };
        number << by | number >> (bits - by)
    })
}

fn many_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=usize::MAX)?;
    takes(name, s, &vec![Kind::Integer; s.len()], &[]).map(|()| DataType::UInt8)
}

fn test_many(call: &Call, all: bool) -> Result<ArrayRef, FunctionError> {
    let numbers = call.integers(0)?;
    let places = (1..call.operands.len())
        .map(|index| call.integers(index))
        .collect::<Result<Vec<_>, _>>()?;
    call.make_flags(|row| {
        let number = numbers.get(row);
        let mut is_set = places.iter().map(|place| number >> place.get(row).clamp(0, 127) & 1 == 1);
        if all { is_set.all(|it| it) } else { is_set.any(|it| it) }
    })
}

fn count_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=1)?;
    if let Some(found) = wide::result_type(name, s) {
        return Ok(found);
    }
    match type_at(s, 0) {
        DataType::String | DataType::FixedString(_) => Ok(DataType::UInt16),
        DataType::Float32 | DataType::Float64 => Ok(DataType::UInt8),
        other if integer(other).is_some() => Ok(DataType::UInt8),
        other => Err(wrong(name, format!("it does not take {other}"))),
    }
}

fn bit_count(call: &Call) -> Result<ArrayRef, FunctionError> {
    match &call.operand(0)?.data_type {
        _ if wide::takes(call) => wide::evaluate(call),
        DataType::String | DataType::FixedString(_) => {
            let texts = call.texts(0)?;
            call.make_integers(|row| {
                texts.get(row).iter().map(|byte| i128::from(byte.count_ones())).sum()
            })
        }
        DataType::Float32 => {
            let floats = call.floats(0)?;
            call.make_integers(|row| (floats.get(row) as f32).to_bits().count_ones().into())
        }
        DataType::Float64 => {
            let floats = call.floats(0)?;
            call.make_integers(|row| floats.get(row).to_bits().count_ones().into())
        }
        _ => {
            let numbers = call.integers(0)?;
            let mask = (1_i128 << width(call, 0)?) - 1;
            call.make_integers(|row| (numbers.get(row) & mask).count_ones().into())
        }
    }
}

fn distance_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    match s {
        [
            Signature { data_type: DataType::String, .. },
            Signature { data_type: DataType::String, .. },
        ] => Ok(DataType::UInt64),
        _ => takes(name, s, &[Kind::Integer, Kind::Integer], &[]).map(|()| DataType::UInt8),
    }
}

fn distance(call: &Call) -> Result<ArrayRef, FunctionError> {
    if *call.result == DataType::UInt64 {
        let (left, right) = (call.texts(0)?, call.texts(1)?);
        return call.make_integers(|row| {
            let (a, b) = (left.get(row), right.get(row));
            let padded = |text: &[u8], at: usize| text.get(at).copied().unwrap_or(0);
            let differing = |at| (padded(a, at) ^ padded(b, at)).count_ones();
            (0..a.len().max(b.len())).map(|at| i128::from(differing(at))).sum()
        });
    }
    let (left, right) = (call.integers(0)?, call.integers(1)?);
    call.make_integers(|row| ((left.get(row) ^ right.get(row)) as u64).count_ones().into())
}
