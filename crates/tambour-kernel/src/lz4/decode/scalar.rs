//! The lean loop for every machine: no vector instructions asked for. Miri runs it, and with it the loop itself.

use super::Decode;
use super::machine::{Fill, Machine, Sequence, entries};
use super::plain::Lean8;
use super::tables::STRIDES_16;
use crate::copy::Two;
use crate::variant::Variant;

pub(super) const SCALAR: Variant<Decode> = variant::<Lean8>("scalar");

/// Needs no proof: every machine runs it.
#[derive(Clone, Copy)]
struct Portable(());

entries!(Portable, Scalar);

// SAFETY: both calls are compiled for what the type proves.
unsafe impl Machine for Portable {
    const SEQUENCE: Sequence = sequence;
    const FILL: Fill = fill;

    type Half = u128;
    type Double = Two<u128>;
    type Wide = u128;

    #[inline(always)]
    fn stride(self, offset: usize) -> usize {
        usize::from(STRIDES_16[offset & 15])
    }

    #[inline(always)]
    fn pattern(self, seed: u128, offset: usize) -> u128 {
        self.short_pattern(seed, offset)
    }

    #[inline(always)]
    fn short_pattern(self, seed: u128, offset: usize) -> u128 {
        let mut bits = 8 * offset;
        let mut pattern = u128::from_le(seed) & ((1 << bits) - 1);
        while bits < 128 {
            pattern |= pattern << bits;
            bits *= 2;
        }
        pattern.to_le()
    }

    #[inline(always)]
    fn near_pattern(self, seed: u64, offset: usize) -> u128 {
        self.near_short_pattern(seed, offset)
    }

    #[inline(always)]
    fn near_short_pattern(self, seed: u64, offset: usize) -> u128 {
        let seed = u128::from(u64::from_le(seed)).to_le();
        self.short_pattern(seed, offset)
    }
}
