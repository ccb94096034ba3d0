"""What we write, ClickHouse attaches, checks and reads with equal values."""

import shutil

import pytest
import zoo
from conftest import ROOT, assert_same_rows, parts_of

ROWS = 20000


def columns_for(dialect):
    if dialect == "new":
        return zoo.ZOO
    return [column for column in zoo.ZOO if not any(word in column[1] for word in zoo.NEW_TYPES)]


def import_zoo(server, tambour, path, columns, tail, *flags, rows=ROWS):
    """ClickHouse makes the rows as text; we import them; returns the statement for the server's table."""
    text = server.session.query(zoo.select(columns, rows) + " ORDER BY cityHash64(number)", "TabSeparated").bytes()
    source = path / "rows.tsv"
    source.write_bytes(text)
    statement = zoo.create("t", columns, tail)
    tambour.run("import", source, "--format", "tsv", "--no-header", "--into", path / "t", "--create", statement, *flags)
    return source


def attach(server, tambour, database, directory, statement):
    server.run(statement)
    parts = parts_of(directory)
    assert parts
    server.attach(database, "t", parts)
    assert server.check(database, "t")
    return parts


@pytest.mark.parametrize("dialect", ["new", "old"])
@pytest.mark.parametrize("tail", [
    "ORDER BY k", "ORDER BY (lc, s, k)", "PARTITION BY toYYYYMM(day) ORDER BY (u8, k)", "PARTITION BY (e8, u8 % 3) ORDER BY (s, k)",
    "PARTITION BY lc ORDER BY tuple()", "ORDER BY (e16, f32, k) PRIMARY KEY e16",
], ids=["key", "strings", "month", "tuple", "string", "prefix"])
def test_every_type(server, tambour, database, tmp_path, dialect, tail):
    columns = columns_for(dialect)
    source = import_zoo(server, tambour, tmp_path, columns, tail, "--dialect", dialect)
    attach(server, tambour, database, tmp_path / "t", zoo.create(f"{database}.t", columns, tail))
    expected = source.read_bytes().decode("utf-8", "surrogateescape").splitlines()
    names = ["k", *(name for name, _, _ in columns)]
    assert_same_rows(server.rows(f"SELECT * FROM {database}.t"), expected, names)
    assert_same_rows(tambour.rows(tmp_path / "t", "SELECT * FROM t"), expected, names)
    tambour.run("verify", tmp_path / "t")


def test_primary_index_is_used_rightly(server, tambour, database, tmp_path):
    """A wrong primary.idx passes CHECK TABLE and loses rows: ask for ranges."""
    tail = "ORDER BY (lc, k) SETTINGS index_granularity = 256"
    import_zoo(server, tambour, tmp_path, zoo.ZOO, tail)
    attach(server, tambour, database, tmp_path / "t", zoo.create(f"{database}.t", zoo.ZOO, tail))
    for condition in ["lc = 'low 7'", "lc > 'low 3' AND lc < 'low 5'", "lc = 'low 9' AND k < 5000", "k = 4711", "lc IN ('low 1', 'low 39')"]:
        sql = f"SELECT count(), sum(k), min(k), max(k) FROM {{}} WHERE {condition}"
        expected = server.rows(sql.format(f"{database}.t") + " SETTINGS use_primary_key = 0")
        assert server.rows(sql.format(f"{database}.t") + " SETTINGS force_index_by_date = 0") == expected, condition
        assert tambour.rows(tmp_path / "t", sql.format("t")) == expected, condition


def test_minmax_is_used_rightly(server, tambour, database, tmp_path):
    tail = "PARTITION BY toYYYYMM(day) ORDER BY k"
    import_zoo(server, tambour, tmp_path, zoo.ZOO, tail)
    attach(server, tambour, database, tmp_path / "t", zoo.create(f"{database}.t", zoo.ZOO, tail))
    for condition in ["day = '1972-05-06'", "day >= '1972-04-29' AND day < '1972-06-01'", "toYYYYMM(day) = 197205"]:
        sql = f"SELECT count(), sum(k) FROM {{}} WHERE {condition}"
        expected = server.rows(sql.format(f"{database}.t") + " SETTINGS use_partition_pruning = 0")
        assert expected != ["0\t0"]
        assert server.rows(sql.format(f"{database}.t")) == expected, condition
        assert tambour.rows(tmp_path / "t", sql.format("t")) == expected, condition


