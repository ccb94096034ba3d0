//! 1, 2 and 4 workers answer as one process does.

use super::support::{alone, answer, tables, workers};

/// Queries whose answers do not depend on the order of rows, or that give it.
const QUERIES: &[&str] = &[
    "SELECT count(), sum(id), min(x), max(k) FROM t",
    "SELECT count() FROM t WHERE k = 17 AND s LIKE 'text 1%'",
    "SELECT count(), sum(id) FROM t WHERE x > 3.5 AND n IS NOT NULL",
    "SELECT l, count() AS c, sum(id), avg(n) FROM t GROUP BY l ORDER BY l",
    "SELECT k, count() AS c, max(s) FROM t GROUP BY k ORDER BY c DESC, k LIMIT 20",
    "SELECT s, k, count() AS c FROM t GROUP BY s, k ORDER BY c DESC, s, k LIMIT 15",
    "SELECT id, s FROM t ORDER BY x DESC, id LIMIT 10",
    "SELECT id, x FROM t WHERE k < -200 ORDER BY id",
    "SELECT id, l FROM t WHERE l = 'l3' ORDER BY n * k, n, id LIMIT 5",
    "SELECT id FROM t WHERE id % 4 = 1 ORDER BY k * x DESC, id, k LIMIT 8",
    "SELECT count() FROM t WHERE k IS NOT DISTINCT FROM n AND id > 5",
    "SELECT id FROM t ORDER BY k, id LIMIT 30",
    "SELECT id, k FROM t ORDER BY k DESC, id DESC LIMIT 7",
    "SELECT count(DISTINCT s), uniqExact(k) FROM t",
    "SELECT DISTINCT e, l FROM t ORDER BY e, l",
    "SELECT min(e), max(e), min(u), max(u), max(ip) FROM t",
    "SELECT toYYYYMM(d) AS m, count(), sum(x) FROM t GROUP BY m ORDER BY m",
    "SELECT toString(ip), toString(u), count() FROM t WHERE id % 97 = 3 GROUP BY ip, u ORDER BY 1, 2 LIMIT 20",
    "SELECT u, count() FROM t WHERE u = '00000000-0000-0000-0000-000000000003' GROUP BY u",
    "SELECT e, count() FROM t WHERE e = 'a' GROUP BY e",
    "SELECT avg(x) AS a, k FROM t GROUP BY k ORDER BY a, k LIMIT 9",
    "SELECT count() FROM t WHERE x / 3 > x - 10 AND x + 1 = x + 1",
    "SELECT quantileExact(0.5)(k), count() FROM t",
    "SELECT name, count() AS c FROM t JOIN small ON t.k = small.k GROUP BY name ORDER BY c DESC, name LIMIT 12",
    "SELECT count() FROM t LEFT JOIN small ON t.k = small.k WHERE small.name IS NULL OR small.name = ''",
    "SELECT count() FROM t WHERE k IN (SELECT k FROM small WHERE name LIKE 'name 1%')",
    "SELECT count() FROM t WHERE k NOT IN (SELECT k FROM small)",
    "SELECT count() FROM small WHERE EXISTS (SELECT 1 FROM t WHERE t.k = small.k AND t.n > 50)",
    "SELECT a.k, count() FROM t a JOIN t b ON a.id = b.id WHERE a.k > 600 GROUP BY a.k ORDER BY a.k",
    "SELECT name, count() FROM small FULL JOIN (SELECT k, id FROM t WHERE id < 50) q ON q.k = small.k GROUP BY name ORDER BY name LIMIT 10",
    "SELECT id, row_number() OVER (PARTITION BY l ORDER BY id) AS r FROM t WHERE id < 300 ORDER BY id",
    "SELECT id, sum(k) OVER (ORDER BY id) AS r FROM t WHERE id < 200 ORDER BY id",
    "SELECT l, n, count() FROM t GROUP BY ROLLUP(l, n) ORDER BY l, n, 3 LIMIT 40",
    "SELECT k FROM (SELECT k FROM t WHERE id < 40 UNION ALL SELECT k FROM small WHERE k < -250) ORDER BY k",
    "SELECT count() FROM (SELECT k FROM t UNION ALL SELECT k FROM t UNION ALL SELECT k FROM small)",
    "WITH big AS (SELECT k, count() AS c FROM t GROUP BY k) SELECT max(c), min(c), count() FROM big",
    "SELECT count() FROM (SELECT id FROM t LIMIT 777)",
    "SELECT arraySort(groupArray(l)) FROM (SELECT DISTINCT l FROM t)",
    "SELECT arrayMap(y -> y + 1, [k, 2]) AS a FROM t WHERE id < 5 ORDER BY id",
    "SELECT if(n > 40, 'much', 'little') AS w, countIf(k > 0), sumIf(id, k < 0) FROM t GROUP BY w ORDER BY w",
    "SELECT toHour(toDateTime(id * 1000, 'Asia/Tokyo')) AS h, count() FROM t GROUP BY h ORDER BY h",
    "SELECT count() FROM t CROSS JOIN (SELECT k FROM small WHERE k < -280) c WHERE t.k < c.k",
    "SELECT number, count() FROM numbers(5) JOIN t ON toInt32(number) = t.k GROUP BY number ORDER BY number",
    "SELECT name FROM system.tables WHERE database = 'default' ORDER BY name",
    "SELECT sum(c) FROM (SELECT count() AS c FROM t WHERE k > 100000)",
    "SELECT (1, 'a') = (k, l) AS same, count() FROM t GROUP BY same ORDER BY same",
    "SELECT max(d), min(d), toTypeName(max(d)) FROM t",
    "SELECT count() FROM (SELECT k, count() AS c, sum(id) AS i FROM t GROUP BY k LIMIT 7) AS few \
     JOIN (SELECT k, count() AS c, sum(id) AS i FROM t GROUP BY k) AS whole ON few.k = whole.k AND few.c = whole.c AND few.i = whole.i",
    "SELECT count() FROM (SELECT n, l, count() FROM t GROUP BY n, l LIMIT 5 OFFSET 2)",
];

