//! Dates and times from text, in the forms that people write.

use crate::error::Reject;
use chrono::{DateTime, NaiveDateTime, Offset, TimeZone};
use chrono_tz::Tz;

/// In which order a date has its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum DateOrder {
    /// `2024-02-01` or `2024/02/01`; the only order that can be told from one value.
    #[default]
    Iso,
    /// `1/2/2024` is the first of February.
    DayFirst,
    /// `1/2/2024` is the second of January.
    MonthFirst,
}

/// Orders that a text can have, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Orders(pub(crate) u8);

impl Orders {
    pub(crate) const ALL: Self = Self(7);
    pub(crate) const fn of(order: DateOrder) -> Self {
        Self(1 << order as u8)
    }
    pub(crate) const fn intersect(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
    /// The order, if only one is left.
    pub(crate) fn only(self) -> Option<DateOrder> {
        [DateOrder::Iso, DateOrder::DayFirst, DateOrder::MonthFirst]
            .into_iter()
            .find(|&order| Self::of(order) == self)
    }
}

/// A date, and a time of day if there was one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Days since 1970-01-01.
    pub(crate) days: i32,
    /// Time of day in nanoseconds, and how many digits of a second's fraction were written.
    pub(crate) time: Option<(u64, u8)>,
    /// Seconds east of UTC, if a zone was written.
    pub(crate) zone: Option<i32>,
}

const NOT_DATE: Reject = Reject::new("not a date");
const NOT_TIME: Reject = Reject::new("not a date and time");
const OUT_OF_RANGE: Reject = Reject::new("outside the range of the type");
pub(crate) const TOO_FINE: Reject = Reject::new("a finer fraction of a second than the type has");

/// 1900-01-01 and 2299-12-31: what `Date32` and `DateTime64` hold.
pub(crate) const DAYS: std::ops::RangeInclusive<i32> = -25_567..=120_529;

/// Days since 1970-01-01 of a date of the proleptic Gregorian calendar, if it exists.
pub(crate) fn days(year: u32, month: u32, day: u32) -> Option<i32> {
    const LENGTHS: [u32; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let length = LENGTHS.get((month as usize).checked_sub(1)?)? + u32::from(leap && month == 2);
    if day == 0 || day > length || year > 9999 {
        return None;
    }
    // Years counted from March: then the leap day is the last one.
    let year = i64::from(year) - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * i64::from((month + 9) % 12) + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    i32::try_from(era * 146_097 + day_of_era - 719_468).ok()
}

/// Year, month and day of days since 1970-01-01.
#[expect(clippy::cast_possible_truncation, reason = "months and days are small")]
pub(crate) fn civil(days: i64) -> (i64, u32, u32) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month_from_march + 2) / 5 + 1) as u32;
    let month =
        if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 } as u32;
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Reads numbers off the front of a text.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    /// A number of `least` to `most` digits.
    fn number(&mut self, least: usize, most: usize) -> Option<u32> {
        let count = self.0.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
        if count < least {
            return None;
        }
        let (digits, rest) = self.0.split_at(count);
        self.0 = rest;
        Some(digits.iter().fold(0, |value, byte| value * 10 + u32::from(byte - b'0')))
    }

    /// One of these bytes.
    fn one_of(&mut self, bytes: &[u8]) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        if !bytes.contains(&first) {
            return None;
        }
        self.0 = rest;
        Some(first)
    }

    /// The first three numbers of a date, the separator between them, and whether the year came first.
    fn date(&mut self) -> Option<([u32; 3], u8, bool)> {
        let year_first = self.0.len() > 4 && self.0[..4].iter().all(u8::is_ascii_digit);
        let (first, last) = if year_first { (4, 2) } else { (2, 4) };
        let a = self.number(if year_first { 4 } else { 1 }, first)?;
        let separator = self.one_of(if year_first { b"-/" } else { b"/-." })?;
        let b = self.number(1, 2)?;
        self.one_of(&[separator])?;
        let c = self.number(if year_first { 1 } else { 4 }, last)?;
        Some(([a, b, c], separator, year_first))
    }

    /// A time of day in nanoseconds, with the digits of the fraction.
    fn time(&mut self) -> Option<(u64, u8)> {
        let mut hour = self.number(1, 2)?;
        self.one_of(b":")?;
        let minute = self.number(2, 2)?;
        let (mut second, mut nanoseconds, mut digits) = (0, 0, 0);
        if self.one_of(b":").is_some() {
            second = self.number(2, 2)?;
            if self.0.get(1).is_some_and(u8::is_ascii_digit) && self.one_of(b".,").is_some() {
                let before = self.0.len();
                nanoseconds = self.number(1, 9)?;
                digits = u8::try_from(before - self.0.len()).ok()?;
                nanoseconds *= 10_u32.pow(9 - u32::from(digits));
            }
        }
        if let Some(afternoon) = self.half_of_day() {
            if hour == 0 || hour > 12 {
                return None;
            }
            hour = hour % 12 + if afternoon { 12 } else { 0 };
        }
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let seconds = u64::from(hour * 3_600 + minute * 60 + second);
        Some((seconds * 1_000_000_000 + u64::from(nanoseconds), digits))
    }

    /// `AM` or `PM`, whether a space is before it or not.
    fn half_of_day(&mut self) -> Option<bool> {
        let text = self.0.strip_prefix(b" ").unwrap_or(self.0);
        let (half, rest) = text.split_at_checked(2)?;
        let afternoon = if half.eq_ignore_ascii_case(b"pm") {
            true
        } else if half.eq_ignore_ascii_case(b"am") {
            false
        } else {
            return None;
        };
        self.0 = rest;
        Some(afternoon)
    }

    /// A zone up to the end: nothing, `Z`, `UTC`, `GMT` or an offset.
    fn zone(&mut self) -> Result<Option<i32>, Reject> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let text = self.0.strip_prefix(b" ").unwrap_or(self.0);
        if [&b"Z"[..], b"UTC", b"GMT"].iter().any(|name| text.eq_ignore_ascii_case(name)) {
            return Ok(Some(0));
        }
        self.offset().map(Some).ok_or(NOT_TIME)
    }

    /// An offset from UTC up to the end, in seconds.
    fn offset(&mut self) -> Option<i32> {
        let text = self.0.strip_prefix(b" ").unwrap_or(self.0);
        let mut reader = Reader(text);
        let east = reader.one_of(b"+-")? == b'+';
        let hours = reader.number(2, 2)?;
        let colon = reader.one_of(b":").is_some();
        let minutes = if reader.0.is_empty() && !colon { 0 } else { reader.number(2, 2)? };
        if !reader.0.is_empty() || hours > 18 || minutes > 59 {
            return None;
        }
        let seconds = i32::try_from(hours * 3_600 + minutes * 60).ok()?;
        Some(if east { seconds } else { -seconds })
    }
}

