//! Numbers of periods since an origin (`toRelativeHourNum`), fractions of seconds, ends of months, and moments in other
//! zones.

use super::access::{array_of, item_of, list_array, type_at};
use super::arithmetic::integer;
use super::civil::{self, DAY};
use super::moment::{self, Moments, part_type};
use super::pattern::{MONTHS, WEEKDAYS};
use super::week::{local_days, saturated};
use super::zone::{Clock, Fixed, Zone, with_clock};
use super::{Call, Function, Signature, expect_count, wrong};
use crate::FunctionError;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Int64Type, TimestampSecondType, UInt16Type, UInt32Type,
};
use arrow_array::{ArrayRef, Int64Array, PrimitiveArray};
use std::sync::Arc;
use tambour_part::types::DataType;

/// Days from 0000-01-01 to 1970-01-01.
pub(super) const YEAR_ZERO: i64 = 719_528;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "toRelativeYearNum",
        |n, s| part_type(n, s, DataType::UInt16),
        |c| by_day::<UInt16Type>(c, |day| civil::from_days(day).year as u16),
    ),
    Function::new(
        "toRelativeQuarterNum",
        |n, s| part_type(n, s, DataType::UInt32),
        |c| {
            by_day::<UInt32Type>(c, |day| {
                let date = civil::from_days(day);
                date.year as u32 * 4 + u32::from((date.month - 1) / 3)
            })
        },
    ),
    Function::new(
        "toRelativeMonthNum",
        |n, s| part_type(n, s, DataType::UInt32),
        |c| {
            by_day::<UInt32Type>(c, |day| {
                let date = civil::from_days(day);
                date.year as u32 * 12 + u32::from(date.month)
            })
        },
    ),
    Function::new(
        "toRelativeWeekNum",
        |n, s| part_type(n, s, DataType::UInt32),
        |c| by_day::<UInt32Type>(c, |day| ((day + 3) / 7).max(0) as u32),
    ),
    Function::new(
        "toRelativeDayNum",
        |n, s| part_type(n, s, DataType::UInt32),
        |c| {
            // West of Greenwich the first DateTime is on the day before the first, whose number wraps around there.
            let is_instant = matches!(c.operand(0)?.data_type, DataType::DateTime { .. });
            let least = if is_instant { -1 } else { 0 };
            by_day::<UInt32Type>(c, |day| u32::from(day.clamp(least, i32::from(u16::MAX)) as u16))
        },
    ),
    Function::new(
        "toRelativeHourNum",
        |n, s| part_type(n, s, DataType::UInt32),
        |c| by_second(c, 3_600),
    ),
    Function::new(
        "toRelativeMinuteNum",
        |n, s| part_type(n, s, DataType::UInt32),
        |c| by_second(c, 60),
    ),
    Function::new(
        "toRelativeSecondNum",
        |n, s| part_type(n, s, DataType::UInt32),
        |c| by_second(c, 1),
    ),
    Function::new(
        "toDaysSinceYearZero",
        |n, s| part_type(n, s, DataType::UInt32),
        |c| {
            let number = |day| (i64::from(day) + YEAR_ZERO) as u32;
            match Moments::of(c, 0)? {
                // ClickHouse takes the day of UTC here.
                Moments::Seconds(instants) if c.operands.len() == 1 => {
                    let of_instant = |instant: i64| number(instant.div_euclid(DAY) as i32);
                    Ok(Arc::new(instants.unary::<_, UInt32Type>(of_instant)))
                }
                _ => by_day::<UInt32Type>(c, number),
            }
        },
    )
    .aliases(&["TO_DAYS"]),
    Function::new(
        "toDaysInMonth",
        |n, s| part_type(n, s, DataType::UInt8),
        |c| {
            by_day::<arrow_array::types::UInt8Type>(c, |day| {
                let date = civil::from_days(day);
                civil::days_in_month(date.year, date.month.into()) as u8
            })
        },
    ),
    Function::new(
        "toLastDayOfMonth",
        |n, s| part_type(n, s, DataType::Date),
        |c| by_day::<Date32Type>(c, |day| saturated(last_of_month(day))),
    )
    .aliases(&["LAST_DAY"]),
    Function::new(
        "toMillisecond",
        |n, s| fraction_type(n, s, DataType::UInt16),
        |c| fraction(c, 1_000),
    )
    .aliases(&["millisecond"]),
    Function::new(
        "toMicrosecond",
        |n, s| fraction_type(n, s, DataType::UInt32),
        |c| fraction(c, 1_000_000),
    )
    .aliases(&["microsecond"]),
    Function::new(
        "toNanosecond",
        |n, s| fraction_type(n, s, DataType::UInt32),
        |c| fraction(c, 1_000_000_000),
    )
    .aliases(&["nanosecond"]),
    Function::new("timeSlot", slot_type, slot),
    Function::new("timeSlots", slots_type, slots),
    Function::new(
        "monthName",
        |n, s| part_type(n, s, DataType::String),
        |c| {
            let zone = moment::zone(c, 1)?;
            let seconds = Moments::of(c, 0)?.cut_seconds(&zone);
            with_clock!(zone, |clock| c.make_texts(|row, out| {
                let day = clock.day(seconds.value(row));
                let month = usize::from(civil::from_days(day).month) - 1;
                out.extend_from_slice(MONTHS[month].as_bytes());
            }))
        },
    )
    .any_case(),
    Function::new("dateName", name_type, date_name).any_case(),
    Function::new("toTimezone", zoned_type, |c| match &c.result {
        DataType::DateTime { .. } | DataType::DateTime64 { .. } => {
            let values = super::cast(&c.values(0)?, &arrow_schema::DataType::Int64)?;
            let ticks = arrow_array::cast::AsArray::as_primitive::<Int64Type>(&values).clone();
            moment::from_ticks(ticks, c.result)
        }
        other => Err(wrong(c.name, format!("it does not take {other}"))),
    })
    .aliases(&["toTimeZone"]),
    Function::new(
        "timezoneOf",
        |n, s| of_zone_type(n, s, DataType::String),
        |c| {
            let zone = zone_of(c)?.unwrap_or_else(|| "UTC".to_owned());
            c.make_texts(|_, out| out.extend_from_slice(zone.as_bytes()))
        },
    )
    .aliases(&["timeZoneOf"]),
    Function::new(
        "timezoneOffset",
        |n, s| of_zone_type(n, s, DataType::Int32),
        |c| {
            let zone = Zone::of(zone_of(c)?.as_deref())?;
            let seconds = Moments::of(c, 0)?.seconds(&zone);
            c.make_integers(|row| {
                let instant = seconds.value(row);
                let (day, time) = zone.local(instant);
                i128::from(day * DAY + time - instant)
            })
        },
    )
    .aliases(&["timeZoneOffset"]),
];

