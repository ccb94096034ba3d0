//! Texts that ClickHouse 26.9 was asked for, Arrow fields, hostile texts.

use super::*;
use crate::PartError;
use arrow_schema::{DataType as Arrow, Field, TimeUnit};
use std::sync::Arc;
use tambour_codec::Kind;
use tambour_codec::codec::Class;

fn parsed(text: &str) -> DataType {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn texts_are_printed_in_the_canonical_form() {
    // Left what was given, right what ClickHouse's toTypeName says (tuples on one line, as columns.txt has them).
    for (given, canonical) in [
        ("Enum8('b'=2,'a'=1)", "Enum8('a' = 1, 'b' = 2)"),
        ("Enum('x','y')", "Enum8('x' = 1, 'y' = 2)"),
        ("ENUM('a')", "Enum8('a' = 1)"),
        ("Enum('a' = 1000)", "Enum16('a' = 1000)"),
        ("Enum8('a\\'b\\\\' = 1)", "Enum8('a\\'b\\\\' = 1)"),
        ("Enum8('t\\tn\\n\\0\u{e9}'=1)", "Enum8('t\\tn\\n\\0\u{e9}' = 1)"),
        ("Enum8('it''s' = -1)", "Enum8('it\\'s' = -1)"),
        ("Decimal", "Decimal(10, 0)"),
        ("Decimal(5)", "Decimal(5, 0)"),
        ("Decimal32(2)", "Decimal(9, 2)"),
        ("Decimal64(2)", "Decimal(18, 2)"),
        ("Decimal128(5)", "Decimal(38, 5)"),
        ("Decimal256(5)", "Decimal(76, 5)"),
        ("DECIMAL(10,2)", "Decimal(10, 2)"),
        ("NUMERIC(5)", "Decimal(5, 0)"),
        ("Dec(3,1)", "Decimal(3, 1)"),
        ("FIXED(3)", "Decimal(3, 0)"),
        ("Decimal(76,76)", "Decimal(76, 76)"),
        ("INT", "Int32"),
        ("INTEGER SIGNED", "Int32"),
        ("INT UNSIGNED", "UInt32"),
        ("BIGINT UNSIGNED", "UInt64"),
        ("TINYINT(3)", "Int8"),
        ("INT(11) UNSIGNED", "UInt32"),
        ("SMALLINT", "Int16"),
        ("MEDIUMINT", "Int32"),
        ("BYTE", "Int8"),
        ("BIT", "UInt64"),
        ("SET", "UInt64"),
        ("YEAR", "UInt16"),
        ("bigint", "Int64"),
        ("VARCHAR(20)", "String"),
        ("CHAR", "String"),
        ("CHARACTER VARYING(5)", "String"),
        ("NATIONAL CHAR(3)", "String"),
        ("NCHAR LARGE OBJECT", "String"),
        ("VARBINARY(3)", "String"),
        ("TEXT", "String"),
        ("BLOB", "String"),
        ("BYTEA", "String"),
        ("BINARY(4)", "FixedString(4)"),
        ("DOUBLE PRECISION", "Float64"),
        ("DOUBLE", "Float64"),
        ("REAL", "Float32"),
        ("SINGLE", "Float32"),
        ("FLOAT", "Float32"),
        ("BOOLEAN", "Bool"),
        ("bool", "Bool"),
        ("DATE", "Date"),
        ("date32", "Date32"),
        ("TIMESTAMP", "DateTime"),
        ("datetime", "DateTime"),
        ("DateTime32", "DateTime"),
        ("DateTime( 'UTC' )", "DateTime('UTC')"),
        ("DateTime(3)", "DateTime64(3)"),
        ("DateTime(3,'UTC')", "DateTime64(3, 'UTC')"),
        ("DateTime64", "DateTime64(3)"),
        ("DateTime64(9,'Europe/Berlin')", "DateTime64(9, 'Europe/Berlin')"),
        ("INET4", "IPv4"),
        ("INET6", "IPv6"),
        ("Tuple(UInt8,String)", "Tuple(UInt8, String)"),
        ("Tuple(a UInt8, `b c` String)", "Tuple(a UInt8, `b c` String)"),
        ("Tuple(`a` UInt8)", "Tuple(a UInt8)"),
        ("Tuple(a UInt8,)", "Tuple(a UInt8)"),
        ("Tuple(`a\\`b` INT UNSIGNED)", "Tuple(`a\\`b` UInt32)"),
        ("Tuple(DOUBLE PRECISION, INT UNSIGNED)", "Tuple(Float64, UInt32)"),
        ("Tuple(d DOUBLE PRECISION)", "Tuple(d Float64)"),
        ("Tuple(`null` UInt8)", "Tuple(`null` UInt8)"),
        ("Array( Array(Nullable ( UInt8 ) ) )", "Array(Array(Nullable(UInt8)))"),
        ("Array(UInt8,)", "Array(UInt8)"),
        ("Map(Array(String),UInt8)", "Map(Array(String), UInt8)"),
        ("Map(Float64,Map(String,Date))", "Map(Float64, Map(String, Date))"),
        ("LowCardinality(Nullable(String))", "LowCardinality(Nullable(String))"),
        ("LowCardinality(IPv6)", "LowCardinality(IPv6)"),
        ("Nullable(Enum8('a'))", "Nullable(Enum8('a' = 1))"),
        ("SimpleAggregateFunction(sum, UInt64)", "UInt64"),
        ("SimpleAggregateFunction(groupArrayArray(10), Array(UInt64))", "Array(UInt64)"),
        ("Point", "Tuple(Float64, Float64)"),
        ("Ring", "Array(Tuple(Float64, Float64))"),
        ("MultiPolygon", "Array(Array(Array(Tuple(Float64, Float64))))"),
    ] {
        let found = parsed(given);
        assert_eq!(found.to_string(), canonical, "{given}");
        assert_eq!(parsed(canonical), found);
    }
}

#[test]
fn wrong_texts_are_refused_where_they_break() {
    for (text, said) in [
        ("", "expected a type"),
        ("Array", "`(` expected"),
        ("Array(UInt8", "`)` expected"),
        ("UInt8)", "something follows"),
        ("UInt8 NULL", "something follows"),
        ("Enum8('a','b'=5)", "either all values"),
        ("Enum8('a'=1,'a'=2)", "same name"),
        ("Enum8('a'=1,'b'=1)", "same number"),
        ("Enum8('a'=128)", "-128 to 127"),
        ("Enum16('a'=32768)", "-32768 to 32767"),
        ("Enum8()", "`'` expected"),
        ("Enum8('a", "not closed"),
        ("Decimal(0, 0)", "1 to 76 digits"),
        ("Decimal(77, 0)", "1 to 76 digits"),
        ("Decimal(9, 10)", "1 to 76 digits"),
        ("Decimal(10,-1)", "1 to 76 digits"),
        ("Decimal32(10)", "1 to 76 digits"),
        ("FixedString(0)", "1 to 16777215"),
        ("FixedString(16777217)", "1 to 16777215"),
        ("FixedString(-1)", "1 to 16777215"),
        ("FixedString(99999999999999999999)", "a number expected"),
        ("DateTime64(10)", "0 to 9 digits"),
        ("DateTime32(3)", "no precision"),
        ("Nullable(Array(UInt8))", "cannot be inside Nullable"),
        ("Nullable(LowCardinality(String))", "cannot be inside Nullable"),
        ("Nullable(Nullable(String))", "cannot be inside Nullable"),
        ("LowCardinality(Decimal(9, 2))", "cannot be inside LowCardinality"),
        ("LowCardinality(DateTime64(3))", "cannot be inside LowCardinality"),
        ("LowCardinality(Enum8('a' = 1))", "cannot be inside LowCardinality"),
        ("Map(Nullable(String), UInt8)", "key of a Map"),
        ("Map(LowCardinality(Nullable(String)), UInt8)", "key of a Map"),
        ("Tuple(UInt8, a String)", "either all elements"),
        ("Tuple(a UInt8, a String)", "same name"),
        ("Tuple(`` UInt8)", "a name is empty"),
        ("SimpleAggregateFunction(sum)", "`,` expected"),
    ] {
        let error = text.parse::<DataType>().expect_err(text);
        assert!(matches!(error, PartError::TypeSyntax { .. }), "{text}: {error:?}");
        assert!(error.to_string().contains(said), "{text}: {error}");
    }
    let text = format!("{}UInt8{}", "Array(".repeat(100), ")".repeat(100));
    assert!(text.parse::<DataType>().unwrap_err().to_string().contains("too deep"));
    let text = format!("Array({}", " ".repeat(5 << 20));
    assert_eq!(text.parse::<DataType>().unwrap_err().kind(), Kind::Limit);
}

#[test]
fn types_that_are_not_known_are_named() {
    for text in [
        "Variant(UInt8, String)",
        "Dynamic",
        "JSON",
        "AggregateFunction(sum, UInt32)",
        "Time64(3)",
        "Nothing",
        "Array(JSON)",
        "Nullable(Tuple(UInt8))",
        "Tuple()",
        "int8",
        "NoSuchType",
    ] {
        let error = text.parse::<DataType>().expect_err(text);
        assert_eq!(error.kind(), Kind::Unsupported, "{text}: {error}");
    }
    let error = "Array(Variant(UInt8))".parse::<DataType>().unwrap_err();
    assert!(error.to_string().contains("\"Variant\""), "{error}");
}

#[test]
fn nested_is_taken_apart_for_tables() {
    let elements = nested_elements(" Nested(a UInt8, `b c` Array(String))").unwrap().unwrap();
    assert_eq!(elements, [("a".into(), DataType::UInt8), ("b c".into(), parsed("Array(String)"))]);
    assert_eq!(nested_elements("Array(UInt8)").unwrap(), None);
    assert!(nested_elements("Nested(UInt8)").is_err());
    assert!(nested_elements("Nested(a UInt8) x").is_err());
    // Below another type it is one column.
    assert_eq!(parsed("Array(Nested(a UInt8))"), parsed("Array(Array(Tuple(a UInt8)))"));
    assert!("Array(Nested(UInt8))".parse::<DataType>().is_err());
}

/// Texts of all kinds of types, with their Arrow types as Arrow prints them.
const ARROW: [(&str, &str); 30] = [
    ("Bool", "Boolean"),
    ("UInt64", "UInt64"),
    ("Int128", "Decimal256(76, 0)"),
    ("UInt256", "FixedSizeBinary(32)"),
    ("BFloat16", "Float32"),
    ("Decimal(9, 2)", "Decimal128(9, 2)"),
    ("Decimal(38, 38)", "Decimal128(38, 38)"),
    ("Decimal(39, 0)", "Decimal256(39, 0)"),
    ("Date", "Date32"),
    ("Date32", "Date32"),
    ("DateTime", "Timestamp(s, \"UTC\")"),
    ("DateTime('Asia/Tokyo')", "Timestamp(s, \"Asia/Tokyo\")"),
    ("DateTime64(0)", "Timestamp(s, \"UTC\")"),
    ("DateTime64(2)", "Timestamp(ms, \"UTC\")"),
    ("DateTime64(6)", "Timestamp(\u{b5}s, \"UTC\")"),
    ("DateTime64(7)", "Timestamp(ns, \"UTC\")"),
    ("String", "Utf8View"),
    ("FixedString(7)", "FixedSizeBinary(7)"),
    ("UUID", "FixedSizeBinary(16)"),
    ("IPv4", "UInt32"),
    ("IPv6", "FixedSizeBinary(16)"),
    ("Enum8('a' = 1)", "Dictionary(Int8, Utf8)"),
    ("Enum16('a' = 1)", "Dictionary(Int16, Utf8)"),
    ("Nullable(String)", "Utf8View"),
    ("LowCardinality(String)", "Dictionary(Int32, Utf8)"),
    ("LowCardinality(Nullable(FixedString(2)))", "Dictionary(Int32, FixedSizeBinary(2))"),
    ("LowCardinality(UInt16)", "UInt16"),
    ("Array(Nullable(Int8))", "List(Int8)"),
    ("Tuple(a Int8, b String)", "Struct(\"a\": non-null Int8, \"b\": non-null Utf8View)"),
    (
        "Map(String, UInt8)",
        "Map(\"entries\": non-null Struct(\"keys\": non-null Utf8View, \"values\": non-null UInt8), unsorted)",
    ),
];

#[test]
fn arrow_fields_keep_the_type() {
    for (text, arrow) in ARROW {
        let data_type = parsed(text);
        let field = data_type.field("c", Strings::Utf8);
        assert_eq!(field.data_type().to_string(), arrow, "{text}");
        assert_eq!(field.metadata()[TYPE_KEY], text);
        assert_eq!(field.is_nullable(), text.contains("Nullable") && !text.starts_with("Array"));
        assert_eq!(DataType::from_field(&field).unwrap(), data_type);
        let binary = data_type.field("c", Strings::Binary);
        assert_eq!(DataType::from_field(&binary).unwrap(), data_type, "{text}");
        assert!(data_type.accepts(field.data_type()) && data_type.accepts(binary.data_type()));
    }
    let many = (0..200).map(|n| format!("'v{n}' = {}", n - 100)).collect::<Vec<_>>().join(", ");
    let arrow = parsed(&format!("Enum8({many})")).arrow(Strings::Utf8);
    assert_eq!(arrow.to_string(), "Dictionary(Int16, Utf8)");
    let columns = [Column { name: "c".into(), data_type: DataType::String }];
    assert_eq!(arrow_schema(&columns, Strings::Binary).field(0).data_type(), &Arrow::BinaryView);
}

fn nearest(arrow: Arrow) -> Result<String, PartError> {
    DataType::from_field(&Field::new("c", arrow, false)).map(|found| found.to_string())
}

#[test]
fn the_nearest_type_of_an_arrow_type() {
    let item = |arrow, nullable| Arc::new(Field::new("item", arrow, nullable));
    let dictionary = |value| Arrow::Dictionary(Box::new(Arrow::UInt8), Box::new(value));
    for (arrow, text) in [
        (Arrow::Boolean, "Bool"),
        (Arrow::UInt8, "UInt8"),
        (Arrow::Float16, "Float32"),
        (Arrow::LargeUtf8, "String"),
        (Arrow::BinaryView, "String"),
        (Arrow::FixedSizeBinary(16), "FixedString(16)"),
        (Arrow::Date32, "Date32"),
        (Arrow::Date64, "DateTime64(3)"),
        (Arrow::Timestamp(TimeUnit::Second, None), "DateTime"),
        (
            Arrow::Timestamp(TimeUnit::Second, Some("Europe/Paris".into())),
            "DateTime('Europe/Paris')",
        ),
        (Arrow::Timestamp(TimeUnit::Nanosecond, Some("+02:00".into())), "DateTime64(9, 'UTC')"),
        (Arrow::Decimal32(5, 2), "Decimal(5, 2)"),
        (Arrow::Decimal256(50, 2), "Decimal(50, 2)"),
        (dictionary(Arrow::Utf8), "LowCardinality(String)"),
        (dictionary(Arrow::Decimal128(9, 2)), "Decimal(9, 2)"),
        (Arrow::List(item(Arrow::Int8, true)), "Array(Nullable(Int8))"),
        (
            Arrow::FixedSizeList(item(Arrow::List(item(Arrow::Utf8, false)), true), 2),
            "Array(Array(String))",
        ),
        (
            Arrow::Struct(
                vec![Field::new("1", Arrow::Int8, false), Field::new("2", Arrow::Utf8, true)]
                    .into(),
            ),
            "Tuple(Int8, Nullable(String))",
        ),
        (Arrow::Struct(vec![Field::new("x y", Arrow::Int8, false)].into()), "Tuple(`x y` Int8)"),
    ] {
        assert_eq!(nearest(arrow).unwrap(), text);
    }
    for arrow in [
        Arrow::Null,
        Arrow::Time32(TimeUnit::Second),
        Arrow::Duration(TimeUnit::Second),
        Arrow::Decimal128(5, -2),
        Arrow::Decimal128(5, 6),
        Arrow::FixedSizeBinary(0),
        Arrow::List(item(Arrow::Time64(TimeUnit::Nanosecond), true)),
    ] {
        let error = nearest(arrow.clone()).expect_err(&arrow.to_string());
        assert_eq!(error.kind(), Kind::Unsupported, "{error}");
    }
}

#[test]
fn fields_that_may_be_null_become_nullable_where_that_exists() {
    let nullable =
        |field: Field| DataType::from_field(&field.with_nullable(true)).unwrap().to_string();
    assert_eq!(nullable(parsed("UUID").field("c", Strings::Utf8)), "Nullable(UUID)");
    assert_eq!(
        nullable(parsed("LowCardinality(String)").field("c", Strings::Utf8)),
        "LowCardinality(Nullable(String))"
    );
    assert_eq!(nullable(parsed("Array(String)").field("c", Strings::Utf8)), "Array(String)");
    // A type that does not fit the Arrow type says nothing.
    let stale = parsed("UUID").field("c", Strings::Utf8).with_data_type(Arrow::Int64);
    assert_eq!(DataType::from_field(&stale).unwrap(), DataType::Int64);
}

#[test]
fn codecs_learn_the_width_of_the_innermost_values() {
    for (text, width, class) in [
        ("Nullable(Decimal(18, 2))", 8, Class::Signed),
        ("Array(Array(UInt16))", 2, Class::Unsigned),
        ("BFloat16", 2, Class::Float),
        ("Enum16('a' = 1)", 2, Class::Signed),
        ("UInt256", 32, Class::Unsigned),
        ("LowCardinality(Nullable(Date))", 2, Class::Unsigned),
        ("String", 1, Class::Bytes),
        ("FixedString(8)", 1, Class::Bytes),
        ("UUID", 16, Class::Bytes),
        ("Map(UInt8, UInt8)", 1, Class::Bytes),
    ] {
        let element = parsed(text).element();
        assert_eq!((element.width, element.class), (width, class), "{text}");
    }
    assert_eq!(parsed("FixedString(300)").fixed_width(), Some(300));
    assert_eq!(parsed("Decimal(39, 0)").fixed_width(), Some(32));
    assert_eq!(parsed("Array(UInt8)").fixed_width(), None);
}
