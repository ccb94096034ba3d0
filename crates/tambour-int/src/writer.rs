//! Values into a buffer of the caller.

use crate::IntError;
use crate::protobuf::{zigzag, zigzag32};
use crate::xapian;
use tambour_kernel::integer::encode_length;

/// Most bytes of a LEB128 value of 64 bits.
pub const LEB128_MAX: usize = 10;

/// A cursor that writes values one after another. A value that finds no room is not written at all.
///
/// ```
/// use tambour_int::Writer;
/// let mut bytes = [0; 2];
/// let mut writer = Writer::new(&mut bytes);
/// writer.pack_uint(5)?;
/// assert!(writer.pack_uint(300).is_err(), "two bytes are needed, and one is left");
/// assert_eq!(writer.written(), 1);
/// # Ok::<(), tambour_int::IntError>(())
/// ```
#[derive(Debug)]
pub struct Writer<'a> {
    /// What has not been written.
    rest: &'a mut [u8],
    /// Bytes of the whole target.
    length: usize,
}

impl<'a> Writer<'a> {
    /// A writer at the start of `target`.
    pub fn new(target: &'a mut [u8]) -> Self {
        let length = target.len();
        Self { rest: target, length }
    }

    /// Number of bytes written.
    pub fn written(&self) -> usize {
        self.length - self.rest.len()
    }

    /// LEB128: Xapian's `pack_uint`, protobuf's varint.
    #[inline(always)]
    pub fn pack_uint(&mut self, value: u64) -> Result<(), IntError> {
        // The slow cases get no reference to `self`, so that it can stay in registers.
        let rest = std::mem::take(&mut self.rest);
        let Some(room) = rest.first_chunk_mut() else {
            let Some(length) = pack_at_end(value, rest) else {
                let at = self.length - rest.len();
                self.rest = rest;
                return Err(full(at, self.length));
            };
            self.rest = &mut rest[length..];
            return Ok(());
        };
        if value < BYTE_END {
            let length = pack_byte_into(value, room);
            self.rest = &mut rest[length..];
            return Ok(());
        }
        if value < FOUR_END {
            let length = pack_four_into(value, room);
            self.rest = &mut rest[length..];
            return Ok(());
        }
        let length = pack_long_into(value, room);
        self.rest = &mut rest[length..];
        Ok(())
    }

    /// A signed value for protobuf's `sint32`.
    pub fn pack_zigzag32(&mut self, value: i32) -> Result<(), IntError> {
        self.pack_uint(zigzag32(value).into())
    }

    /// A signed value for protobuf's `sint64`.
    ///
    /// ```
    /// use tambour_int::Writer;
    /// let mut bytes = [0; 4];
    /// Writer::new(&mut bytes).pack_zigzag(-2)?;
    /// assert_eq!(bytes, [3, 0, 0, 0]);
    /// # Ok::<(), tambour_int::IntError>(())
    /// ```
    pub fn pack_zigzag(&mut self, value: i64) -> Result<(), IntError> {
        self.pack_uint(zigzag(value))
    }

    /// The length encoding of Xapian's remote protocol up to 1.4.
    ///
    /// ```
    /// use tambour_int::{Reader, Writer};
    /// let mut bytes = [0; 8];
    /// let mut writer = Writer::new(&mut bytes);
    /// writer.encode_length(254)?;
    /// writer.encode_length(1000)?;
    /// let length = writer.written();
    /// assert_eq!((length, bytes[0]), (4, 254), "a byte below 255, more above");
    ///
    /// let mut reader = Reader::new(&bytes[..length]);
    /// assert_eq!(reader.decode_length::<u32>()?, 254);
    /// assert_eq!(reader.decode_length::<u32>()?, 1000);
    /// # Ok::<(), tambour_int::IntError>(())
    /// ```
    #[inline]
    pub fn encode_length(&mut self, value: u64) -> Result<(), IntError> {
        if value < 0xff {
            let [byte, ..] = value.to_le_bytes();
            return self.put_front([byte], 1);
        }
        let mut bytes = [0; encode_length::BYTES_MAX];
        let length = encode_length::write(value, &mut bytes);
        self.put_front(bytes, length)
    }

    /// The bytes up to the highest that is not zero, low first; the length must be known from elsewhere.
    ///
    /// ```
    /// use tambour_int::Writer;
    /// let mut bytes = [0; 4];
    /// let mut writer = Writer::new(&mut bytes);
    /// writer.pack_uint_last(0x1234)?;
    /// assert_eq!(writer.written(), 2);
    /// assert_eq!(bytes[..2], [0x34, 0x12]);
    /// # Ok::<(), tambour_int::IntError>(())
    /// ```
    #[inline]
    pub fn pack_uint_last(&mut self, value: u64) -> Result<(), IntError> {
        self.put_front(value.to_le_bytes(), xapian::last_length(value))
    }

