//! Sums over a walk: where the bytes of a stream went, and what its matches are like.

use super::{
    Block, BlockData, Event, FrameKind, LiteralsKind, Lz4Block, Sequence, Stage, Stages, TableMode,
    ZstdBlock,
};
use crate::block::{HASH_BYTES, HEADER_BYTES, Header};
use crate::codec::Inside;

/// Bytes of a zstd block's header.
const ZSTD_BLOCK_HEADER: u64 = 3;
/// Bytes of an LZ4 block's size, of its checksum, and of an end mark.
const LZ4_FIELD: u64 = 4;

/// What bytes of a stream are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Purpose {
    /// Frame headers and end marks.
    FrameHeaders,
    /// Headers of blocks.
    BlockHeaders,
    /// Checksums of blocks and of the content.
    Checksums,
    /// Skippable frames.
    Skippable,
    /// Content that is stored as it is.
    Raw,
    /// The byte of each block that is a run.
    Runs,
    /// Headers of literals.
    LiteralHeaders,
    /// Literals that are stored as they are, or as a run of one.
    LiteralsPlain,
    /// Descriptions of Huffman trees.
    Trees,
    /// Literals by their Huffman codes.
    LiteralsCoded,
    /// Counts of sequences, and the modes of their tables.
    SequenceHeaders,
    /// Descriptions of the tables of sequences.
    Tables,
    /// Sequences by their codes.
    SequencesCoded,
    /// Tokens and lengths of LZ4.
    Lengths,
    /// Offsets of LZ4.
    Offsets,
    /// Lists of the codecs of chains, and headers between them.
    Chains,
    /// What codecs for values say in front of these.
    CodecHeaders,
    /// Values as their codec stores them.
    Values,
    /// Values that are stored apart.
    Exceptions,
    /// Payloads of which nothing is known, or that are damaged.
    Unexplained,
}

impl Purpose {
    /// In the order in which people read them.
    pub const ALL: [Self; 20] = [
        Self::FrameHeaders,
        Self::BlockHeaders,
        Self::Checksums,
        Self::Skippable,
        Self::Raw,
        Self::Runs,
        Self::LiteralHeaders,
        Self::LiteralsPlain,
        Self::Trees,
        Self::LiteralsCoded,
        Self::SequenceHeaders,
        Self::Tables,
        Self::SequencesCoded,
        Self::Lengths,
        Self::Offsets,
        Self::Chains,
        Self::CodecHeaders,
        Self::Values,
        Self::Exceptions,
        Self::Unexplained,
    ];

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::FrameHeaders => "frame headers",
            Self::BlockHeaders => "block headers",
            Self::Checksums => "checksums",
            Self::Skippable => "skippable frames",
            Self::Raw => "raw blocks",
            Self::Runs => "runs",
            Self::LiteralHeaders => "headers of literals",
            Self::LiteralsPlain => "literals as they are",
            Self::Trees => "Huffman trees",
            Self::LiteralsCoded => "literals by Huffman codes",
            Self::SequenceHeaders => "headers of sequences",
            Self::Tables => "tables of sequences",
            Self::SequencesCoded => "sequences by their codes",
            Self::Lengths => "tokens and lengths",
            Self::Offsets => "offsets",
            Self::Chains => "lists of chains",
            Self::CodecHeaders => "headers of codecs",
            Self::Values => "values",
            Self::Exceptions => "exceptions",
            Self::Unexplained => "not explained",
        }
    }
}

/// How often numbers of each size occur: `counts[k]` is how many have k binary digits.
///
/// ```
/// use tambour_codec::frame::look::Histogram;
/// let mut histogram = Histogram::default();
/// histogram.counts[0] = 2;
/// histogram.counts[3] = 5;
/// assert_eq!(histogram.ranges().collect::<Vec<_>>(), [(0, 0, 2), (4, 7, 5)]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// By the number of binary digits; 0 is zero itself.
    pub counts: [u64; 33],
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: [0; 33] }
    }
}

impl Histogram {
    fn add(&mut self, value: u32) {
        self.counts[(32 - value.leading_zeros()) as usize] += 1;
    }

    /// The smallest and largest number of each size that occurs, and how often.
    pub fn ranges(&self) -> impl Iterator<Item = (u32, u32, u64)> {
        let range = |(digits, count): (usize, &u64)| match digits {
            0 => (0, 0, *count),
            _ => (1 << (digits - 1), u32::MAX >> (32 - digits), *count),
        };
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(range)
    }
}

