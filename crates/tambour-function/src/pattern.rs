//! Dates and times as texts after a pattern: `formatDateTime`.

use super::civil;
use super::moment::{self, Moments, expect_moment};
use super::text::{Texts, push_all};
use super::zone::{Clock, Fixed, Zone, with_clock};
use super::{Call, Function, Signature, expect_count, wrong};
use crate::FunctionError;
use arrow_array::ArrayRef;
use std::fmt::Write;
use tambour_part::types::DataType;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] =
    &[Function::new("formatDateTime", pattern_type, format_date_time).aliases(&["date_format"])];

/// Names of months.
pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// Names of the days of the week, Monday first.
pub(super) const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
/// What may stand behind `%`.
const LETTERS: &str = "abcCdDefFgGhHiIjklmMnpQrRsStTuVwWyYz%";

fn pattern(name: &'static str, s: &[Signature]) -> Result<String, FunctionError> {
    let constant = s.get(1).and_then(|argument| argument.constant.as_ref());
    let Some(pattern) = constant.and_then(|constant| Texts::of(constant).first()) else {
        return Err(wrong(name, "the pattern must be a constant text"));
    };
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            continue;
        }
        match letters.next() {
            Some(known) if LETTERS.contains(known) => {}
            other => {
                let shown = other.map_or(String::new(), String::from);
                return Err(wrong(name, format!("`%{shown}` in a pattern is not known")));
            }
        }
    }
    Ok(pattern)
}

fn pattern_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=3)?;
    expect_moment(name, s)?;
    pattern(name, s)?;
    moment::zone_argument(name, s, 2)?;
    Ok(DataType::String)
}

/// What the clock and the calendar show at an instant.
struct Shown {
    day: i32,
    time: i64,
    offset: i64,
    microseconds: i64,
}

fn format_date_time(call: &Call) -> Result<ArrayRef, FunctionError> {
    let signatures: Vec<Signature> = call.operands.iter().map(super::Operand::signature).collect();
    let pattern = pattern(call.name, &signatures)?;
    let zone = moment::zone(call, 2)?;
    let (ticks, per_second) = match Moments::of(call, 0)? {
        Moments::Ticks(ticks, per_second) => (ticks, per_second),
        other => (other.seconds(&zone), 1),
    };
    Ok(with_clock!(zone, |clock| push_all(ticks.len(), |row, text| {
        let tick = ticks.value(row);
        let instant = tick.div_euclid(per_second);
        let (day, time) = (clock.day(instant), clock.time(instant));
        let microseconds =
            (i128::from(tick.rem_euclid(per_second)) * 1_000_000 / i128::from(per_second)) as i64;
        let offset = i64::from(day) * civil::DAY + time - instant;
        push(text, &pattern, &Shown { day, time, offset, microseconds });
    })))
}

fn push(text: &mut String, pattern: &str, shown: &Shown) {
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match (letter, letters.clone().next()) {
            ('%', Some(kind)) => {
                letters.next();
                push_part(text, kind, shown);
            }
            (other, _) => text.push(other),
        }
    }
}

fn push_part(text: &mut String, kind: char, shown: &Shown) {
    let (hour, minute, second) = (shown.time / 3_600, shown.time / 60 % 60, shown.time % 60);
    let half = if hour % 12 == 0 { 12 } else { hour % 12 };
    let meridiem = if hour < 12 { "AM" } else { "PM" };
    // Writing to a String does not fail.
    let _ = match kind {
        'f' => write!(text, "{:06}", shown.microseconds),
        'h' | 'I' | 'l' => write!(text, "{half:02}"),
        'H' | 'k' => write!(text, "{hour:02}"),
        'i' => write!(text, "{minute:02}"),
        'n' => text.write_char('\n'),
        'p' => text.write_str(meridiem),
        'r' => write!(text, "{half:02}:{minute:02} {meridiem}"),
        'R' => write!(text, "{hour:02}:{minute:02}"),
        's' | 'S' => write!(text, "{second:02}"),
        't' => text.write_char('\t'),
        'T' => write!(text, "{hour:02}:{minute:02}:{second:02}"),
        'z' => {
            let sign = if shown.offset < 0 { '-' } else { '+' };
            let minutes = shown.offset.abs() / 60;
            write!(text, "{sign}{:02}{:02}", minutes / 60, minutes % 60)
        }
        '%' => text.write_char('%'),
        _ => push_date(text, kind, shown.day),
    };
}

fn push_date(text: &mut String, kind: char, day: i32) -> std::fmt::Result {
    let date = civil::from_days(day);
    let (year, month, of_month) = (date.year, date.month, date.day);
    let month_name = MONTHS.get(usize::from(month) - 1).copied().unwrap_or_default();
    let weekday = civil::weekday(day);
    let weekday_name = WEEKDAYS.get(usize::from(weekday) - 1).copied().unwrap_or_default();
    // The week belongs to the year of its Thursday.
    let thursday = civil::monday(day) + 3;
    let iso_year = civil::from_days(thursday).year;
    match kind {
        'a' => text.write_str(weekday_name.get(..3).unwrap_or_default()),
        'b' => text.write_str(month_name.get(..3).unwrap_or_default()),
        'c' | 'm' => write!(text, "{month:02}"),
        'C' => write!(text, "{:02}", year / 100),
        'd' => write!(text, "{of_month:02}"),
        'D' => write!(text, "{month:02}/{of_month:02}/{:02}", year % 100),
        'e' => write!(text, "{of_month}"),
        'F' => write!(text, "{year:04}-{month:02}-{of_month:02}"),
        'g' => write!(text, "{:02}", iso_year % 100),
        'G' => write!(text, "{iso_year:04}"),
        'j' => write!(text, "{:03}", day - civil::year_start(day) + 1),
        'M' => text.write_str(month_name),
        'Q' => write!(text, "{}", (month - 1) / 3 + 1),
        'u' => write!(text, "{weekday}"),
        'V' => write!(text, "{:02}", (thursday - civil::year_start(thursday)) / 7 + 1),
        'w' => write!(text, "{}", weekday % 7),
        'W' => text.write_str(weekday_name),
        'y' => write!(text, "{:02}", year % 100),
        _ => write!(text, "{year:04}"),
    }
}
