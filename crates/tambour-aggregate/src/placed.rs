//! Aggregates of values beside a number: at a place (`groupArrayInsertAt`), at a time (`deltaSumTimestamp`), of a group
//! (`analysisOfVariance`), against a mean (`studentTTestOneSample`); and `gini`.

use crate::number::{floats, is_number, numbers_type, pairs, pairs_type};
use crate::pair::{of_floats, rows};
use crate::sample::{confidence, incomplete_beta, quantile};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Date32Array};
use arrow_schema::{DataType as ArrowType, TimeUnit};
use std::collections::HashMap;
use std::sync::Arc;
use tambour_function::kit::{
    Call, Comparable, Kind, Lists, Picks, array_of, as_list, integer, is_moment, item_of,
    key_items, list_array, one_each, plain_item, takes, total, type_at, wide_integers, wrong,
};
use tambour_function::{Function, FunctionError, Operand, Signature, bare, cast};
use tambour_part::types::DataType;

/// Places below this one can be filled, as in ClickHouse.
const PLACES_MAX: i128 = 0xff_ffff;
/// 1900-01-01, with which Date32 begins.
const FIRST_DAY: i32 = -25_567;

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("reduceGroupArrayInsertAt", placed_type, placed),
    Function::new("reduceGroupUniqArray", limited_type, unique),
    Function::new("reduceArgMin", beside_type, |c| beside(c, true)),
    Function::new("reduceArgMax", beside_type, |c| beside(c, false)),
    Function::new("reduceDeltaSumTimestamp", delta_type, delta_sum),
    Function::new("reduceGini", numbers_type, gini),
    Function::new("reduceStudentTTestOneSample", one_sample_type, one_sample),
    Function::new("reduceAnalysisOfVariance", groups_type, analysis),
];

fn two_elements<'a>(
    name: &str,
    s: &'a [Signature],
) -> Result<(&'a DataType, &'a DataType), FunctionError> {
    match item_of(type_at(s, 0)) {
        DataType::Tuple(elements) if elements.len() == 2 => Ok((&elements[0].1, &elements[1].1)),
        other => Err(wrong(name, format!("it takes two arguments, not {other}"))),
    }
}

fn placed_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[Kind::Any, Kind::ConstInteger])?;
    let (value, place) = two_elements(name, s)?;
    // Numbers that are written out have a sign here.
    match bare(value) {
        nested @ (DataType::Map(..) | DataType::Tuple(_)) => {
            return Err(wrong(name, format!("it does not take {nested}")));
        }
        DataType::Enum8(_) | DataType::Enum16(_) if s.len() > 1 => {
            return Err(wrong(name, format!("it takes no default beside {value}")));
        }
        _ if integer(bare(place)).is_none() || *bare(place) == DataType::Bool => {
            return Err(wrong(name, format!("a place is an integer, not {place}")));
        }
        _ => {}
    }
    Ok(array_of(bare(&plain_item(value)).clone()))
}

/// The columns of the pairs of an argument.
fn columns(call: &Call, lists: &Lists) -> Result<(ArrayRef, ArrayRef), FunctionError> {
    match lists.items.values.as_struct_opt() {
        Some(pairs) => Ok((pairs.column(0).clone(), pairs.column(1).clone())),
        None => Err(wrong(call.name, "it takes pairs")),
    }
}

/// A default in the form of the values: a number is seconds where these are times.
fn default_of(default: &ArrayRef, wanted: &ArrowType) -> Result<ArrayRef, FunctionError> {
    let ArrowType::Timestamp(unit, _) = wanted else {
        let made = cast(default, wanted)?;
        let has_null = as_list(&made).is_some_and(|list| list.values().null_count() > 0);
        if has_null {
            return Err(wrong("groupArrayInsertAt", "the default does not fit the values"));
        }
        return Ok(made);
    };
    if !default.data_type().is_integer() {
        return cast(default, wanted);
    }
    let ticks = match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    let seconds = cast(default, &ArrowType::Int64)?;
    let seconds = seconds.as_primitive::<Int64Type>();
    let ticks = seconds.unary::<_, Int64Type>(|second| second.wrapping_mul(ticks));
    cast(&(Arc::new(ticks) as ArrayRef), wanted)
}

