//! The lean loop with AVX-512 VBMI: patterns of 64 bytes for long runs, and the loops that need a permute of 64 bytes.

use super::Decode;
use super::lane::Lane;
use super::machine::{Fill, Machine, Sequence, entries};
use super::plain::{Lean8, Lean16, Skip8, Style};
use super::tables::{PERIODS, PERIODS_16, STRIDES_64};
use crate::copy::load;
use crate::variant::Variant;
use core::arch::x86_64::{
    __m128i, __m256i, __m512i, _bzhi_u64, _mm_cvtsi64_si128, _mm_shuffle_epi8,
    _mm512_mask_storeu_epi8, _mm512_permutexvar_epi8, _mm512_set1_epi64,
};

pub(super) const LEAN16: Variant<Decode> = variant::<Lean16>("lean16-avx512");
pub(super) const LEAN8: Variant<Decode> = variant::<Lean8>("lean8-avx512");
pub(super) const PERMUTE64: Variant<Decode> = variant::<Permute64>("permute64-avx512");
pub(super) const SKIP8: Variant<Decode> = variant::<Skip8>("skip8-avx512");

/// Proof of AVX-512 VBMI: made only in functions that cannot be called without.
#[derive(Clone, Copy)]
pub(super) struct Avx512(());

impl Avx512 {
    /// The proof, for who has the features.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx2,bmi1,bmi2")]
    pub(super) fn here() -> Self {
        Self(())
    }
}

entries!(Avx512, Avx512, "avx512f,avx512bw,avx512vl,avx512vbmi,avx2,bmi1,bmi2");

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn pattern(seed: __m512i, offset: usize) -> __m512i {
    // SAFETY: a row has 64 bytes.
    let indices = unsafe { load::<__m512i>(&PERIODS.0[offset], 0) };
    _mm512_permutexvar_epi8(indices, seed)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn near_pattern(seed: u64, offset: usize) -> __m512i {
    pattern(_mm512_set1_epi64(seed.cast_signed()), offset)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
fn store_start(target: &mut [u8], value: __m512i) {
    debug_assert!(target.len() <= 64);
    #[expect(clippy::cast_possible_truncation, reason = "at most 64")]
    let mask = _bzhi_u64(!0, target.len() as u32);
    // SAFETY: the mask selects the bytes of the target; no others are touched.
    unsafe { _mm512_mask_storeu_epi8(target.as_mut_ptr().cast(), mask, value) }
}

/// All matches by one permute of 64 bytes, no branch on lengths: logs, repetitive strings.
pub(super) struct Permute64;

impl Style<Avx512> for Permute64 {
    const BRANCH_ON_LENGTH: bool = false;
    const TAKES_MEDIUM: bool = true;
    const SEES_ZERO: bool = false;

    #[inline(always)]
    unsafe fn copy_match(
        machine: Avx512,
        lane: &Lane<'_>,
        to: *mut u8,
        offset: usize,
        _length: usize,
    ) -> bool {
        // SAFETY: what is copied starts before `to`, and 64 bytes follow there. Only what lies before `to` is kept.
        let seed = unsafe { lane.load::<__m512i>(to.wrapping_sub(offset)) };
        let pattern = machine.pattern(seed, offset.min(64));
        // SAFETY: 64 bytes follow `to`.
        unsafe { lane.store(to, pattern) };
        true
    }
}

// SAFETY: both calls are compiled for what the type proves.
unsafe impl Machine for Avx512 {
    const SEQUENCE: Sequence = sequence;
    const FILL: Fill = fill;

    type Half = __m128i;
    type Double = __m256i;
    type Wide = __m512i;

    #[inline(always)]
    fn stride(self, offset: usize) -> usize {
        usize::from(STRIDES_64[offset])
    }

    #[inline(always)]
    fn pattern(self, seed: __m512i, offset: usize) -> __m512i {
        // SAFETY: `self` proves AVX-512 VBMI.
        unsafe { pattern(seed, offset) }
    }

    #[inline(always)]
    fn short_pattern(self, seed: __m128i, offset: usize) -> __m128i {
        // SAFETY: a row has 16 bytes.
        let indices = unsafe { load::<__m128i>(&PERIODS_16.0[offset & 15], 0) };
        // SAFETY: `self` proves AVX-512 VBMI.
        unsafe { _mm_shuffle_epi8(seed, indices) }
    }

    #[inline(always)]
    fn store_start(self, target: &mut [u8], value: __m512i) {
        // SAFETY: `self` proves AVX-512 VBMI.
        unsafe { store_start(target, value) }
    }

    #[inline(always)]
    fn near_pattern(self, seed: u64, offset: usize) -> __m512i {
        // SAFETY: `self` proves AVX-512 VBMI.
        unsafe { near_pattern(seed, offset) }
    }

    #[inline(always)]
    fn near_short_pattern(self, seed: u64, offset: usize) -> __m128i {
        // SAFETY: `self` proves AVX-512 VBMI.
        let seed = unsafe { _mm_cvtsi64_si128(seed.cast_signed()) };
        self.short_pattern(seed, offset)
    }
}
