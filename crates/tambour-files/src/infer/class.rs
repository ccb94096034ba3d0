//! What one text looks like.

use tambour_function::value::time::{DateOrder, Moment, Orders, moment, orders};
use tambour_function::value::{address, number};

/// What a text looks like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Class {
    /// `true` or `false`; never 0 and 1.
    Bool,
    /// An integer of up to 64 bits, without leading zeros.
    Int {
        negative: bool,
        magnitude: u64,
    },
    /// An integer of more digits; no float, since that would lose some.
    LongInt,
    Float,
    /// A date, or a date and time if the moment has one; read in the first of the possible orders.
    Date {
        orders: Orders,
        moment: Moment,
    },
    Uuid,
    /// What stands for NULL in columns of numbers and dates, and is a word elsewhere.
    Marker,
    Text,
}

/// Spellings of NULL that count in columns of numbers, dates and other values with a form.
const MARKERS: [&[u8]; 9] =
    [b"NULL", b"null", b"Null", b"NA", b"N/A", b"n/a", b"#N/A", b"None", b"\\N"];

/// Whether a text stands for NULL in a column that is not text.
pub(crate) fn is_marker(text: &[u8]) -> bool {
    text.len() <= 4 && MARKERS.contains(&text)
}

/// Whether a text is a truth value in the spellings that inference accepts.
pub(crate) fn truth(text: &[u8]) -> Option<bool> {
    match text {
        b"true" | b"True" | b"TRUE" => Some(true),
        b"false" | b"False" | b"FALSE" => Some(false),
        _ => None,
    }
}

/// Looks at a text that is not empty.
pub(crate) fn classify(text: &[u8]) -> Class {
    let Some(&first) = text.first() else { return Class::Text };
    match first {
        b'0'..=b'9' => digits(text),
        b'-' | b'.' => numeric(text).unwrap_or(Class::Text),
        _ => word(text),
    }
}

/// A text that a writer of JSON put into quotes: no number then, but perhaps a date or a UUID.
pub(crate) fn classify_quoted(text: &[u8]) -> Class {
    temporal(text).or_else(|| uuid(text)).unwrap_or(Class::Text)
}

fn digits(text: &[u8]) -> Class {
    // Dates have a separator early and a number has none there; this keeps the common case short.
    let separated = text.iter().take(5).any(|byte| matches!(byte, b'-' | b'/' | b'.'));
    if separated && let Some(class) = temporal(text) {
        return class;
    }
    numeric(text).or_else(|| uuid(text)).unwrap_or(Class::Text)
}

fn temporal(text: &[u8]) -> Option<Class> {
    if !(8..=40).contains(&text.len()) || !text[0].is_ascii_digit() {
        return None;
    }
    let orders = orders(text)?;
    let first = [DateOrder::Iso, DateOrder::DayFirst, DateOrder::MonthFirst]
        .into_iter()
        .find_map(|order| moment(text, order))?;
    Some(Class::Date { orders, moment: first })
}

fn uuid(text: &[u8]) -> Option<Class> {
    (text.len() == 36 && address::uuid(text).is_ok()).then_some(Class::Uuid)
}

fn numeric(text: &[u8]) -> Option<Class> {
    if let Ok((negative, magnitude)) = number::small(text, true)
        && (!negative || magnitude <= 1 << 63)
    {
        return Some(Class::Int { negative, magnitude });
    }
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if digits.iter().all(u8::is_ascii_digit) {
        // Leading zeros make a code of it.
        return (digits.len() > 18 && digits[0] != b'0').then_some(Class::LongInt);
    }
    number::float(text, true).is_ok().then_some(Class::Float)
}

fn word(text: &[u8]) -> Class {
    if is_marker(text) {
        return Class::Marker;
    }
    if truth(text).is_some() {
        return Class::Bool;
    }
    if [&b"nan"[..], b"inf", b"infinity"].iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Class::Float;
    }
    uuid(text).unwrap_or(Class::Text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_agree() {
        let class = |text: &str| classify(text.as_bytes());
        assert_eq!(class("12"), Class::Int { negative: false, magnitude: 12 });
        assert_eq!(class("-12"), Class::Int { negative: true, magnitude: 12 });
        assert_eq!(
            class("18446744073709551615"),
            Class::Int { negative: false, magnitude: u64::MAX }
        );
        assert_eq!(class("-9223372036854775809"), Class::LongInt);
        assert_eq!(class("18446744073709551616"), Class::LongInt);
        for float in ["1.5", "-0.1", ".5", "5.", "1e5", "-1E-5", "nan", "NaN", "inf", "-inf"] {
            assert_eq!(class(float), Class::Float, "{float}");
        }
        for text in
            ["02134", "00.5", "+49", "1,234", "0x1f", "1 2", "-", ".", "a", "12:30", "1.2.3", "--1"]
        {
            assert_eq!(class(text), Class::Text, "{text}");
        }
        for text in ["true", "False", "TRUE"] {
            assert_eq!(class(text), Class::Bool);
        }
        for text in ["NA", "NULL", "n/a", "None"] {
            assert_eq!(class(text), Class::Marker);
        }
        assert_eq!(class("61f0c404-5cb3-11e7-907b-a6006ad3dba0"), Class::Uuid);
        assert_eq!(class("f1f0c404-5cb3-11e7-907b-a6006ad3dba0"), Class::Uuid);
        assert!(matches!(class("2024-01-31"), Class::Date { .. }));
        assert!(matches!(class("1/8/1990 0:00:00"), Class::Date { .. }));
        assert!(matches!(class("1.8.1990"), Class::Date { .. }));
    }
}
