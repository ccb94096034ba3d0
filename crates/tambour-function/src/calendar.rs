//! Parts of dates and times (`toYear`, `toYYYYMM`) and starts of periods (`toStartOfMonth`, `toStartOfHour`).
//!
//! Parts are those of the local time of the argument's zone. A start that is a day is a `Date` and stays within 1970-01-01
//! to 2149-06-06; a start that is an instant is a `DateTime` and stays within 1970-01-01 00:00:00 to
//! 2106-02-07 06:28:15: what would lie outside moves to the nearer end, as in ClickHouse.

use super::civil;
use super::moment::{self, Moments, part_type};
use super::zone::{Clock, Fixed, Zone, with_clock};
use super::{Call, Function, Signature, expect_count, wrong};
use crate::FunctionError;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{ArrayRef, PrimitiveArray};
use std::sync::Arc;
use tambour_part::types::DataType;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "toYear",
        |n, s| part_type(n, s, DataType::UInt16),
        |c| by_day::<UInt16Type>(c, |day| civil::from_days(day).year as u16),
    )
    .aliases(&["year"])
    .monotonic(),
    Function::new(
        "toQuarter",
        |n, s| part_type(n, s, DataType::UInt8),
        |c| by_day::<UInt8Type>(c, |day| (civil::from_days(day).month - 1) / 3 + 1),
    )
    .aliases(&["quarter"]),
    Function::new(
        "toMonth",
        |n, s| part_type(n, s, DataType::UInt8),
        |c| by_day::<UInt8Type>(c, |day| civil::from_days(day).month),
    )
    .aliases(&["month"]),
    Function::new(
        "toDayOfMonth",
        |n, s| part_type(n, s, DataType::UInt8),
        |c| by_day::<UInt8Type>(c, |day| civil::from_days(day).day),
    )
    .aliases(&["day", "dayOfMonth"]),
    Function::new(
        "toDayOfYear",
        |n, s| part_type(n, s, DataType::UInt16),
        |c| {
            // ClickHouse gives the last day of its former calendar the number of the one before, as a date but not as a time.
            let is_date = matches!(Moments::of(c, 0)?, Moments::Days(_));
            by_day::<UInt16Type>(c, |day| {
                let is_last = is_date && day == *civil::NARROW_DAYS.end();
                let day = day - i32::from(is_last);
                (day - civil::year_start(day) + 1) as u16
            })
        },
    )
    .aliases(&["dayOfYear"]),
    Function::new("toDayOfWeek", |n, s| mode_type(n, s, DataType::UInt8), day_of_week)
        .aliases(&["dayOfWeek"]),
    Function::new(
        "toYYYYMM",
        |n, s| part_type(n, s, DataType::UInt32),
        |c| {
            by_day::<UInt32Type>(c, |day| {
                let civil = civil::from_days(day);
                civil.year as u32 * 100 + u32::from(civil.month)
            })
        },
    )
    .monotonic(),
    Function::new(
        "toYYYYMMDD",
        |n, s| part_type(n, s, DataType::UInt32),
        |c| by_day::<UInt32Type>(c, |day| date_digits(day) as u32),
    )
    .monotonic(),
    // Not monotonic: where the clock is set back, the digits go back too.
    Function::new("toYYYYMMDDhhmmss", |n, s| part_type(n, s, DataType::UInt64), date_time_digits),
    Function::new(
        "toHour",
        |n, s| instant_type(n, s, DataType::UInt8),
        |c| by_time(c, |time| (time / 3600) as u8),
    )
    .aliases(&["hour"]),
    Function::new(
        "toMinute",
        |n, s| instant_type(n, s, DataType::UInt8),
        |c| by_time(c, |time| (time / 60 % 60) as u8),
    )
    .aliases(&["minute"]),
    Function::new(
        "toSecond",
        |n, s| instant_type(n, s, DataType::UInt8),
        |c| by_time(c, |time| (time % 60) as u8),
    )
    .aliases(&["second"]),
    Function::new("toStartOfYear", date_type, |c| start_day(c, civil::year_start)).monotonic(),
    Function::new("toStartOfQuarter", date_type, |c| start_day(c, civil::quarter_start))
        .monotonic(),
    Function::new("toStartOfMonth", date_type, |c| start_day(c, civil::month_start)).monotonic(),
    Function::new("toStartOfWeek", |n, s| mode_type(n, s, DataType::Date), start_of_week)
        .monotonic(),
    Function::new("toMonday", date_type, |c| start_day(c, civil::monday)).monotonic(),
    Function::new("toStartOfDay", start_type, start_of_day).monotonic(),
    Function::new("toStartOfHour", start_time_type, |c| start_time(c, 3600)).monotonic(),
    Function::new("toStartOfFifteenMinutes", start_time_type, |c| start_time(c, 900)).monotonic(),
    Function::new("toStartOfTenMinutes", start_time_type, |c| start_time(c, 600)).monotonic(),
    Function::new("toStartOfFiveMinutes", start_time_type, |c| start_time(c, 300))
        .aliases(&["toStartOfFiveMinute"])
        .monotonic(),
    Function::new("toStartOfMinute", start_time_type, |c| start_time(c, 60)).monotonic(),
    Function::new("toStartOfSecond", start_second_type, start_of_second).monotonic(),
];

