"""Clauses of SELECT that pick rows by place: ends of a result, samples, sides that are pasted, tables in memory."""

import random

import compare
import pytest
from conftest import parts_of
from engines import run_script

ROWS = [
    # Rows from the end, and parts of all rows.
    "SELECT k, e FROM g ORDER BY k LIMIT -3",
    "SELECT k FROM g ORDER BY k LIMIT -3 OFFSET -2",
    "SELECT k FROM g ORDER BY k OFFSET -4",
    "SELECT k FROM g ORDER BY k LIMIT 0.25",
    "SELECT k FROM g ORDER BY k LIMIT 0.5 OFFSET 0.25",
    "SELECT k FROM g ORDER BY lc, k LIMIT -1 BY lc",
    "SELECT number FROM numbers(10) LIMIT -2",
    "SELECT number FROM numbers(70) ORDER BY number LIMIT 0.1",
    "SELECT number FROM numbers(10) ORDER BY number LIMIT 0.7",
    "SELECT number FROM numbers(7) ORDER BY number LIMIT 0.3 OFFSET 0.29",
    # Sides beside each other, as far as the shorter one goes.
    "SELECT * FROM (SELECT k FROM g ORDER BY k) AS a PASTE JOIN (SELECT k AS l, lc FROM g ORDER BY k DESC) AS b",
    "SELECT * FROM (SELECT k FROM g ORDER BY k) AS a PASTE JOIN numbers(3) AS b",
    # What a column is stored as beside its values.
    "SELECT k, ns.null, g.ns.null FROM g ORDER BY k",
    "SELECT countIf(ns.null), sum(ai.size0) FROM g GROUP BY ns.null ORDER BY ns.null",
    # Tuples in sets of queries as values.
    "SELECT k, (k, lc) IN (SELECT k, lc FROM g WHERE k < 5) FROM g ORDER BY k",
    "SELECT countIf((k % 3, 1) NOT IN (SELECT k, 1 FROM g WHERE k < 2)) FROM g",
    "SELECT x, y FROM (SELECT 1 AS x, 'a' AS y) WHERE (x, y) IN (SELECT 1, 'a')",
    "SELECT x FROM (SELECT 300 AS x, [1] AS y) AS o WHERE EXISTS (SELECT 1 FROM (SELECT 300 AS z, [1] AS w) AS i WHERE i.z = o.x AND i.w = o.y)",
]


@pytest.fixture(scope="module")
def table(server):
    return compare.create(server.session)


@pytest.mark.parametrize("query", ROWS)
def test_rows_by_place(server, tambour, table, query):
    theirs = server.run(query.replace(" FROM g", " FROM compared.g"))
    ours = tambour.run("sql", f"g={table}", "--format", "tsv", "--no-header", query)
    assert theirs
    assert compare.same(ours, theirs), compare.first_difference(ours, theirs)


@pytest.fixture(scope="module")
def sampled(server, tambour, tmp_path_factory):
    """A table with SAMPLE BY, written by us and attached by the server."""
    path = tmp_path_factory.mktemp("sampled")
    create = "CREATE TABLE {} (k UInt32, h UInt64) ENGINE = MergeTree ORDER BY (k, h) SAMPLE BY h"
    rows = server.session.query(
        "SELECT toUInt32(number % 50) AS k, cityHash64(number) AS h FROM numbers(20000)", "Parquet").bytes()
    (path / "rows.parquet").write_bytes(rows)
    tambour.run("import", path / "rows.parquet", "--into", path / "sampled", "--create", create.format("sampled"))
    server.run("DROP TABLE IF EXISTS default.sampled SYNC")
    server.run(create.format("default.sampled"))
    server.attach("default", "sampled", parts_of(path / "sampled"))
    return path / "sampled"


@pytest.mark.parametrize("sample", ["SAMPLE 0.1", "SAMPLE 1/3", "SAMPLE 1/10 OFFSET 1/2", "SAMPLE 0.3 OFFSET 0.9", "SAMPLE 1"])
def test_samples(server, tambour, sampled, sample):
    query = f"SELECT count(), sum(k), min(h), max(h) FROM {{}} {sample}"
    assert tambour.rows(sampled, query.format("sampled")) == server.rows(query.format("default.sampled"))


def test_a_table_without_sample_by_has_no_samples(tambour, table):
    done = tambour.call("sql", f"g={table}", "SELECT count() FROM g SAMPLE 0.1")
    assert done.returncode != 0
    assert b"SAMPLE BY" in done.stderr


