//! Axes: which values have a line, and where values are.

/// How values become lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equally long.
    Linear,
    /// Equal ratios are equally long.
    Log,
}

/// Name, unit and scale of an axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What is measured, with its unit.
    pub label: String,
    /// How values become lengths.
    pub scale: Scale,
    /// What stands after the number at a line, such as `x`.
    pub suffix: &'static str,
    /// Values that have a line; round numbers if there are none.
    pub ticks: Vec<f64>,
}

impl Axis {
    /// An axis with equal steps.
    pub fn linear(label: &str) -> Self {
        Self { label: label.to_owned(), scale: Scale::Linear, suffix: "", ticks: Vec::new() }
    }

    /// An axis with equal ratios.
    pub fn log(label: &str) -> Self {
        Self { label: label.to_owned(), scale: Scale::Log, suffix: "", ticks: Vec::new() }
    }

    /// The same with lines at these values only.
    #[must_use]
    pub fn at(mut self, ticks: impl IntoIterator<Item = f64>) -> Self {
        self.ticks = ticks.into_iter().collect();
        self
    }

    /// The same with something after the numbers.
    #[must_use]
    pub fn suffix(mut self, suffix: &'static str) -> Self {
        self.suffix = suffix;
        self
    }
}

/// An axis that knows its values: from which to which, and the lines between.
#[derive(Clone, Debug)]
pub(super) struct Range {
    scale: Scale,
    low: f64,
    high: f64,
    /// Values that have a line.
    pub(super) ticks: Vec<f64>,
    suffix: &'static str,
}

impl Range {
    /// An axis for these values, with about `wanted` lines. Without values it is an axis all the same.
    pub(super) fn over(axis: &Axis, values: impl IntoIterator<Item = f64>, wanted: usize) -> Self {
        let usable =
            |value: &f64| value.is_finite() && (axis.scale == Scale::Linear || *value > 0.0);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.into_iter().filter(usable) {
            low = low.min(value);
            high = high.max(value);
        }
        if low > high {
            (low, high) = (1.0, 10.0);
        }
        let (low, high, ticks) = match axis.scale {
            Scale::Linear => {
                let ticks = linear_ticks(low, high, wanted);
                (ticks[0].min(low), ticks[ticks.len() - 1].max(high), ticks)
            }
            Scale::Log => {
                // A little room at both ends, so that no mark sits on the edge.
                let room = if low < high { (high / low).powf(0.03) } else { 2.0 };
                (low / room, high * room, log_ticks(low / room, high * room, wanted))
            }
        };
        let ticks = if axis.ticks.is_empty() { ticks } else { axis.ticks.clone() };
        Self { scale: axis.scale, low, high, ticks, suffix: axis.suffix }
    }

    /// Where a value is, from 0 to 1; what lies outside is put on the edge.
    pub(super) fn place(&self, value: f64) -> f64 {
        let (low, high, value) = match self.scale {
            Scale::Linear => (self.low, self.high, value),
            Scale::Log => (self.low.ln(), self.high.ln(), value.max(f64::MIN_POSITIVE).ln()),
        };
        ((value - low) / (high - low)).clamp(0.0, 1.0)
    }

    /// The text at a line.
    pub(super) fn text(&self, value: f64) -> String {
        format!("{}{}", number(value), self.suffix)
    }
}

/// A number as short as it can be read: `0.5`, `12`, `1.5k`, `2M`.
pub(super) fn number(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let text = match scaled.abs() {
        size if size >= 100.0 || size == 0.0 => format!("{scaled:.0}"),
        size if size >= 0.1 => format!("{scaled:.2}"),
        _ => format!("{scaled:.4}"),
    };
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{unit}")
}

/// Multiples of 1, 2 or 5 times a power of ten around the values.
fn linear_ticks(low: f64, high: f64, wanted: usize) -> Vec<f64> {
    let span = if high > low { high - low } else { high.abs().max(1.0) };
    let rough = span / wanted.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let step = steps.into_iter().find(|step| step * power >= rough * 0.999).unwrap_or(10.0) * power;
    let (first, last) = ((low / step).floor(), (low + span).max(high) / step);
    let mut ticks = vec![first * step];
    let mut count = first;
    while count < last - 1e-9 {
        count += 1.0;
        ticks.push(count * step);
    }
    ticks
}

/// Round numbers between two values: as many as there may be, and at least two where that is possible.
fn log_ticks(low: f64, high: f64, wanted: usize) -> Vec<f64> {
    let choices: [&[f64]; 7] = [
        &[1.0],
        &[1.0, 3.0],
        &[1.0, 2.0, 5.0],
        &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
        &[1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
        &[
            1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0, 2.2, 2.4, 2.6, 2.8, 3.0, 3.5,
            4.0, 4.5, 5.0, 5.5, 6.0, 6.5, 7.0, 7.5, 8.0, 8.5, 9.0, 9.5,
        ],
        &[1.0, 1.02, 1.04, 1.06, 1.08, 1.1, 1.5, 2.0, 3.0, 5.0, 9.0, 9.2, 9.4, 9.6, 9.8],
    ];
    let mut best = Vec::new();
    for steps in choices {
        let ticks = between(low, high, steps);
        if best.len() >= 2 && ticks.len() > wanted {
            break;
        }
        best = ticks;
    }
    best
}

/// All products of a step and a power of ten from `low` to `high`.
fn between(low: f64, high: f64, steps: &[f64]) -> Vec<f64> {
    #[expect(clippy::cast_possible_truncation, reason = "exponents of positive numbers are small")]
    let exponent = |value: f64| value.log10().floor() as i32;
    (exponent(low)..=exponent(high))
        .flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)))
        .filter(|tick| (low..=high).contains(tick))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Axis, Range, number};

    #[test]
    fn lines_enclose_the_values() {
        let linear = Range::over(&Axis::linear(""), [0.0, 1.37], 5);
        assert_eq!(linear.ticks.len(), 4);
        assert!((linear.ticks[3] - 1.5).abs() < 1e-9, "{:?}", linear.ticks);
        let log = Range::over(&Axis::log(""), [0.8, 60.0], 6);
        assert!(log.ticks.len() >= 4 && log.ticks.len() <= 6, "{:?}", log.ticks);
        assert!(log.place(0.8) > 0.0 && log.place(60.0) < 1.0);
        assert!((log.place(1e9) - 1.0).abs() < 1e-9 && log.place(-1.0) < 1e-9);
    }

    #[test]
    fn axes_without_or_with_equal_values_are_axes() {
        for axis in [Axis::linear(""), Axis::log("")] {
            for values in [vec![], vec![3.0], vec![3.0, 3.0], vec![f64::NAN]] {
                let range = Range::over(&axis, values, 5);
                assert!(range.ticks.len() >= 2, "{range:?}");
                assert!(range.place(3.0).is_finite());
            }
        }
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0.5, 1.0, 12.0, 1500.0, 20_000.0, 3e6, 0.02].map(number);
        assert_eq!(shown, ["0.5", "1", "12", "1500", "20k", "3M", "0.02"]);
    }
}
