"""The queries of the data-type study and of TPC-H return what ClickHouse returns on the same parts."""

import pathlib
import random
import shutil
import subprocess
import sys
from decimal import Decimal

import pytest
from conftest import parts_of

STUDY = """CREATE TABLE {} (digest String, db_server String, db_schema String, db_username String, client_host String,
period_start DateTime, nq_UInt32 UInt32, nq_UInt64 UInt64, nq_Float32 Float32, nq_Float64 Float64)
ENGINE = MergeTree PARTITION BY toYYYYMM(period_start)
ORDER BY (digest, db_server, db_username, db_schema, client_host, period_start)"""

STUDY_ROWS = """SELECT hex(cityHash64(number % 20000, 1)) AS digest, concat('server', toString(cityHash64(number, 2) % 4)) AS db_server,
concat('schema', toString(cityHash64(number, 3) % 5)) AS db_schema, concat('user', toString(cityHash64(number, 4) % 4)) AS db_username,
concat('10.11.12.', toString(cityHash64(number, 5) % 20)) AS client_host,
toDateTime('2019-01-30 14:50:00', 'UTC') + (cityHash64(number, 6) % 4080) * 60 AS period_start,
toUInt32(cityHash64(number, 7) % 1000 + 1) AS nq_UInt32, toUInt64(nq_UInt32) AS nq_UInt64, toFloat32(nq_UInt32) AS nq_Float32,
toFloat64(nq_UInt32) AS nq_Float64 FROM numbers({})"""

Q1 = "SELECT sum(nq_UInt32) FROM {}"
Q2 = "SELECT period_start, sum(nq_UInt32) AS nq FROM {} GROUP BY period_start ORDER BY nq DESC, period_start LIMIT 10"


@pytest.fixture(scope="module")
def study(server, tambour, tmp_path_factory):
    """The study's table, imported by us and attached by the server."""
    path = tmp_path_factory.mktemp("study")
    rows = server.session.query(STUDY_ROWS.format(200000) + " SETTINGS session_timezone = 'UTC'", "Parquet").bytes()
    (path / "rows.parquet").write_bytes(rows)
    tambour.run("import", path / "rows.parquet", "--into", path / "study", "--create", STUDY.format("study"))
    server.run("DROP TABLE IF EXISTS default.study SYNC")
    server.run(STUDY.format("default.study"))
    server.attach("default", "study", parts_of(path / "study"))
    return path / "study"


@pytest.mark.parametrize("sql", [
    Q1, Q2, Q2.replace("nq_UInt32", "nq_UInt64"), "SELECT count() FROM {}", "SELECT count() FROM {} WHERE digest < '8'",
    "SELECT sum(nq_UInt64), min(nq_UInt32), max(nq_UInt32), avg(nq_UInt32) FROM {} WHERE db_server = 'server1'",
    "SELECT toYYYYMM(period_start) AS m, count() FROM {} GROUP BY m ORDER BY m",
    "SELECT db_schema, uniqExact(client_host), count() FROM {} GROUP BY db_schema ORDER BY db_schema",
    "SELECT toStartOfHour(period_start) AS h, sum(nq_UInt32) FROM {} WHERE period_start >= '2019-02-01 00:00:00' GROUP BY h ORDER BY h LIMIT 5",
    "SELECT count() FROM {} WHERE period_start BETWEEN '2019-01-31 12:00:00' AND '2019-01-31 13:00:00'",
    "SELECT digest, sum(nq_UInt32) AS s FROM {} GROUP BY digest ORDER BY s DESC, digest LIMIT 3",
    "SELECT count() FROM {} WHERE digest = (SELECT min(digest) FROM {})",
    "SELECT if(nq_UInt32 > 500, 'high', 'low') AS c, count() FROM {} GROUP BY c ORDER BY c",
])
def test_study(server, tambour, study, sql):
    expected = server.rows(sql.replace("{}", "default.study") + " SETTINGS session_timezone = 'UTC'")
    assert expected
    assert tambour.rows(study, sql.replace("{}", "study")) == expected


def test_count_needs_no_scan(tambour, study):
    plan = tambour.run("sql", study, "--format", "tsv", "EXPLAIN SELECT count() FROM study")
    assert "TambourScanExec" not in plan


