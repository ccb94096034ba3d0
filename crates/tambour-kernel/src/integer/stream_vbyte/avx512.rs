//! Sixteen values per step with the byte expansion of AVX-512 VBMI2, four steps per turn.
//!
//! The codes of 16 values become a bit per byte of their lanes. Four steps at once and prefetching matter more than the
//! instruction: alone, each step would wait for the previous one's length.

use super::scalar::{self, Progress};
use super::ssse3;
use super::{Codes, Decode, Encode, Malformed, OneToFour, ZeroToFour, controls};
use crate::integer::memory::{load, row64, store};
use crate::variant::{Isa, Variant};
use core::arch::x86_64::{
    __m128i, __m512i, _MM_HINT_T0, _mm_prefetch, _mm512_cmple_epi8_mask, _mm512_cvtepi32_epi8,
    _mm512_lzcnt_epi32, _mm512_madd_epi16, _mm512_maddubs_epi16, _mm512_maskz_compress_epi8,
    _mm512_maskz_expand_epi8, _mm512_min_epu32, _mm512_or_si512, _mm512_packs_epi32,
    _mm512_packus_epi16, _mm512_permutexvar_epi32, _mm512_set1_epi16, _mm512_set1_epi32,
    _mm512_setr_epi32, _mm512_setzero_si512, _mm512_shuffle_epi8, _mm512_srli_epi32,
    _mm512_sub_epi32, _mm512_subs_epu8, _mm512_test_epi32_mask, _pdep_u64,
};

pub(super) const ENCODE_1234: Variant<Encode<u32>> =
    Variant { name: "avx512", isa: Isa::Avx512, run: encode::<OneToFour> };
pub(super) const ENCODE_0124: Variant<Encode<u32>> =
    Variant { name: "avx512", isa: Isa::Avx512, run: encode::<ZeroToFour> };
pub(super) const DECODE_1234: Variant<Decode<u32>> =
    Variant { name: "avx512", isa: Isa::Avx512, run: decode::<OneToFour> };
pub(super) const DECODE_0124: Variant<Decode<u32>> =
    Variant { name: "avx512", isa: Isa::Avx512, run: decode::<ZeroToFour> };

/// Bit 0 of every lane of four.
const FIRST: u64 = 0x1111_1111_1111_1111;

/// Which bytes of 16 lanes have data: four bits per code.
#[inline]
#[target_feature(enable = "bmi2")]
pub(in crate::integer) fn present<C: Codes>(codes: u32) -> u64 {
    let spread = _pdep_u64(u64::from(codes), 3 * FIRST);
    let (low, high) = (spread & FIRST, spread >> 1 & FIRST);
    let (some, three) = (low | high, low & high);
    if C::BYTES[0] == 0 {
        some | high << 1 | three << 2 | three << 3
    } else {
        FIRST | some << 1 | high << 2 | three << 3
    }
}

/// Sixteen values whose data starts at `at`.
///
/// # Safety
/// `at + 64 <= source.len()`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
pub(in crate::integer) unsafe fn expand(source: &[u8], at: usize, present: u64) -> __m512i {
    // SAFETY: the caller keeps 64 bytes within the source.
    let bytes = unsafe { load::<__m512i, _>(source, at) };
    _mm512_maskz_expand_epi8(present, bytes)
}

#[target_feature(
    enable = "avx512f,avx512bw,avx512cd,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt"
)]
fn decode<C: Codes>(source: &[u8], target: &mut [u32]) -> Result<usize, Malformed> {
    let (mut done, mut at) = (0, controls(target.len()));
    if source.len() < at {
        return Err(scalar::short::<C>(source, target.len()));
    }
    while target.len() - done >= 64 && source.len() - at >= 256 {
        for ahead in [1024, 1088] {
            _mm_prefetch::<_MM_HINT_T0>(source.as_ptr().wrapping_add(at + ahead).cast());
        }
        _mm_prefetch::<_MM_HINT_T0>(source.as_ptr().wrapping_add(done / 4 + 512).cast());
        // SAFETY: control bytes of 64 values lie before the data.
        let codes = unsafe { load::<[u32; 4], _>(source, done / 4) };
        let present = codes.map(|codes| present::<C>(u32::from_le(codes)));
        for (step, present) in present.into_iter().enumerate() {
            // SAFETY: each of four steps takes at most 64 of 256 bytes.
            let values = unsafe { expand(source, at, present) };
            // SAFETY: room for 64 values was checked.
            unsafe { store(target, done + 16 * step, values) };
            at += present.count_ones() as usize;
        }
        done += 64;
    }
    while target.len() - done >= 16 && source.len() - at >= 64 {
        // SAFETY: control bytes of 16 values lie before the data.
        let codes = unsafe { load::<u32, _>(source, done / 4) };
        let present = present::<C>(u32::from_le(codes));
        // SAFETY: 64 bytes of source were checked.
        let values = unsafe { expand(source, at, present) };
        // SAFETY: room for 16 values was checked.
        unsafe { store(target, done, values) };
        at += present.count_ones() as usize;
        done += 16;
    }
    ssse3::decode_ends::<C>(source, target, Progress { done, at })
}

