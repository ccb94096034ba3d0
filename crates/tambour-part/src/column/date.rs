//! Dates and times: days since 1970 (unsigned 16 or signed 32 bits), seconds (unsigned 32 bits), ticks (signed 64 bits).

use super::coerce::out_of_range;
use super::fault::Fault;
use super::fixed::Fixed;
use super::number::{append, array};
use crate::types::{DataType, unit, unit_precision};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, ArrowTimestampType, Date32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, Date32Array, PrimitiveArray};
use arrow_buffer::{MutableBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType as Arrow, TimeUnit};
use std::sync::Arc;

/// The days that ClickHouse's Date32 can show: 1900-01-01 to 2299-12-31.
const DATE32_DAYS: std::ops::RangeInclusive<i64> = -25_567..=120_529;
const DAY_MILLISECONDS: i64 = 86_400_000;

pub(super) fn find(data_type: &DataType) -> Option<Box<dyn Fixed>> {
    let named = |zone: &Option<String>| Arc::from(zone.as_deref().unwrap_or("UTC"));
    Some(match data_type {
        DataType::Date => Box::new(Date),
        DataType::Date32 => Box::new(LongDate),
        DataType::DateTime { zone } => Box::new(Seconds { zone: named(zone) }),
        DataType::DateTime64 { precision: precision @ 0..=9, zone } => {
            Box::new(Ticks { precision: *precision, zone: named(zone) })
        }
        _ => return None,
    })
}

#[derive(Debug)]
struct Date;

impl Fixed for Date {
    fn width(&self) -> usize {
        2
    }

    fn decode(
        &self,
        bytes: MutableBuffer,
        _rows: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Fault> {
        let days: Vec<i32> = bytes.typed_data::<u16>().iter().map(|&day| i32::from(day)).collect();
        Ok(Arc::new(Date32Array::try_new(days.into(), nulls)?))
    }

    fn wants(&self, given: &Arrow) -> Arrow {
        days_or_milliseconds(given)
    }

    fn encode(&self, values: &ArrayRef, target: &mut Vec<u8>) -> Result<(), Fault> {
        if let Some(days) = values.as_primitive_opt::<Date32Type>() {
            // Branchless over all rows; who is to blame is asked only if somebody is.
            if days.values().iter().fold(0, |over, day| over | day) & !0xffff == 0 {
                #[expect(clippy::cast_possible_truncation, reason = "checked by the line above")]
                days.values()
                    .iter()
                    .for_each(|&day| target.extend_from_slice(&(day as u16).to_le_bytes()));
                return Ok(());
            }
        }
        each_day(values, "Date (1970-01-01 to 2149-06-06)", |day| {
            let day = u16::try_from(day).ok()?;
            target.extend_from_slice(&day.to_le_bytes());
            Some(())
        })
    }
}

#[derive(Debug)]
struct LongDate;

impl Fixed for LongDate {
    fn width(&self) -> usize {
        4
    }

    fn decode(
        &self,
        bytes: MutableBuffer,
        rows: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Fault> {
        Ok(Arc::new(array::<Date32Type>(bytes, rows, nulls)?))
    }

    fn wants(&self, given: &Arrow) -> Arrow {
        days_or_milliseconds(given)
    }

    fn encode(&self, values: &ArrayRef, target: &mut Vec<u8>) -> Result<(), Fault> {
        each_day(values, "Date32 (1900-01-01 to 2299-12-31)", |day| {
            let day = i32::try_from(day).ok().filter(|_| DATE32_DAYS.contains(&day))?;
            target.extend_from_slice(&day.to_le_bytes());
            Some(())
        })
    }
}

/// Days come as days, or as milliseconds that must be whole days.
fn days_or_milliseconds(given: &Arrow) -> Arrow {
    match given {
        Arrow::Dictionary(_, values) => days_or_milliseconds(values),
        Arrow::Date64 => Arrow::Timestamp(TimeUnit::Millisecond, None),
        _ => Arrow::Date32,
    }
}

/// Hands the day of each row to `put`; where it refuses one that is not NULL, that is the fault. Rows of NULL are
/// handed over as day 0.
fn each_day(
    values: &ArrayRef,
    wanted: &str,
    mut put: impl FnMut(i64) -> Option<()>,
) -> Result<(), Fault> {
    for row in 0..values.len() {
        let day = match values.as_primitive_opt::<Date32Type>() {
            _ if values.is_null(row) => Some(0),
            Some(days) => Some(i64::from(days.value(row))),
            None => {
                let ticks = values.as_primitive::<TimestampMillisecondType>().value(row);
                (ticks % DAY_MILLISECONDS == 0).then_some(ticks / DAY_MILLISECONDS)
            }
        };
        if day.and_then(&mut put).is_none() {
            return Err(out_of_range(values, row, wanted));
        }
    }
    Ok(())
}

/// DateTime.
#[derive(Debug)]
struct Seconds {
    zone: Arc<str>,
}

impl Fixed for Seconds {
    fn width(&self) -> usize {
        4
    }

