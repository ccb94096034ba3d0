//! Values in ClickHouse's binary form, one by one or a column at once.

use crate::output::style::Style;
use crate::output::value::Text;
use arrow_array::cast::AsArray;
use arrow_array::types as arrow;
use arrow_array::{Array, ArrowPrimitiveType};
use arrow_buffer::{ArrowNativeType, NullBuffer, ToByteSlice, i256};
use arrow_schema::{ArrowError, DataType as Arrow, TimeUnit};
use std::collections::HashMap;
use std::ops::Range;
use tambour_part::DataType;

/// A number of things, seven bits a byte.
pub(super) fn count(number: usize, target: &mut Vec<u8>) {
    let mut rest = number as u64;
    while rest >= 0x80 {
        target.push(rest.to_le_bytes()[0] | 0x80);
        rest >>= 7;
    }
    target.push(rest.to_le_bytes()[0]);
}

/// A length and bytes.
pub(super) fn string(bytes: &[u8], target: &mut Vec<u8>) {
    count(bytes.len(), target);
    target.extend_from_slice(bytes);
}

/// The keys of a column are its own, not those of a dictionary that later blocks share.
const OWN_KEYS: u64 = 0x600;

type Scalar<'a> = Box<dyn Fn(usize, &mut Vec<u8>) + 'a>;

/// The values of an array, ready to be written as bytes.
pub(super) struct Wire<'a> {
    /// Whether the type has NULLs; inside of LowCardinality they are a key of their own.
    is_nullable: bool,
    /// What is NULL.
    nulls: Option<NullBuffer>,
    values: Values<'a>,
}

