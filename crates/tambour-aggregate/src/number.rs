//! Numbers reduced to one: moments, entropies, exact quantiles, weighted averages.

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array};
use arrow_schema::DataType as ArrowType;
use arrow_select::nullif::nullif;
use std::collections::HashMap;
use std::sync::Arc;
use tambour_function::kit::{
    Call, Kind, Lists, array_of, compare_items, expect_count, integer, integer_array, is_moment,
    item_of, list_array, null_at, one_each, plain_item, sum_type, takes, total, type_at,
    wide_integers, wrong,
};
use tambour_function::{Function, FunctionError, Signature, bare, cast};
use tambour_part::types::DataType;

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("finiteOnly", same_type, finite_only),
    Function::new("reduceSkewPop", numbers_type, |c| moments(c, 3, 0)),
    Function::new("reduceSkewSamp", numbers_type, |c| moments(c, 3, 1)),
    Function::new("reduceKurtPop", numbers_type, |c| moments(c, 4, 0)),
    Function::new("reduceKurtSamp", numbers_type, |c| moments(c, 4, 1)),
    Function::new("reduceEntropy", entropy_type, entropy),
    Function::new("reduceSumKahan", numbers_type, |c| folded(c, kahan)),
    Function::new("reduceDeltaSum", delta_type, delta_sum),
    Function::new("reduceBoundingRatio", pairs_type, |c| paired(c, bounding_ratio)),
    Function::new("reduceAvgWeighted", pairs_type, weighted_mean),
    Function::new("reduceRankCorr", pairs_type, |c| {
        let has_nan = |pair: &(f64, f64)| pair.0.is_nan() || pair.1.is_nan();
        if pairs(c)?.iter().flatten().any(has_nan) {
            return Err(wrong(c.name, "NaN has no rank"));
        }
        paired(c, rank_correlation)
    }),
    Function::new("reduceQuantileExactLow", exact_level_type, |c| {
        quantile(c, |n, level| {
            if is_half(level) { n.saturating_sub(1) / 2 } else { (level * n as f64) as usize }
        })
    }),
    Function::new("reduceQuantileExactHigh", exact_level_type, |c| {
        quantile(c, |n, level| (level * n as f64) as usize)
    }),
    Function::new("reduceQuantileExactWeighted", exact_weighted_type, weighted),
    Function::new(
        "reduceQuantileTiming",
        |n, s| level_type(n, s).map(|_| DataType::Float32),
        |c| {
            let lists = c.lists(0)?;
            let items = as_floats(&lists)?;
            timing(c, &lists, &items, &vec![1; items.len()])
        },
    ),
    Function::new(
        "reduceQuantileTimingWeighted",
        |n, s| weighted_type(n, s).map(|_| DataType::Float32),
        |c| {
            let lists = c.lists(0)?;
            let (values, weights) = with_weights(c, &lists)?;
            timing(c, &lists, &moments_as_floats(&values)?, &weights)
        },
    ),
    Function::new("reduceQuantileExactExclusive", float_level_type, |c| {
        interpolated(c, |n, level| level * (n + 1.0))
    }),
    Function::new("reduceQuantileExactInclusive", float_level_type, |c| {
        interpolated(c, |n, level| level * (n - 1.0) + 1.0)
    }),
    Function::new(
        "reduceQuantile",
        |n, s| {
            let is_nullable = item_of(type_at(s, 0)).is_nullable();
            let found = float_level_type(n, s)?;
            Ok(if is_nullable { found.made_nullable() } else { found })
        },
        |c| {
            let found = between(c)?;
            let are_none: BooleanArray =
                found.as_primitive::<Float64Type>().iter().map(|it| it.map(f64::is_nan)).collect();
            let is_nullable = item_of(&c.operand(0)?.data_type).is_nullable();
            if !is_nullable {
                return Ok(found);
            }
            nullif(&found, &are_none).map_err(FunctionError::arrow("leave out no items"))
        },
    ),
    Function::new("reduceQuantileOrNan", float_level_type, between),
    Function::new("reduceGroupArrayMovingSum", moving_type, |c| moving(c, false)),
    Function::new(
        "reduceGroupArrayMovingAvg",
        |n, s| moving_type(n, s).map(|_| array_of(DataType::Float64)),
        |c| moving(c, true),
    ),
];

