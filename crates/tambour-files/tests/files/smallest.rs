//! Types chosen by a sample, and rows after it that do not fit them.

use super::support::{Read, columnar, lines, read, read_text, scratch};
use arrow_array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray,
};
use std::sync::Arc;
use tambour_files::{FileError, Format, Input, ReadOptions, Types, output};

/// A sample of about this many bytes, so that little tables have rows after it.
fn smallest(sample_bytes: usize) -> ReadOptions {
    let types =
        Types::Smallest { codec: "auto(size)".parse().unwrap(), keep: vec!["key".to_owned()] };
    ReadOptions { types, sample_bytes, batch_rows: 500, ..ReadOptions::default() }
}

const ALL: usize = 64 << 20;
const PART: usize = 40_000;
const ROWS: usize = 30_000;

/// Without a pattern that a codec could see.
fn scattered(row: usize, limit: usize) -> usize {
    let mut state = (row as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    usize::try_from((state ^ state >> 27) % limit as u64).unwrap()
}

fn line(row: usize) -> String {
    let word =
        ["collect on delivery", "take back return", "deliver in person", "none"][scattered(row, 4)];
    format!(
        "{},{word},{}.0,{}",
        scattered(row, 3_000),
        scattered(row, 20_000),
        scattered(row, 90_000)
    )
}

/// The same rows as with the usual types, and the columns that were found.
fn same(name: &str, text: &str, options: ReadOptions) -> Read {
    let usual = read_text(name, text, ReadOptions { types: Types::Declared, ..options.clone() });
    let found = read_text(name, text, options).unwrap();
    assert_eq!(found.rows, usual.unwrap().rows);
    found
}

#[test]
fn values_come_back_whatever_the_types() {
    let text = format!("n,word,whole,key\n{}", lines(ROWS, line));
    let found = same("a.csv", &text, smallest(ALL));
    let types = ["n UInt16", "word LowCardinality(String)", "whole UInt16", "key Int64"];
    assert_eq!(found.columns, types);
    assert_eq!(found.restarts, 0);
    let declared = ReadOptions { types: Types::Declared, ..smallest(ALL) };
    let types = ["n Int64", "word String", "whole Float64", "key Int64"];
    assert_eq!(read_text("a.csv", &text, declared).unwrap().columns, types);
    let usual = ReadOptions { types: Types::Usual, ..smallest(ALL) };
    assert_eq!(read_text("a.csv", &text, usual).unwrap().columns[1], "word LowCardinality(String)");
    let json = lines(ROWS, |row| {
        format!(
            "{{\"n\":{},\"f\":{}.0,\"s\":\"{}\"}}",
            scattered(row, 3_000),
            scattered(row, 200),
            row
        )
    });
    let found = same("a.jsonl", &json, smallest(ALL));
    assert!(
        found.columns[0] == "n UInt16" && found.columns[2] == "s String",
        "{:?}",
        found.columns
    );
    assert!(found.columns[1].contains("UInt8"), "{:?}", found.columns);
}

#[test]
fn few_rows_say_nothing() {
    let text = format!("n,word,whole,key\n{}", lines(999, line));
    let types = ["n Int64", "word String", "whole Float64", "key Int64"];
    assert_eq!(read_text("a.csv", text, smallest(ALL)).unwrap().columns, types);
}

#[test]
fn a_sample_leaves_room_and_a_later_value_widens() {
    let head = format!("n,word,whole,key\n{}", lines(ROWS, line));
    let found = same("a.csv", &head, smallest(PART));
    let types = ["n UInt16", "word LowCardinality(String)", "whole UInt32", "key Int64"];
    assert_eq!(
        (found.columns.iter().map(String::as_str).collect::<Vec<_>>(), found.restarts),
        (types.to_vec(), 0)
    );
    for (row, column, data_type, restarts) in [
        ("70000,alpha,1.0,1", 0, "n Int64", 1),
        ("-1,alpha,1.0,1", 0, "n Int64", 1),
        ("1,alpha,1.5,1", 2, "whole Float64", 1),
        ("1,alpha,-0.0,1", 2, "whole Float64", 1),
        ("1,alpha,nan,1", 2, "whole Float64", 1),
        ("1,alpha,1e300,1", 2, "whole Float64", 1),
        ("1,alpha,9007199254740993.0,1", 2, "whole Float64", 1),
        // Of all rows that were looked at then.
        ("\\N,alpha,1.0,1", 0, "n Nullable(UInt16)", 1),
        ("1,\\N,1.0,1", 1, "word LowCardinality(Nullable(String))", 1),
        ("word,alpha,1.0,1", 0, "n String", 2),
    ] {
        let found = same("a.csv", &format!("{head}{row}\n"), smallest(PART));
        assert_eq!(found.columns[column], data_type, "{row}");
        assert_eq!(found.restarts, restarts, "{row}");
        assert_eq!(found.rows.len(), ROWS + 1);
    }
    // Once all rows were looked at, their range is not a guess: what was refused before it does not matter.
    let text = format!("{head}70000,alpha,1.0,1\n\\N,alpha,1.0,1\n");
    let found = same("a.csv", &text, smallest(PART));
    assert_eq!((found.columns[0].as_str(), found.restarts), ("n Nullable(UInt32)", 2));
    // Of floats nobody knows more than before.
    let text = format!("{head}1,alpha,1.5,1\n\\N,alpha,1.0,1\n");
    let found = same("a.csv", &text, smallest(PART));
    let types = [&found.columns[0], &found.columns[2]];
    assert_eq!(types, ["n Nullable(UInt16)", "whole Float64"]);
}

#[test]
fn different_texts_behind_a_uniform_start_stay_themselves() {
    let text = format!(
        "s\n{}{}",
        lines(ROWS, |row| format!(
            "{:024x}",
            (scattered(row, 60) as u128 + 1) * 0x9e37_79b9_7f4a_7c15_f39c
        )),
        lines(150_000, |row| format!("{row} of many"))
    );
    let found = same("a.csv", &text, smallest(PART));
    assert_eq!((found.columns[0].as_str(), found.restarts), ("s LowCardinality(String)", 0));
}

/// Seconds of 2024, scattered so that no dictionary pays, as ISO dates and times.
fn moment(row: usize) -> i64 {
    1_704_067_200 + scattered(row, 20_000_000) as i64
}

fn iso(second: i64) -> String {
    let days = second / 86_400 - 19_723;
    let (month, day) = (0..12)
        .scan(days, |left, month| {
            let length = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month];
            let found = (month + 1, *left + 1);
            let inside = *left >= 0 && *left < length;
            *left -= length;
            Some(inside.then_some(found))
        })
        .flatten()
        .next()
        .unwrap();
    let time = second % 86_400;
    format!("2024-{month:02}-{day:02} {:02}:{:02}:{:02}", time / 3600, time / 60 % 60, time % 60)
}