def test_optimized_table_attaches(server, tambour, database, tmp_path):
    tail = "ORDER BY (u8, k)"
    source = import_zoo(server, tambour, tmp_path, zoo.ZOO, tail, "--rows-per-part", "3000")
    assert len(parts_of(tmp_path / "t")) > 3
    tambour.run("optimize", tmp_path / "t")
    parts = attach(server, tambour, database, tmp_path / "t", zoo.create(f"{database}.t", zoo.ZOO, tail))
    assert len(parts) == 1
    expected = source.read_bytes().decode("utf-8", "surrogateescape").splitlines()
    assert_same_rows(server.rows(f"SELECT * FROM {database}.t"), expected, [])
    # On one thread rows come as they are in the part; on several their order is nobody's promise.
    ours = tambour.run("sql", tmp_path / "t", "--deterministic", "--format", "tsv", "SELECT * FROM t").splitlines()
    assert ours == server.rows(f"SELECT * FROM {database}.t ORDER BY u8, k")


@pytest.mark.parametrize("codec", ["NONE", "LZ4", "ZSTD(1)", "ZSTD(12)", "k=ZSTD(3)"])
def test_codecs(server, tambour, database, tmp_path, codec):
    source = import_zoo(server, tambour, tmp_path, zoo.ZOO, "ORDER BY k", "--codec", codec, rows=5000)
    attach(server, tambour, database, tmp_path / "t", zoo.create(f"{database}.t", zoo.ZOO, "ORDER BY k"))
    expected = source.read_bytes().decode("utf-8", "surrogateescape").splitlines()
    assert_same_rows(server.rows(f"SELECT * FROM {database}.t"), expected, [])


def test_server_merges_our_parts_with_its_own(server, tambour, database, tmp_path):
    import_zoo(server, tambour, tmp_path, zoo.ZOO, "ORDER BY k", rows=5000)
    attach(server, tambour, database, tmp_path / "t", zoo.create(f"{database}.t", zoo.ZOO, "ORDER BY k"))
    server.run(f"INSERT INTO {database}.t {zoo.select(zoo.ZOO, 5000, 5000)}")
    before = server.rows(f"SELECT * FROM {database}.t ORDER BY k")
    server.run(f"OPTIMIZE TABLE {database}.t FINAL")
    assert server.rows("SELECT count() FROM system.parts WHERE active AND database = '" + database + "'") == ["1"]
    assert server.rows(f"SELECT * FROM {database}.t ORDER BY k") == before
    directory = server.directory(database, "t")
    assert_same_rows(tambour.rows(directory, f"SELECT * FROM \"{directory.name}\""), before, [])


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "arrow"])
def test_export_and_import_again(server, tambour, database, tmp_path, kind):
    """The types survive every format, given the statement; Parquet and Arrow carry them themselves."""
    source = import_zoo(server, tambour, tmp_path, zoo.ZOO, "ORDER BY k", rows=2000)
    exported = tmp_path / f"t.{kind}"
    tambour.run("export", tmp_path / "t", exported)
    flags = ["--order-by", "k"] if kind in ("parquet", "arrow") else ["--create", zoo.create("again", zoo.ZOO, "ORDER BY k")]
    tambour.run("import", exported, "--into", tmp_path / "again", *flags)
    attach(server, tambour, database, tmp_path / "again", zoo.create(f"{database}.t", zoo.ZOO, "ORDER BY k"))
    expected = source.read_bytes().decode("utf-8", "surrogateescape").splitlines()
    assert_same_rows(server.rows(f"SELECT * FROM {database}.t"), expected, ["k", *(name for name, _, _ in zoo.ZOO)])


def test_attach_script_works(server, tambour, tmp_path):
    """What `attach-script --sql` prints, done literally, with the parts where the shell script copies them."""
    tambour.run("import", ROOT / "data" / "flights-200k.arrow", "--into", tmp_path / "flights_script", "--order-by", "time")
    script = tambour.run("attach-script", "--sql", tmp_path / "flights_script")
    create, *attach = [statement for statement in script.split(";\n") if statement]
    server.run("DROP TABLE IF EXISTS default.flights_script SYNC")
    server.run(create)
    for part in parts_of(tmp_path / "flights_script"):
        shutil.copytree(part, server.directory("default", "flights_script") / "detached" / part.name)
    for statement in attach:
        server.run(statement)
    assert server.check("default", "flights_script")
    assert server.rows("SELECT count(), sum(delay) FROM default.flights_script") == tambour.rows(tmp_path / "flights_script", "SELECT count(), sum(delay) FROM flights_script")
