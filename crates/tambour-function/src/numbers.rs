//! The values of numeric arguments, whatever their width.

use super::{Call, cast};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, PrimitiveArray, UInt64Array};
use arrow_schema::DataType as ArrowType;

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

    /// The numbers behind the names of an enum, whose keys are positions in its type.
    pub(super) fn of_enum(
        values: &ArrayRef,
        numbers: impl Iterator<Item = i64>,
    ) -> Result<Self, FunctionError> {
        let numbers: Vec<i64> = numbers.collect();
        let Some(dictionary) = values.as_any_dictionary_opt() else {
            return Self::of(values);
        };
        if dictionary.values().is_empty() {
            // There is no key: every value is NULL, if there are any.
            return Ok(Self::Integers(Int64Array::new_null(values.len())));
        }
        let keys = dictionary.normalized_keys();
        let nulls = values.nulls().cloned();
        let found = keys.into_iter().map(|key| numbers.get(key).copied().unwrap_or(0)).collect();
        Ok(Self::Integers(Int64Array::new(found, nulls)))
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
