"""Tables that ClickHouse wrote: we verify and merge them, ClickHouse takes the result back."""

import shutil

import pytest
from conftest import parts_of

COLUMNS = """d Date, k UInt32, s String, n Nullable(Int32), f Float64, lc LowCardinality(String), e Enum8('x' = -5, 'b' = 7), u UUID,
    t DateTime64(3, 'UTC'), dec Decimal(18, 4), a Array(Nullable(String)), m Map(String, UInt8), i Int128, lcn LowCardinality(Nullable(String))"""

ROWS = """SELECT toDate('2024-01-01') + number % 70, number * 2654435761 % 997, toString(number % 3), if(number % 11 = 0, NULL, number % 17 - 8),
    if(number % 13 = 0, nan, number * 7919 % 1000 / 3 - 100), concat('l', toString(number % 5)), if(number % 2 = 0, 'x', 'b'),
    toUUID(concat('00000000-0000-0000-', leftPad(hex(number % 256), 4, '0'), '-', leftPad(toString(number), 12, '0'))),
    toDateTime64('2024-01-01 00:00:00', 3, 'UTC') + number * 1000.5, number % 100 / 7, [toString(number % 4), NULL], map('a', number % 200),
    number * 100000000000000000 - 5, if(number % 3 = 0, NULL, toString(number % 4)) FROM numbers({first}, 1000)"""

WIDE = "min_bytes_for_wide_part = 0, min_rows_for_wide_part = 0"

TAILS = {
    "compact": "PARTITION BY toYYYYMM(d) ORDER BY (k, s)",
    "wide": f"PARTITION BY toYYYYMM(d) ORDER BY (k, s) SETTINGS {WIDE}",
    "nullable": "PARTITION BY n % 3 ORDER BY (n, k) SETTINGS allow_nullable_key = 1",
    "null-ranges": "PARTITION BY (n % 1, e) ORDER BY k SETTINGS allow_nullable_key = 1",
    "floats": f"PARTITION BY (e, intDiv(k, 500)) ORDER BY (f, k) SETTINGS {WIDE}, index_granularity = 100",
    "strings": "PARTITION BY s ORDER BY (lc, e, u)",
    "nothing": "ORDER BY tuple()",
    "prefix": "PARTITION BY (toYear(d), lc) PRIMARY KEY (toDate(t), k) ORDER BY (toDate(t), k, dec) SETTINGS index_granularity = 64",
}

SUM = "SELECT count(), sum(cityHash64(*)) FROM {}"


def make(server, database, columns, tail, inserts):
    """A table of the server with several parts per partition."""
    statement = f"CREATE TABLE {{}} ({columns}) ENGINE = MergeTree {tail}"
    server.run(statement.format(f"{database}.t"))
    server.run(f"SYSTEM STOP MERGES {database}.t")
    for insert in inserts:
        server.run(f"INSERT INTO {database}.t {insert}")
    return statement


def copy(server, database, statement, target):
    """A copy of the directory, as a backup would have it, with the definition beside the parts."""
    shutil.copytree(server.directory(database, "t"), target)
    (target / "create.sql").write_text(statement.format("t"))


def take_back(server, database, statement, directory):
    server.run(statement.format(f"{database}.back"))
    server.attach(database, "back", parts_of(directory))
    assert server.check(database, "back")


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS.keys())
def test_merge_for_the_server(server, tambour, database, tmp_path, tail):
    statement = make(server, database, COLUMNS, tail, [ROWS.format(first=first) for first in (0, 1000, 2000)])
    copy(server, database, statement, tmp_path / "t")
    partitions = int(server.run(f"SELECT uniq(partition_id) FROM system.parts WHERE database = '{database}' AND table = 't' AND active"))
    tambour.run("verify", tmp_path / "t")
    tambour.run("optimize", tmp_path / "t")
    tambour.run("verify", tmp_path / "t")
    assert len(parts_of(tmp_path / "t")) == partitions
    take_back(server, database, statement, tmp_path / "t")
    expected = server.rows(SUM.format(f"{database}.t"))
    assert server.rows(SUM.format(f"{database}.back")) == expected
    # The server trusts that parts are sorted when it merges them.
    server.run(f"OPTIMIZE TABLE {database}.back FINAL")
    assert server.rows(SUM.format(f"{database}.back")) == expected
    assert server.check(database, "back")


