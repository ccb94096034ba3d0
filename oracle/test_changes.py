"""INSERT, UPDATE, DELETE, OPTIMIZE, ALTER of columns and of parts: random scripts, carried out by both, leave the same rows; ClickHouse attaches the parts.

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

# Columns that are computed unless an INSERT has them, and columns that always are.
DEFAULTS = {
    "v": "String DEFAULT concat(s, '/', toString(i))",
    "w": "UInt16 DEFAULT k * 700 + length(v)",
    "b": "Nullable(Float64) DEFAULT f / 2",
}
MATERIALIZED = {
    "x": "UInt64 MATERIALIZED cityHash64(s, l, w)",
    "y": "Array(Int64) MATERIALIZED arrayMap(it -> it + k, a)",
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


def given(chance, name):
    """What VALUES have for a column: a value, or a word for that of the table."""
    if name in DEFAULTS:
        values = {"v": ["'v'", "''"], "w": ["0", "65535"], "b": ["-0.5", "1e9"]}[name]
        return chance.choice([*values, "DEFAULT", "NULL"])
    # ClickHouse's default of an Enum is its number 0, which this one does not have.
    if name not in "kpse" and not chance.randrange(12):
        return "NULL"
    return value(chance, name)


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
            "x % 3 = 1 OR w > 60000",
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
        # A number that does not fit is an error here, and wraps around there.
        "v = concat(v, l), w = if(w < 65535, w + 1, w)",
        "b = b + i",
    ]
    if "(s," not in layout[0]:
        choices.append("s = upper(l)")
    return chance.choice(choices)


def condition_of_rows(chance):
    """One without a query: ClickHouse asks anew for each part, when it has deleted rows of others."""
    where = "SELECT"
    while "SELECT" in where:
        where = condition(chance)
    return where


def command(chance, layout):
    """A command of ALTER TABLE about rows, which others stand beside."""
    place = f" IN PARTITION 20240{chance.randrange(1, 4)}" if "PARTITION" in layout[1] and not chance.randrange(3) else ""
    where = condition_of_rows(chance)
    kind = chance.choice(["update", "update", "update", "delete", "materialize", "mask"])
    if kind == "update":
        return f"UPDATE {assignment(chance, layout)}{place} WHERE {where}"
    if kind == "delete":
        return f"DELETE{place} WHERE {where}"
    if kind == "materialize":
        return f"MATERIALIZE COLUMN {chance.choice([*DEFAULTS, *MATERIALIZED])}{place}"
    return f"APPLY DELETED MASK{place}"


def statement(chance, layout):
    """A statement that both know."""
    kind = chance.choice(["insert", "insert", "insert", "select", "update", "update", "delete", "alter", "several", "optimize"])
    if kind == "several":
        return "ALTER TABLE t " + ", ".join(command(chance, layout) for _ in range(chance.randrange(1, 5)))
    if kind == "insert":
        names = [name for name in COLUMNS if name in "kpse" or chance.randrange(8)]
        names += [name for name in DEFAULTS if not chance.randrange(3)]
        chance.shuffle(names)
        rows = [", ".join(given(chance, name) for name in names) for _ in range(chance.randrange(1, 30))]
        return f"INSERT INTO t ({', '.join(names)}) VALUES " + ", ".join(f"({row})" for row in rows)
    if kind == "select":
        names = ", ".join(name for name in COLUMNS if name != "k")
        nothing = chance.choice(["", ", v", ", w"])
        value_of = chance.choice(["NULL", f"if(k % 2, NULL, {nothing[2:]})"])
        return f"INSERT INTO t (k, {names}{nothing}) SELECT k + 1, {names}{nothing and ', ' + value_of} FROM t WHERE {condition(chance)}"
    place = f" IN PARTITION 20240{chance.randrange(1, 4)}" if "PARTITION" in layout[1] and not chance.randrange(3) else ""
    if kind == "update":
        return f"ALTER TABLE t UPDATE {assignment(chance, layout)}{place} WHERE {condition(chance)}"
    if kind == "delete":
        return f"DELETE FROM t{place} WHERE {condition_of_rows(chance)}"
    if kind == "alter":
        return f"ALTER TABLE t DELETE{place} WHERE {condition_of_rows(chance)}"
    return "OPTIMIZE TABLE t FINAL"


# Types of columns that come and go, values for them, and what they may become: what holds all values, and what does not.
ADDED = {
    "UInt8": ["0", "7", "255"],
    "Int64": ["-3", "0", "77"],
    "Nullable(Int16)": ["NULL", "-5", "12"],
    "String": ["''", "'12'", "'-7'"],
    "LowCardinality(String)": ["''", "'3'"],
    "Decimal(10, 2)": ["0", "1.25", "-17.5"],
    "Date": ["'2024-02-29'", "'1970-01-01'"],
    "Date32": ["'1900-01-01'", "'2024-02-29'"],
    "Array(Int16)": ["[]", "[1, -2]"],
    "Enum8('a' = 1, 'b' = 2)": ["'a'", "'b'"],
}
BECOMES = {
    "UInt8": ["UInt32", "Int16", "String", "Nullable(UInt8)", "Float64"],
    "UInt32": ["Int64", "String"],
    "Int16": ["Int64"],
    "Int64": ["String", "Nullable(Int64)"],
    "Int32": ["Int64"],
    "Nullable(Int16)": ["Nullable(Int64)", "Int16 DEFAULT 4", "Nullable(String)"],
    "String": ["LowCardinality(String)", "Nullable(String)"],
    "LowCardinality(String)": ["String", "LowCardinality(Nullable(String))"],
    "Decimal(10, 2)": ["Decimal(12, 4)"],
    "Date": ["Date32", "String"],
    "Array(Int16)": ["Array(Int64)", "Array(String)"],
    "Enum8('a' = 1, 'b' = 2)": ["Enum8('a' = 1, 'b' = 2, 'c' = 3)", "String"],
}
# These may not hold a DEFAULT, which is an error here.
NARROWS = {
    "UInt32": ["UInt8"],
    "Int16": ["UInt8"],
    "Int64": ["UInt8", "Int32"],
    "Int32": ["UInt8"],
    "Decimal(10, 2)": ["Decimal(9, 1)", "Int64"],
    "Enum8('a' = 1, 'b' = 2)": ["Int8"],
}
NEW_VALUES = {
    "UInt32": "k * 70",
    "Int64": "k - 100",
    "Int32": "k - 100",
    "Int16": "k - 100",
    "Nullable(Int16)": "k - 100",
    "String": "concat(s, '!')",
    "Decimal(10, 2)": "0.25",
}


class Columns:
    """The columns of a table beyond those of COLUMNS, as ALTER changes them."""

    def __init__(self, chance):
        self.chance = chance
        self.types = {}
        self.with_default = set()
        self.count = 0

    def spot(self):
        """Where a column goes."""
        return self.chance.choice(["", "", " FIRST", " AFTER k", " AFTER s"])

    def alter(self):
        """A statement."""
        kind = self.chance.choice(["add", "add", "drop", "rename", "modify", "modify", "default", "comment", "several", "update"])
        if not self.types or kind == "add":
            return ["ALTER TABLE t " + self.add()]
        name = self.chance.choice(sorted(self.types))
        if kind == "several":
            first = self.add()
            return [f"ALTER TABLE t {first}, {self.drop(name)}"]
        if kind == "drop":
            return [f"ALTER TABLE t {self.drop(name)}"]
        if kind == "update":
            new = NEW_VALUES.get(self.types[name])
            return [f"ALTER TABLE t UPDATE {name} = {new} WHERE {condition(self.chance)}"] if new else []
        if kind == "rename":
            self.count += 1
            self.types[f"r{self.count}"] = self.types.pop(name)
            if name in self.with_default:
                self.with_default.add(f"r{self.count}")
            return [f"ALTER TABLE t RENAME COLUMN {name} TO r{self.count}"]
        if kind == "comment":
            return [f"ALTER TABLE t COMMENT COLUMN {name} 'number {self.chance.randrange(9)}'"]
        if kind == "default":
            data_type = self.types[name]
            if data_type not in ADDED or data_type.startswith(("Nullable", "Array")):
                return []
            default = self.chance.choice(ADDED[data_type])
            self.with_default.add(name)
            # Rows that have no value yet get one in both: ClickHouse's RENAME and MODIFY write a column into parts that have not had it, and
            # its merges leave out one that no part has. Which DEFAULT rows have later is another question.
            return ["OPTIMIZE TABLE t FINAL", f"ALTER TABLE t MODIFY COLUMN {name} DEFAULT {default}"]
        choices = list(BECOMES.get(self.types[name], []))
        if name not in self.with_default:
            choices += NARROWS.get(self.types[name], [])
        if not choices:
            return []
        wanted = self.chance.choice(choices)
        self.types[name] = wanted.split(" DEFAULT")[0]
        if "DEFAULT" in wanted:
            self.with_default.add(name)
        return [f"ALTER TABLE t MODIFY COLUMN {name} {wanted}{self.spot()}"]

    def add(self):
        """Adds a column."""
        self.count += 1
        name = f"c{self.count}"
        data_type = self.chance.choice(sorted(ADDED))
        default = f" DEFAULT {self.chance.choice(ADDED[data_type])}" if self.chance.randrange(2) else ""
        if data_type == "Int64" and self.chance.randrange(2):
            default = " DEFAULT k * 3"
        if data_type == "String" and default:
            default = " DEFAULT toString(k)"
        if data_type.startswith("Array"):
            default = ""
        self.types[name] = data_type
        if default:
            self.with_default.add(name)
        return f"ADD COLUMN {name} {data_type}{default}{self.spot()}"

    def drop(self, name):
        """Removes a column."""
        del self.types[name]
        return f"DROP COLUMN {name}"


@pytest.mark.parametrize("seed", range(SEEDS))
def test_scripts_leave_the_same_rows(seed, server, database, tambour, tmp_path):
    chance = random.Random(seed)
    layout = LAYOUTS[seed % len(LAYOUTS)]
    columns = ", ".join(f"{name} {kind}" for name, kind in (COLUMNS | DEFAULTS | MATERIALIZED).items())
    granularity = [4, 16, 8192][seed // len(LAYOUTS) % 3]
    create = f"CREATE TABLE {{}} ({columns}) ENGINE = MergeTree {layout[1]} {layout[0]} SETTINGS index_granularity = {granularity}"
    # A merge beside gives the rows of parts that lack a column a value, by the DEFAULT and the type of that moment.
    server.run(create.format(f"{database}.t") + ", min_bytes_for_wide_part = 0, max_bytes_to_merge_at_max_space_in_pool = 1")
    table = tmp_path / "t"
    tambour.run("sql", "--database", tmp_path, "--write", create.format("t"))
    script, more = [], Columns(chance)
    while len(script) < STATEMENTS:
        script += more.alter() if chance.randrange(3) == 0 else [statement(chance, layout)]
    server.run(f"USE {database}")
    for line in script:
        is_mutation = any(word in line for word in (" UPDATE ", " DELETE ", " MATERIALIZE ", " MASK"))
        server.run(f"{line} SETTINGS mutations_sync = 2" if is_mutation else line)
    (tmp_path / "script.sql").write_text(";\n".join(script))
    tambour.run("sql", table, "--write", "-f", tmp_path / "script.sql")

    names = list(COLUMNS | DEFAULTS | MATERIALIZED) + list(more.types)
    listed = "SELECT name, type, comment FROM system.columns WHERE database = '{}' AND table = 't' ORDER BY position"
    described = tambour.rows(table, listed.format("default"))
    assert described == server.rows(listed.format(database))
    query = f"SELECT {', '.join(names)} FROM t"
    ours, theirs = tambour.rows(table, query), server.rows(query)
    assert_same_rows(ours, theirs, names)
    tambour.run("verify", table)

    server.run(f"CREATE TABLE {database}.attached AS {database}.t")
    server.attach(database, "attached", parts_of(table))
    assert server.check(database, "attached")
    assert_same_rows(server.rows(query.replace("FROM t", "FROM attached")), theirs, names)
    server.run("USE default")


MONTHS = ["202401", "202402", "202403"]


def partition_statement(chance, tables):
    """A statement about partitions of one or two tables, and the tables that are compared afterwards."""
    table, other = chance.sample(tables, 2)
    month = chance.choice(MONTHS)
    kind = chance.choice(["insert", "insert", "insert", "detach", "attach", "attach", "from", "replace", "move", "drop", "several", "optimize"])
    if kind == "insert":
        rows = [", ".join(value(chance, name) for name in COLUMNS) for _ in range(chance.randrange(1, 20))]
        return f"INSERT INTO {table} ({', '.join(COLUMNS)}) VALUES " + ", ".join(f"({row})" for row in rows)
    if kind == "optimize":
        return f"OPTIMIZE TABLE {table} FINAL"
    return f"ALTER TABLE {table} " + {
        "detach": f"DETACH PARTITION {month}",
        "attach": f"ATTACH PARTITION {month}",
        "from": f"ATTACH PARTITION {month} FROM {other}",
        "replace": f"REPLACE PARTITION {month} FROM {other}",
        "move": f"MOVE PARTITION {month} TO TABLE {other}",
        "drop": f"DROP PARTITION ID '{month}'",
        "several": f"DROP PARTITION {month}, DETACH PARTITION ID '202401'",
    }[kind]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_partitions_go_as_in_clickhouse(seed, server, database, tambour, tmp_path):
    chance = random.Random(1000 + seed)
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    layout = "PARTITION BY toYYYYMM(p) ORDER BY (s, k)"
    tables = ["t", "u"]
    script = [f"CREATE TABLE {table} ({columns}) ENGINE = MergeTree {layout}" for table in tables]
    server.run(f"USE {database}")
    for line in script:
        server.run(line + " SETTINGS min_bytes_for_wide_part = 0")
    for _ in range(2 * STATEMENTS):
        line = partition_statement(chance, tables)
        if " REPLACE " in line:
            # ClickHouse empties a partition that the other table does not have; it is refused here.
            *_, month, _, other = line.split()
            if server.rows(f"SELECT count() FROM {other} WHERE toYYYYMM(p) = {month}") == ["0"]:
                continue
        try:
            server.run(line)
        except Exception as error:
            # Refused by both; ours would end the script.
            assert "has no parts in partition" in str(error)
            continue
        script.append(line)
    (tmp_path / "script.sql").write_text(";\n".join(script))
    shop = tmp_path / "shop"
    shop.mkdir()
    tambour.run("sql", "--database", shop, "--write", "-f", tmp_path / "script.sql")
    names = list(COLUMNS)
    for table in tables:
        query = f"SELECT {', '.join(names)} FROM {table}"
        ours, theirs = tambour.rows(shop / table, query), server.rows(query)
        assert_same_rows(ours, theirs, names)
        tambour.run("verify", shop / table)
        # What waits in detached/ is the same, too.
        attach = [f"ALTER TABLE {table} ATTACH PARTITION {month}" for month in MONTHS]
        for line in attach:
            server.run(line)
        tambour.run("sql", "--database", shop, "--write", "; ".join(attach))
        ours, theirs = tambour.rows(shop / table, query), server.rows(query)
        assert_same_rows(ours, theirs, names)
        tambour.run("verify", shop / table)
        server.run(f"CREATE TABLE {database}.attached_{table} AS {database}.{table}")
        server.attach(database, f"attached_{table}", parts_of(shop / table))
        assert server.check(database, f"attached_{table}")
        assert_same_rows(server.rows(query.replace(f"FROM {table}", f"FROM attached_{table}")), theirs, names)
    server.run("USE default")


def test_detached_parts_change_hands(server, database, tambour, tmp_path):
    create = "CREATE TABLE {} (k UInt32, s String) ENGINE = MergeTree PARTITION BY k % 2 ORDER BY k"
    shop = tmp_path / "shop"
    shop.mkdir()
    tambour.run("sql", "--database", shop, "--write", create.format("t"))
    server.run(create.format(f"{database}.t") + " SETTINGS min_bytes_for_wide_part = 0")
    server.run(f"INSERT INTO {database}.t SELECT number, toString(number) FROM numbers(1000)")
    server.run(f"ALTER TABLE {database}.t DETACH PARTITION 1")
    theirs = server.directory(database, "t") / "detached"
    (part,) = theirs.iterdir()
    part.rename(shop / "t" / "detached" / part.name)
    tambour.run("sql", "--database", shop, "--write", "ALTER TABLE t ATTACH PARTITION 1")
    assert tambour.rows(shop / "t", "SELECT count(), sum(k), min(s) FROM t") == ["500\t250000\t1"]
    tambour.run("sql", "--database", shop, "--write", "ALTER TABLE t DETACH PARTITION ALL")
    (part,) = (shop / "t" / "detached").iterdir()
    part.rename(theirs / part.name)
    server.run(f"ALTER TABLE {database}.t ATTACH PARTITION 1")
    assert server.rows(f"SELECT count(), sum(k) FROM {database}.t") == ["1000\t499500"]


def test_masks_are_those_of_clickhouse(server, database, tambour, tmp_path):
    """Rows hidden by one are hidden for the other, over masks that are there already."""
    create = "CREATE TABLE {} (k UInt32, s String, n Nullable(Int32)) ENGINE = MergeTree ORDER BY k SETTINGS min_bytes_for_wide_part = 0"
    shop = tmp_path / "shop"
    shop.mkdir()
    server.run(create.format(f"{database}.t"))
    server.run(f"INSERT INTO {database}.t SELECT number, toString(number), if(number % 7, number, NULL) FROM numbers(50000)")
    server.run(f"DELETE FROM {database}.t WHERE k % 10 = 3 SETTINGS mutations_sync = 2, lightweight_deletes_sync = 2")
    server.run(f"ALTER TABLE {database}.t DETACH PARTITION ALL")
    detached = server.directory(database, "t") / "detached"
    tambour.run("sql", "--database", shop, "--write", create.format("t"))
    gone, query = ["k % 10 = 3"], "SELECT count(), sum(k), sum(cityHash64(s)), count(n) FROM "
    server.run(f"CREATE TABLE {database}.plain AS {database}.t")
    server.run(f"INSERT INTO {database}.plain SELECT number, toString(number), if(number % 7, number, NULL) FROM numbers(50000)")
    for condition in ["k < 1000", "n IS NULL AND k % 3 = 1", "k BETWEEN 8000 AND 30000", "s LIKE '%44%'"]:
        (part,) = [path for path in detached.iterdir() if (path / "columns.txt").exists()]
        part.rename(shop / "t" / "detached" / part.name)
        tambour.run("sql", "--database", shop, "--write", f"ALTER TABLE t ATTACH PARTITION ALL; DELETE FROM t WHERE {condition}")
        (part,) = parts_of(shop / "t")
        assert "_row_exists" in (part / "columns.txt").read_text()
        tambour.run("verify", shop / "t")
        gone.append(condition)
        expected = server.rows(f"{query} {database}.plain WHERE NOT ({' OR '.join(f'ifNull({it}, 0)' for it in gone)})")
        assert tambour.rows(shop / "t", query + "t") == expected
        tambour.run("sql", "--database", shop, "--write", "ALTER TABLE t DETACH PARTITION ALL")
        (part,) = (shop / "t" / "detached").iterdir()
        part.rename(detached / part.name)
        server.run(f"ALTER TABLE {database}.t ATTACH PARTITION ALL")
        assert server.check(database, "t")
        assert server.rows(f"{query} {database}.t") == expected
        gone.append(f"k % 1000 = {len(gone)}")
        server.run(f"DELETE FROM {database}.t WHERE {gone[-1]} SETTINGS lightweight_deletes_sync = 2")
        server.run(f"ALTER TABLE {database}.t DETACH PARTITION ALL")


def test_only_columns_that_change_are_written(server, database, tambour, tmp_path):
    """A server's part, with sparse columns and strings with sizes: the files that stay are the same files, and the server takes the result back."""
    columns = "k UInt32, s String, z UInt32, l LowCardinality(String), n Nullable(Int32), `o.a` Array(UInt8), `o.b` Array(String), t Tuple(x UInt8, y String)"
    create = f"CREATE TABLE {{}} ({columns}) ENGINE = MergeTree ORDER BY k SETTINGS min_bytes_for_wide_part = 0, index_granularity = 512"
    shop = tmp_path / "shop"
    shop.mkdir()
    server.run(create.format(f"{database}.t"))
    server.run(
        f"INSERT INTO {database}.t SELECT number, toString(number), if(number % 50 = 0, number, 0), toString(number % 7), if(number % 7, number, NULL), "
        "range(number % 3), arrayMap(x -> toString(x), range(number % 3)), (number % 5, toString(number % 11)) FROM numbers(9000)"
    )
    server.run(f"DELETE FROM {database}.t WHERE k % 10 = 3 SETTINGS lightweight_deletes_sync = 2")
    detached = server.directory(database, "t") / "detached"
    tambour.run("sql", "--database", shop, "--write", create.format("t"))
    server.run(f"CREATE TABLE {database}.same AS {database}.t")
    server.run(f"ALTER TABLE {database}.same ATTACH PARTITION ALL FROM {database}.t")
    server.run(f"ALTER TABLE {database}.t DETACH PARTITION ALL")
    query = "SELECT * FROM {} ORDER BY k"
    for statement, touched in [
        ("ALTER TABLE {} UPDATE z = k + 1 WHERE k % 3 = 0", ["z."]),
        ("ALTER TABLE {} UPDATE s = concat(s, '!'), n = n + 1 WHERE k BETWEEN 1000 AND 5000", ["s.", "n."]),
        ("ALTER TABLE {} UPDATE l = toString(k), t = (1, s) WHERE k > 8000", ["l.", "t%2E"]),
        ("ALTER TABLE {} UPDATE `o.a` = arrayMap(x -> x + 1, `o.a`), `o.b` = arrayMap(x -> 'n', `o.b`) WHERE k < 100", ["o%2E", "o.size0"]),
        ("ALTER TABLE {} RENAME COLUMN z TO y", ["z.", "y."]),
        ("ALTER TABLE {} RENAME COLUMN `o.a` TO `o.c`", ["o%2Ea", "o%2Ec"]),
        ("ALTER TABLE {} MODIFY COLUMN y Int16 DEFAULT 7", ["y."]),
        ("ALTER TABLE {} DROP COLUMN s", ["s."]),
        ("ALTER TABLE {} DROP COLUMN `o.c`, DROP COLUMN `o.b`", ["o%2E", "o.size0"]),
        ("ALTER TABLE {} CLEAR COLUMN y", ["y."]),
    ]:
        (part,) = [path for path in detached.iterdir() if (path / "columns.txt").exists()]
        part.rename(shop / "t" / "detached" / part.name)
        tambour.run("sql", "--database", shop, "--write", "ALTER TABLE t ATTACH PARTITION ALL")
        (part,) = parts_of(shop / "t")
        before = {path.name: path.stat().st_ino for path in part.iterdir()}
        tambour.run("sql", "--database", shop, "--write", statement.format("t"))
        (part,) = parts_of(shop / "t")
        lists = ("checksums.txt", "columns.txt", "columns_substreams.txt", "serialization.json", "tambour.txt")
        changed = [path.name for path in part.iterdir() if before.get(path.name) != path.stat().st_ino and path.name not in lists]
        assert all(name.startswith(tuple(touched)) for name in changed), (statement, changed)
        gone = set(before) - {path.name for path in part.iterdir()}
        assert all(name.startswith(tuple(touched)) for name in gone), (statement, gone)
        tambour.run("verify", shop / "t")
        server.run(statement.format(f"{database}.same") + " SETTINGS mutations_sync = 2")
        server.run(statement.format(f"{database}.t") + " SETTINGS mutations_sync = 2")
        expected = server.rows(query.format(f"{database}.same"))
        assert tambour.rows(shop / "t", query.format("t")) == expected, statement
        tambour.run("sql", "--database", shop, "--write", "ALTER TABLE t DETACH PARTITION ALL")
        (part,) = (shop / "t" / "detached").iterdir()
        part.rename(detached / part.name)
        server.run(f"ALTER TABLE {database}.t ATTACH PARTITION ALL")
        assert server.check(database, "t"), statement
        assert server.rows(query.format(f"{database}.t")) == expected, statement
        server.run(f"ALTER TABLE {database}.t DETACH PARTITION ALL")


