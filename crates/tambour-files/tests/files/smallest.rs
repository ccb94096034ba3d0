//! Types chosen by a sample, and rows behind it that do not fit them.

use super::support::{Read, lines, read, read_text, scratch};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use std::sync::Arc;
use tambour_files::{Format, ReadOptions, Types, output};

/// A sample of about so many bytes, so that little tables have rows behind it.
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

fn columnar(format: Format, columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = output(format, &batch.schema(), Box::new(&mut bytes)).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    bytes
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
