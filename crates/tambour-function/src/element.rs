//! What stands in arrays and maps: `arrayElement` (a subscript), `mapContains`.

use super::{Call, Function, Operand, Signature, bare, cast, expect_count, take, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt8Type};
use arrow_array::{
    Array, ArrayRef, PrimitiveArray, StructArray, UInt32Array, make_array, new_null_array,
};
use arrow_row::{RowConverter, SortField};
use arrow_schema::DataType as ArrowType;
use arrow_select::interleave::interleave;
use std::ops::Range;
use std::sync::Arc;
use tambour_part::types::DataType;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("arrayElement", element_type, element),
    Function::new("mapContains", contains_type, contains).aliases(&["mapContainsKey"]).predicate(),
];

/// Elements of nested values, and where those of each row stand.
struct Nested {
    elements: ArrayRef,
    ranges: Vec<Range<usize>>,
}

fn ranges<T: Copy + TryInto<usize>>(offsets: &[T]) -> Vec<Range<usize>> {
    let at = |offset: T| offset.try_into().unwrap_or(0);
    offsets.windows(2).map(|pair| at(pair[0])..at(pair[1])).collect()
}

impl Nested {
    /// The first argument, its keys if it is a map.
    fn of(call: &Call) -> Result<Self, FunctionError> {
        let values = call.values(0)?;
        Ok(match values.data_type() {
            ArrowType::List(_) => {
                let list = values.as_list::<i32>();
                Self { elements: list.values().clone(), ranges: ranges(list.value_offsets()) }
            }
            ArrowType::LargeList(_) => {
                let list = values.as_list::<i64>();
                Self { elements: list.values().clone(), ranges: ranges(list.value_offsets()) }
            }
            ArrowType::Map(..) => {
                let map = values.as_map();
                Self { elements: map.keys().clone(), ranges: ranges(map.value_offsets()) }
            }
            other => return Err(wrong(call.name, format!("it does not take {other}"))),
        })
    }

    /// For every row the number of the first element that is the value of the second argument.
    fn find(&self, call: &Call) -> Result<Vec<Option<usize>>, FunctionError> {
        let needles = call.values(1)?;
        let wanted = match (self.elements.data_type(), needles.data_type()) {
            (ArrowType::Dictionary(_, inner), _) => inner.as_ref().clone(),
            (numbers, needle) if numbers.is_integer() && needle.is_floating() => needle.clone(),
            (other, _) => other.clone(),
        };
        let (elements, needles) = (cast(&self.elements, &wanted)?, cast(&needles, &wanted)?);
        let encoding = FunctionError::arrow("compare elements");
        let converter = RowConverter::new(vec![SortField::new(wanted)]).map_err(encoding)?;
        let rows = |values: ArrayRef| {
            converter.convert_columns(&[values]).map_err(FunctionError::arrow("compare elements"))
        };
        let is_null = needles.logical_nulls();
        let (elements, needles) = (rows(elements)?, rows(needles)?);
        let found = self.ranges.iter().enumerate().map(|(row, range)| {
            // What cannot be cast to the type of the elements is none of them.
            let is_null = is_null.as_ref().is_some_and(|nulls| nulls.is_null(row));
            let needle = needles.row(row);
            range.clone().find(|at| !is_null && elements.row(*at) == needle)
        });
        Ok(found.collect())
    }
}

/// Types of elements stand without `LowCardinality`.
fn element_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=2)?;
    let found = match s {
        [Signature { data_type: DataType::Array(item), .. }, key] => {
            if super::arithmetic::integer(&key.data_type).is_none() {
                return Err(wrong(
                    name,
                    format!("the index must be an integer, not {}", key.data_type),
                ));
            }
            item
        }
        [Signature { data_type: DataType::Map(_, value), .. }, _] => value,
        [first, ..] => {
            return Err(wrong(
                name,
                format!("it takes an Array or a Map, not {}", first.data_type),
            ));
        }
        [] => return Err(wrong(name, "it takes 2 arguments")),
    };
    Ok(match found.as_ref() {
        DataType::LowCardinality(inner) => inner.as_ref().clone(),
        other => other.clone(),
    })
}

fn contains_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=2)?;
    match s {
        [Signature { data_type: DataType::Map(..), .. }, _] => Ok(DataType::UInt8),
        _ => Err(wrong(name, "it takes a Map and a key")),
    }
}

