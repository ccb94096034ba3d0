//! What can stop a report.

use std::path::PathBuf;
use tambour_codec::Kind;

/// An error of a report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A file or directory cannot be written.
    #[error("{}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// There is too little to report on.
    #[error("{what}")]
    NoInput {
        /// What is there, and what it takes.
        what: String,
    },
    /// A library refused to encode or decode a sample.
    #[error("{library}: {reason}")]
    Library {
        /// Which library.
        library: &'static str,
        /// What it said.
        reason: String,
    },
    /// The page could not be laid out.
    #[error("report page")]
    Page(#[source] askama::Error),
}

impl ReportError {
    /// What a caller can do about it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                Kind::NotFound
            }
            Self::Io { .. } | Self::Page(_) | Self::Library { .. } => Kind::Io,
            Self::NoInput { .. } => Kind::Argument,
        }
    }
}
