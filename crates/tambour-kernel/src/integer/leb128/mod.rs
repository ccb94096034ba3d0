//! LEB128: seven bits per byte, low first, bit 7 set on all bytes of a value but its last. The varint of protobuf, and
//! Xapian's `pack_uint`.
//!
//! Encoders write the shortest form. A decoder refuses a value of more bytes than its type can need and a last byte with bits
//! beyond the type; [`Form`] says whether it takes more bytes than a value needs.
//!
//! ```
//! use tambour_kernel::integer::{Malformed, leb128::{self, Form}};
//! let mut bytes = [0; 15];
//! let length = leb128::encode(&[1_u32, 300, u32::MAX], &mut bytes).unwrap();
//! assert_eq!(bytes[..length], [1, 0xac, 2, 0xff, 0xff, 0xff, 0xff, 0x0f]);
//! let mut values = [0_u32; 3];
//! assert_eq!(leb128::decode(&bytes, &mut values, Form::Minimal), Ok(length));
//! assert_eq!(values, [1, 300, u32::MAX]);
//! assert_eq!(leb128::decode(&[0x80, 0], &mut values[..1], Form::Minimal), Err(Malformed::NonMinimal { at: 0 }));
//! ```

mod scalar;

#[cfg(target_arch = "x86_64")]
mod avx512_encode;
#[cfg(target_arch = "x86_64")]
mod avx512_u32;
#[cfg(target_arch = "x86_64")]
mod avx512_u64;
#[cfg(target_arch = "x86_64")]
mod bmi2;
#[cfg(target_arch = "x86_64")]
mod shuffle;

pub use scalar::read;

use super::{Encode, Malformed};
use crate::variant::{Isa, Runnable, Variants};

/// Whether a decoder takes a value in more bytes than it needs, such as `80 00` for 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Only the shortest form: every value has exactly one encoding.
    Minimal,
    /// Any form that is not too long for the type, as Xapian and protobuf take it.
    Any,
}

/// A decoder of LEB128. Calling it needs the instruction set of its variant; a [`Runnable`] stands for that.
///
/// It is memory-safe for any source, writes only `target`, and leaves unspecified values there when it fails.
pub type Decode<T> =
    unsafe fn(source: &[u8], target: &mut [T], form: Form) -> Result<usize, Malformed>;

/// An unsigned integer with LEB128 kernels: [`u32`] or [`u64`].
pub trait Word: Copy + PartialEq + std::fmt::Debug + sealed::Sealed + 'static {
    /// Most bytes of a value.
    const BYTES_MAX: usize;
    /// Largest value of the last of [`Self::BYTES_MAX`] bytes.
    const LAST_MAX: u8;
    /// The lower bits of a number.
    fn truncate(number: u64) -> Self;
    /// The number.
    fn widen(self) -> u64;
    /// The encoders, best first.
    fn encoders() -> &'static Variants<Encode<Self>>;
    /// The decoders, best first.
    fn decoders() -> &'static Variants<Decode<Self>>;
}

mod sealed {
    /// Keeps `Word` to the types that have kernels.
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
}

impl Word for u32 {
    const BYTES_MAX: usize = 5;
    const LAST_MAX: u8 = 0x0f;

    #[expect(clippy::cast_possible_truncation, reason = "that is its purpose")]
    #[inline(always)]
    fn truncate(number: u64) -> Self {
        number as Self
    }

    #[inline(always)]
    fn widen(self) -> u64 {
        u64::from(self)
    }

    fn encoders() -> &'static Variants<Encode<Self>> {
        &ENCODE_U32_VARIANTS
    }

    fn decoders() -> &'static Variants<Decode<Self>> {
        &DECODE_U32_VARIANTS
    }
}

impl Word for u64 {
    const BYTES_MAX: usize = 10;
    const LAST_MAX: u8 = 0x01;

    #[inline(always)]
    fn truncate(number: u64) -> Self {
        number
    }

    #[inline(always)]
    fn widen(self) -> u64 {
        self
    }

