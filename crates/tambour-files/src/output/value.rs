//! Values as text, exactly as ClickHouse prints them; for files and for the terminal.

use super::clock::Clock;
use super::style::Style;
use crate::FileError;
use arrow_array::cast::AsArray;
use arrow_array::types as arrow;
use arrow_array::{
    Array, BooleanArray, FixedSizeBinaryArray, Float32Array, Float64Array, GenericByteArray,
    GenericByteViewArray, OffsetSizeTrait, PrimitiveArray,
};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, DataType as Arrow, Field, TimeUnit};
use tambour_function::Zone;
use tambour_function::value::print::{self, InstantPrinter};
use tambour_part::DataType;

/// Writes one value of a column. Whoever writes many takes a [`Text`] once.
pub fn write_text(
    array: &dyn Array,
    row: usize,
    field: &Field,
    style: Style,
    target: &mut Vec<u8>,
) -> Result<(), FileError> {
    Text::new(array, field, style)?.write(row, target);
    Ok(())
}

/// The values of an array, ready to be written as text.
pub struct Text<'a> {
    style: Style,
    nulls: Option<NullBuffer>,
    values: Values<'a>,
}

impl std::fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Text").field("style", &self.style).finish_non_exhaustive()
    }
}

/// Integers of every width.
enum Integers<'a> {
    Signed(Box<dyn Fn(usize) -> i64 + 'a>),
    Unsigned(Box<dyn Fn(usize) -> u64 + 'a>),
}

/// A dictionary's key by row.
type Keys<'a> = Box<dyn Fn(usize) -> usize + 'a>;

enum Values<'a> {
    Null,
    Bool(&'a BooleanArray),
    Integers(Integers<'a>),
    Decimal128(&'a [i128], i8),
    Decimal256(&'a [arrow_buffer::i256], i8),
    Wide { values: &'a FixedSizeBinaryArray, signed: bool },
    Float32(&'a Float32Array),
    Float64(&'a Float64Array),
    Date(Box<dyn Fn(usize) -> i64 + 'a>),
    Time(InstantPrinter, Box<dyn Fn(usize) -> i64 + 'a>),
    Clock(Clock, Box<dyn Fn(usize) -> i64 + 'a>),
    Bytes(Box<dyn Fn(usize) -> &'a [u8] + 'a>),
    Uuid(&'a FixedSizeBinaryArray),
    Ipv4(&'a [u32]),
    Ipv6(&'a FixedSizeBinaryArray),
    Dictionary(Keys<'a>, Box<Text<'a>>),
    List(Box<dyn Fn(usize) -> std::ops::Range<usize> + 'a>, Box<Text<'a>>),
    Tuple(Option<Vec<String>>, Vec<Text<'a>>),
    Map(&'a [i32], Box<Text<'a>>, Box<Text<'a>>),
    Other(ArrayFormatter<'a>),
}

impl<'a> Text<'a> {
    /// Prepares an array; the field's metadata tells UUIDs, addresses and big integers from plain bytes.
    pub fn new(array: &'a dyn Array, field: &Field, style: Style) -> Result<Self, FileError> {
        Self::typed(array, DataType::from_field(field).ok().as_ref(), style)
            .map_err(|source| FileError::Encode { format: "text", source })
    }

    pub(super) fn typed(
        array: &'a dyn Array,
        data_type: Option<&DataType>,
        style: Style,
    ) -> Result<Self, ArrowError> {
        let values = values(array, data_type.map(DataType::unwrapped), style)?;
        Ok(Self { style, nulls: array.logical_nulls(), values })
    }

    /// Whether the value of a row is NULL.
    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// Whether the value of a row has a text: false for what Arrow cannot print, as a date out of its range.
    pub(crate) fn has_text(&self, row: usize) -> bool {
        match &self.values {
            Values::Other(formatter) => {
                self.is_null(row) || formatter.value(row).try_to_string().is_ok()
            }
            Values::Dictionary(key, values) => self.is_null(row) || values.has_text(key(row)),
            _ => true,
        }
    }

    /// Appends the value of a row.
    pub fn write(&self, row: usize, target: &mut Vec<u8>) {
        if self.is_null(row) {
            target.extend_from_slice(self.style.null());
            return;
        }
        let style = self.style;
        match &self.values {
            Values::Null => target.extend_from_slice(style.null()),
            Values::Bool(array) => {
                target.extend_from_slice(if array.value(row) { b"true" } else { b"false" });
            }
            Values::Integers(Integers::Signed(value)) => print::signed(value(row), target),
            Values::Integers(Integers::Unsigned(value)) => print::unsigned(value(row), target),
            Values::Decimal128(values, scale) => print::decimal128(values[row], *scale, target),
            Values::Decimal256(values, scale) => print::decimal256(values[row], *scale, target),
            Values::Wide { values, signed } => print::wide(values.value(row), *signed, target),
            Values::Float32(array) => {
                let value = array.value(row);
                float(style, value.is_finite(), target, |target| print::float32(value, target));
            }
            Values::Float64(array) => {
                let value = array.value(row);
                float(style, value.is_finite(), target, |target| print::float64(value, target));
            }
            Values::Date(days) => style.formed(target, |target| print::date(days(row), target)),
            Values::Time(printer, ticks) => {
                style.formed(target, |target| printer.write(ticks(row), target));
            }
            Values::Clock(clock, ticks) => {
                style.formed(target, |target| clock.write(ticks(row), target));
            }
            Values::Bytes(value) => style.string(value(row), target),
            Values::Uuid(array) => {
                style.formed(target, |target| print::uuid(array.value(row), target));
            }
            Values::Ipv4(values) => {
                style.formed(target, |target| print::ipv4(values[row], target));
            }
            Values::Ipv6(array) => {
                style.formed(target, |target| print::ipv6(array.value(row), target));
            }
            Values::Dictionary(key, values) => values.write(key(row), target),
            Values::Other(formatter) => {
                style.string(formatter.value(row).to_string().as_bytes(), target);
            }
            Values::List(..) | Values::Tuple(..) | Values::Map(..) => self.nested(row, target),
        }
    }

    /// In CSV the text of a nested value is one field, quoted as a whole.
    fn nested(&self, row: usize, target: &mut Vec<u8>) {
        let quote: fn(&[u8], &mut Vec<u8>) = match self.style {
            Style::Csv => super::style::csv,
            Style::QuotedCsv => super::style::quoted_csv,
            Style::Xml => return self.xml(row, target),
            _ => return self.elements(row, target),
        };
        let mut text = Vec::new();
        self.elements(row, &mut text);
        quote(&text, target);
    }

    fn elements(&self, row: usize, target: &mut Vec<u8>) {
        let json = matches!(self.style, Style::Json | Style::StrictJson);
        match &self.values {
            Values::List(range, values) => {
                list(target, *b"[]", range(row), |target, index| values.write(index, target));
            }
            Values::Tuple(Some(names), values) if json => {
                list(target, *b"{}", 0..values.len(), |target, index| {
                    self.style.string(names[index].as_bytes(), target);
                    target.push(b':');
                    values[index].write(row, target);
                });
            }
            Values::Tuple(_, values) => {
                let brackets = if json { *b"[]" } else { *b"()" };
                list(target, brackets, 0..values.len(), |target, index| {
                    values[index].write(row, target);
                });
            }
            Values::Map(offsets, keys, values) => {
                let range = offsets[row].as_usize()..offsets[row + 1].as_usize();
                list(target, *b"{}", range, |target, index| {
                    if json {
                        json_key(keys, index, target);
                    } else {
                        keys.write(index, target);
                    }
                    target.push(b':');
                    values.write(index, target);
                });
            }
            _ => {}
        }
    }
}

/// The values of ClickHouse's XML and of its JSON with a line per element.
impl Text<'_> {
    fn xml(&self, row: usize, target: &mut Vec<u8>) {
        let element = |target: &mut Vec<u8>, values: &Text<'_>, index: usize| {
            target.extend_from_slice(b"<elem>");
            values.write(index, target);
            target.extend_from_slice(b"</elem>");
        };
        match &self.values {
            Values::List(range, values) => {
                target.extend_from_slice(b"<array>");
                range(row).for_each(|index| element(target, values, index));
                target.extend_from_slice(b"</array>");
            }
            Values::Tuple(_, values) => {
                target.extend_from_slice(b"<tuple>");
                for values in values {
                    element(target, values, row);
                }
                target.extend_from_slice(b"</tuple>");
            }
            Values::Map(offsets, keys, values) => {
                target.extend_from_slice(b"<map>");
                for index in offsets[row].as_usize()..offsets[row + 1].as_usize() {
                    target.extend_from_slice(b"<elem><key>");
                    keys.write(index, target);
                    target.extend_from_slice(b"</key><value>");
                    values.write(index, target);
                    target.extend_from_slice(b"</value></elem>");
                }
                target.extend_from_slice(b"</map>");
            }
            _ => {}
        }
    }

    /// Appends a value of JSON with a line per element of what is nested; lists of scalars stay on one line.
    pub(super) fn write_indented(&self, row: usize, depth: usize, target: &mut Vec<u8>) {
        if self.is_null(row) {
            return self.write(row, target);
        }
        match &self.values {
            Values::List(range, values) if values.is_nested() => {
                lines(target, *b"[]", range(row), depth, |target, index| {
                    values.write_indented(index, depth + 1, target);
                });
            }
            Values::Tuple(names, values) => {
                let brackets = if names.is_some() { *b"{}" } else { *b"[]" };
                lines(target, brackets, 0..values.len(), depth, |target, index| {
                    if let Some(names) = names {
                        self.style.string(names[index].as_bytes(), target);
                        target.extend_from_slice(b": ");
                    }
                    values[index].write_indented(row, depth + 1, target);
                });
            }
            Values::Map(offsets, keys, values) => {
                let range = offsets[row].as_usize()..offsets[row + 1].as_usize();
                lines(target, *b"{}", range, depth, |target, index| {
                    json_key(keys, index, target);
                    target.extend_from_slice(b": ");
                    values.write_indented(index, depth + 1, target);
                });
            }
            _ => self.write(row, target),
        }
    }

    const fn is_nested(&self) -> bool {
        matches!(self.values, Values::List(..) | Values::Tuple(..) | Values::Map(..))
    }
}

/// A list with a line per element, or empty brackets.
fn lines(
    target: &mut Vec<u8>,
    brackets: [u8; 2],
    range: std::ops::Range<usize>,
    depth: usize,
    mut write: impl FnMut(&mut Vec<u8>, usize),
) {
    target.push(brackets[0]);
    let first = range.start;
    let is_empty = range.is_empty();
    for index in range {
        target.extend_from_slice(if index > first { b",\n" } else { b"\n" });
        target.resize(target.len() + depth + 1, b'\t');
        write(target, index);
    }
    if !is_empty {
        target.push(b'\n');
        target.resize(target.len() + depth, b'\t');
    }
    target.push(brackets[1]);
}

/// Keys of JSON objects are strings, whatever the type of the map's keys is.
fn json_key(keys: &Text<'_>, index: usize, target: &mut Vec<u8>) {
    let start = target.len();
    keys.write(index, target);
    if target.get(start) != Some(&b'"') {
        target.insert(start, b'"');
        target.push(b'"');
    }
}

fn list(
    target: &mut Vec<u8>,
    brackets: [u8; 2],
    range: std::ops::Range<usize>,
    mut write: impl FnMut(&mut Vec<u8>, usize),
) {
    target.push(brackets[0]);
    let first = range.start;
    for index in range {
        if index > first {
            target.push(b',');
        }
        write(target, index);
    }
    target.push(brackets[1]);
}

/// JSON has no infinities and no NaN; as strings they survive.
fn float(style: Style, finite: bool, target: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    match style {
        Style::Json if !finite => style.formed(target, write),
        Style::StrictJson if !finite => target.extend_from_slice(style.null()),
        _ => write(target),
    }
}

fn integers<'a, T: arrow::ArrowPrimitiveType>(array: &'a dyn Array) -> Values<'a>
where
    T::Native: Into<i64>,
{
    let values: &'a PrimitiveArray<T> = array.as_primitive();
    Values::Integers(Integers::Signed(Box::new(move |row| values.value(row).into())))
}

fn naturals<'a, T: arrow::ArrowPrimitiveType>(array: &'a dyn Array) -> Values<'a>
where
    T::Native: Into<u64>,
{
    let values: &'a PrimitiveArray<T> = array.as_primitive();
    Values::Integers(Integers::Unsigned(Box::new(move |row| values.value(row).into())))
}

fn bytes<T: arrow::ByteArrayType>(array: &GenericByteArray<T>) -> Values<'_> {
    Values::Bytes(Box::new(move |row| array.value(row).as_ref()))
}

fn views<T: arrow::ByteViewType + ?Sized>(array: &GenericByteViewArray<T>) -> Values<'_> {
    Values::Bytes(Box::new(move |row| array.value(row).as_ref()))
}

fn ticks<'a, T: arrow::ArrowPrimitiveType<Native = i64>>(
    array: &'a dyn Array,
    printer: InstantPrinter,
) -> Values<'a> {
    let values: &'a [i64] = array.as_primitive::<T>().values();
    Values::Time(printer, Box::new(move |row| values[row]))
}

fn clock<'a, T: arrow::ArrowPrimitiveType>(array: &'a dyn Array, tick: u8) -> Values<'a>
where
    T::Native: Into<i64>,
{
    let values: &'a PrimitiveArray<T> = array.as_primitive();
    Values::Clock(Clock { tick }, Box::new(move |row| values.value(row).into()))
}

fn values<'a>(
    array: &'a dyn Array,
    data_type: Option<&DataType>,
    style: Style,
) -> Result<Values<'a>, ArrowError> {
    use DataType as T;
    Ok(match (array.data_type(), data_type) {
        (Arrow::Null, _) => Values::Null,
        (Arrow::Boolean, _) => Values::Bool(array.as_boolean()),
        (Arrow::UInt32, Some(T::Ipv4)) => {
            Values::Ipv4(array.as_primitive::<arrow::UInt32Type>().values())
        }
        (Arrow::UInt8, _) => naturals::<arrow::UInt8Type>(array),
        (Arrow::UInt16, _) => naturals::<arrow::UInt16Type>(array),
        (Arrow::UInt32, _) => naturals::<arrow::UInt32Type>(array),
        (Arrow::UInt64, _) => naturals::<arrow::UInt64Type>(array),
        (Arrow::Int8, _) => integers::<arrow::Int8Type>(array),
        (Arrow::Int16, _) => integers::<arrow::Int16Type>(array),
        (Arrow::Int32, _) => integers::<arrow::Int32Type>(array),
        (Arrow::Int64, _) => integers::<arrow::Int64Type>(array),
        (Arrow::Float32, _) => Values::Float32(array.as_primitive()),
        (Arrow::Float64, _) => Values::Float64(array.as_primitive()),
        (Arrow::Decimal128(_, scale), _) => {
            Values::Decimal128(array.as_primitive::<arrow::Decimal128Type>().values(), *scale)
        }
        (Arrow::Decimal256(_, scale), _) => {
            Values::Decimal256(array.as_primitive::<arrow::Decimal256Type>().values(), *scale)
        }
        (Arrow::Date32, _) => {
            let days: &'a [i32] = array.as_primitive::<arrow::Date32Type>().values();
            Values::Date(Box::new(move |row| i64::from(days[row])))
        }
        (Arrow::Time32(TimeUnit::Second), _) => clock::<arrow::Time32SecondType>(array, 0),
        (Arrow::Time32(_), _) => clock::<arrow::Time32MillisecondType>(array, 3),
        (Arrow::Time64(TimeUnit::Microsecond), _) => {
            clock::<arrow::Time64MicrosecondType>(array, 6)
        }
        (Arrow::Time64(_), _) => clock::<arrow::Time64NanosecondType>(array, 9),
        (Arrow::Timestamp(unit, zone), _) => time(array, *unit, zone.as_deref(), data_type),
        (Arrow::Utf8, _) => bytes(array.as_string::<i32>()),
        (Arrow::LargeUtf8, _) => bytes(array.as_string::<i64>()),
        (Arrow::Binary, _) => bytes(array.as_binary::<i32>()),
        (Arrow::LargeBinary, _) => bytes(array.as_binary::<i64>()),
        (Arrow::Utf8View, _) => views(array.as_string_view()),
        (Arrow::BinaryView, _) => views(array.as_binary_view()),
        (Arrow::FixedSizeBinary(16), Some(T::Uuid)) => Values::Uuid(array.as_fixed_size_binary()),
        (Arrow::FixedSizeBinary(16), Some(T::Ipv6)) => Values::Ipv6(array.as_fixed_size_binary()),
        (Arrow::FixedSizeBinary(32), Some(kind @ (T::Int256 | T::UInt256))) => {
            Values::Wide { values: array.as_fixed_size_binary(), signed: *kind == T::Int256 }
        }
        (Arrow::FixedSizeBinary(_), _) => {
            let values = array.as_fixed_size_binary();
            Values::Bytes(Box::new(move |row| values.value(row)))
        }
        (Arrow::Dictionary(_, _), _) => dictionary(array, data_type, style)?,
        (Arrow::List(_) | Arrow::LargeList(_) | Arrow::Struct(_) | Arrow::Map(..), _) => {
            nested(array, data_type, style)?
        }
        _ => Values::Other(ArrayFormatter::try_new(array, &FormatOptions::default())?),
    })
}

fn time<'a>(
    array: &'a dyn Array,
    unit: TimeUnit,
    zone: Option<&str>,
    data_type: Option<&DataType>,
) -> Values<'a> {
    let tick = match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    };
    let precision = match data_type {
        Some(DataType::DateTime { .. }) => 0,
        Some(DataType::DateTime64 { precision, .. }) => *precision,
        _ => tick,
    };
    let zone = Zone::of(zone).unwrap_or(Zone::UTC);
    let printer = InstantPrinter { zone, tick, precision };
    match unit {
        TimeUnit::Second => ticks::<arrow::TimestampSecondType>(array, printer),
        TimeUnit::Millisecond => ticks::<arrow::TimestampMillisecondType>(array, printer),
        TimeUnit::Microsecond => ticks::<arrow::TimestampMicrosecondType>(array, printer),
        TimeUnit::Nanosecond => ticks::<arrow::TimestampNanosecondType>(array, printer),
    }
}

fn dictionary<'a>(
    array: &'a dyn Array,
    data_type: Option<&DataType>,
    style: Style,
) -> Result<Values<'a>, ArrowError> {
    let any = array.as_any_dictionary();
    if any.values().is_empty() {
        return Ok(Values::Null);
    }
    // Keys of NULL rows may point anywhere; those rows are never asked for.
    let keys = any.normalized_keys();
    let values = Text::typed(any.values().as_ref(), data_type, style)?;
    Ok(Values::Dictionary(Box::new(move |row| keys[row]), Box::new(values)))
}