fn fraction_type(
    name: &'static str,
    s: &[Signature],
    result: DataType,
) -> Result<DataType, FunctionError> {
    part_type(name, s, result.clone())?;
    match s.first().map(|first| &first.data_type) {
        Some(DataType::DateTime { .. } | DataType::DateTime64 { .. }) => Ok(result),
        _ => Err(wrong(name, "it takes a DateTime or DateTime64, not a date")),
    }
}

fn by_day<T: ArrowPrimitiveType>(
    call: &Call,
    number: impl Fn(i32) -> T::Native,
) -> Result<ArrayRef, FunctionError> {
    let zone = moment::zone(call, 1)?;
    let result: PrimitiveArray<T> = local_days(call, &zone)?.unary(number);
    Ok(Arc::new(result))
}

/// Units of Unix time, 0 before its start. Minutes of zones whose clocks show parts of them are refused.
fn by_second(call: &Call, length: i64) -> Result<ArrayRef, FunctionError> {
    let zone = moment::zone(call, 1)?;
    let is_whole = zone.shows_whole(length);
    if length == 60 && !is_whole {
        return Err(wrong(call.name, "it does not take zones that are a part of a minute off"));
    }
    let seconds = Moments::of(call, 0)?.seconds(&zone);
    // Before Unix time, and of clocks that show parts of hours, hours count from the midnight before the clock's first one, as there.
    let (day, time) = zone.local(0);
    let shift = DAY - (day * DAY + time);
    let count = |second: i64| {
        let is_hour_of_day = length == 3_600 && !(is_whole && second >= 0);
        let second = if is_hour_of_day { second + shift } else { second };
        (second / length).clamp(0, u32::MAX.into()) as u32
    };
    let result: PrimitiveArray<UInt32Type> = seconds.unary(count);
    Ok(Arc::new(result))
}

fn last_of_month(day: i32) -> i32 {
    let date = civil::from_days(day);
    let month = u32::from(date.month);
    civil::to_days(date.year, month, civil::days_in_month(date.year, month))
}

/// The part of a second in units of which `per_second` make one.
fn fraction(call: &Call, per_second: i64) -> Result<ArrayRef, FunctionError> {
    let rest = |tick: i64, of_second: i64| {
        let rest = i128::from(tick.rem_euclid(of_second));
        rest * i128::from(per_second) / i128::from(of_second)
    };
    match Moments::of(call, 0)? {
        Moments::Ticks(ticks, of_second) => {
            call.make_integers(|row| rest(ticks.value(row), of_second))
        }
        _ => call.make_integers(|_| 0),
    }
}

fn slot_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    fraction_type(name, s, DataType::DateTime { zone: None })?;
    Ok(DataType::DateTime { zone: moment::zone_name(name, s, 1)? })
}

/// The start of the half hour.
fn slot(call: &Call) -> Result<ArrayRef, FunctionError> {
    let zone = moment::zone(call, 1)?;
    let seconds = Moments::of(call, 0)?.seconds(&zone);
    let start = |second: i64| (second - second.rem_euclid(1_800)).clamp(0, u32::MAX.into());
    let result: PrimitiveArray<TimestampSecondType> = seconds.unary(start);
    moment::with_zone(result, call.result)
}

/// The seconds of a slot where they are not said.
const SLOT: i64 = 1_800;

