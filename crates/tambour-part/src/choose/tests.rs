//! Which types are chosen.

use super::{Change, Known, LayoutOptions, choose, needs_permission};
use crate::DataType;
use crate::types::Column;
use arrow_array::{
    ArrayRef, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMillisecondArray, TimestampSecondArray,
};
use std::sync::Arc;
use tambour_codec::spec::CodecSpec;

const ROWS: i64 = 40_000;

fn chosen(data_type: &str, array: ArrayRef, known: Known, complete: bool) -> Option<Change> {
    let column = Column { name: "c".to_owned(), data_type: data_type.parse().unwrap() };
    let batch = RecordBatch::try_from_iter_with_nullable([("c", array, true)]).unwrap();
    let codec: CodecSpec = "auto(size)".parse().unwrap();
    let options = LayoutOptions { codec, complete, threads: 1 };
    choose(&[column], &[batch], &[known], &options).unwrap().remove(0)
}

fn name(change: Option<&Change>) -> String {
    change.map_or_else(|| "-".to_owned(), |change| change.data_type.to_string())
}

/// Numbers that no dictionary pays for.
fn scattered(limit: i64) -> Vec<i64> {
    let mixed = |row: i64| {
        let mut state = (row + 1).wrapping_mul(0x1e37_79b9_7f4a_7c15);
        state = (state ^ state >> 30).wrapping_mul(0x3f58_476d_1ce4_e5b9);
        (state ^ state >> 27).rem_euclid(limit)
    };
    (0..ROWS).map(mixed).collect()
}

#[test]
fn integers_become_as_narrow_as_what_is_known_allows() {
    let array = |limit: i64| -> ArrayRef { Arc::new(Int64Array::from(scattered(limit))) };
    let plain = Known::default();
    let found = chosen("Int64", array(60_000), plain, true).unwrap();
    assert_eq!((name(Some(&found)), found.certain), ("UInt16".to_owned(), true));
    // A sample leaves room for what was not seen.
    let found = chosen("Int64", array(60_000), plain, false).unwrap();
    assert_eq!((name(Some(&found)), found.certain), ("UInt32".to_owned(), false));
    let stated = Known { range: Some((-5, 60_000)), complete: true, ..plain };
    let found = chosen("Int64", array(60_000), stated, false).unwrap();
    assert_eq!((name(Some(&found)), found.certain), ("Int32".to_owned(), true));
    // What was stated cannot be narrower than what is there.
    let wrong = Known { range: Some((0, 5)), complete: true, ..plain };
    assert_eq!(name(chosen("Int64", array(60_000), wrong, false).as_ref()), "UInt16");
    assert_eq!(chosen("Int64", array(60_000), Known { keep: true, ..plain }, true), None);
    assert_eq!(
        name(chosen("Nullable(Int64)", array(60_000), plain, true).as_ref()),
        "Nullable(UInt16)"
    );
    assert_eq!(chosen("Int64", array(i64::MAX), plain, true), None);
}

#[test]
fn moments_become_seconds_only_if_none_has_a_fraction() {
    // Over 130 years of seconds, so that no dictionary pays.
    let array = |change: fn(i64) -> i64| -> ArrayRef {
        let moments = scattered(i64::from(u32::MAX)).into_iter().map(change);
        Arc::new(TimestampMillisecondArray::from_iter_values(moments).with_timezone("Asia/Tokyo"))
    };
    let plain = Known::default();
    let kind = "DateTime64(3, 'Asia/Tokyo')";
    for complete in [false, true] {
        let found = chosen(kind, array(|second| second * 1000), plain, complete).unwrap();
        assert_eq!(name(Some(&found)), "DateTime('Asia/Tokyo')");
        assert_eq!((found.certain, found.whole), (complete, true));
    }
    for change in [
        |second| second * 1000 + i64::from(second % 5000 == 7),
        |second| second * 1000 - i64::from(second % 5000 == 7),
        |second| second * 1000 - 86_400_000 * 365,
        |second| second * 1000 + 86_400_000 * 365,
    ] {
        assert_eq!(chosen(kind, array(change), plain, true), None);
    }
    let whole = || array(|second| second * 1000);
    assert_eq!(chosen(kind, whole(), Known { keep: true, ..plain }, true), None);
    let nullable = chosen("Nullable(DateTime64(3, 'Asia/Tokyo'))", whole(), plain, true);
    assert_eq!(name(nullable.as_ref()), "Nullable(DateTime('Asia/Tokyo'))");
    // Few different seconds, far apart, are a dictionary, which there is none of for DateTime64.
    let apart = scattered(70).into_iter().map(|k| (k * k * 300_001 + 1_000_000_000) * 1000);
    let few: ArrayRef = Arc::new(TimestampMillisecondArray::from_iter_values(apart));
    let found = chosen("DateTime64(3)", few, plain, true).unwrap();
    assert_eq!((name(Some(&found)).as_str(), found.whole), ("LowCardinality(DateTime)", true));
    let halves = scattered(70).into_iter().map(|half| half * 500);
    let few: ArrayRef = Arc::new(TimestampMillisecondArray::from_iter_values(halves));
    assert_eq!(chosen("DateTime64(3)", few, plain, true), None);
}

