//! Windows of 64 bytes with AVX-512 VBMI2.
//!
//! Windows start every 60 bytes wherever values start: each emits the values that *end* in its bytes 4 to 63 (the first: all),
//! and a value has at most five bytes, so its start lies in the window, too. No window waits for another; only the position of
//! the output is carried. The ends and starts of values are compressed bit positions; a gather within the register, masked to
//! the value's own bytes, and two multiply-adds join the groups.

use super::{Decode, Form, Malformed, scalar};
use crate::integer::memory::{load, row64, store};
use crate::variant::{Isa, Variant};
use core::arch::x86_64::{
    __m128i, __m512i, _mm_maskz_loadu_epi8, _mm512_add_epi8, _mm512_and_si512,
    _mm512_cmpgt_epu8_mask, _mm512_cmple_epu8_mask, _mm512_cmplt_epu8_mask, _mm512_cvtepu8_epi32,
    _mm512_madd_epi16, _mm512_maddubs_epi16, _mm512_mask_storeu_epi32, _mm512_maskz_compress_epi8,
    _mm512_maskz_loadu_epi8, _mm512_maskz_permutexvar_epi8, _mm512_movepi8_mask, _mm512_or_si512,
    _mm512_permutexvar_epi8, _mm512_set1_epi8, _mm512_set1_epi16, _mm512_set1_epi32,
    _mm512_slli_epi32, _mm512_srli_epi32, _mm512_testn_epi8_mask, _pdep_u64,
};

pub(super) const VARIANT: Variant<Decode<u32>> =
    Variant { name: "avx512", isa: Isa::Avx512, run: decode };

/// From one window to the next.
const STRIDE: usize = 60;

/// 0, 1, 2, …: the positions of a register's bytes.
pub(super) static POSITIONS: [u8; 64] = positions(1, 1, 0);
/// `[g][k] = 16 g + k / 4`: each of 16 positions for four bytes.
static SPREAD: [[u8; 64]; 4] =
    [positions(4, 1, 0), positions(4, 1, 16), positions(4, 1, 32), positions(4, 1, 48)];
/// `k % 4`.
static BYTE_OF_LANE: [u8; 64] = {
    let mut table = positions(1, 1, 0);
    let mut k = 0;
    while k < 64 {
        table[k] %= 4;
        k += 1;
    }
    table
};

/// `[k] = add + k / divisor * factor`.
#[expect(clippy::cast_possible_truncation, reason = "positions are below 64")]
pub(super) const fn positions(divisor: usize, factor: usize, add: usize) -> [u8; 64] {
    let mut table = [0; 64];
    let mut k = 0;
    while k < 64 {
        table[k] = (add + k / divisor * factor) as u8;
        k += 1;
    }
    table
}

/// What every window needs.
#[derive(Clone, Copy)]
struct Constants {
    byte_of_lane: __m512i,
    pairs: __m512i,
    quads: __m512i,
}

/// The values of a window: its bytes without continuation bits, and for each value its first and last byte.
#[derive(Clone, Copy)]
struct Window {
    groups: __m512i,
    starts: __m512i,
    ends: __m512i,
    /// Some value has five bytes.
    five: bool,
}

/// Sixteen values of a window.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2")]
fn sixteen(constants: Constants, window: Window, sixteenth: usize) -> __m512i {
    let spread = row64(&SPREAD[sixteenth]);
    let index =
        _mm512_add_epi8(_mm512_permutexvar_epi8(spread, window.starts), constants.byte_of_lane);
    let last = _mm512_permutexvar_epi8(spread, window.ends);
    let own = _mm512_cmple_epu8_mask(index, last);
    let bytes = _mm512_maskz_permutexvar_epi8(own, index, window.groups);
    let joined = _mm512_madd_epi16(_mm512_maddubs_epi16(constants.pairs, bytes), constants.quads);
    if !window.five {
        return joined;
    }
    // The byte after the fourth, where there is one; it goes to the top four bits.
    let more = _mm512_cmplt_epu8_mask(index, last) & 0x8888_8888_8888_8888;
    let next = _mm512_add_epi8(index, _mm512_set1_epi8(1));
    let fifth = _mm512_maskz_permutexvar_epi8(more, next, window.groups);
    _mm512_or_si512(joined, _mm512_slli_epi32::<28>(_mm512_srli_epi32::<24>(fifth)))
}

