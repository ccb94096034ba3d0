//! Conversions that fail where a value would change: `accurateCast`, `accurateCastOrNull`, `toUInt8OrDefault`; and dates and
//! times from texts with `…OrZero` and `…OrNull`.

use super::access::{Kind, takes, wide_integers};
use super::arithmetic::integer;
use super::civil;
use super::moment::{self, constant_integer, zone_argument};
use super::reading::Reader;
use super::retype::{first, own_function, retyped, target};
use super::text::Texts;
use super::value::parse;
use super::{Call, Function, Operand, Signature, bare, cast, expect_count, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, Int64Array, PrimitiveArray};
use arrow_schema::DataType as ArrowType;
use std::sync::Arc;
use tambour_part::types::DataType;

macro_rules! with_default {
    ($($name:literal $result:expr;)+) => {
        &[$(
            Function::new($name, |n, s| default_type(n, s, 1, &$result), |c| {
                or_default(c, &$result, 1)
            })
            .takes_nulls(),
        )+]
    };
}

const DEFAULTS: &[Function] = with_default! {
    "toUInt8OrDefault" DataType::UInt8;
    "toUInt16OrDefault" DataType::UInt16;
    "toUInt32OrDefault" DataType::UInt32;
    "toUInt64OrDefault" DataType::UInt64;
    "toInt8OrDefault" DataType::Int8;
    "toInt16OrDefault" DataType::Int16;
    "toInt32OrDefault" DataType::Int32;
    "toInt64OrDefault" DataType::Int64;
    "toFloat32OrDefault" DataType::Float32;
    "toFloat64OrDefault" DataType::Float64;
    "toDateOrDefault" DataType::Date;
    "toDate32OrDefault" DataType::Date32;
    "toUUIDOrDefault" DataType::Uuid;
    "toIPv4OrDefault" DataType::Ipv4;
    "toIPv6OrDefault" DataType::Ipv6;
};

/// The functions of this room.
pub(super) const FUNCTIONS: &[&[Function]] = &[CASTS, DEFAULTS, TEXTS];

/// What is wrong with a value of the first argument.
fn unfit(call: &Call, row: usize, target: &DataType) -> String {
    let is_of_texts = signatures(call).first().is_some_and(|it| is_text(bare(&it.data_type)));
    match call.texts(0) {
        Ok(texts) if is_of_texts => {
            format!("{:?} is not a value of {target}", String::from_utf8_lossy(texts.get(row)))
        }
        _ => format!("the value does not fit {target}"),
    }
}

const CASTS: &[Function] = &[
    Function::new(
        "accurateCast",
        |n, s| accurate_type(n, s, 2),
        |c| {
            let target = target(c.name, &signatures(c))?;
            let found = accurate(c, &first(c)?, bare(&target))?;
            let operand = first(c)?;
            let lost =
                (0..found.len()).find(|row| found.is_null(*row) && !operand.values.is_null(*row));
            match lost {
                Some(row) => Err(c.value_error(row, unfit(c, row, &target))),
                None => Ok(found),
            }
        },
    ),
    Function::new(
        "accurateCastOrNull",
        |n, s| accurate_type(n, s, 2).map(DataType::made_nullable),
        |c| {
            let target = target(c.name, &signatures(c))?;
            accurate(c, &first(c)?, bare(&target))
        },
    ),
    Function::new(
        "accurateCastOrDefault",
        |n, s| {
            expect_count(n, s, 2..=3)?;
            let target = accurate_type(n, s.get(..2).unwrap_or_default(), 2)?;
            default_type(n, s, 2, &target)
        },
        |c| {
            let target = target(c.name, &signatures(c))?;
            or_default(c, &target, 2)
        },
    )
    .takes_nulls(),
];

fn signatures(call: &Call) -> Vec<Signature> {
    call.operands.iter().map(Operand::signature).collect()
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::String | DataType::FixedString(_))
}

fn is_float(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float32 | DataType::Float64)
}

fn check(name: &'static str, source: &DataType, target: &DataType) -> Result<(), FunctionError> {
    // The engine makes one of a UInt64 beside another integer.
    let is_whole = matches!(source, DataType::Decimal { precision: ..=38, scale: 0 });
    let is_number = integer(source).is_some() || is_float(source) || is_whole;
    let is_fine = match target {
        _ if source == target => true,
        number if integer(number).is_some() || is_float(number) => is_number || is_text(source),
        DataType::Date
        | DataType::Date32
        | DataType::DateTime { .. }
        | DataType::Uuid
        | DataType::Ipv4
        | DataType::Ipv6 => is_text(source),
        DataType::String => own_function(target).is_some_and(|(function, _)| {
            function.data_type(&[Signature { data_type: source.clone(), constant: None }]).is_ok()
        }),
        _ => false,
    };
    if is_fine {
        return Ok(());
    }
    Err(wrong(name, format!("there is no exact conversion of {source} to {target} here")))
}

