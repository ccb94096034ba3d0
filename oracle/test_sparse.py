"""Columns of which nearly all values are the default are written sparse, as ClickHouse writes them: it attaches, checks, reads, merges, and so do we."""

import json

import pytest
from conftest import assert_same_rows, parts_of

ROWS = 60_000
TYPES = {
    "u8": ("UInt8", "toUInt8(1 + n % 200)"), "i32": ("Int32", "-toInt32(n) - 1"), "u64": ("UInt64", "cityHash64(n)"), "i128": ("Int128", "toInt128(cityHash64(n)) * -3"),
    "f32": ("Float32", "if(n % 200 = 0, -0.0, toFloat32(n) / 8)"), "f64": ("Float64", "if(n % 200 = 0, nan, n / 7)"), "dec": ("Decimal(18, 3)", "toDecimal64(n, 3) / 8 + 1"),
    "day": ("Date", "toDate('2020-01-01') + n % 900"), "at": ("DateTime('UTC')", "toDateTime('2020-01-01 00:00:00', 'UTC') + n"),
    "fine": ("DateTime64(3, 'UTC')", "toDateTime64('1969-12-31 23:00:00', 3, 'UTC') + n"), "s": ("String", "concat('text ', toString(n), repeat('x', n % 300))"),
    "fs": ("FixedString(6)", "toFixedString(toString(n), 6)"), "id": ("UUID", "toUUID(concat('00000000-0000-0001-0000-', leftPad(toString(n), 12, '0')))"),
    "ip": ("IPv4", "toIPv4(toUInt32(n + 1))"), "six": ("IPv6", "toIPv6(concat('::', hex(n + 1)))"), "b": ("Bool", "true"),
    # Never sparse here; some are in ClickHouse.
    "e": ("Enum8('a' = -5, 'b' = 0, 'c' = 100)", "'c'"), "nn": ("Nullable(Int32)", "toInt32(n)"), "lc": ("LowCardinality(String)", "'l'"), "a": ("Array(UInt8)", "[1, 2]"),
    "d32": ("Date32", "toDate32('2020-01-01')"),
}
NEVER = ("e", "nn", "lc", "a", "d32")


def select(share):
    """Rows of which `share` in a thousand are the default."""
    def default(name, of_type):
        return {"e": "'b'", "nn": "NULL", "lc": "''", "a": "CAST([], 'Array(UInt8)')", "d32": "toDate32(0)"}.get(name, f"defaultValueOfTypeName('{of_type.replace(chr(39), chr(92) + chr(39))}')")
    columns = [f"if(cityHash64(n, 77, '{name}') % 1000 < {share}, {default(name, of_type)}, CAST({value}, '{of_type.replace(chr(39), chr(92) + chr(39))}')) AS `{name}`" for name, (of_type, value) in TYPES.items()]
    return f"SELECT n, {', '.join(columns)} FROM (SELECT number AS n FROM numbers({ROWS}))"


def imported(server, tambour, path, share, *flags, settings=""):
    """A table of ours with the types above."""
    columns = ", ".join(f"`{name}` {of_type}" for name, (of_type, _) in TYPES.items())
    create = f"CREATE TABLE t (n UInt64, {columns}) ENGINE = MergeTree ORDER BY n{settings}"
    (path / "t.sql").write_text(create)
    source = path / "rows.tsv"
    source.write_bytes(server.session.query(select(share), "TabSeparatedWithNames").bytes())
    tambour.run("import", source, "--into", path / "t", "--create", f"@{path / chr(116)}.sql", *flags)
    return create


def kinds(part):
    path = part / "serialization.json"
    return {it["name"]: it for it in json.loads(path.read_text())["columns"]} if path.exists() else {}


