//! LZ4 block decoders: the table of variants and the calls.
//!
//! Every variant accepts the same blocks, writes the same bytes and reports the same error: `fault` builds the error for
//! all of them. None is best for all data; a [`Selector`](super::Selector) finds out.
//!
//! | loop | what it does | what it is for |
//! |---|---|---|
//! | `lean16` | unconditional copies in pieces of 16 bytes | text, long matches; the default |
//! | `lean8` | pieces of 8 bytes | columns of 8-byte numbers, near matches |
//! | `skip8` | like `lean8`, with a branch for sequences without literals | fixed-width columns of few distinct values |
//! | `permute64` | a match of up to 64 bytes is one load, one permute, one store; no branch on lengths | logs, repetitive strings |
//! | `flat16`, `flat32` | the same with several loads and stores, where there is no such permute | logs, repetitive strings |
//! | `history64` | keeps the newest 64 bytes in a register | small offsets with irregular lengths |
//! | `copy8`, `copy16`, `copy32` | copies in a loop of such pieces, the overlapping start of a match byte by byte | comparison with the classic decoders |
//! | `copy8-shuffle`, `copy16-shuffle` | the overlapping start by a byte shuffle | the same |
//! | `copy-movsb` | the CPU's string instruction for every copy | comparison: it was asked about, and does not pay |
//! | `scalar` | `lean8` without vector instructions | every machine, Miri |
//!
//! The first six exist for several instruction sets, which the name says: `lean8-avx2`. Each takes one block or two in
//! turns ([`Runnable::decode_batch`]).
//!
//! A load may cover bytes of the target that were not written yet; what they hold never reaches a register lane that is
//! kept.
//!
//! To add a loop: one file or [`plain::Style`], and its line in [`VARIANTS`].

mod batch;
mod careful;
mod extra;
mod fault;
mod lane;
mod literal;
mod machine;
mod plain;
mod scalar;
mod short;
mod tables;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod classic;
#[cfg(target_arch = "x86_64")]
mod history;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod ssse3;

use super::Malformed;
use crate::variant::{Isa, Runnable, Variants};
pub use batch::Block;
pub(super) use batch::{Choice, batch};
pub(super) use extra::decode_sequences;
pub use extra::{decode_behind, decode_partial, decode_with_dictionary};
pub(super) use fault::fault_behind;
pub(super) use lane::Lane;
pub(super) use literal::only_literals;
pub use short::{SHORT_MARGIN, decode_short};