fn accurate_type(
    name: &'static str,
    s: &[Signature],
    count: usize,
) -> Result<DataType, FunctionError> {
    expect_count(name, s, count..=count)?;
    let target = target(name, s)?;
    match s.first() {
        Some(first) if target == *bare(&target) => {
            check(name, bare(&first.data_type), &target)?;
            Ok(target)
        }
        _ => Err(wrong(name, "the type cannot be Nullable or LowCardinality")),
    }
}

fn default_type(
    name: &'static str,
    s: &[Signature],
    index: usize,
    result: &DataType,
) -> Result<DataType, FunctionError> {
    expect_count(name, s, index..=index + 1)?;
    match s.first() {
        Some(first) => check(name, bare(&first.data_type), result)?,
        None => return Err(wrong(name, "it takes an argument")),
    }
    match s.get(index) {
        Some(default) if default.data_type != *result => {
            Err(wrong(name, format!("the default must be of type {result}")))
        }
        _ => Ok(result.clone()),
    }
}

/// What the value is in the type, the default of which stands where it is none.
fn or_default(call: &Call, target: &DataType, index: usize) -> Result<ArrayRef, FunctionError> {
    let found = accurate(call, &first(call)?, target)?;
    let default = match call.operands.get(index) {
        Some(default) => default.values.clone(),
        None if *target == DataType::Date32 => {
            Arc::new(PrimitiveArray::<Date32Type>::from(vec![*civil::NARROW_DAYS.start()]))
        }
        None => super::element::default_of(&found)?,
    };
    super::number::filled(&found, &default)
}

/// The values that are the same in the type; NULL for the others.
fn accurate(call: &Call, operand: &Operand, target: &DataType) -> Result<ArrayRef, FunctionError> {
    let operand = super::undress(operand)?;
    if let Some(wanted) = integer(target) {
        let whole = whole_numbers(&operand)?;
        let (low, high) = match (wanted.is_signed, u32::from(wanted.bits)) {
            (true, bits) => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
            (false, bits) => (0, (1_i128 << bits) - 1),
        };
        let fitting = whole.into_iter().map(|it| it.filter(|it| (low..=high).contains(it)));
        return super::access::optional_integers(call.name, target, fitting);
    }
    if is_float(target) {
        return floats(&operand, *target == DataType::Float32);
    }
    match target {
        same if operand.data_type == *same => Ok(operand.values.clone()),
        DataType::String => retyped(call, &operand, &DataType::String.made_nullable()),
        other => {
            let name = match other {
                DataType::DateTime { .. } => "toDateTimeOrNull".to_owned(),
                other => format!("to{other}OrNull"),
            };
            let Some(function) = super::find_in_queries(&name) else {
                return Err(wrong(call.name, format!("there is no conversion to {other}")));
            };
            function.evaluate(&[operand]).map(|result| result.values)
        }
    }
}

/// Integers that values are, if they are.
fn whole_numbers(operand: &Operand) -> Result<Vec<Option<i128>>, FunctionError> {
    let values = &operand.values;
    let present = |row: usize| !values.is_null(row);
    if is_text(&operand.data_type) {
        let texts = Texts::of(values);
        let read = |row: usize| {
            let text = texts.value(row)?;
            let end = text.iter().rposition(|byte| *byte != 0)? + 1;
            std::str::from_utf8(&text[..end]).ok()?.parse().ok()
        };
        return Ok((0..texts.len()).map(read).collect());
    }
    if is_float(&operand.data_type) {
        let wide = cast(values, &ArrowType::Float64)?;
        let whole =
            |float: f64| (float.fract() == 0.0 && float.abs() < 1e30).then_some(float as i128);
        return Ok(wide
            .as_primitive::<Float64Type>()
            .iter()
            .map(|it| it.and_then(whole))
            .collect());
    }
    if let Some(decimals) = values.as_primitive_opt::<Decimal128Type>() {
        return Ok(decimals.iter().collect());
    }
    let numbers = wide_integers(values)?;
    Ok(numbers
        .into_iter()
        .enumerate()
        .map(|(row, number)| present(row).then_some(number))
        .collect())
}

