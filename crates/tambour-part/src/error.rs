//! Errors of parts: where, what was expected, what was found.

use std::path::PathBuf;
use tambour_codec::{CodecError, Kind};

/// Where in a part something happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file, as it was opened.
    pub path: PathBuf,
    /// The column, if one is concerned.
    pub column: Option<String>,
    /// Offset in bytes of the block (or of the field, in metadata files).
    pub offset: Option<u64>,
}

/// An error of a part.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PartError {
    /// A block cannot be read.
    #[error("{place:?}")]
    Block {
        /// Where.
        place: Box<Place>,
        /// Why.
        #[source]
        cause: CodecError,
    },
    /// A stream holds what its type does not allow.
    #[error("{place:?}: {reason}")]
    Corrupt {
        /// Where.
        place: Box<Place>,
        /// What is wrong.
        reason: String,
    },
    /// A stored value that its type does not allow. The row counts from the first row of the read that met it.
    #[error("column `{column}`, row {row}: {reason}")]
    Stored {
        /// The column.
        column: String,
        /// The row.
        row: u64,
        /// What is wrong with the value.
        reason: String,
    },
    /// A value to be written that does not fit its column. The row counts from the first row ever given to the writer.
    #[error("column `{column}`, row {row}: {reason}")]
    Value {
        /// The column.
        column: String,
        /// The row.
        row: u64,
        /// Why it does not fit, with the value itself.
        reason: String,
    },
    /// The text of a type does not parse.
    #[error("type {text:?}, at byte {position}: {reason}")]
    Type {
        /// The text.
        text: String,
        /// Where in it, in bytes.
        position: usize,
        /// What is wrong.
        reason: String,
    },
    /// A type that is not known here, or known and not supported.
    #[error("type `{name}` is not supported")]
    UnsupportedType {
        /// Its name.
        name: String,
    },
    /// An Arrow type that does not fit.
    #[error("column `{column}`: Arrow type {arrow} does not fit {expected}")]
    ArrowType {
        /// The column or field.
        column: String,
        /// The Arrow type.
        arrow: String,
        /// The ClickHouse type, or what would do.
        expected: String,
    },
    /// Something in a column is larger than can be handled at once.
    #[error("column `{column}`: {what}: {got} is more than {limit}")]
    Limit {
        /// The column.
        column: String,
        /// What is counted.
        what: &'static str,
        /// The most that is possible.
        limit: u64,
        /// What was asked for.
        got: u64,
    },
}

impl PartError {
    /// The kind of this error.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Block { cause, .. } => cause.kind(),
            Self::Corrupt { .. } | Self::Stored { .. } => Kind::Corrupt,
            Self::Value { .. } | Self::Type { .. } => Kind::Argument,
            Self::UnsupportedType { .. } | Self::ArrowType { .. } => Kind::Unsupported,
            Self::Limit { .. } => Kind::Limit,
        }
    }
    /// Where it happened, if that is known.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::Block { place, .. } | Self::Corrupt { place, .. } => Some(place),
            _ => None,
        }
    }
}
