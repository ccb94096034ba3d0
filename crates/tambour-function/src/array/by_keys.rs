//! Arrays by what a lambda gave for each item: `arrayFilter(f, a)` is `arrayFilterByKeys(arrayMap(f, a), a)` here, and so
//! for all functions with lambdas. Without a lambda the items are their own keys.

use super::super::access::{Kind, Lists, array_of, item_of, list_array, nullable, takes, type_at};
use super::super::arithmetic::integer;
use super::super::{Call, Function, Signature, bare, wrong};
use super::compare::{Absent, Comparable};
use super::{Picks, one_each_or_null, one_of_each, plain_item};
use crate::FunctionError;
use arrow_array::{Array, ArrayRef};
use std::ops::Range;
use tambour_part::types::DataType;

/// The functions of this room.
pub(in super::super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "arrayExists",
        |n, s| condition_type(n, s).map(|()| DataType::UInt8),
        |c| {
            let keys = Conditions::of(c)?;
            c.make_flags(|row| keys.lists.range(row).any(|at| keys.is_true[at]))
        },
    )
    .predicate(),
    Function::new(
        "arrayAll",
        |n, s| condition_type(n, s).map(|()| DataType::UInt8),
        |c| {
            let keys = Conditions::of(c)?;
            c.make_flags(|row| keys.lists.range(row).all(|at| keys.is_true[at]))
        },
    )
    .predicate(),
    Function::new(
        "arrayCount",
        |n, s| condition_type(n, s).map(|()| DataType::UInt32),
        |c| {
            let keys = Conditions::of(c)?;
            c.make_integers(|row| {
                keys.lists.range(row).filter(|at| keys.is_true[*at]).count() as i128
            })
        },
    ),
    Function::new(
        "arrayFirstIndex",
        |n, s| condition_type(n, s).map(|()| DataType::UInt32),
        |c| {
            let keys = Conditions::of(c)?;
            c.make_integers(|row| {
                let mut range = keys.lists.range(row);
                range.position(|at| keys.is_true[at]).map_or(0, |at| at as i128 + 1)
            })
        },
    ),
    Function::new(
        "arrayLastIndex",
        |n, s| condition_type(n, s).map(|()| DataType::UInt32),
        |c| {
            let keys = Conditions::of(c)?;
            c.make_integers(|row| {
                let range = keys.lists.range(row);
                let start = range.start;
                let last = range.rev().find(|at| keys.is_true[*at]);
                last.map_or(0, |at| (at - start) as i128 + 1)
            })
        },
    ),
    Function::new("arrayFilterByKeys", filtered_type, |c| {
        with_conditions(c, |range, is_true, picks| {
            picks.row(range.clone().filter(|at| is_true[at - range.start]));
        })
    }),
    Function::new("arrayFillByKeys", filtered_type, |c| {
        with_conditions(c, |range, is_true, picks| {
            let mut last = range.start;
            picks.row(range.clone().map(|at| {
                if at == range.start || is_true[at - range.start] {
                    last = at;
                }
                last
            }));
        })
    }),
    Function::new("arrayReverseFillByKeys", filtered_type, |c| {
        with_conditions(c, |range, is_true, picks| {
            let mut last = range.end.saturating_sub(1);
            let mut places: Vec<usize> = range
                .clone()
                .rev()
                .map(|at| {
                    if at + 1 == range.end || is_true[at - range.start] {
                        last = at;
                    }
                    last
                })
                .collect();
            places.reverse();
            picks.row(places);
        })
    }),
    Function::new(
        "arraySplitByKeys",
        |n, s| filtered_type(n, s).map(array_of),
        |c| split(c, false),
    ),
    Function::new(
        "arrayReverseSplitByKeys",
        |n, s| filtered_type(n, s).map(array_of),
        |c| split(c, true),
    ),
    Function::new(
        "arrayFirstByKeys",
        |n, s| Ok(item_of(&filtered_type(n, s)?).clone()),
        |c| {
            let (lists, places) = ends(c, true)?;
            one_of_each(&lists, places)
        },
    ),
    Function::new(
        "arrayLastByKeys",
        |n, s| Ok(item_of(&filtered_type(n, s)?).clone()),
        |c| {
            let (lists, places) = ends(c, false)?;
            one_of_each(&lists, places)
        },
    ),
    Function::new("arrayFirstOrNullByKeys", or_null_type, |c| {
        let (lists, places) = ends(c, true)?;
        one_each_or_null(&lists.items.values, places)
    }),
    Function::new("arrayLastOrNullByKeys", or_null_type, |c| {
        let (lists, places) = ends(c, false)?;
        one_each_or_null(&lists.items.values, places)
    }),
    Function::new("arraySort", sorted_type, |c| sorted(c, false)),
    Function::new("arrayReverseSort", sorted_type, |c| sorted(c, true)),
    Function::new("arraySortByKeys", keyed_type, |c| sorted(c, false)),
    Function::new("arrayReverseSortByKeys", keyed_type, |c| sorted(c, true)),
];

