"""Answers that may not differ from ClickHouse's: random expressions of a fixed seed, and those that once differed."""

import compare
import pytest


def test_random_expressions(server, tambour):
    counts, different = compare.run(server.session, tambour.binary, count=400, seed=20)
    assert not different, "\n".join(f"{query}: {compare.first_difference(ours, theirs)}" for query, theirs, ours in different)
    assert counts["equal"] > 200, counts


@pytest.fixture(scope="module")
def table(server):
    return compare.create(server.session)


@pytest.mark.parametrize("query", [
    r"SELECT 'a\_b', 'a\%b', '\d', '\\d', '\x41', '\e' != '', 'C:\dir'",
    r"SELECT k FROM g WHERE s LIKE '%\_%' ORDER BY k",
    "SELECT 0xFF, 0b101, x'41', b'01000001'",
    "SELECT k, e FROM g ORDER BY e, k",
    "SELECT min(e), max(e), min(i256), max(i256), min(uuid), max(uuid) FROM g",
    "SELECT k, i256 FROM g WHERE i256 < 0 ORDER BY i256, k",
    "SELECT k, e FROM g WHERE e > 'a' OR e = -3 ORDER BY k",
    "SELECT k, f64 FROM g ORDER BY f64 DESC, k",
    "SELECT k, u64 = toFloat64(u64) FROM g ORDER BY k",
    "SELECT f32 * f32, f32 / 7, 7 % 0.7 FROM g ORDER BY k",
    "SELECT d + INTERVAL 1 HOUR, d - INTERVAL 30 MINUTE FROM g ORDER BY k",
    "SELECT k FROM g WHERE tz > toDate('2020-03-29') ORDER BY k",
    "SELECT k, lag(u8) OVER (ORDER BY k), lead(d, 2) OVER (ORDER BY k) FROM g ORDER BY k",
    "SELECT e, count() FROM g GROUP BY e WITH ROLLUP ORDER BY e, count()",
    "SELECT k FROM g ORDER BY lc, k LIMIT 2 BY lc",
    "SELECT k FROM g ORDER BY lc, k LIMIT 1, 2 BY lc",
    "SELECT count() FROM g AS a ANY INNER JOIN g AS b ON a.lc = b.lc",
    "SELECT (k, ni) IN ((0, 0), (1, 2)), (NULL, NULL) IN ((1, 2), (NULL, NULL)) FROM g ORDER BY k",
    "SELECT number FROM numbers(3) UNION ALL SELECT number + 10 FROM numbers(5) ORDER BY number DESC LIMIT 0",
    "SELECT k > 3 ? 'a' : 'b', k MOD 5, NOT k, k AND 1 FROM g ORDER BY k",
    "SELECT a FROM g ARRAY JOIN ai AS a ORDER BY k, a",
    "SELECT first_value(ni), last_value(ni) FROM (SELECT ni FROM g ORDER BY k)",
    "SELECT date_trunc('month', t), date_trunc('week', d), date_trunc('hour', t) FROM g ORDER BY k",
    r"SELECT match('a\nb', 'a.b'), REGEXP_REPLACE('aaa', 'a', 'b'), count(DISTINCT lc, e) FROM g",
])
def test_seen_differences(server, tambour, table, query):
    theirs = server.run(query.replace(" FROM g", " FROM compared.g").replace("JOIN g ", "JOIN compared.g "))
    ours = tambour.run("sql", f"g={table}", "--format", "tsv", "--no-header", query)
    assert theirs
    assert compare.same(ours, theirs), compare.first_difference(ours, theirs)


NESTED = {
    "k": ("UInt32", ["1", "2", "3", "4"]),
    "af": ("Array(Float64)", ["[0.]", "[-0.]", "[nan]", "[1., nan]"]),
    "an": ("Array(Nullable(Float64))", ["[NULL, 1]", "[1, NULL]", "[]", "[1, nan]"]),
    "ai": ("Array(Int256)", ["[-5]", "[7]", "[0]", "[7, -1]"]),
    "au": ("Array(UUID)", ["['00000000-0000-0001-0000-000000000000']", "['00000000-0000-0000-0000-000000000002']", "[]", "[]"]),
    "e": ("Enum8('b' = -1, 'a' = 2)", ["'a'", "'b'", "'b'", "'a'"]),
    "ae": ("Array(Enum8('b' = -1, 'a' = 2))", ["['a']", "['b']", "['a', 'b']", "['a', 'a']"]),
    "tf": ("Tuple(Float64, Int64)", ["(0., 1)", "(-0., 1)", "(nan, 1)", "(1., 2)"]),
    "te": ("Tuple(Enum8('b' = -1, 'a' = 2), UInt8)", ["('a', 1)", "('b', 1)", "('b', 2)", "('a', 0)"]),
    "ate": ("Array(Tuple(Enum8('b' = -1, 'a' = 2), UInt8))", ["[('a', 1)]", "[('b', 1)]", "[('b', 2), ('a', 1)]", "[]"]),
    "d": ("Date", ["'2149-06-06'", "'2106-02-07'", "'1970-01-01'", "'2020-01-01'"]),
    "dt": ("DateTime('Europe/Berlin')", ["'2106-02-06 00:00:00'", "'2106-02-07 00:00:00'", "'1970-01-02 00:00:00'", "'1970-01-01 01:00:00'"]),
}


