"""Calls of every function, operator, cast and aggregate, over every tuple of argument types that ClickHouse takes, and how
both engines answer them over one part.

`calls.py --only 'array.*' --piece 0/4` compares some of them and prints each call whose answers differ. What Tambour refuses is
counted and is no failure. The full run (`cargo xtask oracle`) is `test_functions.py` with `FUNCTIONS_FULL=1`.
"""

import argparse
import collections
import concurrent.futures
import itertools
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

SEED = 20261122
ROWS = 64
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
             "['a', 'b']", "'c'", "'q'", "'day'", "'UTC'", "'Int32'", "INTERVAL 2 HOUR", "INTERVAL 1 MONTH"]
LAMBDAS = ["x -> x > 1", "x -> x + 1", "x -> -x", "x -> toString(x)", "x -> x = 'a'"]

# Random, of the moment, of the server, or about how a query runs: there is nothing to compare.
LEFT_OUT = re.compile(
    r"rand|generate|now|today|yesterday|uptime|version|sleep|hostName|currentDatabase|currentUser|user|query|"
    r"block|rowNumber|runningDifference|runningAccumulate|neighbor|file|throwIf|timezone$|timeZone$|buildId|"
    r"tcpPort|server|getSetting|Shuffle|Sample|toTypeName|dump|^ignore$|^array$|^tuple$|^map$|explain|fuzz|obfuscate|"
    r"^arrayJoin$|current_|^identity$|^materialize$|UTCTimestamp|^time|byteSize|Random")
LEFT_OUT_AGGREGATES = re.compile(r"quantile(?!Exact)|^median(?!Exact)|uniq(?!Exact|UpTo)|^lttb|LinearRegression$|^sparkbar")


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
        # Large floats are written without a point.
        is_large = len(a) > 18 and a.endswith("000") and b.endswith("000")
        if "." not in a + b and "e" not in a + b and "n" not in a + b and not is_large:
            return False
        x, y = float(a), float(b)
        if not (x == y or math.isnan(x) and math.isnan(y) or math.isclose(x, y, rel_tol=TOLERANCE)):
            return False
    return True


OPERATORS = ["+", "-", "*", "/", "%", "=", "!=", "<", "<=", ">", ">=", "AND", "OR", "XOR", "DIV", "LIKE", "IN", "||", "IS DISTINCT FROM"]
PREFIXES = ["-", "NOT "]
CASTS = ["UInt8", "UInt16", "UInt32", "UInt64", "Int8", "Int16", "Int32", "Int64", "UInt128", "Int256", "Float32", "Float64", "String",
         "FixedString(8)", "Date", "Date32", "DateTime('UTC')", "DateTime('Asia/Tokyo')", "DateTime64(6, 'UTC')", "Decimal(18, 4)",
         "Decimal(38, 1)", "Bool", "UUID", "IPv4", "IPv6", "Array(String)", "Array(Int32)", "Map(String, String)",
         "LowCardinality(String)", "Nullable(String)", "Nullable(Int32)", "Nullable(Float64)", "Nullable(Date)"]
PARAMETERS = ["", "(2)", "(0.3)", "(0.25, 0.75)", "(',')", "(10, 100)"]
COMBINATORS = ["If", "Distinct", "OrNull", "OrDefault", "Array", "ForEach", "Map"]
# In groups of rows, so that no group is empty: what there is of no rows is a difference on purpose.
ROWWISE, GROUPED = " FROM v ORDER BY id", " FROM v GROUP BY id % 4 ORDER BY id % 4"
THREES = ["s", "z", "url", "js", "u8", "i64", "f64", "as", "au", "d", "dt", "ns", "ni", "dt64", "dec", "lc", *CONSTANTS]
WRONG_COUNT = {"34", "35", "42"}
TRIES = 300


def type_of(argument):
    """The type of a column or of a constant; a constant is an own kind of argument."""
    if argument in COLUMNS:
        return COLUMNS[argument]
    kinds = [(r"INTERVAL.*", argument), (r"'.*'", "String"), (r"\d+", "UInt"), (r"-\d+", "Int"), (r"[-\d.]+", "Float"), (r"\[.*\]", "Array")]
    kind = next((kind for pattern, kind in kinds if re.fullmatch(pattern, argument)), argument)
    return "constant " + kind


