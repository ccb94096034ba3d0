//! Dates and times in the notations of letters and forms (`Sat, 18 Aug 2018 07:22:16 GMT`, `23/10/2020 12:12`), written as
//! `YYYY-MM-DD hh:mm:ss`.

use super::pattern::{MONTHS, WEEKDAYS};
use super::value::time::Cursor;

/// Which number of `01/02/2020` is the month, unless it cannot be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The second.
    DayFirst,
    /// The first, as in the United States.
    MonthFirst,
}

/// The same moment as other readers know it; `None` if the text is in none of these notations.
pub(super) fn rewritten(text: &[u8], order: Order) -> Option<Vec<u8>> {
    let mut cursor = Cursor(text.trim_ascii());
    weekday(&mut cursor)?;
    let (year, month, day) = date(&mut cursor, order)?;
    let mut out = format!("{year:04}-{month:02}-{day:02}");
    if !cursor.0.is_empty() {
        cursor.one_of(b" T")?;
        out.push_str(&time(&mut cursor)?);
    }
    cursor.0.is_empty().then(|| out.into_bytes())
}

/// Takes letters off the front.
fn letters<'a>(cursor: &mut Cursor<'a>) -> &'a [u8] {
    let count = cursor.0.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let (word, rest) = cursor.0.split_at(count);
    cursor.0 = rest;
    word
}

/// The place of a name of which the first three letters, or all, are written.
fn named(names: &[&str], word: &[u8]) -> Option<usize> {
    names.iter().position(|name| {
        let name = name.as_bytes();
        name.eq_ignore_ascii_case(word)
            || name.get(..3).is_some_and(|short| short.eq_ignore_ascii_case(word))
    })
}

/// A day of the week at the front says nothing that the date does not.
fn weekday(cursor: &mut Cursor) -> Option<()> {
    let before = cursor.0;
    if named(&WEEKDAYS, letters(cursor)).is_none() {
        cursor.0 = before;
        return Some(());
    }
    cursor.one_of(b",");
    cursor.one_of(b" ").map(|_| ())
}

fn month(cursor: &mut Cursor) -> Option<u32> {
    let found = named(&MONTHS, letters(cursor))?;
    u32::try_from(found).ok().map(|month| month + 1)
}

/// Year, month, day.
fn date(cursor: &mut Cursor, order: Order) -> Option<(u32, u32, u32)> {
    let digits = cursor.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        // `Aug 18 2018`, `Aug 18, 2018`
        let month = month(cursor)?;
        cursor.one_of(b" ")?;
        let day = cursor.number(1, 2)?;
        cursor.one_of(b",");
        cursor.one_of(b" ")?;
        return Some((cursor.number(4, 4)?, month, day));
    }
    if digits == 4 {
        let year = cursor.number(4, 4)?;
        let separator = cursor.one_of(b"-/.")?;
        let month = cursor.number(1, 2)?;
        cursor.one_of(&[separator])?;
        return Some((year, month, cursor.number(1, 2)?));
    }
    let first = cursor.number(1, 2).filter(|_| digits <= 2)?;
    let separator = cursor.one_of(b"-/. ")?;
    if cursor.0.first().is_some_and(u8::is_ascii_alphabetic) {
        // With other separators, ClickHouse takes the name for something else where months come first.
        let month = month(cursor)?;
        cursor.one_of(&[separator])?;
        let is_clear = order == Order::DayFirst || separator == b' ';
        return Some((cursor.number(4, 4).filter(|_| is_clear)?, month, first));
    }
    if separator == b' ' {
        return None;
    }
    let second = cursor.number(1, 2)?;
    cursor.one_of(&[separator])?;
    let year = cursor.number(4, 4)?;
    // The other order counts where this one cannot be meant.
    let is_month_first = match order {
        Order::MonthFirst => first <= 12,
        Order::DayFirst => second > 12 && first <= 12,
    };
    Some(if is_month_first { (year, first, second) } else { (year, second, first) })
}

/// A time of day with what may follow it, after a blank.
fn time(cursor: &mut Cursor) -> Option<String> {
    let mut hour = cursor.number(1, 2)?;
    cursor.one_of(b":")?;
    let minute = cursor.number(2, 2)?;
    let second = match cursor.one_of(b":") {
        Some(_) => cursor.number(2, 2)?,
        None => 0,
    };
    let mut fraction = String::new();
    if cursor.0.first() == Some(&b'.') {
        let count = cursor.0.iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = cursor.0.split_at_checked(count + 1)?;
        fraction = String::from_utf8_lossy(digits).into_owned();
        cursor.0 = rest;
    }
    let mut zone = String::new();
    while !cursor.0.is_empty() {
        cursor.one_of(b" ");
        match letters(cursor).to_ascii_uppercase().as_slice() {
            b"AM" if hour == 12 => hour = 0,
            b"AM" if hour < 12 => {}
            b"PM" if hour == 12 => {}
            b"PM" if hour < 12 => hour += 12,
            b"Z" | b"UTC" | b"GMT" if cursor.0.is_empty() && zone.is_empty() => zone.push('Z'),
            b"" if zone.is_empty() => {
                let sign = cursor.one_of(b"+-")?;
                let hours = cursor.number(2, 2)?;
                cursor.one_of(b":");
                let minutes = cursor.number(2, 2)?;
                zone = format!("{}{hours:02}:{minutes:02}", char::from(sign));
            }
            _ => return None,
        }
    }
    (hour < 24 && minute < 60 && second < 60)
        .then(|| format!(" {hour:02}:{minute:02}:{second:02}{fraction}{zone}"))
}

#[cfg(test)]
mod tests {
    use super::{Order, rewritten};

    #[test]
    fn notations_say_the_same() {
        for (text, wanted) in [
            ("Sat, 18 Aug 2018 07:22:16 GMT", "2018-08-18 07:22:16Z"),
            ("18 August 2018", "2018-08-18"),
            ("Aug 18, 2018 1:05 PM", "2018-08-18 13:05:00"),
            ("23/10/2020 12:12:57", "2020-10-23 12:12:57"),
        ] {
            let found = rewritten(text.as_bytes(), Order::DayFirst);
            assert_eq!(found.as_deref(), Some(wanted.as_bytes()), "{text}");
        }
        assert_eq!(rewritten(b"02/10/2025", Order::MonthFirst).unwrap(), b"2025-02-10");
        assert_eq!(rewritten(b"15/08/2025", Order::MonthFirst).unwrap(), b"2025-08-15");
        assert_eq!(rewritten(b"08/2025", Order::DayFirst), None);
    }
}