enum Values<'a> {
    Scalar {
        write: Scalar<'a>,
        /// What stands in the place of NULL in a column.
        default: Vec<u8>,
    },
    LowCardinality(Scalar<'a>, Vec<u8>),
    List(Box<dyn Fn(usize) -> Range<usize> + 'a>, Box<Wire<'a>>),
    Tuple(Vec<Wire<'a>>),
    Map(&'a [i32], Box<Wire<'a>>, Box<Wire<'a>>),
}

impl<'a> Wire<'a> {
    pub(super) fn new(
        array: &'a dyn Array,
        data_type: Option<&DataType>,
    ) -> Result<Self, ArrowError> {
        let Some(data_type) = data_type else {
            return match array.data_type() {
                Arrow::Null => Ok(Self {
                    is_nullable: true,
                    nulls: array.logical_nulls(),
                    values: Values::Scalar { write: Box::new(|_, _| {}), default: vec![b'0'] },
                }),
                other => Err(unknown(other)),
            };
        };
        let bare = data_type.unwrapped();
        let is_nullable = match data_type {
            DataType::Nullable(_) => true,
            DataType::LowCardinality(inner) => matches!(**inner, DataType::Nullable(_)),
            _ => false,
        };
        let nulls = if is_nullable { array.logical_nulls() } else { None };
        let values = match bare {
            DataType::Array(_) | DataType::Tuple(_) | DataType::Map(..) => nested(array, bare)?,
            _ => {
                let write = scalar(array, bare)?;
                let default = vec![0; width(bare)];
                if matches!(data_type, DataType::LowCardinality(_)) {
                    Values::LowCardinality(write, default)
                } else {
                    Values::Scalar { write, default }
                }
            }
        };
        Ok(Self { is_nullable, nulls, values })
    }

    fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// Appends the value of a row, in its form for RowBinary.
    pub(super) fn value(&self, row: usize, target: &mut Vec<u8>) {
        if self.is_nullable {
            let is_null = self.is_null(row);
            target.push(u8::from(is_null));
            if is_null {
                return;
            }
        }
        match &self.values {
            Values::Scalar { write, .. } | Values::LowCardinality(write, _) => write(row, target),
            Values::List(range, inner) => {
                let range = range(row);
                count(range.len(), target);
                range.for_each(|index| inner.value(index, target));
            }
            Values::Tuple(elements) => elements.iter().for_each(|it| it.value(row, target)),
            Values::Map(offsets, keys, values) => {
                let range = offsets[row].as_usize()..offsets[row + 1].as_usize();
                count(range.len(), target);
                for index in range {
                    keys.value(index, target);
                    values.value(index, target);
                }
            }
        }
    }

    /// Appends what stands before the values of a column in Native: the version of each dictionary.
    pub(super) fn prefix(&self, target: &mut Vec<u8>) {
        match &self.values {
            Values::Scalar { .. } => {}
            Values::LowCardinality(..) => target.extend_from_slice(&1_u64.to_le_bytes()),
            Values::List(_, inner) => inner.prefix(target),
            Values::Tuple(elements) => elements.iter().for_each(|it| it.prefix(target)),
            Values::Map(_, keys, values) => {
                keys.prefix(target);
                values.prefix(target);
            }
        }
    }

    /// Appends a column, in its form for Native.
    pub(super) fn column(&self, rows: Range<usize>, target: &mut Vec<u8>) {
        if let Values::LowCardinality(write, default) = &self.values {
            return self.dictionary(write, default, rows, target);
        }
        if self.is_nullable {
            target.extend(rows.clone().map(|row| u8::from(self.is_null(row))));
        }
        match &self.values {
            Values::Scalar { write, default } => {
                for row in rows {
                    if self.is_null(row) {
                        target.extend_from_slice(default);
                    } else {
                        write(row, target);
                    }
                }
            }
            Values::LowCardinality(..) => {}
            Values::List(range, inner) => {
                let mut end = 0_u64;
                for row in rows.clone() {
                    end += range(row).len() as u64;
                    target.extend_from_slice(&end.to_le_bytes());
                }
                // Rows of a list may leave gaps between them.
                for run in runs(rows.map(range)) {
                    inner.column(run, target);
                }
            }
            Values::Tuple(elements) => {
                for element in elements {
                    element.column(rows.clone(), target);
                }
            }
            Values::Map(offsets, keys, values) => {
                let (start, end) = (offsets[rows.start].as_usize(), offsets[rows.end].as_usize());
                for row in rows {
                    let end = offsets[row + 1].as_usize() - start;
                    target.extend_from_slice(&(end as u64).to_le_bytes());
                }
                keys.column(start..end, target);
                values.column(start..end, target);
            }
        }
    }

    /// The different values in the order of their first rows, and an index per row. The default is the first value, NULL
    /// stands before it.
    fn dictionary(
        &self,
        write: &Scalar<'a>,
        default: &[u8],
        rows: Range<usize>,
        target: &mut Vec<u8>,
    ) {
        if rows.is_empty() {
            return;
        }
        let first = usize::from(self.is_nullable);
        let mut keys: Vec<u8> = default.repeat(first + 1);
        let mut known: HashMap<Vec<u8>, usize> = HashMap::from([(default.to_vec(), first)]);
        let mut next = first + 1;
        let mut value = Vec::new();
        let mut indexes = Vec::with_capacity(rows.len());
        for row in rows {
            if self.is_null(row) {
                indexes.push(0);
                continue;
            }
            value.clear();
            write(row, &mut value);
            indexes.push(known.get(&value).copied().unwrap_or_else(|| {
                keys.extend_from_slice(&value);
                known.insert(value.clone(), next);
                next += 1;
                next - 1
            }));
        }
        let (kind, bytes) = match next {
            0..=0x100 => (0, 1),
            0x101..=0x1_0000 => (1, 2),
            _ => (2, 4),
        };
        target.extend_from_slice(&(OWN_KEYS | kind).to_le_bytes());
        target.extend_from_slice(&(next as u64).to_le_bytes());
        target.extend_from_slice(&keys);
        target.extend_from_slice(&(indexes.len() as u64).to_le_bytes());
        for index in indexes {
            target.extend_from_slice(&(index as u64).to_le_bytes()[..bytes]);
        }
    }
}

/// Ranges that touch each other, as one.
fn runs(ranges: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for range in ranges.filter(|range| !range.is_empty()) {
        match runs.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => runs.push(range),
        }
    }
    runs
}

fn unknown(arrow: &Arrow) -> ArrowError {
    ArrowError::NotYetImplemented(format!("no binary form of the Arrow type {arrow}"))
}

fn nested<'a>(array: &'a dyn Array, data_type: &DataType) -> Result<Values<'a>, ArrowError> {
    Ok(match (data_type, array.data_type()) {
        (DataType::Array(inner), Arrow::List(_)) => {
            let list = array.as_list::<i32>();
            let inner = Wire::new(list.values().as_ref(), Some(inner))?;
            let range = move |row| {
                let offsets = list.value_offsets();
                if list.is_null(row) {
                    0..0
                } else {
                    offsets[row].as_usize()..offsets[row + 1].as_usize()
                }
            };
            Values::List(Box::new(range), Box::new(inner))
        }
        (DataType::Array(inner), Arrow::LargeList(_)) => {
            let list = array.as_list::<i64>();
            let inner = Wire::new(list.values().as_ref(), Some(inner))?;
            let range = move |row| {
                let offsets = list.value_offsets();
                if list.is_null(row) {
                    0..0
                } else {
                    offsets[row].as_usize()..offsets[row + 1].as_usize()
                }
            };
            Values::List(Box::new(range), Box::new(inner))
        }
        (DataType::Tuple(elements), Arrow::Struct(_)) => {
            let columns = array.as_struct().columns().iter().zip(elements);
            let wires = columns.map(|(column, (_, inner))| Wire::new(column.as_ref(), Some(inner)));
            Values::Tuple(wires.collect::<Result<_, _>>()?)
        }
        (DataType::Map(key, value), Arrow::Map(..)) => {
            let map = array.as_map();
            let keys = Box::new(Wire::new(map.keys().as_ref(), Some(key))?);
            let values = Box::new(Wire::new(map.values().as_ref(), Some(value))?);
            Values::Map(map.value_offsets(), keys, values)
        }
        (_, other) => return Err(unknown(other)),
    })
}

