//! What can be wrong with a stream, and at which byte.

use crate::{CodecError, Kind};

/// An error of a stream. Offsets count bytes from the start of the input (of the output for [`FrameError::Write`]).
///
/// A `CodecError` knows blocks only; this adds the place and what only frames have. `what` is the thing that is wrong.
///
/// ```
/// use tambour_codec::frame::{DecompressOptions, Format, decompress};
/// let options = DecompressOptions { format: Some(Format::Lz4), ..DecompressOptions::default() };
/// let error = decompress(&mut &b"not a frame"[..], &mut Vec::new(), &options).unwrap_err();
/// assert_eq!(error.offset(), Some(0));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The input ends inside of something.
    #[error("{what} at {offset} is cut short: the input ends at {end}")]
    Truncated {
        /// What is cut short.
        what: &'static str,
        /// Where that starts.
        offset: u64,
        /// Bytes of the input.
        end: u64,
    },
    /// What is there is no frame: the input is of another format, or has bytes after its last frame.
    #[error("bytes at {offset} are not a frame: magic number {got:#010x}")]
    Magic {
        /// Where they start.
        offset: u64,
        /// The first four of them.
        got: u32,
    },
    /// A frame header says something that the format does not allow or that this version does not know.
    #[error("frame header at {offset}: {reason}")]
    Header {
        /// Where the header starts.
        offset: u64,
        /// What is wrong with it.
        reason: &'static str,
        /// Corrupt, or from a later version of the format.
        kind: Kind,
    },
    /// A block or a dictionary that is not what its format writes.
    #[error("{what} is malformed at {offset}: {reason}")]
    Malformed {
        /// What is malformed.
        what: &'static str,
        /// At which byte.
        offset: u64,
        /// What is wrong there.
        reason: &'static str,
    },
    /// The bytes are not those that were written.
    #[error("{what} of the frame at {offset}: expected {expected:#010x}, got {got:#010x}")]
    Checksum {
        /// Which checksum.
        what: &'static str,
        /// Where the header, block or frame starts.
        offset: u64,
        /// The checksum in the frame.
        expected: u32,
        /// The checksum of the bytes.
        got: u32,
    },
    /// A size that the frame itself does not allow.
    #[error("{what} at {offset} is {got}, at most {max} allowed")]
    Size {
        /// Which size.
        what: &'static str,
        /// Where its field is.
        offset: u64,
        /// Its value.
        got: u64,
        /// The largest allowed.
        max: u64,
    },
    /// The frame holds more or less than its header says.
    #[error("frame at {offset} holds {got} bytes, its header says {expected}")]
    ContentSize {
        /// Where the frame starts.
        offset: u64,
        /// Bytes according to the header.
        expected: u64,
        /// Bytes found; more may follow.
        got: u64,
    },
    /// A frame needs a dictionary that was not handed in.
    #[error("frame at {offset} needs the dictionary {id:#010x}")]
    Dictionary {
        /// Where the frame starts.
        offset: u64,
        /// Identity of the dictionary.
        id: u32,
    },
    /// Decoding needs more memory than the caller allows.
    #[error("{what} at {offset} needs {got} bytes of memory, the limit is {max}")]
    Memory {
        /// What needs it.
        what: &'static str,
        /// Where that starts.
        offset: u64,
        /// Bytes needed.
        got: u64,
        /// Bytes allowed.
        max: u64,
    },
    /// A block that cannot be decoded or encoded.
    #[error("block at {offset}")]
    Block {
        /// Where the block starts.
        offset: u64,
        /// What is wrong with it.
        #[source]
        cause: CodecError,
    },
    /// A zstd frame that libzstd cannot decode or encode.
    #[error("zstd frame at {offset}")]
    Zstd {
        /// Where the frame starts.
        offset: u64,
        /// What libzstd says.
        #[source]
        cause: CodecError,
    },
    /// A codec that cannot be had.
    #[error(transparent)]
    Codec(CodecError),
    /// Options that cannot be met.
    #[error("{reason}")]
    Options {
        /// Why not.
        reason: String,
        /// Wrong, or not in this version.
        kind: Kind,
    },
    /// The input cannot be read.
    #[error("reading at {offset}")]
    Read {
        /// Where.
        offset: u64,
        /// What the system says.
        #[source]
        cause: std::io::Error,
    },
    /// The output cannot be written.
    #[error("writing at {offset}")]
    Write {
        /// Where in the output.
        offset: u64,
        /// What the system says.
        #[source]
        cause: std::io::Error,
    },
    /// The system gives no thread.
    #[error("starting a thread")]
    Thread(#[source] std::io::Error),
}

impl FrameError {
    /// The kind of this error.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Truncated { .. }
            | Self::Magic { .. }
            | Self::Malformed { .. }
            | Self::Checksum { .. }
            | Self::Size { .. }
            | Self::ContentSize { .. } => Kind::Corrupt,
            Self::Header { kind, .. } | Self::Options { kind, .. } => *kind,
            Self::Dictionary { .. } => Kind::NotFound,
            Self::Memory { .. } => Kind::Limit,
            Self::Block { cause, .. } | Self::Zstd { cause, .. } | Self::Codec(cause) => {
                cause.kind()
            }
            Self::Read { .. } | Self::Write { .. } | Self::Thread(_) => Kind::Io,
        }
    }

    /// The offset in the input, if the error is about the input.
    pub fn offset(&self) -> Option<u64> {
        match self {
            Self::Truncated { offset, .. }
            | Self::Magic { offset, .. }
            | Self::Header { offset, .. }
            | Self::Malformed { offset, .. }
            | Self::Checksum { offset, .. }
            | Self::Size { offset, .. }
            | Self::ContentSize { offset, .. }
            | Self::Dictionary { offset, .. }
            | Self::Memory { offset, .. }
            | Self::Block { offset, .. }
            | Self::Zstd { offset, .. }
            | Self::Read { offset, .. } => Some(*offset),
            Self::Codec(_) | Self::Options { .. } | Self::Write { .. } | Self::Thread(_) => None,
        }
    }

    /// Options that make no sense.
    pub(super) fn options(reason: impl Into<String>) -> Self {
        Self::Options { reason: reason.into(), kind: Kind::Argument }
    }
}
