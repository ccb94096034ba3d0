//! Conversions to dates and instants: `toDate`, `toDateTime`, `toUnixTimestamp`.

use super::access::type_at;
use super::arithmetic::integer;
use super::civil;
use super::conversion::Source;
use super::moment::{
    Moments, constant_integer, from_ticks, ticks_per_second, with_zone, zone, zone_name,
};
use super::numbers::Numbers;
use super::value::parse;
use super::zone::{Clock, Fixed, Zone, with_clock};
use super::{Call, Function, Signature, bare, expect_count, wrong};
use crate::FunctionError;
use arrow_array::types::{Date32Type, TimestampSecondType, UInt32Type};
use arrow_array::{ArrayRef, Int64Array, PrimitiveArray};
use std::sync::Arc;
use tambour_part::types::DataType;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("toDate", |n, s| convert_type(n, s, |_| DataType::Date), to_date)
        .aliases(&["date"])
        .monotonic(),
    Function::new("toDate32", |n, s| convert_type(n, s, |_| DataType::Date32), to_date32)
        .monotonic(),
    Function::new(
        "toDateTime",
        |n, s| convert_type(n, s, |zone| DataType::DateTime { zone }),
        to_date_time,
    ),
    Function::new("toDateTime64", date_time64_type, to_date_time64),
    Function::new(
        "toUnixTimestamp",
        |n, s| convert_type(n, s, |_| DataType::UInt32),
        to_unix_timestamp,
    ),
];

/// The same by a name that keys do not have, and what formats take.
pub(super) const OF_QUERIES: &[Function] = &[
    Function::new(
        "toDateTime32",
        |n, s| convert_type(n, s, |zone| DataType::DateTime { zone }),
        to_date_time,
    ),
    Function::new("formattedMoment", formatted_type, formatted),
];

/// What `fromUnixTimestamp(x, format)` writes: dates and times as they are, integers as seconds, of 32 bits without a sign or of 64.
fn formatted_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=1)?;
    let given = bare(type_at(s, 0));
    match given {
        DataType::Int64 | DataType::UInt64 => Ok(DataType::DateTime64 { precision: 0, zone: None }),
        other if integer(other).is_some() => Ok(DataType::DateTime { zone: None }),
        DataType::Date | DataType::Date32 => Ok(given.clone()),
        DataType::DateTime { .. } | DataType::DateTime64 { .. } => Ok(given.clone()),
        other => Err(wrong("fromUnixTimestamp", format!("it takes seconds, not {other}"))),
    }
}

fn formatted(call: &Call) -> Result<ArrayRef, FunctionError> {
    let Source::Numbers(numbers) = Source::of(call)? else { return call.values(0) };
    let is_wide = matches!(call.result, DataType::DateTime64 { .. });
    let first = i64::from(civil::FIRST_DAY) * civil::DAY;
    let end = (i64::from(civil::LAST_DAY) + 1) * civil::DAY;
    // Beyond the calendar ClickHouse takes the ends of one of two, by the sign of the type.
    let second = |number: i64| {
        if !is_wide {
            return Some(wrap_instant(number));
        }
        Some(number).filter(|it| (first..end).contains(it))
    };
    let seconds: Int64Array = numbers.map(call, second)?;
    if is_wide {
        return from_ticks(seconds, call.result);
    }
    with_zone(seconds.unary::<_, TimestampSecondType>(|second| second), call.result)
}

fn convert_type(
    name: &'static str,
    s: &[Signature],
    result: fn(Option<String>) -> DataType,
) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=2)?;
    Source::expect_time_or_number(name, s)?;
    Ok(result(zone_name(name, s, 1)?))
}

fn date_time64_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=3)?;
    Source::expect_time_or_number(name, s)?;
    match constant_integer(name, s, 1)? {
        Some(precision @ 0..=9) => {
            Ok(DataType::DateTime64 { precision: precision as u8, zone: zone_name(name, s, 2)? })
        }
        _ => Err(wrong(name, "the precision must be 0 to 9")),
    }
}

/// A number that is not a day is an instant: ClickHouse's rule for `toDate(n)`.
fn day_of_number(number: i64, last: i64, zone: &Zone) -> i32 {
    if number <= last {
        return number.clamp(civil::FIRST_DAY.into(), last) as i32;
    }
    // A Date has no later days, a Date32 takes the instant as it is.
    let is_narrow = last <= i64::from(u16::MAX);
    let instant = if is_narrow { number.min(i64::from(u32::MAX)) } else { number };
    with_clock!(zone, |clock| clock.day(instant))
}

fn to_date(call: &Call) -> Result<ArrayRef, FunctionError> {
    let zone = zone(call, 1)?;
    let wrap = |day: i32| i32::from(day as u16);
    let last = i64::from(u16::MAX);
    let result: PrimitiveArray<Date32Type> = match Source::of(call)? {
        Source::Moments(Moments::Days(days)) => days.unary(wrap),
        Source::Moments(Moments::Seconds(instants)) => {
            with_clock!(zone, |clock| instants.unary(|instant| clock.day(instant).max(0)))
        }
        Source::Moments(Moments::Ticks(ticks, per_second)) => {
            with_clock!(zone, |clock| ticks.unary(|tick| wrap(clock.day(tick / per_second))))
        }
        Source::Numbers(numbers) => {
            numbers.map(call, |number| Some(day_of_number(number.max(0), last, &zone)))?
        }
        Source::Texts(texts) => texts.map_to(call, "a date (YYYY-MM-DD)", |text| {
            parse::date(text).map(|day| day.clamp(0, i32::from(u16::MAX)))
        })?,
    };
    Ok(Arc::new(result))
}

