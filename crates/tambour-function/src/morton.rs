//! Curves that fill space: `mortonEncode` and `mortonDecode` put the bits of several numbers between each other.

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
];

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
