//! `dateTrunc`: the start of a period. It is a Date32 or DateTime64 where the argument is one, so that times before 1970 have
//! theirs, too.

use super::civil::{self, DAY};
use super::moment::{self, Moments, expect_moment};
use super::text::Texts;
use super::zone::{Clock, Fixed, Zone, with_clock};
use super::{Call, Function, Operand, Signature, expect_count, find, wrong};
use crate::FunctionError;
use arrow_array::types::{Date32Type, Int64Type};
use arrow_array::{ArrayRef, PrimitiveArray};
use std::sync::Arc;
use tambour_part::types::DataType;

/// The function of this room.
pub(super) const FUNCTIONS: &[Function] =
    &[Function::new("dateTrunc", result_type, truncate).aliases(&["DATE_TRUNC"]).any_case()];

/// A period.
#[derive(Clone, Copy)]
enum Period {
    /// Seconds, with the function of dates and times that do not begin before 1970.
    Seconds(i64, &'static str),
    /// Days, with the first day, and the function.
    Days(fn(i32) -> i32, &'static str),
}

fn period(name: &'static str, s: &[Signature]) -> Result<Period, FunctionError> {
    let constant = s.first().and_then(|argument| argument.constant.as_ref());
    let text = constant.and_then(|constant| Texts::of(constant).first()).unwrap_or_default();
    Ok(match text.to_ascii_lowercase().as_str() {
        "second" => Period::Seconds(1, "toStartOfSecond"),
        "minute" => Period::Seconds(60, "toStartOfMinute"),
        "hour" => Period::Seconds(3_600, "toStartOfHour"),
        "day" => Period::Seconds(DAY, "toStartOfDay"),
        "week" => Period::Days(civil::monday, "toMonday"),
        "month" => Period::Days(civil::month_start, "toStartOfMonth"),
        "quarter" => Period::Days(civil::quarter_start, "toStartOfQuarter"),
        "year" => Period::Days(civil::year_start, "toStartOfYear"),
        _ => {
            return Err(wrong(
                name,
                "the unit must be second, minute, hour, day, week, month, quarter or year",
            ));
        }
    })
}

fn result_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=3)?;
    let rest = s.get(1..).unwrap_or_default();
    expect_moment(name, rest)?;
    let zone = moment::zone_name(name, rest, 1)?;
    let data_type = rest.first().map(|it| &it.data_type);
    let is_short = matches!(data_type, Some(DataType::Date | DataType::Date32));
    let is_wide = matches!(data_type, Some(DataType::Date32 | DataType::DateTime64 { .. }));
    Ok(match period(name, s)? {
        Period::Seconds(length, _) if is_short && length < DAY => {
            return Err(wrong(name, "a date has no hours, minutes and seconds"));
        }
        Period::Seconds(..) if is_wide => DataType::DateTime64 { precision: 0, zone },
        Period::Seconds(..) => DataType::DateTime { zone },
        Period::Days(..) if is_wide => DataType::Date32,
        Period::Days(..) => DataType::Date,
    })
}

fn truncate(call: &Call) -> Result<ArrayRef, FunctionError> {
    let signatures: Vec<Signature> = call.operands.iter().map(Operand::signature).collect();
    let rest = call.operands.get(1..).unwrap_or_default();
    let of_rest = signatures.get(1..).unwrap_or_default();
    let zone = Zone::of(moment::zone_name(call.name, of_rest, 1)?.as_deref())?;
    let period = period(call.name, &signatures)?;
    let (Period::Seconds(_, plain) | Period::Days(_, plain)) = period;
    let is_wide = matches!(call.result, DataType::Date32 | DataType::DateTime64 { .. });
    if !is_wide {
        let is_whole = matches!(period, Period::Seconds(1, _));
        return match find(plain).filter(|_| !is_whole) {
            Some(function) => {
                let operands = rest.iter().map(|operand| {
                    let values = operand.expanded(if operand.is_constant { 1 } else { call.rows });
                    Ok(Operand { values: values?, ..operand.clone() })
                });
                let operands = operands.collect::<Result<Vec<_>, FunctionError>>()?;
                function.evaluate(&operands)?.expanded(call.rows)
            }
            None => call.values(1),
        };
    }
    let moments = Moments::of(call, 1)?;
    // Fractions are cut off, also before 1970, where that is up.
    let seconds = match moments {
        Moments::Ticks(ticks, per_second) => ticks.unary(|tick| tick / per_second),
        other => other.seconds(&zone),
    };
    match period {
        Period::Days(start, _) => {
            let days: PrimitiveArray<Date32Type> =
                with_clock!(zone, |clock| seconds.unary(|second| start(clock.day(second))));
            Ok(Arc::new(days))
        }
        Period::Seconds(length, _) => {
            let starts: PrimitiveArray<Int64Type> = with_clock!(zone, |clock| {
                seconds.unary(|second| match length {
                    DAY => clock.start(clock.day(second)),
                    length => clock.round_down(second, length),
                })
            });
            moment::from_ticks(starts, call.result)
        }
    }
}
