//! Filters against ClickHouse's answers, and against a naive evaluation.
#![expect(clippy::float_cmp, reason = "the very numbers are meant")]

use super::{Filter, Literal};
use crate::predicate::Comparison;
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int64Array, RecordBatch, StringArray, StringViewArray,
    TimestampMillisecondArray, TimestampSecondArray, UInt8Array, UInt32Array,
};
use proptest::prelude::*;
use std::sync::Arc;
use tambour_part::types::Column;

fn column(name: &str, data_type: &str) -> Column {
    Column { name: name.to_owned(), data_type: data_type.parse().unwrap() }
}

/// One value of a fixed width.
fn bytes(value: &[u8]) -> ArrayRef {
    Arc::new(FixedSizeBinaryArray::try_from_iter([value].into_iter()).unwrap())
}

/// Whether the only row of a column matches; `Err` is the refusal.
fn matches(data_type: &str, value: ArrayRef, filter: &str) -> Result<bool, String> {
    let filter: Filter = filter.parse().map_err(|error: crate::TableError| error.to_string())?;
    let columns = [column("x", data_type)];
    let filter = filter.bind(&columns).map_err(|error| error.to_string())?;
    let batch = RecordBatch::try_from_iter_with_nullable([("x", value, true)]).unwrap();
    Ok(filter.matches(&batch).unwrap().value(0))
}

#[track_caller]
fn check(data_type: &str, value: &ArrayRef, cases: &[(&str, bool)]) {
    for (filter, expected) in cases {
        let got = matches(data_type, Arc::clone(value), filter);
        assert_eq!(got, Ok(*expected), "{data_type}: {filter}");
    }
}

#[test]
fn whole_numbers_are_compared_with_all_numbers() {
    let five: ArrayRef = Arc::new(UInt8Array::from(vec![5]));
    check(
        "UInt8",
        &five,
        &[
            ("x = 5", true),
            ("5 = x", true),
            ("4 < x", true),
            ("x = 5.0", true),
            ("x < 300", true),
            ("x > 300", false),
            ("x != 300", true),
            ("x > -1", true),
            ("x = -1", false),
            ("x < 5.5", true),
            ("x > 5.5", false),
            ("x >= 4.5", true),
            ("x = 5.5", false),
            ("x != 5.5", true),
            ("x = '5'", true),
            ("x = '300'", false),
            ("x < 1e100", true),
            ("x IN (300, 5)", true),
            ("x IN (5.5, -1)", false),
            ("x NOT IN (1, NULL)", true),
            ("x IN (1, NULL)", false),
            ("x BETWEEN 1 AND 7", true),
            ("x NOT BETWEEN 1 AND 7", false),
            ("x = NULL", false),
            ("NOT x = NULL", false),
            ("x IS NULL", false),
            ("x IS NOT NULL", true),
            ("x = 1 OR x = 5 AND NOT (x > 7)", true),
        ],
    );
    let large: ArrayRef = Arc::new(Int64Array::from(vec![9_007_199_254_740_993]));
    check("Int64", &large, &[("x > 9007199254740992.0", true), ("x = 9007199254740992", false)]);
}

#[test]
fn null_is_neither_true_nor_false() {
    let null: ArrayRef = Arc::new(UInt8Array::from(vec![None]));
    check(
        "Nullable(UInt8)",
        &null,
        &[
            ("x = 1", false),
            ("NOT x = 1", false),
            ("x IN (1)", false),
            ("x NOT IN (1)", false),
            ("x IS NULL", true),
            ("x = 1 OR x IS NULL", true),
            ("NOT (x = 1 AND x IS NULL)", false),
            ("NOT (x = 1 AND x IS NOT NULL)", true),
        ],
    );
}

#[test]
fn nan_compares_with_nothing_and_floats_are_compared_as_float64() {
    let nan: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN]));
    check(
        "Float64",
        &nan,
        &[
            ("x = 1", false),
            ("x != 1", true),
            ("x > 1", false),
            ("NOT x > 1", true),
            ("x < 1", false),
            ("x IN (1)", false),
            ("x NOT IN (1)", true),
        ],
    );
    let tenth: ArrayRef = Arc::new(Float32Array::from(vec![0.1]));
    check("Float32", &tenth, &[("x = 0.1", false), ("x > 0.1", true), ("x < 0.11", true)]);
    let zero: ArrayRef = Arc::new(Float64Array::from(vec![-0.0]));
    check("Float64", &zero, &[("x = 0", true), ("x < 0", false), ("x = -0.0", true)]);
    let whole: ArrayRef = Arc::new(Float64Array::from(vec![9_007_199_254_740_992.0]));
    check("Float64", &whole, &[("x = 9007199254740993", false), ("x < 9007199254740993", true)]);
}

