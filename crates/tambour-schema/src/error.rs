//! Errors of stores: the statement, the expression or the table, what was done, and why it went wrong.

use arrow_schema::ArrowError;
use std::io;
use std::path::{Path, PathBuf};
use tambour_codec::{CodecError, Kind};
use tambour_function::FunctionError;
use tambour_part::PartError;
use tambour_storage::StorageError;

/// An error of a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// A file or the lock of a table.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A backup or an archive.
    #[error(transparent)]
    Backup(#[from] tambour_backup::BackupError),
    /// An object store.
    #[error(transparent)]
    Store(#[from] tambour_object::StoreError),
    /// A function of a key expression.
    #[error(transparent)]
    Function(#[from] FunctionError),
    /// A statement or expression does not parse.
    #[error("line {line}, column {column}: expected {expected}, found {found}")]
    Syntax {
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What could have stood there.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// A statement or expression is nested or long beyond the limit.
    #[error("line {line}, column {column}: {what} exceeds the limit of {limit}")]
    Nesting {
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What is too deep or too long.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// A part of a statement that is understood but not supported.
    #[error("{clause} is not supported: {reason}")]
    Refused {
        /// The clause or function as written.
        clause: String,
        /// Why, and what to do instead.
        reason: String,
    },
    /// A type in a statement cannot be used.
    #[error("type of column `{column}`")]
    Type {
        /// The column.
        column: String,
        /// Why.
        #[source]
        cause: PartError,
    },
    /// A CODEC clause cannot be used.
    #[error("codec of column `{column}`")]
    Codec {
        /// The column.
        column: String,
        /// Why.
        #[source]
        cause: CodecError,
    },
    /// A name that is not a column of the table.
    #[error("{clause} names the column `{name}`, which the table does not have")]
    UnknownColumn {
        /// The clause or expression.
        clause: String,
        /// The name.
        name: String,
    },
    /// Two columns of one name.
    #[error("column `{name}` is defined twice")]
    DuplicateColumn {
        /// The name.
        name: String,
    },
    /// A statement that parses but makes no sense.
    #[error("{clause}: {problem}")]
    Definition {
        /// The clause.
        clause: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A function that is not known here.
    #[error("function `{name}` cannot be used in a key expression")]
    UnknownFunction {
        /// The name as written.
        name: String,
    },
    /// Arrow could not do something with these rows.
    #[error("{operation}")]
    Arrow {
        /// What was being done.
        operation: &'static str,
        /// Why not.
        #[source]
        cause: ArrowError,
    },
    /// A skip index of a part is damaged or wrong. Queries do without it.
    #[error("table {table:?}, part {part:?}: skip index `{index}`")]
    Index {
        /// The table's directory.
        table: PathBuf,
        /// The part's name.
        part: String,
        /// The index's name.
        index: String,
        /// What is wrong.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A part of a table cannot be used.
    #[error("table {table:?}, part {part:?}")]
    Part {
        /// The table's directory.
        table: PathBuf,
        /// The part's name.
        part: String,
        /// Why.
        #[source]
        cause: PartError,
    },
    /// A directory that holds no table.
    #[error("{path:?} is not a table: {problem}")]
    NotATable {
        /// The directory.
        path: PathBuf,
        /// What is missing.
        problem: &'static str,
    },
    /// A table that exists already.
    #[error("table {path:?} exists already")]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// A directory that holds something else than a table.
    #[error("{path:?} is neither empty nor a table: it holds {found:?}")]
    Occupied {
        /// The directory.
        path: PathBuf,
        /// One of the things in it.
        found: String,
    },
    /// The sidecar is damaged.
    #[error("{path:?}: {field}: expected {expected}, got {got}")]
    Sidecar {
        /// The file.
        path: PathBuf,
        /// Which field, or what of it.
        field: &'static str,
        /// What it should be.
        expected: String,
        /// What it is.
        got: String,
    },
    /// The sidecar is not JSON of the right shape.
    #[error("{path:?} is not the sidecar of a table")]
    SidecarSyntax {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: serde_json::Error,
    },
    /// Something of the table is of a version or kind that is not supported.
    #[error("{path:?}: {what} is not supported")]
    Unsupported {
        /// The file or directory.
        path: PathBuf,
        /// What it is.
        what: String,
    },
    /// A live part is not there.
    #[error("table {table:?}, part {part:?}: the directory is missing")]
    PartMissing {
        /// The table's directory.
        table: PathBuf,
        /// The part's name.
        part: String,
    },
    /// A part is not what its table, or the rest of the part, says it is.
    #[error("table {table:?}, part {part:?}: {field}: expected {expected}, got {got}")]
    PartDiffers {
        /// The table's directory.
        table: PathBuf,
        /// The part's name.
        part: String,
        /// What differs.
        field: &'static str,
        /// What it should be.
        expected: String,
        /// What it is.
        got: String,
    },
    /// Two parts claim the same block numbers.
    #[error("table {table:?}: parts {part:?} and {other:?} overlap, and neither covers the other")]
    PartsOverlap {
        /// The table's directory.
        table: PathBuf,
        /// A part's name.
        part: String,
        /// Another part's name.
        other: String,
    },
    /// Rows of a part are not in the order of the sorting key.
    #[error("table {table:?}, part {part:?}: row {row} is out of the order of the sorting key")]
    Unsorted {
        /// The table's directory.
        table: PathBuf,
        /// The part's name.
        part: String,
        /// The first row that belongs before the one in front of it.
        row: u64,
    },
    /// The definition given is not the table's.
    #[error("table {table:?}: {clause} differs: the table has {expected}, given is {got}")]
    DefinitionDiffers {
        /// The table's directory.
        table: PathBuf,
        /// What differs: columns, ORDER BY, ….
        clause: &'static str,
        /// The table's.
        expected: String,
        /// The one given.
        got: String,
    },
    /// Something needs the table's definition, which no file in the directory holds.
    #[error(
        "table {table:?}: {operation} needs the sorting key, which parts do not record; \
         put the CREATE TABLE statement into create.sql beside them"
    )]
    DefinitionUnknown {
        /// The table's directory.
        table: PathBuf,
        /// What was wanted.
        operation: &'static str,
    },
    /// Rows to insert do not have the columns of the table.
    #[error("rows to insert: {field}: expected {expected}, got {got}")]
    Rows {
        /// What differs.
        field: &'static str,
        /// The table's.
        expected: String,
        /// What was given.
        got: String,
    },
    /// One insert would make too many partitions.
    #[error("the rows fall into more than {limit} partitions; partition by something coarser")]
    Partitions {
        /// The most that are allowed.
        limit: usize,
    },
    /// An insert that failed before cannot go on.
    #[error("an earlier error stopped this insert")]
    Stopped,
    /// Work that nobody waits for was given up, because another writer waits or its caller said so. The table is as it was.
    #[error("{table:?}: the merge was given up")]
    GivenUp {
        /// The table's directory.
        table: PathBuf,
    },
    /// A commit failed, and it is open whether it took place; nothing that either outcome needs was removed.
    #[error(
        "table {table:?}: the commit may or may not have taken place; the next writer settles it"
    )]
    CommitUncertain {
        /// The table's directory.
        table: PathBuf,
        /// What failed.
        #[source]
        cause: Box<TableError>,
    },
    /// Another process has changed the definition since the table was opened.
    #[error("table {table:?}: another process has altered it in the meantime: try again")]
    Altered {
        /// The table's directory.
        table: PathBuf,
    },
    /// Rows or another definition do not fit the table.
    #[error("table {table:?}: {problem}")]
    Mismatch {
        /// The table's directory.
        table: PathBuf,
        /// What differs.
        problem: String,
    },
    /// A part is no longer what a scan was planned for.
    #[error("table {table:?}, part {part:?} has changed: {field}: expected {expected}, got {got}")]
    Changed {
        /// The table's directory.
        table: PathBuf,
        /// The part's name.
        part: String,
        /// What differs.
        field: &'static str,
        /// What it was.
        expected: String,
        /// What it is.
        got: String,
    },
    /// The primary index of a part is not in the order of the table's key: it may have been built for another one.
    #[error("table {table:?}, part {part:?}: entry {entry} of the primary index is out of order")]
    IndexUnsorted {
        /// The table's directory.
        table: PathBuf,
        /// The part's name.
        part: String,
        /// The first entry that is below the one before it.
        entry: usize,
    },
    /// Statistics that are kept of a part and cannot be used.
    #[error("statistics {path:?}: {problem}; the rows are read instead")]
    Statistics {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A scan that makes no sense.
    #[error("scan: {problem}")]
    Scan {
        /// What is wrong with it.
        problem: String,
    },
    /// A limit on memory or size would be exceeded.
    #[error("{what} needs {wanted} bytes, the limit is {limit}")]
    Memory {
        /// What needs it.
        what: &'static str,
        /// Bytes wanted.
        wanted: u64,
        /// Bytes allowed.
        limit: u64,
    },
}

impl TableError {
    /// The kind of this error.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Syntax { .. }
            | Self::UnknownColumn { .. }
            | Self::DuplicateColumn { .. }
            | Self::Definition { .. }
            | Self::UnknownFunction { .. }
            | Self::Arrow { .. }
            | Self::Mismatch { .. }
            | Self::Scan { .. }
            | Self::DefinitionUnknown { .. }
            | Self::Rows { .. } => Kind::Argument,
            Self::Nesting { .. } | Self::Memory { .. } | Self::Partitions { .. } => Kind::Limit,
            Self::Refused { .. } | Self::Unsupported { .. } => Kind::Unsupported,
            Self::Type { cause, .. } => cause.kind(),
            // The table says that the part is there: a file of it that is not found is damage.
            Self::Part { cause, .. } => match cause.kind() {
                Kind::NotFound => Kind::Corrupt,
                kind => kind,
            },
            Self::Codec { cause, .. } => cause.kind(),
            Self::Storage(error) => error.kind(),
            Self::Backup(error) => error.kind(),
            Self::Store(error) => error.kind(),
            Self::Function(error) => error.kind(),
            Self::NotATable { .. } => Kind::NotFound,
            Self::Exists { .. }
            | Self::Occupied { .. }
            | Self::Changed { .. }
            | Self::DefinitionDiffers { .. } => Kind::Conflict,
            Self::Sidecar { .. }
            | Self::Index { .. }
            | Self::IndexUnsorted { .. }
            | Self::Statistics { .. }
            | Self::SidecarSyntax { .. }
            | Self::PartMissing { .. }
            | Self::PartDiffers { .. }
            | Self::PartsOverlap { .. }
            | Self::Unsorted { .. } => Kind::Corrupt,
            Self::CommitUncertain { cause, .. } => cause.kind(),
            Self::Stopped => Kind::Io,
            Self::GivenUp { .. } | Self::Altered { .. } => Kind::Conflict,
        }
    }

    /// A [`StorageError::File`] made from what an operation on a path answered.
    pub fn file(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let wrap = StorageError::file(operation, path);
        move |cause| Self::Storage(wrap(cause))
    }

    /// A [`TableError::Part`] for a part of a table.
    pub fn part(table: &Path, part: &str) -> impl FnOnce(PartError) -> Self + use<> {
        let (table, part) = (table.to_owned(), part.to_owned());
        move |cause| Self::Part { table, part, cause }
    }

    /// A [`TableError::Arrow`].
    pub fn arrow(operation: &'static str) -> impl FnOnce(ArrowError) -> Self {
        move |cause| Self::Arrow { operation, cause }
    }
}
