//! ClickHouse types and Arrow types: what is handed out, and what is taken in.

use super::{DataType, Strings, TYPE_KEY};
use crate::{PartError, Place};
use arrow_schema::{DataType as Arrow, Field, FieldRef, Fields, TimeUnit};
use std::sync::Arc;

/// Precision of the Arrow decimals that hold Int128 and UInt128.
pub(crate) const WIDE_PRECISION: u8 = 76;

impl DataType {
    /// The Arrow field for a column of this type, with [`TYPE_KEY`] set.
    pub fn field(&self, name: &str, strings: Strings) -> Field {
        let metadata = std::iter::once((TYPE_KEY.to_owned(), self.to_string())).collect();
        self.inner_field(name, strings).with_metadata(metadata)
    }

    /// The Arrow field of values of this type inside another one.
    pub(crate) fn inner_field(&self, name: &str, strings: Strings) -> Field {
        Field::new(name, self.arrow(strings), self.is_nullable())
    }

    /// The Arrow type of columns of this type.
    pub fn arrow(&self, strings: Strings) -> Arrow {
        match self {
            Self::Bool => Arrow::Boolean,
            Self::UInt8 => Arrow::UInt8,
            Self::UInt16 => Arrow::UInt16,
            Self::UInt32 | Self::Ipv4 => Arrow::UInt32,
            Self::UInt64 => Arrow::UInt64,
            Self::Int8 => Arrow::Int8,
            Self::Int16 => Arrow::Int16,
            Self::Int32 => Arrow::Int32,
            Self::Int64 => Arrow::Int64,
            Self::Int128 | Self::UInt128 => Arrow::Decimal256(WIDE_PRECISION, 0),
            Self::Int256 | Self::UInt256 => Arrow::FixedSizeBinary(32),
            Self::Float32 | Self::BFloat16 => Arrow::Float32,
            Self::Float64 => Arrow::Float64,
            Self::Decimal { precision, scale } => decimal(*precision, *scale),
            Self::Date | Self::Date32 => Arrow::Date32,
            Self::DateTime { zone } => {
                Arrow::Timestamp(TimeUnit::Second, Some(zone_or_utc(zone.as_deref())))
            }
            Self::DateTime64 { precision, zone } => {
                Arrow::Timestamp(unit(*precision), Some(zone_or_utc(zone.as_deref())))
            }
            Self::String | Self::Foreign(_) => match strings {
                Strings::Utf8 => Arrow::Utf8View,
                Strings::Binary => Arrow::BinaryView,
            },
            Self::FixedString(width) => {
                Arrow::FixedSizeBinary(i32::try_from(*width).unwrap_or(i32::MAX))
            }
            Self::Uuid | Self::Ipv6 => Arrow::FixedSizeBinary(16),
            Self::Enum8(values) => dictionary(enum_key(values.len(), Arrow::Int8), Arrow::Utf8),
            Self::Enum16(values) => dictionary(enum_key(values.len(), Arrow::Int16), Arrow::Utf8),
            Self::Nullable(inner) => inner.arrow(strings),
            Self::LowCardinality(inner) => match (inner.unwrapped(), strings) {
                (Self::String, Strings::Utf8) => dictionary(Arrow::Int32, Arrow::Utf8),
                (Self::String, Strings::Binary) => dictionary(Arrow::Int32, Arrow::Binary),
                (fixed @ Self::FixedString(_), _) => dictionary(Arrow::Int32, fixed.arrow(strings)),
                (other, _) => other.arrow(strings),
            },
            Self::Array(inner) => Arrow::List(Arc::new(inner.inner_field("item", strings))),
            Self::Tuple(elements) => Arrow::Struct(tuple_fields(elements, strings)),
            Self::Map(key, value) => Arrow::Map(map_entries(key, value, strings), false),
        }
    }

