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

/// The bit of each of eight bytes that says that there is another one.
const CONTINUE: u64 = 0x8080_8080_8080_8080;

/// Reads the value that starts at `at`; the value and the position after it.
///
/// ```
/// use tambour_kernel::integer::{Malformed, leb128::{self, Form}};
/// assert_eq!(leb128::read::<u32>(&[0x07, 0xac, 0x02], 1, Form::Minimal), Ok((300, 3)));
/// assert_eq!(leb128::read::<u32>(&[0x80], 0, Form::Minimal), Err(Malformed::Truncated { at: 1 }));
/// ```
#[inline]
pub fn read<T: Word>(source: &[u8], at: usize, form: Form) -> Result<(T, usize), Malformed> {
    let bytes = source.get(at..).unwrap_or_default();
    match bytes.first() {
        Some(&byte) if byte < 0x80 => Ok((T::truncate(u64::from(byte)), at + 1)),
        _ => read_long(bytes, at, form),
    }
}

/// Reads a value of two bytes or more, or none; `bytes` starts with it, `at` is its position.
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
#[inline]
pub(super) fn decode_from<T: Word>(
    source: &[u8],
    mut at: usize,
    target: &mut [T],
    form: Form,
) -> Result<usize, Malformed> {
    let mut done = 0;
    while done < target.len() {
        let rest = source.get(at..).unwrap_or_default();
        match *rest {
            [first, ..] if first < 0x80 => {
                let eight = rest.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
                if let Some(bytes) = eight.filter(|bytes| bytes & CONTINUE == 0)
                    && let Some(values) = target[done..].first_chunk_mut::<8>()
                {
                    *values = bytes.to_le_bytes().map(|byte| T::truncate(byte.into()));
                    (done, at) = (done + 8, at + 8);
                    continue;
                }
                (target[done], at) = (T::truncate(first.into()), at + 1);
            }
            [first, second, ..] if second.wrapping_sub(1) < 0x7f => {
                let value = u64::from(first & 0x7f) | u64::from(second) << 7;
                (target[done], at) = (T::truncate(value), at + 2);
            }
            _ => {
                let known = next_bytes(source, rest).and_then(|bytes| short(bytes, form));
                (target[done], at) = match known {
                    Some((value, length)) if length <= rest.len() => (value, at + length),
                    _ => read_long(rest, at, form)?,
                };
            }
        }
        done += 1;
    }
    Ok(at)
}

/// The next eight bytes, with zeros after the end of the source. `None` when the source is shorter than that.
#[inline(always)]
fn next_bytes(source: &[u8], rest: &[u8]) -> Option<u64> {
    if let Some(bytes) = rest.first_chunk() {
        return Some(u64::from_le_bytes(*bytes));
    }
    let bytes = u64::from_le_bytes(*source.last_chunk()?);
    (!rest.is_empty()).then(|| bytes >> (64 - 8 * rest.len()))
}

/// Encodes eight values of a byte each; whether the next eight are that and have room.
#[inline(always)]
pub(super) fn encode_eight<T: Word>(
    source: &[T],
    done: usize,
    target: &mut [u8],
    at: usize,
) -> bool {
    let Some(values) = source[done..].first_chunk::<8>() else { return false };
    let Some(place) = target.get_mut(at..).and_then(<[u8]>::first_chunk_mut) else { return false };
    let all = values.iter().fold(0, |all, value| all | value.widen());
    if all < 0x80 {
        *place = values.map(|value| value.widen().to_le_bytes()[0]);
    }
    all < 0x80
}

/// A number of at most 56 bits in as many bytes as it needs, and how many those are.
#[inline(always)]
fn spread(number: u64) -> (u64, usize) {
    let eights = number & 0x0fff_ffff | (number & 0x00ff_ffff_f000_0000) << 4;
    let fours = eights & 0x0000_3fff_0000_3fff | (eights & 0x0fff_c000_0fff_c000) << 2;
    let sevens = fours & 0x007f_007f_007f_007f | (fours & 0x3f80_3f80_3f80_3f80) << 1;
    // Bytes after the first: the position of the highest bit, divided by 7.
    let more = ((number | 1).ilog2() * 37) >> 8;
    let kept = (1 << (8 * more)) - 1;
    (sevens | CONTINUE & kept, more as usize + 1)
}

/// The value that eight bytes start with, and its length; `None` if it is longer than them or malformed. Its first byte
/// says that there is another one.
#[inline(always)]
fn short<T: Word>(bytes: u64, form: Form) -> Option<(T, usize)> {
    let ends = !bytes & CONTINUE;
    if ends == 0 {
        return None;
    }
    // Up to the bit that ends the value.
    let kept = ends ^ (ends - 1);
    let end = ends.trailing_zeros() as usize;
    let (length, last) = (end / 8 + 1, bytes >> (end - 7) & 0xff);
    let is_longest = length >= T::BYTES_MAX;
    if is_longest && (length > T::BYTES_MAX || last > T::LAST_MAX.into()) {
        return None;
    }
    if last == 0 && form == Form::Minimal {
        return None;
    }
    // Seven bits of each byte move together: by pairs, by fours, by eights.
    let sevens = bytes & kept & !CONTINUE;
    let pairs = sevens & 0x007f_007f_007f_007f | (sevens & 0x7f00_7f00_7f00_7f00) >> 1;
    let fours = pairs & 0x0000_3fff_0000_3fff | (pairs & 0x3fff_0000_3fff_0000) >> 2;
    let value = fours & 0x0fff_ffff | (fours & 0x0fff_ffff_0000_0000) >> 4;
    Some((T::truncate(value), length))
}

fn encode<T: Word>(source: &[T], target: &mut [u8]) -> Option<usize> {
    encode_from(source, target, 0)
}

/// Encodes all of `source` from position `at` of the target on; the position after it.
#[inline]
pub(super) fn encode_from<T: Word>(
    source: &[T],
    target: &mut [u8],
    mut at: usize,
) -> Option<usize> {
    let mut done = 0;
    while done < source.len() {
        let mut rest = source[done].widen();
        if rest < 0x80 {
            if encode_eight(source, done, target, at) {
                (done, at) = (done + 8, at + 8);
                continue;
            }
            *target.get_mut(at)? = rest.to_le_bytes()[0];
            (done, at) = (done + 1, at + 1);
            continue;
        }
        done += 1;
        if rest < 1 << 14
            && let Some(place) = target.get_mut(at..).and_then(<[u8]>::first_chunk_mut)
        {
            *place = [rest.to_le_bytes()[0] | 0x80, (rest >> 7).to_le_bytes()[0]];
            at += 2;
            continue;
        }
        if rest < 1 << 56
            && let Some(place) = target.get_mut(at..).and_then(<[u8]>::first_chunk_mut)
        {
            // Eight bytes in any case: the next value comes over what is too much.
            let (bytes, length) = spread(rest);
            *place = bytes.to_le_bytes();
            at += length;
            continue;
        }
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
