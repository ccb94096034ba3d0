//! Maps by a pattern of their keys or values: `mapContainsKeyLike`, `mapExtractKeyLike`; and maps without gaps,
//! `mapPopulateSeries`.

use super::access::{Kind, takes, type_at, wide_integers};
use super::arithmetic::integer;
use super::array::one_each;
use super::map::{Maps, map_array};
use super::string::like::Pattern;
use super::text::Texts;
use super::{Call, Function, Signature, bare, take, wrong};
use crate::FunctionError;
use arrow_array::{ArrayRef, UInt32Array};
use std::collections::HashMap;
use tambour_part::types::DataType;

/// Most keys of a map without gaps.
const KEYS_MAX: i128 = 1 << 20;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("mapContainsKeyLike", |n, s| flag_type(n, s, true), |c| contains(c, true))
        .predicate(),
    Function::new("mapContainsValueLike", |n, s| flag_type(n, s, false), |c| contains(c, false))
        .predicate(),
    Function::new("mapExtractKeyLike", |n, s| side_type(n, s, true), |c| extract(c, true)),
    Function::new("mapExtractValueLike", |n, s| side_type(n, s, false), |c| extract(c, false)),
    Function::new("mapPopulateSeries", series_type, series),
];

/// A map whose keys or values are texts, and a pattern.
fn side_type(
    name: &'static str,
    s: &[Signature],
    of_keys: bool,
) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Map, Kind::Text], &[])?;
    match type_at(s, 0) {
        DataType::Map(key, value) => match if of_keys { key } else { value }.as_ref() {
            DataType::String | DataType::FixedString(_) => Ok(type_at(s, 0).clone()),
            other => Err(wrong(name, format!("it looks at texts, not at {other}"))),
        },
        other => Err(wrong(name, format!("it takes a Map, not {other}"))),
    }
}

fn flag_type(
    name: &'static str,
    s: &[Signature],
    of_keys: bool,
) -> Result<DataType, FunctionError> {
    side_type(name, s, of_keys).map(|_| DataType::UInt8)
}

/// The places of the pairs of each row that are like the pattern.
fn places(call: &Call, maps: &Maps, of_keys: bool) -> Result<Vec<Vec<u32>>, FunctionError> {
    let patterns = call.texts(1)?;
    let texts = Texts::of(if of_keys { &maps.keys } else { &maps.values });
    let of_row = |row: usize| {
        let pattern = Pattern::of(patterns.get(row));
        let is_like = |at: &usize| texts.value(*at).is_some_and(|text| pattern.matches(text));
        maps.range(row).filter(is_like).map(|at| at as u32).collect()
    };
    Ok((0..call.rows).map(of_row).collect())
}

fn contains(call: &Call, of_keys: bool) -> Result<ArrayRef, FunctionError> {
    let found = places(call, &Maps::of(call, 0)?, of_keys)?;
    call.make_flags(|row| !found[row].is_empty())
}

fn extract(call: &Call, of_keys: bool) -> Result<ArrayRef, FunctionError> {
    let maps = Maps::of(call, 0)?;
    let found = places(call, &maps, of_keys)?;
    let lengths = found.iter().map(Vec::len).collect();
    let places = UInt32Array::from_iter_values(found.into_iter().flatten());
    map_array(lengths, take(&maps.keys, &places)?, take(&maps.values, &places)?, call.result)
}

fn series_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Map], &[Kind::Integer])?;
    match type_at(s, 0) {
        DataType::Map(key, value)
            if integer(key).is_some_and(|it| it.bits <= 64)
                && **key != DataType::Bool
                && integer(bare(value)).is_some()
                && **value == *bare(value)
                && **value != DataType::Bool =>
        {
            Ok(type_at(s, 0).clone())
        }
        other => Err(wrong(name, format!("it takes a Map of integers by integers, not {other}"))),
    }
}

/// All keys from the least to the greatest, or to the one that is given; new ones have the default.
fn series(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (maps, ends) = (Maps::of(call, 0)?, call.optional_integers(1)?);
    let known = wide_integers(&maps.keys)?;
    let DataType::Map(key, _) = call.result else {
        return Err(wrong(call.name, "its result is a Map"));
    };
    let greatest_of = integer(key).map_or(0, |it| (1 << (it.bits - u8::from(it.is_signed))) - 1);
    let (mut keys, mut places, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..call.rows {
        let range = maps.range(row);
        let of_row = &known[range.clone()];
        let (Some(least), Some(greatest)) = (of_row.iter().min(), of_row.iter().max()) else {
            lengths.push(0);
            continue;
        };
        let last = ends.as_ref().map_or(*greatest, |ends| ends.get(row));
        if last > greatest_of {
            return Err(call.value_error(row, format!("{last} is not a key of this map")));
        }
        let count = (last - least + 1).max(0);
        if count > KEYS_MAX || keys.len() as i128 + count > i128::from(u32::MAX >> 2) {
            return Err(call.value_error(row, format!("more than {KEYS_MAX} keys")));
        }
        // Of equal keys the first counts.
        let mut at: HashMap<i128, usize> = HashMap::new();
        for (place, key) in range.zip(of_row) {
            at.entry(*key).or_insert(place);
        }
        for key in *least..=last {
            keys.push(key);
            places.push(at.get(&key).copied());
        }
        lengths.push(count as usize);
    }
    let keys = super::access::integer_array(call.name, key, keys.into_iter())?;
    map_array(lengths, keys, one_each(&maps.values, places)?, call.result)
}