fn condition_type(name: &'static str, s: &[Signature]) -> Result<(), FunctionError> {
    takes(name, s, &[Kind::Array], &[])?;
    let item = item_of(type_at(s, 0));
    match integer(bare(item)) {
        Some(_) => Ok(()),
        None => Err(wrong(name, format!("the condition is {item}, expected UInt8"))),
    }
}

/// Conditions, and a second array of the same lengths.
fn filtered_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array, Kind::Array], &[])?;
    condition_type(name, s.get(..1).unwrap_or_default())?;
    Ok(array_of(plain_item(item_of(type_at(s, 1)))))
}

fn or_null_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    let item = item_of(&filtered_type(name, s)?).clone();
    match nullable(item) {
        nullable @ DataType::Nullable(_) => Ok(nullable),
        other => Err(wrong(name, format!("{other} cannot be NULL"))),
    }
}

struct Conditions {
    lists: Lists,
    is_true: Vec<bool>,
}

impl Conditions {
    fn of(call: &Call) -> Result<Self, FunctionError> {
        let lists = call.lists(0)?;
        let numbers = super::super::access::wide_integers(&lists.items.values)?;
        let is_true = numbers.iter().map(|number| *number != 0).collect();
        Ok(Self { lists, is_true })
    }
}

/// Where the items of a row and their keys are.
fn both(
    call: &Call,
    keys: &Lists,
    lists: &Lists,
    row: usize,
) -> Result<(Range<usize>, Range<usize>), FunctionError> {
    let (of_keys, of_items) = (keys.range(row), lists.range(row));
    if of_keys.len() != of_items.len() {
        if call.is_null(row) {
            return Ok((0..0, 0..0));
        }
        return Err(call.value_error(row, "the arrays have different lengths"));
    }
    Ok((of_keys, of_items))
}

fn with_conditions(
    call: &Call,
    mut pick: impl FnMut(Range<usize>, &[bool], &mut Picks),
) -> Result<ArrayRef, FunctionError> {
    let (keys, lists) = (Conditions::of(call)?, call.lists(1)?);
    let mut picks = Picks::new(call);
    for row in 0..call.rows {
        let (of_keys, range) = both(call, &keys.lists, &lists, row)?;
        pick(range, keys.is_true.get(of_keys).unwrap_or_default(), &mut picks);
    }
    picks.arrays(&lists, item_of(call.result))
}

fn ends(call: &Call, is_first: bool) -> Result<(Lists, Vec<Option<usize>>), FunctionError> {
    let (keys, lists) = (Conditions::of(call)?, call.lists(1)?);
    let mut places = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let (of_keys, range) = both(call, &keys.lists, &lists, row)?;
        let start = of_keys.start;
        let mut true_keys = of_keys.filter(|at| keys.is_true[*at]);
        let found = if is_first { true_keys.next() } else { true_keys.next_back() };
        places.push(found.map(|at| at - start + range.start));
    }
    Ok((lists, places))
}

