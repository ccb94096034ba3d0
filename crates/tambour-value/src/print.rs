//! Numbers, dates and addresses as ClickHouse prints them.

use crate::civil;
use crate::zone::Zone;
use arrow_buffer::i256;
use std::io::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Writing into memory cannot fail.
macro_rules! put {
    ($target:expr, $($argument:tt)*) => {
        drop(write!($target, $($argument)*))
    };
}

/// A whole number.
pub fn unsigned(mut value: u64, target: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    target.extend_from_slice(&digits[at..]);
}

/// A whole number with its sign.
pub fn signed(value: i64, target: &mut Vec<u8>) {
    if value < 0 {
        target.push(b'-');
    }
    unsigned(value.unsigned_abs(), target);
}

/// Exactly `width` digits (more if the value has more).
fn padded(value: u64, width: usize, target: &mut Vec<u8>) {
    let mut limit = 1_u64;
    for _ in 1..width {
        limit *= 10;
        if value < limit {
            target.push(b'0');
        }
    }
    // The zeros in front were pushed from the right; they are all alike.
    unsigned(value, target);
}

/// The shortest digits that read back as the same float, in ClickHouse's layout. `scientific` is Rust's `{:e}`.
fn shortest(scientific: &str, target: &mut Vec<u8>) {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let mantissa = match mantissa.strip_prefix('-') {
        Some(rest) => {
            target.push(b'-');
            rest
        }
        None => mantissa,
    };
    let digits = mantissa.bytes().filter(u8::is_ascii_digit);
    let count = digits.clone().count();
    if !(-6..21).contains(&exponent) {
        target.extend_from_slice(mantissa.as_bytes());
        target.push(b'e');
        signed(i64::from(exponent), target);
    } else if exponent < 0 {
        target.extend_from_slice(b"0.");
        target.extend(std::iter::repeat_n(b'0', (-1 - exponent) as usize));
        target.extend(digits);
    } else {
        let whole = exponent as usize + 1;
        target.extend(digits.clone().take(whole));
        if count > whole {
            target.push(b'.');
            target.extend(digits.skip(whole));
        } else {
            target.extend(std::iter::repeat_n(b'0', whole - count));
        }
    }
}

/// `nan`, `inf`; none for finite values.
fn not_finite(value: f64) -> Option<&'static [u8]> {
    if value.is_nan() {
        return Some(b"nan");
    }
    if value.is_finite() {
        return None;
    }
    Some(if value > 0.0 { b"inf" } else { b"-inf" })
}

/// The shortest digits that read back as the same float.
///
/// ```
/// use tambour_value::print::float64;
/// let mut text = Vec::new();
/// float64(0.1 + 0.2, &mut text);
/// assert_eq!(text, b"0.30000000000000004");
/// ```
pub fn float64(value: f64, target: &mut Vec<u8>) {
    match not_finite(value) {
        Some(word) => target.extend_from_slice(word),
        None => shortest(&even(format!("{value:e}"), value, |it| it.parse() == Ok(value)), target),
    }
}

/// [`float64`] in single precision.
pub fn float32(value: f32, target: &mut Vec<u8>) {
    if let Some(word) = not_finite(f64::from(value)) {
        target.extend_from_slice(word);
    } else {
        let text = format!("{value:e}");
        shortest(&even(text, value.into(), |it| it.parse() == Ok(value)), target);
    }
}

/// The shortest digits in the form `1.25e1`, halfway between two of them the even ones: Rust takes the greater ones there.
fn even(text: String, value: f64, is_same: impl Fn(&str) -> bool) -> String {
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    let (end, places) = (mantissa.len(), mantissa.split_once('.').map_or(0, |it| it.1.len()));
    let places = places as i64 - exponent.parse::<i64>().unwrap_or(0);
    let last = mantissa.as_bytes().last().copied().unwrap_or(b'0');
    // What has one binary place more than decimal ones are written ends with a 5 in the next one: it lies halfway.
    let bits = value.to_bits();
    let (low, scale) = ((bits & ((1 << 52) - 1)) | 1 << 52, ((bits >> 52) & 0x7ff) as i64);
    let binary_places = 1_075 - scale - i64::from(low.trailing_zeros());
    if places < 1 || binary_places != places + 1 || last % 2 == 0 {
        return text;
    }
    let digit = char::from(last - 1).to_string();
    let mut lesser = text.clone();
    lesser.replace_range(end - 1..end, &digit);
    if is_same(&lesser) { lesser } else { text }
}

