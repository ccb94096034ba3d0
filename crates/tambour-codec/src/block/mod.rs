//! ClickHouse's compressed block: checksum, header, payload.
//!
//! The format is described in `docs/format/block.md`. [`Block::parse`] verifies a block, a [`Decoder`] turns it into bytes;
//! an [`Encoder`] appends blocks to a stream. [`stream`] walks over the blocks of a whole stream.

mod header;
mod read;
pub mod stream;
mod write;

pub use header::Header;
pub use read::{Block, Decoder};
pub use write::Encoder;

/// Bytes of the checksum.
pub const HASH_BYTES: usize = 16;
/// Bytes of the header behind the checksum: method, compressed size, uncompressed size.
pub const HEADER_BYTES: usize = 9;
/// Largest compressed or uncompressed size that is accepted, in bytes.
pub const SIZE_MAX: u32 = 1 << 30;

/// Bytes in front of the payload.
const PREFIX_BYTES: usize = HASH_BYTES + HEADER_BYTES;
const _: () = assert!(PREFIX_BYTES == 25, "fixed by the format");