fn to_date32(call: &Call) -> Result<ArrayRef, FunctionError> {
    let zone = zone(call, 1)?;
    let last = i64::from(civil::LAST_DAY) + 1;
    let result: PrimitiveArray<Date32Type> = match Source::of(call)? {
        Source::Moments(Moments::Days(days)) => days,
        Source::Moments(Moments::Seconds(instants)) => {
            with_clock!(zone, |clock| instants.unary(|instant| clock.day(instant)))
        }
        Source::Moments(Moments::Ticks(ticks, per_second)) => {
            with_clock!(zone, |clock| ticks.unary(|tick| clock.day(tick.div_euclid(per_second))))
        }
        Source::Numbers(numbers) => {
            numbers.map(call, |number| Some(day_of_number(number, last, &zone)))?
        }
        Source::Texts(texts) => texts.map_to(call, "a date (YYYY-MM-DD)", parse::date)?,
    };
    Ok(Arc::new(result))
}

fn wrap_instant(instant: i64) -> i64 {
    i64::from(instant as u32)
}

fn to_date_time(call: &Call) -> Result<ArrayRef, FunctionError> {
    let zone = zone(call, 1)?;
    let result: PrimitiveArray<TimestampSecondType> = match Source::of(call)? {
        // A Date whose day began before 1970 in the zone is taken for the next one.
        Source::Moments(Moments::Days(days))
            if matches!(call.operands.first().map(|it| &it.data_type), Some(DataType::Date)) =>
        {
            with_clock!(zone, |clock| days.unary(|day| {
                let start = clock.start(day);
                wrap_instant(if start < 0 { clock.start(day + 1) } else { start })
            }))
        }
        Source::Moments(moments) => moments.seconds(&zone).unary(wrap_instant),
        Source::Numbers(numbers) => {
            numbers.map(call, |number| Some(number.clamp(0, i64::from(u32::MAX))))?
        }
        Source::Texts(texts) => texts.map_to(call, "a date and time", |text| {
            parse::date_time(text, &zone).map(|(seconds, _)| seconds.clamp(0, i64::from(u32::MAX)))
        })?,
    };
    with_zone(result, call.result)
}

fn to_date_time64(call: &Call) -> Result<ArrayRef, FunctionError> {
    let DataType::DateTime64 { precision, zone } = call.result else {
        return Err(wrong(call.name, "its result is a DateTime64"));
    };
    let zone = Zone::of(zone.as_deref())?;
    let per_second = ticks_per_second(*precision);
    // Digits beyond the precision are cut off, also where Arrow's unit could hold them.
    let step = per_second / 10_i64.pow(u32::from(*precision));
    let cut = |tick: i64| tick - tick.rem_euclid(step);
    // Numbers past the calendar, in UTC or in the zone, are its ends.
    let first = (i64::from(civil::FIRST_DAY) * civil::DAY).max(zone.instant(civil::FIRST_DAY, 0));
    let first = first.saturating_mul(per_second);
    let end = (i64::from(civil::LAST_DAY) + 1) * civil::DAY;
    let end = end.min(zone.instant(civil::LAST_DAY, civil::DAY - 1) + 1).checked_mul(per_second);
    let last = end.map_or(i64::MAX, |end| end - step);
    let within = |tick: i64| tick.clamp(first, last);
    let result: Int64Array = match Source::of(call)? {
        // Digits that ticks have beyond it are cut off towards 1970.
        Source::Moments(Moments::Ticks(ticks, have)) => ticks.unary(|tick| {
            let tick = if have > per_second {
                tick / (have / per_second)
            } else {
                tick.saturating_mul(per_second / have)
            };
            tick - tick % step
        }),
        Source::Moments(moments) => {
            moments.seconds(&zone).unary(|second| second.saturating_mul(per_second))
        }
        Source::Numbers(Numbers::Floats(floats)) => {
            Numbers::Floats(floats.unary(|float: f64| float * per_second as f64))
                .map(call, |number| Some(within(number - number % step)))?
        }
        Source::Numbers(numbers) => {
            numbers.map(call, |number| Some(within(number.saturating_mul(per_second))))?
        }
        Source::Texts(texts) => texts.map_to(call, "a date and time", |text| {
            let (seconds, nanoseconds) = parse::date_time(text, &zone)?;
            let fraction = i64::from(nanoseconds) / (1_000_000_000 / per_second);
            Some(cut(seconds.checked_mul(per_second)?.checked_add(fraction)?))
        })?,
    };
    from_ticks(result, call.result)
}

fn to_unix_timestamp(call: &Call) -> Result<ArrayRef, FunctionError> {
    let zone = zone(call, 1)?;
    let in_range = |seconds: i64| u32::try_from(seconds).ok();
    let result: PrimitiveArray<UInt32Type> = match Source::of(call)? {
        Source::Moments(Moments::Ticks(ticks, per_second)) => {
            Numbers::Integers(ticks).map(call, |tick| in_range(tick / per_second))?
        }
        Source::Moments(moments) => moments.seconds(&zone).unary(|second| second as u32),
        Source::Numbers(Numbers::Unsigned(numbers)) => numbers.unary(|number| number as u32),
        Source::Numbers(numbers) => numbers.map(call, |number| Some(number as u32))?,
        Source::Texts(texts) => texts.map_to(call, "a date and time", |text| {
            parse::date_time(text, &zone)
                .map(|(seconds, _)| seconds.clamp(0, u32::MAX.into()) as u32)
        })?,
    };
    Ok(Arc::new(result))
}
