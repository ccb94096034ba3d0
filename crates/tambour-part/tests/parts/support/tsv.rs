//! Prints values as ClickHouse's TSV does, to compare with what it printed.

use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions::{as_date, as_datetime, as_datetime_with_timezone};
use arrow_array::timezone::Tz;
use arrow_array::types::{
    Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType as Arrow, TimeUnit};
use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};
use tambour_part::DataType;
use tambour_part::types::Column;

/// The rows of a batch, one line each.
pub(crate) fn print(batch: &RecordBatch, columns: &[Column], target: &mut String) {
    for row in 0..batch.num_rows() {
        for (index, (array, column)) in batch.columns().iter().zip(columns).enumerate() {
            if index > 0 {
                target.push('\t');
            }
            value(array, row, &column.data_type, false, target);
        }
        target.push('\n');
    }
}

fn value(array: &ArrayRef, row: usize, data_type: &DataType, nested: bool, out: &mut String) {
    if array.is_null(row) {
        out.push_str(if nested { "NULL" } else { "\\N" });
        return;
    }
    match data_type {
        DataType::Nullable(inner) | DataType::LowCardinality(inner) => {
            value(array, row, inner, nested, out);
        }
        DataType::Array(inner) => {
            let values = array.as_list::<i32>().value(row);
            list(&values, '[', ']', out, |row, out| value(&values, row, inner, true, out));
        }
        DataType::Map(key, item) => {
            let entries = array.as_map().value(row);
            let (keys, values) = (entries.column(0), entries.column(1));
            list(keys, '{', '}', out, |row, out| {
                value(keys, row, key, true, out);
                out.push(':');
                value(values, row, item, true, out);
            });
        }
        DataType::Tuple(elements) => {
            let columns = array.as_struct().columns();
            out.push('(');
            for (index, (column, (_, element))) in columns.iter().zip(elements).enumerate() {
                if index > 0 {
                    out.push(',');
                }
                value(column, row, element, true, out);
            }
            out.push(')');
        }
        _ => scalar(array, row, data_type, nested, out),
    }
}

fn list(
    values: &ArrayRef,
    open: char,
    close: char,
    out: &mut String,
    item: impl Fn(usize, &mut String),
) {
    out.push(open);
    for row in 0..values.len() {
        if row > 0 {
            out.push(',');
        }
        item(row, out);
    }
    out.push(close);
}

fn scalar(array: &ArrayRef, row: usize, data_type: &DataType, nested: bool, out: &mut String) {
    match data_type {
        DataType::Uuid => {
            let bytes: [u8; 16] = array.as_fixed_size_binary().value(row).try_into().unwrap();
            let hex = format!("{:032x}", u128::from_be_bytes(bytes));
            let groups = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
            return quoted(&groups.join("-"), nested, out);
        }
        DataType::Ipv4 => {
            let address = Ipv4Addr::from(array.as_primitive::<UInt32Type>().value(row));
            return quoted(&address.to_string(), nested, out);
        }
        DataType::Ipv6 => {
            let bytes: [u8; 16] = array.as_fixed_size_binary().value(row).try_into().unwrap();
            return quoted(&Ipv6Addr::from(bytes).to_string(), nested, out);
        }
        DataType::UInt256 | DataType::Int256 => {
            let bytes = array.as_fixed_size_binary().value(row);
            return out.push_str(&decimal_256(bytes, *data_type == DataType::Int256));
        }
        _ => {}
    }
    macro_rules! number {
        ($t:ty) => {
            write!(out, "{}", array.as_primitive::<$t>().value(row)).unwrap()
        };
    }
    match array.data_type() {
        Arrow::Boolean => write!(out, "{}", array.as_boolean().value(row)).unwrap(),
        Arrow::UInt8 => number!(UInt8Type),
        Arrow::UInt16 => number!(UInt16Type),
        Arrow::UInt32 => number!(UInt32Type),
        Arrow::UInt64 => number!(UInt64Type),
        Arrow::Int8 => number!(Int8Type),
        Arrow::Int16 => number!(Int16Type),
        Arrow::Int32 => number!(Int32Type),
        Arrow::Int64 => number!(Int64Type),
        Arrow::Float32 => number!(Float32Type),
        Arrow::Float64 => number!(Float64Type),
        Arrow::Decimal128(_, scale) => {
            let raw = array.as_primitive::<Decimal128Type>().value(row);
            out.push_str(&decimal(&raw.to_string(), *scale));
        }
        Arrow::Decimal256(_, scale) => {
            let raw = array.as_primitive::<Decimal256Type>().value(row);
            out.push_str(&decimal(&raw.to_string(), *scale));
        }
        Arrow::Date32 => {
            let days = i64::from(array.as_primitive::<Date32Type>().value(row));
            quoted(&as_date::<Date32Type>(days).unwrap().to_string(), nested, out);
        }
        Arrow::Timestamp(unit, zone) => {
            quoted(&timestamp(array, row, *unit, zone.as_deref()), nested, out);
        }
        Arrow::Utf8View => string(array.as_string_view().value(row).as_bytes(), nested, out),
        Arrow::BinaryView => string(array.as_binary_view().value(row), nested, out),
        Arrow::Utf8 => string(array.as_string::<i32>().value(row).as_bytes(), nested, out),
        Arrow::Binary => string(array.as_binary::<i32>().value(row), nested, out),
        Arrow::FixedSizeBinary(_) => string(array.as_fixed_size_binary().value(row), nested, out),
        Arrow::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            let key = dictionary.normalized_keys()[row];
            scalar(dictionary.values(), key, data_type, nested, out);
        }
        other => panic!("no text for {other}"),
    }
}