def test_temporary_tables_live_as_long_as_the_call(tambour, table):
    calls = ["-c", "CREATE TEMPORARY TABLE few AS SELECT k FROM g WHERE k < 3",
             "-c", "CREATE OR REPLACE TEMPORARY TABLE more AS SELECT k FROM few UNION ALL SELECT 100",
             "-c", "SELECT count(), max(k) FROM more", "-c", "DROP TABLE few"]
    told = tambour.run("sql", f"g={table}", "--format", "tsv", "--no-header", *calls)
    assert told.split() == ["4", "100"]
    done = tambour.call("sql", f"g={table}", "SELECT k FROM few")
    assert done.returncode != 0


def clause(chance):
    """A query whose clauses use what results are called, EXISTS, view, WITH below a statement, HAVING without groups, or map()."""
    number = chance.randrange
    left, right = (f"(SELECT toInt64(number) - {number(3)} AS {name}, if(number % {number(2, 5)} = 0, NULL, toInt64(number)) AS {name}n FROM numbers({number(12)}))"
                   for name in "xy")
    value = chance.choice(["x + 1", "x * 2", "xn", "x % 3", "coalesce(xn, -1)", f"if(x > {number(6)}, x, NULL)"])
    kind = chance.choice(["JOIN", "LEFT JOIN", "SEMI JOIN", "ANTI JOIN"])
    condition = chance.choice(["x > 2", "xn IS NULL", "xn != 3", f"x % 2 = {number(2)} OR xn > 4", "NOT (xn < 5)"])
    negated = chance.choice(["", "NOT "])
    within = chance.choice(["y = x", "y = x AND yn > 1", "yn = xn", "y > 3"])
    settings = " SETTINGS join_use_nulls = 1"
    return chance.choice([
        f"SELECT {value} AS v, x FROM {left} AS a {kind} {right} AS b ON v = y ORDER BY x, v{settings}",
        f"SELECT {value} AS v, count() FROM {left} AS a JOIN {right} AS b ON v = y AND y >= {number(4)} GROUP BY v ORDER BY v",
        f"SELECT x, {value} AS v FROM {left} WHERE x < {number(14)} HAVING {condition} ORDER BY x",
        f"SELECT x, row_number() OVER (ORDER BY x) FROM {left} HAVING {condition} ORDER BY x",
        f"SELECT {negated}EXISTS(SELECT y FROM {right} WHERE yn > {number(12)}), {negated}EXISTS(SELECT count() FROM {right})",
        f"SELECT {negated}EXISTS(SELECT y FROM {right} GROUP BY y HAVING y > {number(9)} LIMIT {number(1, 3)})",
        f"SELECT x, {negated}EXISTS(SELECT 1 FROM {right} AS b WHERE {within}) FROM {left} AS a ORDER BY x",
        f"SELECT v, x FROM (WITH {number(5)} AS k, [k, {number(9)}] AS l SELECT x, {value} AS v, l[1] + k AS w FROM {left}) ORDER BY x",
        f"SELECT x IN (WITH {number(5)} AS k SELECT y + k FROM {right}), x FROM {left} ORDER BY x",
        f"SELECT * FROM view(SELECT x, {value} AS v FROM {left} WHERE {condition}) AS w WHERE w.x < {number(12)} ORDER BY x",
        f"SELECT map('a', {value}, 'b', x) AS m, m['a'], m['c'], toTypeName(map(x, xn)), toTypeName(map('k', x + 1)) FROM {left} ORDER BY x",
        f"SELECT x, isNullable({value}), isConstant({value}), isConstant({number(3)}) FROM {left} ORDER BY x",
    ])


@pytest.mark.parametrize("seed", range(4))
def test_clauses_by_chance(server, tambour, seed):
    chance = random.Random(seed)
    for _ in range(60):
        query = clause(chance)
        theirs = server.run(query)
        ours = tambour.run("sql", "--format", "tsv", "--no-header", query)
        assert ours == theirs, f"{query}\n{ours}\n{theirs}"