/// Scalar subqueries everywhere where one is legal.
const SUBQUERIES: &[&str] = &[
    "SELECT count() FROM t WHERE x > (SELECT avg(x) FROM t)",
    "SELECT k, count() AS c FROM t GROUP BY k HAVING c > (SELECT count() / 1000 FROM t) ORDER BY k LIMIT 5",
    "SELECT (SELECT max(k) FROM small) AS m, l, count() FROM t GROUP BY l ORDER BY l",
    "SELECT id FROM t WHERE id < 20 ORDER BY abs(toInt64(id) - (SELECT max(k) FROM small)), id",
    "SELECT sum(k + (SELECT min(k) FROM small)) FROM t",
    "SELECT count() FROM t WHERE s > (SELECT name FROM small WHERE k = 100000)",
    "SELECT count() FROM t WHERE k = (SELECT max(k) FROM t WHERE k < (SELECT avg(k) FROM small))",
    "SELECT (SELECT max(u) FROM t) AS u, (SELECT max(e) FROM t) AS e",
    "SELECT name, (SELECT count() FROM t WHERE t.k = small.k) AS c FROM small ORDER BY c DESC, name LIMIT 5",
];

#[test]
fn one_two_and_four_workers_answer_as_one_process() {
    let root = tables();
    let alone = alone(root.path());
    let expected: Vec<_> =
        QUERIES.iter().chain(SUBQUERIES).map(|query| answer(&alone, query)).collect();
    for count in [1, 2, 4] {
        let workers = workers(count, root.path());
        assert_eq!(workers.local.addresses().len(), count);
        for (query, expected) in QUERIES.iter().chain(SUBQUERIES).zip(&expected) {
            let got = answer(&workers.session, query);
            match (got, expected) {
                (Ok(got), Ok(expected)) => assert_eq!(got.0, expected.0, "{count}: {query}"),
                (Err(got), Err(_)) => panic!("{count}: {query}: fails everywhere: {got}"),
                (Err(got), Ok(_)) => panic!("{count}: {query}: {got}"),
                (Ok(_), Err(expected)) => panic!("{query}: {expected}"),
            }
        }
    }
}