/// `length` bytes (a multiple of 16) as values.
///
/// # Safety
/// `at + length <= source.len()` and `done + length <= target.len()`.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn zero_extend(source: &[u8], at: usize, target: &mut [u32], done: usize) {
    for part in [0, 16, 32, 48] {
        // SAFETY: the caller keeps 64 bytes within the source.
        let bytes = unsafe { load::<__m128i, _>(source, at + part) };
        let values = _mm512_cvtepu8_epi32(bytes);
        // SAFETY: the caller keeps 64 values within the target.
        unsafe { store(target, done + part, values) };
    }
}

#[target_feature(
    enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt"
)]
fn decode(source: &[u8], target: &mut [u32], form: Form) -> Result<usize, Malformed> {
    let constants = Constants {
        byte_of_lane: row64(&BYTE_OF_LANE),
        pairs: _mm512_set1_epi16(0x8001_u16.cast_signed()),
        quads: _mm512_set1_epi32(0x4000_0001),
    };
    let strict = if form == Form::Minimal { u64::MAX } else { 0 };
    // The first window owns the ends in all of its bytes, the others those from byte 4 on.
    let (mut at, mut done, mut owned, mut skipped) = (0, 0, u64::MAX, 0_usize);
    // A window of bytes that are all values reads four bytes beyond itself.
    while source.len() - at >= 68 && target.len() - done >= 64 {
        // SAFETY: 68 bytes of source were checked.
        let bytes = unsafe { load::<__m512i, _>(source, at) };
        let more = _mm512_movepi8_mask(bytes);
        if more == 0 {
            // SAFETY: 68 bytes of source and room for 64 values were checked.
            unsafe { zero_extend(source, at + skipped, target, done) };
            done += STRIDE + 4 - skipped;
            (at, owned, skipped) = (at + STRIDE, !15, 4);
            continue;
        }
        // Bytes after four that continue: the last of a value, and it has four bits.
        let fifth = more << 1 & more << 2 & more << 3 & more << 4;
        let mut wrong = _mm512_testn_epi8_mask(bytes, bytes) & more << 1 & strict;
        if fifth != 0 {
            wrong |= _mm512_cmpgt_epu8_mask(bytes, _mm512_set1_epi8(0x0f)) & fifth;
        }
        if wrong != 0 {
            break;
        }
        let ends = !more & owned;
        // After the last end that an earlier window owns.
        let first = 64 - (!more & !owned).leading_zeros();
        let starts = ends << 1 | 1 << first;
        let count = ends.count_ones() as usize;
        let positions = row64(&POSITIONS);
        let window = Window {
            groups: _mm512_and_si512(bytes, _mm512_set1_epi8(0x7f)),
            starts: _mm512_maskz_compress_epi8(starts, positions),
            ends: _mm512_maskz_compress_epi8(ends, positions),
            five: fifth != 0,
        };
        // The second sixteen are stored unasked: that costs less than a wrong guess where values are long.
        for sixteenth in 0..4 {
            if sixteenth > 1 && count <= 16 * sixteenth {
                break;
            }
            let values = sixteen(constants, window, sixteenth);
            // SAFETY: room for 64 values was checked.
            unsafe { store(target, done + 16 * sixteenth, values) };
        }
        done += count;
        (at, owned, skipped) = (at + STRIDE, !15, 4);
    }
    let at = behind(source, at, skipped);
    let (at, taken) = decode_rest(constants, source, at, &mut target[done..], strict);
    scalar::decode_from(source, at, &mut target[done + taken..], form)
}

