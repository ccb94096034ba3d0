"""Engines that merge rows: what FINAL and OPTIMIZE leave of random tables, by both; the same parts read by both; merged parts attached.

SEEDS tables per engine in `make test`; TAMBOUR_ENGINES=100 makes as many.
"""

import os
import random
import shutil

import pytest
from conftest import assert_same_rows, parts_of

SEEDS = int(os.environ.get("TAMBOUR_ENGINES") or 6)

PLAIN = {
    "i": "Int64",
    "n": "Nullable(Int32)",
    "s": "String",
    "l": "LowCardinality(String)",
    "ln": "LowCardinality(Nullable(String))",
    "e": "Enum8('a' = 1, 'b' = 2)",
    "dec": "Decimal(12, 3)",
    "t": "DateTime64(3, 'UTC')",
    "a": "Array(Int16)",
    "u": "UUID",
}

KEYS = [
    ("k UInt32, k2 String", "k", "k"),
    ("k UInt32, k2 String", "(k, k2)", "k"),
    ("k UInt32, k2 String", "(k2, k)", "(k2, k)"),
    ("k UInt32, k2 LowCardinality(String)", "(k2, intDiv(k, 3))", "k2"),
    ("k Nullable(Int32), k2 Decimal(9, 1)", "(k, k2)", "(k, k2)"),
    ("k Enum8('z' = -3, 'b' = 1, 'a' = 2), k2 String", "(k, k2)", "k"),
    ("k Float64, k2 Date", "(toYYYYMM(k2), k)", "(toYYYYMM(k2), k)"),
]

NUMBERS = {
    "i8": "Int8",
    "u16": "UInt16",
    "i64": "Int64",
    "f32": "Float32",
    "f64": "Float64",
    "nn": "Nullable(Int32)",
    "d9": "Decimal(9, 2)",
    "d18": "Decimal(18, 2)",
    "d38": "Nullable(Decimal(38, 2))",
    "d76": "Decimal(76, 2)",
    "i128": "Int128",
    "u128": "UInt128",
    "i256": "Nullable(Int256)",
    "u256": "UInt256",
    "lc": "LowCardinality(Int8)",
    "lcn": "LowCardinality(Nullable(Int32))",
    "sm": "SimpleAggregateFunction(max, Int32)",
}

AGGREGATES = [
    "sum, UInt64",
    "sum, Int64",
    "sum, Float64",
    "sum, Nullable(Int64)",
    "sum, Decimal(38, 2)",
    "sumWithOverflow, UInt8",
    "min, Int32",
    "max, String",
    "max, LowCardinality(String)",
    "min, Nullable(String)",
    "max, Nullable(DateTime('UTC'))",
    "min, Date",
    "max, DateTime64(3, 'UTC')",
    "min, Float64",
    "max, Nullable(Float64)",
    "min, Decimal(12, 3)",
    "max, Enum8('b' = -2, 'a' = 1)",
    "min, FixedString(50)",
    "max, Bool",
    "min, IPv4",
    "max, Int256",
    "any, Nullable(Int32)",
    "any, Array(Int16)",
    "any, LowCardinality(Nullable(String))",
    "anyLast, Nullable(Int32)",
    "anyLast, String",
    "anyLast, UUID",
    "anyLast, Array(Int16)",
    "any_respect_nulls, Nullable(Int32)",
    "anyLast_respect_nulls, Nullable(Int32)",
    "groupBitAnd, UInt8",
    "groupBitOr, Int64",
    "groupBitXor, UInt16",
]

VERSIONS = ["UInt8", "UInt64", "Int16", "Date", "DateTime('UTC')", "DateTime64(3, 'UTC')", "Float64", "UInt128", "Int256"]