    fn encoders() -> &'static Variants<Encode<Self>> {
        &ENCODE_U64_VARIANTS
    }

    fn decoders() -> &'static Variants<Decode<Self>> {
        &DECODE_U64_VARIANTS
    }
}

/// The encoders of 32-bit values, best first.
pub static ENCODE_U32_VARIANTS: Variants<Encode<u32>> = Variants::new(&[
    #[cfg(target_arch = "x86_64")]
    avx512_encode::VARIANT_U32,
    #[cfg(target_arch = "x86_64")]
    bmi2::ENCODE_U32,
    scalar::ENCODE_U32,
]);

/// The encoders of 64-bit values, best first.
pub static ENCODE_U64_VARIANTS: Variants<Encode<u64>> = Variants::new(&[
    #[cfg(target_arch = "x86_64")]
    avx512_encode::VARIANT_U64,
    #[cfg(target_arch = "x86_64")]
    bmi2::ENCODE_U64,
    scalar::ENCODE_U64,
]);

/// The decoders of 32-bit values, best first.
pub static DECODE_U32_VARIANTS: Variants<Decode<u32>> = Variants::new(&[
    #[cfg(target_arch = "x86_64")]
    avx512_u32::VARIANT,
    #[cfg(target_arch = "x86_64")]
    shuffle::AVX2,
    #[cfg(target_arch = "x86_64")]
    bmi2::DECODE_U32,
    #[cfg(target_arch = "x86_64")]
    shuffle::SSSE3,
    scalar::DECODE_U32,
]);

/// The decoders of 64-bit values, best first.
pub static DECODE_U64_VARIANTS: Variants<Decode<u64>> = Variants::new(&[
    #[cfg(target_arch = "x86_64")]
    avx512_u64::VARIANT,
    #[cfg(target_arch = "x86_64")]
    bmi2::DECODE_U64,
    scalar::DECODE_U64,
]);

/// Most bytes that `values` values of `T` take.
pub const fn bound<T: Word>(values: usize) -> usize {
    values.saturating_mul(T::BYTES_MAX)
}

/// Fewer values than this are encoded and decoded where they are called from: no variant has a loop for them,
const FEW: usize = 16;
/// but those with AVX-512, which take a part of a register as they take a whole one.
const FEW_WITH_AVX512: usize = 8;

/// Encodes with the best variant of this CPU; the number of bytes, or `None` when the target is too short.
///
/// ```
/// use tambour_kernel::integer::leb128::{self, Form};
/// let mut bytes = [0; 16];
/// let length = leb128::encode(&[1_u32, 300], &mut bytes).ok_or("no room")?;
/// assert_eq!(bytes[..length], [0x01, 0xac, 0x02]);
///
/// let mut values = [0_u32; 2];
/// let taken = leb128::decode(&bytes[..length], &mut values, Form::Minimal)?;
/// assert_eq!((taken, values), (3, [1, 300]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[inline]
pub fn encode<T: Word>(source: &[T], target: &mut [u8]) -> Option<usize> {
    if source.len() >= FEW_WITH_AVX512 {
        let best = T::encoders().best();
        if source.len() >= FEW || best.isa() == Isa::Avx512 {
            return best.encode(source, target);
        }
    }
    scalar::encode_from(source, target, 0)
}

/// Decodes exactly `target.len()` values with the best variant of this CPU; the number of bytes taken.
#[inline]
pub fn decode<T: Word>(source: &[u8], target: &mut [T], form: Form) -> Result<usize, Malformed> {
    if target.len() >= FEW_WITH_AVX512 {
        let best = T::decoders().best();
        if target.len() >= FEW || best.isa() == Isa::Avx512 {
            return best.decode(source, target, form);
        }
    }
    scalar::decode_from(source, 0, target, form)
}

impl<T: 'static> Runnable<Decode<T>> {
    /// Decodes exactly `target.len()` values; the number of bytes taken. On an error the target holds unspecified values.
    pub fn decode(self, source: &[u8], target: &mut [T], form: Form) -> Result<usize, Malformed> {
        let run = self.run();
        // SAFETY: the only condition is the instruction set, and a `Runnable` exists only after its check.
        unsafe { run(source, target, form) }
    }
}
