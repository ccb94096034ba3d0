//! Keys are computed from the table's types, and parts of a server are left to the server where only it knows.

use super::{definition, insert, options, scratch};
use crate::TableError;
use crate::merge::{OptimizeOptions, optimize};
use crate::schema::TableDefinition;
use crate::verify::verify;
use crate::{PartName, Table};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, Date32Array, DictionaryArray, FixedSizeBinaryArray, Int32Array, RecordBatch,
    StringArray, TimestampMicrosecondArray, UInt32Array,
};
use std::fs;
use std::sync::Arc;
use tambour_codec::Kind;
use tambour_storage::disk;

const ROWS: i32 = 300;

/// Values that sort otherwise as numbers, bytes and texts.
fn columns() -> [(&'static str, ArrayRef); 6] {
    let numbers = || (0..ROWS).map(|row| row * 7919 % 1000);
    let bytes = numbers().map(|number| {
        let mut bytes = [0; 16];
        bytes[0] = u8::try_from(number % 200).unwrap();
        bytes[9] = u8::try_from(number % 7).unwrap();
        bytes
    });
    let bytes = FixedSizeBinaryArray::try_from_iter(bytes).unwrap();
    // The names of the enum, in another order than that of the type.
    let names = StringArray::from(vec!["b", "c", "a"]);
    let keys = numbers().map(|number| number % 3).collect::<Int32Array>();
    [
        ("ip", Arc::new(numbers().map(|it| it.cast_unsigned() * 99_991).collect::<UInt32Array>())),
        ("u", Arc::new(bytes)),
        (
            "t",
            Arc::new(TimestampMicrosecondArray::from_iter_values(
                numbers().map(|it| i64::from(it) * 1_000_100),
            )),
        ),
        ("d", Arc::new(Date32Array::from_iter_values(numbers().map(|it| it + 19_000)))),
        ("e", Arc::new(DictionaryArray::<Int32Type>::new(keys, Arc::new(names)))),
        ("x", Arc::new(StringArray::from_iter_values(numbers().map(|it| (it % 9).to_string())))),
    ]
}

fn statement(keys: &str) -> TableDefinition {
    definition(&format!(
        "CREATE TABLE t (ip IPv4, u UUID, t DateTime64(4, 'UTC'), d Date, e Enum8('a' = 3, 'b' = -1, 'c' = 0), x String) \
         ENGINE = MergeTree {keys} SETTINGS index_granularity = 32"
    ))
}

fn batch() -> RecordBatch {
    RecordBatch::try_from_iter(columns()).unwrap()
}

/// What is in the parts was sorted and split by the very values that are read back: verifying computes them again.
#[test]
fn keys_are_those_of_the_types_of_the_table() {
    for keys in [
        "PARTITION BY length(toString(ip)) ORDER BY toString(ip)",
        "PARTITION BY length(toString(u)) ORDER BY toString(u)",
        "ORDER BY (u, ip)",
        "ORDER BY toString(t)",
        "PARTITION BY toYYYYMM(d) ORDER BY d - toDate('2020-01-01')",
        "PARTITION BY e ORDER BY toInt8(e)",
        "ORDER BY (e, x, toString(d))",
    ] {
        let scratch = scratch();
        let path = scratch.path().join("t");
        insert(&disk(), &path, &statement(keys), options(), &[batch()]).unwrap();
        let table = Table::open(&path).unwrap();
        assert_eq!(table.rows(), 300, "{keys}");
        let seen = verify(&disk(), &path, &mut |_| {}).unwrap();
        assert!(seen.damage.is_empty(), "{keys}: {:?}", seen.damage);
    }
}

#[test]
fn values_of_other_types_are_refused() {
    let scratch = scratch();
    let path = scratch.path().join("t");
    let mut columns = columns();
    columns[4].1 = Arc::new(StringArray::from_iter_values((0..ROWS).map(|_| "no name of it")));
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let error = insert(&disk(), &path, &statement("ORDER BY e"), options(), &[batch]).unwrap_err();
    assert!(matches!(error, TableError::Rows { .. }), "{error}");
    assert!(error.to_string().contains("no name of it"), "{error}");
    assert!(!path.exists());
}

#[test]
fn names_of_columns_that_clickhouse_keeps_are_refused() {
    let statement = "CREATE TABLE t (a UInt8, _row_exists UInt8) ENGINE = MergeTree ORDER BY a";
    let error = TableDefinition::parse(statement).unwrap_err();
    assert!(error.to_string().contains("_row_exists"), "{error}");
}

#[test]
fn merges_that_only_clickhouse_does_are_refused() {
    let scratch = scratch();
    let path = scratch.path().join("t");
    let mut definition = statement("ORDER BY ip");
    definition.clauses.engine = Some("GraphiteMergeTree('rollup')".to_owned());
    for _ in 0..2 {
        insert(&disk(), &path, &definition, options(), &[batch()]).unwrap();
    }
    let options = OptimizeOptions { memory_bytes: 1 << 20, threads: 1, now: None, partition: None };
    let error = optimize(&disk(), &path, &options, &mut |_| {}).unwrap_err();
    assert_eq!(error.kind(), Kind::Unsupported);
    assert!(error.to_string().contains("GraphiteMergeTree"), "{error}");
    assert_eq!(Table::open(&path).unwrap().parts().len(), 2);
}

/// A copy of a server's table whose parts have had mutation 7, and which still has mutation 9 to do.
#[test]
fn new_rows_come_after_all_mutations() {
    let scratch = scratch();
    let path = scratch.path().join("t");
    let definition = statement("ORDER BY ip");
    insert(&disk(), &path, &definition, options(), &[batch()]).unwrap();
    fs::remove_file(path.join("tambour.json")).unwrap();
    fs::rename(path.join("all_1_1_0"), path.join("all_1_1_0_7")).unwrap();
    fs::write(path.join("mutation_9.txt"), "").unwrap();
    fs::write(path.join("create.sql"), definition.to_string()).unwrap();
    insert(&disk(), &path, &definition, options(), &[batch()]).unwrap();
    let table = Table::open(&path).unwrap();
    let names: Vec<PartName> =
        table.part_names().iter().filter_map(|name| PartName::parse(name)).collect();
    assert_eq!(names.len(), 2);
    assert!(names[1].block_min > 9, "{names:?}");
}

#[test]
fn a_failed_insert_leaves_what_was_there_before() {
    let scratch = scratch();
    let path = scratch.path().join("t");
    fs::create_dir_all(path.join("detached")).unwrap();
    fs::write(path.join("format_version.txt"), "1").unwrap();
    let mut columns = columns();
    columns[4].1 = Arc::new(StringArray::from_iter_values((0..ROWS).map(|_| "no name of it")));
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    insert(&disk(), &path, &statement("ORDER BY e"), options(), &[batch]).unwrap_err();
    assert!(path.join("detached").is_dir());
    assert_eq!(fs::read_to_string(path.join("format_version.txt")).unwrap(), "1");
}