@pytest.mark.parametrize("seed", range(3))
def test_columns_of_the_rows_of_a_limit(server, tambour, tmp_path, seed):
    """Some rows of a table in three parts, two of which are the same, with columns that the order does not need."""
    chance = random.Random(seed)
    create = "CREATE TABLE {} (k UInt32, i Int64, n Nullable(Int16), s String, lc LowCardinality(Nullable(String)), e Enum8('a' = 1, 'b' = -2), " \
             "f Float64, d Decimal(12, 3), t DateTime64(3, 'UTC'), a Array(Nullable(String)), m Map(String, UInt8), u UUID) " \
             "ENGINE = MergeTree ORDER BY " + chance.choice(["k", "(e, s)", "tuple()"]) + " SETTINGS index_granularity = 16"
    select = "SELECT toUInt32(number + {0}) AS k, cityHash64(number)::Int64 % 50 AS i, if(number % 5 = 0, NULL, number % 70)::Nullable(Int16) AS n, " \
             "repeat('x', number % 20) AS s, if(number % 7 = 0, NULL, toString(number % 9)) AS lc, if(number % 3 = 0, 'a', 'b') AS e, " \
             "if(number % 11 = 0, nan, number / 8 - 30) AS f, toDecimal64(number * 1.5, 3) AS d, toDateTime64(number * 1000.5, 3, 'UTC') AS t, " \
             "[toString(number), NULL] AS a, map('x', number % 5) AS m, reinterpretAsUUID(sipHash128(number)) AS u FROM numbers(900)"
    for at, first in enumerate([0, 1000, 1000]):
        rows = tmp_path / f"{at}.parquet"
        rows.write_bytes(server.session.query(select.format(first), "Parquet").bytes())
        more = ["--append"] if at else ["--create", create.format("late")]
        tambour.run("import", rows, "--into", tmp_path / "late", *more)
    server.run("DROP TABLE IF EXISTS default.late SYNC")
    server.run(create.format("default.late"))
    server.attach("default", "late", parts_of(tmp_path / "late"))
    for _ in range(40):
        keys = [f"{key}{chance.choice(['', ' DESC'])}{chance.choice(['', '', ' NULLS FIRST'])}" for key in chance.sample("insefdtu", chance.randrange(1, 4))]
        where = chance.choice(["", " WHERE i > 20", " WHERE s LIKE '%xxx%'", " WHERE lc = '3' AND n IS NOT NULL", " WHERE k % 2 = 0"])
        results = chance.choice(["*", "u, a, toInt8(e), k", "upper(s) AS x, m, lc, k, n", "m['x'], length(s), t, d, k"])
        query = f"SELECT {results} FROM {{}}{where} ORDER BY {', '.join(keys)}, k LIMIT {chance.randrange(1, 12)}"
        # With that filter ClickHouse 26.9 loses rows whose first key is NaN.
        theirs = server.rows(query.format("default.late") + " SETTINGS use_top_k_dynamic_filtering = 0")
        assert tambour.rows(tmp_path / "late", query.format("late")) == theirs, query


WRITTEN = ["0", "-0", "1.0", "1.5", "-1.5", "1e3", "1e30", "0x10", "'7'", "'-7'", "'300'", "'1.5'", "'abc'", "''", "' 1'", "'+1'", "'007'", "'1e3'", "NULL", "true", "nan", "inf"]


def test_values_of_integer_columns(server, tambour):
    """What `values` takes into a column of integers, and what it refuses: numbers around the ends of all types, texts, others."""
    ends = [str(sign * 2**bits + more) for bits in (7, 8, 15, 16, 31, 32, 63, 64) for sign in (-1, 1) for more in (-1, 0)]
    names = [f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)]
    types = [form.format(name) for name in names for form in ("{}", "Nullable({})", "Nullable( {} )")]
    statements = [f"SELECT a FROM values('a {kind}', ({value}), (1))" for kind in types for value in ends + WRITTEN]
    different = []
    for at in range(0, len(statements), 50):
        asked = statements[at:at + 50]
        for statement, ours in zip(asked, run_script(tambour, [], asked)[0]):
            try:
                wanted = server.run(statement)
            except RuntimeError:
                wanted = ""  # ClickHouse refuses it, and so do we.
            if ours != wanted:
                different.append((statement, ours, wanted))
    assert not different, f"{len(different)} of {len(statements)} differ: {different[:20]}"


