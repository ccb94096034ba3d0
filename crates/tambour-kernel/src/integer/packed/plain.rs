//! Blocks of 128 values at the width of the largest: one byte of width, then the values.

use super::{Engine, Malformed, SLACK, bits, scalar::Scalar};

/// Values of a block; the last may have fewer.
pub(super) const BLOCK: usize = 128;

/// Most bytes of a block after its header.
const BLOCK_BYTES: usize = BLOCK * 4;

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
        let width = header(source, at, BLOCK)?;
        let size = bits::size(BLOCK, width);
        if source.len() - at > size + SLACK {
            before = engine.unpack::<SUMS>(source, at + 1, width, block, before);
        } else {
            let mut padded = [0; BLOCK_BYTES + SLACK];
            padded[..size].copy_from_slice(&source[at + 1..at + 1 + size]);
            before = engine.unpack::<SUMS>(&padded, 0, width, block, before);
        }
        at += 1 + size;
    }
    if !rest.is_empty() {
        let width = header(source, at, rest.len())?;
        Scalar.unpack::<SUMS>(source, at + 1, width, rest, before);
        at += 1 + bits::size(rest.len(), width);
    }
    Ok(at)
}

/// The width of the block at `at`, whose bytes are all there.
#[inline(always)]
fn header(source: &[u8], at: usize, count: usize) -> Result<u32, Malformed> {
    let Some(&byte) = source.get(at) else { return Err(Malformed::Truncated { at }) };
    let width = u32::from(byte);
    if width > 32 {
        return Err(Malformed::Header { at, byte });
    }
    let needed = at + 1 + bits::size(count, width);
    if source.len() < needed {
        return Err(Malformed::Short { at: source.len(), needed });
    }
    Ok(width)
}
