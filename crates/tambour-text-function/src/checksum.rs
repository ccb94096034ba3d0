//! Checksums of 32 bits, powers as integers, and digits of bits as texts: `CRC32`, `intExp2`, `unbin`.

use arrow_array::ArrayRef;
use arrow_array::types::UInt64Type;
use tambour_function::kit::{Call, Kind, integer, rule, takes, type_at};
use tambour_function::{Function, FunctionError, Signature};
use tambour_part::types::DataType;

/// IEEE 802.3, its bits turned around.
const POLYNOMIAL: u32 = 0xedb8_8320;

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("CRC32", rule!(Text => DataType::UInt32), |c| checksum(c, u32::MAX)).any_case(),
    Function::new("CRC32IEEE", rule!(Text => DataType::UInt32), |c| checksum(c, 0)).any_case(),
    Function::new("intExp2", power_type, |c| power(c, 2)),
    Function::new("intExp10", power_type, |c| power(c, 10)),
    Function::new("unbin", rule!(Text => DataType::String), |c| {
        let texts = c.texts(0)?;
        c.make_texts(|row, out| unpacked(texts.get(row), out))
    })
    .bytes()
    .any_case(),
];

/// The register is turned around at the end if it was at the start.
fn checksum(call: &Call, start: u32) -> Result<ArrayRef, FunctionError> {
    let texts = call.texts(0)?;
    call.make_integers(|row| i128::from(crc_32(texts.get(row), start) ^ start))
}

fn crc_32(bytes: &[u8], start: u32) -> u32 {
    bytes.iter().fold(start, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            if sum & 1 == 1 { sum >> 1 ^ POLYNOMIAL } else { sum >> 1 }
        })
    })
}

fn power_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Number], &[]).map(|()| DataType::UInt64)
}

/// A power, 0 where it is less than 1, and the greatest number where it is more than that.
fn power(call: &Call, base: u64) -> Result<ArrayRef, FunctionError> {
    let of_exponent = |exponent: i128| match u32::try_from(exponent) {
        Ok(exponent) => base.checked_pow(exponent).unwrap_or(u64::MAX),
        Err(_) if exponent < 0 => 0,
        Err(_) => u64::MAX,
    };
    if integer(type_at(&[call.operand(0)?.signature()], 0)).is_some() {
        let exponents = call.integers(0)?;
        // Those of ten are 32 bits wide there.
        let narrow = |exponent: i128| match base {
            10 => i128::from(exponent as i32),
            _ => exponent,
        };
        return call.make_numbers::<UInt64Type>(|row| of_exponent(narrow(exponents.get(row))));
    }
    let exponents = call.floats(0)?;
    let is_nan = |row: &usize| exponents.get(*row).is_nan() && !call.is_null(*row);
    if let Some(row) = (0..call.rows).find(is_nan) {
        return Err(call.value_error(row, "NaN is not an exponent"));
    }
    call.make_numbers::<UInt64Type>(|row| match exponents.get(row) {
        negative if negative < 0.0 => 0,
        other => of_exponent(other as i128),
    })
}

/// Eight digits to a byte, from the end on; what is not 0 counts as 1. Fewer digits at the front are left out if they are zeros.
fn unpacked(text: &[u8], out: &mut Vec<u8>) {
    let (head, tail) = text.split_at(text.len() % 8);
    let packed =
        |digits: &[u8]| digits.iter().fold(0_u8, |sum, byte| sum << 1 | u8::from(*byte != b'0'));
    let first = packed(head);
    if first != 0 || tail.is_empty() && !head.is_empty() {
        out.push(first);
    }
    out.extend(tail.chunks(8).map(packed));
}

#[cfg(test)]
mod tests {
    use super::crc_32;

    #[test]
    fn the_known_checksum_comes_out() {
        assert_eq!(crc_32(b"123456789", u32::MAX) ^ u32::MAX, 0xcbf4_3926);
    }
}
