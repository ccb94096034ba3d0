//! Dates and times from text, in the forms that people write.

use super::Reject;
use crate::civil::{self, DAY, NARROW_DAYS};
use crate::zone::Zone;

/// In which order a date has its parts.
///
/// ```
/// use tambour_value::time::{DateOrder, orders};
/// // The 31st cannot be a month.
/// let orders = orders(b"31/03/2024").ok_or("not a date")?;
/// assert_eq!(orders.only(), Some(DateOrder::DayFirst));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DateOrder {
    /// `2024-02-01` or `2024/02/01`; the only order that can be told from one value.
    #[default]
    Iso,
    /// `1/2/2024` is the first of February.
    DayFirst,
    /// `1/2/2024` is the second of January.
    MonthFirst,
}

/// Orders that a text can have: a bit for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Orders(u8);

impl Orders {
    /// Every order.
    pub const ALL: Self = Self(7);
    /// One order alone.
    pub const fn of(order: DateOrder) -> Self {
        Self(1 << order as u8)
    }
    /// The orders that both have.
    pub const fn intersect(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
    /// The order, if only one is left.
    pub fn only(self) -> Option<DateOrder> {
        [DateOrder::Iso, DateOrder::DayFirst, DateOrder::MonthFirst]
            .into_iter()
            .find(|&order| Self::of(order) == self)
    }
}

/// A date, and a time of day if there was one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Days since 1970-01-01.
    pub days: i32,
    /// Time of day in nanoseconds, and how many digits of a second's fraction were written.
    pub time: Option<(u64, u8)>,
    /// Seconds east of UTC, if a zone was written.
    pub zone: Option<i32>,
}

const NOT_DATE: Reject = Reject::new("not a date");
const NOT_TIME: Reject = Reject::new("not a date and time");
const OUT_OF_RANGE: Reject = Reject::new("outside the range of the type");
/// Why a fraction of a second is refused.
pub const TOO_FINE: Reject = Reject::new("a finer fraction of a second than the type has");

/// 1900-01-01 and 2299-12-31: what `Date32` and `DateTime64` hold in every version.
pub const DAYS: std::ops::RangeInclusive<i32> = NARROW_DAYS;

/// Reads numbers off the front of a text.
#[derive(Debug)]
pub struct Cursor<'a>(pub &'a [u8]);

