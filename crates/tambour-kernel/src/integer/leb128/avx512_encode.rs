//! Encoders with AVX-512 VBMI2: bits are spread over bytes by a multi-shift, and the bytes that count are compressed.

use super::avx512_u32::positions;
use super::{Encode, scalar};
use crate::integer::memory::{load, row64, store};
use crate::variant::{Isa, Variant};
use core::arch::x86_64::{
    __m128i, __m512i, _mm512_and_si512, _mm512_castsi512_si256, _mm512_cmpge_epu32_mask,
    _mm512_cmpge_epu64_mask, _mm512_cmple_epu8_mask, _mm512_cmplt_epu8_mask, _mm512_cvtepi32_epi8,
    _mm512_cvtepu32_epi64, _mm512_extracti64x4_epi64, _mm512_lzcnt_epi32, _mm512_lzcnt_epi64,
    _mm512_mask_add_epi8, _mm512_maskz_compress_epi8, _mm512_maskz_loadu_epi32, _mm512_mullo_epi16,
    _mm512_multishift_epi64_epi8, _mm512_or_si512, _mm512_set1_epi8, _mm512_set1_epi32,
    _mm512_set1_epi64, _mm512_shuffle_epi8, _mm512_srli_epi32, _mm512_sub_epi32, _mm512_sub_epi64,
};

pub(super) const VARIANT_U32: Variant<Encode<u32>> =
    Variant { name: "avx512", isa: Isa::Avx512, run: encode_u32 };
pub(super) const VARIANT_U64: Variant<Encode<u64>> =
    Variant { name: "avx512", isa: Isa::Avx512, run: encode_u64 };

/// `k % 8`.
static BYTE_OF_EIGHT: [u8; 64] = repeat([0, 1, 2, 3, 4, 5, 6, 7]);
/// `k % 4`.
static BYTE_OF_FOUR: [u8; 64] = repeat([0, 1, 2, 3, 0, 1, 2, 3]);
/// Bit offsets of the groups of a 64-bit lane.
static GROUPS_OF_EIGHT: [u8; 64] = repeat([0, 7, 14, 21, 28, 35, 42, 49]);
/// Bit offsets of the groups of two 32-bit lanes.
static GROUPS_OF_FOUR: [u8; 64] = repeat([0, 7, 14, 21, 32, 39, 46, 53]);
/// Within 16 bytes: byte 0 for the first eight, byte 8 for the others.
static FIRST_OF_EIGHT: [u8; 64] = repeat16([0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 8, 8, 8, 8, 8, 8]);
/// Within 16 bytes: the first byte of each 32-bit lane.
static FIRST_OF_FOUR: [u8; 64] = repeat16([0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12]);

const fn repeat(of: [u8; 8]) -> [u8; 64] {
    let mut table = positions(1, 1, 0);
    let mut k = 0;
    while k < 64 {
        table[k] = of[k % 8];
        k += 1;
    }
    table
}

const fn repeat16(of: [u8; 16]) -> [u8; 64] {
    let mut table = positions(1, 1, 0);
    let mut k = 0;
    while k < 64 {
        table[k] = of[k % 16];
        k += 1;
    }
    table
}

/// Groups in their bytes, and for each byte its place in the value and the place of the value's last byte: the bytes that
/// count, to the front, with continuation bits; how many they are.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
fn squeeze(groups: __m512i, place: __m512i, last: __m512i) -> (__m512i, usize) {
    let kept = _mm512_cmple_epu8_mask(place, last);
    let more = _mm512_cmplt_epu8_mask(place, last);
    let bytes = _mm512_mask_add_epi8(groups, more, groups, _mm512_set1_epi8(-128));
    (_mm512_maskz_compress_epi8(kept, bytes), kept.count_ones() as usize)
}

/// Eight 64-bit lanes below 2^56; `last` has the place of a value's last byte in the first byte of its lane.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
fn squeeze_eight(lanes: __m512i, last: __m512i) -> (__m512i, usize) {
    let groups = _mm512_multishift_epi64_epi8(row64(&GROUPS_OF_EIGHT), lanes);
    let groups = _mm512_and_si512(groups, _mm512_set1_epi8(0x7f));
    squeeze(groups, row64(&BYTE_OF_EIGHT), _mm512_shuffle_epi8(last, row64(&FIRST_OF_EIGHT)))
}

