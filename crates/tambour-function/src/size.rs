//! How large values are: `byteSize`, `getSizeOfEnumType`, `visibleWidth`.

use super::access::as_list;
use super::decimal::class;
use super::piece::shown;
use super::text::Texts;
use super::{Call, Function, Signature, expect_count, is_nullable, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UInt64Array};
use std::sync::Arc;
use tambour_part::types::DataType;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("byteSize", size_type, byte_size).takes_nulls(),
    Function::new("getSizeOfEnumType", enum_type, |c| {
        let count = c.operands.first().map_or(0, |it| names(&it.data_type));
        c.make_integers(|_| count as i128)
    })
    .takes_nulls(),
    Function::new("visibleWidth", width_type, visible_width).takes_nulls(),
];

/// Bytes of the length of a text or an array.
const LENGTH: u64 = 8;

/// Bytes of each value of a type; `None` if they vary, or are not known.
fn width(data_type: &DataType) -> Option<u64> {
    use DataType::{
        Bool, Date, Date32, Enum8, Enum16, Float32, Float64, Int8, Int16, Int32, Int64, Int128,
        Int256, Ipv4, Ipv6, UInt8, UInt16, UInt32, UInt64, UInt128, UInt256, Uuid,
    };
    Some(match data_type {
        Bool | UInt8 | Int8 | Enum8(_) => 1,
        UInt16 | Int16 | Enum16(_) | Date => 2,
        UInt32 | Int32 | Float32 | Date32 | Ipv4 | DataType::DateTime { .. } => 4,
        UInt64 | Int64 | Float64 | DataType::DateTime64 { .. } => 8,
        UInt128 | Int128 | Uuid | Ipv6 => 16,
        UInt256 | Int256 => 32,
        DataType::FixedString(bytes) => *bytes as u64,
        DataType::Decimal { precision, .. } => match class(*precision) {
            9 => 4,
            18 => 8,
            38 => 16,
            _ => 32,
        },
        _ => return None,
    })
}

/// True if the sizes of such values are known.
fn is_sized(data_type: &DataType) -> bool {
    match data_type {
        DataType::String => true,
        DataType::Array(inner) | DataType::Nullable(inner) | DataType::LowCardinality(inner) => {
            is_sized(inner)
        }
        DataType::Map(key, value) => is_sized(key) && is_sized(value),
        DataType::Tuple(elements) => elements.iter().all(|(_, element)| is_sized(element)),
        other => width(other).is_some(),
    }
}

/// A NULL takes a byte more, of which a function does not know any more where it is evaluated.
fn size_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    let refused = |it: &&DataType| is_nullable(it) || !is_sized(it);
    match s.iter().map(|it| &it.data_type).find(refused) {
        Some(other) => Err(wrong(name, format!("it does not take {other}"))),
        None => Ok(DataType::UInt64),
    }
}

fn byte_size(call: &Call) -> Result<ArrayRef, FunctionError> {
    let mut sizes = vec![0; call.rows];
    for (index, operand) in call.operands.iter().enumerate() {
        let values = call.values(index)?;
        if values.logical_null_count() > 0 {
            return Err(wrong(call.name, "it does not take NULL"));
        }
        let of_operand = bytes(&operand.data_type, &values)?;
        for (size, more) in sizes.iter_mut().zip(of_operand) {
            *size += more;
        }
    }
    Ok(Arc::new(UInt64Array::from(sizes)))
}