/// The orders in which a text is a date (or a date and time).
pub(crate) fn orders(text: &[u8]) -> Option<Orders> {
    let mut possible = Orders(0);
    for order in [DateOrder::Iso, DateOrder::DayFirst, DateOrder::MonthFirst] {
        if moment(text, order).is_some() {
            possible.0 |= Orders::of(order).0;
        }
    }
    (possible.0 != 0).then_some(possible)
}

/// A date, perhaps with a time of day and a zone.
pub(crate) fn moment(text: &[u8], order: DateOrder) -> Option<Moment> {
    let mut reader = Reader(text);
    let ([a, b, c], separator, year_first) = reader.date()?;
    let days = match (order, year_first) {
        (DateOrder::Iso, true) => days(a, b, c)?,
        (DateOrder::DayFirst, false) => days(c, b, a)?,
        // With points the day always comes first.
        (DateOrder::MonthFirst, false) if separator != b'.' => days(c, a, b)?,
        _ => return None,
    };
    if reader.0.is_empty() {
        return Some(Moment { days, time: None, zone: None });
    }
    reader.one_of(b" T")?;
    let time = reader.time()?;
    let zone = reader.zone().ok()?;
    Some(Moment { days, time: Some(time), zone })
}

/// Days since 1970-01-01. Without `strict`, a time of day may follow if it is midnight.
pub(crate) fn date(text: &[u8], order: DateOrder, strict: bool) -> Result<i32, Reject> {
    let moment = iso_or(text, order).ok_or(NOT_DATE)?;
    match moment.time {
        None => Ok(moment.days),
        Some((0, _)) if !strict => Ok(moment.days),
        Some(_) => Err(Reject::new("has a time of day")),
    }
}

/// ISO dates are clear whatever the order of the column is.
fn iso_or(text: &[u8], order: DateOrder) -> Option<Moment> {
    moment(text, order).or_else(|| match order {
        DateOrder::Iso => None,
        _ => moment(text, DateOrder::Iso),
    })
}

