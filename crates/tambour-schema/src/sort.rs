//! The order of values: ClickHouse's, expressed in arrays whose Arrow row order is the same.

use crate::TableError;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{
    Array, ArrayRef, FixedSizeBinaryArray, Int16Array, ListArray, PrimitiveArray, StructArray,
};
use arrow_schema::{ArrowError, DataType as ArrowType, Field};
use std::sync::Arc;
use tambour_function::{bare, cast};
use tambour_part::types::DataType;

/// The order in which ClickHouse sorts values of a type, as an array whose Arrow row order (ascending, NULLs last) is that
/// order: enums by number, NaN after all numbers, -0 equal to 0, 256-bit integers as numbers, UUIDs by their second half
/// first. Arrays and tuples are handled element by element.
pub fn sort_form(values: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, TableError> {
    Ok(match bare(data_type) {
        DataType::Float32 | DataType::BFloat16 => {
            let floats = cast(values, &ArrowType::Float32)?;
            let ordered: PrimitiveArray<Float32Type> = floats
                .as_primitive::<Float32Type>()
                .unary(|v| if v.is_nan() { f32::NAN.abs() } else { v + 0.0 });
            Arc::new(ordered)
        }
        DataType::Float64 => {
            let floats = cast(values, &ArrowType::Float64)?;
            let ordered: PrimitiveArray<Float64Type> = floats
                .as_primitive::<Float64Type>()
                .unary(|v| if v.is_nan() { f64::NAN.abs() } else { v + 0.0 });
            Arc::new(ordered)
        }
        DataType::Enum8(names) => enum_numbers(
            values,
            &names.iter().map(|(_, number)| i16::from(*number)).collect::<Vec<_>>(),
        ),
        DataType::Enum16(names) => {
            enum_numbers(values, &names.iter().map(|(_, number)| *number).collect::<Vec<_>>())
        }
        DataType::UInt256 => rearranged(values, 32, |value, out| out.extend(value.iter().rev()))?,
        DataType::Int256 => rearranged(values, 32, |value, out| {
            // The sign bit flipped, negative numbers come first.
            out.extend(
                value
                    .iter()
                    .rev()
                    .enumerate()
                    .map(|(at, byte)| if at == 0 { byte ^ 0x80 } else { *byte }),
            );
        })?,
        DataType::Uuid => rearranged(values, 16, |value, out| {
            let (first, second) = value.split_at(8);
            out.extend_from_slice(second);
            out.extend_from_slice(first);
        })?,
        DataType::Array(element) => array(values, element)?,
        DataType::Tuple(elements) => tuple(values, elements)?,
        DataType::Map(..) => {
            return Err(TableError::Refused {
                clause: format!("sorting by {data_type}"),
                reason: "rows cannot be sorted by a Map".to_owned(),
            });
        }
        _ => values.clone(),
    })
}

/// Keys are positions in the type; the numbers at these positions are what is ordered.
fn enum_numbers(values: &ArrayRef, numbers: &[i16]) -> ArrayRef {
    let Some(dictionary) = values.as_any_dictionary_opt() else { return values.clone() };
    if dictionary.values().is_empty() {
        // There is no key: every value is NULL, if there are any.
        return Arc::new(Int16Array::new_null(values.len()));
    }
    let keys = dictionary.normalized_keys();
    let found = keys.into_iter().map(|key| numbers.get(key).copied().unwrap_or(i16::MAX)).collect();
    Arc::new(Int16Array::new(found, dictionary.keys().nulls().cloned()))
}

fn rearranged(
    values: &ArrayRef,
    width: i32,
    rearrange: impl Fn(&[u8], &mut Vec<u8>),
) -> Result<ArrayRef, TableError> {
    let Some(array) =
        values.as_fixed_size_binary_opt().filter(|array| array.value_length() == width)
    else {
        return Ok(values.clone());
    };
    let mut bytes = Vec::with_capacity(array.len() * width as usize);
    for row in 0..array.len() {
        rearrange(array.value(row), &mut bytes);
    }
    let ordered = FixedSizeBinaryArray::try_new(width, bytes.into(), array.nulls().cloned());
    Ok(Arc::new(ordered.map_err(ordering)?))
}

fn array(values: &ArrayRef, element: &DataType) -> Result<ArrayRef, TableError> {
    let Some(list) = values.as_list_opt::<i32>() else { return Ok(values.clone()) };
    let items = sort_form(list.values(), element)?;
    let field = Field::new("item", items.data_type().clone(), true);
    let ordered =
        ListArray::try_new(Arc::new(field), list.offsets().clone(), items, list.nulls().cloned());
    Ok(Arc::new(ordered.map_err(ordering)?))
}

fn tuple(
    values: &ArrayRef,
    elements: &[(Option<String>, DataType)],
) -> Result<ArrayRef, TableError> {
    let Some(fields) = values.as_struct_opt() else { return Ok(values.clone()) };
    let columns: Vec<ArrayRef> = fields
        .columns()
        .iter()
        .zip(elements)
        .map(|(column, (_, data_type))| sort_form(column, data_type))
        .collect::<Result<_, _>>()?;
    if columns.is_empty() {
        return Ok(values.clone());
    }
    let types: Vec<Field> = columns
        .iter()
        .enumerate()
        .map(|(at, column)| Field::new(at.to_string(), column.data_type().clone(), true))
        .collect();
    let ordered = StructArray::try_new(types.into(), columns, fields.nulls().cloned());
    Ok(Arc::new(ordered.map_err(ordering)?))
}

fn ordering(cause: ArrowError) -> TableError {
    TableError::Arrow { operation: "putting values into their order", cause }
}
