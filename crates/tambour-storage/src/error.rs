//! Errors of storage: the file, what was tried, and why it went wrong.

use std::io;
use std::path::{Path, PathBuf};
use tambour_codec::Kind;

/// An error of storage.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// A file or directory could not be used.
    #[error("cannot {operation} {path:?}")]
    File {
        /// What was tried: `open`, `create`, `rename`, `list`, `sync`, ….
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: io::Error,
    },
    /// Another writer holds the lock of a directory.
    #[error("{path:?}: {holder} is writing to it")]
    Locked {
        /// The directory.
        path: PathBuf,
        /// Who: `process 4711`.
        holder: String,
    },
}

impl StorageError {
    /// The kind of this error.
    pub fn kind(&self) -> Kind {
        match self {
            Self::File { cause, .. } => kind_of_io(cause),
            Self::Locked { .. } => Kind::Conflict,
        }
    }

    /// A [`StorageError::File`] made from what an operation on a path answered.
    ///
    /// ```
    /// use std::path::Path;
    /// use tambour_storage::StorageError;
    /// let failed: std::io::Result<()> = Err(std::io::ErrorKind::NotFound.into());
    /// let error = failed.map_err(StorageError::file("open", Path::new("hits/data.bin"))).unwrap_err();
    /// assert!(error.to_string().contains("hits/data.bin"));
    /// ```
    pub fn file(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |cause| Self::File { operation, path, cause }
    }
}

/// The kind of an error of the operating system.
fn kind_of_io(error: &io::Error) -> Kind {
    match error.kind() {
        io::ErrorKind::NotFound => Kind::NotFound,
        io::ErrorKind::AlreadyExists => Kind::Conflict,
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => Kind::Corrupt,
        io::ErrorKind::FileTooLarge => Kind::Limit,
        _ => Kind::Io,
    }
}
