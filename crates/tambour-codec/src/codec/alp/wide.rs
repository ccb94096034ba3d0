//! Integers in whole words: `ALP('wide')`.
//!
//! Packed integers are as dense as their range, and nothing that comes after finds anything in them. With 64 bits for each, the most
//! that a vector can have, the words of its 16 lanes are the values in their order, so that differences, planes of bits and zstd
//! do with floats that are decimals what they do with integers. One pair of powers and one base serve the whole block.

use super::{How, RAW, Vector, put, put_exceptions};
use tambour_kernel::column::alp::{Encoded, VECTOR};

/// Bits of a word.
const BITS: u32 = 64;
/// Values of a block by which pairs of powers are compared.
const SAMPLE: usize = 128;
/// What a bit of the range counts, in eighths: of digits that most values do not have, zstd leaves little.
const BIT: usize = 4;
/// A vector in which more than one value of this many is an exception is stored as it is.
const EXCEPTIONS_SHARE: usize = 2;
/// The base is moved for ranges up to this: in larger ones no byte is mostly the same.
const RANGE_MAX: u64 = 8192;
/// Distances that have the same second byte.
const WINDOW: usize = 256;
/// By how much the base is moved from one trial to the next.
const STEP: usize = 16;

/// A vector as it will be written.
struct Piece<'a> {
    source: &'a [u8],
    /// None if it is stored as it is.
    exceptions: Option<Vec<u16>>,
}

/// Appends the vectors of a block.
pub(super) fn write(vector: &mut Vector, how: How, source: &[u8], target: &mut Vec<u8>) {
    let width = how.width.bytes();
    let decimal = vector.choose(how, source, SAMPLE, BIT);
    let mut integers: Vec<i64> = Vec::with_capacity(source.len() / width);
    let mut pieces = Vec::new();
    for piece in source.chunks(VECTOR * width) {
        let count = piece.len() / width;
        let encoded = vector.encode(how, decimal, piece);
        if encoded.exceptions * EXCEPTIONS_SHARE > count {
            pieces.push(Piece { source: piece, exceptions: None });
            continue;
        }
        let exceptions = vector.exceptions[..encoded.exceptions].to_vec();
        integers.extend(&vector.integers[..count]);
        repeat(&mut integers, count, &exceptions);
        pieces.push(Piece { source: piece, exceptions: Some(exceptions) });
    }
    let base = base(&integers);
    let mut rest = integers.as_slice();
    for Piece { source, exceptions } in pieces {
        let Some(exceptions) = exceptions else {
            target.push(RAW);
            target.extend(source);
            continue;
        };
        let (values, after) = rest.split_at(source.len() / width);
        rest = after;
        vector.integers[..values.len()].copy_from_slice(values);
        // What lies past the last value is packed as well.
        vector.integers[values.len()..].fill(values.last().copied().unwrap_or(base));
        let encoded = Encoded { base, bits: BITS, exceptions: exceptions.len() };
        put(how, decimal, encoded, &vector.integers, target);
        put_exceptions(how.width, &exceptions, source, target);
    }
}

/// Puts the value before into the places of exceptions among the last `count` values; what is there makes no difference.
fn repeat(integers: &mut [i64], count: usize, exceptions: &[u16]) {
    let start = integers.len() - count;
    for index in exceptions {
        let at = start + usize::from(*index);
        if let Some(before) = at.checked_sub(1) {
            integers[at] = integers[before];
        }
    }
}

/// What all integers are stored as distances from: the least of them, or a little less, if fewer of the distances then
/// differ in their second byte.
fn base(integers: &[i64]) -> i64 {
    let (Some(&least), Some(&most)) = (integers.iter().min(), integers.iter().max()) else {
        return 0;
    };
    let range = most.wrapping_sub(least).cast_unsigned();
    if !(WINDOW as u64..=RANGE_MAX).contains(&range) {
        return least;
    }
    let mut counts = vec![0_u32; usize::try_from(range).unwrap_or(0) + 1];
    for integer in integers {
        let distance = usize::try_from(integer.wrapping_sub(least)).unwrap_or(0);
        counts[distance] += 1;
    }
    // Bits that the second bytes take together.
    let bits = |shift: usize| {
        let (first, rest) = counts.split_at((WINDOW - shift).min(counts.len()));
        let windows = std::iter::once(first).chain(rest.chunks(WINDOW));
        let sums = windows.map(|window| window.iter().map(|&count| f64::from(count)).sum::<f64>());
        let all = integers.len() as f64;
        sums.filter(|sum| *sum > 0.0).map(|sum| sum * (all / sum).log2()).sum::<f64>()
    };
    let shifts = (0..WINDOW).step_by(STEP).map(|shift| (bits(shift), shift));
    let best = shifts.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(0, |best| best.1);
    // Below the least integer there may be none.
    least.checked_sub_unsigned(best as u64).unwrap_or(least)
}
