//! StreamVByte: two bits per value that say how many bytes it has, in bytes of their own before all data bytes.
//!
//! Byte-compatible with the C library of the format's authors. [`Lengths`] tells the two variants of the format apart. Neither
//! the number of values nor the length is stored.
//!
//! ```
//! use tambour_kernel::integer::stream_vbyte::{self, Lengths};
//! let mut bytes = [0; 32];
//! let length = stream_vbyte::encode(&[1, 1024, 0], &mut bytes, Lengths::OneToFour).unwrap();
//! assert_eq!(bytes[..length], [0b00_01_00, 1, 0, 4, 0]);
//! let mut values = [0; 3];
//! assert_eq!(stream_vbyte::decode(&bytes, &mut values, Lengths::OneToFour), Ok(length));
//! ```

pub(super) mod scalar;

#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;
#[cfg(target_arch = "x86_64")]
pub(super) mod ssse3;

use super::{Decode, Encode, Malformed};
use crate::variant::Variants;

/// What the four codes of two bits mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// 1, 2, 3 or 4 bytes.
    OneToFour,
    /// 0, 1, 2 or 4 bytes: zeros take no data.
    ZeroToFour,
}

impl Lengths {
    /// Both.
    pub const ALL: [Self; 2] = [Self::OneToFour, Self::ZeroToFour];

    /// The encoders, best first.
    pub fn encoders(self) -> &'static Variants<Encode<u32>> {
        match self {
            Self::OneToFour => &ENCODE_1234_VARIANTS,
            Self::ZeroToFour => &ENCODE_0124_VARIANTS,
        }
    }

    /// The decoders, best first.
    pub fn decoders(self) -> &'static Variants<Decode<u32>> {
        match self {
            Self::OneToFour => &DECODE_1234_VARIANTS,
            Self::ZeroToFour => &DECODE_0124_VARIANTS,
        }
    }
}

/// The encoders for lengths of 1 to 4 bytes, best first.
pub static ENCODE_1234_VARIANTS: Variants<Encode<u32>> = Variants::new(&[
    #[cfg(target_arch = "x86_64")]
    avx512::ENCODE_1234,
    #[cfg(target_arch = "x86_64")]
    ssse3::ENCODE_1234,
    scalar::ENCODE_1234,
]);

/// The encoders for lengths of 0, 1, 2 and 4 bytes, best first.
pub static ENCODE_0124_VARIANTS: Variants<Encode<u32>> = Variants::new(&[
    #[cfg(target_arch = "x86_64")]
    avx512::ENCODE_0124,
    #[cfg(target_arch = "x86_64")]
    ssse3::ENCODE_0124,
    scalar::ENCODE_0124,
]);

/// The decoders for lengths of 1 to 4 bytes, best first.
pub static DECODE_1234_VARIANTS: Variants<Decode<u32>> = Variants::new(&[
    #[cfg(target_arch = "x86_64")]
    avx512::DECODE_1234,
    #[cfg(target_arch = "x86_64")]
    ssse3::DECODE_1234,
    scalar::DECODE_1234,
]);

/// The decoders for lengths of 0, 1, 2 and 4 bytes, best first.
pub static DECODE_0124_VARIANTS: Variants<Decode<u32>> = Variants::new(&[
    #[cfg(target_arch = "x86_64")]
    avx512::DECODE_0124,
    #[cfg(target_arch = "x86_64")]
    ssse3::DECODE_0124,
    scalar::DECODE_0124,
]);

/// Most bytes that `values` values take.
pub const fn bound(values: usize) -> usize {
    controls(values).saturating_add(values.saturating_mul(4))
}

/// Encodes with the best variant of this CPU; the number of bytes, or `None` when the target is too short.
///
/// ```
/// use tambour_kernel::integer::stream_vbyte::{self, Lengths};
/// let values = [1, 300, 70_000, 5];
/// let mut bytes = [0; stream_vbyte::bound(4)];
/// let length = stream_vbyte::encode(&values, &mut bytes, Lengths::OneToFour).ok_or("no room")?;
/// assert_eq!(length, 1 + (1 + 2 + 3 + 1), "a control byte, then the values");
///
/// let mut decoded = [0; 4];
/// stream_vbyte::decode(&bytes[..length], &mut decoded, Lengths::OneToFour)?;
/// assert_eq!(decoded, values);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn encode(source: &[u32], target: &mut [u8], lengths: Lengths) -> Option<usize> {
    lengths.encoders().best().encode(source, target)
}

/// Decodes exactly `target.len()` values with the best variant of this CPU; the number of bytes taken.
pub fn decode(source: &[u8], target: &mut [u32], lengths: Lengths) -> Result<usize, Malformed> {
    lengths.decoders().best().decode(source, target)
}

/// Control bytes of this many values.
pub(super) const fn controls(values: usize) -> usize {
    values.div_ceil(4)
}

/// The meaning of the codes as a type, so that loops are compiled for each.
pub(super) trait Codes {
    /// Bytes of each code.
    const BYTES: [usize; 4];

    /// The code of a value.
    fn code(value: u32) -> u8;
}

/// [`Lengths::OneToFour`].
pub(super) struct OneToFour;

/// [`Lengths::ZeroToFour`].
pub(super) struct ZeroToFour;

impl Codes for OneToFour {
    const BYTES: [usize; 4] = [1, 2, 3, 4];

    #[inline(always)]
    fn code(value: u32) -> u8 {
        u8::from(value > 0xff) + u8::from(value > 0xffff) + u8::from(value > 0xff_ffff)
    }
}

impl Codes for ZeroToFour {
    const BYTES: [usize; 4] = [0, 1, 2, 4];

    #[inline(always)]
    fn code(value: u32) -> u8 {
        u8::from(value > 0) + u8::from(value > 0xff) + u8::from(value > 0xffff)
    }
}
