//! Chains of events: `windowFunnel`, `retention`. A row is a tuple of a time and conditions, or of conditions alone.

use super::super::access::{
    Kind, array_of, integer_array, is_moment, item_of, list_array, takes, type_at, wide_integers,
};
use super::super::arithmetic::integer;
use super::super::{Call, Function, Signature, bare, cast, expect_count, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType as ArrowType;
use tambour_part::types::DataType;

/// Most conditions of a chain, as in ClickHouse.
const CONDITIONS_MAX: usize = 32;

/// The functions of this room.
pub(in super::super) const FUNCTIONS: &[Function] = &[
    Function::new("reduceRetention", retention_type, retention),
    Function::new("reduceWindowFunnel", funnel_type, funnel),
];

fn conditions(name: &'static str, s: &[Signature], first: usize) -> Result<(), FunctionError> {
    let DataType::Tuple(elements) = item_of(type_at(s, 0)) else {
        return Err(wrong(name, "it takes conditions"));
    };
    let count = elements.len().saturating_sub(first);
    if count == 0 || count > CONDITIONS_MAX {
        return Err(wrong(name, format!("it takes 1 to {CONDITIONS_MAX} conditions, not {count}")));
    }
    match elements.iter().skip(first).find(|(_, it)| integer(bare(it)).is_none()) {
        Some((_, other)) => Err(wrong(name, format!("a condition is {other}, expected UInt8"))),
        None => Ok(()),
    }
}

fn retention_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[])?;
    conditions(name, s, 0).map(|()| array_of(DataType::UInt8))
}

/// Whether the first condition was ever met, and with it each of the others.
fn retention(call: &Call) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let columns = columns(call, &lists.items.values)?;
    let mut flags = Vec::with_capacity(call.rows * columns.len());
    for row in 0..call.rows {
        let ever = |column: &Vec<i128>| lists.range(row).any(|at| column[at] != 0);
        let has_first = columns.first().is_some_and(ever);
        flags.extend(columns.iter().map(|column| i128::from(has_first && ever(column))));
    }
    let values = integer_array(call.name, &DataType::UInt8, flags.into_iter())?;
    list_array(vec![columns.len(); call.rows], values, &DataType::UInt8)
}

fn columns(call: &Call, values: &ArrayRef) -> Result<Vec<Vec<i128>>, FunctionError> {
    let Some(rows) = values.as_struct_opt() else {
        return Err(wrong(call.name, "it takes tuples"));
    };
    rows.columns()
        .iter()
        .map(|column| match column.data_type() {
            ArrowType::Date32 => wide_integers(&cast(column, &ArrowType::Int32)?),
            _ => wide_integers(column),
        })
        .collect()
}

fn funnel_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=2)?;
    takes(name, s, &[Kind::Array, Kind::ConstInteger], &[])?;
    conditions(name, s, 1)?;
    let time = match item_of(type_at(s, 0)) {
        DataType::Tuple(elements) => elements.first().map(|(_, it)| bare(it).clone()),
        _ => None,
    };
    match time {
        Some(time) if is_moment(&time) || integer(&time).is_some_and(|it| !it.is_signed) => {
            Ok(DataType::UInt8)
        }
        _ => Err(wrong(name, "the first argument must be a time or an unsigned integer")),
    }
}

/// How many conditions were met one after the other within the window.
fn funnel(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (lists, window) = (call.lists(0)?, call.integers(1)?.get(0));
    let columns = columns(call, &lists.items.values)?;
    let Some((times, conditions)) = columns.split_first() else {
        return Err(wrong(call.name, "it takes a time and conditions"));
    };
    call.make_integers(|row| {
        let mut events: Vec<(i128, usize)> = Vec::new();
        for at in lists.range(row) {
            let met = (0..conditions.len()).rev().filter(|index| conditions[*index][at] != 0);
            events.extend(met.map(|index| (times[at], index)));
        }
        events.sort_by_key(|(time, _)| *time);
        let mut starts: Vec<Option<i128>> = vec![None; conditions.len()];
        for (time, index) in events {
            if index == 0 {
                starts[0] = Some(time);
            } else if let Some(start) = starts[index - 1].filter(|start| time <= start + window) {
                starts[index] = Some(start);
            }
        }
        starts.iter().rposition(Option::is_some).map_or(0, |level| level as i128 + 1)
    })
}
