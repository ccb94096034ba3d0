"""The table of the generated calls: a column of every type, edge values above all, and constants beside them."""

import random
import re

SEED = 20261122
ROWS = 64

COLUMNS = {
    "u8": "UInt8", "u16": "UInt16", "u32": "UInt32", "u64": "UInt64", "i8": "Int8", "i16": "Int16", "i32": "Int32",
    "i64": "Int64", "f32": "Float32", "f64": "Float64", "s": "String", "z": "String", "ns": "Nullable(String)",
    "ni": "Nullable(Int32)", "nf": "Nullable(Float64)", "lc": "LowCardinality(String)", "fs": "FixedString(4)", "b": "Bool",
    "d": "Date", "d32": "Date32", "dt": "DateTime('UTC')", "dt64": "DateTime64(3, 'UTC')", "dec": "Decimal(12, 3)",
    "au": "Array(UInt32)", "ai": "Array(Int64)", "af": "Array(Float64)", "as": "Array(String)", "an": "Array(Nullable(Int32))",
    "aa": "Array(Array(UInt8))", "m": "Map(String, UInt32)", "uuid": "UUID", "ip4": "IPv4", "ip6": "IPv6",
    "url": "String", "js": "String",
    "i128": "Int128", "u256": "UInt256", "nd": "Nullable(Date)", "nlc": "LowCardinality(Nullable(String))",
    "tz": "DateTime('Europe/Berlin')", "e8": "Enum8('a' = 1, 'b' = 2, '' = -3)", "dec38": "Decimal(38, 6)",
    "ad": "Array(Date)", "t": "Tuple(UInt8, String)", "dt6": "DateTime64(6, 'UTC')",
}
CONSTANTS = ["0", "1", "2", "-1", "300", "0.5", "'a'", "','", "''", "'b'", "'[a-c]+'", "'(a)(b)?'", "'%a_'", "[1, 2]",
             "['a', 'b']", "'c'", "'q'", "'day'", "'UTC'", "'Int32'", "INTERVAL 2 HOUR", "INTERVAL 1 MONTH", "NULL",
             "[]", "toDate('2024-02-29')", "toDateTime('2024-03-31 01:30:00', 'UTC')", "true", "(1, 'a')"]


# Past these, floats are not every integer.
EXACT = 1 << 53


LETTERS = ["a", "b", "c", "A", "é", "ß", " ", ",", ".", "-", "0", "1", "9", "%", "_", "/", "\\", "\n", "日"]
# What is not UTF-8, as escapes of literals.
BYTES = ["\\xFF", "\\xC3", "\\xE2\\x82", "\\x80"]


class Generator(random.Random):
    """Numbers of a seed, and what texts are made of."""

    def __init__(self, seed, has_bytes):
        super().__init__(seed)
        self.letters = LETTERS + BYTES if has_bytes else LETTERS


def words(generator):
    return "".join(generator.choice(generator.letters) for _ in range(generator.randrange(9)))


def quoted(text):
    return "'" + re.sub(r"\\(?!x[0-9A-F])", r"\\\\", text).replace("'", "\\'").replace("\n", "\\n") + "'"


def integer(generator, bits, signed):
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    near = [EXACT, EXACT + 1, -EXACT - 1 if signed else EXACT - 1] if bits == 64 else []
    return generator.choice([0, 1, 2, 7, low, high, generator.randint(low, high), generator.randint(0, 100), *near])


def url(generator):
    scheme = generator.choice(["http://", "https://www.", "//", "", "ftp://u:p@", "mailto:"])
    host = generator.choice(["example.com", "a.b.co.uk", "localhost", "1.2.3.4", "x..y", ""])
    port = generator.choice(["", ":8080", ":99999", ":x"])
    path = generator.choice(["", "/", "/p/q.html", "/a//b"])
    query = generator.choice(["", "?a=1&b=2", "?", "?b=", "?a=1&a=2#f"])
    return scheme + host + port + path + query + generator.choice(["", "#frag", "#a=5"])


JSON = ['{"a":1,"b":[1,2,"x"],"c":{"a":"q"}}', '{"a":-5.5,"b":true}', "[1,2,3]", "[]", "{}", '"q"', "nonsense", "", "null",
        '{"a":"\\u00e9\\n","q":null}', '{"b":"b","a":18446744073709551615}', '{"a":[{"b":1.5e10},{"b":"1"}]}', '{"a":1']
TEXTS = ["abc", "ab", "a,b,,c", "", "aXbX", "61", "hello world", "aabb", "2020-01-05 10:11:12", "2021-02-03", "12", "-7", "1.5",
         "10.0.0.1", "::1", "61f0c404-5cb3-11e7-907b-a6006ad3dba0"]


def text(generator, name):
    if name == "url":
        return quoted(url(generator))
    if name == "js":
        return quoted(generator.choice(JSON))
    return quoted(generator.choice(TEXTS)) if name == "z" else quoted(words(generator))


