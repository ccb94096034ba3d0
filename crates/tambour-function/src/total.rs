//! `mapAdd` and `mapSubtract`: the values of equal keys added up, in the order of the keys.

use super::map::{Several, common_types, map_array};
use super::{Call, Function, Signature, bare, expect_count, take, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, UInt32Array, UInt64Array};
use arrow_schema::DataType as ArrowType;
use std::collections::BTreeMap;
use std::sync::Arc;
use tambour_part::types::DataType;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("mapAdd", total_type, |c| total(c, false)),
    Function::new("mapSubtract", total_type, |c| total(c, true)),
];

/// The type in which values are added.
fn summed(name: &str, value: &DataType) -> Result<DataType, FunctionError> {
    use DataType::{Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    Ok(match value {
        UInt8 | UInt16 | UInt32 | UInt64 => UInt64,
        Int8 | Int16 | Int32 | Int64 => Int64,
        Float32 | Float64 => Float64,
        other => return Err(wrong(name, format!("it does not add {other}"))),
    })
}

fn total_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=64)?;
    let (key, value) = common_types(name, s)?;
    let (key, value) = (bare(&key).clone(), summed(name, bare(&value))?);
    // What is ordered in another way than its values is not taken.
    match key {
        DataType::String | DataType::Date | DataType::Date32 => {}
        ref number if summed(name, number).is_ok() => {}
        other => return Err(wrong(name, format!("it does not take keys of type {other}"))),
    }
    Ok(DataType::Map(Box::new(key), Box::new(value)))
}

/// Where each pair of the result is first seen, and the places of its values: operand and row of its items.
type Pair = (usize, usize, Vec<(usize, usize)>);

fn total(call: &Call, subtracts: bool) -> Result<ArrayRef, FunctionError> {
    let Several { maps, keys, values, items } = Several::of(call)?;
    if values.iter().any(|values| values.null_count() > 0) {
        return Err(wrong(call.name, "a value is NULL"));
    }
    let (mut pairs, mut lengths): (Vec<Pair>, _) = (Vec::new(), Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        let mut of_row: BTreeMap<&[u8], Pair> = BTreeMap::new();
        for (index, maps) in maps.iter().enumerate() {
            for at in maps.range(row) {
                let pair = of_row.entry(items[index].get(at));
                pair.or_insert_with(|| (index, at, Vec::new())).2.push((index, at));
            }
        }
        lengths.push(of_row.len());
        pairs.extend(of_row.into_values());
    }
    let places: Vec<(usize, usize)> = pairs.iter().map(|(index, at, _)| (*index, *at)).collect();
    let all: Vec<&dyn Array> = keys.iter().map(AsRef::as_ref).collect();
    let of_keys = if places.is_empty() {
        take(&keys[0], &UInt32Array::from(Vec::<u32>::new()))?
    } else {
        super::supertype::interleave(&all, &places).map_err(FunctionError::arrow("join maps"))?
    };
    let of_values = added(&values, &pairs, subtracts);
    map_array(lengths, of_keys, of_values, call.result)
}

/// The sums; what the first map has counts as it is, also if the others are subtracted.
fn added(values: &[ArrayRef], pairs: &[Pair], subtracts: bool) -> ArrayRef {
    macro_rules! sums {
        ($kind:ty, $array:ty, $add:expr, $subtract:expr, $zero:expr) => {{
            let sides: Vec<_> = values.iter().map(|it| it.as_primitive::<$kind>()).collect();
            let sum = |(_, _, places): &Pair| {
                places.iter().fold($zero, |sum, (index, at)| {
                    let value = sides[*index].value(*at);
                    if subtracts && *index > 0 { $subtract(sum, value) } else { $add(sum, value) }
                })
            };
            Arc::new(<$array>::from_iter_values(pairs.iter().map(sum))) as ArrayRef
        }};
    }
    match values.first().map(Array::data_type) {
        Some(ArrowType::UInt64) => {
            sums!(UInt64Type, UInt64Array, u64::wrapping_add, u64::wrapping_sub, 0)
        }
        Some(ArrowType::Int64) => {
            sums!(Int64Type, Int64Array, i64::wrapping_add, i64::wrapping_sub, 0)
        }
        _ => sums!(Float64Type, Float64Array, std::ops::Add::add, std::ops::Sub::sub, 0.0),
    }
}
