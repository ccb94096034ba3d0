//! The words after a large number, in formats for people: `-- 12.35 million`.

use tambour_function::value::readable::{QUANTITIES, readable};

/// Numbers up to this one need no words.
const THRESHOLD: f64 = 1e6;
/// From this number to the next ClickHouse writes no words.
const GAP_START: f64 = 1e17;
const GAP_END: f64 = 18_446_744_073_709_551_615.0;
/// The words for a number as it is written.
pub(super) fn tip(text: &[u8]) -> Option<String> {
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let is_in_gap = value.abs() > GAP_START && value.abs() <= GAP_END;
    if !value.is_finite() || value.abs() <= THRESHOLD || is_in_gap {
        return None;
    }
    Some(format!(" -- {}", readable(value, 1000.0, &QUANTITIES)))
}

#[cfg(test)]
mod tests {
    use super::tip;

    #[test]
    fn large_numbers_have_words() {
        assert_eq!(tip(b"1000000"), None);
        assert_eq!(tip(b"12345678").as_deref(), Some(" -- 12.35 million"));
        assert_eq!(tip(b"-1234567").as_deref(), Some(" -- -1.23 million"));
        assert_eq!(tip(b"1e21").as_deref(), Some(" -- 1.00 sextillion"));
        assert_eq!(tip(b"1000000000000000000"), None);
        assert_eq!(tip(b"20000000000000000000").as_deref(), Some(" -- 20.00 quintillion"));
        assert_eq!(tip(b"inf"), None);
    }
}