def test_zeros_of_distinct_that_is_sorted(server, tambour):
    """ClickHouse compares neighbours once they are sorted: 0 and -0 are one value in the leading keys, and two in other columns."""
    chance = random.Random(9)
    statements = []
    for _ in range(60):
        rows = [[chance.choice(["0", "-0.", "1", "nan", "NULL"]), chance.choice(["0", "-0.", "1.5"]), chance.choice("01")] for _ in range(9)]
        values = ", ".join(f"({', '.join(row)})" for row in rows)
        results = chance.sample(["x", "y", "z", "abs(y)"], chance.randrange(1, 5))
        keys = [f"{key}{chance.choice(['', ' DESC'])}" for key in chance.sample(results, chance.randrange(1, len(results) + 1))]
        source = f"FROM values('x Nullable(Float64), y Float32, z UInt8', {values})"
        statements.append(f"SELECT DISTINCT {', '.join(results)} {source} ORDER BY {', '.join(keys)}")
    def rows(text):
        # Rows with equal keys are in any order, and which zero of them is left is open.
        return sorted(["0" if cell == "-0" else cell for cell in row.split("\t")] for row in text.splitlines())

    for statement, ours in zip(statements, run_script(tambour, [], statements)[0]):
        assert rows(ours) == rows(server.run(statement)), statement


def test_decimals_in_sets(server, tambour):
    """ClickHouse cuts a float of a set off at the digits of the decimals: 0.29 is 0.28, and in no set of two digits."""
    chance = random.Random(11)
    statements = []
    for _ in range(60):
        scale = chance.choice([0, 1, 2, 4, 20])
        kinds = [f"Decimal(38, {scale})", f"Decimal(76, {scale})"]
        if scale < 9:
            kinds += [f"Decimal(9, {scale})", f"Decimal(18, {scale})", f"Nullable(Decimal(12, {scale}))"]
        kind = chance.choice(kinds)
        numbers = [f"{chance.choice(['', '-'])}{chance.randrange(10 ** chance.randrange(1, 5))}.{chance.randrange(1000):03}"[:-chance.randrange(1, 4)] for _ in range(12)]
        numbers = [number.rstrip(".") for number in numbers]
        values = ", ".join(f"('{number}')" for number in numbers)
        listed = ", ".join(chance.choice([number, f"{number}e0", f"'{number}'", f"{number} + 0.5"]) for number in chance.sample(numbers, chance.randrange(1, 6)))
        form = chance.choice(["d IN ({})", "d NOT IN ({})", "d IN (SELECT arrayJoin([{}]))"]).format(listed)
        if "SELECT" in form:
            form = form.replace("'", "") + " AND 1"
        statements.append(f"SELECT d, {form} FROM values('d {kind}', {values})")
    different, compared = [], 0
    for statement, ours in zip(statements, run_script(tambour, [], statements)[0]):
        try:
            wanted = server.run(statement)
        except RuntimeError:
            continue
        compared += 1
        if ours != wanted:
            different.append((statement, ours, wanted))
    assert not different, f"{len(different)} of {len(statements)} differ: {different[:3]}"
    assert compared >= 40, f"{compared} of {len(statements)} were compared"


NULL_BESIDE = ["toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0')", "toIPv4('1.2.3.4')", "toIPv6('::1')", "toInt256(1)", "toUInt256(1)", "toInt128(1)",
               "CAST('a' AS Enum8('a' = 1))", "toDate('2020-01-01')", "1.5", "'a'", "toFixedString('a', 2)", "toDecimal64(1, 2)", "true"]


def test_comparisons_with_null(server, tambour):
    statements = [f"SELECT {value} {sign} NULL, NULL {sign} {value}, {value} BETWEEN NULL AND {value}" for value in NULL_BESIDE for sign in ("=", "!=", "<", ">=")]
    for statement, ours in zip(statements, run_script(tambour, [], statements)[0]):
        assert ours == server.run(statement), statement


STARRED = [
    "SELECT *, number + 1 AS number FROM numbers(3)", "SELECT number * 2 AS number, * FROM numbers(3) ORDER BY number DESC", "SELECT t.*, -number AS number FROM numbers(5) AS t WHERE number < -2",
    "SELECT *, a + b AS a FROM t ORDER BY a, b", "SELECT *, a + b AS a, a * 2 AS c FROM t WHERE a > 3 ORDER BY a DESC, b", "SELECT *, toString(a) AS s FROM t ORDER BY a, s DESC",
    "SELECT *, lower(s) AS s FROM t WHERE s = 'x' ORDER BY b", "SELECT l.*, u.b + 1 AS b FROM t AS l JOIN t AS u ON l.a = u.b ORDER BY l.a, b, l.s", "SELECT *, max(b) OVER (PARTITION BY a) AS b FROM t ORDER BY a, b, t.b",
    "SELECT *, arrayMap(a -> a + 1, [a]) AS a FROM t ORDER BY b, s LIMIT 3", "SELECT *, b % 2 AS b, count() OVER w FROM t WINDOW w AS (PARTITION BY b) ORDER BY t.b", "SELECT *, a + 1 AS a, b + 1 AS b FROM t ORDER BY a + b, a, s",
]


