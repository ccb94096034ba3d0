//! The first half of a compressed block: its literals, the bytes that no match provides (RFC 8878, 3.1.1.3.1).

use super::bits::Fault;
use super::huffman::Tree;

/// Bytes of the sizes of the first three of four streams.
const JUMP_BYTES: usize = 6;

/// How literals are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LiteralsKind {
    /// As they are.
    Raw,
    /// One byte, repeated.
    Run,
    /// By a Huffman tree of their own.
    Huffman,
    /// By the tree of an earlier block, or of the dictionary.
    Treeless,
}

/// A Huffman tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeLook {
    /// Bytes of its description.
    pub bytes: usize,
    /// Longest code in bits.
    pub bits_max: u32,
    /// Different bytes that have a code.
    pub symbols: usize,
}

/// The literals of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiteralsLook {
    /// How they are stored.
    pub kind: LiteralsKind,
    /// Bytes of content.
    pub content_bytes: usize,
    /// Bytes of the section's header.
    pub header_bytes: usize,
    /// Bytes after the header, tree included.
    pub stored_bytes: usize,
    /// Streams of bits: 0, 1 or 4.
    pub streams: usize,
    /// The tree that comes with them.
    pub tree: Option<TreeLook>,
}

/// The section: what it says, and where its parts are.
pub(super) struct Section<'a> {
    pub(super) look: LiteralsLook,
    /// Everything after the header.
    data: &'a [u8],
}

impl<'a> Section<'a> {
    /// Reads the header at the start of a block of content up to `content_max`.
    pub(super) fn read(block: &'a [u8], content_max: usize) -> Result<Self, Fault> {
        let cut = Fault::new(block.len(), "literals are cut short");
        let first = *block.first().ok_or(cut)?;
        let mut field = [0; 8];
        let there = block.len().min(5);
        field[..there].copy_from_slice(&block[..there]);
        let field = usize::try_from(u64::from_le_bytes(field)).unwrap_or(usize::MAX);
        let kind = match first & 3 {
            0 => LiteralsKind::Raw,
            1 => LiteralsKind::Run,
            2 => LiteralsKind::Huffman,
            _ => LiteralsKind::Treeless,
        };
        let bits = |start: u32, count: u32| field >> start & ((1 << count) - 1);
        let form = first >> 2 & 3;
        let plain = matches!(kind, LiteralsKind::Raw | LiteralsKind::Run);
        let (header_bytes, content_bytes, stored, streams) = match form {
            0 | 2 if plain => (1, bits(3, 5), None, 0),
            1 if plain => (2, bits(4, 12), None, 0),
            _ if plain => (3, bits(4, 20), None, 0),
            0 => (3, bits(4, 10), Some(bits(14, 10)), 1),
            1 => (3, bits(4, 10), Some(bits(14, 10)), 4),
            2 => (4, bits(4, 14), Some(bits(18, 14)), 4),
            _ => (5, bits(4, 18), Some(bits(22, 18)), 4),
        };
        if content_bytes > content_max {
            return Err(Fault::new(0, "more literals than a block may have"));
        }
        let alone = if kind == LiteralsKind::Run { 1 } else { content_bytes };
        let stored_bytes = stored.unwrap_or(alone);
        let data = block.get(header_bytes..).and_then(|rest| rest.get(..stored_bytes));
        let data = data.ok_or(cut)?;
        let look =
            LiteralsLook { kind, content_bytes, header_bytes, stored_bytes, streams, tree: None };
        Ok(Self { look, data })
    }

    /// Bytes of the section.
    pub(super) fn bytes(&self) -> usize {
        self.look.header_bytes + self.look.stored_bytes
    }

    /// Reads the tree, if there is one.
    pub(super) fn read_tree(&mut self) -> Result<Option<Tree>, Fault> {
        if self.look.kind != LiteralsKind::Huffman {
            return Ok(None);
        }
        let read = Tree::read(self.data).map_err(|fault| fault.after(self.look.header_bytes));
        let (tree, bytes) = read?;
        let (bits_max, symbols) = (tree.bits_max(), tree.symbols());
        self.look.tree = Some(TreeLook { bytes, bits_max, symbols });
        Ok(Some(tree))
    }

