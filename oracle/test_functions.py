"""Functions give what ClickHouse gives, over random and edge values, NULLs, columns and constants, on the same part.

The calls of `functions.txt` are compared always. With `FUNCTIONS_FULL=1`, which the nightly run sets, every function that
ClickHouse and Tambour both know is asked with every tuple of argument types that ClickHouse takes; this takes hours. Floats
are equal within 1e-9 of each other. What Tambour refuses is counted and is not a failure; an answer that differs is one.
"""

import itertools
import math
import os
import pathlib
import random
import re

import pytest
from conftest import parts_of  # noqa: F401  (fixtures come from there)

SEED = 20261122
ROWS = 64
FULL = bool(os.environ.get("FUNCTIONS_FULL"))
SHARE = 1.0
TOLERANCE = 1e-9
MARK = "=== end of an answer ==="

COLUMNS = {
    "u8": "UInt8", "u16": "UInt16", "u32": "UInt32", "u64": "UInt64", "i8": "Int8", "i16": "Int16", "i32": "Int32",
    "i64": "Int64", "f32": "Float32", "f64": "Float64", "s": "String", "z": "String", "ns": "Nullable(String)",
    "ni": "Nullable(Int32)", "nf": "Nullable(Float64)", "lc": "LowCardinality(String)", "fs": "FixedString(4)", "b": "Bool",
    "d": "Date", "d32": "Date32", "dt": "DateTime('UTC')", "dt64": "DateTime64(3, 'UTC')", "dec": "Decimal(12, 3)",
    "au": "Array(UInt32)", "ai": "Array(Int64)", "af": "Array(Float64)", "as": "Array(String)", "an": "Array(Nullable(Int32))",
    "aa": "Array(Array(UInt8))", "m": "Map(String, UInt32)", "uuid": "UUID", "ip4": "IPv4", "ip6": "IPv6",
    "url": "String", "js": "String",
}
CONSTANTS = ["0", "1", "2", "-1", "300", "0.5", "'a'", "','", "''", "'b'", "'[a-c]+'", "'(a)(b)?'", "'%a_'", "[1, 2]",
             "['a', 'b']", "'c'", "'q'"]
LAMBDAS = ["x -> x > 1", "x -> x + 1", "x -> -x", "x -> toString(x)", "x -> x = 'a'"]

# Random, of the moment, of the server, or about how a query runs: there is nothing to compare.
LEFT_OUT = re.compile(
    r"rand|generate|now|today|yesterday|uptime|version|sleep|hostName|currentDatabase|currentUser|user|query|"
    r"block|rowNumber|runningDifference|runningAccumulate|neighbor|file|throwIf|timezone$|timeZone$|buildId|"
    r"tcpPort|server|getSetting|Shuffle|Sample|toTypeName|dump|^ignore$|^array$|^tuple$|^map$|explain|fuzz|obfuscate|"
    r"^arrayJoin$|current_|^identity$|^materialize$|UTCTimestamp|^time|byteSize|Random")


def words(generator):
    letters = ["a", "b", "c", "A", "é", "ß", " ", ",", ".", "-", "0", "1", "9", "%", "_", "/", "\\", "\n", "日"]
    return "".join(generator.choice(letters) for _ in range(generator.randrange(9)))


def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def integer(generator, bits, signed):
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return generator.choice([0, 1, 2, 7, low, high, generator.randint(low, high), generator.randint(0, 100)])


