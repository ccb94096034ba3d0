//! How items of arrays are compared and ordered: by a form of their values whose bytes are ordered as ClickHouse orders
//! them.

use super::super::{Operand, bare, cast};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, ListArray, PrimitiveArray, StructArray};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{DataType as ArrowType, SortOptions};
use std::sync::Arc;
use tambour_part::types::DataType;

/// Values in a form that can be compared: NaN after all numbers, one zero, NULLs last.
#[derive(Debug)]
pub struct Comparable(Rows);

impl Comparable {
    /// All values of operands of one type, one after the other.
    pub fn of(operands: &[&Operand]) -> Result<Vec<Self>, FunctionError> {
        let forms = operands.iter().map(|operand| ordered(&operand.values, &operand.data_type));
        Self::of_forms(&forms.collect::<Result<Vec<_>, _>>()?)
    }
    /// The same for tables of hashes, in which 0 and -0 are two values, as in ClickHouse's.
    pub fn of_keys(operands: &[&Operand]) -> Result<Vec<Self>, FunctionError> {
        let form = |operand: &&Operand| match bare(&operand.data_type) {
            DataType::Float32 | DataType::Float64 => one_nan(&operand.values),
            other => plain(&operand.values, other),
        };
        Self::of_forms(&operands.iter().map(form).collect::<Result<Vec<_>, _>>()?)
    }
    fn of_forms(forms: &[ArrayRef]) -> Result<Vec<Self>, FunctionError> {
        let Some(first) = forms.first() else { return Ok(Vec::new()) };
        let options = SortOptions { descending: false, nulls_first: false };
        let field = SortField::new_with_options(first.data_type().clone(), options);
        let converter = RowConverter::new(vec![field]).map_err(FunctionError::arrow("compare"))?;
        let rows = |form: &ArrayRef| {
            let rows = converter.convert_columns(std::slice::from_ref(form));
            rows.map(Self).map_err(FunctionError::arrow("compare"))
        };
        forms.iter().map(rows).collect()
    }
    /// The values of one operand, as keys.
    pub fn one_of_keys(operand: &Operand) -> Result<Self, FunctionError> {
        let mut all = Self::of_keys(&[operand])?;
        all.pop().ok_or_else(|| super::super::wrong("arrays", "there is nothing to compare"))
    }
    /// The values of one operand.
    pub fn one(operand: &Operand) -> Result<Self, FunctionError> {
        let mut all = Self::of(&[operand])?;
        all.pop().ok_or_else(|| super::super::wrong("arrays", "there is nothing to compare"))
    }
    /// The bytes of a value.
    pub fn get(&self, at: usize) -> &[u8] {
        self.0.row(at).data()
    }
}

/// Floats with a single NaN.
fn one_nan(values: &ArrayRef) -> Result<ArrayRef, FunctionError> {
    let floats = cast(values, &ArrowType::Float64)?;
    let floats = floats.as_primitive::<Float64Type>();
    let form: PrimitiveArray<Float64Type> =
        floats.unary(|float: f64| if float.is_nan() { f64::NAN.abs() } else { float });
    Ok(Arc::new(form))
}

/// The same values, ordered by Arrow as ClickHouse orders them, however deep in arrays and tuples.
fn ordered(values: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, FunctionError> {
    let wrong = FunctionError::arrow("compare");
    Ok(match (bare(data_type), values.data_type()) {
        (DataType::Array(item), ArrowType::List(field)) => {
            let list = values.as_list::<i32>();
            let items = ordered(list.values(), item)?;
            let field = Arc::new(field.as_ref().clone().with_data_type(items.data_type().clone()));
            let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
            Arc::new(ListArray::try_new(field, offsets, items, nulls).map_err(wrong)?)
        }
        (DataType::Tuple(elements), ArrowType::Struct(fields)) if !fields.is_empty() => {
            let tuple = values.as_struct();
            let columns = tuple.columns().iter().zip(elements);
            let columns = columns.map(|(column, (_, element))| ordered(column, element));
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            let fields = fields.iter().zip(&columns).map(|(field, column)| {
                Arc::new(field.as_ref().clone().with_data_type(column.data_type().clone()))
            });
            let nulls = tuple.nulls().cloned();
            Arc::new(StructArray::try_new(fields.collect(), columns, nulls).map_err(wrong)?)
        }
        (DataType::Float32 | DataType::Float64, _) => {
            let form = one_nan(values)?;
            let one_zero: PrimitiveArray<Float64Type> =
                form.as_primitive::<Float64Type>().unary(|float: f64| float + 0.0);
            Arc::new(one_zero)
        }
        (other, _) => plain(values, other)?,
    })
}

/// The same of values that are neither floats nor looked into.
fn plain(values: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, FunctionError> {
    Ok(match (bare(data_type), values.data_type()) {
        (DataType::Enum8(_) | DataType::Enum16(_), ArrowType::Dictionary(key, _)) => {
            // Their keys are in the order of their numbers.
            let keys =
                values.as_any_dictionary_opt().map(|dictionary| cast_keys(dictionary.keys()));
            match keys {
                Some(keys) => keys?,
                None => cast(values, key)?,
            }
        }
        (DataType::Uuid, ArrowType::FixedSizeBinary(16)) => {
            let bytes = values.as_fixed_size_binary();
            let mut turned = Vec::with_capacity(bytes.len() * 16);
            for row in 0..bytes.len() {
                let (high, low) = bytes.value(row).split_at(8);
                turned.extend_from_slice(low);
                turned.extend_from_slice(high);
            }
            let array = FixedSizeBinaryArray::try_new(16, turned.into(), bytes.nulls().cloned());
            Arc::new(array.map_err(FunctionError::arrow("compare UUIDs"))?)
        }
        (_, ArrowType::Dictionary(_, inner)) => cast(values, inner)?,
        _ => values.clone(),
    })
}

fn cast_keys(keys: &dyn Array) -> Result<ArrayRef, FunctionError> {
    let keys = arrow_array::make_array(keys.to_data());
    cast(&keys, &ArrowType::Int32)
}
