//! Conversions to numbers and texts (`toUInt32`, `toFloat64`, `toString`), and what all conversions read from.
//!
//! Integers wrap as in ClickHouse (`toUInt8(300)` is 44). A text that is not a number is an error, or with `…OrZero` a 0,
//! with `…OrNull` a NULL.

use super::access::Failure;
use super::arithmetic;
use super::moment::Moments;
use super::numbers::Numbers;
use super::text::Texts;
use super::value::parse;
use super::{Call, Function, Signature, bare, cast, expect_count, format, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, PrimitiveArray};
use arrow_schema::DataType as ArrowType;
use std::ops::RangeInclusive;
use std::sync::Arc;
use tambour_part::types::DataType;

macro_rules! integer {
    ($name:literal, $or_zero:literal, $or_null:literal, $clickhouse:ident, $arrow:ident) => {
        [
            Function::new(
                $name,
                |n, s| number_type(n, s, DataType::$clickhouse),
                |c| to_integer::<$arrow>(c, Failure::Error),
            ),
            Function::new(
                $or_zero,
                |n, s| text_type(n, s, DataType::$clickhouse),
                |c| to_integer::<$arrow>(c, Failure::Zero),
            ),
            Function::new(
                $or_null,
                |n, s| text_type(n, s, DataType::Nullable(Box::new(DataType::$clickhouse))),
                |c| to_integer::<$arrow>(c, Failure::Null),
            ),
        ]
    };
}

macro_rules! float {
    ($name:literal, $or_zero:literal, $or_null:literal, $clickhouse:ident, $arrow:ident) => {
        [
            Function::new(
                $name,
                |n, s| number_type(n, s, DataType::$clickhouse),
                |c| to_float::<$arrow>(c, Failure::Error, |float| float as _),
            ),
            Function::new(
                $or_zero,
                |n, s| text_type(n, s, DataType::$clickhouse),
                |c| to_float::<$arrow>(c, Failure::Zero, |float| float as _),
            ),
            Function::new(
                $or_null,
                |n, s| text_type(n, s, DataType::Nullable(Box::new(DataType::$clickhouse))),
                |c| to_float::<$arrow>(c, Failure::Null, |float| float as _),
            ),
        ]
    };
}

const NUMBERS: [[Function; 3]; 10] = [
    integer!("toUInt8", "toUInt8OrZero", "toUInt8OrNull", UInt8, UInt8Type),
    integer!("toUInt16", "toUInt16OrZero", "toUInt16OrNull", UInt16, UInt16Type),
    integer!("toUInt32", "toUInt32OrZero", "toUInt32OrNull", UInt32, UInt32Type),
    integer!("toUInt64", "toUInt64OrZero", "toUInt64OrNull", UInt64, UInt64Type),
    integer!("toInt8", "toInt8OrZero", "toInt8OrNull", Int8, Int8Type),
    integer!("toInt16", "toInt16OrZero", "toInt16OrNull", Int16, Int16Type),
    integer!("toInt32", "toInt32OrZero", "toInt32OrNull", Int32, Int32Type),
    integer!("toInt64", "toInt64OrZero", "toInt64OrNull", Int64, Int64Type),
    float!("toFloat32", "toFloat32OrZero", "toFloat32OrNull", Float32, Float32Type),
    float!("toFloat64", "toFloat64OrZero", "toFloat64OrNull", Float64, Float64Type),
];

const fn functions() -> [Function; 31] {
    let mut all = [Function::new("toString", string_type, format::to_string); 31];
    let mut at = 0;
    while at < 30 {
        all[at] = NUMBERS[at / 3][at % 3];
        at += 1;
    }
    all
}

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &functions();

/// What conversions read from.
pub(super) enum Source {
    Moments(Moments),
    Numbers(Numbers),
    Texts(Texts),
}

impl Source {
    /// Reads the first argument.
    pub(super) fn of(call: &Call) -> Result<Self, FunctionError> {
        let values = call.values(0)?;
        let data_type = call.operands.first().map_or(&DataType::String, |o| bare(&o.data_type));
        Ok(match data_type {
            DataType::Date
            | DataType::Date32
            | DataType::DateTime { .. }
            | DataType::DateTime64 { .. } => Self::Moments(Moments::of(call, 0)?),
            DataType::String | DataType::FixedString(_) => Self::Texts(Texts::of(&values)),
            other => Self::Numbers(Numbers::of_type(&values, other)?),
        })
    }

    /// An error unless the first argument is a date, an instant, a number or a text.
    pub(super) fn expect_time_or_number(
        name: &'static str,
        s: &[Signature],
    ) -> Result<(), FunctionError> {
        match s.first().map(|first| &first.data_type) {
            Some(
                DataType::Date
                | DataType::Date32
                | DataType::DateTime { .. }
                | DataType::DateTime64 { .. }
                | DataType::String
                | DataType::FixedString(_)
                | DataType::Bool
                | DataType::Float32
                | DataType::Float64,
            ) => Ok(()),
            Some(other) if super::arithmetic::integer(other).is_some() => Ok(()),
            Some(other) => Err(wrong(name, format!("it does not take {other}"))),
            None => Err(wrong(name, "it takes an argument")),
        }
    }
}

