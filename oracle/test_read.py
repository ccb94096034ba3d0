"""What ClickHouse writes, we read with equal values."""

import shutil

import pytest
import zoo
from conftest import ROOT, assert_same_rows, parts_of

NAMES = ["k", *(name for name, _, _ in zoo.ZOO)]


def fill(server, database, settings, partition="", rows=3000, inserts=2):
    tail = f"{partition} ORDER BY k" + (f" SETTINGS {settings}" if settings else "")
    server.run(zoo.create(f"{database}.t", zoo.ZOO, tail))
    server.run(f"SYSTEM STOP MERGES {database}.t")
    for insert in range(inserts):
        server.run(f"INSERT INTO {database}.t {zoo.select(zoo.ZOO, rows, insert * rows)}")


def assert_reads_equal(server, tambour, database, directory):
    expected = server.rows(f"SELECT * FROM {database}.t")
    got = tambour.rows(directory, f"SELECT * FROM \"{directory.name}\"")
    assert_same_rows(got, expected, NAMES)
    tambour.run("verify", directory)


@pytest.mark.parametrize("settings", zoo.SETTINGS, ids=str)
@pytest.mark.parametrize("merged", [False, True], ids=["unmerged", "merged"])
def test_every_type(server, tambour, database, settings, merged):
    fill(server, database, zoo.SETTINGS[settings])
    if merged:
        server.run(f"SYSTEM START MERGES {database}.t")
        server.run(f"OPTIMIZE TABLE {database}.t FINAL")
    directory = server.directory(database, "t")
    assert_reads_equal(server, tambour, database, directory)


@pytest.mark.parametrize("settings", ["default", "wide", "plain"])
@pytest.mark.parametrize("partition", [
    "PARTITION BY toYYYYMM(date)", "PARTITION BY (toYYYYMM(dt64_3), i8 > 0)", "PARTITION BY lc", "PARTITION BY n_e8",
    "PARTITION BY (toDate(date), u8 % 2)",
], ids=["month", "tuple", "string", "nullable-enum", "date"])
def test_partitions(server, tambour, database, settings, partition):
    more = "allow_nullable_key=1" + (", " + zoo.SETTINGS[settings] if zoo.SETTINGS[settings] else "")
    fill(server, database, more, partition=partition, rows=60, inserts=2)
    directory = server.directory(database, "t")
    assert len(parts_of(directory)) >= 2
    assert_reads_equal(server, tambour, database, directory)


def test_one_part_directory_is_a_table(server, tambour, database):
    fill(server, database, zoo.SETTINGS["wide"], inserts=1)
    part = parts_of(server.directory(database, "t"))[0]
    expected = server.rows(f"SELECT count(), sum(u32) FROM {database}.t")
    assert tambour.rows(part, f"SELECT count(), sum(u32) FROM \"{part.name}\"") == expected


def test_lightweight_delete(server, tambour, database):
    fill(server, database, zoo.SETTINGS["wide"], inserts=1)
    server.run(f"SYSTEM START MERGES {database}.t")
    server.run(f"DELETE FROM {database}.t WHERE k % 3 = 1 SETTINGS mutations_sync = 2")
    assert_reads_equal(server, tambour, database, server.directory(database, "t"))


TEXTS = [
    "SELECT {c}, count(), sum(k) FROM t GROUP BY {c}",
    "SELECT DISTINCT {c} FROM t WHERE {c} <> ''",
    "SELECT uniqExact({c}), count({c}), sum(length({c})), sum(empty({c})), sum(notEmpty({c})) FROM t",
    "SELECT count(), sum(k), min(k), max(k) FROM t",
    "SELECT k % 3 AS g, avg(length({c})) FROM t WHERE {c} <> '' GROUP BY g",
    "SELECT count() FROM t WHERE {c} LIKE '%alu%1%'",
    "SELECT count() FROM t WHERE {c} NOT LIKE '%e 1%' AND {c} > 'a'",
    "SELECT k FROM t WHERE {c} IN ('', 'value 12', 'another, longer value 77') ORDER BY k LIMIT 50",
]