@pytest.fixture(scope="module")
def nested(server):
    """One part for each row, so that each has its own names of Enums."""
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in NESTED.items())
    server.run("CREATE DATABASE IF NOT EXISTS compared")
    server.run(f"CREATE OR REPLACE TABLE compared.n ({columns}) ENGINE = MergeTree ORDER BY k")
    server.run("SYSTEM STOP MERGES compared.n")
    for row in range(4):
        server.run(f"INSERT INTO compared.n VALUES ({', '.join(values[row] for _, values in NESTED.values())})")
    return server.run("SELECT data_paths[1] FROM system.tables WHERE database = 'compared' AND name = 'n'").strip()


SIDES = ["af", "an", "ai", "au", "ae", "tf", "te", "ate"]


@pytest.mark.parametrize("query", [
    *[f"SELECT a.k, b.k, a.{it} < b.{it}, a.{it} >= b.{it} FROM n AS a CROSS JOIN n AS b ORDER BY a.k, b.k" for it in SIDES],
    *[f"SELECT a.k, b.k, has(a.{it}, b.{it}[1]), has([a.{it}], b.{it}) FROM n AS a CROSS JOIN n AS b ORDER BY a.k, b.k" for it in ["ai", "au", "ae", "ate"]],
    *[f"SELECT k FROM n ORDER BY {it}, k" for it in SIDES],
    *[f"SELECT k FROM n ORDER BY {it} DESC, k" for it in SIDES],
    *[f"SELECT k FROM n ORDER BY {it} DESC NULLS FIRST, k" for it in ["af", "an", "tf"]],
    *[f"SELECT a.k, b.k FROM n AS a JOIN n AS b ON a.{it} = b.{it} ORDER BY a.k, b.k" for it in ["af", "ai", "au", "ae", "tf", "te"]],
    "SELECT a.k, b.k, a.d = b.dt, a.d < b.dt, b.dt <= a.d FROM n AS a CROSS JOIN n AS b ORDER BY a.k, b.k",
    "SELECT a.k, b.k FROM n AS a JOIN n AS b ON a.ate = b.ate ORDER BY a.k, b.k",
    "SELECT k, af = [0.], af != [0.], af = af, tf = tf, tf = (0., 1), [af] = [[nan]], an = [1, NULL] FROM n ORDER BY k",
    "SELECT k, te < ('a', 1), te.1 < 'a', toTypeName(te.1), ate.1, toTypeName(ate.1) FROM n ORDER BY k",
    "SELECT k, has(ae, 'a'), indexOf(ae, 'b'), countEqual(ae, 'x'), arraySort(ate), arrayReverseSort(ate), cityHash64(ate) FROM n ORDER BY k",
    "SELECT k, if(k = 3, d, dt), [d, dt], greatest(d, toDate('2020-01-01')) FROM n ORDER BY k",
    "SELECT argMax(k, ai), argMin(k, ai), argMax(k, ae) FROM n",
    *[f"SELECT min({it}), max({it}) FROM n" for it in ["ai", "au", "ae", "te", "ate"]],
    *[f"SELECT min({it}), max({it}) FROM n WHERE k != 3 AND k != 2" for it in ["af", "tf"]],
    "SELECT min(an), max(an), max((k, an)), min((e, k)) FROM n",
])
def test_nested_values_are_compared_as_there(server, tambour, nested, query):
    theirs = server.run(query.replace(" FROM n", " FROM compared.n").replace("JOIN n ", "JOIN compared.n "))
    ours = tambour.run("sql", f"n={nested}", "--format", "tsv", "--no-header", query)
    assert theirs
    assert compare.same(ours, theirs), compare.first_difference(ours, theirs)


@pytest.mark.parametrize("query, reason", [
    ("SELECT * FROM g AS a PASTE JOIN g AS b", "PASTE JOIN needs an order"),
    ("SELECT * FROM g FINAL", "FINAL"),
    ("SELECT k FROM g WHERE i256 < u8", "256 bits"),
    ("SELECT e > 'zz' FROM g", "zz"),
    ("SELECT toIntervalDay(3)", "interval"),
])
def test_refusals_tell_why(tambour, table, query, reason):
    done = tambour.call("sql", f"g={table}", "--format", "tsv", query)
    message = done.stderr.decode()
    assert done.returncode != 0
    assert reason.lower() in message.lower()
    assert not any(word in message for word in ("sqltorel", "Please help", "DataFusion", "panicked")), message
