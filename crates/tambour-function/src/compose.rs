//! Dates and instants made of their parts (`makeDate`, `YYYYMMDDToDate`) and of counts (`fromUnixTimestamp64Milli`,
//! `fromDaysSinceYearZero`), and counts of instants (`toUnixTimestamp64Milli`).
//!
//! Parts that ClickHouse takes though there is no such time (hour 25) are an error here.

use super::access::{Kind, takes};
use super::arithmetic::integer;
use super::civil;
use super::moment::{self, Moments, constant_integer, zone_argument};
use super::period::YEAR_ZERO;
use super::zone::Zone;
use super::{Call, Function, Signature, cast, expect_count, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int64Type};
use arrow_array::{ArrayRef, Int64Array, PrimitiveArray};
use arrow_schema::DataType as ArrowType;
use std::sync::Arc;
use tambour_part::types::DataType;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "makeDate",
        |n, s| parts_type(n, s, 2..=3).map(|()| DataType::Date),
        |c| dates(c, DataType::Date),
    )
    .any_case(),
    Function::new(
        "makeDate32",
        |n, s| parts_type(n, s, 2..=3).map(|()| DataType::Date32),
        |c| dates(c, DataType::Date32),
    ),
    Function::new("makeDateTime", instant_type, instants),
    Function::new("makeDateTime64", ticks_type, instants),
    Function::new(
        "YYYYMMDDToDate",
        |n, s| digits_type(n, s, DataType::Date),
        |c| of_digits(c, DataType::Date),
    ),
    Function::new(
        "YYYYMMDDToDate32",
        |n, s| digits_type(n, s, DataType::Date32),
        |c| of_digits(c, DataType::Date32),
    ),
    Function::new("YYYYMMDDhhmmssToDateTime", seconds_type, of_long_digits).any_case(),
    Function::new("YYYYMMDDhhmmssToDateTime64", long_ticks_type, of_long_digits),
    Function::new(
        "fromDaysSinceYearZero",
        |n, s| digits_type(n, s, DataType::Date),
        |c| of_days(c, 0, u16::MAX.into()),
    )
    .aliases(&["FROM_DAYS"]),
    Function::new(
        "fromDaysSinceYearZero32",
        |n, s| digits_type(n, s, DataType::Date32),
        |c| of_days(c, civil::FIRST_DAY.into(), civil::LAST_DAY.into()),
    ),
    Function::new("fromUnixTimestamp64Second", |n, s| ticks_of(n, s, 0), from_unix),
    Function::new("fromUnixTimestamp64Milli", |n, s| ticks_of(n, s, 3), from_unix),
    Function::new("fromUnixTimestamp64Micro", |n, s| ticks_of(n, s, 6), from_unix),
    Function::new("fromUnixTimestamp64Nano", |n, s| ticks_of(n, s, 9), from_unix),
    Function::new("toUnixTimestamp64Second", unix_type, |c| to_unix(c, 1)),
    Function::new("toUnixTimestamp64Milli", unix_type, |c| to_unix(c, 1_000)),
    Function::new("toUnixTimestamp64Micro", unix_type, |c| to_unix(c, 1_000_000)),
    Function::new("toUnixTimestamp64Nano", unix_type, |c| to_unix(c, 1_000_000_000)),
];

/// Numbers, whose fractions are cut off.
fn parts_type(
    name: &'static str,
    s: &[Signature],
    count: std::ops::RangeInclusive<usize>,
) -> Result<(), FunctionError> {
    expect_count(name, s, count)?;
    let kinds = vec![Kind::Number; s.len()];
    takes(name, s, &kinds, &[])
}

