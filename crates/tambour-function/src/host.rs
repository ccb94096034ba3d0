//! Addresses of network cards: `MACStringToNum`, `MACStringToOUI`.

use super::access::rule;
use super::{Call, Function};
use crate::FunctionError;
use arrow_array::ArrayRef;
use arrow_array::types::UInt64Type;
use tambour_part::types::DataType;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("MACStringToNum", rule!(Text => DataType::UInt64), |c| card(c, 6)),
    Function::new("MACStringToOUI", rule!(Text => DataType::UInt64), |c| card(c, 3)),
];

/// The first bytes of an address as a number; 0 if the text is not one.
fn card(call: &Call, bytes: usize) -> Result<ArrayRef, FunctionError> {
    let texts = call.texts(0)?;
    call.make_numbers::<UInt64Type>(|row| address(texts.get(row), bytes).unwrap_or(0))
}

/// Pairs of hexadecimal digits with one byte in between, whatever it is.
fn address(text: &[u8], bytes: usize) -> Option<u64> {
    let is_whole = text.len() == 17 || bytes == 3 && (8..17).contains(&text.len());
    let mut number = 0;
    for pair in text.chunks(3).take(bytes).filter(|_| is_whole) {
        let &[high, low, ..] = pair else { return None };
        // What is not a digit is 255, as in ClickHouse, and reaches into the pair before.
        let digits = [high, low].map(|digit| char::from(digit).to_digit(16).unwrap_or(0xff));
        number = number << 8 | u64::from(digits[0] << 4 | digits[1]);
    }
    is_whole.then_some(number)
}
