//! `encode_length` of Xapian's remote protocol up to version 1.4.
//!
//! One byte below 255; else `ff`, and the value minus 255 in groups of seven bits, low first, of which the *last* has bit 7
//! set. What is after an `ff` cannot be told without the bytes before, so the fast loop takes the one-byte values between
//! two escapes at once and each escape by itself. A group of zero at the end is refused, unless it is the only one: every
//! value has one form.
//!
//! ```
//! use tambour_kernel::integer::encode_length;
//! let mut bytes = [0; 16];
//! let length = encode_length::encode(&[254, 255, 383], &mut bytes).unwrap();
//! assert_eq!(bytes[..length], [0xfe, 0xff, 0x80, 0xff, 0, 0x81]);
//! let mut values = [0; 3];
//! assert_eq!(encode_length::decode(&bytes, &mut values), Ok(length));
//! assert_eq!(values, [254, 255, 383]);
//! ```

mod scalar;

#[cfg(target_arch = "x86_64")]
mod avx512;

pub use scalar::{encode, read, write};

use super::{Decode, Malformed};
use crate::variant::Variants;

/// Smallest value with an escape, and the escape.
const ESCAPE: u8 = 0xff;

/// Most bytes of a 64-bit value.
pub const BYTES_MAX: usize = 11;

/// The decoders of 32-bit values, best first.
pub static DECODE_VARIANTS: Variants<Decode<u32>> = Variants::new(&[
    #[cfg(target_arch = "x86_64")]
    avx512::DECODE,
    scalar::DECODE,
]);

/// Most bytes that `values` values of 32 bits take.
pub const fn bound(values: usize) -> usize {
    values.saturating_mul(6)
}

/// Decodes exactly `target.len()` values with the best variant of this CPU; the number of bytes taken.
pub fn decode(source: &[u8], target: &mut [u32]) -> Result<usize, Malformed> {
    DECODE_VARIANTS.best().decode(source, target)
}
