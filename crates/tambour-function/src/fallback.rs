//! Instants and wide integers of texts, and a default where a text is none: `toDateTimeOrDefault`, `toInt128OrDefault`.
//!
//! A text that has digits and is not written out in full (`2020-1-1`) is an error: ClickHouse reads some of them.

use super::access::wide_integers;
use super::arithmetic::integer;
use super::element::default_of;
use super::moment::{constant_integer, from_ticks, zone_argument};
use super::number::filled;
use super::reading::Reader;
use super::retype::first;
use super::text::Texts;
use super::{Call, Function, Operand, Signature, bare, expect_count, find_in_queries, wrong};
use crate::FunctionError;
use arrow_array::{Array, ArrayRef, Int64Array, StringArray};
use std::sync::Arc;
use tambour_part::types::DataType;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("toDateTimeOrDefault", seconds_type, instants).takes_nulls(),
    Function::new("toDateTime64OrDefault", ticks_type, instants).takes_nulls(),
    Function::new("toInt128OrDefault", |n, s| wide_type(n, s, DataType::Int128), wide)
        .takes_nulls(),
    Function::new("toUInt128OrDefault", |n, s| wide_type(n, s, DataType::UInt128), wide)
        .takes_nulls(),
    Function::new("toInt256OrDefault", |n, s| wide_type(n, s, DataType::Int256), wide)
        .takes_nulls(),
    Function::new("toUInt256OrDefault", |n, s| wide_type(n, s, DataType::UInt256), wide)
        .takes_nulls(),
];

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::String | DataType::FixedString(_))
}

fn expect_text(name: &str, s: &[Signature]) -> Result<(), FunctionError> {
    match s.first().map(|first| bare(&first.data_type)) {
        Some(text) if is_text(text) => Ok(()),
        _ => Err(wrong(name, "it takes a text")),
    }
}

fn seconds_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=3)?;
    expect_text(name, s)?;
    match s.get(2).map(|default| &default.data_type) {
        None | Some(DataType::DateTime { .. }) => {
            Ok(DataType::DateTime { zone: zone_argument(name, s, 1)? })
        }
        Some(other) => Err(wrong(name, format!("the default must be a DateTime, not {other}"))),
    }
}

fn ticks_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=4)?;
    expect_text(name, s)?;
    let Some(precision @ 0..=9) = constant_integer(name, s, 1)? else {
        return Err(wrong(name, "the precision must be 0 to 9"));
    };
    let zone = zone_argument(name, s, 2)?;
    let result = DataType::DateTime64 { precision: precision as u8, zone };
    match s.get(3).map(|default| &default.data_type) {
        Some(other) if *other != result => {
            Err(wrong(name, format!("the default must be of type {result}, not {other}")))
        }
        _ => Ok(result),
    }
}

/// A text without the zeros that fill it up.
fn unfilled(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    text.get(..end).unwrap_or_default()
}

fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(text).chars().take(40).collect()
}

/// True for `2020-01-02`, `2020-01-02 03:04:05`, and with a fraction after it, if there may be one.
fn is_written_out(text: &[u8], has_fraction: bool) -> bool {
    const FORM: &[u8] = b"0000-00-00 00:00:00";
    let is_alike = |(byte, form): (&u8, &u8)| match form {
        b'0' => byte.is_ascii_digit(),
        other => byte == other,
    };
    let (head, tail) = text.split_at(text.len().min(FORM.len()));
    let is_day = head.len() == 10 && tail.is_empty();
    let is_fraction = match tail {
        [] => true,
        [b'.', digits @ ..] => {
            has_fraction && (1..=9).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit)
        }
        _ => false,
    };
    (is_day || head.len() == FORM.len() && is_fraction) && head.iter().zip(FORM).all(is_alike)
}

fn instants(call: &Call) -> Result<ArrayRef, FunctionError> {
    let reader = Reader::of(call)?;
    let texts = Texts::of(&call.values(0)?);
    let of_row = |row: usize| {
        let text = unfilled(texts.value(row).unwrap_or_default());
        if !text.iter().any(u8::is_ascii_digit) {
            return Ok(None);
        }
        let is_read = is_written_out(text, !reader.is_narrow());
        let found = if is_read { reader.read(text) } else { None };
        found.map(Some).ok_or_else(|| {
            call.value_error(row, format!("{:?} is not clearly a date and time", shown(text)))
        })
    };
    let found = (0..texts.len()).map(of_row).collect::<Result<Int64Array, _>>()?;
    let at = if reader.is_narrow() { 2 } else { 3 };
    or_default(call, &from_ticks(found, call.result)?, at)
}