#[test]
fn decimals_are_compared_as_they_are_written() {
    let value = Decimal128Array::from(vec![110]).with_precision_and_scale(9, 2).unwrap();
    let value: ArrayRef = Arc::new(value);
    check(
        "Decimal(9, 2)",
        &value,
        &[
            ("x = 1.1", true),
            ("x = '1.10'", true),
            ("x < 1.105", true),
            ("x >= 1.105", false),
            ("x = 1.105", false),
            ("x > 1", true),
            ("x = 110e-2", true),
            ("x < 4611686018427387904", true),
        ],
    );
}

#[test]
fn times_are_texts_in_the_zone_of_the_column() {
    let day: ArrayRef = Arc::new(Date32Array::from(vec![18_262]));
    check(
        "Date",
        &day,
        &[("x = '2020-01-01'", true), ("x > '2019-12-31'", true), ("x = '2020-1-1'", true)],
    );
    for refused in ["x = '2020-01-01 12:00:00'", "x > 5", "x = '2020-02-30'", "x = 'soon'"] {
        assert!(matches("Date", Arc::clone(&day), refused).is_err(), "{refused}");
    }
    let moment = TimestampSecondArray::from(vec![1_577_836_800]);
    let utc: ArrayRef = Arc::new(moment.clone().with_timezone("UTC"));
    check(
        "DateTime('UTC')",
        &utc,
        &[
            ("x = '2020-01-01'", true),
            ("x = '2020-01-01 00:00:00'", true),
            ("x = '2020-01-01T00:00:00'", true),
            ("x = 1577836800", true),
            ("x = '1577836800'", true),
            ("x < '2020-01-01 00:00:01'", true),
        ],
    );
    let berlin: ArrayRef = Arc::new(moment.with_timezone("Europe/Berlin"));
    check("DateTime('Europe/Berlin')", &berlin, &[("x = '2020-01-01 01:00:00'", true)]);
    let fine = TimestampMillisecondArray::from(vec![1_577_836_800_500]).with_timezone("UTC");
    let fine: ArrayRef = Arc::new(fine);
    check(
        "DateTime64(3, 'UTC')",
        &fine,
        &[
            ("x = '2020-01-01 00:00:00.5'", true),
            ("x > 1577836800", true),
            ("x = 1577836800.5", true),
        ],
    );
}

#[test]
fn texts_are_bytes() {
    let text: ArrayRef = Arc::new(StringViewArray::from(vec!["b"]));
    check(
        "String",
        &text,
        &[("x = 'b'", true), ("x > 'a'", true), ("x < 'ba'", true), ("x IN ('a', 'b')", true)],
    );
    assert!(matches("String", text, "x = 5").is_err());
    let fixed: ArrayRef = bytes(b"abc");
    check(
        "FixedString(3)",
        &fixed,
        &[("x = 'abc'", true), ("x < 'abcd'", true), ("x = 'abcd'", false), ("x > 'ab'", true)],
    );
    let keys: DictionaryArray<Int32Type> = vec![Some("a"), None].into_iter().collect();
    let low: ArrayRef = Arc::new(keys.slice(0, 1));
    check("LowCardinality(String)", &low, &[("x = 'a'", true), ("x < 'a'", false)]);
    let low: ArrayRef = Arc::new(keys.slice(1, 1));
    check("LowCardinality(Nullable(String))", &low, &[("x != 'a'", false), ("x IS NULL", true)]);
}

#[test]
fn enums_are_compared_by_number() {
    let names: DictionaryArray<arrow_array::types::Int8Type> =
        DictionaryArray::try_new(vec![0_i8].into(), Arc::new(StringArray::from(vec!["b", "a"])))
            .unwrap();
    let value: ArrayRef = Arc::new(names);
    check(
        "Enum8('b' = 1, 'a' = 2)",
        &value,
        &[
            ("x = 'b'", true),
            ("x < 'a'", true),
            ("x = 'z'", false),
            ("x IN ('z', 'b')", true),
            ("x > 0", true),
            ("x = 1", true),
            ("x = 7", false),
        ],
    );
}

