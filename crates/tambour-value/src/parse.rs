//! Texts to numbers, dates and instants, as ClickHouse's conversion functions take them.
//!
//! Where ClickHouse makes a value out of nonsense (`2024-13-05` becomes 1970-01-01, `2024-02-30` becomes March 1st) these
//! say no instead.

use crate::civil::{self, DAY};
use crate::time::Cursor;
use crate::zone::Zone;

/// An integer: a sign if it may have one, and digits; more digits than fit wrap around.
pub fn integer(text: &[u8], signed: bool) -> Option<u64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] if signed => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    if digits.is_empty() {
        return None;
    }
    let mut number = 0_u64;
    for byte in digits {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number = number.wrapping_mul(10).wrapping_add(digit);
    }
    Some(if negative { number.wrapping_neg() } else { number })
}

/// A float in decimal notation, `inf` or `nan`.
pub fn float(text: &[u8]) -> Option<f64> {
    // Rust takes the same notations, and no spaces, no digit separators, no hexadecimal.
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// `YYYY-MM-DD`, `YYYY-M-D`, other separators than `-`, `YYYYMMDD`; a time after it is ignored.
pub fn date(text: &[u8]) -> Option<i32> {
    let mut cursor = Cursor(text);
    let day = date_part(&mut cursor)?;
    if cursor.0.is_empty() {
        return Some(day);
    }
    // ClickHouse takes a whole DateTime too, with a blank in between.
    if cursor.one_of(b" ").is_some() {
        time_part(&mut cursor)?;
    }
    cursor.0.is_empty().then_some(day)
}

fn date_part(cursor: &mut Cursor) -> Option<i32> {
    // A year has four digits: `1.2.3` is not a date.
    let year = cursor.number(4, 4)?;
    let separator = match cursor.0.first()? {
        byte if byte.is_ascii_digit() => None,
        _ => Some(cursor.one_of(b"-/.")?),
    };
    let month = cursor.number(1, 2)?;
    if let Some(separator) = separator {
        cursor.one_of(&[separator])?;
    }
    valid_date(year, month, cursor.number(1, 2)?)
}

/// The day of a date; what some databases write for no date is the first one.
fn valid_date(year: u32, month: u32, day: u32) -> Option<i32> {
    if (year, month, day) == (0, 0, 0) { Some(0) } else { civil::date(year, month, day) }
}

/// `hh[:mm[:ss[.fraction]]]`: seconds of the day and nanoseconds.
fn time_part(cursor: &mut Cursor) -> Option<(i64, u32)> {
    let hour = cursor.number(1, 2)?;
    let mut minute = 0;
    let mut second = 0;
    let mut nanoseconds = 0;
    if cursor.one_of(b":").is_some() {
        minute = cursor.number(1, 2)?;
        if cursor.one_of(b":").is_some() {
            second = cursor.number(1, 2)?;
            if cursor.one_of(b".,").is_some() {
                nanoseconds = fraction(cursor)?;
            }
        }
    }
    Some((time_of_day(hour, minute, second)?, nanoseconds))
}

/// Seconds since midnight.
fn time_of_day(hour: u32, minute: u32, second: u32) -> Option<i64> {
    let is_valid = hour < 24 && minute < 60 && second < 60;
    is_valid.then(|| i64::from(hour * 3600 + minute * 60 + second))
}

/// Digits after the point, as nanoseconds; those after the ninth are cut off.
fn fraction(cursor: &mut Cursor) -> Option<u32> {
    let length = cursor.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = cursor.0.split_at(length);
    cursor.0 = rest;
    let nine = digits.iter().map(|byte| u32::from(byte - b'0')).chain(std::iter::repeat(0)).take(9);
    (length > 0).then(|| nine.fold(0, |sum, digit| sum * 10 + digit))
}

/// An instant: date and time (`2024-01-05 10:11:12`, `T` in between, fractions, then `Z` or an offset), a date alone,
/// digits without separators (`20240105101112`, `20240105`, `2024`), or Unix time. Seconds and nanoseconds.
pub fn date_time(text: &[u8], zone: &Zone) -> Option<(i64, u32)> {
    let text = text.trim_ascii_end();
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut cursor = Cursor(text);
    if digits >= 9 && digits != 14
        || digits > 0 && digits < text.len() && text[digits] == b'.' && digits > 4
    {
        return unix_time(text, digits);
    }
    if digits == 4 && text.len() == 4 {
        let year = cursor.number(1, 4)?;
        return Some((zone.instant(valid_date(year, 1, 1)?, 0), 0));
    }
    let day = date_part(&mut cursor)?;
    if digits == 14 {
        let mut part = || cursor.number(1, 2);
        let time = time_of_day(part()?, part()?, part()?)?;
        return cursor.0.is_empty().then(|| (zone.instant(day, time), 0));
    }
    if cursor.0.is_empty() {
        return Some((zone.instant(day, 0), 0));
    }
    cursor.one_of(b" Tt")?;
    let (time, nanoseconds) = time_part(&mut cursor)?;
    let seconds = match offset(&mut cursor)? {
        Some(offset) => i64::from(day) * DAY + time - offset,
        None => zone.instant(day, time),
    };
    cursor.0.is_empty().then_some((seconds, nanoseconds))
}

/// Digits of Unix time, with a fraction perhaps. 13 of them are milliseconds, 16 microseconds, 19 nanoseconds; other counts
/// from 11 on are none.
fn unix_time(text: &[u8], digits: usize) -> Option<(i64, u32)> {
    let number: i64 = std::str::from_utf8(&text[..digits]).ok()?.parse().ok()?;
    let per_second = match digits {
        ..=10 => 1,
        13 => 1_000,
        16 => 1_000_000,
        19 => 1_000_000_000,
        _ => return None,
    };
    let seconds = number.div_euclid(per_second);
    if per_second > 1 {
        let part = number.rem_euclid(per_second) * (1_000_000_000 / per_second);
        return (digits == text.len()).then_some((seconds, u32::try_from(part).ok()?));
    }
    let mut cursor = Cursor(&text[digits..]);
    let nanoseconds = if cursor.one_of(b".").is_some() { fraction(&mut cursor)? } else { 0 };
    cursor.0.is_empty().then_some((seconds, nanoseconds))
}

/// `Z`, `+hh`, `+hhmm`, `+hh:mm`: seconds east, if there is one.
#[expect(clippy::option_option, reason = "none, wrong and found are three things")]
fn offset(cursor: &mut Cursor) -> Option<Option<i64>> {
    if cursor.one_of(b"Zz").is_some() {
        return Some(Some(0));
    }
    let Some(sign) = cursor.one_of(b"+-") else { return Some(None) };
    let hours = cursor.number(1, 2)?;
    cursor.one_of(b":");
    let minutes = cursor.number(1, 2).unwrap_or(0);
    let seconds = i64::from(hours * 3600 + minutes * 60);
    Some(Some(if sign == b'-' { -seconds } else { seconds }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every line was given to ClickHouse 26.9.
    #[test]
    fn instants_are_read_as_clickhouse_reads_them() {
        let utc = Zone::UTC;
        let cases: &[(&str, i64)] = &[
            ("2024-01-05 10:11:12", 1_704_449_472),
            ("2024-01-05T10:11:12", 1_704_449_472),
            ("2024-01-05T10:11:12Z", 1_704_449_472),
            ("2024-01-05 10:11:12+01:00", 1_704_445_872),
            ("2024-01-05", 1_704_412_800),
            ("2024-01-05 10:11", 1_704_449_460),
            ("2024-01-05 10", 1_704_448_800),
            ("2024-1-5 1:2:3", 1_704_416_523),
            ("20240105101112", 1_704_449_472),
            ("1704449472", 1_704_449_472),
            ("2024", 1_704_067_200),
            ("2024-01-05 10:11:12.999", 1_704_449_472),
            ("2024-01-05 10:11:12 ", 1_704_449_472),
        ];
        for (text, seconds) in cases {
            assert_eq!(date_time(text.as_bytes(), &utc).map(|t| t.0), Some(*seconds), "{text}");
        }
        for text in
            ["abc", "", "2024-01-32 10:11:12", "2024-01-05x", "2024-01-05 10:11:12+", "1.2.3"]
        {
            assert_eq!(date_time(text.as_bytes(), &utc), None, "{text}");
        }
        assert_eq!(date_time(b"1704449472.123", &utc), Some((1_704_449_472, 123_000_000)));
    }

    #[test]
    fn times_that_are_skipped_or_shown_twice_are_those_of_clickhouse() {
        let berlin = Zone::named("Europe/Berlin").unwrap();
        assert_eq!(date_time(b"2024-03-31 02:30:00", &berlin), Some((1_711_845_000, 0)));
        assert_eq!(date_time(b"2024-10-27 02:30:00", &berlin), Some((1_729_989_000, 0)));
    }

    #[test]
    fn dates() {
        for text in ["2024-01-05", "2024-1-5", "2024/01/05", "20240105", "2024-01-05 10:11:12"] {
            assert_eq!(date(text.as_bytes()), Some(19_727), "{text}");
        }
        for text in
            ["2024-01-05T10:11:12Z", "abc", "", "19797", "2024-01-05x", "2024-13-05", "2024-02-30"]
        {
            assert_eq!(date(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn numbers() {
        assert_eq!(integer(b"+12", false), Some(12));
        assert_eq!(integer(b"-1", true).map(|n| n as i64), Some(-1));
        assert_eq!(integer(b"99999999999999999999999", false), Some(200_376_420_520_689_663));
        for text in ["", "-1", "12 ", " 12", "1.5", "1e1", "+"] {
            assert_eq!(integer(text.as_bytes(), false), None, "{text:?}");
        }
        assert_eq!(float(b"1."), Some(1.0));
        assert_eq!(float(b".5"), Some(0.5));
        assert_eq!(float(b"1e3"), Some(1000.0));
        assert!(float(b"nan").is_some_and(f64::is_nan));
        for text in ["", "abc", " 1", "0x10", "1_0"] {
            assert_eq!(float(text.as_bytes()), None, "{text:?}");
        }
    }
}
