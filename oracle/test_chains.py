"""Every codec that we write on every type that it suits, and the choice: ClickHouse attaches the parts and reads the same values."""

import pytest
from conftest import parts_of

INTEGERS = ["UInt8", "UInt16", "UInt32", "UInt64", "Int8", "Int16", "Int32", "Int64"]
TIMES = ["Date", "Date32", "DateTime('UTC')", "DateTime64(3, 'UTC')"]
DECIMALS = ["Decimal(9, 2)", "Decimal(18, 4)"]
WIDE = ["Int128", "UInt256", "Decimal(38, 3)"]
FLOATS = ["Float32", "Float64"]
OTHERS = ["String", "FixedString(5)", "UUID", "IPv4", "IPv6", "Bool", "Enum8('a' = -1, 'b' = 2)", "Nullable(Int32)", "LowCardinality(String)",
          "LowCardinality(Nullable(String))", "Array(Int32)", "Map(String, UInt64)"]
WORDS = INTEGERS + TIMES + DECIMALS
EVERY = WORDS + WIDE + FLOATS + OTHERS

CODECS = {
    "auto": EVERY, "auto(size)": EVERY, "auto(speed)": EVERY,
    "NONE": EVERY, "LZ4": EVERY, "LZ4HC(3)": EVERY, "ZSTD(1)": EVERY, "ZSTD(9)": EVERY, "ZSTD(3, 20)": EVERY, "ZSTD(1, 'minmatch=7')": EVERY,
    "T64": WORDS, "T64('bit')": WORDS, "T64('padded')": WORDS, "T64('padded'), ZSTD(1)": WORDS, "Delta, T64('padded'), ZSTD(1, 'minmatch=7')": WORDS,
    "Delta": WORDS + FLOATS, "Delta, LZ4": WORDS + FLOATS, "Delta, T64('bit'), ZSTD(1)": WORDS, "DoubleDelta": WORDS, "DoubleDelta, ZSTD(1)": WORDS,
    "GCD, LZ4": WORDS + WIDE, "GCD, T64, ZSTD(1)": WORDS, "GCD, Delta, T64('bit'), ZSTD(3)": WORDS,
    "Gorilla": FLOATS, "Gorilla, LZ4": FLOATS, "FPC": FLOATS, "FPC(8), ZSTD(1)": FLOATS, "ALP": FLOATS, "ALP, ZSTD(1)": FLOATS,
    "ALP('wide')": FLOATS, "ALP('wide'), Delta, ZSTD(3)": FLOATS,
}

ROWS = 20011

NUMBERS = {
    "steps": "intDiv(number, 3) * 60",
    "noise": "cityHash64(number, 7)",
    "few": "number % 7",
    "constant": "number - number + 77",
    "outlier": "if(number = 7777, 4611686018427387904, 5)",
}


def value(kind, number):
    """An expression that makes a value of the type out of a UInt64."""
    plain = kind.removeprefix("Nullable(").rstrip(")")
    if kind.startswith("Nullable"):
        return f"if(number % 5 = 0, NULL, accurateCastOrDefault({number} % 1000, '{plain}'))"
    if kind == "String":
        return f"concat('v', toString({number}))"
    if kind.startswith("LowCardinality(Nullable"):
        return f"if(number % 5 = 0, NULL, toString({number} % 300))"
    if kind.startswith("LowCardinality"):
        return f"toString({number} % 300)"
    if kind.startswith("FixedString"):
        return f"toFixedString(leftPad(toString({number} % 9999), 5, 'x'), 5)"
    if kind == "UUID":
        return f"reinterpretAsUUID({number})"
    if kind == "IPv4":
        return f"toIPv4(toUInt32({number} % 4294967296))"
    if kind == "IPv6":
        return f"toIPv6(concat('2001:db8::', lower(hex(toUInt16({number} % 65536)))))"
    if kind == "Bool":
        return f"toBool({number} % 2)"
    if kind.startswith("Enum8"):
        return f"if({number} % 2 = 0, 'a', 'b')"
    if kind.startswith("Array"):
        return f"arrayMap(x -> toInt32({number} % 100 + x), range(number % 4))"
    if kind.startswith("Map"):
        return f"map('k', {number}, toString(number % 3), 1)"
    if kind == "Date":
        return f"toDate(toUInt16({number} % 60000))"
    if kind == "Date32":
        return f"toDate32(toInt32({number} % 60000) - 20000)"
    if kind.startswith("DateTime64"):
        return f"fromUnixTimestamp64Milli(toInt64({number} % 4000000000000), 'UTC')"
    if kind.startswith("DateTime"):
        return f"toDateTime(toUInt32({number} % 4294967296), 'UTC')"
    if kind.startswith("Decimal"):
        return f"CAST(toInt64({number} % 1000000) - 500000 AS {kind}) / 7"
    if kind in FLOATS:
        return f"multiIf(number = 11, nan, number = 12, -inf, number = 13, CAST(-0. AS {kind}), CAST(toInt64({number} % 1000000) - 5000 AS {kind}) / 8)"
    return f"reinterpret({number}, '{kind}')" if kind in INTEGERS else f"CAST({number} AS {kind}) * 3"