def key_values(chance, columns):
    """The values of k and k2: few, so that rows meet."""
    number = chance.randrange(12)
    first = chance.choice([str(number), "NULL"]) if "Nullable" in columns else str(number)
    if "k Float64" in columns:
        first = chance.choice([str(number), "-0.0", "0.5"])
    if "Enum" in columns:
        first = chance.choice(["'a'", "'b'", "'z'"])
    if "Date" in columns:
        return f"{first}, '2024-0{chance.randrange(1, 3)}-11'"
    if "Decimal" in columns:
        return f"{first}, {chance.choice(['0', '1.5', '-2'])}"
    return f"{first}, {chance.choice(['1', '2', '3'])!r}"


def value(chance, kind):
    """A literal of a type."""
    if kind.startswith("SimpleAggregateFunction"):
        kind = kind.split(", ", 1)[1][:-1]
    if kind.startswith(("Nullable", "LowCardinality(Nullable")) and chance.randrange(3) == 0:
        return "NULL"
    if "String" in kind:
        return chance.choice(["''", "'x'", "'tab\\t'", "'\u00e4\u20ac'", "'long %s'" % ("y" * chance.randrange(40))])
    if kind.startswith("Enum"):
        return chance.choice(["'a'", "'b'"])
    if kind.startswith("DateTime64"):
        return f"'2024-01-0{chance.randrange(1, 5)} 12:34:56.{chance.choice(['000', '123'])}'"
    if kind.startswith("DateTime"):
        return f"'2024-01-0{chance.randrange(1, 5)} 12:34:56'"
    if kind.startswith("Date"):
        return f"'2024-01-0{chance.randrange(1, 5)}'"
    if kind.startswith("Array"):
        return "[" + ", ".join(str(chance.randrange(-9, 9)) for _ in range(chance.randrange(3))) + "]"
    if kind == "Bool":
        return chance.choice(["true", "false"])
    if kind == "IPv4":
        return f"'1.2.3.{chance.randrange(256)}'"
    if "Decimal" in kind and "12" not in kind:
        return chance.choice(["0", "1.5", "-99.99", "99.99", "-1.5"])
    if "Decimal" in kind:
        return chance.choice(["0", "1.5", "-99999.125", "7"])
    if "DateTime" in kind:
        return f"'2024-01-0{chance.randrange(1, 5)} 12:34:56'"
    if kind == "Nullable(Float64)":
        return chance.choice(["0.5", "-1.25", "3"])
    if kind == "UUID":
        return f"'00000000-0000-0000-0000-{chance.randrange(10**9):012}'"
    if kind.startswith("Float"):
        return chance.choice(["0.5", "-1.25", "3", "1e20", "-0.0", "0"])
    return str(chance.randrange(4) if kind.startswith("U") else chance.randrange(-2, 4))