@pytest.mark.parametrize("is_masked", [False, True])
@pytest.mark.parametrize("settings", ["wide", "adaptive-inline", "compact-mrk3"])
def test_texts_as_bytes_and_lengths(server, tambour, database, settings, is_masked):
    columns = ["s", "n", "l", "k2"]
    server.run(f"CREATE TABLE {database}.t (k UInt64, s String, n Nullable(String), l LowCardinality(String), k2 String) "
               f"ENGINE = MergeTree ORDER BY (k2, k) SETTINGS {zoo.SETTINGS[settings]}")
    server.run(f"INSERT INTO {database}.t SELECT number, multiIf(number % 5 = 0, '', number % 3 = 0, concat('value ', toString(cityHash64(number) % 300)), "
               f"concat('another, longer value ', toString(cityHash64(number) % 90))) AS s, if(number % 7 = 1, NULL, s), s, concat('\u00e9t\u00e9 ', toString(number % 50)) "
               f"FROM numbers(20000)")
    if is_masked:
        server.run(f"DELETE FROM {database}.t WHERE k % 4 = 1 SETTINGS mutations_sync = 2, lightweight_deletes_sync = 2")
    directory = server.directory(database, "t")
    for column in columns:
        for query in TEXTS:
            query = query.format(c=column)
            expected = sorted(server.rows(query.replace("FROM t", f"FROM {database}.t")), key=str)
            assert sorted(tambour.rows(f"t={directory}", query), key=str) == expected, query


@pytest.mark.parametrize("is_single", [0, 1])
@pytest.mark.parametrize("keys", [3, 700, 8192])
def test_dictionaries_that_are_full(server, tambour, database, keys, is_single):
    # Dictionaries follow each other, and records bring keys along: some are gathered in one dictionary, and `many` is more than that takes.
    types = {"s": "String", "n": "Nullable(String)", "f": "FixedString(6)", "u": "UInt32", "many": "String", "none": "Nullable(String)"}
    columns = ", ".join(f"{name} LowCardinality({of})" for name, of in types.items())
    server.run("SET allow_suspicious_low_cardinality_types = 1")
    server.run(f"CREATE TABLE {database}.t (k UInt64, {columns}, a Array(LowCardinality(Nullable(String)))) "
               f"ENGINE = MergeTree ORDER BY k SETTINGS {zoo.SETTINGS['wide']}")
    server.run(f"SET low_cardinality_max_dictionary_size = {keys}, low_cardinality_use_single_dictionary_for_part = {is_single}")
    server.run(f"INSERT INTO {database}.t WITH cityHash64(number) AS h SELECT number, toString(h % 3000), if(h % 7 = 1, NULL, toString(h % 5000)), "
               f"leftPad(toString(h % 2000), 6, '0'), h % 4000, if(number < 60000, toString(h % 100), toString(h)), if(h % 2 = 1, NULL, ''), "
               f"arrayMap(i -> if(i = 2, NULL, toString((h + i) % 1500)), range(h % 4)) FROM numbers(200000)")
    directory = server.directory(database, "t")
    for rows in ["", " WHERE k % 40000 < 10000", " WHERE k > 150000 AND s <> '7'"]:
        query = f"SELECT * FROM t{rows} ORDER BY k"
        assert tambour.rows(f"t={directory}", query) == server.rows(query.replace("FROM t", f"FROM {database}.t")), rows
    for column in [*types, "arrayJoin(a)"]:
        query = f"SELECT {column} AS c, count(), sum(k) FROM t GROUP BY c"
        expected = sorted(server.rows(query.replace("FROM t", f"FROM {database}.t")))
        assert sorted(tambour.rows(f"t={directory}", query)) == expected, column


