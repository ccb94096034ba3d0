//! Dates and times read from texts: `parseDateTime` after a pattern, `parseDateTimeBestEffort` in the usual notations.
//!
//! A best effort that is not clear (`12 2020`) is an error here, also with `…OrNull`.

use super::access::{Failure, Kind, takes};
use super::civil;
use super::effort::{self, Order};
use super::moment::{self, constant_integer, ticks_per_second, zone_argument};
use super::pattern::MONTHS;
use super::text::Texts;
use super::value::parse;
use super::value::time::Cursor;
use super::zone::Zone;
use super::{Call, Function, Signature, bare, wrong};
use crate::FunctionError;
use arrow_array::{ArrayRef, Int64Array};
use tambour_part::types::DataType;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("parseDateTime", pattern_type, |c| by_pattern(c, Failure::Error))
        .aliases(&["TO_UNIXTIME"]),
    Function::new("parseDateTimeOrZero", pattern_type, |c| by_pattern(c, Failure::Zero)),
    Function::new(
        "parseDateTimeOrNull",
        |n, s| pattern_type(n, s).map(DataType::made_nullable),
        |c| by_pattern(c, Failure::Null),
    )
    .aliases(&["str_to_date"]),
    Function::new("parseDateTime64", long_type, |c| by_pattern(c, Failure::Error)),
    Function::new("parseDateTime64OrZero", long_type, |c| by_pattern(c, Failure::Zero)),
    Function::new(
        "parseDateTime64OrNull",
        |n, s| long_type(n, s).map(DataType::made_nullable),
        |c| by_pattern(c, Failure::Null),
    ),
    Function::new("parseDateTimeBestEffort", effort_type, |c| by_effort(c, Failure::Error))
        .aliases(&["parseDateTime32BestEffort"]),
    Function::new("parseDateTimeBestEffortOrZero", effort_type, |c| by_effort(c, Failure::Zero))
        .aliases(&["parseDateTime32BestEffortOrZero"]),
    Function::new(
        "parseDateTimeBestEffortOrNull",
        |n, s| effort_type(n, s).map(DataType::made_nullable),
        |c| by_effort(c, Failure::Null),
    )
    .aliases(&["parseDateTime32BestEffortOrNull"]),
    Function::new("parseDateTime64BestEffort", ticks_type, |c| by_effort(c, Failure::Error)),
    Function::new("parseDateTime64BestEffortOrZero", ticks_type, |c| by_effort(c, Failure::Zero)),
    Function::new(
        "parseDateTime64BestEffortOrNull",
        |n, s| ticks_type(n, s).map(DataType::made_nullable),
        |c| by_effort(c, Failure::Null),
    ),
];

/// The same with the month before the day, where numbers do not tell.
pub(super) const AMERICAN: &[Function] = &[
    Function::new("parseDateTimeBestEffortUS", effort_type, |c| by_effort(c, Failure::Error)),
    Function::new("parseDateTimeBestEffortUSOrZero", effort_type, |c| by_effort(c, Failure::Zero)),
    Function::new(
        "parseDateTimeBestEffortUSOrNull",
        |n, s| effort_type(n, s).map(DataType::made_nullable),
        |c| by_effort(c, Failure::Null),
    ),
    Function::new("parseDateTime64BestEffortUS", ticks_type, |c| by_effort(c, Failure::Error)),
    Function::new("parseDateTime64BestEffortUSOrZero", ticks_type, |c| by_effort(c, Failure::Zero)),
    Function::new(
        "parseDateTime64BestEffortUSOrNull",
        |n, s| ticks_type(n, s).map(DataType::made_nullable),
        |c| by_effort(c, Failure::Null),
    ),
];

/// Digits of a second that a text after a pattern may have.
const MICROSECOND_DIGITS: u8 = 6;
const MICROSECONDS: i64 = 1_000_000;

/// What a pattern is made of.
#[derive(Clone, Copy)]
enum Part {
    Letter(u8),
    Literal(u8),
}

