//! Real files: what is inferred is what a person would say.

use crate::support::Read;
use std::path::{Path, PathBuf};
use tambour_files::{Format, ReadOptions};

/// Where the real files are; `TAMBOUR_DATA` says so, else the repository's own copies.
fn data(name: &str) -> PathBuf {
    let folder = std::env::var_os("TAMBOUR_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data"), PathBuf::from);
    folder.join(name)
}

fn read(path: &Path) -> Read {
    crate::support::read(path, ReadOptions::default()).unwrap()
}

#[test]
fn birdstrikes() {
    let Read { columns, rows, .. } = read(&data("birdstrikes.csv"));
    assert_eq!(
        columns,
        [
            "Airport Name LowCardinality(String)",
            "Aircraft Make Model LowCardinality(String)",
            "Effect Amount of damage LowCardinality(String)",
            "Flight Date Date",
            "Aircraft Airline Operator LowCardinality(String)",
            "Origin State LowCardinality(String)",
            "Phase of flight LowCardinality(String)",
            "Wildlife Size LowCardinality(String)",
            "Wildlife Species LowCardinality(String)",
            "Time of day LowCardinality(String)",
            "Cost Other Int64",
            "Cost Repair Int64",
            "Cost Total $ Int64",
            "Speed IAS in knots Nullable(Int64)",
        ]
    );
    assert_eq!(rows.len(), 10_000);
    assert_eq!(rows.iter().filter(|row| row.ends_with("|\\N")).count(), 2_836);
}

#[test]
fn routes_without_a_header() {
    let path = data("routes.dat");
    assert_eq!(Format::detect(&path).unwrap(), Format::Csv);
    let Read { columns, rows, .. } = read(&path);
    assert_eq!(
        columns,
        [
            "c1 LowCardinality(String)",
            "c2 Nullable(Int64)",
            "c3 LowCardinality(String)",
            "c4 Nullable(Int64)",
            "c5 LowCardinality(String)",
            "c6 Nullable(Int64)",
            "c7 LowCardinality(String)",
            "c8 Int64",
            "c9 LowCardinality(String)",
        ]
    );
    assert_eq!(rows.len(), 67_663);
}

#[test]
fn flights() {
    let Read { columns, rows, .. } = read(&data("flights-200k.arrow"));
    assert_eq!(columns, ["delay Int16", "distance Int16", "time Float32"]);
    assert_eq!(rows.len(), 200_000);
}

#[test]
fn compressed_json_lines() {
    let Read { columns, rows, .. } = read(&data("events-sample.jsonl.zst"));
    assert_eq!(rows.len(), 25_016);
    for expected in [
        "@timestamp Nullable(DateTime64(3, 'UTC'))",
        "EventTime Nullable(DateTime)",
        "EventID Int64",
        "Task LowCardinality(String)",
        "Hostname LowCardinality(String)",
        "ERROR_EVT_UNRESOLVED Nullable(Bool)",
        "ShareLocalPath LowCardinality(Nullable(String))",
    ] {
        assert!(
            columns.iter().any(|column| column == expected),
            "{expected} is not in {columns:#?}"
        );
    }
}