@pytest.mark.parametrize("kind", ["CODEC(NONE)", "CODEC(LZ4HC(9))", "CODEC(ZSTD(19))", "CODEC(ZSTD(1))"])
def test_codecs(server, tambour, database, kind):
    server.run(f"CREATE TABLE {database}.t (k UInt64 {kind}, s String {kind}, n Nullable(Float64) {kind}) "
               f"ENGINE = MergeTree ORDER BY k SETTINGS {zoo.SETTINGS['wide']}")
    server.run(f"INSERT INTO {database}.t SELECT number, toString(cityHash64(number) % 1000), if(number % 2 = 0, NULL, number) FROM numbers(100000)")
    directory = server.directory(database, "t")
    assert_same_rows(tambour.rows(directory, f"SELECT * FROM \"{directory.name}\""), server.rows(f"SELECT * FROM {database}.t"), ["k", "s", "n"])


@pytest.mark.parametrize("codec", ["Delta, LZ4", "DoubleDelta", "T64", "T64('bit'), ZSTD(1)", "GCD, LZ4", "Delta, T64, LZ4"])
def test_integer_codecs(server, tambour, database, codec):
    server.run(f"CREATE TABLE {database}.t (k UInt64 CODEC({codec}), i Int16 CODEC({codec}), n Nullable(Int32) CODEC({codec}), a Array(UInt8) CODEC({codec})) "
               f"ENGINE = MergeTree ORDER BY k SETTINGS {zoo.SETTINGS['wide']}")
    server.run(f"INSERT INTO {database}.t SELECT number * 3, number - 50000, if(number % 2 = 0, NULL, number * number), range(number % 5) FROM numbers(100000)")
    directory = server.directory(database, "t")
    assert_same_rows(tambour.rows(directory, f"SELECT * FROM \"{directory.name}\""), server.rows(f"SELECT * FROM {database}.t"), ["k", "i", "n", "a"])


@pytest.mark.parametrize("codec", ["Gorilla", "FPC", "Gorilla, ZSTD(1)", "DoubleDelta"])
def test_float_codecs(server, tambour, database, codec):
    server.run(f"CREATE TABLE {database}.t (k UInt64, x Float64 CODEC({codec}), y Float32 CODEC({codec})) "
               f"ENGINE = MergeTree ORDER BY k SETTINGS {zoo.SETTINGS['wide']}")
    server.run(f"INSERT INTO {database}.t SELECT number, number / 4, number % 100 / 10 FROM numbers(100000)")
    directory = server.directory(database, "t")
    assert_same_rows(tambour.rows(directory, f"SELECT * FROM \"{directory.name}\""), server.rows(f"SELECT * FROM {database}.t"), ["k", "x", "y"])


def test_unknown_codec_leaves_other_columns_readable(server, tambour, database):
    server.run("SET enable_alp_codec = 1")
    server.run(f"CREATE TABLE {database}.t (k UInt64, g Float64 CODEC(ALP(RD))) ENGINE = MergeTree ORDER BY k SETTINGS {zoo.SETTINGS['wide']}")
    server.run(f"INSERT INTO {database}.t SELECT number, number / 3 FROM numbers(1000)")
    directory = server.directory(database, "t")
    assert tambour.rows(directory, f"SELECT sum(k) FROM \"{directory.name}\"") == ["499500"]
    refused = tambour.call("sql", directory, f"SELECT sum(g) FROM \"{directory.name}\"")
    assert refused.returncode == 5
    assert b"ALP in its RD variant" in refused.stderr and b"`g`" in refused.stderr


@pytest.mark.parametrize("table", ["t", "l5", "l6"])
def test_parts_of_18_16(tambour, table):
    directory = ROOT / "golden" / "clickhouse-18.16" / table
    expected = (directory / "expected.tsv").read_text().splitlines()
    got = tambour.rows(directory, f"SELECT * FROM {table}")
    assert_same_rows(got, expected, [])
    tambour.run("verify", directory)


