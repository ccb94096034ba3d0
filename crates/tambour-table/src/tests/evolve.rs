//! Tables whose types widen and whose columns grow while old parts stay as they are.

use super::{assert_tidy, definition, insert, merge_all, options, read, scratch};
use crate::predicate::{Comparison, Constant, Predicate};
use crate::scan::{Scan, ScanRequest};
use crate::schema::expression::Expression;
use crate::{Table, TableError};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_cast::cast;
use std::path::Path;
use std::sync::Arc;
use tambour_codec::Kind;
use tambour_part::types::{Column, Strings, arrow_schema};
use tambour_storage::disk;

const BEFORE: &str = "CREATE TABLE t (p UInt8, k UInt16, d Date, v UInt32) ENGINE = MergeTree \
     PARTITION BY p ORDER BY (k, toYYYYMM(d)) SETTINGS index_granularity = 16";
const AFTER: &str = "CREATE TABLE t (p UInt32, k Int64, d DateTime64(3), v Nullable(Float64), \
     w LowCardinality(String) DEFAULT 'none', n Nullable(Int64)) ENGINE = MergeTree \
     PARTITION BY p ORDER BY (k, toYYYYMM(d)) SETTINGS index_granularity = 16";

/// Rows whose numbers are given, and whose other columns follow from them.
fn rows(statement: &str, keys: &[i64]) -> RecordBatch {
    let schema = Arc::new(arrow_schema(&definition(statement).plain_columns(), Strings::Utf8));
    let column = |field: &arrow_schema::FieldRef| {
        let numbers = |change: fn(i64) -> i64| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values(keys.iter().copied().map(change)))
        };
        let values = match field.name().as_str() {
            "p" => numbers(|key| key.rem_euclid(3)),
            "d" if *field.data_type() == arrow_schema::DataType::Date32 => {
                cast(&numbers(|key| 19_000 + key % 500), &arrow_schema::DataType::Int32).unwrap()
            }
            "d" => numbers(|key| (19_000 + key % 500) * 86_400_000 + 1),
            "w" => Arc::new(StringArray::from_iter_values(
                keys.iter().map(|key| format!("w{}", key % 5)),
            )),
            _ => numbers(|key| key),
        };
        cast(&values, field.data_type()).unwrap()
    };
    let columns = schema.fields().iter().map(column).collect();
    RecordBatch::try_new(schema, columns).unwrap()
}

fn add(path: &Path, statement: &str, keys: &[i64]) -> Result<(), TableError> {
    let rows = rows(statement, keys);
    insert(&disk(), path, &definition(statement), options(), &[rows]).map(drop)
}

/// Rows that a filter on a column lets through, and granules that pruning left.
fn matches(table: &Table, column: &str, comparison: Comparison, value: i64) -> (Vec<i64>, usize) {
    let expression = Expression::Column(column.to_owned());
    let predicate = Predicate::Compare(expression, comparison, Constant::Integer(value.into()));
    let columns = vec!["k".to_owned(), column.to_owned()];
    let request = ScanRequest { columns, predicate, ..ScanRequest::default() };
    let (scan, pruned) = Scan::plan(table, &request).unwrap();
    let mut found = Vec::new();
    for batch in scan.run(0, &disk(), Some(table)).unwrap() {
        let batch = batch.unwrap();
        let tested = cast(batch.column(1), &arrow_schema::DataType::Int64).unwrap();
        let keys = batch.column(0).clone();
        let (tested, keys): (&Int64Array, &Int64Array) =
            (tested.as_any().downcast_ref().unwrap(), keys.as_any().downcast_ref().unwrap());
        for row in 0..batch.num_rows() {
            let is_match = match comparison {
                Comparison::Equal => tested.value(row) == value,
                Comparison::Less => tested.value(row) < value,
                _ => tested.value(row) > value,
            };
            if is_match {
                found.push(keys.value(row));
            }
        }
    }
    found.sort_unstable();
    (found, pruned.granules_left)
}

