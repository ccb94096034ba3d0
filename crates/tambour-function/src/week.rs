//! Weeks and years of weeks: `toWeek`, `toYearWeek` with MySQL's modes, and those of ISO 8601.

use super::civil;
use super::moment::{self, Moments, part_type};
use super::zone::{Clock, Fixed, Zone, with_clock};
use super::{Call, Function, Signature, expect_count, wrong};
use crate::FunctionError;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Int32Type, UInt8Type, UInt16Type, UInt32Type,
};
use arrow_array::{ArrayRef, PrimitiveArray};
use std::sync::Arc;
use tambour_part::types::DataType;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "toWeek",
        |n, s| mode_type(n, s, DataType::UInt8),
        |c| by_mode::<UInt8Type>(c, |day, mode| year_week(day, mode).1 as u8),
    )
    .aliases(&["week"]),
    Function::new(
        "toYearWeek",
        |n, s| mode_type(n, s, DataType::UInt32),
        |c| {
            by_mode::<UInt32Type>(c, |day, mode| {
                let (year, week) = year_week(day, mode | WEEK_YEAR);
                year as u32 * 100 + week
            })
        },
    )
    .aliases(&["yearweek"]),
    Function::new(
        "toISOYear",
        |n, s| part_type(n, s, DataType::UInt16),
        |c| by_mode::<UInt16Type>(c, |day, _| iso_year(day) as u16),
    ),
    Function::new(
        "toISOWeek",
        |n, s| part_type(n, s, DataType::UInt8),
        |c| by_mode::<UInt8Type>(c, |day, _| iso_week(day)),
    ),
    Function::new(
        "toStartOfISOYear",
        |n, s| match s.first().map(|first| &first.data_type) {
            // ClickHouse gives starts past the end of Date in a way of its own.
            Some(DataType::Date32 | DataType::DateTime64 { .. }) => {
                Err(wrong(n, "it takes a Date or DateTime"))
            }
            _ => part_type(n, s, DataType::Date),
        },
        |c| by_mode::<Date32Type>(c, |day, _| saturated(iso_year_start(iso_year(day)))),
    ),
    Function::new(
        "toLastDayOfWeek",
        |n, s| mode_type(n, s, DataType::Date),
        |c| {
            by_mode::<Date32Type>(c, |day, mode| {
                let start = if mode & MONDAY_FIRST == 0 { civil::sunday } else { civil::monday };
                saturated(start(day) + 6)
            })
        },
    ),
];

/// Weeks begin on Monday.
const MONDAY_FIRST: i64 = 1;
/// Weeks belong to one year, and are numbered from 1.
const WEEK_YEAR: i64 = 2;
/// The first week begins with the first day of that name, not with four days of the year.
const FIRST_WEEKDAY: i64 = 4;
/// The first week holds January 1.
const NEW_YEAR: i64 = 8;

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

/// A number from the local day and the mode; functions without a mode have the zone in its place.
fn by_mode<T: ArrowPrimitiveType>(
    call: &Call,
    number: impl Fn(i32, i64) -> T::Native,
) -> Result<ArrayRef, FunctionError> {
    let has_mode = matches!(call.name, "toWeek" | "toYearWeek" | "toLastDayOfWeek");
    let mode = if has_mode { moment::mode(call, 1)? } else { 0 };
    let zone = moment::zone(call, if has_mode { 2 } else { 1 })?;
    let days = local_days(call, &zone)?;
    let result: PrimitiveArray<T> = days.unary(|day| number(day, mode));
    Ok(Arc::new(result))
}

/// The day of each row in a zone.
pub(super) fn local_days(
    call: &Call,
    zone: &Zone,
) -> Result<PrimitiveArray<Int32Type>, FunctionError> {
    Ok(match Moments::of(call, 0)? {
        Moments::Days(days) => days.unary(|day| civil::clamp(day.into())),
        moments => {
            let seconds = moments.seconds(zone);
            with_clock!(zone, |clock| seconds.unary(|instant| clock.day(instant)))
        }
    })
}