/// Bytes of a value that is 0, or the empty string's.
fn width(data_type: &DataType) -> usize {
    use DataType as T;
    match data_type {
        T::UInt16 | T::Int16 | T::BFloat16 | T::Date | T::Enum16(_) => 2,
        T::UInt32 | T::Int32 | T::Float32 | T::Date32 | T::DateTime { .. } | T::Ipv4 => 4,
        T::UInt64 | T::Int64 | T::Float64 | T::DateTime64 { .. } => 8,
        T::UInt128 | T::Int128 | T::Uuid | T::Ipv6 => 16,
        T::UInt256 | T::Int256 => 32,
        T::Decimal { precision, .. } => decimal_width(*precision),
        T::FixedString(length) => *length,
        _ => 1,
    }
}

const fn decimal_width(precision: u8) -> usize {
    match precision {
        0..=9 => 4,
        10..=18 => 8,
        19..=38 => 16,
        _ => 32,
    }
}

fn fixed<T: ArrowPrimitiveType>(array: &dyn Array, bytes: usize) -> Scalar<'_> {
    let values = array.as_primitive::<T>().values();
    Box::new(move |row, target| {
        let start = target.len();
        target.extend_from_slice(values[row].to_byte_slice());
        target.truncate(start + bytes);
    })
}

fn instants<T: ArrowPrimitiveType<Native = i64>>(
    array: &dyn Array,
    divisor: i64,
    bytes: usize,
) -> Scalar<'_> {
    let values = array.as_primitive::<T>().values();
    Box::new(move |row, target| {
        target.extend_from_slice(&values[row].div_euclid(divisor).to_le_bytes()[..bytes]);
    })
}

fn time(array: &dyn Array, unit: TimeUnit, precision: u8, bytes: usize) -> Scalar<'_> {
    let digits: u32 = match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    };
    let divisor = 10_i64.pow(digits.saturating_sub(u32::from(precision)));
    match unit {
        TimeUnit::Second => instants::<arrow::TimestampSecondType>(array, divisor, bytes),
        TimeUnit::Millisecond => instants::<arrow::TimestampMillisecondType>(array, divisor, bytes),
        TimeUnit::Microsecond => instants::<arrow::TimestampMicrosecondType>(array, divisor, bytes),
        TimeUnit::Nanosecond => instants::<arrow::TimestampNanosecondType>(array, divisor, bytes),
    }
}