fn is_half(level: f64) -> bool {
    (level - 0.5).abs() < f64::EPSILON
}

pub(crate) fn is_number(data_type: &DataType) -> bool {
    integer(bare(data_type)).is_some()
        || matches!(bare(data_type), DataType::Float32 | DataType::Float64)
}

pub(crate) fn numbers_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[])?;
    let item = item_of(type_at(s, 0));
    if is_number(item) {
        Ok(DataType::Float64)
    } else {
        Err(wrong(name, format!("it takes numbers, not {item}")))
    }
}

pub(crate) fn floats(values: &ArrayRef) -> Result<Float64Array, FunctionError> {
    Ok(cast(values, &ArrowType::Float64)?.as_primitive::<Float64Type>().clone())
}

fn folded(call: &Call, fold: impl Fn(&[f64]) -> f64) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let items = floats(&lists.items.values)?;
    call.make_floats(|row| {
        let there = lists.range(row).filter(|at| !items.is_null(*at));
        fold(&there.map(|at| items.value(at)).collect::<Vec<f64>>())
    })
}

/// Floats are refused: which of them are one value is another question there.
fn entropy_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[])?;
    match bare(item_of(type_at(s, 0))) {
        DataType::Float32 | DataType::Float64 => Err(wrong(name, "it does not take floats")),
        _ => Ok(DataType::Float64),
    }
}

/// The third or fourth moment by the variance, with this many degrees of freedom taken off.
fn moments(call: &Call, power: i32, taken: usize) -> Result<ArrayRef, FunctionError> {
    folded(call, |values| {
        let count = values.len() as f64;
        let sum = |power: i32| values.iter().map(|it| it.powi(power)).sum::<f64>();
        let (first, second, third) = (sum(1), sum(2), sum(3));
        let variance = (second - first * first / count) / (count - taken as f64);
        let inner = match power {
            3 => 3.0 * second - 2.0 * first * first / count,
            _ => 4.0 * third - (6.0 * second - 3.0 * first * first / count) * first / count,
        };
        let moment = (sum(power) - inner * first / count) / count;
        if values.len() > taken && variance > 0.0 {
            moment / variance.powf(f64::from(power) / 2.0)
        } else {
            f64::NAN
        }
    })
}

fn entropy(call: &Call) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let items = compare_items(&[&lists.items])?;
    let Some(items) = items.first() else { return Err(wrong(call.name, "it takes an array")) };
    call.make_floats(|row| {
        let mut counts: HashMap<&[u8], u64> = HashMap::new();
        for at in lists.range(row).filter(|at| !null_at(&lists.items.values, *at)) {
            *counts.entry(items.get(at)).or_default() += 1;
        }
        let count = counts.values().sum::<u64>() as f64;
        // In one order, so that the last digits do not vary.
        let mut counts: Vec<u64> = counts.into_values().collect();
        counts.sort_unstable();
        let share = |of_one: &u64| *of_one as f64 / count;
        // Not the -0 of a single value.
        total(counts.iter().map(share).map(|p| -p * p.log2())) + 0.0
    })
}

/// The sum with what is lost by each addition added again.
fn kahan(values: &[f64]) -> f64 {
    let (mut sum, mut lost) = (0.0, 0.0);
    for value in values {
        let compensated = value - lost;
        let next = sum + compensated;
        lost = (next - sum) - compensated;
        sum = next;
    }
    sum
}

fn delta_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    numbers_type(name, s)?;
    Ok(bare(item_of(type_at(s, 0))).clone())
}

