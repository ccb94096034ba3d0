"""Whole queries of a fixed seed give what ClickHouse gives over the same parts, and those that once differed."""

import subprocess

import grammar
import pytest

# Asked of the same three tables; each once gave another answer than ClickHouse's, or none.
SEEN = [
    "SELECT nf AS a, count() FROM g GROUP BY a ORDER BY toString(a)",
    "SELECT count() FROM (SELECT DISTINCT f64 FROM g)",
    "SELECT e, uniqExact(nf) FROM g GROUP BY e ORDER BY e",
    "SELECT x.k, y.k FROM g AS x INNER JOIN h AS y ON x.nf = y.nf ORDER BY ALL",
    "SELECT x.k, y.k FROM g AS x ANY LEFT JOIN h AS y ON x.u8 = y.u8 AND x.u16 = y.u16 ORDER BY x.k LIMIT 0",
    "SELECT x.k, y.m FROM g AS x LEFT JOIN z AS y ON x.u8 = y.u8 ORDER BY x.k",
    "SELECT x.k, y.k FROM g AS x JOIN h AS y ON x.u8 = y.u8 AND x.f64 = x.nf ORDER BY ALL",
    "SELECT x.k, y.k FROM g AS x LEFT JOIN h AS y ON x.u8 = y.u8 AND x.f64 = x.f64 ORDER BY ALL",
    "SELECT x.k, y.k FROM g AS x LEFT JOIN h AS y ON x.u8 = y.u8 AND y.f64 = y.f64 ORDER BY ALL",
    "SELECT x.k, y.k FROM g AS x LEFT JOIN h AS y ON x.f64 = y.f64 AND x.f64 = x.f64 ORDER BY ALL",
    "SELECT min(u8), max(u16), min(u8 * 100) FROM g",
    "SELECT e, sumIfOrNull(i8, u8 > 255), maxIfOrDefault(u8, u8 > 255), avgOrDefault(u8) FROM g GROUP BY e ORDER BY e",
    "SELECT sumOrNull(u8), minOrNull(t6z), sumOrDefault(u8), avgOrDefault(cf), sum(u8), groupBitAnd(u8) FROM z",
    "SELECT avg(dec), toTypeName(assumeNotNull(avg(dec))) FROM g",
    "SELECT k, if(u8 > 5, t6z, nt), if(u8 > 5, t, t64), coalesce(nt, t6z), [t, t64] FROM g ORDER BY k",
    "SELECT k, date_trunc('minute', t64), date_trunc('month', d32), date_trunc('week', t64), dateTrunc('day', tz) FROM g ORDER BY k",
    "SELECT k, nth_value(u8, 2) OVER (PARTITION BY i8 ORDER BY k ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING) FROM g ORDER BY k",
    "SELECT k, nullIf(f64, 0), nullIf(nf, f64), ifNull(f32, 2.25), greatest(f64, 0.5), least(f32, cf) FROM g ORDER BY k",
    "SELECT k, transform(ns, ['a', 'b'], ['x', 'y'], 'z'), toUInt8OrDefault(ns) FROM g ORDER BY k",
    "SELECT groupConcat(',')(lc) FROM (SELECT lc FROM g ORDER BY k)",
    "SELECT k, groupArray(i8) OVER (ORDER BY k DESC ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM g ORDER BY k",
    "SELECT k, concat(fs, 'a'), format('{}-{}', fs, lc) FROM g ORDER BY k",
    "SELECT k, (ni, s) = (nu, s), (ni, s) < (nu, s), toString(u8 > 5), concat(s, u8 = 7), toString(b) FROM g ORDER BY k",
    "SELECT u8 FROM g ORDER BY u8 LIMIT 3 WITH TIES",
    "SELECT u8 FROM g ORDER BY u8 LIMIT 2, 3 WITH TIES",
    "WITH x -> x * 2 AS f, (x, y) -> x + y AS h2 SELECT f(k), h2(k, u8) FROM g ORDER BY k",
    "SELECT k, mapAdd(m, m), mapSubtract(m, m) FROM g ORDER BY k",
    "SELECT avgArray(au), sumArray(au), minArray(au) FROM z",
    "SELECT toTypeName(toNullable(u8)), toTypeName(toNullable(s)) FROM g LIMIT 1",
    "SELECT if(number % 2, NULL, toNullable(1)), number % 2 ? 'a' : 'b', not number % 2 FROM numbers(3) ORDER BY number",
    "SELECT countIf(number % 3), sum(number % 7), max(number % -3) FROM numbers(10) WHERE number % 5 AND number > 1",
    "SELECT toInt64(k) % toUInt64(2), toUInt64(k) % -3, toTypeName(toUInt64(k) % 200) FROM g ORDER BY k",
    "SELECT count(), sum(1), uniq(123) FROM (SELECT * FROM system.numbers LIMIT 10)",
    "SELECT [('1', 1), ('2', 2)][-3], [(1, 'x')][4]",
    "SELECT 1 AS x, (1, 2, 3) AS y, x IN y, 4 NOT IN y, 1 IN 1, 'a' IN 'b'",
    "WITH [1, 2] AS y SELECT k, u8 IN y FROM g ORDER BY k",
    "WITH y AS (SELECT k FROM h) SELECT k FROM g WHERE k IN y ORDER BY k",
    "SELECT k, u8 IN (SELECT u8 FROM h) AS a, ni IN (SELECT ni FROM h), s NOT IN (SELECT s FROM h) FROM g ORDER BY k",
    "SELECT e, countIf(u8 IN (SELECT u8 FROM h)), sum(ni NOT IN (SELECT ni FROM h)) FROM g GROUP BY e ORDER BY e",
    "SELECT k, u8 FROM g JOIN h ON g.k = h.k WHERE u8 > 1 ORDER BY k, u8",
    "SELECT u8, count(), max(h.u8) FROM g JOIN h ON g.i8 = h.i8 GROUP BY u8 ORDER BY u8",
    "SELECT u8 AS n, s FROM g, h WHERE g.k = h.k ORDER BY n, k",
    "SELECT k FROM g JOIN h USING k WHERE k > 2 ORDER BY k",
    "WITH a AS (SELECT k, u8 FROM g), b AS (SELECT k, i8 AS u8 FROM h) SELECT k, u8, b.u8 FROM a JOIN b ON a.k = b.k WHERE u8 > 0 ORDER BY k DESC",
    "SELECT k, arrayMap(u8 -> u8 + 1, au) FROM g JOIN (SELECT k AS j FROM h) AS y ON k = j ORDER BY k",
    "SELECT toDate('2020-01-01') + INTERVAL '1 day', toDateTime('2020-01-01 00:00:00') - INTERVAL '2 hours', 1 AS 2nd",
    "SELECT k, dec <= 0.06 + 0.01, dec BETWEEN -0.3 + 0.1 AND 99.98 + 0.01, dec = 99.99, dec < nan, dec > 1e300, dec = f64, dec > f32 FROM g ORDER BY k",
    "SELECT k, nd > 0.0001, nd >= 0.00005 + 0.00005, nd != 0.0001, nd < cf, u8 BETWEEN nf AND f64 FROM g ORDER BY k",
    "SELECT k, dateDiff('hour', t, tz), dateDiff('hour', tz, t6z), dateDiff('minute', t, t6z), dateDiff('hour', d, tz) FROM g ORDER BY k",
    "SELECT k, t > n_d, n_d < tz, t = n_d, t6z >= n_d FROM g ORDER BY k",
    "SELECT k, m.keys, m.values, m['a'] FROM g ORDER BY k",
    "SELECT k, (k, s), [(k, s)], (k, s).2, (1, 'a') = (k, s), tuple(k, (s, 1)) FROM g ORDER BY k FORMAT JSONCompactEachRow",
    "SELECT k, u64 - 5, 5 - u64, i64 - u64, u64 + i64, u64 * i64, u64 - u8, u64 * -2, 2 * u64 - 5, ni - u64, i64 * i64 FROM g ORDER BY k",
]


