//! What scans do by themselves changes no answer: the same queries with it switched off, and over the rows in memory.

use crate::filters::condition;
use crate::support::{Fixture, Numbers, batches, definition, insert, lines, text};
use arrow::array::{ArrayRef, RecordBatch, StringArray, UInt32Array};
use arrow::compute::cast;
use std::sync::Arc;
use tambour_part::types::{Strings, arrow_schema};
use tambour_sql::{Session, SessionOptions};
use tambour_table::Table;
use tambour_table::schema::TableDefinition;

pub(crate) fn set(session: &Session, setting: &str, value: bool) {
    assert!(batches(session, &format!("SET {setting} = {value}")).is_empty());
}

pub(crate) fn pick<'a>(numbers: &mut Numbers, from: &[&'a str]) -> &'a str {
    from[usize::try_from(numbers.below(from.len() as u64)).unwrap()]
}

/// A query whose answer has one order only.
fn query(numbers: &mut Numbers, table: &str) -> String {
    let condition = condition(numbers, 2);
    let column = pick(numbers, &["k", "t", "id", "x", "n", "p", "d", "s"]);
    let order = pick(numbers, &["", " DESC"]);
    let nulls = pick(numbers, &["", " NULLS FIRST", " NULLS LAST"]);
    let limit = numbers.below(40) + 1;
    let sorted = format!("ORDER BY {column}{order}{nulls}, id LIMIT {limit}");
    match numbers.below(9) {
        0 => format!("SELECT * FROM {table} WHERE {condition} {sorted}"),
        1 => format!("SELECT id, {column} FROM {table} {sorted}"),
        7 => format!(
            "SELECT l, u, id * 2 AS i, {column} AS c, s FROM {table} ORDER BY c{order}{nulls}, i LIMIT {limit} OFFSET 3"
        ),
        8 => format!(
            "SELECT count(), min(u), max(l) FROM (SELECT * FROM {table} WHERE {condition} ORDER BY abs(k), id LIMIT {limit})"
        ),
        2 => format!("SELECT min({column}), max({column}) FROM {table} WHERE {condition}"),
        3 => format!("SELECT min({column}), max({column}) FROM {table}"),
        4 => format!(
            "SELECT count(*), sum(a.id) FROM {table} AS a JOIN (SELECT DISTINCT {column} AS c \
             FROM {table} WHERE {condition} AND k < 40) AS b ON a.{column} = b.c WHERE a.k > 20"
        ),
        5 => format!(
            "SELECT count(*), sum(id) FROM (SELECT * FROM {table} {sorted}) WHERE {condition}"
        ),
        _ => {
            format!("SELECT count(*) FROM (SELECT id FROM {table} WHERE {condition} LIMIT {limit})")
        }
    }
}

fn same(partition_by: &str, order_by: &str, seed: u64, count: usize) {
    let fixture = Fixture::new(partition_by, order_by);
    let with = [fixture.session(1), fixture.session(3)];
    let without = fixture.session(2);
    for setting in
        ["tambour.scan_filters", "tambour.scan_dynamic_filters", "tambour.scan_late_columns"]
    {
        set(&without, setting, false);
    }
    let half = fixture.session(2);
    set(&half, "tambour.scan_filters", false);
    for number in 0..count {
        let chance = seed * 1000 + number as u64;
        let statement = query(&mut Numbers::new(chance), "t");
        let naive = lines(&without, &query(&mut Numbers::new(chance), "naive"));
        for session in with.iter().chain([&without, &half]) {
            assert_eq!(lines(session, &statement), naive, "seed {chance}: {statement}");
        }
    }
}

#[test]
fn filters_from_here_and_above_by_number() {
    same("toYYYYMM(t)", "(k, s, t)", 1, 120);
}

#[test]
fn filters_from_here_and_above_by_nullable() {
    same("tuple()", "(n, id)", 2, 120);
}

#[test]
fn filters_from_here_and_above_by_time() {
    same("e", "t", 3, 120);
}