/// The same for functions that make no sense on dates.
fn instant_type(
    name: &'static str,
    s: &[Signature],
    result: DataType,
) -> Result<DataType, FunctionError> {
    let result = part_type(name, s, result)?;
    match s.first().map(|first| &first.data_type) {
        Some(DataType::Date | DataType::Date32) => {
            Err(wrong(name, "it takes a DateTime or DateTime64, not a date"))
        }
        _ => Ok(result),
    }
}

fn date_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    part_type(name, s, DataType::Date)
}

/// Type of a function of a date or time, perhaps a mode, and perhaps a zone.
fn mode_type(
    name: &'static str,
    s: &[Signature],
    result: DataType,
) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=3)?;
    moment::expect_moment(name, s)?;
    moment::constant_integer(name, s, 1)?;
    moment::zone_argument(name, s, 2)?;
    Ok(result)
}

fn start_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    part_type(name, s, DataType::UInt8)?;
    Ok(DataType::DateTime { zone: moment::zone_name(name, s, 1)? })
}

fn start_time_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    instant_type(name, s, DataType::UInt8)?;
    start_type(name, s)
}

fn start_second_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    part_type(name, s, DataType::UInt8)?;
    match s.first().map(|first| &first.data_type) {
        Some(DataType::DateTime64 { precision, .. }) => {
            Ok(DataType::DateTime64 { precision: *precision, zone: moment::zone_name(name, s, 1)? })
        }
        _ => Err(wrong(name, "it takes a DateTime64")),
    }
}

/// A number from the local day of each row.
fn by_day<T: ArrowPrimitiveType>(
    call: &Call,
    number: impl Fn(i32) -> T::Native,
) -> Result<ArrayRef, FunctionError> {
    let zone = moment::zone(call, 1)?;
    by_day_in::<T>(call, &zone, number)
}

fn by_day_in<T: ArrowPrimitiveType>(
    call: &Call,
    zone: &Zone,
    number: impl Fn(i32) -> T::Native,
) -> Result<ArrayRef, FunctionError> {
    let result: PrimitiveArray<T> = match Moments::of(call, 0)? {
        Moments::Days(days) => days.unary(|day| number(civil::clamp(day.into()))),
        Moments::Seconds(instants) => {
            with_clock!(zone, |clock| instants.unary(|instant| number(clock.day(instant))))
        }
        Moments::Ticks(ticks, per_second) => with_clock!(zone, |clock| {
            ticks.unary(|tick| number(clock.day(tick.div_euclid(per_second))))
        }),
    };
    Ok(Arc::new(result))
}

/// A small number from the time of day of each row.
fn by_time(call: &Call, number: impl Fn(u32) -> u8) -> Result<ArrayRef, FunctionError> {
    let zone = moment::zone(call, 1)?;
    let instants = Moments::of(call, 0)?.seconds(&zone);
    let result: PrimitiveArray<UInt8Type> =
        with_clock!(zone, |clock| instants.unary(|instant| number(clock.time(instant) as u32)));
    Ok(Arc::new(result))
}