/// Up to sixteen values, and zeros after them.
#[inline]
#[target_feature(enable = "avx512f,bmi2")]
fn first_values(source: &[u32]) -> __m512i {
    if source.len() >= 16 {
        // SAFETY: 16 values were checked.
        return unsafe { load::<__m512i, _>(source, 0) };
    }
    let mask = (1_u16 << source.len()) - 1;
    // SAFETY: the mask selects the values; no other bytes are touched.
    unsafe { _mm512_maskz_loadu_epi32(mask, source.as_ptr().cast()) }
}

#[target_feature(
    enable = "avx512f,avx512bw,avx512cd,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt"
)]
fn encode_u32(source: &[u32], target: &mut [u8]) -> Option<usize> {
    let (mut done, mut at) = (0, 0);
    // Half a group takes at most 40 bytes, and each half is stored as 64.
    while done < source.len() && target.len() - at >= 104 {
        let count = (source.len() - done).min(16);
        let values = first_values(&source[done..done + count]);
        done += count;
        // The zeros after the last values take a byte each, which does not count.
        let padding = 16 - count;
        if _mm512_cmpge_epu32_mask(values, _mm512_set1_epi32(0x80)) == 0 {
            let values = _mm512_cvtepi32_epi8(values);
            // SAFETY: 104 bytes of room were checked.
            unsafe { store::<__m128i, _>(target, at, values) };
            at += count;
            continue;
        }
        let zeros = _mm512_lzcnt_epi32(_mm512_or_si512(values, _mm512_set1_epi32(1)));
        let top = _mm512_sub_epi32(_mm512_set1_epi32(31), zeros);
        // The position of the top bit divided by 7.
        let last = _mm512_srli_epi32::<8>(_mm512_mullo_epi16(top, _mm512_set1_epi32(37)));
        if _mm512_cmpge_epu32_mask(values, _mm512_set1_epi32(1 << 28)) == 0 {
            let groups = _mm512_multishift_epi64_epi8(row64(&GROUPS_OF_FOUR), values);
            let groups = _mm512_and_si512(groups, _mm512_set1_epi8(0x7f));
            let last = _mm512_shuffle_epi8(last, row64(&FIRST_OF_FOUR));
            let (bytes, length) = squeeze(groups, row64(&BYTE_OF_FOUR), last);
            // SAFETY: 104 bytes of room were checked.
            unsafe { store(target, at, bytes) };
            at += length - padding;
            continue;
        }
        let low = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(values));
        let low_last = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(last));
        let (bytes, length) = squeeze_eight(low, low_last);
        // SAFETY: 104 bytes of room were checked.
        unsafe { store(target, at, bytes) };
        at += length;
        let high = _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64::<1>(values));
        let high_last = _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64::<1>(last));
        let (bytes, length) = squeeze_eight(high, high_last);
        // SAFETY: the first half took at most 40 of 104 bytes.
        unsafe { store(target, at, bytes) };
        at += length;
        at -= padding;
    }
    scalar::encode_from(&source[done..], target, at)
}

#[target_feature(
    enable = "avx512f,avx512bw,avx512cd,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt"
)]
fn encode_u64(source: &[u64], target: &mut [u8]) -> Option<usize> {
    let (mut done, mut at) = (0, 0);
    // Eight values take at most 80 bytes.
    while source.len() - done >= 8 && target.len() - at >= 80 {
        // SAFETY: 8 values were checked.
        let values = unsafe { load::<__m512i, _>(source, done) };
        let zeros = _mm512_lzcnt_epi64(_mm512_or_si512(values, _mm512_set1_epi64(1)));
        let top = _mm512_sub_epi64(_mm512_set1_epi64(63), zeros);
        if _mm512_cmpge_epu64_mask(values, _mm512_set1_epi64(1 << 56)) != 0 {
            at = scalar::encode_from(&source[done..done + 8], target, at)?;
            done += 8;
            continue;
        }
        let last = _mm512_srli_epi32::<8>(_mm512_mullo_epi16(top, _mm512_set1_epi32(37)));
        let (bytes, length) = squeeze_eight(values, last);
        // SAFETY: 80 bytes of room were checked.
        unsafe { store(target, at, bytes) };
        at += length;
        done += 8;
    }
    scalar::encode_from(&source[done..], target, at)
}
