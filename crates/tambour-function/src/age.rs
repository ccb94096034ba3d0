//! Full units between two dates or times: `age`, and `timeDiff`.

use super::civil::{self, DAY};
use super::moment::{self, Moments, expect_moment};
use super::text::Texts;
use super::zone::Zone;
use super::{Call, Function, Operand, Signature, bare, expect_count, wrong};
use crate::FunctionError;
use arrow_array::ArrayRef;
use tambour_part::types::DataType;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("age", age_type, age).any_case(),
    Function::new("timeDiff", difference_type, |c| {
        let (from, to) = (side(c, 0, None)?, side(c, 1, None)?);
        c.make_integers(|row| {
            to.of_date_time(row).div_euclid(SECOND) - from.of_date_time(row).div_euclid(SECOND)
        })
    }),
];

/// What is counted.
#[derive(Clone, Copy)]
enum Unit {
    /// Of this many nanoseconds.
    Fixed(i128),
    /// Days.
    Days,
    /// Weeks.
    Weeks,
    /// Of this many months.
    Months(i128),
}

const SECOND: i128 = 1_000_000_000;

fn unit_named(name: &str) -> Option<Unit> {
    Some(match name.to_ascii_lowercase().as_str() {
        "nanosecond" | "nanoseconds" | "ns" => Unit::Fixed(1),
        "microsecond" | "microseconds" | "us" | "u" => Unit::Fixed(1_000),
        "millisecond" | "milliseconds" | "ms" => Unit::Fixed(1_000_000),
        "second" | "seconds" | "ss" | "s" => Unit::Fixed(SECOND),
        "minute" | "minutes" | "mi" | "n" => Unit::Fixed(60 * SECOND),
        "hour" | "hours" | "hh" | "h" => Unit::Fixed(3_600 * SECOND),
        "day" | "days" | "dd" | "d" => Unit::Days,
        "week" | "weeks" | "wk" | "ww" => Unit::Weeks,
        "month" | "months" | "mm" | "m" => Unit::Months(1),
        "quarter" | "quarters" | "qq" | "q" => Unit::Months(3),
        "year" | "years" | "yyyy" | "yy" => Unit::Months(12),
        _ => return None,
    })
}

fn unit(name: &'static str, s: &[Signature]) -> Result<Unit, FunctionError> {
    let constant = s.first().and_then(|argument| argument.constant.as_ref());
    let text = constant.and_then(|constant| Texts::of(constant).first());
    text.and_then(|text| unit_named(&text)).ok_or_else(|| {
        wrong(name, "the unit must be nanosecond, microsecond, millisecond, second, minute, hour, day, week, month, quarter or year")
    })
}

fn age_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 3..=4)?;
    unit(name, s)?;
    moment::zone_argument(name, s, 3)?;
    for moment in s.iter().skip(1).take(2) {
        expect_moment(name, std::slice::from_ref(moment))?;
    }
    let zone = |index: usize| {
        let zone = moment::zone_name(name, s.get(index..=index).unwrap_or_default(), 3)?;
        Ok::<_, FunctionError>(zone.unwrap_or_else(|| "UTC".to_owned()))
    };
    let is_date = |it: &Signature| matches!(it.data_type, DataType::Date | DataType::Date32);
    let is_mixed = matches!(unit(name, s)?, Unit::Fixed(_)) || s.iter().any(is_date);
    if s.len() == 3 && is_mixed && zone(1)? != zone(2)? {
        return Err(wrong(
            name,
            "units between the clocks of two zones are not counted; name a zone as the last argument",
        ));
    }
    Ok(DataType::Int64)
}

fn difference_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=2)?;
    for moment in s {
        expect_moment(name, std::slice::from_ref(moment))?;
    }
    Ok(DataType::Int64)
}

/// One of the two moments, in nanoseconds and as the clock on the wall shows it.
struct Side {
    seconds: arrow_array::Int64Array,
    fractions: Option<Vec<i64>>,
    /// Seconds of a Date are those of a DateTime in ClickHouse, and stay at its last one where it is later.
    last: i64,
    zone: Zone,
}

/// The last second that a moment has where seconds are counted.
pub(super) fn last_second(call: &Call, index: usize) -> i64 {
    let is_date = |it: &Operand| *bare(&it.data_type) == DataType::Date;
    if call.operands.get(index).is_some_and(is_date) { u32::MAX.into() } else { i64::MAX }
}

