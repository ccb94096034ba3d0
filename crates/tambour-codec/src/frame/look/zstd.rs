//! Frames and blocks of zstd: headers, and what is in a compressed block (RFC 8878, 3.1.1).

use super::bits::Fault;
use super::dictionary::ZstdDictionary;
use super::huffman::Tree;
use super::literals::{LiteralsKind, LiteralsLook, Section as LiteralsSection};
use super::sequences::{History, Section as SequencesSection, Sequence, SequencesLook};
use crate::Kind;
use crate::frame::FrameError;
use crate::frame::ends::Source;

/// Most content of a block.
const CONTENT_MAX: usize = 128 << 10;
const WHAT: &str = "zstd frame";

/// What a frame header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZstdHeader {
    /// Bytes of the header with its magic number.
    pub header_bytes: usize,
    /// How far back matches may reach.
    pub window_bytes: u64,
    /// The content is one segment: its size is the window.
    pub single_segment: bool,
    /// Bytes of the content.
    pub content_bytes: Option<u64>,
    /// The frame ends with a checksum of its content.
    pub checksum: bool,
    /// Identity of the dictionary.
    pub dictionary: Option<u32>,
}

impl ZstdHeader {
    /// Reads what follows the magic number, which is at `start`.
    pub(super) fn read(source: &mut Source<'_>, start: u64) -> Result<Self, FrameError> {
        let [flags] = source.array(WHAT, start)?;
        if flags & 8 != 0 {
            let reason = "a reserved bit is set";
            return Err(FrameError::Header { offset: start, reason, kind: Kind::Unsupported });
        }
        let single_segment = flags & 0x20 != 0;
        let mut header_bytes = 5;
        let mut window_bytes = 0;
        if !single_segment {
            let [window] = source.array(WHAT, start)?;
            let base = 1_u64 << (10 + (window >> 3));
            window_bytes = base + base / 8 * u64::from(window & 7);
            header_bytes += 1;
        }
        let mut number = |bytes: usize| -> Result<u64, FrameError> {
            header_bytes += bytes;
            let mut field = [0; 8];
            for byte in &mut field[..bytes] {
                [*byte] = source.array(WHAT, start)?;
            }
            Ok(u64::from_le_bytes(field))
        };
        let dictionary = number([0, 1, 2, 4][usize::from(flags & 3)])?;
        let content_bytes = match flags >> 6 {
            0 if single_segment => Some(number(1)?),
            0 => None,
            1 => Some(number(2)? + 256),
            2 => Some(number(4)?),
            _ => Some(number(8)?),
        };
        if single_segment {
            window_bytes = content_bytes.unwrap_or_default();
        }
        Ok(Self {
            header_bytes,
            window_bytes,
            single_segment,
            content_bytes,
            checksum: flags & 4 != 0,
            dictionary: u32::try_from(dictionary).ok().filter(|id| *id != 0),
        })
    }

    /// Most content of a block of the frame.
    pub(super) fn block_max(&self) -> usize {
        usize::try_from(self.window_bytes).map_or(CONTENT_MAX, |window| window.min(CONTENT_MAX))
    }
}

/// The first three bytes of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockHeader {
    pub(super) last: bool,
    pub(super) kind: u32,
    pub(super) size: usize,
}

impl BlockHeader {
    pub(super) fn read(source: &mut Source<'_>, frame: u64) -> Result<Self, FrameError> {
        let [a, b, c] = source.array(WHAT, frame)?;
        let field = u32::from_le_bytes([a, b, c, 0]);
        let size = usize::try_from(field >> 3).unwrap_or(usize::MAX);
        Ok(Self { last: field & 1 != 0, kind: field >> 1 & 3, size })
    }
}

/// A compressed block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZstdBlock {
    /// The literals.
    pub literals: LiteralsLook,
    /// What stands in front of the sequences.
    pub sequences: SequencesLook,
    /// What is in it, if that was asked for.
    pub inside: Option<ZstdInside>,
}

/// What a compressed block holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZstdInside {
    /// The sequences; what is left of the literals comes behind the last.
    pub sequences: Vec<Sequence>,
    /// Bits of the stream that tell each field, in the order of [`super::Field::ALL`].
    pub bits: [u64; 3],
    /// Bytes of content.
    pub content_bytes: usize,
    /// The literals, if they were asked for.
    pub literals: Vec<u8>,
}

/// What blocks of a frame hand on.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    tree: Option<Tree>,
    history: History,
    /// Content of the frame so far, and what a dictionary puts in front of it.
    pub(super) reach: u64,
}

impl State {
    pub(super) fn new(dictionary: Option<&ZstdDictionary>) -> Self {
        dictionary.map_or_else(Self::default, |dictionary| Self {
            tree: dictionary.tree.clone(),
            history: dictionary.history.clone(),
            reach: dictionary.content.len() as u64,
        })
    }
}

/// How closely a block is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Closely {
    pub(super) sequences: bool,
    pub(super) literals: bool,
}

/// Explains a compressed block of content up to `content_max`.
pub(super) fn look(
    block: &[u8],
    content_max: usize,
    state: &mut State,
    closely: Closely,
) -> Result<ZstdBlock, Fault> {
    let mut literals = LiteralsSection::read(block, content_max)?;
    let tree = literals.read_tree()?;
    if tree.is_some() {
        state.tree = tree;
    }
    let at = literals.bytes();
    let inside = |fault: Fault| fault.after(at);
    let section = block.get(at..).unwrap_or_default();
    let sequences = SequencesSection::read(section, &mut state.history).map_err(inside)?;
    let mut block = ZstdBlock { literals: literals.look, sequences: sequences.look, inside: None };
    if !closely.sequences {
        return Ok(block);
    }
    let mut found = ZstdInside::default();
    let decoded = sequences.decode(&mut state.history, content_max).map_err(inside)?;
    (found.sequences, found.bits) = decoded;
    found.content_bytes =
        check(&found.sequences, block.literals.content_bytes, state.reach).map_err(inside)?;
    if found.content_bytes > content_max {
        return Err(Fault::new(0, "more content than a block may have"));
    }
    if closely.literals {
        found.literals = literals.decode(state.tree.as_ref())?;
    } else if block.literals.kind == LiteralsKind::Treeless && state.tree.is_none() {
        return Err(Fault::new(0, "literals refer to a tree that was not there"));
    }
    state.reach += found.content_bytes as u64;
    block.inside = Some(found);
    Ok(block)
}

/// Checks sequences against the literals and what matches can reach; returns the bytes of content.
fn check(sequences: &[Sequence], literals: usize, reach: u64) -> Result<usize, Fault> {
    let mut left = literals;
    let mut content = literals;
    let mut reach = reach;
    for sequence in sequences {
        left = left
            .checked_sub(sequence.literals as usize)
            .ok_or(Fault::new(0, "sequences take more literals than there are"))?;
        reach += u64::from(sequence.literals);
        if u64::from(sequence.offset) > reach {
            return Err(Fault::new(0, "an offset reaches before the content"));
        }
        reach += u64::from(sequence.length);
        content += sequence.length as usize;
    }
    Ok(content)
}
