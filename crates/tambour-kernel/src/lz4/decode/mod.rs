//! LZ4 block decoders: the table of variants and the public call.
//!
//! Every variant accepts the same blocks, writes the same bytes and reports the same error: `fault` builds the error for
//! all of them. A new variant is one file with a `VARIANT` and its two lines here.

mod careful;
mod fault;
mod scalar;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod plain;

use super::Malformed;
use crate::variant::{Runnable, Variants};

/// A decoder. Calling it needs the instruction set of its variant; a [`Runnable`] stands for that.
///
/// It is memory-safe for any source, writes only `target`, and leaves unspecified bytes there when it fails.
pub type Decode = unsafe fn(source: &[u8], target: &mut [u8]) -> Result<(), Malformed>;

/// The LZ4 decoders, best first.
pub static VARIANTS: Variants<Decode> = Variants::new(&[
    #[cfg(target_arch = "x86_64")]
    avx2::VARIANT,
    scalar::VARIANT,
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
    pub fn decode(self, source: &[u8], target: &mut [u8]) -> Result<(), Malformed> {
        let run = self.run();
        // SAFETY: the only condition is the instruction set, and a `Runnable` exists only after its check.
        unsafe { run(source, target) }
    }
}
