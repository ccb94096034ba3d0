//! Streams of bits, the most significant bit of a byte first.

use super::Malformed;

/// The low `count` bits set; `count` is at most 64.
pub(crate) const fn mask(count: u32) -> u64 {
    if count == 0 { 0 } else { u64::MAX >> (64 - count) }
}

/// A matrix of 8 by 8 bits, a row in each byte, with rows and columns exchanged.
#[inline(always)]
pub(crate) const fn transpose(matrix: u64) -> u64 {
    let mut m = matrix;
    // Off-diagonal blocks of one bit, then of two, then of four.
    let mut t = (m ^ m >> 7) & 0x00aa_00aa_00aa_00aa;
    m ^= t ^ t << 7;
    t = (m ^ m >> 14) & 0x0000_cccc_0000_cccc;
    m ^= t ^ t << 14;
    t = (m ^ m >> 28) & 0x0000_0000_f0f0_f0f0;
    m ^ t ^ t << 28
}

/// Writes bits to a slice that is long enough.
pub(crate) struct Writer<'a> {
    target: &'a mut [u8],
    at: usize,
    /// Bits that were not stored yet, from the top down.
    pending: u64,
    /// Bits free in `pending`: 1 to 64.
    free: u32,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(target: &'a mut [u8], at: usize) -> Self {
        Self { target, at, pending: 0, free: 64 }
    }

    /// Appends the low `count` bits of `value`, which has no others; `count` is 1 to 64.
    #[inline(always)]
    pub(crate) fn push(&mut self, value: u64, count: u32) {
        debug_assert!((1..=64).contains(&count) && value & !mask(count) == 0);
        if count < self.free {
            self.free -= count;
            self.pending |= value << self.free;
            return;
        }
        let over = count - self.free;
        self.pending |= value >> over;
        self.target[self.at..self.at + 8].copy_from_slice(&self.pending.to_be_bytes());
        self.at += 8;
        self.free = 64 - over;
        self.pending = if over == 0 { 0 } else { value << self.free };
    }

    /// Stores what is pending, padded with zero bits to a byte. The end of the stream in the target.
    pub(crate) fn finish(self) -> usize {
        let bytes = (64 - self.free as usize).div_ceil(8);
        let pending = self.pending.to_be_bytes();
        self.target[self.at..self.at + bytes].copy_from_slice(&pending[..bytes]);
        self.at + bytes
    }
}

/// Reads bits of a slice. Past the end there are zeros; [`Reader::is_past_end`] tells.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    source: &'a [u8],
    /// Position in bits.
    position: usize,
}

impl<'a> Reader<'a> {
    /// Bits of a [`Reader::window`] that are always good.
    pub(crate) const WINDOW_BITS: u32 = 57;

    pub(crate) fn new(source: &'a [u8], at: usize) -> Self {
        Self { source, position: at * 8 }
    }

    /// The next [`Reader::WINDOW_BITS`] bits or more, from the top down.
    #[inline(always)]
    pub(crate) fn window(&self) -> u64 {
        let (byte, bit) = (self.position / 8, self.position % 8);
        let word = match self.source.get(byte..).and_then(|rest| rest.first_chunk::<8>()) {
            Some(bytes) => u64::from_be_bytes(*bytes),
            None => self.last_word(byte),
        };
        word << bit
    }

    #[cold]
    fn last_word(&self, byte: usize) -> u64 {
        let mut bytes = [0; 8];
        let rest = self.source.get(byte..).unwrap_or_default();
        bytes[..rest.len()].copy_from_slice(rest);
        u64::from_be_bytes(bytes)
    }

    #[inline(always)]
    pub(crate) fn skip(&mut self, count: u32) {
        self.position += count as usize;
    }

    /// The next `count` bits, which are at most 64.
    #[inline(always)]
    pub(crate) fn take(&mut self, count: u32) -> u64 {
        if count > Self::WINDOW_BITS {
            let high = self.take_short(32);
            return high << (count - 32) | self.take_short(count - 32);
        }
        self.take_short(count)
    }

    /// The next `count` bits, which are at most [`Reader::WINDOW_BITS`].
    #[inline(always)]
    pub(crate) fn take_short(&mut self, count: u32) -> u64 {
        let window = self.window();
        self.skip(count);
        if count == 0 { 0 } else { window >> (64 - count) }
    }

    /// Whether bits were taken that are not there.
    #[inline(always)]
    pub(crate) fn is_past_end(&self) -> bool {
        self.position > self.source.len() * 8
    }

    /// An error if bits were taken that are not there.
    pub(crate) fn check(&self) -> Result<(), Malformed> {
        let reason = "bits end before the last value";
        if self.is_past_end() { Err(Malformed { at: self.source.len(), reason }) } else { Ok(()) }
    }

    /// Where the next bit is, in bits.
    #[inline(always)]
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// The byte at which the reader stands.
    pub(crate) fn at(&self) -> usize {
        self.position / 8
    }
}