fn floats(operand: &Operand, is_narrow: bool) -> Result<ArrayRef, FunctionError> {
    let values = &operand.values;
    let of_texts = is_text(&operand.data_type);
    let found: Vec<Option<f64>> = if of_texts {
        let texts = Texts::of(values);
        let read = |row: usize| {
            let text = texts.value(row)?;
            let end = text.iter().rposition(|byte| *byte != 0)? + 1;
            parse::float(&text[..end])
        };
        (0..texts.len()).map(read).collect()
    } else if is_float(&operand.data_type) {
        let wide = cast(values, &ArrowType::Float64)?;
        wide.as_primitive::<Float64Type>().iter().collect()
    } else {
        let exact = |number: i128| {
            let float = number as f64;
            (float as i128 == number).then_some(float)
        };
        whole_numbers(operand)?.into_iter().map(|number| number.and_then(exact)).collect()
    };
    if !is_narrow {
        return Ok(Arc::new(found.into_iter().collect::<PrimitiveArray<Float64Type>>()));
    }
    let narrow = |float: f64| {
        let narrow = float as f32;
        (of_texts || f64::from(narrow).to_bits() == float.to_bits()).then_some(narrow)
    };
    let found = found.into_iter().map(|float| float.and_then(narrow));
    Ok(Arc::new(found.collect::<PrimitiveArray<Float32Type>>()))
}

macro_rules! from_texts {
    ($($or_zero:literal $or_null:literal $typing:expr, $read:expr;)+) => {
        &[$(
            Function::new($or_zero, $typing, |c| $read(c, false)),
            Function::new(
                $or_null,
                |n, s| $typing(n, s).map(DataType::made_nullable),
                |c| $read(c, true),
            ),
        )+]
    };
}

const TEXTS: &[Function] = from_texts! {
    "toDateOrZero" "toDateOrNull" |n, s| day_type(n, s, DataType::Date), |c, is_null| {
        days(c, is_null, 0, 0..=i32::from(u16::MAX))
    };
    "toDate32OrZero" "toDate32OrNull" |n, s| day_type(n, s, DataType::Date32), |c, is_null| {
        days(c, is_null, *civil::NARROW_DAYS.start(), civil::FIRST_DAY..=civil::LAST_DAY)
    };
    "toDateTimeOrZero" "toDateTimeOrNull" instant_type, instants;
    "toDateTime64OrZero" "toDateTime64OrNull" ticks_type, instants;
};

fn day_type(
    name: &'static str,
    s: &[Signature],
    result: DataType,
) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Text], &[])?;
    Ok(result)
}

fn instant_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Text], &[Kind::ConstText])?;
    Ok(DataType::DateTime { zone: zone_argument(name, s, 1)? })
}

fn ticks_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Text], &[Kind::ConstInteger, Kind::ConstText])?;
    match constant_integer(name, s, 1)?.unwrap_or(3) {
        precision @ 0..=9 => Ok(DataType::DateTime64 {
            precision: precision as u8,
            zone: zone_argument(name, s, 2)?,
        }),
        _ => Err(wrong(name, "the precision must be 0 to 9")),
    }
}

/// Reads texts; what begins with a digit and is not a date or time may be one to ClickHouse, and is an error.
fn read_each<T: Copy>(
    call: &Call,
    otherwise: Option<T>,
    read: impl Fn(&[u8]) -> Option<T>,
) -> Result<Vec<Option<T>>, FunctionError> {
    let texts = Texts::of(&call.values(0)?);
    let of_row = |row: usize| {
        let Some(text) = texts.value(row) else { return Ok(None) };
        let end = text.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let text = &text[..end];
        match read(text) {
            Some(value) => Ok(Some(value)),
            None if text.first().is_some_and(u8::is_ascii_digit) => {
                let shown: String = String::from_utf8_lossy(text).chars().take(40).collect();
                Err(call.value_error(row, format!("{shown:?} is almost a date or time")))
            }
            None => Ok(otherwise),
        }
    };
    (0..texts.len()).map(of_row).collect()
}

fn days(
    call: &Call,
    is_null: bool,
    zero: i32,
    range: std::ops::RangeInclusive<i32>,
) -> Result<ArrayRef, FunctionError> {
    let inside = |day: &i32| range.contains(day);
    let read = |text: &[u8]| parse::date(text).filter(inside);
    let days = read_each(call, (!is_null).then_some(zero), read)?;
    Ok(Arc::new(days.into_iter().collect::<PrimitiveArray<Date32Type>>()))
}

fn instants(call: &Call, is_null: bool) -> Result<ArrayRef, FunctionError> {
    let reader = Reader::of(call)?;
    // An empty text is the start of 1970, but no DateTime, as there.
    let read = |text: &[u8]| {
        if text.is_empty() && !reader.is_narrow() { Some(0) } else { reader.read(text) }
    };
    let ticks = read_each(call, (!is_null).then_some(0), read)?;
    moment::from_ticks(ticks.into_iter().collect::<Int64Array>(), bare(call.result))
}