@pytest.mark.parametrize("codec", CODECS)
def test_codec(server, tambour, database, tmp_path, codec):
    kinds = CODECS[codec]
    columns, values = ["id UInt32"], ["toUInt32(number)"]
    for index, kind in enumerate(kinds):
        for name, number in NUMBERS.items():
            columns.append(f"c{index}_{name} {kind}")
            values.append(f"CAST({value(kind, number)} AS {kind})")
    create = f"CREATE TABLE {{}} ({', '.join(columns)}) ENGINE = MergeTree ORDER BY id"
    server.run(create.format(f"{database}.expected"))
    server.run(f"INSERT INTO {database}.expected SELECT {', '.join(values)} FROM numbers({ROWS})")
    source = tmp_path / "rows.tsv"
    source.write_bytes(server.session.query(f"SELECT * FROM {database}.expected ORDER BY id", "TabSeparated").bytes())
    ours = ", ".join([columns[0], *(f"{column} CODEC({codec})" for column in columns[1:])])
    statement = f"CREATE TABLE t ({ours}) ENGINE = MergeTree ORDER BY id"
    tambour.run("import", source, "--format", "tsv", "--no-header", "--into", tmp_path / "t", "--create", statement)
    tambour.run("verify", tmp_path / "t")
    server.run(create.format(f"{database}.t"))
    server.attach(database, "t", parts_of(tmp_path / "t"))
    assert server.check(database, "t")
    for column in (column.split(" ", 1)[0] for column in columns):
        # Texts, so that NaN and minus zero are compared as well.
        sums = [server.run(f"SELECT count(), sum(cityHash64(id, toString({column}))) FROM {database}.{table}") for table in ("expected", "t")]
        assert sums[0] == sums[1], f"{codec}: {column}"


DECIMALS_AS_FLOATS = {
    "walk": "round(100 + arraySum(arrayMap(i -> sin(i * 7.3 + number / 900), range(6))) * 20, 2)",
    "noise": "(cityHash64(number) % 500 + cityHash64(number, 1) % 500 + cityHash64(number, 2) % 500) / 10",
    "mixed": "if(number % 50 = 7, sqrt(number), (number * 37 % 9999) / 1000)",
    "signs": "(toInt64(cityHash64(number) % 2000) - 1000) / 100",
    "odd": "multiIf(number % 9000 = 1, nan, number % 9000 = 2, inf, number % 9000 = 3, -0., (number % 700) / 4)",
    "large": "toFloat64(cityHash64(number) % 1000000000000) * 1000",
}


