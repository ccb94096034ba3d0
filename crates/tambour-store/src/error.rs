//! Errors of stores.

use tambour_codec::Kind;
use tambour_part::PartError;

/// An error of a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A part of a table cannot be used.
    #[error("table {table:?}, part {part:?}")]
    Part {
        /// The table's directory.
        table: std::path::PathBuf,
        /// The part's name.
        part: String,
        /// Why.
        #[source]
        cause: PartError,
    },
}

impl StoreError {
    /// The kind of this error.
    pub fn kind(&self) -> Kind {
        todo!()
    }
}
