//! Dates and times that are moved and measured: `addDays`, `subtractMonths`, `dateDiff`, `toStartOfInterval`.

use super::age::last_second;
use super::civil;
use super::fraction;
use super::moment::{self, Moments, constant_integer, expect_moment, from_ticks};
use super::text::Texts;
use super::zone::{Clock, Fixed, Zone, with_clock};
use super::{Call, Function, Signature, cast, expect_count, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int64Array, PrimitiveArray};
use arrow_schema::DataType as ArrowType;
use std::ops::Range;
use std::sync::Arc;
use tambour_part::types::DataType;

/// Digits of the fraction of a text that is moved.
const TEXT_DIGITS: u8 = 3;

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

macro_rules! shifts {
    ($($add:literal, $subtract:literal, $unit:ident;)+) => {
        &[
            $(
                Function::new($add, |n, s| shift_type(n, s, Unit::$unit), |c| shift(c, Unit::$unit, 1))
                    .any_case(),
                Function::new(
                    $subtract,
                    |n, s| shift_type(n, s, Unit::$unit),
                    |c| shift(c, Unit::$unit, -1),
                )
                .any_case(),
            )+
            Function::new("dateDiff", difference_type, difference)
                .any_case()
                .aliases(&["date_diff", "timestampDiff", "timestamp_diff"]),
            Function::new("toStartOfInterval", start_type, start),
        ]
    };
}

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = shifts! {
    "addSeconds", "subtractSeconds", Second;
    "addMinutes", "subtractMinutes", Minute;
    "addHours", "subtractHours", Hour;
    "addDays", "subtractDays", Day;
    "addWeeks", "subtractWeeks", Week;
    "addMonths", "subtractMonths", Month;
    "addQuarters", "subtractQuarters", Quarter;
    "addYears", "subtractYears", Year;
};

impl Unit {
    fn named(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        // `ns` and `ms` are not plurals.
        let singular = name.strip_suffix('s').filter(|it| it.len() > 2).unwrap_or(&name);
        Some(match singular {
            "second" | "ss" | "s" => Self::Second,
            "minute" | "mi" | "n" => Self::Minute,
            "hour" | "hh" | "h" => Self::Hour,
            "day" | "dd" | "d" => Self::Day,
            "week" | "wk" | "ww" => Self::Week,
            "month" | "mm" | "m" => Self::Month,
            "quarter" | "qq" | "q" => Self::Quarter,
            "year" | "yyyy" | "yy" => Self::Year,
            _ => return None,
        })
    }
    /// Its length, if it always has the same.
    fn seconds(self) -> Option<i64> {
        match self {
            Self::Second => Some(1),
            Self::Minute => Some(60),
            Self::Hour => Some(3_600),
            _ => None,
        }
    }
    /// True for months and what is made of them.
    fn is_of_calendar(self) -> bool {
        matches!(self, Self::Month | Self::Quarter | Self::Year)
    }
    /// True if a day that is moved by this many leaves the calendar of its type.
    fn leaves(self, day: i32, count: i64, years: &Range<i64>) -> bool {
        let months = match self {
            Self::Month => count,
            Self::Quarter => count.saturating_mul(3),
            Self::Year => count.saturating_mul(12),
            _ => {
                let calendar = i64::from(civil::FIRST_DAY)..=i64::from(civil::LAST_DAY);
                return !calendar.contains(&self.move_day(day, count, i64::wrapping_add));
            }
        };
        let date = civil::from_days(civil::clamp(day.into()));
        let month = i64::from(date.year) * 12 + i64::from(date.month) - 1;
        !(years.start * 12..years.end * 12).contains(&month.saturating_add(months))
    }
    /// A day moved by some of them. ClickHouse's sums of days wrap around, those of instants do not.
    fn move_day(self, day: i32, count: i64, add: fn(i64, i64) -> i64) -> i64 {
        let day = i64::from(day);
        match self {
            Self::Week => add(day, count.wrapping_mul(7)),
            Self::Month => add_months(day, count),
            Self::Quarter => add_months(day, count.saturating_mul(3)),
            Self::Year => add_months(day, count.saturating_mul(12)),
            _ => add(day, count),
        }
    }
}

/// The years to which months may lead. The narrow types wrap around from there in a way of their own, which is refused.
fn years(is_narrow: bool) -> Range<i64> {
    if is_narrow { 1900..2300 } else { 0..10_000 }
}