/// The code of each of 16 values, in the first byte of its lane.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512cd")]
fn codes_of<C: Codes>(values: __m512i) -> __m512i {
    let zero_bytes = _mm512_srli_epi32::<3>(_mm512_lzcnt_epi32(values));
    // Bytes that a value needs, 0 to 4, become 0, 1, 2, 3, 3 or 0, 0, 1, 2, 3.
    if C::BYTES[0] == 0 {
        _mm512_min_epu32(_mm512_sub_epi32(_mm512_set1_epi32(4), zero_bytes), _mm512_set1_epi32(3))
    } else {
        _mm512_subs_epu8(_mm512_set1_epi32(3), zero_bytes)
    }
}

/// Which bytes of 16 values are data.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn kept<C: Codes>(codes: __m512i) -> u64 {
    // The code in all bytes of its lane becomes the place of the last byte; no byte is at place -1 or before.
    let last = if C::BYTES[0] == 0 { [-1, 0, 1, 3] } else { [0, 1, 2, 3] };
    let last = i32::from_le_bytes(last.map(i8::cast_unsigned));
    let last = _mm512_shuffle_epi8(
        _mm512_set1_epi32(last),
        _mm512_shuffle_epi8(codes, row64(&FIRST_OF_FOUR)),
    );
    _mm512_cmple_epi8_mask(row64(&BYTE_OF_FOUR), last)
}

/// The control bytes of 64 values.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn controls_of([a, b, c, d]: [__m512i; 4]) -> __m128i {
    // Packing works within 128 bits, so that four codes of one control byte stay side by side.
    let low = _mm512_packs_epi32(a, b);
    let bytes = _mm512_packus_epi16(low, _mm512_packs_epi32(c, d));
    let pairs = _mm512_maddubs_epi16(bytes, _mm512_set1_epi16(0x0401));
    let quads = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x0010_0001));
    let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    _mm512_cvtepi32_epi8(_mm512_permutexvar_epi32(order, quads))
}

/// `k % 4`.
static BYTE_OF_FOUR: [u8; 64] = repeat([0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]);
/// Within 16 bytes: the first byte of each lane.
static FIRST_OF_FOUR: [u8; 64] = repeat([0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12]);

const fn repeat(of: [u8; 16]) -> [u8; 64] {
    let mut table = [0; 64];
    let mut k = 0;
    while k < 64 {
        table[k] = of[k % 16];
        k += 1;
    }
    table
}

#[target_feature(
    enable = "avx512f,avx512bw,avx512cd,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt"
)]
fn encode<C: Codes>(source: &[u32], target: &mut [u8]) -> Option<usize> {
    let (mut done, mut at) = (0, controls(source.len()));
    while source.len() - done >= 64 && target.len() >= at + 256 {
        let mut all = [_mm512_setzero_si512(); 4];
        let mut values = all;
        for (step, (values, codes)) in values.iter_mut().zip(&mut all).enumerate() {
            // SAFETY: 64 values were checked.
            *values = unsafe { load(source, done + 16 * step) };
            *codes = codes_of::<C>(*values);
        }
        let [a, b, c, d] = all;
        let any = _mm512_or_si512(_mm512_or_si512(a, b), _mm512_or_si512(c, d));
        if C::BYTES[0] == 1 && _mm512_test_epi32_mask(any, any) == 0 {
            // One byte each: stores of 16 bytes do not overlap, as those of 64 would.
            for (step, values) in values.into_iter().enumerate() {
                let values = _mm512_cvtepi32_epi8(values);
                // SAFETY: 256 bytes of room were checked.
                unsafe { store(target, at + 16 * step, values) };
            }
            at += 64;
        } else {
            for (values, codes) in values.into_iter().zip(all) {
                let kept = kept::<C>(codes);
                let packed = _mm512_maskz_compress_epi8(kept, values);
                // SAFETY: each of four steps takes at most 64 of 256 bytes.
                unsafe { store(target, at, packed) };
                at += kept.count_ones() as usize;
            }
        }
        let control_bytes = controls_of(all);
        // SAFETY: the control bytes of 64 values lie before the data, which lies within the target.
        unsafe { store(target, done / 4, control_bytes) };
        done += 64;
    }
    ssse3::encode_ends::<C>(source, target, Progress { done, at })
}
