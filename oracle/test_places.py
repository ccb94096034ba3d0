"""Columns that say where a row lies: `_part`, `_partition_id`, `_table`, `_database`."""

import pytest

STATEMENTS = """SELECT _part, count() FROM t GROUP BY _part ORDER BY 1
SELECT _part, _partition_id, min(a), max(a), count() FROM t GROUP BY ALL ORDER BY ALL
SELECT _partition_id, sum(a), uniqExact(_part), any(n) FROM t GROUP BY _partition_id ORDER BY 1
SELECT * FROM t WHERE _part LIKE '1%' ORDER BY a LIMIT 3
SELECT *, _part FROM t WHERE a < 5 ORDER BY a
SELECT t.*, _table FROM t WHERE a < 5 ORDER BY a
SELECT x._part, y._part, count() FROM t AS x JOIN t AS y ON x.a = y.a + 1 GROUP BY ALL ORDER BY ALL LIMIT 7
SELECT count() FROM t WHERE _partition_id IN ('2', '0') AND a > 100
SELECT DISTINCT _part FROM t ORDER BY _part DESC LIMIT 2
SELECT toTypeName(_part), toTypeName(_partition_id), toTypeName(_table), toTypeName(_database) FROM t LIMIT 1
SELECT upper(_part) AS p, count() FROM t WHERE k = '3' GROUP BY p ORDER BY p
WITH q AS (SELECT _part AS p, max(a) AS m FROM t GROUP BY p) SELECT * FROM q ORDER BY p
SELECT _part, a FROM t ORDER BY _part, a DESC LIMIT 3
SELECT _part, _table, * FROM own
SELECT max(_part), min(_part) FROM t
SELECT a, _part FROM t PREWHERE _part != '1_2_2_0' WHERE a < 9 ORDER BY a
SELECT count() FROM t WHERE a IN (SELECT a FROM t WHERE _partition_id = '1')
SELECT concat(_table, '.', _part), countIf(_part > '1') FROM t GROUP BY 1 ORDER BY 1
SELECT _table, count() FROM (SELECT _table FROM t UNION ALL SELECT _table FROM own) GROUP BY 1 ORDER BY 1
SELECT _part, n FROM t WHERE isNull(n) ORDER BY a LIMIT 2
SELECT sum(a), _part = '0_1_7_1' AS c FROM t GROUP BY c ORDER BY c
SELECT count() FROM (SELECT _part FROM t UNION ALL SELECT _part FROM own ORDER BY _part LIMIT 10)
SELECT _part FROM (SELECT DISTINCT _part FROM t INTERSECT SELECT _part FROM t WHERE a < 2) ORDER BY 1
SELECT * FROM own JOIN (SELECT a AS q, 'x' AS _table FROM t) AS z ON own.a = z.q WHERE z._table = 'x'
SELECT x FROM (SELECT number AS _part, number AS x FROM numbers(3)) AS q JOIN t ON x = t.a WHERE _part = 1
SELECT * FROM t JOIN own ON t.a = own.a WHERE t.a IN (SELECT a FROM t WHERE _part != '' AND a < 3)
SELECT _part FROM own AS x JOIN t AS y ON x.a = y.a
SELECT _part, twice FROM t WHERE a < 3 ORDER BY a
SELECT x.*, x._part FROM t AS x WHERE twice < 5 ORDER BY a
SELECT k, arraySort(groupUniqArray(_partition_id)) AS g FROM t WHERE a < 9 GROUP BY k ORDER BY k""".split("\n")


@pytest.fixture(scope="module", params=[0, 10_000_000])
def tables(server, request):
    server.run("CREATE DATABASE places")
    settings = f"SETTINGS index_granularity = 64, min_bytes_for_wide_part = {request.param}"
    server.run(f"CREATE TABLE places.t (a UInt32, k String, twice UInt32 ALIAS a * 2) ENGINE = MergeTree PARTITION BY a % 3 ORDER BY a {settings}")
    for at in range(3):
        server.run(f"INSERT INTO places.t SELECT number, toString(number % 7) FROM numbers({at * 1000}, 1000)")
    server.run("ALTER TABLE places.t ADD COLUMN n Nullable(Int8)")
    server.run("DELETE FROM places.t WHERE a % 10 = 3")
    server.run("OPTIMIZE TABLE places.t PARTITION 0 FINAL")
    server.run("CREATE TABLE places.own (a UInt32, _part String) ENGINE = MergeTree ORDER BY a")
    server.run("INSERT INTO places.own VALUES (1, 'mine')")
    yield [f"{name}={server.directory('places', name)}" for name in ("t", "own")]
    server.run("DROP DATABASE places SYNC")


def test_rows_know_their_part(server, tambour, tables):
    for threads in (1, 3):
        for statement in STATEMENTS:
            expected = server.run(statement.replace("FROM t", "FROM places.t").replace("JOIN t", "JOIN places.t").replace("FROM own", "FROM places.own").replace("JOIN own", "JOIN places.own"))
            assert expected
            assert tambour.run("sql", *tables, "--threads", threads, "--format", "TabSeparated", statement) == expected, statement


def test_the_database_and_a_part_of_one(tambour, tables):
    asked = "SELECT DISTINCT _database FROM t"
    assert tambour.run("sql", *tables, "--format", "TabSeparated", asked) == "default\n"
    for asked, reason in (("SELECT _part FROM t AS x JOIN own AS y ON x.a = y.a", b"write x._part"), ("SELECT * FROM t JOIN own ON t.a = own.a WHERE t._table = 't'", b"name the columns"), ("SELECT _part FROM t FINAL", b"with FINAL is not supported"),
                          ("SELECT _part FROM t SAMPLE 0.5", b"SAMPLE of t is not supported"), ("SELECT _part FROM d.t", b'there is no table "d.t"')):
        done = tambour.call("sql", *tables, asked)
        assert done.returncode != 0 and reason in done.stderr, (asked, done.stderr)


def test_places_are_refused_where_rows_are_merged(server, tambour):
    server.run("CREATE DATABASE replaced")
    server.run("CREATE TABLE replaced.t (a UInt32, v UInt8) ENGINE = ReplacingMergeTree(v) ORDER BY a")
    server.run("INSERT INTO replaced.t VALUES (1, 2)")
    table = f"t={server.directory('replaced', 't')}"
    assert tambour.run("sql", table, "--format", "TabSeparated", "SELECT a, _table FROM t") == "1\tt\n"
    for asked in ("SELECT _part, a FROM t FINAL", "SELECT count() FROM t WHERE _part = 'all_1_1_0' SETTINGS final = 1"):
        done = tambour.call("sql", table, asked)
        assert done.returncode != 0 and b"may be of several parts" in done.stderr, (asked, done.stderr)
    server.run("DROP DATABASE replaced SYNC")
