//! Dates and times after a pattern of Joda: `formatDateTimeInJodaSyntax`, `parseDateTimeInJodaSyntax`.

use super::access::{Failure, Kind, takes};
use super::civil;
use super::moment::{self, Moments, expect_moment, zone_argument};
use super::pattern::{MONTHS, WEEKDAYS};
use super::reading::{after_pattern, constant, day_of_year};
use super::value::time::Cursor;
use super::zone::{Clock, Fixed, Zone, with_clock};
use super::{Call, Function, Signature, bare, expect_count, wrong};
use crate::FunctionError;
use arrow_array::ArrayRef;
use std::fmt::Write;
use tambour_part::types::DataType;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("formatDateTimeInJodaSyntax", format_type, format),
    Function::new("parseDateTimeInJodaSyntax", parse_type, |c| parse(c, Failure::Error)),
    Function::new("parseDateTimeInJodaSyntaxOrZero", parse_type, |c| parse(c, Failure::Zero)),
    Function::new(
        "parseDateTimeInJodaSyntaxOrNull",
        |n, s| parse_type(n, s).map(DataType::made_nullable),
        |c| parse(c, Failure::Null),
    ),
];

/// Letters of patterns after which texts are written, and read.
const WRITTEN: &str = "yMdEhHmsaDe";
const READ: &str = "yMdhHKkmsaD";
/// The year of a date without one.
const YEAR: u32 = 2_000;

/// What a pattern is made of: letters with their counts, and what stands for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Letter(char, usize),
    Literal(String),
}

/// Letters with their counts, and literals.
fn parts(pattern: &str, letters: &str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut rest = pattern.chars().peekable();
    while let Some(letter) = rest.next() {
        if letter == '\'' {
            let mut text = String::new();
            loop {
                match rest.next()? {
                    '\'' => break,
                    other => text.push(other),
                }
            }
            let text = if text.is_empty() { "'".to_owned() } else { text };
            parts.push(Part::Literal(text));
            continue;
        }
        if !letter.is_ascii_alphabetic() {
            parts.push(Part::Literal(letter.to_string()));
            continue;
        }
        if !letters.contains(letter) {
            return None;
        }
        let mut count = 1;
        while rest.next_if_eq(&letter).is_some() {
            count += 1;
        }
        parts.push(Part::Letter(letter, count));
    }
    Some(parts)
}

fn format_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=3)?;
    expect_moment(name, s)?;
    zone_argument(name, s, 2)?;
    match constant(s, 1).and_then(|pattern| parts(&pattern, WRITTEN)) {
        Some(_) => Ok(DataType::String),
        None => {
            Err(wrong(name, "the pattern must be made of y M d E h H m s a D e and quoted texts"))
        }
    }
}

fn format(call: &Call) -> Result<ArrayRef, FunctionError> {
    let pattern = String::from_utf8_lossy(&call.constant_text(1)?).into_owned();
    let parts = parts(&pattern, WRITTEN).unwrap_or_default();
    let zone = moment::zone(call, 2)?;
    let seconds = Moments::of(call, 0)?.seconds(&zone);
    with_clock!(zone, |clock| call.make_texts(|row, out| {
        let instant = seconds.value(row);
        let (day, time) = (clock.day(instant), clock.time(instant));
        let date = civil::from_days(day);
        let (month, weekday) = (usize::from(date.month) - 1, usize::from(civil::weekday(day)) - 1);
        let mut text = String::new();
        for part in &parts {
            let (letter, count) = match part {
                Part::Letter(letter, count) => (letter, count),
                Part::Literal(literal) => {
                    text.push_str(literal);
                    continue;
                }
            };
            let number = match letter {
                'M' if *count > 2 => {
                    text.push_str(if *count > 3 { MONTHS[month] } else { &MONTHS[month][..3] });
                    continue;
                }
                'E' => {
                    let name = WEEKDAYS[weekday];
                    text.push_str(if *count > 3 { name } else { &name[..3] });
                    continue;
                }
                'a' => {
                    text.push_str(if time < 43_200 { "AM" } else { "PM" });
                    continue;
                }
                'y' if *count == 2 => i64::from(date.year % 100),
                'y' => i64::from(date.year),
                'M' => i64::from(date.month),
                'd' => i64::from(date.day),
                'D' => i64::from(day - civil::year_start(day) + 1),
                'e' => i64::from(civil::weekday(day)),
                'h' => (time / 3_600 + 11) % 12 + 1,
                'H' => time / 3_600,
                'm' => time / 60 % 60,
                _ => time % 60,
            };
            // Writing to a String does not fail.
            let _ = write!(text, "{number:0count$}");
        }
        out.extend_from_slice(text.as_bytes());
    }))
}

