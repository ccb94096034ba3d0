//! What is said of an array that does not become a column.

use crate::error::Reject;
use crate::output::{Style, Text};
use arrow_array::ArrayRef;
use arrow_schema::{ArrowError, Field};

/// Why an array does not become a column.
#[derive(Debug)]
pub(crate) enum Misfit {
    /// This value does not fit.
    Value { row: usize, reason: Reject, value: Vec<u8> },
    /// No value of this type would.
    Type,
    /// Arrow says no.
    Arrow(ArrowError),
}

impl From<ArrowError> for Misfit {
    fn from(error: ArrowError) -> Self {
        Self::Arrow(error)
    }
}

pub(super) const OUT_OF_RANGE: Reject = Reject::new("outside the range of the type");

/// The first value that does not fit.
pub(super) fn first<T>(
    values: impl Iterator<Item = Option<T>>,
    fits: impl Fn(T) -> bool,
) -> Option<usize> {
    values.enumerate().find_map(|(row, value)| (!fits(value?)).then_some(row))
}

/// A value as text, for an error.
pub(super) fn text(array: &ArrayRef, field: &Field, row: usize) -> Vec<u8> {
    let mut value = Vec::new();
    if let Ok(texts) = Text::new(array.as_ref(), field, Style::Plain) {
        texts.write(row, &mut value);
    }
    value
}
