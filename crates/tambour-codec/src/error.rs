//! Errors of blocks and codecs, and the [`Kind`] that all layers share.

/// What a caller can do about an error; shared by every layer. People read the message, callers act on the kind.
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
}

/// An error of a block or a codec.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// A codec specification cannot be parsed.
    #[error("codec specification {spec:?}: {reason}")]
    Spec {
        /// The text.
        spec: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl CodecError {
    /// The kind of this error.
    pub fn kind(&self) -> Kind {
        todo!()
    }
}
