"""Random expressions, answered by ClickHouse and by Tambour over the same part.

`compare.py --count 20000 --seed 7` runs longer than the test of a fixed seed (`test_differences.py`) and prints every
expression whose answers differ. What either refuses is counted only: a refusal is no wrong answer.
"""

import argparse
import collections
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROWS = 48
# Names, types and values; the values of a column are repeated until there are enough rows.
COLUMNS = {
    "u8": ("UInt8", ["0", "1", "2", "7", "100", "255"]),
    "u16": ("UInt16", ["0", "3", "256", "65535"]),
    "u32": ("UInt32", ["0", "5", "65536", "4294967295"]),
    "u64": ("UInt64", ["0", "9", "9007199254740993", "18446744073709551615"]),
    "i8": ("Int8", ["0", "-1", "5", "-128", "127"]),
    "i16": ("Int16", ["0", "-300", "300", "-32768"]),
    "i32": ("Int32", ["0", "-7", "70000", "-2147483648"]),
    "i64": ("Int64", ["0", "-9", "9007199254740993", "-9223372036854775808", "9223372036854775807"]),
    "ni": ("Nullable(Int32)", ["0", "NULL", "-5", "12", "NULL"]),
    "f32": ("Float32", ["0", "-0.5", "1.25", "nan", "inf", "3e38"]),
    "f64": ("Float64", ["0", "-0.", "0.1", "-2.5", "nan", "-inf", "9007199254740992", "1e300"]),
    "nf": ("Nullable(Float64)", ["NULL", "1.5", "-1.5", "nan"]),
    "dec": ("Decimal(9, 2)", ["'0'", "'-1.25'", "'99.99'", "'-300'"]),
    "s": ("String", ["''", "'a'", "'B'", "'a_b'", "'10'", "'-3'", "'\\u00e4\\u00f6'", "' x '", "'2020-01-02'"]),
    "ns": ("Nullable(String)", ["NULL", "''", "'b'", "'B'", "'12'"]),
    "lc": ("LowCardinality(String)", ["'red'", "'green'", "''"]),
    "fs": ("FixedString(3)", ["'abc'", "'b'", "''"]),
    "e": ("Enum8('a' = 1, 'b' = 2, 'c' = -3)", ["'a'", "'b'", "'c'"]),
    "d": ("Date", ["'1970-01-01'", "'2020-02-29'", "'2149-06-06'"]),
    "d32": ("Date32", ["'1900-01-01'", "'2020-02-29'", "'2299-12-31'"]),
    "t": ("DateTime('UTC')", ["'1970-01-01 00:00:00'", "'2020-02-29 23:59:59'", "'2100-12-31 01:02:03'"]),
    "tz": ("DateTime('Europe/Berlin')", ["'2020-03-29 01:30:00'", "'2020-10-25 03:00:00'", "'1999-12-31 23:59:59'"]),
    "t64": ("DateTime64(3, 'UTC')", ["'1969-12-31 23:59:59.500'", "'2020-02-29 12:00:00.123'"]),
    "i256": ("Int256", ["0", "-1", "256", "-70000"]),
    "uuid": ("UUID", ["'00000000-0000-0000-0000-000000000001'", "'61f0c404-5cb3-11e7-907b-a6006ad3dba0'"]),
    "b": ("Bool", ["true", "false"]),
    "ai": ("Array(Int32)", ["[]", "[1, 2, 3]", "[-1, 0]"]),
    "an": ("Array(Nullable(Int32))", ["[]", "[NULL, 2]", "[1]"]),
    "as": ("Array(String)", ["[]", "['a', '', 'b']", "['a', 'a']"]),
}
INTEGERS = ["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "ni"]
# Sums and products of these stay within their types: what overflows is a difference on purpose.
SMALL = ["u8", "u16", "i8", "i16", "ni", "f32", "f64", "nf", "dec"]
NUMBERS = [*INTEGERS, "f32", "f64", "nf", "dec"]
TEXTS = ["s", "ns", "lc"]
DAYS = ["d", "d32", "t", "tz", "t64"]
SAME = [NUMBERS, TEXTS, ["d", "d32"], ["d", "t", "tz", "t64"], ["e"], ["uuid"], ["i256"], ["b"]]
CONSTANTS = {
    "number": ["0", "1", "-1", "7", "255", "1.5", "-0.5", "NULL", "0xFF", "0b101"],
    "text": ["''", "'a'", "'a_b'", "'%'", "'B'", "NULL", "'\\\\d'"],
}
UNARY = {
    "number": ["abs", "negate", "-", "NOT ", "isNaN", "isFinite", "isInfinite", "toString", "toFloat64", "sign", "round",
               "floor", "ceil", "isNull", "isNotNull", "bitNot"],
    "text": ["length", "lower", "upper", "lengthUTF8", "empty", "notEmpty", "trimBoth", "reverseUTF8", "hex", "isNull",
             "toString", "upperUTF8", "lowerUTF8"],
    "day": ["toYear", "toMonth", "toDayOfMonth", "toDayOfWeek", "toDayOfYear", "toQuarter", "toYYYYMM", "toYYYYMMDD",
            "toStartOfMonth", "toStartOfYear", "toStartOfQuarter", "toMonday", "toDate", "toString"],
}
AGGREGATES = ["count", "min", "max", "uniqExact", "any"]
SUMS = ["sum", "avg", "min", "max"]
CASTS = ["UInt8", "Int16", "Int32", "Int64", "Float64", "String", "Nullable(Int32)", "Date"]


def rows_of(values):
    """ClickHouse's expression for the value in row `number`."""
    parts = " , ".join(f"number % {len(values)} = {index}, {value}" for index, value in enumerate(values[:-1]))
    return f"multiIf({parts}, {values[-1]})" if parts else values[0]


def create(session):
    """The table, as one part."""
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
    session.query("CREATE DATABASE IF NOT EXISTS compared")
    session.query("DROP TABLE IF EXISTS compared.g SYNC")
    session.query(f"CREATE TABLE compared.g (k UInt32, {columns}) ENGINE = MergeTree ORDER BY k SETTINGS "
                  "min_bytes_for_wide_part = 0, min_rows_for_wide_part = 0")
    for row in range(ROWS):
        # Columns turn at different paces, so that values meet in many pairs.
        values = [kinds[(row // (index % 3 + 1) + index) % len(kinds)] for index, (_, kinds) in enumerate(COLUMNS.values())]
        session.query(f"INSERT INTO compared.g VALUES ({row}, {', '.join(values)})")
    session.query("OPTIMIZE TABLE compared.g FINAL")
    path = session.query("SELECT data_paths[1] FROM system.tables WHERE database = 'compared' AND name = 'g'", "TSV")
    return path.bytes().decode().strip()


def expression(pick):
    """A query over the table."""
    kind = pick.choice(["compare", "compare", "arithmetic", "unary", "in", "between", "condition", "cast", "aggregate",
                        "order", "like", "window"])
    if kind == "compare":
        group = pick.choice(SAME)
        left, right = pick.choice(group), pick.choice(group)
        if group in (NUMBERS, TEXTS) and pick.random() < 0.3:
            right = pick.choice(CONSTANTS["number" if group is NUMBERS else "text"])
        return rowwise(f"{left} {pick.choice(['=', '!=', '<', '<=', '>', '>=', '=='])} {right}")
    if kind == "arithmetic":
        operator = pick.choice(["+", "-", "*", "%"])
        right = pick.choice(["3", "7", "-2", "0.7"]) if operator == "%" else pick.choice(SMALL)
        return rowwise(f"{pick.choice(SMALL)} {operator} {right}")
    if kind == "unary":
        group = pick.choice(["number", "text", "day"])
        column = pick.choice({"number": NUMBERS, "text": TEXTS, "day": DAYS}[group])
        return rowwise(f"{pick.choice(UNARY[group])}({column})")
    if kind == "in":
        column = pick.choice([*INTEGERS, "s", "ns", "lc", "e"])
        values = CONSTANTS["text"] if column in TEXTS else ["'a'", "'c'"] if column == "e" else CONSTANTS["number"][:5]
        negated = pick.choice(["IN", "NOT IN"])
        return rowwise(f"{column} {negated} ({', '.join(pick.sample(values, 2))})")
    if kind == "between":
        column = pick.choice(NUMBERS)
        return rowwise(f"{column} BETWEEN {pick.choice(['-5', '0', '1.5'])} AND {pick.choice(['2', '100', '1e10'])}")
    if kind == "condition":
        left, right = pick.choice([*INTEGERS, "b", "f64"]), pick.choice([*INTEGERS, "b", "NULL", "1"])
        return rowwise(f"{left} {pick.choice(['AND', 'OR', 'XOR'])} {right}")
    if kind == "cast":
        return rowwise(f"CAST({pick.choice(['u8', 'i8', 'i16', 'ni', 'b', 'd'])} AS {pick.choice(CASTS)})")
    if kind == "aggregate":
        if pick.random() < 0.5:
            function = pick.choice(SUMS)
            # avg wraps around there, and adds up in Float64 here (docs/functions.md).
            wide = [] if function == "avg" else ["u64"]
            call = f"{function}({pick.choice(['u8', 'i8', 'u16', 'i32', 'f32', 'ni', *wide])})"
        else:
            call = f"{pick.choice(AGGREGATES)}({pick.choice([*NUMBERS, *TEXTS, 'e', 'd', 't', 'uuid', 'i256'])})"
        if call.startswith("any("):
            call = f"count({call[4:-1]})"
        return f"SELECT e, {call} FROM g GROUP BY e ORDER BY e"
    if kind == "order":
        column = pick.choice([name for name in COLUMNS if not name.startswith("a")])
        return f"SELECT k, {column} FROM g ORDER BY {column} {pick.choice(['', 'DESC', 'ASC NULLS FIRST'])}, k"
    if kind == "like":
        pattern = pick.choice(["'a%'", "'%\\_%'", "'_'", "''", "'%B'"])
        expression = pick.choice(["'^a'", "'\\d'", "'.'"])
        return rowwise(pick.choice([f"{pick.choice(TEXTS)} LIKE {pattern}", f"match({pick.choice(TEXTS)}, {expression})"]))
    function = pick.choice(["lag", "lead", "first_value", "last_value"])
    return f"SELECT k, {function}({pick.choice([*INTEGERS, 's', 'ns', 'd'])}) OVER (ORDER BY k) FROM g ORDER BY k"


def rowwise(expr):
    return f"SELECT k, {expr} FROM g ORDER BY k"


NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$")


def same_value(ours, theirs):
    """Equal, or floats within a few units of the last place."""
    words = {"true": "1", "false": "0"}
    ours, theirs = words.get(ours, ours), words.get(theirs, theirs)
    if ours == theirs:
        return True
    if not (NUMBER.match(ours) and NUMBER.match(theirs)):
        return False
    if "." not in ours + theirs and "e" not in ours + theirs:
        return False
    a, b = float(ours), float(theirs)
    return a == b or abs(a - b) <= 1e-12 * max(abs(a), abs(b))


def without_signs_of_zeros(text):
    """Of values that are equal, as 0 and -0 are, either may come first."""
    return re.sub(r"(?<![\w.])-0(?![\w.])", "0", text)


def same(ours, theirs):
    left, right = ours.split("\n"), theirs.split("\n")
    if len(left) != len(right):
        return False
    for a, b in zip(left, right):
        a, b = a.split("\t"), b.split("\t")
        if len(a) != len(b) or not all(map(same_value, a, b)):
            return False
    return True


def run(session, binary, count, seed):
    """Counts of equal, refused and different answers, and the different ones."""
    path = create(session)
    pick = random.Random(seed)
    counts, different = collections.Counter(), []
    for query in dict.fromkeys(expression(pick) for _ in range(count)):
        try:
            theirs = session.query(query.replace(" FROM g ", " FROM compared.g "), "TSV").bytes().decode()
        except Exception:
            counts["refused by ClickHouse"] += 1
            continue
        words = [str(binary), "sql", f"g={path}", "--format", "tsv", "--no-header", query]
        done = subprocess.run(words, capture_output=True, check=False)
        if done.returncode != 0:
            message = done.stderr.decode(errors="replace")
            if "panicked" in message:
                different.append((query, theirs, message))
                counts["panicked"] += 1
            counts["refused"] += 1
            continue
        ours = done.stdout.decode(errors="replace")
        if same(ours, theirs):
            counts["equal"] += 1
        else:
            counts["different"] += 1
            different.append((query, theirs, ours))
    return counts, different


def first_difference(ours, theirs):
    for a, b in zip(ours.split("\n"), theirs.split("\n")):
        if a != b and not all(map(same_value, a.split("\t"), b.split("\t"))):
            return f"ours {a!r}, ClickHouse {b!r}"
    return f"{len(ours.splitlines())} rows, ClickHouse has {len(theirs.splitlines())}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tambour", default=os.environ.get("TAMBOUR"))
    arguments = parser.parse_args()
    from chdb import session as chdb_session
    with tempfile.TemporaryDirectory() as directory:
        session = chdb_session.Session(str(pathlib.Path(directory) / "clickhouse"))
        counts, different = run(session, arguments.tambour, arguments.count, arguments.seed)
    for query, theirs, ours in different:
        print(query, "\n   ", first_difference(ours, theirs))
    print(dict(counts))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