TPCH_1 = """SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base_price,
sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price, sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
count() AS count_order FROM {} WHERE l_shipdate <= DATE '1998-09-02'
GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus"""
TPCH_6 = """SELECT sum(l_extendedprice * l_discount) AS revenue FROM {} WHERE l_shipdate >= DATE '1994-01-01'
AND l_shipdate < DATE '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24"""


@pytest.fixture(scope="module")
def lineitem(server, tambour, tmp_path_factory):
    path = tmp_path_factory.mktemp("tpch")
    subprocess.run([pathlib.Path(sys.executable).with_name("tpchgen-cli"), "parquet", "-s", "0.05", "--tables=lineitem",
                    f"--output-dir={path}"], check=True)
    tambour.run("import", path / "lineitem.parquet", "--into", path / "lineitem", "--order-by", "l_shipdate,l_orderkey")
    statement = tambour.run("attach-script", "--sql", path / "lineitem").split(";")[0]
    server.run("DROP TABLE IF EXISTS default.lineitem SYNC")
    server.run(statement)
    server.attach("default", "lineitem", parts_of(path / "lineitem"))
    return path / "lineitem"


@pytest.mark.parametrize("sql", [TPCH_1, TPCH_6], ids=["Q1", "Q6"])
def test_tpch(server, tambour, lineitem, sql):
    """Decimals print with more or fewer trailing zeros: compare them as numbers."""
    expected = [row.split("\t") for row in server.rows(sql.replace("{}", "default.lineitem"))]
    got = [row.split("\t") for row in tambour.rows(lineitem, sql.replace("{}", "lineitem"))]
    assert len(got) == len(expected) > 0
    for ours, theirs in zip(got, expected):
        for a, b in zip(ours, theirs, strict=True):
            assert a == b or Decimal(a) == Decimal(b)


# Operators give the dictionaries of an Enum another order; numbers come by the names.
ENUMS = ["e, toInt8(e), count() FROM {} GROUP BY e ORDER BY e", "toInt8(e) AS i, count() FROM {} GROUP BY i ORDER BY i",
         "lc, e, toInt16(e), count() FROM {} WHERE k % 5 = 0 GROUP BY lc, e ORDER BY lc, e", "sum(toInt8(e)) FROM {} WHERE k % 3 = 1",
         "k, e, toInt8(e) FROM {} WHERE k % 7 = 1 ORDER BY k DESC, toInt8(e) LIMIT 7", "toInt8(max(e)), toInt8(min(e)) FROM {}",
         "a.e, toInt8(a.e), toInt8(b.e), count() FROM {} AS a JOIN {} AS b ON a.k = b.k + 1 GROUP BY a.e, b.e ORDER BY a.e, b.e",
         "DISTINCT e, toInt8(e), toUInt8(e > 0), CAST(e, 'Int32'), toString(e), cityHash64(e) FROM {} ORDER BY e", "toInt8(argMax(e, k)) FROM {} WHERE k < 100",
         "toInt8(x), count() FROM (SELECT e AS x FROM {} WHERE k % 11 = 3 UNION ALL SELECT e FROM {} WHERE k % 13 = 1) GROUP BY 1 ORDER BY 1",
         "arraySort(groupUniqArray(toInt8(e))) FROM {} WHERE k % 3 = 0", "any(toInt8(e)), e FROM {} GROUP BY e ORDER BY e"]


@pytest.mark.parametrize("threads", [1, 2])
def test_numbers_of_enums(server, tambour, database, tmp_path, threads):
    server.run(f"CREATE TABLE {database}.t (k UInt32, e Enum8('x' = -2, 'z' = 0, 'a' = 1, 'b' = 5), lc LowCardinality(String)) "
               "ENGINE = MergeTree ORDER BY k SETTINGS min_bytes_for_wide_part = 0")
    for part in range(3):
        server.run(f"INSERT INTO {database}.t SELECT number + {part * 3000}, ['x', 'z', 'a', 'b'][cityHash64(number, {part}) % 4 + 1], toString(number % 3) FROM numbers(3000)")
    path = tmp_path / "t"
    path.mkdir()
    for part in parts_of(server.directory(database, "t")):
        shutil.copytree(part, path / part.name)
    for sql in ENUMS:
        expected = server.run("SELECT " + sql.replace("{}", f"{database}.t"))
        assert tambour.run("sql", "--threads", threads, path, "SELECT " + sql.replace("{}", "t") + " FORMAT TSV") == expected, sql


