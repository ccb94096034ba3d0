//! Errors of the page store: the file, the page, the place in the file, and what to do.

use std::io;
use std::path::{Path, PathBuf};
use tambour_codec::{CodecError, Kind};
use tambour_storage::Place;

/// An error of the page store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// A file could not be used.
    #[error("cannot {operation} {path:?}")]
    File {
        /// What was tried: `open`, `read`, `write`, `sync`, ….
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: io::Error,
    },
    /// The file system has no room; nothing of the batch was committed.
    #[error("no space left for {path:?}; this batch was not committed")]
    Full {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// A file that is not a page store.
    #[error("{path:?} is not a page store: {problem}")]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A file that is there already.
    #[error("{path:?} exists already")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Somebody else has the store open.
    #[error("{path:?} is in use: one process writes, or several read")]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a newer version.
    #[error("{path:?} has format version {version}; this program knows version {known} and older")]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u16,
        /// The newest that is known here.
        known: u16,
    },
    /// The file's own structures are damaged.
    #[error("{path:?}, {what} at {offset}: {problem}")]
    Structure {
        /// The file.
        path: PathBuf,
        /// Which structure: `superblock`, `map snapshot`, `commit`, `dictionary`.
        what: &'static str,
        /// Where it is.
        offset: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// The image of a page is not what the map says.
    #[error("{path:?}, page {page}, image at {offset}: {problem}")]
    Page {
        /// The file.
        path: PathBuf,
        /// The page.
        page: u64,
        /// Where its image is.
        offset: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// The image of a page has the right checksum and cannot be decoded.
    #[error("{path:?}, page {page}, image at {offset}: cannot be decoded")]
    Decode {
        /// The file.
        path: PathBuf,
        /// The page.
        page: u64,
        /// Where its image is.
        offset: u64,
        /// Why not.
        #[source]
        cause: CodecError,
    },
    /// A codec that does not do what it was asked for.
    #[error("codec {codec}")]
    Codec {
        /// The codec.
        codec: String,
        /// Why not.
        #[source]
        cause: CodecError,
    },
    /// The file is shorter than what it holds.
    #[error("{path:?} is truncated: it has {got} bytes and needs {expected}")]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Bytes that it needs.
        expected: u64,
        /// Bytes that it has.
        got: u64,
    },
    /// A page that was never written, or was freed.
    #[error("{path:?} has no page {page}")]
    NoPage {
        /// The file.
        path: PathBuf,
        /// The page.
        page: u64,
    },
    /// An argument that cannot be meant.
    #[error("{what}: {problem}")]
    Argument {
        /// Which.
        what: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// A store that was opened for reading.
    #[error("{path:?} was opened for reading only")]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// A sync failed before: what the system has dropped cannot be known, so nothing more is written.
    #[error(
        "{path:?}: an earlier {operation} failed, so the store takes no more writes; open it again, \
         which recovers every acknowledged batch"
    )]
    Poisoned {
        /// The file.
        path: PathBuf,
        /// What failed.
        operation: &'static str,
    },
    /// A backup stream that is damaged.
    #[error("backup stream, byte {offset}: {problem}")]
    Stream {
        /// Where in the stream.
        offset: u64,
        /// What is wrong.
        problem: String,
    },
    /// A backup that does not follow the store that it is restored into.
    #[error("backup does not fit: {problem}")]
    Mismatch {
        /// What differs.
        problem: String,
    },
    /// A limit would be exceeded.
    #[error("{what} is {got}, the limit is {limit}")]
    Limit {
        /// What of.
        what: &'static str,
        /// How much it is.
        got: u64,
        /// How much is allowed.
        limit: u64,
    },
}

impl PageError {
    /// What a caller can do about it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::File { cause, .. } => match cause.kind() {
                io::ErrorKind::NotFound => Kind::NotFound,
                io::ErrorKind::AlreadyExists => Kind::Conflict,
                io::ErrorKind::UnexpectedEof => Kind::Corrupt,
                _ => Kind::Io,
            },
            Self::Full { .. } | Self::Poisoned { .. } => Kind::Io,
            Self::NotAStore { .. } | Self::Newer { .. } => Kind::Unsupported,
            Self::Exists { .. } | Self::Locked { .. } | Self::Mismatch { .. } => Kind::Conflict,
            Self::Structure { .. }
            | Self::Page { .. }
            | Self::Truncated { .. }
            | Self::Stream { .. } => Kind::Corrupt,
            Self::Decode { cause, .. } => match cause.kind() {
                Kind::Unsupported => Kind::Unsupported,
                _ => Kind::Corrupt,
            },
            Self::Codec { cause, .. } => cause.kind(),
            Self::NoPage { .. } => Kind::NotFound,
            Self::Argument { .. } | Self::ReadOnly { .. } => Kind::Argument,
            Self::Limit { .. } => Kind::Limit,
        }
    }

    /// Where in the store it is, if it is about a place in the file.
    pub fn place(&self) -> Option<Place> {
        match self {
            Self::Structure { path, offset, .. }
            | Self::Page { path, offset, .. }
            | Self::Decode { path, offset, .. } => Some(Place::file(path).at(*offset)),
            Self::File { path, .. }
            | Self::NotAStore { path, .. }
            | Self::Truncated { path, .. } => Some(Place::file(path)),
            _ => None,
        }
    }

    /// The page that it is about.
    ///
    /// ```
    /// # use tambour_page::*;
    /// # use tambour_storage::place::disk;
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("drum.pages");
    /// # let mut store = Store::create(&path, &Options { page_bytes: 4096, ..Options::default() })?;
    /// let error = store.read(77, &mut [0; 4096]).unwrap_err();
    /// assert_eq!(error.page(), Some(77));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn page(&self) -> Option<u64> {
        match self {
            Self::Page { page, .. } | Self::Decode { page, .. } | Self::NoPage { page, .. } => {
                Some(*page)
            }
            _ => None,
        }
    }

    /// Makes a [`PageError::File`].
    pub(crate) fn file(
        operation: &'static str,
        path: &Path,
    ) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |cause| match cause.kind() {
            io::ErrorKind::WouldBlock => Self::Locked { path },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { path, cause },
            _ => Self::File { operation, path, cause },
        }
    }

    /// Makes a [`PageError::Structure`].
    pub(crate) fn structure(
        path: &Path,
        what: &'static str,
        offset: u64,
        problem: impl Into<String>,
    ) -> Self {
        Self::Structure { path: path.to_owned(), what, offset, problem: problem.into() }
    }
}
