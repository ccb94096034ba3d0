//! Filters that become predicates, and those that must not.

use super::Pushdown;
use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr, cast, col, lit, not};
use tambour_part::types::{Column, Strings};

fn pushed(filter: &Expr) -> String {
    let columns: Vec<Column> = [
        ("a", "Int32"),
        ("s", "String"),
        ("t", "DateTime"),
        ("b", "Bool"),
        ("f", "Float32"),
        ("e", "Enum8('x' = 2, 'y' = 1)"),
        ("n", "Nullable(UInt8)"),
        ("p", "Decimal(9, 2)"),
    ]
    .into_iter()
    .map(|(name, data_type)| Column {
        name: name.to_owned(),
        data_type: data_type.parse().unwrap(),
    })
    .collect();
    Pushdown { columns: &columns, strings: Strings::Utf8 }.filter(filter).to_string()
}

/// Something that is not understood.
fn strange() -> Expr {
    (col("a") + lit(1)).gt(lit(3))
}

#[test]
fn comparisons() {
    assert_eq!(pushed(&col("a").eq(lit(5_i32))), "a = 5");
    assert_eq!(pushed(&lit(5_i32).lt(col("a"))), "a > 5");
    assert_eq!(pushed(&not(col("a").lt_eq(lit(5_i32)))), "a > 5");
    assert_eq!(pushed(&col("s").not_eq(lit("x"))), "s != 'x'");
    assert_eq!(pushed(&col("n").gt(lit(ScalarValue::UInt8(None)))), "n > NULL");
    assert_eq!(pushed(&col("n").is_not_null()), "n IS NOT NULL");
    assert_eq!(pushed(&not(col("n").is_null())), "n IS NOT NULL");
    assert_eq!(pushed(&col("b")), "b = true");
    assert_eq!(pushed(&not(col("b"))), "b = false");
    assert_eq!(pushed(&col("e").eq(lit("x"))), "e = 'x'");
    assert_eq!(pushed(&lit(false)), "false");
    assert_eq!(pushed(&lit(true)), "?");
    assert_eq!(pushed(&col("nowhere").eq(lit(5_i32))), "?");
    assert_eq!(pushed(&col("a").eq(col("n"))), "?");
}

#[test]
fn constants_of_another_type_are_left_alone() {
    let moment = |value, zone: Option<&str>| {
        lit(ScalarValue::TimestampSecond(Some(value), zone.map(Into::into)))
    };
    assert_eq!(pushed(&col("t").gt(moment(60, Some("UTC")))), "t > 60");
    assert_eq!(pushed(&col("t").gt(moment(60, None))), "?");
    assert_eq!(pushed(&col("t").gt(lit(ScalarValue::TimestampNanosecond(Some(60), None)))), "?");
    assert_eq!(pushed(&col("a").gt(lit(5_i64))), "?");
    assert_eq!(pushed(&col("p").gt(lit(ScalarValue::Decimal128(Some(5), 9, 2)))), "p > 5e-2");
    assert_eq!(pushed(&col("p").gt(lit(ScalarValue::Decimal128(Some(5), 9, 3)))), "?");
}

#[test]
fn casts_that_keep_values_are_looked_through() {
    assert_eq!(pushed(&cast(col("a"), ArrowType::Int64).gt(lit(5_i64))), "a > 5");
    assert_eq!(pushed(&cast(col("f"), ArrowType::Float64).gt(lit(0.5))), "f > 0.5");
    assert_eq!(pushed(&cast(col("s"), ArrowType::Utf8).eq(lit("x"))), "s = 'x'");
    assert_eq!(pushed(&cast(col("a"), ArrowType::Int16).gt(lit(5_i16))), "?");
    assert_eq!(pushed(&cast(col("a"), ArrowType::UInt64).gt(lit(5_u64))), "?");
    assert_eq!(pushed(&cast(col("a"), ArrowType::Utf8).eq(lit("5"))), "?");
    assert_eq!(pushed(&cast(col("s"), ArrowType::Int32).eq(lit(5_i32))), "?");
}

#[test]
fn what_is_not_understood_weakens_and_never_strengthens() {
    let known = || col("a").eq(lit(5_i32));
    assert_eq!(pushed(&known().and(strange())), "a = 5");
    assert_eq!(pushed(&known().or(strange())), "?");
    // The opposite of "a = 5 and who knows" is not "a != 5".
    assert_eq!(pushed(&not(known().and(strange()))), "?");
    assert_eq!(pushed(&not(known().or(strange()))), "a != 5");
    assert_eq!(pushed(&not(known().and(col("b")))), "a != 5 OR b = false");
    assert_eq!(pushed(&not(not(known().and(strange())))), "a = 5");
}

#[test]
fn lists_and_ranges() {
    let list = || vec![lit(1_i32), lit(2_i32)];
    assert_eq!(pushed(&col("a").in_list(list(), false)), "a IN (1, 2)");
    assert_eq!(pushed(&col("a").in_list(list(), true)), "a NOT IN (1, 2)");
    assert_eq!(pushed(&not(col("a").in_list(list(), true))), "a IN (1, 2)");
    assert_eq!(pushed(&col("a").in_list(vec![lit(1_i32), strange()], false)), "?");
    assert_eq!(pushed(&col("a").between(lit(1_i32), lit(9_i32))), "a >= 1 AND a <= 9");
    assert_eq!(pushed(&col("a").not_between(lit(1_i32), lit(9_i32))), "a < 1 OR a > 9");
    assert_eq!(pushed(&not(col("a").not_between(lit(1_i32), lit(9_i32)))), "a >= 1 AND a <= 9");
}

#[test]
fn patterns() {
    assert_eq!(pushed(&col("s").like(lit("ab%"))), "s LIKE 'ab%'");
    assert_eq!(pushed(&col("s").like(lit("a_c%"))), "s LIKE 'a%' AND s LIKE '%c%'");
    assert_eq!(pushed(&col("s").like(lit("%ab"))), "s LIKE '%ab'");
    assert_eq!(pushed(&col("s").like(lit("%ab\\%%c_"))), "s LIKE '%ab%%' AND s LIKE '%c%'");
    assert_eq!(pushed(&col("s").like(lit("%ab\\c"))), "s LIKE '%ab%'");
    assert_eq!(pushed(&col("s").like(lit("%_%"))), "?");
    assert_eq!(pushed(&col("s").like(lit("abc"))), "s = 'abc'");
    assert_eq!(pushed(&col("s").like(lit("50\\%%"))), "s LIKE '50%%'");
    assert_eq!(pushed(&col("s").like(lit("a\\b%"))), "s LIKE 'a%'");
    for filter in [
        col("s").not_like(lit("ab%")),
        col("s").ilike(lit("ab%")),
        not(col("s").like(lit("ab%"))),
        col("a").like(lit("1%")),
    ] {
        assert_eq!(pushed(&filter), "?", "{filter}");
    }
}
