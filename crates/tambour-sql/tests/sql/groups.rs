//! Groups by position are the engine's own groups: random aggregates with them switched off, and over the rows in memory.

use crate::filters::condition;
use crate::late::{pick, set};
use crate::support::{Fixture, Numbers, block_on, insert, lines, text};
use arrow::array::{ArrayRef, BinaryViewArray, RecordBatch, UInt32Array};
use std::sync::Arc;
use tambour_sql::{Session, SessionOptions};
use tambour_table::Table;
use tambour_table::schema::TableDefinition;

const KEYS: [&str; 21] = [
    // Fails for the empty text, which every dictionary begins with.
    "intDiv(12, length(l))",
    "upper(l)",
    "length(l)",
    "if(l IS NULL, 'none', 'some')",
    "s",
    "id",
    "if(k > 20, s, NULL)",
    "upper(s)",
    "k",
    "l",
    "e",
    "n",
    "d",
    "toDate(t)",
    "toHour(t)",
    "k % 7",
    "toStartOfDay(t)",
    // Wide: the engine's own operator takes over.
    "id * 1000003",
    "k * 30000001",
    "n * 30000001",
    "if(n > 0, NULL, id * 1000003)",
];
const AGGREGATES: [&str; 13] = [
    "sum(length(l))",
    "count(*)",
    "count(n)",
    "sum(n)",
    "sum(k)",
    "sum(p)",
    "min(s)",
    "max(x)",
    "avg(n)",
    "min(n)",
    "sum(id)",
    "uniqExact(k)",
    "max(t)",
];

fn query(numbers: &mut Numbers, table: &str) -> String {
    let keys: Vec<&str> = (0..=numbers.below(3)).map(|_| pick(numbers, &KEYS)).collect();
    let mut columns: Vec<String> =
        keys.iter().enumerate().map(|(at, key)| format!("{key} AS g{at}")).collect();
    for at in 0..numbers.below(4) {
        let aggregate = pick(numbers, &AGGREGATES);
        let filter = match numbers.below(3) {
            0 => format!(" FILTER (WHERE {})", condition(numbers, 0)),
            _ => String::new(),
        };
        columns.push(format!("{aggregate}{filter} AS a{at}"));
    }
    let groups: Vec<String> = (0..keys.len()).map(|at| format!("g{at}")).collect();
    let condition = match numbers.below(3) {
        0 => condition(numbers, 1),
        1 => "k = 1000".to_owned(),
        _ => "id > 100".to_owned(),
    };
    let (columns, groups) = (columns.join(", "), groups.join(", "));
    match numbers.below(4) {
        0 => format!("SELECT DISTINCT {} FROM {table} WHERE {condition}", keys.join(", ")),
        1 => format!("SELECT count(DISTINCT {}) FROM {table} WHERE {condition}", keys[0]),
        _ => format!("SELECT {columns} FROM {table} WHERE {condition} GROUP BY {groups}"),
    }
}

fn same(fixture: &Fixture, seed: u64, count: u64) {
    let with = [fixture.session(1), fixture.session(3)];
    let without = fixture.session(2);
    set(&without, "tambour.scan_groups", false);
    set(&without, "tambour.scan_bytes", false);
    set(&without, "tambour.scan_dictionaries", false);
    let texts = fixture.session(2);
    set(&texts, "tambour.scan_bytes", false);
    let twice = fixture.session(1);
    set(&twice, "tambour.scan_wide_groups", false);
    for number in 0..count {
        let chance = seed * 1000 + number;
        let statement = query(&mut Numbers::new(chance), "t");
        let naive = lines(&without, &query(&mut Numbers::new(chance), "naive"));
        for session in with.iter().chain([&without, &texts, &twice]) {
            assert_eq!(lines(session, &statement), naive, "seed {chance}: {statement}");
        }
    }
}

#[test]
fn groups_by_chance() {
    same(&Fixture::new("toYYYYMM(t)", "(k, s, t)"), 11, 150);
}

#[test]
fn groups_by_chance_in_another_order() {
    same(&Fixture::new("e", "(l, d)"), 12, 150);
}

#[test]
fn groups_of_sorted_rows_by_chance() {
    same(&Fixture::optimized("tuple()", "(id)"), 13, 100);
    same(&Fixture::optimized("tuple()", "(s, k, n)"), 14, 100);
    same(&Fixture::optimized("tuple()", "(d, e)"), 15, 100);
}

