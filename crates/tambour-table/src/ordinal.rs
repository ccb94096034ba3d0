//! Values as bytes in ClickHouse's order: what pruning compares.
//!
//! An [`Ordinal`] belongs to a type. It turns arrays and constants of that type into rows whose bytes, compared as bytes, stand
//! in the order in which ClickHouse sorts the values, NULL last. A constant that is not a value of the type has no row: then
//! nothing is pruned by it.

use super::predicate::Constant;
use crate::TableError;
use crate::schema::expression::sort_form;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, ArrowPrimitiveType, Date32Type, Decimal128Type, Decimal256Type,
    Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, DictionaryArray, FixedSizeBinaryArray,
    Float32Array, Float64Array, PrimitiveArray, StringArray, new_empty_array, new_null_array,
};
use arrow_buffer::i256;
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{ArrowError, DataType as ArrowType, SortOptions, TimeUnit};
use std::sync::Arc;
use tambour_part::types::{DataType, Strings};

/// How the SQL engine's order of a type relates to ClickHouse's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// They are the same.
    Same,
    /// The same but for NaN and the two zeros.
    Float,
    /// Only equality means the same.
    Identity,
    /// Nothing can be said.
    None,
}

/// Strips Nullable and LowCardinality.
pub(super) fn bare(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Nullable(inner) | DataType::LowCardinality(inner) => bare(inner),
        other => other,
    }
}

/// How the order of the Arrow form of a type relates to ClickHouse's.
pub(super) fn order(data_type: &DataType) -> Order {
    match bare(data_type) {
        DataType::Bool
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64
        | DataType::UInt128
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::Int128
        | DataType::Decimal { .. }
        | DataType::Date
        | DataType::Date32
        | DataType::DateTime { .. }
        | DataType::DateTime64 { .. }
        | DataType::String
        | DataType::FixedString(_)
        | DataType::Ipv4
        | DataType::Ipv6 => Order::Same,
        DataType::Float32 | DataType::Float64 | DataType::BFloat16 => Order::Float,
        // Enums and UUIDs sort by number and by halves; wide integers are bytes in Arrow.
        DataType::Enum8(_)
        | DataType::Enum16(_)
        | DataType::Uuid
        | DataType::UInt256
        | DataType::Int256 => Order::Identity,
        _ => Order::None,
    }
}

/// Encodes values of one type.
#[derive(Debug)]
pub(super) struct Ordinal {
    data_type: DataType,
    converter: RowConverter,
    null: Box<[u8]>,
}

impl Ordinal {
    /// An encoder, if values of this type can be ordered at all.
    pub(super) fn new(data_type: &DataType) -> Result<Option<Self>, TableError> {
        if order(data_type) == Order::None {
            return Ok(None);
        }
        let Some(none) = constant_array(&[], data_type) else { return Ok(None) };
        let form = normal_form(&none, data_type)?;
        let last = SortOptions { descending: false, nulls_first: false };
        let field = SortField::new_with_options(form.data_type().clone(), last);
        let converter = RowConverter::new(vec![field]).map_err(encoding)?;
        let null = converter
            .convert_columns(&[new_null_array(form.data_type(), 1)])
            .map_err(encoding)?
            .row(0)
            .data()
            .into();
        Ok(Some(Self { data_type: data_type.clone(), converter, null }))
    }
    /// The row of NULL; it is above all others.
    pub(super) fn null(&self) -> &[u8] {
        &self.null
    }
    /// One row per value.
    pub(super) fn rows(&self, values: &ArrayRef) -> Result<Rows, TableError> {
        let form = normal_form(values, &self.data_type)?;
        self.converter.convert_columns(&[form]).map_err(encoding)
    }
    /// One row per constant; `None` if one of them is not a value of the type.
    pub(super) fn constants<'a>(
        &self,
        constants: impl IntoIterator<Item = &'a Constant>,
    ) -> Result<Option<Rows>, TableError> {
        let constants: Vec<&Constant> = constants.into_iter().collect();
        constant_array(&constants, &self.data_type).map(|array| self.rows(&array)).transpose()
    }
}

fn encoding(cause: ArrowError) -> TableError {
    TableError::arrow("encode key values")(cause)
}

