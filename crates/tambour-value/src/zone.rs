//! Time zones as ClickHouse sees them: for each day of the calendar the instant when it begins, and at most one change of
//! the clock within it.
//!
//! A table like this makes days contiguous intervals of instants: the date never goes backwards when time advances, also
//! where a clock is set back across midnight. Keys and pruning rely on that. The tables of one process are built once per
//! zone (a few milliseconds, 2.3 MB) and kept.

use crate::ValueError;
use crate::civil::{self, DAY, NARROW_DAYS};
use chrono::{Offset, TimeZone};
use chrono_tz::Tz;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

/// The time zone database of chrono-tz is written out up to here (2100-01-01); later years repeat earlier ones.
const TABLE_END: i64 = 4_102_444_800;
/// The days that the tables cover.
const FIRST_DAY: i32 = *NARROW_DAYS.start();
const LAST_DAY: i32 = *NARROW_DAYS.end();
/// Unit of [`Day::change_at`] and [`Day::change_by`] in seconds.
const CHANGE_UNIT: i64 = 900;

/// One day of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Day {
    /// Its first instant, in seconds of Unix time.
    start: i64,
    /// When the clock changes, in quarters of an hour after the start.
    change_at: u8,
    /// By how much, in quarters of an hour; 0 on most days.
    change_by: i8,
}

/// All days of a zone.
#[derive(Debug)]
pub struct Days {
    zone: Tz,
    list: Vec<Day>,
    /// True if no clock of this zone ever showed a part of an hour since 1970.
    whole_hours: bool,
    /// The same for minutes.
    whole_minutes: bool,
}

/// What turns instants into dates and times: a fixed offset (UTC is 0), or the table of a zone.
#[derive(Clone, Debug)]
pub enum Zone {
    /// Seconds east of Greenwich.
    Fixed(i64),
    /// A zone with rules.
    Table(Arc<Days>),
}

/// A clock that loops are compiled for.
pub trait Clock {
    /// The day that an instant falls into.
    fn day(&self, instant: i64) -> i32;
    /// The first instant of a day.
    fn start(&self, day: i32) -> i64;
    /// Seconds that the clock on the wall shows since midnight.
    fn time(&self, instant: i64) -> i64;
    /// The last full multiple of `seconds` (at most an hour, a divisor of it).
    fn round_down(&self, instant: i64, seconds: i64) -> i64;
}

/// A clock without rules.
#[derive(Clone, Copy, Debug)]
pub struct Fixed(
    /// Seconds east of Greenwich.
    pub i64,
);

impl Clock for Fixed {
    #[inline]
    fn day(&self, instant: i64) -> i32 {
        civil::clamp(instant.saturating_add(self.0).div_euclid(DAY))
    }
    #[inline]
    fn start(&self, day: i32) -> i64 {
        i64::from(day) * DAY - self.0
    }
    #[inline]
    fn time(&self, instant: i64) -> i64 {
        instant.saturating_add(self.0).rem_euclid(DAY)
    }
    #[inline]
    fn round_down(&self, instant: i64, seconds: i64) -> i64 {
        instant.saturating_sub(instant.saturating_add(self.0).rem_euclid(seconds))
    }
}

impl Days {
    #[inline]
    fn index(&self, instant: i64) -> usize {
        let last = self.list.len() - 1;
        let guess = instant.div_euclid(DAY).saturating_sub(FIRST_DAY as i64).clamp(0, last as i64);
        let mut index = guess as usize;
        while index < last && instant >= self.list[index + 1].start {
            index += 1;
        }
        while index > 0 && instant < self.list[index].start {
            index -= 1;
        }
        index
    }

    /// The offset of an instant before or after the table.
    #[inline]
    fn offset_outside(&self, instant: i64) -> Option<i64> {
        let first = self.list.first().is_some_and(|day| instant < day.start);
        let last = self.list.last().is_some_and(|day| instant >= day.start + DAY);
        (first || last).then(|| offset_at(self.zone, instant))
    }