/// Rows without zeros after the seconds, which only the type adds.
fn without_zeros(rows: Vec<String>) -> Vec<String> {
    rows.into_iter().map(|row| row.replace(".000", "")).collect()
}

#[test]
fn moments_without_fractions_are_kept_in_seconds() {
    let head = |fraction: &str| {
        let row = |row: usize| format!("{}{fraction},{0}{fraction}", iso(moment(row)));
        format!("at,key\n{}", lines(ROWS, row))
    };
    for sample in [ALL, PART] {
        let text = head(".000");
        let found = read_text("a.csv", &text, smallest(sample)).unwrap();
        assert_eq!(found.columns, ["at DateTime", "key DateTime64(3)"]);
        assert_eq!(found.restarts, 0);
        let declared = ReadOptions { types: Types::Declared, ..smallest(sample) };
        let usual = read_text("a.csv", &text, declared).unwrap();
        assert_eq!(usual.columns, ["at DateTime64(3)", "key DateTime64(3)"]);
        assert_eq!(without_zeros(found.rows), without_zeros(usual.rows));
    }
    for (row, data_type, restarts) in [
        // However finely it is written.
        ("2024-03-01 00:00:00.000000", "at DateTime", 0),
        ("2024-03-01 00:00:00", "at DateTime", 0),
        ("2024-03-01 00:00:00.001", "at DateTime64(3)", 1),
        ("2024-03-01 00:00:00.5", "at DateTime64(3)", 1),
        ("1969-12-31 23:59:59.000", "at DateTime64(3)", 1),
        ("2106-02-07 06:28:16", "at DateTime64(3)", 1),
        // Refused by both, so that all rows are looked at.
        ("2024-03-01 00:00:00.000001", "at DateTime64(6)", 2),
        ("\\N", "at Nullable(DateTime)", 1),
        ("word", "at String", 2),
    ] {
        let text = format!("{}{row},2024-01-01 00:00:00.000\n", head(".000"));
        let found = read_text("a.csv", &text, smallest(PART)).unwrap();
        assert_eq!((found.columns[0].as_str(), found.restarts), (data_type, restarts), "{row}");
        assert_eq!(found.rows.len(), ROWS + 1, "{row}");
        if row.ends_with('1') || row.ends_with('5') {
            assert!(found.rows[ROWS].contains(row), "{row}: {}", found.rows[ROWS]);
        }
    }
}