#[test]
fn columns_that_the_order_does_not_need_are_read_for_the_rows_of_the_limit() {
    let fixture = Fixture::new("tuple()", "id");
    for threads in [1, 3] {
        let session = fixture.session(threads);
        let query = "SELECT * FROM t WHERE s <> 'a' ORDER BY x, id LIMIT 5";
        let plan = text(&session, &format!("EXPLAIN VERBOSE {query}"));
        assert!(plan.contains("LateColumnsExec: columns=[t, k, s, l, e, n, p, d, u]"), "{plan}");
        let decoded = counter(&session, query, "bytes_decoded");
        set(&session, "tambour.scan_late_columns", false);
        let plan = text(&session, &format!("EXPLAIN VERBOSE {query}"));
        assert!(!plan.contains("LateColumnsExec"), "{plan}");
        let decoded_before = counter(&session, query, "bytes_decoded");
        assert!(decoded < decoded_before, "{decoded} of {decoded_before} bytes");
    }
    // Two parts with the same contents: each row is there twice.
    insert(&fixture.path(), &definition("tuple()", "id"), fixture.rows[1].clone());
    let session = fixture.session(1);
    let query = "SELECT * FROM t ORDER BY x, id LIMIT 9";
    set(&session, "tambour.scan_late_columns", false);
    let twice = lines(&session, query);
    set(&session, "tambour.scan_late_columns", true);
    assert_eq!(lines(&session, query), twice);
    // Each row of a long limit may cost a granule; a bare limit has no order.
    let session = fixture.session(1);
    for query in [
        "SELECT * FROM t ORDER BY x LIMIT 500",
        "SELECT * FROM t LIMIT 5",
        "SELECT x FROM t ORDER BY x LIMIT 5",
    ] {
        let plan = text(&session, &format!("EXPLAIN VERBOSE {query}"));
        assert!(!plan.contains("LateColumnsExec"), "{plan}");
    }
}

/// A counter of EXPLAIN ANALYZE.
pub(crate) fn counter(session: &Session, statement: &str, name: &str) -> u64 {
    let text = text(session, &format!("EXPLAIN ANALYZE VERBOSE {statement}"));
    let Some((_, after)) = text.split_once(&format!("{name}=")) else { return 0 };
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("{name} in {text}"))
}

#[test]
fn granules_are_left_out_by_a_key_that_is_a_dictionary() {
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("t");
    let definition = TableDefinition::parse(
        "CREATE TABLE t (l LowCardinality(String), v UInt32) ENGINE = MergeTree ORDER BY l \
         SETTINGS index_granularity = 64",
    )
    .unwrap();
    let schema = arrow_schema(&definition.plain_columns(), Strings::Utf8);
    let texts = StringArray::from_iter_values((0..64_000).map(|row| format!("{:04}", row / 80)));
    let texts = cast(&texts, schema.field(0).data_type()).unwrap();
    let columns: Vec<ArrayRef> = vec![texts, Arc::new(UInt32Array::from_iter_values(0..64_000))];
    insert(&path, &definition, RecordBatch::try_new(Arc::new(schema), columns).unwrap());
    let session = Session::new(&SessionOptions { threads: 1, ..Default::default() }).unwrap();
    session.register(Arc::new(Table::open(&path).unwrap())).unwrap();
    let statement = "SELECT v FROM t ORDER BY l DESC LIMIT 5";
    assert!(counter(&session, statement, "granules_skipped") >= 800, "{statement}");
}

#[test]
fn the_reverse_of_the_key_reads_the_end() {
    let fixture = Fixture::new("tuple()", "id");
    let session = fixture.session(1);
    let statement = "SELECT * FROM t ORDER BY id DESC LIMIT 10";
    // Three parts of 47 granules.
    assert!(counter(&session, statement, "granules_skipped") >= 120, "{statement}");
    set(&session, "tambour.scan_dynamic_filters", false);
    assert_eq!(counter(&session, statement, "granules_skipped"), 0);
}

#[test]
fn rows_that_a_filter_drops_are_counted() {
    let fixture = Fixture::new("tuple()", "id");
    let session = fixture.session(1);
    let statement = "SELECT s FROM t WHERE id % 3000 <> 5";
    assert_eq!(lines(&session, statement).len(), 9000 - 3 + 1);
    assert_eq!(counter(&session, statement, "rows_filtered"), 3);
}

/// The engine's filter of `min(t)` knows nothing of what the other aggregates look at.
#[test]
fn extremes_of_columns_drop_no_row_that_another_aggregate_needs() {
    let fixture = Fixture::new("toYYYYMM(t)", "(k, s, t)");
    let session = fixture.session(2);
    let query = |table: &str| format!("SELECT min(t), max(k), min(id * 100000) FROM {table}");
    assert_eq!(lines(&session, &query("t")), lines(&session, &query("naive")));
    assert!(text(&session, &query("t")).contains("| 0 "));
}