#[test]
fn groups_of_sorted_parts_by_chance() {
    same(&Fixture::new("tuple()", "(s, k, n)"), 16, 100);
    same(&Fixture::new("toYYYYMM(t)", "(l, s)"), 17, 100);
    same(&Fixture::new("tuple()", "(k, e, d)"), 18, 100);
    same(&Fixture::new("tuple()", "(id)"), 19, 50);
}

#[test]
fn sorted_parts_are_aggregated_by_runs() {
    let fixture = Fixture::new("tuple()", "(s, k)");
    let session = fixture.session(1);
    let plan = |query: &str| text(&session, &format!("EXPLAIN ANALYZE VERBOSE {query}"));
    for query in [
        "SELECT s, count() FROM t GROUP BY s",
        "SELECT k, s, sum(id) AS x FROM t GROUP BY k, s ORDER BY x LIMIT 3",
        "SELECT uniqExact(s) FROM t",
        "SELECT DISTINCT s FROM t WHERE k > 3",
    ] {
        assert!(plan(query).contains("RunsExec"), "{query}: {}", plan(query));
        assert!(plan(query).contains("short_runs=0"), "{query}: {}", plan(query));
    }
    for query in ["SELECT k, count() FROM t GROUP BY k", "SELECT DISTINCT s, id FROM t"] {
        assert!(!plan(query).contains("RunsExec"), "{query}: {}", plan(query));
    }
    let ids = Fixture::new("tuple()", "id");
    let plan =
        text(&ids.session(1), "EXPLAIN ANALYZE VERBOSE SELECT id, count() FROM t GROUP BY id");
    assert!(plan.contains("short_runs=1"), "{plan}");
    set(&session, "tambour.scan_groups", false);
    let plan = text(&session, "EXPLAIN SELECT uniqExact(s) FROM t");
    assert!(!plan.contains("Aggregate runs"), "{plan}");
}

/// The rows of a result whatever their widths, without the names.
fn cells(session: &Session, statement: &str) -> Vec<String> {
    let trimmed = |line: String| line.split('|').map(str::trim).collect::<Vec<_>>().join("|");
    let lines = lines(session, statement).into_iter().map(trimmed);
    lines.filter(|line| !line.starts_with("|g0|")).collect()
}

/// Any groups will do, but what is said of them must be right.
#[test]
fn groups_under_a_limit_are_some_of_all() {
    for (fixture, seed) in [
        (Fixture::new("toYYYYMM(t)", "(k, s, t)"), 21),
        (Fixture::new("tuple()", "id"), 22),
        (Fixture::optimized("tuple()", "(s, k)"), 23),
    ] {
        let sessions = [fixture.session(1), fixture.session(3)];
        for number in 0..60 {
            let mut numbers = Numbers::new(seed * 1000 + number);
            let keys: Vec<&str> =
                (0..=numbers.below(3)).map(|_| pick(&mut numbers, &KEYS)).collect();
            let columns: Vec<String> =
                keys.iter().enumerate().map(|(at, key)| format!("{key} AS g{at}")).collect();
            let groups: Vec<String> = (0..keys.len()).map(|at| format!("g{at}")).collect();
            let (columns, groups) = (columns.join(", "), groups.join(", "));
            let aggregate = pick(&mut numbers, &AGGREGATES);
            let condition = condition(&mut numbers, 0);
            let limit = 1 + numbers.below(30);
            let form = numbers.below(4);
            let all = |table: &str| {
                let from = format!("FROM {table} WHERE {condition}");
                if form == 0 {
                    return format!("SELECT DISTINCT {columns} {from}");
                }
                let having = if form == 1 { " HAVING c % 3 > 0" } else { "" };
                format!(
                    "SELECT {columns}, count() AS c, {aggregate} AS a {from} GROUP BY {groups}{having}"
                )
            };
            let every = cells(&sessions[0], &all("naive"));
            for session in &sessions {
                let some = cells(session, &format!("{} LIMIT {limit}", all("t")));
                let wanted = every.len().min(usize::try_from(limit).unwrap());
                let place = format!("{} LIMIT {limit}, seed {seed}, {number}", all("t"));
                assert_eq!(some.len(), wanted, "{place}");
                assert!(some.iter().all(|group| every.contains(group)), "{place}: {some:?}");
                let later = cells(session, &format!("{} LIMIT 3 OFFSET {limit}", all("t")));
                assert_eq!(later.len(), every.len().saturating_sub(wanted).min(3), "{place}");
                assert!(later.iter().all(|group| every.contains(group)), "{place}: {later:?}");
            }
        }
        let plan = |query: &str| text(&sessions[0], &format!("EXPLAIN {query}"));
        for keys in ["n", "l, n", "t, l", "d, e, n"] {
            let plan = plan(&format!("SELECT {keys}, count() FROM t GROUP BY {keys} LIMIT 5"));
            assert!(plan.contains("first keys"), "{keys}: {plan}");
        }
        for query in [
            "SELECT n, count() AS c FROM t GROUP BY n ORDER BY c LIMIT 5",
            "SELECT n, count() AS c FROM t GROUP BY n HAVING c > 3 LIMIT 5",
            "SELECT n, count() FROM t GROUP BY n",
            "SELECT l, count() FROM t GROUP BY l LIMIT 5",
            "SELECT t, count() FROM t GROUP BY t LIMIT 5",
            "SELECT count(), sum(n) FROM t LIMIT 5",
            "SELECT n, count() FROM t GROUP BY n LIMIT 0",
            "SELECT n, count() FROM t GROUP BY n WITH ROLLUP LIMIT 5",
            "SELECT n, id, count() FROM t GROUP BY n, id LIMIT 1 BY n",
            "SELECT n, count() AS c FROM t GROUP BY n ORDER BY c LIMIT 5 WITH TIES",
            "SELECT n, sum(count()) OVER () FROM t GROUP BY n LIMIT 5",
            // Asked twice, or of fewer rows, it is another value.
            "SELECT generateUUIDv4() AS u, count() FROM t GROUP BY u LIMIT 5",
            "SELECT n, max(toString(generateUUIDv4())) FROM t GROUP BY n LIMIT 5",
        ] {
            assert!(!plan(query).contains("first keys"), "{query}: {}", plan(query));
        }
    }
}