#[test]
fn identifiers_and_addresses() {
    let mut first = [0_u8; 16];
    first[7] = 1;
    let value: ArrayRef = bytes(&first);
    check(
        "UUID",
        &value,
        &[
            ("x = '00000000-0000-0001-0000-000000000000'", true),
            ("x < '00000000-0000-0000-0000-000000000001'", true),
        ],
    );
    let address: ArrayRef = Arc::new(UInt32Array::from(vec![0x0102_0304]));
    check("IPv4", &address, &[("x = '1.2.3.4'", true), ("x > '1.2.3.3'", true)]);
    assert!(matches("IPv4", address, "x = 'here'").is_err());
}

#[test]
fn numbers_of_256_bits() {
    let mut minus_five = [0xff_u8; 32];
    minus_five[0] = 0xfb;
    let value: ArrayRef = bytes(&minus_five);
    check("Int256", &value, &[("x < 3", true), ("x = -5", true), ("x > -5.5", true)]);
    let most: ArrayRef = bytes(&[0xff; 32]);
    let text = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
    check("UInt256", &most, &[(&format!("x = {text}"), true), ("x > -1", true), ("x > 1", true)]);
    assert!(matches("UInt256", most, &format!("x = {text}0")).is_err());
}

#[test]
fn conditions_and_refusals() {
    let flag: ArrayRef = Arc::new(BooleanArray::from(vec![true]));
    check(
        "Bool",
        &flag,
        &[("x", true), ("NOT x", false), ("x = 1", true), ("x = 'true'", true), ("x = 2", false)],
    );
    for (filter, told) in [
        ("y = 1", "filter names the column `y`, which the table does not have"),
        ("x = y", "a filter that compares with `y` is not supported"),
        ("lower(x) = 'a'", "the function `lower` in a filter is not supported"),
        ("1 = 1", "a filter that compares two literals is not supported"),
        ("x =", "line 1, column 4: expected a column or a literal, found the end"),
        ("x = 1 x", "line 1, column 7: expected the end"),
        ("x NOT 1", "line 1, column 7: expected IN or BETWEEN"),
    ] {
        let error = matches("Bool", Arc::clone(&flag), filter).unwrap_err();
        assert!(error.starts_with(told), "{filter}: {error}");
    }
    let deep = format!("{}x{}", "(".repeat(200), ")".repeat(200));
    assert!(matches("Bool", Arc::clone(&flag), &deep).unwrap_err().contains("limit"));
    let error = matches("Array(UInt8)", flag, "x = 1").unwrap_err();
    assert!(error.contains("Array(UInt8)"), "{error}");
}

#[test]
fn predicates_are_weaker_never_stronger() {
    let columns = [column("a", "Int32"), column("f", "Float64"), column("e", "Enum8('x' = 1)")];
    let predicate = |text: &str| {
        let filter: Filter = text.parse().unwrap();
        filter.bind(&columns).unwrap().predicate().to_string()
    };
    assert_eq!(predicate("a < 2.5"), "a <= 2");
    assert_eq!(predicate("NOT a < 2.5"), "a > 2");
    assert_eq!(predicate("a = 2.5"), "false");
    assert_eq!(predicate("a < 99999999999"), "?");
    assert_eq!(predicate("a > 99999999999"), "false");
    assert_eq!(predicate("NOT (a = 1 AND f > 2)"), "?");
    assert_eq!(predicate("a = 1 AND f > 2"), "a = 1 AND f > 2.0");
    assert_eq!(predicate("f != 2"), "?");
    assert_eq!(predicate("e = 'z'"), "false");
    assert_eq!(predicate("NOT e = 'z'"), "?");
    assert_eq!(predicate("a = NULL OR a IN (1, 2.5)"), "a IN (1)");
}

/// A value of a row, and a literal: halves, so that some literals lie between whole numbers.
type Row = (Option<i8>, Option<i8>);

/// A condition over the columns `i` (Int8) and `f` (Float64, NaN where the value is 7): its text is the filter's own.
#[derive(Clone, Debug)]
enum Naive {
    Compare(bool, Comparison, i16),
    In(bool, Vec<i16>),
    IsNull(bool),
    All(Vec<Naive>),
    Any(Vec<Naive>),
    Not(Box<Naive>),
}

fn halves(value: i16) -> Literal {
    Literal::Number(format!(
        "{}{}.{}",
        if value < 0 { "-" } else { "" },
        value.abs() / 2,
        value.abs() % 2 * 5
    ))
}

