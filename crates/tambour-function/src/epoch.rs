//! Days and instants as numbers of other origins: Modified Julian Days, Snowflake IDs, UUIDs of version 7, numbers of years
//! and months since 1970, and moments of one zone as those of another.

use super::access::{Kind, rule, takes};
use super::civil;
use super::moment::{self, Moments, part_type, ticks_per_second};
use super::value::parse;
use super::zone::Zone;
use super::{Call, Function, Signature, expect_count, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array};
use tambour_part::types::DataType;

/// Days from the origin of Modified Julian Days, 1858-11-17, to 1970-01-01.
const JULIAN: i64 = 40_587;
/// Bits below the milliseconds of a Snowflake ID.
const SNOWFLAKE_BITS: u32 = 22;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("toModifiedJulianDay", rule!(Text => DataType::Int32), |c| to_julian(c, false)),
    Function::new(
        "toModifiedJulianDayOrNull",
        rule!(Text => DataType::Int32.made_nullable()),
        |c| to_julian(c, true),
    ),
    Function::new("fromModifiedJulianDay", rule!(Integer => DataType::String), |c| {
        from_julian(c, false)
    }),
    Function::new(
        "fromModifiedJulianDayOrNull",
        rule!(Integer => DataType::String.made_nullable()),
        |c| from_julian(c, true),
    ),
    Function::new(
        "toYearNumSinceEpoch",
        |n, s| part_type(n, s, DataType::UInt16),
        |c| by_day(c, |date| (i64::from(date.year) - 1970).max(0)),
    ),
    Function::new(
        "toMonthNumSinceEpoch",
        |n, s| part_type(n, s, DataType::UInt32),
        |c| {
            by_day(c, |date| {
                ((i64::from(date.year) - 1970) * 12 + i64::from(date.month) - 1).max(0)
            })
        },
    ),
    Function::new("dateTimeToSnowflakeID", |n, s| to_snowflake_type(n, s, false), to_snowflake),
    Function::new("dateTime64ToSnowflakeID", |n, s| to_snowflake_type(n, s, true), to_snowflake),
    Function::new("snowflakeIDToDateTime", |n, s| from_snowflake_type(n, s, false), from_snowflake),
    Function::new(
        "snowflakeIDToDateTime64",
        |n, s| from_snowflake_type(n, s, true),
        from_snowflake,
    ),
    Function::new("UUIDv7ToDateTime", uuid_type, of_uuid),
    Function::new("toUTCTimestamp", zoned_type, |c| zoned(c, true)).aliases(&["to_utc_timestamp"]),
    Function::new("fromUTCTimestamp", zoned_type, |c| zoned(c, false))
        .aliases(&["from_utc_timestamp"]),
];

/// True for what may be `YYYY-MM-DD`; month 0 has no days here.
fn is_date(text: &[u8]) -> bool {
    text.len() == 10 && text.get(5..) != Some(b"00-00")
}

fn to_julian(call: &Call, or_null: bool) -> Result<ArrayRef, FunctionError> {
    let texts = call.texts(0)?;
    let mut failed = None;
    let numbers: Vec<Option<i128>> = (0..call.rows)
        .map(|row| {
            let day = Some(texts.get(row)).filter(|text| is_date(text)).and_then(parse::date);
            if day.is_none() && !or_null && !call.is_null(row) {
                failed.get_or_insert(row);
            }
            Some(i128::from(i64::from(day?) + JULIAN))
        })
        .collect();
    if let Some(row) = failed {
        return Err(call.value_error(row, "the text is not a date of the form YYYY-MM-DD"));
    }
    call.make_optional_integers(|row| {
        let number = numbers.get(row).copied().flatten();
        if or_null { number } else { Some(number.unwrap_or(0)) }
    })
}

fn from_julian(call: &Call, or_null: bool) -> Result<ArrayRef, FunctionError> {
    let numbers = call.integers(0)?;
    let day = |row: usize| {
        // A UInt64 past the half is negative, as in ClickHouse.
        let day = (numbers.get(row) as i64).saturating_sub(JULIAN);
        let range = i64::from(civil::FIRST_DAY)..=i64::from(civil::LAST_DAY);
        i32::try_from(day).ok().filter(|_| range.contains(&day))
    };
    let is_absent = |row: usize| day(row).is_none() && !call.is_null(row);
    if let Some(row) = (0..call.rows).find(|row| !or_null && is_absent(*row)) {
        return Err(call.value_error(row, "the day is outside of the years 0 to 9999"));
    }
    let texts = call.make_texts(|row, out| {
        let date = civil::from_days(day(row).unwrap_or(0));
        out.extend_from_slice(
            format!("{:04}-{:02}-{:02}", date.year, date.month, date.day).as_bytes(),
        );
    })?;
    if !or_null {
        return Ok(texts);
    }
    let is_absent = (0..call.rows).map(|row| Some(day(row).is_none())).collect::<BooleanArray>();
    arrow_select::nullif::nullif(&texts, &is_absent).map_err(FunctionError::arrow("marking NULLs"))
}

/// Numbers of the local day.
fn by_day(call: &Call, number: impl Fn(civil::Civil) -> i64) -> Result<ArrayRef, FunctionError> {
    let days = super::week::local_days(call, &moment::zone(call, 1)?)?;
    call.make_integers(|row| i128::from(number(civil::from_days(days.value(row)))))
}

