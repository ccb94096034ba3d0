"""INSERT, UPDATE, DELETE and OPTIMIZE: random scripts, carried out by both, leave the same rows; ClickHouse attaches the parts.

SEEDS scripts of STATEMENTS statements in `make test`; TAMBOUR_CHANGES=200 makes as many of 50.
"""

import os
import random
import uuid

import pytest
from conftest import assert_same_rows, parts_of

FULL = os.environ.get("TAMBOUR_CHANGES")
SEEDS = int(FULL or 12)
STATEMENTS = 50 if FULL else 12

COLUMNS = {
    "k": "UInt32",
    "p": "Date",
    "i": "Int64",
    "n": "Nullable(Int32)",
    "f": "Float64",
    "s": "String",
    "l": "LowCardinality(String)",
    "e": "Enum8('a' = 1, 'b' = 2, 'c' = -3)",
    "d": "Decimal(12, 3)",
    "t": "DateTime64(3, 'UTC')",
    "a": "Array(Int16)",
    "m": "Map(String, UInt8)",
    "u": "UUID",
}

LAYOUTS = [
    ("ORDER BY k", ""),
    ("ORDER BY (s, k)", "PARTITION BY toYYYYMM(p)"),
    ("ORDER BY tuple()", ""),
]


def value(chance, name):
    """A literal for a column."""
    if name == "k":
        return str(chance.randrange(200))
    if name == "p":
        return f"'2024-{chance.randrange(1, 4):02}-{chance.randrange(1, 29):02}'"
    if name == "i":
        return str(chance.choice([0, -1, 2**63 - 1, -(2**63) + 1, chance.randrange(-1000, 1000)]))
    if name == "n":
        return chance.choice(["NULL", str(chance.randrange(-100, 100))])
    if name == "f":
        return chance.choice(["0.5", "-1.25", "1e100", "3"])
    if name in "sl":
        return chance.choice(["''", "'x'", "'tab\\t'", "'it''s'", "'\u00e4\u20ac'", "'long %s'" % ("y" * chance.randrange(40))])
    if name == "e":
        return chance.choice(["'a'", "'b'", "'c'"])
    if name == "d":
        return chance.choice(["0", "1.5", "-99999.125", "7"])
    if name == "t":
        return f"'2024-0{chance.randrange(1, 9)}-11 12:34:56.{chance.randrange(1000):03}'"
    if name == "a":
        return "[" + ", ".join(str(chance.randrange(-9, 9)) for _ in range(chance.randrange(3))) + "]"
    if name == "m":
        return chance.choice(["{'a': 1}", "{'a': 1, 'b': 2}"])
    return f"'{uuid.UUID(int=chance.getrandbits(128))}'"


def condition(chance):
    """A condition over the columns."""
    return chance.choice(
        [
            f"k % {chance.randrange(2, 9)} = {chance.randrange(3)}",
            f"k BETWEEN {chance.randrange(100)} AND {chance.randrange(100, 200)}",
            "n IS NULL",
            f"n > {chance.randrange(-50, 50)}",
            "s LIKE '%x%' OR l = 'x'",
            "e = 'b'",
            "has(a, 3)",
            f"d >= 1 AND f < {chance.randrange(5)}",
            f"k IN (SELECT max(k) - {chance.randrange(5)} FROM t)",
            f"p >= '2024-02-{chance.randrange(1, 28):02}'",
        ]
    )


def assignment(chance, layout):
    """A new value for a column that is in no key."""
    choices = [
        "i = k + 1",
        "n = NULL",
        f"n = k - {chance.randrange(100)}",
        "f = f * 2",
        "l = concat(l, '!')",
        f"e = {value(chance, 'e')}",
        f"d = {value(chance, 'd')}",
        "a = arrayMap(x -> x + 1, a)",
        f"t = {value(chance, 't')}",
    ]
    if "(s," not in layout[0]:
        choices.append("s = upper(l)")
    return chance.choice(choices)


def statement(chance, layout):
    """A statement that both know."""
    kind = chance.choice(["insert", "insert", "insert", "select", "update", "update", "delete", "alter", "optimize"])
    if kind == "insert":
        rows = [", ".join(value(chance, name) for name in COLUMNS) for _ in range(chance.randrange(1, 30))]
        return "INSERT INTO t VALUES " + ", ".join(f"({row})" for row in rows)
    if kind == "select":
        names = ", ".join(name for name in COLUMNS if name != "k")
        return f"INSERT INTO t (k, {names}) SELECT k + 1, {names} FROM t WHERE {condition(chance)}"
    if kind == "update":
        return f"ALTER TABLE t UPDATE {assignment(chance, layout)} WHERE {condition(chance)}"
    if kind == "delete":
        return f"DELETE FROM t WHERE {condition(chance)}"
    if kind == "alter":
        return f"ALTER TABLE t DELETE WHERE {condition(chance)}"
    return "OPTIMIZE TABLE t FINAL"


@pytest.mark.parametrize("seed", range(SEEDS))
def test_scripts_leave_the_same_rows(seed, server, database, tambour, tmp_path):
    chance = random.Random(seed)
    layout = LAYOUTS[seed % len(LAYOUTS)]
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    create = f"CREATE TABLE {{}} ({columns}) ENGINE = MergeTree {layout[1]} {layout[0]}"
    server.run(create.format(f"{database}.t") + " SETTINGS min_bytes_for_wide_part = 0")
    (tmp_path / "none.csv").write_text(",".join(COLUMNS) + "\n")
    table = tmp_path / "t"
    tambour.run("import", tmp_path / "none.csv", "--into", table, "--create", create.format("t"))
    script = [statement(chance, layout) for _ in range(STATEMENTS)]
    server.run(f"USE {database}")
    for line in script:
        server.run(f"{line} SETTINGS mutations_sync = 2" if line.startswith("ALTER") else line)
    (tmp_path / "script.sql").write_text(";\n".join(script))
    tambour.run("sql", table, "--write", "-f", tmp_path / "script.sql")

    names = list(COLUMNS)
    query = f"SELECT {', '.join(names)} FROM t"
    ours, theirs = tambour.rows(table, query), server.rows(query)
    assert_same_rows(ours, theirs, names)
    tambour.run("verify", table)

    server.run(create.format(f"{database}.attached") + " SETTINGS min_bytes_for_wide_part = 0")
    server.attach(database, "attached", parts_of(table))
    assert server.check(database, "attached")
    assert_same_rows(server.rows(query.replace("FROM t", "FROM attached")), theirs, names)
    server.run("USE default")