    /// Seconds since midnight on the clock; more than a day where the clock is set back at the end of the day.
    #[inline]
    fn time_of(day: Day, instant: i64) -> i64 {
        let time = instant.saturating_sub(day.start).clamp(0, 2 * DAY);
        let later = time >= i64::from(day.change_at) * CHANGE_UNIT;
        time + if later { i64::from(day.change_by) * CHANGE_UNIT } else { 0 }
    }
}

impl Clock for &Days {
    #[inline]
    fn day(&self, instant: i64) -> i32 {
        match self.offset_outside(instant) {
            Some(offset) => Fixed(offset).day(instant),
            None => FIRST_DAY + self.index(instant) as i32,
        }
    }
    #[inline]
    fn start(&self, day: i32) -> i64 {
        if !NARROW_DAYS.contains(&day) {
            let midnight = i64::from(day) * DAY;
            return midnight - offset_at(self.zone, midnight);
        }
        self.list[(day - FIRST_DAY) as usize].start
    }
    #[inline]
    fn time(&self, instant: i64) -> i64 {
        if let Some(offset) = self.offset_outside(instant) {
            return Fixed(offset).time(instant);
        }
        let time = Days::time_of(self.list[self.index(instant)], instant);
        if time >= DAY { time - DAY } else { time }
    }
    #[inline]
    fn round_down(&self, instant: i64, seconds: i64) -> i64 {
        if self.whole_hours || self.whole_minutes && seconds < 3600 {
            return instant.saturating_sub(instant.rem_euclid(seconds));
        }
        // From the day's start on, without regard to changes of the clock: what ClickHouse does.
        let time = instant.saturating_sub(self.list[self.index(instant)].start).max(0);
        instant - time % seconds
    }
}

/// An unbroken run of instants with one offset.
#[derive(Clone, Copy, Debug)]
struct Segment {
    start: i64,
    end: i64,
    offset: i64,
}

impl Zone {
    /// UTC.
    pub const UTC: Self = Self::Fixed(0);

    /// The zone of this name (`Europe/Berlin`), or a fixed offset as Arrow writes it (`+05:30`).
    ///
    /// ```
    /// use tambour_value::Zone;
    /// assert!(Zone::named("Europe/Berlin").is_ok() && Zone::named("+05:30").is_ok());
    /// assert!(Zone::named("Europe/Atlantis").is_err());
    /// ```
    pub fn named(name: &str) -> Result<Self, ValueError> {
        static TABLES: OnceLock<Mutex<HashMap<Tz, Arc<Days>>>> = OnceLock::new();
        if matches!(name, "UTC" | "Etc/UTC" | "GMT" | "Z" | "") {
            return Ok(Self::UTC);
        }
        if let Some(offset) = fixed_offset(name) {
            return Ok(Self::Fixed(offset));
        }
        let Ok(zone) = name.parse::<Tz>() else {
            return Err(ValueError::Zone { name: name.to_owned() });
        };
        let mut tables = match TABLES.get_or_init(Mutex::default).lock() {
            Ok(tables) => tables,
            // A table is inserted whole or not at all, so a panic elsewhere leaves nothing half done.
            Err(poisoned) => poisoned.into_inner(),
        };
        Ok(Self::Table(Arc::clone(tables.entry(zone).or_insert_with(|| Arc::new(build(zone))))))
    }

    /// The zone of a `DateTime` type.
    pub fn of(name: Option<&str>) -> Result<Self, ValueError> {
        name.map_or(Ok(Self::UTC), Self::named)
    }

    /// True if its clock has always shown full units of this length, an hour or a minute, when Unix time did.
    pub fn shows_whole(&self, length: i64) -> bool {
        match self {
            Self::Fixed(offset) => offset % length == 0,
            Self::Table(days) => days.whole_hours || days.whole_minutes && length < 3_600,
        }
    }

