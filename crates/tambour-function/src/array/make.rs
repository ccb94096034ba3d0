//! Arrays made of numbers and of other arrays: `range`, `arrayWithConstant`, `arrayZip`, `arrayEnumerate…`, `emptyArray…`.

use super::super::access::{
    Kind, Lists, array_of, as_list, integer_array, item_of, list_array, rule, takes, type_at,
};
use super::super::arithmetic::integer;
use super::super::supertype::common_type;
use super::super::{Call, Function, Signature, expect_count, take, wrong};
use super::compare::Comparable;
use super::plain_item;
use crate::FunctionError;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, PrimitiveArray, StructArray, UInt32Array, new_empty_array};
use std::collections::HashMap;
use std::sync::Arc;
use tambour_part::types::{DataType, Strings};

/// Most items of all arrays that one call of `range` makes.
const RANGE_MAX: u128 = 1 << 26;

macro_rules! empty {
    ($($name:literal $item:expr;)+) => {
        &[$(
            Function::new($name, rule!(=> array_of($item)), |c| {
                let values = new_empty_array(&item_of(c.result).arrow(Strings::Utf8));
                list_array(vec![0; c.rows], values, item_of(c.result))
            }),
        )+]
    };
}

const EMPTY: &[Function] = empty! {
    "emptyArrayUInt8" DataType::UInt8;
    "emptyArrayUInt16" DataType::UInt16;
    "emptyArrayUInt32" DataType::UInt32;
    "emptyArrayUInt64" DataType::UInt64;
    "emptyArrayInt8" DataType::Int8;
    "emptyArrayInt16" DataType::Int16;
    "emptyArrayInt32" DataType::Int32;
    "emptyArrayInt64" DataType::Int64;
    "emptyArrayFloat32" DataType::Float32;
    "emptyArrayFloat64" DataType::Float64;
    "emptyArrayDate" DataType::Date;
    "emptyArrayDateTime" DataType::DateTime { zone: None };
    "emptyArrayString" DataType::String;
};

/// The functions of this room.
pub(in super::super) const FUNCTIONS: &[&[Function]] = &[EMPTY, OTHERS];

const OTHERS: &[Function] = &[
    Function::new("range", range_type, range).any_case(),
    Function::new(
        "arrayWithConstant",
        |n, s| {
            takes(n, s, &[Kind::Integer, Kind::Any], &[])?;
            Ok(array_of(plain_item(type_at(s, 1))))
        },
        |c| repeated(c, 0, 1),
    )
    .takes_nulls(),
    Function::new(
        "replicate",
        |n, s| {
            takes(n, s, &[Kind::Any, Kind::Array], &[])?;
            Ok(array_of(plain_item(type_at(s, 0))))
        },
        replicate,
    )
    .takes_nulls(),
    Function::new("arrayZip", zip_type, zip),
    Function::new("arrayEnumerate", rule!(Array => array_of(DataType::UInt32)), |c| {
        numbered(c, |range, _| (1..=range.len() as u32).collect())
    }),
    Function::new("arrayEnumerateUniq", many_type, |c| enumerate(c, false)),
    Function::new("arrayEnumerateDense", many_type, |c| enumerate(c, true)),
    Function::new(
        "arrayUniq",
        |n, s| many_type(n, s).map(|_| DataType::UInt32),
        |c| {
            let tuples = Tuples::of(c)?;
            tuples.check(c)?;
            c.make_integers(|row| {
                let mut seen = std::collections::HashSet::new();
                (0..tuples.len(row)).filter(|at| seen.insert(tuples.key(row, *at))).count() as i128
            })
        },
    ),
    Function::new(
        "emptyArrayToSingle",
        |n, s| {
            takes(n, s, &[Kind::Array], &[])?;
            Ok(array_of(plain_item(item_of(type_at(s, 0)))))
        },
        empty_to_single,
    ),
];

fn range_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Integer], &[Kind::Integer, Kind::Integer])?;
    if s.iter().any(|argument| *crate::bare(&argument.data_type) == DataType::Bool) {
        return Err(wrong(name, "it does not take Bool, of which ClickHouse makes Bools"));
    }
    common_type(name, s.iter().map(|argument| argument.data_type.clone())).map(array_of)
}

