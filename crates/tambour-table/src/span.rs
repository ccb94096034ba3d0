//! Spans: the values for which a condition is true, as ranges of encoded values.

use super::ordinal::{Order, Ordinal, order};
use super::predicate::{Comparison, Constant};
use crate::TableError;
use arrow_row::Rows;
use std::ops::Bound;
use tambour_part::types::DataType;

/// A range of encoded values.
pub(super) type Span = (Bound<Box<[u8]>>, Bound<Box<[u8]>>);

/// What the recorded ends of a key's range say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// No value lies outside, NULL and NaN included.
    Strict,
    /// NULL and NaN may lie outside (min-max files).
    Loose,
}

/// A condition on one expression.
#[derive(Clone, Copy, Debug)]
pub(super) enum Condition<'a> {
    /// It compares so with the constant.
    Compare(Comparison, &'a Constant),
    /// It is one of these constants; or none of them, if the flag is set.
    In(&'a [Constant], bool),
    /// It is NULL; or not NULL, if the flag is set.
    IsNull(bool),
    /// Its bytes start so.
    StartsWith(&'a [u8]),
}

/// Spans, ascending and disjoint, that hold every value for which the condition is true; `None` if nothing can be said.
pub(super) fn spans(
    ordinal: &Ordinal,
    data_type: &DataType,
    ends: Ends,
    condition: Condition<'_>,
) -> Result<Option<Vec<Span>>, TableError> {
    let order = order(data_type);
    Ok(match condition {
        // No comparison with NULL is true.
        Condition::Compare(_, Constant::Null) => Some(Vec::new()),
        Condition::Compare(comparison, constant) => match order {
            Order::None => None,
            Order::Float => floats(ordinal, ends, comparison, constant)?,
            Order::Same | Order::Identity => ordinal
                .constants([constant])?
                .and_then(|rows| compare(ordinal, order, comparison, rows.row(0).data())),
        },
        Condition::In(constants, false) => {
            let constants = constants.iter().filter(|it| **it != Constant::Null);
            match order {
                Order::None => None,
                Order::Float => any_float(ordinal, constants)?,
                Order::Same | Order::Identity => {
                    ordinal.constants(constants)?.map(|rows| points(&rows))
                }
            }
        }
        Condition::In(constants, true) => {
            let has_null = constants.contains(&Constant::Null);
            if has_null || !matches!(order, Order::Same | Order::Identity) {
                None
            } else {
                ordinal.constants(constants)?.map(|rows| between(ordinal, &rows))
            }
        }
        Condition::IsNull(false) if ends == Ends::Loose => None,
        Condition::IsNull(false) => {
            Some(vec![(Bound::Included(ordinal.null().into()), Bound::Unbounded)])
        }
        Condition::IsNull(true) => Some(vec![(Bound::Unbounded, below_null(ordinal))]),
        Condition::StartsWith(prefix) => {
            if order == Order::Same {
                prefixed(ordinal, prefix)?
            } else {
                None
            }
        }
    })
}

fn below_null(ordinal: &Ordinal) -> Bound<Box<[u8]>> {
    Bound::Excluded(ordinal.null().into())
}

fn compare(
    ordinal: &Ordinal,
    order: Order,
    comparison: Comparison,
    value: &[u8],
) -> Option<Vec<Span>> {
    let included = Bound::Included(Box::from(value));
    let excluded = Bound::Excluded(Box::from(value));
    match comparison {
        Comparison::Equal => Some(vec![(included.clone(), included)]),
        Comparison::NotEqual => {
            Some(vec![(Bound::Unbounded, excluded.clone()), (excluded, below_null(ordinal))])
        }
        _ if order != Order::Same => None,
        Comparison::Less => Some(vec![(Bound::Unbounded, excluded)]),
        Comparison::LessOrEqual => Some(vec![(Bound::Unbounded, included)]),
        Comparison::Greater => Some(vec![(excluded, below_null(ordinal))]),
        Comparison::GreaterOrEqual => Some(vec![(included, below_null(ordinal))]),
    }
}

/// The lowest and the highest of some encoded rows.
type RowPair = (Box<[u8]>, Box<[u8]>);

/// The rows of a float constant from the lowest to the highest that may count as equal to it; `None` for NaN.
fn float_ends(ordinal: &Ordinal, constant: &Constant) -> Result<Option<RowPair>, TableError> {
    let Constant::Float(value) = constant else { return Ok(None) };
    if value.is_nan() {
        return Ok(None);
    }
    // ClickHouse takes the two zeros for the same value, Arrow does not.
    let both = if *value == 0.0 { [-0.0, 0.0] } else { [*value, *value] };
    let rows = ordinal.constants(&both.map(Constant::Float))?;
    Ok(rows.map(|rows| {
        let (first, second) = (rows.row(0).data(), rows.row(1).data());
        (first.min(second).into(), first.max(second).into())
    }))
}

/// NaN is above everything in the key's order, and above or below everything in that of the SQL engine.
fn floats(
    ordinal: &Ordinal,
    ends: Ends,
    comparison: Comparison,
    constant: &Constant,
) -> Result<Option<Vec<Span>>, TableError> {
    let Some((low, high)) = float_ends(ordinal, constant)? else { return Ok(None) };
    if comparison == Comparison::Equal {
        return Ok(Some(vec![(Bound::Included(low), Bound::Included(high))]));
    }
    if ends == Ends::Loose {
        return Ok(None);
    }
    let Some(infinity) = ordinal.constants(&[Constant::Float(f64::INFINITY)])? else {
        return Ok(None);
    };
    let infinity = infinity.row(0).data();
    Ok(match comparison {
        Comparison::Less | Comparison::LessOrEqual if *high < *infinity => Some(vec![
            (Bound::Unbounded, Bound::Included(high)),
            (Bound::Excluded(infinity.into()), below_null(ordinal)),
        ]),
        Comparison::Greater | Comparison::GreaterOrEqual => {
            Some(vec![(Bound::Included(low), below_null(ordinal))])
        }
        _ => None,
    })
}

fn any_float<'a>(
    ordinal: &Ordinal,
    constants: impl Iterator<Item = &'a Constant>,
) -> Result<Option<Vec<Span>>, TableError> {
    let mut ends = Vec::new();
    for constant in constants {
        let Some(pair) = float_ends(ordinal, constant)? else { return Ok(None) };
        ends.push(pair);
    }
    ends.sort_unstable();
    ends.dedup();
    let spans = ends.into_iter().map(|(low, high)| (Bound::Included(low), Bound::Included(high)));
    Ok(Some(spans.collect()))
}

fn sorted(rows: &Rows) -> Vec<&[u8]> {
    let mut values: Vec<&[u8]> = rows.iter().map(|row| row.data()).collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// Spans of single values.
pub(super) fn points(rows: &Rows) -> Vec<Span> {
    let values = sorted(rows).into_iter();
    values.map(|value| (Bound::Included(value.into()), Bound::Included(value.into()))).collect()
}

/// The spans between single values.
fn between(ordinal: &Ordinal, rows: &Rows) -> Vec<Span> {
    let mut low = Bound::Unbounded;
    let mut spans = Vec::new();
    for value in sorted(rows) {
        let edge = Bound::Excluded(Box::from(value));
        spans.push((std::mem::replace(&mut low, edge.clone()), edge));
    }
    spans.push((low, below_null(ordinal)));
    spans
}

/// The strings that start with a prefix: from it on, up to the first one that does not.
fn prefixed(ordinal: &Ordinal, prefix: &[u8]) -> Result<Option<Vec<Span>>, TableError> {
    let mut next = prefix.to_vec();
    while next.last() == Some(&u8::MAX) {
        next.pop();
    }
    let high = match next.last_mut() {
        Some(last) => {
            *last += 1;
            let rows = ordinal.constants(&[Constant::Bytes(next)])?;
            rows.map(|rows| Bound::Excluded(rows.row(0).data().into()))
        }
        None => Some(below_null(ordinal)),
    };
    let low = ordinal.constants(&[Constant::Bytes(prefix.to_vec())])?;
    Ok(low.zip(high).map(|(low, high)| vec![(Bound::Included(low.row(0).data().into()), high)]))
}

/// True if the range meets one of the spans.
pub(super) fn meets(spans: &[Span], low: Bound<&[u8]>, high: Bound<&[u8]>) -> bool {
    // Spans ascend: those before the first one that does not end below the range are of no interest.
    let first = spans.partition_point(|span| !reaches(low, as_slice(&span.1)));
    spans.get(first).is_some_and(|span| reaches(as_slice(&span.0), high))
}

fn as_slice(bound: &Bound<Box<[u8]>>) -> Bound<&[u8]> {
    bound.as_ref().map(AsRef::as_ref)
}

/// True if something may lie at or above `low` and at or below `high`.
fn reaches(low: Bound<&[u8]>, high: Bound<&[u8]>) -> bool {
    match (low, high) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => true,
        (Bound::Included(low), Bound::Included(high)) => low <= high,
        (
            Bound::Included(low) | Bound::Excluded(low),
            Bound::Included(high) | Bound::Excluded(high),
        ) => low < high,
    }
}
