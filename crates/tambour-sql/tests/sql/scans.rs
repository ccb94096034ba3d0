//! Scans as values: cut the same way every time, sent as JSON, run elsewhere.

use crate::support::{Fixture, definition, insert, rows};
use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{Int32Type, UInt64Type};
use tambour_codec::Kind;
use tambour_part::types::Strings;
use tambour_table::predicate::{Comparison, Constant, Predicate};
use tambour_table::scan::{Scan, ScanRequest};
use tambour_table::schema::expression::Expression;

fn request(columns: &[&str], partitions: usize) -> ScanRequest {
    ScanRequest {
        columns: columns.iter().map(ToString::to_string).collect(),
        predicate: Predicate::Unknown,
        limit: None,
        partitions,
        ordered: false,
        batch_rows: 256,
        strings: Strings::Utf8,
    }
}

fn k_is(value: i128) -> Predicate {
    let column = Expression::Column("k".to_owned());
    Predicate::Compare(column, Comparison::Equal, Constant::Integer(value))
}

fn run(scan: &Scan) -> Vec<RecordBatch> {
    let storage = tambour_storage::disk();
    (0..scan.partitions.len())
        .flat_map(|partition| scan.run(partition, &storage, None).unwrap())
        .map(Result::unwrap)
        .collect()
}

fn ids(batches: &[RecordBatch], column: usize) -> Vec<u64> {
    let mut ids: Vec<u64> = batches
        .iter()
        .flat_map(|batch| batch.column(column).as_primitive::<UInt64Type>().values().to_vec())
        .collect();
    ids.sort_unstable();
    ids
}

#[test]
fn a_scan_survives_json_and_runs_elsewhere() {
    let fixture = Fixture::new("toYYYYMM(t)", "(k, s, t)");
    let mut wanted = request(&["s", "id", "k"], 3);
    wanted.predicate = Predicate::And(vec![
        k_is(5),
        Predicate::In(Expression::Column("x".to_owned()), vec![Constant::Float(f64::NAN)], true),
        Predicate::StartsWith(Expression::Column("s".to_owned()), vec![0xff, b'"']),
        Predicate::Compare(
            Expression::Column("p".to_owned()),
            Comparison::Less,
            Constant::Decimal(i128::MIN, 2),
        ),
    ]);
    // The condition on p can be met by nothing: only k is of interest for what is read.
    wanted.predicate = Predicate::Or(vec![wanted.predicate, k_is(5)]);
    let (scan, pruned) = Scan::plan(&fixture.table(), &wanted).unwrap();
    assert!(pruned.granules_left < pruned.granules_total / 4, "{pruned:?}");
    let json = serde_json::to_string(&scan).unwrap();
    let sent: Scan = serde_json::from_str(&json).unwrap();
    assert_eq!(serde_json::to_string(&sent).unwrap(), json);
    assert!(sent.table.starts_with("file:///"), "{}", sent.table);
    let found = run(&sent);
    assert_eq!(found[0].schema().field(1).name(), "id");
    let matching = |batches: &[RecordBatch], k: usize, id: usize| {
        let mut ids = Vec::new();
        for batch in batches {
            let keys = batch.column(k).as_primitive::<Int32Type>();
            let values = batch.column(id).as_primitive::<UInt64Type>();
            ids.extend(
                (0..batch.num_rows())
                    .filter(|&row| keys.value(row) == 5)
                    .map(|row| values.value(row)),
            );
        }
        ids.sort_unstable();
        ids
    };
    let expected = matching(&fixture.rows, 2, 1);
    assert!(!expected.is_empty());
    assert_eq!(matching(&found, 2, 1), expected);
}

#[test]
fn partitions_are_the_same_every_time_and_hold_every_row_once() {
    let fixture = Fixture::new("toYYYYMM(t)", "(k, s, t)");
    let all: Vec<u64> = ids(&fixture.rows, 1);
    for partitions in [1, 2, 3, 7, 100] {
        for ordered in [false, true] {
            let mut wanted = request(&["id"], partitions);
            wanted.ordered = ordered;
            let (scan, _) = Scan::plan(&fixture.table(), &wanted).unwrap();
            assert_eq!(scan, Scan::plan(&fixture.table(), &wanted).unwrap().0);
            assert!(!ordered || scan.ordered);
            assert_eq!(ids(&run(&scan), 0), all);
            let sizes: Vec<u64> =
                (0..scan.partitions.len()).map(|it| scan.partition_rows(it)).collect();
            assert_eq!(sizes.iter().sum::<u64>(), all.len() as u64);
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            assert!(ordered || most - least <= 2 * 64, "{sizes:?}");
            let again = scan.repartitioned(&fixture.table(), 5, false).unwrap();
            assert_eq!(ids(&run(&again), 0), all);
        }
    }
}

#[test]
fn ordered_partitions_are_sorted_runs() {
    let fixture = Fixture::new("toYYYYMM(t)", "(k, s, t)");
    let mut wanted = request(&["k", "s"], 4);
    wanted.ordered = true;
    let (scan, _) = Scan::plan(&fixture.table(), &wanted).unwrap();
    assert!(scan.ordered);
    let storage = tambour_storage::disk();
    for partition in 0..scan.partitions.len() {
        let mut last = None;
        for batch in scan.run(partition, &storage, None).unwrap() {
            let batch = batch.unwrap();
            let (keys, texts) =
                (batch.column(0).as_primitive::<Int32Type>(), batch.column(1).as_string_view());
            for row in 0..batch.num_rows() {
                let key = (keys.value(row), texts.value(row).to_owned());
                assert!(last.as_ref().is_none_or(|last| *last <= key));
                last = Some(key);
            }
        }
    }
}

#[test]
fn a_limit_holds_per_partition() {
    let fixture = Fixture::new("tuple()", "id");
    let mut wanted = request(&[], 2);
    wanted.limit = Some(100);
    let (scan, _) = Scan::plan(&fixture.table(), &wanted).unwrap();
    for partition in 0..2 {
        let reader = scan.run(partition, &tambour_storage::disk(), None).unwrap();
        assert_eq!(reader.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 100);
        assert_eq!(scan.partition_rows(partition), 100);
    }
}

#[test]
fn a_changed_table_is_refused() {
    let fixture = Fixture::new("tuple()", "id");
    let (scan, _) = Scan::plan(&fixture.table(), &request(&["id"], 1)).unwrap();
    let storage = tambour_storage::disk();
    // Another part under the same name.
    let mut other = scan.clone();
    other.parts[0].content_hash = "0123456789abcdef".to_owned();
    assert_eq!(other.run(0, &storage, None).unwrap_err().kind(), Kind::Conflict);
    // A part that is gone.
    std::fs::remove_dir_all(fixture.path()).unwrap();
    insert(&fixture.path(), &definition("tuple()", "id"), rows(9));
    assert_eq!(scan.run(0, &storage, None).unwrap_err().kind(), Kind::Conflict);
    // Nonsense is an error, too.
    assert_eq!(scan.run(7, &storage, None).unwrap_err().kind(), Kind::Argument);
    let mut nowhere = scan.clone();
    nowhere.table = "ftp://example.org/t".to_owned();
    assert_eq!(nowhere.run(0, &storage, None).unwrap_err().kind(), Kind::Argument);
}

#[test]
fn unknown_columns_are_refused() {
    let fixture = Fixture::new("tuple()", "id");
    let error = Scan::plan(&fixture.table(), &request(&["nothing"], 1)).unwrap_err();
    assert_eq!(error.kind(), Kind::Argument);
}
