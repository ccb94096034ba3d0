//! What can go wrong inside a column, before the column's name and its first row are known.

use crate::{PartError, Place};
use arrow_schema::ArrowError;

/// A fault. Rows count from the first one of the array or read at hand and are shifted on the way up.
#[derive(Debug)]
pub(super) enum Fault {
    /// An error of the source, or one that names its place already.
    Part(PartError),
    /// A value, read or to be written.
    Value { row: usize, reason: String },
    /// Bytes that are not UTF-8.
    Utf8 { row: usize },
    /// More than can be handled at once.
    Limit { field: &'static str, limit: u64, got: u64 },
    /// Something that is wrong with no row in particular.
    Other { reason: String },
}

/// Which way the data goes: what is wrong with a stored value is damage, with one handed in the caller's mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Read,
    Write,
}

impl Fault {
    pub(super) fn value(row: usize, reason: impl Into<String>) -> Self {
        Self::Value { row, reason: reason.into() }
    }

    pub(super) fn limit(field: &'static str, limit: usize, got: usize) -> Self {
        Self::Limit { field, limit: limit as u64, got: got as u64 }
    }

    /// The same fault, its row seen from outside.
    pub(super) fn map_row(self, outer: impl FnOnce(usize) -> usize) -> Self {
        match self {
            Self::Value { row, reason } => Self::Value { row: outer(row), reason },
            Self::Utf8 { row } => Self::Utf8 { row: outer(row) },
            other => other,
        }
    }

    /// The error that the caller sees; `first` is the row of the part at which the array or read at hand starts.
    pub(super) fn into_error(self, column: &str, first: u64, way: Way) -> PartError {
        let place = Place::column(column);
        match self {
            Self::Part(mut error) => {
                if let Some(place) = error.place_mut() {
                    place.column.get_or_insert_with(|| column.to_owned());
                }
                error
            }
            Self::Value { row, reason } => {
                let place = place.at_row(first + row as u64);
                match way {
                    Way::Read => PartError::malformed(place, reason),
                    Way::Write => PartError::value(place, reason),
                }
            }
            Self::Utf8 { row } => {
                PartError::Utf8 { place: Box::new(place.at_row(first + row as u64)) }
            }
            Self::Limit { field, limit, got } => PartError::limit(place, field, limit, got),
            Self::Other { reason } => match way {
                Way::Read => PartError::malformed(place, reason),
                Way::Write => PartError::value(place, reason),
            },
        }
    }
}

impl From<PartError> for Fault {
    fn from(error: PartError) -> Self {
        Self::Part(error)
    }
}

/// Arrow checks again what was checked before an array is made; its word is kept if it objects all the same.
impl From<ArrowError> for Fault {
    fn from(error: ArrowError) -> Self {
        Self::Other { reason: error.to_string() }
    }
}
