//! Bits, lowest first, within bytes that ascend.

use crate::Malformed;

/// The bits of a count of up to 63 that tell whole bytes.
const WHOLE_BYTES: u32 = 0b11_1000;

/// Bytes that must follow what is read, zeros, and that a writer needs after what it writes.
pub(crate) const MARGIN: usize = 16;

/// Writes bits to the start of a buffer.
#[derive(Debug)]
pub(crate) struct BitWriter<'a> {
    target: &'a mut [u8],
    at: usize,
    /// Bits of the byte at `at`, less than eight.
    held: u64,
    count: u32,
}

impl<'a> BitWriter<'a> {
    pub(crate) fn new(target: &'a mut [u8]) -> Self {
        Self { target, at: 0, held: 0, count: 0 }
    }

    /// Writes up to 56 bits; those above `count` must be 0.
    #[inline(always)]
    pub(crate) fn put(&mut self, bits: u64, count: u32) {
        self.held |= bits << self.count;
        self.count += count;
        self.target[self.at..self.at + 8].copy_from_slice(&self.held.to_le_bytes());
        self.at += (self.count / 8) as usize;
        // Two steps, since all 64 may be done with.
        let half = (self.count & WHOLE_BYTES) / 2;
        self.held = (self.held >> half) >> half;
        self.count &= 7;
    }

    /// Fills the last byte up with zeros; how many bytes there are.
    pub(crate) fn finish(self) -> usize {
        self.at + usize::from(self.count > 0)
    }
}

/// Reads what [`BitWriter`] wrote.
///
/// After the last bit there are zeros for as long as nobody looks: [`BitReader::refill`] does, and [`BitReader::finish`].
#[derive(Debug)]
pub(crate) struct BitReader<'a> {
    /// What is read, and a margin.
    source: &'a [u8],
    length: usize,
    /// Bytes that were taken into `held`.
    taken: usize,
    /// The bits that come next; those above `count` are right as far as they are there.
    held: u64,
    count: u32,
}

impl<'a> BitReader<'a> {
    /// A reader of all but the [`MARGIN`] at the end of `source`.
    pub(crate) fn new(source: &'a [u8]) -> Self {
        Self { source, length: source.len() - MARGIN, taken: 0, held: 0, count: 0 }
    }

    /// Holds 56 bits or more; fails when more was taken than there is.
    #[inline(always)]
    pub(crate) fn refill(&mut self) -> Result<(), Malformed> {
        // So far ahead only when even the bits that are held are past the end.
        if self.taken > self.length + 7 {
            return Err(self.truncated());
        }
        let mut word = [0; 8];
        word.copy_from_slice(&self.source[self.taken..self.taken + 8]);
        self.held |= u64::from_le_bytes(word) << self.count;
        self.taken += ((63 - self.count) / 8) as usize;
        self.count |= WHOLE_BYTES;
        Ok(())
    }

    /// The bits that come next.
    #[inline(always)]
    pub(crate) fn peek(&self) -> u64 {
        self.held
    }

    /// Takes bits of those held.
    #[inline(always)]
    pub(crate) fn skip(&mut self, count: u32) {
        debug_assert!(count <= self.count, "held");
        self.held >>= count;
        self.count -= count;
    }

    /// Takes as many bits of those held as the lowest six bits of `shift` say.
    #[inline(always)]
    pub(crate) fn skip_by(&mut self, shift: u32) {
        debug_assert!(shift & 63 <= self.count, "held");
        self.held = self.held.wrapping_shr(shift);
        self.count -= shift & 63;
    }

    /// Takes up to 32 bits of those held.
    #[inline(always)]
    pub(crate) fn take(&mut self, count: u32) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "masked to at most 32 bits")]
        let bits = (self.held & ((1 << count) - 1)) as u32;
        self.skip(count);
        bits
    }

    /// Bits that were taken.
    fn done(&self) -> usize {
        self.taken * 8 - self.count as usize
    }

    /// The byte that is being read.
    pub(crate) fn at(&self) -> usize {
        (self.done() / 8).min(self.length)
    }

    /// Ends: nothing but zeros up to the end of the byte may be left.
    pub(crate) fn finish(self) -> Result<(), Malformed> {
        let Some(left) = (self.length * 8).checked_sub(self.done()) else {
            return Err(self.truncated());
        };
        if left >= 8 || self.held & ((1 << left) - 1) != 0 {
            return Err(Malformed::Excess { at: self.at() });
        }
        Ok(())
    }

    #[cold]
    fn truncated(&self) -> Malformed {
        Malformed::Truncated { at: self.length }
    }
}

#[cfg(test)]
mod tests {
    use super::{BitReader, BitWriter, MARGIN};
    use crate::Malformed;

    #[test]
    fn bits_come_back_in_their_order() {
        let numbers: Vec<(u32, u32)> =
            (0..500u32).map(|i| (i.wrapping_mul(2_654_435_761), i % 33)).collect();
        let mut bytes = vec![0xee; 4000];
        let mut writer = BitWriter::new(&mut bytes);
        let masked = |(value, count): (u32, u32)| u64::from(value) & ((1 << count) - 1);
        for &number in &numbers {
            writer.put(masked(number), number.1);
        }
        writer.put((1 << 56) - 1, 56);
        let length = writer.finish();
        bytes.truncate(length);
        bytes.resize(length + MARGIN, 0);
        let mut reader = BitReader::new(&bytes);
        for &number in &numbers {
            reader.refill().unwrap();
            assert_eq!(u64::from(reader.take(number.1)), masked(number));
        }
        for count in [32, 24] {
            reader.refill().unwrap();
            assert_eq!(u64::from(reader.take(count)), (1 << count) - 1);
        }
        reader.finish().unwrap();
    }

    #[test]
    fn neither_too_few_nor_too_many() {
        let finish = |bytes: &[u8], count| {
            let padded = [bytes, &[0; MARGIN]].concat();
            let mut reader = BitReader::new(&padded);
            reader.refill().unwrap();
            reader.skip(count);
            reader.finish()
        };
        assert_eq!(finish(&[0xff], 9), Err(Malformed::Truncated { at: 1 }));
        assert_eq!(finish(&[0xff], 8), Ok(()));
        assert_eq!(finish(&[0xff], 7), Err(Malformed::Excess { at: 0 }));
        assert_eq!(finish(&[1, 0], 9), Ok(()));
        assert_eq!(finish(&[1, 0], 8), Err(Malformed::Excess { at: 1 }));
        assert_eq!(finish(&[1, 2], 9), Err(Malformed::Excess { at: 1 }));
        // Who reads on and on is told so.
        let padded = [&[0xff; 3][..], &[0; MARGIN]].concat();
        let mut reader = BitReader::new(&padded);
        let reads =
            (0..100).take_while(|_| reader.refill().map(|()| reader.skip(9)).is_ok()).count();
        assert!((3..=16).contains(&reads), "{reads}");
    }
}
