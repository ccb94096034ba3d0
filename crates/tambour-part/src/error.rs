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
}

impl PartError {
    /// The kind of this error.
    pub fn kind(&self) -> Kind {
        todo!()
    }
    /// Where it happened, if that is known.
    pub fn place(&self) -> Option<&Place> {
        todo!()
    }
}
