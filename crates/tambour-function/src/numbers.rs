//! The values of numeric arguments, whatever their width.

use super::text::Texts;
use super::{Call, cast};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int64Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int32Array, Int64Array, PrimitiveArray,
    StringArray, UInt64Array,
};
use arrow_schema::DataType as ArrowType;
use std::sync::Arc;
use tambour_part::types::DataType;

/// Numbers of any width.
pub(super) enum Numbers {
    Integers(Int64Array),
    Unsigned(UInt64Array),
    Floats(Float64Array),
}

impl Numbers {
    /// Reads any numeric array.
    pub(super) fn of(values: &ArrayRef) -> Result<Self, FunctionError> {
        Ok(match values.data_type() {
            ArrowType::UInt64 => Self::Unsigned(values.as_primitive::<UInt64Type>().clone()),
            ArrowType::Float32
            | ArrowType::Float64
            | ArrowType::Decimal128(..)
            | ArrowType::Decimal256(..) => Self::Floats(
                cast(values, &ArrowType::Float64)?.as_primitive::<Float64Type>().clone(),
            ),
            _ => {
                Self::Integers(cast(values, &ArrowType::Int64)?.as_primitive::<Int64Type>().clone())
            }
        })
    }

    /// The numbers of an enum's names, whose keys may be any; those of other types are what they are.
    pub(super) fn of_type(values: &ArrayRef, data_type: &DataType) -> Result<Self, FunctionError> {
        let numbers: Vec<i64> = match data_type {
            DataType::Enum8(names) => names.iter().map(|it| it.1.into()).collect(),
            DataType::Enum16(names) => names.iter().map(|it| it.1.into()).collect(),
            _ => return Self::of(values),
        };
        Ok(match numbers_of_names(values, data_type, &numbers)? {
            Some(found) => Self::Integers(found),
            None => Self::of(values)?,
        })
    }

    fn nulls(&self) -> Option<&arrow_buffer::NullBuffer> {
        match self {
            Self::Integers(array) => array.nulls(),
            Self::Unsigned(array) => array.nulls(),
            Self::Floats(array) => array.nulls(),
        }
    }

    /// Maps every number, cut to an integer; `None` and floats that are not numbers are an error that names the row.
    pub(super) fn map<T: ArrowPrimitiveType>(
        self,
        call: &Call,
        map: impl Fn(i64) -> Option<T::Native>,
    ) -> Result<PrimitiveArray<T>, FunctionError> {
        let nulls = self.nulls().cloned();
        let get = |index: usize| -> Option<i64> {
            match &self {
                Self::Integers(array) => Some(array.value(index)),
                Self::Unsigned(array) => {
                    Some(i64::try_from(array.value(index)).unwrap_or(i64::MAX))
                }
                Self::Floats(array) => {
                    let float = array.value(index);
                    float.is_finite().then_some(float as i64)
                }
            }
        };
        let rows = match &self {
            Self::Integers(array) => array.len(),
            Self::Unsigned(array) => array.len(),
            Self::Floats(array) => array.len(),
        };
        let mut values = Vec::with_capacity(rows);
        for index in 0..rows {
            let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(index));
            match get(index).and_then(&map) {
                Some(value) => values.push(value),
                None if is_null => values.push(T::Native::default()),
                None => return Err(call.value_error(index, "the value is out of range")),
            }
        }
        Ok(PrimitiveArray::new(values.into(), nulls))
    }
}

/// The numbers of names, in the order of the type; `None` of what is not a dictionary.
fn numbers_of_names(
    values: &ArrayRef,
    data_type: &DataType,
    numbers: &[i64],
) -> Result<Option<Int64Array>, FunctionError> {
    let values = in_places(values, data_type)?;
    let Some(dictionary) = values.as_any_dictionary_opt() else { return Ok(None) };
    if dictionary.values().is_empty() {
        // There is no key: every value is NULL, if there are any.
        return Ok(Some(Int64Array::new_null(values.len())));
    }
    let keys = dictionary.normalized_keys();
    let nulls = values.nulls().cloned();
    let found = keys.into_iter().map(|key| numbers.get(key).copied().unwrap_or(0)).collect();
    Ok(Some(Int64Array::new(found, nulls)))
}

