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
//! | Enum8, Enum16 | Dictionary(Int8, Int16 or Int32, Utf8) | values in the order of their numbers; the narrowest key that counts them |
//! | Nullable(T) | T, nullable | |
//! | LowCardinality(String), (FixedString) | Dictionary(Int32, Utf8 or FixedSizeBinary) | Binary on request |
//! | LowCardinality(other) | T | |
//! | Array(T), Tuple, Map | List, Struct, Map | |
//! | JSON, Dynamic, Variant, aggregate states, … | as String | for show: nothing reads them |
//!
//! Every Arrow field of a column carries the exact ClickHouse type in its metadata under [`TYPE_KEY`], so that a round
//! trip keeps it. (Only the column's own field: metadata on the fields inside lists and structs would make Arrow types
//! unequal that are the same.)

mod arrow;
mod element;
mod foreign;
mod names;
mod parse;
mod print;
#[cfg(test)]
mod tests;

pub use arrow::unit_precision;
pub(crate) use arrow::{WIDE_PRECISION, map_entries, tuple_fields, unit};
use arrow_schema::Schema;
pub use parse::nested_elements;

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
    Decimal {
        precision: u8,
        scale: u8,
    },
    Date,
    Date32,
    DateTime {
        zone: Option<String>,
    },
    DateTime64 {
        precision: u8,
        zone: Option<String>,
    },
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
    /// A type that is known by name only: columns of it are shown and cannot be read.
    Foreign(String),
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

/// A named, typed column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, unescaped.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
}

/// The Arrow schema of columns.
pub fn arrow_schema(columns: &[Column], strings: Strings) -> Schema {
    Schema::new(
        columns
            .iter()
            .map(|column| column.data_type.field(&column.name, strings))
            .collect::<Vec<_>>(),
    )
}
