//! Errors of functions: which one, which row, and why.

use arrow_schema::ArrowError;
use tambour_codec::{CodecError, Kind};
use tambour_value::ValueError;

/// An error of a function.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FunctionError {
    /// A function has no code to run with.
    #[error("function `{function}`")]
    Kernel {
        /// The function.
        function: &'static str,
        /// Why.
        #[source]
        cause: CodecError,
    },
    /// A function does not take these arguments.
    #[error("function `{function}`: {problem}")]
    Function {
        /// The function.
        function: String,
        /// What is wrong with its arguments.
        problem: String,
    },
    /// A function cannot compute the value of one row.
    #[error("function `{function}`, row {row}: {problem}")]
    Value {
        /// The function.
        function: String,
        /// The row, from 0, within the batch.
        row: usize,
        /// What is wrong.
        problem: String,
    },
    /// A time zone that is not in the time zone database.
    #[error(transparent)]
    Zone(#[from] ValueError),
    /// Arrow could not do something with these values.
    #[error("{operation}")]
    Arrow {
        /// What was being done.
        operation: &'static str,
        /// Why not.
        #[source]
        cause: ArrowError,
    },
}

impl FunctionError {
    /// The kind of this error.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Function { .. } | Self::Value { .. } | Self::Arrow { .. } => Kind::Argument,
            Self::Zone(cause) => cause.kind(),
            Self::Kernel { cause, .. } => cause.kind(),
        }
    }

    /// A [`FunctionError::Arrow`].
    pub fn arrow(operation: &'static str) -> impl FnOnce(ArrowError) -> Self {
        move |cause| Self::Arrow { operation, cause }
    }
}
