//! Dates and instants: reading them from Arrow arrays, and their zones.

use super::civil;
use super::text::Texts;
use super::zone::{Clock, Fixed, Zone, with_clock};
use super::{Call, Signature, expect_count, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowTimestampType, Date32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, Int64Array, PrimitiveArray};
use arrow_schema::{DataType as ArrowType, TimeUnit};
use std::sync::Arc;
use tambour_part::types::DataType;

/// Dates or instants of an argument.
pub(super) enum Moments {
    /// Days since 1970-01-01.
    Days(PrimitiveArray<Date32Type>),
    /// Seconds of Unix time.
    Seconds(Int64Array),
    /// Ticks of Unix time, and how many make a second.
    Ticks(Int64Array, i64),
}

impl Moments {
    /// Reads an argument.
    pub(super) fn of(call: &Call, index: usize) -> Result<Self, FunctionError> {
        let values = call.values(index)?;
        let ticks = |per_second| Ok(Self::Ticks(as_integers(&values)?, per_second));
        match values.data_type() {
            ArrowType::Date32 => Ok(Self::Days(values.as_primitive::<Date32Type>().clone())),
            ArrowType::Timestamp(TimeUnit::Second, _) => Ok(Self::Seconds(as_integers(&values)?)),
            ArrowType::Timestamp(TimeUnit::Millisecond, _) => ticks(1_000),
            ArrowType::Timestamp(TimeUnit::Microsecond, _) => ticks(1_000_000),
            ArrowType::Timestamp(TimeUnit::Nanosecond, _) => ticks(1_000_000_000),
            other => Err(wrong(call.name, format!("it cannot read {other} as date or time"))),
        }
    }

    /// As seconds of Unix time; fractions are rounded down, days begin at midnight of the zone.
    pub(super) fn seconds(self, zone: &Zone) -> Int64Array {
        match self {
            Self::Days(days) => {
                with_clock!(zone, |clock| days.unary(|day| clock.start(civil::clamp(day.into()))))
            }
            Self::Seconds(seconds) => seconds,
            Self::Ticks(ticks, per_second) => ticks.unary(|tick| tick.div_euclid(per_second)),
        }
    }
    /// The same with fractions cut off, as the names of dates have them in ClickHouse: before 1970 that is up.
    pub(super) fn cut_seconds(self, zone: &Zone) -> Int64Array {
        match self {
            Self::Ticks(ticks, per_second) => ticks.unary(|tick| tick / per_second),
            other => other.seconds(zone),
        }
    }
}

/// The integers below a timestamp array; no copy.
fn as_integers(values: &ArrayRef) -> Result<Int64Array, FunctionError> {
    Ok(super::cast(values, &ArrowType::Int64)?.as_primitive::<Int64Type>().clone())
}

/// Type of a function of a date or time and perhaps a zone.
pub(super) fn part_type(
    name: &'static str,
    s: &[Signature],
    result: DataType,
) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=2)?;
    expect_moment(name, s)?;
    zone_argument(name, s, 1)?;
    Ok(result)
}

/// The zone that stands in an argument.
pub(super) fn zone_argument(
    name: &'static str,
    s: &[Signature],
    index: usize,
) -> Result<Option<String>, FunctionError> {
    let Some(argument) = s.get(index) else { return Ok(None) };
    let constant = argument.constant.as_ref().and_then(|constant| Texts::of(constant).first());
    match (constant, &argument.data_type) {
        (Some(zone), DataType::String) => {
            Zone::named(&zone)?;
            Ok(Some(zone))
        }
        _ => Err(wrong(name, format!("argument {} must be a constant time zone", index + 1))),
    }
}

