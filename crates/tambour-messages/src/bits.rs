//! Bits, lowest first, within bytes that ascend.

use crate::Malformed;

/// Writes bits behind what a vector holds.
#[derive(Debug)]
pub(crate) struct BitWriter<'a> {
    target: &'a mut Vec<u8>,
    held: u64,
    count: u32,
}

impl<'a> BitWriter<'a> {
    pub(crate) fn new(target: &'a mut Vec<u8>) -> Self {
        Self { target, held: 0, count: 0 }
    }

    /// Writes up to 32 bits; those above `count` must be 0.
    #[inline(always)]
    pub(crate) fn put(&mut self, bits: u32, count: u32) {
        self.held |= u64::from(bits) << self.count;
        self.count += count;
        if self.count >= 32 {
            #[expect(clippy::cast_possible_truncation, reason = "the lower half is written")]
            let word = self.held as u32;
            self.target.extend_from_slice(&word.to_le_bytes());
            self.held >>= 32;
            self.count -= 32;
        }
    }

    /// Fills the last byte up with zeros.
    pub(crate) fn finish(self) {
        let bytes = self.held.to_le_bytes();
        self.target.extend_from_slice(&bytes[..self.count.div_ceil(8) as usize]);
    }
}

/// Reads what [`BitWriter`] wrote.
#[derive(Debug)]
pub(crate) struct BitReader<'a> {
    source: &'a [u8],
    /// Bytes that were taken into `held`.
    taken: usize,
    held: u64,
    count: u32,
}

impl<'a> BitReader<'a> {
    pub(crate) fn new(source: &'a [u8]) -> Self {
        Self { source, taken: 0, held: 0, count: 0 }
    }

    /// Holds 56 bits or more, or all there are.
    #[inline(always)]
    pub(crate) fn refill(&mut self) {
        if let Some(bytes) = self.source.get(self.taken..self.taken + 8) {
            let mut word = [0; 8];
            word.copy_from_slice(bytes);
            self.held |= u64::from_le_bytes(word) << self.count;
            let bytes = (63 - self.count) / 8;
            self.taken += bytes as usize;
            self.count += bytes * 8;
            // Bits beyond `count` would be added a second time by the next refill.
            self.held &= u64::MAX >> (64 - self.count);
        } else {
            while self.count < 56 && self.taken < self.source.len() {
                self.held |= u64::from(self.source[self.taken]) << self.count;
                self.taken += 1;
                self.count += 8;
            }
        }
    }

    /// How many bits are held.
    #[inline(always)]
    pub(crate) fn held_bits(&self) -> u32 {
        self.count
    }

    /// The bits that come next; zeros behind the last.
    #[inline(always)]
    pub(crate) fn peek(&self) -> u64 {
        self.held
    }

    /// Takes bits that were peeked at; fails where they are not there.
    #[inline(always)]
    pub(crate) fn skip(&mut self, count: u32) -> Result<(), Malformed> {
        if count > self.count {
            return Err(self.truncated());
        }
        self.held >>= count;
        self.count -= count;
        Ok(())
    }

    /// Takes up to 32 bits of those held.
    #[inline(always)]
    pub(crate) fn take(&mut self, count: u32) -> Result<u32, Malformed> {
        #[expect(clippy::cast_possible_truncation, reason = "masked to at most 32 bits")]
        let bits = (self.held & ((1 << count) - 1)) as u32;
        self.skip(count)?;
        Ok(bits)
    }

    /// The byte that is being read.
    pub(crate) fn at(&self) -> usize {
        self.taken - self.count.div_ceil(8) as usize
    }

    /// Ends: nothing but zeros up to the end of the byte may be left.
    pub(crate) fn finish(self) -> Result<(), Malformed> {
        let at = self.at();
        if self.taken < self.source.len() || self.count >= 8 || self.held != 0 {
            return Err(Malformed::Excess { at });
        }
        Ok(())
    }

    #[cold]
    fn truncated(&self) -> Malformed {
        Malformed::Truncated { at: self.source.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::{BitReader, BitWriter};
    use crate::Malformed;

    #[test]
    fn bits_come_back_in_their_order() {
        let numbers: Vec<(u32, u32)> =
            (0..500u32).map(|i| (i.wrapping_mul(2_654_435_761), i % 33)).collect();
        let mut bytes = vec![7];
        let mut writer = BitWriter::new(&mut bytes);
        let masked = |(value, count): (u32, u32)| {
            u32::try_from(u64::from(value) & ((1 << count) - 1)).unwrap()
        };
        for &number in &numbers {
            writer.put(masked(number), number.1);
        }
        writer.finish();
        let mut reader = BitReader::new(&bytes[1..]);
        for &number in &numbers {
            reader.refill();
            assert_eq!(reader.take(number.1), Ok(masked(number)));
        }
        reader.finish().unwrap();
    }

    #[test]
    fn neither_too_few_nor_too_many() {
        let mut reader = BitReader::new(&[0xff]);
        reader.refill();
        assert_eq!(reader.take(9), Err(Malformed::Truncated { at: 1 }));
        let finish = |bytes, count| {
            let mut reader = BitReader::new(bytes);
            reader.refill();
            reader.skip(count).unwrap();
            reader.finish()
        };
        assert_eq!(finish(&[1, 0], 9), Ok(()));
        assert_eq!(finish(&[1, 0], 8), Err(Malformed::Excess { at: 1 }));
        assert_eq!(finish(&[1, 2], 9), Err(Malformed::Excess { at: 1 }));
    }
}