fn name(is_float: bool) -> String {
    (if is_float { "f" } else { "i" }).to_owned()
}

impl Naive {
    fn filter(&self) -> Filter {
        match self {
            Self::Compare(is_float, comparison, value) => {
                Filter::Compare(name(*is_float), *comparison, halves(*value))
            }
            Self::In(is_float, values) => {
                Filter::In(name(*is_float), values.iter().map(|value| halves(*value)).collect())
            }
            Self::IsNull(is_float) => Filter::IsNull(name(*is_float)),
            Self::All(parts) => Filter::All(parts.iter().map(Self::filter).collect()),
            Self::Any(parts) => Filter::Any(parts.iter().map(Self::filter).collect()),
            Self::Not(inner) => Filter::Not(Box::new(inner.filter())),
        }
    }

    /// True, false or NULL, one row at a time, with the comparisons of Rust's floats.
    fn verdict(&self, row: Row) -> Option<bool> {
        let value = |is_float: bool| -> Option<f64> {
            let value = if is_float { row.1 } else { row.0 }?;
            Some(if is_float && value == 7 { f64::NAN } else { f64::from(value) })
        };
        match self {
            Self::Compare(is_float, comparison, literal) => {
                let (value, literal) = (value(*is_float)?, f64::from(*literal) / 2.0);
                Some(match comparison {
                    Comparison::Equal => value == literal,
                    Comparison::NotEqual => value != literal,
                    Comparison::Less => value < literal,
                    Comparison::LessOrEqual => value <= literal,
                    Comparison::Greater => value > literal,
                    Comparison::GreaterOrEqual => value >= literal,
                })
            }
            Self::In(is_float, literals) => {
                let value = value(*is_float)?;
                Some(literals.iter().any(|literal| value == f64::from(*literal) / 2.0))
            }
            Self::IsNull(is_float) => Some(value(*is_float).is_none()),
            Self::All(parts) => {
                let all: Vec<_> = parts.iter().map(|part| part.verdict(row)).collect();
                if all.contains(&Some(false)) {
                    Some(false)
                } else if all.contains(&None) {
                    None
                } else {
                    Some(true)
                }
            }
            Self::Any(parts) => {
                let opposite = parts.iter().map(|part| Self::Not(Box::new(part.clone()))).collect();
                Self::All(opposite).verdict(row).map(|verdict| !verdict)
            }
            Self::Not(inner) => inner.verdict(row).map(|verdict| !verdict),
        }
    }
}

fn naive() -> impl Strategy<Value = Naive> {
    let comparison = prop_oneof![
        Just(Comparison::Equal),
        Just(Comparison::NotEqual),
        Just(Comparison::Less),
        Just(Comparison::LessOrEqual),
        Just(Comparison::Greater),
        Just(Comparison::GreaterOrEqual),
    ];
    let literal = || prop_oneof![4 => -20_i16..20, 1 => -300_i16..300];
    let leaf = prop_oneof![
        (any::<bool>(), comparison, literal()).prop_map(|(f, c, l)| Naive::Compare(f, c, l)),
        (any::<bool>(), prop::collection::vec(literal(), 0..4)).prop_map(|(f, l)| Naive::In(f, l)),
        any::<bool>().prop_map(Naive::IsNull),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Naive::All),
            prop::collection::vec(inner.clone(), 0..4).prop_map(Naive::Any),
            inner.prop_map(|inner| Naive::Not(Box::new(inner))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn rows_match_as_a_naive_evaluation_says(
        condition in naive(),
        rows in prop::collection::vec((prop::option::of(-10_i8..10), prop::option::of(-10_i8..10)), 1..40),
    ) {
        let columns = [column("i", "Nullable(Int8)"), column("f", "Nullable(Float64)")];
        let ints: arrow_array::Int8Array = rows.iter().map(|row| row.0).collect();
        let floats: Float64Array = rows
            .iter()
            .map(|row| row.1.map(|value| if value == 7 { f64::NAN } else { f64::from(value) }))
            .collect();
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("i", Arc::new(ints) as ArrayRef, true),
            ("f", Arc::new(floats) as ArrayRef, true),
        ])
        .unwrap();
        let filter = condition.filter().bind(&columns).unwrap();
        let got: Vec<bool> = filter.matches(&batch).unwrap().iter().map(|it| it.unwrap()).collect();
        let expected: Vec<bool> =
            rows.iter().map(|row| condition.verdict(*row) == Some(true)).collect();
        prop_assert_eq!(got, expected);
    }
}
