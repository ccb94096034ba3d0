//! How items of arrays are compared and ordered: by a form of their values whose bytes are ordered as ClickHouse orders
//! them.

use super::super::numbers::Numbers;
use super::super::supertype::in_one_form;
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

/// Where NaN and NULL are, however deep: below all others or above them.
#[derive(Clone, Copy, Debug)]
pub struct Absent {
    /// Of NaN.
    pub nan_least: bool,
    /// Of NULL.
    pub null_least: bool,
}

impl Absent {
    const LAST: Self = Self { nan_least: false, null_least: false };
    /// Both last in an order, even if it is turned around after.
    pub const fn last(is_reverse: bool) -> Self {
        Self { nan_least: is_reverse, null_least: is_reverse }
    }
}

impl Comparable {
    /// All values of operands of one type, one after the other.
    pub fn of(operands: &[&Operand]) -> Result<Vec<Self>, FunctionError> {
        Self::with_absent(operands, Absent::LAST)
    }
    /// The values of one operand for an order with NaN and NULL in these places.
    pub fn of_order(operand: &Operand, absent: Absent) -> Result<Self, FunctionError> {
        only(Self::with_absent(&[operand], absent)?)
    }
    fn with_absent(operands: &[&Operand], absent: Absent) -> Result<Vec<Self>, FunctionError> {
        let form = |operand: &&Operand| ordered(&operand.values, &operand.data_type, absent);
        let forms = operands.iter().map(form).collect::<Result<Vec<_>, _>>()?;
        Self::of_forms(&forms, absent)
    }
    /// The same for tables of hashes, in which 0 and -0 are two values, as in ClickHouse's.
    pub fn of_keys(operands: &[&Operand]) -> Result<Vec<Self>, FunctionError> {
        let form = |operand: &&Operand| match bare(&operand.data_type) {
            DataType::Float32 | DataType::Float64 => one_nan(&operand.values, Absent::LAST),
            other => plain(&operand.values, other),
        };
        let forms = operands.iter().map(form).collect::<Result<Vec<_>, _>>()?;
        Self::of_forms(&forms, Absent::LAST)
    }
    fn of_forms(forms: &[ArrayRef], absent: Absent) -> Result<Vec<Self>, FunctionError> {
        let forms: Vec<&dyn Array> = forms.iter().map(AsRef::as_ref).collect();
        let forms = in_one_form(&forms).map_err(FunctionError::arrow("compare"))?;
        let Some(first) = forms.first() else { return Ok(Vec::new()) };
        let options = SortOptions { descending: false, nulls_first: absent.null_least };
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
        only(Self::of_keys(&[operand])?)
    }
    /// The values of one operand.
    pub fn one(operand: &Operand) -> Result<Self, FunctionError> {
        only(Self::of(&[operand])?)
    }
    /// How many values there are.
    pub fn len(&self) -> usize {
        self.0.num_rows()
    }
    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The bytes of a value.
    pub fn get(&self, at: usize) -> &[u8] {
        self.0.row(at).data()
    }
}

fn only(mut all: Vec<Comparable>) -> Result<Comparable, FunctionError> {
    all.pop().ok_or_else(|| super::super::wrong("arrays", "there is nothing to compare"))
}

/// Floats with a single NaN.
fn one_nan(values: &ArrayRef, absent: Absent) -> Result<ArrayRef, FunctionError> {
    let nan = f64::NAN.copysign(if absent.nan_least { -1.0 } else { 1.0 });
    let floats = cast(values, &ArrowType::Float64)?;
    let floats = floats.as_primitive::<Float64Type>();
    let form: PrimitiveArray<Float64Type> =
        floats.unary(|float: f64| if float.is_nan() { nan } else { float });
    Ok(Arc::new(form))
}

/// The same values, ordered by Arrow as ClickHouse orders them, however deep in arrays and tuples.
fn ordered(
    values: &ArrayRef,
    data_type: &DataType,
    absent: Absent,
) -> Result<ArrayRef, FunctionError> {
    let wrong = FunctionError::arrow("compare");
    Ok(match (bare(data_type), values.data_type()) {
        (DataType::Array(item), ArrowType::List(field)) => {
            let list = values.as_list::<i32>();
            let items = ordered(list.values(), item, absent)?;
            let field = Arc::new(field.as_ref().clone().with_data_type(items.data_type().clone()));
            let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
            Arc::new(ListArray::try_new(field, offsets, items, nulls).map_err(wrong)?)
        }
        (DataType::Tuple(elements), ArrowType::Struct(fields)) if !fields.is_empty() => {
            let tuple = values.as_struct();
            let columns = tuple.columns().iter().zip(elements);
            let columns = columns.map(|(column, (_, element))| ordered(column, element, absent));
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            let fields = fields.iter().zip(&columns).map(|(field, column)| {
                Arc::new(field.as_ref().clone().with_data_type(column.data_type().clone()))
            });
            let nulls = tuple.nulls().cloned();
            Arc::new(StructArray::try_new(fields.collect(), columns, nulls).map_err(wrong)?)
        }
        (DataType::Float32 | DataType::Float64, _) => {
            let form = one_nan(values, absent)?;
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
        (data_type @ (DataType::Enum8(_) | DataType::Enum16(_)), _) => {
            match Numbers::of_type(values, data_type)? {
                Numbers::Integers(numbers) => Arc::new(numbers),
                Numbers::Unsigned(numbers) => Arc::new(numbers),
                Numbers::Floats(numbers) => Arc::new(numbers),
            }
        }
        (DataType::Uuid, ArrowType::FixedSizeBinary(16)) => {
            rearranged(values, |value| value.rotate_left(8))?
        }
        (data_type @ (DataType::Int256 | DataType::UInt256), ArrowType::FixedSizeBinary(32)) => {
            let sign = if *data_type == DataType::Int256 { 0x80 } else { 0 };
            rearranged(values, |value| {
                value.reverse();
                value[0] ^= sign;
            })?
        }
        (_, ArrowType::Dictionary(_, inner)) => cast(values, inner)?,
        _ => values.clone(),
    })
}

/// The same bytes in another order.
fn rearranged(values: &ArrayRef, rearrange: impl Fn(&mut [u8])) -> Result<ArrayRef, FunctionError> {
    let values = values.as_fixed_size_binary();
    let (width, nulls) = (values.value_length(), values.nulls().cloned());
    let mut bytes = Vec::with_capacity(values.len() * width as usize);
    for row in 0..values.len() {
        let start = bytes.len();
        bytes.extend_from_slice(values.value(row));
        rearrange(&mut bytes[start..]);
    }
    let array = FixedSizeBinaryArray::try_new(width, bytes.into(), nulls);
    Ok(Arc::new(array.map_err(FunctionError::arrow("compare"))?))
}
