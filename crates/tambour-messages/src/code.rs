//! Prefix codes: made of counts, stored as lengths, written and read through tables.

use crate::bits::{BitReader, BitWriter};
use crate::{Malformed, MessageError};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Longest code.
const CODE_BITS_MAX: u32 = 11;
/// Entries of a table that reads codes.
const TABLE_ENTRIES: usize = 1 << CODE_BITS_MAX;
/// Bits of a symbol in an entry; the length of its code stands above.
const SYMBOL_BITS: u32 = 9;

/// A prefix code over a fixed alphabet whose last symbol is the *escape*: symbols without a code are written as the escape
/// and their plain number.
#[derive(Debug)]
pub(crate) struct Code {
    /// Bits of each code; 0 where there is none.
    lengths: Vec<u8>,
    /// The codes, first bit lowest.
    words: Vec<u16>,
    /// What the next bits stand for: symbol and length; 0 for no code.
    table: Vec<u16>,
    /// Bits that writing each symbol takes, with the escape where it needs one.
    costs: Vec<u8>,
    raw_bits: u32,
}

impl Code {
    /// A code for symbols that were seen so often. The alphabet has one symbol more: the escape, counted as often as there
    /// were symbols seen only once.
    pub(crate) fn from_counts(counts: &[u32], raw_bits: u32) -> Result<Self, MessageError> {
        let singles = counts.iter().filter(|&&count| count == 1).count();
        let mut weights: Vec<u64> = counts.iter().map(|&count| u64::from(count)).collect();
        weights.push(singles as u64 + 1);
        loop {
            let lengths = lengths(&weights);
            if lengths.iter().all(|&length| u32::from(length) <= CODE_BITS_MAX) {
                return Self::from_lengths(lengths, raw_bits);
            }
            for weight in weights.iter_mut().filter(|weight| **weight > 0) {
                *weight = weight.div_ceil(2);
            }
        }
    }

    /// A code of stored lengths, the escape's last.
    pub(crate) fn from_lengths(lengths: Vec<u8>, raw_bits: u32) -> Result<Self, MessageError> {
        let refused = |reason| MessageError::Dictionary { reason };
        let escape = *lengths.last().ok_or(refused("a code without symbols"))?;
        if escape == 0 {
            return Err(refused("a code without an escape"));
        }
        let mut words = vec![0; lengths.len()];
        let mut table = vec![0; TABLE_ENTRIES];
        let mut next = 0;
        for bits in 1..=CODE_BITS_MAX {
            next <<= 1;
            let symbols = lengths.iter().enumerate();
            for (symbol, _) in symbols.filter(|&(_, &length)| u32::from(length) == bits) {
                if next >= 1 << bits {
                    return Err(refused("a code with more codes than there can be"));
                }
                let word = u32::reverse_bits(next) >> (32 - bits);
                next += 1;
                #[expect(clippy::cast_possible_truncation, reason = "11 bits, and 9 + 4 bits")]
                {
                    words[symbol] = word as u16;
                    let entry = symbol as u16 | (bits as u16) << SYMBOL_BITS;
                    let fillings = (word as usize..TABLE_ENTRIES).step_by(1 << bits);
                    fillings.for_each(|at| table[at] = entry);
                }
            }
        }
        if lengths.iter().any(|&length| u32::from(length) > CODE_BITS_MAX) {
            return Err(refused("a code that is too long"));
        }
        #[expect(clippy::cast_possible_truncation, reason = "at most 9")]
        let escaped = escape + raw_bits as u8;
        let cost = |&length: &u8| if length == 0 { escaped } else { length };
        let costs = lengths.iter().map(cost).collect();
        Ok(Self { lengths, words, table, costs, raw_bits })
    }

    /// Bits of each code, for storage.
    pub(crate) fn lengths(&self) -> &[u8] {
        &self.lengths
    }

    /// Bytes that the code takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.lengths.len() + self.costs.len() + 2 * (self.words.len() + self.table.len())
    }

    /// Bits that each symbol takes.
    pub(crate) fn costs(&self) -> &[u8] {
        &self.costs
    }

    /// Writes a symbol.
    #[inline(always)]
    pub(crate) fn write(&self, writer: &mut BitWriter<'_>, symbol: usize) {
        let length = u32::from(self.lengths[symbol]);
        if length > 0 {
            writer.put(u32::from(self.words[symbol]), length);
        } else {
            self.write_escaped(writer, symbol);
        }
    }

    #[cold]
    fn write_escaped(&self, writer: &mut BitWriter<'_>, symbol: usize) {
        let escape = self.lengths.len() - 1;
        writer.put(u32::from(self.words[escape]), u32::from(self.lengths[escape]));
        #[expect(clippy::cast_possible_truncation, reason = "below 2^9")]
        writer.put(symbol as u32, self.raw_bits);
    }

    /// Reads a symbol; the reader must hold 20 bits, or all there are.
    #[inline(always)]
    pub(crate) fn read(&self, reader: &mut BitReader<'_>) -> Result<usize, Malformed> {
        #[expect(clippy::cast_possible_truncation, reason = "masked")]
        let entry = self.table[reader.peek() as usize % TABLE_ENTRIES];
        let symbol = usize::from(entry & ((1 << SYMBOL_BITS) - 1));
        if entry == 0 {
            return Err(Malformed::Code { at: reader.at() });
        }
        reader.skip(u32::from(entry >> SYMBOL_BITS))?;
        if symbol == self.lengths.len() - 1 {
            return self.read_escaped(reader);
        }
        Ok(symbol)
    }

    #[cold]
    fn read_escaped(&self, reader: &mut BitReader<'_>) -> Result<usize, Malformed> {
        let at = reader.at();
        let symbol = reader.take(self.raw_bits)? as usize;
        // One way to write each symbol: those that have a code are not escaped.
        if self.lengths.get(symbol).is_some_and(|&length| length == 0) {
            Ok(symbol)
        } else {
            Err(Malformed::Code { at })
        }
    }
}