fn scalar<'a>(array: &'a dyn Array, data_type: &DataType) -> Result<Scalar<'a>, ArrowError> {
    use DataType as T;
    let bytes = width(data_type);
    Ok(match (array.data_type(), data_type) {
        (Arrow::Boolean, _) => {
            let values = array.as_boolean();
            Box::new(move |row, target| target.push(u8::from(values.value(row))))
        }
        (Arrow::UInt8, _) => fixed::<arrow::UInt8Type>(array, bytes),
        (Arrow::UInt16, _) => fixed::<arrow::UInt16Type>(array, bytes),
        (Arrow::UInt32, _) => fixed::<arrow::UInt32Type>(array, bytes),
        (Arrow::UInt64, _) => fixed::<arrow::UInt64Type>(array, bytes),
        (Arrow::Int8, _) => fixed::<arrow::Int8Type>(array, bytes),
        (Arrow::Int16, _) => fixed::<arrow::Int16Type>(array, bytes),
        (Arrow::Int32, _) => fixed::<arrow::Int32Type>(array, bytes),
        (Arrow::Int64, _) => fixed::<arrow::Int64Type>(array, bytes),
        (Arrow::Float32, T::BFloat16) => {
            let values = array.as_primitive::<arrow::Float32Type>().values();
            Box::new(move |row, target| target.extend_from_slice(&values[row].to_le_bytes()[2..]))
        }
        (Arrow::Float32, _) => fixed::<arrow::Float32Type>(array, bytes),
        (Arrow::Float64, _) => fixed::<arrow::Float64Type>(array, bytes),
        (Arrow::Decimal128(..), _) => fixed::<arrow::Decimal128Type>(array, bytes),
        (Arrow::Decimal256(..), _) => {
            let values: &'a [i256] = array.as_primitive::<arrow::Decimal256Type>().values();
            Box::new(move |row, target| {
                target.extend_from_slice(&values[row].to_le_bytes()[..bytes]);
            })
        }
        (Arrow::Date32, _) => fixed::<arrow::Date32Type>(array, bytes),
        (Arrow::Timestamp(unit, _), T::DateTime64 { precision, .. }) => {
            time(array, *unit, *precision, bytes)
        }
        (Arrow::Timestamp(unit, _), _) => time(array, *unit, 0, bytes),
        (Arrow::FixedSizeBinary(16), T::Uuid) => {
            let values = array.as_fixed_size_binary();
            Box::new(move |row, target| {
                let (high, low) = values.value(row).split_at(8);
                target.extend(high.iter().rev().chain(low.iter().rev()));
            })
        }
        (Arrow::FixedSizeBinary(_), _) => {
            let values = array.as_fixed_size_binary();
            Box::new(move |row, target| target.extend_from_slice(values.value(row)))
        }
        (_, T::Enum8(names)) => {
            enumeration(array, names.iter().map(|(name, number)| (name, i16::from(*number))), 1)?
        }
        (_, T::Enum16(names)) => {
            enumeration(array, names.iter().map(|(name, number)| (name, *number)), 2)?
        }
        (Arrow::Dictionary(..), _) => {
            let any = array.as_any_dictionary();
            let write = scalar(any.values().as_ref(), data_type)?;
            let keys = if any.values().is_empty() { Vec::new() } else { any.normalized_keys() };
            Box::new(move |row, target| write(keys[row], target))
        }
        (_, T::String) => {
            let text = Text::typed(array, Some(data_type), Style::Raw)?;
            Box::new(move |row, target| {
                let mut value = Vec::new();
                text.write(row, &mut value);
                string(&value, target);
            })
        }
        (other, _) => return Err(unknown(other)),
    })
}

/// Names of an enumeration as their numbers.
fn enumeration<'a, 'n>(
    array: &'a dyn Array,
    names: impl Iterator<Item = (&'n String, i16)>,
    bytes: usize,
) -> Result<Scalar<'a>, ArrowError> {
    let numbers: HashMap<Vec<u8>, i16> =
        names.map(|(name, number)| (name.as_bytes().to_vec(), number)).collect();
    let text = Text::typed(array, Some(&DataType::String), Style::Raw)?;
    Ok(Box::new(move |row, target| {
        let mut name = Vec::new();
        text.write(row, &mut name);
        let number = numbers.get(&name).copied().unwrap_or_default();
        target.extend_from_slice(&number.to_le_bytes()[..bytes]);
    }))
}
