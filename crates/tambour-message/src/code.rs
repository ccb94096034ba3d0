//! Prefix codes: made of counts, stored as lengths, written and read through tables.

use crate::bits::{BitReader, BitWriter};
use crate::{Malformed, MessageError};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Longest code.
pub(crate) const CODE_BITS_MAX: u32 = 11;
/// Bits of a symbol's word; its length stands above.
const WORD_BITS: u32 = 24;

/// A prefix code over a fixed alphabet whose last symbol is the *escape*: symbols without a code are written as the escape
/// and their plain number.
#[derive(Debug)]
pub(crate) struct Code {
    /// Bits of each code; 0 where there is none.
    lengths: Vec<u8>,
    /// What is written for each symbol, first bit lowest, and how many bits that is.
    words: Vec<u32>,
    /// Bits that writing each symbol takes, with the escape where it needs one.
    costs: Vec<u8>,
    raw_bits: u32,
}

/// Writes a word of [`Code::words`] and the bits after it, 22 at most.
#[inline(always)]
pub(crate) fn write_with(writer: &mut BitWriter<'_>, word: u32, bits: u32, count: u32) {
    let length = word >> WORD_BITS;
    writer
        .put(u64::from(word & ((1 << WORD_BITS) - 1)) | u64::from(bits) << length, length + count);
}

/// Writes a word of [`Code::words`].
#[inline(always)]
pub(crate) fn write(writer: &mut BitWriter<'_>, word: u32) {
    writer.put(u64::from(word & ((1 << WORD_BITS) - 1)), word >> WORD_BITS);
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
                words[symbol] = word | bits << WORD_BITS;
            }
        }
        if lengths.iter().any(|&length| u32::from(length) > CODE_BITS_MAX) {
            return Err(refused("a code that is too long"));
        }
        #[expect(clippy::cast_possible_truncation, reason = "at most 9")]
        let escaped = escape + raw_bits as u8;
        let prefix = words[words.len() - 1] & ((1 << WORD_BITS) - 1);
        for (symbol, word) in words.iter_mut().enumerate().filter(|(_, word)| **word == 0) {
            #[expect(clippy::cast_possible_truncation, reason = "below 2^9")]
            let plain = (symbol as u32) << escape;
            *word = prefix | plain | u32::from(escaped) << WORD_BITS;
        }
        let cost = |&length: &u8| if length == 0 { escaped } else { length };
        let costs = lengths.iter().map(cost).collect();
        Ok(Self { lengths, words, costs, raw_bits })
    }

    /// Bits of each code, for storage.
    pub(crate) fn lengths(&self) -> &[u8] {
        &self.lengths
    }

    /// Bytes that the code takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.lengths.len() + self.costs.len() + 4 * self.words.len()
    }

    /// Bits that each symbol takes.
    pub(crate) fn costs(&self) -> &[u8] {
        &self.costs
    }

    /// What is written for each symbol.
    pub(crate) fn words(&self) -> &[u32] {
        &self.words
    }

    /// The code of a symbol, or of the escape and the symbol.
    pub(crate) fn word(&self, symbol: usize) -> u32 {
        self.words[symbol] & ((1 << WORD_BITS) - 1)
    }

    /// Reads a plain symbol after the escape. There is one way to write each symbol: those that have a code are not
    /// escaped.
    #[cold]
    pub(crate) fn read_escaped(&self, reader: &mut BitReader<'_>) -> Result<usize, Malformed> {
        let at = reader.at();
        let symbol = reader.take(self.raw_bits) as usize;
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
    use super::{Code, write};
    use crate::bits::{BitReader, BitWriter, MARGIN};
    use crate::{Malformed, MessageError};

    /// By trying all codes.
    fn read_symbol(code: &Code, reader: &mut BitReader<'_>) -> Result<usize, Malformed> {
        let fits = |symbol: usize| {
            let bits = code.lengths()[symbol];
            bits > 0 && reader.peek() & ((1 << bits) - 1) == u64::from(code.word(symbol))
        };
        let found = (0..code.lengths().len()).find(|&symbol| fits(symbol));
        let symbol = found.ok_or(Malformed::Code { at: reader.at() })?;
        reader.skip(code.lengths()[symbol].into());
        if symbol + 1 == code.lengths().len() { code.read_escaped(reader) } else { Ok(symbol) }
    }

    fn check(counts: &[u32]) {
        let code = Code::from_counts(counts, 9).unwrap();
        assert_eq!(code.lengths().len(), counts.len() + 1);
        let mut bytes = vec![0xee; 3 * counts.len() + MARGIN];
        let mut writer = BitWriter::new(&mut bytes);
        for symbol in 0..counts.len() {
            write(&mut writer, code.words()[symbol]);
        }
        let length = writer.finish();
        bytes.truncate(length);
        let bits: usize = code.costs()[..counts.len()].iter().map(|&cost| usize::from(cost)).sum();
        assert_eq!(bytes.len(), bits.div_ceil(8));
        let again = Code::from_lengths(code.lengths().to_vec(), 9).unwrap();
        bytes.resize(length + MARGIN, 0);
        let mut reader = BitReader::new(&bytes);
        for symbol in 0..counts.len() {
            reader.refill().unwrap();
            assert_eq!(read_symbol(&again, &mut reader), Ok(symbol));
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
        let padded = [&[0xff][..], &[0; MARGIN]].concat();
        let mut reader = BitReader::new(&padded);
        reader.refill().unwrap();
        assert_eq!(read_symbol(&code, &mut reader), Err(Malformed::Code { at: 0 }));
        // An escape to a symbol that has a code, and to one that does not exist.
        let code = Code::from_lengths(vec![1, 0, 1], 9).unwrap();
        for symbol in [0, 2, 300] {
            let mut bytes = vec![0; 2 + MARGIN];
            let mut writer = BitWriter::new(&mut bytes);
            writer.put(1 | symbol << 1, 10);
            assert_eq!(writer.finish(), 2);
            let mut reader = BitReader::new(&bytes);
            reader.refill().unwrap();
            assert_eq!(read_symbol(&code, &mut reader), Err(Malformed::Code { at: 0 }));
        }
    }
}
