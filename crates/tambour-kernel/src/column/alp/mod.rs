//! Floats that are decimals: integers, packed in as many bits as their range takes.
//!
//! A value is `d * 10^f * 10^-e`, where the integer `d` is stored as its distance from a base. Values for which that is not
//! exact, bit by bit, are *exceptions* and stored in full.

mod scalar;

#[cfg(target_arch = "x86_64")]
mod avx512;

use super::Word;
use super::bits::mask;
use super::fpc::FloatWidth;
use crate::variant::{Runnable, Variants};

/// Values in a vector.
pub const VECTOR: usize = 1024;
/// Words side by side in a packed vector.
const LANES: usize = 16;

/// Bytes of a packed vector with so many bits for a value.
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

/// Rounded to the nearest integer, if it is small enough for that; anything otherwise.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "exactness is checked afterwards")]
fn integer(value: f64) -> i64 {
    /// Above it, floats have no fractions.
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    (value + MAGIC - MAGIC) as i64
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

/// Makes integers of at most [`VECTOR`] values; the rest of `integers` and the places of exceptions hold the base. Lists the
/// indices of exceptions.
pub fn encode(
    width: FloatWidth,
    decimal: Decimal,
    source: &[u8],
    integers: &mut Integers,
    exceptions: &mut [u16; VECTOR],
) -> Encoded {
    assert!(source.len() <= VECTOR * width.bytes() && source.len().is_multiple_of(width.bytes()));
    match width {
        FloatWidth::F4 => encode_floats::<f32>(decimal, source, integers, exceptions),
        FloatWidth::F8 => encode_floats::<f64>(decimal, source, integers, exceptions),
    }
}

fn encode_floats<F: Float>(
    Decimal { exponent, factor }: Decimal,
    source: &[u8],
    integers: &mut Integers,
    exceptions: &mut [u16; VECTOR],
) -> Encoded {
    let ((up, down), (unfactor, refactor)) = (power(exponent), power(factor));
    let (mut least, mut most, mut count) = (i64::MAX, i64::MIN, 0);
    for (i, chunk) in source.chunks_exact(F::BYTES).enumerate() {
        let value = F::read(chunk);
        let integer = integer(value.wide() * up * refactor);
        integers[i] = integer;
        #[expect(clippy::cast_possible_truncation, reason = "below 1024")]
        let index = i as u16;
        exceptions[count] = index;
        if value.same(F::narrow(integer as f64 * unfactor * down)) {
            least = least.min(integer);
            most = most.max(integer);
        } else {
            count += 1;
        }
    }
    let base = if least <= most { least } else { 0 };
    let range = if least <= most { most.wrapping_sub(least).cast_unsigned() } else { 0 };
    exceptions[..count].iter().for_each(|&i| integers[usize::from(i)] = base);
    integers[source.len() / F::BYTES..].fill(base);
    Encoded { base, bits: 64 - range.leading_zeros(), exceptions: count }
}

/// Packs the distances of all integers from the base into [`packed_bytes`].
pub fn pack(bits: u32, base: i64, integers: &Integers, target: &mut [u8]) {
    assert!(bits <= 64 && target.len() == packed_bytes(bits));
    target.fill(0);
    if bits == 0 {
        return;
    }
    for (i, integer) in integers.iter().enumerate() {
        let distance = integer.wrapping_sub(base).cast_unsigned() & mask(bits);
        let (lane, bit) = (i % LANES, i / LANES * bits as usize);
        let at = (bit / 64 * LANES + lane) * 8;
        let shift = bit % 64;
        or_word(target, at, distance << shift);
        if shift + bits as usize > 64 {
            or_word(target, at + LANES * 8, distance >> (64 - shift));
        }
    }
}

fn or_word(target: &mut [u8], at: usize, bits: u64) {
    let word = &mut target[at..at + 8];
    (u64::read(word) | bits).write(word);
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