fn ranges<'a, O: OffsetSizeTrait>(
    offsets: &'a [O],
) -> Box<dyn Fn(usize) -> std::ops::Range<usize> + 'a> {
    Box::new(move |row| offsets[row].as_usize()..offsets[row + 1].as_usize())
}

fn nested<'a>(
    array: &'a dyn Array,
    data_type: Option<&DataType>,
    style: Style,
) -> Result<Values<'a>, ArrowError> {
    let style = style.inner();
    match array.data_type() {
        Arrow::List(_) | Arrow::LargeList(_) => {
            let inner = match data_type {
                Some(DataType::Array(inner)) => Some(inner.as_ref()),
                _ => None,
            };
            if let Some(list) = array.as_list_opt::<i32>() {
                let values = Text::typed(list.values().as_ref(), inner, style)?;
                return Ok(Values::List(ranges(list.value_offsets()), Box::new(values)));
            }
            let list = array.as_list::<i64>();
            let values = Text::typed(list.values().as_ref(), inner, style)?;
            Ok(Values::List(ranges(list.value_offsets()), Box::new(values)))
        }
        Arrow::Map(..) => {
            let map = array.as_map();
            let (key, value) = match data_type {
                Some(DataType::Map(key, value)) => (Some(key.as_ref()), Some(value.as_ref())),
                _ => (None, None),
            };
            let keys = Box::new(Text::typed(map.keys().as_ref(), key, style)?);
            let values = Box::new(Text::typed(map.values().as_ref(), value, style)?);
            Ok(Values::Map(map.value_offsets(), keys, values))
        }
        _ => {
            let fields = array.as_struct();
            let elements: &[_] = match data_type {
                Some(DataType::Tuple(elements)) => elements,
                _ => &[],
            };
            let unnamed = elements.first().is_some_and(|(name, _)| name.is_none());
            let names = fields.column_names().into_iter().map(str::to_owned).collect();
            let columns = fields.columns().iter().enumerate().map(|(index, column)| {
                let inner = elements.get(index).map(|(_, inner)| inner);
                Text::typed(column.as_ref(), inner, style)
            });
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            Ok(Values::Tuple((!unnamed).then_some(names), columns))
        }
    }
}