fn range(call: &Call) -> Result<ArrayRef, FunctionError> {
    let first = call.integers(0)?;
    let (second, third) = (call.optional_integers(1)?, call.optional_integers(2)?);
    let mut values: Vec<i128> = Vec::new();
    let mut lengths = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let (from, to) = match &second {
            Some(second) => (first.get(row), second.get(row)),
            None => (0, first.get(row)),
        };
        let step = third.as_ref().map_or(1, |third| third.get(row));
        if call.is_null(row) {
            lengths.push(0);
            continue;
        }
        if second.is_none() && to < 0 {
            return Err(call.value_error(row, "an end alone must not be negative"));
        }
        if step == 0 {
            return Err(call.value_error(row, "the step must not be 0"));
        }
        let distance = if step > 0 { to - from } else { from - to };
        let count = if distance <= 0 { 0 } else { (distance - 1) / step.abs() + 1 };
        if values.len() as u128 + count as u128 > RANGE_MAX {
            let problem = format!("more than {RANGE_MAX} items are refused");
            return Err(call.value_error(row, problem));
        }
        values.extend((0..count).map(|index| from + index * step));
        lengths.push(count as usize);
    }
    let item = item_of(call.result);
    list_array(lengths, integer_array(call.name, item, values.into_iter())?, item)
}

fn repeated(call: &Call, count: usize, value: usize) -> Result<ArrayRef, FunctionError> {
    let counts = call.integers(count)?;
    let operand = call.operand(value)?;
    let (mut places, mut lengths) = (Vec::new(), Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        let count = counts.get(row);
        if !(0..=1 << 24).contains(&count) {
            return Err(call.value_error(row, "the length must be 0 to 16777216"));
        }
        call.check_size(row, places.len() + count as usize)?;
        let place = if operand.is_constant { 0 } else { row as u32 };
        places.extend(std::iter::repeat_n(place, count as usize));
        lengths.push(count as usize);
    }
    let values = take(&operand.values, &UInt32Array::from(places))?;
    list_array(lengths, values, item_of(call.result))
}

fn replicate(call: &Call) -> Result<ArrayRef, FunctionError> {
    let operand = call.operand(0)?;
    let lists = call.lists(1)?;
    let (mut places, mut lengths) = (Vec::new(), Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        let count = lists.range(row).len();
        places.extend(std::iter::repeat_n(if operand.is_constant { 0 } else { row as u32 }, count));
        lengths.push(count);
    }
    let values = take(&operand.values, &UInt32Array::from(places))?;
    list_array(lengths, values, item_of(call.result))
}

fn many_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=usize::MAX)?;
    takes(name, s, &vec![Kind::Array; s.len()], &[])?;
    Ok(array_of(DataType::UInt32))
}

fn zip_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    many_type(name, s)?;
    let items = s.iter().map(|argument| (None, plain_item(item_of(&argument.data_type))));
    Ok(array_of(DataType::Tuple(items.collect())))
}

/// The arrays of all arguments, and an error where their lengths differ.
fn all_lists(call: &Call) -> Result<Vec<Lists>, FunctionError> {
    let lists = (0..call.operands.len()).map(|index| call.lists(index));
    let lists = lists.collect::<Result<Vec<_>, _>>()?;
    for row in 0..call.rows {
        let mut lengths = lists.iter().map(|lists| lists.range(row).len());
        let first = lengths.next();
        if lengths.any(|length| Some(length) != first) && !call.is_null(row) {
            return Err(call.value_error(row, "the arrays have different lengths"));
        }
    }
    Ok(lists)
}

