//! Numbers of arrays put together: `arraySum`, `arrayAvg`, `arrayProduct`, `arrayMin`, `arrayCumSum`, `arrayDifference`.

use super::super::access::{
    Kind, Lists, array_of, integer_array, item_of, list_array, takes, total, type_at, wide_integers,
};
use super::super::arithmetic::{Integer, integer};
use super::super::{Call, Function, Signature, bare, cast, is_nullable, wrong};
use super::compare::Comparable;
use super::make::sum_type;
use super::one_of_each;
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type};
use arrow_array::{ArrayRef, PrimitiveArray};
use arrow_schema::DataType as ArrowType;
use std::sync::Arc;
use tambour_part::types::DataType;

/// The functions of this room.
pub(in super::super) const FUNCTIONS: &[Function] = &[
    Function::new("arraySum", array_sum_type, sum),
    Function::new("arrayAvg", float_type, |c| {
        folded(c, |items| total(items.iter().copied()) / items.len().max(1) as f64)
    }),
    Function::new("arrayProduct", float_type, product),
    Function::new("arrayMin", extreme_type, |c| extreme(c, true)),
    Function::new("arrayMax", extreme_type, |c| extreme(c, false)),
    Function::new("arrayCumSum", |n, s| array_sum_type(n, s).map(array_of), |c| running(c, false)),
    Function::new(
        "arrayCumSumNonNegative",
        |n, s| array_sum_type(n, s).map(array_of),
        |c| running(c, true),
    ),
    Function::new("arrayDifference", difference_type, difference),
];

fn item_at(s: &[Signature]) -> &DataType {
    item_of(type_at(s, 0))
}

/// Items that are NULL are refused, as there.
fn array_sum_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[])?;
    match bare(item_at(s)) {
        DataType::Decimal { scale, .. } => Ok(DataType::Decimal { precision: 38, scale: *scale }),
        item => sum_type(item).ok_or_else(|| wrong(name, format!("it does not add up {item}"))),
    }
}

fn float_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    match array_sum_type(name, s)? {
        DataType::Decimal { .. } => Err(wrong(name, "it does not take decimals")),
        _ => Ok(DataType::Float64),
    }
}

fn floats(lists: &Lists) -> Result<Vec<f64>, FunctionError> {
    let wide = cast(&lists.items.values, &ArrowType::Float64)?;
    Ok(wide.as_primitive::<Float64Type>().iter().map(Option::unwrap_or_default).collect())
}

fn folded(call: &Call, fold: impl Fn(&[f64]) -> f64) -> Result<ArrayRef, FunctionError> {
    let lists = call.full_lists(0)?;
    let items = floats(&lists)?;
    call.make_floats(|row| fold(items.get(lists.range(row)).unwrap_or_default()))
}

/// Products of integers wrap around before they become floats.
fn product(call: &Call) -> Result<ArrayRef, FunctionError> {
    let lists = call.full_lists(0)?;
    let Some(item) = integer(bare(&lists.item_type)) else {
        return folded(call, |items| if items.is_empty() { 0.0 } else { items.iter().product() });
    };
    let items = wide_integers(&lists.items.values)?;
    call.make_floats(|row| {
        let range = lists.range(row);
        if range.is_empty() {
            return 0.0;
        }
        let product = range.fold(1_i64, |product, at| product.wrapping_mul(items[at] as i64));
        if item.is_signed { product as f64 } else { product.cast_unsigned() as f64 }
    })
}

fn sum(call: &Call) -> Result<ArrayRef, FunctionError> {
    let lists = call.full_lists(0)?;
    match call.result {
        DataType::Float64 => folded(call, |items| total(items.iter().copied())),
        DataType::Decimal { .. } => {
            let items = decimals(call, &lists)?;
            let sums = (0..call.rows)
                .map(|row| lists.range(row).fold(0_i128, |sum, at| sum.wrapping_add(items[at])));
            Ok(as_decimals(sums.collect(), call.result))
        }
        _ => {
            let items = wide_integers(&lists.items.values)?;
            call.make_integers(|row| lists.range(row).map(|at| items[at]).sum())
        }
    }
}

fn extreme_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[])?;
    let item = item_at(s);
    match bare(item).clone() {
        item @ (DataType::Array(_) | DataType::Tuple(_) | DataType::Map(..)) => {
            Err(wrong(name, format!("it does not compare {item}")))
        }
        plain => Ok(if is_nullable(item) { plain.made_nullable() } else { plain }),
    }
}

/// The least or greatest item. NULLs are passed over, and of items that may be NULL there may be none.
fn extreme(call: &Call, least: bool) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let items = Comparable::one(&lists.items)?;
    let floats = match bare(&lists.item_type) {
        DataType::Float32 | DataType::Float64 => Some(floats(&lists)?),
        _ => None,
    };
    // A NaN is the result only if there is nothing else.
    let is_nan = |at: usize| floats.as_ref().is_some_and(|floats| floats[at].is_nan());
    let places = (0..call.rows).map(|row| {
        let all = lists.range(row);
        let better = |a: usize, b: usize| {
            let before =
                if least { items.get(b) < items.get(a) } else { items.get(b) > items.get(a) };
            if is_nan(a) || (!is_nan(b) && before) { b } else { a }
        };
        all.filter(|at| !lists.items.values.is_null(*at)).reduce(better)
    });
    one_of_each(&lists, places.collect())
}

