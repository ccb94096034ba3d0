//! Errors of backups: the file, and what is wrong.

use std::io;
use std::path::{Path, PathBuf};
use tambour_codec::Kind;

/// An error of a backup.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// A file could not be read.
    #[error("cannot read {path:?}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: io::Error,
    },
    /// The manifest or an archive contradicts itself.
    #[error("{path:?}: {what}")]
    Damaged {
        /// The manifest, the archive, or a file of the backup.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// Something that this version does not read.
    #[error("{path:?}: {what}")]
    Unsupported {
        /// The backup.
        path: PathBuf,
        /// What it is, and what to do.
        what: String,
    },
    /// The base of an increment is missing.
    #[error(
        "{path:?} is an increment, and its base {base} is not beside it: put the base into the same directory"
    )]
    NoBase {
        /// The increment.
        path: PathBuf,
        /// The base as the manifest names it.
        base: String,
    },
    /// A limit on sizes would be exceeded.
    #[error("{path:?}: {what} exceeds the limit of {limit}")]
    Limit {
        /// The archive.
        path: PathBuf,
        /// What is too large.
        what: String,
        /// The limit, with its unit.
        limit: String,
    },
}

impl BackupError {
    /// The kind of this error.
    pub fn kind(&self) -> Kind {
        match self {
            Self::File { cause, .. } => match cause.kind() {
                io::ErrorKind::NotFound => Kind::NotFound,
                io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => Kind::Corrupt,
                io::ErrorKind::FileTooLarge => Kind::Limit,
                _ => Kind::Io,
            },
            Self::Damaged { .. } => Kind::Corrupt,
            Self::Unsupported { .. } => Kind::Unsupported,
            Self::NoBase { .. } => Kind::NotFound,
            Self::Limit { .. } => Kind::Limit,
        }
    }

    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |cause| Self::File { path, cause }
    }

    pub(crate) fn damaged(path: &Path, what: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), what: what.into() }
    }
}
