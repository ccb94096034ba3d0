//! Floats that are decimals: integers, packed in as many bits as their range takes.
//!
//! A value is `d * 10^f * 10^-e`, where the integer `d` is stored as its distance from a base. Values for which that is not
//! exact, bit by bit, are *exceptions* and stored in full.

mod encode;
mod scalar;

#[cfg(target_arch = "x86_64")]
mod avx512;

use super::fpc::FloatWidth;
use crate::variant::{Isa, Runnable, Variant, Variants};

/// Values in a vector.
pub const VECTOR: usize = 1024;
/// Words side by side in a packed vector.
const LANES: usize = 16;

/// Bytes of a packed vector with this many bits for a value.
pub const fn packed_bytes(bits: u32) -> usize {
    bits as usize * (VECTOR / 8)
}

/// How the values of a vector became integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    /// A value was multiplied by ten to this power ...
    pub exponent: u8,
    /// ... and by ten to minus this one.
    pub factor: u8,
}

/// Largest power of ten.
pub const POWER_MAX: u8 = 18;

/// Ten to a power of at most [`POWER_MAX`], exactly, and one divided by that.
#[inline(always)]
fn power(exponent: u8) -> (f64, f64) {
    const POWERS: [f64; POWER_MAX as usize + 1] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
        1e17, 1e18,
    ];
    let power = POWERS[usize::from(exponent)];
    (power, 1.0 / power)
}

/// The integers of a vector before they are packed.
pub type Integers = [i64; VECTOR];

/// Single precision, too, is computed in double precision.
trait Float: Copy {
    const BYTES: usize;
    fn read(bytes: &[u8]) -> Self;
    fn write(self, bytes: &mut [u8]);
    fn same(self, other: Self) -> bool;
    fn wide(self) -> f64;
    /// Rounded to the precision.
    fn narrow(wide: f64) -> Self;
}

macro_rules! float {
    ($($float:ty),*) => {$(
        impl Float for $float {
            const BYTES: usize = size_of::<Self>();

            #[inline(always)]
            fn read(bytes: &[u8]) -> Self {
                let mut value = [0; size_of::<Self>()];
                value.copy_from_slice(bytes);
                Self::from_le_bytes(value)
            }

            #[inline(always)]
            fn write(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }

            #[inline(always)]
            fn same(self, other: Self) -> bool {
                self.to_bits() == other.to_bits()
            }

            #[inline(always)]
            fn wide(self) -> f64 {
                self.into()
            }

            #[inline(always)]
            #[expect(clippy::allow_attributes, reason = "the lint does not fire for the widest")]
            #[allow(clippy::cast_possible_truncation, reason = "rounding is what is wanted")]
            fn narrow(wide: f64) -> Self {
                wide as Self
            }
        }
    )*};
}

float!(f32, f64);

/// What came of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The smallest integer.
    pub base: i64,
    /// Bits that hold every distance from it.
    pub bits: u32,
    /// Exceptions: their indices are in front of the list.
    pub exceptions: usize,
}

/// An encoder. Calling it needs the instruction set of its variant; a [`Runnable`] stands for that.
pub type Encode = unsafe fn(
    width: FloatWidth,
    decimal: Decimal,
    source: &[u8],
    integers: &mut Integers,
    exceptions: &mut [u16; VECTOR],
) -> Encoded;

/// The encoders, best first.
pub static ENCODE_VARIANTS: Variants<Encode> = Variants::new(&[
    #[cfg(target_arch = "x86_64")]
    Variant { name: "avx512", isa: Isa::Avx512, run: encode::with_wide_registers },
    Variant { name: "scalar", isa: Isa::Scalar, run: encode::anywhere },
]);

impl Runnable<Encode> {
    /// Makes integers of at most [`VECTOR`] values; the rest of `integers` and the places of exceptions hold the base. Lists
    /// the indices of exceptions.
    ///
    /// ```
    /// use tambour_kernel::column::{alp, fpc::FloatWidth};
    /// let prices: Vec<u8> = [19.99_f64, 5.49, 100.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    /// let (mut integers, mut exceptions) = ([0; alp::VECTOR], [0; alp::VECTOR]);
    /// let cents = alp::Decimal { exponent: 14, factor: 12 };
    /// let encode = alp::ENCODE_VARIANTS.best();
    /// let encoded = encode.encode(FloatWidth::F8, cents, &prices, &mut integers, &mut exceptions);
    /// assert_eq!(integers[..3], [1999, 549, 10000]);
    /// assert_eq!((encoded.base, encoded.exceptions), (549, 0));
    /// ```
    pub fn encode(
        self,
        width: FloatWidth,
        decimal: Decimal,
        source: &[u8],
        integers: &mut Integers,
        exceptions: &mut [u16; VECTOR],
    ) -> Encoded {
        let bytes = width.bytes();
        assert!(source.len() <= VECTOR * bytes && source.len().is_multiple_of(bytes));
        let run = self.run();
        // SAFETY: the only condition is the instruction set, and a `Runnable` exists only after its check.
        unsafe { run(width, decimal, source, integers, exceptions) }
    }
}

/// A packer. Calling it needs the instruction set of its variant; a [`Runnable`] stands for that.
pub type Pack = unsafe fn(bits: u32, base: i64, integers: &Integers, target: &mut [u8]);

/// The packers, best first.
pub static PACK_VARIANTS: Variants<Pack> = Variants::new(&[
    #[cfg(target_arch = "x86_64")]
    Variant { name: "avx512", isa: Isa::Avx512, run: encode::pack_with_wide_registers },
    Variant { name: "scalar", isa: Isa::Scalar, run: encode::pack_anywhere },
]);

impl Runnable<Pack> {
    /// Packs the distances of all integers from the base into [`packed_bytes`].
    pub fn pack(self, bits: u32, base: i64, integers: &Integers, target: &mut [u8]) {
        assert!(bits <= 64 && target.len() == packed_bytes(bits));
        let run = self.run();
        // SAFETY: the only condition is the instruction set, and a `Runnable` exists only after its check.
        unsafe { run(bits, base, integers, target) }
    }
}

/// A packed vector without its exceptions.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a> {
    /// What makes floats of the integers.
    pub decimal: Decimal,
    /// Bits of a value; at most 64.
    pub bits: u32,
    /// What to add to a packed value.
    pub base: i64,
    /// [`packed_bytes`] of values.
    pub words: &'a [u8],
}

/// A decoder. Calling it needs the instruction set of its variant; a [`Runnable`] stands for that, and checks the lengths.
pub type Decode = unsafe fn(width: FloatWidth, packed: Packed<'_>, target: &mut [u8]);

/// The decoders, best first.
pub static DECODE_VARIANTS: Variants<Decode> = Variants::new(&[
    #[cfg(target_arch = "x86_64")]
    avx512::VARIANT,
    scalar::VARIANT,
]);

impl Runnable<Decode> {
    /// Decodes at most [`VECTOR`] values of a packed vector.
    pub fn decode(self, width: FloatWidth, packed: Packed<'_>, target: &mut [u8]) {
        assert!(packed.bits <= 64 && packed.words.len() == packed_bytes(packed.bits));
        let Decimal { exponent, factor } = packed.decimal;
        assert!(exponent <= POWER_MAX && factor <= POWER_MAX);
        assert!(
            target.len() <= VECTOR * width.bytes() && target.len().is_multiple_of(width.bytes())
        );
        let run = self.run();
        // SAFETY: the only condition is the instruction set, and a `Runnable` exists only after its check.
        unsafe { run(width, packed, target) }
    }
}
