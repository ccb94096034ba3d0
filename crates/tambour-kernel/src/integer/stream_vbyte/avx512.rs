//! Sixteen values per step with the byte expansion of AVX-512 VBMI2, four steps per turn.
//!
//! The codes of 16 values become a bit per byte of their lanes. Four steps at once and prefetching matter more than the
//! instruction: alone, each step would wait for the previous one's length.

use super::scalar::{self, Progress};
use super::{Codes, Decode, Encode, Malformed, OneToFour, ZeroToFour, controls};
use crate::integer::memory::{load, store};
use crate::variant::{Isa, Variant};
use core::arch::x86_64::{
    __m128i, __m512i, _MM_HINT_T0, _mm_cvtsi128_si64, _mm_extract_epi64, _mm_prefetch,
    _mm512_cvtepi32_epi8, _mm512_lzcnt_epi32, _mm512_maskz_compress_epi8, _mm512_maskz_expand_epi8,
    _mm512_min_epu32, _mm512_set1_epi32, _mm512_srli_epi32, _mm512_subs_epu8, _pdep_u64, _pext_u64,
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
    scalar::decode_from::<C>(source, target, Progress { done, at })
}

/// The codes of 16 values, two bits each.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,bmi2,sse4.1")]
fn codes<C: Codes>(values: __m512i) -> u32 {
    let zero_bytes = _mm512_srli_epi32::<3>(_mm512_lzcnt_epi32(values));
    // Bytes that a value needs, 0 to 4, become 0, 1, 2, 3, 3 or 0, 0, 1, 2, 3.
    let codes = if C::BYTES[0] == 0 {
        _mm512_min_epu32(_mm512_subs_epu8(_mm512_set1_epi32(4), zero_bytes), _mm512_set1_epi32(3))
    } else {
        _mm512_subs_epu8(_mm512_set1_epi32(3), zero_bytes)
    };
    let bytes: __m128i = _mm512_cvtepi32_epi8(codes);
    let low = _pext_u64(_mm_cvtsi128_si64(bytes).cast_unsigned(), 0x0303_0303_0303_0303);
    let high = _pext_u64(_mm_extract_epi64::<1>(bytes).cast_unsigned(), 0x0303_0303_0303_0303);
    #[expect(clippy::cast_possible_truncation, reason = "16 bits each")]
    let codes = (low | high << 16) as u32;
    codes
}

#[target_feature(
    enable = "avx512f,avx512bw,avx512cd,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt"
)]
fn encode<C: Codes>(source: &[u32], target: &mut [u8]) -> Option<usize> {
    let (mut done, mut at) = (0, controls(source.len()));
    while source.len() - done >= 16 && target.len() >= at + 64 {
        // SAFETY: 16 values were checked.
        let values = unsafe { load::<__m512i, _>(source, done) };
        let codes = codes::<C>(values);
        // SAFETY: the control bytes of 16 values lie before the data, which lies within the target.
        unsafe { store(target, done / 4, codes.to_le()) };
        let present = present::<C>(codes);
        // SAFETY: 64 bytes of room were checked.
        unsafe { store(target, at, _mm512_maskz_compress_epi8(present, values)) };
        at += present.count_ones() as usize;
        done += 16;
    }
    scalar::encode_from::<C>(source, target, Progress { done, at })
}