/// `%T` and `%F` are written out; `None` if a letter is not known.
fn parts(pattern: &str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut bytes = pattern.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            parts.push(Part::Literal(byte));
            continue;
        }
        let letter = bytes.next()?;
        match letter {
            b'%' => parts.push(Part::Literal(b'%')),
            b'T' => parts.extend(self::parts("%H:%i:%S")?),
            b'R' => parts.extend(self::parts("%H:%i")?),
            b'F' => parts.extend(self::parts("%Y-%m-%d")?),
            b'D' => parts.extend(self::parts("%m/%d/%y")?),
            b'Y' | b'y' | b'm' | b'd' | b'H' | b'h' | b'I' | b'i' | b'S' | b's' | b'b' | b'j'
            | b'p' | b'f' => parts.push(Part::Letter(letter)),
            _ => return None,
        }
    }
    Some(parts)
}

pub(super) fn constant(s: &[Signature], index: usize) -> Option<String> {
    let constant = s.get(index).and_then(|argument| argument.constant.as_ref());
    constant.and_then(|constant| Texts::of(constant).first())
}

fn pattern_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Text, Kind::ConstText], &[Kind::ConstText])?;
    let zone = zone_argument(name, s, 2)?;
    match constant(s, 1).and_then(|pattern| parts(&pattern)) {
        Some(_) => Ok(DataType::DateTime { zone }),
        None => Err(wrong(
            name,
            "the pattern must be made of %Y %y %m %d %b %j %H %h %I %i %S %s %f %p %T %R %F %D",
        )),
    }
}

/// The same with microseconds.
fn long_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    match pattern_type(name, s)? {
        DataType::DateTime { zone } => {
            Ok(DataType::DateTime64 { precision: MICROSECOND_DIGITS, zone })
        }
        other => Ok(other),
    }
}

/// Digits of just this number.
fn digits(cursor: &mut Cursor, count: usize) -> Option<u32> {
    let is_long_enough =
        cursor.0.len() >= count && cursor.0[..count].iter().all(u8::is_ascii_digit);
    if is_long_enough { cursor.number(count, count) } else { None }
}

/// The digits after the point of a second, as microseconds.
fn microseconds(cursor: &mut Cursor) -> Option<i64> {
    let width = cursor.0.iter().take(usize::from(MICROSECOND_DIGITS) + 1);
    let width = width.take_while(|byte| byte.is_ascii_digit()).count();
    let missing = u32::from(MICROSECOND_DIGITS).checked_sub(u32::try_from(width).ok()?)?;
    Some(i64::from(digits(cursor, width.max(1))?) * 10_i64.pow(missing))
}

/// A day by its number in the year, from 1 on.
pub(super) fn day_of_year(year: u32, number: u32) -> Option<i32> {
    let year = i32::try_from(year).ok()?;
    let length = if civil::is_leap(year) { 366 } else { 365 };
    let number = i32::try_from(number).ok().filter(|it| (1..=length).contains(it))?;
    Some(civil::to_days(year, 1, 1) + number - 1)
}

/// The instant of a text after a pattern, and microseconds; what the pattern does not say is that of 1970-01-01 00:00:00.
fn read(text: &[u8], parts: &[Part], zone: &Zone) -> Option<(i64, i64)> {
    let mut cursor = Cursor(text);
    let (mut year, mut month, mut day) = (1970, 1, 1);
    let (mut of_year, mut hour, mut minute, mut second) = (None, 0, 0, 0);
    let (mut is_half, mut is_afternoon, mut fraction) = (false, None, 0);
    for part in parts {
        match part {
            Part::Literal(byte) => {
                cursor.one_of(&[*byte])?;
            }
            Part::Letter(b'Y') => year = digits(&mut cursor, 4)?,
            Part::Letter(b'y') => {
                let short = digits(&mut cursor, 2)?;
                year = if short >= 70 { 1900 + short } else { 2000 + short };
            }
            Part::Letter(b'm') => month = digits(&mut cursor, 2)?,
            Part::Letter(b'd') => day = digits(&mut cursor, 2)?,
            Part::Letter(b'j') => of_year = Some(digits(&mut cursor, 3)?),
            Part::Letter(b'H') => hour = digits(&mut cursor, 2).filter(|it| *it < 24)?,
            Part::Letter(b'h' | b'I') => {
                hour = digits(&mut cursor, 2).filter(|it| (1..=12).contains(it))?;
                is_half = true;
            }
            Part::Letter(b'f') => fraction = microseconds(&mut cursor)?,
            Part::Letter(b'i') => minute = digits(&mut cursor, 2).filter(|it| *it < 60)?,
            Part::Letter(b'b') => {
                let name = cursor.0.get(..3)?;
                let found =
                    MONTHS.iter().position(|it| it.as_bytes()[..3].eq_ignore_ascii_case(name))?;
                month = u32::try_from(found).ok()? + 1;
                cursor.0 = &cursor.0[3..];
            }
            Part::Letter(b'p') => {
                let name = cursor.0.get(..2)?;
                is_afternoon = Some(match name.to_ascii_uppercase().as_slice() {
                    b"AM" => false,
                    b"PM" => true,
                    _ => return None,
                });
                cursor.0 = &cursor.0[2..];
            }
            Part::Letter(_) => second = digits(&mut cursor, 2).filter(|it| *it < 60)?,
        }
    }
    if !cursor.0.is_empty() {
        return None;
    }
    if is_half || is_afternoon.is_some() {
        hour = hour % 12 + if is_afternoon == Some(true) { 12 } else { 0 };
    }
    let date = match of_year {
        None => civil::date(year, month, day)?,
        Some(number) => day_of_year(year, number)?,
    };
    let time = i64::from(hour * 3_600 + minute * 60 + second);
    Some((zone.instant(date, time), fraction))
}