fn part(call: &Call, index: usize) -> Result<Vec<i64>, FunctionError> {
    let values = call.values(index)?;
    let whole = match values.data_type() {
        ArrowType::Float32 | ArrowType::Float64 => {
            let floats = cast(&values, &ArrowType::Float64)?;
            let floats = floats.as_primitive::<arrow_array::types::Float64Type>();
            // Neither NaN nor what is below zero, even by a fraction, is part of a date.
            let whole = |float: &f64| if *float >= 0.0 { *float as i64 } else { -1 };
            return Ok(floats.values().iter().map(whole).collect());
        }
        ArrowType::UInt64 => {
            let numbers = values.as_primitive::<arrow_array::types::UInt64Type>();
            let clamped = numbers.values().iter().map(|it| i64::try_from(*it).unwrap_or(i64::MAX));
            return Ok(clamped.collect());
        }
        _ => cast(&values, &ArrowType::Int64)?,
    };
    Ok(whole.as_primitive::<Int64Type>().values().to_vec())
}

/// The day of a date, days beyond the end of a short month counted on; none if there is no such month or day.
fn day_of(year: i64, month: i64, day: i64) -> Option<i32> {
    let year = i32::try_from(year).ok().filter(|year| (0..=9999).contains(year))?;
    let month = u32::try_from(month).ok().filter(|month| (1..=12).contains(month))?;
    let day = i32::try_from(day).ok().filter(|day| (1..=31).contains(day))?;
    Some(civil::to_days(year, month, 1) + day - 1)
}

fn dates(call: &Call, result: DataType) -> Result<ArrayRef, FunctionError> {
    let is_narrow = result == DataType::Date;
    let (years, seconds) = (part(call, 0)?, part(call, 1)?);
    let thirds = if call.operands.len() == 3 { Some(part(call, 2)?) } else { None };
    let make = |row: usize| -> Result<i32, FunctionError> {
        if call.is_null(row) {
            return Ok(0);
        }
        let (year, second) = (years[row], seconds[row]);
        let day = match &thirds {
            Some(days) => day_of(year, second, days[row]),
            // The day of the year; ClickHouse knows no 366th.
            None if (1..=365).contains(&second) => {
                day_of(year, 1, 1).map(|first| first + second as i32 - 1)
            }
            None => None,
        };
        let inside = |day: &i32| !is_narrow || (0..=i32::from(u16::MAX)).contains(day);
        Ok(day.filter(inside).unwrap_or(0))
    };
    let days = (0..call.rows).map(make).collect::<Result<Vec<i32>, _>>()?;
    Ok(Arc::new(PrimitiveArray::<Date32Type>::from_iter_values(days)))
}

fn instant_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 6..=7)?;
    parts_type(name, s.get(..6).unwrap_or_default(), 6..=6)?;
    Ok(DataType::DateTime { zone: zone_argument(name, s, 6)? })
}

fn ticks_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 6..=9)?;
    let parts = s.len().min(7);
    parts_type(name, s.get(..parts).unwrap_or_default(), 6..=7)?;
    let precision = match constant_integer(name, s, 7)? {
        None => 3,
        Some(precision @ 0..=9) => precision as u8,
        Some(_) => return Err(wrong(name, "the precision must be 0 to 9")),
    };
    Ok(DataType::DateTime64 { precision, zone: zone_argument(name, s, 8)? })
}

