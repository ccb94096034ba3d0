//! Conversions to an Enum: of texts by name, of numbers and of another Enum by number.

use super::access::wide_integers;
use super::arithmetic::integer;
use super::numbers::Numbers;
use super::text::Texts;
use super::{Call, Operand, cast, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowDictionaryKeyType, Int8Type, Int16Type, Int32Type};
use arrow_array::{Array, ArrayRef, DictionaryArray, PrimitiveArray, StringArray};
use arrow_schema::DataType as ArrowType;
use std::sync::Arc;
use tambour_part::types::{DataType, Strings};

/// The names of an Enum, with their numbers.
fn values(data_type: &DataType) -> Vec<(&str, i64)> {
    match data_type {
        DataType::Enum8(names) => names.iter().map(|it| (it.0.as_str(), it.1.into())).collect(),
        DataType::Enum16(names) => names.iter().map(|it| (it.0.as_str(), it.1.into())).collect(),
        _ => Vec::new(),
    }
}

/// An error if a name has another number in the other Enum: values keep their numbers, and would lose their names.
pub(super) fn check(
    name: &'static str,
    source: &DataType,
    target: &DataType,
) -> Result<(), FunctionError> {
    let wanted = values(target);
    for (text, number) in values(source) {
        if let Some((_, other)) = wanted.iter().find(|it| it.0 == text && it.1 != number) {
            let reason = format!("{text:?} is {number} in the one Enum, and {other} in the other");
            return Err(wrong(name, reason));
        }
    }
    Ok(())
}

/// Names by their text or their number.
pub(super) fn of(
    call: &Call,
    operand: &Operand,
    target: &DataType,
) -> Result<ArrayRef, FunctionError> {
    let known = values(target);
    let numbers = match (&operand.data_type, integer(&operand.data_type)) {
        (DataType::Enum8(_) | DataType::Enum16(_), _) => {
            match Numbers::of_type(&operand.values, &operand.data_type)? {
                Numbers::Integers(numbers) => {
                    Some(numbers.values().iter().map(|it| i128::from(*it)).collect())
                }
                _ => None,
            }
        }
        (_, Some(_)) => Some(wide_integers(&operand.values)?),
        _ => None,
    };
    let texts = Texts::of(&operand.values);
    let mut places = Vec::with_capacity(texts.len());
    for row in 0..texts.len() {
        if operand.values.is_null(row) {
            places.push(None);
            continue;
        }
        let place = if let Some(numbers) = &numbers {
            known.iter().position(|it| i128::from(it.1) == numbers[row])
        } else {
            let text = texts.value(row).unwrap_or_default();
            known.iter().position(|it| it.0.as_bytes() == text).or_else(|| {
                let number = std::str::from_utf8(text).ok()?.parse::<i64>().ok()?;
                known.iter().position(|it| it.1 == number)
            })
        };
        let place = place.and_then(|place| i32::try_from(place).ok());
        if place.is_none() {
            return Err(call.value_error(row, format!("it is none of the values of {target}")));
        }
        places.push(place);
    }
    let names: ArrayRef = Arc::new(known.iter().map(|it| Some(it.0)).collect::<StringArray>());
    let keys: ArrayRef = Arc::new(places.into_iter().collect::<PrimitiveArray<Int32Type>>());
    match target.arrow(Strings::Utf8) {
        ArrowType::Dictionary(key, _) if *key == ArrowType::Int8 => {
            of_keys::<Int8Type>(&keys, names)
        }
        ArrowType::Dictionary(key, _) if *key == ArrowType::Int16 => {
            of_keys::<Int16Type>(&keys, names)
        }
        _ => of_keys::<Int32Type>(&keys, names),
    }
}

fn of_keys<K: ArrowDictionaryKeyType>(
    keys: &ArrayRef,
    names: ArrayRef,
) -> Result<ArrayRef, FunctionError> {
    let keys = cast(keys, &K::DATA_TYPE)?.as_primitive::<K>().clone();
    // Without a map of NULLs where there are none: items that cannot be NULL have no such map.
    let (_, numbers, nulls) = keys.into_parts();
    let keys = PrimitiveArray::<K>::new(numbers, nulls.filter(|nulls| nulls.null_count() > 0));
    let made = DictionaryArray::<K>::try_new(keys, names);
    Ok(Arc::new(made.map_err(FunctionError::arrow("make enums"))?))
}
