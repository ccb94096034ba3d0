//! Bytes from a source: numbers, null maps, buffers that grow only as the bytes come.

use super::Source;
use super::fault::Fault;
use arrow_array::Array;
use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer};

/// The most that is allocated before any byte of a claimed length was seen.
const UNSEEN_MAX: usize = 16 << 20;

/// The largest memory that is kept between batches.
const SPARE_MAX: usize = 1 << 20;

/// Memory of the values before, which is written again once nobody reads it: fresh memory must be zeroed first.
#[derive(Debug, Default)]
pub(super) struct Spare(Option<Buffer>);

impl Spare {
    /// Reads `count` values of `width` bytes.
    pub(super) fn read_values(
        &mut self,
        source: &mut dyn Source,
        count: usize,
        width: usize,
    ) -> Result<MutableBuffer, Fault> {
        let Some(length) =
            count.checked_mul(width).filter(|&length| length <= isize::MAX as usize / 4)
        else {
            return Err(Fault::limit(
                "values to be read at once",
                isize::MAX as usize / 4 / width.max(1),
                count,
            ));
        };
        let first = length.min(UNSEEN_MAX);
        let unread = self.0.take().and_then(|kept| kept.into_mutable().ok());
        let mut buffer = match unread {
            Some(mut kept) if first <= kept.capacity() => {
                kept.resize(first, 0);
                kept
            }
            _ => MutableBuffer::from_len_zeroed(first),
        };
        source.read_exact(buffer.as_slice_mut())?;
        while buffer.len() < length {
            let seen = buffer.len();
            buffer.resize((seen * 2).min(length), 0);
            source.read_exact(&mut buffer.as_slice_mut()[seen..])?;
        }
        Ok(buffer)
    }

    /// Keeps the memory of values that somebody may still read.
    pub(super) fn keep(&mut self, values: &dyn Array) {
        let buffer = values.to_data().buffers().first().cloned();
        self.0 = buffer.filter(|it| it.capacity() <= SPARE_MAX);
    }

    /// Keeps memory that nobody reads.
    pub(super) fn give_back(&mut self, bytes: MutableBuffer) {
        self.0 = Some(bytes.into()).filter(|it: &Buffer| it.capacity() <= SPARE_MAX);
    }
}

/// Reads `count` values of `width` bytes into memory of their own.
pub(super) fn read_values(
    source: &mut dyn Source,
    count: usize,
    width: usize,
) -> Result<MutableBuffer, Fault> {
    Spare::default().read_values(source, count, width)
}

/// Appends `count` bytes to `target`, which grows only as they come.
pub(super) fn append_bytes(
    source: &mut dyn Source,
    count: usize,
    target: &mut Vec<u8>,
) -> Result<(), Fault> {
    let mut left = count;
    while left > 0 {
        let step = left.min(target.len().max(UNSEEN_MAX));
        let seen = target.len();
        target.resize(seen + step, 0);
        source.read_exact(&mut target[seen..])?;
        left -= step;
    }
    Ok(())
}

/// Reads a little-endian u64.
pub(super) fn read_u64(source: &mut dyn Source) -> Result<u64, Fault> {
    let mut bytes = [0; 8];
    source.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Reads a VarUInt byte by byte: for the few that straddle blocks, or stand alone.
pub(super) fn read_varint(source: &mut dyn Source) -> Result<u64, Fault> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let mut byte = [0];
        source.read_exact(&mut byte)?;
        let bits = u64::from(byte[0] & 0x7f);
        if shift == 63 && bits > 1 {
            break;
        }
        value |= bits << shift;
        if byte[0] < 0x80 {
            return Ok(value);
        }
    }
    Err(source.corrupt("a VarUInt is longer than 64 bits").into())
}

/// A VarUInt at the start of `bytes` and its length; `None` if it goes on after them or is too long, for
/// [`read_varint`] to tell.
#[inline]
pub(super) fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for (index, &byte) in bytes.iter().take(9).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            return Some((value, index + 1));
        }
    }
    None
}

/// Appends a VarUInt.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the low seven bits are what is wanted")]
pub(super) fn put_varint(target: &mut Vec<u8>, value: u64) {
    let mut rest = value;
    while rest >= 0x80 {
        target.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    target.push(rest as u8);
}

/// Bits from bytes that must be 0 or 1; the index of the first other byte is the error.
pub(super) fn bits(bytes: &[u8]) -> Result<BooleanBuffer, usize> {
    let mut packed = Vec::with_capacity(bytes.len().div_ceil(8));
    let mut wrong = 0_u64;
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        let word = u64::from_le_bytes(word.try_into().unwrap_or_default());
        wrong |= word;
        // Byte i of the word has one bit; the product gathers them in its upper byte, bit i for byte i.
        packed.push((word.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8);
    }
    let mut last = 0;
    for (index, &byte) in words.remainder().iter().enumerate() {
        wrong |= u64::from(byte);
        last |= (byte & 1) << index;
    }
    if !words.remainder().is_empty() {
        packed.push(last);
    }
    if wrong & !0x0101_0101_0101_0101 != 0 {
        return Err(bytes.iter().position(|&byte| byte > 1).unwrap_or_default());
    }
    Ok(BooleanBuffer::new(Buffer::from_vec(packed), 0, bytes.len()))
}

/// Validity from a null map (1 = NULL); `None` if nothing is NULL.
pub(super) fn validity(map: &[u8]) -> Result<Option<NullBuffer>, Fault> {
    let bits =
        bits(map).map_err(|row| Fault::value(row, format!("byte {} in a null map", map[row])))?;
    let nulls = NullBuffer::new(!&bits);
    Ok((nulls.null_count() > 0).then_some(nulls))
}
