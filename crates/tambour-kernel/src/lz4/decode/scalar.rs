//! The lean loop for every machine: no vector instructions asked for. Miri runs it, and with it the loop itself.

use super::lane::{Lane, Place};
use super::machine::Machine;
use super::plain::{self, Lean8};
use super::tables::STRIDES_16;
use super::{Decode, careful};
use crate::copy::Two;
use crate::variant::{Isa, Variant};

pub(super) const SCALAR: Variant<Decode> = Variant {
    name: "scalar",
    isa: Isa::Scalar,
    run: Decode { advance, advance_pair, finish, adapts: true },
};

#[derive(Clone, Copy)]
struct Portable;

fn advance(lane: &mut Lane<'_>, bytes: usize) {
    plain::advance::<_, Lean8>(Portable, lane, bytes);
}

fn advance_pair(a: &mut Lane<'_>, b: &mut Lane<'_>, bytes: usize) {
    plain::advance_pair::<_, Lean8>(Portable, a, b, bytes);
}

fn finish(lane: &mut Lane<'_>) -> bool {
    careful::finish(Portable, lane)
}

#[inline(never)]
unsafe fn sequence(
    from: *const u8,
    to: *mut u8,
    source_end: *const u8,
    target_start: *mut u8,
    target_end: *mut u8,
) -> Place {
    // SAFETY: the same conditions.
    unsafe { careful::sequence(Portable, from, to, source_end, target_start, target_end) }
}

#[inline(never)]
unsafe fn fill(
    to: *mut u8,
    offset: usize,
    length: usize,
    target_start: *mut u8,
    target_end: *mut u8,
) {
    // SAFETY: the same conditions.
    unsafe { careful::fill_lane(Portable, to, offset, length, target_start, target_end) }
}

impl Machine for Portable {
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
    unsafe fn sequence(
        self,
        from: *const u8,
        to: *mut u8,
        source_end: *const u8,
        target_start: *mut u8,
        target_end: *mut u8,
    ) -> Place {
        // SAFETY: the same conditions.
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
        // SAFETY: the same conditions.
        unsafe { fill(to, offset, length, target_start, target_end) }
    }
}