/// Values of an enum with keys that are positions in the type. They have others when an operator has merged, filtered or grouped
/// them: it may give a dictionary another order, or leave out names.
pub(super) fn in_places(
    values: &ArrayRef,
    data_type: &DataType,
) -> Result<ArrayRef, FunctionError> {
    let names: Vec<&str> = match data_type {
        DataType::Enum8(names) => names.iter().map(|(name, _)| name.as_str()).collect(),
        DataType::Enum16(names) => names.iter().map(|(name, _)| name.as_str()).collect(),
        _ => return Ok(values.clone()),
    };
    // An operator may have made plain texts of them.
    let is_text = matches!(values.data_type(), ArrowType::Utf8 | ArrowType::Utf8View);
    let form = ArrowType::Dictionary(Box::new(ArrowType::Int32), Box::new(ArrowType::Utf8));
    let values = &if is_text { super::cast(values, &form)? } else { values.clone() };
    let Some(dictionary) = values.as_any_dictionary_opt() else { return Ok(values.clone()) };
    let have = Texts::of(dictionary.values());
    let is_in_place = |at: usize| have.value(at) == names.get(at).map(|name| name.as_bytes());
    if (0..dictionary.values().len()).all(is_in_place) {
        return Ok(values.clone());
    }
    let place = |at: usize| names.iter().position(|name| have.value(at) == Some(name.as_bytes()));
    let places: Vec<Option<usize>> = (0..dictionary.values().len()).map(place).collect();
    let keys = dictionary.normalized_keys();
    let rows = keys.into_iter().enumerate().map(|(row, key)| {
        if values.is_null(row) {
            return Ok(None);
        }
        let place = places.get(key).copied().flatten();
        place.and_then(|place| i32::try_from(place).ok()).map(Some).ok_or_else(|| {
            FunctionError::Value {
                function: "enum".to_owned(),
                row,
                problem: format!("a name that {data_type} does not have"),
            }
        })
    });
    let keys = rows.collect::<Result<Int32Array, FunctionError>>()?;
    let names: ArrayRef = Arc::new(StringArray::from(names));
    let placed = DictionaryArray::try_new(keys, names);
    let placed = placed.map_err(FunctionError::arrow("numbering the names of an enum"))?;
    Ok(Arc::new(placed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_enums_become_positions_in_the_type() {
        let data_type: DataType = "Enum8('x' = -2, 'z' = 0, 'a' = 1)".parse().unwrap();
        let of = |keys: Vec<Option<i32>>, names: Vec<&str>| -> ArrayRef {
            let names = Arc::new(StringArray::from(names));
            Arc::new(DictionaryArray::try_new(Int32Array::from(keys), names).unwrap())
        };
        // What a group or a filter leaves: another order, and names that are missing.
        let values = of(vec![Some(0), None, Some(1), Some(0)], vec!["a", "x"]);
        let placed = in_places(&values, &data_type).unwrap();
        let keys = placed.as_any_dictionary().keys();
        assert_eq!(keys.as_primitive::<arrow_array::types::Int32Type>().value(0), 2);
        let numbers = Numbers::of_type(&values, &data_type).unwrap();
        let Numbers::Integers(numbers) = numbers else { panic!("integers") };
        let expected = Int64Array::from(vec![Some(1), None, Some(-2), Some(1)]);
        assert_eq!(numbers, expected);
        let known = of(vec![Some(1)], vec!["x", "z"]);
        assert!(Arc::ptr_eq(&in_places(&known, &data_type).unwrap(), &known));
        let other = of(vec![Some(0)], vec!["q"]);
        assert!(in_places(&other, &data_type).is_err());
    }
}