fn outside(call: &Call, row: usize, years: &Range<i64>) -> FunctionError {
    let (first, last) = (years.start, years.end - 1);
    call.value_error(row, format!("the result is outside of the years {first} to {last}"))
}

/// Days that a month does not have become its last.
fn add_months(day: i64, months: i64) -> i64 {
    let date = civil::from_days(civil::clamp(day));
    let month = i64::from(date.year) * 12 + i64::from(date.month) - 1;
    let month = month.saturating_add(months).clamp(0, 9999 * 12 + 11);
    let (year, month) = ((month / 12) as i32, (month % 12 + 1) as u32);
    let last = civil::days_in_month(year, month);
    i64::from(civil::to_days(year, month, u32::from(date.day).min(last)))
}

fn shift_type(name: &'static str, s: &[Signature], unit: Unit) -> Result<DataType, FunctionError> {
    fraction::expect_count_of_units(name, s)?;
    let Some(moment) = s.first() else { return Err(wrong(name, "it takes 2 arguments")) };
    if moment.data_type == DataType::String {
        return Ok(DataType::DateTime64 { precision: TEXT_DIGITS, zone: None });
    }
    expect_moment(name, s)?;
    Ok(match &moment.data_type {
        DataType::Date if unit.seconds().is_some() => DataType::DateTime { zone: None },
        DataType::Date32 if unit.seconds().is_some() => {
            DataType::DateTime64 { precision: 3, zone: None }
        }
        same => same.clone(),
    })
}

/// The reading of the clock at an instant, moved by days or months.
fn move_instant(clock: impl Clock, zone: &Zone, instant: i64, unit: Unit, count: i64) -> i64 {
    let day = civil::clamp(unit.move_day(clock.day(instant), count, i64::saturating_add));
    zone.instant(day, clock.time(instant))
}

fn shift(call: &Call, unit: Unit, sign: i64) -> Result<ArrayRef, FunctionError> {
    fraction::read_text(call, TEXT_DIGITS, |call| shift_moments(call, unit, sign))
}

fn shift_moments(call: &Call, unit: Unit, sign: i64) -> Result<ArrayRef, FunctionError> {
    let zone = moment::zone(call, usize::MAX)?;
    let counts = cast(&call.values(1)?, &ArrowType::Int64)?;
    let counts = counts.as_primitive::<Int64Type>();
    let count = |row: usize| counts.value(row).wrapping_mul(sign);
    let moments = Moments::of(call, 0)?;
    let (instants, per_second) = match (moments, unit.seconds()) {
        (Moments::Days(days), None) => return shift_days(call, &days, unit, count),
        (Moments::Ticks(ticks, per_second), _) => (ticks, per_second),
        (other, _) => {
            let per_second = match call.result {
                DataType::DateTime64 { precision, .. } => moment::ticks_per_second(*precision),
                _ => 1,
            };
            let seconds = other.seconds(&zone);
            (seconds.unary(|second: i64| second.saturating_mul(per_second)), per_second)
        }
    };
    let nulls = instants.nulls().cloned();
    let is_wide = matches!(call.result, DataType::DateTime64 { .. });
    let years = years(!is_wide);
    let left = |row: usize, tick: i64| {
        if call.is_null(row) { Ok(tick) } else { Err(outside(call, row, &years)) }
    };
    let calendar = zone.calendar();
    let inside = |tick: &i64| calendar.contains(&tick.div_euclid(per_second));
    let moved: Vec<i64> = match unit.seconds() {
        Some(seconds) => (0..instants.len())
            .map(|row| {
                let by = count(row).wrapping_mul(seconds);
                if !is_wide {
                    // What is out of range wraps around.
                    return Ok(instants.value(row).wrapping_add(by));
                }
                let by = by
                    .checked_mul(per_second)
                    .filter(|_| count(row).checked_mul(seconds) == Some(by));
                let moved = by.and_then(|by| instants.value(row).checked_add(by));
                moved.filter(inside).map_or_else(|| left(row, 0), Ok)
            })
            .collect::<Result<_, _>>()?,
        None => with_clock!(zone, |clock| (0..instants.len())
            .map(|row| {
                let tick = instants.value(row);
                let (second, rest) = (tick.div_euclid(per_second), tick.rem_euclid(per_second));
                let must_stay = is_wide || unit.is_of_calendar();
                if must_stay && unit.leaves(clock.day(second), count(row), &years) {
                    return left(row, tick);
                }
                let moved = move_instant(clock, &zone, second, unit, count(row));
                let moved = if is_wide || !unit.is_of_calendar() { moved } else { moved.max(0) };
                Ok(moved.saturating_mul(per_second).saturating_add(rest))
            })
            .collect::<Result<_, _>>())?,
    };
    let fit = |tick: i64| if is_wide { tick } else { i64::from(tick as u32) };
    from_ticks(Int64Array::new(moved.into_iter().map(fit).collect(), nulls), call.result)
}