    /// Unix time of what the clock on the wall shows: a day and the seconds since its midnight. A time that is skipped counts on
    /// with the offset of before, from a change on with the one of after; a time that is shown twice is the first: what
    /// ClickHouse does.
    ///
    /// ```
    /// use tambour_value::Zone;
    /// // The clocks of Berlin went from 02:00 to 03:00 on 2024-03-31, which is day 19813.
    /// let berlin = Zone::named("Europe/Berlin")?;
    /// let before = berlin.instant(19_813, 3600 + 1800);
    /// let after = berlin.instant(19_813, 3 * 3600 + 1800);
    /// assert_eq!(after - before, 3600, "from 01:30 to 03:30 it was one hour");
    /// # Ok::<(), tambour_value::ValueError>(())
    /// ```
    pub fn instant(&self, day: i32, time: i64) -> i64 {
        let local = i64::from(day) * DAY + time;
        match self {
            Self::Fixed(offset) => local - offset,
            Self::Table(days) if (FIRST_DAY..=LAST_DAY).contains(&day) => {
                let day = days.list[(day - FIRST_DAY) as usize];
                let change_at = i64::from(day.change_at) * CHANGE_UNIT;
                let change = i64::from(day.change_by) * CHANGE_UNIT;
                let later = time >= change_at;
                day.start + time - if later { change } else { 0 }
            }
            Self::Table(days) => {
                let guess = local - offset_at(days.zone, local);
                local - offset_at(days.zone, guess)
            }
        }
    }

    /// What the clock on the wall shows at an instant, as ClickHouse prints it: a day and the seconds since its midnight.
    ///
    /// ```
    /// use tambour_value::Zone;
    /// assert_eq!(Zone::UTC.local(90_061), (1, 3661), "a day, an hour, a minute and a second");
    /// ```
    pub fn local(&self, instant: i64) -> (i64, i64) {
        let offset = match self {
            Self::Fixed(offset) => *offset,
            Self::Table(days) => {
                if self.calendar().contains(&instant) {
                    let index = days.index(instant);
                    let time = Days::time_of(days.list[index], instant);
                    // An hour after the last one of a day is shown as the last one.
                    let over = (time / 3600 - 23).max(0) * 3600;
                    return (i64::from(FIRST_DAY) + index as i64, time - over);
                }
                offset_at(days.zone, instant)
            }
        };
        let local = instant.saturating_add(offset);
        (local.div_euclid(DAY), local.rem_euclid(DAY))
    }

    /// The instants of the tables: from midnight at the start of 1900 to the end of 2299.
    pub fn calendar(&self) -> std::ops::Range<i64> {
        self.instant(FIRST_DAY, 0)..self.instant(LAST_DAY, 0) + DAY
    }
}

