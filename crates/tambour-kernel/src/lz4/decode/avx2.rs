//! The lean loop with AVX2: patterns of 32 bytes for long runs.

use super::lane::{Lane, Place};
use super::machine::Machine;
use super::plain::{self, Flat, Lean8, Lean16, Skip8, Style};
use super::tables::{PERIODS, PERIODS_16, STRIDES_32};
use super::{Decode, careful};
use crate::copy::load;
use crate::variant::{Isa, Variant};
use core::arch::x86_64::{
    __m128i, __m256i, _mm_shuffle_epi8, _mm256_blendv_epi8, _mm256_cmpgt_epi8,
    _mm256_permute2x128_si256, _mm256_set1_epi8, _mm256_shuffle_epi8,
};

pub(super) const LEAN16: Variant<Decode> = variant::<Lean16>("lean16-avx2");
pub(super) const LEAN8: Variant<Decode> = variant::<Lean8>("lean8-avx2");
pub(super) const FLAT: Variant<Decode> = variant::<Flat>("flat32-avx2");
pub(super) const SKIP8: Variant<Decode> = variant::<Skip8>("skip8-avx2");

const fn variant<S: Style<Avx2>>(name: &'static str) -> Variant<Decode> {
    let run =
        Decode { advance: advance::<S>, advance_pair: advance_pair::<S>, finish, adapts: true };
    Variant { name, isa: Isa::Avx2, run }
}

/// Proof of AVX2: made only in functions that cannot be called without.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

#[target_feature(enable = "avx2,bmi1,bmi2")]
fn advance<S: Style<Avx2>>(lane: &mut Lane<'_>, bytes: usize) {
    plain::advance::<_, S>(Avx2(()), lane, bytes);
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
fn advance_pair<S: Style<Avx2>>(a: &mut Lane<'_>, b: &mut Lane<'_>, bytes: usize) {
    plain::advance_pair::<_, S>(Avx2(()), a, b, bytes);
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
fn finish(lane: &mut Lane<'_>) -> bool {
    careful::finish(Avx2(()), lane)
}

#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2")]
unsafe fn sequence(
    from: *const u8,
    to: *mut u8,
    source_end: *const u8,
    target_start: *mut u8,
    target_end: *mut u8,
) -> Place {
    // SAFETY: the same conditions.
    unsafe { careful::sequence(Avx2(()), from, to, source_end, target_start, target_end) }
}

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

#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2")]
unsafe fn fill(
    to: *mut u8,
    offset: usize,
    length: usize,
    target_start: *mut u8,
    target_end: *mut u8,
) {
    // SAFETY: the same conditions.
    unsafe { careful::fill_lane(Avx2(()), to, offset, length, target_start, target_end) }
}

impl Machine for Avx2 {
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
    unsafe fn sequence(
        self,
        from: *const u8,
        to: *mut u8,
        source_end: *const u8,
        target_start: *mut u8,
        target_end: *mut u8,
    ) -> Place {
        // SAFETY: `self` proves AVX2; the other conditions are the same.
        unsafe { sequence(from, to, source_end, target_start, target_end) }
    }

    #[inline(always)]
    unsafe fn fill(
        self,
        to: *mut u8,
        offset: usize,
        length: usize,
        target_start: *mut u8,
        target_end: *mut u8,
    ) {
        // SAFETY: `self` proves the instruction set; the other conditions are the same.
        unsafe { fill(to, offset, length, target_start, target_end) }
    }
}