/// Arrays cut before (or after) each item whose key is true.
fn split(call: &Call, is_reverse: bool) -> Result<ArrayRef, FunctionError> {
    let (keys, lists) = (Conditions::of(call)?, call.lists(1)?);
    let mut picks = Picks::new(call);
    let mut outer = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let (of_keys, range) = both(call, &keys.lists, &lists, row)?;
        let is_true = keys.is_true.get(of_keys).unwrap_or_default();
        let mut from = range.start;
        let mut count = 0;
        for at in range.clone() {
            let index = at - range.start;
            let is_cut = if is_reverse {
                index > 0 && is_true[index - 1]
            } else {
                index > 0 && is_true[index]
            };
            if is_cut {
                picks.row(from..at);
                from = at;
                count += 1;
            }
        }
        if !range.is_empty() {
            picks.row(from..range.end);
            count += 1;
        }
        outer.push(count);
    }
    let item = item_of(call.result);
    let inner = picks.arrays(&lists, item_of(item))?;
    list_array(outer, inner, item)
}

fn sorted_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[])?;
    comparable(name, item_of(type_at(s, 0)))?;
    Ok(array_of(plain_item(item_of(type_at(s, 0)))))
}

fn comparable(name: &'static str, item: &DataType) -> Result<(), FunctionError> {
    match bare(item) {
        DataType::Map(..) => Err(wrong(name, format!("{item} has no order"))),
        DataType::Array(inner) => comparable(name, inner),
        DataType::Tuple(elements) => elements.iter().try_for_each(|(_, it)| comparable(name, it)),
        _ => Ok(()),
    }
}

fn keyed_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array, Kind::Array], &[])?;
    comparable(name, item_of(type_at(s, 0)))?;
    Ok(array_of(plain_item(item_of(type_at(s, 1)))))
}

/// NaN comes after all numbers, NULL after NaN, in both directions. Items with equal keys keep their order.
fn sorted(call: &Call, is_reverse: bool) -> Result<ArrayRef, FunctionError> {
    let keys = call.lists(0)?;
    let lists = call.lists(call.operands.len() - 1)?;
    let order = Order::of(&keys, is_reverse)?;
    let mut picks = Picks::new(call);
    for row in 0..call.rows {
        let (of_keys, range) = both(call, &keys, &lists, row)?;
        let mut places: Vec<usize> = of_keys.clone().collect();
        places.sort_by(|a, b| order.compare(*a, *b));
        picks.row(places.into_iter().map(|at| at - of_keys.start + range.start));
    }
    picks.arrays(&lists, item_of(call.result))
}

struct Order {
    items: Comparable,
    /// Those that come last.
    is_last: Vec<u8>,
    is_reverse: bool,
}

impl Order {
    fn of(keys: &Lists, is_reverse: bool) -> Result<Self, FunctionError> {
        let items = Comparable::of_order(&keys.items, Absent::last(is_reverse))?;
        let is_float = matches!(bare(&keys.item_type), DataType::Float32 | DataType::Float64);
        let floats = is_float
            .then(|| super::super::cast(&keys.items.values, &arrow_schema::DataType::Float64))
            .transpose()?;
        let is_last = (0..keys.items.values.len()).map(|at| {
            let is_nan = floats.as_ref().is_some_and(|floats| {
                use arrow_array::cast::AsArray;
                floats.as_primitive::<arrow_array::types::Float64Type>().value(at).is_nan()
            });
            if keys.is_null(at) { 2 } else { u8::from(is_nan) }
        });
        Ok(Self { is_last: is_last.collect(), items, is_reverse })
    }
    fn compare(&self, a: usize, b: usize) -> std::cmp::Ordering {
        let of_values = self.items.get(a).cmp(self.items.get(b));
        let of_values = if self.is_reverse { of_values.reverse() } else { of_values };
        self.is_last[a].cmp(&self.is_last[b]).then(of_values)
    }
}