class Subject:
    """What is asked about one name: the questions that ClickHouse answers, with its answers."""

    def __init__(self, server, name, source=ROWWISE):
        self.server, self.name, self.source = server, name, source
        self.pick = random.Random(f"{SEED} {name}")
        self.answers, self.tuples = {}, set()

    def ask(self, expression, arguments):
        """None if ClickHouse answers, or the code of its error."""
        if expression in self.answers:
            return None
        try:
            answer = self.server.run(f"SELECT {expression} AS r{self.source}")
        except (RuntimeError, UnicodeDecodeError) as error:
            return (re.search(r"Code: (\d+)", str(error)) or ["", ""])[1]
        self.answers[expression] = answer.split("\n")[:-1]
        self.tuples.add(tuple(map(type_of, arguments)))
        return None

    def call(self, template, *arguments):
        return self.ask(template.format(", ".join(arguments)), arguments)

    def takes(self, template, count):
        """False if every one of some calls has the wrong number of arguments."""
        probes = [self.pick.choices([*COLUMNS, *CONSTANTS], k=count) for _ in range(12)]
        return any(self.call(template, *probe) not in WRONG_COUNT for probe in probes)

    def calls(self, template, counts=(0, 1, 2, 3)):
        """Calls with columns and constants; the place of the arguments is `{}`."""
        columns, anything = list(COLUMNS), [*COLUMNS, *CONSTANTS]
        if 0 in counts:
            self.call(template)
        if 1 in counts and self.takes(template, 1):
            for argument in anything:
                self.call(template, argument)
        if 2 in counts and self.takes(template, 2):
            for pair in itertools.chain(itertools.product(columns, anything), itertools.product(CONSTANTS, columns)):
                self.call(template, *pair)
        if 3 in counts and self.takes(template, 3):
            self.triples(template)

    def triples(self, template):
        """Tries some triples, and all of what each place was seen to take."""
        places = [{}, {}, {}]
        for triple in itertools.islice(iter(lambda: self.pick.choices(THREES, k=3), None), TRIES):
            if self.call(template, *triple) is None:
                for place, argument in zip(places, triple):
                    place[argument] = None
        first = [next(iter(place), None) for place in places]
        if first[0] is None:
            return
        for index, argument in itertools.product(range(3), THREES):
            if self.call(template, *first[:index], argument, *first[index + 1:]) is None:
                places[index][argument] = None
        triples = list(itertools.product(*places))
        for triple in self.pick.sample(triples, min(len(triples), 5 * TRIES)):
            self.call(template, *triple)


def scalar(server, name):
    subject = Subject(server, name)
    subject.calls(name + "({})")
    if name.startswith(("array", "map")):
        for function, array in itertools.product(LAMBDAS, ["au", "ai", "af", "as", "an"]):
            subject.call(name + "({})", function, array)
        for array in ["au", "as"]:
            subject.call(name + "({})", "(x, y) -> x > y", array, array)
    return subject


def operator(server, symbol):
    subject = Subject(server, f"operator {symbol.strip()}")
    anything = [*COLUMNS, *CONSTANTS, "NULL", "INTERVAL 3 DAY", "'2020-01-05'"]
    if symbol in PREFIXES:
        for argument in anything:
            subject.ask(f"{symbol}({argument})", [argument])
        return subject
    for left, right in itertools.product(anything, anything):
        right_side = f"({right}, {right})" if symbol == "IN" and right not in COLUMNS else right
        subject.ask(f"{left} {symbol} {right_side}", [left, right])
    return subject


def conversion(server, kind):
    subject = Subject(server, f"CAST to {kind}")
    for argument in [*COLUMNS, *CONSTANTS, "NULL"]:
        subject.ask(f"CAST({argument} AS {kind})", [argument])
        subject.ask(f"{argument}::{kind}", [argument])
    return subject


def aggregate(server, name):
    subject = Subject(server, f"aggregate {name}", GROUPED)
    for parameters in PARAMETERS:
        template = f"{name}{parameters}({{}})"
        subject.calls(template, (0, 1, 2))
    plain = [expression for expression in subject.answers if subject.pick.random() < 0.2]
    for expression in plain:
        function, arguments = re.fullmatch(r"(\w+)(.*\))", expression).groups()
        for combinator in COMBINATORS:
            condition = (", " if not arguments.endswith("()") else "") + "u8 > 3" if combinator == "If" else ""
            subject.ask(f"{function}{combinator}{arguments[:-1]}{condition})", [combinator])
    return subject


def everything(server, tambour, directory):
    """Makers of subjects by their names."""
    rows = server.rows("SELECT name, is_aggregate FROM system.functions WHERE alias_to = '' ORDER BY name")
    for name, is_aggregate in (row.split("\t") for row in rows):
        if LEFT_OUT.search(name):
            continue
        if is_aggregate == "1" and not LEFT_OUT_AGGREGATES.search(name):
            yield f"aggregate {name}", aggregate, name
        elif is_aggregate == "0":
            yield name, scalar, name
    for symbol in [*OPERATORS, *PREFIXES]:
        yield f"operator {symbol.strip()}", operator, symbol
    for kind in CASTS:
        yield f"CAST to {kind}", conversion, kind


def is_known(tambour, directory, name):
    done = tambour.call("sql", f"v={directory}", "--format", "tsv", f"SELECT {name}() FROM v LIMIT 0")
    return b"no function" not in done.stderr