impl Cursor<'_> {
    /// A number of `least` to `most` digits.
    pub fn number(&mut self, least: usize, most: usize) -> Option<u32> {
        let count = self.0.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
        if count < least {
            return None;
        }
        let (digits, rest) = self.0.split_at(count);
        self.0 = rest;
        Some(digits.iter().fold(0, |value, byte| value * 10 + u32::from(byte - b'0')))
    }

    /// One of these bytes.
    pub fn one_of(&mut self, bytes: &[u8]) -> Option<u8> {
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
        let mut reader = Cursor(text);
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
pub fn orders(text: &[u8]) -> Option<Orders> {
    let mut possible = Orders(0);
    for order in [DateOrder::Iso, DateOrder::DayFirst, DateOrder::MonthFirst] {
        if moment(text, order).is_some() {
            possible.0 |= Orders::of(order).0;
        }
    }
    (possible.0 != 0).then_some(possible)
}

/// A date, perhaps with a time of day and a zone.
pub fn moment(text: &[u8], order: DateOrder) -> Option<Moment> {
    let mut reader = Cursor(text);
    let ([a, b, c], separator, year_first) = reader.date()?;
    let days = match (order, year_first) {
        (DateOrder::Iso, true) => civil::date(a, b, c)?,
        (DateOrder::DayFirst, false) => civil::date(c, b, a)?,
        // With points the day always comes first.
        (DateOrder::MonthFirst, false) if separator != b'.' => civil::date(c, a, b)?,
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
///
/// ```
/// use tambour_value::time::{DateOrder, date};
/// assert_eq!(date(b"2024-03-31", DateOrder::Iso, true), Ok(19_813));
/// assert!(date(b"2023-02-29", DateOrder::Iso, true).is_err());
/// ```
pub fn date(text: &[u8], order: DateOrder, strict: bool) -> Result<i32, Reject> {
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
pub fn date_in_range(
    text: &[u8],
    order: DateOrder,
    strict: bool,
    range: std::ops::RangeInclusive<i32>,
) -> Result<i32, Reject> {
    let days = date(text, order, strict)?;
    if range.contains(&days) { Ok(days) } else { Err(OUT_OF_RANGE) }
}

/// How instants of a column are read.
#[derive(Clone, Debug)]
pub struct InstantReader {
    /// In which order dates have their parts.
    pub order: DateOrder,
    /// The zone of times that name none.
    pub zone: Zone,
    /// Digits of a second's fraction that are kept.
    pub precision: u8,
    /// Digits of a tick: a power of ten at least as fine as the precision.
    pub tick: u8,
    /// Refuse finer fractions, and bare numbers.
    pub strict: bool,
    /// Refuse finer fractions unless they are zero.
    pub exact: bool,
}

impl InstantReader {
    /// Ticks since 1970-01-01 00:00:00 UTC.
    pub fn ticks(&self, text: &[u8]) -> Result<i64, Reject> {
        let Some(moment) = iso_or(text, self.order) else {
            return if self.strict { Err(NOT_TIME) } else { self.number(text) };
        };
        let (nanoseconds, digits) = moment.time.unwrap_or((0, 0));
        if self.strict && !self.exact && digits > self.precision {
            return Err(TOO_FINE);
        }
        let time = (nanoseconds / 1_000_000_000) as i64;
        let seconds = match moment.zone {
            Some(east) => i64::from(moment.days) * DAY + time - i64::from(east),
            None => self.zone.instant(moment.days, time),
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

#[cfg(test)]
mod tests {
    use super::*;

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
        let clock = |zone: &Zone, precision| InstantReader {
            order: DateOrder::Iso,
            zone: zone.clone(),
            precision,
            tick: precision,
            strict: false,
            exact: false,
        };
        let (utc, berlin) = (&Zone::UTC, &Zone::named("Europe/Berlin").unwrap());
        assert_eq!(clock(utc, 0).ticks(b"1970-01-01 00:00:01"), Ok(1));
        assert_eq!(clock(utc, 3).ticks(b"1969-12-31 23:59:59.5"), Ok(-500));
        assert_eq!(clock(utc, 0).ticks(b"1970-01-01T00:00:00+01:00"), Ok(-3_600));
        assert_eq!(clock(berlin, 0).ticks(b"1970-01-01 01:00:00"), Ok(0));
        assert_eq!(clock(berlin, 0).ticks(b"2020-07-01 00:00:00"), Ok(1_593_554_400));
        // In the gap of 2020-03-29 the clock went from 02:00 to 03:00; ClickHouse takes this for 01:30.
        assert_eq!(clock(berlin, 0).ticks(b"2020-03-29 02:30:00"), Ok(1_585_441_800));
        // Summer time goes on after the database's last year.
        assert_eq!(clock(berlin, 0).ticks(b"2150-07-01 00:00:00"), Ok(5_695_912_800));
        assert_eq!(clock(utc, 0).ticks(b"1585445400"), Ok(1_585_445_400));
        assert_eq!(clock(utc, 3).ticks(b"1.5"), Ok(1_500));
        assert_eq!(clock(utc, 0).ticks(b"yesterday"), Err(NOT_TIME));
        let coarse = InstantReader { tick: 3, ..clock(utc, 2) };
        assert_eq!(coarse.ticks(b"1970-01-01 00:00:00.129"), Ok(120));
        assert_eq!(coarse.ticks(b"0.12"), Ok(120));
        let strict = InstantReader { strict: true, ..clock(utc, 3) };
        assert_eq!(strict.ticks(b"2020-01-01 00:00:00.1234"), Err(TOO_FINE));
        assert_eq!(strict.ticks(b"12"), Err(NOT_TIME));
        for strict in [false, true] {
            let exact = InstantReader { strict, exact: true, ..clock(utc, 0) };
            assert_eq!(exact.ticks(b"1970-01-01 00:00:01.000000"), Ok(1));
            assert_eq!(exact.ticks(b"1970-01-01 00:00:01"), Ok(1));
            assert_eq!(exact.ticks(b"1970-01-01 00:00:01.000001"), Err(TOO_FINE));
        }
        let exact = InstantReader { exact: true, ..clock(utc, 2) };
        assert_eq!(exact.ticks(b"1970-01-01 00:00:00.120"), Ok(12));
        assert_eq!(exact.ticks(b"1970-01-01 00:00:00.125"), Err(TOO_FINE));
        assert_eq!((exact.ticks(b"0.25"), exact.ticks(b"0.253")), (Ok(25), Err(NOT_TIME)));
        assert_eq!(clock(utc, 9).ticks(b"2299-12-31 00:00:00"), Err(OUT_OF_RANGE));
    }
}
