//! The lean loop with NEON: table lookups in registers of 16 bytes.

use super::lane::{Lane, Place};
use super::machine::Machine;
use super::plain::{self, Flat, Lean8, Lean16, Skip8, Style};
use super::tables::{PERIODS_16, STRIDES_16};
use super::{Decode, careful};
use crate::copy::{Two, load};
use crate::variant::{Isa, Variant};
use core::arch::aarch64::{uint8x16_t, vqtbl1q_u8};

pub(super) const LEAN16: Variant<Decode> = variant::<Lean16>("lean16-neon");
pub(super) const LEAN8: Variant<Decode> = variant::<Lean8>("lean8-neon");
pub(super) const FLAT: Variant<Decode> = variant::<Flat>("flat16-neon");
pub(super) const SKIP8: Variant<Decode> = variant::<Skip8>("skip8-neon");

const fn variant<S: Style<Neon>>(name: &'static str) -> Variant<Decode> {
    let run =
        Decode { advance: advance::<S>, advance_pair: advance_pair::<S>, finish, adapts: true };
    Variant { name, isa: Isa::Neon, run }
}

/// Proof of NEON: made only in functions that cannot be called without.
#[derive(Clone, Copy)]
pub(super) struct Neon(());

#[target_feature(enable = "neon")]
fn advance<S: Style<Neon>>(lane: &mut Lane<'_>, bytes: usize) {
    plain::advance::<_, S>(Neon(()), lane, bytes);
}

#[target_feature(enable = "neon")]
fn advance_pair<S: Style<Neon>>(a: &mut Lane<'_>, b: &mut Lane<'_>, bytes: usize) {
    plain::advance_pair::<_, S>(Neon(()), a, b, bytes);
}

#[target_feature(enable = "neon")]
fn finish(lane: &mut Lane<'_>) -> bool {
    careful::finish(Neon(()), lane)
}

#[inline(never)]
#[target_feature(enable = "neon")]
unsafe fn sequence(
    from: *const u8,
    to: *mut u8,
    source_end: *const u8,
    target_start: *mut u8,
    target_end: *mut u8,
) -> Place {
    // SAFETY: the same conditions.
    unsafe { careful::sequence(Neon(()), from, to, source_end, target_start, target_end) }
}

#[inline(never)]
#[target_feature(enable = "neon")]
unsafe fn fill(
    to: *mut u8,
    offset: usize,
    length: usize,
    target_start: *mut u8,
    target_end: *mut u8,
) {
    // SAFETY: the same conditions.
    unsafe { careful::fill_lane(Neon(()), to, offset, length, target_start, target_end) }
}

impl Machine for Neon {
    type Half = uint8x16_t;
    type Double = Two<uint8x16_t>;
    type Wide = uint8x16_t;

    #[inline(always)]
    fn stride(self, offset: usize) -> usize {
        usize::from(STRIDES_16[offset])
    }

    #[inline(always)]
    fn pattern(self, seed: uint8x16_t, offset: usize) -> uint8x16_t {
        self.short_pattern(seed, offset)
    }

    #[inline(always)]
    fn short_pattern(self, seed: uint8x16_t, offset: usize) -> uint8x16_t {
        // SAFETY: a row has 16 bytes.
        let indices = unsafe { load::<uint8x16_t>(&PERIODS_16.0[offset & 15], 0) };
        // SAFETY: `self` proves NEON.
        unsafe { vqtbl1q_u8(seed, indices) }
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
        // SAFETY: `self` proves NEON; the other conditions are the same.
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