#[test]
fn the_rows_that_workers_read_are_counted() {
    let root = tables();
    let (alone, workers) = (alone(root.path()), workers(2, root.path()));
    for query in [
        "SELECT sum(id), max(s) FROM t",
        "SELECT l, count() FROM t WHERE x > 0 GROUP BY l",
        "SELECT id FROM t WHERE k > 0",
    ] {
        let plan = answer(&workers.session, &format!("EXPLAIN {query}")).unwrap().0.join("\n");
        assert!(plan.contains("Stage 1"), "{plan}");
        let (_, here) = answer(&alone, query).unwrap();
        let (_, there) = answer(&workers.session, query).unwrap();
        assert_eq!(there.rows, here.rows, "{query}");
        assert_eq!(there.parts, here.parts, "{query}");
        assert_eq!(there.granules, here.granules, "{query}");
        assert!(there.bytes > 0 && there.compressed > 0, "{query}");
    }
}

#[test]
fn a_subquery_of_several_rows_is_the_same_error() {
    let root = tables();
    let (alone, workers) = (alone(root.path()), workers(2, root.path()));
    for query in [
        "SELECT count() FROM t WHERE k = (SELECT k FROM small WHERE k < -295)",
        "SELECT count() FROM t WHERE id < (SELECT k FROM small)",
        "SELECT (SELECT k FROM small) AS two, count() FROM t",
    ] {
        let here = answer(&alone, query).unwrap_err().to_string();
        let there = answer(&workers.session, query).unwrap_err().to_string();
        assert_eq!(there, here, "{query}");
        assert!(here.contains("more than one row"), "{here}");
    }
}

#[test]
fn explain_shows_stages_and_their_work() {
    let root = tables();
    let workers = workers(2, root.path());
    let plan = answer(&workers.session, "EXPLAIN SELECT l, count() FROM t GROUP BY l").unwrap();
    let plan = plan.0.join("\n");
    assert!(plan.contains("Stage 1 on 2 workers"), "{plan}");
    assert!(plan.contains("Aggregate in the scan by l: count()"), "{plan}");
    let query = "EXPLAIN ANALYZE SELECT l, count() FROM t GROUP BY l";
    let plan = answer(&workers.session, query).unwrap().0.join("\n");
    // Each row once, though two workers tell of their shares.
    let rows = answer(&workers.session, "SELECT count() FROM t").unwrap().0.join("");
    let read = format!("Read t  [{rows} rows");
    assert!(plan.contains(&read) && plan.contains("Stage 1"), "{plan}");
}

#[test]
fn a_worker_leaves_out_what_a_top_ten_cannot_want() {
    let root = tables();
    let (alone, workers) = (alone(root.path()), workers(2, root.path()));
    let all = answer(&alone, "SELECT id FROM t").unwrap().1.rows;
    let query = "SELECT id, x FROM t WHERE s LIKE 'text%' ORDER BY k, x DESC, id LIMIT 10";
    let expected = answer(&alone, query).unwrap().0;
    let (got, read) = answer(&workers.session, query).unwrap();
    assert_eq!(got, expected);
    assert!(read.rows < all, "{} of {all}", read.rows);
    answer(&workers.session, "SET tambour.scan_dynamic_filters = false").unwrap();
    let (got, read) = answer(&workers.session, query).unwrap();
    assert_eq!(got, expected);
    assert_eq!(read.rows, all);
}

#[test]
fn settings_travel() {
    let root = tables();
    let (alone, workers) = (alone(root.path()), workers(2, root.path()));
    for setting in [
        "SET datafusion.execution.time_zone = 'Asia/Tokyo'",
        "SET datafusion.execution.batch_size = 100",
    ] {
        answer(&alone, setting).unwrap();
        answer(&workers.session, setting).unwrap();
    }
    let query = "SELECT toHour(toDateTime(id * 1000)) AS h, count() FROM t GROUP BY h ORDER BY h";
    assert_eq!(answer(&workers.session, query).unwrap().0, answer(&alone, query).unwrap().0);
}