    /// The ClickHouse type of an Arrow field: its metadata if that names a type which fits, else the nearest one.
    /// A field that may be null becomes Nullable, unless ClickHouse has no such type (arrays, tuples, maps).
    pub fn from_field(field: &Field) -> Result<Self, PartError> {
        let named = field.metadata().get(TYPE_KEY).and_then(|text| text.parse::<Self>().ok());
        // A cast of the engine keeps the name of the number that it was.
        let is_cast = |named: &Self| {
            let arrow = named.arrow(Strings::Utf8);
            arrow.is_primitive()
                && arrow.is_numeric()
                && field.data_type().is_numeric()
                && !arrow.is_decimal()
                && arrow != *field.data_type()
        };
        let found = match named {
            Some(named) if named.accepts(field.data_type()) && !is_cast(&named) => named,
            _ => nearest(field)?,
        };
        Ok(if field.is_nullable() { found.made_nullable() } else { found })
    }

    /// This type with NULLs, where there is such a type.
    pub fn made_nullable(self) -> Self {
        match self {
            Self::LowCardinality(inner) => Self::LowCardinality(Box::new(inner.made_nullable())),
            other if other.can_be_nullable() => Self::Nullable(Box::new(other)),
            other => other,
        }
    }

    /// True if arrays of this Arrow type can be written into a column of this type. (Their values may still not fit.)
    pub fn accepts(&self, arrow: &Arrow) -> bool {
        match (self, arrow) {
            (Self::Nullable(inner), _) => *arrow == Arrow::Null || inner.accepts(arrow),
            (Self::LowCardinality(inner), _) => inner.accepts(arrow),
            (
                Self::Array(inner),
                Arrow::List(item) | Arrow::LargeList(item) | Arrow::FixedSizeList(item, _),
            ) => inner.accepts(item.data_type()),
            (Self::Tuple(elements), Arrow::Struct(fields)) => {
                elements.len() == fields.len()
                    && elements
                        .iter()
                        .zip(fields)
                        .all(|((_, inner), field)| inner.accepts(field.data_type()))
            }
            (Self::Map(key, value), Arrow::Map(entries, _)) => match entries.data_type() {
                Arrow::Struct(fields) if fields.len() == 2 => {
                    key.accepts(fields[0].data_type()) && value.accepts(fields[1].data_type())
                }
                _ => false,
            },
            (Self::Array(_) | Self::Tuple(_) | Self::Map(..), _) => false,
            (_, Arrow::Dictionary(_, values)) => !values.is_nested() && self.accepts(values),
            _ => self.accepts_scalar(arrow),
        }
    }

    fn accepts_scalar(&self, arrow: &Arrow) -> bool {
        match self {
            Self::Bool => *arrow == Arrow::Boolean,
            Self::UInt8
            | Self::UInt16
            | Self::UInt32
            | Self::UInt64
            | Self::Int8
            | Self::Int16
            | Self::Int32
            | Self::Int64 => arrow.is_integer(),
            Self::Int128 | Self::UInt128 => arrow.is_integer() || is_whole_decimal(arrow),
            Self::Int256 | Self::UInt256 => {
                arrow.is_integer()
                    || is_whole_decimal(arrow)
                    || *arrow == Arrow::FixedSizeBinary(32)
            }
            Self::Float32 | Self::Float64 => arrow.is_floating(),
            Self::BFloat16 => matches!(arrow, Arrow::Float16 | Arrow::Float32),
            Self::Decimal { scale, .. } => match decimal_scale(arrow) {
                Some(found) => (0..=i16::from(*scale)).contains(&i16::from(found)),
                None => arrow.is_integer(),
            },
            Self::Date | Self::Date32 => matches!(arrow, Arrow::Date32 | Arrow::Date64),
            Self::DateTime { .. } | Self::DateTime64 { .. } => {
                matches!(arrow, Arrow::Timestamp(..) | Arrow::Date64)
            }
            Self::String => is_bytes(arrow) || matches!(arrow, Arrow::FixedSizeBinary(_)),
            Self::FixedString(width) => {
                is_bytes(arrow)
                    || matches!(arrow, Arrow::FixedSizeBinary(n) if usize::try_from(*n).is_ok_and(|n| n <= *width))
            }
            Self::Uuid | Self::Ipv6 => *arrow == Arrow::FixedSizeBinary(16),
            Self::Ipv4 => *arrow == Arrow::UInt32,
            Self::Enum8(_) | Self::Enum16(_) => is_bytes(arrow),
            Self::Nullable(_)
            | Self::Foreign(_)
            | Self::LowCardinality(_)
            | Self::Array(_)
            | Self::Tuple(_)
            | Self::Map(..) => false,
        }
    }
}