/// The digits of decimals of up to 38 of them.
fn decimals(call: &Call, lists: &Lists) -> Result<Vec<i128>, FunctionError> {
    match lists.items.values.as_primitive_opt::<Decimal128Type>() {
        Some(items) => Ok(items.values().to_vec()),
        None => Err(wrong(call.name, "it does not take decimals of more than 38 digits")),
    }
}

/// A sum, or an error if it has more digits than decimals have.
fn added(call: &Call, row: usize, sum: Option<i128>) -> Result<i128, FunctionError> {
    let limit = 10_i128.pow(38);
    sum.filter(|sum| (1 - limit..limit).contains(sum))
        .ok_or_else(|| call.value_error(row, "the sum has more than 38 digits"))
}

fn as_decimals(numbers: Vec<i128>, item: &DataType) -> ArrayRef {
    let numbers = PrimitiveArray::<Decimal128Type>::from_iter_values(numbers);
    Arc::new(numbers.with_data_type(item.arrow(tambour_part::types::Strings::Utf8)))
}

/// Arrays that are written out are of these if an item is past Int64; in ClickHouse they are of UInt64, which wraps around.
fn check_decimals(call: &Call) -> Result<(), FunctionError> {
    match bare(item_of(&call.operand(0)?.data_type)) {
        DataType::Decimal { precision: 20, scale: 0 } => Err(wrong(
            call.name,
            "it does not take Decimal(20, 0); convert the items with toUInt64",
        )),
        _ => Ok(()),
    }
}

fn running(call: &Call, not_negative: bool) -> Result<ArrayRef, FunctionError> {
    let lists = call.full_lists(0)?;
    let lengths = (0..call.rows).map(|row| lists.range(row).len()).collect();
    let item = item_of(call.result);
    let values: ArrayRef = match item {
        DataType::Float64 => {
            let items = floats(&lists)?;
            let mut sums = Vec::with_capacity(items.len());
            for row in 0..call.rows {
                let mut sum = 0.0;
                for at in lists.range(row) {
                    sum += items[at];
                    if not_negative && sum < 0.0 {
                        sum = 0.0;
                    }
                    sums.push(sum);
                }
            }
            Arc::new(PrimitiveArray::<Float64Type>::from(sums))
        }
        DataType::Decimal { .. } => {
            check_decimals(call)?;
            let items = decimals(call, &lists)?;
            let mut sums = Vec::with_capacity(items.len());
            for row in 0..call.rows {
                let mut sum = 0_i128;
                for at in lists.range(row) {
                    sum = added(call, row, sum.checked_add(items[at]))?;
                    if not_negative {
                        sum = sum.max(0);
                    }
                    sums.push(sum);
                }
            }
            as_decimals(sums, item)
        }
        _ => {
            let items = wide_integers(&lists.items.values)?;
            let mut sums = Vec::with_capacity(items.len());
            for row in 0..call.rows {
                let mut sum = 0_i128;
                for at in lists.range(row) {
                    sum = sum.wrapping_add(items[at]);
                    // The sum wraps around before it is looked at.
                    if *item == DataType::Int64 {
                        sum = i128::from(sum as i64);
                    }
                    if not_negative && sum < 0 {
                        sum = 0;
                    }
                    sums.push(sum);
                }
            }
            integer_array(call.name, item, sums.into_iter())?
        }
    };
    list_array(lengths, values, item)
}

fn difference_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[])?;
    let item = bare(item_at(s));
    match (item, integer(item)) {
        (_, Some(it)) => {
            Ok(array_of(Integer { bits: (it.bits * 2).min(64), is_signed: true }.data_type()))
        }
        (DataType::Float32 | DataType::Float64, _) => Ok(array_of(DataType::Float64)),
        (DataType::Decimal { precision: 0..=38, .. }, _) => Ok(array_of(item.clone())),
        _ => Err(wrong(name, format!("it does not take {item}"))),
    }
}

fn difference(call: &Call) -> Result<ArrayRef, FunctionError> {
    let lists = call.full_lists(0)?;
    let item = item_of(call.result);
    let lengths = (0..call.rows).map(|row| lists.range(row).len()).collect();
    let places = (0..call.rows).flat_map(|row| {
        let range = lists.range(row);
        let start = range.start;
        range.map(move |at| (at, at == start))
    });
    let values: ArrayRef = if matches!(item, DataType::Decimal { .. }) {
        check_decimals(call)?;
        let items = decimals(call, &lists)?;
        let mut steps = Vec::with_capacity(items.len());
        for row in 0..call.rows {
            let range = lists.range(row);
            for at in range.clone() {
                let step =
                    if at == range.start { Some(0) } else { items[at].checked_sub(items[at - 1]) };
                steps.push(added(call, row, step)?);
            }
        }
        as_decimals(steps, item)
    } else if *item == DataType::Float64 {
        let items = floats(&lists)?;
        let steps = places.map(|(at, first)| if first { 0.0 } else { items[at] - items[at - 1] });
        Arc::new(PrimitiveArray::<Float64Type>::from_iter_values(steps))
    } else {
        let items = wide_integers(&lists.items.values)?;
        let steps = places.map(|(at, first)| if first { 0 } else { items[at] - items[at - 1] });
        integer_array(call.name, item, steps)?
    };
    list_array(lengths, values, item)
}