def ask(tambour, directory, expressions, source=ROWWISE):
    """Our answers; None where we refuse."""
    script = "".join(f"SELECT {e} AS r{source};\nSELECT '{MARK}' AS r;\n" for e in expressions)
    words = ["sql", f"v={directory}", "--format", "tsv", "--no-header", "--ignore-error", "--threads", "1"]
    done = tambour.call(*words, input=script.encode())
    parts = done.stdout.decode("utf-8", "surrogateescape").split(MARK + "\n")[:-1]
    broken = done.returncode < 0 or b"panicked" in done.stderr or b"internal error" in done.stderr
    if broken or len(parts) != len(expressions):
        if len(expressions) == 1:
            return [["broken: " + done.stderr.decode(errors="replace")[-400:]]]
        half = len(expressions) // 2
        return [answer for some in (expressions[:half], expressions[half:]) for answer in ask(tambour, directory, some, source)]
    return [part.split("\n")[:-1] if part else None for part in parts]


def differences(subject, answers):
    """Counts of equal values and of refused calls, and the calls that differ, with rows of both."""
    equal, refused, different = 0, 0, []
    for (expression, theirs), ours in zip(subject.answers.items(), answers):
        if ours is None:
            refused += 1
        elif len(ours) == len(theirs) and all(map(same, ours, theirs)):
            equal += len(theirs)
        else:
            rows = [(a, b) for a, b in itertools.zip_longest(ours, theirs) if a is None or b is None or not same(a, b)]
            different.append((expression, rows[:2]))
    return equal, refused, different


class Outcome:
    """What a run compared."""

    def __init__(self):
        self.counts, self.different = collections.Counter(), []

    def add(self, subject, counted):
        equal, refused, different = counted
        known = bool(equal or different)
        self.counts.update(names=known, tuples=len(subject.tuples) if known else 0, calls=len(subject.answers),
                           values=equal, refused=refused, different=len(different))
        self.different += different

    def __str__(self):
        c = self.counts
        return (f"{c['names']} functions, operators, casts and aggregates × types = {c['tuples']} tuples; {c['calls']} calls of which "
                f"{c['refused']} are refused; {c['values']} equal values; {c['different']} calls differ")


def compare(server, tambour, directory, only="", piece="0/1", report=None):
    """Compares all that has a name like `only`; `piece` is `index/count`. ClickHouse and Tambour work at the same time."""
    outcome = Outcome()
    index, count = map(int, piece.split("/"))
    chosen = [entry for entry in everything(server, tambour, directory) if re.search(only, entry[0])][index::count]

    def answer(subject):
        questions = list(subject.answers)
        pieces = [questions[at:at + 400] for at in range(0, len(questions), 400)]
        return differences(subject, [a for some in pieces for a in ask(tambour, directory, some, subject.source)])

    with concurrent.futures.ThreadPoolExecutor(1) as worker:
        waiting = None
        for title, make, word in [*chosen, (None, None, None)]:
            subject = make(server, word) if make and (make not in (scalar, aggregate) or is_known(tambour, directory, word)) else None
            if waiting:
                counted = waiting[1].result()
                outcome.add(waiting[0], counted)
                if report:
                    report(waiting[0], counted)
            waiting = (subject, worker.submit(answer, subject)) if subject else None
    return outcome


class Server:
    """ClickHouse as a library, for runs without pytest."""

    def __init__(self, path):
        from chdb import session
        self.session = session.Session(str(path))

    def run(self, sql):
        return self.session.query(sql, "TabSeparated").bytes().decode("utf-8", "surrogateescape")

    def rows(self, sql):
        return self.run(sql).splitlines()

    def directory(self, database, table):
        return self.run(f"SELECT data_paths[1] FROM system.tables WHERE database = '{database}' AND name = '{table}'").strip()


class Binary:
    """Our binary, for runs without pytest."""

    def __init__(self, path):
        self.path = path

    def call(self, *words, input=None):
        return subprocess.run([self.path, *map(str, words)], input=input, capture_output=True, check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--piece", default="0/1")
    parser.add_argument("--tambour", default=os.environ.get("TAMBOUR"))
    arguments = parser.parse_args()

    def report(subject, counted):
        equal, refused, different = counted
        print(f"{subject.name}: {len(subject.answers)} calls, {equal} values, {refused} refused, {len(different)} differ", flush=True)
        for expression, rows in different:
            print("   ", expression, rows, flush=True)

    with tempfile.TemporaryDirectory() as directory:
        server = Server(pathlib.Path(directory) / "clickhouse")
        table = make_table(server)
        outcome = compare(server, Binary(arguments.tambour), table, arguments.only, arguments.piece, report)
    print(outcome)
    return 1 if outcome.different else 0


if __name__ == "__main__":
    sys.exit(main())
