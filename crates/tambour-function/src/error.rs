//! Errors of functions: which one, which row, and why.

use arrow_schema::ArrowError;
use tambour_codec::{CodecError, Kind};

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
    #[error("time zone {name:?} is not known")]
    Zone {
        /// The name as written.
        name: String,
    },
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
            Self::Function { .. } | Self::Value { .. } | Self::Zone { .. } | Self::Arrow { .. } => {
                Kind::Argument
            }
            Self::Kernel { cause, .. } => cause.kind(),
        }
    }

    /// A [`FunctionError::Arrow`].
    pub(crate) fn arrow(operation: &'static str) -> impl FnOnce(ArrowError) -> Self {
        move |cause| Self::Arrow { operation, cause }
    }
}