/// Days of a ClickHouse `Date` (from 1970) or `Date32`.
pub(crate) fn date_in_range(
    text: &[u8],
    order: DateOrder,
    strict: bool,
    range: std::ops::RangeInclusive<i32>,
) -> Result<i32, Reject> {
    let days = date(text, order, strict)?;
    if range.contains(&days) { Ok(days) } else { Err(OUT_OF_RANGE) }
}

/// How times of a column are read.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    pub(crate) order: DateOrder,
    /// The zone of times that name none; `None` is UTC.
    pub(crate) zone: Option<Tz>,
    /// Digits of a second's fraction that are kept.
    pub(crate) precision: u8,
    /// Digits of a tick: a power of ten at least as fine as the precision.
    pub(crate) tick: u8,
    /// Refuse finer fractions, and bare numbers.
    pub(crate) strict: bool,
    /// Refuse finer fractions unless they are zero.
    pub(crate) exact: bool,
}

impl Clock {
    /// Ticks since 1970-01-01 00:00:00 UTC.
    pub(crate) fn ticks(&self, text: &[u8]) -> Result<i64, Reject> {
        let Some(moment) = iso_or(text, self.order) else {
            return if self.strict { Err(NOT_TIME) } else { self.number(text) };
        };
        let (nanoseconds, digits) = moment.time.unwrap_or((0, 0));
        if self.strict && !self.exact && digits > self.precision {
            return Err(TOO_FINE);
        }
        let local = i64::from(moment.days) * 86_400 + (nanoseconds / 1_000_000_000) as i64;
        let seconds = match (moment.zone, self.zone) {
            (Some(east), _) => local - i64::from(east),
            (None, None) => local,
            (None, Some(zone)) => utc(local, zone).ok_or(OUT_OF_RANGE)?,
        };
        let fraction = (nanoseconds % 1_000_000_000) as i64;
        let dropped = 10_i64.pow(9 - u32::from(self.precision.min(9)));
        if self.exact && fraction % dropped != 0 {
            return Err(TOO_FINE);
        }
        let fraction = fraction / dropped * dropped / 10_i64.pow(9 - u32::from(self.tick.min(9)));
        let unit = 10_i64.pow(u32::from(self.tick));
        let whole = seconds.checked_mul(unit).ok_or(OUT_OF_RANGE)?;
        whole.checked_add(fraction).ok_or(OUT_OF_RANGE)
    }

    /// A bare number counts seconds since 1970, as in ClickHouse.
    fn number(&self, text: &[u8]) -> Result<i64, Reject> {
        let ticks = super::number::decimal128(text, 38, self.precision).or(Err(NOT_TIME))?;
        let factor = 10_i64.pow(u32::from(self.tick.saturating_sub(self.precision)));
        let ticks = i64::try_from(ticks).or(Err(OUT_OF_RANGE))?;
        ticks.checked_mul(factor).ok_or(OUT_OF_RANGE)
    }
}