@pytest.mark.parametrize("kind", ["Float64", "Float32", "Nullable(Float64)"])
def test_decimals_by_size(server, tambour, database, tmp_path, kind):
    """Floats that are decimals are chosen chains of ALP in whole words, which ClickHouse reads."""
    columns = ", ".join(["id UInt32", *(f"{name} {kind}" for name in DECIMALS_AS_FLOATS)])
    values = ", ".join(f"CAST({value} AS {kind})" for value in DECIMALS_AS_FLOATS.values())
    create = f"CREATE TABLE {{}} ({columns}) ENGINE = MergeTree ORDER BY id"
    server.run(create.format(f"{database}.expected"))
    server.run(f"INSERT INTO {database}.expected SELECT number, {values} FROM numbers(150011)")
    source = tmp_path / "rows.parquet"
    source.write_bytes(server.session.query(f"SELECT * FROM {database}.expected ORDER BY id", "Parquet").bytes())
    tambour.run("import", source, "--into", tmp_path / "t", "--create", create.format("t"), "--codec", "auto(size)")
    tambour.run("verify", tmp_path / "t")
    server.run(create.format(f"{database}.t"))
    server.attach(database, "t", parts_of(tmp_path / "t"))
    assert server.check(database, "t")
    for column in DECIMALS_AS_FLOATS:
        sums = [server.run(f"SELECT count(), sum(cityHash64(id, toString({column}))) FROM {database}.{table}") for table in ("expected", "t")]
        assert sums[0] == sums[1], column
    if kind == "Float64":
        blocks = tambour.run("inspect", "--blocks", next((tmp_path / "t").glob("*/walk.bin")))
        assert "ALP, Delta, T64, ZSTD" in blocks


@pytest.mark.parametrize("codec", ["auto(size)", "auto", "ZSTD(3)", "LZ4"])
def test_recompress(server, tambour, database, tmp_path, codec):
    """A copy of the server's own table with other codecs goes back to the server."""
    statement = """CREATE TABLE {} (k UInt64, d Date, s String, l LowCardinality(String), n Nullable(Int32), f Float64, a Array(String))
ENGINE = MergeTree PARTITION BY toYYYYMM(d) ORDER BY k SETTINGS min_bytes_for_wide_part = 0"""
    server.run(statement.format(f"{database}.t"))
    server.run(f"""INSERT INTO {database}.t SELECT number * 3, toDate('2024-01-01') + number % 50, toString(number % 1000), toString(number % 9),
        if(number % 4 = 0, NULL, number % 100), number % 1000 / 8, [toString(number % 5)] FROM numbers(50000)""")
    import shutil
    shutil.copytree(server.directory(database, "t"), tmp_path / "t")
    (tmp_path / "t" / "create.sql").write_text(statement.format("t"))
    tambour.run("recompress", tmp_path / "t", "--codec", codec)
    tambour.run("verify", tmp_path / "t")
    server.run(statement.format(f"{database}.back"))
    server.attach(database, "back", parts_of(tmp_path / "t"))
    assert server.check(database, "back")
    sums = [server.run(f"SELECT count(), sum(cityHash64(*)) FROM {database}.{table}") for table in ("t", "back")]
    assert sums[0] == sums[1]


def test_codecs_of_ours_are_asked_for(tambour, tmp_path):
    (tmp_path / "n.csv").write_text("n\n" + "\n".join(map(str, range(1000))))
    refused = tambour.call("import", tmp_path / "n.csv", "--into", tmp_path / "t", "--codec", "PFOR")
    assert refused.returncode == 2 and b"--portable=no" in refused.stderr
    tambour.run("import", tmp_path / "n.csv", "--into", tmp_path / "t", "--codec", "PFOR", "--portable=no")
    assert tambour.rows(tmp_path / "t", "SELECT sum(n) FROM t") == ["499500"]


def test_a_choice_takes_codecs_of_ours_when_it_may(tambour, tmp_path):
    source = tmp_path / "n.csv"
    source.write_text("n\n" + "\n".join(str(n * n % 9973) for n in range(200000)))
    tambour.run("import", source, "--into", tmp_path / "portable", "--codec", "auto(size)")
    tambour.run("import", source, "--into", tmp_path / "own", "--codec", "auto(size)", "--portable=no")
    blocks = [tambour.run("inspect", "--blocks", next((tmp_path / name).glob("*/n.bin"))) for name in ("portable", "own")]
    assert "Pco" not in blocks[0] and "Pco" in blocks[1]
    sums = [tambour.rows(tmp_path / name, f"SELECT sum(n), min(n), max(n) FROM {name}") for name in ("portable", "own")]
    assert sums[0] == sums[1]
    refused = tambour.call("attach-script", tmp_path / "own")
    assert refused.returncode != 0 and b"recompress" in refused.stderr, refused
    tambour.run("recompress", tmp_path / "own", "--codec", "auto(size)")
    assert "Pco" not in tambour.run("inspect", "--blocks", next((tmp_path / "own").glob("*/n.bin")))
    tambour.run("attach-script", tmp_path / "own")
