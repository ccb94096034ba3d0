//! Spans of time and sizes as people write them. The units, their lengths and the rounding are ClickHouse's: a year has 365
//! days, a month 30.5.

/// A unit of time, by its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unit(usize);

/// Units of readable spans, smallest first: the singular, and how many nanoseconds one has.
const UNITS: [(&str, f64); 9] = [
    ("nanosecond", 1.0),
    ("microsecond", 1e3),
    ("millisecond", 1e6),
    ("second", 1e9),
    ("minute", 60e9),
    ("hour", 3_600e9),
    ("day", 86_400e9),
    ("month", 2_635_200e9),
    ("year", 31_536_000e9),
];

impl Unit {
    /// Seconds, below which spans are not shown unless asked for.
    pub const SECONDS: Self = Self(3);
    /// Years.
    pub const YEARS: Self = Self(8);

    /// The unit of this name, in the plural.
    ///
    /// ```
    /// use tambour_value::delta::Unit;
    /// assert_eq!(Unit::named("years"), Some(Unit::YEARS));
    /// assert_eq!(Unit::named("year"), None);
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        let singular = name.strip_suffix('s')?;
        UNITS.iter().position(|(unit, _)| *unit == singular).map(Self)
    }
}

/// Longest span whose seconds a float counts one by one.
pub const SECONDS_MAX: f64 = 9_007_199_254_740_992.0;

/// A span of seconds in words, from the largest unit to the smallest. Those of more than [`SECONDS_MAX`] are not exact.
///
/// ```
/// use tambour_value::delta::{Unit, readable};
/// let all = |seconds| readable(seconds, Unit::YEARS, Unit::SECONDS);
/// assert_eq!(all(90_061.5), "1 day, 1 hour, 1 minute and 1 second");
/// assert_eq!(all(-5.0), "-5 seconds");
/// assert_eq!(all(0.1), "0 seconds");
/// ```
pub fn readable(seconds: f64, largest: Unit, smallest: Unit) -> String {
    if !seconds.is_finite() {
        let mut text = Vec::new();
        crate::print::float64(seconds, &mut text);
        return String::from_utf8_lossy(&text).into_owned();
    }
    let sign = if seconds < 0.0 { "-" } else { "" };
    let (whole, fraction) = (seconds.abs().trunc(), seconds.abs().fract());
    let mut parts = Vec::new();
    take(whole, 1e9, Unit::SECONDS.max(smallest), largest, &mut parts);
    if parts.is_empty() && largest >= Unit::SECONDS {
        parts.push(format!("0 {}s", name(Unit::SECONDS.max(smallest))));
    }
    let below = Unit::SECONDS.0 - 1;
    if smallest.0 <= below {
        let rest = if largest < Unit::SECONDS { seconds.abs() } else { fraction };
        take(rest * 1e9, 1.0, smallest, Unit(below.min(largest.0)), &mut parts);
    }
    match parts.as_slice() {
        [] => format!("0 {}s", name(smallest)),
        [only] => format!("{sign}{only}"),
        [first @ .., last] => format!("{sign}{} and {last}", first.join(", ")),
    }
}

fn name(unit: Unit) -> &'static str {
    UNITS.get(unit.0).map_or("second", |(name, _)| name)
}

/// Adds how many of each unit there are in a span of ticks, if there are any.
fn take(mut ticks: f64, per_tick: f64, smallest: Unit, largest: Unit, parts: &mut Vec<String>) {
    for (name, length) in UNITS.iter().take(largest.0 + 1).skip(smallest.0).rev() {
        let length = length / per_tick;
        let whole = (ticks / length).trunc();
        ticks -= whole * length;
        if whole > 0.0 {
            // Whole numbers: less than two is one.
            let plural = if whole < 2.0 { "" } else { "s" };
            parts.push(format!("{whole} {name}{plural}"));
        }
    }
}

/// Words for units, and how many seconds one has.
const WORDS: [(&[&str], f64); 10] = [
    (&["years", "year", "yr", "y"], 31_536_000.0),
    (&["months", "month", "mo"], 2_635_200.0),
    (&["weeks", "week", "w"], 604_800.0),
    (&["days", "day", "d"], 86_400.0),
    (&["hours", "hour", "hr", "h"], 3_600.0),
    (&["minutes", "minute", "min", "m"], 60.0),
    (&["seconds", "second", "sec", "s"], 1.0),
    (&["milliseconds", "millisecond", "millisec", "ms"], 1e-3),
    (&["microseconds", "microsecond", "microsec", "\u{3bc}s", "\u{b5}s", "us"], 1e-6),
    (&["nanoseconds", "nanosecond", "nanosec", "ns"], 1e-9),
];

/// The seconds of numbers with units (`11s+22min`); `None` for anything else.
///
/// ```
/// use tambour_value::delta::parse;
/// assert_eq!(parse(b"11s+22min"), Some(1_331.0));
/// assert_eq!(parse(b"11"), None);
/// ```
pub fn parse(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?.trim_matches(' ');
    let mut rest = text;
    let mut sum = 0.0;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        let (number, after) = rest.split_at_checked(digits)?;
        let number: f64 = number.parse().ok().filter(|_| !number.starts_with('.'))?;
        let after = after.trim_start_matches(' ');
        let letters = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
        let (word, after) = after.split_at_checked(letters)?;
        let word = word.to_lowercase();
        let (_, length) = WORDS.iter().find(|(words, _)| words.contains(&word.as_str()))?;
        sum += number * length;
        let trimmed = after.trim_start_matches(' ');
        rest = match trimmed.strip_prefix([';', '-', '+', ',', ':']) {
            Some(next) => {
                let next = next.trim_start_matches(' ');
                if next.is_empty() {
                    return None;
                }
                next
            }
            None => trimmed,
        };
    }
    (!text.is_empty()).then_some(sum)
}

/// Units of bytes and what one is.
const SIZES: [(&str, u64); 13] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("PiB", 1 << 50),
    ("EiB", 1 << 60),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("PB", 1_000_000_000_000_000),
    ("EB", 1_000_000_000_000_000_000),
];

/// The bytes of a size with its unit, rounded up; `None` if the text is not one.
///
/// ```
/// use tambour_value::delta::parse_size;
/// assert_eq!(parse_size(b"1.5 KiB"), Some(1_536));
/// assert_eq!(parse_size(b"1 kg"), None);
/// ```
pub fn parse_size(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    if let Some(exponent) = text.get(end..)?.strip_prefix(['e', 'E']) {
        let unsigned = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        if digits(unsigned) > 0 {
            end += 1 + (exponent.len() - unsigned.len()) + digits(unsigned);
        }
    }
    let (number, unit) = text.split_at_checked(end)?;
    let number: f64 = number.parse().ok()?;
    let unit = unit.trim_start_matches(' ');
    let (_, factor) = SIZES.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "compared with the largest size before"
    )]
    {
        let bytes = (number * *factor as f64).ceil();
        (bytes < u64::MAX as f64).then_some(bytes as u64)
    }
}
