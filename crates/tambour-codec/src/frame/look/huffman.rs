//! Huffman trees of zstd's literals: their descriptions, and the streams that they decode (RFC 8878, 4.2).

use super::bits::{Backward, Fault};
use super::fse;

/// Longest code.
const BITS_MAX: u32 = 11;
/// Most weights that a description stores; one more follows from them.
const WEIGHTS_MAX: usize = 255;
/// Largest table of the weights' coder, as a logarithm.
const WEIGHTS_LOG_MAX: u32 = 6;
/// From here on a description's first byte counts weights of four bits each.
const DIRECT: u8 = 128;

/// A symbol by the next bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Entry {
    symbol: u8,
    bits: u8,
}

/// A tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tree {
    bits_max: u32,
    symbols: usize,
    /// By the next `bits_max` bits.
    entries: Vec<Entry>,
}

impl Tree {
    /// Reads a description; returns the tree and the bytes that describe it.
    pub(super) fn read(bytes: &[u8]) -> Result<(Self, usize), Fault> {
        let Some((first, rest)) = bytes.split_first() else {
            return Err(Fault::new(0, "a Huffman tree is cut short"));
        };
        let direct = *first >= DIRECT;
        let count = if direct { usize::from(first - DIRECT) + 1 } else { usize::from(*first) };
        let stored = if direct { count.div_ceil(2) } else { count };
        let cut = Fault::new(bytes.len(), "a Huffman tree is cut short");
        let rest = rest.get(..stored).ok_or(cut)?;
        let weights = if direct {
            let halves = rest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
            halves.take(count).collect()
        } else {
            coded_weights(rest).map_err(|fault| fault.after(1))?
        };
        Ok((Self::new(weights)?, 1 + stored))
    }

    /// The tree of these weights and of the last one, which makes the shares of all codes add up to a whole.
    fn new(mut weights: Vec<u8>) -> Result<Self, Fault> {
        let wrong = |reason| Err(Fault::new(0, reason));
        if weights.iter().any(|weight| u32::from(*weight) > BITS_MAX) {
            return wrong("a Huffman code is longer than 11 bits");
        }
        let share = |weight: &u8| if *weight == 0 { 0 } else { 1_u32 << (weight - 1) };
        let sum: u32 = weights.iter().map(share).sum();
        if sum == 0 {
            return wrong("a Huffman tree has no symbols");
        }
        let bits_max = sum.ilog2() + 1;
        if bits_max > BITS_MAX {
            return wrong("a Huffman code is longer than 11 bits");
        }
        let rest = (1 << bits_max) - sum;
        if !rest.is_power_of_two() {
            return wrong("a Huffman tree is not complete");
        }
        weights.push(u8::try_from(rest.ilog2() + 1).unwrap_or(u8::MAX));
        let longest: usize = weights.iter().map(|weight| usize::from(*weight == 1)).sum();
        if longest < 2 || !longest.is_multiple_of(2) {
            return wrong("a Huffman tree is not complete");
        }
        let mut entries = Vec::with_capacity(1 << bits_max);
        for weight in 1..=bits_max {
            let bits = u8::try_from(bits_max + 1 - weight).unwrap_or(u8::MAX);
            for (symbol, _) in
                (0_u8..=u8::MAX).zip(&weights).filter(|(_, own)| u32::from(**own) == weight)
            {
                entries.extend(std::iter::repeat_n(Entry { symbol, bits }, 1 << (weight - 1)));
            }
        }
        let symbols = weights.iter().filter(|weight| **weight > 0).count();
        Ok(Self { bits_max, symbols, entries })
    }

    /// Longest code in bits.
    pub(super) fn bits_max(&self) -> u32 {
        self.bits_max
    }

    /// Symbols that have a code.
    pub(super) fn symbols(&self) -> usize {
        self.symbols
    }

    /// Appends the `count` symbols of one stream, which must be all of it.
    pub(super) fn decode(
        &self,
        bytes: &[u8],
        count: usize,
        target: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let mut source = Backward::new(bytes)?;
        for _ in 0..count {
            let index = source.peek(self.bits_max) as usize;
            let entry = self.entries.get(index).copied().unwrap_or_default();
            if source.take(u32::from(entry.bits)).is_none() {
                return Err(Fault::new(0, "a stream of literals is cut short"));
            }
            target.push(entry.symbol);
        }
        match source.left() {
            0 => Ok(()),
            _ => Err(Fault::new(source.position(), "a stream of literals has bits left over")),
        }
    }
}

/// Weights that are themselves coded.
fn coded_weights(bytes: &[u8]) -> Result<Vec<u8>, Fault> {
    let (table, used) = fse::Table::read(bytes, WEIGHTS_LOG_MAX, u8::MAX)?;
    let rest = bytes.get(used..).unwrap_or_default();
    fse::decode_two(&table, rest, WEIGHTS_MAX).map_err(|fault| fault.after(used))
}

#[cfg(test)]
mod tests {
    use super::Tree;

    /// The worked example of docs/format/zstd-frame.md: weights 2, 1 and the last, 1, which nobody stores.
    #[test]
    fn a_direct_description_is_read_as_documented() {
        let (tree, used) = Tree::read(&[129, 0x21, 0xff]).unwrap();
        assert_eq!((used, tree.bits_max(), tree.symbols()), (2, 2, 3));
        // 0 is "1", 1 is "00", 2 is "01": "0 1 2 0" is 1 00 01 1, after the end mark.
        let mut decoded = Vec::new();
        tree.decode(&[0b0110_0011], 4, &mut decoded).unwrap();
        assert_eq!(decoded, [0, 1, 2, 0]);
        assert!(tree.decode(&[0b0110_0011], 3, &mut decoded).is_err(), "bits are left over");
        assert!(tree.decode(&[0b0110_0011], 5, &mut decoded).is_err(), "too few bits");
    }

    #[test]
    fn trees_that_are_none_are_refused() {
        for bytes in
            [&[][..], &[128], &[129, 0], &[128, 0xc0], &[129, 0x33], &[131, 0x21], &[5, 0, 0]]
        {
            assert!(Tree::read(bytes).is_err(), "{bytes:?}");
        }
    }
}