    fn decode(
        &self,
        bytes: MutableBuffer,
        _rows: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Fault> {
        let seconds: Vec<i64> =
            bytes.typed_data::<u32>().iter().map(|&second| i64::from(second)).collect();
        zoned::<TimestampSecondType>(seconds.into(), nulls, &self.zone)
    }

    fn wants(&self, given: &Arrow) -> Arrow {
        timestamp(given)
    }

    fn encode(&self, values: &ArrayRef, target: &mut Vec<u8>) -> Result<(), Fault> {
        let (ticks, precision) = ticks(values)?;
        let divisor = 10_i64.pow(precision.into());
        if divisor == 1 && ticks.iter().fold(0, |over, tick| over | tick) & !0xffff_ffff == 0 {
            #[expect(clippy::cast_possible_truncation, reason = "checked by the line above")]
            ticks.iter().for_each(|&tick| target.extend_from_slice(&(tick as u32).to_le_bytes()));
            return Ok(());
        }
        for (row, &tick) in ticks.iter().enumerate() {
            let second = u32::try_from(tick / divisor).ok().filter(|_| tick % divisor == 0);
            match second {
                Some(second) => target.extend_from_slice(&second.to_le_bytes()),
                None if values.is_null(row) => target.extend_from_slice(&[0; 4]),
                None => {
                    return Err(out_of_range(
                        values,
                        row,
                        "DateTime (whole seconds, 1970 to 2106)",
                    ));
                }
            }
        }
        Ok(())
    }
}

/// DateTime64.
#[derive(Debug)]
struct Ticks {
    precision: u8,
    zone: Arc<str>,
}

impl Ticks {
    /// Digits that the Arrow unit has more than the type.
    fn extra_digits(&self) -> u8 {
        unit_precision(unit(self.precision)) - self.precision
    }
}

impl Fixed for Ticks {
    fn width(&self) -> usize {
        8
    }

    fn decode(
        &self,
        bytes: MutableBuffer,
        rows: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Fault> {
        let ticks = if self.extra_digits() == 0 {
            ScalarBuffer::new(bytes.into(), 0, rows)
        } else {
            let factor = 10_i64.pow(self.extra_digits().into());
            let fault = |row, tick| {
                Fault::value(
                    row,
                    format!("DateTime64 of {tick} ticks is beyond Arrow's timestamps of this unit"),
                )
            };
            scaled(bytes.typed_data(), nulls.as_ref(), factor, fault)?.into()
        };
        match unit(self.precision) {
            TimeUnit::Second => zoned::<TimestampSecondType>(ticks, nulls, &self.zone),
            TimeUnit::Millisecond => zoned::<TimestampMillisecondType>(ticks, nulls, &self.zone),
            TimeUnit::Microsecond => zoned::<TimestampMicrosecondType>(ticks, nulls, &self.zone),
            TimeUnit::Nanosecond => zoned::<TimestampNanosecondType>(ticks, nulls, &self.zone),
        }
    }

    fn wants(&self, given: &Arrow) -> Arrow {
        timestamp(given)
    }

    fn encode(&self, values: &ArrayRef, target: &mut Vec<u8>) -> Result<(), Fault> {
        let (ticks, given) = ticks(values)?;
        if given == self.precision {
            append::<Int64Type>(&PrimitiveArray::<Int64Type>::new(ticks, None), target);
            return Ok(());
        }
        let wanted = || format!("DateTime64({}) exactly", self.precision);
        let factor = 10_i64.pow(given.abs_diff(self.precision).into());
        for (row, &tick) in ticks.iter().enumerate() {
            let exact = if given < self.precision {
                tick.checked_mul(factor)
            } else {
                (tick % factor == 0).then_some(tick / factor)
            };
            match exact {
                Some(tick) => target.extend_from_slice(&tick.to_le_bytes()),
                None if values.is_null(row) => target.extend_from_slice(&[0; 8]),
                None => return Err(out_of_range(values, row, wanted())),
            }
        }
        Ok(())
    }
}

fn scaled(
    ticks: &[i64],
    nulls: Option<&NullBuffer>,
    factor: i64,
    fault: impl Fn(usize, i64) -> Fault,
) -> Result<Vec<i64>, Fault> {
    let mut over = false;
    let scaled = ticks
        .iter()
        .map(|tick| {
            let (product, wrapped) = tick.overflowing_mul(factor);
            over |= wrapped;
            product
        })
        .collect();
    if over {
        let wrong = |&row: &usize| {
            ticks[row].checked_mul(factor).is_none()
                && nulls.is_none_or(|nulls| nulls.is_valid(row))
        };
        if let Some(row) = (0..ticks.len()).find(wrong) {
            return Err(fault(row, ticks[row]));
        }
    }
    Ok(scaled)
}

fn zoned<T: ArrowTimestampType>(
    ticks: ScalarBuffer<i64>,
    nulls: Option<NullBuffer>,
    zone: &Arc<str>,
) -> Result<ArrayRef, Fault> {
    Ok(Arc::new(PrimitiveArray::<T>::try_new(ticks, nulls)?.with_timezone(Arc::clone(zone))))
}

/// Timestamps stay what they are: an Arrow cast to a coarser unit would lose digits silently. The zone only matters for
/// display; one without a zone is taken as UTC.
fn timestamp(given: &Arrow) -> Arrow {
    match given {
        Arrow::Dictionary(_, values) => timestamp(values),
        Arrow::Date64 => Arrow::Timestamp(TimeUnit::Millisecond, None),
        _ => given.clone(),
    }
}

/// Ticks of a timestamp array, and their precision.
fn ticks(values: &ArrayRef) -> Result<(ScalarBuffer<i64>, u8), Fault> {
    fn of<T: ArrowPrimitiveType<Native = i64>>(values: &ArrayRef) -> ScalarBuffer<i64> {
        values.as_primitive::<T>().values().clone()
    }
    let Arrow::Timestamp(unit, _) = values.data_type() else {
        return Err(Fault::Other {
            reason: format!("Arrow type {} is not a timestamp", values.data_type()),
        });
    };
    let ticks = match unit {
        TimeUnit::Second => of::<TimestampSecondType>(values),
        TimeUnit::Millisecond => of::<TimestampMillisecondType>(values),
        TimeUnit::Microsecond => of::<TimestampMicrosecondType>(values),
        TimeUnit::Nanosecond => of::<TimestampNanosecondType>(values),
    };
    Ok((ticks, unit_precision(*unit)))
}
