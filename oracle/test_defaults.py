"""Columns that an INSERT leaves out: every kind of expression as the DEFAULT of every type, beside ClickHouse.

Of the pairs, an everyday run asks every fifth; FUNCTIONS_FULL=1 asks all.
"""

import os
from collections import Counter

EXPRESSIONS = [
    "a + 1", "a * 300", "-toInt32(a)", "a / 4", "intDiv(a, 7)", "a % 2 = 0 AND s != ''", "a > 2", "NULL", "42", "-1", "1.5", "300",
    "'x'", "'2024-02-29'", "'12'", "s", "lower(s)", "concat(s, '-', toString(a))", "s || 'y'", "length(s)", "s LIKE 'A%'", "hex(s)",
    "splitByChar('b', s)", "cityHash64(s)", "toDate(a)", "toDateTime(a * 100000, 'UTC')", "toDateTime64('2024-02-29 12:00:00.123', 3, 'UTC')",
    "[a, a + 1]", "[]", "(a, s)", "map(s, a)", "if(a > 2, 'x', 'y')", "multiIf(a = 1, 'x', a = 2, 'y', s)", "CASE WHEN a = 1 THEN 'x' ELSE s END",
    "d", "d + 1", "coalesce(d, 0)", "a::String", "toDecimal64(a, 4)", "toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0')", "toIPv4('1.2.3.4')",
    "arrayMap(x -> x * a, [1, 2])", "toInt128(a) * 1000000000000000000", "e", "f + a", "b", "toFloat64(a) / 0", "now() > toDateTime(0)",
    "length(toString(generateUUIDv4())) + a", "rand() * 0 + a", "tuple(a)", "d IS NULL", "toYYYYMM(toDate(a))", "toUnixTimestamp(toDateTime(a, 'UTC'))",
]

TYPES = [
    "UInt8", "Int16", "UInt32", "Int64", "UInt64", "Float32", "Float64", "String", "FixedString(8)", "Nullable(UInt8)", "Nullable(String)",
    "LowCardinality(String)", "LowCardinality(Nullable(String))", "Date", "Date32", "DateTime('UTC')", "DateTime64(3, 'UTC')", "Decimal(18, 4)", "Bool",
    "Enum8('x' = 1, 'y' = 2)", "UUID", "IPv4", "Array(UInt32)", "Array(String)", "Tuple(UInt32, String)", "Map(String, UInt32)", "Int128", "UInt256",
]

CREATE = (
    "CREATE TABLE {} (a UInt32, s String, d Nullable(Float64), b UInt16 DEFAULT a * 2, e UInt8 EPHEMERAL 7, f Int8 EPHEMERAL, c {} {} {}) "
    "ENGINE = MergeTree ORDER BY a SETTINGS index_granularity = 2"
)
VALUES = "(1, 'Abc', 1.5), (2, '', NULL), (3, '12', -0.25), (4000000000, 'xby', 1e9), (0, 'y', 7)"


def cases():
    """The pairs: names of tables, and what makes them."""
    step = 1 if os.environ.get("FUNCTIONS_FULL") else 5
    pairs = [(expression, kind) for expression in EXPRESSIONS for kind in TYPES]
    for number, (expression, kind) in enumerate(pairs):
        if number % step == 0:
            yield f"t{number}", kind, "MATERIALIZED" if number % 2 else "DEFAULT", expression


def test_every_expression_is_a_default_of_every_type(server, database, tambour, tmp_path, record_property):
    expected, script, told = {}, [], {}
    for name, kind, word, expression in cases():
        told[name] = f"{kind} {word} {expression}"
        columns = "(a, s, d, f)" if "f" in expression.split() else "(a, s, d)"
        values = VALUES.replace("),", ", 5),")[:-1] + ", 5)" if "f" in expression.split() else VALUES
        create, insert = CREATE.format("{}", kind, word, expression), f"INSERT INTO {{}} {columns} VALUES {values}"
        ask = f"SELECT '{name}', a, toString(c), b FROM {{}} ORDER BY a"
        try:
            server.run(create.format(f"{database}.{name}"))
            server.run(insert.format(f"{database}.{name}"))
            expected[name] = server.rows(ask.format(f"{database}.{name}"))
        except RuntimeError:
            expected[name] = []
        script += [create.format(name), insert.format(name), ask.format(name)]
    words = ["sql", "--database", tmp_path, "--write", "--yes", "--ignore-error", "--format", "tsv", "--no-header"]
    done = tambour.call(*words, "--file", "-", input=";\n".join(script).encode())
    got = {name: [] for name in expected}
    for line in done.stdout.decode("utf-8", "surrogateescape").splitlines():
        got[line.split("\t")[0]].append(line)
    counts, wrong = Counter(), []
    for name, rows in expected.items():
        if got[name] == rows:
            counts["equal" if rows else "refused by both"] += 1
        elif not got[name]:
            counts["refused here"] += 1
        else:
            counts["different"] += 1
            wrong.append(f"{told[name]}: {got[name]}, ClickHouse {rows or 'refuses it'}")
    record_property("said", dict(counts))
    assert not wrong, f"{counts}\n" + "\n".join(wrong[:40])
    assert counts["equal"] > counts["refused here"] * 8, counts


