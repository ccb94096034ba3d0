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