fn instants(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (precision, zone) = match call.result {
        DataType::DateTime64 { precision, zone } => (Some(*precision), zone),
        DataType::DateTime { zone } => (None, zone),
        _ => return Err(wrong(call.name, "its result is an instant")),
    };
    let zone = Zone::of(zone.as_deref())?;
    let parts = (0..6).map(|index| part(call, index)).collect::<Result<Vec<_>, _>>()?;
    let fractions =
        if precision.is_some() && call.operands.len() > 6 { Some(part(call, 6)?) } else { None };
    let digits = precision.unwrap_or(0);
    let per_second = precision.map_or(1, moment::ticks_per_second);
    let unit = 10_i64.pow(u32::from(digits));
    let make = |row: usize| -> Result<i64, FunctionError> {
        if call.is_null(row) {
            return Ok(0);
        }
        let [hour, minute, second] = [3, 4, 5].map(|index: usize| parts[index][row]);
        let year = parts[0][row];
        // Nearer than the end of the calendar: these functions know its first 400 years only.
        let is_near = (1900..=2299).contains(&year);
        let day = day_of(year, parts[1][row], parts[2][row]).filter(|_| is_near);
        let is_time =
            (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
        let is_narrow = precision.is_none();
        let Some(day) = day.filter(|_| is_time) else {
            return Err(call.value_error(row, "there is no such date and time"));
        };
        let instant = zone.instant(day, hour * 3_600 + minute * 60 + second);
        if is_narrow {
            return Ok(instant.clamp(0, u32::MAX.into()));
        }
        let fraction = fractions.as_ref().map_or(0, |all| all[row]).clamp(0, unit - 1);
        let ticks = instant.checked_mul(per_second);
        let ticks = ticks.and_then(|ticks| ticks.checked_add(fraction * (per_second / unit)));
        ticks.ok_or_else(|| call.value_error(row, "the value is out of range"))
    };
    let ticks = (0..call.rows).map(make).collect::<Result<Vec<i64>, _>>()?;
    moment::from_ticks(Int64Array::from(ticks), call.result)
}

fn digits_type(
    name: &'static str,
    s: &[Signature],
    result: DataType,
) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=1)?;
    takes(name, s, &[Kind::Integer], &[])?;
    Ok(result)
}

/// 20240315 as 2024-03-15.
fn of_digits(call: &Call, result: DataType) -> Result<ArrayRef, FunctionError> {
    let numbers = part(call, 0)?;
    let is_narrow = result == DataType::Date;
    let make = |row: usize| -> Result<i32, FunctionError> {
        let number = numbers[row];
        let (year, month, day) = (number / 10_000, number / 100 % 100, number % 100);
        if call.is_null(row) {
            return Ok(0);
        }
        match day_of(year, month, day) {
            Some(day) if !is_narrow || (0..=i32::from(u16::MAX)).contains(&day) => Ok(day),
            _ if is_narrow => Ok(0),
            _ => Err(call.value_error(row, "there is no such date of the years 0 to 9999")),
        }
    };
    let days = (0..call.rows).map(make).collect::<Result<Vec<i32>, _>>()?;
    Ok(Arc::new(PrimitiveArray::<Date32Type>::from_iter_values(days)))
}

fn seconds_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Integer], &[Kind::ConstText])?;
    Ok(DataType::DateTime { zone: zone_argument(name, s, 1)? })
}

fn long_ticks_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Integer], &[Kind::ConstInteger, Kind::ConstText])?;
    match constant_integer(name, s, 1)?.unwrap_or(3) {
        precision @ 0..=9 => {
            let zone = zone_argument(name, s, 2)?;
            Ok(DataType::DateTime64 { precision: precision as u8, zone })
        }
        _ => Err(wrong(name, "the precision must be 0 to 9")),
    }
}

/// 20240315131415 as 2024-03-15 13:14:15. A DateTime of no date is the first one.
fn of_long_digits(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (per_second, zone) = match call.result {
        DataType::DateTime64 { precision, zone } => (moment::ticks_per_second(*precision), zone),
        DataType::DateTime { zone } => (1, zone),
        _ => return Err(wrong(call.name, "its result is an instant")),
    };
    let is_narrow = matches!(call.result, DataType::DateTime { .. });
    let zone = Zone::of(zone.as_deref())?;
    let numbers = part(call, 0)?;
    let make = |row: usize| -> Result<i64, FunctionError> {
        if call.is_null(row) {
            return Ok(0);
        }
        let (date, time) = (numbers[row] / 1_000_000, numbers[row] % 1_000_000);
        let (year, month, day) = (date / 10_000, date / 100 % 100, date % 100);
        let (hour, minute, second) = (time / 10_000, time / 100 % 100, time % 100);
        // What is past all calendars is the last DateTime, if it could be a day at all.
        if is_narrow && year > 2299 && (1..=12).contains(&month) && (1..=31).contains(&day) {
            return Ok(u32::MAX.into());
        }
        let day = day_of(year, month, day).filter(|_| numbers[row] > 0);
        if is_narrow && (day.is_none() || year < 1970) {
            return Ok(0);
        }
        let is_time = hour < 24 && minute < 60 && second < 60 && (1900..=2299).contains(&year);
        let Some(day) = day.filter(|_| is_time) else {
            return Err(call.value_error(row, "there is no such date and time"));
        };
        let instant = zone.instant(day, hour * 3_600 + minute * 60 + second);
        if is_narrow {
            return Ok(instant.clamp(0, u32::MAX.into()));
        }
        let ticks = instant.checked_mul(per_second);
        ticks.ok_or_else(|| call.value_error(row, "the value is out of range"))
    };
    let ticks = (0..call.rows).map(make).collect::<Result<Vec<i64>, _>>()?;
    moment::from_ticks(Int64Array::from(ticks), call.result)
}

