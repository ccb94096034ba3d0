//! Names of files: escaping, and what becomes of a name that is too long.

use std::borrow::Cow;
use std::fmt::Write;
use tambour_kernel::hash::sip_hash_128;

/// Longest stem of a stream's file in bytes; a longer one is replaced by its hash. ClickHouse's `max_file_name_length`.
pub const STEM_BYTES_MAX: usize = 127;

/// Escapes a column's name for use in file names: letters, digits and `_` stay, all other bytes become `%XX`.
///
/// ```
/// use tambour_part::name::escape;
/// assert_eq!(escape("page views"), "page%20views");
/// ```
pub fn escape(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'_' {
            escaped.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

/// The name after an escaped one; `None` if it is no valid escape of UTF-8.
///
/// ```
/// use tambour_part::name::unescape;
/// assert_eq!(unescape("page%20views").as_deref(), Some("page views"));
/// assert_eq!(unescape("page%2"), None);
/// ```
pub fn unescape(escaped: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut rest = escaped.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        if byte == b'%' {
            let (digits, tail) = tail.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = tail;
        } else {
            bytes.push(byte);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}

/// The stem under which a stream's files are written: the stream's name, or its hash if that is too long.
///
/// ```
/// use tambour_part::name::file_stem;
/// assert_eq!(file_stem("visits"), "visits");
/// assert_eq!(file_stem(&"long".repeat(50)).len(), 32, "a hash in hexadecimal");
/// ```
pub fn file_stem(stream: &str) -> Cow<'_, str> {
    if stream.len() <= STEM_BYTES_MAX { Cow::Borrowed(stream) } else { Cow::Owned(hashed(stream)) }
}

/// The hash that stands for a long name: `SipHash128`, bytes reversed, lower-case hex.
pub fn hashed(stream: &str) -> String {
    let mut bytes = sip_hash_128(stream.as_bytes());
    bytes.reverse();
    hex(&bytes)
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// True for a name that can only be a file or directory inside the part: not empty, no separator, no `.` or `..`, no NUL.
pub(crate) fn is_plain(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\\', '\0'])
}

/// First and last day, each `YYYYMMDD`, of a part's name in the syntax before 2018, and what follows them:
/// `<first>_<last>_<min block>_<max block>_<level>`, and maybe the number of a mutation. Such parts have no
/// `partition.dat`: their key is always the month of a date, so that both days are of one month.
///
/// ```
/// use tambour_part::name::days_of_old_name;
/// assert_eq!(days_of_old_name("20140317_20140323_2_2_0"), Some(((20_140_317, 20_140_323), "2_2_0")));
/// assert_eq!(days_of_old_name("20240317_2_2_0"), None);
/// assert_eq!(days_of_old_name("20240317_20240320_20240321_1_20240325"), None, "a partition by day");
/// ```
pub fn days_of_old_name(name: &str) -> Option<((u32, u32), &str)> {
    let day = |text: &str| {
        let is_day = text.len() == 8 && text.bytes().all(|b| b.is_ascii_digit());
        let number: u32 = is_day.then(|| text.parse().ok())??;
        ((1..=12).contains(&(number / 100 % 100)) && (1..=31).contains(&(number % 100)))
            .then_some(number)
    };
    let (first, rest) = name.split_once('_')?;
    let (last, rest) = rest.split_once('_')?;
    let (first, last) = (day(first)?, day(last)?);
    let numbers = rest.split('_').map(|n| n.parse::<u64>().ok()).collect::<Option<Vec<_>>>()?;
    // A partition by day whose blocks have eight digits looks alike, but for the order of the blocks.
    let has_blocks = matches!(numbers.len(), 3 | 4) && numbers.first() <= numbers.get(1);
    let is_old = has_blocks && first <= last && first / 100 == last / 100;
    is_old.then_some(((first, last), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_byte_by_byte() {
        for (name, escaped) in [
            ("plain_Name9", "plain_Name9"),
            ("nest.x", "nest%2Ex"),
            ("\u{fc}", "%C3%BC"),
            ("a b/..", "a%20b%2F%2E%2E"),
        ] {
            assert_eq!(escape(name), escaped);
            assert_eq!(unescape(escaped).as_deref(), Some(name));
        }
        assert_eq!(unescape("%2"), None);
        assert_eq!(unescape("%zz"), None);
        assert_eq!(unescape("%FF"), None);
    }

    #[test]
    fn a_long_name_is_replaced_by_its_reversed_hash() {
        let escaped = escape(&"\u{e9}".repeat(30));
        assert_eq!(escaped.len(), 180);
        assert!(file_stem(&escaped).starts_with("84d14789"));
        assert_eq!(file_stem(&"x".repeat(127)), "x".repeat(127));
        assert_eq!(file_stem(&"x".repeat(128)).len(), 32);
    }

    #[test]
    fn names_that_lead_elsewhere_are_not_plain() {
        for name in ["", ".", "..", "a/b", "../x", "a\0", "a\\b"] {
            assert!(!is_plain(name), "{name:?}");
        }
        assert!(is_plain("..a") && is_plain("k.bin"));
    }
}
