//! Whole streams: `.lz4` frames, zstd frames and ClickHouse's blocks, from a reader to a writer in constant memory.
//!
//! ```
//! use tambour_codec::frame::{CompressOptions, DecompressOptions, Format, compress, decompress};
//!
//! let mut frame = Vec::new();
//! let options = CompressOptions::new(Format::Lz4);
//! let summary = compress(&mut &b"drum drum drum"[..], &mut frame, &options)?;
//! assert_eq!((summary.bytes_in, summary.frames, summary.blocks), (14, 1, 1));
//!
//! let mut bytes = Vec::new();
//! decompress(&mut &frame[..], &mut bytes, &DecompressOptions::default())?;
//! assert_eq!(bytes, b"drum drum drum");
//! # Ok::<(), tambour_codec::frame::FrameError>(())
//! ```
//!
//! - Blocks are worked on by several threads, if the options say so. The output does not depend on their number, nor does an
//!   error. One thread is the caller's own.
//! - Memory is that of the blocks under way, at most two per thread, and never more than the options allow: a size that lies
//!   is refused before anything is allocated for it.
//! - Every checksum is verified. What was written before damage is found was verified block by block; to write nothing
//!   before all was checked, use [`decompress_verified`].
//! - An input that ends early is an error, and so are bytes after its last frame.
//!
//! `docs/format/lz4-frame.md` describes LZ4 frames, `docs/format/block.md` blocks.

mod blocks;
mod ends;
mod error;
pub mod look;
mod lz4;
mod pipeline;
#[cfg(test)]
mod tests;
mod zstd;

use crate::Kind;
use crate::spec::CodecSpec;
use ends::{Source, Target};
use std::io::{Read, Seek, SeekFrom, Write};

pub use error::FrameError;
pub use lz4::Dictionary;

/// Memory for blocks under way, unless the options say otherwise.
const MEMORY_BYTES_DEFAULT: u64 = 1 << 30;

/// What a stream is made of.
///
/// ```
/// use tambour_codec::frame::Format;
/// assert_eq!([Format::Block, Format::Lz4, Format::Zstd].map(Format::name), ["block", "lz4", "zstd"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// ClickHouse's blocks, as `clickhouse-compressor` writes them.
    Block,
    /// LZ4 frames, as the `lz4` program writes them.
    Lz4,
    /// zstd frames, as the `zstd` program writes them.
    Zstd,
}