fn by_pattern(call: &Call, failure: Failure) -> Result<ArrayRef, FunctionError> {
    let pattern = String::from_utf8_lossy(&call.constant_text(1)?).into_owned();
    let parts = parts(&pattern).unwrap_or_default();
    let (zone, is_narrow) = match bare(call.result) {
        DataType::DateTime { zone } => (Zone::of(zone.as_deref())?, true),
        DataType::DateTime64 { zone, .. } => (Zone::of(zone.as_deref())?, false),
        _ => return Err(wrong(call.name, "its result is an instant")),
    };
    after_pattern(call, failure, &pattern, |_, text| {
        let instant = read(text, &parts, &zone).and_then(|(seconds, fraction)| {
            if is_narrow {
                return (0..=i64::from(u32::MAX)).contains(&seconds).then_some(seconds);
            }
            seconds.checked_mul(MICROSECONDS)?.checked_add(fraction)
        });
        Ok(instant)
    })
}

/// The instants of texts that `read` takes by their rows, and what stands for others.
pub(super) fn after_pattern(
    call: &Call,
    failure: Failure,
    pattern: &str,
    read: impl Fn(usize, &[u8]) -> Result<Option<i64>, FunctionError>,
) -> Result<ArrayRef, FunctionError> {
    let texts = Texts::of(&call.values(0)?);
    let of_row = |row: usize| {
        let Some(text) = texts.value(row) else { return Ok(None) };
        match (read(row, text)?, failure) {
            (Some(instant), _) => Ok(Some(instant)),
            (None, Failure::Zero) => Ok(Some(0)),
            (None, Failure::Null) => Ok(None),
            (None, Failure::Error) => {
                Err(call.value_error(row, format!("the text is not of the pattern {pattern:?}")))
            }
        }
    };
    let instants = (0..texts.len()).map(of_row).collect::<Result<Int64Array, _>>()?;
    moment::from_ticks(instants, bare(call.result))
}

fn effort_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Text], &[Kind::ConstText])?;
    Ok(DataType::DateTime { zone: zone_argument(name, s, 1)? })
}

fn ticks_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Text], &[Kind::ConstInteger, Kind::ConstText])?;
    match constant_integer(name, s, 1)?.unwrap_or(3) {
        precision @ 0..=9 => {
            let zone = zone_argument(name, s, 2)?;
            Ok(DataType::DateTime64 { precision: precision as u8, zone })
        }
        _ => Err(wrong(name, "the precision must be 0 to 9")),
    }
}

/// True for `2020-01-02 03:04:05`, for 8 or 14 digits of a date, and for 9 or 10 of Unix time.
fn is_clear(text: &[u8]) -> bool {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match count {
        4 => matches!(text.get(4), Some(b'-' | b'/')) && text.len() >= 8,
        8..=10 | 14 => count == text.len(),
        _ => false,
    }
}

/// Reads texts that are written out as instants of a call's result.
pub(super) struct Reader {
    per_second: i64,
    /// Ticks between two instants that the type has.
    step: i64,
    is_narrow: bool,
    zone: Zone,
}

