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
fn values_of_the_session_and_of_chance_are_of_their_types() {
    run(async {
        let session = session();
        for (query, answered) in [
            (
                "SELECT currentDatabase(), DATABASE(), schema(), currentUser(), user()",
                "default\tdefault\tdefault\tdefault\tdefault\n",
            ),
            ("SELECT timezone(), serverTimezone(), version() != ''", "UTC\tUTC\t1\n"),
            (
                "SELECT isConstant(1), isConstant(number), isNullable(1), isNullable(toNullable(number)) FROM numbers(1)",
                "1\t0\t0\t1\n",
            ),
            (
                "SELECT toTypeName(rand()), toTypeName(rand64()), toTypeName(randCanonical()), toTypeName(randUniform(1, 2))",
                "UInt32\tUInt64\tFloat64\tFloat64\n",
            ),
            (
                "SELECT toTypeName(randConstant()), toTypeName(randomString(3)), toTypeName(isConstant(1))",
                "UInt32\tString\tUInt8\n",
            ),
            // Two of a thousand numbers of 64 bits are the same once in 10^13 times.
            (
                "SELECT uniqExact(rand64()), uniqExact(randConstant()), count() FROM numbers(1000)",
                "1000\t1\t1000\n",
            ),
            (
                "SELECT min(x >= 2 AND x < 3), max(x) - min(x) > 0.5 FROM (SELECT randUniform(2, 3) AS x FROM numbers(1000))",
                "1\t1\n",
            ),
            (
                "SELECT uniqExact(length(randomString(number))), max(match(randomPrintableASCII(9), '[^ -~]')) FROM numbers(50)",
                "50\t0\n",
            ),
        ] {
            assert_eq!(answer(&session, query).await.unwrap(), answered, "{query}");
        }
        for query in [
            "SELECT version(1)",
            "SELECT randUniform(1)",
            "SELECT randomString(100000000)",
            "SELECT randomString('a')",
        ] {
            assert!(answer(&session, query).await.is_err(), "{query}");
        }
    });
}

#[test]
fn results_are_known_to_conditions_of_joins_and_without_groups() {
    run(async {
        let session = session();
        for (query, answered) in [
            (
                "SELECT a.number + 1 AS v, b.number FROM numbers(3) AS a JOIN numbers(3) AS b ON v = b.number ORDER BY v",
                "1\t1\n2\t2\n",
            ),
            (
                "SELECT a.number + b.number AS v FROM numbers(3) AS a JOIN numbers(3) AS b ON v = 4",
                "4\n",
            ),
            (
                "SELECT number FROM numbers(5) WHERE number > 1 HAVING number < 4 ORDER BY number",
                "2\n3\n",
            ),
            (
                "SELECT number * 2 AS x, row_number() OVER (ORDER BY number) FROM numbers(5) HAVING x > 5 ORDER BY x",
                "6\t1\n8\t2\n",
            ),
            ("SELECT number % 2 AS x FROM numbers(5) GROUP BY x HAVING x = 1", "1\n"),
            (
                "SELECT EXISTS(SELECT 1), exists(SELECT 1 WHERE 0), NOT EXISTS(SELECT number FROM numbers(3) LIMIT 1)",
                "1\t0\t0\n",
            ),
            (
                "SELECT number, EXISTS(SELECT 1 FROM numbers(2) AS b WHERE b.number = a.number) FROM numbers(3) AS a ORDER BY number",
                "0\t1\n1\t1\n2\t0\n",
            ),
            (
                "SELECT EXISTS(SELECT count() FROM numbers(0)), EXISTS(SELECT number FROM numbers(3) GROUP BY number HAVING number > 5)",
                "1\t0\n",
            ),
            (
                "SELECT x + 1 FROM view(SELECT number AS x FROM numbers(2)) AS v WHERE v.x > 0",
                "2\n",
            ),
            ("SELECT count() FROM numbers(2), view(WITH 1 AS y SELECT y)", "2\n"),
            (
                "SELECT x, z FROM (WITH 1 + 1 AS y, (3, 4) AS t, q AS (SELECT 5 AS z), v -> v * 2 AS f SELECT f(t.1) * y AS x, z FROM q)",
                "12\t5\n",
            ),
            (
                "SELECT map('a', 1, 'a', 2), toTypeName(map('a', number)), toTypeName(map('a', NULL, 'b', number)) FROM numbers(1)",
                "{\\'a\\':1,\\'a\\':2}\tMap(String, UInt64)\tMap(String, Nullable(UInt64))\n",
            ),
            ("SELECT (WITH 2 AS y SELECT y + 1), 2 IN (WITH 2 AS y SELECT y)", "3\t1\n"),
            ("SELECT min([toNullable(1)])", "[1]\n"),
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
            ("WITH (x, x) -> x AS f SELECT f(1, 2)", "one name"),
            ("WITH x -> f(x) AS f SELECT f(1)", "no end"),
            (
                "WITH x -> arrayMap(y -> x + y, [1]) AS f SELECT f(y) FROM (SELECT 1 AS y)",
                "give that one another name",
            ),
            ("SELECT toDate('2020-01-01') + INTERVAL '1.5' DAY", "a whole number"),
            ("SELECT number IN (toString(number), 3) FROM numbers(2)", "IN does not take String"),
            (
                "SELECT (number, 'a') IN ((number, '2'), (1, 'b')) FROM numbers(2)",
                "numbers in quotes",
            ),
            (
                "SELECT a FROM (SELECT [1, 2] AS x, [3] AS y) ARRAY JOIN x AS a, y AS b",
                "different lengths",
            ),
            ("SELECT if(number = 0, true, 7) FROM numbers(2)", "beside a Bool"),
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