fn number_type(
    name: &'static str,
    s: &[Signature],
    result: DataType,
) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=1)?;
    match s.first().map(|first| &first.data_type) {
        Some(DataType::Decimal { .. } | DataType::Enum8(_) | DataType::Enum16(_)) => Ok(result),
        Some(DataType::Ipv4) if matches!(result, DataType::UInt32 | DataType::UInt64) => Ok(result),
        Some(DataType::Int128 | DataType::UInt128 | DataType::Int256 | DataType::UInt256) => {
            Ok(result)
        }
        _ => Source::expect_time_or_number(name, s).map(|()| result),
    }
}

fn text_type(
    name: &'static str,
    s: &[Signature],
    result: DataType,
) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=1)?;
    match s.first().map(|first| &first.data_type) {
        Some(DataType::String | DataType::FixedString(_)) => Ok(result),
        _ => Err(wrong(name, "it takes a String")),
    }
}

fn string_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=2)?;
    super::moment::zone_argument(name, s, 1)?;
    match s.first().map(|first| &first.data_type) {
        Some(_) => Ok(DataType::String),
        None => Err(wrong(name, "it takes an argument")),
    }
}

/// An integer type that conversions can make.
trait Integer: ArrowPrimitiveType<Native: TryFrom<i64> + TryFrom<u64>> {
    fn wrap(number: i64) -> Self::Native;
    /// What x86 makes of a float, so that values out of range give what ClickHouse gives there.
    fn of_float(float: f64) -> Self::Native;
}

macro_rules! integers {
    ($($arrow:ident $native:ident $through:ident),*) => {$(
        impl Integer for $arrow {
            #[inline]
            fn wrap(number: i64) -> $native {
                number as $native
            }
            #[inline]
            #[expect(clippy::float_cmp, reason = "the cast back is exact or the number does not fit")]
            fn of_float(float: f64) -> $native {
                let low = $through::MIN as f64;
                let high = $through::MAX as f64;
                let inside = float >= low && float <= high && (float as $through) as f64 == float.trunc();
                (if inside { float as $through } else { $through::MIN }) as $native
            }
        }
    )*};
}
integers!(
    Int8Type i8 i32, Int16Type i16 i32, Int32Type i32 i32, Int64Type i64 i64,
    UInt8Type u8 i32, UInt16Type u16 i32, UInt32Type u32 i64
);

impl Integer for UInt64Type {
    fn wrap(number: i64) -> u64 {
        number as u64
    }
    fn of_float(float: f64) -> u64 {
        if float < 0.0 { Int64Type::of_float(float) as u64 } else { float as u64 }
    }
}

fn to_integer<T: Integer>(call: &Call, failure: Failure) -> Result<ArrayRef, FunctionError> {
    if super::wide::takes(call) {
        return super::wide::converted(call);
    }
    let values = call.values(0)?;
    let array: PrimitiveArray<T> = match Source::of(call)? {
        Source::Moments(Moments::Days(days)) => days.unary(|day| T::wrap(day.into())),
        Source::Moments(Moments::Seconds(seconds)) => seconds.unary(T::wrap),
        Source::Moments(Moments::Ticks(ticks, per_second)) => {
            whole_seconds(call, &ticks, per_second)?.unary(T::wrap)
        }
        Source::Numbers(Numbers::Integers(array)) => array.unary(T::wrap),
        Source::Numbers(Numbers::Unsigned(array)) => array.unary(|number| T::wrap(number as i64)),
        Source::Numbers(Numbers::Floats(_)) if is_decimal(&values) => {
            // Decimals do not go through floats: their digits before the point are exact.
            whole_part(call, &values)?.unary(T::wrap)
        }
        Source::Numbers(Numbers::Floats(array)) => {
            return floats_to_integers::<T>(call, &array);
        }
        Source::Texts(texts) => {
            let signed = T::wrap(-1) < T::Native::default();
            let given = call.operands.first().map(|it| bare(&it.data_type));
            let is_fixed = matches!(given, Some(DataType::FixedString(_)));
            let read = |text: &[u8]| match failure {
                // A FixedString of zeros alone is a number, though an empty text is none.
                _ if is_fixed && text.is_empty() => Some(T::Native::default()),
                Failure::Error => parse::integer(text, signed).map(|it| T::wrap(it as i64)),
                // What does not fit is none.
                Failure::Zero | Failure::Null => {
                    parse::integer(text, signed)?;
                    super::value::number::integer(text, false).ok()
                }
            };
            return texts_to::<T>(call, &texts, failure, "an integer", read);
        }
    };
    Ok(Arc::new(array))
}

