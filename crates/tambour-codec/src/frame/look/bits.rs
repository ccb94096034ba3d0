//! Bits of zstd's entropy coders: tables are read from the front of their bytes, values from the back.

/// What is wrong with a block, and at which byte of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Position, in bytes from the start of what was handed in.
    pub(super) at: usize,
    /// What is wrong there.
    pub(super) reason: &'static str,
}

impl Fault {
    pub(super) fn new(at: usize, reason: &'static str) -> Self {
        Self { at, reason }
    }

    /// The same fault, seen from a start that lies this many bytes before.
    pub(super) fn after(self, bytes: usize) -> Self {
        Self { at: self.at + bytes, ..self }
    }
}

/// The most bits that one load of eight bytes is sure to hold, wherever they begin.
const LOAD_BITS: u32 = 56;

/// `count` bits, `LOAD_BITS` at most, that begin `start` bits from the front. Those past the end are zero.
fn load(bytes: &[u8], start: usize, count: u32) -> u64 {
    debug_assert!(count <= LOAD_BITS);
    let rest = bytes.get(start / 8..).unwrap_or_default();
    let mut window = [0; 8];
    let there = rest.len().min(8);
    window[..there].copy_from_slice(&rest[..there]);
    (u64::from_le_bytes(window) >> (start % 8)) & ((1 << count) - 1)
}

/// At most 32 bits as a number.
#[expect(clippy::cast_possible_truncation, reason = "callers ask for 32 bits at most")]
fn narrow(bits: u64) -> u32 {
    bits as u32
}

/// Reads bits from the front, the lowest of each byte first.
#[derive(Clone, Debug)]
pub(super) struct Forward<'a> {
    bytes: &'a [u8],
    /// Bits taken.
    taken: usize,
}

impl<'a> Forward<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, taken: 0 }
    }

    /// The next bits, 32 at most, without taking them.
    pub(super) fn peek(&self, count: u32) -> u32 {
        narrow(load(self.bytes, self.taken, count))
    }

    /// Takes bits that were looked at.
    pub(super) fn consume(&mut self, count: u32) -> Result<(), Fault> {
        self.taken += count as usize;
        if self.taken > 8 * self.bytes.len() {
            return Err(Fault::new(self.bytes.len(), "a table is cut short"));
        }
        Ok(())
    }

    /// Whole bytes from the start to the last bit taken.
    pub(super) fn bytes_taken(&self) -> usize {
        self.taken.div_ceil(8)
    }
}

/// Reads bits from the back: the writer put the last value first. The highest set bit of the last byte marks the end.
#[derive(Clone, Debug)]
pub(super) struct Backward<'a> {
    bytes: &'a [u8],
    /// Bits that are left.
    left: usize,
}

impl<'a> Backward<'a> {
    /// Finds the end mark. Without one, or without any byte, nothing can be read.
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, Fault> {
        match bytes.last() {
            None => Err(Fault::new(0, "a bit stream is empty")),
            Some(0) => Err(Fault::new(bytes.len() - 1, "a bit stream has no end mark")),
            Some(last) => {
                Ok(Self { bytes, left: 8 * bytes.len() - 1 - last.leading_zeros() as usize })
            }
        }
    }

    /// Bits that are left.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// The byte that holds the next bit.
    pub(super) fn position(&self) -> usize {
        self.left / 8
    }

    /// The next bits, 32 at most, without taking them; zeros follow the last of them.
    pub(super) fn peek(&self, count: u32) -> u32 {
        let wanted = count as usize;
        if wanted <= self.left {
            return narrow(load(self.bytes, self.left - wanted, count));
        }
        let missing = wanted - self.left;
        let there = count.saturating_sub(u32::try_from(missing).unwrap_or(u32::MAX));
        narrow(load(self.bytes, 0, there) << missing.min(63))
    }

    /// Takes bits, 32 at most; `None` if there are not this many.
    pub(super) fn take(&mut self, count: u32) -> Option<u32> {
        let bits = self.peek(count);
        self.left = self.left.checked_sub(count as usize)?;
        Some(bits)
    }

    /// Takes bits; where there are too few, zeros stand for the others, and nothing is left.
    pub(super) fn take_last(&mut self, count: u32) -> (u32, bool) {
        let bits = self.peek(count);
        let whole = count as usize <= self.left;
        self.left = self.left.saturating_sub(count as usize);
        (bits, whole)
    }
}

#[cfg(test)]
mod tests {
    use super::{Backward, Forward};

    #[test]
    fn bits_come_from_the_front_lowest_first() {
        let mut bits = Forward::new(&[0b1010_0110, 0b1]);
        assert_eq!(bits.peek(3), 0b110);
        bits.consume(3).unwrap();
        assert_eq!((bits.peek(6), bits.bytes_taken()), (0b11_0100, 1));
        bits.consume(6).unwrap();
        assert_eq!(bits.bytes_taken(), 2);
        assert!(bits.consume(8).is_err());
    }

    #[test]
    fn bits_come_from_the_back_below_the_mark() {
        let mut bits = Backward::new(&[0b1010_0110, 0b101]).unwrap();
        assert_eq!(bits.left(), 10);
        assert_eq!(bits.take(2), Some(0b01));
        assert_eq!(bits.take(4), Some(0b1010));
        assert_eq!(bits.peek(6), 0b01_1000, "zeros follow the last bit");
        assert_eq!(bits.take(5), None);
        assert!(Backward::new(&[]).is_err() && Backward::new(&[1, 0]).is_err());
    }

    #[test]
    fn long_fields_cross_bytes() {
        let bytes = [0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0x01];
        let mut bits = Backward::new(&bytes).unwrap();
        assert_eq!(bits.take(8), Some(0x99));
        assert_eq!(bits.take(31), Some(0x8877_6655 >> 1));
        assert_eq!(bits.take(1), Some(1));
    }
}