@pytest.mark.parametrize("share,flags", [(950, []), (999, ["--codec", "auto(size)"]), (1000, []), (960, ["--codec", "zstd(3)"]), (900, [])])
def test_clickhouse_takes_sparse_columns(server, tambour, database, tmp_path, share, flags):
    create = imported(server, tambour, tmp_path, share, *flags)
    tambour.run("verify", tmp_path / "t")
    parts = parts_of(tmp_path / "t")
    sparse = set(TYPES) - set(NEVER) if share > 937 else set()
    for part in parts:
        found = kinds(part)
        assert set(found) == sparse, part
        rows = int((part / "count.txt").read_text())
        for name, it in found.items():
            assert (part / f"{name}.sparse.idx.bin").exists() and it["kind"] == "Sparse" and it["num_rows"] == rows
    server.run(create.replace("CREATE TABLE t", f"CREATE TABLE {database}.t", 1))
    server.attach(database, "t", parts)
    assert server.check(database, "t")
    server.run(f"CREATE TABLE {database}.own AS {database}.t")
    server.run(f"INSERT INTO {database}.own {select(share)}")
    if sparse:
        counts = {row.split("\t")[0]: row.split("\t")[1] for row in
                  server.rows(f"SELECT column, serialization_kind FROM system.parts_columns WHERE database = '{database}' AND table = 'own' AND active")}
        assert {name for name, kind in counts.items() if kind == "Sparse"} - set(NEVER) == sparse, "ClickHouse does it for the same types"
    names = ["n", *TYPES]
    query = f"SELECT {', '.join(f'toString(`{name}`)' for name in names)} FROM {{}}"
    expected = server.rows(query.format(f"{database}.own"))
    assert_same_rows(server.rows(query.format(f"{database}.t")), expected, names)
    # Conditions and sums by the statistics, the fused scans, and the rows.
    for question in ("u8 > 0", "u64 = 0", "f64 != 0", "s = ''", "s LIKE 'text 1%'", "length(s) > 20", "day > '2020-06-01'", "dec = 0", "b", "id != '00000000-0000-0000-0000-000000000000'"):
        ask = f"SELECT count(), sum(n), sum(u8), min(i32), max(at), min(s), max(length(s)), sum(dec), uniqExact(u64) FROM {{}} WHERE {question}"
        ours, theirs = tambour.rows(tmp_path / "t", ask.format("t")), server.rows(ask.format(f"{database}.own"))
        # Of no rows ClickHouse's sums are 0, ours NULL.
        assert ours == theirs or (ours[0].startswith("0\t") and theirs[0].startswith("0\t")), question
    for ask in ("SELECT sum(u8), min(u8), max(u8), sum(i32), min(i32), max(u64), min(day), max(at), min(s), max(s), count() FROM {}",
                "SELECT u8, count(), sum(i32) FROM {} GROUP BY u8 ORDER BY u8", "SELECT s, count() FROM {} GROUP BY s ORDER BY count() DESC, s LIMIT 5",
                "SELECT n, s, u64 FROM {} ORDER BY u64 DESC, n LIMIT 7", "SELECT day, count() FROM {} GROUP BY day ORDER BY day LIMIT 9"):
        assert tambour.rows(tmp_path / "t", ask.format("t")) == server.rows(ask.format(f"{database}.own")), ask
    # Merged by both.
    tambour.run("optimize", tmp_path / "t")
    tambour.run("verify", tmp_path / "t")
    server.run(f"INSERT INTO {database}.t {select(500)} WHERE n < 1000")
    server.run(f"OPTIMIZE TABLE {database}.t FINAL")
    assert server.check(database, "t")


@pytest.mark.parametrize("flags,settings", [(["--dialect", "old"], ""), ([], " SETTINGS ratio_of_defaults_for_sparse_serialization = 1"), (["--codec", "auto(size,'since=21.8')"], "")])
def test_nothing_is_sparse_for_who_does_not_read_it(server, tambour, tmp_path, flags, settings):
    imported(server, tambour, tmp_path, 999, *flags, settings=settings)
    assert not [path for part in parts_of(tmp_path / "t") for path in part.glob("*.sparse.idx*")]


def test_sizes_are_those_of_clickhouse(server, tambour, database, tmp_path):
    """A column of 94 % zeros took 2.6 to 5.5 times the bytes."""
    imported(server, tambour, tmp_path, 950, "--codec", "lz4")
    columns = ", ".join(f"`{name}` {of_type}" for name, (of_type, _) in TYPES.items())
    server.run(f"CREATE TABLE {database}.t (n UInt64, {columns}) ENGINE = MergeTree ORDER BY n SETTINGS min_bytes_for_wide_part = 0, min_rows_for_wide_part = 0")
    server.run(f"INSERT INTO {database}.t {select(950)}")
    theirs = dict(row.split("\t") for row in server.rows(f"SELECT name, data_compressed_bytes FROM system.columns WHERE database = '{database}'"))
    ours = dict(row.split("\t") for row in tambour.rows(tmp_path / "t", "SELECT name, data_compressed_bytes FROM system.columns WHERE table = 't'"))
    ratios = {name: int(ours[name]) / int(theirs[name]) for name in TYPES if name not in NEVER}
    print("sparse columns, bytes of ours to ClickHouse's:", ratios)
    assert max(ratios.values()) < 1.15, ratios


@pytest.mark.parametrize("wide", [0, 1 << 30])
def test_elements_that_are_called_sparse_and_are_not(server, tambour, database, wide):
    """ClickHouse calls elements of tuples sparse by their share of defaults, also those of types that it never writes so."""
    kinds = "a Array(Int64), n Nullable(UInt8), m Map(String, UInt8), l LowCardinality(String), t Tuple(UInt8, Array(Tuple(UInt8, String))), u UInt8, s String"
    server.run(f"CREATE TABLE {database}.t (k UInt32, v Tuple({kinds})) ENGINE = MergeTree ORDER BY k SETTINGS min_bytes_for_wide_part = {wide}, "
               "ratio_of_defaults_for_sparse_serialization = 0.5, index_granularity = 100")
    server.run(f"INSERT INTO {database}.t SELECT number, if(number % 50 = 7, ([number, 1], 3, map('x', 4), 'y', (5, [(6, 'z')]), 7, 'w'), ([], NULL, map(), '', (0, []), 0, '')) FROM numbers(1000)")
    directory = server.directory(database, "t")
    tambour.run("verify", directory)
    for ask in ("SELECT * FROM {}", "SELECT k, v.a, v.m, v.t FROM {} WHERE v.u = 7 OR k < 3 ORDER BY k DESC", "SELECT sum(v.n), count(v.n), sum(v.u), max(v.s) FROM {}"):
        assert tambour.rows(f"t={directory}", ask.format("t")) == server.rows(ask.format(f"{database}.t")), ask
