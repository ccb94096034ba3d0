//! Differences of neighbours: the first value, then each value minus the one before it.
//!
//! Decoding is a running sum. The vector variants sum within a register, by adding it to itself shifted by one value, then by
//! two and so on, so that from one register to the next there is only one addition to wait for.

mod scalar;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use super::{Width, Word, by_width};
use crate::variant::{Runnable, Variants};

/// A decoder. Calling it needs the instruction set of its variant; a [`Runnable`] stands for that.
///
/// Source and target have the same length, a multiple of the width.
pub type Decode = unsafe fn(width: Width, source: &[u8], target: &mut [u8]);

/// The decoders, best first.
pub static DECODE_VARIANTS: Variants<Decode> = Variants::new(&[
    #[cfg(target_arch = "x86_64")]
    avx512::VARIANT,
    #[cfg(target_arch = "x86_64")]
    avx2::VARIANT,
    scalar::VARIANT,
]);

impl Runnable<Decode> {
    /// Writes the values whose differences `source` has to `target`; both have the same length, a multiple of the width.
    pub fn decode(self, width: Width, source: &[u8], target: &mut [u8]) {
        assert!(source.len() == target.len() && source.len().is_multiple_of(width.bytes()));
        let run = self.run();
        // SAFETY: the only condition is the instruction set, and a `Runnable` exists only after its check.
        unsafe { run(width, source, target) }
    }
}

/// Writes the differences of `source` to `target`; both have the same length, a multiple of the width.
///
/// ```
/// use tambour_kernel::column::{Width, delta};
/// let (values, mut differences) = ([10, 11, 13, 12], [0; 4]);
/// delta::encode(Width::W1, &values, &mut differences);
/// assert_eq!(differences, [10, 1, 2, 255]);
///
/// let mut decoded = [0; 4];
/// delta::DECODE_VARIANTS.best().decode(Width::W1, &differences, &mut decoded);
/// assert_eq!(decoded, values);
/// ```
pub fn encode(width: Width, source: &[u8], target: &mut [u8]) {
    assert!(source.len() == target.len() && source.len().is_multiple_of(width.bytes()));
    by_width!(width, encode_words(source, target));
}

fn encode_words<W: Word>(source: &[u8], target: &mut [u8]) {
    let Some((first, rest)) = target.split_at_mut_checked(W::BYTES) else { return };
    first.copy_from_slice(&source[..W::BYTES]);
    let neighbours = source.chunks_exact(W::BYTES).zip(source[W::BYTES..].chunks_exact(W::BYTES));
    for ((previous, value), place) in neighbours.zip(rest.chunks_exact_mut(W::BYTES)) {
        W::read(value).sub(W::read(previous)).write(place);
    }
}