/// Lengths of the codes of a Huffman tree; a single symbol gets one bit.
fn lengths(weights: &[u64]) -> Vec<u8> {
    let mut lengths = vec![0; weights.len()];
    // Nodes: leaves first; `above` of a node is known once it is taken from the heap.
    let mut above = vec![usize::MAX; weights.len()];
    let leaves = weights.iter().enumerate().filter(|&(_, &weight)| weight > 0);
    let mut heap: BinaryHeap<_> =
        leaves.map(|(symbol, &weight)| Reverse((weight, symbol))).collect();
    while let (Some(Reverse((one, a))), Some(Reverse((other, b)))) = (heap.pop(), heap.pop()) {
        let node = above.len();
        above.push(usize::MAX);
        (above[a], above[b]) = (node, node);
        heap.push(Reverse((one + other, node)));
        if heap.len() == 1 {
            break;
        }
    }
    for (symbol, length) in lengths.iter_mut().enumerate() {
        if weights[symbol] > 0 {
            let nodes = std::iter::successors(Some(symbol), |&node| {
                Some(above[node]).filter(|&up| up != usize::MAX)
            });
            *length = u8::try_from(nodes.count() - 1).unwrap_or(u8::MAX).max(1);
        }
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::Code;
    use crate::bits::{BitReader, BitWriter};
    use crate::{Malformed, MessageError};

    fn check(counts: &[u32]) {
        let code = Code::from_counts(counts, 9).unwrap();
        assert_eq!(code.lengths().len(), counts.len() + 1);
        let mut bytes = Vec::new();
        let mut writer = BitWriter::new(&mut bytes);
        for symbol in 0..counts.len() {
            code.write(&mut writer, symbol);
        }
        writer.finish();
        let bits: usize = code.costs()[..counts.len()].iter().map(|&cost| usize::from(cost)).sum();
        assert_eq!(bytes.len(), bits.div_ceil(8));
        let again = Code::from_lengths(code.lengths().to_vec(), 9).unwrap();
        let mut reader = BitReader::new(&bytes);
        for symbol in 0..counts.len() {
            reader.refill();
            assert_eq!(again.read(&mut reader), Ok(symbol));
        }
        reader.finish().unwrap();
    }

    #[test]
    fn all_symbols_come_back_also_those_never_seen() {
        check(&[0; 5]);
        check(&[7]);
        check(&[1; 300]);
        check(&(0..30).map(|i| 1 << i).collect::<Vec<u32>>());
        check(&(0..350).map(|i| (i % 7) * (i % 5)).collect::<Vec<u32>>());
    }

    #[test]
    fn frequent_symbols_are_short() {
        let code = Code::from_counts(&[1000, 10, 0, 500], 9).unwrap();
        assert_eq!(code.lengths(), [1, 3, 0, 2, 3]);
        assert_eq!(code.costs(), [1, 3, 12, 2, 3]);
    }

    #[test]
    fn bad_lengths_are_refused() {
        for lengths in [vec![], vec![1, 0], vec![1, 1, 1], vec![12, 1], vec![200, 200]] {
            let refused = Code::from_lengths(lengths.clone(), 9);
            assert!(matches!(refused, Err(MessageError::Dictionary { .. })), "{lengths:?}");
        }
        let code = Code::from_lengths(vec![0, 0, 2], 9).unwrap();
        let mut reader = BitReader::new(&[0xff]);
        reader.refill();
        assert_eq!(code.read(&mut reader), Err(Malformed::Code { at: 0 }));
        // An escape to a symbol that has a code, and to one that does not exist.
        let code = Code::from_lengths(vec![1, 0, 1], 9).unwrap();
        for symbol in [0, 2, 300] {
            let mut bytes = Vec::new();
            let mut writer = BitWriter::new(&mut bytes);
            writer.put(1 | symbol << 1, 10);
            writer.finish();
            let mut reader = BitReader::new(&bytes);
            reader.refill();
            assert_eq!(code.read(&mut reader), Err(Malformed::Code { at: 0 }));
        }
    }
}
