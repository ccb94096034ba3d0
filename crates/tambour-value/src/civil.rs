//! The Gregorian calendar as arithmetic on day numbers: no table, no branch on the data, no allocation.
//!
//! Day 0 is 1970-01-01. ClickHouse's calendar covers the years 0 to 9999; days outside are moved to the nearer end before
//! anything is computed, as it does.

/// Seconds of a day.
pub const DAY: i64 = 86_400;
/// 0000-01-01, the first day of ClickHouse's calendar.
pub const FIRST_DAY: i32 = -719_528;
/// 9999-12-31, the last one.
pub const LAST_DAY: i32 = 2_932_896;
/// 1900-01-01 to 2299-12-31: what its calendar was before version 26, and what the zones' tables cover.
pub const NARROW_DAYS: std::ops::RangeInclusive<i32> = -25_567..=120_529;

/// A date taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// The year.
    pub year: i32,
    /// From 1.
    pub month: u8,
    /// From 1.
    pub day: u8,
}

/// Moves a day into the calendar.
#[inline]
pub fn clamp(day: i64) -> i32 {
    day.clamp(FIRST_DAY as i64, LAST_DAY as i64) as i32
}

/// The date of a day of the calendar: Neri and Schneider's method (2022), years that begin in March.
#[inline]
pub fn from_days(day: i32) -> Civil {
    // Days since March of the year -400, so that January of the year 0 is not a negative number.
    let number = 4 * (day + 719_468 + 146_097) as u32 + 3;
    let century = number / 146_097;
    let rest = (number % 146_097) / 4;
    let product = 2_939_745_u64 * (4 * rest + 3) as u64;
    let year = 100 * century + (product >> 32) as u32;
    let day_of_year = (product as u32) / 2_939_745 / 4;
    let packed = 2_141 * day_of_year + 197_913;
    let month = packed >> 16;
    let day = (packed & 0xffff) / 2_141 + 1;
    let january = u32::from(day_of_year >= 306);
    Civil {
        year: (year + january) as i32 - 400,
        month: (month - 12 * january) as u8,
        day: day as u8,
    }
}

/// The day number of a date; months and days outside their ranges are the caller's mistake, not a panic.
#[inline]
pub fn to_days(year: i32, month: u32, day: u32) -> i32 {
    let year = i64::from(year) - i64::from(month <= 2);
    let month = i64::from(if month > 2 { month - 3 } else { month + 9 });
    let century = year.div_euclid(100);
    let days = 365 * year + year.div_euclid(4) - century + century.div_euclid(4);
    (days + (153 * month + 2) / 5 + i64::from(day) - 1 - 719_468) as i32
}

/// True if the year has a 29th of February.
pub fn is_leap(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Number of days of a month.
pub fn days_in_month(year: i32, month: u32) -> u32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The day of a date of the years 0 to 9999, if there is such a date.
pub fn date(year: u32, month: u32, day: u32) -> Option<i32> {
    let year = i32::try_from(year).ok().filter(|year| *year <= 9999)?;
    let exists = (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day);
    exists.then(|| to_days(year, month, day))
}

/// Monday = 1 … Sunday = 7.
#[inline]
pub fn weekday(day: i32) -> u8 {
    ((day + 3).rem_euclid(7) + 1) as u8
}

/// The first of the month.
#[inline]
pub fn month_start(day: i32) -> i32 {
    day - i32::from(from_days(day).day) + 1
}

/// The first of January, April, July or October.
#[inline]
pub fn quarter_start(day: i32) -> i32 {
    let civil = from_days(day);
    to_days(civil.year, u32::from((civil.month - 1) / 3 * 3 + 1), 1)
}

/// The first of January.
#[inline]
pub fn year_start(day: i32) -> i32 {
    to_days(from_days(day).year, 1, 1)
}

/// The Monday on or before.
#[inline]
pub fn monday(day: i32) -> i32 {
    day - (day + 3).rem_euclid(7)
}

/// The Sunday on or before.
#[inline]
pub fn sunday(day: i32) -> i32 {
    day - (day + 4).rem_euclid(7)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::{Datelike, Duration, NaiveDate};

    #[test]
    fn every_day_of_the_calendar_agrees_with_chrono() {
        let epoch = NaiveDate::from_ymd_opt(1970, 1, 1).unwrap();
        for day in FIRST_DAY..=LAST_DAY {
            let date = epoch + Duration::days(day as i64);
            let civil = from_days(day);
            assert_eq!(
                (civil.year, civil.month as u32, civil.day as u32),
                (date.year(), date.month(), date.day())
            );
            assert_eq!(to_days(date.year(), date.month(), date.day()), day);
            assert_eq!(weekday(day) as u32, date.weekday().number_from_monday());
            assert!(u32::from(civil.day) <= days_in_month(civil.year, civil.month.into()));
        }
        assert_eq!(from_days(FIRST_DAY), Civil { year: 0, month: 1, day: 1 });
        assert_eq!(from_days(LAST_DAY), Civil { year: 9999, month: 12, day: 31 });
        assert_eq!(from_days(*NARROW_DAYS.start()), Civil { year: 1900, month: 1, day: 1 });
        assert_eq!(from_days(*NARROW_DAYS.end()), Civil { year: 2299, month: 12, day: 31 });
    }

    #[test]
    fn starts_are_on_or_before() {
        for day in [-25_567, -1, 0, 3, 4, 59, 60, 19_797, 65_535, 120_529] {
            let civil = from_days(day);
            assert_eq!(month_start(day), to_days(civil.year, civil.month.into(), 1));
            assert_eq!(year_start(day), to_days(civil.year, 1, 1));
            assert!(
                quarter_start(day) <= month_start(day)
                    && month_start(day) - quarter_start(day) <= 62
            );
            assert_eq!(weekday(monday(day)), 1);
            assert_eq!(weekday(sunday(day)), 7);
            assert!(day - monday(day) < 7 && day - sunday(day) < 7);
        }
    }
}
