//! What the bytes of a type are like: widths, and what codecs learn.

use super::DataType;
use tambour_codec::codec::{Class, Element};

impl DataType {
    /// Bytes of one value in the data stream, if that is constant. A Nullable has the width of its values.
    pub fn fixed_width(&self) -> Option<usize> {
        Some(match self {
            Self::Bool | Self::UInt8 | Self::Int8 | Self::Enum8(_) => 1,
            Self::UInt16 | Self::Int16 | Self::BFloat16 | Self::Date | Self::Enum16(_) => 2,
            Self::UInt32
            | Self::Int32
            | Self::Float32
            | Self::Date32
            | Self::DateTime { .. }
            | Self::Ipv4 => 4,
            Self::UInt64 | Self::Int64 | Self::Float64 | Self::DateTime64 { .. } => 8,
            Self::UInt128 | Self::Int128 | Self::Uuid | Self::Ipv6 => 16,
            Self::UInt256 | Self::Int256 => 32,
            Self::Decimal { precision, .. } => match precision {
                0..=9 => 4,
                10..=18 => 8,
                19..=38 => 16,
                _ => 32,
            },
            Self::FixedString(width) => *width,
            Self::Nullable(inner) => return inner.fixed_width(),
            Self::String
            | Self::Foreign(_)
            | Self::LowCardinality(_)
            | Self::Array(_)
            | Self::Tuple(_)
            | Self::Map(..) => return None,
        })
    }

    /// What codecs learn of the data stream of this type (its innermost values). A type with several data streams, a
    /// Tuple or a Map, has no common answer: bytes.
    pub fn element(&self) -> Element {
        let class = match self {
            Self::Bool
            | Self::UInt8
            | Self::UInt16
            | Self::UInt32
            | Self::UInt64
            | Self::UInt128
            | Self::UInt256
            | Self::Date
            | Self::DateTime { .. }
            | Self::Ipv4 => Class::Unsigned,
            Self::Int8
            | Self::Int16
            | Self::Int32
            | Self::Int64
            | Self::Int128
            | Self::Int256
            | Self::Decimal { .. }
            | Self::Date32
            | Self::DateTime64 { .. }
            | Self::Enum8(_)
            | Self::Enum16(_) => Class::Signed,
            Self::Float32 | Self::Float64 | Self::BFloat16 => Class::Float,
            Self::Uuid | Self::Ipv6 => Class::Bytes,
            Self::Nullable(inner) | Self::LowCardinality(inner) | Self::Array(inner) => {
                return inner.element();
            }
            Self::String
            | Self::Foreign(_)
            | Self::FixedString(_)
            | Self::Tuple(_)
            | Self::Map(..) => {
                return Element::BYTES;
            }
        };
        let width = self.fixed_width().and_then(|width| u8::try_from(width).ok()).unwrap_or(1);
        Element { width, class }
    }

    /// True for `Nullable(…)` and `LowCardinality(Nullable(…))`.
    ///
    /// ```
    /// use tambour_part::types::DataType;
    /// assert!("LowCardinality(Nullable(String))".parse::<DataType>()?.is_nullable());
    /// assert!(!"Array(Nullable(String))".parse::<DataType>()?.is_nullable());
    /// # Ok::<(), tambour_part::PartError>(())
    /// ```
    pub fn is_nullable(&self) -> bool {
        match self {
            Self::Nullable(_) | Self::Foreign(_) => true,
            Self::LowCardinality(inner) => inner.is_nullable(),
            _ => false,
        }
    }

    /// The type without `Nullable` and `LowCardinality` around it.
    ///
    /// ```
    /// use tambour_part::types::DataType;
    /// let wrapped: DataType = "LowCardinality(Nullable(String))".parse()?;
    /// assert_eq!(wrapped.unwrapped(), &"String".parse()?);
    /// # Ok::<(), tambour_part::PartError>(())
    /// ```
    pub fn unwrapped(&self) -> &Self {
        match self {
            Self::Nullable(inner) | Self::LowCardinality(inner) => inner.unwrapped(),
            other => other,
        }
    }

    /// True if ClickHouse allows `Nullable` around it (tuples, which are experimental there, are not supported here).
    pub fn can_be_nullable(&self) -> bool {
        !matches!(
            self,
            Self::Nullable(_)
                | Self::Foreign(_)
                | Self::LowCardinality(_)
                | Self::Array(_)
                | Self::Tuple(_)
                | Self::Map(..)
        )
    }

    /// True if ClickHouse allows `LowCardinality` around it, or around it within `Nullable`.
    ///
    /// ```
    /// use tambour_part::types::DataType;
    /// assert!("String".parse::<DataType>()?.can_be_low_cardinality());
    /// assert!(!"Array(String)".parse::<DataType>()?.can_be_low_cardinality());
    /// # Ok::<(), tambour_part::PartError>(())
    /// ```
    pub fn can_be_low_cardinality(&self) -> bool {
        match self {
            Self::Nullable(inner) => inner.can_be_low_cardinality(),
            Self::Decimal { .. } | Self::DateTime64 { .. } | Self::Enum8(_) | Self::Enum16(_) => {
                false
            }
            other => other.can_be_nullable(),
        }
    }
}
