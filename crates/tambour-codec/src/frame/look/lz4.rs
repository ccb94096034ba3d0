//! Frames and blocks of LZ4: descriptors and sequences, by the descriptions in `docs/format/`.

use super::bits::Fault;
use super::sequences::Sequence;
use crate::frame::lz4::{BlockBytes, Descriptor};

/// Shortest match.
const MATCH_MIN: usize = 4;
/// A half token of this says that more of the length follows.
const NIBBLE_MAX: usize = 15;

/// What a frame header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lz4Header {
    /// Bytes of the header with its magic number.
    pub header_bytes: usize,
    /// Most content of a block.
    pub block_bytes_max: usize,
    /// No block refers to an earlier one.
    pub independent: bool,
    /// Every block has a checksum.
    pub block_checksums: bool,
    /// The frame ends with a checksum of its content.
    pub content_checksum: bool,
    /// Bytes of the content.
    pub content_bytes: Option<u64>,
    /// Identity of the dictionary.
    pub dictionary: Option<u32>,
}

impl From<Descriptor> for Lz4Header {
    fn from(descriptor: Descriptor) -> Self {
        Self {
            header_bytes: descriptor.to_bytes().len(),
            block_bytes_max: BlockBytes::bytes(descriptor.block_bytes),
            independent: descriptor.independent,
            block_checksums: descriptor.block_checksums,
            content_checksum: descriptor.content_checksum,
            content_bytes: descriptor.content_size,
            dictionary: descriptor.dictionary,
        }
    }
}

/// A compressed block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lz4Block {
    /// Number of sequences; the last has no match.
    pub sequences: usize,
    /// Bytes of literals.
    pub literal_bytes: usize,
    /// Bytes that matches provide.
    pub match_bytes: usize,
    /// Bytes of tokens and of lengths after them.
    pub length_bytes: usize,
    /// The sequences, if they were asked for. The last one has neither length nor offset.
    pub each: Vec<Sequence>,
}

impl Lz4Block {
    /// Bytes of content.
    pub fn content_bytes(&self) -> usize {
        self.literal_bytes + self.match_bytes
    }

    /// Bytes of offsets.
    pub fn offset_bytes(&self) -> usize {
        2 * self.sequences.saturating_sub(1)
    }
}

/// Walks over the sequences of a block of content up to `content_max`; matches may reach `reach` bytes before it. `visit`
/// sees every sequence, and keeps it if it says so.
pub(super) fn look(
    block: &[u8],
    content_max: usize,
    reach: usize,
    keep: bool,
    visit: &mut dyn FnMut(Sequence),
) -> Result<Lz4Block, Fault> {
    let mut found = Lz4Block::default();
    look_into(&mut found, block, (content_max, reach, keep), visit).map(|()| found)
}

/// The same; what was found stays when there is a fault.
pub(super) fn look_into(
    found: &mut Lz4Block,
    block: &[u8],
    (content_max, reach, keep): (usize, usize, bool),
    visit: &mut dyn FnMut(Sequence),
) -> Result<(), Fault> {
    let mut at = 0;
    loop {
        let cut = Fault::new(at, "a sequence is cut short");
        let token = usize::from(*block.get(at).ok_or(cut)?);
        let start = at;
        at += 1;
        let literals = length(block, &mut at, token >> 4)?;
        found.length_bytes += at - start;
        at = at.checked_add(literals).filter(|end| *end <= block.len()).ok_or(cut)?;
        found.literal_bytes += literals;
        found.sequences += 1;
        let mut sequence = Sequence { literals: small(literals), ..Sequence::default() };
        let last = at == block.len();
        if !last {
            let place = at;
            let field = block.get(at..).and_then(<[u8]>::first_chunk::<2>).ok_or(cut)?;
            let offset = usize::from(u16::from_le_bytes(*field));
            if offset == 0 || offset > reach + found.content_bytes() {
                return Err(Fault::new(place, "an offset reaches before the content"));
            }
            at += 2;
            let lengths = at;
            let matched = length(block, &mut at, token & NIBBLE_MAX)? + MATCH_MIN;
            found.length_bytes += at - lengths;
            found.match_bytes = found.match_bytes.saturating_add(matched);
            sequence.offset = small(offset);
            sequence.length = small(matched);
        }
        if found.content_bytes() > content_max {
            return Err(Fault::new(start, "more content than a block may have"));
        }
        visit(sequence);
        if keep {
            found.each.push(sequence);
        }
        if last {
            return Ok(());
        }
    }
}

/// A length that begins in half a token.
fn length(block: &[u8], at: &mut usize, half: usize) -> Result<usize, Fault> {
    let mut length = half;
    if half == NIBBLE_MAX {
        loop {
            let byte = *block.get(*at).ok_or(Fault::new(*at, "a length is cut short"))?;
            *at += 1;
            // A block is far shorter than what could overflow this.
            length += usize::from(byte);
            if byte != u8::MAX {
                break;
            }
        }
    }
    Ok(length)
}

/// Lengths inside of blocks are below 2^32, since blocks are.
fn small(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::look;

    /// The example of docs/format/lz4-block.md.
    #[test]
    fn a_block_is_taken_apart() {
        let mut seen = Vec::new();
        let block = b"\x60hello \x06\0\x50hello";
        let found = look(block, 100, 0, true, &mut |sequence| seen.push(sequence)).unwrap();
        assert_eq!((found.sequences, found.literal_bytes, found.match_bytes), (2, 11, 4));
        assert_eq!((found.length_bytes, found.offset_bytes(), found.content_bytes()), (2, 2, 15));
        assert_eq!(found.length_bytes + found.offset_bytes() + found.literal_bytes, block.len());
        assert_eq!(found.each, seen);
        assert_eq!((seen[0].offset, seen[0].length, seen[0].literals), (6, 4, 6));
    }

    #[test]
    fn what_is_no_block_is_refused() {
        for block in [
            &b""[..],
            b"\x10",
            b"\x10a\0\0",
            b"\x10a\x02\0",
            b"\xf0",
            b"\xf0\xff\xff",
            b"\x10a\x01",
        ] {
            assert!(look(block, 1000, 0, false, &mut |_| {}).is_err(), "{block:?}");
        }
        assert!(look(b"\x60hello \x06\0\x50hello", 14, 0, false, &mut |_| {}).is_err());
        assert!(look(b"\x10a\x02\0\x10b", 100, 1, false, &mut |_| {}).is_ok(), "it reaches before");
    }
}
