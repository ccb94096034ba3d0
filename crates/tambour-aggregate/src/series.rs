//! Functions of whole arrays: pieces of them (`arrayShingles`, `arrayTranspose`, `arrayTopK`), arrays side by side
//! (`arrayZipUnaligned`), places (`indexOfAssumeSorted`), and correlations.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Float64Array, StructArray, UInt32Array};
use arrow_schema::{DataType as ArrowType, Field};
use std::sync::Arc;
use tambour_function::kit::{
    Call, Kind, Lists, Picks, array_of, compare_items, expect_count, item_of, list_array, nullable,
    plain_item, take, takes, type_at, wrong,
};
use tambour_function::{Function, FunctionError, Signature, bare, cast};
use tambour_part::types::DataType;

use crate::number::is_number;

/// Most items that are put into all pieces of one array together.
const ITEMS_MAX: usize = 1 << 24;

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("arrayShingles", shingles_type, shingles),
    Function::new("arrayTranspose", transpose_type, transpose),
    Function::new("arrayFlattenedLength", flat_type, flat_length),
    Function::new("arrayZipUnaligned", zip_type, zip),
    Function::new("arrayTopK", top_type, |c| top(c, true)),
    Function::new("arrayBottomK", top_type, |c| top(c, false)),
    Function::new("arrayAutocorrelation", correlation_type, correlation),
];

fn shingles_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array, Kind::Integer], &[])?;
    Ok(array_of(array_of(plain_item(item_of(type_at(s, 0))))))
}

/// All runs of this many items.
fn shingles(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (lists, widths) = (call.lists(0)?, call.integers(1)?);
    let (mut places, mut inner, mut outer) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..call.rows {
        let range = lists.range(row);
        let width = match usize::try_from(widths.get(row)) {
            _ if call.is_null(row) => {
                outer.push(0);
                continue;
            }
            Ok(width) if (1..=range.len()).contains(&width) => width,
            _ => {
                let problem = format!("the length must be from 1 to {}", range.len());
                return Err(call.value_error(row, problem));
            }
        };
        let count = range.len() - width + 1;
        if count.saturating_mul(width) > ITEMS_MAX {
            return Err(call.value_error(row, "the pieces are too many"));
        }
        for start in range.start..range.start + count {
            places.extend((start..start + width).map(|at| at as u32));
            inner.push(width);
        }
        outer.push(count);
    }
    nested(&lists, places, inner, outer, call.result)
}

/// Arrays of arrays of the items at these places.
fn nested(
    lists: &Lists,
    places: Vec<u32>,
    inner: Vec<usize>,
    outer: Vec<usize>,
    result: &DataType,
) -> Result<ArrayRef, FunctionError> {
    let values = take(&lists.items.values, &UInt32Array::from(places))?;
    let inner = list_array(inner, values, item_of(item_of(result)))?;
    list_array(outer, inner, item_of(result))
}

fn transpose_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[])?;
    match bare(item_of(type_at(s, 0))) {
        DataType::Array(item) => Ok(array_of(array_of(plain_item(item)))),
        other => Err(wrong(name, format!("it takes arrays of arrays, not of {other}"))),
    }
}

/// The inner arrays of an argument.
fn inner_of(call: &Call, lists: &Lists) -> Result<Lists, FunctionError> {
    let operands = std::slice::from_ref(&lists.items);
    let rows = lists.items.values.len();
    Call { name: call.name, operands, result: call.result, rows }.lists(0)
}

fn transpose(call: &Call) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let inner_lists = inner_of(call, &lists)?;
    let (mut places, mut inner, mut outer) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..call.rows {
        let ranges: Vec<_> = lists.range(row).map(|at| inner_lists.range(at)).collect();
        let width = ranges.first().map_or(0, ExactSizeIterator::len);
        if let Some(odd) = ranges.iter().find(|range| range.len() != width) {
            let problem = format!("inner arrays have {width} and {} items", odd.len());
            return Err(call.value_error(row, problem));
        }
        for column in 0..width {
            places.extend(ranges.iter().map(|range| (range.start + column) as u32));
            inner.push(ranges.len());
        }
        outer.push(width);
    }
    nested(&inner_lists, places, inner, outer, call.result)
}

fn flat_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[]).map(|()| DataType::UInt64)
}

/// The number of items of all inner arrays, however deep.
fn flat_length(call: &Call) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let below = match &lists.items.data_type {
        DataType::Array(_) => {
            let operands = std::slice::from_ref(&lists.items);
            let rows = lists.items.values.len();
            let inner = Call { name: call.name, operands, result: call.result, rows };
            Some(cast(&flat_length(&inner)?, &ArrowType::UInt64)?)
        }
        _ => None,
    };
    let below = below.as_ref().map(AsArray::as_primitive::<UInt64Type>);
    call.make_integers(|row| match below {
        Some(counts) => lists.range(row).map(|at| i128::from(counts.value(at))).sum(),
        None => lists.range(row).len() as i128,
    })
}