/// The sum of the steps upwards.
fn delta_sum(call: &Call) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    if matches!(call.result, DataType::Float32 | DataType::Float64) {
        return folded(call, |values| {
            total(values.windows(2).map(|pair| (pair[1] - pair[0]).max(0.0)))
        });
    }
    let items = wide_integers(&lists.items.values)?;
    call.make_integers(|row| {
        let there: Vec<i128> =
            lists.range(row).filter(|at| !lists.is_null(*at)).map(|at| items[at]).collect();
        there.windows(2).map(|pair| (pair[1] - pair[0]).max(0)).sum()
    })
}

pub(crate) fn pairs_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[])?;
    match item_of(type_at(s, 0)) {
        DataType::Tuple(elements)
            if elements.len() == 2 && elements.iter().all(|(_, it)| is_number(it)) =>
        {
            Ok(DataType::Float64)
        }
        other => Err(wrong(name, format!("it takes two numbers, not {other}"))),
    }
}

/// The pairs of each row, without those of which a part is NULL.
pub(crate) fn pairs(call: &Call) -> Result<Vec<Vec<(f64, f64)>>, FunctionError> {
    let lists = call.lists(0)?;
    let Some(pairs) = lists.items.values.as_struct_opt() else {
        return Err(wrong(call.name, "it takes pairs"));
    };
    let (left, right) = (floats(pairs.column(0))?, floats(pairs.column(1))?);
    let of_row = |row| {
        let there = lists.range(row).filter(|at| !left.is_null(*at) && !right.is_null(*at));
        there.map(|at| (left.value(at), right.value(at))).collect()
    };
    Ok((0..call.rows).map(of_row).collect())
}

fn paired(call: &Call, fold: impl Fn(&[(f64, f64)]) -> f64) -> Result<ArrayRef, FunctionError> {
    let all = pairs(call)?;
    call.make_floats(|row| fold(&all[row]))
}

/// ClickHouse adds whole weights up in 64 bits without a sign, and products of whole numbers, too: what does not fit is refused.
/// Beside whole weights it drops the fractions of the values, which nobody means.
fn weighted_mean(call: &Call) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let is_whole = |index: usize| match &lists.item_type {
        DataType::Tuple(elements) => {
            elements.get(index).is_some_and(|(_, element)| integer(bare(element)).is_some())
        }
        _ => false,
    };
    let (values_are_whole, weights_are_whole) = (is_whole(0), is_whole(1));
    let all = pairs(call)?;
    for (row, pairs) in all.iter().enumerate().filter(|_| weights_are_whole) {
        if pairs.iter().any(|(_, weight)| *weight < 0.0) {
            return Err(call.value_error(row, "a weight is less than 0"));
        }
        if pairs.iter().any(|(value, _)| value.fract() != 0.0) {
            return Err(call.value_error(
                row,
                "ClickHouse drops fractions where the weights are integers: convert the weights by toFloat64",
            ));
        }
        let weights: f64 = pairs.iter().map(|(_, weight)| weight).sum();
        let products: f64 = pairs.iter().map(|(value, weight)| (value * weight).abs()).sum();
        if weights.max(if values_are_whole { products } else { 0.0 }) >= WHOLE_MAX {
            return Err(call.value_error(row, "the sum has more than 63 bits"));
        }
    }
    call.make_floats(|row| {
        let weight: f64 = all[row].iter().map(|(_, weight)| weight).sum();
        all[row].iter().map(|(value, weight)| value * weight).sum::<f64>() / weight
    })
}

/// The slope from the leftmost point to the rightmost.
fn bounding_ratio(points: &[(f64, f64)]) -> f64 {
    let Some((first, rest)) = points.split_first() else { return f64::NAN };
    // Of equal ones the first counts at both ends. A NaN is left or right of nothing.
    let (left, right) = rest.iter().fold((first, first), |(left, right), point| {
        let left = if point.0 < left.0 { point } else { left };
        (left, if point.0 > right.0 { point } else { right })
    });
    (right.1 - left.1) / (right.0 - left.0)
}

