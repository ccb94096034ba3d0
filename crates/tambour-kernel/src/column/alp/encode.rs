//! The encoder: loops that a compiler turns into those of wide registers, one thing at a time.

use super::{Decimal, Encoded, Float, Integers, LANES, VECTOR, power};
use crate::column::Word;
use crate::column::bits::mask;
use crate::column::fpc::FloatWidth;

#[inline(always)]
pub(super) fn anywhere(
    width: FloatWidth,
    decimal: Decimal,
    source: &[u8],
    integers: &mut Integers,
    exceptions: &mut [u16; VECTOR],
) -> Encoded {
    match width {
        FloatWidth::F4 => encode::<f32>(decimal, source, integers, exceptions),
        FloatWidth::F8 => encode::<f64>(decimal, source, integers, exceptions),
    }
}

/// The same, compiled for registers of 64 bytes, which make integers of floats.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,bmi1,bmi2")]
pub(super) fn with_wide_registers(
    width: FloatWidth,
    decimal: Decimal,
    source: &[u8],
    integers: &mut Integers,
    exceptions: &mut [u16; VECTOR],
) -> Encoded {
    anywhere(width, decimal, source, integers, exceptions)
}

/// Rounded to the nearest integer, if it is small enough for that; anything otherwise.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "exactness is checked afterwards")]
fn integer(value: f64) -> i64 {
    /// Above it, floats have no fractions.
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    (value + MAGIC - MAGIC) as i64
}

#[inline(always)]
fn encode<F: Float>(
    Decimal { exponent, factor }: Decimal,
    source: &[u8],
    integers: &mut Integers,
    exceptions: &mut [u16; VECTOR],
) -> Encoded {
    let ((up, down), (unfactor, refactor)) = (power(exponent), power(factor));
    let count = source.len() / F::BYTES;
    let mut is_exact = [0_u8; VECTOR];
    let (mut least, mut most) = (i64::MAX, i64::MIN);
    let places = integers.iter_mut().zip(&mut is_exact);
    for (chunk, (place, is_exact)) in source.chunks_exact(F::BYTES).zip(places) {
        let value = F::read(chunk);
        let integer = integer(value.wide() * up * refactor);
        let exact = value.same(F::narrow(integer as f64 * unfactor * down));
        *place = integer;
        *is_exact = u8::from(exact);
        least = least.min(if exact { integer } else { i64::MAX });
        most = most.max(if exact { integer } else { i64::MIN });
    }
    let base = if least <= most { least } else { 0 };
    let range = if least <= most { most.wrapping_sub(least).cast_unsigned() } else { 0 };
    let mut found = 0;
    for (eight, flags) in is_exact[..count].chunks(8).enumerate() {
        if flags.iter().all(|flag| *flag == 1) {
            continue;
        }
        for i in (8 * eight..).take(flags.len()).filter(|i| is_exact[*i] == 0) {
            integers[i] = base;
            #[expect(clippy::cast_possible_truncation, reason = "below 1024")]
            let index = i as u16;
            exceptions[found] = index;
            found += 1;
        }
    }
    integers[count..].fill(base);
    Encoded { base, bits: 64 - range.leading_zeros(), exceptions: found }
}

pub(super) fn pack_anywhere(bits: u32, base: i64, integers: &Integers, target: &mut [u8]) {
    pack(bits, base, integers, target);
}

/// The same, compiled for registers of 64 bytes.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,bmi1,bmi2")]
pub(super) fn pack_with_wide_registers(
    bits: u32,
    base: i64,
    integers: &Integers,
    target: &mut [u8],
) {
    pack(bits, base, integers, target);
}

/// Fills all lanes side by side: each takes as many bits from a row of integers.
#[inline(always)]
fn pack(bits: u32, base: i64, integers: &Integers, target: &mut [u8]) {
    if bits == 0 {
        return;
    }
    let mut pending = [0_u64; LANES];
    let mut used = 0;
    let mut places = target.chunks_exact_mut(LANES * 8);
    let (rows, _) = integers.as_chunks::<LANES>();
    for row in rows {
        let mut distances = [0; LANES];
        for (distance, integer) in distances.iter_mut().zip(row) {
            *distance = integer.wrapping_sub(base).cast_unsigned() & mask(bits);
        }
        for (pending, distance) in pending.iter_mut().zip(&distances) {
            *pending |= distance << used;
        }
        used += bits;
        if used < 64 {
            continue;
        }
        for (word, place) in pending.iter().zip(places.next().into_iter().flat_map(words)) {
            word.write(place);
        }
        used -= 64;
        for (pending, distance) in pending.iter_mut().zip(&distances) {
            // What did not fit; in two steps, since that may be nothing.
            *pending = distance >> (bits - used - 1) >> 1;
        }
    }
}

/// The words of a row.
#[inline(always)]
fn words(row: &mut [u8]) -> impl Iterator<Item = &mut [u8]> {
    row.chunks_exact_mut(8)
}