def test_a_default_follows_what_it_reads(server, database, tambour, tmp_path):
    """An UPDATE leaves a column out that the part has not, so its DEFAULT is computed of the new values."""
    script = [
        "CREATE TABLE t (k UInt32, i Int64) ENGINE = MergeTree ORDER BY k SETTINGS min_bytes_for_wide_part = 0",
        "INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)",
        "ALTER TABLE t ADD COLUMN c Int64 DEFAULT i + 1",
        "ALTER TABLE t UPDATE i = 100 WHERE k = 1",
        "ALTER TABLE t DELETE WHERE k = 2",
        "ALTER TABLE t UPDATE i = 200 WHERE k = 1",
        "ALTER TABLE t CLEAR COLUMN c",
    ]
    shop = tmp_path / "shop"
    shop.mkdir()
    server.run(f"USE {database}")
    for line in script:
        server.run(line + (" SETTINGS mutations_sync = 2" if line.startswith("ALTER") else ""))
        tambour.run("sql", "--database", shop, "--write", line)
        query = "SELECT * FROM t ORDER BY k"
        assert tambour.rows(shop / "t", query) == server.rows(query), line
    server.run("USE default")


EXPIRING = [
    ("k UInt32, d Date", "MergeTree", "d + INTERVAL 1 DAY", ["1, '1970-01-01'", "2, '1970-01-02'", "3, '2020-01-01'", "4, '2100-01-01'"]),
    ("k UInt32, d Date", "MergeTree", "d", ["1, '1970-01-01'", "2, '1970-01-02'", "3, '2020-01-01'", "4, '2100-01-01'"]),
    ("k UInt32, d DateTime('UTC')", "MergeTree", "d + toIntervalMonth(2)", ["1, '1970-01-01 00:00:00'", "2, '2020-01-01 00:00:00'", "3, '2100-01-01 00:00:00'"]),
    ("k UInt32, d DateTime64(3, 'UTC')", "MergeTree", "d - INTERVAL 1 SECOND", ["1, '1950-01-01 00:00:00'", "2, '1970-01-01 00:00:01'", "3, '2100-01-01 00:00:00'"]),
    ("k UInt32, d Date32", "MergeTree", "d + INTERVAL 1 YEAR DELETE", ["1, '1950-01-01'", "2, '1969-01-01'", "3, '2100-01-01'"]),
    ("k UInt32, d Date, v Int32", "MergeTree", "d + INTERVAL 30 YEAR, d DELETE WHERE v IN (1, 3) AND k > 1", ["1, '2020-01-01', 1", "2, '2020-01-01', 1", "3, '2020-01-01', 2", "4, '1980-01-01', 2"]),
    ("k UInt32, d Date, v Int32", "ReplacingMergeTree", "d DELETE WHERE v = 1", ["1, '2001-01-01', 1", "1, '2001-01-01', 3", "2, '2001-01-01', 2", "2, '2001-01-01', 1", "4, '2100-01-01', 1"]),
    ("k UInt32, d Date, v Int32", "SummingMergeTree", "d", ["1, '2100-01-01', 1", "1, '2020-01-01', 4", "2, '2020-01-01', 2", "2, '2100-01-01', 3"]),
    ("k UInt32, d Date, v Int32 TTL d + INTERVAL 1 DAY, w String DEFAULT toString(k * 7) TTL d", "MergeTree", "", ["1, '1970-01-01', 5, 'a'", "2, '1970-01-02', 5, 'b'", "3, '2020-01-01', 7, 'c'", "4, '2100-01-01', 9, 'd'"]),
    ("k UInt32, d Date, v Nullable(Int32) TTL d, l LowCardinality(String) TTL d", "MergeTree", "d + INTERVAL 50 YEAR", ["1, '1971-01-01', 5, 'a'", "2, '2020-01-02', 5, 'b'", "3, '2100-01-01', 7, 'c'"]),
]


