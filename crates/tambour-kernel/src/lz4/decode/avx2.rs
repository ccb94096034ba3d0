//! The lean loop with AVX2: patterns of 32 bytes for long runs.

use super::Decode;
use super::machine::{Fill, Machine, Sequence, entries};
use super::plain::{Flat, Lean8, Lean16, Skip8};
use super::tables::{PERIODS, PERIODS_16, STRIDES_32};
use crate::copy::load;
use crate::variant::Variant;
use core::arch::x86_64::{
    __m128i, __m256i, _mm_cvtsi64_si128, _mm_shuffle_epi8, _mm256_blendv_epi8, _mm256_cmpgt_epi8,
    _mm256_permute2x128_si256, _mm256_set1_epi8, _mm256_set1_epi64x, _mm256_shuffle_epi8,
};

pub(super) const LEAN16: Variant<Decode> = variant::<Lean16>("lean16-avx2");
pub(super) const LEAN8: Variant<Decode> = variant::<Lean8>("lean8-avx2");
pub(super) const FLAT: Variant<Decode> = variant::<Flat>("flat32-avx2");
pub(super) const SKIP8: Variant<Decode> = variant::<Skip8>("skip8-avx2");

/// Proof of AVX2: made only in functions that cannot be called without.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

entries!(Avx2, Avx2, "avx2,bmi1,bmi2");

/// Shuffles reach only their own half of a register: each byte is taken from both halves of the seed, and one is kept.
#[inline]
#[target_feature(enable = "avx2")]
fn pattern(seed: __m256i, offset: usize) -> __m256i {
    // SAFETY: the row has 64 bytes.
    let indices = unsafe { load::<__m256i>(&PERIODS.0[offset & 31], 0) };
    let low = _mm256_permute2x128_si256::<0x00>(seed, seed);
    let high = _mm256_permute2x128_si256::<0x11>(seed, seed);
    // Indices are below 32: bit 4 says which half, and the shuffle takes the low four bits only.
    let in_high = _mm256_cmpgt_epi8(indices, _mm256_set1_epi8(15));
    let (low, high) = (_mm256_shuffle_epi8(low, indices), _mm256_shuffle_epi8(high, indices));
    _mm256_blendv_epi8(low, high, in_high)
}

/// Both halves have the seed, and indices are below 8: no byte has to cross them.
#[inline]
#[target_feature(enable = "avx2")]
fn near_pattern(seed: u64, offset: usize) -> __m256i {
    // SAFETY: the row has 64 bytes.
    let indices = unsafe { load::<__m256i>(&PERIODS.0[offset & 31], 0) };
    _mm256_shuffle_epi8(_mm256_set1_epi64x(seed.cast_signed()), indices)
}

// SAFETY: both calls are compiled for what the type proves.
unsafe impl Machine for Avx2 {
    const SEQUENCE: Sequence = sequence;
    const FILL: Fill = fill;

    type Half = __m128i;
    type Double = __m256i;
    type Wide = __m256i;

    #[inline(always)]
    fn stride(self, offset: usize) -> usize {
        usize::from(STRIDES_32[offset])
    }

    #[inline(always)]
    fn pattern(self, seed: __m256i, offset: usize) -> __m256i {
        // SAFETY: `self` proves AVX2.
        unsafe { pattern(seed, offset) }
    }

    #[inline(always)]
    fn short_pattern(self, seed: __m128i, offset: usize) -> __m128i {
        // SAFETY: a row has 16 bytes.
        let indices = unsafe { load::<__m128i>(&PERIODS_16.0[offset & 15], 0) };
        // SAFETY: `self` proves AVX2.
        unsafe { _mm_shuffle_epi8(seed, indices) }
    }

    #[inline(always)]
    fn near_pattern(self, seed: u64, offset: usize) -> __m256i {
        // SAFETY: `self` proves AVX2.
        unsafe { near_pattern(seed, offset) }
    }

    #[inline(always)]
    fn near_short_pattern(self, seed: u64, offset: usize) -> __m128i {
        // SAFETY: `self` proves AVX2.
        let seed = unsafe { _mm_cvtsi64_si128(seed.cast_signed()) };
        self.short_pattern(seed, offset)
    }
}