def value(generator, name):  # noqa: PLR0911, PLR0912
    """A literal of the type of a column."""
    kind = COLUMNS[name]
    plain = re.fullmatch(r"(U?)Int(\d+)", kind)
    if plain:
        return str(integer(generator, int(plain[2]), not plain[1]))
    if kind.startswith("Nullable"):
        inner = {"ns": "s", "ni": "i32", "nf": "f64"}[name]
        return "NULL" if generator.random() < 0.3 else value(generator, inner)
    if name == "url":
        return quoted(generator.choice(["http://", "https://www.", "//", "", "ftp://u:p@", "mailto:"])
                      + generator.choice(["example.com", "a.b.co.uk", "localhost", "1.2.3.4", "x..y", ""])
                      + generator.choice(["", ":8080", ":99999", ":x"])
                      + generator.choice(["", "/", "/p/q.html", "/a//b"])
                      + generator.choice(["", "?a=1&b=2", "?", "?b=", "?a=1&a=2#f"]) + generator.choice(["", "#frag", "#a=5"]))
    if name == "js":
        return quoted(generator.choice(
            ['{"a":1,"b":[1,2,"x"],"c":{"a":"q"}}', '{"a":-5.5,"b":true}', "[1,2,3]", "[]", "{}", '"q"', "nonsense", "", "null",
             '{"a":"\\u00e9\\n","q":null}', '{"b":"b","a":18446744073709551615}', '{"a":[{"b":1.5e10},{"b":"1"}]}', "{\"a\":1"]))
    if kind in ("String", "LowCardinality(String)"):
        if name == "z":
            return quoted(generator.choice(["abc", "ab", "a,b,,c", "", "aXbX", "61", "hello world", "aabb", "2020-01-05 10:11:12",
                                            "2021-02-03", "12", "-7", "1.5", "10.0.0.1", "::1", "61f0c404-5cb3-11e7-907b-a6006ad3dba0"]))
        return quoted(words(generator))
    if kind == "FixedString(4)":
        return quoted(generator.choice(["abcd", "a", "", "12", "zz,z"]))
    if kind == "Bool":
        return generator.choice(["true", "false"])
    if kind.startswith("Float"):
        return generator.choice(["0", "-0.", "1.5", "-2.5", "nan", "inf", "-inf", "1e300" if name == "f64" else "1e30", "0.1",
                                 str(round(generator.uniform(-100, 100), 3))])
    if kind == "Date":
        return f"toDate({generator.choice([0, 1, 18000, 65535, generator.randrange(65536)])})"
    if kind == "Date32":
        return f"toDate32({generator.choice([0, -25567, 18000, 120529, generator.randrange(-20000, 60000)])})"
    if kind.startswith("DateTime("):
        return f"toDateTime({generator.choice([0, 1, 1600000000, 4294967295, generator.randrange(1 << 32)])}, 'UTC')"
    if kind.startswith("DateTime64"):
        return f"fromUnixTimestamp64Milli(toInt64({generator.randrange(-10**12, 4 * 10**12)}), 'UTC')"
    if kind.startswith("Decimal"):
        return f"toDecimal64('{generator.choice(['0', '1.5', '-2.345', str(generator.randrange(-10**6, 10**6) / 1000)])}', 3)"
    if kind.startswith("Array(Array"):
        return "[" + ",".join("[" + ",".join(str(generator.randrange(4)) for _ in range(generator.randrange(3))) + "]"
                              for _ in range(generator.randrange(3))) + "]::Array(Array(UInt8))"
    if kind.startswith("Array"):
        inner = {"au": "u32", "ai": "i64", "af": "f64", "as": "s", "an": "ni"}[name]
        few = [value(generator, inner) for _ in range(3)]
        items = [generator.choice(few + ["1", "2", "3"] if inner != "s" else few + ["'a'", "'b'"]) for _ in range(generator.randrange(6))]
        return "[" + ",".join(items) + f"]::{kind}"
    if kind.startswith("Map"):
        keys = generator.sample(["a", "b", "c", "q"], generator.randrange(4))
        return "map(" + ",".join(f"'{key}',{generator.randrange(5)}" for key in keys) + f")::{kind}"
    if kind == "UUID":
        return "'" + "-".join("".join(generator.choice("0123456789abcdef") for _ in range(n)) for n in (8, 4, 4, 4, 12)) + "'"
    if kind == "IPv4":
        return "'" + ".".join(str(generator.randrange(256)) for _ in range(4)) + "'"
    return "'" + generator.choice(["::1", "2001:db8::5", "::ffff:1.2.3.4", "fe80::1:0:0:1"]) + "'"


def make_table(server):
    generator = random.Random(SEED)
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    server.run(f"CREATE TABLE default.v (id UInt32, {columns}) ENGINE = MergeTree ORDER BY id "
               "SETTINGS min_bytes_for_wide_part = 0, min_rows_for_wide_part = 0")
    rows = (f"({row}, " + ", ".join(value(generator, name) for name in COLUMNS) + ")" for row in range(ROWS))
    server.run("INSERT INTO default.v VALUES " + ", ".join(rows))
    return server.directory("default", "v")


def same(ours, theirs):
    """Equal but for the spelling of booleans and the last digits of floats."""
    if ours == theirs:
        return True
    cut = re.compile(r"[-+]?(?:nan|inf|\d+\.?\d*(?:e[-+]?\d+)?)|true|false")
    if cut.sub("#", ours) != cut.sub("#", theirs):
        return False
    numbers = {"true": "1", "false": "0"}
    for a, b in zip(cut.findall(ours), cut.findall(theirs)):
        a, b = numbers.get(a, a), numbers.get(b, b)
        if a == b:
            continue
        if "." not in a + b and "e" not in a + b and "n" not in a + b:
            return False
        x, y = float(a), float(b)
        if not (x == y or math.isnan(x) and math.isnan(y) or math.isclose(x, y, rel_tol=TOLERANCE)):
            return False
    return True


