//! The lean loop with SSSE3: byte shuffles in registers of 16 bytes.

use super::Decode;
use super::machine::{Fill, Machine, Sequence, entries};
use super::plain::{Flat, Lean8, Lean16, Skip8};
use super::tables::{PERIODS_16, STRIDES_16};
use crate::copy::{Two, load};
use crate::variant::Variant;
use core::arch::x86_64::{__m128i, _mm_cvtsi64_si128, _mm_shuffle_epi8};

pub(super) const LEAN16: Variant<Decode> = variant::<Lean16>("lean16-ssse3");
pub(super) const LEAN8: Variant<Decode> = variant::<Lean8>("lean8-ssse3");
pub(super) const FLAT: Variant<Decode> = variant::<Flat>("flat16-ssse3");
pub(super) const SKIP8: Variant<Decode> = variant::<Skip8>("skip8-ssse3");

/// Proof of SSSE3: made only in functions that cannot be called without.
#[derive(Clone, Copy)]
pub(super) struct Ssse3(());

entries!(Ssse3, Ssse3, "ssse3");

// SAFETY: both calls are compiled for what the type proves.
unsafe impl Machine for Ssse3 {
    const SEQUENCE: Sequence = sequence;
    const FILL: Fill = fill;

    type Half = __m128i;
    type Double = Two<__m128i>;
    type Wide = __m128i;

    #[inline(always)]
    fn stride(self, offset: usize) -> usize {
        usize::from(STRIDES_16[offset])
    }

    #[inline(always)]
    fn pattern(self, seed: __m128i, offset: usize) -> __m128i {
        self.short_pattern(seed, offset)
    }

    #[inline(always)]
    fn short_pattern(self, seed: __m128i, offset: usize) -> __m128i {
        // SAFETY: a row has 16 bytes.
        let indices = unsafe { load::<__m128i>(&PERIODS_16.0[offset & 15], 0) };
        // SAFETY: `self` proves SSSE3.
        unsafe { _mm_shuffle_epi8(seed, indices) }
    }

    #[inline(always)]
    fn near_pattern(self, seed: u64, offset: usize) -> __m128i {
        self.near_short_pattern(seed, offset)
    }

    #[inline(always)]
    fn near_short_pattern(self, seed: u64, offset: usize) -> __m128i {
        // SAFETY: `self` proves SSSE3.
        let seed = unsafe { _mm_cvtsi64_si128(seed.cast_signed()) };
        self.short_pattern(seed, offset)
    }
}