fn timestamp(array: &ArrayRef, row: usize, unit: TimeUnit, zone: Option<&str>) -> String {
    let zone: Tz = zone.unwrap_or("UTC").parse().unwrap();
    macro_rules! at {
        ($t:ty) => {{
            let ticks = array.as_primitive::<$t>().value(row);
            as_datetime::<$t>(ticks).unwrap();
            as_datetime_with_timezone::<$t>(ticks, zone).unwrap()
        }};
    }
    match unit {
        TimeUnit::Second => at!(TimestampSecondType).format("%Y-%m-%d %H:%M:%S").to_string(),
        TimeUnit::Millisecond => {
            at!(TimestampMillisecondType).format("%Y-%m-%d %H:%M:%S%.3f").to_string()
        }
        TimeUnit::Microsecond => {
            at!(TimestampMicrosecondType).format("%Y-%m-%d %H:%M:%S%.6f").to_string()
        }
        TimeUnit::Nanosecond => {
            at!(TimestampNanosecondType).format("%Y-%m-%d %H:%M:%S%.9f").to_string()
        }
    }
}

/// ClickHouse leaves trailing zeros of a fraction out.
fn decimal(raw: &str, scale: i8) -> String {
    let scale = usize::try_from(scale).unwrap();
    let (sign, digits) = raw.strip_prefix('-').map_or(("", raw), |digits| ("-", digits));
    let digits = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{fraction}")
}

/// A 256-bit number, little-endian.
fn decimal_256(bytes: &[u8], signed: bool) -> String {
    let negative = signed && bytes[31] >= 0x80;
    let mut number = bytes.to_vec();
    if negative {
        let mut carry = true;
        for byte in &mut number {
            let (sum, overflow) = (!*byte).overflowing_add(u8::from(carry));
            (*byte, carry) = (sum, overflow);
        }
    }
    let mut digits = Vec::new();
    while number.iter().any(|byte| *byte != 0) {
        let mut rest = 0u32;
        for byte in number.iter_mut().rev() {
            let part = rest * 256 + u32::from(*byte);
            *byte = u8::try_from(part / 10).unwrap();
            rest = part % 10;
        }
        digits.push(char::from(b'0' + u8::try_from(rest).unwrap()));
    }
    if digits.is_empty() {
        digits.push('0');
    }
    if negative {
        digits.push('-');
    }
    digits.iter().rev().collect()
}

fn quoted(text: &str, nested: bool, out: &mut String) {
    let quote = if nested { "'" } else { "" };
    write!(out, "{quote}{text}{quote}").unwrap();
}

fn string(bytes: &[u8], nested: bool, out: &mut String) {
    let mut escaped = String::new();
    for character in String::from_utf8_lossy(bytes).chars() {
        match character {
            '\0' => escaped.push_str("\\0"),
            '\t' => escaped.push_str("\\t"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\u{8}' => escaped.push_str("\\b"),
            '\u{c}' => escaped.push_str("\\f"),
            '\\' => escaped.push_str("\\\\"),
            '\'' => escaped.push_str("\\'"),
            other => escaped.push(other),
        }
    }
    quoted(&escaped, nested, out);
}
