//! Numbers as people read and write them.

use std::str::FromStr;
use std::time::Duration;

/// A number of bytes: `1GiB`, `512MB`, `64k`, `4096`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteSize(pub u64);

/// Units in lower case; a bare letter is the binary unit, as in most tools that take sizes.
const UNITS: [(&str, u64); 14] = [
    ("", 1),
    ("b", 1),
    ("k", 1 << 10),
    ("kib", 1 << 10),
    ("kb", 1_000),
    ("m", 1 << 20),
    ("mib", 1 << 20),
    ("mb", 1_000_000),
    ("g", 1 << 30),
    ("gib", 1 << 30),
    ("gb", 1_000_000_000),
    ("t", 1 << 40),
    ("tib", 1 << 40),
    ("tb", 1_000_000_000_000),
];

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let unit = unit.trim().to_ascii_lowercase();
        let Some(&(_, factor)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(
                "a size is a number with a unit: B, KB, KiB, MB, MiB, GB, GiB, TB, TiB".to_owned()
            );
        };
        let size = match number.parse::<u64>() {
            Ok(whole) => whole.checked_mul(factor),
            Err(_) => fraction(number, factor),
        };
        match size {
            Some(0) => Err("a size of zero is of no use".to_owned()),
            Some(size) => Ok(Self(size)),
            None => Err("not a number of bytes that fits".to_owned()),
        }
    }
}

/// `1.5` times a unit; `None` if it is no number or too large.
fn fraction(number: &str, factor: u64) -> Option<u64> {
    let value = number.parse::<f64>().ok()? * factor as f64;
    #[expect(clippy::cast_possible_truncation, reason = "checked to be below 2^63")]
    (1.0..9.2e18).contains(&value).then_some(value as u64)
}

/// Bytes in powers of 1000 with two decimals: `1.60 MB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KB", "MB", "GB", "TB", "PB", "EB"];
    scaled(count as f64, &UNITS, if count < 1000 { 0 } else { 2 })
}

/// A count as ClickHouse says it: `834`, `8.34 thousand`, `10.00 million`.
pub fn count(count: u64) -> String {
    rate(count as f64)
}

/// A rate or other number that may have decimals.
pub fn rate(value: f64) -> String {
    const UNITS: [&str; 5] = ["", "thousand", "million", "billion", "trillion"];
    scaled(value, &UNITS, if value < 1000.0 { 0 } else { 2 }).trim_end().to_owned()
}

/// Bytes per second, also fractions.
pub fn byte_rate(value: f64) -> String {
    const UNITS: [&str; 5] = ["B/s.", "KB/s.", "MB/s.", "GB/s.", "TB/s."];
    scaled(value, &UNITS, 2)
}

fn scaled(value: f64, units: &[&str], decimals: usize) -> String {
    let mut value = if value.is_finite() { value } else { 0.0 };
    let mut unit = units.first().copied().unwrap_or_default();
    for next in units.iter().skip(1) {
        // What would be rounded to 1000.00 is the next unit's 1.00 already.
        if value < 999.995 {
            break;
        }
        value /= 1000.0;
        unit = next;
    }
    format!("{value:.decimals$} {unit}")
}

/// A whole number with its digits in groups: `67,663`.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A word with its number: `1 part`, `2 parts`.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// How many times smaller: `3.42x`; a dash if there is nothing to compare.
pub fn ratio(large: u64, small: u64) -> String {
    if large == 0 || small == 0 {
        return "-".to_owned();
    }
    let ratio = large as f64 / small as f64;
    let decimals = if ratio >= 100.0 {
        0
    } else if ratio >= 10.0 {
        1
    } else {
        2
    };
    format!("{ratio:.decimals$}x")
}

/// Seconds: `0.012 s`, `12.3 s`, `4 min 05 s`.
pub fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 10.0 {
        format!("{seconds:.3} s")
    } else if seconds < 120.0 {
        format!("{seconds:.1} s")
    } else {
        format!("{} min {:02} s", time.as_secs() / 60, time.as_secs() % 60)
    }
}

/// Something per second; zero if no time passed.
pub fn per_second(count: u64, time: Duration) -> f64 {
    let seconds = time.as_secs_f64();
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_counts() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1_600_864), "1.60 MB");
        assert_eq!(bytes(999_999), "1.00 MB");
        assert_eq!(bytes(u64::MAX), "18.45 EB");
        assert_eq!(count(3), "3");
        assert_eq!(count(67_663), "67.66 thousand");
        assert_eq!(count(10_000_000), "10.00 million");
        assert_eq!(byte_rate(6.67e9), "6.67 GB/s.");
        assert_eq!(rate(f64::INFINITY), "0.00");
    }

    #[test]
    fn groups_and_words() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(67_663_000), "67,663,000");
        assert_eq!(counted(1, "row", "rows"), "1 row");
        assert_eq!(counted(0, "row", "rows"), "0 rows");
    }

    #[test]
    fn ratios_and_times() {
        assert_eq!(ratio(342, 100), "3.42x");
        assert_eq!(ratio(0, 10), "-");
        assert_eq!(ratio(1234, 1), "1234x");
        assert_eq!(seconds(Duration::from_millis(12)), "0.012 s");
        assert_eq!(seconds(Duration::from_secs(245)), "4 min 05 s");
        assert!(per_second(5, Duration::ZERO).abs() < f64::EPSILON);
    }

    #[test]
    fn sizes_with_every_unit() {
        let size = |text: &str| text.parse::<ByteSize>().map(|size| size.0);
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(size("1GiB"), Ok(1 << 30));
        assert_eq!(size("1 gib"), Ok(1 << 30));
        assert_eq!(size("512MB"), Ok(512_000_000));
        assert_eq!(size("1.5KiB"), Ok(1536));
        assert_eq!(size("64k"), Ok(65536));
    }

    #[test]
    fn sizes_that_are_none() {
        for text in [
            "",
            "GiB",
            "-1",
            "1XB",
            "0",
            "1e9",
            "99999999999999999999",
            "18446744073709551615KiB",
            "1.2.3",
        ] {
            assert!(text.parse::<ByteSize>().is_err(), "{text:?}");
        }
    }
}
