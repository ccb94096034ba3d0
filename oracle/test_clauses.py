"""Clauses of SELECT that pick rows by place: ends of a result, samples, sides that are pasted, tables in memory."""

import compare
import pytest
from conftest import parts_of

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
    # Tuples in sets of queries as values.
    "SELECT k, (k, lc) IN (SELECT k, lc FROM g WHERE k < 5) FROM g ORDER BY k",
    "SELECT countIf((k % 3, 1) NOT IN (SELECT k, 1 FROM g WHERE k < 2)) FROM g",
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