/// Seconds UTC of local seconds; the earlier one where the clock was set back, the moment after where it was set forward.
fn utc(local: i64, zone: Tz) -> Option<i64> {
    let naive: NaiveDateTime = DateTime::from_timestamp(local, 0)?.naive_utc();
    if let Some(found) = zone.from_local_datetime(&naive).earliest() {
        return Some(found.timestamp());
    }
    // In the gap: the offset from before it.
    let before = zone.from_local_datetime(&(naive - chrono::TimeDelta::hours(3))).earliest()?;
    Some(local - i64::from(before.offset().fix().local_minus_utc()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_dates() {
        assert_eq!(days(1970, 1, 1), Some(0));
        assert_eq!(days(2000, 2, 29), Some(11_016));
        assert_eq!(days(1900, 2, 29), None);
        assert_eq!(days(1900, 1, 1), Some(*DAYS.start()));
        assert_eq!(days(2299, 12, 31), Some(*DAYS.end()));
        assert_eq!(days(2024, 13, 1), None);
        assert_eq!(days(2024, 0, 1), None);
        for day in (-200_000..200_000).step_by(37) {
            let (year, month, of_month) = civil(day);
            let year = u32::try_from(year).unwrap();
            assert_eq!(days(year, month, of_month).map(i64::from), Some(day));
        }
    }

    #[test]
    fn orders_of_dates() {
        let iso = Orders::of(DateOrder::Iso);
        let day = Orders::of(DateOrder::DayFirst);
        let month = Orders::of(DateOrder::MonthFirst);
        let both = Orders(day.0 | month.0);
        for (text, expected) in [
            ("2024-02-29", Some(iso)),
            ("2023-02-29", None),
            ("2024/2/9", Some(iso)),
            ("1/8/1990 0:00:00", Some(both)),
            ("13/8/1990", Some(day)),
            ("8/13/1990", Some(month)),
            ("1.8.1990", Some(day)),
            ("8.13.1990", None),
            ("1-8-1990", Some(both)),
            ("1/8-1990", None),
            ("1/8/90", None),
            ("20240229", None),
            ("2024-02-29T10:11:12Z", Some(iso)),
            ("2024-02-29 10:11", Some(iso)),
            ("2024-02-29 10:11:12.123456789", Some(iso)),
            ("2024-02-29 10:11:12.1234567890", None),
            ("2024-02-29 24:00:00", None),
            ("2024-02-29 10:11:12 +02:00", Some(iso)),
            ("2024-02-29 10:11:12+0230", Some(iso)),
            ("2024-02-29 10:11:12-02", Some(iso)),
            ("2024-02-29 10:11:12 UTC", Some(iso)),
            ("2024-02-29 1:05 PM", Some(iso)),
            ("2024-02-29 13:05 PM", None),
            ("2024-02-29 ", None),
            ("2024-02-29 x", None),
            ("10:11:12", None),
            ("", None),
            ("2024-", None),
        ] {
            assert_eq!(orders(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn ticks_of_times() {
        let clock = |zone, precision| Clock {
            order: DateOrder::Iso,
            zone,
            precision,
            tick: precision,
            strict: false,
            exact: false,
        };
        let berlin = Some(Tz::Europe__Berlin);
        assert_eq!(clock(None, 0).ticks(b"1970-01-01 00:00:01"), Ok(1));
        assert_eq!(clock(None, 3).ticks(b"1969-12-31 23:59:59.5"), Ok(-500));
        assert_eq!(clock(None, 0).ticks(b"1970-01-01T00:00:00+01:00"), Ok(-3_600));
        assert_eq!(clock(berlin, 0).ticks(b"1970-01-01 01:00:00"), Ok(0));
        assert_eq!(clock(berlin, 0).ticks(b"2020-07-01 00:00:00"), Ok(1_593_554_400));
        // In the gap of 2020-03-29 the clock went from 02:00 to 03:00.
        assert_eq!(clock(berlin, 0).ticks(b"2020-03-29 02:30:00"), Ok(1_585_445_400));
        assert_eq!(clock(None, 0).ticks(b"1585445400"), Ok(1_585_445_400));
        assert_eq!(clock(None, 3).ticks(b"1.5"), Ok(1_500));
        assert_eq!(clock(None, 0).ticks(b"yesterday"), Err(NOT_TIME));
        let coarse = Clock { tick: 3, ..clock(None, 2) };
        assert_eq!(coarse.ticks(b"1970-01-01 00:00:00.129"), Ok(120));
        assert_eq!(coarse.ticks(b"0.12"), Ok(120));
        let strict = Clock { strict: true, ..clock(None, 3) };
        assert_eq!(strict.ticks(b"2020-01-01 00:00:00.1234"), Err(TOO_FINE));
        assert_eq!(strict.ticks(b"12"), Err(NOT_TIME));
        for strict in [false, true] {
            let exact = Clock { strict, exact: true, ..clock(None, 0) };
            assert_eq!(exact.ticks(b"1970-01-01 00:00:01.000000"), Ok(1));
            assert_eq!(exact.ticks(b"1970-01-01 00:00:01"), Ok(1));
            assert_eq!(exact.ticks(b"1970-01-01 00:00:01.000001"), Err(TOO_FINE));
        }
        let exact = Clock { exact: true, ..clock(None, 2) };
        assert_eq!(exact.ticks(b"1970-01-01 00:00:00.120"), Ok(12));
        assert_eq!(exact.ticks(b"1970-01-01 00:00:00.125"), Err(TOO_FINE));
        assert_eq!((exact.ticks(b"0.25"), exact.ticks(b"0.253")), (Ok(25), Err(NOT_TIME)));
        assert_eq!(clock(None, 9).ticks(b"2299-12-31 00:00:00"), Err(OUT_OF_RANGE));
    }
}
