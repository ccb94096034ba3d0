//! Tests of whether two samples have the same mean: Student's, Welch's, with known variances, and by ranks.

use super::pair::{of_floats, rows, samples_type};
use arrow_array::ArrayRef;
use std::cell::Cell;
use std::cmp::Ordering;
use tambour_function::kit::{Call, Kind, takes, total, wrong};
use tambour_function::{Function, FunctionError, Signature};
use tambour_part::types::DataType;

/// Steps of the search for a quantile, past the digits of a float.
const STEPS: usize = 200;
/// Terms of a continued fraction at most.
const TERMS_MAX: u32 = 10_000;

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("reduceStudentTTest", test_type, |c| {
        t_test(c, pooled, |[a, b]| a.count.min(b.count) > 0.0 && a.count + b.count > 2.0)
    }),
    Function::new("reduceWelchTTest", test_type, |c| {
        t_test(c, separate, |samples| samples.iter().all(|it| it.count > 1.0))
    }),
    Function::new("reduceMeanZTest", z_type, z_test),
    Function::new("reduceMannWhitneyUTest", rank_type, rank_test),
];

fn result(statistic: &str, has_interval: bool) -> DataType {
    let names = [statistic, "p_value", "confidence_interval_low", "confidence_interval_high"];
    of_floats(&names[..if has_interval { 4 } else { 2 }])
}

fn test_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[Kind::Any])?;
    samples_type(name, s)?;
    Ok(result("t_statistic", s.len() > 1))
}

/// How many, their sum and the sum of their squares.
#[derive(Clone, Copy, Default)]
struct Moments {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Moments {
    fn mean(self) -> f64 {
        self.sum / self.count
    }
    /// The sum of the squared distances from the mean.
    fn distances(self) -> f64 {
        let mean = self.mean();
        self.squares + self.count * mean * mean - 2.0 * self.sum * mean
    }
    fn variance(self) -> f64 {
        self.distances() / (self.count - 1.0)
    }
}

fn split(pairs: &[(f64, f64)]) -> [Moments; 2] {
    pairs.iter().fold([Moments::default(); 2], |mut all, (value, sample)| {
        let of = &mut all[usize::from(*sample != 0.0)];
        of.count += 1.0;
        of.sum += value;
        of.squares += value * value;
        all
    })
}

/// The standard error and the degrees of freedom with one variance for both.
fn pooled([a, b]: [Moments; 2]) -> (f64, f64) {
    let freedom = a.count + b.count - 2.0;
    let both = (a.distances() + b.distances()) / freedom;
    ((both * (1.0 / a.count + 1.0 / b.count)).sqrt(), freedom)
}

/// The same with a variance each.
fn separate([a, b]: [Moments; 2]) -> (f64, f64) {
    let (left, right) = (a.variance() / a.count, b.variance() / b.count);
    let both = left + right;
    let freedom = both * both / (left * left / (a.count - 1.0) + right * right / (b.count - 1.0));
    (both.sqrt(), freedom)
}

/// True if the values differ by rounding alone, as R has it. Of a sample of one value it cannot be said.
fn is_constant(samples: [Moments; 2]) -> bool {
    let size = samples[0].mean().abs().max(samples[1].mean().abs());
    separate(samples).0 < 10.0 * f64::EPSILON * size
}

pub(crate) fn confidence(call: &Call, index: usize) -> Result<f64, FunctionError> {
    let level = call.floats(index)?.get(0);
    if level > 0.0 && level < 1.0 {
        Ok(level)
    } else {
        Err(wrong(call.name, "the confidence level must be between 0 and 1"))
    }
}

fn t_test(
    call: &Call,
    error: impl Fn([Moments; 2]) -> (f64, f64),
    suffice: impl Fn([Moments; 2]) -> bool,
) -> Result<ArrayRef, FunctionError> {
    let level = if call.operands.len() > 1 { Some(confidence(call, 1)?) } else { None };
    let width = if level.is_some() { 4 } else { 2 };
    // Of no statistic ClickHouse's interval is (0, 0) or (nan, nan), from run to run.
    let has_no_interval = Cell::new(false);
    let all = rows(call, width, |pairs| {
        let samples = split(pairs);
        let difference = samples[0].mean() - samples[1].mean();
        let (error, freedom) = error(samples);
        let statistic = difference / error;
        if !suffice(samples) || is_constant(samples) {
            return vec![f64::NAN; width];
        }
        if !statistic.is_finite() {
            has_no_interval.set(level.is_some() && statistic.is_nan() || has_no_interval.get());
            return undefined(width, statistic.is_infinite());
        }
        let outside = |t: f64| {
            let square = t * t;
            if square < freedom {
                // The other side of what is all but 1.
                return 1.0 - incomplete_beta(0.5, freedom / 2.0, square / (freedom + square));
            }
            incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + square))
        };
        let mut all = vec![statistic, outside(statistic)];
        if let Some(level) = level {
            // The interval is Welch's in both tests.
            let half = quantile(|t| outside(t) > 1.0 - level) * separate(samples).0;
            all.extend([difference - half, difference + half]);
        }
        all
    });
    if has_no_interval.get() {
        return Err(wrong(call.name, "there is an interval only where values differ"));
    }
    all
}

