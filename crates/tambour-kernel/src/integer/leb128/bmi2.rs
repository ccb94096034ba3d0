//! Parallel bit deposit and extract: eight bytes of a value at a time, whatever the lengths.
//!
//! The decoder looks for the ends of values in 64 bytes at once, so that finding the next value does not wait for the
//! previous one to be loaded.

use super::{Decode, Encode, Form, Malformed, Word, scalar};
use crate::integer::memory::{load, store};
use crate::variant::{Isa, Variant};
use core::arch::x86_64::{__m256i, _bzhi_u64, _mm256_movemask_epi8, _pdep_u64, _pext_u64};

pub(super) const ENCODE_U32: Variant<Encode<u32>> =
    Variant { name: "bmi2", isa: Isa::Avx2, run: encode::<u32> };
pub(super) const ENCODE_U64: Variant<Encode<u64>> =
    Variant { name: "bmi2", isa: Isa::Avx2, run: encode::<u64> };
pub(super) const DECODE_U32: Variant<Decode<u32>> =
    Variant { name: "bmi2", isa: Isa::Avx2, run: decode::<u32> };
pub(super) const DECODE_U64: Variant<Decode<u64>> =
    Variant { name: "bmi2", isa: Isa::Avx2, run: decode::<u64> };

/// The value bits of eight bytes.
const GROUPS: u64 = 0x7f7f_7f7f_7f7f_7f7f;

/// The continuation bits of eight bytes.
const CONTINUE: u64 = 0x8080_8080_8080_8080;

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn encode<T: Word>(source: &[T], target: &mut [u8]) -> Option<usize> {
    let mut at = 0;
    let mut done = 0;
    while done < source.len() {
        if target.len() - at < 16 {
            return scalar::encode_from(&source[done..], target, at);
        }
        let value = source[done].widen();
        if value < 0x80 {
            if scalar::encode_eight(source, done, target, at) {
                (done, at) = (done + 8, at + 8);
                continue;
            }
            // SAFETY: 16 bytes of room were checked above.
            unsafe { store(target, at, value.to_le_bytes()[0]) };
            (done, at) = (done + 1, at + 1);
            continue;
        }
        done += 1;
        // Bytes beyond the first: the position of the highest bit, divided by 7.
        let more = ((value | 1).ilog2() * 37) >> 8;
        let spread = _pdep_u64(value, GROUPS) | (CONTINUE & _bzhi_u64(u64::MAX, 8 * more.min(8)));
        // SAFETY: 16 bytes of room were checked above.
        unsafe { store(target, at, spread) };
        if T::BYTES_MAX > 8 && more >= 8 {
            // The bits above 56: one byte, and a tenth for bit 63.
            let high =
                _pdep_u64(value >> 56, 0x017f) | (CONTINUE & _bzhi_u64(u64::MAX, 8 * (more - 8)));
            // SAFETY: 16 bytes of room were checked above.
            unsafe { store(target, at + 8, high) };
        }
        at += more as usize + 1;
    }
    Some(at)
}

/// A bit for each of 64 bytes that ends a value.
///
/// # Safety
/// `at + 64 <= source.len()`.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn ends(source: &[u8], at: usize) -> u64 {
    // SAFETY: the caller keeps 64 bytes within the source.
    let low = unsafe { load::<__m256i, _>(source, at) };
    // SAFETY: as above.
    let high = unsafe { load::<__m256i, _>(source, at + 32) };
    let low = u64::from(_mm256_movemask_epi8(low).cast_unsigned());
    let high = u64::from(_mm256_movemask_epi8(high).cast_unsigned());
    !(low | high << 32)
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn decode<T: Word>(source: &[u8], target: &mut [T], form: Form) -> Result<usize, Malformed> {
    // The block that is looked at, the value that comes next, and how many values are done.
    let (mut block, mut start, mut done) = (0, 0, 0);
    'blocks: while target.len() - done >= 64 && source.len() - block >= 80 {
        // SAFETY: 80 bytes of source were checked.
        let mut ends = unsafe { ends(source, block) };
        while ends != 0 {
            let end = block + ends.trailing_zeros() as usize;
            let length = end - start + 1;
            // SAFETY: `start` is at most 16 bytes past the end of the block, or in it.
            let bytes = unsafe { load::<u64, _>(source, start) };
            #[expect(clippy::cast_possible_truncation, reason = "at most 64")]
            let kept = _bzhi_u64(u64::MAX, 8 * length.min(8) as u32);
            let mut value = _pext_u64(bytes, GROUPS & kept);
            let last = source[end];
            if length >= T::BYTES_MAX.min(8) {
                if length > T::BYTES_MAX || (length == T::BYTES_MAX && last > T::LAST_MAX) {
                    break 'blocks;
                }
                if length > 8 {
                    value |= u64::from(source[start + 8] & 0x7f) << 56;
                }
                if length > 9 {
                    value |= u64::from(source[start + 9]) << 63;
                }
            }
            if form == Form::Minimal && last == 0 && length > 1 {
                break 'blocks;
            }
            target[done] = T::truncate(value);
            done += 1;
            start = end + 1;
            ends &= ends - 1;
        }
        block += 64;
        if block > start + T::BYTES_MAX {
            break;
        }
    }
    scalar::decode_from(source, start, &mut target[done..], form)
}