fn or_default(call: &Call, found: &ArrayRef, index: usize) -> Result<ArrayRef, FunctionError> {
    match call.operands.get(index) {
        // The zone is that of the result.
        Some(default) => filled(found, &super::cast(&default.values, found.data_type())?),
        None => filled(found, &default_of(found)?),
    }
}

fn wide_type(
    name: &'static str,
    s: &[Signature],
    result: DataType,
) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=2)?;
    match s.first().map(|first| bare(&first.data_type)) {
        Some(source) if is_text(source) || integer(source).is_some() => {}
        _ => return Err(wrong(name, "it takes a text or an integer of up to 64 bits")),
    }
    match s.get(1).map(|default| &default.data_type) {
        Some(other) if *other != result => {
            Err(wrong(name, format!("the default must be of type {result}, not {other}")))
        }
        _ => Ok(result),
    }
}

/// The digits of a number with its sign, nothing of what is none; an error says that ClickHouse might know better.
fn plain_number(text: &[u8], digits_max: usize, is_signed: bool) -> Result<Option<String>, ()> {
    if !text.iter().any(u8::is_ascii_digit) {
        return Ok(None);
    }
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.len() > digits_max || !digits.iter().all(u8::is_ascii_digit) {
        return Err(());
    }
    let digits = std::str::from_utf8(digits).map_err(drop)?;
    match (is_negative, is_signed) {
        (false, _) => Ok(Some(digits.to_owned())),
        (true, true) => Ok(Some(format!("-{digits}"))),
        (true, false) if digits.bytes().any(|digit| digit != b'0') => Ok(None),
        (true, false) => Err(()),
    }
}

fn wide(call: &Call) -> Result<ArrayRef, FunctionError> {
    let is_signed = matches!(call.result, DataType::Int128 | DataType::Int256);
    // So many that all of them fit.
    let digits_max = match call.result {
        DataType::Int128 | DataType::UInt128 => 38,
        _ => 76,
    };
    let operand = first(call)?;
    let numbers: Vec<Option<String>> = if is_text(bare(&operand.data_type)) {
        let texts = Texts::of(&operand.values);
        let of_row = |row: usize| {
            let text = unfilled(texts.value(row).unwrap_or_default());
            plain_number(text, digits_max, is_signed).map_err(|()| {
                call.value_error(row, format!("{:?} is not clearly a number", shown(text)))
            })
        };
        (0..texts.len()).map(of_row).collect::<Result<_, _>>()?
    } else {
        let numbers = wide_integers(&operand.values)?.into_iter().enumerate();
        let of_row = |(row, number): (usize, i128)| {
            let is_there = operand.values.is_valid(row) && (is_signed || number >= 0);
            is_there.then(|| number.to_string())
        };
        numbers.map(of_row).collect()
    };
    let name = format!("to{}OrNull", call.result);
    let Some(function) = find_in_queries(&name) else {
        return Err(wrong(call.name, format!("there is no {name}")));
    };
    let values: ArrayRef = Arc::new(StringArray::from(numbers));
    let operand =
        Operand { data_type: DataType::String.made_nullable(), values, is_constant: false };
    or_default(call, &function.evaluate(&[operand])?.values, 1)
}

#[cfg(test)]
mod tests {
    use super::{is_written_out, plain_number};

    #[test]
    fn only_what_is_clear_is_read() {
        assert!(
            is_written_out(b"2020-01-02", false) && is_written_out(b"2020-01-02 03:04:05", false)
        );
        assert!(is_written_out(b"2020-01-02 03:04:05.123", true));
        for text in ["2020-1-2", "2020-01-02 03:04", "2020-01-02 03:04:05.", " 2020-01-02", ""] {
            assert!(!is_written_out(text.as_bytes(), true), "{text}");
        }
        assert_eq!(plain_number(b"-5", 38, true), Ok(Some("-5".to_owned())));
        assert_eq!(
            (plain_number(b"-5", 38, false), plain_number(b"x", 38, true)),
            (Ok(None), Ok(None))
        );
        assert_eq!(
            (plain_number(b"1.5", 38, true), plain_number(b"123", 2, true)),
            (Err(()), Err(()))
        );
    }
}
