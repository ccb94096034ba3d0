//! Errors of parts: where, what was expected, what was found.

use std::borrow::Cow;
use std::io;
use std::path::Path;
use tambour_codec::{CodecError, Kind};
use tambour_kernel::hash::Hash128;
use tambour_storage::Place;

/// An error of a part.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PartError {
    /// A block cannot be read or written.
    #[error("{place}")]
    Block {
        /// Where; the offset is that of the block.
        place: Box<Place>,
        /// Why.
        #[source]
        cause: CodecError,
    },
    /// The operating system said no.
    #[error("{place}: {operation}")]
    Io {
        /// Where.
        place: Box<Place>,
        /// What was tried: `open`, `read`, `write` and so on.
        operation: &'static str,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// A file does not have the hash that is listed for it.
    #[error("{place}: {what} is not what was written: expected {:016x}{:016x}, got {:016x}{:016x}", expected.high, expected.low, got.high, got.low)]
    Checksum {
        /// Where.
        place: Box<Place>,
        /// Which hash: `hash` or `hash of the contents`.
        what: &'static str,
        /// As listed.
        expected: Hash128,
        /// As computed.
        got: Hash128,
    },
    /// Two numbers of a part that must agree do not.
    #[error("{place}: {field} is {got}, expected {expected}")]
    Mismatch {
        /// Where.
        place: Box<Place>,
        /// What `got` counts.
        field: &'static str,
        /// The other number.
        expected: u64,
        /// The number here.
        got: u64,
    },
    /// Bytes that the format does not allow.
    #[error("{place}: {reason}")]
    Malformed {
        /// Where.
        place: Box<Place>,
        /// What is wrong with them.
        reason: Cow<'static, str>,
    },
    /// Bytes of a `String` that are not UTF-8, where text was asked for.
    #[error("{place}: bytes are not UTF-8 (read the column as binary)")]
    Utf8 {
        /// Column and row.
        place: Box<Place>,
    },
    /// A file is missing that must be there.
    #[error("{place}: file is missing")]
    Missing {
        /// Where.
        place: Box<Place>,
    },
    /// A file is there that checksums.txt does not list.
    #[error("{place}: file is not listed in checksums.txt")]
    Unlisted {
        /// Where.
        place: Box<Place>,
    },
    /// A size is over a limit; nothing was allocated.
    #[error("{place}: {field} is {got}, limit {limit}")]
    Limit {
        /// Where.
        place: Box<Place>,
        /// What is too large.
        field: &'static str,
        /// The largest that is accepted.
        limit: u64,
        /// What was asked for.
        got: u64,
    },
    /// Something that this version does not read or write.
    #[error("{place}: {what} is not supported")]
    Unsupported {
        /// Where.
        place: Box<Place>,
        /// What.
        what: Cow<'static, str>,
    },
    /// A data type that is unknown or not supported.
    #[error("data type {text:?}: {reason}")]
    UnknownType {
        /// The type as written.
        text: String,
        /// What is unknown in it.
        reason: Cow<'static, str>,
    },
    /// The text of a data type that breaks the syntax.
    #[error("data type {text:?}, position {position}: {reason}")]
    TypeSyntax {
        /// The text.
        text: String,
        /// Offset in bytes where it breaks.
        position: usize,
        /// What was expected.
        reason: Cow<'static, str>,
    },
    /// A value or array handed in does not fit the column's type.
    #[error("{place}: {reason}")]
    Value {
        /// Column and row.
        place: Box<Place>,
        /// What does not fit.
        reason: Cow<'static, str>,
    },
    /// The caller's arguments are wrong.
    #[error("{reason}")]
    Argument {
        /// What is wrong with them.
        reason: Cow<'static, str>,
    },
}