fn of_days(call: &Call, first: i64, last: i64) -> Result<ArrayRef, FunctionError> {
    let numbers = part(call, 0)?;
    let make = |row: usize| {
        let day = numbers[row].saturating_sub(YEAR_ZERO);
        if (first..=last).contains(&day) {
            return Ok(day as i32);
        }
        if call.is_null(row) {
            return Ok(0);
        }
        Err(call.value_error(row, "the day is outside of the calendar"))
    };
    let days = (0..call.rows).map(make).collect::<Result<Vec<i32>, _>>()?;
    Ok(Arc::new(PrimitiveArray::<Date32Type>::from_iter_values(days)))
}

fn ticks_of(name: &'static str, s: &[Signature], precision: u8) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=2)?;
    match s.first().map(|first| &first.data_type) {
        Some(number) if integer(number).is_some() => {}
        _ => return Err(wrong(name, "it takes an integer")),
    }
    Ok(DataType::DateTime64 { precision, zone: zone_argument(name, s, 1)? })
}

fn from_unix(call: &Call) -> Result<ArrayRef, FunctionError> {
    let per_second = match call.result {
        DataType::DateTime64 { precision, .. } => moment::ticks_per_second(*precision),
        _ => 1,
    };
    let last = i64::from(civil::LAST_DAY + 1) * civil::DAY;
    let calendar = i64::from(civil::FIRST_DAY) * civil::DAY..last;
    let numbers = call.integers(0)?;
    let tick = |row: usize| {
        // Counts have a sign, also those that come without one.
        let tick = numbers.get(row) as i64;
        if calendar.contains(&tick.div_euclid(per_second)) || call.is_null(row) {
            return Ok(tick);
        }
        Err(call.value_error(row, "the time is outside of the years 0 to 9999"))
    };
    let ticks = (0..call.rows).map(tick).collect::<Result<Vec<i64>, _>>()?;
    moment::from_ticks(Int64Array::from(ticks), call.result)
}

fn unix_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=1)?;
    match s.first().map(|first| &first.data_type) {
        Some(DataType::DateTime64 { .. }) => Ok(DataType::Int64),
        _ => Err(wrong(name, "it takes a DateTime64")),
    }
}

/// Ticks in another unit, cut towards zero.
fn to_unix(call: &Call, per_second: i64) -> Result<ArrayRef, FunctionError> {
    let (ticks, have) = match Moments::of(call, 0)? {
        Moments::Ticks(ticks, have) => (ticks, have),
        other => (other.seconds(&Zone::UTC), 1),
    };
    let convert = |row: usize| {
        let tick = ticks.value(row);
        if have > per_second {
            return Some(tick / (have / per_second));
        }
        tick.checked_mul(per_second / have)
    };
    let make = |row: usize| match convert(row) {
        Some(tick) => Ok(tick),
        None if call.is_null(row) => Ok(0),
        None => Err(call.value_error(row, "the value is out of range")),
    };
    let ticks = (0..call.rows).map(make).collect::<Result<Vec<i64>, _>>()?;
    Ok(Arc::new(Int64Array::from(ticks)))
}
