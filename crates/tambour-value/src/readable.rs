//! Sizes and quantities as people read them: `12.35 million`, `1.00 KiB`. The units and the rounding are ClickHouse's.

use super::print;

/// Units of bytes, each 1024 of the one before.
pub const SIZES: [&str; 9] = [" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB", " ZiB", " YiB"];
/// Units of bytes, each 1000 of the one before.
pub const DECIMAL_SIZES: [&str; 9] = [" B", " KB", " MB", " GB", " TB", " PB", " EB", " ZB", " YB"];
/// Words for quantities, each 1000 of the one before.
pub const QUANTITIES: [&str; 22] = [
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
    " undecillion",
    " duodecillion",
    " tredecillion",
    " quattuordecillion",
    " quindecillion",
    " sexdecillion",
    " septendecillion",
    " octodecillion",
    " novemdecillion",
    " vigintillion",
];

/// Numbers from this one on are written with an exponent.
const FIXED_MAX: f64 = 1e60;

/// A number with two digits after the point and the largest unit that it has at least one of.
///
/// ```
/// use tambour_value::readable::{QUANTITIES, SIZES, readable};
///
/// assert_eq!(readable(1536.0, 1024.0, &SIZES), "1.50 KiB");
/// assert_eq!(readable(-12_345_678.0, 1000.0, &QUANTITIES), "-12.35 million");
/// assert_eq!(readable(1e200, 1000.0, &QUANTITIES), "1.0000000000000002e137 vigintillion");
/// assert_eq!(readable(f64::NAN, 1000.0, &QUANTITIES), "nan");
/// ```
pub fn readable(mut value: f64, step: f64, units: &[&str]) -> String {
    let mut rest = units.iter().peekable();
    let mut unit = rest.next();
    while value.abs() >= step && rest.peek().is_some() {
        value /= step;
        unit = rest.next();
    }
    let unit = unit.copied().unwrap_or_default();
    if value.abs() < FIXED_MAX {
        // Halves go away from zero.
        let cents = value * 100.0;
        let half = cents.fract().abs() - 0.5;
        let is_half = half == 0.0 && value.mul_add(100.0, -cents) == 0.0;
        let value = if is_half { cents.round() / 100.0 } else { value };
        return format!("{value:.2}{unit}");
    }
    let mut digits = Vec::new();
    print::float64(value, &mut digits);
    format!("{}{unit}", String::from_utf8_lossy(&digits))
}