/// Moves a day into what a `Date` can hold.
pub(super) fn saturated(day: i32) -> i32 {
    day.clamp(0, i32::from(u16::MAX))
}

fn days_in_year(year: i32) -> i32 {
    if civil::is_leap(year) { 366 } else { 365 }
}

/// The year and the number of a week, as MySQL's WEEK counts them.
fn year_week(day: i32, mode: i64) -> (i32, u32) {
    if mode & NEW_YEAR != 0 {
        return of_new_year(day, mode & MONDAY_FIRST != 0);
    }
    let mode = if mode & MONDAY_FIRST == 0 { mode ^ FIRST_WEEKDAY } else { mode };
    let is_monday_first = mode & MONDAY_FIRST != 0;
    let by_weekday = mode & FIRST_WEEKDAY != 0;
    let mut has_week_year = mode & WEEK_YEAR != 0;
    let date = civil::from_days(day);
    let mut year = date.year;
    let mut first = civil::to_days(year, 1, 1);
    let monday_first = i32::from(civil::weekday(first));
    let mut weekday = if is_monday_first { monday_first - 1 } else { monday_first % 7 };
    let is_of_last_year = |weekday: i32| if by_weekday { weekday != 0 } else { weekday >= 4 };
    if date.month == 1 && i32::from(date.day) <= 7 - weekday {
        if !has_week_year && is_of_last_year(weekday) {
            return (year, 0);
        }
        has_week_year = true;
        year -= 1;
        let length = days_in_year(year);
        first -= length;
        weekday = (weekday + 53 * 7 - length) % 7;
    }
    let from = if is_of_last_year(weekday) { first + 7 - weekday } else { first - weekday };
    let passed = day - from;
    if has_week_year && passed >= 52 * 7 {
        let next = (weekday + days_in_year(year)) % 7;
        if !is_of_last_year(next) {
            return (year + 1, 1);
        }
    }
    (year, (passed / 7 + 1) as u32)
}

/// Weeks of which the first one holds January 1.
fn of_new_year(day: i32, is_monday_first: bool) -> (i32, u32) {
    let start = if is_monday_first { civil::monday } else { civil::sunday };
    // The last day of the week says which year it belongs to.
    let year = civil::from_days(civil::clamp(i64::from(start(day)) + 6)).year;
    let first = start(civil::to_days(year, 1, 1));
    (year, ((start(day) - first) / 7 + 1) as u32)
}

/// The year that most days of the week lie in.
fn iso_year(day: i32) -> i32 {
    civil::from_days(civil::clamp(i64::from(civil::monday(day)) + 3)).year
}

/// The Monday of the week that holds January 4.
fn iso_year_start(year: i32) -> i32 {
    civil::monday(civil::to_days(year, 1, 4))
}

/// The number of a week of ISO 8601.
pub(super) fn iso_week(day: i32) -> u8 {
    ((civil::monday(day) - iso_year_start(iso_year(day))) / 7 + 1) as u8
}

#[cfg(test)]
mod tests {
    use super::{civil, iso_week, iso_year, year_week};
    use chrono::{Datelike, Duration, NaiveDate};

    #[test]
    fn iso_weeks_agree_with_chrono() {
        let epoch = NaiveDate::from_ymd_opt(1970, 1, 1).unwrap();
        for day in (civil::FIRST_DAY + 7..civil::LAST_DAY - 7).step_by(3) {
            let week = (epoch + Duration::days(i64::from(day))).iso_week();
            assert_eq!((iso_year(day), u32::from(iso_week(day))), (week.year(), week.week()));
            // Mode 3 is ISO 8601.
            assert_eq!(year_week(day, 3), (week.year(), week.week()));
        }
    }

    /// Every line was given to ClickHouse 26.9.
    #[test]
    fn weeks_of_modes() {
        let day = civil::to_days(2020, 1, 1);
        assert_eq!(year_week(day, 0).1, 0);
        assert_eq!(year_week(day, 1).1, 1);
        assert_eq!(year_week(day, 2), (2019, 52));
    }
}
