//! Errors of values.

use tambour_codec::Kind;

/// An error of a value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// A time zone that is not in the time zone database.
    #[error("time zone {name:?} is not known")]
    Zone {
        /// The name as written.
        name: String,
    },
}

impl ValueError {
    /// The kind of this error.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Zone { .. } => Kind::Argument,
        }
    }
}
