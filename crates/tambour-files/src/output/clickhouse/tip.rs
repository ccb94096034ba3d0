//! The words after a large number, in formats for people: `-- 12.35 million`.

/// Numbers up to this one need no words.
const THRESHOLD: f64 = 1e6;
/// Integers of more digits get no words.
const DIGITS_MAX: usize = 18;

const UNITS: [&str; 12] = [
    "",
    " thousand",
    " million",
    " billion",
    " trillion",
    " quadrillion",
    " quintillion",
    " sextillion",
    " septillion",
    " octillion",
    " nonillion",
    " decillion",
];

/// The words for a number as it is written.
pub(super) fn tip(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?;
    let is_integer = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if is_integer && text.trim_start_matches('-').len() > DIGITS_MAX {
        return None;
    }
    let mut value: f64 = text.parse().ok()?;
    if !value.is_finite() || value.abs() <= THRESHOLD {
        return None;
    }
    let mut unit = 0;
    while value.abs() >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    Some(format!(" -- {value:.2}{}", UNITS[unit]))
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
        assert_eq!(tip(b"inf"), None);
    }
}