/// What stands around the groups sees all of their rows, and as many groups as it should.
#[test]
fn groups_under_a_limit_in_other_queries() {
    let fixture = Fixture::new("toYYYYMM(t)", "(k, s)");
    let every =
        "SELECT ifNull(n, -99) AS key, count() AS c, sum(id) AS total FROM naive GROUP BY n";
    for threads in [1, 3] {
        let session = fixture.session(threads);
        let number = |query: &str| {
            let found = cells(&session, query);
            let [number] = found.as_slice() else { panic!("{query}: {found:?}") };
            number.trim_matches('|').parse::<usize>().unwrap()
        };
        // There are 45 numbers and NULL.
        for (limit, wanted) in
            [("1", 1), ("7", 7), ("46", 46), ("100", 46), ("5 OFFSET 3", 5), ("60 OFFSET 20", 26)]
        {
            let some = format!(
                "SELECT ifNull(n, -99) AS key, count() AS c, sum(id) AS total FROM t GROUP BY n LIMIT {limit}"
            );
            let twice = format!("SELECT * FROM ({some}) UNION ALL SELECT * FROM ({some})");
            for (rows, wanted) in [(&some, wanted), (&twice, 2 * wanted)] {
                let count = number(&format!("SELECT count() AS g0 FROM ({rows})"));
                assert_eq!(count, wanted, "{rows}, {threads}");
                let right = number(&format!(
                    "SELECT count() AS g0 FROM ({rows}) AS a JOIN ({every}) AS b \
                     ON a.key = b.key AND a.c = b.c AND a.total = b.total"
                ));
                assert_eq!(right, wanted, "{rows}, {threads}");
            }
        }
    }
}

#[test]
fn sorted_rows_are_aggregated_by_runs() {
    let fixture = Fixture::optimized("tuple()", "(s, k)");
    for threads in [1, 2] {
        let session = fixture.session(threads);
        let plan = |query: &str| text(&session, &format!("EXPLAIN {query}"));
        for query in [
            "SELECT s, count() FROM t GROUP BY s",
            "SELECT s, k, sum(id) AS x FROM t GROUP BY s, k ORDER BY x LIMIT 3",
            "SELECT uniqExact(s) FROM t",
            "SELECT s, max(n) FROM t WHERE k > 3 GROUP BY s",
        ] {
            assert!(plan(query).contains("Aggregate runs"), "{query}: {}", plan(query));
        }
        let other = plan("SELECT k, count() FROM t GROUP BY k");
        assert!(!other.contains("Aggregate runs"), "{other}");
    }
}