/// An unscaled decimal, given by its digits; zeros at the end are left out.
fn point(text: &str, scale: usize, target: &mut Vec<u8>) {
    let digits = match text.strip_prefix('-') {
        Some(rest) => {
            target.push(b'-');
            rest
        }
        None => text,
    };
    let (whole, fraction) = digits.split_at(digits.len().saturating_sub(scale));
    target.extend_from_slice(if whole.is_empty() { b"0" } else { whole.as_bytes() });
    let significant = fraction.trim_end_matches('0');
    if !significant.is_empty() {
        target.push(b'.');
        target.extend(std::iter::repeat_n(b'0', scale - fraction.len()));
        target.extend_from_slice(significant.as_bytes());
    }
}

/// A decimal number, given by its unscaled integer.
///
/// ```
/// use tambour_value::print::decimal128;
/// let mut text = Vec::new();
/// decimal128(-1205, 2, &mut text);
/// assert_eq!(text, b"-12.05");
/// ```
pub fn decimal128(value: i128, scale: i8, target: &mut Vec<u8>) {
    decimal(&value.to_string(), scale, target);
}

/// [`decimal128`] with more digits.
pub fn decimal256(value: i256, scale: i8, target: &mut Vec<u8>) {
    decimal(&value.to_string(), scale, target);
}

fn decimal(text: &str, scale: i8, target: &mut Vec<u8>) {
    if let Ok(scale) = usize::try_from(scale) {
        point(text, scale, target);
        return;
    }
    // Arrow's negative scales: zeros before the point.
    target.extend_from_slice(text.as_bytes());
    if text != "0" {
        target.extend(std::iter::repeat_n(b'0', usize::from(scale.unsigned_abs())));
    }
}

