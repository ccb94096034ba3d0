//! Values divided by a divisor that all of them have.
//!
//! Widths are 1, 2, 4, 8, 16 and 32 bytes. Division is exact, so that it is a shift and a multiplication with the inverse of
//! the odd part of the divisor, modulo the width; for signed values that is signed division.

mod wide;

use crate::variant::{Isa, Runnable, Variant, Variants};
use wide::U256;

/// Widths of values, in bytes.
pub const WIDTHS: &[usize] = &[1, 2, 4, 8, 16, 32];

/// An unsigned integer with what a common divisor takes.
trait Integer: Copy + PartialEq {
    const BYTES: usize;
    const ZERO: Self;
    const ONE: Self;

    fn read(bytes: &[u8]) -> Self;
    fn write(self, bytes: &mut [u8]);
    fn mul(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn less(self, other: Self) -> bool;
    fn trailing_zeros(self) -> u32;
    fn shift_left(self, count: u32) -> Self;
    fn shift_right(self, count: u32) -> Self;
    /// Shifts copies of the highest bit in.
    fn shift_signed(self, count: u32) -> Self;
    fn is_negative(self) -> bool;
    /// Whether it is a multiple, if that is quickly said; no otherwise.
    fn is_quickly_multiple(self, of: Self) -> bool;
}

macro_rules! integer {
    ($($unsigned:ty, $signed:ty;)*) => {$(
        impl Integer for $unsigned {
            const BYTES: usize = size_of::<Self>();
            const ZERO: Self = 0;
            const ONE: Self = 1;

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
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn less(self, other: Self) -> bool {
                self < other
            }

            #[inline(always)]
            fn trailing_zeros(self) -> u32 {
                self.trailing_zeros()
            }

            #[inline(always)]
            fn shift_left(self, count: u32) -> Self {
                self << count
            }

            #[inline(always)]
            fn shift_right(self, count: u32) -> Self {
                self >> count
            }

            #[inline(always)]
            fn shift_signed(self, count: u32) -> Self {
                (self as $signed >> count) as Self
            }

            #[inline(always)]
            fn is_negative(self) -> bool {
                (self as $signed) < 0
            }

            #[inline(always)]
            fn is_quickly_multiple(self, of: Self) -> bool {
                Self::BITS <= 64 && self % of == 0
            }
        }
    )*};
}

integer! { u8, i8; u16, i16; u32, i32; u64, i64; u128, i128; }

/// Calls a function that is generic over [`Integer`] with the type of a width of [`WIDTHS`].
macro_rules! by_bytes {
    ($width:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $width {
            1 => $function::<u8>($($argument),*),
            2 => $function::<u16>($($argument),*),
            4 => $function::<u32>($($argument),*),
            8 => $function::<u64>($($argument),*),
            16 => $function::<u128>($($argument),*),
            _ => $function::<U256>($($argument),*),
        }
    };
}

/// Writes the greatest common divisor of the values of `source`, 0 if all of them are, then the values divided by it. Widths are
/// those of [`WIDTHS`]; `source` is a multiple of the width and `target` one value longer.
///
/// ```
/// use tambour_kernel::column::gcd;
/// let mut encoded = [0; 4];
/// gcd::encode(1, false, &[60, 90, 150], &mut encoded);
/// assert_eq!(encoded, [30, 2, 3, 5]);
///
/// let mut decoded = [0; 3];
/// gcd::DECODE_VARIANTS.best().decode(1, &encoded[..1], &encoded[1..], &mut decoded);
/// assert_eq!(decoded, [60, 90, 150]);
/// ```
pub fn encode(width: usize, signed: bool, source: &[u8], target: &mut [u8]) {
    assert!(WIDTHS.contains(&width) && source.len().is_multiple_of(width));
    assert!(target.len() == source.len() + width);
    by_bytes!(width, encode_integers(signed, source, target));
}

fn encode_integers<I: Integer>(signed: bool, source: &[u8], target: &mut [u8]) {
    let divisor = common_divisor::<I>(signed, source);
    let (place, target) = target.split_at_mut(I::BYTES);
    divisor.write(place);
    if divisor == I::ZERO || divisor == I::ONE {
        return target.copy_from_slice(source);
    }
    // A divisor of only the lowest bit is the least of the signed values, by which it is 1.
    let signed = signed && !divisor.is_negative();
    let shift = divisor.trailing_zeros();
    let inverse = inverse(divisor.shift_right(shift));
    for (source, target) in source.chunks_exact(I::BYTES).zip(target.chunks_exact_mut(I::BYTES)) {
        let value = I::read(source);
        let value = if signed { value.shift_signed(shift) } else { value.shift_right(shift) };
        value.mul(inverse).write(target);
    }
}

fn common_divisor<I: Integer>(signed: bool, source: &[u8]) -> I {
    let mut divisor = I::ZERO;
    for chunk in source.chunks_exact(I::BYTES) {
        let value = I::read(chunk);
        let value = if signed && value.is_negative() { I::ZERO.sub(value) } else { value };
        if value != I::ZERO && (divisor == I::ZERO || !value.is_quickly_multiple(divisor)) {
            divisor = if divisor == I::ZERO { value } else { pair_divisor(divisor, value) };
            if divisor == I::ONE {
                break;
            }
        }
    }
    divisor
}

/// The greatest common divisor of two values that are not 0, by shifts and subtractions.
fn pair_divisor<I: Integer>(mut a: I, mut b: I) -> I {
    if a == b {
        return a;
    }
    let shift = a.trailing_zeros().min(b.trailing_zeros());
    a = a.shift_right(a.trailing_zeros());
    while b != I::ZERO {
        b = b.shift_right(b.trailing_zeros());
        if b.less(a) {
            (a, b) = (b, a);
        }
        b = b.sub(a);
    }
    a.shift_left(shift)
}

/// The inverse of an odd number modulo the width, by Newton's iteration: each round doubles the bits that are right.
fn inverse<I: Integer>(odd: I) -> I {
    let two = I::ONE.shift_left(1);
    // Three bits are right at the start.
    let mut inverse = odd;
    for _ in 0..7 {
        inverse = inverse.mul(two.sub(odd.mul(inverse)));
    }
    inverse
}

/// A decoder. Calling it needs the instruction set of its variant; a [`Runnable`] stands for that, and checks the lengths.
pub type Decode = unsafe fn(width: usize, divisor: &[u8], source: &[u8], target: &mut [u8]);

/// The decoders, best first: one loop, compiled for each level.
pub static DECODE_VARIANTS: Variants<Decode> = Variants::new(&[
    #[cfg(target_arch = "x86_64")]
    Variant { name: "avx512", isa: Isa::Avx512, run: decode_avx512 },
    #[cfg(target_arch = "x86_64")]
    Variant { name: "avx2", isa: Isa::Avx2, run: decode_avx2 },
    Variant { name: "scalar", isa: Isa::Scalar, run: decode_scalar },
]);

impl Runnable<Decode> {
    /// Writes the values of `source` times `divisor` to `target`. Widths are those of [`WIDTHS`]; `source` and `target` have
    /// the same length, a multiple of the width, and `divisor` is one value.
    pub fn decode(self, width: usize, divisor: &[u8], source: &[u8], target: &mut [u8]) {
        assert!(WIDTHS.contains(&width) && source.len().is_multiple_of(width));
        assert!(source.len() == target.len() && divisor.len() == width);
        let run = self.run();
        // SAFETY: the only condition is the instruction set, and a `Runnable` exists only after its check.
        unsafe { run(width, divisor, source, target) }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,bmi1,bmi2")]
fn decode_avx512(width: usize, divisor: &[u8], source: &[u8], target: &mut [u8]) {
    by_bytes!(width, decode_integers(divisor, source, target));
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn decode_avx2(width: usize, divisor: &[u8], source: &[u8], target: &mut [u8]) {
    by_bytes!(width, decode_integers(divisor, source, target));
}

fn decode_scalar(width: usize, divisor: &[u8], source: &[u8], target: &mut [u8]) {
    by_bytes!(width, decode_integers(divisor, source, target));
}

#[inline(always)]
fn decode_integers<I: Integer>(divisor: &[u8], source: &[u8], target: &mut [u8]) {
    let divisor = I::read(divisor);
    for (source, target) in source.chunks_exact(I::BYTES).zip(target.chunks_exact_mut(I::BYTES)) {
        I::read(source).mul(divisor).write(target);
    }
}