/// The sort form with strings as bytes and without dictionaries, so that every source of values gives the same rows.
fn normal_form(values: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, TableError> {
    let is_enum = matches!(bare(data_type), DataType::Enum8(_) | DataType::Enum16(_));
    let mut values = Arc::clone(values);
    if let (ArrowType::Dictionary(_, inner), false) = (values.data_type(), is_enum) {
        values = arrow_cast::cast(&values, inner).map_err(encoding)?;
    }
    values = match values.data_type() {
        ArrowType::Utf8
        | ArrowType::LargeUtf8
        | ArrowType::Utf8View
        | ArrowType::Binary
        | ArrowType::LargeBinary => {
            return arrow_cast::cast(&values, &ArrowType::BinaryView).map_err(encoding);
        }
        ArrowType::BinaryView => return Ok(values),
        _ => values,
    };
    // A LowCardinality was just unpacked: the sort form is that of what is in it.
    sort_form(&values, if is_enum { data_type } else { bare(data_type) })
}

/// Constants as an array in the Arrow form of a type; `None` if one of them is not a value of it.
pub(super) fn constant_array(constants: &[&Constant], data_type: &DataType) -> Option<ArrayRef> {
    let data_type = bare(data_type);
    let arrow = data_type.arrow(Strings::Binary);
    Some(match &arrow {
        ArrowType::Boolean => {
            let values: Option<BooleanArray> = constants
                .iter()
                .map(|constant| match constant {
                    Constant::Bool(value) => Some(Some(*value)),
                    Constant::Integer(value @ 0..=1) => Some(Some(*value == 1)),
                    _ => None,
                })
                .collect();
            Arc::new(values?)
        }
        ArrowType::UInt8 => primitive::<UInt8Type>(constants, &arrow, integer)?,
        ArrowType::UInt16 => primitive::<UInt16Type>(constants, &arrow, integer)?,
        ArrowType::UInt32 => primitive::<UInt32Type>(constants, &arrow, integer)?,
        ArrowType::UInt64 => primitive::<UInt64Type>(constants, &arrow, integer)?,
        ArrowType::Int8 => primitive::<Int8Type>(constants, &arrow, integer)?,
        ArrowType::Int16 => primitive::<Int16Type>(constants, &arrow, integer)?,
        ArrowType::Int32 => primitive::<Int32Type>(constants, &arrow, integer)?,
        ArrowType::Int64 => primitive::<Int64Type>(constants, &arrow, integer)?,
        ArrowType::Date32 => primitive::<Date32Type>(constants, &arrow, integer)?,
        ArrowType::Timestamp(unit, _) => timestamps(constants, &arrow, *unit)?,
        ArrowType::Float32 => {
            let values: Option<Vec<f32>> = constants.iter().map(|it| single(it)).collect();
            Arc::new(Float32Array::from(values?))
        }
        ArrowType::Float64 => {
            let values: Option<Vec<f64>> = constants.iter().map(|it| double(it)).collect();
            Arc::new(Float64Array::from(values?))
        }
        ArrowType::Decimal128(_, scale) => {
            primitive::<Decimal128Type>(constants, &arrow, |it| unscaled(it, *scale))?
        }
        ArrowType::Decimal256(_, scale) => primitive::<Decimal256Type>(constants, &arrow, |it| {
            unscaled(it, *scale).map(i256::from_i128)
        })?,
        ArrowType::BinaryView => {
            let values: Option<Vec<&[u8]>> = constants.iter().map(|it| bytes(it)).collect();
            Arc::new(BinaryViewArray::from_iter_values(values?))
        }
        ArrowType::FixedSizeBinary(width) => {
            let width = usize::try_from(*width).ok()?;
            let values: Option<Vec<&[u8]>> =
                constants.iter().map(|it| bytes(it).filter(|it| it.len() == width)).collect();
            let values = values?;
            if values.is_empty() {
                return Some(new_empty_array(&arrow));
            }
            Arc::new(FixedSizeBinaryArray::try_from_iter(values.into_iter()).ok()?)
        }
        ArrowType::Dictionary(key, _) => enumeration(constants, data_type, key)?,
        _ => return None,
    })
}

fn primitive<T: ArrowPrimitiveType>(
    constants: &[&Constant],
    arrow: &ArrowType,
    value: impl Fn(&Constant) -> Option<T::Native>,
) -> Option<ArrayRef> {
    let values: Option<Vec<T::Native>> = constants.iter().map(|constant| value(constant)).collect();
    let array = PrimitiveArray::<T>::from_iter_values(values?);
    Some(Arc::new(array.with_data_type(arrow.clone())))
}

fn timestamps(constants: &[&Constant], arrow: &ArrowType, unit: TimeUnit) -> Option<ArrayRef> {
    match unit {
        TimeUnit::Second => primitive::<TimestampSecondType>(constants, arrow, integer),
        TimeUnit::Millisecond => primitive::<TimestampMillisecondType>(constants, arrow, integer),
        TimeUnit::Microsecond => primitive::<TimestampMicrosecondType>(constants, arrow, integer),
        TimeUnit::Nanosecond => primitive::<TimestampNanosecondType>(constants, arrow, integer),
    }
}

fn integer<T: TryFrom<i128>>(constant: &Constant) -> Option<T> {
    match constant {
        Constant::Integer(value) | Constant::Decimal(value, 0) => T::try_from(*value).ok(),
        _ => None,
    }
}

fn double(constant: &Constant) -> Option<f64> {
    match constant {
        Constant::Float(value) => Some(*value),
        _ => None,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "what does not fit is recognised")]
fn single(constant: &Constant) -> Option<f32> {
    let value = double(constant)?;
    let narrow = value as f32;
    (f64::from(narrow).to_bits() == value.to_bits()).then_some(narrow)
}

/// The unscaled value of a number at another scale, if nothing is lost.
fn unscaled(constant: &Constant, scale: i8) -> Option<i128> {
    let (value, from) = match constant {
        Constant::Integer(value) => (*value, 0),
        Constant::Decimal(value, scale) => (*value, *scale),
        _ => return None,
    };
    let shift = i16::from(scale) - i16::from(from);
    let factor = 10_i128.checked_pow(u32::from(shift.unsigned_abs()))?;
    if shift >= 0 {
        value.checked_mul(factor)
    } else {
        (value % factor == 0).then(|| value / factor)
    }
}

fn bytes(constant: &Constant) -> Option<&[u8]> {
    match constant {
        Constant::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

/// Names of an enum as a dictionary array with the type's own dictionary.
fn enumeration(constants: &[&Constant], data_type: &DataType, key: &ArrowType) -> Option<ArrayRef> {
    fn array<K>(constants: &[&Constant], names: Vec<&str>) -> Option<ArrayRef>
    where
        K: ArrowDictionaryKeyType,
        K::Native: TryFrom<usize>,
    {
        let position = |constant: &&Constant| {
            let text = bytes(constant)?;
            let position = names.iter().position(|name| name.as_bytes() == text)?;
            K::Native::try_from(position).ok()
        };
        let keys: Option<Vec<K::Native>> = constants.iter().map(position).collect();
        let keys = PrimitiveArray::<K>::from_iter_values(keys?);
        Some(Arc::new(DictionaryArray::try_new(keys, Arc::new(StringArray::from(names))).ok()?))
    }
    let names: Vec<&str> = match data_type {
        DataType::Enum8(values) => values.iter().map(|(name, _)| name.as_str()).collect(),
        DataType::Enum16(values) => values.iter().map(|(name, _)| name.as_str()).collect(),
        _ => return None,
    };
    match key {
        ArrowType::Int8 => array::<Int8Type>(constants, names),
        ArrowType::Int16 => array::<Int16Type>(constants, names),
        ArrowType::Int32 => array::<Int32Type>(constants, names),
        _ => None,
    }
}

/// The values of a column moved by this many seconds, where its type is a time; unmoved otherwise. Stays within what a DateTime can hold.
pub(super) fn moved(values: &ArrayRef, data_type: &DataType, seconds: i64) -> ArrayRef {
    fn shift<T: ArrowPrimitiveType<Native = i64>>(
        values: &ArrayRef,
        by: i64,
        range: (i64, i64),
    ) -> ArrayRef {
        let values = values.as_primitive::<T>();
        let shifted: PrimitiveArray<T> =
            values.unary(|value| value.saturating_add(by).clamp(range.0, range.1));
        Arc::new(shifted.with_data_type(values.data_type().clone()))
    }
    let range = match bare(data_type) {
        DataType::DateTime { .. } => (0, i64::from(u32::MAX)),
        _ => (i64::MIN, i64::MAX),
    };
    match values.data_type() {
        ArrowType::Timestamp(TimeUnit::Second, _) => {
            shift::<TimestampSecondType>(values, seconds, range)
        }
        ArrowType::Timestamp(TimeUnit::Millisecond, _) => {
            shift::<TimestampMillisecondType>(values, seconds.saturating_mul(1_000), range)
        }
        ArrowType::Timestamp(TimeUnit::Microsecond, _) => {
            shift::<TimestampMicrosecondType>(values, seconds.saturating_mul(1_000_000), range)
        }
        ArrowType::Timestamp(TimeUnit::Nanosecond, _) => {
            shift::<TimestampNanosecondType>(values, seconds.saturating_mul(1_000_000_000), range)
        }
        _ => Arc::clone(values),
    }
}
