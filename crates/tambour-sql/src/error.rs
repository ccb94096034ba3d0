//! Errors of queries.

use datafusion::error::DataFusionError;
use tambour_codec::Kind;
use tambour_dialect::{DialectError, message};
use tambour_files::FileError;
use tambour_part::PartError;
use tambour_table::TableError;

/// An error of a query or of its preparation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SqlError {
    /// A statement cannot be parsed, planned or executed.
    #[error("{}", message::of(.0))]
    Query(DataFusionError),
    /// A table cannot be opened or registered.
    #[error("table {name:?}")]
    Table {
        /// Its name in SQL.
        name: String,
        /// Why.
        #[source]
        cause: Box<TableError>,
    },
    /// A value cannot be stored in its column.
    #[error("table {table:?}")]
    Rows {
        /// The table.
        table: String,
        /// Which value, and why.
        #[source]
        cause: Box<FileError>,
    },
    /// A row does not meet a constraint of its table.
    #[error(
        "table {table:?}, row {row}: it violates the constraint {constraint}, CHECK {expression}"
    )]
    Violated {
        /// The table.
        table: String,
        /// The constraint.
        constraint: String,
        /// What it says.
        expression: String,
        /// The row, counted from 1.
        row: usize,
    },
    /// A statement cannot be prepared, or what it asks for cannot be done.
    #[error(transparent)]
    Statement(#[from] DialectError),
    /// A statement names a table that the session does not have.
    #[error("there is no table {name:?}{}", known(.tables))]
    UnknownTable {
        /// The name as written.
        name: String,
        /// The tables that there are.
        tables: Vec<String>,
    },
    /// A statement calls a function that there is not.
    #[error("there is no function {name:?} here{}", alike(.similar))]
    UnknownFunction {
        /// The name as written.
        name: String,
        /// Functions that could be meant, the nearest first.
        similar: Vec<String>,
    },
    /// Two tables of a session have the same name.
    #[error("two tables are named {name:?}")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// The session cannot be made as asked.
    #[error("session: {reason}")]
    Session {
        /// What is wrong.
        reason: String,
    },
}

impl SqlError {
    /// Something is understood but cannot be done.
    pub(crate) fn refused(clause: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Statement(DialectError::Refused { clause: clause.into(), reason: reason.into() })
    }

    /// The kind of this error.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Query(error) => query_kind(error),
            Self::Table { cause, .. } => cause.kind(),
            Self::Rows { cause, .. } => cause.kind(),
            Self::Statement(DialectError::Syntax(error)) => query_kind(error),
            Self::Statement(DialectError::Limit { .. }) => Kind::Limit,
            Self::Statement(_) | Self::UnknownFunction { .. } => Kind::Argument,
            Self::UnknownTable { .. } => Kind::NotFound,
            Self::Duplicate { .. } => Kind::Conflict,
            Self::Session { .. } | Self::Violated { .. } => Kind::Argument,
        }
    }
}

impl From<DataFusionError> for SqlError {
    fn from(error: DataFusionError) -> Self {
        Self::Query(error)
    }
}

/// Our own errors keep their kind through DataFusion; the rest is sorted by its variant.
fn query_kind(error: &DataFusionError) -> Kind {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(current) = cause {
        if let Some(ours) = current.downcast_ref::<TableError>() {
            return ours.kind();
        }
        if let Some(ours) = current.downcast_ref::<PartError>() {
            return ours.kind();
        }
        cause = current.source();
    }
    match error.find_root() {
        DataFusionError::ResourcesExhausted(_) => Kind::Limit,
        DataFusionError::IoError(_) => Kind::Io,
        _ => Kind::Argument,
    }
}

/// The functions that could have been meant.
fn alike(functions: &[String]) -> String {
    if functions.is_empty() {
        return String::new();
    }
    format!("; similar ones: {}", functions.join(", "))
}

/// The tables that could have been meant.
fn known(tables: &[String]) -> String {
    if tables.is_empty() {
        return "; no table was given".to_owned();
    }
    format!("; there are: {}", tables.join(", "))
}
