//! Numbers as people read them.

use std::time::Duration;

/// Bytes in powers of 1000 with two decimals: `1.60 MB`.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KB", "MB", "GB", "TB", "PB", "EB"];
    scaled(count as f64, &UNITS, if count < 1000 { 0 } else { 2 })
}

/// A count as ClickHouse says it: `834`, `8.34 thousand`, `10.00 million`.
pub(crate) fn count(count: u64) -> String {
    rate(count as f64)
}

/// A rate or other number that may have decimals.
pub(crate) fn rate(value: f64) -> String {
    const UNITS: [&str; 5] = ["", "thousand", "million", "billion", "trillion"];
    scaled(value, &UNITS, if value < 1000.0 { 0 } else { 2 }).trim_end().to_owned()
}

/// Bytes per second, also fractions.
pub(crate) fn byte_rate(value: f64) -> String {
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
pub(crate) fn grouped(count: u64) -> String {
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
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// How many times smaller: `3.42x`; a dash if there is nothing to compare.
pub(crate) fn ratio(large: u64, small: u64) -> String {
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
pub(crate) fn seconds(time: Duration) -> String {
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
pub(crate) fn per_second(count: u64, time: Duration) -> f64 {
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
}
