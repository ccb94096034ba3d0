//! Numbers near a line: a start, a slope, and the distances above it in as few bits as the largest needs.
//!
//! Where pieces of similar length begin is such a sequence, and so are the times of a log. Any number is found at once,
//! without adding up those before it.

use super::bytes::Parser;
use super::error::Damage;

/// Bits after the point of a slope.
const FRACTION: u32 = 8;
/// Bytes that must follow packed bits, so that a number is one load.
pub(super) const BITS_MARGIN: usize = 16;

/// The line of a block; where its bits are is the owner's matter.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Line {
    start: i64,
    slope: i64,
    /// First byte of the distances.
    pub(super) bits_at: usize,
    width: u32,
}

impl Line {
    /// Bits of a distance.
    pub(super) fn width(&self) -> u32 {
        self.width
    }

    #[inline]
    fn point(&self, k: usize) -> i64 {
        let rise = (k as i64).wrapping_mul(self.slope) >> FRACTION;
        self.start.wrapping_add(rise)
    }

    /// Number `k`. After the distances there are [`BITS_MARGIN`] bytes.
    #[inline]
    pub(super) fn get(&self, bits: &[u8], k: usize) -> Option<i64> {
        let distance = distance(bits, self.bits_at, k, self.width)?;
        Some(self.point(k).wrapping_add(distance.cast_signed()))
    }

    /// Numbers `k` and `k + 1`, for widths up to 28.
    #[inline]
    pub(super) fn pair(&self, bits: &[u8], k: usize) -> Option<(i64, i64)> {
        let at = k * self.width as usize;
        let piece = bits.get(self.bits_at + at / 8..)?.first_chunk::<8>()?;
        let word = u64::from_le_bytes(*piece) >> (at % 8);
        let mask = (1_u64 << self.width) - 1;
        let first = self.point(k).wrapping_add((word & mask).cast_signed());
        let second = self.point(k + 1).wrapping_add((word >> self.width & mask).cast_signed());
        Some((first, second))
    }

    /// Appends a block of numbers: the line, then the distances.
    pub(super) fn write(values: &[i64], target: &mut Vec<u8>) {
        let (first, last) = (*values.first().unwrap_or(&0), *values.last().unwrap_or(&0));
        let steps = (values.len() as i64 - 1).max(1);
        let rise = i128::from(last) - i128::from(first);
        let slope = i64::try_from((rise << FRACTION) / i128::from(steps)).unwrap_or(0);
        // Six bytes hold it; steeper lines are not lines.
        let slope = if slope.unsigned_abs() < 1 << 46 { slope } else { 0 };
        let mut line = Self { start: first, slope, bits_at: 0, width: 0 };
        let below =
            |line: &Self, k: usize, value: i64| i128::from(value) - i128::from(line.point(k));
        let lowest = values.iter().enumerate().map(|(k, v)| below(&line, k, *v)).min().unwrap_or(0);
        // Wrapping sums come back by wrapping differences.
        #[expect(clippy::cast_possible_truncation, reason = "wraps as the sums do")]
        let start = line.start.wrapping_add(lowest as i64);
        line.start = start;
        let distances: Vec<u64> = values
            .iter()
            .enumerate()
            .map(|(k, value)| value.wrapping_sub(line.point(k)).cast_unsigned())
            .collect();
        line.width = distances.iter().map(|d| 64 - d.leading_zeros()).max().unwrap_or(0);
        target.extend_from_slice(&line.start.to_le_bytes());
        target.extend_from_slice(&line.slope.to_le_bytes()[..6]);
        #[expect(clippy::cast_possible_truncation, reason = "at most 64")]
        target.push(line.width as u8);
        pack(&distances, line.width, target);
    }

