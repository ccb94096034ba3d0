//! Errors of stores: the statement, the expression or the table, what was done, and why it went wrong.

use arrow_schema::ArrowError;
use std::io;
use std::path::PathBuf;
use tambour_codec::{CodecError, Kind};
use tambour_part::PartError;

/// An error of a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
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
    /// A name that is no column of the table.
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
    #[error("function `{name}` is not known in a key expression")]
    UnknownFunction {
        /// The name as written.
        name: String,
    },
    /// A function does not take these arguments.
    #[error("function `{function}`: {problem}")]
    Function {
        /// The function.
        function: String,
        /// What is wrong with its arguments.
        problem: String,
    },
    /// A function cannot compute the value of one row.
    #[error("function `{function}`, row {row}: {problem}")]
    Value {
        /// The function.
        function: String,
        /// The row, from 0, within the batch.
        row: usize,
        /// What is wrong.
        problem: String,
    },
    /// A time zone that is not in the time zone database.
    #[error("time zone {name:?} is not known")]
    Zone {
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
    /// A file or directory of a table could not be used.
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
    /// A directory that holds no table.
    #[error("{path:?} is no table: {problem}")]
    NotATable {
        /// The directory.
        path: PathBuf,
        /// What is missing.
        problem: String,
    },
    /// A table that exists already.
    #[error("table {path:?} exists already")]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// Somebody else is writing to the table.
    #[error("table {path:?} is being written to by another process")]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// The sidecar is damaged.
    #[error("sidecar {path:?}: {problem}")]
    Sidecar {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Rows or another definition do not fit the table.
    #[error("table {table:?}: {problem}")]
    Mismatch {
        /// The table's directory.
        table: PathBuf,
        /// What differs.
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

impl StoreError {
    /// The kind of this error.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Syntax { .. }
            | Self::UnknownColumn { .. }
            | Self::DuplicateColumn { .. }
            | Self::Definition { .. }
            | Self::UnknownFunction { .. }
            | Self::Function { .. }
            | Self::Value { .. }
            | Self::Zone { .. }
            | Self::Arrow { .. }
            | Self::Mismatch { .. } => Kind::Argument,
            Self::Nesting { .. } | Self::Memory { .. } => Kind::Limit,
            Self::Refused { .. } => Kind::Unsupported,
            Self::Type { cause, .. } | Self::Part { cause, .. } => cause.kind(),
            Self::Codec { cause, .. } => cause.kind(),
            Self::File { cause, .. } => kind_of_io(cause),
            Self::NotATable { .. } => Kind::NotFound,
            Self::Exists { .. } | Self::Locked { .. } => Kind::Conflict,
            Self::Sidecar { .. } => Kind::Corrupt,
        }
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