/// Dates wrap around as in ClickHouse, those of the wide type must stay within the calendar.
fn shift_days(
    call: &Call,
    days: &PrimitiveArray<Date32Type>,
    unit: Unit,
    count: impl Fn(usize) -> i64,
) -> Result<ArrayRef, FunctionError> {
    let is_narrow = matches!(call.result, DataType::Date);
    let years = years(is_narrow);
    let moved = (0..days.len()).map(|row| {
        let day = unit.move_day(days.value(row), count(row), i64::wrapping_add);
        let must_stay = !is_narrow || unit.is_of_calendar();
        if must_stay && !call.is_null(row) && unit.leaves(days.value(row), count(row), &years) {
            return Err(outside(call, row, &years));
        }
        // Months before the first one end there, days wrap around.
        let day = if is_narrow && unit.is_of_calendar() { day.max(0) } else { day };
        Ok(if is_narrow { i32::from(day as u16) } else { civil::clamp(day) })
    });
    let moved = moved.collect::<Result<Vec<i32>, _>>()?;
    Ok(Arc::new(PrimitiveArray::<Date32Type>::new(moved.into(), days.nulls().cloned())))
}

/// The unit that stands in a constant argument.
fn unit_argument(name: &'static str, s: &[Signature], index: usize) -> Result<Unit, FunctionError> {
    let constant = s.get(index).and_then(|argument| argument.constant.as_ref());
    let text = constant.and_then(|constant| Texts::of(constant).first());
    text.and_then(|text| Unit::named(&text)).ok_or_else(|| {
        wrong(name, "the unit must be second, minute, hour, day, week, month, quarter or year")
    })
}

/// How many of the parts of a second that a constant argument names make one.
fn parts_of_second(s: &[Signature], index: usize) -> Option<i64> {
    let constant = s.get(index).and_then(|argument| argument.constant.as_ref());
    let text = constant.and_then(|constant| Texts::of(constant).first())?;
    match text.to_ascii_lowercase().as_str() {
        "millisecond" | "milliseconds" | "ms" => Some(1_000),
        "microsecond" | "microseconds" | "us" | "u" => Some(1_000_000),
        "nanosecond" | "nanoseconds" | "ns" => Some(1_000_000_000),
        _ => None,
    }
}

fn difference_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 3..=4)?;
    if parts_of_second(s, 0).is_none() {
        unit_argument(name, s, 0)?;
    }
    moment::zone_argument(name, s, 3)?;
    for moment in s.iter().skip(1).take(2) {
        expect_moment(name, std::slice::from_ref(moment))?;
    }
    Ok(DataType::Int64)
}

/// How many units of the calendar or of the clock have begun by then; `at_epoch` is how far the zone was ahead of UTC in 1970.
fn begun(clock: impl Clock, instant: i64, unit: Unit, at_epoch: i64) -> i64 {
    let date = || civil::from_days(clock.day(instant));
    match unit {
        Unit::Second => instant,
        Unit::Minute => clock.round_down(instant, 60) / 60,
        // ClickHouse counts them from where the zone's hours began in 1970, so that two zones have different numbers.
        Unit::Hour => (instant - at_epoch).div_euclid(3_600),
        Unit::Day => clock.day(instant).into(),
        // ClickHouse's number of the week: before 1970 the quotient is cut towards 0.
        Unit::Week => i64::from(civil::monday(clock.day(instant)) + 7) / 7,
        Unit::Month => i64::from(date().year) * 12 + i64::from(date().month),
        Unit::Quarter => i64::from(date().year) * 4 + i64::from(date().month - 1) / 3,
        Unit::Year => date().year.into(),
    }
}