/// `+05:30`, `-0800`, `+01`: seconds.
fn fixed_offset(name: &str) -> Option<i64> {
    let (sign, digits) = match name.as_bytes() {
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let digits: Vec<i64> = digits
        .iter()
        .filter(|&&byte| byte != b':')
        .map(|byte| byte.is_ascii_digit().then(|| i64::from(byte - b'0')))
        .collect::<Option<_>>()?;
    let (hours, minutes) = match digits[..] {
        [a, b] => (a * 10 + b, 0),
        [a, b, c, d] => (a * 10 + b, c * 10 + d),
        _ => return None,
    };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// Offset of a zone at an instant, with the rules of the last years of the database kept up beyond its end.
fn offset_at(zone: Tz, instant: i64) -> i64 {
    let instant = if instant < TABLE_END { instant } else { equivalent(zone, instant) };
    chrono::DateTime::from_timestamp(instant, 0).map_or(0, |time| {
        i64::from(zone.offset_from_utc_datetime(&time.naive_utc()).fix().local_minus_utc())
    })
}

/// The same moment in a year of 2072 to 2099 that begins on the same weekday and has the same length. A zone whose clocks
/// stood still in the 2090s keeps standing still.
fn equivalent(zone: Tz, instant: i64) -> i64 {
    let day = instant.div_euclid(DAY).min(i64::from(i32::MAX / 8));
    let year = civil::from_days(day as i32).year;
    let still = |year: i32| {
        let january = i64::from(civil::to_days(year, 1, 15)) * DAY;
        let july = i64::from(civil::to_days(year, 7, 15)) * DAY;
        offset_at(zone, january) == offset_at(zone, july)
    };
    if still(2099) && still(2095) {
        return TABLE_END - 1;
    }
    let start = civil::to_days(year, 1, 1);
    let same = (2072..2100).rev().find(|&other| {
        civil::is_leap(other) == civil::is_leap(year)
            && civil::weekday(civil::to_days(other, 1, 1)) == civil::weekday(start)
    });
    let other = civil::to_days(same.unwrap_or(2099), 1, 1);
    instant - (i64::from(start) - i64::from(other)) * DAY
}

/// The runs of constant offset that cover the calendar.
fn segments(zone: Tz) -> Vec<Segment> {
    let first = i64::from(FIRST_DAY - 2) * DAY;
    let last = i64::from(LAST_DAY + 3) * DAY;
    let mut segments = Vec::new();
    let mut start = first;
    let mut offset = offset_at(zone, first);
    let mut instant = first;
    while instant < last {
        let next = instant + DAY;
        if offset_at(zone, next) != offset {
            // The change lies in (instant, next]; find its second.
            let (mut low, mut high) = (instant, next);
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                if offset_at(zone, middle) == offset { low = middle } else { high = middle }
            }
            segments.push(Segment { start, end: high, offset });
            start = high;
            offset = offset_at(zone, high);
        }
        instant = next;
    }
    segments.push(Segment { start, end: i64::MAX, offset });
    segments
}

/// Builds the table of a zone.
fn build(zone: Tz) -> Days {
    let segments = segments(zone);
    let mut at = 0;
    let mut days = Vec::with_capacity((LAST_DAY - FIRST_DAY + 1) as usize);
    for day in FIRST_DAY..=LAST_DAY {
        let midnight = i64::from(day) * DAY;
        while at + 1 < segments.len()
            && segments[at].end.saturating_add(segments[at].offset) <= midnight
        {
            at += 1;
        }
        let start = first_instant(&segments, at, midnight);
        let (change_at, change_by) = change_within(&segments, at, start, midnight);
        days.push(Day { start, change_at, change_by });
    }
    let since_epoch = days.iter().filter(|day| day.start >= -DAY);
    let whole = |seconds: i64| {
        since_epoch.clone().all(|day| {
            day.start % seconds == 0 && i64::from(day.change_by) * CHANGE_UNIT % seconds == 0
        })
    };
    Days { zone, whole_hours: whole(3600), whole_minutes: whole(60), list: days }
}

/// When the clock first shows midnight (or skips it). A midnight that is shown twice counts the second time if a piece of
/// the day before came between, else the first time: ClickHouse's choice.
fn first_instant(segments: &[Segment], at: usize, midnight: i64) -> i64 {
    let segment = segments[at];
    let natural = midnight - segment.offset;
    if natural < segment.start {
        // Skipped: go on counting with the offset before the change.
        return at
            .checked_sub(1)
            .map_or(segment.start, |before| midnight - segments[before].offset);
    }
    if let Some(next) = segments.get(at + 1) {
        let again = midnight - next.offset;
        if again > next.start && again < next.end {
            return again;
        }
    }
    natural
}

/// The change of the clock between this midnight and the next: when, and by how much, in quarters of an hour.
fn change_within(segments: &[Segment], at: usize, start: i64, midnight: i64) -> (u8, i8) {
    let Some((before, after)) = segments[at.saturating_sub(1)..]
        .windows(2)
        .map(|pair| (pair[0], pair[1]))
        .find(|(before, _)| before.end >= start)
    else {
        return (0, 0);
    };
    let shown = before.end + before.offset - midnight;
    // Later than midnight: where the clock is set back across midnight, the change is this day's. Elsewhere the day is
    // over before it.
    if !(0..2 * DAY).contains(&shown) {
        return (0, 0);
    }
    let by = ((after.offset - before.offset) / CHANGE_UNIT).clamp(-96, 96);
    let at = (shown / CHANGE_UNIT).max(-by);
    (at as u8, by as i8)
}

/// Runs an expression with a clock whose type is known to the compiler.
#[macro_export]
macro_rules! with_clock {
    ($zone:expr, |$clock:ident| $body:expr) => {
        match &$zone {
            Zone::Fixed(0) => {
                let $clock = Fixed(0);
                $body
            }
            Zone::Fixed(offset) => {
                let $clock = Fixed(*offset);
                $body
            }
            Zone::Table(days) => {
                let $clock = days.as_ref();
                $body
            }
        }
    };
}
pub use crate::with_clock;
