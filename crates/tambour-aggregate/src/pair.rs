//! Pairs of numbers reduced to a few: smoothed averages, the line through points, tests of two samples, matrices of
//! covariances.

use super::number::{floats, is_number, pairs, pairs_type};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Float64Array};
use std::sync::Arc;
use tambour_function::kit::{
    Call, Kind, array_of, integer, item_of, list_array, takes, total, tuples, type_at, wrong,
};
use tambour_function::{Function, FunctionError, Signature, bare};
use tambour_part::types::DataType;

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("reduceExponentialMovingAverage", decay_type, |c| decayed(c, smoothed)),
    Function::new("reduceExponentialTimeDecayedSum", decay_type, |c| {
        decayed(c, |decay, pairs| {
            total(weights(decay, pairs).map(|(value, weight)| value * weight))
        })
    }),
    Function::new("reduceExponentialTimeDecayedAvg", decay_type, |c| {
        decayed(c, |decay, pairs| {
            let sum = total(weights(decay, pairs).map(|(value, weight)| value * weight));
            sum / total(weights(decay, pairs).map(|(_, weight)| weight))
        })
    }),
    Function::new("reduceExponentialTimeDecayedMax", decay_type, |c| {
        decayed(c, |decay, pairs| {
            let all = weights(decay, pairs).map(|(value, weight)| value * weight);
            all.fold(f64::NEG_INFINITY, f64::max)
        })
    }),
    Function::new(
        "reduceSimpleLinearRegression",
        |n, s| pairs_type(n, s).map(|_| of_floats(&["k", "b"])),
        |c| rows(c, 2, |pairs| line(pairs).to_vec()),
    ),
    Function::new("reduceCorrMatrix", matrix_type, |c| matrix(c, Sums::correlation)),
    Function::new("reduceCovarPopMatrix", matrix_type, |c| matrix(c, |sums| sums.covariance(0.0))),
    Function::new("reduceCovarSampMatrix", matrix_type, |c| {
        matrix(c, |sums| if sums.count < 2.0 { f64::NAN } else { sums.covariance(1.0) })
    }),
];

/// A tuple of named floats.
pub(crate) fn of_floats(names: &[&str]) -> DataType {
    let element = |name: &&str| (Some((*name).to_owned()), DataType::Float64);
    DataType::Tuple(names.iter().map(element).collect())
}

/// A tuple of this many floats for the pairs of each row.
pub(crate) fn rows(
    call: &Call,
    width: usize,
    reduce: impl Fn(&[(f64, f64)]) -> Vec<f64>,
) -> Result<ArrayRef, FunctionError> {
    let mut columns = vec![Vec::with_capacity(call.rows); width];
    for pairs in pairs(call)? {
        for (column, value) in columns.iter_mut().zip(reduce(&pairs)) {
            column.push(value);
        }
    }
    let arrays = columns.into_iter().map(|column| Arc::new(Float64Array::from(column)) as ArrayRef);
    tuples(call, arrays.collect())
}

fn decay_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array, Kind::Any], &[])?;
    if s.get(1).is_none_or(|decay| decay.constant.is_none()) {
        return Err(wrong(name, "its parameter must be a number"));
    }
    if let DataType::Tuple(elements) = item_of(type_at(s, 0))
        && let Some((_, DataType::Float32 | DataType::Float64)) =
            elements.get(1).map(|(name, time)| (name, bare(time)))
    {
        return Err(wrong(
            name,
            "its times are integers: which of NaN and a time is later is not settled",
        ));
    }
    pairs_type(name, &s[..1])
}

fn decayed(
    call: &Call,
    reduce: impl Fn(f64, &[(f64, f64)]) -> f64,
) -> Result<ArrayRef, FunctionError> {
    let decay = call.floats(1)?.get(0);
    if decay.is_nan() || decay <= 0.0 {
        return Err(wrong(call.name, "its parameter must be greater than 0"));
    }
    let all = pairs(call)?;
    call.make_floats(|row| reduce(decay, &all[row]))
}

