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
    ("SELECT [toIntervalDay(3)]", "interval"),
])
def test_refusals_tell_why(tambour, table, query, reason):
    done = tambour.call("sql", f"g={table}", "--format", "tsv", query)
    message = done.stderr.decode()
    assert done.returncode != 0
    assert reason.lower() in message.lower()
    assert not any(word in message for word in ("sqltorel", "Please help", "DataFusion", "panicked")), message


# Values of types that were lost on the way, or taken for others.
@pytest.mark.parametrize("query", [
    "SELECT arrayMap(x -> x, [toIPv4('1.2.3.4'), NULL]), arrayMap(x -> (x, 1), [toIPv6('::1')]), arrayMap(x -> [x], [toInt256('5')])",
    "SELECT arrayMap(x -> x.2, [('a', toIPv4('1.2.3.4'))]), arrayMap(x -> x, [toDateTime64('2020-01-01 00:00:00', 1, 'UTC')]), arrayMap((x, y) -> y, [1], [toFixedString('a', 3)])",
    "SELECT arrayMap(x -> arrayMap(y -> y, [x]), [toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0')]), arrayFilter(x -> x > toIPv4('1.2.3.4'), [toIPv4('1.2.3.5')])",
    "SELECT nullIf(number = 1, false), NULLIF(number = 1, number = 2), nullIf(true, number = 1), nullIf(number > 0 AND number < 2, 0) FROM numbers(3)",
    "SELECT greatest(b, b), least(b, b, b), greatest(n, n), least(b, n) FROM (SELECT number::Bool AS b, toNullable(number = 1)::Nullable(Bool) AS n FROM numbers(2))",
    "SELECT quantiles(0.5, 0.9)(number), quantilesExact(0.5)(number), quantiles(0.5)(toDate(number)), quantilesTiming(0.5)(number), quantiles(0.1)(toNullable(number)) FROM numbers(0)",
    "SELECT number % 2 AS k, quantilesIf(0.5)(number, number % 2 = 0), quantilesExactLow(0.2, 0.8)(number) FROM numbers(5) GROUP BY k ORDER BY k",
    "SELECT quantileExactLow(0.5)(number), quantileExactHigh(0.5)(toInt8(number)) FROM numbers(0) SETTINGS aggregate_functions_null_for_empty = 0",
    "SELECT toString(1) AS k, number % 2 AS a, count() FROM numbers(4) GROUP BY k, a WITH CUBE ORDER BY k, a, count()",
    "SELECT toTypeName((SELECT 1)), toTypeName((SELECT (1, 'a'))), toTypeName((SELECT 1) + 1), toTypeName((SELECT [1])), toTypeName(toNullable(1) + 1), toTypeName(ifNull(NULL, 5)) FROM numbers(1)",
    "SELECT toTypeName(toDate(number) - toDate(1)), isConstant(arrayJoin([NULL]) AND 1), isConstant(number + 1), isConstant(isNull(arrayJoin([NULL]))) FROM numbers(1)",
    "SELECT toTypeName(sum(toDecimal32(number, 2))), toTypeName(sum(toDecimal128(number, 4))) FROM numbers(1) SETTINGS aggregate_functions_null_for_empty = 0",
    "SELECT 0x1F::String, 0b11::String, -1::String, 0x1F + 1, - 1::String",
    "SELECT toTypeName(x), x FROM (SELECT 4294967296 AS x UNION ALL SELECT -1) ORDER BY x",
    "SELECT toTypeName(x) FROM (SELECT -1 AS x UNION ALL SELECT 18446744073709551615)",
    "SELECT number / 2 AS x FROM numbers(2) UNION ALL SELECT number FROM numbers(2)",
    "SELECT [] AS a, [[]] AS b FORMAT TSVWithNamesAndTypes",
    "SELECT intDivOrZero(CAST('-170141183460469231731687303715884105728', 'Int128'), toInt128(-1))",
    "SELECT n, sum(n) OVER w, count() OVER (w ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), max(n) OVER (w) FROM (SELECT number AS n, number % 2 AS g FROM numbers(5)) WINDOW w AS (PARTITION BY g ORDER BY n)",
    "SELECT n, sum(n) OVER v, sum(n) OVER (w ORDER BY n) FROM (SELECT number AS n, number % 2 AS g FROM numbers(5)) WINDOW w AS (PARTITION BY g), v AS (w ORDER BY n DESC)",
    "SELECT n, groupArray(n) OVER (ORDER BY (n, 'a') RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM (SELECT number AS n FROM numbers(3))",
    "SELECT count() OVER (ORDER BY toUUID(concat('61f0c404-5cb3-11e7-907b-a6006ad3dba', toString(number % 2))) RANGE BETWEEN CURRENT ROW AND CURRENT ROW) FROM numbers(3)",
    "SELECT median(d), toTypeName(quantileExact(0.3)(d)), toTypeName(arrayMap(x -> [x], [toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0')])) FROM (SELECT toDate(number) AS d FROM numbers(5)) SETTINGS aggregate_functions_null_for_empty = 0",
    "SELECT id FROM (SELECT number AS id, number AS k FROM numbers(6)) WHERE k IN (SELECT k FROM (SELECT number AS k FROM numbers(3)) WHERE k > 0) AND id NOT IN (SELECT max(k) AS k FROM (SELECT number AS k FROM numbers(3)))",
    "SELECT toTypeName([(number, NULL), NULL]), toTypeName(toDecimal32(number, 2) * toInt8(number) - 1), number / toIPv4('1.2.3.4') FROM numbers(2)",
    "EXISTS VIEW system.one",
    "EXISTS DICTIONARY nosuch",
])
def test_types_are_kept(server, tambour, query):
    ours = tambour.run("sql", "--format", "TabSeparated", query)
    assert sorted(ours.splitlines()) == sorted(server.run(query).splitlines())


