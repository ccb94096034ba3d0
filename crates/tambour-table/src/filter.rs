//! Filters that decide about rows: comparisons of columns with literals, IN, IS NULL, AND, OR, NOT.
//!
//! A [`Filter`] is what somebody wrote, as text or by its variants. [`Filter::bind`] makes a [`RowFilter`] of it for columns
//! of a table: that one tells which rows match, exactly and with ClickHouse's results, and gives the [`Predicate`] by which
//! a scan leaves out granules.
//!
//! ```
//! use tambour_table::filter::Filter;
//! use tambour_part::types::Column;
//!
//! let filter: Filter = "visits > 10 AND page NOT IN ('/', '/about')".parse()?;
//! let columns = [("visits", "UInt32"), ("page", "String")]
//!     .map(|(name, data_type)| Column { name: name.to_owned(), data_type: data_type.parse().unwrap() });
//! let rows = filter.bind(&columns)?;
//! assert_eq!(rows.predicate().to_string(), "visits > 10 AND page NOT IN ('/', '/about')");
//! # Ok::<(), tambour_table::TableError>(())
//! ```
//!
//! The logic has three values: a comparison with NULL is NULL, and a row matches only where all of it is true. Values are
//! compared as ClickHouse compares them: NaN with nothing, enums by number, UUIDs by their second half first, FixedString
//! without its trailing zeros, Float32 as Float64, times as texts in the zone of their column. In two points a filter is
//! more exact than ClickHouse: numbers with a decimal point are compared with Decimal as they are written and not as
//! Float64, and so are integers beyond 64 bits.

mod bound;
mod number;
mod parse;
mod rows;
#[cfg(test)]
mod tests;

pub use rows::RowFilter;

use crate::TableError;
use crate::predicate::Comparison;
#[cfg(doc)]
use crate::predicate::Predicate;
use std::str::FromStr;
use tambour_part::types::Column;

/// A value as it is written in a filter; the column's type says what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Literal {
    /// NULL.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number in decimal notation.
    Number(String),
    /// A text: of strings, dates, times, enums, UUIDs, addresses, or of a number.
    Text(String),
}

/// A condition on rows, not yet tied to columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// All of them; of none it is true.
    All(Vec<Filter>),
    /// Any of them; of none it is false.
    Any(Vec<Filter>),
    /// The opposite.
    Not(Box<Filter>),
    /// A column compared with a literal.
    Compare(String, Comparison, Literal),
    /// A column that is equal to one of these; a NULL among them is equal to nothing.
    In(String, Vec<Literal>),
    /// A column that is NULL.
    IsNull(String),
    /// A column of type Bool by itself.
    IsTrue(String),
}

impl Filter {
    /// The filter over columns of a table; an error if a column is not there, cannot be compared, or not with this literal.
    pub fn bind(&self, columns: &[Column]) -> Result<RowFilter, TableError> {
        RowFilter::new(self, columns)
    }
}

impl FromStr for Filter {
    type Err = TableError;

    /// Parses a condition as it may stand in WHERE.
    fn from_str(text: &str) -> Result<Self, TableError> {
        parse::parse(text)
    }
}