fn zip(call: &Call) -> Result<ArrayRef, FunctionError> {
    let lists = all_lists(call)?;
    let lengths: Vec<usize> = (0..call.rows).map(|row| lists[0].range(row).len()).collect();
    let columns = lists.iter().map(|lists| {
        let places = (0..call.rows).flat_map(|row| lists.range(row)).map(|at| at as u32);
        take(&lists.items.values, &UInt32Array::from_iter_values(places))
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let fields = columns.iter().zip(&lists).enumerate().map(|(index, (column, lists))| {
        let item = super::super::access::item_field(&lists.item_type, column);
        item.as_ref().clone().with_name((index + 1).to_string())
    });
    let fields: Vec<arrow_schema::Field> = fields.collect();
    let values = StructArray::try_new(fields.into(), columns, None);
    let values = values.map_err(FunctionError::arrow("join arrays"))?;
    list_array(lengths, Arc::new(values), item_of(call.result))
}

fn numbered(
    call: &Call,
    number: impl Fn(std::ops::Range<usize>, usize) -> Vec<u32>,
) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let (mut numbers, mut lengths) = (Vec::new(), Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        let of_row = number(lists.range(row), row);
        lengths.push(of_row.len());
        numbers.extend(of_row);
    }
    let values = PrimitiveArray::<UInt32Type>::new(numbers.into(), None);
    list_array(lengths, Arc::new(values), &DataType::UInt32)
}

/// Items of several arrays, side by side.
struct Tuples {
    lists: Vec<Lists>,
    items: Vec<Comparable>,
}

impl Tuples {
    fn of(call: &Call) -> Result<Self, FunctionError> {
        let lists = all_lists(call)?;
        let items = lists.iter().map(|lists| Comparable::one_of_keys(&lists.items));
        let items = items.collect::<Result<Vec<_>, _>>()?;
        Ok(Self { lists, items })
    }
    fn check(&self, call: &Call) -> Result<(), FunctionError> {
        if self.lists.is_empty() { Err(wrong(call.name, "it takes an array")) } else { Ok(()) }
    }
    fn len(&self, row: usize) -> usize {
        self.lists.first().map_or(0, |lists| lists.range(row).len())
    }
    fn key(&self, row: usize, at: usize) -> Vec<&[u8]> {
        let parts = self.lists.iter().zip(&self.items);
        parts.map(|(lists, items)| items.get(lists.range(row).start + at)).collect()
    }
}

/// How often an item was there before, or the number of it among those that differ.
fn enumerate(call: &Call, is_dense: bool) -> Result<ArrayRef, FunctionError> {
    let tuples = Tuples::of(call)?;
    tuples.check(call)?;
    numbered(call, |_, row| {
        let mut seen: HashMap<Vec<&[u8]>, u32> = HashMap::new();
        (0..tuples.len(row))
            .map(|at| {
                let next = seen.len() as u32 + 1;
                let count =
                    seen.entry(tuples.key(row, at)).or_insert(if is_dense { next } else { 0 });
                if !is_dense {
                    *count += 1;
                }
                *count
            })
            .collect()
    })
}

fn empty_to_single(call: &Call) -> Result<ArrayRef, FunctionError> {
    let values = call.values(0)?;
    let lists = call.lists(0)?;
    let Some(list) = as_list(&values) else {
        return Err(wrong(call.name, "it takes an array"));
    };
    let default = if super::super::is_nullable(&lists.item_type) {
        arrow_array::new_null_array(list.values().data_type(), 1)
    } else {
        super::super::element::default_of(&lists.items.values)?
    };
    let (mut places, mut lengths) = (Vec::new(), Vec::new());
    for row in 0..call.rows {
        let range = lists.range(row);
        lengths.push(range.len().max(1));
        if range.is_empty() {
            places.push((1, 0));
        }
        places.extend(range.map(|at| (0, at)));
    }
    let items: &dyn Array = lists.items.values.as_ref();
    let values = arrow_select::interleave::interleave(&[items, default.as_ref()], &places);
    list_array(lengths, values.map_err(FunctionError::arrow("fill arrays"))?, item_of(call.result))
}

/// The integer type of sums of items.
pub fn sum_type(item: &DataType) -> Option<DataType> {
    match (super::super::bare(item), integer(super::super::bare(item))) {
        (_, Some(it)) => Some(if it.is_signed { DataType::Int64 } else { DataType::UInt64 }),
        (DataType::Float32 | DataType::Float64, _) => Some(DataType::Float64),
        _ => None,
    }
}
