//! Blocks of 256 values at a width that fits most of them, and exceptions.
//!
//! The first byte of a block has the width in its lower six bits and the kind of exceptions above. After the packed values:
//! places and upper parts of the exceptions, as the kind says. An upper part is what is left above the width, minus one, for
//! it is never zero.

use super::header::{BLOCK, Header, Kind, Packed};
use super::{Engine, HIGHS, Malformed, SLACK, bits, scalar::Scalar};

/// Most bytes after a header: values, bitmap, codes, data.
const BLOCK_BYTES: usize = BLOCK * 4 + BLOCK / 8 + BLOCK / 4 + BLOCK * 4;

/// Bytes that must follow a block which is decoded in place: upper parts are read in whole groups of 16, and an engine reads
/// [`SLACK`] bytes beyond.
const MARGIN: usize = 4 * SLACK;

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