/// The parts of a pattern after which texts can be read without a doubt.
fn readable(pattern: &str) -> Option<Vec<Part>> {
    let parts = parts(pattern, READ)?;
    let count_of = |wanted: char| {
        parts.iter().find_map(|part| match part {
            Part::Letter(letter, count) if *letter == wanted => Some(*count),
            _ => None,
        })
    };
    let is_fine = |part: &Part| match part {
        Part::Letter('y', count) => matches!(count, 2 | 4),
        Part::Letter('M', count) => (1..=4).contains(count),
        Part::Letter('D', count) => (1..=3).contains(count),
        Part::Letter('a', count) => *count == 1,
        Part::Letter(_, count) => matches!(count, 1 | 2),
        Part::Literal(_) => true,
    };
    let letters = || parts.iter().filter(|part| matches!(part, Part::Letter(..)));
    let is_once =
        letters().enumerate().all(|(at, part)| !letters().skip(at + 1).any(|it| it == part));
    let hours = ['h', 'H', 'K', 'k'].into_iter().filter(|letter| count_of(*letter).is_some());
    let is_clear = hours.count() < 2
        && !(count_of('D').is_some() && (count_of('M').is_some() || count_of('d').is_some()));
    (is_clear && is_once && parts.iter().all(is_fine)).then_some(parts)
}

fn parse_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::String, Kind::ConstText], &[Kind::ConstText])?;
    let zone = zone_argument(name, s, 2)?;
    match constant(s, 1).and_then(|pattern| readable(&pattern)) {
        Some(_) => Ok(DataType::DateTime { zone }),
        None => Err(wrong(
            name,
            "the pattern must be made of yy yyyy M MM MMM MMMM d h H K k m s a D and quoted texts, each once",
        )),
    }
}

/// The number of a month whose name begins a text, in full or its first three letters.
fn month(cursor: &mut Cursor) -> Option<u32> {
    let begins = |name: &str| {
        cursor.0.get(..name.len()).is_some_and(|it| it.eq_ignore_ascii_case(name.as_bytes()))
    };
    let (place, length) = MONTHS.iter().enumerate().find_map(|(place, name)| {
        let names = [*name, name.get(..3)?];
        names.into_iter().find(|name| begins(name)).map(|name| (place, name.len()))
    })?;
    cursor.0 = cursor.0.get(length..)?;
    u32::try_from(place).ok().map(|place| place + 1)
}

/// What a text says.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    year: Option<u32>,
    month: Option<u32>,
    day: Option<u32>,
    of_year: Option<u32>,
    hour: u32,
    minute: u32,
    second: u32,
    is_half: bool,
    is_afternoon: bool,
}

impl Found {
    fn take(&mut self, letter: char, count: usize, cursor: &mut Cursor) -> Option<()> {
        if letter == 'M' && count > 2 {
            self.month = Some(month(cursor)?);
            return Some(());
        }
        if letter == 'a' {
            let name = cursor.0.get(..2)?;
            self.is_afternoon = name.eq_ignore_ascii_case(b"PM");
            let is_half = self.is_afternoon || name.eq_ignore_ascii_case(b"AM");
            cursor.0 = cursor.0.get(2..)?;
            return is_half.then_some(());
        }
        let number = match (letter, count) {
            ('y', 2) => {
                let short = cursor.number(2, 2)?;
                if short >= 70 { 1900 + short } else { 2000 + short }
            }
            ('y', _) => cursor.number(1, 4)?,
            ('D', _) => cursor.number(1, 3)?,
            _ => cursor.number(1, 2)?,
        };
        let range = match letter {
            'y' => 1970..=2106,
            'M' => 1..=12,
            'd' => 1..=31,
            'D' => 1..=366,
            'h' => 1..=12,
            'k' => 1..=24,
            'K' => 0..=11,
            'H' => 0..=23,
            _ => 0..=59,
        };
        if !range.contains(&number) {
            return None;
        }
        match letter {
            'y' => self.year = Some(number),
            'M' => self.month = Some(number),
            'd' => self.day = Some(number),
            'D' => self.of_year = Some(number),
            'm' => self.minute = number,
            's' => self.second = number,
            'k' => self.hour = number % 24,
            'H' => self.hour = number,
            _ => (self.hour, self.is_half) = (number % 12, true),
        }
        Some(())
    }

