//! The lean loop with NEON: table lookups in registers of 16 bytes.

use super::Decode;
use super::machine::{Fill, Machine, Sequence, entries};
use super::plain::{Flat, Lean8, Lean16, Skip8};
use super::tables::{PERIODS_16, STRIDES_16};
use crate::copy::{Two, load};
use crate::variant::Variant;
use core::arch::aarch64::{uint8x16_t, vdupq_n_u64, vqtbl1q_u8, vreinterpretq_u8_u64};

pub(super) const LEAN16: Variant<Decode> = variant::<Lean16>("lean16-neon");
pub(super) const LEAN8: Variant<Decode> = variant::<Lean8>("lean8-neon");
pub(super) const FLAT: Variant<Decode> = variant::<Flat>("flat16-neon");
pub(super) const SKIP8: Variant<Decode> = variant::<Skip8>("skip8-neon");

/// Proof of NEON: made only in functions that cannot be called without.
#[derive(Clone, Copy)]
pub(super) struct Neon(());

entries!(Neon, Neon, "neon");

// SAFETY: both calls are compiled for what the type proves.
unsafe impl Machine for Neon {
    const SEQUENCE: Sequence = sequence;
    const FILL: Fill = fill;

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
    fn near_pattern(self, seed: u64, offset: usize) -> uint8x16_t {
        self.near_short_pattern(seed, offset)
    }

    #[inline(always)]
    fn near_short_pattern(self, seed: u64, offset: usize) -> uint8x16_t {
        // SAFETY: `self` proves NEON.
        let seed = unsafe { vreinterpretq_u8_u64(vdupq_n_u64(seed)) };
        self.short_pattern(seed, offset)
    }
}