/// Reads bits of a slice by a register that is filled ahead of its use, as long as the slice has whole words. What follows
/// from the bits of one item need not wait for memory.
///
/// The register has the *complement* of the bits, from the top down: so ones in front are counted as leading zeros, and what
/// was not filled looks like ones.
#[derive(Clone, Copy)]
pub(crate) struct Held<'a> {
    source: &'a [u8],
    /// From the first byte that is not held as a whole.
    rest: &'a [u8],
    bits: u64,
    /// Bits that are held for certain; there may be more of them.
    count: u32,
}

impl<'a> Held<'a> {
    /// Bits that are held after [`Held::fill`].
    pub(crate) const BITS: u32 = 56;

    pub(crate) fn new(source: &'a [u8], at: usize) -> Self {
        Self { source, rest: &source[at..], bits: 0, count: 0 }
    }

    /// Fills the register; false, and nothing changed, if there is no whole word.
    #[inline(always)]
    pub(crate) fn fill(&mut self) -> bool {
        let Some(word) = self.rest.first_chunk::<8>() else { return false };
        // Bits that are there already are the same ones.
        self.bits |= !u64::from_be_bytes(*word) >> (self.count & 63);
        self.rest = &self.rest[((63 - self.count as usize) & 63) >> 3..];
        self.count |= Self::BITS;
        true
    }

    /// How many ones are in front.
    #[inline(always)]
    pub(crate) fn ones(&self) -> u32 {
        self.bits.leading_zeros()
    }

    /// How many zeros are in front, as far as they are held.
    #[inline(always)]
    pub(crate) fn zeros(&self) -> u32 {
        self.bits.leading_ones()
    }

    /// The complement of the next `count` bits, at least one.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "few bits")]
    pub(crate) fn top(&self, count: u32) -> usize {
        (self.bits >> (64 - count)) as usize
    }

    /// The complement of the next `count` bits, at the bottom of a word with other bits above.
    #[inline(always)]
    pub(crate) fn take(&mut self, count: u32) -> u64 {
        let bits = self.bits.rotate_left(count);
        self.skip(count);
        bits
    }

    /// Goes on by `count` bits, no more than are held.
    #[inline(always)]
    pub(crate) fn skip(&mut self, count: u32) {
        debug_assert!(count <= self.count);
        self.bits <<= count & 63;
        self.count -= count;
    }

    /// Where the next bit is, in bits.
    #[inline(always)]
    pub(crate) fn position(&self) -> usize {
        (self.source.len() - self.rest.len()) * 8 - self.count as usize
    }

    /// A reader of the bits from here to the end.
    pub(crate) fn reader(&self) -> Reader<'a> {
        Reader { source: self.source, position: self.position() }
    }
}

#[cfg(test)]
mod tests {
    use super::{Held, Reader, Writer, mask, transpose};

    #[test]
    fn what_is_written_is_read() {
        let items: Vec<(u64, u32)> = (0..1000_u64)
            .map(|k| {
                let count = 1 + u32::try_from(k * 7 % 64).unwrap();
                (k.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask(count), count)
            })
            .collect();
        let mut target = vec![0xaa; 9000];
        let mut writer = Writer::new(&mut target, 1);
        for &(value, count) in &items {
            writer.push(value, count);
        }
        let end = writer.finish();
        let bits: u32 = items.iter().map(|item| item.1).sum();
        assert_eq!(end, 1 + bits.div_ceil(8) as usize);
        let mut reader = Reader::new(&target[..end], 1);
        for &(value, count) in &items {
            assert_eq!(reader.take(count), value);
        }
        assert!(!reader.is_past_end());
        assert_eq!(reader.take(64), 0);
        assert!(reader.is_past_end());
    }

    #[test]
    fn what_is_held_is_what_is_read() {
        let source: Vec<u8> = (0..200_u8).map(|k| k.wrapping_mul(151) ^ k >> 3).collect();
        for step in 1..=56 {
            let (mut held, mut reader) = (Held::new(&source, 1), Reader::new(&source, 1));
            while held.fill() {
                assert_eq!(held.reader().window() >> 8, reader.window() >> 8);
                assert_eq!(held.ones().min(56), reader.window().leading_ones().min(56));
                assert_eq!(held.zeros().min(56), reader.window().leading_zeros().min(56));
                assert_eq!(!held.take(step) & mask(step), reader.take(step));
                assert_eq!(held.position(), reader.position);
            }
            // Fewer than eight bytes were not loaded, and less than a register is left.
            assert!(source.len() * 8 - held.position() < 8 * 8 + 56);
        }
    }

    #[test]
    fn rows_become_columns() {
        for row in 0..8 {
            for column in 0..8 {
                assert_eq!(transpose(1 << (8 * row + column)), 1 << (8 * column + row));
            }
        }
    }

    #[test]
    fn the_first_bit_is_the_highest() {
        let mut target = [0xff; 2];
        let mut writer = Writer::new(&mut target, 0);
        writer.push(1, 1);
        writer.push(0b011, 3);
        assert_eq!(writer.finish(), 1);
        assert_eq!(target, [0b1011_0000, 0xff]);
    }
}