ARRAYS = ["arrayJoin(arr)", "arrayJoin(b)", "arrayJoin([1, 2])", "arrayJoin(arrayMap(x -> x + id, arr))", "arrayJoin(range(g))",
          "arrayJoin(arrayEnumerate(b))", "arrayJoin(splitByChar('1', s))", "arrayJoin(arrayMap(x -> [x, x + 1], arr))[1]"]
SELECTS = [
    "SELECT id, {a} AS v FROM t{w} ORDER BY id, toString(v)",
    "SELECT {a} AS v FROM t{w} ORDER BY id DESC, toString(v)",
    "SELECT {a} AS v, count(), sum(id) FROM t{w} GROUP BY v ORDER BY toString(v)",
    "SELECT count({a}), uniqExact({a}), max(toString({a})) FROM t{w}",
    "SELECT g, arraySort(groupArray(toString({a}))) FROM t{w} GROUP BY g ORDER BY g",
    "SELECT id, {a} AS v, {b} AS w FROM t{w} ORDER BY id, toString(v), toString(w)",
    "SELECT DISTINCT {a} AS v FROM t{w} ORDER BY toString(v)",
    "SELECT id, concat(toString({a}), '-', toString({b})) AS v FROM t{w} ORDER BY id, v",
    "SELECT g, {a} AS v, count() FROM t{w} GROUP BY g, v HAVING count() > 1 ORDER BY g, toString(v)",
]
CONDITIONS = ["", " WHERE id > 3", " WHERE toString({a}) <> '1'", " WHERE g = 1 OR toString({b}) = '2'", " PREWHERE id < 9 WHERE toString({a}) > '0'"]


@pytest.mark.parametrize("select", SELECTS)
def test_array_join_in_any_clause(server, tambour, database, select):
    server.run(f"CREATE TABLE {database}.t (id UInt64, g UInt8, arr Array(UInt64), b Array(String), s String) ENGINE = MergeTree ORDER BY id")
    server.run(f"INSERT INTO {database}.t SELECT number, number % 3, arrayMap(x -> (x * number) % 4, range(number % 4)), "
               f"if(number % 2 = 1, ['p', 'q'], ['r']), toString(number) FROM numbers(12)")
    directory = server.directory(database, "t")
    pick = random.Random(select)
    for _ in range(25):
        a, b, condition = pick.choice(ARRAYS), pick.choice(ARRAYS), pick.choice(CONDITIONS)
        query = select.replace("{w}", condition).format(a=a, b=b)
        expected = server.rows(query.replace("FROM t", f"FROM {database}.t"))
        assert tambour.rows(f"t={directory}", query) == expected, query


