//! The lean loop with SSSE3: byte shuffles in registers of 16 bytes.

use super::lane::{Lane, Place};
use super::machine::Machine;
use super::plain::{self, Flat, Lean8, Lean16, Skip8, Style};
use super::tables::{PERIODS_16, STRIDES_16};
use super::{Decode, careful};
use crate::copy::{Two, load};
use crate::variant::{Isa, Variant};
use core::arch::x86_64::{__m128i, _mm_shuffle_epi8};

pub(super) const LEAN16: Variant<Decode> = variant::<Lean16>("lean16-ssse3");
pub(super) const LEAN8: Variant<Decode> = variant::<Lean8>("lean8-ssse3");
pub(super) const FLAT: Variant<Decode> = variant::<Flat>("flat16-ssse3");
pub(super) const SKIP8: Variant<Decode> = variant::<Skip8>("skip8-ssse3");

const fn variant<S: Style<Ssse3>>(name: &'static str) -> Variant<Decode> {
    let run =
        Decode { advance: advance::<S>, advance_pair: advance_pair::<S>, finish, adapts: true };
    Variant { name, isa: Isa::Ssse3, run }
}

/// Proof of SSSE3: made only in functions that cannot be called without.
#[derive(Clone, Copy)]
pub(super) struct Ssse3(());

#[target_feature(enable = "ssse3")]
fn advance<S: Style<Ssse3>>(lane: &mut Lane<'_>, bytes: usize) {
    plain::advance::<_, S>(Ssse3(()), lane, bytes);
}

#[target_feature(enable = "ssse3")]
fn advance_pair<S: Style<Ssse3>>(a: &mut Lane<'_>, b: &mut Lane<'_>, bytes: usize) {
    plain::advance_pair::<_, S>(Ssse3(()), a, b, bytes);
}

#[target_feature(enable = "ssse3")]
pub(super) fn finish(lane: &mut Lane<'_>) -> bool {
    careful::finish(Ssse3(()), lane)
}

#[inline(never)]
#[target_feature(enable = "ssse3")]
unsafe fn sequence(
    from: *const u8,
    to: *mut u8,
    source_end: *const u8,
    target_start: *mut u8,
    target_end: *mut u8,
) -> Place {
    // SAFETY: the same conditions.
    unsafe { careful::sequence(Ssse3(()), from, to, source_end, target_start, target_end) }
}

#[inline(never)]
#[target_feature(enable = "ssse3")]
unsafe fn fill(
    to: *mut u8,
    offset: usize,
    length: usize,
    target_start: *mut u8,
    target_end: *mut u8,
) {
    // SAFETY: the same conditions.
    unsafe { careful::fill_lane(Ssse3(()), to, offset, length, target_start, target_end) }
}

impl Machine for Ssse3 {
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
    unsafe fn sequence(
        self,
        from: *const u8,
        to: *mut u8,
        source_end: *const u8,
        target_start: *mut u8,
        target_end: *mut u8,
    ) -> Place {
        // SAFETY: `self` proves SSSE3; the other conditions are the same.
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
