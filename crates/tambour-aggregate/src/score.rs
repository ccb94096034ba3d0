//! Scores of one array by another: the areas under curves of a classifier (`arrayROCAUC`, `arrayAUCPR`), Gini's
//! coefficient, and the distances of Levenshtein.

use crate::number::{floats, is_number};
use arrow_array::{ArrayRef, Float64Array};
use std::sync::Arc;
use tambour_function::kit::{
    Call, Kind, Lists, compare_items, expect_count, item_of, takes, tuples, type_at, wrong,
};
use tambour_function::{Function, FunctionError, Signature, bare};
use tambour_part::types::DataType;

/// Most cells of the table of a distance.
const CELLS_MAX: usize = 1 << 28;

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("arrayROCAUC", curve_type, |c| {
        curve(c, |samples| {
            let (area, [positive, negative]) = walk(samples, |before, now| {
                (now[1] - before[1]) * f64::midpoint(now[0], before[0])
            });
            area / (positive * negative)
        })
    })
    .aliases(&["arrayAUC"]),
    Function::new("arrayAUCPR", curve_type, |c| {
        curve(c, |samples| {
            let (area, [positive, _]) =
                walk(samples, |before, now| (now[0] - before[0]) * now[0] / (now[0] + now[1]));
            if positive > 0.0 { area / positive } else { 0.0 }
        })
    })
    .aliases(&["arrayPRAUC"]),
    Function::new("arrayLevenshteinDistance", distance_type, |c| {
        let found = distances(c)?;
        c.make_integers(|row| found[row].0 as i128)
    }),
    Function::new("arrayLevenshteinDistanceWeighted", weighted_type, |c| {
        let found = distances(c)?;
        c.make_floats(|row| found[row].0)
    }),
    Function::new("arraySimilarity", weighted_type, |c| {
        let found = distances(c)?;
        c.make_floats(|row| match found[row] {
            (_, 0.0) => 1.0,
            (distance, whole) => 1.0 - distance / whole,
        })
    }),
    Function::new(
        "arrayNormalizedGini",
        |n, s| {
            curve_type(n, s)?;
            Ok(DataType::Tuple(vec![(None, DataType::Float64); 3]))
        },
        normalized_gini,
    ),
];

/// Most predictions of which some are equal: ClickHouse leaves the order of those of more open.
const EQUAL_MAX: usize = 16;

fn curve_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array, Kind::Array], &[])?;
    for argument in s {
        let item = item_of(&argument.data_type);
        if !is_number(item) || *bare(item) == DataType::Bool || *item != *bare(item) {
            return Err(wrong(name, format!("it takes arrays of numbers, not of {item}")));
        }
    }
    Ok(DataType::Float64)
}

/// How unequal the labels are in an order: the mean of their running sums' shares less that of equal labels.
fn gini(labels: impl ExactSizeIterator<Item = f64> + Clone) -> f64 {
    let count = labels.len() as f64;
    if count == 0.0 {
        return f64::INFINITY;
    }
    let total: f64 = labels.clone().sum();
    let mut running = 0.0;
    let shares = labels.map(|label| {
        running += label;
        running / total
    });
    shares.sum::<f64>() / count - (count + 1.0) / (2.0 * count)
}

/// The coefficient of labels in the order of their predictions, that in their own, and the quotient.
fn normalized_gini(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (predictions, labels) = (call.full_lists(0)?, call.full_lists(1)?);
    let (of_predictions, of_labels) =
        (floats(&predictions.items.values)?, floats(&labels.items.values)?);
    let all = of_predictions.values().iter().chain(of_labels.values().iter());
    if all.copied().any(f64::is_nan) {
        return Err(wrong(call.name, "NaN has no place among numbers"));
    }
    let mut found: [Vec<f64>; 3] = [const { Vec::new() }; 3];
    for row in 0..call.rows {
        let (a, b) = (predictions.range(row), labels.range(row));
        if a.len() != b.len() {
            let problem = format!("the arrays have {} and {} items", a.len(), b.len());
            return Err(call.value_error(row, problem));
        }
        let pairs = a.zip(b).map(|(a, b)| (of_predictions.value(a) + 0.0, of_labels.value(b)));
        let mut pairs: Vec<(f64, f64)> = pairs.collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let has_equal = pairs.windows(2).any(|pair| pair[0].0.total_cmp(&pair[1].0).is_eq());
        if has_equal && pairs.len() > EQUAL_MAX {
            let problem = format!("more than {EQUAL_MAX} predictions, of which some are equal");
            return Err(call.value_error(row, problem));
        }
        // Of equal predictions the later one comes first.
        let mut own: Vec<f64> = pairs.iter().map(|(_, label)| *label).collect();
        let by_prediction = gini(own.iter().rev().copied());
        own.sort_by(f64::total_cmp);
        let by_label = gini(own.iter().rev().copied());
        let whole = [by_prediction, by_label, by_prediction / by_label];
        found.iter_mut().zip(whole).for_each(|(column, value)| column.push(value));
    }
    let column = |values: Vec<f64>| Arc::new(Float64Array::from(values)) as ArrayRef;
    tuples(call, found.into_iter().map(column).collect())
}

