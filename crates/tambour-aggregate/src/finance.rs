//! Series of payments, and of measurements: `financialNetPresentValue`, `seriesOutliersDetectTukey`.

use crate::number::{floats, is_number};
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, Float64Array};
use arrow_schema::DataType as ArrowType;
use std::sync::Arc;
use tambour_function::kit::{Call, Kind, array_of, item_of, list_array, takes, type_at, wrong};
use tambour_function::{Function, FunctionError, Signature, cast};
use tambour_part::types::DataType;

/// The shares of a series that may lie below its quarters.
const SHARES: std::ops::RangeInclusive<f64> = 0.02..=0.98;
/// The fewest measurements that have outliers.
const FEWEST: usize = 4;

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("financialNetPresentValue", value_type, present_value),
    Function::new("seriesOutliersDetectTukey", outlier_type, outliers),
];

/// An error unless an argument is an array of numbers, none of which may be NULL.
fn expect_series(name: &str, series: &DataType) -> Result<(), FunctionError> {
    match item_of(series) {
        item if is_number(item) && *item != DataType::Bool => Ok(()),
        other => Err(wrong(name, format!("it takes an array of numbers, not of {other}"))),
    }
}

fn value_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Number, Kind::Array], &[Kind::ConstInteger])?;
    if !matches!(type_at(s, 0), DataType::Float32 | DataType::Float64) {
        return Err(wrong(name, format!("the rate must be a float, not {}", type_at(s, 0))));
    }
    expect_series(name, type_at(s, 1))?;
    Ok(DataType::Float64)
}

/// Payments at equal times, each less what it would have earned until then. The first is paid now, or after one of these times.
/// What loses all has no value that is finite.
fn present_value(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (rates, series) = (call.floats(0)?, call.full_lists(1)?);
    let starts_now = call.optional_integers(2)?.is_none_or(|flag| flag.get(0) != 0);
    let payments = floats(&series.items.values)?;
    if let Some(row) = (0..call.rows).find(|row| series.range(*row).is_empty()) {
        return Err(call.value_error(row, "there are no payments"));
    }
    call.make_floats(|row| {
        let growth = 1.0 + rates.get(row);
        if growth <= 0.0 {
            return f64::INFINITY;
        }
        let mut by = if starts_now { 1.0 } else { growth };
        series.range(row).fold(0.0, |sum, at| {
            let value = payments.value(at) / by;
            by *= growth;
            sum + value
        })
    })
}

fn constant(argument: &Signature) -> Result<Option<f64>, FunctionError> {
    let Some(constant) = argument.constant.as_ref().filter(|it| it.len() == 1 && it.is_valid(0))
    else {
        return Ok(None);
    };
    Ok(Some(cast(constant, &ArrowType::Float64)?.as_primitive::<Float64Type>().value(0)))
}

/// The shares below both quarters, and how many times their distance a measurement may be away.
fn fences(name: &str, s: &[Signature]) -> Result<[f64; 3], FunctionError> {
    let mut found = [0.25, 0.75, 1.5];
    for (place, argument) in found.iter_mut().zip(s.iter().skip(1)) {
        let Some(number) = constant(argument)? else {
            return Err(wrong(name, "the shares and the factor must be constants"));
        };
        *place = number;
    }
    let [low, high, factor] = found;
    if !SHARES.contains(&low) || !SHARES.contains(&high) || low >= high {
        return Err(wrong(
            name,
            "the shares must be from 0.02 to 0.98, the first below the second",
        ));
    }
    if !(0.0..f64::INFINITY).contains(&factor) {
        return Err(wrong(name, "the factor must not be negative"));
    }
    Ok(found)
}

fn outlier_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    let numbers = [Kind::Number, Kind::Number, Kind::Number];
    takes(name, s, &[Kind::Array], if s.len() == 1 { &[] } else { &numbers })?;
    if s.len() != 1 && s.len() != 1 + numbers.len() {
        return Err(wrong(name, "it takes 1 or 4 arguments"));
    }
    expect_series(name, type_at(s, 0))?;
    fences(name, s)?;
    Ok(array_of(DataType::Float64))
}

/// The measurement that has this share of all below it; between two of them it is their mean.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * sorted.len() as f64;
    let at = |index: usize| sorted.get(index).copied().unwrap_or_default();
    let above = place as usize;
    if place.fract() == 0.0 {
        f64::midpoint(at(above.saturating_sub(1)), at(above))
    } else {
        at(above)
    }
}

/// How far each measurement is outside of the fences, 0 for one within.
fn outliers(call: &Call) -> Result<ArrayRef, FunctionError> {
    let signatures = call.operands.iter().map(tambour_function::Operand::signature);
    let [low, high, factor] = fences(call.name, &signatures.collect::<Vec<_>>())?;
    let series = call.full_lists(0)?;
    let all = floats(&series.items.values)?;
    if !all.values().iter().all(|it| it.is_finite()) {
        return Err(wrong(call.name, "it does not take NaN and infinite numbers"));
    }
    let (mut scores, mut lengths) = (Vec::new(), Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        let range = series.range(row);
        if range.len() < FEWEST {
            return Err(call.value_error(row, format!("it takes {FEWEST} numbers at least")));
        }
        lengths.push(range.len());
        let numbers = all.values().get(range).unwrap_or_default();
        let mut sorted = numbers.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (first, last) = (quantile(&sorted, low), quantile(&sorted, high));
        let reach = factor * (last - first);
        let (least, most) = (first - reach, last + reach);
        scores.extend(numbers.iter().map(|number| match *number {
            below if below < least => below - least,
            above if above > most => above - most,
            _ => 0.0,
        }));
    }
    list_array(lengths, Arc::new(Float64Array::from(scores)), &DataType::Float64)
}
