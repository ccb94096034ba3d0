//! Exit codes, and which error means which.

use std::error::Error;
use tambour::Kind;
use tambour_report::ReportError;

/// How a run ended, as scripts see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All is well (also when the reader of our output went away).
    Ok = 0,
    /// An error of no other class.
    Error = 1,
    /// The command line is wrong.
    Usage = 2,
    /// Data is damaged.
    Corrupt = 3,
    /// A limit on memory or size.
    Limit = 4,
    /// A format or codec that this version does not know.
    Unsupported = 5,
    /// Something was saved of damaged data, and something was lost.
    Partial = 6,
    /// Interrupted by the user.
    Interrupted = 130,
}

impl Exit {
    /// The number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Error => 1,
            Self::Usage => 2,
            Self::Corrupt => 3,
            Self::Limit => 4,
            Self::Unsupported => 5,
            Self::Partial => 6,
            Self::Interrupted => 130,
        }
    }

    /// The class of an error: that of the first thing in its chain which has one.
    pub(crate) fn of(error: &(dyn Error + 'static)) -> Self {
        tambour::chain(error).find_map(Self::of_link).unwrap_or(Self::Error)
    }

    fn of_link(error: &(dyn Error + 'static)) -> Option<Self> {
        if let Some(failure) = error.downcast_ref::<Failure>() {
            return Some(failure.exit());
        }
        if let Some(error) = error.downcast_ref::<ReportError>() {
            return Some(error.kind().into());
        }
        tambour::kind_of_link(error)
            .map(Self::from)
            .or_else(|| is_out_of_memory(error).then_some(Self::Limit))
    }
}

impl From<Kind> for Exit {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Corrupt => Self::Corrupt,
            Kind::Limit => Self::Limit,
            Kind::Unsupported => Self::Unsupported,
            Kind::Interrupted => Self::Interrupted,
            _ => Self::Error,
        }
    }
}

/// The engine's own "memory exhausted", which has no kind of ours.
fn is_out_of_memory(error: &(dyn Error + 'static)) -> bool {
    use datafusion::error::DataFusionError;
    matches!(error.downcast_ref(), Some(DataFusionError::ResourcesExhausted(_)))
}

/// Errors that are the command line's own.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Arguments that cannot be meant.
    #[error("{0}")]
    Usage(String),
    /// Something named does not exist.
    #[error("{0}")]
    NotFound(String),
    /// Something is in the way.
    #[error("{0}")]
    Conflict(String),
    /// Something we do not do.
    #[error("{0}")]
    Unsupported(String),
    /// Errors that were listed on standard output already; the exit code is that of the worst.
    #[error("{summary}")]
    Listed {
        /// How many.
        summary: String,
        /// Their class.
        exit: Exit,
    },
    /// The user said stop.
    #[error("interrupted")]
    Interrupted,
}

impl Failure {
    fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::NotFound(_) | Self::Conflict(_) => Exit::Error,
            Self::Unsupported(_) => Exit::Unsupported,
            Self::Listed { exit, .. } => *exit,
            Self::Interrupted => Exit::Interrupted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::error::DataFusionError;

    #[test]
    fn the_first_class_in_the_chain_counts() {
        let inner = Failure::Unsupported("x".to_owned());
        let wrapped = DataFusionError::Context(
            "while reading".to_owned(),
            Box::new(DataFusionError::External(Box::new(inner))),
        );
        assert_eq!(Exit::of(&wrapped), Exit::Unsupported);
        let arrow = arrow::error::ArrowError::ExternalError(Box::new(wrapped));
        assert_eq!(Exit::of(&arrow), Exit::Unsupported);
        let shared = DataFusionError::Shared(std::sync::Arc::new(DataFusionError::from(arrow)));
        assert_eq!(Exit::of(&shared), Exit::Unsupported);
    }

    #[test]
    fn errors_without_a_class() {
        assert_eq!(Exit::of(&std::io::Error::other("x")), Exit::Error);
        assert_eq!(Exit::of(&DataFusionError::ResourcesExhausted(String::new())), Exit::Limit);
    }
}