@pytest.fixture(scope="module")
def asked(server, tambour, tmp_path_factory):
    def call(*words, input):
        return subprocess.run([tambour.binary, *words], input=grammar.WAYS.encode() + input, capture_output=True, check=False)

    server.run("SET session_timezone = 'UTC'")
    yield call
    server.run("SET session_timezone = ''")
    server.run("USE default")


def test_queries_of_a_seed(server, asked):
    counts, different, _ = grammar.run(server.session, asked, 500, 15)
    assert not different, "\n".join(f"{query}: {grammar.first_difference(ours, theirs)}" for query, theirs, ours in different)
    assert counts["equal"] > 250, counts


def test_columns_of_a_union(server, asked):
    """Every pair of types gives the rows of both, or is refused."""
    places = grammar.create(server.session, asked)
    union = "SELECT x FROM (SELECT {} AS x FROM g WHERE k < 12 UNION ALL SELECT {} FROM h)"
    columns = ["u8", "i32", "u64", "i64", "f32", "f64", "dec", "s", "ns", "fs", "d", "t", "t64", "b", "uuid", "ni"]
    queries = [union.format(one, other) for one in columns for other in columns if one != other]
    equal = 0
    for query, (ours, _) in zip(queries, grammar.ask(asked, places, queries)):
        if ours is None:
            continue
        theirs = server.run(query)
        assert sorted(ours.split("\n")) == sorted(theirs.split("\n")), f"{query}: {grammar.first_difference(ours, theirs)}"
        equal += 1
    assert equal >= 100


def test_queries_that_differed(server, asked):
    places = grammar.create(server.session, asked)
    answers = grammar.ask(asked, places, SEEN)
    for query, (ours, message) in zip(SEEN, answers):
        assert ours is not None, f"{query}: {message}"
        theirs = server.run(query)
        assert grammar.same(ours, theirs), f"{query}: {grammar.first_difference(ours, theirs)}"
