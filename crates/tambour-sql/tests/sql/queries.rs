//! Whole queries.

use crate::support::{Fixture, batches, block_on, lines, text};
use tambour_codec::Kind;
use tambour_part::types::TYPE_KEY;

/// Queries with `T` for the table; those in the first list have one right order of rows.
const ORDERED: &[&str] = &[
    "SELECT count(*) FROM T",
    "SELECT sum(id), min(k), max(k), min(t), max(t), sum(p), min(d), max(s) FROM T",
    "SELECT id FROM T ORDER BY k, s, t, id LIMIT 20",
    "SELECT k, id FROM T WHERE k > 100 ORDER BY k, id LIMIT 50",
    "SELECT k, s, t FROM T ORDER BY k, s, t",
    "SELECT k FROM T ORDER BY k DESC LIMIT 7",
    "SELECT n, id FROM T ORDER BY n, id LIMIT 900 OFFSET 8000",
    "SELECT n, id FROM T ORDER BY n DESC, id LIMIT 5",
    "SELECT count(*), count(n), count(l) FROM T WHERE n IS NULL",
    "SELECT DISTINCT s FROM T ORDER BY s",
    "SELECT avg(x), sum(x) FROM T WHERE id % 7 = 3",
];
const UNORDERED: &[&str] = &[
    "SELECT s, count(*), sum(id) FROM T GROUP BY s",
    "SELECT l, e, count(*) FROM T GROUP BY l, e",
    "SELECT k, sum(p) FROM T GROUP BY k",
    "SELECT k, s, count(*) FROM T GROUP BY k, s",
    "SELECT u, max(d) FROM T GROUP BY u",
    "SELECT * FROM T WHERE k = 17 AND s LIKE 'a%'",
    "SELECT id, e FROM T WHERE e = 'c' AND k < -40",
    "SELECT id, e FROM T WHERE e IN ('a', 'c') AND k < -45",
    "SELECT id, l FROM T WHERE l = 'ab' AND k BETWEEN 3 AND 9",
    "SELECT id, l FROM T WHERE l IS NULL AND k = 1",
    "SELECT id FROM T WHERE s = 'longer than twelve bytes' AND k IN (1, 5, 100, 1000)",
    "SELECT id FROM T WHERE NOT (k < 140 AND s = 'b')",
    "SELECT id FROM T WHERE NOT (k < 140 OR length(s) = 2)",
    "SELECT id FROM T WHERE t >= TIMESTAMP '2024-02-28 00:00:00Z' AND t < TIMESTAMP '2024-03-01 12:00:00Z'",
    "SELECT id FROM T WHERE d = DATE '2022-03-04' OR k = 3",
    "SELECT id FROM T WHERE p > 900.5 AND x < 0",
    "SELECT id FROM T WHERE s LIKE '%b%' AND s NOT LIKE 'a%'",
    "SELECT a.id AS one, b.id AS other FROM T a JOIN T b ON a.k = b.k AND a.s = b.s AND a.id < b.id WHERE a.k = 149",
    "SELECT a.id AS one, a.k AS x, b.k AS y FROM T a RIGHT JOIN T b ON a.id = b.id + 7 WHERE b.id % 100 = 3 OR a.k = 149",
    "SELECT a.s, count(*) FROM T a JOIN T b ON a.t = b.t GROUP BY a.s",
    "SELECT id, row_number() OVER (PARTITION BY k ORDER BY id) FROM T WHERE k < 5",
    "SELECT id FROM (SELECT * FROM T WHERE k > 20) WHERE k < 25",
];

fn compare(fixture: &Fixture, threads: usize) {
    let session = fixture.session(threads);
    let on = |query: &str, table: &str| {
        query
            .replace("FROM T", &format!("FROM {table}"))
            .replace("JOIN T", &format!("JOIN {table}"))
    };
    for query in ORDERED {
        let (ours, theirs) = (text(&session, &on(query, "t")), text(&session, &on(query, "naive")));
        assert_eq!(ours, theirs, "{query}");
    }
    for query in UNORDERED {
        let (ours, theirs) =
            (lines(&session, &on(query, "t")), lines(&session, &on(query, "naive")));
        assert!(theirs.len() > 1, "{query} finds nothing");
        assert_eq!(ours, theirs, "{query}");
    }
}

#[test]
fn queries_over_partitions_give_what_the_rows_give() {
    compare(&Fixture::new("toYYYYMM(t)", "(k, s, t)"), 2);
}

#[test]
fn queries_in_one_thread_give_what_the_rows_give() {
    compare(&Fixture::new("tuple()", "(k, s, t)"), 1);
}

#[test]
fn queries_over_unusual_keys_give_what_the_rows_give() {
    compare(&Fixture::new("(e, k % 3)", "(s, e, u, x)"), 3);
}

#[test]
fn queries_over_functions_of_keys_give_what_the_rows_give() {
    compare(&Fixture::new("tuple()", "(toDate(t), intDiv(k, 10), id)"), 4);
}

#[test]
fn plain_columns_keep_their_clickhouse_type() {
    let fixture = Fixture::new("tuple()", "id");
    let session = fixture.session(2);
    let queries = [
        ("SELECT e FROM t", "Enum8('c' = -3, 'b' = 1, 'a' = 2)"),
        ("SELECT a.e AS other FROM t a WHERE k > 3", "Enum8('c' = -3, 'b' = 1, 'a' = 2)"),
        ("SELECT u, count(*) FROM t GROUP BY u ORDER BY u", "UUID"),
        ("SELECT DISTINCT l FROM t ORDER BY l LIMIT 2", "LowCardinality(Nullable(String))"),
        ("SELECT u FROM (SELECT u, id FROM t ORDER BY id LIMIT 3)", "UUID"),
        ("SELECT b.u FROM t a JOIN t b ON a.id = b.id", "UUID"),
    ];
    for (query, data_type) in queries {
        let planned = block_on(session.sql(query)).unwrap().schema();
        let returned = batches(&session, query)[0].schema();
        for schema in [planned, returned] {
            let found = schema.field(0).metadata().get(TYPE_KEY).map(String::as_str);
            assert_eq!(found, Some(data_type), "{query}");
        }
    }
}

#[test]
fn a_memory_limit_is_an_error_of_its_own_kind() {
    let fixture = Fixture::new("tuple()", "id");
    let session = tambour_sql::Session::new(&tambour_sql::SessionOptions {
        threads: 2,
        memory_bytes: Some(20_000),
        ..tambour_sql::SessionOptions::default()
    })
    .unwrap();
    session.register(fixture.table()).unwrap();
    let error = block_on(async {
        let query = session.sql("SELECT s, id, count(*) FROM t GROUP BY s, id").await?;
        query.execute().await?.collect().await
    })
    .unwrap_err();
    assert_eq!(error.kind(), Kind::Limit, "{error:?}");
}

#[test]
fn errors_have_kinds() {
    let fixture = Fixture::new("tuple()", "id");
    let session = fixture.session(1);
    for (statement, kind) in [
        ("SELEC 1", Kind::Argument),
        ("SELECT nothing FROM t", Kind::Argument),
        ("SELECT * FROM nowhere", Kind::NotFound),
        ("SELECT 1; SELECT 2", Kind::Argument),
    ] {
        let error = block_on(session.sql(statement)).unwrap_err();
        assert_eq!(error.kind(), kind, "{statement}: {error:?}");
    }
    let error = block_on(session.sql("SELECT * FROM nowhere")).unwrap_err();
    assert_eq!(error.to_string(), "there is no table \"nowhere\"; there are: t");
}
