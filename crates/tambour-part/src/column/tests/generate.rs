//! Random types and arrays.

use super::data_type;
use crate::column::fixed;
use crate::types::{DataType, Strings, map_entries, tuple_fields};
use arrow_array::builder::StringViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, ListArray, MapArray, StructArray,
};
use arrow_buffer::{MutableBuffer, OffsetBuffer};
use arrow_schema::DataType as Arrow;
use proptest::prelude::*;
use std::sync::Arc;

/// A small random number generator; proptest gives the seed.
#[derive(Debug)]
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// One of every scalar type that has a layout of its own.
pub(super) const SCALARS: [&str; 38] = [
    "Bool",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "UInt128",
    "UInt256",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Int128",
    "Int256",
    "Float32",
    "Float64",
    "BFloat16",
    "Decimal(9, 2)",
    "Decimal(18, 0)",
    "Decimal(38, 38)",
    "Decimal(76, 5)",
    "Date",
    "Date32",
    "DateTime",
    "DateTime('Europe/Berlin')",
    "DateTime64(0)",
    "DateTime64(2)",
    "DateTime64(3, 'UTC')",
    "DateTime64(6)",
    "DateTime64(8)",
    "DateTime64(9)",
    "String",
    "FixedString(1)",
    "FixedString(21)",
    "UUID",
    "IPv4",
    "IPv6",
    "Enum8('a' = -128, 'b' = 0, 'zz' = 127)",
    "Enum16('x' = -300, 'y' = 12, '\u{e9}' = 3000)",
];

fn scalar() -> impl Strategy<Value = DataType> {
    proptest::sample::select(SCALARS.as_slice()).prop_map(data_type)
}

/// Types, nested up to three deep.
pub(super) fn types() -> impl Strategy<Value = DataType> {
    let leaf = (scalar(), 0..4).prop_map(|(inner, wrapped)| match wrapped {
        0 => DataType::Nullable(Box::new(inner)),
        1 if inner.can_be_low_cardinality() => DataType::LowCardinality(Box::new(inner)),
        2 if inner.can_be_low_cardinality() => {
            DataType::LowCardinality(Box::new(DataType::Nullable(Box::new(inner))))
        }
        _ => inner,
    });
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|inner| DataType::Array(Box::new(inner))),
            (inner.clone(), inner.clone())
                .prop_filter("keys are not Nullable", |(key, _)| !key.is_nullable())
                .prop_map(|(key, value)| DataType::Map(Box::new(key), Box::new(value))),
            proptest::collection::vec(inner.clone(), 1..4).prop_map(|all| DataType::Tuple(
                all.into_iter().map(|inner| (None, inner)).collect()
            )),
            proptest::collection::vec(inner, 1..3).prop_map(|all| {
                let named = |(index, inner)| (Some(format!("el.{index} \u{e9}")), inner);
                DataType::Tuple(all.into_iter().enumerate().map(named).collect())
            }),
        ]
    })
}

/// An array of the type in its own Arrow form.
pub(super) fn array(data_type: &DataType, rows: usize, random: &mut Random) -> ArrayRef {
    match data_type {
        DataType::Nullable(inner) => {
            let values = array(inner, rows, random);
            with_nulls(&values, random)
        }
        DataType::LowCardinality(inner) => low_cardinality(data_type, inner, rows, random),
        DataType::Array(inner) => {
            let offsets = sizes(rows, random);
            let values = array(inner, *offsets.last().unwrap() as usize, random);
            let item = Arc::new(inner.inner_field("item", Strings::Utf8));
            Arc::new(ListArray::new(item, offsets, values, None))
        }
        DataType::Map(key, value) => {
            let offsets = sizes(rows, random);
            let count = *offsets.last().unwrap() as usize;
            let field = map_entries(key, value, Strings::Utf8);
            let Arrow::Struct(fields) = field.data_type().clone() else { unreachable!() };
            let columns = vec![array(key, count, random), array(value, count, random)];
            let entries = StructArray::new(fields, columns, None);
            Arc::new(MapArray::new(field, offsets, entries, None, false))
        }
        DataType::Tuple(elements) => {
            let columns = elements.iter().map(|(_, inner)| array(inner, rows, random)).collect();
            let fields = tuple_fields(elements, Strings::Utf8);
            Arc::new(StructArray::try_new_with_length(fields, columns, None, rows).unwrap())
        }
        DataType::String => strings(rows, random, usize::MAX),
        scalar => fixed_array(scalar, rows, random),
    }
}