/// Spearman's coefficient; equal values share the mean of their ranks.
fn rank_correlation(pairs: &[(f64, f64)]) -> f64 {
    let ranks = |value: fn(&(f64, f64)) -> f64| {
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        order.sort_by(|a, b| value(&pairs[*a]).total_cmp(&value(&pairs[*b])));
        let mut ranks = vec![0.0; pairs.len()];
        for group in order.chunk_by(|a, b| value(&pairs[*a]).total_cmp(&value(&pairs[*b])).is_eq())
        {
            let before = order.partition_point(|at| {
                value(&pairs[*at]).total_cmp(&value(&pairs[group[0]])).is_lt()
            });
            for at in group {
                ranks[*at] = before as f64 + f64::midpoint(group.len() as f64, 1.0);
            }
        }
        ranks
    };
    let squares = ranks(|pair| pair.0).into_iter().zip(ranks(|pair| pair.1));
    let total: f64 = squares.map(|(left, right)| (left - right) * (left - right)).sum();
    let count = pairs.len() as f64;
    1.0 - 6.0 * total / (count * (count * count - 1.0))
}

fn level_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=2)?;
    takes(name, s, &[Kind::Array, Kind::Any], &[])?;
    let item = item_of(type_at(s, 0));
    let is_taken = is_number(item) || is_moment(bare(item));
    if !is_taken {
        return Err(wrong(name, format!("it takes numbers, dates and times, not {item}")));
    }
    Ok(bare(&plain_item(item)).clone())
}

/// Decimals are compared as they are, and stay what they are.
fn is_exact(item: &DataType) -> bool {
    matches!(bare(item), DataType::Decimal { precision: ..=38, .. })
}

fn exact_level_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    match item_of(type_at(s, 0)) {
        item if is_exact(item) && s.len() == 2 => Ok(bare(&plain_item(item)).clone()),
        _ => level_type(name, s),
    }
}

fn float_level_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    numbers_type(name, s.get(..1).unwrap_or_default())?;
    level_type(name, s).map(|_| DataType::Float64)
}

/// The values of a row in their order, without NULLs and NaNs.
fn sorted(lists: &Lists, items: &Float64Array, row: usize) -> Vec<usize> {
    let mut there: Vec<usize> =
        lists.range(row).filter(|at| !items.is_null(*at) && !items.value(*at).is_nan()).collect();
    there.sort_by(|a, b| items.value(*a).total_cmp(&items.value(*b)));
    there
}

/// The same by exact values: of large integers, several are one float.
fn sorted_exactly(
    lists: &Lists,
    values: &ArrayRef,
    row: usize,
    whole: Option<&[i128]>,
    items: &Float64Array,
) -> Vec<usize> {
    let Some(whole) = whole else { return sorted(lists, items, row) };
    let mut there: Vec<usize> = lists.range(row).filter(|at| !values.is_null(*at)).collect();
    there.sort_by_key(|at| whole[*at]);
    there
}

/// Integers of 64 bits and decimals as such.
fn whole_numbers(values: &ArrayRef) -> Result<Option<Vec<i128>>, FunctionError> {
    match values.data_type() {
        ArrowType::Int64 | ArrowType::UInt64 => wide_integers(values).map(Some),
        ArrowType::Timestamp(..) => wide_integers(&cast(values, &ArrowType::Int64)?).map(Some),
        ArrowType::Decimal128(..) => {
            Ok(Some(values.as_primitive::<Decimal128Type>().values().to_vec()))
        }
        _ => Ok(None),
    }
}

fn as_floats(lists: &Lists) -> Result<Float64Array, FunctionError> {
    moments_as_floats(&lists.items.values)
}

pub(crate) fn moments_as_floats(values: &ArrayRef) -> Result<Float64Array, FunctionError> {
    match values.data_type() {
        ArrowType::Date32 => floats(&cast(values, &ArrowType::Int32)?),
        ArrowType::Timestamp(..) => floats(&cast(values, &ArrowType::Int64)?),
        _ => floats(values),
    }
}

