//! What can stop a benchmark.

use std::path::PathBuf;
use tambour_codec::Kind;
use tambour_report::ReportError;

/// An error of a benchmark.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// A file or directory cannot be read or written.
    #[error("{}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// A compressed sample cannot be decompressed.
    #[error("{}: {reason}", path.display())]
    Zstd {
        /// The file.
        path: PathBuf,
        /// What the library said.
        reason: &'static str,
    },
    /// There is nothing to measure.
    #[error("no file with content in {what}")]
    NoInput {
        /// Where it was looked for.
        what: String,
    },
    /// A block that cannot be encoded to begin with.
    #[error("{file}, block {block}: {encoder} cannot encode it")]
    Encode {
        /// Name of the input.
        file: String,
        /// Number of the block.
        block: usize,
        /// Who gave up.
        encoder: &'static str,
    },
    /// A contender did not give the source back.
    #[error("{contender}: {file}, block {block}: {reason}")]
    WrongOutput {
        /// Who it was.
        contender: String,
        /// Name of the input.
        file: String,
        /// Number of the block.
        block: usize,
        /// Its own error, or where the first difference is.
        reason: String,
    },
    /// A library of others refused.
    #[error("{contender}: {reason}")]
    Library {
        /// Who it was.
        contender: String,
        /// What it said.
        reason: String,
    },
    /// A record store.
    #[error("record store")]
    Records(#[from] tambour_record::RecordError),
    /// A store of pages did not do what was asked for.
    #[error(transparent)]
    Pages(#[from] tambour_page::PageError),
    /// A contender cannot encode or decode a message.
    #[error("messages: {reason}")]
    Message {
        /// What its library says.
        reason: String,
    },
    /// A report cannot be made or written.
    #[error(transparent)]
    Report(#[from] ReportError),
}

impl BenchError {
    /// What a caller can do about it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                Kind::NotFound
            }
            Self::Io { .. } | Self::Library { .. } => Kind::Io,
            Self::Report(error) => error.kind(),
            Self::Records(error) => error.kind(),
            Self::Pages(error) => error.kind(),
            Self::NoInput { .. } => Kind::Argument,
            Self::Encode { .. } => Kind::Limit,
            Self::Zstd { .. } | Self::WrongOutput { .. } | Self::Message { .. } => Kind::Corrupt,
        }
    }
}