/// Indexes count from 1, negative ones from the end; what is not there is the default of the type.
fn element(call: &Call) -> Result<ArrayRef, FunctionError> {
    let nested = Nested::of(call)?;
    let values = call.values(0)?;
    let (elements, found) = if let Some(map) = values.as_map_opt() {
        (map.values().clone(), nested.find(call)?)
    } else {
        let keys = cast(&call.values(1)?, &ArrowType::Int64)?;
        let keys = keys.as_primitive::<Int64Type>();
        let of_row = |(row, range): (usize, &Range<usize>)| {
            let key = keys.value(row);
            let distance = usize::try_from(key.unsigned_abs()).unwrap_or(usize::MAX);
            match key {
                1.. => range.start.checked_add(distance - 1).filter(|at| *at < range.end),
                0 => None,
                _ => range.end.checked_sub(distance).filter(|at| *at >= range.start),
            }
        };
        (nested.elements.clone(), nested.ranges.iter().enumerate().map(of_row).collect())
    };
    let is_enum = matches!(bare(call.result), DataType::Enum8(_) | DataType::Enum16(_));
    let elements = match elements.data_type() {
        ArrowType::Dictionary(_, inner) if !is_enum => cast(&elements, inner)?,
        _ => elements,
    };
    let may_be_null = match call.operands.first() {
        Some(Operand { data_type: DataType::Array(item), .. }) => super::is_nullable(item),
        Some(Operand { data_type: DataType::Map(_, value), .. }) => super::is_nullable(value),
        _ => false,
    };
    if may_be_null {
        let at = |at: Option<usize>| at.and_then(|at| u32::try_from(at).ok());
        return take(&elements, &found.into_iter().map(at).collect::<UInt32Array>());
    }
    let default = default_as(&elements, call.result)?;
    let places: Vec<(usize, usize)> =
        found.into_iter().map(|at| at.map_or((1, 0), |at| (0, at))).collect();
    interleave(&[elements.as_ref(), default.as_ref()], &places)
        .map_err(FunctionError::arrow("take elements"))
}

/// One value that is the default of a type, in the form of these elements; a tuple has the defaults of its own elements.
fn default_as(elements: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, FunctionError> {
    let (DataType::Tuple(types), Some(tuples)) = (data_type, elements.as_struct_opt()) else {
        return default_of(elements);
    };
    let columns = tuples.columns().iter().zip(types).map(|(column, (_, data_type))| {
        if super::is_nullable(data_type) {
            Ok(new_null_array(column.data_type(), 1))
        } else {
            default_as(column, bare(data_type))
        }
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let made = StructArray::try_new(tuples.fields().clone(), columns, None);
    Ok(Arc::new(made.map_err(FunctionError::arrow("make a tuple"))?))
}

/// One value that is the default of its type: zero, nothing, the first name of an enum that has any.
pub(super) fn default_of(elements: &ArrayRef) -> Result<ArrayRef, FunctionError> {
    let made =
        |data: Result<_, _>| data.map(make_array).map_err(FunctionError::arrow("fill in defaults"));
    // What stands under a NULL.
    let plain = |of| made(new_null_array(of, 1).to_data().into_builder().nulls(None).build());
    match (elements.data_type(), elements.as_any_dictionary_opt()) {
        (data_type @ ArrowType::Dictionary(key, _), Some(names)) if !names.values().is_empty() => {
            let first: ArrayRef = Arc::new(UInt32Array::from(vec![0]));
            let keys = cast(&first, key)?.to_data().into_builder().data_type(data_type.clone());
            made(keys.add_child_data(names.values().to_data()).build())
        }
        (data_type @ ArrowType::Dictionary(_, of), _) => cast(&plain(of)?, data_type),
        (ArrowType::Struct(fields), _) => {
            let columns = elements.as_struct().columns().iter().zip(fields);
            let columns = columns.map(|(column, field)| {
                if field.is_nullable() {
                    Ok(new_null_array(column.data_type(), 1))
                } else {
                    default_of(column)
                }
            });
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            let made = StructArray::try_new(fields.clone(), columns, None);
            Ok(Arc::new(made.map_err(FunctionError::arrow("make a tuple"))?))
        }
        (data_type, _) => plain(data_type),
    }
}

fn contains(call: &Call) -> Result<ArrayRef, FunctionError> {
    let found = Nested::of(call)?.find(call)?.into_iter();
    let is_there = found.map(|at| u8::from(at.is_some()));
    Ok(Arc::new(PrimitiveArray::<UInt8Type>::from_iter_values(is_there)))
}