fn quantile(call: &Call, place: impl Fn(usize, f64) -> usize) -> Result<ArrayRef, FunctionError> {
    let (lists, level) = (call.lists(0)?, call.floats(1)?.get(0));
    let (items, whole) = (as_floats(&lists)?, whole_numbers(&lists.items.values)?);
    let places = (0..call.rows).map(|row| {
        let sorted = sorted_exactly(&lists, &lists.items.values, row, whole.as_deref(), &items);
        let place = place(sorted.len(), level).min(sorted.len().saturating_sub(1));
        // Where all are NaN, the answer is NaN.
        sorted.get(place).copied().or_else(|| lists.range(row).next())
    });
    one_each(&lists.items.values, places.collect())
}

fn weighted_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=2)?;
    takes(name, s, &[Kind::Array, Kind::Any], &[])?;
    match item_of(type_at(s, 0)) {
        DataType::Tuple(elements)
            if elements.len() == 2
                && (is_number(&elements[0].1) || is_moment(bare(&elements[0].1)))
                && integer(bare(&elements[1].1)).is_some() =>
        {
            Ok(bare(&plain_item(&elements[0].1)).clone())
        }
        _ => Err(wrong(name, "it takes numbers, dates or times, and their weights")),
    }
}

fn exact_weighted_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    match item_of(type_at(s, 0)) {
        DataType::Tuple(elements)
            if s.len() == 2
                && elements.len() == 2
                && is_exact(&elements[0].1)
                && integer(bare(&elements[1].1)).is_some() =>
        {
            Ok(bare(&plain_item(&elements[0].1)).clone())
        }
        _ => weighted_type(name, s),
    }
}

/// Values and how often each counts.
fn with_weights(call: &Call, lists: &Lists) -> Result<(ArrayRef, Vec<i128>), FunctionError> {
    let Some(pairs) = lists.items.values.as_struct_opt() else {
        return Err(wrong(call.name, "it takes pairs"));
    };
    let weights = wide_integers(pairs.column(1))?;
    if weights.iter().any(|weight| *weight < 0) {
        return Err(wrong(call.name, "a weight is less than 0"));
    }
    Ok((pairs.column(0).clone(), weights))
}

/// Sums of whole numbers are less.
const WHOLE_MAX: f64 = 9_223_372_036_854_775_808.0;

/// Most milliseconds that count; longer times are this long.
const TIMING_MAX: f64 = 30_000.0;

/// The quantile of times in whole milliseconds; those below zero do not count.
fn timing(
    call: &Call,
    lists: &Lists,
    items: &Float64Array,
    weights: &[i128],
) -> Result<ArrayRef, FunctionError> {
    let level = call.floats(1)?.get(0);
    call.make_floats(|row| {
        let mut there = sorted(lists, items, row);
        there.retain(|at| items.value(*at) >= 0.0 && weights[*at] > 0);
        let sum: i128 = there.iter().map(|at| weights[*at]).sum();
        let wanted = ((level * sum as f64) as i128).min(sum - 1);
        let mut so_far = 0;
        let found = there.iter().find(|at| {
            so_far += weights[**at];
            so_far > wanted
        });
        found.map_or(f64::NAN, |at| items.value(*at).trunc().min(TIMING_MAX))
    })
}

/// The first value at which the weights up to it are enough.
fn weighted(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (lists, level) = (call.lists(0)?, call.floats(1)?.get(0));
    let (values, weights) = with_weights(call, &lists)?;
    let (items, whole) = (moments_as_floats(&values)?, whole_numbers(&values)?);
    let places = (0..call.rows).map(|row| {
        let sorted = sorted_exactly(&lists, &values, row, whole.as_deref(), &items);
        let sum: i128 = sorted.iter().map(|at| weights[*at]).sum();
        if sum > u64::MAX.into() {
            return Err(call.value_error(row, "the sum of the weights has more than 64 bits"));
        }
        let wanted = (sum as f64 * level).ceil() as i128;
        let mut so_far = 0;
        let found = sorted.iter().find(|at| {
            so_far += weights[**at];
            so_far >= wanted
        });
        Ok(found.or(sorted.last()).copied())
    });
    one_each(&values, places.collect::<Result<_, _>>()?)
}