def test_a_result_called_like_a_column_of_all(server, tambour):
    """Beside an asterisk, a name is the expression in all other clauses, and the column inside of its own."""
    rows = "(SELECT toInt64(number % 3) AS a, toInt64(number) AS b, ['X', 'y', 'x'][number % 2 + 1] AS s FROM numbers(9))"
    statements = [f"{'' if 'numbers' in query else f'WITH t AS {rows} '}{query}" for query in STARRED]
    for statement, ours in zip(statements, run_script(tambour, [], statements)[0]):
        assert ours == server.run(statement), statement
    # What it would get wrong is refused.
    for query in ["SELECT *, a % 2 AS a FROM t ORDER BY s LIMIT 1 BY a", "SELECT *, a * 2 AS a FROM t ORDER BY a WITH FILL TO 12", "SELECT COLUMNS('a'), a + 1 AS a FROM t"]:
        assert tambour.call("sql", f"WITH t AS {rows} {query}").returncode != 0, query


def test_sums_of_wide_integers(server, tambour):
    """Of 256 bits they wrap around; in groups, windows and of no rows, beside NULLs."""
    chance = random.Random(13)
    statements = []
    for kind in ["UInt256", "Int256", "Nullable(UInt256)", "Nullable(Int256)"] * 6:
        least, most = (0, 2**256 - 1) if "U" in kind else (-(2**255), 2**255 - 1)
        numbers = [chance.choice(["NULL", "0", str(most), str(least), str(chance.randrange(least, most)), str(chance.randrange(99))]) for _ in range(20)]
        values = ", ".join(f"({chance.randrange(4)}, {'0' if number == 'NULL' and 'Null' not in kind else repr(number) if number != 'NULL' else number})" for number in numbers)
        source = f"FROM values('k UInt8, x {kind}', {values})"
        statements += [
            f"SELECT k, sum(x), sumOrDefaultIf(x, k > 1), sum(DISTINCT x) {source} GROUP BY k ORDER BY k",
            f"SELECT sum(x), sumOrDefaultIf(x, k > 7), sumOrNullIf(x, k > 7), sumOrNull(x), count(x) {source}",
            f"SELECT k, sum(x) OVER (ORDER BY k), sum(x) OVER (PARTITION BY k % 2) {source} ORDER BY k, 2",
            f"SELECT k, sum(x) {source} GROUP BY k WITH TOTALS ORDER BY k",
        ]
    for statement, ours in zip(statements, run_script(tambour, [], statements)[0]):
        assert ours == server.run(statement), statement


SUMMED = [
    "sum({x}) > 100, sum({x}) / 4, sum({x}) + 1, -sum({x}), hex(sum({x})), toString(sum({x})), sum({x}) = sum({x})", "sum(if(k = 1, {x}, {zero})), sum(if(k = 1, {x}, NULL)), sum(CASE WHEN k = 1 THEN {x} END)",
    "sum(multiIf(k = 1, {x}, k = 2, {zero}, {x})), sum({x} * 2), sum({x} - 1), sum(abs({x}))",
]


@pytest.mark.parametrize("kind", ["Int128", "UInt128", "Int256", "UInt256"])
def test_what_is_written_around_sums_of_wide_integers(server, tambour, kind):
    source = "FROM (SELECT number % 3 AS k, number * number * 1000003 AS n FROM numbers(50))"
    columns = [results.format(x=f"to{kind}(n)", zero=f"to{kind}(0)") for results in SUMMED]
    statements = [f"SELECT {it} {source}" for it in columns] + [f"SELECT k, {it} {source} GROUP BY k ORDER BY k" for it in columns]
    for inner in [f"max(to{kind}(n))", f"sum(to{kind}(n))", f"groupArray(to{kind}(n))[1]"]:
        made = f"FROM (SELECT k, {inner} AS x {source} GROUP BY k)"
        statements += [f"SELECT sum(x), avg(x), count(x) {made}", f"SELECT k, x, sum(x) OVER (ORDER BY k) {made} ORDER BY k"]
    statements += [f"SELECT sum(x) FROM (SELECT arrayJoin([to{kind}(1), to{kind}(7)]) AS x)", f"SELECT k, sum(to{kind}(n)) AS s {source} GROUP BY k HAVING s > 9 ORDER BY s DESC LIMIT 2"]
    for statement, ours in zip(statements, run_script(tambour, [], statements)[0]):
        assert ours == server.run(statement), statement


