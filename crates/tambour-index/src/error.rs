//! Why an index says nothing.

use tambour_codec::Kind;
use tambour_part::PartError;
use tambour_table::TableError;

/// An error of a skip index. No query fails for it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// Files of the part.
    #[error(transparent)]
    Part(#[from] PartError),
    /// Types or values of the table.
    #[error(transparent)]
    Table(#[from] TableError),
    /// An entry whose bytes the format does not allow.
    #[error("entry {entry}: {reason}")]
    Malformed {
        /// Which entry, from 0.
        entry: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// The index of a part is not that of the table.
    #[error("{field} is {got}, expected {expected}")]
    Mismatch {
        /// What differs.
        field: &'static str,
        /// What the table says.
        expected: usize,
        /// What the part has.
        got: usize,
    },
    /// An entry is wrong about the rows that it is of.
    #[error("entry {entry} is wrong about a value of the rows from granule {granule} on")]
    Wrong {
        /// Which entry, from 0.
        entry: usize,
        /// The first granule that it is of.
        granule: usize,
    },
    /// The index cannot be used with this part.
    #[error("{reason}")]
    Unusable {
        /// Why.
        reason: &'static str,
    },
}

impl IndexError {
    /// What a caller can do about it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Part(error) => error.kind(),
            Self::Table(error) => error.kind(),
            Self::Malformed { .. } | Self::Mismatch { .. } | Self::Wrong { .. } => Kind::Corrupt,
            Self::Unusable { .. } => Kind::Unsupported,
        }
    }
    pub(crate) fn malformed(entry: usize, reason: impl Into<String>) -> Self {
        Self::Malformed { entry, reason: reason.into() }
    }
}