fn to_snowflake_type(
    name: &'static str,
    s: &[Signature],
    is_wide: bool,
) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=2)?;
    let takes_it = match s.first().map(|first| &first.data_type) {
        Some(DataType::DateTime { .. }) => !is_wide,
        Some(DataType::DateTime64 { .. }) => is_wide,
        _ => false,
    };
    if !takes_it {
        let wanted = if is_wide { "a DateTime64" } else { "a DateTime" };
        return Err(wrong(name, format!("it takes {wanted}")));
    }
    takes(name, s.get(1..).unwrap_or_default(), &[], &[Kind::ConstInteger])?;
    Ok(DataType::UInt64)
}

fn origin(call: &Call) -> Result<i64, FunctionError> {
    let origin = call.optional_integers(1)?.map_or(0, |origin| origin.get(0));
    i64::try_from(origin).map_err(|_| wrong(call.name, "the epoch is too large"))
}

fn to_snowflake(call: &Call) -> Result<ArrayRef, FunctionError> {
    let origin = origin(call)?;
    let (ticks, per_second) = match Moments::of(call, 0)? {
        Moments::Ticks(ticks, per_second) => (ticks, per_second),
        other => (other.seconds(&Zone::of(None)?), 1),
    };
    call.make_integers(|row| {
        let tick = i128::from(ticks.value(if ticks.len() == 1 { 0 } else { row }));
        let milliseconds = if per_second > 1_000 {
            // As a float there, which may round twice.
            (tick as f64 / (per_second / 1_000) as f64).round() as i128
        } else {
            tick * i128::from(1_000 / per_second)
        };
        (milliseconds - i128::from(origin)) << SNOWFLAKE_BITS
    })
}

fn from_snowflake_type(
    name: &'static str,
    s: &[Signature],
    is_wide: bool,
) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=3)?;
    if !matches!(s.first().map(|first| &first.data_type), Some(DataType::UInt64)) {
        return Err(wrong(name, "it takes a UInt64"));
    }
    takes(name, s.get(1..2).unwrap_or_default(), &[], &[Kind::ConstInteger])?;
    let zone = moment::zone_argument(name, s, 2)?;
    Ok(if is_wide {
        DataType::DateTime64 { precision: 3, zone }
    } else {
        DataType::DateTime { zone }
    })
}

fn from_snowflake(call: &Call) -> Result<ArrayRef, FunctionError> {
    let origin = origin(call)?;
    let ids = call.integers(0)?;
    let is_wide = matches!(call.result, DataType::DateTime64 { .. });
    let ticks = (0..call.rows).map(|row| {
        let milliseconds = (ids.get(row) >> SNOWFLAKE_BITS) as i64 + origin;
        if is_wide { milliseconds } else { i64::from((milliseconds / 1_000) as u32) }
    });
    moment::from_ticks(Int64Array::from_iter_values(ticks), call.result)
}

fn uuid_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=2)?;
    if !matches!(s.first().map(|first| &first.data_type), Some(DataType::Uuid)) {
        return Err(wrong(name, "it takes a UUID"));
    }
    Ok(DataType::DateTime64 { precision: 3, zone: moment::zone_argument(name, s, 1)? })
}

/// The milliseconds that a UUID of version 7 begins with; 0 of others.
fn of_uuid(call: &Call) -> Result<ArrayRef, FunctionError> {
    let values = call.values(0)?;
    let uuids = values.as_fixed_size_binary();
    let milliseconds = (0..uuids.len()).map(|row| {
        let bytes = uuids.value(row);
        let (Some(time), Some(version)) = (bytes.get(..6), bytes.get(6)) else { return 0 };
        if version >> 4 != 7 {
            return 0;
        }
        time.iter().fold(0_i64, |number, byte| number << 8 | i64::from(*byte))
    });
    moment::from_ticks(Int64Array::from_iter_values(milliseconds), call.result)
}

fn zoned_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=2)?;
    moment::zone_argument(name, s, 1)?;
    match s.first().map(|first| &first.data_type) {
        Some(DataType::DateTime { .. }) => Ok(DataType::DateTime { zone: None }),
        Some(DataType::DateTime64 { precision, .. }) => {
            Ok(DataType::DateTime64 { precision: *precision, zone: None })
        }
        Some(other) => Err(wrong(name, format!("it takes a DateTime or DateTime64, not {other}"))),
        None => Err(wrong(name, "it takes 2 arguments")),
    }
}

/// The instant at which a clock of the zone shows what one of UTC shows, or the other way round.
fn zoned(call: &Call, to_utc: bool) -> Result<ArrayRef, FunctionError> {
    let signatures: Vec<Signature> = call.operands.iter().map(super::Operand::signature).collect();
    let zone = Zone::of(moment::zone_argument(call.name, &signatures, 1)?.as_deref())?;
    let per_second = match call.result {
        DataType::DateTime64 { precision, .. } => ticks_per_second(*precision),
        _ => 1,
    };
    let ticks = match Moments::of(call, 0)? {
        Moments::Ticks(ticks, _) => ticks,
        other => other.seconds(&zone),
    };
    let moved = ticks.unary(|tick: i64| {
        let (second, rest) = (tick.div_euclid(per_second), tick.rem_euclid(per_second));
        let second = if to_utc {
            let day = second.div_euclid(civil::DAY);
            zone.instant(civil::clamp(day), second.rem_euclid(civil::DAY))
        } else {
            let (day, time) = zone.local(second);
            day * civil::DAY + time
        };
        let second = if per_second == 1 { i64::from(second as u32) } else { second };
        second.saturating_mul(per_second).saturating_add(rest)
    });
    moment::from_ticks(moved, call.result)
}
