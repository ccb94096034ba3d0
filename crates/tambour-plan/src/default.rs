//! The values that ClickHouse gives where there is none: zeros, empty texts and arrays, the least number of an Enum.

use super::literal::{bare_type, named};
use arrow::array::{ArrayRef, MapArray, StructArray, new_empty_array};
use arrow::datatypes::{DataType as ArrowType, Field};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use std::sync::Arc;
use tambour_part::types::DataType;

/// The default of a field; NULL if it may be NULL.
pub fn scalar(field: &Field) -> Result<ScalarValue> {
    if field.is_nullable() {
        return ScalarValue::try_from(field.data_type());
    }
    present(field)
}

/// The default of a field's values that are not NULL.
pub(super) fn present(field: &Field) -> Result<ScalarValue> {
    let first = match bare_type(field) {
        Some(DataType::Enum8(values)) => values.into_iter().min_by_key(|it| it.1).map(|it| it.0),
        Some(DataType::Enum16(values)) => values.into_iter().min_by_key(|it| it.1).map(|it| it.0),
        _ => None,
    };
    if let Some(name) = first {
        return ScalarValue::from(name.as_str()).cast_to(field.data_type());
    }
    match field.data_type() {
        ArrowType::Struct(fields) => {
            let columns = fields
                .iter()
                .map(|field| scalar(field)?.to_array_of_size(1))
                .collect::<Result<Vec<ArrayRef>>>()?;
            Ok(ScalarValue::Struct(Arc::new(StructArray::try_new(fields.clone(), columns, None)?)))
        }
        ArrowType::List(item) => {
            let values = new_empty_array(item.data_type());
            let offsets = arrow::buffer::OffsetBuffer::from_lengths([0]);
            let list = arrow::array::ListArray::try_new(Arc::clone(item), offsets, values, None)?;
            Ok(ScalarValue::List(Arc::new(list)))
        }
        ArrowType::Map(entries, is_sorted) => {
            let ArrowType::Struct(fields) = entries.data_type() else {
                return ScalarValue::try_from(field.data_type());
            };
            let columns = fields.iter().map(|field| new_empty_array(field.data_type())).collect();
            let items = StructArray::try_new(fields.clone(), columns, None)?;
            let offsets = arrow::buffer::OffsetBuffer::from_lengths([0]);
            let entries = Arc::clone(entries);
            Ok(ScalarValue::Map(Arc::new(MapArray::try_new(
                entries, offsets, items, None, *is_sorted,
            )?)))
        }
        ArrowType::Dictionary(key, value) => {
            let value = ScalarValue::new_default(value)?;
            Ok(ScalarValue::Dictionary(key.clone(), Box::new(value)))
        }
        ArrowType::FixedSizeBinary(width) => {
            let bytes = vec![0; usize::try_from(*width).unwrap_or(0)];
            Ok(ScalarValue::FixedSizeBinary(*width, Some(bytes)))
        }
        other => ScalarValue::new_default(other),
    }
}

/// The same as an expression that keeps its type.
pub(super) fn literal(field: &Field) -> Result<Expr> {
    let value = present(field)?;
    let metadata = bare_type(field).map(|data_type| named(&data_type));
    Ok(Expr::Literal(value, metadata))
}