MISSING = (
    "CREATE TABLE {} (a UInt8, b String DEFAULT concat('d', toString(a)), c Nullable(UInt8), d UInt16 DEFAULT 9, e Array(UInt8), "
    "f LowCardinality(String) DEFAULT 'lc', n Nullable(String), i Date DEFAULT '2020-01-01', x FixedString(3) DEFAULT upper(b), "
    "y Decimal(9, 2) DEFAULT a / 8, z Enum8('p' = 0, 'q' = 2), u UInt8, m UInt8 MATERIALIZED a + 1) ENGINE = MergeTree ORDER BY a"
)
DATA = [
    ("CSV", '1,,,,,,,,,,q,\n2,"",\\N,\\N,"[]","","",\\N,,,p,3\n3,\\N,5,6,"[2]",x,y,2021-01-01,abc,1.5,,\n'),
    ("CSVWithNames", "a,c\n10,\n11,3\n"),
    ("CSVWithNames", "a,zz,u\n12,,\n13,x,4\n"),
    ("TSV", "9\t\\N\t\\N\t3\t[]\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\n"),
    ("TSV", "8\t\t\\N\t3\t[]\t\t\t2020-02-02\t\t1\tq\t5\n"),
    ("TSVWithNames", "u\ta\n1\t2\n\\N\t3\n"),
    ("JSONEachRow", '{"a":4, "zz":3}\n{"a":5,"b":null,"d":null,"f":null,"i":null,"x":null}\n{}\n{"a":7,"b":"","f":"","y":3}\n'),
    ("JSONEachRow", '{"a":4, "m":3, "e":[1,2], "n":"x", "u":null}\n'),
]


def test_values_that_are_missing_in_data_are_defaults(server, database, tambour, tmp_path):
    server.run(MISSING.format(f"{database}.t"))
    place, shown = ["sql", "--database", tmp_path, "--write", "--yes"], "SELECT *, m FROM {} ORDER BY a"
    tambour.run(*place, MISSING.format("t"))
    for kind, data in DATA:
        server.run(f"INSERT INTO {database}.t FORMAT {kind}\n{data}")
        tambour.run(*place, f"INSERT INTO t FORMAT {kind}", input=data.encode())
        assert tambour.rows(tmp_path / "t", shown.format("t")) == server.rows(shown.format(f"{database}.t")), (kind, data)
        server.run(f"TRUNCATE TABLE {database}.t")
        tambour.run(*place, "TRUNCATE TABLE t")


def test_a_null_that_may_be_a_default_is_refused(tambour, tmp_path):
    place = ["sql", "--database", tmp_path, "--write"]
    tambour.run(*place, "CREATE TABLE t (a UInt8, c Nullable(UInt8) DEFAULT 7, e Array(UInt8) DEFAULT [1]) ENGINE = MergeTree ORDER BY a")
    for data in (b'{"a":1, "e":[5]}\n', b'{"a":1, "c":5}\n', b'{"a":1, "c":5, "e":[]}\n'):
        done = tambour.call(*place, "INSERT INTO t FORMAT JSONEachRow", input=data)
        assert done.returncode != 0 and b"would be" in done.stderr, done.stderr
    tambour.run(*place, "INSERT INTO t FORMAT JSONEachRow", input=b'{"a":1, "c":5, "e":[5]}\n')
    tambour.run(*place, "INSERT INTO t (a) FORMAT JSONEachRow", input=b'{"a":2}\n')
    assert tambour.rows(tmp_path / "t", "SELECT * FROM t ORDER BY a") == ["1\t5\t[5]", "2\t7\t[1]"]


# What may stand between two separators, and the types of the column.
FIELDS = ["", "\\N", "NULL", "null", " ", "  5 ", "5", " x ", '""', '" "', '"5"', "a", "NA", "1.5", "true", "2024-01-02", "20240102", "1704067200"]
KINDS = [
    "Int32", "Nullable(Int32)", "String", "Nullable(String)", "Float64", "Date", "Decimal(9, 2)", "Bool", "LowCardinality(String)", "UUID", "DateTime('UTC')",
    "FixedString(3)", "Enum8('a' = 0, 'b' = 1)", "DateTime64(3, 'UTC')",
]


def test_fields_of_data_are_what_they_are_there(server, database, tambour, tmp_path, record_property):
    counts, wrong = Counter(), []
    place = ["sql", "--database", tmp_path, "--write", "--yes"]
    for number, kind in enumerate(KINDS):
        create = f"CREATE TABLE {{}} (a Int32, b {kind}, z Int32) ENGINE = MergeTree ORDER BY a"
        server.run(create.format(f"{database}.t{number}"))
        tambour.run(*place, create.format(f"t{number}"))
        for row, (form, field) in enumerate((form, field) for form in ("CSV", "TSV") for field in FIELDS):
            data = "".join((f"{row}", {"CSV": ",", "TSV": "\t"}[form], field, {"CSV": ",", "TSV": "\t"}[form], "7\n"))
            try:
                server.run(f"INSERT INTO {database}.t{number} FORMAT {form}\n{data}")
            except RuntimeError:
                counts["refused there"] += 1
            done = tambour.call(*place, f"INSERT INTO t{number} FORMAT {form}", input=data.encode())
            counts["refused here"] += done.returncode != 0
        theirs = dict(line.split("\t", 1) for line in server.rows(f"SELECT * FROM {database}.t{number}"))
        ours = dict(line.split("\t", 1) for line in tambour.rows(tmp_path / f"t{number}", f"SELECT * FROM t{number}"))
        # A blank beside a number of TSV, and `true` for one, are taken here.
        wrong += [(kind, int(row) % len(FIELDS), value, theirs[row]) for row, value in ours.items() if theirs.get(row, value) != value]
        counts["equal"] += sum(theirs.get(row) == value for row, value in ours.items())
    record_property("said", dict(counts))
    assert not wrong, wrong
    assert counts["equal"] > 150, counts