    /// A form whose bytes sort as the numbers do.
    ///
    /// ```
    /// use tambour_int::Writer;
    /// let keys = [5, 300, 70_000].map(|value| {
    ///     let mut key = [0; 8];
    ///     Writer::new(&mut key).pack_uint_preserving_sort(value).map(|()| key)
    /// });
    /// assert!(keys[0]? < keys[1]? && keys[1]? < keys[2]?);
    /// # Ok::<(), tambour_int::IntError>(())
    /// ```
    #[inline]
    pub fn pack_uint_preserving_sort(&mut self, value: u64) -> Result<(), IntError> {
        if value < 0x8000 {
            let [.., high, low] = value.to_be_bytes();
            return self.put_front([high, low], 2);
        }
        let (bytes, length) = xapian::sortable(value);
        self.put_front(bytes, length)
    }

    /// The first `length` of a few bytes. With room enough all are stored, since a copy of unknown length takes longer.
    #[inline(always)]
    fn put_front<const N: usize>(&mut self, bytes: [u8; N], length: usize) -> Result<(), IntError> {
        let rest = std::mem::take(&mut self.rest);
        if let Some(room) = rest.first_chunk_mut() {
            *room = bytes;
            self.rest = &mut rest[length..];
            return Ok(());
        }
        self.rest = rest;
        self.put(&bytes[..length])
    }

    /// `0` or `1`.
    pub fn pack_bool(&mut self, value: bool) -> Result<(), IntError> {
        self.put_front([b'0' + u8::from(value)], 1)
    }

    /// The length as by [`Self::pack_uint`], then the bytes.
    ///
    /// ```
    /// use tambour_int::Writer;
    /// let mut bytes = [0; 5];
    /// Writer::new(&mut bytes).pack_string(b"term")?;
    /// assert_eq!(&bytes, b"\x04term");
    /// # Ok::<(), tambour_int::IntError>(())
    /// ```
    pub fn pack_string(&mut self, value: &[u8]) -> Result<(), IntError> {
        let mut bytes = [0; LEB128_MAX];
        let length = pack_uint(value.len() as u64, &mut bytes);
        self.reserve(length + value.len())?;
        self.put(&bytes[..length])?;
        self.put(value)
    }

    /// A form that sorts as the strings do, with something after it: `00` becomes `00 ff`, and `00` ends the string. What
    /// follows must not start with `ff`. The `last` thing of a key needs no end.
    ///
    /// ```
    /// use tambour_int::{Reader, Writer};
    /// let mut bytes = [0; 16];
    /// let mut writer = Writer::new(&mut bytes);
    /// writer.pack_string_preserving_sort(b"a\0b", false)?;
    /// let length = writer.written();
    /// assert_eq!(&bytes[..length], b"a\0\xffb\0");
    ///
    /// let mut string = Vec::new();
    /// Reader::new(&bytes[..length]).unpack_string_preserving_sort(false, &mut string)?;
    /// assert_eq!(string, b"a\0b");
    /// # Ok::<(), tambour_int::IntError>(())
    /// ```
    pub fn pack_string_preserving_sort(
        &mut self,
        value: &[u8],
        last: bool,
    ) -> Result<(), IntError> {
        let escapes = value.split(|&byte| byte == 0).count() - 1;
        self.reserve(value.len() + escapes + usize::from(!last))?;
        let mut pieces = value.split(|&byte| byte == 0);
        self.put(pieces.next().unwrap_or_default())?;
        for piece in pieces {
            self.put(&[0, 0xff])?;
            self.put(piece)?;
        }
        if last { Ok(()) } else { self.put(&[0]) }
    }

    /// Whether this many bytes find room.
    fn reserve(&self, bytes: usize) -> Result<(), IntError> {
        if bytes <= self.rest.len() { Ok(()) } else { Err(full(self.written(), self.length)) }
    }

    /// Bytes as they are.
    ///
    /// ```
    /// use tambour_int::Writer;
    /// let mut bytes = [0; 4];
    /// let mut writer = Writer::new(&mut bytes);
    /// writer.put(b"abc")?;
    /// assert!(writer.put(b"de").is_err(), "all of them or none");
    /// assert_eq!(&bytes, b"abc\0");
    /// # Ok::<(), tambour_int::IntError>(())
    /// ```
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), IntError> {
        self.reserve(bytes.len())?;
        let (room, rest) = std::mem::take(&mut self.rest).split_at_mut(bytes.len());
        room.copy_from_slice(bytes);
        self.rest = rest;
        Ok(())
    }
}