impl Reader {
    pub(super) fn of(call: &Call) -> Result<Self, FunctionError> {
        let (per_second, step, zone) = match bare(call.result) {
            DataType::DateTime64 { precision, zone } => {
                let per_second = ticks_per_second(*precision);
                (per_second, per_second / 10_i64.pow(u32::from(*precision)), zone)
            }
            DataType::DateTime { zone } => (1, 1, zone),
            _ => return Err(wrong(call.name, "its result is an instant")),
        };
        let is_narrow = matches!(bare(call.result), DataType::DateTime { .. });
        Ok(Self { per_second, step, is_narrow, zone: Zone::of(zone.as_deref())? })
    }
    /// True for a DateTime.
    pub(super) fn is_narrow(&self) -> bool {
        self.is_narrow
    }
    /// Ticks; `None` for a text of anything else, and for one out of the years of a DateTime.
    pub(super) fn read(&self, text: &[u8]) -> Option<i64> {
        let (seconds, nanoseconds) = parse::date_time(text, &self.zone)?;
        if self.is_narrow {
            return (0..=i64::from(u32::MAX)).contains(&seconds).then_some(seconds);
        }
        let fraction = i64::from(nanoseconds) / (1_000_000_000 / self.per_second);
        let tick = seconds.checked_mul(self.per_second)?.checked_add(fraction)?;
        Some(tick - tick.rem_euclid(self.step))
    }
}

fn by_effort(call: &Call, failure: Failure) -> Result<ArrayRef, FunctionError> {
    let reader = Reader::of(call)?;
    let order = if call.name.contains("US") { Order::MonthFirst } else { Order::DayFirst };
    let texts = Texts::of(&call.values(0)?);
    let of_row = |row: usize| {
        let Some(text) = texts.value(row) else { return Ok(None) };
        let found = if is_clear(text) {
            reader.read(text)
        } else {
            effort::rewritten(text, order).and_then(|text| reader.read(&text))
        };
        // What has no digit is certainly no date.
        let is_hopeless = !text.iter().any(u8::is_ascii_digit);
        match (found, failure) {
            (Some(tick), _) => Ok(Some(tick)),
            (None, Failure::Zero) if is_hopeless => Ok(Some(0)),
            (None, Failure::Null) if is_hopeless => Ok(None),
            _ => Err(call.value_error(
                row,
                "the text is not clearly a date and time; write YYYY-MM-DD hh:mm:ss",
            )),
        }
    };
    let ticks = (0..texts.len()).map(of_row).collect::<Result<Int64Array, _>>()?;
    moment::from_ticks(ticks, bare(call.result))
}

#[cfg(test)]
mod tests {
    use super::{Zone, is_clear, parts, read};

    /// Every line was given to ClickHouse 26.9.
    #[test]
    fn texts_are_read_after_patterns() {
        for (text, pattern, instant) in [
            ("2020-01-02 03:04:05", "%F %T", Some(1_577_934_245)),
            ("10:20", "%H:%i", Some(37_200)),
            ("2020 032", "%Y %j", Some(1_580_515_200)),
            ("05/Jan/2020", "%d/%b/%Y", Some(1_578_182_400)),
            ("12 AM", "%I %p", Some(0)),
            ("12 PM", "%h %p", Some(43_200)),
            ("5", "%d", None),
            ("05 ", "%d", None),
            ("2021-02-29", "%Y-%m-%d", None),
            ("0.25", "%f.%f", Some(0)),
        ] {
            let parts = parts(pattern).unwrap();
            let found = read(text.as_bytes(), &parts, &Zone::UTC);
            assert_eq!(found.map(|(seconds, _)| seconds), instant, "{text}");
        }
        let fraction = parts("%s.%f").unwrap();
        assert_eq!(read(b"05.25", &fraction, &Zone::UTC), Some((5, 250_000)));
        assert_eq!(read(b"05.1234567", &fraction, &Zone::UTC), None);
        assert!(parts("%Q").is_none());
    }

    #[test]
    fn what_is_clear() {
        assert!(is_clear(b"2020-01-02 03:04:05") && is_clear(b"1580000000"));
        assert!(!is_clear(b"01/02/2020") && !is_clear(b"Jan 5 2020") && !is_clear(b"2020"));
    }
}
