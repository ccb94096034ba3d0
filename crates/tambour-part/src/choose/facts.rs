//! What all values of a column have in common: enough to say which narrower types would hold them.

use crate::types::unit_precision;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType as Arrow, TimeUnit};

/// Beyond this not every whole number is a float.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

/// What texts can be read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readings {
    /// `2026-11-20`.
    pub date: bool,
    /// `2026-11-20 19:25:00`.
    pub time: bool,
    /// `-12`, without leading zeros or signs that would be lost.
    pub number: bool,
}

/// The facts.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Values.
    pub rows: u64,
    /// NULLs among them.
    pub nulls: u64,
    /// Smallest and largest value of whole numbers, also of floats that all are whole, and of texts that are numbers.
    pub range: Option<(i128, i128)>,
    /// A float is not whole, or is -0.0, NaN or infinite.
    pub fractional: bool,
    /// A float is NaN or -0.0, for which a dictionary may have other bits.
    pub ambiguous: bool,
    /// A moment has a fraction of a second.
    pub subsecond: bool,
    /// `None` before the first text.
    pub readings: Option<Readings>,
}

impl Facts {
    /// Takes note of values.
    pub fn add(&mut self, array: &ArrayRef) {
        self.rows += array.len() as u64;
        self.nulls += array.logical_null_count() as u64;
        match array.data_type() {
            Arrow::Int8 => self.integers(array.as_primitive::<Int8Type>()),
            Arrow::Int16 => self.integers(array.as_primitive::<Int16Type>()),
            Arrow::Int32 => self.integers(array.as_primitive::<Int32Type>()),
            Arrow::Int64 => self.integers(array.as_primitive::<Int64Type>()),
            Arrow::UInt8 => self.integers(array.as_primitive::<UInt8Type>()),
            Arrow::UInt16 => self.integers(array.as_primitive::<UInt16Type>()),
            Arrow::UInt32 => self.integers(array.as_primitive::<UInt32Type>()),
            Arrow::UInt64 => self.integers(array.as_primitive::<UInt64Type>()),
            Arrow::Float32 => {
                let floats = array.as_primitive::<Float32Type>();
                self.floats(|| floats.iter().flatten().map(f64::from));
            }
            Arrow::Float64 => {
                let floats = array.as_primitive::<Float64Type>();
                self.floats(|| floats.iter().flatten());
            }
            Arrow::Timestamp(unit, _) if !self.subsecond => self.moments(array, *unit),
            Arrow::Utf8View => self.texts(array.as_string_view().iter()),
            Arrow::Utf8 => self.texts(array.as_string::<i32>().iter()),
            Arrow::LargeUtf8 => self.texts(array.as_string::<i64>().iter()),
            _ => {}
        }
    }

    fn widen(&mut self, low: i128, high: i128) {
        let (min, max) = self.range.unwrap_or((low, high));
        self.range = Some((min.min(low), max.max(high)));
    }

    fn integers<T>(&mut self, array: &arrow_array::PrimitiveArray<T>)
    where
        T: arrow_array::types::ArrowPrimitiveType,
        T::Native: Into<i128>,
    {
        let (mut low, mut high) = (i128::MAX, i128::MIN);
        for value in array.iter().flatten() {
            let value = value.into();
            (low, high) = (low.min(value), high.max(value));
        }
        if low <= high {
            self.widen(low, high);
        }
    }

    fn floats<I: Iterator<Item = f64>>(&mut self, values: impl Fn() -> I) {
        let is_ambiguous = |value: f64| value.is_nan() || value == 0.0 && value.is_sign_negative();
        self.ambiguous = self.ambiguous || values().any(is_ambiguous);
        if self.fractional {
            return;
        }
        for value in values() {
            let whole = value.fract() == 0.0 && value.abs() < WHOLE_MAX;
            if !whole || (value == 0.0 && value.is_sign_negative()) {
                self.fractional = true;
                self.range = None;
                return;
            }
            #[expect(clippy::cast_possible_truncation, reason = "whole, and below 2^53")]
            let value = value as i64;
            self.widen(value.into(), value.into());
        }
    }

    fn moments(&mut self, array: &ArrayRef, unit: TimeUnit) {
        let per_second = 10_i64.pow(unit_precision(unit).into());
        let Ok(numbers) = arrow_cast::cast(array, &Arrow::Int64) else {
            self.subsecond = true;
            return;
        };
        for value in numbers.as_primitive::<Int64Type>().iter().flatten() {
            self.subsecond |= value % per_second != 0;
            let seconds = i128::from(value.div_euclid(per_second));
            self.widen(seconds, seconds);
        }
    }

