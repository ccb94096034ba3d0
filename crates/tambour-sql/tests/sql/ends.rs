//! The ends of parts and the values of subqueries change no answer: queries by chance with them and without, and over the rows in memory.

use crate::filters::condition;
use crate::late::{counter, pick, set};
use crate::support::{Fixture, Numbers, batches, definition, insert, lines, text};
use arrow::array::{ArrayRef, DictionaryArray, RecordBatch, UInt64Array};
use arrow::datatypes::Int32Type;
use std::sync::Arc;
use tambour_part::types::{Strings, arrow_schema};
use tambour_sql::{Session, SessionOptions};
use tambour_table::Table;
use tambour_table::schema::TableDefinition;

/// Columns of the table.
const COLUMNS: [&str; 11] = ["k", "t", "id", "x", "n", "p", "d", "s", "l", "e", "u"];

/// A condition that may leave nothing.
fn some(numbers: &mut Numbers) -> String {
    match numbers.below(8) {
        0 => "1".to_owned(),
        1 => "id > 99999999".to_owned(),
        2 => format!("id % {} = 3", numbers.below(2000) + 4),
        3 => format!("k > {}", numbers.below(160)),
        _ => condition(numbers, 1),
    }
}

/// One value, or none.
fn value(numbers: &mut Numbers, column: &str, table: &str) -> String {
    let condition = some(numbers);
    match numbers.below(6) {
        0 | 1 => format!("(SELECT max({column}) FROM {table} WHERE {condition})"),
        2 | 3 => format!("(SELECT min({column}) FROM {table} WHERE {condition})"),
        4 => format!(
            "(SELECT {column} FROM {table} WHERE {condition} ORDER BY {column}, id LIMIT 1 OFFSET 7)"
        ),
        // Of another type than the column.
        _ => "(SELECT max(toInt64(k)) FROM ".to_owned() + table + ")",
    }
}

fn query(numbers: &mut Numbers, key: &str, table: &str) -> String {
    let other = pick(numbers, &COLUMNS);
    let column = if numbers.below(3) > 0 { key } else { other };
    let condition = some(numbers);
    let comparison = pick(numbers, &["=", "!=", "<", "<=", ">", ">="]);
    match numbers.below(8) {
        0 => format!("SELECT max({column}) FROM {table} WHERE {condition}"),
        1 => format!("SELECT min({column}) FROM {table} WHERE {condition}"),
        2 => {
            format!("SELECT min({column}), max({other}), count() FROM {table} WHERE {condition}")
        }
        3 => format!(
            "SELECT max(c) FROM (SELECT {column} AS c, s FROM {table} WHERE {condition}) WHERE s <> 'b'"
        ),
        4 => {
            let column = pick(numbers, &["k", "id", "n", "p"]);
            let value = value(numbers, column, table);
            format!("SELECT count(), sum(id) FROM {table} WHERE {value} {comparison} {column}")
        }
        5 => {
            let value = value(numbers, "k", table);
            format!(
                "SELECT count(), sum(id) FROM {table} WHERE k {comparison} {value} OR {condition}"
            )
        }
        _ => {
            // Names and identifiers have rules of their own.
            let column = if matches!(column, "e" | "u") { "s" } else { column };
            let value = match numbers.below(2) {
                0 => format!("(SELECT max({column}) FROM {table} WHERE {condition})"),
                _ => format!("(SELECT min({column}) FROM {table} WHERE {condition})"),
            };
            let more = some(numbers);
            format!(
                "SELECT count(), sum(id), max(s) FROM {table} WHERE {column} {comparison} {value} AND ({more})"
            )
        }
    }
}

fn same(partition_by: &str, order_by: &str, key: &str, seed: u64) {
    let fixture = Fixture::new(partition_by, order_by);
    let on = [fixture.session(1), fixture.session(3)];
    let off = fixture.session(2);
    for setting in ["tambour.scan_ends", "tambour.scan_subqueries"] {
        set(&off, setting, false);
    }
    let half = fixture.session(1);
    set(&half, "tambour.scan_bytes", false);
    for session in on.iter().chain([&off, &half]) {
        set(session, "tambour.scan_statistics", false);
    }
    for number in 0..60 {
        let chance = seed * 1000 + number;
        let statement = query(&mut Numbers::new(chance), key, "t");
        let naive = lines(&off, &query(&mut Numbers::new(chance), key, "naive"));
        for session in on.iter().chain([&off, &half]) {
            assert_eq!(lines(session, &statement), naive, "seed {chance}: {statement}");
        }
    }
}

#[test]
fn ends_of_numbers_and_texts() {
    same("tuple()", "(k, s, t)", "k", 1);
    same("toYYYYMM(t)", "s", "s", 2);
    same("e", "id", "id", 3);
}

#[test]
fn ends_of_times_and_dates() {
    same("toYYYYMM(t)", "t", "t", 4);
    same("tuple()", "(d, id)", "d", 5);
    same("tuple()", "(p, id)", "p", 6);
}

#[test]
fn ends_of_what_has_no_plain_order() {
    same("tuple()", "(n, id)", "n", 7);
    same("tuple()", "(l, id)", "l", 8);
    same("tuple()", "(x, id)", "x", 9);
    same("tuple()", "(e, u)", "e", 10);
}

