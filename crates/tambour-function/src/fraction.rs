//! Fractions of seconds: `addMilliseconds` and its kin, and starts of milliseconds, microseconds and nanoseconds.

use super::moment::{self, Moments, from_ticks, ticks_per_second};
use super::{Call, Function, Operand, Signature, cast, expect_count, find_in_queries, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::DataType as ArrowType;
use std::sync::Arc;
use tambour_part::types::DataType;

macro_rules! shifts {
    ($($add:literal $subtract:literal $precision:literal)+) => {
        &[$(
            Function::new($add, |n, s| shift_type(n, s, $precision), |c| shift(c, $precision, 1))
                .any_case(),
            Function::new(
                $subtract,
                |n, s| shift_type(n, s, $precision),
                |c| shift(c, $precision, -1),
            )
            .any_case(),
        )+]
    };
}

/// Functions that move by fractions of seconds, with the digits of their unit.
pub(super) const SHIFTS: &[Function] = shifts! {
    "addMilliseconds" "subtractMilliseconds" 3
    "addMicroseconds" "subtractMicroseconds" 6
    "addNanoseconds" "subtractNanoseconds" 9
};

/// Functions that cut fractions off.
pub(super) const STARTS: &[Function] = &[
    Function::new("toStartOfMillisecond", |n, s| start_type(n, s, 3), |c| start(c, 3)),
    Function::new("toStartOfMicrosecond", |n, s| start_type(n, s, 6), |c| start(c, 6)),
    Function::new("toStartOfNanosecond", |n, s| start_type(n, s, 9), |c| start(c, 9)),
];

/// The types that a number of units may have.
pub(super) fn expect_count_of_units(
    name: &'static str,
    s: &[Signature],
) -> Result<(), FunctionError> {
    expect_count(name, s, 2..=2)?;
    let Some(count) = s.get(1) else { return Err(wrong(name, "it takes 2 arguments")) };
    let is_float = matches!(count.data_type, DataType::Float32 | DataType::Float64);
    if !is_float && super::arithmetic::integer(&count.data_type).is_none() {
        return Err(wrong(name, format!("the number cannot be {}", count.data_type)));
    }
    Ok(())
}

/// The call with a text in the first place read as an instant: ClickHouse takes any form that is clearly one.
pub(super) fn read_text(
    call: &Call,
    precision: u8,
    then: impl FnOnce(&Call) -> Result<ArrayRef, FunctionError>,
) -> Result<ArrayRef, FunctionError> {
    let [first, others @ ..] = call.operands else { return then(call) };
    if first.data_type != DataType::String {
        return then(call);
    }
    let reading = find_in_queries("parseDateTime64BestEffort")
        .ok_or_else(|| wrong(call.name, "it cannot read texts"))?;
    let digits = Operand {
        data_type: DataType::UInt8,
        values: Arc::new(arrow_array::UInt8Array::from(vec![precision])),
        is_constant: true,
    };
    let mut operands = vec![reading.evaluate(&[first.clone(), digits])?];
    operands.extend(others.iter().cloned());
    then(&Call { name: call.name, operands: &operands, result: call.result, rows: call.rows })
}

fn shift_type(name: &'static str, s: &[Signature], digits: u8) -> Result<DataType, FunctionError> {
    expect_count_of_units(name, s)?;
    match s.first().map(|first| &first.data_type) {
        Some(DataType::String) => Ok(DataType::DateTime64 { precision: digits, zone: None }),
        Some(DataType::DateTime { zone }) => {
            Ok(DataType::DateTime64 { precision: digits, zone: zone.clone() })
        }
        Some(DataType::DateTime64 { precision, zone }) => {
            Ok(DataType::DateTime64 { precision: digits.max(*precision), zone: zone.clone() })
        }
        Some(other) => Err(wrong(name, format!("it does not take {other}"))),
        None => Err(wrong(name, "it takes 2 arguments")),
    }
}

/// The ticks of a result type per second.
fn ticks_of(result: &DataType) -> i64 {
    match result {
        DataType::DateTime64 { precision, .. } => ticks_per_second(*precision),
        _ => 1,
    }
}

/// Instants of the first argument in ticks of the result; `None` where there are too many.
fn ticks(call: &Call) -> Result<Vec<Option<i64>>, FunctionError> {
    let wanted = ticks_of(call.result);
    let (values, per_second) = match Moments::of(call, 0)? {
        Moments::Seconds(seconds) => (seconds, 1),
        Moments::Ticks(ticks, per_second) => (ticks, per_second),
        Moments::Days(_) => return Err(wrong(call.name, "it does not take days")),
    };
    let scale = wanted / per_second;
    Ok(values.values().iter().map(|tick| tick.checked_mul(scale)).collect())
}

fn shift(call: &Call, digits: u8, sign: i64) -> Result<ArrayRef, FunctionError> {
    read_text(call, digits, |call| {
        let counts = cast(&call.values(1)?, &ArrowType::Int64)?;
        let counts = counts.as_primitive::<Int64Type>();
        let unit = ticks_of(call.result) / ticks_per_second(digits);
        let moved = ticks(call)?.into_iter().enumerate().map(|(row, tick)| {
            if call.is_null(row) {
                return Ok(0);
            }
            let by = counts.value(row).checked_mul(sign).and_then(|count| count.checked_mul(unit));
            by.and_then(|by| tick?.checked_add(by))
                .ok_or_else(|| call.value_error(row, "the result does not fit its type"))
        });
        let moved = moved.collect::<Result<Vec<i64>, _>>()?;
        from_ticks(Int64Array::from(moved), call.result)
    })
}

fn start_type(name: &'static str, s: &[Signature], digits: u8) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=2)?;
    match s.first().map(|first| &first.data_type) {
        Some(DataType::DateTime64 { precision, .. }) => {
            let zone = moment::zone_name(name, s, 1)?;
            Ok(DataType::DateTime64 { precision: digits.max(*precision), zone })
        }
        Some(other) => Err(wrong(name, format!("it takes a DateTime64, not {other}"))),
        None => Err(wrong(name, "it takes an argument")),
    }
}

fn start(call: &Call, digits: u8) -> Result<ArrayRef, FunctionError> {
    let unit = ticks_of(call.result) / ticks_per_second(digits);
    let cut = ticks(call)?.into_iter().enumerate().map(|(row, tick)| match tick {
        Some(tick) => Ok(tick - tick.rem_euclid(unit)),
        None if call.is_null(row) => Ok(0),
        None => Err(call.value_error(row, "the result does not fit its type")),
    });
    let cut = cut.collect::<Result<Vec<i64>, _>>()?;
    from_ticks(Int64Array::from(cut), call.result)
}
