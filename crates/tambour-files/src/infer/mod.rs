//! Types from values: what a person who looks at the data would call each column.
//!
//! [`class`] says what one text looks like, [`evidence`] collects that over a column and decides, [`tree`] does the same for
//! JSON, whose values nest, and [`schema`] joins what
//! several files say, with [`unify`] for types that differ.

pub(crate) mod class;
pub(crate) mod evidence;
pub(crate) mod schema;
pub(crate) mod tree;
pub(crate) mod unify;

use tambour_function::value::time::DateOrder;
use tambour_part::DataType;
use tambour_part::types::Column;

/// A column and how its texts are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) column: Column,
    /// The order of dates like `1/2/2024`.
    pub(crate) order: DateOrder,
    /// An empty unquoted field of CSV is NULL, not the empty string.
    pub(crate) empty_is_null: bool,
    /// The type was inferred: refuse what inference would have called something else.
    pub(crate) inferred: bool,
    /// The type holds whole numbers and the values are written as floats.
    pub(crate) whole: bool,
    /// No moment, also inside of other values, may have a finer fraction of a second than its type, however finely it is
    /// written.
    pub(crate) exact: bool,
    /// No number of columns of numbers may become infinite, as 1e300 would in 32 bits.
    pub(crate) finite: bool,
    /// As in [`crate::ReadOptions::as_clickhouse`].
    pub(crate) as_clickhouse: bool,
}

impl Reading {
    /// How values of a type are read that nothing else is known of.
    pub(crate) fn plain(data_type: DataType) -> Self {
        Self {
            column: Column { name: String::new(), data_type },
            order: DateOrder::Iso,
            empty_is_null: false,
            inferred: false,
            whole: false,
            exact: false,
            finite: false,
            as_clickhouse: false,
        }
    }
}
