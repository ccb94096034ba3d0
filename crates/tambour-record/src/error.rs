//! Errors of record stores: the file, the place in it, what was found there, and what can be done.

use std::io;
use std::path::{Path, PathBuf};
use tambour_codec::Kind;
use tambour_storage::Place;

/// An error of a record store.
///
/// ```
/// # use std::sync::Arc;
/// use tambour_record::{RecordError, RecordStore};
/// # let storage: Arc<dyn tambour_record::Storage> = Arc::new(tambour_storage::memory::Memory::new());
/// let error = RecordStore::open(&storage, "nowhere".as_ref()).unwrap_err();
/// assert!(matches!(error, RecordError::NotAStore { .. }));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// A file or directory cannot be read or written.
    #[error("cannot {operation} {}", path.display())]
    File {
        /// What was attempted.
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        cause: io::Error,
    },
    /// Bytes that are not what was written.
    #[error("{}, offset {offset}: {what}: expected {expected}, got {got}; {}", path.display(), remedy(path))]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Where the damaged piece starts.
        offset: u64,
        /// Which piece, or which check.
        what: &'static str,
        /// What it should be.
        expected: String,
        /// What it is.
        got: String,
    },
    /// A file of a format that this version does not read.
    #[error("{}: format version {version} is not supported (this program reads 1 and 2, of open segments also 3)", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The version in it.
        version: u64,
    },
    /// A file that was written for another store.
    #[error("{}: belongs to the store {got:016x}, not to this one, {expected:016x}; copy records by export and append", path.display())]
    OtherStore {
        /// The file.
        path: PathBuf,
        /// Number of this store.
        expected: u64,
        /// Number in the file.
        got: u64,
    },
    /// A file that was written for another category.
    #[error("{}: belongs to another category than its directory is named after; move it, or rename the directory, back", path.display())]
    OtherCategory {
        /// The file.
        path: PathBuf,
    },
    /// No record has this id.
    #[error("no record {id}: the log holds {first} to {end} (exclusive)")]
    NotFound {
        /// The id.
        id: u64,
        /// First id that is there.
        first: u64,
        /// The id that the next record gets.
        end: u64,
    },
    /// What has this id was deleted or updated, and reclaimed or not.
    #[error("record {id} was deleted or updated; `get --key` reads the latest of a key")]
    Deleted {
        /// The id.
        id: u64,
    },
    /// The index of a segment is gone.
    #[error("{}: is not there, and searches read the whole segment; `records verify --repair` makes it again", path.display())]
    NoIndex {
        /// Where it should be.
        path: PathBuf,
    },
    /// A segment between two others is not there.
    #[error("{}: no file holds records {first} to {end} (exclusive)", path.display())]
    Missing {
        /// The directory.
        path: PathBuf,
        /// First id that is missing.
        first: u64,
        /// First id that is there again.
        end: u64,
    },
    /// A segment was dropped after this view of the log was opened.
    #[error("{}: the segment was dropped by retention; refresh the view", path.display())]
    Gone {
        /// The file.
        path: PathBuf,
    },
    /// Something is larger than allowed.
    #[error("{what} of {bytes} bytes exceeds the limit of {limit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// There is no record store.
    #[error("{}: is not a record store (it has no {marker})", path.display())]
    NotAStore {
        /// The directory.
        path: PathBuf,
        /// The file that makes a directory a store.
        marker: &'static str,
    },
    /// There is something where a store is to be made.
    #[error("{}: exists already", path.display())]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// Somebody else writes.
    #[error("{}: {holder} is writing to it; there is one writer at a time", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
        /// Who.
        holder: String,
    },
    /// A category that is not there.
    #[error("the store has no category `{name}`")]
    NoCategory {
        /// The name.
        name: String,
    },
    /// An argument that makes no sense.
    #[error("{problem}")]
    Argument {
        /// What is wrong with it.
        problem: String,
    },
    /// An earlier commit failed, and records that were appended with it were not kept.
    #[error("an earlier commit failed, record {id} was not kept; append it again")]
    Lost {
        /// The record.
        id: u64,
    },
    /// libzstd refused.
    #[error("zstd: {operation}: {reason}")]
    Zstd {
        /// What it was asked for.
        operation: &'static str,
        /// What it said.
        reason: &'static str,
    },
}