    /// Days since 1970-01-01, and seconds of the day.
    fn moment(&self) -> Option<(i32, i64)> {
        let has_date = self.month.is_some() || self.day.is_some() || self.of_year.is_some();
        let year = self.year.unwrap_or(if has_date { YEAR } else { 1970 });
        let day = match self.of_year {
            None => civil::date(year, self.month.unwrap_or(1), self.day.unwrap_or(1))?,
            Some(number) => day_of_year(year, number)?,
        };
        let hour = self.hour + if self.is_half && self.is_afternoon { 12 } else { 0 };
        Some((day, i64::from(hour * 3_600 + self.minute * 60 + self.second)))
    }
}

fn read(text: &[u8], parts: &[Part]) -> Option<(i32, i64)> {
    let mut cursor = Cursor(text);
    let mut found = Found::default();
    for part in parts {
        match part {
            Part::Letter(letter, count) => found.take(*letter, *count, &mut cursor)?,
            Part::Literal(literal) => cursor.0 = cursor.0.strip_prefix(literal.as_bytes())?,
        }
    }
    if cursor.0.is_empty() { found.moment() } else { None }
}

fn parse(call: &Call, failure: Failure) -> Result<ArrayRef, FunctionError> {
    let pattern = String::from_utf8_lossy(&call.constant_text(1)?).into_owned();
    let parts = readable(&pattern).unwrap_or_default();
    let zone = match bare(call.result) {
        DataType::DateTime { zone } => Zone::of(zone.as_deref())?,
        _ => return Err(wrong(call.name, "its result is a DateTime")),
    };
    after_pattern(call, failure, &pattern, |row, text| {
        let instant = read(text, &parts).map(|(day, time)| zone.instant(day, time));
        match instant.filter(|instant| *instant >= 0) {
            // It wraps around there.
            Some(late) if u32::try_from(late).is_err() => {
                Err(call.value_error(row, "the time is after 2106-02-07 06:28:15"))
            }
            found => Ok(found),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{Part, WRITTEN, parts, read, readable};

    #[test]
    fn letters_and_literals_are_parts() {
        let found = parts("yyyy-MM", WRITTEN);
        let letter = |letter, count| Part::Letter(letter, count);
        let expected = vec![letter('y', 4), Part::Literal("-".to_owned()), letter('M', 2)];
        assert_eq!(found, Some(expected));
        assert!(parts("Q", WRITTEN).is_none() && parts("'a", WRITTEN).is_none());
        assert!(readable("yyyyy").is_none() && readable("D M").is_none());
    }

    /// Every line was given to ClickHouse 26.9.
    #[test]
    fn texts_are_read_after_patterns() {
        for (text, pattern, expected) in [
            ("5/7/2020", "dd/MM/yyyy", Some((18_448, 0))),
            ("12 AM", "h a", Some((0, 0))),
            ("13 PM", "H a", Some((0, 46_800))),
            ("24", "k", Some((0, 0))),
            ("SEPTEMBER 5", "MMM d", Some((11_205, 0))),
            ("Sept", "MMM", None),
            ("2021 366", "yyyy D", None),
            ("2020x", "yyyy", None),
            ("1950", "yyyy", None),
        ] {
            assert_eq!(read(text.as_bytes(), &readable(pattern).unwrap()), expected, "{text}");
        }
    }
}
