//! Reading and writing the numbers of the formats: little-endian, varints, with every length checked.

use super::error::Damage;

/// What is left to read, and where it started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Bytes that were read.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The next bytes.
    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], Damage> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some(taken) = rest.get(..length) else {
            return Err(Damage::new(self.at, "a field", format!("{length} bytes"), rest.len()));
        };
        self.at += length;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Damage> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(super) fn u8(&mut self) -> Result<u8, Damage> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn u16(&mut self) -> Result<u16, Damage> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Damage> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Damage> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn i64(&mut self) -> Result<i64, Damage> {
        self.array().map(i64::from_le_bytes)
    }

    /// A length or count: 32 bits.
    pub(super) fn length(&mut self) -> Result<usize, Damage> {
        Ok(self.u32()? as usize)
    }

    /// An unsigned LEB128 number.
    pub(super) fn varint(&mut self) -> Result<u64, Damage> {
        let start = self.at;
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 127);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte < 128 {
                return Ok(value);
            }
        }
        Err(Damage::new(start, "a varint", "at most 64 bits", "more"))
    }

    /// A varint that is at most `limit`.
    pub(super) fn varint_up_to(&mut self, limit: usize) -> Result<usize, Damage> {
        let start = self.at;
        let value = self.varint()?;
        usize::try_from(value)
            .ok()
            .filter(|value| *value <= limit)
            .ok_or_else(|| Damage::new(start, "a length", format!("at most {limit}"), value))
    }

    /// Everything must have been read.
    pub(super) fn end(&self) -> Result<(), Damage> {
        if self.at == self.bytes.len() {
            return Ok(());
        }
        Err(Damage::new(self.at, "the end", "no further bytes", self.bytes.len() - self.at))
    }
}

/// Appends an unsigned LEB128 number.
pub(super) fn put_varint(target: &mut Vec<u8>, mut value: u64) {
    while value >= 128 {
        #[expect(clippy::cast_possible_truncation, reason = "the low bits are what is wanted")]
        target.push(value as u8 | 128);
        value >>= 7;
    }
    #[expect(clippy::cast_possible_truncation, reason = "below 128")]
    target.push(value as u8);
}

/// Appends a length or count of 32 bits.
pub(super) fn put_length(target: &mut Vec<u8>, length: usize) {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "all limits of the formats are below 4 GiB"
    )]
    target.extend_from_slice(&(length as u32).to_le_bytes());
}

/// Small numbers of either sign as small unsigned ones.
pub(super) fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63).cast_unsigned()
}

/// The inverse of [`zigzag`].
pub(super) fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::{Parser, put_varint, unzigzag, zigzag};

    #[test]
    fn numbers_come_back() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            assert_eq!(Parser::new(&bytes).varint().unwrap(), value);
            assert!(Parser::new(&bytes[..bytes.len() - 1]).varint().is_err());
        }
        assert!(Parser::new(&[255; 11]).varint().is_err());
        for value in [0, -1, 1, i64::MIN, i64::MAX, 12345, -98765] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
    }
}