/// The values at the end of source or target, and all of a short list: window by window, each from where the one before
/// ended, and nothing but them is read and written. Ends before a value that is malformed or not all there; returns the
/// position of the next value, and how many were decoded.
#[inline]
#[target_feature(
    enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt"
)]
fn decode_rest(
    constants: Constants,
    source: &[u8],
    mut at: usize,
    target: &mut [u32],
    strict: u64,
) -> (usize, usize) {
    let mut done = 0;
    while done < target.len() {
        let bytes = first_bytes(&source[at..]);
        let more = _mm512_movepi8_mask(bytes);
        let there = source.len() - at;
        let ends = !more & if there < 64 { (1 << there) - 1 } else { u64::MAX };
        let count = (ends.count_ones() as usize).min(target.len() - done);
        if count == 0 {
            break;
        }
        // The last byte of the last value that is wanted, and all before it.
        let last = _pdep_u64(1 << (count - 1), ends);
        let used = last | (last - 1);
        if more & used == 0 {
            zero_extend_first(&source[at..], &mut target[done..done + count]);
            (at, done) = (at + count, done + count);
            continue;
        }
        let fifth = more << 1 & more << 2 & more << 3 & more << 4 & used;
        let wrong = _mm512_testn_epi8_mask(bytes, bytes) & more << 1 & strict & used;
        if wrong | _mm512_cmpgt_epu8_mask(bytes, _mm512_set1_epi8(0x0f)) & fifth != 0 {
            break;
        }
        let positions = row64(&POSITIONS);
        let window = Window {
            groups: _mm512_and_si512(bytes, _mm512_set1_epi8(0x7f)),
            starts: _mm512_maskz_compress_epi8(ends << 1 | 1, positions),
            ends: _mm512_maskz_compress_epi8(ends, positions),
            five: fifth != 0,
        };
        for (sixteenth, target) in target[done..done + count].chunks_mut(16).enumerate() {
            store_first(target, sixteen(constants, window, sixteenth));
        }
        done += count;
        at += last.trailing_zeros() as usize + 1;
    }
    (at, done)
}

/// Writes the first of sixteen values: as many as the target has, at most sixteen.
#[inline]
#[target_feature(enable = "avx512f")]
fn store_first(target: &mut [u32], values: __m512i) {
    let mask = u16::MAX >> (16 - target.len());
    // SAFETY: the mask selects as many values as the target has; no others are touched.
    unsafe { _mm512_mask_storeu_epi32(target.as_mut_ptr().cast(), mask, values) };
}

/// The first bytes as values: as many as the target has, of which the source has as many or more.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
fn zero_extend_first(source: &[u8], target: &mut [u32]) {
    let source = &source[..target.len()];
    for (bytes, target) in source.chunks(16).zip(target.chunks_mut(16)) {
        let mask = u16::MAX >> (16 - bytes.len());
        // SAFETY: the mask selects bytes of the source; no others are touched.
        let bytes = unsafe { _mm_maskz_loadu_epi8(mask, bytes.as_ptr().cast()) };
        store_first(target, _mm512_cvtepu8_epi32(bytes));
    }
}

/// Up to 64 bytes, and zeros after them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
fn first_bytes(source: &[u8]) -> __m512i {
    let mask = if source.len() < 64 { (1 << source.len()) - 1 } else { u64::MAX };
    // SAFETY: the mask selects bytes of the source; no others are touched.
    unsafe { _mm512_maskz_loadu_epi8(mask, source.as_ptr().cast()) }
}

/// The first byte of the value that ends after the first `window` bytes from `at` on.
pub(super) fn behind(source: &[u8], at: usize, window: usize) -> usize {
    let owned = &source[at..at + window];
    at + owned.iter().rposition(|&byte| byte < 0x80).map_or(0, |last| last + 1)
}