/// The code of a decoder: opaque, called through a [`Runnable`].
#[derive(Clone, Copy, Debug)]
pub struct Decode {
    /// Decodes on until the lane is closed or about this many bytes more are written.
    advance: unsafe fn(&mut Lane<'_>, usize),
    /// The same for two lanes in turns, until one of them is closed or has written this much.
    advance_pair: unsafe fn(&mut Lane<'_>, &mut Lane<'_>, usize),
    /// Decodes the rest; whether the block is well formed.
    finish: unsafe fn(&mut Lane<'_>) -> bool,
    /// Whether a selector should try it.
    adapts: bool,
}

/// The LZ4 decoders; of each level the best single one first.
pub static VARIANTS: Variants<Decode> = Variants::new(&[
    #[cfg(target_arch = "x86_64")]
    avx512::LEAN16,
    #[cfg(target_arch = "x86_64")]
    avx512::LEAN8,
    #[cfg(target_arch = "x86_64")]
    avx512::PERMUTE64,
    #[cfg(target_arch = "x86_64")]
    history::HISTORY64,
    #[cfg(target_arch = "x86_64")]
    avx512::SKIP8,
    #[cfg(target_arch = "x86_64")]
    avx2::LEAN16,
    #[cfg(target_arch = "x86_64")]
    avx2::LEAN8,
    #[cfg(target_arch = "x86_64")]
    avx2::FLAT,
    #[cfg(target_arch = "x86_64")]
    avx2::SKIP8,
    #[cfg(target_arch = "x86_64")]
    ssse3::LEAN16,
    #[cfg(target_arch = "x86_64")]
    ssse3::LEAN8,
    #[cfg(target_arch = "x86_64")]
    ssse3::FLAT,
    #[cfg(target_arch = "x86_64")]
    ssse3::SKIP8,
    #[cfg(target_arch = "x86_64")]
    classic::COPY8_SHUFFLE,
    #[cfg(target_arch = "x86_64")]
    classic::COPY16_SHUFFLE,
    #[cfg(target_arch = "x86_64")]
    classic::COPY8,
    #[cfg(target_arch = "x86_64")]
    classic::COPY16,
    #[cfg(target_arch = "x86_64")]
    classic::COPY32,
    #[cfg(target_arch = "x86_64")]
    classic::COPY_MOVSB,
    #[cfg(target_arch = "aarch64")]
    neon::LEAN16,
    #[cfg(target_arch = "aarch64")]
    neon::LEAN8,
    #[cfg(target_arch = "aarch64")]
    neon::FLAT,
    #[cfg(target_arch = "aarch64")]
    neon::SKIP8,
    scalar::SCALAR,
]);

/// Decodes one block into exactly `target.len()` bytes with the best variant that this CPU has.
///
/// ```
/// // Six literals, a match of four bytes at offset 6, then five literals.
/// let block = b"\x60hello \x06\0\x50hello";
/// let mut target = [0; 15];
/// tambour_kernel::lz4::decode(block, &mut target)?;
/// assert_eq!(&target, b"hello hellhello");
/// # Ok::<(), tambour_kernel::lz4::Malformed>(())
/// ```
pub fn decode(source: &[u8], target: &mut [u8]) -> Result<(), Malformed> {
    VARIANTS.best().decode(source, target)
}

impl Runnable<Decode> {
    /// Decodes one block into exactly `target.len()` bytes. On an error the target holds unspecified bytes.
    ///
    /// It is memory-safe for any source and writes nothing but the target.
    pub fn decode(self, source: &[u8], target: &mut [u8]) -> Result<(), Malformed> {
        decode_behind(self, source, target, 0)
    }

    /// Decodes blocks that do not depend on each other, two of them in turns at any time: faster than one after the other.
    ///
    /// ```
    /// use tambour_kernel::lz4::{Block, DECODE_VARIANTS};
    /// let (mut first, mut second) = ([0; 3], [0; 2]);
    /// let mut blocks = [Block::new(b"\x30abc", &mut first), Block::new(b"\x30abc", &mut second)];
    /// DECODE_VARIANTS.best().decode_batch(&mut blocks);
    /// assert!(blocks[0].result.is_ok() && blocks[1].result.is_err(), "each says what became of it");
    /// assert_eq!(&first, b"abc");
    /// ```
    pub fn decode_batch(self, blocks: &mut [Block<'_>]) {
        let choice = Choice { variant: self, paired: true };
        batch(blocks.iter_mut(), self, |first, second| {
            choice.advance(first, second, usize::MAX);
            choice
        });
    }

    /// Decodes on until the lane is closed or about `bytes` more are written.
    pub(super) fn advance(self, lane: &mut Lane<'_>, bytes: usize) {
        let advance = self.run().advance;
        // SAFETY: the only condition is the instruction set, and a `Runnable` exists only after its check.
        unsafe { advance(lane, bytes) }
    }

    /// The same for two lanes in turns, until one of them is closed or has written this much.
    pub(super) fn advance_pair(self, a: &mut Lane<'_>, b: &mut Lane<'_>, bytes: usize) {
        let advance_pair = self.run().advance_pair;
        // SAFETY: as above.
        unsafe { advance_pair(a, b, bytes) }
    }

    /// Decodes the rest; whether the block is well formed.
    pub(super) fn finish(self, lane: &mut Lane<'_>) -> bool {
        let finish = self.run().finish;
        // SAFETY: as above.
        unsafe { finish(lane) }
    }
}

/// The variants that a selector tries, those of the best level up to `cap`, best first.
pub(super) fn adapting(cap: Isa) -> impl Iterator<Item = Runnable<Decode>> + Clone {
    let level = VARIANTS.best_at_most(cap).isa();
    VARIANTS.available().filter(move |variant| variant.isa() == level && variant.run().adapts)
}