    /// The literals themselves; `tree` is that of the section or an earlier one.
    pub(super) fn decode(&self, tree: Option<&Tree>) -> Result<Vec<u8>, Fault> {
        let LiteralsLook { kind, content_bytes, header_bytes, streams, .. } = self.look;
        if kind == LiteralsKind::Raw {
            return Ok(self.data.to_vec());
        }
        if kind == LiteralsKind::Run {
            return Ok(vec![self.data.first().copied().unwrap_or_default(); content_bytes]);
        }
        let tree = tree.ok_or(Fault::new(0, "literals refer to a tree that was not there"))?;
        let described = self.look.tree.map_or(0, |tree| tree.bytes);
        let coded = self.data.get(described..).unwrap_or_default();
        let mut literals = Vec::with_capacity(content_bytes);
        let inside = |fault: Fault| fault.after(header_bytes + described);
        if streams == 1 {
            tree.decode(coded, content_bytes, &mut literals).map_err(inside)?;
        } else {
            decode_four(tree, coded, content_bytes, &mut literals).map_err(inside)?;
        }
        Ok(literals)
    }
}

/// Decodes four streams, of which all but the last hold equally much.
fn decode_four(
    tree: &Tree,
    coded: &[u8],
    content_bytes: usize,
    literals: &mut Vec<u8>,
) -> Result<(), Fault> {
    let Some((jumps, mut rest)) = coded.split_first_chunk::<JUMP_BYTES>() else {
        return Err(Fault::new(coded.len(), "sizes of literal streams are cut short"));
    };
    let [a0, a1, b0, b1, c0, c1] = *jumps;
    let each = content_bytes.div_ceil(4);
    if content_bytes < 3 * each {
        return Err(Fault::new(0, "too few literals for four streams"));
    }
    let mut at = JUMP_BYTES;
    for size in [[a0, a1], [b0, b1], [c0, c1]] {
        let size = usize::from(u16::from_le_bytes(size));
        let Some((stream, behind)) = rest.split_at_checked(size) else {
            return Err(Fault::new(at, "a stream of literals is cut short"));
        };
        tree.decode(stream, each, literals).map_err(|fault| fault.after(at))?;
        rest = behind;
        at += size;
    }
    tree.decode(rest, content_bytes - 3 * each, literals).map_err(|fault| fault.after(at))
}

#[cfg(test)]
mod tests {
    use super::{LiteralsKind, Section};

    #[test]
    fn sizes_of_every_form() {
        let long = vec![7; 70_000];
        let with = |head: &[u8]| [head, &long].concat();
        let look = |head: &[u8]| Section::read(&with(head), 128 << 10).unwrap().look;
        let raw = look(&[31 << 3]);
        assert_eq!((raw.kind, raw.content_bytes, raw.header_bytes), (LiteralsKind::Raw, 31, 1));
        let raw = look(&[0x04 | 0xf0, 0xff]);
        assert_eq!((raw.content_bytes, raw.header_bytes, raw.stored_bytes), (4095, 2, 4095));
        let run = look(&[0x0d | 0xf0, 0xff, 0x01]);
        assert_eq!((run.kind, run.content_bytes, run.stored_bytes), (LiteralsKind::Run, 8191, 1));
        let one = look(&[0x02 | 0x50, 0x40, 0x01]);
        assert_eq!((one.streams, one.content_bytes, one.stored_bytes), (1, 5, 5));
        let four = look(&[0x0f, 0x01, 0x40, 0x00, 0x01]);
        assert_eq!((four.kind, four.streams, four.header_bytes), (LiteralsKind::Treeless, 4, 5));
        assert_eq!((four.content_bytes, four.stored_bytes), (16, 1025));
        assert!(Section::read(&[], 100).is_err());
        assert!(Section::read(&[31 << 3, 1], 100).is_err(), "cut short");
        assert!(Section::read(&with(&[31 << 3]), 30).is_err(), "more than a block may have");
    }
}