fn zip_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=usize::MAX)?;
    takes(name, s, &vec![Kind::Array; s.len()], &[])?;
    let element = |argument: &Signature| match plain_item(item_of(&argument.data_type)) {
        nested @ (DataType::Array(_) | DataType::Map(..) | DataType::Tuple(_)) => {
            Err(wrong(name, format!("{nested} cannot be NULL where an array is shorter")))
        }
        item => Ok((None, nullable(item))),
    };
    Ok(array_of(DataType::Tuple(s.iter().map(element).collect::<Result<_, _>>()?)))
}

/// Arrays side by side, with NULLs after the ends of the shorter ones.
fn zip(call: &Call) -> Result<ArrayRef, FunctionError> {
    let all = (0..call.operands.len()).map(|index| call.lists(index));
    let all = all.collect::<Result<Vec<Lists>, _>>()?;
    let DataType::Tuple(elements) = item_of(call.result) else {
        return Err(wrong(call.name, "its result is an array of tuples"));
    };
    let longest = |row: usize| all.iter().map(|lists| lists.range(row).len()).max().unwrap_or(0);
    let lengths: Vec<usize> = (0..call.rows).map(longest).collect();
    let mut columns = Vec::with_capacity(all.len());
    for lists in &all {
        let places = lengths.iter().enumerate().flat_map(|(row, length)| {
            let range = lists.range(row);
            (range.start..range.start + length).map(move |at| (at < range.end).then_some(at as u32))
        });
        columns.push(take(&lists.items.values, &places.collect::<UInt32Array>())?);
    }
    let field = |(place, column): (usize, &ArrayRef)| {
        Field::new((place + 1).to_string(), column.data_type().clone(), true)
    };
    let fields: Vec<Field> = columns.iter().enumerate().map(field).collect();
    debug_assert_eq!(fields.len(), elements.len());
    let tuples = StructArray::try_new(fields.into(), columns, None);
    let tuples = tuples.map_err(FunctionError::arrow("make tuples"))?;
    list_array(lengths, Arc::new(tuples), item_of(call.result))
}

fn top_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Integer, Kind::Array], &[])?;
    match bare(item_of(type_at(s, 1))) {
        nested @ (DataType::Array(_) | DataType::Map(..) | DataType::Tuple(_)) => {
            Err(wrong(name, format!("it does not order {nested}")))
        }
        item => Ok(array_of(item.clone())),
    }
}

/// The first items in one order or the other; NULLs are left out, NaN is the last.
fn top(call: &Call, is_greatest: bool) -> Result<ArrayRef, FunctionError> {
    let (counts, lists) = (call.integers(0)?, call.lists(1)?);
    let items = compare_items(&[&lists.items])?;
    let Some(items) = items.first() else { return Err(wrong(call.name, "it takes an array")) };
    let nans = match lists.items.data_type {
        DataType::Float32 | DataType::Float64 => {
            Some(cast(&lists.items.values, &ArrowType::Float64)?)
        }
        _ => None,
    };
    let nans = nans.as_ref().map(AsArray::as_primitive::<Float64Type>);
    let is_nan = |at: usize| nans.is_some_and(|floats| floats.value(at).is_nan());
    let mut picks = Picks::new(call);
    for row in 0..call.rows {
        let Ok(count) = usize::try_from(counts.get(row)) else {
            return Err(call.value_error(row, "the number must not be negative"));
        };
        let mut places: Vec<usize> = lists.range(row).filter(|at| !lists.is_null(*at)).collect();
        places.sort_by(|a, b| {
            let values = items.get(*a).cmp(items.get(*b));
            is_nan(*a).cmp(&is_nan(*b)).then(if is_greatest { values.reverse() } else { values })
        });
        places.truncate(count);
        picks.row(places);
    }
    picks.arrays(&lists, item_of(call.result))
}

fn correlation_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[Kind::Integer])?;
    let item = item_of(type_at(s, 0));
    if !is_number(item) || *bare(item) == DataType::Bool || matches!(item, DataType::Nullable(_)) {
        return Err(wrong(
            name,
            format!("it takes arrays of numbers without NULLs, not of {item}"),
        ));
    }
    Ok(array_of(DataType::Float64))
}

/// The correlation of an array with itself moved by 0, 1, 2 … places, at most as many as asked for.
fn correlation(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (lists, most) = (call.full_lists(0)?, call.optional_integers(1)?);
    let items = crate::number::floats(&lists.items.values)?;
    let (mut found, mut lengths) = (Vec::new(), Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        let values = &items.values()[lists.range(row)];
        let lags = match &most {
            Some(most) => match usize::try_from(most.get(row)) {
                Ok(most) => most.min(values.len()),
                Err(_) => return Err(call.value_error(row, "the number must not be negative")),
            },
            None => values.len(),
        };
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let product = |lag: usize| -> f64 {
            // Not the -0 of a sum that starts with one.
            let pairs = values.iter().zip(&values[lag..]);
            pairs.fold(0.0, |sum, (a, b)| sum + (a - mean) * (b - mean))
        };
        let whole = product(0);
        found.extend((0..lags).map(|lag| product(lag) / whole));
        lengths.push(lags);
    }
    list_array(lengths, Arc::new(Float64Array::from(found)), &DataType::Float64)
}
