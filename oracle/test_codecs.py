"""Every codec and chain on every type that allows it: ClickHouse reads what we write, we read what it writes."""

import json

import pytest
import zoo
from conftest import assert_same_rows, parts_of

INTEGERS = ["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64"]
TIMES = ["date", "date32", "dt", "dt_berlin", "dt64_3", "dt64_9"]
SMALL = INTEGERS + TIMES + ["bool", "dec32", "dec64", "ip4", "e8", "e16"]
WIDE = ["u128", "u256", "i128", "i256", "dec128", "dec256"]
FLOATS = ["f32", "f64"]
OTHERS = ["s", "fs", "uuid", "ip6", "lc", "n_u32", "n_s", "a_u8", "t_named", "m", "bf16"]

# Chain, and the columns of the zoo that it goes on.
CHAINS = {
    "NONE": SMALL + WIDE + FLOATS + OTHERS,
    "LZ4": SMALL + WIDE + FLOATS + OTHERS,
    "LZ4HC(3)": SMALL + WIDE + FLOATS + OTHERS,
    "LZ4HC(12)": SMALL + FLOATS + OTHERS,
    "ZSTD(1)": SMALL + WIDE + FLOATS + OTHERS,
    "ZSTD(22)": SMALL + FLOATS + OTHERS,
    "ZSTD(3, 24)": SMALL + FLOATS + OTHERS,
    "Delta": SMALL + FLOATS,
    "Delta, LZ4": SMALL + FLOATS,
    "Delta, ZSTD(3)": SMALL + FLOATS,
    "DoubleDelta": SMALL,
    "DoubleDelta, LZ4HC(9)": SMALL,
    "Gorilla": FLOATS,
    "Gorilla, ZSTD(1)": FLOATS,
    "T64": INTEGERS + TIMES + ["e8", "e16", "dec32", "dec64", "ip4"],
    "T64('bit')": INTEGERS + TIMES + ["e8", "e16", "dec32", "dec64"],
    "T64, LZ4": INTEGERS + TIMES,
    "T64('bit'), ZSTD(3)": INTEGERS + TIMES,
    "Delta, T64('bit'), ZSTD(1)": INTEGERS + TIMES,
    "GCD": INTEGERS + TIMES + ["dec32", "dec64"] + WIDE,
    "GCD, LZ4": INTEGERS + TIMES + ["dec32", "dec64"] + WIDE,
    "GCD, Delta, T64, ZSTD(3)": INTEGERS + TIMES,
    "FPC": FLOATS,
    "FPC(20), LZ4": FLOATS,
    "ALP": FLOATS,
    "ALP, ZSTD(1)": FLOATS,
}

# ClickHouse asks before it makes what rarely makes sense; its reader does not.
ALLOW = "SET allow_suspicious_codecs = 1, enable_alp_codec = 1"

ROWS = [1, 2, 63, 4099]


def statement(table, names, chain, tail="ORDER BY k"):
    types = {name: kind for name, kind, _ in zoo.ZOO}
    lines = ",\n".join(f"    {zoo.quoted(name)} {types[name]} CODEC({chain})" for name in names)
    return f"CREATE TABLE {table}\n(\n    k UInt64,\n{lines}\n)\nENGINE = MergeTree\n{tail}"


@pytest.mark.parametrize("chain", CHAINS)
def test_clickhouse_reads_ours(server, tambour, database, tmp_path, chain):
    names = CHAINS[chain]
    columns = [column for column in zoo.ZOO if column[0] in names]
    names = [name for name, _, _ in columns]
    # The declaration of the server's table does not matter for reading.
    server.run(zoo.create(f"{database}.t", columns, "ORDER BY k"))
    expected = []
    for batch, rows in enumerate(ROWS):
        text = server.session.query(zoo.select(columns, rows, batch * 100_000), "TabSeparated").bytes()
        source = tmp_path / f"{batch}.tsv"
        source.write_bytes(text)
        expected += text.decode("utf-8", "surrogateescape").splitlines()
        flags = ["--append"] if batch else []
        tambour.run("import", source, "--format", "tsv", "--no-header", "--into", tmp_path / "t",
                    "--create", statement("t", names, chain), *flags)
    # What the blocks say, not the declaration.
    stored = json.loads(tambour.run("inspect", tmp_path / "t", "--json"))
    wanted = chain.replace("LZ4HC", "LZ4").split("(")[0].split(",")[0]
    found = {codec for column in stored["columns"] if column["name"] != "k" for codec in column["codecs"]}
    assert any(wanted in codec for codec in found), found
    parts = parts_of(tmp_path / "t")
    assert len(parts) == len(ROWS)
    server.attach(database, "t", parts)
    assert server.check(database, "t")
    assert_same_rows(server.rows(f"SELECT * FROM {database}.t"), expected, ["k", *names])
    assert_same_rows(tambour.rows(tmp_path / "t", "SELECT * FROM t"), expected, ["k", *names])


@pytest.mark.parametrize("chain", CHAINS)
def test_we_read_clickhouse(server, tambour, database, chain):
    # Of f64, which has no decimal form, ClickHouse makes ALP-RD: the next test.
    names = [name for name in CHAINS[chain] if not ("ALP" in chain and name == "f64")]
    columns = [column for column in zoo.ZOO if column[0] in names]
    names = [name for name, _, _ in columns]
    server.run(ALLOW)
    wide = "ORDER BY k SETTINGS min_bytes_for_wide_part = 0, min_rows_for_wide_part = 0"
    server.run(statement(f"{database}.t", names, chain, wide))
    server.run(f"SYSTEM STOP MERGES {database}.t")
    for batch, rows in enumerate(ROWS):
        server.run(f"INSERT INTO {database}.t {zoo.select(columns, rows, batch * 100_000)}")
    directory = server.directory(database, "t")
    expected = server.rows(f"SELECT * FROM {database}.t")
    assert len(expected) == sum(ROWS)
    assert_same_rows(tambour.rows(directory, f"SELECT * FROM \"{directory.name}\""), expected, ["k", *names])
    tambour.run("verify", directory)


def test_alp_rd_is_refused_by_name(server, tambour, database):
    server.run(ALLOW)
    columns = [column for column in zoo.ZOO if column[0] in ("f32", "f64")]
    tail = "ORDER BY k SETTINGS min_bytes_for_wide_part = 0, min_rows_for_wide_part = 0"
    server.run(statement(f"{database}.t", ["f32", "f64"], "ALP", tail))
    server.run(f"INSERT INTO {database}.t {zoo.select(columns, 5000)}")
    directory = server.directory(database, "t")
    done = tambour.call("sql", directory, f"SELECT sum(f64) FROM \"{directory.name}\"")
    assert done.returncode == 5
    assert "ALP in its RD variant is not supported" in done.stderr.decode()
    # Other columns stay readable.
    expected = server.rows(f"SELECT count(), min(f32), max(f32) FROM {database}.t")
    assert tambour.rows(directory, f"SELECT count(), min(f32), max(f32) FROM \"{directory.name}\"") == expected