class Table:
    """A random table of an engine, and rows for it."""

    def __init__(self, chance, engine):
        self.chance = chance
        self.engine = engine
        self.keys, self.order, self.primary = chance.choice(KEYS)
        self.condition = "k = 'b' OR k = 'z'" if "Enum" in self.keys else "k >= 3 AND k < 7"
        names = chance.sample(sorted(PLAIN), chance.randrange(1, len(PLAIN)))
        self.columns = {name: PLAIN[name] for name in names}
        if engine == "AggregatingMergeTree":
            chosen = chance.sample(AGGREGATES, chance.randrange(1, 12))
            self.columns = {f"c{number}": f"SimpleAggregateFunction({it})" for number, it in enumerate(chosen)}
        parameters = []
        if engine == "ReplacingMergeTree" and chance.randrange(4):
            self.columns["version"] = chance.choice(VERSIONS)
            parameters.append("version")
            if chance.randrange(2):
                self.columns["gone"] = "UInt8"
                parameters.append("gone")
        if "Collapsing" in engine:
            self.columns["sign"] = "Int8"
            parameters.append("sign")
        if engine.startswith("Versioned"):
            self.columns["version"] = chance.choice(VERSIONS)
            parameters.append("version")
        if engine == "SummingMergeTree":
            more = chance.sample(sorted(NUMBERS), chance.randrange(1, 9))
            self.columns |= {name: NUMBERS[name] for name in more}
            if chance.randrange(3) == 0:
                some = chance.sample(sorted(more), chance.randrange(1, len(more) + 1))
                parameters.append(f"({', '.join(some)})")
        self.columns["p"] = "SimpleAggregateFunction(any, UInt8)" if engine == "AggregatingMergeTree" else "UInt8"
        listed = ", ".join(f"{name} {kind}" for name, kind in self.columns.items())
        partition = chance.choice(["", "", "PARTITION BY p"])
        granularity = chance.choice([2, 8192])
        self.statement = (
            f"CREATE TABLE {{}} ({self.keys}, {listed}) ENGINE = {engine}({', '.join(parameters)}) {partition} "
            f"PRIMARY KEY {self.primary} ORDER BY {self.order} "
            f"SETTINGS {'allow_dimensions_outside_sorting_key = 1, ' if engine == 'AggregatingMergeTree' else ''}allow_suspicious_low_cardinality_types = 1, index_granularity = {granularity}, allow_nullable_key = 1, min_bytes_for_wide_part = {chance.choice([0, 10**9])}"
        )
        self.names = ["k", "k2", *self.columns]

    def row(self):
        """A row."""
        values = [key_values(self.chance, self.keys)]
        for name, kind in self.columns.items():
            if name == "sign":
                values.append(self.chance.choice(["1", "-1"]))
            elif name == "gone":
                values.append(self.chance.choice(["0", "0", "1"]))
            elif name == "p":
                values.append(str(self.chance.randrange(3)))
            else:
                values.append(value(self.chance, kind))
        return f"({', '.join(values)})"

    def insert(self):
        """A statement with some rows."""
        return "INSERT INTO t VALUES " + ", ".join(self.row() for _ in range(self.chance.randrange(1, 40)))


ENGINES = ["ReplacingMergeTree", "CollapsingMergeTree", "VersionedCollapsingMergeTree", "SummingMergeTree", "AggregatingMergeTree"]


def queries(table, chance):
    """Queries whose answers do not depend on the order of rows."""
    names = ", ".join(table.names)
    some = ", ".join(chance.sample(table.names, 2))
    if table.engine == "SummingMergeTree":
        # ClickHouse leaves out rows of zeros by the columns that a query reads.
        return [
            f"SELECT {names} FROM t",
            f"SELECT {names} FROM t FINAL",
            f"SELECT {names} FROM t FINAL WHERE {table.condition}",
            f"SELECT {names} FROM t WHERE p = 1 SETTINGS final = 1",
        ]
    return [
        f"SELECT {names} FROM t",
        f"SELECT {names} FROM t FINAL",
        f"SELECT {some} FROM t FINAL",
        "SELECT count() FROM t FINAL",
        "SELECT p, count(), max(k2) FROM t AS x FINAL GROUP BY p",
        f"SELECT {names} FROM t FINAL WHERE {table.condition}",
        f"SELECT {names} FROM t FINAL WHERE p = 1",
        "SELECT count() FROM t SETTINGS final = 1",
        "SELECT count() FROM (SELECT * FROM t FINAL) AS x INNER JOIN t AS y FINAL USING (k, k2)",
    ]


