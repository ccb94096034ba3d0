//! The LZ4 frame format: `.lz4` files. Described in `docs/format/lz4-frame.md`.
//!
//! [`descriptor`] is the header, [`read`] and [`mod@write`] are the two ways, [`block`] holds what a frame's blocks need beyond
//! the kernel: sizes that are not stored, and matches that reach into what came before the block.

mod block;
mod descriptor;
mod job;
pub(super) mod read;
#[cfg(test)]
mod tests;
pub(super) mod write;

use super::FrameError;
use super::ends::Source;
use std::hash::Hasher as _;
use twox_hash::XxHash32;

pub(super) use descriptor::{BlockBytes, Descriptor};
pub(super) use read::LEGACY_BLOCK_BYTES;

/// First four bytes of a frame.
pub(super) const MAGIC: u32 = 0x184d_2204;
/// First four bytes of a legacy frame.
pub(super) const LEGACY_MAGIC: u32 = 0x184c_2102;
/// Bit of a block's size field: the data is stored as it is.
pub(super) const STORED: u32 = 1 << 31;
/// How far a match reaches back.
pub(super) const WINDOW_BYTES: usize = 64 << 10;

/// True for the magic number of a skippable frame, of LZ4 and zstd alike.
pub(super) fn is_skippable(magic: u32) -> bool {
    magic & 0xffff_fff0 == 0x184d_2a50
}

/// Passes the rest of a skippable frame by, whose magic number at `start` was read.
pub(super) fn skip(source: &mut Source<'_>, start: u64) -> Result<(), FrameError> {
    const WHAT: &str = "skippable frame";
    let size = u32::from_le_bytes(source.array(WHAT, start)?);
    source.skip(u64::from(size), WHAT, start)
}

/// A dictionary: bytes that a reader must have, too. Matches of an LZ4 frame's blocks may reach into its last 64 KiB; for
/// zstd it is whatever its trainer or anybody made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dictionary {
    /// Its identity, which goes into the frame header of LZ4; one of zstd has it in its bytes. A frame that names none is tried with whatever dictionary is there;
    /// its content checksum tells whether that was right.
    pub id: Option<u32>,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Dictionary {
    /// What matches can reach.
    fn window(&self) -> &[u8] {
        &self.bytes[self.bytes.len().saturating_sub(WINDOW_BYTES)..]
    }
}

/// The hash of the format: xxHash32 with seed 0.
pub(super) fn hash(bytes: &[u8]) -> u32 {
    XxHash32::oneshot(0, bytes)
}

/// The hash of content that goes by, if the frame has one.
#[derive(Debug)]
struct ContentHash(Option<XxHash32>);

impl ContentHash {
    fn new(wanted: bool) -> Self {
        Self(wanted.then(|| XxHash32::with_seed(0)))
    }

    fn update(&mut self, bytes: &[u8]) {
        if let Some(hasher) = &mut self.0 {
            hasher.write(bytes);
        }
    }

    /// The hash of everything so far, if one is wanted.
    fn finish(&self) -> Option<u32> {
        self.0.as_ref().map(XxHash32::finish_32)
    }
}
