//! ClickHouse's data types: parsing, printing, and their nearest Arrow types.
//!
//! | ClickHouse | Arrow | remark |
//! |---|---|---|
//! | Bool | Boolean | |
//! | (U)Int8..64, Float32/64 | the same | decompressed straight into the Arrow buffer |
//! | Int128, UInt128 | Decimal256(76, 0) | all 39 digits fit |
//! | Int256, UInt256 | FixedSizeBinary(32), little-endian | no Arrow integer holds them |
//! | BFloat16 | Float32 | exact |
//! | Decimal(P ≤ 38, S) | Decimal128(P, S) | Decimal32/64 are widened |
//! | Decimal(P > 38, S) | Decimal256(P, S) | |
//! | Date, Date32 | Date32 | |
//! | DateTime\[(tz)\] | Timestamp(Second, tz) | no zone: UTC |
//! | DateTime64(p\[, tz\]) | Timestamp(s, ms, us, ns) for p = 0, ≤ 3, ≤ 6, ≤ 9 | |
//! | String | Utf8View, or BinaryView on request | views into the decompressed block |
//! | FixedString(N), UUID, IPv6 | FixedSizeBinary | UUID in textual byte order |
//! | IPv4 | UInt32 | |
//! | Enum8, Enum16 | Dictionary(Int8 or Int16, Utf8) | values in the order of the type |
//! | Nullable(T) | T, nullable | |
//! | LowCardinality(String), (FixedString) | Dictionary(Int32, Utf8 or FixedSizeBinary) | |
//! | LowCardinality(other) | T | |
//! | Array(T), Tuple, Map | List, Struct, Map | |
//!
//! Every Arrow field carries the exact ClickHouse type in its metadata under [`TYPE_KEY`], so that a round trip keeps it.

use crate::PartError;
use arrow_schema::{Field, Schema};

/// Metadata key of an Arrow field that holds the ClickHouse type as text.
pub const TYPE_KEY: &str = "clickhouse.type";

/// A ClickHouse data type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the variants are ClickHouse's own names")]
pub enum DataType {
    Bool,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    UInt128,
    UInt256,
    Int8,
    Int16,
    Int32,
    Int64,
    Int128,
    Int256,
    Float32,
    Float64,
    BFloat16,
    Decimal { precision: u8, scale: u8 },
    Date,
    Date32,
    DateTime { zone: Option<String> },
    DateTime64 { precision: u8, zone: Option<String> },
    String,
    FixedString(usize),
    Uuid,
    Ipv4,
    Ipv6,
    Enum8(Vec<(String, i8)>),
    Enum16(Vec<(String, i16)>),
    Nullable(Box<DataType>),
    LowCardinality(Box<DataType>),
    Array(Box<DataType>),
    Tuple(Vec<(Option<String>, DataType)>),
    Map(Box<DataType>, Box<DataType>),
}

/// How `String` columns are handed out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Strings {
    /// Arrow `Utf8View`; bytes that are not UTF-8 are an error that names the column and the row.
    #[default]
    Utf8,
    /// Arrow `BinaryView`: any bytes.
    Binary,
}

impl DataType {
    /// The Arrow field for a column of this type, with [`TYPE_KEY`] set.
    pub fn field(&self, _name: &str, _strings: Strings) -> Field {
        todo!()
    }
    /// The ClickHouse type of an Arrow field: its metadata if that names a type which fits, else the nearest one.
    pub fn from_field(_field: &Field) -> Result<Self, PartError> {
        todo!()
    }
    /// Bytes of one value in the data stream, if that is constant.
    pub fn fixed_width(&self) -> Option<usize> {
        todo!()
    }
    /// What codecs learn of the data stream of this type (its innermost values).
    pub fn element(&self) -> tambour_codec::codec::Element {
        todo!()
    }
}

impl std::str::FromStr for DataType {
    type Err = PartError;
    /// Parses ClickHouse's type syntax, synonyms included (`DOUBLE`, `Decimal64(2)`, `Point`, `SimpleAggregateFunction(f, T)` as T).
    fn from_str(_text: &str) -> Result<Self, PartError> {
        todo!()
    }
}

impl std::fmt::Display for DataType {
    /// Prints the canonical form: `Decimal(9, 2)`, `Enum8('a' = 1)`, `DateTime('UTC')`.
    fn fmt(&self, _f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        todo!()
    }
}

/// A named, typed column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, unescaped.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
}

/// The Arrow schema of columns.
pub fn arrow_schema(_columns: &[Column], _strings: Strings) -> Schema {
    todo!()
}