@pytest.mark.parametrize("case", range(len(EXPIRING)))
def test_what_has_expired_goes_at_merge(case, server, database, tambour, tmp_path):
    columns, engine, ttl, rows = EXPIRING[case]
    create = f"CREATE TABLE t ({columns}) ENGINE = {engine} ORDER BY k" + (f" TTL {ttl}" if ttl else "")
    shop = tmp_path / "shop"
    shop.mkdir()
    server.run(f"USE {database}")
    # Otherwise the server drops parts by themselves, before it merges them with others.
    server.run(create + " SETTINGS max_number_of_merges_with_ttl_in_pool = 0")
    server.run("SYSTEM STOP MERGES t")
    tambour.run("sql", "--database", shop, "--write", create)
    query = "SELECT * FROM t ORDER BY ALL"
    for row in rows:
        server.run(f"INSERT INTO t VALUES ({row})")
        tambour.run("sql", "--database", shop, "--write", f"INSERT INTO t VALUES ({row})")
    assert tambour.rows(shop / "t", query) == server.rows(query)
    server.run("SYSTEM START MERGES t")
    for _ in range(2):
        server.run("OPTIMIZE TABLE t FINAL")
        tambour.run("sql", "--database", shop, "--write", "OPTIMIZE TABLE t FINAL")
        assert tambour.rows(shop / "t", query) == server.rows(query)
        tambour.run("verify", shop / "t")
    assert tambour.run("optimize", shop / "t", "--json").count('"rows": 0,') == 1, "nothing is left to do"
    # One part by itself, and the command.
    for row in rows:
        tambour.run("sql", "--database", shop, "--write", f"TRUNCATE TABLE t; INSERT INTO t VALUES ({row})")
        server.run("TRUNCATE TABLE t")
        server.run(f"INSERT INTO t VALUES ({row})")
        tambour.run("optimize", shop / "t", "--keep-expired")
        assert tambour.rows(shop / "t", query) == server.rows(query)
        server.run("OPTIMIZE TABLE t FINAL")
        tambour.run("optimize", shop / "t")
        assert tambour.rows(shop / "t", query) == server.rows(query), row
    server.run("USE default")


