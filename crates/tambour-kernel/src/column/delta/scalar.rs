//! The decoder for every machine.

use super::Decode;
use crate::column::{Width, Word, by_width};
use crate::variant::{Isa, Variant};

pub(super) const VARIANT: Variant<Decode> =
    Variant { name: "scalar", isa: Isa::Scalar, run: decode };

fn decode(width: Width, source: &[u8], target: &mut [u8]) {
    by_width!(width, sums(0, source, target));
}

/// Running sums that start from `sum`.
#[inline(always)]
pub(super) fn sums<W: Word>(sum: u64, source: &[u8], target: &mut [u8]) {
    let mut value = W::narrow(sum);
    for (source, target) in source.chunks_exact(W::BYTES).zip(target.chunks_exact_mut(W::BYTES)) {
        value = value.add(W::read(source));
        value.write(target);
    }
}

/// The value at the end of what was decoded, or 0.
#[cfg(target_arch = "x86_64")]
pub(super) fn last<W: Word>(target: &[u8]) -> u64 {
    let start = target.len().checked_sub(W::BYTES);
    start.map_or(0, |start| W::read(&target[start..]).wide())
}
