//! What one pass over the values of a block tells: ranges, repeats, common divisor. Codecs are chosen by it.

use super::{Width, Word, by_width};

/// Facts about all values of a block.
///
/// ```
/// use tambour_kernel::column::{Width, stats::Stats};
/// let stats = Stats::of(Width::W1, &[10, 12, 14, 14]);
/// assert_eq!((stats.count, stats.repeats), (4, 1));
/// assert_eq!(stats.extremes[..2], [10, 14]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Values.
    pub count: usize,
    /// Values that equal the one before.
    pub repeats: usize,
    /// The least and the greatest value as an unsigned and as a signed integer, in the low bits.
    pub extremes: [u64; 4],
    /// Bits that tell apart all values, seen as unsigned or signed integers, whichever is less.
    pub value_bits: u32,
    /// Bits of the range of differences of neighbours, seen as signed integers.
    pub delta_bits: u32,
    /// Greatest common divisor of all values as unsigned integers; 0 if all are 0.
    pub divisor: u64,
}

impl Stats {
    /// Looks at all whole values of `source`.
    pub fn of(width: Width, source: &[u8]) -> Self {
        by_width!(width, stats(source))
    }

    /// True if there is a value, and no other.
    ///
    /// ```
    /// use tambour_kernel::column::{Width, stats::Stats};
    /// assert!(Stats::of(Width::W2, &[7, 0, 7, 0]).is_constant());
    /// assert!(!Stats::of(Width::W1, &[7, 0, 7, 0]).is_constant());
    /// assert!(!Stats::of(Width::W1, &[]).is_constant());
    /// ```
    pub fn is_constant(&self) -> bool {
        self.count > 0 && self.repeats + 1 == self.count
    }
}

fn stats<W: Word>(source: &[u8]) -> Stats {
    let count = source.len() / W::BYTES;
    if count == 0 {
        return Stats::default();
    }
    let values = || source.chunks_exact(W::BYTES).map(W::read);
    let first = W::read(&source[..W::BYTES]);
    let (mut least, mut most) = (first.wide(), first.wide());
    let (mut lowest, mut highest) = (first.signed(), first.signed());
    let (mut delta_least, mut delta_most) = (i64::MAX, i64::MIN);
    let mut repeats = 0;
    let mut before = first;
    for value in values().skip(1) {
        (least, most) = (least.min(value.wide()), most.max(value.wide()));
        (lowest, highest) = (lowest.min(value.signed()), highest.max(value.signed()));
        let delta = value.sub(before).signed();
        (delta_least, delta_most) = (delta_least.min(delta), delta_most.max(delta));
        repeats += usize::from(value == before);
        before = value;
    }
    let bits = |range: u64| 64 - range.leading_zeros();
    let range = |low: i64, high: i64| high.wrapping_sub(low).cast_unsigned();
    Stats {
        count,
        repeats,
        extremes: [least, most, lowest.cast_unsigned(), highest.cast_unsigned()],
        value_bits: bits((most - least).min(range(lowest, highest))),
        delta_bits: if count == 1 { 0 } else { bits(range(delta_least, delta_most)) },
        divisor: divisor(values()),
    }
}

/// The greatest common divisor; stops looking as soon as it is 1.
fn divisor<W: Word>(values: impl Iterator<Item = W>) -> u64 {
    let mut divisor = 0;
    for value in values {
        let mut rest = value.wide();
        if divisor > 0 && rest.is_multiple_of(divisor) {
            continue;
        }
        while rest > 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        if divisor == 1 {
            break;
        }
    }
    divisor
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(values: &[i32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn facts_of_small_columns() {
        let of = |values: &[i32]| Stats::of(Width::W4, &bytes(values));
        assert_eq!(of(&[]), Stats::default());
        assert!(!of(&[]).is_constant());
        assert!(of(&[7]).is_constant() && of(&[7, 7, 7]).is_constant());
        let stats = of(&[-3, 0, 3, 3, 9]);
        assert_eq!((stats.count, stats.repeats), (5, 1));
        assert_eq!((stats.value_bits, stats.delta_bits), (4, 3));
        // As unsigned integers; -3 is 2^32 - 3.
        assert_eq!(stats.divisor, 1);
        assert_eq!(of(&[30, 45, 0, 1000]).divisor, 5);
        assert_eq!(of(&[0, 0]).divisor, 0);
        assert_eq!(of(&[i32::MIN, i32::MAX]).value_bits, 1);
    }

    #[test]
    fn the_divisor_divides_every_value() {
        let mut state = 1_u64;
        for factor in [1, 2, 60, 1000, 1 << 20] {
            let values: Vec<u64> = (0..200)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> 30) * factor
                })
                .collect();
            let source: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            let divisor = Stats::of(Width::W8, &source).divisor;
            assert!(divisor.is_multiple_of(factor));
            assert!(values.iter().all(|value| value.is_multiple_of(divisor)));
        }
    }
}
