//! Errors of statements that are not planned yet.

use crate::message;
use datafusion::error::DataFusionError;

/// Why a statement cannot be prepared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DialectError {
    /// It cannot be parsed.
    #[error("{}", message::of(.0))]
    Syntax(DataFusionError),
    /// Something in it is understood but cannot be done.
    #[error("{clause} is not supported: {reason}")]
    Refused {
        /// The clause or function as written.
        clause: String,
        /// Why, and what to do instead.
        reason: String,
    },
    /// It is larger than it may be.
    #[error("the {what} exceed the limit of {limit}")]
    Limit {
        /// What there is too much of.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
}

impl From<DataFusionError> for DialectError {
    fn from(error: DataFusionError) -> Self {
        Self::Syntax(error)
    }
}