#[test]
fn floats_become_integers_only_if_nothing_else_is_among_them() {
    let array = |other: f64| -> ArrayRef {
        let whole = scattered(60_000).into_iter().map(|value| value as f64 - 30_000.0);
        Arc::new(Float64Array::from_iter_values(whole.chain([other])))
    };
    let found = chosen("Float64", array(1.0), Known::default(), true).unwrap();
    assert_eq!((name(Some(&found)), found.whole), ("Int16".to_owned(), true));
    for other in [0.5, -0.0, f64::NAN, f64::INFINITY, 1e300, 9_007_199_254_740_992.0] {
        let found = chosen("Float64", array(other), Known::default(), true);
        assert!(found.is_none_or(|change| !change.whole), "{other}");
    }
}

#[test]
fn dictionaries_are_taken_where_they_are_smaller() {
    let word = |row: i64| format!("http://example.org/{:x}", row.wrapping_mul(0x9e37_79b9_7f4a));
    let few: ArrayRef =
        Arc::new(StringArray::from_iter_values(scattered(500).into_iter().map(word)));
    assert_eq!(
        name(chosen("String", few, Known::default(), false).as_ref()),
        "LowCardinality(String)"
    );
    let all: ArrayRef = Arc::new(StringArray::from_iter_values((0..ROWS).map(word)));
    assert_eq!(chosen("String", all, Known::default(), false), None);
    // Times that are few and irregular; and a clock, which needs none.
    let times = scattered(50).into_iter().map(|n| 1_500_000_000 + n * n * n * 1_699 + n * 7);
    let times: ArrayRef =
        Arc::new(TimestampSecondArray::from_iter_values(times).with_timezone("UTC"));
    let found = chosen("DateTime('UTC')", times, Known::default(), true).unwrap();
    assert_eq!(name(Some(&found)), "LowCardinality(DateTime('UTC'))");
    let clock = (0..ROWS).map(|row| 1_700_000_000 + row / 100);
    let clock: ArrayRef =
        Arc::new(TimestampSecondArray::from_iter_values(clock).with_timezone("UTC"));
    assert_eq!(chosen("DateTime('UTC')", clock, Known::default(), true), None);
    // Floats, if none has several forms that are equal.
    let eighths = |other: f64| -> ArrayRef {
        let eighths = scattered(50).into_iter().map(|n| (n * n) as f64 / 8.0);
        Arc::new(Float64Array::from_iter_values(eighths.chain([other])))
    };
    let found = chosen("Float64", eighths(0.0), Known::default(), true).unwrap();
    assert_eq!(name(Some(&found)), "LowCardinality(Float64)");
    for other in [-0.0, f64::NAN] {
        assert_eq!(chosen("Float64", eighths(other), Known::default(), true), None, "{other}");
    }
    let nulls: ArrayRef = Arc::new(Date32Array::new_null(2_000));
    assert_eq!(chosen("Nullable(Date)", nulls, Known::default(), true), None);
}

#[test]
fn clickhouse_wants_to_be_asked_for_dictionaries_of_small_values() {
    let asks = |text: &str| needs_permission(&text.parse::<DataType>().unwrap());
    for text in [
        "LowCardinality(Date)",
        "Array(LowCardinality(Nullable(UInt8)))",
        "LowCardinality(Float64)",
    ] {
        assert!(asks(text), "{text}");
    }
    for text in [
        "LowCardinality(String)",
        "Date",
        "LowCardinality(UUID)",
        "Array(LowCardinality(FixedString(4)))",
    ] {
        assert!(!asks(text), "{text}");
    }
}
