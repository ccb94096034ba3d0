//! Errors of interchange files: which file, which row and column, what was found there.

use arrow_schema::ArrowError;
use parquet::errors::ParquetError;
use std::fmt;
use std::path::{Path, PathBuf};
use tambour_codec::Kind;
pub(crate) use tambour_function::value::Reject;
use tambour_part::{PartError, Place};

/// NULL in a column that has none.
pub(crate) const NOT_NULLABLE: Reject = Reject::new("the type is not Nullable");
/// No value at all for such a column.
pub(crate) const MISSING: Reject = Reject::new("the key is missing, and the type is not Nullable");

/// Where in a file a value stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The file; `-` is standard input.
    pub path: PathBuf,
    /// Row, counted from 1, a header not counted; 0 is the header.
    pub row: u64,
    /// Line of a text file on which the row's record (or the value) stands, counted from 1.
    pub line: Option<u64>,
    /// The column, if one is concerned.
    pub column: Option<String>,
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.row {
            0 => write!(f, "{}, header", shown(&self.path))?,
            row => write!(f, "{}, row {row}", shown(&self.path))?,
        }
        if let Some(line) = self.line {
            write!(f, " (line {line})")?;
        }
        if let Some(column) = &self.column {
            write!(f, ", column `{column}`")?;
        }
        Ok(())
    }
}

/// A path as messages show it.
pub(crate) fn shown(path: &Path) -> String {
    if path.as_os_str() == "-" { "<stdin>".to_owned() } else { path.display().to_string() }
}

/// An error of an interchange file: names the file, and the column, row or offset where it can.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The operating system refused.
    #[error("{}: cannot {action}", shown(path))]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried: `open`, `read`.
        action: &'static str,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// The compressed stream around a text file is damaged or cut off.
    #[error("{}: cannot decompress {format} after {offset} bytes", shown(path))]
    Decompress {
        /// The file.
        path: PathBuf,
        /// `zstd` or `gzip`.
        format: &'static str,
        /// Decompressed bytes before the damage.
        offset: u64,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// There is nothing in the file.
    #[error("{}: {what}", shown(path))]
    Empty {
        /// The file.
        path: PathBuf,
        /// In which way it is empty.
        what: &'static str,
    },
    /// The file's format is unknown or not one that is read.
    #[error("{}: {reason}", shown(path))]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
    /// The call asks for something that does not go together.
    #[error("{reason}")]
    Argument {
        /// What is wrong.
        reason: String,
    },
    /// A record has more or fewer fields than the first one.
    #[error("{spot}: expected {expected} fields, got {got}")]
    Ragged {
        /// Where.
        spot: Box<Spot>,
        /// Fields of the header or the first record.
        expected: usize,
        /// Fields of this one.
        got: usize,
    },
    /// A quoted field that goes wrong.
    #[error("{spot}: {reason}")]
    Quote {
        /// Where.
        spot: Box<Spot>,
        /// What is wrong.
        reason: &'static str,
    },
    /// Bytes that are not UTF-8.
    #[error("{spot}: invalid UTF-8 in {value:?}")]
    Utf8 {
        /// Where.
        spot: Box<Spot>,
        /// The value, with replacement characters.
        value: String,
    },
    /// A line is not a JSON object.
    #[error("{spot}, byte {at}: {reason}")]
    Json {
        /// Where.
        spot: Box<Spot>,
        /// Byte in the line, counted from 1.
        at: usize,
        /// What is wrong.
        reason: &'static str,
    },
    /// A value that the given type cannot hold.
    #[error("{spot}: {value:?} does not fit {data_type}: {reason}")]
    Value {
        /// Where.
        spot: Box<Spot>,
        /// The value, shortened if it is long.
        value: String,
        /// The type of the column.
        data_type: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// A row contradicts the type that was inferred from the rows before it; [`crate::Input::restart`] takes it into account.
    #[error(
        "{spot}: {value:?} does not fit {data_type}, the type inferred from the first rows: {reason}"
    )]
    Widen {
        /// Where.
        spot: Box<Spot>,
        /// The value, shortened if it is long.
        value: String,
        /// The type of the column.
        data_type: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// Like [`FileError::Widen`], of a stream that cannot be read again.
    #[error(
        "{spot}: {value:?} does not fit {data_type}, the type inferred from the first rows ({reason}); a stream cannot be \
         read twice: give the types with CREATE TABLE (--create), or import a file"
    )]
    WidenStream {
        /// Where.
        spot: Box<Spot>,
        /// The value, shortened if it is long.
        value: String,
        /// The type of the column.
        data_type: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// The table has a column that the file lacks.
    #[error("{}: no column `{column}`, and its type is not Nullable", shown(path))]
    MissingColumn {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
    },
    /// The file has a column that the table lacks.
    #[error("{}: column `{column}` is not a column of the table", shown(path))]
    UnknownColumn {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
    },
    /// A column of a file with types is of another kind than the given type.
    #[error("{}: column `{column}` is {from}, which cannot become {data_type}", shown(path))]
    Form {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// The type in the file.
        from: String,
        /// The type of the column.
        data_type: String,
    },
    /// A column has a type that has no place in a table.
    #[error("{}, column `{column}`: type {data_type} cannot be stored", shown(path))]
    Type {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// The type in the file.
        data_type: String,
        /// Why not.
        #[source]
        source: Box<PartError>,
    },
    /// More of something than is accepted.
    #[error("{spot}: {what} exceeds the limit of {limit}")]
    Limit {
        /// Where.
        spot: Box<Spot>,
        /// What there is too much of.
        what: &'static str,
        /// How much is accepted.
        limit: u64,
    },
    /// A Parquet file that cannot be read.
    #[error("{}: cannot read Parquet ({place})", shown(path))]
    Parquet {
        /// The file.
        path: PathBuf,
        /// Where: `footer`, `row group 3`.
        place: String,
        /// Why not.
        #[source]
        source: ParquetError,
    },
    /// An Arrow file that cannot be read, or a conversion that failed.
    #[error("{}: cannot read Arrow data ({place})", shown(path))]
    Arrow {
        /// The file.
        path: PathBuf,
        /// Where: `footer`, `batch 3`.
        place: String,
        /// Why not.
        #[source]
        source: ArrowError,
    },
    /// A columnar file whose fields contradict each other or the file's size.
    #[error("{}: damaged: {reason}", shown(path))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What contradicts what.
        reason: String,
    },
    /// The target of an output cannot be written.
    #[error("cannot write")]
    Write {
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// Rows cannot be put into the format.
    #[error("cannot write {format}")]
    Encode {
        /// The format.
        format: &'static str,
        /// Why not.
        #[source]
        source: ArrowError,
    },
}