#[test]
fn old_parts_are_seen_in_the_new_types() {
    let directory = scratch();
    let (path, once) = (directory.path().join("t"), directory.path().join("once"));
    let old: Vec<i64> = (0..2000).collect();
    let new: Vec<i64> = (-500..500).chain(70_000..70_500).collect();
    add(&path, BEFORE, &old).unwrap();
    add(&path, AFTER, &new).unwrap();
    let table = Table::open(&path).unwrap();
    assert_eq!(table.definition().unwrap().plain_columns(), definition(AFTER).plain_columns());
    assert_eq!(table.rows(), 3500);
    assert_tidy(&disk(), &path);

    // Partition, primary index and first key column, of old and new parts alike.
    let granules: usize = table.parts().iter().map(|part| part.granules().len()).sum();
    for (column, comparison, value, count) in [
        ("k", Comparison::Equal, 1999, 1),
        ("k", Comparison::Equal, 70_001, 1),
        ("k", Comparison::Equal, 100, 2),
        ("k", Comparison::Less, 0, 500),
        ("k", Comparison::Greater, 1500, 499 + 500),
        ("p", Comparison::Equal, 2, 3500 / 3),
    ] {
        let (found, left) = matches(&table, column, comparison, value);
        let expected = old.iter().chain(&new).filter(|key| {
            let tested = if column == "p" { key.rem_euclid(3) } else { **key };
            match comparison {
                Comparison::Equal => tested == value,
                Comparison::Less => tested < value,
                _ => tested > value,
            }
        });
        assert_eq!(found.len(), expected.count(), "{column} {comparison:?} {value}");
        assert!(
            found.len().abs_diff(count) <= 1,
            "{column} {comparison:?} {value}: {}",
            found.len()
        );
        assert!(left < granules / 2, "{column} {comparison:?} {value}: {left} of {granules}");
    }

    // The same rows, inserted at once; those from before have the default of what is new.
    let before = read(&disk(), &path).unwrap();
    let mut first = rows(AFTER, &old).columns().to_vec();
    let days: ArrayRef = Arc::new(Int64Array::from_iter_values(
        old.iter().map(|key| (19_000 + key % 500) * 86_400_000),
    ));
    first[2] = cast(&days, first[2].data_type()).unwrap();
    let none: ArrayRef = Arc::new(StringArray::from(vec!["none"; old.len()]));
    first[4] = cast(&none, first[4].data_type()).unwrap();
    first[5] = arrow_array::new_null_array(first[5].data_type(), old.len());
    let first = RecordBatch::try_new(rows(AFTER, &old).schema(), first).unwrap();
    let both = [first, rows(AFTER, &new)];
    insert(&disk(), &once, &definition(AFTER), options(), &both).unwrap();
    assert!(before == read(&disk(), &once).unwrap(), "other values than at once");

    // Merging rewrites what was cast.
    assert!(table.parts().iter().any(|part| part.is_outdated()));
    // An open table keeps what is replaced.
    drop(table);
    merge_all(&disk(), &path, 16 << 20).unwrap();
    let table = Table::open(&path).unwrap();
    assert!(!table.parts().iter().any(|part| part.is_outdated()));
    assert!(before == read(&disk(), &path).unwrap(), "other values after merging");
    assert_tidy(&disk(), &path);
}

#[test]
fn a_part_that_is_alone_in_its_partition_is_rewritten_for_its_types() {
    let directory = scratch();
    let path = directory.path().join("t");
    add(&path, BEFORE, &[0, 3, 6]).unwrap();
    add(&path, AFTER, &[1, 4]).unwrap();
    let before = read(&disk(), &path).unwrap();
    let summary = merge_all(&disk(), &path, 16 << 20).unwrap();
    assert_eq!((summary.parts_before, summary.parts_after, summary.rows), (2, 2, 3));
    // All but the column without a DEFAULT that neither row of the part has ever had.
    let table = Table::open(&path).unwrap();
    let stored: Vec<Vec<&Column>> =
        table.parts().iter().map(|part| part.stored_columns().collect()).collect();
    let columns = definition(AFTER).plain_columns();
    let (last, others) = columns.split_last().unwrap();
    assert!(last.data_type.is_nullable() && stored[1].contains(&last));
    for stored in stored {
        assert!(others.iter().all(|column| stored.contains(&column)), "{stored:?}");
    }
    drop(table);
    assert!(before == read(&disk(), &path).unwrap());
    assert_eq!(merge_all(&disk(), &path, 16 << 20).unwrap().rows, 0);
}

#[test]
fn changes_that_would_move_rows_are_refused() {
    let directory = scratch();
    let refused = |before: &str, after: &str, says: &str| {
        let path = directory.path().join("refused");
        let statement = |column: &str, key: &str| {
            format!("CREATE TABLE t (k {column}) ENGINE = MergeTree {key}")
        };
        let (column, key) = before.split_once('|').unwrap();
        add(&path, &statement(column, key), &[1, 2, 3]).unwrap();
        let error = add(&path, &statement(after, key), &[4]).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        assert!(matches!(error.kind(), Kind::Conflict | Kind::Argument), "{error}");
        assert_eq!(Table::open(&path).unwrap().rows(), 3);
        std::fs::remove_dir_all(&path).unwrap();
    };
    refused("UInt64|ORDER BY k", "String", "ORDER BY");
    refused("UInt32|ORDER BY cityHash64(k)", "UInt64", "cityHash64(k)");
    refused("UInt32|PARTITION BY k ORDER BY tuple()", "String", "PARTITION BY");
    refused("UInt64|ORDER BY k", "UInt32", "UInt64");
    refused("Nullable(Int64)|ORDER BY tuple()", "Int64", "Nullable");
    refused("Int64|ORDER BY tuple()", "Date", "Date");
}