/// Random validity over an array; what stands under the NULLs stays.
fn with_nulls(array: &ArrayRef, random: &mut Random) -> ArrayRef {
    let share = [0, 1, 4, 8][random.below(4)];
    let mask: BooleanArray = (0..array.len()).map(|_| Some(random.below(8) < share)).collect();
    arrow_select::nullif::nullif(array, &mask).unwrap()
}

fn sizes(rows: usize, random: &mut Random) -> OffsetBuffer<i32> {
    let most = [1, 2, 5][random.below(3)];
    OffsetBuffer::from_lengths((0..rows).map(|_| random.below(most)))
}

fn strings(rows: usize, random: &mut Random, pool: usize) -> ArrayRef {
    const ALPHABET: [&str; 8] = ["a", "Z", "0", " ", "\u{e9}", "\u{0}", "\u{6f22}", "\u{1f941}"];
    let mut builder = StringViewBuilder::new();
    for _ in 0..rows {
        let mut local =
            Random(if pool == usize::MAX { random.next() } else { random.below(pool) as u64 });
        let length = match local.below(10) {
            0 => 0,
            1..6 => local.below(14),
            6..9 => local.below(60),
            _ => local.below(400),
        };
        builder.append_value((0..length).map(|_| ALPHABET[local.below(8)]).collect::<String>());
    }
    Arc::new(builder.finish())
}

fn low_cardinality(
    data_type: &DataType,
    inner: &DataType,
    rows: usize,
    random: &mut Random,
) -> ArrayRef {
    let values = match inner.unwrapped() {
        DataType::String => {
            let pool = [1, 10, 1000][random.below(3)];
            arrow_cast::cast(&strings(rows, random, pool), &Arrow::Utf8).unwrap()
        }
        other => array(other, rows, random),
    };
    let values = if inner.is_nullable() { with_nulls(&values, random) } else { values };
    arrow_cast::cast(&values, &data_type.arrow(Strings::Utf8)).unwrap()
}

/// Random bytes, tamed until the type takes them.
fn fixed_array(data_type: &DataType, rows: usize, random: &mut Random) -> ArrayRef {
    let fixed = fixed::find(data_type).unwrap();
    let width = fixed.width();
    let mut bytes = Vec::with_capacity(rows * width);
    for _ in 0..rows {
        let start = bytes.len();
        while bytes.len() < start + width {
            bytes.extend_from_slice(&random.next().to_le_bytes());
        }
        bytes.truncate(start + width);
        tame(data_type, &mut bytes[start..], random);
    }
    let mut buffer = MutableBuffer::from_len_zeroed(bytes.len());
    buffer.as_slice_mut().copy_from_slice(&bytes);
    fixed.decode(buffer, rows, None).unwrap()
}

fn tame(data_type: &DataType, value: &mut [u8], random: &mut Random) {
    match data_type {
        DataType::Bool => value[0] &= 1,
        DataType::Enum8(values) => value[0] = values[random.below(values.len())].1.cast_unsigned(),
        DataType::Enum16(values) => {
            value.copy_from_slice(&values[random.below(values.len())].1.to_le_bytes());
        }
        DataType::Decimal { precision, .. } => {
            // Fewer bits than the digits need; the sign spreads to the upper bytes.
            let bytes = (usize::from(*precision) * 3 / 8).max(1);
            let sign = if value[0] & 1 == 0 { 0 } else { 0xff };
            value[bytes..].fill(sign);
        }
        DataType::Date32 => {
            let day = random.below(145_000) as i32 - 25_000;
            value.copy_from_slice(&day.to_le_bytes());
        }
        // The extra digits of the Arrow unit must fit.
        DataType::DateTime64 { .. } => {
            let sign = if value[0] & 1 == 0 { 0 } else { 0xff };
            value[6..].fill(sign);
        }
        DataType::Float32 if random.below(4) == 0 => value.copy_from_slice(&f32::NAN.to_le_bytes()),
        // A NaN that is not quiet loses that on the way; all others stay.
        DataType::BFloat16 => value[1] &= 0xbf,
        _ => {}
    }
}

/// The same strings, any bytes.
pub(super) fn as_binary(array: &dyn Array) -> BinaryViewArray {
    array.as_string_view().clone().to_binary_view()
}