def test_maps_of_two_arrays(server, tambour):
    source = "FROM (SELECT number % 3 AS k, toString(number) AS s, if(number % 4, number, NULL) AS n FROM numbers(20))"
    statements = [
        f"SELECT k, CAST((groupArray(s), groupArray(n * 2)), 'Map(String, {value})'), CAST((arrayMap(x -> toUInt8(x), groupArray(s)), groupArray(s)), 'Map({key}, String)') {source} WHERE n > 0 GROUP BY k ORDER BY k"
        for key in ["UInt16", "Int64", "String", "LowCardinality(String)"] for value in ["UInt64", "Float64", "Nullable(Int32)", "String"]
    ]
    for statement, ours in zip(statements, run_script(tambour, [], statements)[0]):
        assert ours == server.run(statement), statement
    failed = tambour.call("sql", "SELECT CAST(([1, 2], ['a']), 'Map(UInt8, String)')")
    assert b"there are 2 keys and 1 values" in failed.stderr


def test_subqueries_of_joins_without_a_name(server, tambour):
    """With the setting that lets ClickHouse take them; there is none here."""
    left, right = "(SELECT number AS k, number * 2 AS x FROM numbers(6))", "(SELECT intDiv(number, 2) * 2 AS k, toString(number) AS s FROM numbers(7))"
    end = "ORDER BY ALL SETTINGS join_use_nulls = 0"
    statements = [f"SELECT {results} FROM {left} {join} JOIN {right} USING {keys} {end}" for join in ["", "LEFT", "RIGHT", "FULL"] for results, keys in [("k, x, s", "k"), ("*", "(k)"), ("x", "k")]]
    statements += [f"SELECT k, x, empty(s) FROM {left} ANY LEFT JOIN {right} USING k {end}", f"SELECT k, s FROM {left} ANY RIGHT JOIN {right} USING k {end}"]
    statements += [
        f"SELECT a.k, x FROM {left} AS a LEFT SEMI JOIN {right} USING k ORDER BY ALL", f"SELECT x FROM {left} ANTI LEFT JOIN {right} USING k ORDER BY ALL",
"SELECT x.*, b FROM (SELECT 1 AS a) AS x, (SELECT 2 AS b)",
        "SELECT value FROM system.one ANY LEFT JOIN (SELECT dummy, dummy AS value FROM system.one) AS r USING dummy GROUP BY value", "SELECT * FROM (SELECT 1 AS a, 2 AS b) JOIN (SELECT 1 AS a, 3 AS b) AS y USING a",
    ]
    for statement, ours in zip(statements, run_script(tambour, [], statements)[0]):
        settings = "," if "SETTINGS" in statement else " SETTINGS"
        assert ours == server.run(f"{statement}{settings} joined_subquery_requires_alias = 0"), statement


JOINED_ARRAYS = [
    "SELECT s, a, b FROM t ARRAY JOIN a, b", "SELECT s, b FROM t ARRAY JOIN b, a ORDER BY ALL", "SELECT * FROM t ARRAY JOIN a, b ORDER BY ALL", "SELECT s, n.x, n.y FROM t ARRAY JOIN n.x, n.y", "SELECT s, x, n.y FROM t ARRAY JOIN n.x AS x, n.y",
    "SELECT s, n.x, a FROM t ARRAY JOIN n, a ORDER BY ALL", "SELECT s, a, b FROM t LEFT ARRAY JOIN a, b ORDER BY ALL", "SELECT s, sum(a), sum(n.y) FROM t LEFT ARRAY JOIN a, n.y GROUP BY s ORDER BY s", "SELECT a, i, c FROM t ARRAY JOIN a, arrayEnumerate(a) AS i, arrayMap(v -> v + i, b) AS c",
    "SELECT s, a, b, x FROM t ARRAY JOIN a, b ARRAY JOIN n.x AS x WHERE a > 1 ORDER BY ALL", "SELECT t.s, a FROM t ARRAY JOIN a, b WHERE b = 20 AND s != 'c'",
]