fn is_bytes(arrow: &Arrow) -> bool {
    matches!(
        arrow,
        Arrow::Utf8
            | Arrow::LargeUtf8
            | Arrow::Utf8View
            | Arrow::Binary
            | Arrow::LargeBinary
            | Arrow::BinaryView
    )
}

fn decimal_scale(arrow: &Arrow) -> Option<i8> {
    match arrow {
        Arrow::Decimal32(_, scale)
        | Arrow::Decimal64(_, scale)
        | Arrow::Decimal128(_, scale)
        | Arrow::Decimal256(_, scale) => Some(*scale),
        _ => None,
    }
}

fn is_whole_decimal(arrow: &Arrow) -> bool {
    decimal_scale(arrow) == Some(0)
}

fn decimal(precision: u8, scale: u8) -> Arrow {
    let scale = i8::try_from(scale).unwrap_or(i8::MAX);
    if precision <= 38 {
        Arrow::Decimal128(precision, scale)
    } else {
        Arrow::Decimal256(precision, scale)
    }
}

/// DateTime without a zone is UTC: a part does not say what the server's zone was.
fn zone_or_utc(zone: Option<&str>) -> Arc<str> {
    Arc::from(zone.unwrap_or("UTC"))
}

/// The coarsest Arrow unit that holds ticks of this precision.
pub(crate) fn unit(precision: u8) -> TimeUnit {
    match precision {
        0 => TimeUnit::Second,
        1..=3 => TimeUnit::Millisecond,
        4..=6 => TimeUnit::Microsecond,
        _ => TimeUnit::Nanosecond,
    }
}

/// Digits after the second of an Arrow unit.
pub fn unit_precision(unit: TimeUnit) -> u8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

/// The narrowest signed key that counts the values, at least as wide as the Enum.
fn enum_key(values: usize, least: Arrow) -> Arrow {
    match (least, values) {
        (Arrow::Int8, 0..=128) => Arrow::Int8,
        (_, 0..=32_768) => Arrow::Int16,
        _ => Arrow::Int32,
    }
}

fn dictionary(key: Arrow, value: Arrow) -> Arrow {
    Arrow::Dictionary(Box::new(key), Box::new(value))
}

/// The fields of a tuple's struct: elements without names are numbered from 1, as ClickHouse does.
pub(crate) fn tuple_fields(elements: &[(Option<String>, DataType)], strings: Strings) -> Fields {
    let field = |(index, (name, inner)): (usize, &(Option<String>, DataType))| {
        let name = name.clone().unwrap_or_else(|| (index + 1).to_string());
        inner.inner_field(&name, strings)
    };
    elements.iter().enumerate().map(field).collect()
}

/// The field of a map's entries.
pub(crate) fn map_entries(key: &DataType, value: &DataType, strings: Strings) -> FieldRef {
    let fields = vec![
        key.inner_field("keys", strings).with_nullable(false),
        value.inner_field("values", strings),
    ];
    Arc::new(Field::new("entries", Arrow::Struct(fields.into()), false))
}

