//! Errors of blocks and codecs, and the [`Kind`] that all layers share.

use tambour_kernel::hash::Hash128;
use tambour_kernel::lz4::Malformed;

/// What a caller can do about an error; shared by every layer. People read the message, callers act on the kind.
///
/// ```
/// use tambour_codec::{CodecError, Kind, spec::CodecSpec};
/// let error = "LZ4(".parse::<CodecSpec>().unwrap_err();
/// assert!(matches!(error, CodecError::Spec { .. }));
/// assert_eq!(error.kind(), Kind::Argument);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The data is damaged (exit code 3).
    Corrupt,
    /// A format or codec that this version does not know (exit code 5).
    Unsupported,
    /// The caller's input or arguments are wrong (exit code 1, or 2 for usage).
    Argument,
    /// Something named does not exist.
    NotFound,
    /// Something exists already or is in use by somebody else.
    Conflict,
    /// A limit on memory or size would be exceeded (exit code 4).
    Limit,
    /// The operating system said no.
    Io,
    /// The caller said stop (exit code 130).
    Interrupted,
}

/// An error of a block or a codec.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// A codec specification cannot be parsed, or its arguments do not fit the codec.
    #[error("codec specification {spec:?}: {reason}")]
    Spec {
        /// The text.
        spec: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A specification or a payload asks for what ClickHouse knows of a codec and this version does not.
    #[error("codec {name} is not supported")]
    UnsupportedCodec {
        /// Name of the codec, and what of it if that is the matter.
        name: String,
    },
    /// A block names a method that this version cannot decode.
    #[error("method {method:#04x} ({name}) is not supported")]
    UnsupportedMethod {
        /// The method byte.
        method: u8,
        /// Its name in ClickHouse, or `unknown`.
        name: &'static str,
    },
    /// `TAMBOUR_ISA` names no level, or one that this CPU does not have.
    #[error("TAMBOUR_ISA={value:?}: {reason}")]
    Isa {
        /// Value of the variable.
        value: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The source ends inside a block.
    #[error("block needs {needed} bytes, but only {got} are left")]
    Truncated {
        /// Bytes of header or block.
        needed: usize,
        /// Bytes there.
        got: usize,
    },
    /// A size field is outside of what the format or the method allows.
    #[error("{field} is {got}, expected {min} to {max}")]
    Size {
        /// Name of the field.
        field: &'static str,
        /// The value.
        got: u64,
        /// Smallest value allowed.
        min: u64,
        /// Largest value allowed.
        max: u64,
    },
    /// The block is not the one that was written.
    #[error("checksum mismatch: expected {expected}, got {got}")]
    Checksum {
        /// The checksum in the block.
        expected: Hash128,
        /// The checksum of its bytes.
        got: Hash128,
    },
    /// The payload is not what its codec writes.
    #[error("malformed {codec} payload: {reason} at {at}")]
    Payload {
        /// Name of the codec.
        codec: &'static str,
        /// Position in the payload, in bytes.
        at: usize,
        /// What is wrong there.
        reason: &'static str,
    },
    /// The payload is not an LZ4 block of the right size.
    #[error("malformed LZ4 block")]
    Lz4(#[from] Malformed),
    /// The payload is not exactly one zstd frame.
    #[error("malformed zstd frame: {reason}")]
    Frame {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// libzstd refused to encode or decode.
    #[error("libzstd: {reason}")]
    Zstd {
        /// Its name for the error.
        reason: &'static str,
        /// What kind of error that is.
        kind: Kind,
    },
    /// More than a limit allows.
    #[error("{what} of {got} bytes is over the limit of {max}")]
    Limit {
        /// What is too large.
        what: &'static str,
        /// Its size.
        got: u64,
        /// The limit.
        max: u64,
    },
    /// The caller's target does not have the uncompressed size of the block.
    #[error("target has {got} bytes for a block of {expected}")]
    Target {
        /// Uncompressed size of the block.
        expected: usize,
        /// Length of the target.
        got: usize,
    },
}

impl CodecError {
    /// The kind of this error.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Spec { .. } | Self::Isa { .. } | Self::Target { .. } => Kind::Argument,
            Self::UnsupportedCodec { .. } | Self::UnsupportedMethod { .. } => Kind::Unsupported,
            Self::Truncated { .. }
            | Self::Size { .. }
            | Self::Checksum { .. }
            | Self::Payload { .. }
            | Self::Lz4(_)
            | Self::Frame { .. } => Kind::Corrupt,
            Self::Limit { .. } => Kind::Limit,
            Self::Zstd { kind, .. } => *kind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CodecError;
    use tambour_kernel::hash::Hash128;

    #[test]
    fn a_checksum_prints_as_stored() {
        let error = CodecError::Checksum {
            expected: Hash128 { low: 1, high: 0 },
            got: Hash128 { low: 0, high: 1 << 56 },
        };
        assert_eq!(
            error.to_string(),
            "checksum mismatch: expected 01000000000000000000000000000000, \
             got 00000000000000000000000000000001"
        );
    }

    #[test]
    fn errors_stay_small_and_move_between_threads() {
        fn movable<T: Send + Sync + 'static>() {}
        movable::<CodecError>();
        assert!(size_of::<CodecError>() <= 64);
    }
}