    /// Reads the line of a block of `count` numbers and passes over its distances, whose place is counted from the start of
    /// what is parsed.
    pub(super) fn read(parser: &mut Parser<'_>, count: usize) -> Result<Self, Damage> {
        let start = parser.i64()?;
        let mut slope = [0; 8];
        slope[..6].copy_from_slice(parser.take(6)?);
        // The sign of six bytes.
        let slope = i64::from_le_bytes(slope) << 16 >> 16;
        let at = parser.at();
        let width = u32::from(parser.u8()?);
        if width > 64 {
            return Err(Damage::new(at, "bits of a distance", "at most 64", width));
        }
        let bits_at = parser.at();
        parser.take((count * width as usize).div_ceil(8))?;
        Ok(Self { start, slope, bits_at, width })
    }
}

/// Appends numbers of `width` bits each, lowest bits first.
pub(super) fn pack(values: &[u64], width: u32, target: &mut Vec<u8>) {
    let (mut word, mut filled) = (0_u128, 0);
    for value in values {
        word |= u128::from(*value) << filled;
        filled += width;
        while filled >= 8 {
            #[expect(clippy::cast_possible_truncation, reason = "the low byte is what is wanted")]
            target.push(word as u8);
            word >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        #[expect(clippy::cast_possible_truncation, reason = "the low byte is what is wanted")]
        target.push(word as u8);
    }
}

/// Number `k` of those that [`pack`] wrote from byte `start` on.
#[inline]
pub(super) fn distance(bits: &[u8], start: usize, k: usize, width: u32) -> Option<u64> {
    let at = k * width as usize;
    let piece = bits.get(start + at / 8..)?.first_chunk::<16>()?;
    let word = u128::from_le_bytes(*piece) >> (at % 8);
    #[expect(clippy::cast_possible_truncation, reason = "the low bits are what is wanted")]
    let word = word as u64;
    Some(if width == 64 { word } else { word & ((1 << width) - 1) })
}

/// [`distance`] for widths up to 32: one short load.
#[inline]
pub(super) fn narrow(bits: &[u8], start: usize, k: usize, width: u32) -> Option<u64> {
    let at = k * width as usize;
    let piece = bits.get(start + at / 8..)?.first_chunk::<8>()?;
    let word = u64::from_le_bytes(*piece) >> (at % 8);
    Some(word & ((1 << width) - 1))
}

#[cfg(test)]
mod tests {
    use super::{BITS_MARGIN, Line, Parser, distance, narrow, pack};

    #[test]
    fn narrow_numbers_are_those_of_the_general_way() {
        for width in 0..=32 {
            let mask = (1_u64 << width) - 1;
            let values: Vec<u64> =
                (0..200_u64).map(|k| k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 9 & mask).collect();
            let mut bits = vec![7; 3];
            pack(&values, width, &mut bits);
            bits.resize(bits.len() + BITS_MARGIN, 0xff);
            for (k, value) in values.iter().enumerate() {
                assert_eq!(narrow(&bits, 3, k, width), Some(*value));
                assert_eq!(distance(&bits, 3, k, width), Some(*value));
            }
        }
    }

    #[test]
    fn numbers_come_back_one_by_one() {
        let sequences: [Vec<i64>; 6] = [
            vec![],
            vec![5],
            (0..200).map(|k| k * 90 + (k * k) % 31).collect(),
            vec![i64::MIN, i64::MAX, 0, -1, 1],
            (0..129).map(|k| -k * 1_000_000_007).collect(),
            vec![3; 50],
        ];
        for values in sequences {
            let mut bytes = Vec::new();
            Line::write(&values, &mut bytes);
            let mut parser = Parser::new(&bytes);
            let line = Line::read(&mut parser, values.len()).unwrap();
            parser.end().unwrap();
            let length = bytes.len();
            bytes.resize(length + BITS_MARGIN, 0);
            for (k, value) in values.iter().enumerate() {
                assert_eq!(line.get(&bytes, k), Some(*value));
                if line.width() <= 28 && k + 1 < values.len() {
                    assert_eq!(line.pair(&bytes, k), Some((*value, values[k + 1])));
                }
            }
            for cut in 0..length {
                assert!(Line::read(&mut Parser::new(&bytes[..cut]), values.len()).is_err());
            }
        }
    }
}
