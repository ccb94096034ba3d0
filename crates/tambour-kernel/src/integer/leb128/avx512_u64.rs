//! Windows of 64 bytes with AVX-512 VBMI2, as for 32-bit values; values of ten bytes make the stride 55.

use super::avx512_u32::{POSITIONS, behind, positions};
use super::{Decode, Form, Malformed, scalar};
use crate::integer::memory::{load, row64, store};
use crate::variant::{Isa, Variant};
use core::arch::x86_64::{
    __m512i, _mm512_add_epi8, _mm512_and_si512, _mm512_cmpgt_epu8_mask, _mm512_cmple_epu8_mask,
    _mm512_madd_epi16, _mm512_maddubs_epi16, _mm512_maskz_compress_epi8,
    _mm512_maskz_permutexvar_epi8, _mm512_movepi8_mask, _mm512_or_si512, _mm512_permutexvar_epi8,
    _mm512_set1_epi8, _mm512_set1_epi16, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_slli_epi64,
    _mm512_srli_epi64, _mm512_testn_epi8_mask,
};

pub(super) const VARIANT: Variant<Decode<u64>> =
    Variant { name: "avx512", isa: Isa::Avx512, run: decode };

/// From one window to the next: a value that ends in byte 9 or later starts in the window.
const STRIDE: usize = 55;

/// Bytes of a window that earlier windows own.
const OVERLAP: usize = 64 - STRIDE;

/// `[g][k] = 8 g + k / 8`: each of 8 positions for eight bytes.
static SPREAD: [[u8; 64]; 8] = [
    positions(8, 1, 0),
    positions(8, 1, 8),
    positions(8, 1, 16),
    positions(8, 1, 24),
    positions(8, 1, 32),
    positions(8, 1, 40),
    positions(8, 1, 48),
    positions(8, 1, 56),
];
/// `k % 8`.
static BYTE_OF_LANE: [u8; 64] = {
    let mut table = positions(1, 1, 0);
    let mut k = 0;
    while k < 64 {
        table[k] %= 8;
        k += 1;
    }
    table
};

/// The values of a window: its bytes without continuation bits, and for each value its first and last byte.
#[derive(Clone, Copy)]
struct Window {
    groups: __m512i,
    starts: __m512i,
    ends: __m512i,
    /// Some value has nine bytes.
    nine: bool,
}

/// Eight values of a window.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2")]
fn eight(window: Window, eighth: usize) -> __m512i {
    let spread = row64(&SPREAD[eighth]);
    let lane = row64(&BYTE_OF_LANE);
    let index = _mm512_add_epi8(_mm512_permutexvar_epi8(spread, window.starts), lane);
    let last = _mm512_permutexvar_epi8(spread, window.ends);
    let own = _mm512_cmple_epu8_mask(index, last);
    let bytes = _mm512_maskz_permutexvar_epi8(own, index, window.groups);
    let pairs = _mm512_maddubs_epi16(_mm512_set1_epi16(0x8001_u16.cast_signed()), bytes);
    let quads = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x4000_0001));
    // 28 bits at 0 and 28 bits at 32 become 56 bits.
    let low = _mm512_and_si512(quads, _mm512_set1_epi64(0x0fff_ffff));
    let high =
        _mm512_and_si512(_mm512_srli_epi64::<4>(quads), _mm512_set1_epi64(0x00ff_ffff_f000_0000));
    let joined = _mm512_or_si512(low, high);
    if !window.nine {
        return joined;
    }
    // The ninth byte at bit 56 and the tenth at bit 63: bytes 0 and 1 of a lane moved on by eight.
    let index = _mm512_add_epi8(index, _mm512_set1_epi8(8));
    let own = _mm512_cmple_epu8_mask(index, last) & 0x0303_0303_0303_0303;
    let rest = _mm512_maskz_permutexvar_epi8(own, index, window.groups);
    let ninth = _mm512_slli_epi64::<56>(rest);
    let tenth = _mm512_slli_epi64::<63>(_mm512_srli_epi64::<8>(rest));
    _mm512_or_si512(joined, _mm512_or_si512(ninth, tenth))
}

#[target_feature(
    enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt"
)]
fn decode(source: &[u8], target: &mut [u64], form: Form) -> Result<usize, Malformed> {
    let strict = if form == Form::Minimal { u64::MAX } else { 0 };
    // The first window owns the ends in all of its bytes, the others those from byte 9 on.
    let (mut at, mut done, mut owned, mut skipped) = (0, 0, u64::MAX, 0_usize);
    while source.len() - at >= 64 && target.len() - done >= 64 {
        // SAFETY: 64 bytes of source were checked.
        let bytes = unsafe { load::<__m512i, _>(source, at) };
        let more = _mm512_movepi8_mask(bytes);
        // Bytes after eight that continue, and after nine: the last that a value can have, and it has one bit.
        let four = more & more << 1 & more << 2 & more << 3;
        let ninth = (four & four << 4) << 1;
        let mut wrong = _mm512_testn_epi8_mask(bytes, bytes) & more << 1 & strict;
        if ninth != 0 {
            let tenth = ninth << 1 & more << 1;
            wrong |= _mm512_cmpgt_epu8_mask(bytes, _mm512_set1_epi8(0x01)) & tenth;
        }
        if wrong != 0 {
            break;
        }
        let ends = !more & owned;
        let first = 64 - (!more & !owned).leading_zeros();
        let count = ends.count_ones() as usize;
        let positions = row64(&POSITIONS);
        let window = Window {
            groups: _mm512_and_si512(bytes, _mm512_set1_epi8(0x7f)),
            starts: _mm512_maskz_compress_epi8(ends << 1 | 1 << first, positions),
            ends: _mm512_maskz_compress_epi8(ends, positions),
            nine: ninth != 0,
        };
        for eighth in 0..count.div_ceil(8) {
            let values = eight(window, eighth);
            // SAFETY: room for 64 values was checked, and a window ends at most 64.
            unsafe { store(target, done + 8 * eighth, values) };
        }
        done += count;
        (at, owned, skipped) = (at + STRIDE, u64::MAX << OVERLAP, OVERLAP);
    }
    scalar::decode_from(source, behind(source, at, skipped), &mut target[done..], form)
}