/// Each value at its place, the first one of those at one; defaults between them.
fn placed(call: &Call) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let (values, of_places) = columns(call, &lists)?;
    let of_places = wide_integers(&of_places)?;
    let sizes = call.optional_integers(2)?;
    let size = sizes.as_ref().map(|sizes| sizes.get(0));
    let default = match call.operands.get(1) {
        Some(default) => Some(default_of(&default.values, values.data_type())?),
        // Of the types here it is the only one whose default is not its zero.
        None if *item_of(call.result) == DataType::Date32 => {
            Some(Arc::new(Date32Array::from(vec![FIRST_DAY])) as ArrayRef)
        }
        None => None,
    };
    let (mut places, mut lengths) = (Vec::new(), Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        let mut found: HashMap<i128, usize> = HashMap::new();
        let mut length = size.unwrap_or(0).clamp(0, PLACES_MAX);
        for at in lists.range(row).filter(|at| !values.is_null(*at)) {
            let place = of_places[at];
            if !(0..PLACES_MAX).contains(&place) {
                return Err(call.value_error(row, format!("{place} is not a place of an array")));
            }
            if size.is_none_or(|size| place < size) {
                found.entry(place).or_insert(at);
                length = length.max(place + 1);
            }
        }
        places.extend((0..length).map(|place| found.get(&place).copied()));
        lengths.push(length as usize);
    }
    let values = match default {
        None => one_each(&values, places)?,
        Some(default) => {
            let places: Vec<(usize, usize)> =
                places.into_iter().map(|place| place.map_or((1, 0), |place| (0, place))).collect();
            arrow_select::interleave::interleave(&[values.as_ref(), default.as_ref()], &places)
                .map_err(FunctionError::arrow("take items"))?
        }
    };
    list_array(lengths, values, item_of(call.result))
}

fn limited_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array, Kind::ConstInteger], &[])?;
    match bare(item_of(type_at(s, 0))) {
        nested @ (DataType::Map(..) | DataType::Tuple(_)) => {
            return Err(wrong(name, format!("it does not take {nested} and a number")));
        }
        // ClickHouse forgets the zone here.
        time @ (DataType::DateTime { .. } | DataType::DateTime64 { .. } | DataType::Array(_))
            if time.to_string().contains('/') =>
        {
            return Err(wrong(name, format!("it does not take {time} and a number")));
        }
        _ => {}
    }
    Ok(array_of(bare(&plain_item(item_of(type_at(s, 0)))).clone()))
}

/// The first different values, at most this many.
fn unique(call: &Call) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let Ok(most @ 1..) = usize::try_from(call.integers(1)?.get(0)) else {
        return Err(wrong(call.name, "the number must be greater than 0"));
    };
    let items = key_items(&lists.items)?;
    let mut picks = Picks::new(call);
    for row in 0..call.rows {
        let mut seen = std::collections::HashSet::new();
        let there = lists.range(row).filter(|at| !lists.is_null(*at));
        picks.row(there.filter(|at| seen.insert(items.get(*at))).take(most));
    }
    picks.arrays(&lists, item_of(call.result))
}

fn beside_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[])?;
    let (value, key) = two_elements(name, s)?;
    match bare(key) {
        nested @ (DataType::Array(_) | DataType::Map(..) | DataType::Tuple(_)) => {
            Err(wrong(name, format!("it does not look for the least or greatest {nested}")))
        }
        _ => Ok(bare(&plain_item(value)).clone()),
    }
}

/// The value beside the first of the least or greatest keys; a NaN is one if there is nothing else.
fn beside(call: &Call, is_least: bool) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let (values, keys) = columns(call, &lists)?;
    let (_, key) = match &lists.items.data_type {
        DataType::Tuple(elements) if elements.len() == 2 => (&elements[0].1, &elements[1].1),
        _ => return Err(wrong(call.name, "it takes pairs")),
    };
    let numbers = keys.data_type().is_floating().then(|| floats(&keys)).transpose()?;
    let is_nan = |at: usize| numbers.as_ref().is_some_and(|it| it.value(at).is_nan());
    let compared =
        Comparable::one(&Operand { data_type: key.clone(), values: keys, is_constant: false })?;
    let is_better = |at: usize, best: usize| match (is_nan(at), is_nan(best)) {
        (false, false) if is_least => compared.get(at) < compared.get(best),
        (false, false) => compared.get(at) > compared.get(best),
        (at, best) => best && !at,
    };
    let of_row = |row: usize| {
        lists.range(row).reduce(|best, at| if is_better(at, best) { at } else { best })
    };
    one_each(&values, (0..call.rows).map(of_row).collect())
}

fn delta_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[])?;
    let (value, time) = two_elements(name, s)?;
    let is_taken = |it: &DataType| is_number(it) && *bare(it) != DataType::Bool;
    if !is_taken(value) || !(is_taken(time) || is_moment(bare(time))) {
        return Err(wrong(name, format!("it takes numbers and times, not {value} and {time}")));
    }
    Ok(bare(value).clone())
}

/// The sum of the steps upwards, in the order of rows: times count only where ClickHouse joins what threads have.
fn delta_sum(call: &Call) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let (values, times) = columns(call, &lists)?;
    let is_there = |at: &usize| !values.is_null(*at) && !times.is_null(*at);
    let there = |row: usize| lists.range(row).filter(is_there).collect::<Vec<usize>>();
    if matches!(call.result, DataType::Float32 | DataType::Float64) {
        let values = floats(&values)?;
        return call.make_floats(|row| {
            let steps = there(row);
            let steps = steps.windows(2).map(|two| values.value(two[1]) - values.value(two[0]));
            total(steps.map(|step| step.max(0.0)))
        });
    }
    let values = wide_integers(&values)?;
    call.make_integers(|row| {
        there(row).windows(2).map(|two| (values[two[1]] - values[two[0]]).max(0)).sum()
    })
}