def candidates(generator, name):
    """Calls of a function with columns and constants."""
    columns = list(COLUMNS)
    yield f"{name}()"
    for column in columns:
        yield f"{name}({column})"
    for constant in CONSTANTS:
        yield f"{name}({constant})"
    pairs = list(itertools.product(columns, columns + CONSTANTS))
    pairs += list(itertools.product(CONSTANTS, columns))
    yield from (f"{name}({a}, {b})" for a, b in pairs if generator.random() < SHARE)
    if name.startswith(("array", "map")):
        yield from (f"{name}({a}, {b})" for a, b in itertools.product(LAMBDAS, ["au", "ai", "af", "as", "an"]))
        yield from (f"{name}((x, y) -> x > y, {a}, {a})" for a in ["au", "as"])
    threes = ["s", "z", "url", "js", "u8", "i64", "f64", "as", "au", "d", "dt", "ns", "ni", *CONSTANTS]
    share = 0.5 if FULL else 0.03
    triples = (triple for triple in itertools.product(threes, repeat=3) if generator.random() < share)
    yield from (f"{name}({a}, {b}, {c})" for a, b, c in triples)


def ask_constants(tambour, directory, calls):
    return ask(tambour, directory, calls, "")


def ask(tambour, directory, expressions, source=" FROM v ORDER BY id"):
    """Our answers; None where we refuse. A refusal ends a process, so the rest goes to the next one."""
    answers = []
    rest = list(expressions)
    while rest:
        script = "".join(f"SELECT {e} AS r{source};\nSELECT '{MARK}' AS r;\n" for e in rest)
        done = tambour.call("sql", f"v={directory}", "--format", "tsv", "--no-header", input=script.encode())
        assert done.returncode >= 0 and b"panicked" not in done.stderr, done.stderr.decode(errors="replace")
        parts = done.stdout.decode("utf-8", "surrogateescape").split(MARK + "\n")
        got = parts[:-1][:len(rest)]
        answers += [part.split("\n")[:-1] for part in got]
        rest = rest[len(got):]
        if rest:
            answers.append(None)
            rest = rest[1:]
    return answers


def compare(server, tambour, directory, name, limit):
    """How many answers are equal, refused, and which differ."""
    generator = random.Random(f"{SEED} {name}")
    accepted = []
    for expression in candidates(generator, name):
        try:
            theirs = server.run(f"SELECT {expression} AS r FROM default.v ORDER BY id").split("\n")[:-1]
        except RuntimeError:
            continue
        accepted.append((expression, theirs))
        if len(accepted) >= limit:
            break
    equal, refused, different = 0, [], []
    answers = ask(tambour, directory, [expression for expression, _ in accepted])
    for (expression, theirs), ours in zip(accepted, answers):
        if ours is None:
            refused.append(expression)
        elif len(ours) == len(theirs) and all(map(same, ours, theirs)):
            equal += len(theirs)
        else:
            rows = [(a, b) for a, b in zip(ours, theirs) if not same(a, b)]
            different.append((expression, rows[:2]))
    return equal, refused, different


@pytest.fixture(scope="module")
def table(server):
    return make_table(server)


def known(server, tambour, directory):
    """Scalar functions of ClickHouse that our binary does not call unknown."""
    names = server.rows("SELECT name FROM system.functions WHERE NOT is_aggregate AND alias_to = '' ORDER BY name")
    return [name for name in names if not LEFT_OUT.search(name) and is_known(tambour, directory, name)]


def is_known(tambour, directory, name):
    done = tambour.call("sql", f"v={directory}", "--format", "tsv", f"SELECT {name}() FROM v LIMIT 0")
    return b"no function" not in done.stderr


def test_calls_of_constants(server, tambour, table):
    """Calls whose answers are easy to read, edges above all (`functions.txt`)."""
    calls = (pathlib.Path(__file__).parent / "functions.txt").read_text(encoding="utf-8").splitlines()
    ours = ask_constants(tambour, table, calls)
    wrong = []
    for call, answer in zip(calls, ours):
        try:
            theirs = server.run(f"SELECT {call}").split("\n")[:-1]
        except RuntimeError:
            continue
        if answer is not None and not (len(answer) == len(theirs) and all(map(same, answer, theirs))):
            wrong.append((call, answer, theirs))
    assert not wrong, f"{len(wrong)} of {len(calls)} differ: {wrong}"


if FULL:  # hours: `cargo xtask oracle`

    def test_functions_give_what_clickhouse_gives(server, tambour, table):
        names = known(server, tambour, table)
        compared, wrong = 0, []
        for name in names:
            equal, _, different = compare(server, tambour, table, name, 100_000)
            compared += equal
            wrong += different
        assert compared > 2_000_000
        assert not wrong, f"{len(wrong)} calls differ: {wrong[:20]}"