def compare(server, tambour, place, table, chance):
    """Both give the same answers."""
    for query in queries(table, chance):
        print(query)  # Of the last one a failure tells.
        assert_same_rows(tambour.rows(place, query), server.rows(query), table.names)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_statements_leave_the_same_rows(seed, engine, server, database, tambour, tmp_path):
    chance = random.Random(f"{engine} {seed}")
    table = Table(chance, engine)
    server.run(f"USE {database}")
    server.run(table.statement.format("t"))
    server.run("SYSTEM STOP MERGES t")
    ours = ["sql", "--database", tmp_path, "--write"]
    tambour.run(*ours, table.statement.format("t"))
    for round in range(2):
        for _ in range(chance.randrange(1, 6)):
            insert = table.insert()
            server.run(insert)
            tambour.run(*ours, insert)
        compare(server, tambour, tmp_path / "t", table, chance)
        tambour.run("verify", tmp_path / "t")
        server.run("SYSTEM START MERGES t")
        server.run("OPTIMIZE TABLE t FINAL")
        server.run("SYSTEM STOP MERGES t")
        tambour.run(*ours, "OPTIMIZE TABLE t FINAL")
        compare(server, tambour, tmp_path / "t", table, chance)
        tambour.run("verify", tmp_path / "t")
    server.run(f"CREATE TABLE {database}.attached AS {database}.t")
    server.attach(database, "attached", parts_of(tmp_path / "t"))
    assert server.check(database, "attached")
    for query in (f"SELECT {', '.join(table.names)} FROM t", f"SELECT {', '.join(table.names)} FROM t FINAL"):
        assert_same_rows(server.rows(query.replace("FROM t", "FROM attached")), server.rows(query), table.names)
    server.run("USE default")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_parts_of_the_server_are_read_and_merged(seed, engine, server, database, tambour, tmp_path):
    """Also parts whose rows no engine has seen, as `optimize_on_insert = 0` leaves them."""
    chance = random.Random(f"parts {engine} {seed}")
    table = Table(chance, engine)
    server.run(f"USE {database}")
    server.run(table.statement.format("t"))
    server.run("SYSTEM STOP MERGES t")
    for _ in range(chance.randrange(1, 7)):
        server.run(table.insert().replace("INSERT INTO t", f"INSERT INTO t SETTINGS optimize_on_insert = {chance.randrange(2)}"))
    shutil.copytree(server.directory(database, "t"), tmp_path / "t")
    (tmp_path / "t" / "create.sql").write_text(table.statement.format("t"))
    compare(server, tambour, tmp_path / "t", table, chance)
    tambour.run("optimize", tmp_path / "t")
    tambour.run("verify", tmp_path / "t")
    server.run("SYSTEM START MERGES t")
    server.run("OPTIMIZE TABLE t FINAL")
    compare(server, tambour, tmp_path / "t", table, chance)
    server.run("USE default")


@pytest.mark.parametrize("engine", ENGINES)
def test_many_rows_in_several_ranges(engine, server, database, tambour, tmp_path):
    parameters = {"ReplacingMergeTree": "v, d", "CollapsingMergeTree": "sign", "VersionedCollapsingMergeTree": "sign, v"}.get(engine, "")
    columns = "k UInt32, s LowCardinality(String), v UInt8, d UInt8, sign Int8, x String"
    if engine == "AggregatingMergeTree":
        columns = "k UInt32, s LowCardinality(String), " + ", ".join(
            f"{name} SimpleAggregateFunction({function}, {kind})"
            for name, function, kind in (("v", "max", "UInt8"), ("d", "sumWithOverflow", "UInt8"), ("sign", "min", "Int8"), ("x", "anyLast", "String"))
        )
    statement = f"CREATE TABLE {{}} ({columns}) ENGINE = {engine}({parameters}) ORDER BY (k, s) SETTINGS index_granularity = 1000"
    server.run(f"USE {database}")
    server.run(statement.format("t"))
    server.run("SYSTEM STOP MERGES t")
    for part in range(4):
        server.run(
            f"INSERT INTO t SELECT cityHash64(number, {part}) % 60000 AS k, toString(k % 3), cityHash64(number, {part}, 1) % 5, "
            f"cityHash64(number, 2, {part}) % 10 = 0, if(cityHash64(number, 3, {part}) % 2, 1, -1), toString(number) FROM numbers(100000)"
        )
    shutil.copytree(server.directory(database, "t"), tmp_path / "t")
    (tmp_path / "t" / "create.sql").write_text(statement.format("t"))
    reads_all = (
        "SELECT s, count(), sum(cityHash64(x)), sum(v), sum(d), sum(sign) FROM t FINAL WHERE k BETWEEN 10000 AND 30000 GROUP BY s ORDER BY s"
    )
    for query in (
        "SELECT count(), sum(k), sum(v), sum(d), sum(sign), sum(cityHash64(x)), sum(cityHash64(k, s, v, d, sign, x)) FROM t FINAL",
        reads_all,
        "SELECT * FROM t FINAL WHERE k % 1000 = 7 ORDER BY ALL",
    ):
        assert tambour.rows(tmp_path / "t", query) == server.rows(query)
    tambour.run("optimize", tmp_path / "t")
    server.run("SYSTEM START MERGES t")
    server.run("OPTIMIZE TABLE t FINAL")
    query = "SELECT count(), sum(cityHash64(k, s, v, d, sign, x)) FROM t"
    assert tambour.rows(tmp_path / "t", query) == server.rows(query)
    server.run("USE default")