/// How unequal values are: 0 where all are alike.
fn gini(call: &Call) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let items = floats(&lists.items.values)?;
    let mut found = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let there = lists.range(row).filter(|at| !items.is_null(*at));
        let mut values: Vec<f64> = there.map(|at| items.value(at)).collect();
        if values.iter().any(|value| *value < 0.0) {
            return Err(call.value_error(row, "it does not take negative values"));
        }
        values.sort_by(f64::total_cmp);
        let count = values.len() as f64;
        let ranked = |(place, value): (usize, &f64)| (2.0 * place as f64 + 1.0 - count) * value;
        let whole: f64 = total(values.iter().copied());
        let sum = total(values.iter().enumerate().map(ranked));
        found.push(if values.len() > 1 { sum / (count * whole) } else { f64::NAN });
    }
    call.make_floats(|row| found[row])
}

fn one_sample_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[Kind::Any])?;
    pairs_type(name, s.get(..1).unwrap_or_default())?;
    let names = ["t_statistic", "p_value", "confidence_interval_low", "confidence_interval_high"];
    Ok(of_floats(&names[..if s.len() > 1 { 4 } else { 2 }]))
}

fn one_sample(call: &Call) -> Result<ArrayRef, FunctionError> {
    let level = if call.operands.len() > 1 { Some(confidence(call, 1)?) } else { None };
    let width = if level.is_some() { 4 } else { 2 };
    let varies = |pairs: &Vec<(f64, f64)>| {
        pairs.windows(2).any(|two| two[0].1.to_bits() != two[1].1.to_bits())
    };
    if pairs(call)?.iter().any(varies) {
        return Err(wrong(call.name, "the mean must be the same in all rows"));
    }
    rows(call, width, |pairs| {
        let count = pairs.len() as f64;
        let mean = total(pairs.iter().map(|pair| pair.0)) / count;
        let squares = total(pairs.iter().map(|pair| (pair.0 - mean) * (pair.0 - mean)));
        let error = (squares / (count - 1.0) / count).sqrt();
        let expected = pairs.first().map_or(f64::NAN, |pair| pair.1);
        let statistic = (mean - expected) / error;
        if pairs.len() < 2 || !statistic.is_finite() {
            return vec![f64::NAN; width];
        }
        let freedom = count - 1.0;
        let outside = |t: f64| incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t));
        let mut all = vec![statistic, outside(statistic)];
        if let Some(level) = level {
            let half = quantile(|t| outside(t) > 1.0 - level) * error;
            all.extend([mean - half, mean + half]);
        }
        all
    })
}

fn groups_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[])?;
    pairs_type(name, s)?;
    let (_, group) = two_elements(name, s)?;
    match integer(bare(group)) {
        Some(number) if !number.is_signed => Ok(of_floats(&["f_statistic", "p_value"])),
        _ => Err(wrong(name, format!("a group is a number without a sign, not {group}"))),
    }
}

/// Whether the means of groups differ by more than the values in them do.
fn analysis(call: &Call) -> Result<ArrayRef, FunctionError> {
    let all = pairs(call)?;
    for (row, pairs) in all.iter().enumerate() {
        let groups: std::collections::BTreeSet<u64> =
            pairs.iter().map(|pair| pair.1 as u64).collect();
        let is_full = groups.iter().zip(0..).all(|(group, place)| *group == place);
        let problem = match groups.len() {
            0 => continue,
            1 => "there is only one group",
            count if count == pairs.len() => "each group has only one value",
            _ if !is_full => "groups must be numbered from 0 on without gaps",
            _ => continue,
        };
        return Err(call.value_error(row, problem));
    }
    rows(call, 2, |pairs| {
        let mut groups: HashMap<u64, (f64, f64)> = HashMap::new();
        for (value, group) in pairs {
            let of_group = groups.entry(*group as u64).or_default();
            *of_group = (of_group.0 + 1.0, of_group.1 + value);
        }
        let count = pairs.len() as f64;
        let mean = total(pairs.iter().map(|pair| pair.0)) / count;
        // In one order, so that the last digits do not vary.
        let mut sums: Vec<(f64, f64)> = groups.values().copied().collect();
        sums.sort_by(|a, b| a.1.total_cmp(&b.1));
        let between = total(sums.iter().map(|(n, sum)| n * (sum / n - mean) * (sum / n - mean)));
        let within = total(pairs.iter().map(|(value, group)| {
            let (n, sum) = groups[&(*group as u64)];
            (value - sum / n) * (value - sum / n)
        }));
        let (left, right) = (sums.len() as f64 - 1.0, count - sums.len() as f64);
        let statistic = (between / left) / (within / right);
        if !statistic.is_finite() {
            return vec![f64::NAN; 2];
        }
        let place = right / (right + left * statistic);
        vec![statistic, incomplete_beta(right / 2.0, left / 2.0, place)]
    })
}