#[test]
fn wide_keys_are_handed_over() {
    let fixture = Fixture::new("tuple()", "tuple()");
    let session = fixture.session(1);
    let plan = |key: &str| {
        text(
            &session,
            &format!("EXPLAIN ANALYZE VERBOSE SELECT {key}, sum(k) FROM t GROUP BY {key}"),
        )
    };
    assert!(plan("l").contains("GroupsExec:"), "{}", plan("l"));
    assert!(plan("l").contains("wide_keys=0"), "{}", plan("l"));
    // Ids of three inserts are far apart only when they are spread.
    assert!(plan("id * 1000003").contains("wide_keys=1"), "{}", plan("id * 1000003"));
    set(&session, "tambour.scan_groups", false);
    assert!(!plan("l").contains("GroupsExec:"));
}

fn outcome(session: &Session, statement: &str) -> Result<usize, String> {
    let result = block_on(async {
        let mut execution = session.sql(statement).await?.execute().await?;
        execution.collect().await
    });
    let rows = |batches: Vec<RecordBatch>| batches.iter().map(RecordBatch::num_rows).sum();
    result.map(rows).map_err(|error| format!("{error:?}"))
}

/// What is handed out is looked at; what only a filter sees is not.
#[test]
fn texts_that_are_none_are_told_as_ever() {
    for order in ["id", "s", "s, other"] {
        texts_that_are_none(order);
    }
}

fn texts_that_are_none(order: &str) {
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("t");
    let definition = TableDefinition::parse(&format!(
        "CREATE TABLE t (id UInt32, s String, other String) ENGINE = MergeTree ORDER BY ({order}) \
         SETTINGS index_granularity = 64",
    ))
    .unwrap();
    let text = |row: usize| if row == 300 { &b"\xff and more"[..] } else { b"good" };
    let schema = tambour_part::types::arrow_schema(
        &definition.plain_columns(),
        tambour_part::types::Strings::Binary,
    );
    let columns: Vec<ArrayRef> = vec![
        Arc::new(UInt32Array::from_iter_values(0..500)),
        Arc::new(BinaryViewArray::from_iter_values((0..500).map(text))),
        Arc::new(BinaryViewArray::from_iter_values((0..500).map(|row| format!("{}", row % 9)))),
    ];
    insert(&path, &definition, RecordBatch::try_new(Arc::new(schema), columns).unwrap());
    let session = |is_on: bool| {
        // Groups of one thread are right above the scan.
        let options = SessionOptions { threads: 1, ..SessionOptions::default() };
        let session = Session::new(&options).unwrap();
        session.register(Arc::new(Table::open(&path).unwrap())).unwrap();
        set(&session, "tambour.scan_bytes", is_on);
        session
    };
    let (with, without) = (session(true), session(false));
    for query in [
        "SELECT s, count(*) FROM t GROUP BY s",
        "SELECT DISTINCT s, other FROM t",
        "SELECT s FROM t",
    ] {
        let told = outcome(&with, query);
        assert_eq!(told, outcome(&without, query), "{query}");
        let row = if order == "id" { "300" } else { "499" };
        assert!(told.unwrap_err().contains(row), "{query}");
    }
    for query in [
        "SELECT other, count(*) FROM t WHERE s LIKE '%more%' GROUP BY other",
        "SELECT count(*) FROM t WHERE s = 'good'",
    ] {
        assert_eq!(outcome(&with, query), Ok(1), "{query}");
        assert!(outcome(&without, query).is_err(), "{query}");
    }
    // Between two pieces ClickHouse takes letters, and not any bytes.
    for condition in ["s LIKE '%and%more%'", "s NOT LIKE '%and%re'"] {
        let query = format!("SELECT count(*) FROM t WHERE {condition}");
        assert!(outcome(&with, &query).unwrap_err().contains("Utf8"), "{query}");
    }
    assert_eq!(outcome(&with, "SELECT count(*) FROM t WHERE s LIKE '%or%more%'"), Ok(1));
    assert_eq!(
        outcome(&with, "SELECT s, count(*) FROM t WHERE s <> 'bad' AND id < 200 GROUP BY s"),
        Ok(1)
    );
}
