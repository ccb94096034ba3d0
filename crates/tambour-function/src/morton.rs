//! Curves that fill space: `mortonEncode` and `mortonDecode` put the bits of several numbers between each other;
//! `hilbertEncode` and `hilbertDecode` number the places of a square along Hilbert's curve.

use super::access::{Kind, takes};
use super::arithmetic::integer;
use super::small::tuples;
use super::{Call, Function, Signature, expect_count, wrong};
use crate::FunctionError;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef};
use tambour_part::types::DataType;

/// Most numbers in one.
const COUNT_MAX: usize = 8;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("mortonEncode", encode_type, encode),
    Function::new("mortonDecode", decode_type, decode),
    Function::new("hilbertEncode", place_type, number_of_place),
    Function::new("hilbertDecode", number_type, place_of_number),
];

/// Levels of the curve: each side has 2 to this power places.
const LEVELS: u32 = 32;

/// Numbers without a sign; of those with one, constants, since numbers that are written out have one here.
fn check(name: &str, argument: &Signature) -> Result<(), FunctionError> {
    let is_taken = integer(&argument.data_type).is_some_and(|number| {
        let of_constant = argument.constant.as_ref().and_then(|constant| {
            super::access::wide_integers(constant).ok()?.first().map(|number| *number >= 0)
        });
        !number.is_signed || of_constant == Some(true)
    });
    if is_taken && argument.data_type != DataType::Bool {
        return Ok(());
    }
    Err(wrong(name, format!("it takes numbers without a sign, not {}", argument.data_type)))
}

fn encode_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=COUNT_MAX)?;
    s.iter().try_for_each(|argument| check(name, argument))?;
    Ok(DataType::UInt64)
}

fn encode(call: &Call) -> Result<ArrayRef, FunctionError> {
    let count = call.operands.len();
    let all = (0..count).map(|index| call.integers(index)).collect::<Result<Vec<_>, _>>()?;
    call.make_numbers::<UInt64Type>(|row| {
        let mut whole = 0;
        for (place, numbers) in all.iter().enumerate() {
            let number = numbers.get(row) as u64;
            for bit in 0..64 / count {
                whole |= (number >> bit & 1) << (bit * count + place);
            }
        }
        whole
    })
}

fn count_of(name: &str, argument: Option<&Signature>) -> Result<usize, FunctionError> {
    let constant = argument.and_then(|argument| argument.constant.as_ref());
    let count = constant.and_then(|constant| {
        usize::try_from(*super::access::wide_integers(constant).ok()?.first()?).ok()
    });
    count
        .filter(|count| (1..=COUNT_MAX).contains(count))
        .ok_or_else(|| wrong(name, format!("the count must be a constant from 1 to {COUNT_MAX}")))
}

fn decode_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::ConstInteger, Kind::Integer], &[])?;
    s.iter().try_for_each(|argument| check(name, argument))?;
    let count = count_of(name, s.first())?;
    Ok(DataType::Tuple(vec![(None, DataType::UInt64); count]))
}

fn decode(call: &Call) -> Result<ArrayRef, FunctionError> {
    call.refuse_nulls()?;
    let count = count_of(call.name, Some(&call.operand(0)?.signature()))?;
    let wholes = call.integers(1)?;
    let columns = (0..count).map(|place| {
        call.make_numbers::<UInt64Type>(|row| {
            let whole = wholes.get(row) as u64;
            let bit = |bit: usize| (whole >> (bit * count + place) & 1) << bit;
            (0..64 / count).map(bit).sum()
        })
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    debug_assert!(columns.iter().all(|column| column.len() == call.rows));
    tuples(call, columns)
}

fn place_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=2)?;
    s.iter().try_for_each(|argument| check(name, argument))?;
    Ok(DataType::UInt64)
}

/// The number of a place; 0 of one outside of the square. A number alone is its own.
fn number_of_place(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (first, second) = (call.integers(0)?, call.optional_integers(1)?);
    call.make_numbers::<UInt64Type>(|row| {
        let first = first.get(row) as u64;
        let Some(second) = &second else { return first };
        match (u32::try_from(first), u32::try_from(second.get(row) as u64)) {
            (Ok(x), Ok(y)) => hilbert(x, y),
            _ => 0,
        }
    })
}

/// The quarter of each level, from the largest on; within one the axes are turned.
fn hilbert(x: u32, y: u32) -> u64 {
    let (mut x, mut y, mut number) = (y, x, 0);
    for level in (0..LEVELS).rev() {
        let (right, up) = (x >> level & 1, y >> level & 1);
        number = number << 2 | u64::from((3 * right) ^ up);
        if up == 0 {
            if right == 1 {
                (x, y) = (!x, !y);
            }
            (x, y) = (y, x);
        }
    }
    number
}

fn number_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::ConstInteger, Kind::Integer], &[])?;
    s.iter().try_for_each(|argument| check(name, argument))?;
    match count_of(name, s.first())? {
        count @ (1 | 2) => Ok(DataType::Tuple(vec![(None, DataType::UInt64); count])),
        _ => Err(wrong(name, "the count must be 1 or 2")),
    }
}

fn place_of_number(call: &Call) -> Result<ArrayRef, FunctionError> {
    call.refuse_nulls()?;
    let count = count_of(call.name, Some(&call.operand(0)?.signature()))?;
    let numbers = call.integers(1)?;
    let of_row = |row: usize| {
        let number = numbers.get(row) as u64;
        if count == 1 { [number, 0] } else { unrolled(number) }
    };
    let columns = (0..count).map(|side| call.make_numbers::<UInt64Type>(|row| of_row(row)[side]));
    tuples(call, columns.collect::<Result<_, _>>()?)
}

fn unrolled(number: u64) -> [u64; 2] {
    let (mut x, mut y) = (0_u64, 0_u64);
    for level in 0..LEVELS {
        let quarter = number >> (2 * level) & 3;
        let right = quarter >> 1;
        let up = (quarter ^ right) & 1;
        let side = 1_u64 << level;
        if up == 0 {
            if right == 1 {
                (x, y) = (side - 1 - x, side - 1 - y);
            }
            (x, y) = (y, x);
        }
        x += side * right;
        y += side * up;
    }
    [y, x]
}

#[cfg(test)]
mod tests {
    use super::{hilbert, unrolled};

    #[test]
    fn places_of_the_curve_come_back() {
        assert_eq!((hilbert(3, 4), hilbert(u32::MAX, u32::MAX)), (31, 0xaaaa_aaaa_aaaa_aaaa));
        for (x, y) in [(0, 0), (1, 0), (0, 1), (77, 12_345), (u32::MAX, 1)] {
            assert_eq!(unrolled(hilbert(x, y)), [u64::from(x), u64::from(y)]);
        }
    }
}