def test_several_arrays_that_keep_their_names(server, tambour, tmp_path):
    create = "CREATE TABLE t (s String, a Array(UInt8), b Array(UInt32), n Nested(x UInt16, y Nullable(Int8))) ENGINE = MergeTree ORDER BY s"
    rows = "INSERT INTO t VALUES ('a', [1, 2], [10, 20], [5, 6], [7, NULL]), ('b', [3], [30], [8], [9]), ('c', [], [], [], [])"
    server.run("CREATE DATABASE arrays_by_name")
    for statement in [create, rows]:
        server.run(statement.replace(" t ", " arrays_by_name.t ", 1))
        tambour.run("sql", "--database", tmp_path, "--write", statement)
    for query in JOINED_ARRAYS:
        query = query.replace(", arrayMap(v -> v + i, b) AS c", ", arrayMap(v -> v + 1, b) AS c")
        assert tambour.run("sql", "--database", tmp_path, query) == server.run(query.replace("FROM t", "FROM arrays_by_name.t")), query
    # Nor does the order of rows, or which come first, depend on how many there are.
    for query in ["SELECT number IN (SELECT number FROM system.numbers LIMIT 1, 3) FROM system.numbers LIMIT 5", "SELECT count(), min(number) FROM (SELECT * FROM system.numbers_mt LIMIT 9)"]:
        assert tambour.run("sql", query) == server.run(query), query


def test_an_asterisk_beside_elements(server, tambour):
    rows = "(SELECT 1 AS k, [3, 4] AS a, 5 AS z)"
    statements = [f"SELECT * FROM {rows} ARRAY JOIN {arrays}" for arrays in ["a", "a AS x", "a, [7, 8] AS y", "[1, 2] AS x, a AS y", "arrayMap(v -> v + z, a) AS w"]]
    statements += [f"SELECT *, x FROM {rows} ARRAY JOIN a AS x", f"SELECT * EXCEPT (k), x FROM {rows} LEFT ARRAY JOIN a AS x", f"SELECT t.*, x FROM {rows} AS t ARRAY JOIN a AS x", f"SELECT * FROM (SELECT *, x + 1 AS y FROM {rows} ARRAY JOIN a AS x)"]
    for statement, ours in zip(statements, run_script(tambour, [], statements)[0]):
        assert ours == server.run(statement), statement
    both = ["SELECT x FROM (SELECT *, x FROM {t} ARRAY JOIN a AS x) WHERE x > 3", "SELECT u.* FROM {t} AS t ARRAY JOIN a AS x JOIN (SELECT 1 AS k, 2 AS x) AS u ON t.k = u.k", "WITH q AS (SELECT z, a, k FROM {t}) SELECT * FROM q ARRAY JOIN a, [7, 8] AS y", "SELECT u.*, e FROM {t} AS t ARRAY JOIN a AS e JOIN (SELECT 1 AS k, 9 AS v) AS u ON t.k = u.k"]
    for statement, ours in zip(both, run_script(tambour, [], [it.format(t=rows) for it in both])[0]):
        assert ours == server.run(statement.format(t=rows)), statement
    # Keys that the engine would take from a side without a row.
    joined = "SELECT * FROM numbers(3) LEFT JOIN (SELECT toUInt64(1) AS number, 2 AS b) USING number ORDER BY ALL"
    assert tambour.call("sql", joined).returncode != 0 or tambour.run("sql", joined) == "0\t\\N\n1\t2\n2\t\\N\n"
    # There, the asterisk would have the arrays of a table that has another name then.
    assert b"give the elements another name" in tambour.call("sql", f"SELECT * FROM {rows} ARRAY JOIN a AS a").stderr


def test_arithmetic_of_tuples(server, tambour):
    statements = [
        "SELECT (1, 2) + (3, 4), (1, 2) - (3, 4), (1, 2) * 2, 2 * (1, 2), (1, 2) / 2, (5, 7) % 2", "SELECT (1, 1.0, NULL) / NULL, (1, 2) + NULL, (1, NULL) + (1, 2), (1, NULL) * 2",
        "SELECT tupleMultiply((1, 2), (3, 5)), tupleDivide((6, 4), (2, 2)), (number, number + 5) % 3 FROM numbers(4)",
    ]
    for statement, ours in zip(statements, run_script(tambour, [], statements)[0]):
        assert ours == server.run(statement), statement


