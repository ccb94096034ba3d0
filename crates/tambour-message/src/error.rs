//! What can be wrong with messages and dictionaries.

use tambour_codec::Kind;

/// What is wrong with the bytes of a message, and where. Positions count from the start of the encoded message's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// The bits end too early.
    #[error("payload ends early, at {at}")]
    Truncated {
        /// Length of the payload.
        at: usize,
    },
    /// There is more after the message.
    #[error("trailing bytes after the message at {at}")]
    Excess {
        /// First byte that is too many.
        at: usize,
    },
    /// Bits that are not a code.
    #[error("no such code at {at}")]
    Code {
        /// Byte in which they begin.
        at: usize,
    },
    /// A match that starts before the dictionary.
    #[error("distance {distance} at {at} reaches before the dictionary")]
    Distance {
        /// Byte in which the distance ends.
        at: usize,
        /// The distance.
        distance: usize,
    },
    /// A match that ends past the message.
    #[error("match of {length} bytes at {at} reaches past the message")]
    Match {
        /// Byte in which the length ends.
        at: usize,
        /// Its length.
        length: usize,
    },
}

/// An error of messages.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// A message, or what claims to be one, is longer than the limit.
    #[error("message of {bytes} bytes is above the limit of {limit}")]
    TooLong {
        /// Its length.
        bytes: u64,
        /// The limit in force.
        limit: usize,
    },
    /// The message ends inside its header.
    #[error("message ends inside its header, after {bytes} bytes")]
    Header {
        /// Its length.
        bytes: usize,
    },
    /// A header that no encoder writes.
    #[error("header of message: {reason}")]
    BadHeader {
        /// What is wrong.
        reason: &'static str,
    },
    /// The message was encoded with a dictionary that is not here.
    #[error(
        "dictionary generation {generation} is unknown (known: {known}); add it, or ask the sender to switch back"
    )]
    UnknownGeneration {
        /// What the message says.
        generation: u8,
        /// What there is.
        known: String,
    },
    /// The message refers to a pinned message, and there is none.
    #[error("message refers to the connection's pinned first message, which is not here")]
    PinMissing,
    /// The payload cannot be decoded.
    #[error("message of {bytes} bytes")]
    Payload {
        /// Bytes of the encoded message.
        bytes: usize,
        /// What is wrong with it.
        #[source]
        cause: Malformed,
    },
    /// The decoded bytes are not those that were encoded: damage, another dictionary, or another pinned message.
    #[error(
        "check of message: expected {expected:08x}, got {got:08x}; damaged, or another dictionary of this generation"
    )]
    Check {
        /// As the message says.
        expected: u32,
        /// As computed.
        got: u32,
    },
    /// A generation is taken by another dictionary.
    #[error("generation {generation} is in use by another dictionary; retire that one first")]
    GenerationTaken {
        /// The generation.
        generation: u8,
    },
    /// The generation that encodes cannot be taken away.
    #[error("generation {generation} is the one that encodes; switch to another one first")]
    GenerationInUse {
        /// The generation.
        generation: u8,
    },
    /// The file is not a dictionary, or a damaged one.
    #[error("dictionary: {reason}")]
    Dictionary {
        /// What is wrong.
        reason: &'static str,
    },
    /// A dictionary of a later version.
    #[error("dictionary of version {version}; this program knows versions 1 and 2")]
    Version {
        /// Its version.
        version: u8,
    },
    /// Samples that a dictionary cannot be trained on.
    #[error("cannot train a dictionary: {reason}")]
    Training {
        /// Why.
        reason: String,
    },
    /// Reading or writing the stream.
    #[error("stream of messages")]
    Io(#[from] std::io::Error),
    /// A frame of a stream.
    #[error("stream of messages: {reason}")]
    Frame {
        /// What is wrong.
        reason: &'static str,
    },
}

impl MessageError {
    /// What a caller can do about it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::TooLong { .. } => Kind::Limit,
            Self::Version { .. } => Kind::Unsupported,
            Self::UnknownGeneration { .. } => Kind::NotFound,
            Self::GenerationTaken { .. } | Self::GenerationInUse { .. } => Kind::Conflict,
            Self::Training { .. } => Kind::Argument,
            Self::Io(_) => Kind::Io,
            Self::Header { .. }
            | Self::BadHeader { .. }
            | Self::PinMissing
            | Self::Payload { .. }
            | Self::Check { .. }
            | Self::Dictionary { .. }
            | Self::Frame { .. } => Kind::Corrupt,
        }
    }
}