impl Format {
    /// Name of the format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    /// The format that begins with this number, unless it may be a block stream, which has none.
    fn by_magic(magic: u32) -> Option<Self> {
        match magic {
            lz4::MAGIC | lz4::LEGACY_MAGIC => Some(Self::Lz4),
            zstd::MAGIC => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// How to compress.
///
/// ```
/// use tambour_codec::frame::{CompressOptions, Format, compress};
/// let text = "the same words again and again, ".repeat(1000);
/// let bytes = |level| {
///     let mut options = CompressOptions::new(Format::Zstd);
///     options.level = Some(level);
///     compress(&mut text.as_bytes(), &mut Vec::new(), &options).map(|summary| summary.bytes_out)
/// };
/// assert!(bytes(19)? <= bytes(1)?);
/// # Ok::<(), tambour_codec::frame::FrameError>(())
/// ```
#[derive(Clone, Debug)]
pub struct CompressOptions {
    /// The format.
    pub format: Format,
    /// Codec of the blocks of [`Format::Block`].
    pub codec: CodecSpec,
    /// Level of [`Format::Lz4`] and [`Format::Zstd`], as their programs count; `None` for their defaults.
    pub level: Option<i32>,
    /// Bytes of content per block. Blocks: 1 MiB by default. LZ4: 64 KiB, 256 KiB, 1 MiB or 4 MiB; by default 4 MiB, or the
    /// smallest that holds the content if its size is known.
    /// zstd: one frame by default; with a size, one frame per this many bytes.
    pub block_bytes: Option<usize>,
    /// Threads that compress; 0 and 1 are the caller's.
    pub threads: usize,
    /// Memory limit for blocks in progress, in bytes.
    pub memory_bytes_max: u64,
    /// Bytes of the input, if known: LZ4 and zstd frames store it. It is an error if the input has more or less.
    pub content_size: Option<u64>,
    /// A dictionary for LZ4 and zstd frames, that readers must have, too.
    pub dictionary: Option<Dictionary>,
    /// What only LZ4 frames have.
    pub lz4: Lz4Options,
}

/// How to write LZ4 frames.
#[derive(Clone, Copy, Debug)]
pub struct Lz4Options {
    /// Blocks refer to earlier ones: smaller, but they can only be decoded in order.
    pub linked: bool,
    /// A checksum per block.
    pub block_checksums: bool,
    /// A checksum of the whole content.
    pub content_checksum: bool,
}

impl CompressOptions {
    /// The defaults of a format: for LZ4 and zstd those of their programs, for blocks those of ClickHouse.
    pub fn new(format: Format) -> Self {
        Self {
            format,
            codec: CodecSpec::lz4(),
            level: None,
            block_bytes: None,
            threads: 1,
            memory_bytes_max: MEMORY_BYTES_DEFAULT,
            content_size: None,
            dictionary: None,
            lz4: Lz4Options { linked: false, block_checksums: false, content_checksum: true },
        }
    }
}

/// How to decompress.
#[derive(Clone, Debug)]
pub struct DecompressOptions {
    /// The format; `None` finds it by the first bytes. What is not a frame is taken for a stream of blocks, and nothing at all
    /// for an empty one.
    pub format: Option<Format>,
    /// Threads that decompress blocks and independent LZ4 frames; 0 and 1 are the caller's.
    pub threads: usize,
    /// Memory limit for blocks in progress, in bytes.
    pub memory_bytes_max: u64,
    /// A dictionary for LZ4 and zstd frames.
    pub dictionary: Option<Dictionary>,
}

impl Default for DecompressOptions {
    fn default() -> Self {
        let memory_bytes_max = MEMORY_BYTES_DEFAULT;
        Self { format: None, threads: 1, memory_bytes_max, dictionary: None }
    }
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The format.
    pub format: Format,
    /// Bytes read.
    pub bytes_in: u64,
    /// Bytes written.
    pub bytes_out: u64,
    /// Frames, skippable ones included; blocks need none.
    pub frames: u64,
    /// Blocks; those inside of zstd frames are not counted.
    pub blocks: u64,
}

/// What one format counts.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    frames: u64,
    blocks: u64,
}

impl Tally {
    fn sum(self, format: Format, source: &Source<'_>, target: &Target<'_>) -> Summary {
        let Self { frames, blocks } = self;
        let (bytes_in, bytes_out) = (source.offset(), target.written());
        Summary { format, bytes_in, bytes_out, frames, blocks }
    }
}

/// Compresses everything that `input` has.
///
/// Reads and writes pieces of a block, on the caller's thread. On an error, what was written is not a whole stream.
///
/// ```
/// use tambour_codec::frame::{CompressOptions, DecompressOptions, Format, compress, decompress};
/// let mut stored = Vec::new();
/// let options = CompressOptions::new(Format::Lz4);
/// let summary = compress(&mut [7; 100_000].as_slice(), &mut stored, &options)?;
/// assert_eq!((summary.bytes_in, summary.bytes_out), (100_000, stored.len() as u64));
///
/// let mut content = Vec::new();
/// decompress(&mut stored.as_slice(), &mut content, &DecompressOptions::default())?;
/// assert_eq!(content, [7; 100_000]);
/// # Ok::<(), tambour_codec::frame::FrameError>(())
/// ```
pub fn compress(
    input: &mut dyn Read,
    output: &mut dyn Write,
    options: &CompressOptions,
) -> Result<Summary, FrameError> {
    let (mut source, mut target) = (Source::new(input), Target::new(output));
    let tally = match options.format {
        Format::Block => blocks::compress(&mut source, &mut target, options)?,
        Format::Lz4 => lz4::write::compress(&mut source, &mut target, options)?,
        Format::Zstd => zstd::compress(&mut source, &mut target, options)?,
    };
    target.flush()?;
    Ok(tally.sum(options.format, &source, &target))
}

/// Decompresses everything that `input` has; it must be whole frames or blocks to its end.
///
/// Blocks are written as they are verified, so that an error may come after a part of the output. What is written then is
/// the same for every number of threads.
///
/// ```
/// use tambour_codec::frame::{DecompressOptions, Format, decompress};
/// // What the `zstd` program makes of "hello": the format is found by the first bytes.
/// let stored = b"\x28\xb5\x2f\xfd\x20\x05\x29\0\0hello";
/// let mut content = Vec::new();
/// let summary = decompress(&mut &stored[..], &mut content, &DecompressOptions::default())?;
/// assert_eq!((summary.format, content.as_slice()), (Format::Zstd, &b"hello"[..]));
/// # Ok::<(), tambour_codec::frame::FrameError>(())
/// ```
pub fn decompress(
    input: &mut dyn Read,
    output: &mut dyn Write,
    options: &DecompressOptions,
) -> Result<Summary, FrameError> {
    let (mut source, mut target) = (Source::new(input), Target::new(output));
    let (format, skipped) = match options.format {
        Some(format) => (Some(format), 0),
        None => detect(&mut source)?,
    };
    let (source, target) = (&mut source, &mut target);
    let mut tally = match format {
        Some(Format::Block) => blocks::decompress(source, target, options)?,
        Some(Format::Lz4) => lz4::read::decompress(source, target, options)?,
        Some(Format::Zstd) => zstd::decompress(source, target, options)?,
        None => Tally::default(),
    };
    tally.frames += skipped;
    target.flush()?;
    // Skippable frames alone are of both formats, nothing at all is an empty stream of blocks.
    let nothing = if skipped > 0 { Format::Lz4 } else { Format::Block };
    Ok(tally.sum(format.unwrap_or(nothing), source, target))
}

/// Decompresses as [`decompress`] does, but writes nothing before the whole input was checked: it is read twice.
///
/// Only for what can be read again, which a pipe cannot. Reading begins at the current position.
///
/// ```
/// use tambour_codec::frame::{CompressOptions, DecompressOptions, Format};
/// use tambour_codec::frame::{compress, decompress_verified};
/// let (mut stored, mut content) = (Vec::new(), Vec::new());
/// compress(&mut &b"hello"[..], &mut stored, &CompressOptions::new(Format::Lz4))?;
/// if let Some(last) = stored.last_mut() {
///     *last ^= 1;
/// }
/// let mut damaged = std::io::Cursor::new(stored);
/// let options = DecompressOptions::default();
/// assert!(decompress_verified(&mut damaged, &mut content, &options).is_err());
/// assert!(content.is_empty(), "nothing is written before all was checked");
/// # Ok::<(), tambour_codec::frame::FrameError>(())
/// ```
pub fn decompress_verified<R: Read + Seek>(
    input: &mut R,
    output: &mut dyn Write,
    options: &DecompressOptions,
) -> Result<Summary, FrameError> {
    let seek = |cause| FrameError::Read { offset: 0, cause };
    let start = input.stream_position().map_err(seek)?;
    let checked = decompress(input, &mut std::io::sink(), options)?;
    input.seek(SeekFrom::Start(start)).map_err(seek)?;
    let summary = decompress(input, output, options)?;
    if summary == checked {
        return Ok(summary);
    }
    let reason = "the input changed after it was checked".to_owned();
    Err(FrameError::Options { reason, kind: Kind::Conflict })
}

/// The format by the first number that is none of a skippable frame, and the number of those in front of it. `None` when
/// nothing else is there.
fn detect(source: &mut Source<'_>) -> Result<(Option<Format>, u64), FrameError> {
    let mut skipped = 0;
    loop {
        let start = source.offset();
        let Some(magic) = source.magic()? else { return Ok((None, skipped)) };
        if lz4::is_skippable(magic) {
            lz4::skip(source, start)?;
            skipped += 1;
            continue;
        }
        source.give_back(magic);
        return match Format::by_magic(magic) {
            // Blocks have no skippable frames.
            None if skipped > 0 => Err(FrameError::Magic { offset: start, got: magic }),
            None => Ok((Some(Format::Block), 0)),
            format => Ok((format, skipped)),
        };
    }
}
