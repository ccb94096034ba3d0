//! Blocks of 256 values at a width that fits most of them, and exceptions.
//!
//! The first byte of a block has the width in its lower six bits and the kind of exceptions above. Behind the packed values:
//! places and upper parts of the exceptions, as the kind says. An upper part is what is left above the width, minus one, for
//! it is never zero.

use super::{Engine, HIGHS, Malformed, SLACK, bits, scalar::Scalar};

/// Values of a block; the last may have fewer.
pub(super) const BLOCK: usize = 256;

/// Most bytes behind a header: values, bitmap, codes, data.
const BLOCK_BYTES: usize = BLOCK * 4 + BLOCK / 8 + BLOCK / 4 + BLOCK * 4;

/// Bytes that must follow a block which is decoded in place: upper parts are read in whole groups of 16, and an engine reads
/// [`SLACK`] bytes beyond.
const MARGIN: usize = 2 * SLACK;

/// How a block says which values are exceptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// There are none.
    None = 0,
    /// A count (1 to 255) in the second byte; behind the values a place each. All upper parts are one.
    Ones = 1,
    /// A count and the width of upper parts in the next bytes; behind the values places, then packed upper parts.
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
struct Header {
    kind: Kind,
    width: u32,
    /// Number of exceptions.
    count: usize,
    /// Width of the upper parts of a list.
    high_width: u32,
    /// Position of the packed values.
    values: usize,
    /// Position behind them.
    patches: usize,
    /// Position of the data of the upper parts.
    data: usize,
    /// Position behind the block.
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
        let size = bits::size(values, width);
        let mut header = Self {
            kind,
            width,
            count: 0,
            high_width: 0,
            values: at + 1,
            patches: 0,
            data: 0,
            end: 0,
        };
        match kind {
            Kind::None => {}
            Kind::Ones => {
                reach(source, at + 2)?;
                header.count = usize::from(source[at + 1]);
                header.values = at + 2;
            }
            Kind::List => {
                reach(source, at + 3)?;
                header.count = usize::from(source[at + 1]);
                header.high_width = u32::from(source[at + 2]);
                header.values = at + 3;
                if header.high_width + width > 32 {
                    return Err(Malformed::Header { at: at + 2, byte: source[at + 2] });
                }
            }
            Kind::Bitmap => return header.bitmap(source, values),
        }
        header.patches = header.values + size;
        header.data = header.patches + header.count;
        header.end = header.data + bits::size(header.count, header.high_width);
        reach(source, header.end)?;
        Ok(header)
    }

    /// Completes the header of a block with a bitmap.
    #[inline(always)]
    fn bitmap(mut self, source: &[u8], values: usize) -> Result<Self, Malformed> {
        self.patches = self.values + bits::size(values, self.width);
        let codes = self.patches + values.div_ceil(8);
        reach(source, codes)?;
        let bitmap = &source[self.patches..codes];
        self.count = bitmap.chunks(8).map(|piece| word(piece).count_ones() as usize).sum();
        if !values.is_multiple_of(8) && source[codes - 1] >> (values % 8) != 0 {
            return Err(Malformed::Exception { at: codes - 1 });
        }
        self.data = codes + self.count.div_ceil(4);
        reach(source, self.data)?;
        self.end = self.data + data_size(&source[codes..self.data], self.count);
        reach(source, self.end)?;
        Ok(self)
    }
}

/// Up to eight bytes as a number.
#[inline(always)]
fn word(piece: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes[..piece.len()].copy_from_slice(piece);
    u64::from_le_bytes(bytes)
}

/// Bytes that `count` StreamVByte codes promise; what is behind the last code does not count.
#[inline(always)]
fn data_size(codes: &[u8], count: usize) -> usize {
    const LOW: u64 = 0x5555_5555_5555_5555;
    let mut size = count;
    for (index, piece) in codes.chunks(8).enumerate() {
        let used = 2 * (count - 32 * index).min(32);
        let codes = word(piece) & (u64::MAX >> (64 - used));
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
    let (blocks, rest) = target.as_chunks_mut::<BLOCK>();
    for block in blocks {
        let header = Header::read(source, at, BLOCK)?;
        if source.len() - header.end >= MARGIN {
            before = fill::<E, SUMS>(engine, source, header, block, before);
        } else {
            before = fill_padded::<E, SUMS>(engine, source, header, block, before);
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

/// A block at the end of the source: it is decoded from a copy with room behind it.
#[inline(never)]
fn fill_padded<E: Engine, const SUMS: bool>(
    engine: E,
    source: &[u8],
    header: Header,
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
    fill::<E, SUMS>(engine, &padded, moved, block, before)
}

/// A whole block.
#[inline(always)]
fn fill<E: Engine, const SUMS: bool>(
    engine: E,
    source: &[u8],
    header: Header,
    block: &mut [u32; BLOCK],
    before: u32,
) -> u32 {
    let Header { width, values, patches, data, count, .. } = header;
    match header.kind {
        Kind::None => engine.unpack::<SUMS>(source, values, width, block, before),
        Kind::Ones | Kind::List => {
            engine.unpack::<false>(source, values, width, block, 0);
            let places = &source[patches..patches + count];
            if header.high_width == 0 {
                for &place in places {
                    let value = &mut block[usize::from(place)];
                    *value = value.wrapping_add(1 << width);
                }
            } else {
                let mut highs = [0; HIGHS];
                let room = &mut highs[..count.next_multiple_of(16)];
                engine.unpack::<false>(source, data, header.high_width, room, 0);
                for (&place, &high) in places.iter().zip(&highs) {
                    let value = &mut block[usize::from(place)];
                    *value = value.wrapping_add(high.wrapping_add(1) << width);
                }
            }
            if SUMS { engine.add_up(block, before) } else { before }
        }
        Kind::Bitmap => {
            let Some(bitmap) = source[patches..].first_chunk() else { return before };
            let mut highs = [0; HIGHS];
            engine.highs(source, patches + BLOCK / 8, data, count, &mut highs);
            let packed = Packed { source, at: values, width, bitmap };
            engine.unpack_marked::<SUMS>(packed, &highs, block, before)
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