/// The sums.
///
/// ```
/// use tambour_codec::frame::look::{Look, LookOptions, Tally};
/// let stored = b"\x28\xb5\x2f\xfd\x20\x05\x29\0\0hello";
/// let mut tally = Tally::default();
/// for event in Look::new(&mut &stored[..], LookOptions::default()) {
///     tally.add(&event?);
/// }
/// assert_eq!(tally.total(), stored.len() as u64);
/// # Ok::<(), tambour_codec::frame::FrameError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    bytes: [u64; Purpose::ALL.len()],
    /// Frames, skippable ones included.
    pub frames: u64,
    /// Blocks that are compressed, raw, and runs.
    pub blocks: [u64; 3],
    /// Content of raw blocks and of runs.
    pub plain_content: [u64; 2],
    /// Blocks by how literals are stored: raw, run, Huffman, treeless.
    pub literals: [u64; 4],
    /// Literals that Huffman codes stand for, in bytes of content.
    pub literals_coded: u64,
    /// Blocks by the mode of each table: predefined, run, FSE, repeat; in the order of [`super::Field::ALL`].
    pub modes: [[u64; 4]; 3],
    /// Sequences.
    pub sequences: u64,
    /// Content that literals provide.
    pub literal_content: u64,
    /// Content that matches provide; for zstd only as far as sequences were decoded.
    pub match_content: u64,
    /// Bits by which sequences of zstd tell each field.
    pub bits: [u64; 3],
    /// Sequences that repeat an earlier offset.
    pub repeats: u64,
    /// Lengths of literals, as far as sequences were kept.
    pub literal_lengths: Histogram,
    /// Lengths of matches.
    pub match_lengths: Histogram,
    /// Offsets of matches.
    pub offsets: Histogram,
    /// Blocks whose checksum is wrong.
    pub damaged: u64,
    /// What the open frame has after its last block.
    tail: [u64; 2],
}

impl Tally {
    /// Bytes for a purpose.
    pub fn bytes(&self, purpose: Purpose) -> u64 {
        self.bytes[purpose as usize]
    }

    /// All bytes.
    pub fn total(&self) -> u64 {
        self.bytes.iter().sum()
    }

    fn spend(&mut self, purpose: Purpose, bytes: u64) {
        self.bytes[purpose as usize] += bytes;
    }

    /// Takes note of what comes next in a walk.
    pub fn add(&mut self, event: &Event) {
        match event {
            Event::Frame(frame) => self.add_frame(&frame.kind),
            Event::Block(block) => self.add_block(block),
            Event::End(_) => {
                let [mark, checksum] = std::mem::take(&mut self.tail);
                self.spend(Purpose::FrameHeaders, mark);
                self.spend(Purpose::Checksums, checksum);
            }
        }
    }

    /// Adds the sums of another walk, which has ended.
    pub fn merge(&mut self, other: &Self) {
        // Without `..`, so that none is forgotten.
        let Self {
            bytes,
            frames,
            blocks,
            plain_content,
            literals,
            literals_coded,
            modes,
            sequences,
            literal_content,
            match_content,
            bits,
            repeats,
            literal_lengths,
            match_lengths,
            offsets,
            damaged,
            tail: _,
        } = other;
        let numbers = [
            (&mut self.frames, frames),
            (&mut self.literals_coded, literals_coded),
            (&mut self.sequences, sequences),
            (&mut self.literal_content, literal_content),
            (&mut self.match_content, match_content),
            (&mut self.repeats, repeats),
            (&mut self.damaged, damaged),
        ];
        for (sum, own) in numbers {
            *sum += own;
        }
        let lists = [
            (&mut self.bytes[..], &bytes[..]),
            (&mut self.blocks, blocks),
            (&mut self.plain_content, plain_content),
            (&mut self.literals, literals),
            (self.modes.as_flattened_mut(), modes.as_flattened()),
            (&mut self.bits, bits),
            (&mut self.literal_lengths.counts, &literal_lengths.counts),
            (&mut self.match_lengths.counts, &match_lengths.counts),
            (&mut self.offsets.counts, &offsets.counts),
        ];
        for (sums, own) in lists {
            sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        }
    }

    /// Takes note of a block of ClickHouse. What is inside of the outermost codec is in its bytes, and not counted again.
    pub fn add_stages(&mut self, header: &Header, stages: &Stages, whole: bool) {
        self.spend(Purpose::Checksums, HASH_BYTES as u64);
        self.spend(Purpose::BlockHeaders, HEADER_BYTES as u64);
        let stage = stages.stages.first().filter(|_| whole);
        let Some(Stage { inside, stored_bytes, content_bytes, .. }) = stage else {
            self.spend(Purpose::Unexplained, header.payload_bytes() as u64);
            return;
        };
        self.spend(Purpose::Chains, stages.chain_bytes as u64);
        match inside {
            Inside::Plain => {
                self.spend(Purpose::Raw, *stored_bytes as u64);
                self.blocks[1] += 1;
                self.plain_content[0] += *content_bytes as u64;
            }
            Inside::Lz4(data) => {
                self.blocks[0] += 1;
                self.add_lz4(data);
            }
            Inside::Zstd(frame) => self.merge(&frame.tally),
            Inside::Values(values) => {
                self.spend(Purpose::CodecHeaders, values.header_bytes as u64);
                self.spend(Purpose::Values, values.value_bytes as u64);
                self.spend(Purpose::Exceptions, values.exception_bytes as u64);
            }
            Inside::Opaque => self.spend(Purpose::Unexplained, *stored_bytes as u64),
        }
    }