/// What there is of no statistic. Beside one that is NaN, and not infinite, ClickHouse's probability is 0.
fn undefined(width: usize, is_infinite: bool) -> Vec<f64> {
    let mut all = vec![f64::NAN; width];
    if !is_infinite {
        all[1] = 0.0;
    }
    all
}

fn z_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array, Kind::Any, Kind::Any, Kind::Any], &[])?;
    samples_type(name, s)?;
    Ok(result("z_statistic", true))
}

fn z_test(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (left, right) = (call.floats(1)?.get(0), call.floats(2)?.get(0));
    let level = confidence(call, 3)?;
    rows(call, 4, |pairs| {
        let [a, b] = split(pairs);
        let difference = a.mean() - b.mean();
        let error = (left / a.count + right / b.count).sqrt();
        let statistic = difference / error;
        if !statistic.is_finite() {
            return undefined(4, statistic.is_infinite());
        }
        let outside = |z: f64| libm::erfc(z / std::f64::consts::SQRT_2);
        let half = quantile(|z| outside(z) > 1.0 - level) * error;
        vec![statistic, outside(statistic.abs()), difference - half, difference + half]
    })
}

fn rank_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[Kind::ConstText, Kind::ConstInteger])?;
    samples_type(name, s)?;
    Ok(of_floats(&["u_statistic", "p_value"]))
}

fn rank_test(call: &Call) -> Result<ArrayRef, FunctionError> {
    let alternative = match call.optional_texts(1)? {
        Some(text) => text.get(0).to_vec(),
        None => b"two-sided".to_vec(),
    };
    if !matches!(alternative.as_slice(), b"two-sided" | b"less" | b"greater") {
        return Err(wrong(call.name, "its parameter is 'two-sided', 'less' or 'greater'"));
    }
    let is_continuous = call.optional_integers(2)?.is_none_or(|it| it.get(0) != 0);
    let all = super::number::pairs(call)?;
    if all.iter().flatten().any(|(value, _)| value.is_nan()) {
        return Err(wrong(call.name, "NaN has no rank"));
    }
    if all.iter().any(|pairs| split(pairs).iter().any(|it| it.count == 0.0)) {
        return Err(wrong(call.name, "both samples must have values"));
    }
    rows(call, 2, |pairs| {
        let [first, second] = split(pairs);
        let (sum, ties) = ranks(pairs);
        let statistic = sum - first.count * (first.count + 1.0) / 2.0;
        let (product, count) = (first.count * second.count, first.count + second.count);
        let correction = 1.0 - ties / (count * count * count - count);
        let spread = (correction * product * (count + 1.0) / 12.0).sqrt();
        let extreme = match alternative.as_slice() {
            b"greater" => statistic,
            b"less" => product - statistic,
            _ => statistic.max(product - statistic),
        };
        let z = (extreme - product / 2.0 - if is_continuous { 0.5 } else { 0.0 }) / spread;
        if correction == 0.0 {
            return vec![statistic, 1.0];
        }
        let beyond = |z: f64| libm::erfc(z / std::f64::consts::SQRT_2);
        let p = if alternative == b"two-sided" { beyond(z.abs()) } else { beyond(z) / 2.0 };
        vec![statistic, p]
    })
}

