//! What can be wrong with the wishes for an import, before a row is read.

use std::fmt;
use std::path::PathBuf;
use tambour_codec::spec::CodecSpec;
use tambour_codec::{CodecError, Kind};
use tambour_files::FileError;
use tambour_part::types::DataType;
use tambour_storage::Place;
use tambour_table::TableError;

/// A wish of [`ImportOptions`](crate::ImportOptions) that an error is about; its text is the clause of CREATE TABLE.
///
/// ```
/// use tambour::Clause;
///
/// assert_eq!(Clause::PartitionBy.to_string(), "PARTITION BY");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names say it")]
pub enum Clause {
    OrderBy,
    PrimaryKey,
    PartitionBy,
    Codec,
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OrderBy => "ORDER BY",
            Self::PrimaryKey => "PRIMARY KEY",
            Self::PartitionBy => "PARTITION BY",
            Self::Codec => "CODEC",
        })
    }
}

/// Options that cannot be followed.
///
/// ```
/// use tambour::{Clause, Error, ImportError, ImportOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
/// std::fs::write(&csv, "page,visits\n/,3\n")?;
/// let error = tambour::import([&csv], &hits, &ImportOptions::default().order_by("time")).unwrap_err();
/// assert_eq!(error.to_string(), "ORDER BY: no column \"time\"; there are: page, visits");
/// let Error::Import(ImportError::UnknownColumn { clause, .. }) = error else { panic!() };
/// assert_eq!(clause, Clause::OrderBy);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// Rows are added to a table, and keys or codecs are given that it has already.
    #[error("table {} has its keys and codecs already: give none to append to it", table.display())]
    KeysGiven {
        /// The table.
        table: PathBuf,
    },
    /// Workers cannot do this.
    #[error("workers read files, not standard input, and replace no table: import without them")]
    NotOnWorkers,
    /// Rows that are added do not fit a column, and no type that holds both kinds is taken without being asked for.
    #[error(
        "column `{column}` of table {} is {have}, and the files have {}; {}import all rows into a new table",
        table.display(),
        seen.as_ref().map_or("no such column".to_owned(), ToString::to_string),
        wider.as_ref().map_or(String::new(), |it| format!(
            "give a definition with a type that holds both ({it} does), or "
        ))
    )]
    Unlike {
        /// The table.
        table: PathBuf,
        /// The column.
        column: String,
        /// Its type.
        have: Box<DataType>,
        /// What the files' values look like, if they have it.
        seen: Option<Box<DataType>>,
        /// A type that holds both, if there is one.
        wider: Option<Box<DataType>>,
        /// The first value that does not fit.
        #[source]
        cause: Box<FileError>,
    },
    /// A key or codec is for a column that is not there.
    #[error("{clause}: no column {column:?}; there are: {}", known.join(", "))]
    UnknownColumn {
        /// Which wish.
        clause: Clause,
        /// The column.
        column: String,
        /// The columns that there are.
        known: Vec<String>,
    },
    /// A key that does not parse.
    #[error("{clause}")]
    Key {
        /// Which.
        clause: Clause,
        /// What is wrong with it.
        #[source]
        cause: Box<TableError>,
    },
    /// A codec that ClickHouse does not read, and that nobody allowed.
    #[error(
        "CODEC({codec}) is Tambour's own, and ClickHouse does not read it; `portable(false)` allows that"
    )]
    NotPortable {
        /// The codec.
        codec: CodecSpec,
    },
    /// A codec that is known and cannot be written.
    #[error("codec {codec}")]
    Codec {
        /// The codec.
        codec: CodecSpec,
        /// Why not.
        #[source]
        cause: CodecError,
    },
}

impl ImportError {
    /// The table, or the column, that it is about.
    pub(crate) fn place(&self) -> Option<Place> {
        match self {
            Self::KeysGiven { table } => Some(Place::file(table)),
            Self::Unlike { table, column, .. } => Some(Place::file(table).of_column(column)),
            Self::UnknownColumn { column, .. } => Some(Place::column(column)),
            _ => None,
        }
    }

    /// What a caller can do about it.
    ///
    /// ```
    /// use tambour::{Clause, ImportError, Kind};
    ///
    /// let known = vec!["page".to_owned(), "visits".to_owned()];
    /// let error = ImportError::UnknownColumn { clause: Clause::Codec, column: "time".to_owned(), known };
    /// assert_eq!(error.kind(), Kind::NotFound);
    /// ```
    pub fn kind(&self) -> Kind {
        match self {
            Self::KeysGiven { .. }
            | Self::NotPortable { .. }
            | Self::NotOnWorkers
            | Self::Unlike { .. } => Kind::Argument,
            Self::UnknownColumn { .. } => Kind::NotFound,
            Self::Key { cause, .. } => cause.kind(),
            Self::Codec { .. } => Kind::Unsupported,
        }
    }
}