def test_the_sorting_key_gets_longer(server, database, tambour, tmp_path):
    shop = tmp_path / "shop"
    shop.mkdir()
    query = "SELECT k, c, s FROM t ORDER BY k, c, s"
    script = [
        "CREATE TABLE t (k UInt32, s String, d Date) ENGINE = MergeTree ORDER BY k",
        "INSERT INTO t VALUES (2, 'b', '2024-01-01'), (1, 'a', '2024-01-01'), (2, 'a', '2024-01-02')",
        "ALTER TABLE t ADD COLUMN c Int16, MODIFY ORDER BY (k, c)",
        "INSERT INTO t (k, s, d, c) VALUES (2, 'x', '2024-01-01', -5), (2, 'y', '2024-01-01', 5), (1, 'z', '2024-01-01', -1)",
        "OPTIMIZE TABLE t FINAL",
        "ALTER TABLE t MODIFY TTL d + INTERVAL 100 YEAR",
    ]
    server.run(f"USE {database}")
    for line in script:
        server.run(line)
    tambour.run("sql", "--database", shop, "--write", "; ".join(script))
    tambour.run("verify", shop / "t")
    assert tambour.rows(shop / "t", query) == server.rows(query)
    keys = "SELECT sorting_key, primary_key FROM system.tables WHERE name = 't' AND database = '{}'"
    assert tambour.rows(shop / "t", keys.format("default")) == server.rows(keys.format(database))
    server.run("CREATE TABLE attached AS t")
    server.attach(database, "attached", parts_of(shop / "t"))
    assert server.check(database, "attached")
    assert server.rows(query.replace("FROM t", "FROM attached")) == server.rows(query)
    for bad in ["MODIFY ORDER BY (k, s)", "ADD COLUMN e UInt8 DEFAULT 1, MODIFY ORDER BY (k, c, e)", "ADD COLUMN e UInt8, MODIFY ORDER BY (e, k, c)"]:
        assert tambour.call("sql", "--database", shop, "--write", f"ALTER TABLE t {bad}").returncode != 0
        with pytest.raises(Exception, match="Code"):
            server.run(f"ALTER TABLE t {bad}")
    server.run("USE default")