/// The bytes of each value, as ClickHouse holds them in memory.
fn bytes(data_type: &DataType, values: &ArrayRef) -> Result<Vec<u64>, FunctionError> {
    let rows = values.len();
    if let Some(width) = width(data_type) {
        return Ok(vec![width; rows]);
    }
    let unknown = || wrong("byteSize", format!("it does not take {data_type}"));
    Ok(match data_type {
        DataType::Nullable(inner) => {
            bytes(inner, values)?.into_iter().map(|size| size + 1).collect()
        }
        DataType::LowCardinality(inner) => bytes(inner, values)?,
        DataType::String => {
            let texts = Texts::of(values);
            let size = |row| texts.value(row).map_or(0, <[u8]>::len) as u64 + LENGTH;
            (0..rows).map(size).collect()
        }
        DataType::Array(item) => {
            let lists = as_list(values).ok_or_else(unknown)?;
            summed(&bytes(item, lists.values())?, lists.value_offsets())
        }
        DataType::Map(key, value) => {
            let maps = values.as_map_opt().ok_or_else(unknown)?;
            let keys = bytes(key, maps.keys())?.into_iter();
            let entries = keys.zip(bytes(value, maps.values())?).map(|(key, value)| key + value);
            summed(&entries.collect::<Vec<u64>>(), maps.value_offsets())
        }
        DataType::Tuple(elements) => {
            let mut sizes = vec![0; rows];
            let tuples = values.as_struct_opt().ok_or_else(unknown)?;
            for ((_, element), column) in elements.iter().zip(tuples.columns()) {
                for (size, more) in sizes.iter_mut().zip(bytes(element, column)?) {
                    *size += more;
                }
            }
            sizes
        }
        _ => return Err(unknown()),
    })
}

/// The sizes of arrays of items of these sizes.
fn summed(items: &[u64], offsets: &[i32]) -> Vec<u64> {
    let of_ends = |ends: &[i32]| {
        let items = items.get(ends[0] as usize..ends[1] as usize).unwrap_or_default();
        LENGTH + items.iter().sum::<u64>()
    };
    offsets.windows(2).map(of_ends).collect()
}

/// The names that an Enum has.
fn names(data_type: &DataType) -> usize {
    match data_type {
        DataType::Enum8(names) => names.len(),
        DataType::Enum16(names) => names.len(),
        _ => 0,
    }
}

fn enum_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=1)?;
    match s.first().map(|it| &it.data_type) {
        Some(DataType::Enum8(_)) => Ok(DataType::UInt8),
        Some(DataType::Enum16(_)) => Ok(DataType::UInt16),
        _ => Err(wrong(name, "it takes an Enum that is not Nullable")),
    }
}

fn width_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=1)?;
    Ok(DataType::UInt64)
}

/// Letters of which each takes as many columns; the others depend on the tables of the one who asks.
const WIDTHS: &[(u32, u32, u64)] = &[
    (0x20, 0x7e, 1),
    (0xa0, 0xac, 1),
    (0xae, 0x2ff, 1),
    (0x300, 0x36f, 0),
    (0x370, 0x377, 1),
    (0x37a, 0x37f, 1),
    (0x384, 0x38a, 1),
    (0x38c, 0x38c, 1),
    (0x38e, 0x3a1, 1),
    (0x3a3, 0x482, 1),
    (0x48a, 0x52f, 1),
    (0x3041, 0x3096, 2),
    (0x30a1, 0x30fa, 2),
    (0x4e00, 0x9fef, 2),
    (0xac00, 0xd7a3, 2),
];

/// The columns that the text of a value takes on a screen.
fn visible_width(call: &Call) -> Result<ArrayRef, FunctionError> {
    const NULL: u64 = 4;
    let texts = shown(call.operand(0)?, call.rows)?;
    let texts = Texts::of(&texts);
    let of_letter = |letter: char| {
        let found = WIDTHS.iter().find(|(low, high, _)| (*low..=*high).contains(&letter.into()));
        found.map(|(_, _, width)| *width)
    };
    let mut widths = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let Some(text) = texts.value(if texts.len() == 1 { 0 } else { row }) else {
            widths.push(NULL);
            continue;
        };
        let text = str::from_utf8(text).ok();
        let width = text.and_then(|text| text.chars().map(of_letter).sum::<Option<u64>>());
        let problem = "the text has letters or bytes whose width is not known here";
        widths.push(width.ok_or_else(|| call.value_error(row, problem))?);
    }
    Ok(Arc::new(UInt64Array::from(widths)))
}