def test_parquet_of_the_server(server, tambour, tmp_path):
    """Strings that Parquet does not call text, enums, UUIDs: types that a person would choose, and equal values."""
    select = """SELECT number AS k, CAST(number % 3, 'Enum8(\\'red\\' = 0, \\'green\\' = 1, \\'blue\\' = 2)') AS e, toString(number % 50) AS s,
        toUUID(concat('00000000-0000-4000-8000-', leftPad(toString(number), 12, '0'))) AS u FROM numbers(20000)"""
    sql = f"{select} SETTINGS output_format_parquet_string_as_string = 0"
    (tmp_path / "rows.parquet").write_bytes(server.session.query(sql, "Parquet").bytes())
    tambour.run("import", tmp_path / "rows.parquet", "--into", tmp_path / "t", "--order-by", "k")
    types = dict(row.split("\t") for row in tambour.rows(tmp_path / "t", "SELECT name, type FROM system.columns WHERE database = 'default'"))
    assert types["u"] == "UUID"
    assert "LowCardinality(String)" in (types["e"], types["s"])
    assert tambour.rows(tmp_path / "t", "SELECT * FROM t ORDER BY k") == server.rows(f"{select} ORDER BY k")


def test_keys_of_local_time_leave_no_rows_out(server, tambour, database, tmp_path):
    """A server in another time zone split and sorted by its own days: queries here must not prune by ours."""
    statement = "CREATE TABLE {} (t DateTime, k UInt32) ENGINE = MergeTree PARTITION BY toYYYYMM(t) ORDER BY toDate(t) SETTINGS index_granularity = 8"
    # What the server would have written with its own zone in place of the one of the column that is not known here.
    server.run(statement.format(f"{database}.z").replace("t DateTime", "t DateTime('Pacific/Auckland')"))
    server.run(f"INSERT INTO {database}.z SELECT toDateTime('2024-01-30 00:00:00', 'UTC') + number * 3600, number FROM numbers(96)")
    shutil.copytree(server.directory(database, "z"), tmp_path / "z")
    for part in parts_of(tmp_path / "z"):
        columns = (part / "columns.txt").read_text()
        (part / "columns.txt").write_text(columns.replace("DateTime(\\'Pacific/Auckland\\')", "DateTime").replace("DateTime('Pacific/Auckland')", "DateTime"))
    (tmp_path / "z" / "create.sql").write_text(statement.format("z"))
    assert tambour.rows(tmp_path / "z", "SELECT count() FROM z") == ["96"]
    for condition in ("toYYYYMM(t) = 202401", "t = '2024-01-31 23:00:00'", "t >= '2024-01-31 20:00:00'", "toDate(t) = '2024-01-31'"):
        found = tambour.rows(tmp_path / "z", f"SELECT count() FROM z WHERE {condition}")
        # The same condition where no key can be seen through it.
        hidden = tambour.rows(tmp_path / "z", f"SELECT sum(CASE WHEN {condition} THEN 1 ELSE 0 END) FROM z")
        assert found == hidden, condition


def test_salvage_of_parts_with_deleted_rows(server, tambour, database, tmp_path):
    """Granules whose rows are all deleted, the last one among them, yield no batch."""
    server.run(f"CREATE TABLE {database}.t (k UInt64, s String) ENGINE = MergeTree ORDER BY k SETTINGS min_bytes_for_wide_part=0, index_granularity=100")
    server.run(f"INSERT INTO {database}.t SELECT number, toString(number) FROM numbers(1000)")
    server.run(f"DELETE FROM {database}.t WHERE k >= 850 OR k BETWEEN 200 AND 299 OR k = 7")
    (part,) = parts_of(server.directory(database, "t"))[-1:]
    tambour.run("salvage", part, "--to", tmp_path / "saved")
    expected = server.rows(f"SELECT count(), sum(k), max(s) FROM {database}.t")
    assert tambour.rows(tmp_path / "saved", "SELECT count(), sum(k), max(s) FROM saved") == expected


def test_a_servers_links_lead_to_statements(server, tambour, database, tmp_path):
    server.run(f"CREATE TABLE {database}.t (k UInt64, s String) ENGINE = MergeTree ORDER BY (s, k)")
    server.run(f"INSERT INTO {database}.t SELECT number, toString(number % 7) FROM numbers(20000)")
    directory = server.directory(database, "t")
    link = tmp_path / "t"
    link.symlink_to(directory)
    for path in [f"t={directory}", link, directory.parents[2] / "data" / database / "t"]:
        definition = "\n".join(tambour.rows(path, "SHOW CREATE TABLE t"))
        assert "ORDER BY (s, k)" in definition, path
