//! Predicates that can prune: what a scan knows of a WHERE clause.
//!
//! A predicate never decides about a row, only whether a granule may hold one that matches; whoever reads the rows filters
//! them again. So everything here may err towards [`Predicate::Unknown`], and nothing may err the other way.

use crate::schema::expression::Expression;
use serde::{Deserialize, Serialize};
use std::fmt;

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
    Float(#[serde(with = "float_bits")] f64),
    /// Decimals: unscaled value and scale.
    Decimal(i128, i8),
    /// Strings and other bytes.
    Bytes(Vec<u8>),
}

/// Floats travel as their bits: JSON has neither NaN nor infinities.
mod float_bits {
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
    pub(super) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(value.to_bits())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        u64::deserialize(deserializer).map(f64::from_bits)
    }
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

impl Comparison {
    /// The comparison that is true where this one is false (NULL aside).
    ///
    /// ```
    /// use tambour_table::predicate::Comparison;
    /// assert_eq!(Comparison::Less.negated(), Comparison::GreaterOrEqual);
    /// ```
    pub fn negated(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
        }
    }
    /// The comparison with its sides exchanged.
    pub fn swapped(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            Self::Equal | Self::NotEqual => self,
        }
    }
}

/// Where a string has some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Within {
    /// Anywhere (`LIKE '%abc%'`).
    Anywhere,
    /// At its end (`LIKE '%abc'`).
    End,
    /// As a word of letters, digits, and bytes outside ASCII (`hasToken`).
    Word,
}

/// A condition on rows. What it cannot express is `Unknown`, which prunes nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Predicate {
    /// May be true for any row.
    Unknown,
    /// All of them.
    And(Vec<Predicate>),
    /// Any of them; of none it is never true.
    Or(Vec<Predicate>),
    /// `expression operator constant`.
    Compare(Expression, Comparison, Constant),
    /// `expression IN (…)`, or NOT IN if the flag is set.
    In(Expression, Vec<Constant>, bool),
    /// `expression IS NULL`, or IS NOT NULL if the flag is set.
    IsNull(Expression, bool),
    /// The string starts with these bytes (`LIKE 'abc%'`).
    StartsWith(Expression, Vec<u8>),
    /// The string has these bytes in it.
    Contains(Expression, Vec<u8>, Within),
    /// The array has this element.
    Has(Expression, Constant),
}

impl Predicate {
    /// All of `parts`, as simple as it can be said.
    pub fn all(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut flat = Vec::new();
        for part in parts {
            match part {
                Self::Unknown => {}
                Self::And(inner) => flat.extend(inner),
                other => flat.push(other),
            }
        }
        match flat.len() {
            0 => Self::Unknown,
            1 => flat.swap_remove(0),
            _ => Self::And(flat),
        }
    }
    /// Any of `parts`, as simple as it can be said; one unknown part makes all of it unknown.
    pub fn any(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut flat = Vec::new();
        for part in parts {
            match part {
                Self::Unknown => return Self::Unknown,
                Self::Or(inner) => flat.extend(inner),
                other => flat.push(other),
            }
        }
        if flat.len() == 1 { flat.swap_remove(0) } else { Self::Or(flat) }
    }
    /// Names of the columns it is about, each once.
    pub fn columns(&self) -> Vec<&str> {
        let mut names = Vec::new();
        let mut waiting = vec![self];
        while let Some(predicate) = waiting.pop() {
            match predicate {
                Self::Unknown => {}
                Self::And(parts) | Self::Or(parts) => waiting.extend(parts),
                Self::Compare(expression, ..)
                | Self::In(expression, ..)
                | Self::IsNull(expression, _)
                | Self::StartsWith(expression, _)
                | Self::Contains(expression, ..)
                | Self::Has(expression, _) => names.extend(expression.columns()),
            }
        }
        names.sort_unstable();
        names.dedup();
        names
    }
    /// True if it prunes nothing.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown)
    }
}

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Decimal(value, scale) => write!(f, "{value}e-{scale}"),
            Self::Bytes(bytes) => write!(f, "'{}'", bytes.escape_ascii()),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        })
    }
}

/// Constants of an IN list that are printed; the rest is counted.
const PRINTED_CONSTANTS: usize = 8;

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("?"),
            Self::And(parts) => join(f, parts, " AND "),
            Self::Or(parts) if parts.is_empty() => f.write_str("false"),
            Self::Or(parts) => join(f, parts, " OR "),
            Self::Compare(expression, comparison, constant) => {
                write!(f, "{expression} {comparison} {constant}")
            }
            Self::In(expression, constants, not) => {
                write!(f, "{expression} {}IN (", if *not { "NOT " } else { "" })?;
                for (index, constant) in constants.iter().take(PRINTED_CONSTANTS).enumerate() {
                    write!(f, "{}{constant}", if index > 0 { ", " } else { "" })?;
                }
                match constants.len().saturating_sub(PRINTED_CONSTANTS) {
                    0 => f.write_str(")"),
                    more => write!(f, ", and {more} more)"),
                }
            }
            Self::IsNull(expression, not) => {
                write!(f, "{expression} IS {}NULL", if *not { "NOT " } else { "" })
            }
            Self::Has(expression, constant) => write!(f, "has({expression}, {constant})"),
            Self::StartsWith(expression, bytes) => {
                write!(f, "{expression} LIKE '{}%'", bytes.escape_ascii())
            }
            Self::Contains(expression, bytes, within) => {
                let bytes = bytes.escape_ascii();
                match within {
                    Within::Anywhere => write!(f, "{expression} LIKE '%{bytes}%'"),
                    Within::End => write!(f, "{expression} LIKE '%{bytes}'"),
                    Within::Word => write!(f, "hasToken({expression}, '{bytes}')"),
                }
            }
        }
    }
}

fn join(f: &mut fmt::Formatter<'_>, parts: &[Predicate], between: &str) -> fmt::Result {
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            f.write_str(between)?;
        }
        if matches!(part, Predicate::And(_) | Predicate::Or(_)) {
            write!(f, "({part})")?;
        } else {
            write!(f, "{part}")?;
        }
    }
    Ok(())
}
