//! Dates and times with another year, month, day, hour, minute or second: `changeYear` and its kin.

use super::access::{Kind, takes};
use super::civil::{self, DAY};
use super::moment::{self, Moments, expect_moment, from_ticks, ticks_per_second};
use super::{Call, Function, Signature, expect_count, wrong};
use crate::FunctionError;
use arrow_array::types::Date32Type;
use arrow_array::{ArrayRef, Int64Array, PrimitiveArray};
use std::sync::Arc;
use tambour_part::types::DataType;

/// What is changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
}

macro_rules! changes {
    ($($name:literal $part:ident)+) => {
        &[$(Function::new($name, |n, s| change_type(n, s, Part::$part), |c| change(c, Part::$part)),)+]
    };
}

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = changes! {
    "changeYear" Year
    "changeMonth" Month
    "changeDay" Day
    "changeHour" Hour
    "changeMinute" Minute
    "changeSecond" Second
};

fn change_type(name: &'static str, s: &[Signature], part: Part) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=2)?;
    expect_moment(name, s)?;
    takes(name, s.get(1..).unwrap_or_default(), &[Kind::Integer], &[])?;
    let Some(moment) = s.first() else { return Err(wrong(name, "it takes 2 arguments")) };
    let is_of_clock = matches!(part, Part::Hour | Part::Minute | Part::Second);
    Ok(match &moment.data_type {
        DataType::Date if is_of_clock => DataType::DateTime { zone: None },
        DataType::Date32 if is_of_clock => DataType::DateTime64 { precision: 3, zone: None },
        same => same.clone(),
    })
}

/// A day and a time of it, as written.
#[derive(Clone, Copy)]
struct Reading {
    day: i64,
    time: i64,
}

impl Reading {
    /// The same with another part, if there is such a part. Days that a month lacks are those of the next one.
    fn with(self, part: Part, value: i64) -> Option<Self> {
        let date = civil::from_days(civil::clamp(self.day));
        let (year, month, day) = (i64::from(date.year), i64::from(date.month), i64::from(date.day));
        let of_date = |year: i64, month: i64, day: i64| {
            let first = civil::to_days(i32::try_from(year).ok()?, u32::try_from(month).ok()?, 1);
            Some(Self { day: i64::from(first) + day - 1, time: self.time })
        };
        let of_clock = |hour: i64, minute: i64, second: i64| {
            Some(Self { day: self.day, time: hour * 3_600 + minute * 60 + second })
        };
        let (hour, minute, second) = (self.time / 3_600, self.time / 60 % 60, self.time % 60);
        match part {
            Part::Year => of_date(value, month, day),
            Part::Month => (1..=12).contains(&value).then(|| of_date(year, value, day))?,
            Part::Day => (1..=31).contains(&value).then(|| of_date(year, month, value))?,
            Part::Hour => (0..24).contains(&value).then(|| of_clock(value, minute, second))?,
            Part::Minute => (0..60).contains(&value).then(|| of_clock(hour, value, second))?,
            Part::Second => (0..60).contains(&value).then(|| of_clock(hour, minute, value))?,
        }
    }
}

/// Where a type ends that has no such moment.
#[derive(Clone, Copy)]
enum End {
    First,
    Last,
}

/// The first and the last instant of a type, in seconds.
fn ends(data_type: &DataType) -> (i64, i64) {
    match data_type {
        DataType::Date => (0, i64::from(u16::MAX) * DAY),
        DataType::DateTime { .. } => (0, u32::MAX.into()),
        _ => (i64::from(civil::FIRST_DAY) * DAY, i64::from(civil::LAST_DAY) * DAY + DAY - 1),
    }
}

fn change(call: &Call, part: Part) -> Result<ArrayRef, FunctionError> {
    let zone = moment::zone(call, usize::MAX)?;
    let values = call.integers(1)?;
    let per_second = match call.result {
        DataType::DateTime64 { precision, .. } => ticks_per_second(*precision),
        _ => 1,
    };
    let (first, last) = ends(call.result);
    let years = (
        i64::from(civil::from_days(civil::clamp(first.div_euclid(DAY))).year),
        i64::from(civil::from_days(civil::clamp(last.div_euclid(DAY))).year),
    );
    let one = |row: usize, reading: Reading| -> Result<i64, End> {
        let value = i64::try_from(values.get(row)).unwrap_or(i64::MAX);
        if part == Part::Year && value > years.1 {
            return Err(End::Last);
        }
        let Some(changed) =
            reading.with(part, value).filter(|_| part != Part::Year || value >= years.0)
        else {
            return Err(End::First);
        };
        let instant = match call.result {
            DataType::Date | DataType::Date32 => changed.day * DAY,
            _ => zone.instant(civil::clamp(changed.day), changed.time),
        };
        match instant {
            early if early < first => Err(End::First),
            late if late > last => Err(End::Last),
            inside => Ok(inside),
        }
    };
    let of_end = |end: End, unit: i64| match end {
        End::First => first.saturating_mul(unit),
        End::Last => last.saturating_mul(unit).saturating_add(unit - 1),
    };
    let moments = Moments::of(call, 0)?;
    if let (Moments::Days(days), DataType::Date | DataType::Date32) = (&moments, call.result) {
        let changed = (0..days.len()).map(|row| {
            let changed = one(row, Reading { day: days.value(row).into(), time: 0 });
            civil::clamp(changed.unwrap_or_else(|end| of_end(end, 1)).div_euclid(DAY))
        });
        return Ok(Arc::new(PrimitiveArray::<Date32Type>::from_iter_values(changed)));
    }
    let (ticks, own) = match moments {
        Moments::Ticks(ticks, own) => (ticks, own),
        other => (other.seconds(&zone), 1),
    };
    let changed = ticks.values().iter().enumerate().map(|(row, tick)| {
        let (second, rest) =
            (tick.div_euclid(own), tick.rem_euclid(own) * (per_second / own).max(1));
        let (day, time) = zone.local(second);
        match one(row, Reading { day, time }) {
            Ok(second) => second.saturating_mul(per_second).saturating_add(rest),
            Err(end) => of_end(end, per_second),
        }
    });
    from_ticks(Int64Array::from_iter_values(changed), call.result)
}