/// The sum of the ranks of the first sample, and of `t^3 - t` over the sizes of groups of equal values.
fn ranks(pairs: &[(f64, f64)]) -> (f64, f64) {
    let mut sorted = pairs.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut before, mut sum, mut ties) = (0.0, 0.0, 0.0);
    for equal in sorted.chunk_by(|a, b| a.0.partial_cmp(&b.0) == Some(Ordering::Equal)) {
        let size = equal.len() as f64;
        let rank = before + f64::midpoint(size, 1.0);
        sum += rank * equal.iter().filter(|pair| pair.1 == 0.0).count() as f64;
        ties += size * size * size - size;
        before += size;
    }
    (sum, ties)
}

/// The place at which a condition that holds from 0 on ends.
pub(crate) fn quantile(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while holds(high) && high < f64::MAX / 4.0 {
        (low, high) = (high, high * 2.0);
    }
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        (low, high) = if holds(middle) { (middle, high) } else { (low, middle) };
    }
    f64::midpoint(low, high)
}

/// The regularized incomplete beta function, by its continued fraction.
pub(crate) fn incomplete_beta(left: f64, right: f64, place: f64) -> f64 {
    if place <= 0.0 || place >= 1.0 {
        return if place <= 0.0 { 0.0 } else { 1.0 };
    }
    if place > (left + 1.0) / (left + right + 2.0) {
        return 1.0 - incomplete_beta(right, left, 1.0 - place);
    }
    let logs = libm::lgamma(left + right) - libm::lgamma(left) - libm::lgamma(right);
    let front = (logs + left * place.ln() + right * (-place).ln_1p()).exp() / left;
    let held = |value: f64| if value.abs() < f64::MIN_POSITIVE { f64::MIN_POSITIVE } else { value };
    // Lentz: numerators and denominators as ratios of neighbours.
    let (mut ratio, mut inverse) = (1.0, 1.0 / held(1.0 - (left + right) * place / (left + 1.0)));
    let mut fraction = inverse;
    for term in 1..TERMS_MAX {
        let m = f64::from(term);
        let even = m * (right - m) * place / ((left + 2.0 * m - 1.0) * (left + 2.0 * m));
        let odd =
            -(left + m) * (left + right + m) * place / ((left + 2.0 * m) * (left + 2.0 * m + 1.0));
        let mut last = 1.0;
        for factor in [even, odd] {
            inverse = 1.0 / held(1.0 + factor * inverse);
            ratio = held(1.0 + factor / ratio);
            last = ratio * inverse;
            fraction *= last;
        }
        if (last - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    total([front * fraction].into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_incomplete_beta_function_has_its_known_values() {
        // I_x(1, 1) = x, I_x(2, 1) = x^2, I_x(1, 2) = 1 - (1 - x)^2, and half at the middle of equal parameters.
        for step in 1..100 {
            let x = f64::from(step) / 100.0;
            for (got, wanted) in [
                (incomplete_beta(1.0, 1.0, x), x),
                (incomplete_beta(2.0, 1.0, x), x * x),
                (incomplete_beta(1.0, 2.0, x), 1.0 - (1.0 - x) * (1.0 - x)),
                (incomplete_beta(x * 50.0, x * 50.0, 0.5), 0.5),
            ] {
                assert!((got - wanted).abs() < 1e-13, "{x}: {got}, not {wanted}");
            }
        }
    }
}
