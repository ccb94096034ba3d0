//! Floats that are decimals: integers, packed in as many bits as their range takes.
//!
//! A value is `d * 10^f * 10^-e`, where the integer `d` is stored as its distance from a base. Values for which that is not
//! exact, bit by bit, are *exceptions* and stored in full.

use super::Word;
use super::bits::mask;
use super::fpc::FloatWidth;

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

/// Largest exponent: powers of ten up to here are exact.
pub const fn exponent_max(width: FloatWidth) -> u8 {
    match width {
        FloatWidth::F4 => 10,
        FloatWidth::F8 => 18,
    }
}

/// The integers of a vector before they are packed.
pub type Integers = [i64; VECTOR];

trait Float: Copy {
    const BYTES: usize;
    fn read(bytes: &[u8]) -> Self;
    fn write(self, bytes: &mut [u8]);
    fn same(self, other: Self) -> bool;
    /// Ten to a power, and one divided by that.
    fn power(exponent: u8) -> (Self, Self);
    fn mul(self, other: Self) -> Self;
    fn integer(self) -> i64;
    fn float(integer: i64) -> Self;
}

macro_rules! float {
    ($float:ty, $powers:expr, $magic:expr) => {
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
            fn power(exponent: u8) -> (Self, Self) {
                const POWERS: &[$float] = &$powers;
                let power = POWERS[usize::from(exponent)];
                (power, 1.0 / power)
            }

            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self * other
            }

            /// Rounded to the nearest integer, if it is small enough for that; anything otherwise.
            #[inline(always)]
            #[expect(clippy::cast_possible_truncation, reason = "exactness is checked afterwards")]
            fn integer(self) -> i64 {
                (self + $magic - $magic) as i64
            }

            #[inline(always)]
            fn float(integer: i64) -> Self {
                integer as Self
            }
        }
    };
}

float! { f32, [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10], 12_582_912.0 }
float! {
    f64,
    [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
        1e17, 1e18,
    ],
    6_755_399_441_055_744.0
}

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
    let ((up, down), (unfactor, refactor)) = (F::power(exponent), F::power(factor));
    let (mut least, mut most, mut count) = (i64::MAX, i64::MIN, 0);
    for (i, chunk) in source.chunks_exact(F::BYTES).enumerate() {
        let value = F::read(chunk);
        let integer = value.mul(up).mul(refactor).integer();
        integers[i] = integer;
        #[expect(clippy::cast_possible_truncation, reason = "below 1024")]
        let index = i as u16;
        exceptions[count] = index;
        if value.same(F::float(integer).mul(unfactor).mul(down)) {
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

/// Decodes at most [`VECTOR`] values of a packed vector.
pub fn decode(
    width: FloatWidth,
    decimal: Decimal,
    bits: u32,
    base: i64,
    source: &[u8],
    target: &mut [u8],
) {
    assert!(bits <= 64 && source.len() == packed_bytes(bits));
    assert!(target.len() <= VECTOR * width.bytes() && target.len().is_multiple_of(width.bytes()));
    match width {
        FloatWidth::F4 => decode_floats::<f32>(decimal, bits, base, source, target),
        FloatWidth::F8 => decode_floats::<f64>(decimal, bits, base, source, target),
    }
}

fn decode_floats<F: Float>(
    Decimal { exponent, factor }: Decimal,
    bits: u32,
    base: i64,
    source: &[u8],
    target: &mut [u8],
) {
    let ((_, down), (unfactor, _)) = (F::power(exponent), F::power(factor));
    for (i, place) in target.chunks_exact_mut(F::BYTES).enumerate() {
        let (lane, bit) = (i % LANES, i / LANES * bits as usize);
        let at = (bit / 64 * LANES + lane) * 8;
        let shift = bit % 64;
        let mut distance = if bits == 0 { 0 } else { u64::read(&source[at..at + 8]) >> shift };
        if shift + bits as usize > 64 {
            let next = at + LANES * 8;
            distance |= u64::read(&source[next..next + 8]) << (64 - shift);
        }
        let integer = (distance & mask(bits)).cast_signed().wrapping_add(base);
        F::float(integer).mul(unfactor).mul(down).write(place);
    }
}
