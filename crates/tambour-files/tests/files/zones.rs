//! Local times: what import makes of a text is what queries and keys make of it, and what ClickHouse makes of it.

use super::support::{read, scratch};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, StringArray};
use std::collections::BTreeMap;
use std::sync::Arc;
use tambour_files::ReadOptions;
use tambour_function::value::print::date;
use tambour_function::{Operand, find};
use tambour_part::types::{Column, DataType};

/// What ClickHouse 26.9 made of texts at changes of the clock and elsewhere: zone, text, seconds of Unix time.
const CLICKHOUSE: &str = include_str!("zones.tsv");

fn seconds(values: &ArrayRef) -> Vec<i64> {
    let numbers = arrow_cast::cast(values, &arrow_schema::DataType::Int64).unwrap();
    numbers.as_primitive::<Int64Type>().values().to_vec()
}

/// What import makes of texts.
fn imported(zone: &str, texts: &[String]) -> Vec<i64> {
    let data_type = format!("DateTime64(0, '{zone}')").parse().unwrap();
    let columns = Some(vec![Column { name: "t".to_owned(), data_type }]);
    let file = scratch("t.csv", format!("t\n{}\n", texts.join("\n")).as_bytes());
    let found = read(&file.path, ReadOptions { columns, ..ReadOptions::default() }).unwrap();
    found.batches.iter().flat_map(|batch| seconds(batch.column(0))).collect()
}

/// What `toDateTime64` makes of them, in a query or a key.
fn converted(zone: &str, texts: &[String]) -> Vec<i64> {
    let constant = |data_type, values| Operand { data_type, values, is_constant: true };
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    let arguments = [
        Operand { data_type: DataType::String, values: texts, is_constant: false },
        constant(DataType::UInt8, Arc::new(arrow_array::UInt8Array::from(vec![0]))),
        constant(DataType::String, Arc::new(StringArray::from(vec![zone]))),
    ];
    seconds(&find("toDateTime64").unwrap().evaluate(&arguments).unwrap().values)
}

#[test]
fn import_and_queries_read_local_times_as_clickhouse_does() {
    let mut zones = BTreeMap::<&str, (Vec<String>, Vec<i64>)>::new();
    for line in CLICKHOUSE.lines() {
        let [zone, text, instant] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("three fields: {line}")
        };
        let (texts, instants) = zones.entry(zone).or_default();
        texts.push(text.to_owned());
        instants.push(instant.parse().unwrap());
    }
    assert!(zones.len() > 400, "{} zones", zones.len());
    for (zone, (texts, instants)) in zones {
        assert_eq!(imported(zone, &texts), instants, "import, {zone}: {texts:?}");
        assert_eq!(converted(zone, &texts), instants, "toDateTime64, {zone}: {texts:?}");
    }
}

#[test]
fn import_and_queries_agree_in_every_zone() {
    let mut texts = Vec::new();
    for day in (-25_567..=120_529).step_by(601) {
        let mut text = Vec::new();
        date(day, &mut text);
        let day = String::from_utf8(text).unwrap();
        texts.extend(["00:00:00", "02:30:00", "23:59:59"].map(|time| format!("{day} {time}")));
    }
    for zone in chrono_tz::TZ_VARIANTS {
        let zone = zone.name();
        assert_eq!(imported(zone, &texts), converted(zone, &texts), "{zone}");
    }
}
