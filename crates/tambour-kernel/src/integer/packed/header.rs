//! What a block of 256 values says of itself: its width, and where its exceptions are.

use super::{Malformed, bits};

/// Values of a block; the last may have fewer.
pub(super) const BLOCK: usize = 256;

/// How a block says which values are exceptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// There are none.
    None = 0,
    /// A count (1 to 255) in the second byte; after the values a place each. All upper parts are one.
    Ones = 1,
    /// A count and the width of upper parts in the next bytes; after the values places, then packed upper parts.
    List = 2,
    /// A bit per value; then the upper parts as StreamVByte (codes for 1 to 4 bytes).
    Bitmap = 3,
}

impl Kind {
    /// The kind in the upper two bits of a header.
    const fn of(byte: u8) -> Self {
        match byte >> 6 {
            0 => Self::None,
            1 => Self::Ones,
            2 => Self::List,
            _ => Self::Bitmap,
        }
    }
}

/// Packed values and the bitmap of their exceptions.
#[derive(Clone, Copy)]
pub(super) struct Packed<'a> {
    pub(super) source: &'a [u8],
    /// Position of the values.
    pub(super) at: usize,
    pub(super) width: u32,
    pub(super) bitmap: &'a [u8; BLOCK / 8],
}

/// A block's header, checked: everything up to `end` is there.
#[derive(Clone, Copy)]
pub(super) struct Header {
    pub(super) kind: Kind,
    pub(super) width: u32,
    /// Number of exceptions.
    pub(super) count: usize,
    /// Width of the upper parts of a list.
    pub(super) high_width: u32,
    /// Position of the packed values.
    pub(super) values: usize,
    /// Position after them.
    pub(super) patches: usize,
    /// Position of the data of the upper parts.
    pub(super) data: usize,
    /// Position after the block.
    pub(super) end: usize,
}

/// Whether there are as many bytes.
#[inline(always)]
fn reach(source: &[u8], needed: usize) -> Result<(), Malformed> {
    if source.len() < needed { Err(Malformed::Short { at: source.len(), needed }) } else { Ok(()) }
}

impl Header {
    /// Reads and checks the header of a block of `values` values.
    #[inline(always)]
    pub(super) fn read(source: &[u8], at: usize, values: usize) -> Result<Self, Malformed> {
        let Some(&byte) = source.get(at) else { return Err(Malformed::Truncated { at }) };
        let (kind, width) = (Kind::of(byte), u32::from(byte & 0x3f));
        // A value of 32 bits has nothing above.
        if width > 32 || (width == 32 && kind != Kind::None) {
            return Err(Malformed::Header { at, byte });
        }
        if kind == Kind::Bitmap {
            return Self::with_bitmap(source, at, values, width);
        }
        // Which kinds follow each other cannot be predicted, so the rest asks as little as possible.
        let start = at + 1 + usize::from(kind != Kind::None) + usize::from(kind == Kind::List);
        reach(source, start)?;
        let count = if kind == Kind::None { 0 } else { usize::from(source[at + 1]) };
        let high_width = if kind == Kind::List { u32::from(source[at + 2]) } else { 0 };
        if high_width + width > 32 {
            return Err(Malformed::Header { at: at + 2, byte: source[at + 2] });
        }
        let patches = start + bits::size(values, width);
        let data = patches + count;
        let end = data + bits::size(count, high_width);
        reach(source, end)?;
        Ok(Self { kind, width, count, high_width, values: start, patches, data, end })
    }

    /// The header of a block with a bitmap.
    #[inline(always)]
    fn with_bitmap(source: &[u8], at: usize, values: usize, width: u32) -> Result<Self, Malformed> {
        let start = at + 1;
        let patches = start + bits::size(values, width);
        let codes = patches + values.div_ceil(8);
        reach(source, codes)?;
        let bitmap = &source[patches..codes];
        let (words, rest) = bitmap.as_chunks::<8>();
        let marked = words.iter().map(|word| u64::from_le_bytes(*word).count_ones()).sum::<u32>();
        let marked = marked + rest.iter().map(|byte| byte.count_ones()).sum::<u32>();
        if !values.is_multiple_of(8) && source[codes - 1] >> (values % 8) != 0 {
            return Err(Malformed::Exception { at: codes - 1 });
        }
        let count = marked as usize;
        let data = codes + count.div_ceil(4);
        reach(source, data)?;
        let end = data + data_size(source, codes, count);
        reach(source, end)?;
        Ok(Self {
            kind: Kind::Bitmap,
            width,
            count,
            high_width: 0,
            values: start,
            patches,
            data,
            end,
        })
    }
}

/// The eight bytes at a position; those past the end of the source count as zero.
#[inline(always)]
fn word(source: &[u8], at: usize) -> u64 {
    match source[at..].first_chunk() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => word_at_end(&source[at..]),
    }
}

#[cold]
fn word_at_end(rest: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes[..rest.len()].copy_from_slice(rest);
    u64::from_le_bytes(bytes)
}

/// Bytes that `count` StreamVByte codes at `codes` promise.
#[inline(always)]
fn data_size(source: &[u8], codes: usize, count: usize) -> usize {
    const LOW: u64 = 0x5555_5555_5555_5555;
    let mut size = count;
    for index in 0..count.div_ceil(32) {
        let used = 2 * (count - 32 * index).min(32);
        let codes = word(source, codes + 8 * index) & (u64::MAX >> (64 - used));
        size += (codes & LOW).count_ones() as usize + 2 * (codes >> 1 & LOW).count_ones() as usize;
    }
    size
}