/// Instants in parts of a second, of which `parts` make one; what is shorter is cut off.
fn in_parts(moments: Moments, zone: &Zone, parts: i64) -> Int64Array {
    match moments {
        Moments::Ticks(ticks, per_second) if per_second > parts => {
            ticks.unary(|tick: i64| tick / (per_second / parts))
        }
        Moments::Ticks(ticks, per_second) => {
            ticks.unary(|tick: i64| tick.wrapping_mul(parts / per_second))
        }
        other => other.seconds(zone).unary(|second: i64| second.wrapping_mul(parts)),
    }
}

fn difference(call: &Call) -> Result<ArrayRef, FunctionError> {
    let signatures: Vec<Signature> = call.operands.iter().map(super::Operand::signature).collect();
    if let Some(parts) = parts_of_second(&signatures, 0) {
        let given = moment::zone_argument(call.name, &signatures, 3)?;
        let zone = Zone::of(given.as_deref())?;
        let from = in_parts(Moments::of(call, 1)?, &zone, parts);
        let to = in_parts(Moments::of(call, 2)?, &zone, parts);
        let between = from.values().iter().zip(to.values());
        return Ok(Arc::new(Int64Array::from_iter_values(
            between.map(|(from, to)| to.wrapping_sub(*from)),
        )));
    }
    let unit = unit_argument(call.name, &signatures, 0)?;
    let ends = signatures.get(1..).unwrap_or_default();
    let given = moment::zone_argument(call.name, &signatures, 3)?;
    let sides = [1, 2].map(|index| {
        let own = moment::zone_name(call.name, ends.get(index - 1..index).unwrap_or_default(), 1)?;
        let zone = Zone::of(given.clone().or(own).as_deref())?;
        let seconds = Moments::of(call, index)?.seconds(&zone);
        let last = if unit == Unit::Second { last_second(call, index) } else { i64::MAX };
        let (day, time) = zone.local(0);
        let at_epoch = day * 86_400 + time;
        Ok::<Int64Array, FunctionError>(with_clock!(zone, |clock| {
            seconds.unary(|instant: i64| begun(clock, instant.min(last), unit, at_epoch))
        }))
    });
    let [from, to] = sides;
    let (from, to) = (from?, to?);
    let between = from.values().iter().zip(to.values()).map(|(from, to)| to - from);
    Ok(Arc::new(Int64Array::from_iter_values(between)))
}

fn start_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 3..=4)?;
    expect_moment(name, s)?;
    if constant_integer(name, s, 1)?.is_none_or(|count| count < 1) {
        return Err(wrong(name, "the interval must be longer than zero"));
    }
    if let (Some(parts), Some(first)) = (parts_of_second(s, 2), s.first()) {
        return match &first.data_type {
            DataType::DateTime64 { .. } => {
                let precision = parts.ilog10() as u8;
                Ok(DataType::DateTime64 { precision, zone: moment::zone_name(name, s, 3)? })
            }
            other => Err(wrong(name, format!("{other} has no parts of a second"))),
        };
    }
    let unit = unit_argument(name, s, 2)?;
    let is_date = matches!(s.first(), Some(first) if matches!(first.data_type, DataType::Date | DataType::Date32));
    match unit {
        Unit::Second | Unit::Minute | Unit::Hour if is_date => {
            Err(wrong(name, "a date has no hours, minutes and seconds"))
        }
        Unit::Second | Unit::Minute | Unit::Hour | Unit::Day => {
            Ok(DataType::DateTime { zone: moment::zone_name(name, s, 3)? })
        }
        _ => Ok(DataType::Date),
    }
}

/// The first day of the interval that a day is in: days count from 1970-01-01, weeks from a Monday, months from 1900, years
/// from 0.
fn first_day(day: i32, unit: Unit, count: i64) -> i32 {
    let date = civil::from_days(day);
    let months = |count: i64| {
        let month = i64::from(date.year - 1900) * 12 + i64::from(date.month) - 1;
        let month = month - month.rem_euclid(count);
        civil::to_days(month.div_euclid(12) as i32 + 1900, (month.rem_euclid(12) + 1) as u32, 1)
    };
    let day = i64::from(day);
    match unit {
        Unit::Week => ((day - 4) - (day - 4).rem_euclid(count.saturating_mul(7)) + 4) as i32,
        Unit::Month => months(count),
        Unit::Quarter => months(count.saturating_mul(3)),
        Unit::Year => {
            let year = i64::from(date.year);
            civil::to_days((year - year.rem_euclid(count)) as i32, 1, 1)
        }
        _ => (day - day.rem_euclid(count)) as i32,
    }
}