    fn texts<'a>(&mut self, values: impl Iterator<Item = Option<&'a str>>) {
        let all = Readings { date: true, time: true, number: true };
        let mut readings = self.readings.unwrap_or(all);
        for value in values.flatten() {
            if !(readings.date || readings.time || readings.number) {
                break;
            }
            readings.date = readings.date && is_date(value);
            readings.time = readings.time && is_time(value);
            if readings.number {
                match number(value) {
                    Some(value) => self.widen(value, value),
                    None => readings.number = false,
                }
            }
        }
        self.readings = Some(readings);
    }
}

fn is_digits(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_digit)
}

fn is_date(text: &str) -> bool {
    let [y @ .., b'-', m1, m2, b'-', d1, d2] = text.as_bytes() else { return false };
    let two = |high: &u8, low: &u8| (high.wrapping_sub(b'0')) * 10 + low.wrapping_sub(b'0');
    let digits = y.len() == 4 && is_digits(y) && is_digits(&[*m1, *m2, *d1, *d2]);
    digits
        && y >= b"1900".as_slice()
        && y < b"2300".as_slice()
        && (1..=days_of(
            u16::from(two(&y[0], &y[1])) * 100 + u16::from(two(&y[2], &y[3])),
            two(m1, m2),
        ))
            .contains(&two(d1, d2))
}

/// Days of a month; none of a month that does not exist.
fn days_of(year: u16, month: u8) -> u8 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    }
}

fn is_time(text: &str) -> bool {
    let Some((date, rest)) = text.split_at_checked(10) else { return false };
    let [b' ', h1, h2, b':', m1, m2, b':', s1, s2] = rest.as_bytes() else { return false };
    let digits = is_digits(&[*h1, *h2, *m1, *m2, *s1, *s2]);
    digits
        && is_date(date)
        && [*h1, *h2] < *b"24"
        && *m1 < b'6'
        && *s1 < b'6'
        && ("1970-01-01".."2106-01-01").contains(&date)
}

/// A number that prints as it was written.
fn number(text: &str) -> Option<i128> {
    let value: i64 = text.parse().ok()?;
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = digits == "0" && text == "0" || !digits.starts_with(['0', '+']);
    plain.then_some(value.into())
}

#[cfg(test)]
mod tests {
    use super::Facts;
    use arrow_array::{ArrayRef, Float64Array, Int64Array, StringArray};
    use std::sync::Arc;

    fn facts(array: ArrayRef) -> Facts {
        let mut facts = Facts::default();
        facts.add(&array);
        facts
    }

    #[test]
    fn ranges_and_nulls() {
        let seen = facts(Arc::new(Int64Array::from(vec![Some(3), None, Some(-7)])));
        assert_eq!((seen.range, seen.nulls, seen.rows), (Some((-7, 3)), 1, 3));
        let seen = facts(Arc::new(Float64Array::from(vec![1.0, 2e9])));
        assert_eq!((seen.range, seen.fractional), (Some((1, 2_000_000_000)), false));
        for odd in [0.5, -0.0, f64::NAN, f64::INFINITY, 1e17] {
            assert!(facts(Arc::new(Float64Array::from(vec![1.0, odd]))).fractional, "{odd}");
        }
    }

    #[test]
    fn texts_that_are_something_else() {
        let readings = |texts: &[&str]| {
            let seen = facts(Arc::new(StringArray::from(texts.to_vec())));
            let readings = seen.readings.unwrap();
            (readings.date, readings.time, readings.number)
        };
        assert_eq!(readings(&["2026-11-20", "1999-01-31"]), (true, false, false));
        assert_eq!(readings(&["2026-11-20 19:25:00"]), (false, true, false));
        assert_eq!(readings(&["12", "-5", "0"]), (false, false, true));
        for odd in
            ["007", "+1", "-0", "", " 1", "1e3", "2026-13-01", "2026-11-20T19:25:00", "\u{fc}ber"]
        {
            assert_eq!(readings(&[odd]), (false, false, false), "{odd}");
        }
        assert_eq!(readings(&["2026-11-20", "12"]), (false, false, false));
    }
}