/// The error, made of values: a reference to the writer would keep it in memory.
#[cold]
fn full(at: usize, length: usize) -> IntError {
    IntError::Full { at, length }
}

/// Where the values end that [`pack_byte_into`] takes.
const BYTE_END: u64 = 1 << 8;
/// Where the values end that [`pack_four_into`] takes.
const FOUR_END: u64 = 1 << 28;

/// Writes LEB128 to the front of `target`; the number of bytes. What is after those is unspecified.
///
/// ```
/// let mut bytes = [0; tambour_int::LEB128_MAX];
/// assert_eq!(tambour_int::pack_uint(300, &mut bytes), 2);
/// assert_eq!(bytes[..2], [0xac, 0x02]);
/// ```
#[inline]
pub fn pack_uint(value: u64, target: &mut [u8; LEB128_MAX]) -> usize {
    if value < BYTE_END {
        pack_byte_into(value, target)
    } else if value < FOUR_END {
        pack_four_into(value, target)
    } else {
        pack_long_into(value, target)
    }
}

/// A value of eight bits, written as two bytes without asking how many it needs: that is hard to predict, and nearly all
/// values are that small.
#[inline(always)]
fn pack_byte_into(value: u64, target: &mut [u8; LEB128_MAX]) -> usize {
    let [value, ..] = value.to_le_bytes();
    let two = value >> 7;
    target[..2].copy_from_slice(&[value, two]);
    1 + usize::from(two)
}

/// Up to four bytes, again without asking how many.
#[inline(always)]
fn pack_four_into(value: u64, target: &mut [u8; LEB128_MAX]) -> usize {
    #[expect(clippy::cast_possible_truncation, reason = "28 bits")]
    let value = value as u32;
    let halves = value & 0x3fff | (value & 0x0fff_c000) << 2;
    let groups = halves & 0x007f_007f | (halves & 0x3f80_3f80) << 1;
    // The number of the highest bit, divided by seven.
    let more = ((value | 1).ilog2() * 37) >> 8;
    let continued = 0x0080_8080 & ((1 << (8 * more)) - 1);
    target[..4].copy_from_slice(&(groups | continued).to_le_bytes());
    1 + more as usize
}

/// A value near the end of a target; the number of bytes, or `None` when there is no room.
#[cold]
#[inline(never)]
fn pack_at_end(value: u64, target: &mut [u8]) -> Option<usize> {
    let mut bytes = [0; LEB128_MAX];
    let length = pack_uint(value, &mut bytes);
    target.get_mut(..length)?.copy_from_slice(&bytes[..length]);
    Some(length)
}

/// The groups of seven bits spread over bytes by halves, quarters and eighths.
#[inline(never)]
fn pack_long_into(value: u64, target: &mut [u8; LEB128_MAX]) -> usize {
    let low = value & ((1 << 56) - 1);
    let halves = low & 0x0fff_ffff | (low & 0x00ff_ffff_f000_0000) << 4;
    let quarters = halves & 0x0000_3fff_0000_3fff | (halves & 0x0fff_c000_0fff_c000) << 2;
    let groups = quarters & 0x007f_007f_007f_007f | (quarters & 0x3f80_3f80_3f80_3f80) << 1;
    let length = value.ilog2() as usize / 7 + 1;
    if length <= 8 {
        let more = 0x8080_8080_8080_8080_u64 & ((1 << (8 * (length - 1))) - 1);
        target[..8].copy_from_slice(&(groups | more).to_le_bytes());
        return length;
    }
    target[..8].copy_from_slice(&(groups | 0x8080_8080_8080_8080).to_le_bytes());
    let [.., top] = value.to_le_bytes();
    target[8] = top & 0x7f | u8::from(length > 9) << 7;
    target[9] = top >> 7;
    length
}

#[cfg(test)]
mod tests {
    use super::Writer;
    use crate::IntError;

    #[test]
    fn what_finds_no_room_is_not_written() {
        let mut target = [0; 4];
        let mut writer = Writer::new(&mut target);
        writer.pack_uint(300).unwrap();
        assert_eq!(writer.pack_string(b"ab"), Err(IntError::Full { at: 2, length: 4 }));
        assert_eq!(
            writer.pack_string_preserving_sort(b"a\0", true),
            Err(IntError::Full { at: 2, length: 4 })
        );
        assert_eq!(writer.pack_uint(1 << 14), Err(IntError::Full { at: 2, length: 4 }));
        writer.pack_uint(16_383).unwrap();
        assert_eq!(writer.pack_bool(true), Err(IntError::Full { at: 4, length: 4 }));
        assert_eq!(target, [0xac, 2, 0xff, 0x7f]);
    }
}