impl FileError {
    /// The kind of this error.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                Kind::NotFound
            }
            Self::Io { .. } | Self::Write { .. } => Kind::Io,
            Self::Decompress { source, .. } if source.kind() == std::io::ErrorKind::OutOfMemory => {
                Kind::Limit
            }
            Self::Decompress { .. } | Self::Parquet { .. } | Self::Damaged { .. } => Kind::Corrupt,
            Self::Arrow { source, .. } => arrow_kind(source, Kind::Corrupt),
            Self::Encode { source, .. } => arrow_kind(source, Kind::Unsupported),
            Self::Unsupported { .. } | Self::Type { .. } => Kind::Unsupported,
            Self::Limit { .. } => Kind::Limit,
            Self::Empty { .. }
            | Self::Argument { .. }
            | Self::Ragged { .. }
            | Self::Quote { .. }
            | Self::Utf8 { .. }
            | Self::Json { .. }
            | Self::Value { .. }
            | Self::Widen { .. }
            | Self::WidenStream { .. }
            | Self::MissingColumn { .. }
            | Self::UnknownColumn { .. }
            | Self::Form { .. } => Kind::Argument,
        }
    }

    /// Where it happened, as far as it is known; rows count from 1, a header not counted.
    pub fn place(&self) -> Option<Place> {
        let mut place = self.spot()?;
        // What a program hands over has a name for messages, which names no file.
        if place.path == Path::new(crate::handed::NAME) {
            place.path = PathBuf::new();
        }
        Some(place)
    }

    fn spot(&self) -> Option<Place> {
        match self {
            Self::Argument { .. } | Self::Write { .. } | Self::Encode { .. } => None,
            Self::Io { path, .. }
            | Self::Empty { path, .. }
            | Self::Unsupported { path, .. }
            | Self::Parquet { path, .. }
            | Self::Arrow { path, .. }
            | Self::Damaged { path, .. } => Some(Place::file(path)),
            Self::Decompress { path, offset, .. } => Some(Place::file(path).at(*offset)),
            Self::MissingColumn { path, column }
            | Self::UnknownColumn { path, column }
            | Self::Form { path, column, .. }
            | Self::Type { path, column, .. } => Some(Place::file(path).of_column(column)),
            Self::Ragged { spot, .. }
            | Self::Quote { spot, .. }
            | Self::Utf8 { spot, .. }
            | Self::Json { spot, .. }
            | Self::Value { spot, .. }
            | Self::Widen { spot, .. }
            | Self::WidenStream { spot, .. }
            | Self::Limit { spot, .. } => Some(Place {
                column: spot.column.clone(),
                row: Some(spot.row),
                ..Place::file(&spot.path)
            }),
        }
    }

    /// The column whose given type does not hold the rows of a file: a value does not fit it, or there is none at all.
    pub fn misfit(&self) -> Option<&str> {
        match self {
            Self::Value { spot, .. } => spot.column.as_deref(),
            Self::MissingColumn { column, .. }
            | Self::Form { column, .. }
            | Self::Type { column, .. } => Some(column),
            _ => None,
        }
    }

    /// True if what does not fit is a NULL, or a column that the file does not have.
    pub fn is_null(&self) -> bool {
        match self {
            Self::Value { reason, .. } => [NOT_NULLABLE.reason, MISSING.reason].contains(reason),
            Self::MissingColumn { .. } => true,
            _ => false,
        }
    }

    /// The same error when the first record turns out to be a header.
    pub(crate) fn behind_header(mut self) -> Self {
        match &mut self {
            Self::Ragged { spot, .. } | Self::Quote { spot, .. } | Self::Limit { spot, .. } => {
                spot.row = spot.row.saturating_sub(1);
            }
            _ => {}
        }
        self
    }

    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), action, source }
    }
}

fn arrow_kind(error: &ArrowError, other: Kind) -> Kind {
    match error {
        ArrowError::IoError(..) => Kind::Io,
        ArrowError::MemoryError(_) => Kind::Limit,
        ArrowError::NotYetImplemented(_) => Kind::Unsupported,
        _ => other,
    }
}

/// Longest value that a message quotes, in bytes.
const QUOTED_BYTES_MAX: usize = 80;

/// A value as messages quote it: lossy, and cut where it is long.
pub(crate) fn quoted(value: &[u8]) -> String {
    if value.len() <= QUOTED_BYTES_MAX {
        return String::from_utf8_lossy(value).into_owned();
    }
    let mut text = String::from_utf8_lossy(&value[..QUOTED_BYTES_MAX]).into_owned();
    text.push_str("...");
    text
}