/// A 256-bit integer of little-endian bytes.
// Quotients fit the words that they replace.
pub fn wide(bytes: &[u8], signed: bool, target: &mut Vec<u8>) {
    let mut value = [0; 32];
    value.copy_from_slice(bytes);
    if signed || value[31] < 0x80 {
        put!(target, "{}", i256::from_le_bytes(value));
        return;
    }
    // Above the signed range: by hand, nine digits at a time.
    let mut words: Vec<u32> = Vec::with_capacity(8);
    for word in value.chunks_exact(4) {
        words.push(u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    }
    let mut groups = Vec::new();
    while words.iter().any(|&word| word != 0) {
        let mut remainder = 0_u64;
        for word in words.iter_mut().rev() {
            let value = remainder << 32 | u64::from(*word);
            *word = (value / 1_000_000_000) as u32;
            remainder = value % 1_000_000_000;
        }
        groups.push(remainder);
    }
    unsigned(groups.pop().unwrap_or(0), target);
    while let Some(group) = groups.pop() {
        padded(group, 9, target);
    }
}

/// `YYYY-MM-DD`.
///
/// ```
/// let mut text = Vec::new();
/// tambour_value::print::date(19_813, &mut text);
/// assert_eq!(text, b"2024-03-31");
/// ```
pub fn date(days: i64, target: &mut Vec<u8>) {
    // The calendar repeats after 400 years, and covers one round of them.
    const ROUND: i64 = 146_097;
    let date = civil::from_days(days.rem_euclid(ROUND) as i32);
    let year = i64::from(date.year) + 400 * days.div_euclid(ROUND);
    if year < 0 {
        target.push(b'-');
    }
    padded(year.unsigned_abs(), 4, target);
    target.push(b'-');
    padded(u64::from(date.month), 2, target);
    target.push(b'-');
    padded(u64::from(date.day), 2, target);
}

/// How instants of a column are written.
#[derive(Clone, Debug)]
pub struct InstantPrinter {
    /// The zone whose clock is shown.
    pub zone: Zone,
    /// Digits of a tick.
    pub tick: u8,
    /// Digits of the fraction that is shown.
    pub precision: u8,
}

impl InstantPrinter {
    /// `YYYY-MM-DD hh:mm:ss`, with the fraction's digits.
    pub fn write(&self, ticks: i64, target: &mut Vec<u8>) {
        let per_second = 10_i64.pow(u32::from(self.tick));
        let (utc, fraction) = (ticks.div_euclid(per_second), ticks.rem_euclid(per_second));
        let (day, time) = self.zone.local(utc);
        date(day, target);
        let of_day = time as u64;
        for (separator, part) in
            [(b' ', of_day / 3_600), (b':', of_day / 60 % 60), (b':', of_day % 60)]
        {
            target.push(separator);
            padded(part, 2, target);
        }
        if self.precision > 0 {
            target.push(b'.');
            let dropped = 10_u64.pow(u32::from(self.tick.saturating_sub(self.precision)));
            padded(fraction as u64 / dropped, usize::from(self.precision.min(self.tick)), target);
        }
    }
}

/// A UUID in textual byte order.
pub fn uuid(bytes: &[u8], target: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            target.push(b'-');
        }
        target.extend([HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
    }
}

/// An IPv4 address.
///
/// ```
/// let mut text = Vec::new();
/// tambour_value::print::ipv4(0x7f00_0001, &mut text);
/// assert_eq!(text, b"127.0.0.1");
/// ```
pub fn ipv4(value: u32, target: &mut Vec<u8>) {
    put!(target, "{}", Ipv4Addr::from(value));
}

/// An IPv6 address.
pub fn ipv6(bytes: &[u8], target: &mut Vec<u8>) {
    let mut octets = [0; 16];
    octets.copy_from_slice(bytes);
    let address = Ipv6Addr::from(octets);
    match address.segments() {
        // The old IPv4-compatible form, which Rust's Display does not write.
        [0, 0, 0, 0, 0, 0, high, _] if high != 0 => {
            let [.., a, b, c, d] = octets;
            put!(target, "::{a}.{b}.{c}.{d}");
        }
        _ => put!(target, "{address}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut target = Vec::new();
        write(&mut target);
        String::from_utf8(target).unwrap()
    }

    /// The right side is what ClickHouse 26.9 prints.
    #[test]
    fn floats() {
        for (value, expected) in [
            (1e-5, "0.00001"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (123_456_789_012_345_678.0, "123456789012345680"),
            (1e20, "100000000000000000000"),
            (1e21, "1e21"),
            (1.5e21, "1.5e21"),
            (-0.0, "-0"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
            (1.0, "1"),
            (0.1, "0.1"),
            (-123_456.789, "-123456.789"),
            (1.797_693_134_862_315_7e308, "1.7976931348623157e308"),
            (5e-324, "5e-324"),
            (1_125_899_906_842_625.0 + 0.25, "1125899906842625.2"),
            (1_125_899_906_842_625.0 + 0.75, "1125899906842625.8"),
        ] {
            assert_eq!(text(|target| float64(value, target)), expected);
        }
        for (value, expected) in [
            (3_170_259.0 + 0.25, "3170259.2"),
            (3_170_259.0 + 0.75, "3170259.8"),
            (1_048_577.0 + 0.125, "1048577.1"),
            (4_194_302.5, "4194302.5"),
            (0.5, "0.5"),
        ] {
            assert_eq!(text(|target| float32(value, target)), expected);
        }
        assert_eq!(text(|target| float32(16_777_216.0, target)), "16777216");
        assert_eq!(text(|target| float32(0.1, target)), "0.1");
        assert_eq!(text(|target| float32(3.4e38, target)), "3.4e38");
    }

    #[test]
    fn decimals() {
        for (value, scale, expected) in [
            (1250, 2, "12.5"),
            (120_000, 4, "12"),
            (-1, 10, "-0.0000000001"),
            (-1_000_000, 10, "-0.0001"),
            (0, 3, "0"),
            (5, 0, "5"),
            (5, -2, "500"),
        ] {
            assert_eq!(text(|target| decimal128(value, scale, target)), expected);
        }
        assert_eq!(
            text(|target| wide(&[0xff; 32], false, target)),
            "115792089237316195423570985008687907853269984665640564039457584007913129639935"
        );
        assert_eq!(text(|target| wide(&[0xff; 32], true, target)), "-1");
        let mut power = [0; 32];
        power[31] = 0x80;
        assert_eq!(
            text(|target| wide(&power, false, target)),
            "57896044618658097711785492504343953926634992332820282019728792003956564819968"
        );
    }

    #[test]
    fn times() {
        let clock = InstantPrinter { zone: Zone::UTC, tick: 3, precision: 3 };
        assert_eq!(text(|target| clock.write(-500, target)), "1969-12-31 23:59:59.500");
        let coarse = InstantPrinter { precision: 1, ..clock };
        assert_eq!(text(|target| coarse.write(1_250, target)), "1970-01-01 00:00:01.2");
        let zone = Zone::named("Europe/Berlin").unwrap();
        let berlin = InstantPrinter { zone, tick: 0, precision: 0 };
        assert_eq!(text(|target| berlin.write(1_593_554_400, target)), "2020-07-01 00:00:00");
        // Summer time goes on after the database's last year, and before 1900 there was local mean time.
        assert_eq!(text(|target| berlin.write(5_695_912_800, target)), "2150-07-01 00:00:00");
        assert_eq!(text(|target| berlin.write(-3_000_000_000, target)), "1874-12-07 19:33:28");
        assert_eq!(text(|target| date(-25_567, target)), "1900-01-01");
        assert_eq!(text(|target| date(-719_529, target)), "-0001-12-31");
    }

    #[test]
    fn addresses() {
        let v6 = |text: &str| text.parse::<Ipv6Addr>().unwrap().octets();
        for address in ["::", "::1", "1:0:0:2::3", "::ffff:1.2.3.4", "::1.2.3.4", "2001:db8::1"] {
            assert_eq!(text(|target| ipv6(&v6(address), target)), address);
        }
    }
}