/// Something for each row of its samples: scores with whether they are positive, the greatest score first.
fn curve(call: &Call, make: impl Fn(&[(f64, bool)]) -> f64) -> Result<ArrayRef, FunctionError> {
    let (scores, labels) = (call.full_lists(0)?, call.full_lists(1)?);
    let (of_scores, of_labels) = (floats(&scores.items.values)?, floats(&labels.items.values)?);
    if of_scores.values().iter().any(|score| score.is_nan()) {
        return Err(wrong(call.name, "NaN has no place among scores"));
    }
    let mut found = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let (a, b) = (scores.range(row), labels.range(row));
        if a.len() != b.len() {
            let problem = format!("the arrays have {} and {} items", a.len(), b.len());
            return Err(call.value_error(row, problem));
        }
        let pairs = a.zip(b).map(|(a, b)| (of_scores.value(a), of_labels.value(b) > 0.0));
        let mut samples: Vec<(f64, bool)> = pairs.collect();
        samples.sort_by(|a, b| (b.0 + 0.0).total_cmp(&(a.0 + 0.0)));
        found.push(make(&samples));
    }
    call.make_floats(|row| found[row])
}

/// The sum of what is made of the counts of positive and negative samples before and after each score; and the last counts.
fn walk(samples: &[(f64, bool)], step: impl Fn([f64; 2], [f64; 2]) -> f64) -> (f64, [f64; 2]) {
    let (mut sum, mut counts) = (0.0, [0.0; 2]);
    // Equal scores are one step; 0 and -0 are.
    for group in samples.chunk_by(|a, b| (a.0 + 0.0).total_cmp(&(b.0 + 0.0)).is_eq()) {
        let before = counts;
        for (_, is_positive) in group {
            counts[usize::from(!is_positive)] += 1.0;
        }
        sum += step(before, counts);
    }
    (sum, counts)
}

fn distance_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array, Kind::Array], &[])?;
    same_items(name, s)?;
    Ok(DataType::UInt32)
}

fn same_items(name: &'static str, s: &[Signature]) -> Result<(), FunctionError> {
    let (left, right) = (item_of(type_at(s, 0)), item_of(type_at(s, 1)));
    if bare(left) == bare(right) {
        return Ok(());
    }
    Err(wrong(name, format!("it takes items of one type, not {left} and {right}")))
}

fn weighted_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 4..=4)?;
    takes(name, s, &[Kind::Array; 4], &[])?;
    same_items(name, s)?;
    for argument in s.iter().skip(2) {
        let item = item_of(&argument.data_type);
        if !is_number(item) || *bare(item) == DataType::Bool {
            return Err(wrong(name, format!("weights are numbers, not {item}")));
        }
    }
    Ok(DataType::Float64)
}

/// The weights of the items of an argument.
fn weights(call: &Call, index: usize) -> Result<Option<(Lists, Vec<f64>)>, FunctionError> {
    if index >= call.operands.len() {
        return Ok(None);
    }
    let lists = call.full_lists(index)?;
    let weights = floats(&lists.items.values)?.values().to_vec();
    Ok(Some((lists, weights)))
}

fn has_nan(lists: &Lists) -> bool {
    match lists.items.data_type {
        DataType::Float32 | DataType::Float64 => floats(&lists.items.values)
            .is_ok_and(|floats| floats.values().iter().any(|float| float.is_nan())),
        _ => false,
    }
}

/// The distance of each row, and the weight of all its items.
fn distances(call: &Call) -> Result<Vec<(f64, f64)>, FunctionError> {
    let sides = [call.lists(0)?, call.lists(1)?];
    let items = compare_items(&[&sides[0].items, &sides[1].items])?;
    let [left, right] = items.as_slice() else {
        return Err(wrong(call.name, "it takes two arrays"));
    };
    if sides.iter().any(has_nan) {
        return Err(wrong(call.name, "NaN is not equal to itself; leave it out"));
    }
    let of_items = [weights(call, 2)?, weights(call, 3)?];
    let weight_of = |side: usize, row: usize| match &of_items[side] {
        None => Ok(vec![1.0; sides[side].range(row).len()]),
        Some((lists, all)) if lists.range(row).len() == sides[side].range(row).len() => {
            Ok(all[lists.range(row)].to_vec())
        }
        Some(_) => Err(call.value_error(row, "there must be a weight for each item")),
    };
    let mut found = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let (from, to) = (weight_of(0, row)?, weight_of(1, row)?);
        if from.len().saturating_mul(to.len()) > CELLS_MAX {
            return Err(call.value_error(row, "the arrays are too long to compare"));
        }
        let (a, b) = (sides[0].range(row).start, sides[1].range(row).start);
        let is_same = |i: usize, j: usize| left.get(a + i) == right.get(b + j);
        let whole = from.iter().sum::<f64>() + to.iter().sum::<f64>();
        // Where there are weights, an item becomes another one by going and coming.
        found.push((distance(&from, &to, of_items[0].is_some(), is_same), whole));
    }
    Ok(found)
}

/// The least cost to make one list of the other, by the costs of items that go and come.
fn distance(
    from: &[f64],
    to: &[f64],
    is_weighted: bool,
    is_same: impl Fn(usize, usize) -> bool,
) -> f64 {
    let mut above: Vec<f64> = Vec::with_capacity(to.len() + 1);
    above.push(0.0);
    for cost in to {
        above.push(above[above.len() - 1] + cost);
    }
    for (i, gone) in from.iter().enumerate() {
        let mut here = Vec::with_capacity(above.len());
        here.push(above[0] + gone);
        for (j, come) in to.iter().enumerate() {
            let changed = match (is_same(i, j), is_weighted) {
                (true, _) => 0.0,
                (false, true) => gone + come,
                (false, false) => 1.0,
            };
            here.push((above[j + 1] + gone).min(here[j] + come).min(above[j] + changed));
        }
        above = here;
    }
    above[to.len()]
}