fn quiet(fixture: &Fixture) -> Session {
    let session = fixture.session(1);
    set(&session, "tambour.scan_statistics", false);
    session
}

#[test]
fn ends_of_the_key_alone_are_read() {
    let fixture = Fixture::new("tuple()", "id");
    let session = quiet(&fixture);
    // Three parts of 47 granules.
    for end in ["max", "min"] {
        let statement = format!("SELECT {end}(id) FROM t WHERE s <> 'a'");
        assert!(counter(&session, &statement, "granules_skipped") >= 120, "{statement}");
        let plan = text(&session, &format!("EXPLAIN {statement}"));
        assert!(plan.contains("of each part until a row is left"), "{plan}");
    }
    for other in [
        "SELECT max(id), count() FROM t",
        "SELECT max(k) FROM t",
        "SELECT max(id) FROM t GROUP BY s",
        "SELECT max(id + 1) FROM t",
        "SELECT maxIf(id, k > 3) FROM t",
    ] {
        let plan = text(&session, &format!("EXPLAIN {other}"));
        assert!(!plan.contains("until a row is left"), "{other}: {plan}");
    }
    set(&session, "tambour.scan_ends", false);
    assert_eq!(counter(&session, "SELECT max(id) FROM t", "granules_skipped"), 0);
    // Two parts with the same contents.
    let statement = "SELECT max(id) FROM t WHERE id < 2500";
    insert(&fixture.path(), &definition("tuple()", "id"), fixture.rows[0].clone());
    assert_eq!(lines(&fixture.session(1), statement), lines(&session, statement));
}

#[test]
fn values_of_subqueries_leave_granules_out() {
    let fixture = Fixture::new("tuple()", "(s, id)");
    let session = quiet(&fixture);
    let statement = "SELECT sum(k) FROM t WHERE s = (SELECT max(s) FROM t WHERE s < 'b')";
    let sum = lines(&session, statement);
    // `max` skips some of the parts as well.
    set(&session, "tambour.scan_ends", false);
    assert!(counter(&session, statement, "granules_skipped") >= 100, "{statement}");
    set(&session, "tambour.scan_subqueries", false);
    assert_eq!(counter(&session, statement, "granules_skipped"), 0);
    assert_eq!(lines(&session, statement), sum);
    let none = "SELECT count() FROM t WHERE s = (SELECT max(s) FROM t WHERE k > 1000)";
    assert!(batches(&session, none).iter().any(|it| it.num_rows() == 1));
}

/// Texts in dictionaries that are never NULL, in two parts.
#[test]
fn ends_of_dictionaries() {
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("w");
    let definition = TableDefinition::parse(
        "CREATE TABLE w (w LowCardinality(String), v UInt64) ENGINE = MergeTree ORDER BY w SETTINGS index_granularity = 64",
    )
    .unwrap();
    let schema = Arc::new(arrow_schema(&definition.plain_columns(), Strings::Utf8));
    for part in 0..2_u64 {
        let mut numbers = Numbers::new(part + 5);
        let texts: Vec<String> =
            (0..3000).map(|_| format!("{:03}", numbers.below(400) * (part + 1))).collect();
        let texts: DictionaryArray<Int32Type> = texts.iter().map(String::as_str).collect();
        let values = UInt64Array::from_iter_values((0..3000).map(|it| it * 7 % 1000));
        let rows = vec![Arc::new(texts) as ArrayRef, Arc::new(values)];
        insert(&path, &definition, RecordBatch::try_new(Arc::clone(&schema), rows).unwrap());
    }
    let sessions = [1, 1, 3].into_iter().map(|threads| {
        let options = SessionOptions { threads, batch_rows: 256, ..SessionOptions::default() };
        let session = Session::new(&options).unwrap();
        session.register(Arc::new(Table::open(&path).unwrap())).unwrap();
        set(&session, "tambour.scan_statistics", false);
        session
    });
    let sessions: Vec<Session> = sessions.collect();
    for setting in ["tambour.scan_ends", "tambour.scan_subqueries"] {
        set(&sessions[0], setting, false);
    }
    let mut numbers = Numbers::new(77);
    for _ in 0..60 {
        let end = pick(&mut numbers, &["min", "max"]);
        let comparison = pick(&mut numbers, &["=", "!=", "<", "<=", ">", ">="]);
        let bound = format!("w {} '{:03}'", pick(&mut numbers, &["<", ">"]), numbers.below(900));
        let statement = match numbers.below(3) {
            0 => format!("SELECT {end}(w) FROM w WHERE v > {} AND {bound}", numbers.below(1100)),
            _ => format!(
                "SELECT count(), sum(v) FROM w WHERE w {comparison} (SELECT {end}(w) FROM w WHERE {bound})"
            ),
        };
        let plain = lines(&sessions[0], &statement);
        for session in &sessions[1..] {
            assert_eq!(lines(session, &statement), plain, "{statement}");
        }
    }
    let statement = "SELECT sum(v) FROM w WHERE w = (SELECT max(w) FROM w WHERE w < '300')";
    assert!(counter(&sessions[1], statement, "granules_skipped") > 60);
    let statement = "SELECT max(w) FROM w WHERE v < 900";
    assert!(counter(&sessions[1], statement, "granules_skipped") > 60);
}