fn start(call: &Call) -> Result<ArrayRef, FunctionError> {
    let signatures: Vec<Signature> = call.operands.iter().map(super::Operand::signature).collect();
    let count = constant_integer(call.name, &signatures, 1)?.unwrap_or(1).max(1);
    if let Some(parts) = parts_of_second(&signatures, 2) {
        let ticks = in_parts(Moments::of(call, 0)?, &Zone::UTC, parts);
        return from_ticks(ticks.unary(|tick: i64| tick - tick.rem_euclid(count)), call.result);
    }
    let unit = unit_argument(call.name, &signatures, 2)?;
    let zone = moment::zone(call, 3)?;
    let seconds = Moments::of(call, 0)?.seconds(&zone);
    // Before 1970, days wrap around there, and instants end at its start.
    let is_date = matches!(
        call.operands.first().map(|it| &it.data_type),
        Some(DataType::Date | DataType::Date32)
    );
    let within = |instant: i64| {
        if is_date { i64::from(instant as u32) } else { instant.clamp(0, u32::MAX.into()) }
    };
    with_clock!(zone, |clock| match unit {
        Unit::Second | Unit::Minute => {
            let length = count.saturating_mul(unit.seconds().unwrap_or(1));
            from_ticks(seconds.unary(|it: i64| within(it - it.rem_euclid(length))), call.result)
        }
        Unit::Hour => {
            let length = count.saturating_mul(3_600);
            let of_instant = |it: i64| {
                // A single hour is rounded as `toStartOfHour` does.
                let start = if count == 1 && !is_date {
                    clock.round_down(it, length)
                } else {
                    start_of_hours(&clock, &zone, it, length)
                };
                within(start)
            };
            from_ticks(seconds.unary(of_instant), call.result)
        }
        Unit::Day => {
            let of_instant = |it: i64| within(clock.start(first_day(clock.day(it), unit, count)));
            from_ticks(seconds.unary(of_instant), call.result)
        }
        _ => {
            let day = |it: i64| {
                let day = first_day(clock.day(it), unit, count);
                if is_date { i32::from(day as u16) } else { day.clamp(0, u16::MAX.into()) }
            };
            Ok(Arc::new(seconds.unary::<_, Date32Type>(day)))
        }
    })
}

/// The start of several hours, counted from midnight by the local clock. Where no clock shows it, it is the moment at which the
/// clock was moved.
fn start_of_hours(clock: &impl Clock, zone: &Zone, instant: i64, length: i64) -> i64 {
    let (day, time) = (clock.day(instant), clock.time(instant));
    let start = time - time.rem_euclid(length);
    let midnight = clock.start(day);
    let made = zone.instant(day, start).max(midnight);
    let distance = |it: i64| clock.time(it) - it;
    if clock.time(made) == start || made == midnight || distance(midnight) == distance(instant) {
        return made;
    }
    let (mut before, mut after) = (midnight, instant);
    while after - before > 1 {
        let middle = before + (after - before) / 2;
        if distance(middle) == distance(midnight) {
            before = middle;
        } else {
            after = middle;
        }
    }
    after
}

#[cfg(test)]
mod tests {
    use super::{Unit, add_months, civil, first_day};

    #[test]
    fn months_end_with_their_last_day() {
        let day = |year, month, day| i64::from(civil::to_days(year, month, day));
        assert_eq!(add_months(day(2024, 1, 31), 1), day(2024, 2, 29));
        assert_eq!(add_months(day(2024, 2, 29), 12), day(2025, 2, 28));
        assert_eq!(add_months(day(2024, 1, 31), -3), day(2023, 10, 31));
        assert_eq!(add_months(day(2024, 1, 31), i64::MAX), day(9999, 12, 31));
    }

    #[test]
    fn intervals_begin_where_clickhouse_begins_them() {
        let day = civil::to_days(2024, 3, 5);
        for (unit, count, (year, month, first)) in [
            (Unit::Day, 5, (2024, 3, 3)),
            (Unit::Week, 2, (2024, 3, 4)),
            (Unit::Month, 5, (2024, 3, 1)),
            (Unit::Quarter, 3, (2023, 10, 1)),
            (Unit::Year, 3, (2022, 1, 1)),
        ] {
            assert_eq!(first_day(day, unit, count), civil::to_days(year, month, first), "{unit:?}");
        }
    }
}