fn slots_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=3)?;
    let size = moment::constant_integer(name, s, 2)?.unwrap_or(SLOT);
    let is_unsigned =
        s.get(2).is_none_or(|it| integer(&it.data_type).is_some_and(|it| !it.is_signed));
    match (type_at(s, 0), type_at(s, 1)) {
        (time @ DataType::DateTime { .. }, DataType::UInt32)
            if is_unsigned && (1..=u32::MAX.into()).contains(&size) =>
        {
            Ok(array_of(time.clone()))
        }
        _ => Err(wrong(name, "it takes a DateTime, a UInt32 and a constant size from 1 on")),
    }
}

/// The start of each slot that the time from an instant on meets. A time past the end of 32 bits meets none.
fn slots(call: &Call) -> Result<ArrayRef, FunctionError> {
    call.refuse_nulls()?;
    let starts = Moments::of(call, 0)?.seconds(&Zone::UTC);
    let (durations, sizes) = (call.integers(1)?, call.optional_integers(2)?);
    let size = sizes.map_or(SLOT, |sizes| sizes.get(0) as i64).max(1);
    let (mut ticks, mut lengths) = (Vec::new(), Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        let start = starts.value(row);
        let end = i64::from((start as u32).wrapping_add(durations.get(row) as u32));
        let slots = start / size..end / size + 1;
        let count = usize::try_from(slots.end - slots.start).unwrap_or(0);
        call.check_size(row, ticks.len().saturating_add(count))?;
        ticks.extend(slots.map(|slot| slot * size));
        lengths.push(count);
    }
    let item = item_of(call.result);
    list_array(lengths, moment::from_ticks(Int64Array::from(ticks), item)?, item)
}

fn name_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=3)?;
    moment::expect_moment(name, s.get(1..).unwrap_or_default())?;
    moment::zone_argument(name, s, 2)?;
    let constant = s.first().and_then(|part| part.constant.as_ref());
    let part = constant.and_then(|constant| super::text::Texts::of(constant).first());
    let is_date = matches!(s[1].data_type, DataType::Date | DataType::Date32);
    match part.as_deref() {
        Some("year" | "quarter" | "month" | "dayofyear" | "day" | "week" | "weekday") => {
            Ok(DataType::String)
        }
        Some("hour" | "minute" | "second") if is_date => {
            Err(wrong(name, "a date has no hours, minutes and seconds"))
        }
        Some("hour" | "minute" | "second") => Ok(DataType::String),
        _ => Err(wrong(
            name,
            "the part must be year, quarter, month, dayofyear, day, week, weekday, hour, minute or second",
        )),
    }
}

fn date_name(call: &Call) -> Result<ArrayRef, FunctionError> {
    let part = call.constant_text(0)?;
    let zone = {
        let signatures: Vec<Signature> =
            call.operands.iter().skip(1).map(super::Operand::signature).collect();
        Zone::of(moment::zone_name(call.name, &signatures, 1)?.as_deref())?
    };
    let seconds = Moments::of(call, 1)?.cut_seconds(&zone);
    with_clock!(zone, |clock| call.make_texts(|row, out| {
        let instant = seconds.value(row);
        let day = clock.day(instant);
        let date = civil::from_days(day);
        let time = clock.time(instant);
        let number = match part.as_slice() {
            b"month" => {
                out.extend_from_slice(MONTHS[usize::from(date.month) - 1].as_bytes());
                return;
            }
            b"weekday" => {
                let weekday = usize::from(civil::weekday(day)) - 1;
                out.extend_from_slice(WEEKDAYS[weekday].as_bytes());
                return;
            }
            b"year" => i64::from(date.year),
            b"quarter" => i64::from((date.month - 1) / 3 + 1),
            b"dayofyear" => i64::from(day - civil::year_start(day) + 1),
            b"day" => date.day.into(),
            b"week" => super::week::iso_week(day).into(),
            b"hour" => time / 3_600,
            b"minute" => time / 60 % 60,
            _ => time % 60,
        };
        out.extend_from_slice(number.to_string().as_bytes());
    }))
}

fn zoned_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=2)?;
    let zone = moment::zone_argument(name, s, 1)?;
    match s.first().map(|first| &first.data_type) {
        Some(DataType::DateTime { .. }) => Ok(DataType::DateTime { zone }),
        Some(DataType::DateTime64 { precision, .. }) => {
            Ok(DataType::DateTime64 { precision: *precision, zone })
        }
        _ => Err(wrong(name, "it takes a DateTime or DateTime64 and the name of a zone")),
    }
}

fn of_zone_type(
    name: &'static str,
    s: &[Signature],
    result: DataType,
) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=1)?;
    match s.first().map(|first| &first.data_type) {
        Some(DataType::DateTime { .. } | DataType::DateTime64 { .. }) => Ok(result),
        _ => Err(wrong(name, "it takes a DateTime or DateTime64")),
    }
}

fn zone_of(call: &Call) -> Result<Option<String>, FunctionError> {
    let signatures: Vec<Signature> = call.operands.iter().map(super::Operand::signature).collect();
    moment::zone_name(call.name, &signatures, usize::MAX)
}