def test_what_has_no_meaning_is_refused(server, tambour, tmp_path):
    ours = ["sql", "--database", tmp_path, "--write"]
    for statement, word in (
        ("CREATE TABLE a (k UInt8, v String) ENGINE = ReplacingMergeTree(v) ORDER BY k", "version"),
        ("CREATE TABLE a (k UInt8, v UInt8) ENGINE = ReplacingMergeTree(w) ORDER BY k", "w"),
        ("CREATE TABLE a (k UInt8, v UInt8) ENGINE = CollapsingMergeTree(v) ORDER BY k", "sign"),
        ("CREATE TABLE a (k UInt8, v UInt8) ENGINE = CollapsingMergeTree ORDER BY k", "parameters"),
        ("CREATE TABLE a (k UInt8, v UInt8) ENGINE = GraphiteMergeTree('x') ORDER BY k", "GraphiteMergeTree"),
    ):
        refused = tambour.call(*ours, statement)
        assert refused.returncode != 0 and word in refused.stderr.decode(), refused.stderr
    tambour.run(*ours, "CREATE TABLE m (k UInt8) ORDER BY k")
    tambour.run(*ours, "CREATE TABLE r (k UInt8, v UInt8, d UInt8) ENGINE = ReplacingMergeTree(v, d) ORDER BY k")
    tambour.run(*ours, "CREATE TABLE c (k UInt8, s Int8) ENGINE = CollapsingMergeTree(s) ORDER BY k")
    for statement, word in (
        ("SELECT * FROM m FINAL", "MergeTree"),
        ("SELECT * FROM (SELECT 1) FINAL", "FINAL"),
        ("SELECT * FROM numbers(3) FINAL", "FINAL"),
        ("WITH r AS (SELECT 1 AS x) SELECT * FROM r FINAL", "FINAL"),
        ("SELECT * FROM r FINAL PREWHERE k = 1", "PREWHERE"),
        ("SELECT * FROM r PREWHERE k = 1 SETTINGS final = 1", "PREWHERE"),
        ("DELETE FROM r FINAL WHERE k = 1", "DELETE"),
        ("INSERT INTO r VALUES (1, 1, 2)", "0 or 1"),
        ("INSERT INTO c VALUES (1, 2)", "1 or -1"),
        ("ALTER TABLE r UPDATE v = 1 WHERE 1", "key"),
        ("ALTER TABLE c UPDATE s = 1 WHERE 1", "key"),
    ):
        refused = tambour.call(*ours, statement)
        assert refused.returncode != 0 and word in refused.stderr.decode(), (statement, refused.stderr)
    assert tambour.run(*ours, "--no-header", "SELECT count() FROM r FINAL SETTINGS final = 1").strip() == "0"
    assert tambour.run(*ours, "--no-header", "SELECT count() FROM m SETTINGS final = 1").strip() == "0"
