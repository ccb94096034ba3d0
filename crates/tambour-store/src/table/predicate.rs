//! Predicates that can prune: what a scan knows of a WHERE clause.

use crate::schema::expression::Expression;
use serde::{Deserialize, Serialize};

/// A constant, in the terms of the column's ClickHouse type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Constant {
    /// NULL.
    Null,
    /// Booleans.
    Bool(bool),
    /// Integers up to 128 bits, dates as days, times as ticks of the column's Arrow unit.
    Integer(i128),
    /// Floats.
    Float(f64),
    /// Decimals: unscaled value and scale.
    Decimal(i128, i8),
    /// Strings and other bytes.
    Bytes(Vec<u8>),
}

/// Comparison operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A condition on rows. What it cannot express is `Unknown`, which prunes nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Predicate {
    /// May be true for any row.
    Unknown,
    /// All of them.
    And(Vec<Predicate>),
    /// Any of them.
    Or(Vec<Predicate>),
    /// `expression operator constant`.
    Compare(Expression, Comparison, Constant),
    /// `expression IN (…)` (or NOT IN).
    In(Expression, Vec<Constant>, bool),
    /// `expression IS NULL` (or IS NOT NULL).
    IsNull(Expression, bool),
    /// The string starts with these bytes (`LIKE 'abc%'`).
    StartsWith(Expression, Vec<u8>),
}
