"""System tables, DESCRIBE and SHOW say of a server's tables what ClickHouse says of them."""

import pytest
from conftest import parts_of

COLUMNS = """a UInt32 COMMENT 'the ''key''', d Date, t DateTime('UTC'), s String DEFAULT 'x' CODEC(ZSTD(1)), n Nullable(Int8) TTL t + INTERVAL 99 YEAR,
l LowCardinality(String), arr Array(String), tp Tuple(x UInt8, y String), m Map(String, UInt8), h UInt64 MATERIALIZED cityHash64(s), twice UInt64 ALIAS a * 2"""

ROWS = """INSERT INTO {}.t (a, d, t, s, n, l, arr, tp, m) SELECT number, toDate('2024-01-02') + {} * 31, toDateTime('2024-01-02 03:04:05', 'UTC') + number,
toString(number), if(number % 3 = 0, NULL, number), toString(number % 3), ['a', 'b'], (1, 'x'), map('k', 1) FROM numbers({}, 250)"""

SHAPES = {
    "wide": ("", "ENGINE = MergeTree PARTITION BY toYYYYMM(d) ORDER BY (a, s) SETTINGS index_granularity = 100, min_bytes_for_wide_part = 0"),
    "compact": ("", "ENGINE = MergeTree PARTITION BY toYYYYMM(d) ORDER BY (a, s) SETTINGS index_granularity = 100, min_bytes_for_wide_part = 1000000000"),
    "times": ("", "ENGINE = ReplacingMergeTree(a) PARTITION BY toStartOfDay(t) PRIMARY KEY a ORDER BY (a, intDiv(a, 10), s) SAMPLE BY a "
              "SETTINGS index_granularity = 100, min_bytes_for_wide_part = 0 COMMENT 'of times'"),
    "two keys": (", INDEX i s TYPE set(3) GRANULARITY 2, INDEX j (a, lower(s)) TYPE bloom_filter(0.01), CONSTRAINT c CHECK a < 1000000",
                 "ENGINE = MergeTree PARTITION BY (d, l) ORDER BY a SETTINGS index_granularity = 100, min_bytes_for_wide_part = 0"),
    "projections": (", INDEX i n TYPE minmax, PROJECTION p (SELECT l, count(), sum(a) GROUP BY l), PROJECTION pn (SELECT a, d, s ORDER BY d, intDiv(a, 3))",
                    "ENGINE = MergeTree ORDER BY tuple() SETTINGS min_bytes_for_wide_part = 0"),
    "compact projections": (", PROJECTION p (SELECT l, count() GROUP BY l)", "ENGINE = MergeTree ORDER BY s SETTINGS index_granularity = 100"),
}

PARTS = """partition, name, part_type, active, marks, rows, files, bytes_on_disk, data_compressed_bytes, data_uncompressed_bytes, primary_key_size,
marks_bytes, secondary_indices_compressed_bytes, secondary_indices_uncompressed_bytes, secondary_indices_marks_bytes, min_date, max_date, min_time, max_time,
partition_id, min_block_number, max_block_number, level, data_version, table, engine, path, hash_of_all_files, default_compression_codec,
arraySort(projections) AS p, has_lightweight_delete"""

TABLES = """name, engine, data_paths, engine_full, partition_key, sorting_key, primary_key, sampling_key, arraySort(skipping_indices_types) AS kinds,
total_rows, total_bytes, total_bytes_uncompressed, parts, active_parts, total_marks, comment, has_own_data"""

TABLE_COLUMNS = """name, type, default_kind, default_expression, comment, is_in_partition_key, is_in_sorting_key, is_in_primary_key,
is_in_sampling_key"""

PARTS_COLUMNS = """name, column, type, column_position, default_kind, default_expression, part_type, rows, marks, substreams, filenames"""

SIZES = "column_bytes_on_disk, column_data_compressed_bytes, column_data_uncompressed_bytes, column_marks_bytes"