/// The nearest type of an Arrow field without regard to its metadata and to whether it may be null itself.
fn nearest(field: &Field) -> Result<DataType, PartError> {
    let of = DataType::from_field;
    Ok(match field.data_type() {
        Arrow::Boolean => DataType::Bool,
        Arrow::UInt8 => DataType::UInt8,
        Arrow::UInt16 => DataType::UInt16,
        Arrow::UInt32 => DataType::UInt32,
        Arrow::UInt64 => DataType::UInt64,
        Arrow::Int8 => DataType::Int8,
        Arrow::Int16 => DataType::Int16,
        Arrow::Int32 => DataType::Int32,
        Arrow::Int64 => DataType::Int64,
        Arrow::Float16 | Arrow::Float32 => DataType::Float32,
        Arrow::Float64 => DataType::Float64,
        Arrow::Utf8
        | Arrow::LargeUtf8
        | Arrow::Utf8View
        | Arrow::Binary
        | Arrow::LargeBinary
        | Arrow::BinaryView => DataType::String,
        Arrow::FixedSizeBinary(width @ 1..) => DataType::FixedString(width.unsigned_abs() as usize),
        Arrow::Date32 => DataType::Date32,
        Arrow::Date64 => DataType::DateTime64 { precision: 3, zone: None },
        Arrow::Timestamp(TimeUnit::Second, zone) => {
            DataType::DateTime { zone: named_zone(zone.as_deref()) }
        }
        Arrow::Timestamp(unit, zone) => DataType::DateTime64 {
            precision: unit_precision(*unit),
            zone: named_zone(zone.as_deref()),
        },
        Arrow::Decimal32(precision, scale)
        | Arrow::Decimal64(precision, scale)
        | Arrow::Decimal128(precision, scale)
        | Arrow::Decimal256(precision, scale) => match u8::try_from(*scale) {
            Ok(scale) if scale <= *precision => DataType::Decimal { precision: *precision, scale },
            _ => return Err(no_type(field)),
        },
        Arrow::Dictionary(_, value) => {
            let inner = nearest(&Field::new(field.name(), value.as_ref().clone(), false))?;
            if inner.can_be_low_cardinality() {
                DataType::LowCardinality(Box::new(inner))
            } else {
                inner
            }
        }
        Arrow::List(item) | Arrow::LargeList(item) | Arrow::FixedSizeList(item, _) => {
            DataType::Array(Box::new(of(item)?))
        }
        Arrow::Struct(fields) if !fields.is_empty() => {
            let numbered = fields
                .iter()
                .enumerate()
                .all(|(index, field)| *field.name() == (index + 1).to_string());
            let element =
                |field: &FieldRef| Ok(((!numbered).then(|| field.name().clone()), of(field)?));
            let elements = fields.iter().map(element).collect::<Result<Vec<_>, PartError>>()?;
            // Through the parser, which knows what names and types may be together.
            DataType::Tuple(elements).to_string().parse()?
        }
        Arrow::Map(entries, _) => match entries.data_type() {
            Arrow::Struct(fields) if fields.len() == 2 => {
                let key = of(&fields[0].as_ref().clone().with_nullable(false))?;
                DataType::Map(Box::new(key), Box::new(of(&fields[1])?))
            }
            _ => return Err(no_type(field)),
        },
        _ => return Err(no_type(field)),
    })
}

/// Zones that ClickHouse knows by the same name. Offsets (`+02:00`) are none of them: the instants stay, shown in UTC.
fn named_zone(zone: Option<&str>) -> Option<String> {
    zone.map(|zone| if zone.starts_with(['+', '-']) { "UTC" } else { zone }.to_owned())
}

fn no_type(field: &Field) -> PartError {
    let what = match field.data_type() {
        Arrow::Null => "a NULL without a type".to_owned(),
        Arrow::Interval(_) => "an interval".to_owned(),
        other => format!("Arrow type {other}"),
    };
    PartError::unsupported(Place::column(field.name()), what)
}