impl PartError {
    /// [`PartError::Malformed`].
    pub fn malformed(place: Place, reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Malformed { place: Box::new(place), reason: reason.into() }
    }
    /// [`PartError::Unsupported`].
    pub fn unsupported(place: Place, what: impl Into<Cow<'static, str>>) -> Self {
        Self::Unsupported { place: Box::new(place), what: what.into() }
    }
    /// [`PartError::Value`].
    pub fn value(place: Place, reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Value { place: Box::new(place), reason: reason.into() }
    }
    /// [`PartError::Argument`].
    pub fn argument(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Argument { reason: reason.into() }
    }
    /// [`PartError::Mismatch`].
    pub fn mismatch(place: Place, field: &'static str, expected: u64, got: u64) -> Self {
        Self::Mismatch { place: Box::new(place), field, expected, got }
    }
    /// [`PartError::Limit`].
    pub fn limit(place: Place, field: &'static str, limit: u64, got: u64) -> Self {
        Self::Limit { place: Box::new(place), field, limit, got }
    }
    /// [`PartError::Io`].
    pub fn io(path: &Path, operation: &'static str, cause: io::Error) -> Self {
        Self::Io { place: Box::new(Place::file(path)), operation, cause }
    }

    /// The kind of this error.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Block { cause, .. } => cause.kind(),
            Self::Io { cause, .. } => io_kind(cause),
            Self::Checksum { .. }
            | Self::Mismatch { .. }
            | Self::Malformed { .. }
            | Self::Missing { .. }
            | Self::Unlisted { .. } => Kind::Corrupt,
            Self::Limit { .. } => Kind::Limit,
            Self::Unsupported { .. } | Self::UnknownType { .. } => Kind::Unsupported,
            Self::Utf8 { .. }
            | Self::TypeSyntax { .. }
            | Self::Value { .. }
            | Self::Argument { .. } => Kind::Argument,
        }
    }

    /// Where it happened, if that is known.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::Block { place, .. }
            | Self::Io { place, .. }
            | Self::Checksum { place, .. }
            | Self::Mismatch { place, .. }
            | Self::Malformed { place, .. }
            | Self::Utf8 { place }
            | Self::Missing { place }
            | Self::Unlisted { place }
            | Self::Limit { place, .. }
            | Self::Unsupported { place, .. }
            | Self::Value { place, .. } => Some(place),
            Self::UnknownType { .. } | Self::TypeSyntax { .. } | Self::Argument { .. } => None,
        }
    }

    /// The place, for a layer that knows more of it than the one that made the error.
    pub(crate) fn place_mut(&mut self) -> Option<&mut Place> {
        match self {
            Self::Block { place, .. }
            | Self::Io { place, .. }
            | Self::Checksum { place, .. }
            | Self::Mismatch { place, .. }
            | Self::Malformed { place, .. }
            | Self::Utf8 { place }
            | Self::Missing { place }
            | Self::Unlisted { place }
            | Self::Limit { place, .. }
            | Self::Unsupported { place, .. }
            | Self::Value { place, .. } => Some(place),
            Self::UnknownType { .. } | Self::TypeSyntax { .. } | Self::Argument { .. } => None,
        }
    }
}

/// What the operating system's answer means for a caller. An early end of a file is damage, not a refusal.
fn io_kind(cause: &io::Error) -> Kind {
    match cause.kind() {
        io::ErrorKind::NotFound => Kind::NotFound,
        io::ErrorKind::AlreadyExists => Kind::Conflict,
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => Kind::Corrupt,
        io::ErrorKind::FileTooLarge => Kind::Limit,
        _ => Kind::Io,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_the_place_and_leaves_the_cause_to_source() {
        let place = Place::file("t/all_1_1_0/price.bin").of_column("price").at(65_552);
        let error = PartError::Io {
            place: Box::new(place),
            operation: "read",
            cause: io::ErrorKind::UnexpectedEof.into(),
        };
        assert_eq!(error.to_string(), "t/all_1_1_0/price.bin, column `price`, offset 65552: read");
        assert_eq!(error.kind(), Kind::Corrupt);
        assert!(std::error::Error::source(&error).is_some());
        assert_eq!(PartError::argument("no columns").to_string(), "no columns");
    }

    #[test]
    fn errors_stay_small() {
        assert!(size_of::<PartError>() <= 72, "{}", size_of::<PartError>());
    }
}
