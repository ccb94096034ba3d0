//! Numbers as texts: `conv` between bases, `toDecimalString` with as many digits as are asked for, `printf`.

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use tambour_function::kit::{
    Call, Kind, Texts, constant_integer, expect_count, integer, shown, takes, type_at,
    wide_integers, wrong,
};
use tambour_function::{Function, FunctionError, Signature, bare};
use tambour_part::types::DataType;

/// Most digits after the point: of floats, and of other numbers.
const FLOAT_DIGITS_MAX: i64 = 60;
const DIGITS_MAX: i64 = 77;
/// No float has more digits after the point than these.
const EXACT: usize = 1_074;

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("conv", conv_type, conv).any_case(),
    Function::new("toDecimalString", decimal_type, decimals).any_case(),
];

fn conv_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Any, Kind::Integer, Kind::Integer], &[])?;
    match type_at(s, 0) {
        DataType::String | DataType::FixedString(_) => Ok(DataType::String),
        DataType::Float32 | DataType::Float64 => Ok(DataType::String),
        number if integer(number).is_some() && *number != DataType::Bool => Ok(DataType::String),
        other => Err(wrong(name, format!("it takes a String or a number, not {other}"))),
    }
}

/// A number in one base written in another. What comes after its digits does not count; a number below 0 is one of 64 bits.
fn conv(call: &Call) -> Result<ArrayRef, FunctionError> {
    let texts = Texts::of(&shown(call.operand(0)?, call.rows)?);
    let (from, to) = (call.integers(1)?, call.integers(2)?);
    let mut found = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let text = texts.value(row).unwrap_or_default().trim_ascii_start();
        let bases = [from.get(row), to.get(row)];
        if call.is_null(row) {
            found.push((0, 10));
            continue;
        }
        if bases.iter().any(|base| !(2..=36).contains(base)) {
            return Err(call.value_error(row, "bases are 2 to 36"));
        }
        if text.is_empty() {
            return Err(call.value_error(row, "the number is empty"));
        }
        found.push((digits_value(text, bases[0] as u32), bases[1] as u64));
    }
    call.make_texts(|row, out| {
        let (mut number, base) = found[row];
        let start = out.len();
        loop {
            let digit = std::char::from_digit((number % base) as u32, base as u32);
            out.push(digit.map_or(b'0', |digit| digit.to_ascii_uppercase() as u8));
            number /= base;
            if number == 0 {
                break;
            }
        }
        out[start..].reverse();
    })
}

/// The value of the digits at the front, the greatest there is if they are too many.
fn digits_value(text: &[u8], base: u32) -> u64 {
    let is_negative = text.first() == Some(&b'-');
    let digits = if matches!(text.first(), Some(b'-' | b'+')) { &text[1..] } else { text };
    let mut value = 0_u64;
    for byte in digits {
        let Some(digit) = char::from(*byte).to_digit(base) else { break };
        value = value.saturating_mul(base.into()).saturating_add(digit.into());
    }
    if is_negative { value.wrapping_neg() } else { value }
}

fn decimal_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=2)?;
    let is_float = matches!(type_at(s, 0), DataType::Float32 | DataType::Float64);
    let is_number = integer(type_at(s, 0)).is_some() && *type_at(s, 0) != DataType::Bool;
    let is_decimal = matches!(type_at(s, 0), DataType::Decimal { precision: ..=38, .. });
    if !is_float && !is_number && !is_decimal {
        return Err(wrong(
            name,
            format!("it takes numbers of up to 38 digits, not {}", type_at(s, 0)),
        ));
    }
    let most = if is_float { FLOAT_DIGITS_MAX } else { DIGITS_MAX };
    match constant_integer(name, s, 1)? {
        Some(digits) if (0..=most).contains(&digits) => Ok(DataType::String),
        _ => Err(wrong(name, format!("the number of digits must be 0 to {most}"))),
    }
}

fn decimals(call: &Call) -> Result<ArrayRef, FunctionError> {
    let digits = call.integers(1)?.get(0) as usize;
    match bare(&call.operand(0)?.data_type) {
        DataType::Float32 | DataType::Float64 => {
            let floats = call.floats(0)?;
            if let Some(row) = (0..call.rows).find(|row| {
                let float = floats.get(*row).abs();
                float.is_finite() && float >= 1e60 && !call.is_null(*row)
            }) {
                return Err(call.value_error(row, "the number has more than 60 digits"));
            }
            call.make_texts(|row, out| out.extend(of_float(floats.get(row), digits).into_bytes()))
        }
        DataType::Decimal { scale, .. } => {
            let values = call.values(0)?;
            let values = values.as_primitive::<Decimal128Type>().values();
            call.make_texts(|row, out| {
                out.extend(of_decimal(values[row], usize::from(*scale), digits).into_bytes());
            })
        }
        _ => {
            let numbers = wide_integers(&call.values(0)?)?;
            call.make_texts(|row, out| {
                let point = if digits > 0 { "." } else { "" };
                out.extend(format!("{}{point}{:0<digits$}", numbers[row], "").into_bytes());
            })
        }
    }
}

/// A half is rounded away from zero, of the exact value.
fn of_float(float: f64, digits: usize) -> String {
    if float.is_nan() {
        return "nan".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { "inf".to_owned() } else { "-inf".to_owned() };
    }
    let exact = format!("{:.EXACT$}", float.abs());
    let (whole, fraction) = exact.split_once('.').unwrap_or((&exact, ""));
    let sign = if float.is_sign_negative() { "-" } else { "" };
    let point = if digits > 0 { "." } else { "" };
    let text = rounded(whole, fraction, digits);
    let (whole, fraction) = text.split_at(text.len() - digits);
    format!("{sign}{whole}{point}{fraction}")
}

/// The digits without a point, as many of the fraction as are wanted.
fn rounded(whole: &str, fraction: &str, digits: usize) -> String {
    let mut all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    all.resize(whole.len() + digits.max(fraction.len()), b'0');
    let is_up = all.get(whole.len() + digits).is_some_and(|digit| *digit >= b'5');
    all.truncate(whole.len() + digits);
    if is_up {
        let last = all.iter().rposition(|digit| *digit != b'9');
        let from = last.map_or(0, |last| last + 1);
        all[from..].fill(b'0');
        match last {
            Some(last) => all[last] += 1,
            None => all.insert(0, b'1'),
        }
    }
    String::from_utf8_lossy(&all).into_owned()
}

/// Decimals have a point even if no digit follows it, as there.
fn of_decimal(value: i128, scale: usize, digits: usize) -> String {
    let all = format!("{:0>width$}", value.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = all.split_at(all.len() - scale);
    let sign = if value < 0 { "-" } else { "" };
    let text = rounded(whole, fraction, digits);
    let (whole, fraction) = text.split_at(text.len() - digits);
    let point = if digits > 0 || scale > 0 { "." } else { "" };
    format!("{sign}{whole}{point}{fraction}")
}
