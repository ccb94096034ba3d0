//! Names of types that need no parameters, and the names that other databases have for them.

use super::DataType;

/// Names that stand alone, as ClickHouse writes them.
pub(super) fn plain(name: &str) -> Option<DataType> {
    let point = || DataType::Tuple(vec![(None, DataType::Float64), (None, DataType::Float64)]);
    let array = |inner| DataType::Array(Box::new(inner));
    Some(match name {
        "UInt8" => DataType::UInt8,
        "UInt16" => DataType::UInt16,
        "UInt32" => DataType::UInt32,
        "UInt64" => DataType::UInt64,
        "UInt128" => DataType::UInt128,
        "UInt256" => DataType::UInt256,
        "Int8" => DataType::Int8,
        "Int16" => DataType::Int16,
        "Int32" => DataType::Int32,
        "Int64" => DataType::Int64,
        "Int128" => DataType::Int128,
        "Int256" => DataType::Int256,
        "Float32" => DataType::Float32,
        "Float64" => DataType::Float64,
        "BFloat16" => DataType::BFloat16,
        "String" => DataType::String,
        "UUID" => DataType::Uuid,
        "IPv4" => DataType::Ipv4,
        "IPv6" => DataType::Ipv6,
        "Point" => point(),
        "Ring" | "LineString" => array(point()),
        "Polygon" | "MultiLineString" => array(array(point())),
        "MultiPolygon" => array(array(array(point()))),
        _ => return None,
    })
}

/// Names that ClickHouse takes in any case, mostly of other databases; `words` in upper case.
pub(super) fn synonym(words: &str) -> Option<DataType> {
    Some(match words {
        "BOOL" | "BOOLEAN" => DataType::Bool,
        "DATE" => DataType::Date,
        "DATE32" => DataType::Date32,
        "TINYINT" | "INT1" | "BYTE" | "TINYINT SIGNED" | "INT1 SIGNED" => DataType::Int8,
        "TINYINT UNSIGNED" | "INT1 UNSIGNED" => DataType::UInt8,
        "SMALLINT" | "SMALLINT SIGNED" => DataType::Int16,
        "SMALLINT UNSIGNED" | "YEAR" => DataType::UInt16,
        "INT" | "INTEGER" | "MEDIUMINT" | "INT SIGNED" | "INTEGER SIGNED" | "MEDIUMINT SIGNED" => {
            DataType::Int32
        }
        "INT UNSIGNED" | "INTEGER UNSIGNED" | "MEDIUMINT UNSIGNED" => DataType::UInt32,
        "BIGINT" | "SIGNED" | "BIGINT SIGNED" => DataType::Int64,
        "BIGINT UNSIGNED" | "UNSIGNED" | "BIT" | "SET" => DataType::UInt64,
        "FLOAT" | "REAL" | "SINGLE" => DataType::Float32,
        "DOUBLE" | "DOUBLE PRECISION" => DataType::Float64,
        "INET4" => DataType::Ipv4,
        "INET6" => DataType::Ipv6,
        "CHAR"
        | "VARCHAR"
        | "CHARACTER"
        | "NCHAR"
        | "NVARCHAR"
        | "VARCHAR2"
        | "TEXT"
        | "TINYTEXT"
        | "MEDIUMTEXT"
        | "LONGTEXT"
        | "BLOB"
        | "TINYBLOB"
        | "MEDIUMBLOB"
        | "LONGBLOB"
        | "CLOB"
        | "BYTEA"
        | "VARBINARY"
        | "CHAR VARYING"
        | "CHARACTER VARYING"
        | "CHAR LARGE OBJECT"
        | "CHARACTER LARGE OBJECT"
        | "NCHAR VARYING"
        | "NCHAR LARGE OBJECT"
        | "NATIONAL CHAR"
        | "NATIONAL CHARACTER"
        | "NATIONAL CHAR VARYING"
        | "NATIONAL CHARACTER VARYING"
        | "NATIONAL CHARACTER LARGE OBJECT"
        | "BINARY VARYING"
        | "BINARY LARGE OBJECT" => DataType::String,
        _ => return None,
    })
}