fn texts_to<T: ArrowPrimitiveType>(
    call: &Call,
    texts: &Texts,
    failure: Failure,
    what: &str,
    read: impl Fn(&[u8]) -> Option<T::Native>,
) -> Result<ArrayRef, FunctionError> {
    // Fixed strings end with zero bytes.
    let read = |text: &[u8]| {
        let end = text.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        read(&text[..end])
    };
    let array: PrimitiveArray<T> = match failure {
        Failure::Error => texts.map_to(call, what, read)?,
        Failure::Zero => texts.map_to(call, what, |text| Some(read(text).unwrap_or_default()))?,
        Failure::Null => {
            let values = (0..texts.len()).map(|index| texts.value(index).and_then(&read));
            values.collect()
        }
    };
    Ok(Arc::new(array))
}

fn floats_to_integers<T: Integer>(
    call: &Call,
    array: &Float64Array,
) -> Result<ArrayRef, FunctionError> {
    let bad = array.iter().position(|float| float.is_some_and(|float| !float.is_finite()));
    if let Some(row) = bad {
        return Err(call.value_error(row, "inf and nan are not integers"));
    }
    let integers: PrimitiveArray<T> = array.unary(T::of_float);
    Ok(Arc::new(integers))
}

fn is_decimal(values: &ArrayRef) -> bool {
    matches!(values.data_type(), ArrowType::Decimal128(..) | ArrowType::Decimal256(..))
}

/// The digits before the point of decimals. ClickHouse refuses those that do not fit, where other numbers wrap around.
fn whole_part(call: &Call, values: &ArrayRef) -> Result<Int64Array, FunctionError> {
    let ArrowType::Decimal128(_, scale) = values.data_type() else {
        return Ok(cast(values, &ArrowType::Int64)?.as_primitive::<Int64Type>().clone());
    };
    let unit = 10_i128.checked_pow(u32::from(scale.unsigned_abs())).unwrap_or(i128::MAX);
    let decimals = values.as_primitive::<arrow_array::types::Decimal128Type>();
    let fits = range(call.result);
    let whole = |row: usize| decimals.value(row) / unit;
    let lost =
        (0..decimals.len()).find(|row| decimals.is_valid(*row) && !fits.contains(&whole(*row)));
    if let Some(row) = lost {
        return Err(call.value_error(row, format!("the value does not fit {}", call.result)));
    }
    Ok(decimals.unary(|number| (number / unit) as i64))
}

/// The numbers that an integer type has.
fn range(data_type: &DataType) -> RangeInclusive<i128> {
    match arithmetic::integer(bare(data_type)) {
        Some(it) if it.is_signed => -(1_i128 << (it.bits - 1))..=(1 << (it.bits - 1)) - 1,
        Some(it) => 0..=(1 << it.bits) - 1,
        None => i128::MIN..=i128::MAX,
    }
}

/// The seconds of instants with fractions, which are decimals in ClickHouse: those that do not fit are errors, too.
fn whole_seconds(
    call: &Call,
    ticks: &Int64Array,
    per_second: i64,
) -> Result<Int64Array, FunctionError> {
    let fits = range(call.result);
    let seconds: Int64Array = ticks.unary(|tick| tick / per_second);
    let is_lost =
        |row: &usize| seconds.is_valid(*row) && !fits.contains(&seconds.value(*row).into());
    match (0..seconds.len()).find(is_lost) {
        Some(row) => Err(call.value_error(row, format!("the value does not fit {}", call.result))),
        None => Ok(seconds),
    }
}

fn to_float<T: ArrowPrimitiveType>(
    call: &Call,
    failure: Failure,
    narrow: fn(f64) -> T::Native,
) -> Result<ArrayRef, FunctionError> {
    if super::wide::takes(call) {
        return super::wide::converted(call);
    }
    let array: PrimitiveArray<T> = match Source::of(call)? {
        Source::Moments(Moments::Days(days)) => days.unary(|day| narrow(day.into())),
        Source::Moments(Moments::Seconds(seconds)) => seconds.unary(|second| narrow(second as f64)),
        Source::Moments(Moments::Ticks(ticks, per_second)) => {
            ticks.unary(|tick| narrow(tick as f64 / per_second as f64))
        }
        Source::Numbers(Numbers::Integers(array)) => array.unary(|number| narrow(number as f64)),
        Source::Numbers(Numbers::Unsigned(array)) => array.unary(|number| narrow(number as f64)),
        Source::Numbers(Numbers::Floats(array)) => array.unary(narrow),
        Source::Texts(texts) => {
            let read = |text: &[u8]| parse::float(text).map(narrow);
            return texts_to::<T>(call, &texts, failure, "a number", read);
        }
    };
    Ok(Arc::new(array))
}