/// What to do about damage in a file: an index of words can be made again from the records.
fn remedy(path: &std::path::Path) -> &'static str {
    if path.extension().is_some_and(|it| it == "words") {
        "`records verify --repair` makes it again"
    } else {
        "`records salvage` copies what is intact"
    }
}

impl RecordError {
    /// Where in the store it is, if it is about a place in a file.
    pub fn place(&self) -> Option<Place> {
        match self {
            Self::Corrupt { path, offset, .. } => Some(Place::file(path).at(*offset)),
            Self::File { path, .. }
            | Self::Version { path, .. }
            | Self::NotAStore { path, .. }
            | Self::OtherStore { path, .. } => Some(Place::file(path)),
            _ => None,
        }
    }

    /// The kind of this error.
    pub fn kind(&self) -> Kind {
        match self {
            Self::File { cause, .. } => match cause.kind() {
                io::ErrorKind::NotFound => Kind::NotFound,
                io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => Kind::Corrupt,
                io::ErrorKind::FileTooLarge => Kind::Limit,
                _ => Kind::Io,
            },
            Self::Corrupt { .. } | Self::Missing { .. } | Self::NoIndex { .. } => Kind::Corrupt,
            Self::Version { .. } => Kind::Unsupported,
            Self::NotFound { .. }
            | Self::Deleted { .. }
            | Self::NotAStore { .. }
            | Self::NoCategory { .. } => Kind::NotFound,
            Self::Gone { .. }
            | Self::OtherStore { .. }
            | Self::OtherCategory { .. }
            | Self::Exists { .. }
            | Self::Locked { .. } => Kind::Conflict,
            Self::TooLarge { .. } => Kind::Limit,
            Self::Argument { .. } => Kind::Argument,
            Self::Lost { .. } | Self::Zstd { .. } => Kind::Io,
        }
    }

    /// The same error once more: errors of the operating system cannot be copied, their kind and text can.
    pub(super) fn again(&self) -> Self {
        match self {
            Self::File { operation, path, cause } => Self::File {
                operation,
                path: path.clone(),
                cause: io::Error::new(cause.kind(), cause.to_string()),
            },
            Self::Corrupt { path, offset, what, expected, got } => Self::Corrupt {
                path: path.clone(),
                offset: *offset,
                what,
                expected: expected.clone(),
                got: got.clone(),
            },
            Self::Version { path, version } => {
                Self::Version { path: path.clone(), version: *version }
            }
            Self::OtherStore { path, expected, got } => {
                Self::OtherStore { path: path.clone(), expected: *expected, got: *got }
            }
            Self::OtherCategory { path } => Self::OtherCategory { path: path.clone() },
            Self::Zstd { operation, reason } => Self::Zstd { operation, reason },
            other => Self::Argument { problem: other.to_string() },
        }
    }

    /// A [`RecordError::File`] made from what an operation on a path answered.
    pub(super) fn file(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| Self::File { operation, path, cause }
    }
}

/// Damage without its file: what a piece of a format finds wrong with itself.
#[derive(Debug)]
pub(super) struct Damage {
    /// Distance from the start of what was parsed.
    pub(super) at: u64,
    pub(super) what: &'static str,
    pub(super) expected: String,
    pub(super) got: String,
}

impl Damage {
    /// Damage at a place.
    #[cold]
    pub(super) fn new(
        at: usize,
        what: &'static str,
        expected: impl ToString,
        got: impl ToString,
    ) -> Self {
        Self { at: at as u64, what, expected: expected.to_string(), got: got.to_string() }
    }

    /// A sum that differs.
    #[cold]
    pub(super) fn sum(at: usize, what: &'static str, expected: u32, got: u32) -> Self {
        Self::new(at, what, format!("sum {expected:08x}"), format!("{got:08x}"))
    }

    /// The error, in a file whose piece started at `offset`.
    #[cold]
    pub(super) fn within(self, path: &Path, offset: u64) -> RecordError {
        let Self { at, what, expected, got } = self;
        RecordError::Corrupt { path: path.to_owned(), offset: offset + at, what, expected, got }
    }
}