    fn add_frame(&mut self, kind: &FrameKind) {
        self.frames += 1;
        let field = |present: bool| if present { LZ4_FIELD } else { 0 };
        match kind {
            FrameKind::Zstd(header) => {
                self.spend(Purpose::FrameHeaders, header.header_bytes as u64);
                self.tail = [0, field(header.checksum)];
            }
            FrameKind::Lz4(header) => {
                self.spend(Purpose::FrameHeaders, header.header_bytes as u64);
                self.tail = [LZ4_FIELD, field(header.content_checksum)];
            }
            FrameKind::Legacy => self.spend(Purpose::FrameHeaders, LZ4_FIELD),
            FrameKind::Skippable { bytes, .. } => {
                self.spend(Purpose::Skippable, 2 * LZ4_FIELD + u64::from(*bytes));
            }
        }
    }

    fn add_block(&mut self, block: &Block) {
        let content = block.content_bytes.unwrap_or_default();
        if let Some(good) = block.checksum {
            self.spend(Purpose::Checksums, LZ4_FIELD);
            self.damaged += u64::from(!good);
        }
        let checksum = block.checksum.map_or(0, |_| LZ4_FIELD);
        match &block.data {
            BlockData::Zstd(data) => {
                self.spend(Purpose::BlockHeaders, ZSTD_BLOCK_HEADER);
                self.blocks[0] += 1;
                self.add_zstd(data);
            }
            BlockData::Lz4(data) => {
                self.spend(Purpose::BlockHeaders, LZ4_FIELD);
                self.blocks[0] += 1;
                self.add_lz4(data);
            }
            BlockData::Raw => {
                self.spend(Purpose::BlockHeaders, block.stored_bytes - content - checksum);
                self.spend(Purpose::Raw, content);
                self.blocks[1] += 1;
                self.plain_content[0] += content;
            }
            BlockData::Run(_) => {
                self.spend(Purpose::BlockHeaders, ZSTD_BLOCK_HEADER);
                self.spend(Purpose::Runs, 1);
                self.blocks[2] += 1;
                self.plain_content[1] += content;
            }
        }
    }

    fn add_zstd(&mut self, block: &ZstdBlock) {
        let literals = &block.literals;
        self.literals[literals.kind as usize] += 1;
        self.literal_content += literals.content_bytes as u64;
        self.spend(Purpose::LiteralHeaders, literals.header_bytes as u64);
        let tree = literals.tree.map_or(0, |tree| tree.bytes as u64);
        let stored = literals.stored_bytes as u64 - tree;
        self.spend(Purpose::Trees, tree);
        if matches!(literals.kind, LiteralsKind::Huffman | LiteralsKind::Treeless) {
            self.spend(Purpose::LiteralsCoded, stored);
            self.literals_coded += literals.content_bytes as u64;
        } else {
            self.spend(Purpose::LiteralsPlain, stored);
        }
        let sequences = &block.sequences;
        self.sequences += sequences.count as u64;
        self.spend(Purpose::SequenceHeaders, sequences.header_bytes as u64);
        self.spend(Purpose::SequencesCoded, sequences.stream_bytes as u64);
        for (modes, table) in self.modes.iter_mut().zip(sequences.tables.iter().flatten()) {
            modes[table.mode as usize] += 1;
            self.bytes[Purpose::Tables as usize] += table.bytes as u64;
        }
        if let Some(inside) = &block.inside {
            self.match_content += (inside.content_bytes - literals.content_bytes) as u64;
            for (sum, bits) in self.bits.iter_mut().zip(inside.bits) {
                *sum += bits;
            }
            self.add_sequences(&inside.sequences);
        }
    }

    fn add_lz4(&mut self, block: &Lz4Block) {
        self.spend(Purpose::LiteralsPlain, block.literal_bytes as u64);
        self.spend(Purpose::Lengths, block.length_bytes as u64);
        self.spend(Purpose::Offsets, block.offset_bytes() as u64);
        self.sequences += block.sequences as u64;
        self.literal_content += block.literal_bytes as u64;
        self.match_content += block.match_bytes as u64;
        self.add_sequences(&block.each);
    }

    fn add_sequences(&mut self, sequences: &[Sequence]) {
        for sequence in sequences {
            self.literal_lengths.add(sequence.literals);
            // The last sequence of an LZ4 block has no match.
            if sequence.length > 0 {
                self.match_lengths.add(sequence.length);
                self.offsets.add(sequence.offset);
            }
            self.repeats += u64::from(sequence.repeat > 0);
        }
    }
}

/// The indexes of counts are the values of these.
const _: () = {
    assert!(LiteralsKind::Treeless as usize == 3 && TableMode::Repeat as usize == 3);
    assert!(Purpose::Unexplained as usize + 1 == Purpose::ALL.len());
};
