//! Arrow arrays from texts: a builder per ClickHouse type.

mod nested;
mod scalar;
mod string;

use crate::error::Reject;
use crate::infer::Reading;
use crate::infer::evidence::DATE_DAYS;
use crate::literal::{Cursor, Token};
use crate::text::block::Cells;
use arrow_array::{ArrayRef, types as arrow};
use arrow_schema::{ArrowError, DataType as Arrow, TimeUnit};
use scalar::{Boolean, Fixed, Primitive};
use tambour_function::Zone;
use tambour_function::value::time::{DAYS, DateOrder, InstantReader, date_in_range};
use tambour_function::value::{address, number};
use tambour_part::DataType;
use tambour_part::types::{Strings, unit_precision};

/// Bytes that are not text.
pub(crate) const NOT_UTF8: Reject = Reject::new("invalid UTF-8");

/// Collects the values of a column. After a refusal the builder is thrown away with what it has.
pub(crate) trait Build: Send {
    /// A value given as text, escapes resolved.
    fn text(&mut self, text: &[u8]) -> Result<(), Reject>;

    /// NULL; what has no NULL but an emptiness (arrays, maps) takes that.
    fn null(&mut self) -> Result<(), Reject>;

    /// The value of a row that has none, under an outer NULL.
    fn blank(&mut self);

    /// The array of all values.
    fn finish(self: Box<Self>) -> Result<ArrayRef, ArrowError>;

    /// Whether every text is a value: then emptiness is one too.
    fn takes_any_text(&self) -> bool {
        false
    }

    /// Whether texts are literals with escapes of their own: then those of the field around them are not resolved first.
    fn takes_literals(&self) -> bool {
        false
    }

