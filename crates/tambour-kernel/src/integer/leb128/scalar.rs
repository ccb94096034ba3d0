//! One value at a time in safe Rust: the fallback everywhere, the ends of the fast loops, and the author of every error.

use super::{Decode, Encode, Form, Malformed, Word};
use crate::variant::{Isa, Variant};

pub(super) const ENCODE_U32: Variant<Encode<u32>> =
    Variant { name: "scalar", isa: Isa::Scalar, run: encode::<u32> };
pub(super) const ENCODE_U64: Variant<Encode<u64>> =
    Variant { name: "scalar", isa: Isa::Scalar, run: encode::<u64> };
pub(super) const DECODE_U32: Variant<Decode<u32>> =
    Variant { name: "scalar", isa: Isa::Scalar, run: decode::<u32> };
pub(super) const DECODE_U64: Variant<Decode<u64>> =
    Variant { name: "scalar", isa: Isa::Scalar, run: decode::<u64> };

/// Reads the value that starts at `at`; the value and the position after it.
#[inline]
pub fn read<T: Word>(source: &[u8], at: usize, form: Form) -> Result<(T, usize), Malformed> {
    let bytes = source.get(at..).unwrap_or_default();
    match bytes.first() {
        Some(&byte) if byte < 0x80 => Ok((T::truncate(u64::from(byte)), at + 1)),
        _ => read_long(bytes, at, form),
    }
}

/// Reads a value of two bytes or more; `bytes` starts with it, `at` is its position.
fn read_long<T: Word>(bytes: &[u8], at: usize, form: Form) -> Result<(T, usize), Malformed> {
    let mut number = 0;
    for (index, &byte) in bytes.iter().take(T::BYTES_MAX).enumerate() {
        number |= u64::from(byte & 0x7f) << (7 * index);
        if byte >= 0x80 {
            continue;
        }
        if index + 1 == T::BYTES_MAX && byte > T::LAST_MAX {
            return Err(Malformed::Overflow { at });
        }
        if byte == 0 && form == Form::Minimal {
            return Err(Malformed::NonMinimal { at });
        }
        return Ok((T::truncate(number), at + index + 1));
    }
    if bytes.len() < T::BYTES_MAX {
        return Err(Malformed::Truncated { at: at + bytes.len() });
    }
    Err(Malformed::TooLong { at })
}

fn decode<T: Word>(source: &[u8], target: &mut [T], form: Form) -> Result<usize, Malformed> {
    decode_from(source, 0, target, form)
}

/// Decodes into all of `target` what starts at `at`; the position after it.
pub(super) fn decode_from<T: Word>(
    source: &[u8],
    mut at: usize,
    target: &mut [T],
    form: Form,
) -> Result<usize, Malformed> {
    for value in target {
        (*value, at) = read(source, at, form)?;
    }
    Ok(at)
}

fn encode<T: Word>(source: &[T], target: &mut [u8]) -> Option<usize> {
    encode_from(source, target, 0)
}

/// Encodes all of `source` from position `at` of the target on; the position after it.
pub(super) fn encode_from<T: Word>(
    source: &[T],
    target: &mut [u8],
    mut at: usize,
) -> Option<usize> {
    for value in source {
        let mut rest = value.widen();
        while rest >= 0x80 {
            *target.get_mut(at)? = rest.to_le_bytes()[0] | 0x80;
            rest >>= 7;
            at += 1;
        }
        *target.get_mut(at)? = rest.to_le_bytes()[0];
        at += 1;
    }
    Some(at)
}