#[test]
fn moments_of_columnar_files_are_kept_in_seconds() {
    let ticks = |per_second: i64| (0..ROWS).map(move |row| moment(row) * per_second);
    let columns = |odd: i64| -> Vec<(&'static str, ArrayRef)> {
        let millis = ticks(1000).enumerate().map(|(row, tick)| {
            (row % 9 > 0).then_some(if row == ROWS - 2 { tick + odd } else { tick })
        });
        vec![
            (
                "ms",
                Arc::new(
                    millis.collect::<TimestampMillisecondArray>().with_timezone("Europe/Berlin"),
                ),
            ),
            ("ns", Arc::new(TimestampNanosecondArray::from_iter_values(ticks(1_000_000_000)))),
            ("s", Arc::new(TimestampSecondArray::from_iter_values(ticks(1)))),
            ("key", Arc::new(TimestampMillisecondArray::from_iter_values(ticks(1000)))),
            (
                "us",
                Arc::new(TimestampMicrosecondArray::from_iter_values(
                    ticks(1_000_000).map(|tick| tick + 1),
                )),
            ),
        ]
    };
    for (format, name) in [(Format::Parquet, "a.parquet"), (Format::ArrowIpc, "a.arrow")] {
        for (odd, first, restarts) in [
            (0, "ms Nullable(DateTime('Europe/Berlin'))", 0),
            (5, "ms Nullable(DateTime64(3, 'Europe/Berlin'))", 0),
        ] {
            let file = scratch(name, &columnar(format, columns(odd)));
            let found = read(&file.path, smallest(ALL)).unwrap();
            let rest =
                [first, "ns DateTime", "s DateTime", "key DateTime64(3)", "us DateTime64(6)"];
            assert_eq!(
                (found.columns.iter().map(String::as_str).collect::<Vec<_>>(), found.restarts),
                (rest.to_vec(), restarts),
                "{name}"
            );
            let declared = ReadOptions { types: Types::Declared, ..smallest(ALL) };
            let usual = read(&file.path, declared).unwrap();
            let seconds = |rows: Vec<String>| -> Vec<String> {
                rows.into_iter()
                    .map(|row| row.replace(".000000000", "").replace(".000", ""))
                    .collect()
            };
            assert!(seconds(found.rows) == seconds(usual.rows), "{name}");
        }
    }
}

/// A fraction in a row group that no sample saw.
#[test]
fn a_fraction_behind_the_sample_starts_the_input_again() {
    let rows: i64 = 1_500_000;
    let ticks = (0..rows).map(|row| row * 7000 + if row == rows - 3 { 250 } else { 0 });
    let column: ArrayRef = Arc::new(TimestampMillisecondArray::from_iter_values(ticks));
    let file = scratch("a.arrow", &columnar(Format::ArrowIpc, vec![("at", column)]));
    let mut input = Input::open(
        std::slice::from_ref(&file.path),
        ReadOptions { sample_bytes: ALL, batch_rows: 16_384, ..smallest(ALL) },
    )
    .unwrap();
    assert_eq!(input.columns()[0].data_type.to_string(), "DateTime");
    let error = loop {
        match input.next_batch() {
            Some(Ok(_)) => {}
            Some(Err(error)) => break error,
            None => panic!("the fraction was cut"),
        }
    };
    let FileError::Widen { spot, reason, .. } = &error else { panic!("{error:?}") };
    assert!(reason.contains("finer fraction"), "{error}");
    let row = u64::try_from(rows - 2).unwrap();
    assert_eq!((spot.column.as_deref(), spot.row), (Some("at"), row));
    input.restart().unwrap();
    assert_eq!(input.columns()[0].data_type.to_string(), "DateTime64(3)");
    let mut count = 0;
    while let Some(batch) = input.next_batch() {
        count += batch.unwrap().num_rows();
    }
    assert_eq!(i64::try_from(count), Ok(rows));
}

#[test]
fn columnar_files_are_read_in_smaller_types_too() {
    let numbers = |limit: usize| (0..ROWS).map(move |row| scattered(row, limit) as i64);
    let columns = || -> Vec<(&str, ArrayRef)> {
        vec![
            ("n", Arc::new(Int64Array::from_iter_values(numbers(200)))),
            ("m", Arc::new(Int64Array::from_iter_values(numbers(60_000)))),
            (
                "f",
                Arc::new(Float64Array::from_iter_values(numbers(60_000).map(|n| n as f64 - 500.0))),
            ),
            ("key", Arc::new(Int64Array::from_iter_values(numbers(200)))),
            (
                "s",
                Arc::new(StringArray::from_iter_values(numbers(9).map(|n| format!("label {n}")))),
            ),
        ]
    };
    for (format, name) in [(Format::Parquet, "a.parquet"), (Format::ArrowIpc, "a.arrow")] {
        let bytes = columnar(format, columns());
        let file = scratch(name, &bytes);
        let found = read(&file.path, smallest(ALL)).unwrap();
        let declared = ReadOptions { types: Types::Declared, ..smallest(ALL) };
        let declared = read(&file.path, declared).unwrap();
        assert_eq!(found.rows, declared.rows, "{name}");
        assert_eq!(declared.columns, ["n Int64", "m Int64", "f Float64", "key Int64", "s String"]);
        assert!(found.columns[0].contains("UInt8"), "{:?}", found.columns);
        let rest = ["m UInt16", "f Int32", "key Int64", "s LowCardinality(String)"];
        assert_eq!(found.columns[1..], rest, "{name}");
        assert_eq!(found.restarts, 0);
    }
}

#[test]
fn types_of_our_own_files_stay() {
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(0..2_000));
    let field = tambour_part::DataType::Int64.field("n", tambour_part::types::Strings::Utf8);
    let schema = Arc::new(arrow_schema::Schema::new(vec![field]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![values]).unwrap();
    let mut bytes = Vec::new();
    let mut writer = output(Format::Parquet, &schema, Box::new(&mut bytes)).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let file = scratch("a.parquet", &bytes);
    assert_eq!(read(&file.path, smallest(ALL)).unwrap().columns, ["n Int64"]);
}