/// Values of which each counts half as much as one that is `half` later.
fn smoothed(half: f64, pairs: &[(f64, f64)]) -> f64 {
    let faded = |time: f64| (-time / half).exp2();
    let (mut sum, mut latest) = (0.0, 0.0);
    for (value, time) in pairs {
        if *time > latest {
            sum = sum * faded(time - latest) + value;
            latest = *time;
        } else {
            sum += value * faded(latest - time);
        }
    }
    sum * (1.0 - (-1.0 / half).exp2())
}

/// The values, and what they count for at the time of the last of them.
fn weights(decay: f64, pairs: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64)> {
    let last = pairs.last().map_or(0.0, |pair| pair.1);
    pairs.iter().map(move |(value, time)| (*value, ((time - last) / decay).exp()))
}

/// Slope and intercept of the line with the least squares.
fn line(points: &[(f64, f64)]) -> [f64; 2] {
    let sums = Sums::of(points.iter().copied());
    let divisor = sums.xx * sums.count - sums.x * sums.x;
    if divisor == 0.0 || sums.count == 0.0 {
        return [f64::NAN; 2];
    }
    let slope = (sums.xy * sums.count - sums.x * sums.y) / divisor;
    [slope, (sums.y - slope * sums.x) / sums.count]
}

/// Sums over pairs.
#[derive(Clone, Copy, Default)]
struct Sums {
    count: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Sums {
    fn of(pairs: impl Iterator<Item = (f64, f64)>) -> Self {
        pairs.fold(Self::default(), |sums, (x, y)| Self {
            count: sums.count + 1.0,
            x: sums.x + x,
            y: sums.y + y,
            xx: sums.xx + x * x,
            xy: sums.xy + x * y,
            yy: sums.yy + y * y,
        })
    }
    fn correlation(self) -> f64 {
        let spread = |sum: f64, squares: f64| (squares * self.count - sum * sum).sqrt();
        (self.xy * self.count - self.x * self.y)
            / (spread(self.x, self.xx) * spread(self.y, self.yy))
    }
    fn covariance(self, taken: f64) -> f64 {
        (self.xy - self.x * self.y / self.count) / (self.count - taken)
    }
}

fn matrix_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[])?;
    match item_of(type_at(s, 0)) {
        DataType::Tuple(elements) if elements.iter().all(|(_, it)| is_number(it)) => {
            Ok(array_of(array_of(DataType::Float64)))
        }
        _ => Err(wrong(name, "it takes numbers")),
    }
}

/// A value for each two columns.
fn matrix(call: &Call, of_sums: impl Fn(Sums) -> f64) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let Some(columns) = lists.items.values.as_struct_opt() else {
        return Err(wrong(call.name, "it takes numbers"));
    };
    let columns = columns.columns().iter().map(floats).collect::<Result<Vec<_>, _>>()?;
    let mut values = Vec::new();
    for row in 0..call.rows {
        for left in &columns {
            for right in &columns {
                let there = lists.range(row).filter(|at| !left.is_null(*at) && !right.is_null(*at));
                values.push(of_sums(Sums::of(there.map(|at| (left.value(at), right.value(at))))));
            }
        }
    }
    let width = columns.len();
    let values: ArrayRef = Arc::new(Float64Array::from(values));
    let inner = list_array(vec![width; call.rows * width], values, &DataType::Float64)?;
    list_array(vec![width; call.rows], inner, &array_of(DataType::Float64))
}

/// Pairs of which the second says by 0 or not to which of two samples the first belongs.
pub(crate) fn samples_type(name: &'static str, s: &[Signature]) -> Result<(), FunctionError> {
    pairs_type(name, s.get(..1).unwrap_or_default())?;
    match item_of(type_at(s, 0)) {
        DataType::Tuple(elements) if elements.len() == 2 => match integer(bare(&elements[1].1)) {
            Some(_) => Ok(()),
            None => Err(wrong(name, "its second argument must be an integer")),
        },
        _ => Err(wrong(name, "it takes two numbers")),
    }
}