ORDERED = [
    "SELECT groupArray(x) FROM (SELECT number AS x FROM numbers(30) ORDER BY -x)",
    "SELECT groupArray(x) FROM (SELECT number AS x FROM numbers(30) ORDER BY number % 5 DESC, number)",
    "SELECT groupArray(x) FROM (SELECT number AS x FROM numbers(30) ORDER BY number DESC LIMIT 5)",
    "SELECT groupArray(x) FROM (SELECT x FROM numbers(1) ARRAY JOIN [3,1,2] AS x ORDER BY x)",
    "SELECT x%2 AS k, groupArray(x) FROM (SELECT number AS x FROM numbers(10) ORDER BY x DESC) GROUP BY k ORDER BY k",
    "SELECT any(x), anyLast(x) FROM (SELECT number AS x FROM numbers(30) ORDER BY x DESC)",
    "SELECT x FROM (SELECT number AS x FROM numbers(5) ORDER BY x DESC) LIMIT 2",
    "SELECT x FROM (SELECT number AS x FROM numbers(5) ORDER BY x DESC) WHERE x < 3",
    "SELECT groupArray(x) FROM (SELECT number AS x FROM numbers(30) ORDER BY -x) AS t WHERE t.x % 3 = 1",
    "SELECT groupArray(y) FROM (SELECT x + 1 AS y FROM (SELECT number AS x FROM numbers(10) ORDER BY -x))",
    "SELECT groupArray(toString(x)), groupArray((x, x % 2)), length(groupArray(x)) FROM (SELECT number AS x FROM numbers(10) ORDER BY -x)",
    "WITH s AS (SELECT number AS x FROM numbers(6) ORDER BY x DESC) SELECT groupArray(x), groupUniqArray(x % 1) FROM s",
    "SELECT arrayStringConcat(groupArray(s), ',') FROM (SELECT toString(number) AS s FROM numbers(5) ORDER BY s DESC)",
    "SELECT groupArray(if(x = 2, NULL, x)), any(if(x > 3, NULL, x)) FROM (SELECT number AS x FROM numbers(6) ORDER BY x DESC)",
    "SELECT k, groupArray(s) FROM (SELECT number % 2 AS k, toString(number) AS s FROM numbers(8) ORDER BY k, s DESC) GROUP BY k ORDER BY k",
    "SELECT groupArray(3)(x) FROM (SELECT number AS x FROM numbers(10) ORDER BY x DESC)",
    "SELECT groupConcat(',')(x) FROM (SELECT number AS x FROM numbers(5) ORDER BY x DESC)",
    "SELECT groupArray(x) FROM (SELECT DISTINCT number % 4 AS x FROM numbers(10) ORDER BY x DESC)",
    "SELECT groupArray(c) FROM (SELECT number % 3 AS g, count() AS c FROM numbers(11) GROUP BY g ORDER BY g DESC)",
    "SELECT arrayMap(x -> x.1, groupArray((a, b))) FROM (SELECT number AS a, -toInt64(number) AS b FROM numbers(5) ORDER BY b)",
    "SELECT groupArray(x) OVER (ORDER BY x) AS seen FROM (SELECT number AS x FROM numbers(3) ORDER BY x DESC) ORDER BY length(seen)",
    "SELECT groupArrayIf(x, x > 1), countIf(x > 1), groupArrayIf(x > 1, x < 3) FROM (SELECT number AS x FROM numbers(4) ORDER BY x)",
]


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_of_subqueries_come_in_their_order(server, tambour, threads):
    for query in ORDERED:
        assert tambour.run("sql", "--threads", threads, "--format", "tsv", "--no-header", query) == server.run(query), query


CONDITIONS_AS_NUMBERS = [
    "SELECT 1 = 1, 2 > 1 AS x, has([1], 1), number = 1, NOT number, number IN (1), number BETWEEN 0 AND 1, number IS NULL FROM numbers(2)",
    "SELECT [number = 1], (number = 1, 5), map('a', number = 1), groupArray(number = 1), max(number > 0), any(number > 5) FROM numbers(2) GROUP BY number ORDER BY number",
    "SELECT arrayMap(x -> x = 1, [1, 2]), arrayMap(x -> NOT x, [1, 0]), arrayMap(x -> x IN (1, 2), [1, 0]), arrayMap(x -> (x = 1, x), [1, 2])",
    "SELECT * FROM (SELECT number, number > 1 AS c FROM numbers(3)) WHERE NOT c AND number < 5",
    "SELECT c, count() FROM (SELECT number > 1 AS c FROM numbers(3)) GROUP BY c HAVING NOT c OR c ORDER BY c",
    "SELECT number > 1 AS c, count() FROM numbers(3) GROUP BY c HAVING c OR count() > 1 ORDER BY c",
    "SELECT number > 1, count() FROM numbers(3) GROUP BY number > 1 ORDER BY number > 1",
    "SELECT number AND 1 AS x, NOT x AS y, count() FROM numbers(4) GROUP BY x, y ORDER BY x",
    "SELECT CASE WHEN number > 1 THEN number = 2 ELSE 1 END AS c, count() FROM numbers(4) GROUP BY c ORDER BY c",
    "SELECT true, 1::Bool, toBool(0), CAST(1 = 1 AS Bool), true AND false, (1 = 1)::Bool, NOT true, true OR 1",
    "SELECT u AND v, u OR 0, NOT u, NOT b, b AND u, b OR 1 = 1, u = 1 AND b, NOT b AND u > 0, NOT (u AND v) "
    "FROM (SELECT toUInt8(number) AS u, number > 0 AS v, toBool(number) AS b FROM numbers(2))",
    "SELECT count() FROM numbers(3) WHERE NOT (SELECT 1 = 0) AND ((SELECT 1 = 0) OR number = 1)",
    "SELECT number > 1 AS x, count() FROM numbers(4) GROUP BY x WITH TOTALS ORDER BY x",
]


def test_conditions_are_numbers_where_they_are_results(server, tambour):
    for query in CONDITIONS_AS_NUMBERS:
        assert tambour.run("sql", "--format", "tsv", "--no-header", query) == server.run(query), query