fn interpolated(call: &Call, place: impl Fn(f64, f64) -> f64) -> Result<ArrayRef, FunctionError> {
    let (lists, level) = (call.lists(0)?, call.floats(1)?.get(0));
    let items = as_floats(&lists)?;
    call.make_floats(|row| {
        let sorted = sorted(&lists, &items, row);
        let value = |at: usize| sorted.get(at).map_or(f64::NAN, |at| items.value(*at));
        let place = place(sorted.len() as f64, level);
        let below = place as usize;
        if below < 1 {
            return value(0);
        }
        if below >= sorted.len() {
            return value(sorted.len().saturating_sub(1));
        }
        value(below - 1) + (place - below as f64) * (value(below) - value(below - 1))
    })
}

/// What lies between the two values next to the level.
fn between(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (lists, level) = (call.lists(0)?, call.floats(1)?.get(0));
    let items = as_floats(&lists)?;
    call.make_floats(|row| {
        let sorted = sorted(&lists, &items, row);
        let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
        let place = (level * last as f64).clamp(0.0, last as f64);
        let below = place as usize;
        let value = |at: usize| items.value(sorted[at]);
        if below == last {
            return value(below);
        }
        // In this way the last digits are the same.
        value(below) * ((below + 1) as f64 - place) + value(below + 1) * (place - below as f64)
    })
}

fn moving_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[Kind::ConstInteger])?;
    let item = item_of(type_at(s, 0));
    match sum_type(item) {
        Some(sum) => Ok(array_of(sum)),
        None => Err(wrong(name, format!("it takes numbers, not {item}"))),
    }
}

/// The sum of this many last values at each; by their number.
fn moving(call: &Call, is_average: bool) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let window = match call.optional_integers(1)? {
        Some(sizes) => usize::try_from(sizes.get(0)).unwrap_or(0),
        None => 0,
    };
    let item = item_of(call.result);
    let lengths: Vec<usize> = (0..call.rows).map(|row| lists.range(row).len()).collect();
    let windows = |row: usize| {
        let range = lists.range(row);
        let size = if window == 0 { range.len().max(1) } else { window };
        let start = range.start;
        range.map(move |at| (start.max((at + 1).saturating_sub(size))..at + 1, size))
    };
    let values: ArrayRef = if is_average || *item == DataType::Float64 {
        let items = floats(&lists.items.values)?;
        // Differences of sums from the start, as there: the last digits are then the same.
        let mut sums = vec![0.0; items.len() + 1];
        for row in 0..call.rows {
            let mut sum = 0.0;
            for at in lists.range(row) {
                sum += items.value(at);
                sums[at + 1] = sum;
            }
        }
        let first = |row: usize| lists.range(row).start;
        let values = (0..call.rows).flat_map(|row| {
            let (sums, first) = (&sums, first(row));
            windows(row).map(move |(range, size)| {
                let before = if range.start == first { 0.0 } else { sums[range.start] };
                let sum = sums[range.end] - before;
                if is_average { sum / size as f64 } else { sum }
            })
        });
        Arc::new(Float64Array::from_iter_values(values))
    } else {
        let items = wide_integers(&lists.items.values)?;
        // Sums wrap, so that differences of those from the start are right, and no window is added up anew.
        let mut sums = vec![0_i128; items.len() + 1];
        for (at, item) in items.iter().enumerate() {
            sums[at + 1] = sums[at].wrapping_add(*item);
        }
        let ranges = (0..call.rows).flat_map(windows);
        let sums = ranges.map(|(range, _)| sums[range.end].wrapping_sub(sums[range.start]));
        integer_array(call.name, item, sums)?
    };
    list_array(lengths, values, item)
}

fn same_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Any], &[])?;
    Ok(type_at(s, 0).clone())
}

/// The values, of which none may be infinite.
fn finite_only(call: &Call) -> Result<ArrayRef, FunctionError> {
    let values = call.values(0)?;
    if values.data_type().is_floating() {
        let numbers = floats(&values)?;
        for row in 0..numbers.len() {
            if numbers.is_valid(row) && numbers.value(row).is_infinite() {
                return Err(call.value_error(row, "sums of infinite values are not supported"));
            }
        }
    }
    Ok(values)
}
