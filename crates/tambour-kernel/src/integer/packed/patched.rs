//! Blocks of 256 values at a width that fits most of them, and exceptions.
//!
//! The first byte of a block has the width in its lower six bits and the kind of exceptions above. After the packed values:
//! places and upper parts of the exceptions, as the kind says. An upper part is what is left above the width, minus one, for
//! it is never zero.

use super::{Engine, HIGHS, Malformed, SLACK, bits, scalar::Scalar};

/// Values of a block; the last may have fewer.
pub(super) const BLOCK: usize = 256;

/// Most bytes after a header: values, bitmap, codes, data.
const BLOCK_BYTES: usize = BLOCK * 4 + BLOCK / 8 + BLOCK / 4 + BLOCK * 4;

/// Bytes that must follow a block which is decoded in place: upper parts are read in whole groups of 16, and an engine reads
/// [`SLACK`] bytes beyond.
const MARGIN: usize = 4 * SLACK;

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
    kind: Kind,
    pub(super) width: u32,
    /// Number of exceptions.
    pub(super) count: usize,
    /// Width of the upper parts of a list.
    pub(super) high_width: u32,
    /// Position of the packed values.
    values: usize,
    /// Position after them.
    patches: usize,
    /// Position of the data of the upper parts.
    data: usize,
    /// Position after the block.
    end: usize,
}

/// Whether there are as many bytes.
#[inline(always)]
fn reach(source: &[u8], needed: usize) -> Result<(), Malformed> {
    if source.len() < needed { Err(Malformed::Short { at: source.len(), needed }) } else { Ok(()) }
}

impl Header {
    /// Reads and checks the header of a block of `values` values.
    #[inline(always)]
    fn read(source: &[u8], at: usize, values: usize) -> Result<Self, Malformed> {
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

/// Decodes blocks until the target is full.
#[inline(always)]
pub(super) fn decode<E: Engine, const SUMS: bool>(
    engine: E,
    source: &[u8],
    target: &mut [u32],
) -> Result<usize, Malformed> {
    let (mut at, mut before) = (0, 0);
    // Room for the upper parts of a block; made once, since clearing it costs as much as unpacking.
    let mut highs = [0; HIGHS];
    let (blocks, rest) = target.as_chunks_mut::<BLOCK>();
    for block in blocks {
        let header = Header::read(source, at, BLOCK)?;
        if source.len() - header.end >= MARGIN {
            before = fill::<E, SUMS>(engine, source, header, &mut highs, block, before);
        } else {
            before = fill_padded::<E, SUMS>(engine, source, header, &mut highs, block, before);
        }
        at = header.end;
    }
    if !rest.is_empty() {
        let header = Header::read(source, at, rest.len())?;
        let mut whole = [0; BLOCK];
        last(source, header, &mut whole[..rest.len()])?;
        if SUMS {
            Scalar.add_up(&mut whole[..rest.len()], before);
        }
        rest.copy_from_slice(&whole[..rest.len()]);
        at = header.end;
    }
    Ok(at)
}

/// A block at the end of the source: it is decoded from a copy with room after it.
#[inline(never)]
fn fill_padded<E: Engine, const SUMS: bool>(
    engine: E,
    source: &[u8],
    header: Header,
    highs: &mut [u32; HIGHS],
    block: &mut [u32; BLOCK],
    before: u32,
) -> u32 {
    let start = header.values;
    let mut padded = [0; BLOCK_BYTES + MARGIN];
    padded[..header.end - start].copy_from_slice(&source[start..header.end]);
    let moved = Header {
        values: 0,
        patches: header.patches - start,
        data: header.data.saturating_sub(start),
        end: header.end - start,
        ..header
    };
    fill::<E, SUMS>(engine, &padded, moved, highs, block, before)
}

/// A whole block.
#[inline(always)]
fn fill<E: Engine, const SUMS: bool>(
    engine: E,
    source: &[u8],
    header: Header,
    highs: &mut [u32; HIGHS],
    block: &mut [u32; BLOCK],
    before: u32,
) -> u32 {
    let Header { width, values, patches, data, count, .. } = header;
    match header.kind {
        Kind::None | Kind::Ones | Kind::List => {
            if SUMS && count == 0 {
                return engine.unpack::<true>(source, values, width, block, before);
            }
            engine.unpack::<false>(source, values, width, block, 0);
            for first in (0..count).step_by(16) {
                let mut added = [0; 16];
                engine.raise(source, data, header, first, &mut added);
                let places = &source[patches + first..patches + first + 16];
                let (places, _) = places.as_chunks::<4>();
                let (added, _) = added.as_chunks::<4>();
                // Fours: those after the last exception are any places, and get nothing added. A turn more or less is
                // cheaper than to add up all sixteen.
                let fours = (count - first).div_ceil(4);
                for (places, added) in places.iter().zip(added).take(fours) {
                    for (&place, &added) in places.iter().zip(added) {
                        let value = &mut block[usize::from(place)];
                        *value = value.wrapping_add(added);
                    }
                }
            }
            if SUMS { engine.add_up(block, before) } else { before }
        }
        Kind::Bitmap => {
            let Some(bitmap) = source[patches..].first_chunk() else { return before };
            engine.highs(source, patches + BLOCK / 8, data, count, highs);
            let packed = Packed { source, at: values, width, bitmap };
            engine.unpack_marked::<SUMS>(packed, highs, block, before)
        }
    }
}

/// The last block, of fewer values.
fn last(source: &[u8], header: Header, block: &mut [u32]) -> Result<(), Malformed> {
    let Header { width, values, patches, data, count, high_width, .. } = header;
    Scalar.unpack::<false>(source, values, width, block, 0);
    if header.kind == Kind::Bitmap {
        let mut highs = [0; HIGHS];
        Scalar.highs(source, patches + block.len().div_ceil(8), data, count, &mut highs);
        let marked =
            (0..block.len()).filter(|index| source[patches + index / 8] >> (index % 8) & 1 == 1);
        for (index, high) in marked.zip(highs) {
            block[index] = block[index].wrapping_add(high << width);
        }
        return Ok(());
    }
    for (index, &place) in source[patches..patches + count].iter().enumerate() {
        let Some(value) = block.get_mut(usize::from(place)) else {
            return Err(Malformed::Exception { at: patches + index });
        };
        let high = bits::value(source, data, high_width, index).wrapping_add(1);
        *value = value.wrapping_add(high << width);
    }
    Ok(())
}
