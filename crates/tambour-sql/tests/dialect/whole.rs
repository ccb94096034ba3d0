//! Whole queries that a generator found: their answers are ClickHouse's.

use crate::session::{answer, run, session};

#[test]
fn queries_give_what_clickhouse_gives() {
    run(async {
        let session = session();
        for (query, answered) in [
            (
                "SELECT a.number, b.number FROM numbers(2) AS a, numbers(2) AS b ORDER BY ALL",
                "0\t0\n0\t1\n1\t0\n1\t1\n",
            ),
            ("SELECT number FROM numbers(5) ORDER BY number % 2 LIMIT 2 WITH TIES", "0\n2\n4\n"),
            ("SELECT number FROM numbers(5) ORDER BY number LIMIT 1, 2 WITH TIES", "1\n2\n"),
            (
                "SELECT number FROM numbers(5) ORDER BY number % 2 FETCH FIRST 1 ROW WITH TIES",
                "0\n2\n4\n",
            ),
            (
                "WITH x -> x + 1 AS f, (x, y) -> x * y AS g SELECT f(number), g(number, 5) FROM numbers(2)",
                "1\t0\n2\t5\n",
            ),
            (
                "SELECT sumOrDefault(number), avgOrDefault(number), sumOrNull(number) FROM numbers(0)",
                "0\t0\t\\N\n",
            ),
            (
                "SELECT sumOrNull(number), sumOrDefault(number), sum(number) FROM numbers(0) SETTINGS aggregate_functions_null_for_empty = 0",
                "\\N\t0\t0\n",
            ),
            ("SELECT count() FROM (SELECT DISTINCT arrayJoin([0., -0., 0.]) AS x)", "2\n"),
            ("SELECT uniqExact(x) FROM (SELECT arrayJoin([0., -0., 0.]) AS x)", "2\n"),
            (
                "SELECT x, count() FROM (SELECT arrayJoin([0., -0., 0.]) AS x) GROUP BY x ORDER BY toString(x)",
                "-0\t1\n0\t2\n",
            ),
            (
                "SELECT avg(toDecimal64('1.25', 2)), avg(toDecimal32(number, 1)) FROM numbers(2)",
                "1.25\t0.5\n",
            ),
            (
                "SELECT nullIf(0., -0.), ifNull(toFloat32(1.5), 2.5), greatest(nan, 0.5), least(0.5, nan)",
                "\\N\t1.5\t0.5\tnan\n",
            ),
            ("SELECT toString(1 = 1), toString(true), concat('x', 1 = 2)", "1\ttrue\tx0\n"),
            (
                "SELECT (1, NULL) = (1, 2), (1, 2) < (1, 3), (toNullable(2), 1) > (1, 1)",
                "\\N\t1\t1\n",
            ),
            (
                "SELECT mapAdd(map('b', 1), map('a', 2, 'b', 3)), mapSubtract(map('a', -1), map('a', 2))",
                "{\\'a\\':2,\\'b\\':4}\t{\\'a\\':-3}\n",
            ),
            (
                "SELECT dateTrunc('minute', toDateTime64('1925-06-07 08:09:10', 3)), dateTrunc('month', toDate32('1925-06-07'))",
                "1925-06-07 08:09:00\t1925-06-01\n",
            ),
        ] {
            assert_eq!(answer(&session, query).await.unwrap(), answered, "{query}");
        }
    });
}

#[test]
fn refusals_say_what_to_write() {
    run(async {
        let session = session();
        for (query, reason) in [
            ("SELECT CAST(NULL AS String)", "write CAST(NULL AS Nullable(String))"),
            ("SELECT number FROM numbers(3) LIMIT 1 WITH TIES", "name the order"),
            ("WITH x -> x + 1 AS f SELECT f(1, 2)", "its lambda takes 1"),
            ("SELECT min([toNullable(1)])", "its elements may be NULL"),
            (
                "SELECT age('hour', toDateTime(0, 'UTC'), toDateTime(0, 'Asia/Tokyo'))",
                "name a zone",
            ),
        ] {
            let error = answer(&session, query).await.unwrap_err().to_string();
            assert!(error.contains(reason), "{query}: {error}");
        }
    });
}