/// The zone that counts: that of the argument at `index` if there is one, else that of the first argument's type.
pub(super) fn zone_name(
    name: &'static str,
    s: &[Signature],
    index: usize,
) -> Result<Option<String>, FunctionError> {
    if let Some(zone) = zone_argument(name, s, index)? {
        return Ok(Some(zone));
    }
    Ok(match s.first().map(|first| &first.data_type) {
        Some(DataType::DateTime { zone } | DataType::DateTime64 { zone, .. }) => zone.clone(),
        _ => None,
    })
}

/// The same as a zone.
pub(super) fn zone(call: &Call, index: usize) -> Result<Zone, FunctionError> {
    let signatures: Vec<Signature> = call.operands.iter().map(super::Operand::signature).collect();
    Ok(Zone::of(zone_name(call.name, &signatures, index)?.as_deref())?)
}

/// An argument that must be a constant integer, if it is there.
pub fn constant_integer(
    name: &'static str,
    s: &[Signature],
    index: usize,
) -> Result<Option<i64>, FunctionError> {
    let Some(argument) = s.get(index) else { return Ok(None) };
    let number = argument.constant.as_ref().filter(|constant| constant.data_type().is_integer());
    match number {
        Some(constant) if constant.len() == 1 && !constant.is_null(0) => {
            let wide = super::cast(constant, &ArrowType::Int64)?;
            Ok(wide.as_primitive::<Int64Type>().iter().next().flatten())
        }
        _ => Err(wrong(name, format!("argument {} must be a constant integer", index + 1))),
    }
}

/// A week mode, 0 if it is not there.
pub(super) fn mode(call: &Call, index: usize) -> Result<i64, FunctionError> {
    let signatures: Vec<Signature> = call.operands.iter().map(super::Operand::signature).collect();
    Ok(constant_integer(call.name, &signatures, index)?.unwrap_or(0))
}

/// An error unless the first argument is a date or an instant.
pub(super) fn expect_moment(name: &'static str, s: &[Signature]) -> Result<(), FunctionError> {
    match s.first().map(|first| &first.data_type) {
        Some(
            DataType::Date
            | DataType::Date32
            | DataType::DateTime { .. }
            | DataType::DateTime64 { .. },
        ) => Ok(()),
        Some(other) => Err(wrong(
            name,
            format!("it takes a Date, Date32, DateTime or DateTime64, not {other}"),
        )),
        None => Err(wrong(name, "it takes an argument")),
    }
}

/// Instants as the array of a `DateTime` type.
pub(super) fn with_zone(
    values: PrimitiveArray<TimestampSecondType>,
    data_type: &DataType,
) -> Result<ArrayRef, FunctionError> {
    from_ticks(values.reinterpret_cast(), data_type)
}

/// Ticks as the array of a `DateTime64` type.
pub(super) fn from_ticks(
    ticks: Int64Array,
    data_type: &DataType,
) -> Result<ArrayRef, FunctionError> {
    fn typed<T: ArrowTimestampType>(ticks: Int64Array, zone: Option<Arc<str>>) -> ArrayRef {
        Arc::new(ticks.reinterpret_cast::<T>().with_timezone_opt(zone))
    }
    match data_type.field("", tambour_part::types::Strings::Utf8).data_type() {
        ArrowType::Timestamp(unit, zone) => Ok(match unit {
            TimeUnit::Second => typed::<TimestampSecondType>(ticks, zone.clone()),
            TimeUnit::Millisecond => typed::<TimestampMillisecondType>(ticks, zone.clone()),
            TimeUnit::Microsecond => typed::<TimestampMicrosecondType>(ticks, zone.clone()),
            TimeUnit::Nanosecond => typed::<TimestampNanosecondType>(ticks, zone.clone()),
        }),
        other => Err(wrong("toDateTime64", format!("{other} is not a type of instants"))),
    }
}

/// Ticks of a second of the Arrow form of `DateTime64(precision)`.
pub(super) fn ticks_per_second(precision: u8) -> i64 {
    match precision {
        0 => 1,
        1..=3 => 1_000,
        4..=6 => 1_000_000,
        _ => 1_000_000_000,
    }
}
