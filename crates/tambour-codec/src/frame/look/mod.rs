//! Looking inside: what frames of LZ4 and zstd are made of, told step by step, decoded no further than asked.
//!
//! ```
//! use tambour_codec::frame::{CompressOptions, Format, compress};
//! use tambour_codec::frame::look::{Event, Look, LookOptions};
//!
//! let mut frame = Vec::new();
//! compress(&mut &[7; 1000][..], &mut frame, &CompressOptions::new(Format::Zstd))?;
//! for event in Look::new(&mut &frame[..], LookOptions::default()) {
//!     match event? {
//!         Event::Frame(frame) => println!("frame at {}: {:?}", frame.offset, frame.kind),
//!         Event::Block(block) => println!("  block of {} bytes", block.stored_bytes),
//!         Event::End(end) => println!("  {} blocks", end.blocks),
//!         _ => {}
//!     }
//! }
//! # Ok::<(), tambour_codec::frame::FrameError>(())
//! ```
//!
//! Memory is that of one block and what is told of it. Whatever a frame says is checked: damage is an error with its offset,
//! and the last event. What was not decoded is not checked; `decompress` is for that.
//!
//! The payloads of ClickHouse's blocks are told in the same way, codec by codec: [`StageLook`].
//!
//! `docs/format/zstd-frame.md` explains zstd frames, `docs/format/lz4-frame.md` those of LZ4.

mod bits;
mod dictionary;
mod field;
mod fse;
mod huffman;
mod literals;
mod lz4;
mod payload;
mod sequences;
mod stage;
#[cfg(test)]
mod stage_tests;
mod tally;
#[cfg(test)]
mod tests;
mod walk;
mod zstd;

pub use dictionary::ZstdDictionary;
pub use field::Field;
pub use literals::{LiteralsKind, LiteralsLook, TreeLook};
pub use lz4::{Lz4Block, Lz4Header};
pub use payload::ZstdPayload;
pub(crate) use payload::{explain_lz4, explain_zstd};
pub use sequences::{Sequence, SequencesLook, TableLook, TableMode};
pub use stage::{Stage, StageLook, StageOptions, Stages};
pub use tally::{Histogram, Purpose, Tally};
pub use walk::Look;
pub use zstd::{ZstdBlock, ZstdHeader, ZstdInside};

/// How closely to look.
#[derive(Clone, Copy, Debug, Default)]
pub struct LookOptions<'a> {
    /// Decode the sequences. Without them the content of a compressed zstd block is not known.
    pub sequences: bool,
    /// Decode the literals as well: with the sequences that is everything.
    pub literals: bool,
    /// The dictionary of the frames, if they need one.
    pub dictionary: Option<&'a ZstdDictionary>,
}

/// What comes next in a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A frame begins.
    Frame(Frame),
    /// A block.
    Block(Block),
    /// The frame ends.
    End(End),
}

/// The start of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Where it begins.
    pub offset: u64,
    /// What it is.
    pub kind: FrameKind,
}

/// What a frame is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameKind {
    /// A frame of zstd.
    Zstd(ZstdHeader),
    /// A frame of LZ4.
    Lz4(Lz4Header),
    /// A frame of LZ4's first programs.
    Legacy,
    /// A frame that decoders pass by.
    Skippable {
        /// The last digit of its magic number.
        variant: u8,
        /// Bytes in it.
        bytes: u32,
    },
}

/// A block of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Where it begins.
    pub offset: u64,
    /// Bytes of the whole block with header and checksum.
    pub stored_bytes: u64,
    /// Bytes of content, if they are known.
    pub content_bytes: Option<u64>,
    /// What is in it.
    pub data: BlockData,
    /// Whether its checksum is right, if it has one.
    pub checksum: Option<bool>,
}

/// What is in a block.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockData {
    /// Content as it is.
    Raw,
    /// One byte, repeated.
    Run(u8),
    /// Literals and matches of zstd.
    Zstd(Box<ZstdBlock>),
    /// Literals and matches of LZ4.
    Lz4(Lz4Block),
}

/// The end of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Where the frame ends.
    pub offset: u64,
    /// Blocks in it.
    pub blocks: u64,
    /// Bytes of content, as far as they are known from the blocks.
    pub content_bytes: Option<u64>,
    /// The checksum of the content as the frame has it; zstd stores the lower half of one.
    pub checksum: Option<u32>,
}