PROJECTION_PARTS = """partition, name, part_type, parent_name, parent_part_type, active, marks, rows, files, bytes_on_disk, data_compressed_bytes,
data_uncompressed_bytes, marks_bytes, parent_marks, parent_rows, parent_bytes_on_disk, parent_data_compressed_bytes, parent_data_uncompressed_bytes,
parent_marks_bytes, min_date, max_date, min_time, max_time, partition_id, min_block_number, max_block_number, level, data_version, table, engine, path,
hash_of_all_files, default_compression_codec, is_broken, exception"""


@pytest.fixture(params=SHAPES)
def table(request, server, tambour, database):
    """A table of the server's, and what asks it here."""
    elements, engine = SHAPES[request.param]
    server.run(f"CREATE TABLE {database}.t ({COLUMNS}{elements}) {engine}")
    for part in range(3):
        server.run(ROWS.format(database, part // 2, part * 250))
    directory = server.directory(database, "t")
    assert len(parts_of(directory)) >= 3

    def ask(sql):
        return tambour.run("sql", f"t={directory}", sql)

    return request.param, ask


def both(server, database, ask, query, where):
    """What both answer; the database has another name here."""
    theirs = server.run(f"{query} WHERE {where.format(database)} ORDER BY ALL SETTINGS session_timezone = 'UTC' FORMAT TSVWithNamesAndTypes")
    ours = ask(f"{query} WHERE {where.format('default')} ORDER BY ALL FORMAT TSVWithNamesAndTypes")
    return ours, theirs


@pytest.mark.parametrize("query", [
    f"SELECT {PARTS} FROM system.parts", f"SELECT {TABLE_COLUMNS} FROM system.columns", f"SELECT {PARTS_COLUMNS} FROM system.parts_columns",
    "SELECT table, name, type, sorting_key, query FROM system.projections", f"SELECT {PROJECTION_PARTS} FROM system.projection_parts",
    "SELECT table, name, type, type_full, expr, creation, granularity FROM system.data_skipping_indices",
], ids=lambda it: it.rsplit(".", 1)[1])
def test_tables_of_a_server(server, tambour, database, table, query):
    ours, theirs = both(server, database, table[1], query, "database = '{}' AND table = 't'")
    assert ours == theirs


def test_what_a_table_is(server, tambour, database, table):
    ours, theirs = both(server, database, table[1], f"SELECT {TABLES} FROM system.tables", "database = '{}' AND name = 't'")
    assert ours == theirs
    statement = server.run(f"SELECT create_table_query FROM system.tables WHERE database = '{database}'")
    assert table[1]("SELECT create_table_query FROM system.tables FORMAT TSV").replace("CREATE TABLE t ", f"CREATE TABLE {database}.t ") == statement


def test_sizes_of_columns(server, tambour, database, table):
    """ClickHouse does not share the one file of a compact part out to its columns; here their sizes add up to it."""
    shape, ask = table
    query = f"SELECT name, column, {SIZES} FROM system.parts_columns"
    if "compact" in shape:
        sums = "sum(column_data_compressed_bytes) - max(data_compressed_bytes), sum(column_data_uncompressed_bytes) - max(data_uncompressed_bytes)"
        assert ask(f"SELECT {sums} FROM system.parts_columns GROUP BY name") == "0\t0\n" * 3
        return
    ours, theirs = both(server, database, ask, query, "database = '{}' AND table = 't'")
    assert ours == theirs
    query = "SELECT name, data_compressed_bytes, data_uncompressed_bytes, marks_bytes FROM system.columns"
    ours, theirs = both(server, database, ask, query, "database = '{}' AND table = 't'")
    assert ours == theirs


def test_keys_in_memory(server, tambour, database, table):
    """As ClickHouse counts them for a part that it has written; one that it has loaded has none before its key is asked for."""
    query = "SELECT name, primary_key_bytes_in_memory FROM system.parts"
    ours, theirs = both(server, database, table[1], query, "database = '{}' AND table = 't'")
    assert ours == theirs


def test_marks(server, tambour, database, table):
    """The columns of marks that both have; ClickHouse adds some without values."""
    ask = table[1]
    ours = "mergeTreeIndex('default', 't', with_marks = true)"
    names = [line.split("\t")[0] for line in ask(f"DESCRIBE {ours} FORMAT TSV").splitlines()]
    theirs = f"mergeTreeIndex('{database}', 't', with_marks = true)"
    known = [line.split("\t")[0] for line in server.rows(f"DESCRIBE {theirs}")]
    assert len(names) > 8 and not set(names) - set(known), sorted(set(names) - set(known))
    columns = ", ".join(f"`{name}`" for name in names)
    query = "SELECT {} FROM {} ORDER BY part_name, mark_number FORMAT TSVWithNamesAndTypes"
    assert ask(query.format(columns, ours)) == server.run(query.format(columns, theirs))
    empty = [name for name in known if name not in names]
    for name in empty:
        assert server.run(f"SELECT count() FROM {theirs} WHERE tupleElement(`{name}`, 1) IS NOT NULL") == "0\n", name


FORMATS = ["TSV", "TSVWithNamesAndTypes", "TSVRaw", "CSV", "CSVWithNames", "JSONEachRow", "JSONCompactEachRow", "Vertical", "PrettyCompact", "Markdown", "Values",
           "RowBinaryWithNamesAndTypes", "Native", "Null"]
STATEMENTS = ["DESCRIBE t", "DESC TABLE t", "DESCRIBE {}.t", "DESCRIBE (SELECT a, d, s AS x, n FROM t)", "DESCRIBE SELECT s, arr FROM t", "DESCRIBE numbers(3)",
              "DESC TABLE numbers(3)", "DESCRIBE system.one", "SHOW TABLES", "SHOW TABLES FROM {}", "SHOW TABLES LIKE 't%' LIMIT 1", "SHOW TABLES NOT LIKE 't'",
              "SHOW FULL TABLES", "EXISTS t", "EXISTS TABLE t", "EXISTS TABLE u", "EXISTS DATABASE {}", "EXISTS DATABASE no", "SHOW DATABASES LIKE '{}'",
              "SHOW COLUMNS FROM t", "SHOW FULL COLUMNS FROM t", "SHOW COLUMNS IN t FROM {} LIKE '%t%' LIMIT 2", "SHOW FIELDS FROM t NOT ILIKE '%T%'",
              "SHOW COLUMNS FROM t WHERE type = 'Date'", "SHOW INDEX FROM t", "SHOW INDEXES FROM {}.t", "SHOW KEYS FROM t FROM {}", "USE {}"]


@pytest.mark.parametrize("table", ["two keys", "times"], indirect=True)
def test_what_statements_say(server, tambour, database, table):
    """In each format; what follows them is taken as after a query."""
    ask = table[1]
    server.run(f"USE {database}")
    for number, statement in enumerate(STATEMENTS):
        # Native tells blocks, of which ClickHouse makes several of a UNION.
        formats = FORMATS if number < 1 else ["TSVWithNamesAndTypes", FORMATS[number % len(FORMATS)]]
        for format in [it for it in formats if it != "Native" or number < 1]:
            clause = "" if statement.startswith("USE") else f" FORMAT {format}"
            theirs = server.session.query(statement.format(database) + clause).bytes().replace(database.encode(), b"default")
            ours = tambour.call("sql", f"t={server.directory(database, 't')}", statement.format("default") + clause)
            got, expected = (it.decode(errors='replace') for it in (ours.stdout, theirs))
            assert (statement, format, ours.stderr, got) == (statement, format, b'', expected)
    assert ask("SHOW CREATE TABLE t FORMAT TSVRaw").startswith("CREATE TABLE t\n(\n    `a` UInt32 COMMENT 'the \\'key\\'',\n")
    clauses = "DESCRIBE t {} FORMAT CSV", "DESCRIBE t FORMAT CSV {}"
    assert len({ask(clause.format("SETTINGS max_threads = 1")) for clause in clauses}) == 1