@pytest.mark.parametrize("order", ["n", "n DESC"])
@pytest.mark.parametrize("values", ["number", "toUInt8(number + 251)", "toInt8(number - 128)", "number + 18446744073709551611", "toInt64(number) - 9223372036854775808", "toDate(number)", "toDateTime(number, 'UTC')"])
def test_frames_of_values_end_where_their_type_ends(server, tambour, values, order):
    frames = ["UNBOUNDED PRECEDING AND 2 PRECEDING", "2 PRECEDING AND 1 PRECEDING", "1 FOLLOWING AND 2 FOLLOWING", "1 PRECEDING AND 3 FOLLOWING"]
    calls = ", ".join(f"groupArray(n) OVER (ORDER BY {order} RANGE BETWEEN {frame})" for frame in frames)
    query = f"SELECT n, {calls} FROM (SELECT {values} AS n FROM numbers(5)) ORDER BY n"
    assert tambour.run("sql", "--format", "TabSeparated", query) == server.run(query)


# ClickHouse refuses some of these, too; it computes others in ways of its own.
@pytest.mark.parametrize("query, reason", [
    ("SELECT if(number = 1, [map('a', 1)], [map('b', NULL)]) FROM numbers(2)", "no common type"),
    ("SELECT (-1)::Int8", "text of the literal"),
    ("SELECT ('5')::UInt8", "text of the literal"),
    ("SELECT - 1::Int8", "- 1"),
    ("SELECT 0x10::UInt8", "0x10"),
    ("SELECT intDiv(toInt128('-170141183460469231731687303715884105728'), toInt128(-1))", "least number by -1"),
    ("SELECT modulo(toInt128('-170141183460469231731687303715884105728'), toInt128(-1))", "least number by -1"),
    ("SELECT number / 2 AS x FROM numbers(2) UNION DISTINCT SELECT number FROM numbers(2)", "no common one"),
    ("SELECT x, count() FROM (SELECT 1 AS x UNION ALL SELECT '1') GROUP BY x", "no common one"),
    ("SELECT number FROM numbers(1) UNION ALL SELECT [NULL]", "different types"),
    ("SELECT isConstant(number OR 1) FROM numbers(1)", "isConstant"),
    ("SELECT if(number = 1, toIPv4('1.2.3.4'), toString(number)) FROM numbers(2)", "no common type"),
    ("SELECT [toIPv4('1.2.3.4'), 5]", "no common type"),
    ("SELECT toString(number) IN (1.0, 2.5) FROM numbers(3)", "floats"),
    ("SELECT lagInFrame(number) OVER (ORDER BY number ROWS BETWEEN 2 PRECEDING AND 2 PRECEDING) FROM numbers(3)", "lagInFrame"),
    ("SELECT leadInFrame(number) OVER (ORDER BY number ROWS BETWEEN 2 FOLLOWING AND UNBOUNDED FOLLOWING) FROM numbers(3)", "leadInFrame"),
    ("SELECT sum(number) OVER (nosuch ORDER BY number) FROM numbers(3)", "no window of that name"),
    ("SELECT sum(number) OVER (w ORDER BY number) FROM numbers(3) WINDOW w AS (ORDER BY number)", "ORDER BY"),
    ("SELECT x.a, sum(arrayJoin([1, 2])) FROM (SELECT 1 AS a) AS x JOIN (SELECT 1 AS a) AS y ON x.a = y.a GROUP BY x.a", "arrayJoin"),
    ("SELECT x FROM (SELECT 'b' AS x) ORDER BY x COLLATE 'en'", "COLLATE"),
    ("SHOW TABLES FROM nosuch", "no database nosuch"),
    ("SHOW FULL TABLES FROM nosuch LIKE 'a'", "no database nosuch"),
])
def test_what_would_be_another_answer_is_refused(tambour, query, reason):
    done = tambour.call("sql", "--format", "tsv", query)
    message = done.stderr.decode()
    assert done.returncode != 0, done.stdout
    assert reason.lower() in message.lower()
    assert not any(word in message for word in ("Unnest", "List(", "non-null", "Utf8")), message