def array(generator, name, kind):
    if name == "aa":
        lists = ([str(generator.randrange(4)) for _ in range(generator.randrange(3))] for _ in range(generator.randrange(3)))
        return "[" + ",".join("[" + ",".join(items) + "]" for items in lists) + "]::Array(Array(UInt8))"
    inner = {"au": "u32", "ai": "i64", "af": "f64", "as": "s", "an": "ni", "ad": "d"}[name]
    few = [value(generator, inner) for _ in range(3)] + {"as": ["'a'", "'b'"], "ad": []}.get(name, ["1", "2", "3"])
    return "[" + ",".join(generator.choice(few) for _ in range(generator.randrange(6))) + f"]::{kind}"


def moment(generator, kind):
    if kind == "Date":
        return f"toDate({generator.choice([0, 1, 18000, 65535, generator.randrange(65536)])})"
    if kind == "Date32":
        return f"toDate32({generator.choice([0, -25567, 18000, 120529, generator.randrange(-20000, 60000)])})"
    if kind.startswith("DateTime("):
        return f"toDateTime({generator.choice([0, 1, 1600000000, 4294967295, generator.randrange(1 << 32)])}, 'UTC')"
    of, digits = ("Milli", 3) if "(3" in kind else ("Micro", 6)
    return f"fromUnixTimestamp64{of}(toInt64({generator.randrange(-10**(9 + digits), 4 * 10**(9 + digits))}), 'UTC')"


def number(generator, kind):
    plain = re.fullmatch(r"(U?)Int(\d+)", kind)
    if plain:
        literal = str(integer(generator, int(plain[2]), not plain[1]))
        return f"'{literal}'" if int(plain[2]) > 64 else literal
    if kind.startswith("Float"):
        huge = "1e300" if kind == "Float64" else "1e30"
        large = [f"{EXACT}.", f"{1 << 63}."] if kind == "Float64" else [f"{1 << 24}."]
        return generator.choice([*large, "0", "-0.", "1.5", "-2.5", "nan", "inf", "-inf", huge, "0.1", str(round(generator.uniform(-100, 100), 3))])
    fraction = generator.choice(["0", "1.5", "-2.345", str(generator.randrange(-10**6, 10**6) / 1000)])
    return f"toDecimal64('{fraction}', 3)" if kind == "Decimal(12, 3)" else f"toDecimal128('{fraction}', 6)"


def value(generator, name):
    """A literal of the type of a column."""
    kind = COLUMNS[name]
    if "Nullable" in kind and not kind.startswith("Array"):
        inner = {"ns": "s", "ni": "i32", "nf": "f64", "nd": "d", "nlc": "lc"}[name]
        return "NULL" if generator.random() < 0.3 else value(generator, inner)
    if kind in ("String", "LowCardinality(String)"):
        return text(generator, name)
    if kind.startswith("Array"):
        return array(generator, name, kind)
    if kind.startswith("Date"):
        return moment(generator, kind)
    if kind.startswith(("Int", "UInt", "Float", "Decimal")):
        return number(generator, kind)
    return other(generator, kind)


def other(generator, kind):
    if kind.startswith("Map"):
        keys = generator.sample(["a", "b", "c", "q"], generator.randrange(4))
        return "map(" + ",".join(f"'{key}',{generator.randrange(5)}" for key in keys) + f")::{kind}"
    if kind.startswith("Tuple"):
        return f"({generator.choice([0, 1, 255])}, {generator.choice(TUPLE_TEXTS)})"
    if kind.startswith("Enum"):
        return generator.choice(["'a'", "'b'", "''"])
    if kind == "FixedString(4)":
        return quoted(generator.choice(["abcd", "a", "", "12", "zz,z"]))
    if kind == "Bool":
        return generator.choice(["true", "false"])
    if kind == "UUID":
        return "'" + "-".join("".join(generator.choice("0123456789abcdef") for _ in range(n)) for n in (8, 4, 4, 4, 12)) + "'"
    if kind == "IPv4":
        return "'" + ".".join(str(generator.randrange(256)) for _ in range(4)) + "'"
    return "'" + generator.choice(["::1", "2001:db8::5", "::ffff:1.2.3.4", "fe80::1:0:0:1"]) + "'"


TUPLE_TEXTS = ["'a'", "'b'", "''", "'é'"]


def make_table(server, seed=SEED, has_bytes=False):
    """The table in one part; its directory. `has_bytes`: not all texts are UTF-8."""
    generator = Generator(seed, has_bytes)
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    server.run("DROP TABLE IF EXISTS default.v SYNC")
    server.run(f"CREATE TABLE default.v (id UInt32, {columns}) ENGINE = MergeTree ORDER BY id "
               "SETTINGS min_bytes_for_wide_part = 0, min_rows_for_wide_part = 0")
    rows = (f"({row}, " + ", ".join(value(generator, name) for name in COLUMNS) + ")" for row in range(ROWS))
    server.run("INSERT INTO default.v VALUES " + ", ".join(rows))
    return server.directory("default", "v")


def type_of(argument):
    """The type of a column or of a constant; a constant is an own kind of argument."""
    if argument in COLUMNS:
        return COLUMNS[argument]
    kinds = [(r"INTERVAL.*", argument), (r"'.*'", "String"), (r"\d+", "UInt"), (r"-\d+", "Int"), (r"[-\d.]+", "Float"), (r"\[.*\]", "Array")]
    kind = next((kind for pattern, kind in kinds if re.fullmatch(pattern, argument)), argument)
    return "constant " + kind