/// 2024-03-15 as 20240315.
fn date_digits(day: i32) -> u64 {
    let civil = civil::from_days(day);
    civil.year as u64 * 10_000 + u64::from(civil.month) * 100 + u64::from(civil.day)
}

fn date_time_digits(call: &Call) -> Result<ArrayRef, FunctionError> {
    let zone = moment::zone(call, 1)?;
    let result: PrimitiveArray<UInt64Type> = match Moments::of(call, 0)? {
        Moments::Days(days) => days.unary(|day| date_digits(civil::clamp(day.into())) * 1_000_000),
        moments => with_clock!(zone, |clock| {
            moments.seconds(&zone).unary(|instant| {
                let time = clock.time(instant) as u64;
                let digits = time / 3600 * 10_000 + time / 60 % 60 * 100 + time % 60;
                date_digits(clock.day(instant)) * 1_000_000 + digits
            })
        }),
    };
    Ok(Arc::new(result))
}

/// Modes 0 to 3: Monday = 1, Monday = 0, Sunday = 0, Sunday = 1.
fn day_of_week(call: &Call) -> Result<ArrayRef, FunctionError> {
    let mode = moment::mode(call, 1)? & 3;
    let zone = moment::zone(call, 2)?;
    by_day_in::<UInt8Type>(call, &zone, |day| {
        let monday_first = civil::weekday(day);
        let from_zero = if mode >= 2 { monday_first % 7 } else { monday_first - 1 };
        from_zero + u8::from(mode == 0 || mode == 3)
    })
}

/// Even modes: weeks begin on Sunday; odd ones: on Monday.
fn start_of_week(call: &Call) -> Result<ArrayRef, FunctionError> {
    let monday_first = moment::mode(call, 1)? & 1 == 1;
    let zone = moment::zone(call, 2)?;
    let start = if monday_first { civil::monday } else { civil::sunday };
    by_day_in::<Date32Type>(call, &zone, |day| saturate(start(day)))
}

fn start_day(call: &Call, start: fn(i32) -> i32) -> Result<ArrayRef, FunctionError> {
    by_day::<Date32Type>(call, |day| saturate(start(day)))
}

/// Moves a day into what a `Date` can hold.
fn saturate(day: i32) -> i32 {
    day.clamp(0, i32::from(u16::MAX))
}

/// Moves an instant into what a `DateTime` can hold.
fn saturate_instant(instant: i64) -> i64 {
    instant.clamp(0, i64::from(u32::MAX))
}

fn start_of_day(call: &Call) -> Result<ArrayRef, FunctionError> {
    let zone = moment::zone(call, 1)?;
    let is_unsigned =
        matches!(call.operands.first().map(|o| &o.data_type), Some(DataType::DateTime { .. }));
    let result: PrimitiveArray<TimestampSecondType> = with_clock!(zone, |clock| {
        let start = |day: i32| saturate_instant(clock.start(day));
        match Moments::of(call, 0)? {
            Moments::Days(days) => days.unary(|day| start(civil::clamp(day.into()))),
            moments => moments.seconds(&zone).unary(|instant| {
                let day = clock.day(instant);
                // A DateTime cannot hold the start of a day that began before 1970: the next day's is taken.
                if is_unsigned && clock.start(day) < 0 { start(day + 1) } else { start(day) }
            }),
        }
    });
    moment::with_zone(result, call.result)
}

fn start_time(call: &Call, seconds: i64) -> Result<ArrayRef, FunctionError> {
    let zone = moment::zone(call, 1)?;
    let instants = Moments::of(call, 0)?.seconds(&zone);
    let result: PrimitiveArray<TimestampSecondType> = with_clock!(zone, |clock| {
        instants.unary(|instant| saturate_instant(clock.round_down(instant, seconds)))
    });
    moment::with_zone(result, call.result)
}

fn start_of_second(call: &Call) -> Result<ArrayRef, FunctionError> {
    match Moments::of(call, 0)? {
        Moments::Ticks(ticks, per_second) => {
            let floored: PrimitiveArray<arrow_array::types::Int64Type> =
                ticks.unary(|tick| tick.saturating_sub(tick.rem_euclid(per_second)));
            moment::from_ticks(floored, call.result)
        }
        _ => call.values(0),
    }
}