fn side(call: &Call, index: usize, given: Option<&str>) -> Result<Side, FunctionError> {
    let own = call.operands.get(index).map(Operand::signature);
    let own = moment::zone_name(call.name, own.as_slice(), usize::MAX)?;
    let zone = Zone::of(given.or(own.as_deref()))?;
    let moments = Moments::of(call, index)?;
    let fractions = match &moments {
        Moments::Ticks(ticks, per_second) => {
            let unit = 1_000_000_000 / per_second;
            Some(ticks.values().iter().map(|it| it.rem_euclid(*per_second) * unit).collect())
        }
        _ => None,
    };
    Ok(Side { seconds: moments.seconds(&zone), fractions, last: last_second(call, index), zone })
}

impl Side {
    fn seconds(&self, row: usize) -> i64 {
        self.seconds.value(row)
    }
    fn fraction(&self, row: usize) -> i64 {
        self.fractions.as_ref().and_then(|all| all.get(row)).copied().unwrap_or(0)
    }
    fn nanoseconds(&self, row: usize) -> i128 {
        i128::from(self.seconds(row)) * SECOND + i128::from(self.fraction(row))
    }
    /// The same where seconds are counted.
    fn of_date_time(&self, row: usize) -> i128 {
        let is_later = self.seconds(row) > self.last;
        if is_later { i128::from(self.last) * SECOND } else { self.nanoseconds(row) }
    }
    /// Months since year 0, the day of the month, and nanoseconds since midnight.
    fn by_month(&self, row: usize) -> (i128, (u8, i128)) {
        let (day, time) = self.by_day(row);
        let date = civil::from_days(civil::clamp(day as i64));
        (i128::from(date.year) * 12 + i128::from(date.month), (date.day, time))
    }
    /// The day, and nanoseconds since its midnight.
    fn by_day(&self, row: usize) -> (i128, i128) {
        let (day, time) = self.zone.local(self.seconds(row));
        let time = time.min(DAY - 1);
        (i128::from(day), i128::from(time) * SECOND + i128::from(self.fraction(row)))
    }
}

/// The units that are full: one less if the rest of the end lies before the rest of the start.
fn full<T: PartialOrd>(from: (i128, T), to: (i128, T)) -> i128 {
    let between = to.0 - from.0;
    match between.signum() {
        1 if to.1 < from.1 => between - 1,
        -1 if to.1 > from.1 => between + 1,
        _ => between,
    }
}

/// Weeks begin on Mondays. Which of them are full is odd in ClickHouse, and the same here: days of the week are compared from start
/// to end also where the end is earlier, and what is left of the hours counts on whichever day.
fn full_weeks(from: (i128, i128), to: (i128, i128)) -> i128 {
    const HOUR: i128 = 3_600 * SECOND;
    let week = |(day, _): (i128, i128)| (day + 3).div_euclid(7);
    let day = |(day, _): (i128, i128)| (day + 3).rem_euclid(7);
    let split = |(_, time): (i128, i128)| (time / HOUR, time % HOUR);
    let (early, late) = (split(from.min(to)), split(from.max(to)));
    let is_less = day(from) > day(to)
        || day(from) == day(to) && early.0 > late.0
        || early.0 == late.0 && early.1 > late.1;
    let step = if from > to { 1 } else { -1 };
    week(to) - week(from) + if is_less { step } else { 0 }
}

fn age(call: &Call) -> Result<ArrayRef, FunctionError> {
    let signatures: Vec<Signature> = call.operands.iter().map(Operand::signature).collect();
    let unit = unit(call.name, &signatures)?;
    let given = moment::zone_argument(call.name, &signatures, 3)?;
    let (from, to) = (side(call, 1, given.as_deref())?, side(call, 2, given.as_deref())?);
    call.make_integers(|row| match unit {
        Unit::Fixed(SECOND) => (to.of_date_time(row) - from.of_date_time(row)) / SECOND,
        Unit::Fixed(length) => (to.nanoseconds(row) - from.nanoseconds(row)) / length,
        Unit::Days => full(from.by_day(row), to.by_day(row)),
        Unit::Weeks => full_weeks(from.by_day(row), to.by_day(row)),
        Unit::Months(length) => full(from.by_month(row), to.by_month(row)) / length,
    })
}