#[test]
fn integers_become_floats_only_if_none_is_lost() {
    let directory = scratch();
    let statement =
        |column: &str| format!("CREATE TABLE t (k {column}) ENGINE = MergeTree ORDER BY k");
    let (good, bad) = (directory.path().join("good"), directory.path().join("bad"));
    add(&good, &statement("Int64"), &[1, 1 << 53]).unwrap();
    add(&good, &statement("Float64"), &[3]).unwrap();
    assert_eq!(read(&disk(), &good).unwrap().len(), 3);
    add(&bad, &statement("Int64"), &[1, (1 << 53) + 1]).unwrap();
    let error = add(&bad, &statement("Float64"), &[3]).unwrap_err();
    assert!(error.to_string().contains("does not hold 9007199254740993"), "{error}");
    assert_eq!(Table::open(&bad).unwrap().rows(), 2);
}

/// Rows of one column `k`, which holds Arrow's integers of a type.
fn of_numbers(column: &str, numbers: &[i64]) -> (String, RecordBatch) {
    let statement = format!("CREATE TABLE t (k {column}) ENGINE = MergeTree ORDER BY tuple()");
    let schema = Arc::new(arrow_schema(&definition(&statement).plain_columns(), Strings::Utf8));
    let wanted = schema.field(0).data_type();
    let numbers: ArrayRef = Arc::new(Int64Array::from(numbers.to_vec()));
    let days = cast(&numbers, &arrow_schema::DataType::Int32).unwrap();
    let is_day = *wanted == arrow_schema::DataType::Date32;
    let values = cast(if is_day { &days } else { &numbers }, wanted).unwrap();
    (statement, RecordBatch::try_new(schema, vec![values]).unwrap())
}

#[test]
fn times_become_others_only_if_they_are_in_range() {
    // The last days and times that the other type has, and the first that it has not.
    let (seconds, nanoseconds) = (i64::from(u32::MAX), i64::MAX);
    for (from, last, to, says) in [
        ("Date", seconds / 86_400, "DateTime", "2106-02-08"),
        ("Date32", nanoseconds / 86_400_000_000_000, "DateTime64(9)", "2262-04-12"),
        ("DateTime64(3)", nanoseconds / 1_000_000, "DateTime64(9)", "2262-04-11T23:47:16.855"),
    ] {
        for (number, is_held) in [(last, true), (last + 1, false)] {
            let directory = scratch();
            let path = directory.path().join("t");
            let add = |(statement, rows): (String, RecordBatch)| {
                insert(&disk(), &path, &definition(&statement), options(), &[rows]).map(drop)
            };
            add(of_numbers(from, &[0, number])).unwrap();
            let added = add(of_numbers(to, &[7]));
            if is_held {
                added.unwrap();
                assert_eq!(read(&disk(), &path).unwrap().len(), 3, "{from} -> {to}");
                merge_all(&disk(), &path, 16 << 20).unwrap();
                continue;
            }
            let error = added.unwrap_err();
            assert!(error.to_string().contains(says), "{from} -> {to}: {error}");
            assert_eq!(read(&disk(), &path).unwrap().len(), 2, "{from} -> {to}");
        }
    }
}

#[test]
fn the_zone_of_a_key_stays() {
    for (key, is_refused) in [
        ("ORDER BY k", true),
        ("ORDER BY toDate(k)", true),
        ("PARTITION BY toYYYYMM(k) ORDER BY tuple()", true),
        ("ORDER BY tuple()", false),
    ] {
        let directory = scratch();
        let path = directory.path().join("t");
        let add = |zone: &str| {
            let (_, rows) = of_numbers(&format!("DateTime('{zone}')"), &[1, 100_000]);
            let statement =
                format!("CREATE TABLE t (k DateTime('{zone}')) ENGINE = MergeTree {key}");
            insert(&disk(), &path, &definition(&statement), options(), &[rows]).map(drop)
        };
        add("UTC").unwrap();
        let added = add("Asia/Tokyo");
        assert_eq!(added.is_err(), is_refused, "{key}: {added:?}");
        let rows = Table::open(&path).unwrap().rows();
        assert_eq!(rows, if is_refused { 2 } else { 4 }, "{key}");
    }
}
