//! Bits of strings: `bitShiftLeft` and `bitShiftRight` of them, and `bitSlice`.

use super::super::access::{Kind, rule, takes, type_at};
use super::super::{Call, Function, Signature};
use crate::FunctionError;
use arrow_array::ArrayRef;
use tambour_part::types::DataType;

/// The functions of this room.
pub(in super::super) const FUNCTIONS: &[Function] =
    &[Function::new("bitSlice", rule!(Text Integer [Integer] => DataType::String), slice).bytes()];

/// The type of a string that is shifted, if it is one.
pub(super) fn shift_type(
    name: &'static str,
    s: &[Signature],
) -> Result<Option<DataType>, FunctionError> {
    match type_at(s, 0) {
        text @ (DataType::String | DataType::FixedString(_)) => {
            takes(name, s, &[Kind::Text, Kind::Integer], &[])?;
            Ok(Some(text.clone()))
        }
        _ => Ok(None),
    }
}

/// Strings with their bits moved; those of a fixed length keep it.
pub(super) fn shift(call: &Call, to_left: bool) -> Result<ArrayRef, FunctionError> {
    let (texts, by) = (call.texts(0)?, call.integers(1)?);
    for row in 0..call.rows {
        if by.get(row) < 0 && !call.is_null(row) {
            return Err(call.value_error(row, "the number of bits is below 0"));
        }
    }
    let moved = |row: usize, out: &mut Vec<u8>| {
        let text = texts.get(row);
        let by = usize::try_from(by.get(row)).unwrap_or(usize::MAX);
        if by < text.len() * 8 {
            let shifted = if to_left { shifted_left(text, by) } else { shifted_right(text, by) };
            out.extend_from_slice(&shifted);
        }
    };
    match call.result {
        DataType::FixedString(width) => call.make_fixed(*width, |row, out| {
            let mut bytes = Vec::new();
            moved(row, &mut bytes);
            let width = *width;
            if to_left {
                // What is moved out at the front is cut off.
                bytes.drain(..bytes.len().saturating_sub(width));
            } else {
                out.extend(std::iter::repeat_n(0, width - bytes.len().min(width)));
            }
            out.extend_from_slice(&bytes);
        }),
        _ => call.make_texts(moved),
    }
}

/// The text as a number, times a power of two: longer by the bytes that are begun.
fn shifted_left(text: &[u8], by: usize) -> Vec<u8> {
    let bits = by % 8;
    let mut out = if bits == 0 {
        text.to_vec()
    } else {
        let (mut before, end) = (0_u16, [0]);
        let carried = text.iter().chain(&end).map(|byte| {
            let both = before << 8 | u16::from(*byte);
            before = u16::from(*byte);
            (both >> (8 - bits) & 0xff) as u8
        });
        carried.collect()
    };
    out.resize(out.len() + by / 8, 0);
    out
}

/// The text as a number, divided by a power of two: shorter by whole bytes.
fn shifted_right(text: &[u8], by: usize) -> Vec<u8> {
    let (bytes, bits) = (by / 8, by % 8);
    let kept = &text[..text.len() - bytes];
    let mut before = 0_u16;
    kept.iter()
        .map(|byte| {
            let both = before << 8 | u16::from(*byte);
            before = u16::from(*byte);
            (both >> bits & 0xff) as u8
        })
        .collect()
}

/// The bits from a place on, from 1; below 0 from the end. They stand at the front of the result.
fn slice(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (texts, offsets) = (call.texts(0)?, call.integers(1)?);
    let lengths = call.optional_integers(2)?;
    call.make_texts(|row, out| {
        let text = texts.get(row);
        let count = text.len() as i128 * 8;
        // They have 64 bits there.
        let offset = i128::from(offsets.get(row) as i64);
        let start = match offset {
            0 => return,
            1.. => offset - 1,
            _ => count + offset,
        };
        let end = match lengths.as_ref().map(|lengths| i128::from(lengths.get(row) as i64)) {
            None => count,
            Some(length @ 0..) => start.saturating_add(length).min(count),
            Some(length) => count + length,
        };
        let bit = |at: usize| text[at / 8] >> (7 - at % 8) & 1;
        let taken = start.clamp(0, count) as usize..end.clamp(0, count) as usize;
        for (place, at) in taken.enumerate() {
            if place % 8 == 0 {
                out.push(0);
            }
            if let Some(last) = out.last_mut() {
                *last |= bit(at) << (7 - place % 8);
            }
        }
    })
}