def test_nested_that_is_one_column(server, tambour):
    """A table with `flatten_nested = 0`: its columns were taken for those that a server makes of others, and read as empty."""
    server.run("CREATE DATABASE one_column")
    server.run("SET flatten_nested = 0")
    for wide in [0, 10_000_000]:
        name = f"t{wide}"
        server.run(f"CREATE TABLE one_column.{name} (k UInt8, n Nested(id UInt64, `values.id` Array(UInt64)), p Array(Nested(a UInt8, b String))) ENGINE = MergeTree ORDER BY k SETTINGS min_bytes_for_wide_part = {wide}")
        server.run(f"INSERT INTO one_column.{name} VALUES (1, [(1, [1]), (2, [])], [[(1, 'x')], []]), (2, [], [])")
        for query in ["SELECT * FROM t ORDER BY k", "SELECT k, length(n), n[1] FROM t", "SELECT p[1][1].b FROM t WHERE length(p) > 0"]:
            expected = server.run(query.replace("FROM t", f"FROM one_column.{name}"))
            assert tambour.run("sql", f"t={server.directory('one_column', name)}", query) == expected, query
    server.run("SET flatten_nested = 1")


def test_a_name_in_with_is_that_of_the_innermost_query(server, tambour):
    statements = [
        "WITH 1 AS x SELECT *, x FROM (WITH 2 AS x SELECT x AS y)", "WITH 1 AS x SELECT x FROM (WITH 2 AS x SELECT x)", "WITH 1 AS x SELECT x, (WITH 2 AS x SELECT x) AS z", "WITH (SELECT 1) AS x SELECT x, y FROM (WITH (SELECT 5) AS x SELECT x AS y)",
        "WITH 1 AS x, 2 AS y SELECT x, y, z FROM (WITH 3 AS x SELECT x + y AS z)", "WITH 1 AS x SELECT x IN (WITH 1 AS x SELECT x), x IN (WITH 2 AS x SELECT x)", "WITH 7 AS x SELECT a FROM (SELECT a FROM (WITH 8 AS x SELECT x AS a) WHERE x = 7)",
    ]
    for statement, ours in zip(statements, run_script(tambour, [], statements)[0]):
        assert ours == server.run(statement), statement


def test_totals_of_the_groups_that_are_left(server, tambour):
    chance = random.Random(5)
    conditions = ["count() > 3", "k % 2 = 1", "s > 20 AND k != 4", "isNull(k) OR s < 30", "max(n) > 18 OR k = 1", "count() > 99", "s = 0 AND count() = 2", "k IN (1, 2) AND min(n) < 9"]
    statements = []
    for _ in range(40):
        key = chance.choice(["n % 5", "nullIf(n % 4, 2)", "toString(n % 3) || 'x' = '1x'", "intDiv(n, 6)"])
        where = chance.choice(["", "WHERE n > 4", "WHERE k != 3"])
        by = chance.choice(["k", "1", key])
        statements.append(f"SELECT {key} AS k, sum(n) AS s, count(), uniqExact(n % 3) FROM (SELECT number AS n FROM numbers({chance.randrange(9, 30)})) {where} GROUP BY {by} WITH TOTALS HAVING {chance.choice(conditions)} ORDER BY k NULLS FIRST{chance.choice(['', ' LIMIT 2'])} SETTINGS aggregate_functions_null_for_empty = 0")
    rows = "(SELECT number AS n FROM numbers(20))"
    statements += [
        f"SELECT n % 2 AS a, n % 3 AS b, count() FROM {rows} GROUP BY a, b WITH TOTALS HAVING b > 0 AND count() > 3 ORDER BY a, b",
        f"SELECT if(n % 3 = 0, nan, n % 2) AS k, sum(n) AS s, count() AS c FROM {rows} WHERE n > 3 GROUP BY k WITH TOTALS HAVING c % 2 = 1 ORDER BY s",
        f"SELECT if(n % 3 = 0, -0.0, if(n % 3 = 1, 0.0, 1.5)) AS k, sum(n) AS s, count() AS c FROM {rows} WHERE n != 7 GROUP BY k WITH TOTALS HAVING c % 2 = 1 ORDER BY s",
    ]
    for statement, ours in zip(statements, run_script(tambour, [], statements)[0]):
        assert ours == server.run(statement), statement
