//! The mean of the arguments in their common type: `midpoint` and `avg2`. NULLs are left out.

use super::super::access::wide_integers;
use super::super::arithmetic::integer;
use super::super::moment::from_ticks;
use super::super::supertype::{common_type, widened};
use super::super::{Call, Function, Signature, bare, cast, expect_count, is_nullable, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, PrimitiveArray};
use std::sync::Arc;
use tambour_part::types::DataType;

/// Most digits of decimals whose sum is sure to have room.
const DIGITS_MAX: u8 = 36;

/// The functions of this room.
pub(in super::super) const FUNCTIONS: &[Function] = &[
    Function::new("midpoint", middle_type, middle).takes_nulls().any_case(),
    Function::new(
        "avg2",
        |n, s| {
            expect_count(n, s, 2..=2)?;
            middle_type(n, s)
        },
        middle,
    )
    .takes_nulls()
    .any_case(),
];

fn middle_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=usize::MAX)?;
    if let Some(packed) = s.iter().find(|it| matches!(it.data_type, DataType::LowCardinality(_))) {
        return Err(wrong(name, format!("it does not take {}", packed.data_type)));
    }
    let common = common_type(name, s.iter().map(|it| bare(&it.data_type).clone()))?;
    let is_taken = match &common {
        // Whether a sum of zeros below zero is one depends on where the NULLs are.
        DataType::Float32 | DataType::Float64 => !s.iter().any(|it| is_nullable(&it.data_type)),
        DataType::Date | DataType::Date32 | DataType::DateTime { .. } => true,
        DataType::DateTime64 { precision, .. } => matches!(precision, 0 | 3 | 6 | 9),
        // Integers beside a decimal have a type of their own there.
        DataType::Decimal { precision, .. } => {
            *precision <= DIGITS_MAX && s.iter().all(|it| *bare(&it.data_type) == common)
        }
        DataType::Bool => false,
        other => {
            integer(other).is_some() && s.iter().all(|it| *bare(&it.data_type) != DataType::Bool)
        }
    };
    if !is_taken {
        return Err(wrong(name, format!("it does not take {common}")));
    }
    let may_be_null = s.iter().any(|it| is_nullable(&it.data_type));
    Ok(if may_be_null { common.made_nullable() } else { common })
}

/// The mean of the numbers that are there, cut to a whole one toward zero.
fn whole(numbers: impl Iterator<Item = i128>) -> Option<i128> {
    let (mut sum, mut count) = (0_i128, 0);
    for number in numbers {
        sum = sum.saturating_add(number);
        count += 1;
    }
    sum.checked_div(count)
}

fn middle(call: &Call) -> Result<ArrayRef, FunctionError> {
    let sides = (0..call.operands.len()).map(|index| widened(&call.values(index)?, call.result));
    let sides = sides.collect::<Result<Vec<ArrayRef>, _>>()?;
    let rows = 0..call.rows;
    // Only of one or two numbers of one type, zeros below zero stay such.
    let is_plain = sides.len() <= 2 && call.operands.iter().all(|it| it.data_type == *call.result);
    let start = if is_plain { -0.0 } else { 0.0 };
    match call.result {
        DataType::Float64 => {
            let sides: Vec<_> = sides.iter().map(AsArray::as_primitive::<Float64Type>).collect();
            call.make_floats(|row| {
                let sum =
                    sides.iter().map(|it| it.value(row)).fold(start, |sum, float| sum + float);
                sum / sides.len() as f64
            })
        }
        DataType::Float32 => {
            let sides: Vec<_> = sides.iter().map(AsArray::as_primitive::<Float32Type>).collect();
            call.make_numbers::<Float32Type>(|row| {
                let floats = sides.iter().map(|it| it.value(row));
                let sum = floats.fold(start as f32, |sum, float| sum + float);
                sum / sides.len() as f32
            })
        }
        DataType::Decimal { .. } => {
            let form = sides.first().map(|it| it.data_type().clone());
            let sides: Vec<_> = sides.iter().map(|it| it.as_primitive_opt()).collect();
            let sides: Option<Vec<&PrimitiveArray<Decimal128Type>>> = sides.into_iter().collect();
            let (Some(sides), Some(form)) = (sides, form) else {
                return Err(wrong(call.name, "it does not take such decimals"));
            };
            let found = rows.map(|row| {
                whole(sides.iter().filter(|it| it.is_valid(row)).map(|it| it.value(row)))
            });
            let found: PrimitiveArray<Decimal128Type> = found.collect();
            Ok(Arc::new(found.with_data_type(form)))
        }
        _ => of_integers(call, &sides),
    }
}

/// Integers, days and ticks.
fn of_integers(call: &Call, sides: &[ArrayRef]) -> Result<ArrayRef, FunctionError> {
    let is_date = matches!(call.result, DataType::Date | DataType::Date32);
    let numbers = sides.iter().map(|side| {
        if is_date {
            wide_integers(&cast(side, &arrow_schema::DataType::Int32)?)
        } else {
            wide_integers(side)
        }
    });
    let numbers = numbers.collect::<Result<Vec<_>, _>>()?;
    let found = (0..call.rows).map(|row| {
        let there = sides.iter().zip(&numbers).filter(|(side, _)| side.is_valid(row));
        whole(there.filter_map(|(_, numbers)| numbers.get(row).copied()))
    });
    match call.result {
        DataType::Date | DataType::Date32 => {
            let days: Int32Array = found.map(|day| day.map(|day| day as i32)).collect();
            Ok(Arc::new(days.reinterpret_cast::<Date32Type>()))
        }
        DataType::DateTime { .. } | DataType::DateTime64 { .. } => {
            let ticks: Int64Array = found.map(|tick| tick.map(|tick| tick as i64)).collect();
            from_ticks(ticks, call.result)
        }
        _ => {
            let found: Vec<Option<i128>> = found.collect();
            call.make_optional_integers(|row| found[row])
        }
    }
}
