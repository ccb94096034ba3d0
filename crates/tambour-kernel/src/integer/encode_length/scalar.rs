//! One value at a time in safe Rust: the fallback everywhere, and the author of every error.

use super::{BYTES_MAX, Decode, ESCAPE, Malformed};
use crate::integer::leb128::Word;
use crate::variant::{Isa, Variant};

pub(super) const DECODE: Variant<Decode<u32>> =
    Variant { name: "scalar", isa: Isa::Scalar, run: decode };

/// Writes a value to the front of `target`; the number of bytes.
///
/// ```
/// use tambour_kernel::integer::encode_length;
/// let mut bytes = [0; encode_length::BYTES_MAX];
/// let length = encode_length::write(1000, &mut bytes);
/// assert_eq!(encode_length::read::<u64>(&bytes[..length], 0), Ok((1000, length)));
/// ```
#[inline]
pub fn write(value: u64, target: &mut [u8; BYTES_MAX]) -> usize {
    let Some(mut rest) = value.checked_sub(u64::from(ESCAPE)) else {
        target[0] = value.to_le_bytes()[0];
        return 1;
    };
    target[0] = ESCAPE;
    let mut length = 1;
    while rest >= 0x80 {
        target[length] = rest.to_le_bytes()[0] & 0x7f;
        rest >>= 7;
        length += 1;
    }
    target[length] = rest.to_le_bytes()[0] | 0x80;
    length + 1
}

/// Encodes all values; the number of bytes, or `None` when the target is too short.
///
/// ```
/// use tambour_kernel::integer::encode_length;
/// let mut bytes = [0; 8];
/// let length = encode_length::encode(&[7, 254], &mut bytes).ok_or("no room")?;
/// assert_eq!(bytes[..length], [7, 254]);
/// assert_eq!(encode_length::encode(&[1_000_000], &mut [0; 1]), None);
///
/// let mut values = [0; 2];
/// encode_length::decode(&bytes[..length], &mut values)?;
/// assert_eq!(values, [7, 254]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn encode(source: &[u32], target: &mut [u8]) -> Option<usize> {
    let mut at = 0;
    for &value in source {
        if value < u32::from(ESCAPE) {
            *target.get_mut(at)? = value.to_le_bytes()[0];
            at += 1;
            continue;
        }
        let mut bytes = [0; BYTES_MAX];
        let length = write(u64::from(value), &mut bytes);
        target.get_mut(at..at + length)?.copy_from_slice(&bytes[..length]);
        at += length;
    }
    Some(at)
}

/// Reads the value that starts at `at`; the value and the position after it.
#[inline]
pub fn read<T: Word>(source: &[u8], at: usize) -> Result<(T, usize), Malformed> {
    match source.get(at) {
        None => Err(Malformed::Truncated { at }),
        Some(&ESCAPE) => read_escaped(source, at),
        Some(&byte) => Ok((T::truncate(u64::from(byte)), at + 1)),
    }
}

/// Reads the value whose escape is at `at`.
pub(super) fn read_escaped<T: Word>(source: &[u8], at: usize) -> Result<(T, usize), Malformed> {
    let groups = &source[at + 1..];
    let mut number = 0_u64;
    for (index, &byte) in groups.iter().take(T::BYTES_MAX).enumerate() {
        let group = byte & 0x7f;
        if index + 1 == T::BYTES_MAX && group > T::LAST_MAX {
            return Err(if byte < 0x80 {
                Malformed::TooLong { at }
            } else {
                Malformed::Overflow { at }
            });
        }
        number |= u64::from(group) << (7 * index);
        if byte < 0x80 {
            continue;
        }
        if group == 0 && index > 0 {
            return Err(Malformed::NonMinimal { at });
        }
        let value = number.checked_add(u64::from(ESCAPE)).ok_or(Malformed::Overflow { at })?;
        if T::truncate(value).widen() != value {
            return Err(Malformed::Overflow { at });
        }
        return Ok((T::truncate(value), at + index + 2));
    }
    if groups.len() < T::BYTES_MAX {
        return Err(Malformed::Truncated { at: source.len() });
    }
    Err(Malformed::TooLong { at })
}

fn decode(source: &[u8], target: &mut [u32]) -> Result<usize, Malformed> {
    decode_from(source, 0, target)
}

/// Decodes into all of `target` what starts at `at`; the position after it.
pub(super) fn decode_from(
    source: &[u8],
    mut at: usize,
    target: &mut [u32],
) -> Result<usize, Malformed> {
    for value in target {
        (*value, at) = read(source, at)?;
    }
    Ok(at)
}