    /// The value at the cursor.
    fn literal(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Reject> {
        match cursor.scalar()? {
            None => self.null(),
            Some(text) => self.text(&text),
        }
    }

    /// A column of a block; with a refusal comes the row.
    fn cells(&mut self, cells: Cells<'_>) -> Result<(), (usize, Reject)> {
        let any_text = self.takes_any_text();
        let literals = self.takes_literals();
        let mut scratch = Vec::new();
        for row in 0..cells.rows() {
            let field = cells.field(row);
            let outcome = if cells.is_null(&field, any_text) {
                self.null()
            } else if literals && field.has_backslashes() {
                self.text(field.raw)
            } else {
                field
                    .value(&mut scratch)
                    .and_then(|value| self.text(if any_text { value } else { value.trim_ascii() }))
            };
            outcome.map_err(|reject| (row, reject))?;
        }
        Ok(())
    }
}

/// What the builders of a column have in common.
#[derive(Clone, Copy, Debug)]
struct Context {
    order: DateOrder,
    strict: bool,
    /// As in [`Reading::whole`].
    whole: bool,
    /// As in [`Reading::exact`].
    exact: bool,
    /// As in [`Reading::as_clickhouse`].
    as_clickhouse: bool,
    capacity: usize,
}

/// A builder for a column.
pub(crate) fn builder(reading: &Reading, capacity: usize) -> Result<Box<dyn Build>, ArrowError> {
    let Reading { order, inferred: strict, whole, exact, as_clickhouse, .. } = *reading;
    let context = Context { order, strict, whole, exact, as_clickhouse, capacity };
    build(&reading.column.data_type, false, context)
}

fn build(
    data_type: &DataType,
    nullable: bool,
    context: Context,
) -> Result<Box<dyn Build>, ArrowError> {
    use DataType as T;
    let Context { order, strict, whole, capacity, .. } = context;
    macro_rules! primitive {
        ($arrow:ident, $parse:expr) => {
            Box::new(Primitive::<arrow::$arrow, _>::new(
                data_type.arrow(Strings::Utf8),
                nullable,
                capacity,
                $parse,
            ))
        };
    }
    macro_rules! fixed {
        ($width:expr, $parse:expr) => {
            Box::new(Fixed::new($width, nullable, capacity, $parse))
        };
    }
    Ok(match data_type {
        T::Nullable(inner) => return build(inner, true, context),
        T::Bool => Box::new(Boolean::new(nullable, capacity, strict)),
        T::UInt8 => primitive!(UInt8Type, move |text| number::integer_as(text, strict, whole)),
        T::UInt16 => primitive!(UInt16Type, move |text| number::integer_as(text, strict, whole)),
        T::UInt32 => primitive!(UInt32Type, move |text| number::integer_as(text, strict, whole)),
        T::UInt64 => primitive!(UInt64Type, move |text| number::integer_as(text, strict, whole)),
        T::Int8 => primitive!(Int8Type, move |text| number::integer_as(text, strict, whole)),
        T::Int16 => primitive!(Int16Type, move |text| number::integer_as(text, strict, whole)),
        T::Int32 => primitive!(Int32Type, move |text| number::integer_as(text, strict, whole)),
        T::Int64 => primitive!(Int64Type, move |text| number::integer_as(text, strict, whole)),
        T::Int128 | T::UInt128 => {
            let signed = *data_type == T::Int128;
            primitive!(Decimal256Type, move |text| number::wide(text, 128, signed)
                .map(number::to_i256))
        }
        T::Int256 | T::UInt256 => {
            let signed = *data_type == T::Int256;
            fixed!(32, move |text| number::wide(text, 256, signed))
        }
        T::Float32 => primitive!(Float32Type, move |text| number::float32(text, strict)),
        T::Float64 => primitive!(Float64Type, move |text| number::float(text, strict)),
        T::BFloat16 => primitive!(Float32Type, move |text| number::float32(text, strict)
            .map(truncate_to_bfloat16)),
        T::Decimal { precision, scale } => {
            let (precision, scale) = (*precision, *scale);
            if precision <= 38 {
                primitive!(Decimal128Type, move |text| number::decimal128(text, precision, scale))
            } else {
                primitive!(Decimal256Type, move |text| number::decimal(text, precision, scale))
            }
        }
        T::Date => {
            primitive!(Date32Type, move |text| date_in_range(text, order, strict, DATE_DAYS))
        }
        T::Date32 => primitive!(Date32Type, move |text| date_in_range(text, order, strict, DAYS)),
        T::DateTime { .. } | T::DateTime64 { .. } => return time(data_type, nullable, context),
        T::Uuid => fixed!(16, address::uuid),
        T::Ipv4 => primitive!(UInt32Type, address::ipv4),
        T::Ipv6 => fixed!(16, address::ipv6),
        T::String | T::FixedString(_) | T::Enum8(_) | T::Enum16(_) | T::LowCardinality(_) => {
            return string::build(data_type, nullable, context);
        }
        T::Array(_) | T::Tuple(_) | T::Map(..) => return nested::build(data_type, context),
        other => return Err(ArrowError::NotYetImplemented(format!("{other} from text"))),
    })
}

/// ClickHouse keeps the upper half of the bits.
fn truncate_to_bfloat16(value: f32) -> f32 {
    f32::from_bits(value.to_bits() & 0xffff_0000)
}

fn time(
    data_type: &DataType,
    nullable: bool,
    context: Context,
) -> Result<Box<dyn Build>, ArrowError> {
    let named = |zone: &Option<String>| {
        Zone::of(zone.as_deref())
            .map_err(|cause| ArrowError::InvalidArgumentError(cause.to_string()))
    };
    let (precision, zone, range) = match data_type {
        DataType::DateTime { zone } => (0, named(zone)?, 0..1 << u32::BITS),
        DataType::DateTime64 { precision, zone } => {
            let zone = named(zone)?;
            let range = zone.calendar();
            (*precision, zone, range)
        }
        _ => return Err(ArrowError::NotYetImplemented(format!("{data_type} as a time"))),
    };
    let arrow = data_type.arrow(Strings::Utf8);
    let Arrow::Timestamp(unit, _) = arrow else {
        return Err(ArrowError::NotYetImplemented(format!("{data_type} as a time")));
    };
    let tick = unit_precision(unit);
    let Context { order, strict, exact, as_clickhouse, .. } = context;
    let reader = InstantReader { order, zone, precision, tick, strict, exact };
    let per_second = 10_i64.pow(u32::from(tick));
    let parse = move |text: &[u8]| {
        if as_clickhouse && is_guessed(text) {
            return Err(Reject::new("ClickHouse guesses what such a number means"));
        }
        let ticks = reader.ticks(text)?;
        if range.contains(&ticks.div_euclid(per_second)) {
            Ok(ticks)
        } else {
            Err(Reject::new("outside the range of the type"))
        }
    };
    let Context { capacity, .. } = context;
    Ok(match unit {
        TimeUnit::Second => Box::new(Primitive::<arrow::TimestampSecondType, _>::new(
            arrow, nullable, capacity, parse,
        )),
        TimeUnit::Millisecond => Box::new(Primitive::<arrow::TimestampMillisecondType, _>::new(
            arrow, nullable, capacity, parse,
        )),
        TimeUnit::Microsecond => Box::new(Primitive::<arrow::TimestampMicrosecondType, _>::new(
            arrow, nullable, capacity, parse,
        )),
        TimeUnit::Nanosecond => Box::new(Primitive::<arrow::TimestampNanosecondType, _>::new(
            arrow, nullable, capacity, parse,
        )),
    })
}

/// True for a number that ClickHouse takes for parts of a date: only of nine or ten digits it is surely one of seconds.
fn is_guessed(text: &[u8]) -> bool {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = text.get(digits..).unwrap_or_default();
    let is_number = matches!(rest, [] | [b'.', ..]) && rest.iter().skip(1).all(u8::is_ascii_digit);
    is_number && digits > 0 && !(9..=10).contains(&digits)
}

/// Any value as the text that stands there: a string without its quotes, everything else as it is written.
fn as_text<R>(cursor: &mut Cursor<'_>, take: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Reject> {
    let start = cursor.start();
    let mut ahead = cursor.clone();
    Ok(match ahead.token()? {
        Token::Null => {
            *cursor = ahead;
            take(None)
        }
        Token::Bare(word) => {
            *cursor = ahead;
            take(Some(word))
        }
        Token::String(text) => {
            *cursor = ahead;
            take(Some(&text))
        }
        Token::Open(_) => {
            cursor.skip()?;
            take(Some(cursor.since(start)))
        }
    })
}