@pytest.mark.parametrize("codec", ["auto", "auto(size)", "ZSTD(3)"])
def test_a_compact_part_becomes_wide_with_other_codecs(server, tambour, database, tmp_path, codec):
    tail = "ORDER BY (k, s) SETTINGS min_bytes_for_wide_part=1000000000"
    statement = make(server, database, COLUMNS, tail, [ROWS.format(first=0)])
    copy(server, database, statement, tmp_path / "t")
    refused = tambour.call("recompress", tmp_path / "t", "--codec", codec)
    assert refused.returncode == 5 and b"tambour optimize --codec" in refused.stderr
    tambour.run("optimize", tmp_path / "t", "--codec", codec)
    tambour.run("verify", tmp_path / "t")
    tambour.run("recompress", tmp_path / "t", "--codec", "LZ4")
    tambour.run("optimize", tmp_path / "t", "--codec", codec)
    take_back(server, database, statement, tmp_path / "t")
    assert server.rows(SUM.format(f"{database}.back")) == server.rows(SUM.format(f"{database}.t"))
    assert server.check(database, "back")


def test_deleted_rows_are_gone_after_a_merge(server, tambour, database, tmp_path):
    tail = "PARTITION BY toYYYYMM(d) ORDER BY k SETTINGS index_granularity = 100"
    inserts = [f"SELECT toDate('2024-01-01') + number % 40, number + {i}, toString(number) FROM numbers(1000)" for i in range(3)]
    statement = make(server, database, "d Date, k UInt32, s String", tail, inserts)
    server.run(f"SYSTEM START MERGES {database}.t")
    server.run(f"DELETE FROM {database}.t WHERE k % 3 = 0 SETTINGS mutations_sync = 2, lightweight_deletes_sync = 2")
    copy(server, database, statement, tmp_path / "t")
    tambour.run("verify", tmp_path / "t")
    # What parts count and what their index spans includes the deleted rows: neither may answer a query.
    for sql in ("SELECT count() FROM {}", "SELECT count(), min(k), max(k) FROM {}", "SELECT count(s) FROM {}"):
        assert tambour.rows(tmp_path / "t", sql.format("t")) == server.rows(sql.format(f"{database}.t"))
    tambour.run("optimize", tmp_path / "t")
    tambour.run("verify", tmp_path / "t")
    assert tambour.rows(tmp_path / "t", "SELECT count() FROM t") == ["2000"]
    take_back(server, database, statement, tmp_path / "t")
    assert server.rows(SUM.format(f"{database}.back")) == server.rows(SUM.format(f"{database}.t"))


def test_what_cannot_be_merged_is_refused(server, tambour, database, tmp_path):
    statement = make(server, database, "k UInt32", "ORDER BY k", ["SELECT number FROM numbers(10)"] * 2)
    copy(server, database, statement, tmp_path / "t")
    # Without the statement nobody knows the sorting key.
    (tmp_path / "t" / "create.sql").unlink()
    refused = tambour.call("optimize", tmp_path / "t")
    assert refused.returncode == 1 and b"create.sql" in refused.stderr
    # Rows that are not in the order of the key which the statement claims.
    (tmp_path / "t" / "create.sql").write_text(statement.format("t").replace("ORDER BY k", "ORDER BY (k % 3, k)"))
    refused = tambour.call("verify", tmp_path / "t")
    assert refused.returncode == 3 and b"all_1_1_0" in refused.stdout + refused.stderr
    refused = tambour.call("optimize", tmp_path / "t")
    assert refused.returncode == 1 and b"ORDER BY differs" in refused.stderr
    # A column that some parts lack: rows from before have its default.
    server.run(f"ALTER TABLE {database}.t ADD COLUMN x String DEFAULT 'a'")
    server.run(f"INSERT INTO {database}.t SELECT number, 'b' FROM numbers(10)")
    shutil.rmtree(tmp_path / "t")
    shutil.copytree(server.directory(database, "t"), tmp_path / "t")
    (tmp_path / "t" / "create.sql").write_text(server.run(f"SELECT create_table_query FROM system.tables WHERE database = '{database}' AND name = 't' FORMAT TSVRaw"))
    query = "SELECT x, count(), sum(k) FROM t GROUP BY x ORDER BY x"
    assert tambour.rows(tmp_path / "t", query) == server.rows(query.replace("FROM t", f"FROM {database}.t"))
