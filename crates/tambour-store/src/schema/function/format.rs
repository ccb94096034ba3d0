//! Values as texts: `toString`.

use super::calendar::with_clock;
use super::civil;
use super::moment::{self, Moments};
use super::text::{Texts, push_all};
use super::zone::Clock;
use super::{
    Call, cast, wrong,
    zone::{Fixed, Zone},
};
use crate::StoreError;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float32Type, Float64Type, UInt32Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType as ArrowType;
use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};
use tambour_part::types::DataType;

/// The function itself.
pub(super) fn to_string(call: &Call) -> Result<ArrayRef, StoreError> {
    let values = call.values(0)?;
    let Some(operand) = call.operands.first() else {
        return Err(wrong(call.name, "it takes an argument"));
    };
    match &operand.data_type {
        DataType::Date
        | DataType::Date32
        | DataType::DateTime { .. }
        | DataType::DateTime64 { .. } => moments(call, &operand.data_type),
        DataType::FixedString(_) => Ok(fixed_string(&values)),
        DataType::Float32 | DataType::BFloat16 => {
            let floats = cast(&values, &ArrowType::Float32)?;
            let floats = floats.as_primitive::<Float32Type>();
            Ok(push_all(floats.len(), |row, text| {
                float(text, f64::from(floats.value(row)), || {
                    (format!("{}", floats.value(row)), format!("{:e}", floats.value(row)))
                });
            }))
        }
        DataType::Float64 => {
            let floats = values.as_primitive::<Float64Type>();
            Ok(push_all(floats.len(), |row, text| {
                float(text, floats.value(row), || {
                    (format!("{}", floats.value(row)), format!("{:e}", floats.value(row)))
                });
            }))
        }
        DataType::Decimal { scale, .. }
            if matches!(values.data_type(), ArrowType::Decimal128(..)) =>
        {
            let numbers = values.as_primitive::<Decimal128Type>();
            Ok(push_all(numbers.len(), |row, text| decimal(text, numbers.value(row), *scale)))
        }
        DataType::Uuid | DataType::Ipv6 => sixteen_bytes(call, &values, &operand.data_type),
        DataType::Ipv4 => {
            let numbers = values.as_primitive::<UInt32Type>();
            Ok(push_all(numbers.len(), |row, text| {
                let _ = write!(text, "{}", Ipv4Addr::from(numbers.value(row)));
            }))
        }
        DataType::String => Ok(values),
        _ => cast(&values, &ArrowType::Utf8View),
    }
}

/// `2024-03-15`, `2024-03-15 01:02:03`, `2024-03-15 01:02:03.456`.
fn moments(call: &Call, data_type: &DataType) -> Result<ArrayRef, StoreError> {
    let zone = moment::zone(call, 1)?;
    let precision = match data_type {
        DataType::DateTime64 { precision, .. } => usize::from(*precision),
        _ => 0,
    };
    Ok(match Moments::of(call, 0)? {
        Moments::Days(days) => {
            push_all(days.len(), |row, text| push_date(text, civil::clamp(days.value(row).into())))
        }
        Moments::Seconds(seconds) => with_clock!(zone, |clock| {
            push_all(seconds.len(), |row, text| push_instant(text, clock, seconds.value(row)))
        }),
        Moments::Ticks(ticks, per_second) => with_clock!(zone, |clock| {
            push_all(ticks.len(), |row, text| {
                let tick = ticks.value(row);
                push_instant(text, clock, tick.div_euclid(per_second));
                if precision > 0 {
                    let digits = tick.rem_euclid(per_second) * (1_000_000_000 / per_second);
                    let nine = format!("{digits:09}");
                    let _ = write!(text, ".{}", nine.get(..precision).unwrap_or(&nine));
                }
            })
        }),
    })
}

fn push_date(text: &mut String, day: i32) {
    let date = civil::from_days(day);
    let _ = write!(text, "{:04}-{:02}-{:02}", date.year, date.month, date.day);
}

fn push_instant(text: &mut String, clock: impl Clock, instant: i64) {
    push_date(text, clock.day(instant));
    let time = clock.time(instant);
    let _ = write!(text, " {:02}:{:02}:{:02}", time / 3600, time / 60 % 60, time % 60);
}

/// The shortest digits that read back the same; exponents from 1e21 and below 1e-6 on.
fn float(text: &mut String, value: f64, digits: impl Fn() -> (String, String)) {
    if value.is_nan() {
        text.push_str("nan");
    } else if value.is_infinite() {
        text.push_str(if value > 0.0 { "inf" } else { "-inf" });
    } else {
        let (plain, exponent) = digits();
        let is_plain = value == 0.0 || (1e-6..1e21).contains(&value.abs());
        text.push_str(if is_plain { &plain } else { &exponent });
    }
}

/// Digits with a point; zeros at the end are left out.
fn decimal(text: &mut String, value: i128, scale: u8) {
    let digits = value.unsigned_abs().to_string();
    let scale = usize::from(scale);
    let padded = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = padded.split_at(padded.len() - scale);
    let fraction = fraction.trim_end_matches('0');
    if value < 0 {
        text.push('-');
    }
    text.push_str(whole);
    if !fraction.is_empty() {
        text.push('.');
        text.push_str(fraction);
    }
}

/// Up to the first zero byte.
fn fixed_string(values: &ArrayRef) -> ArrayRef {
    let texts = Texts::of(values);
    texts.map_texts(|text, out| {
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        out.extend_from_slice(&text[..end]);
    })
}

fn sixteen_bytes(
    call: &Call,
    values: &ArrayRef,
    data_type: &DataType,
) -> Result<ArrayRef, StoreError> {
    let Some(array) = values.as_fixed_size_binary_opt().filter(|array| array.value_length() == 16)
    else {
        return Err(wrong(
            call.name,
            format!("it cannot read {} as {data_type}", values.data_type()),
        ));
    };
    let is_uuid = matches!(data_type, DataType::Uuid);
    Ok(push_all(array.len(), |row, text| {
        let bytes: [u8; 16] = array.value(row).try_into().unwrap_or_default();
        if is_uuid {
            for (at, byte) in bytes.iter().enumerate() {
                if matches!(at, 4 | 6 | 8 | 10) {
                    text.push('-');
                }
                let _ = write!(text, "{byte:02x}");
            }
        } else {
            let _ = write!(text, "{}", Ipv6Addr::from(bytes));
        }
    }))
}

/// A float as the shortest text that gives it back.
pub(super) fn push_float(text: &mut String, value: f64) {
    float(text, value, || (format!("{value}"), format!("{value:e}")));
}
