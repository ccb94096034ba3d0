"""Columns that ALTER added after there were rows: what older parts have of them is computed from their DEFAULT, whatever that is; and tables with
keys that only ClickHouse can compute."""

import pytest

# Types and DEFAULTs.
ADDED = [
    ("IPv4", "'1.2.3.4'"), ("IPv6", "'::1'"), ("UUID", "'61f0c404-5cb3-11e7-907b-a6006ad3dba0'"), ("DateTime64(3)", "'2021-03-04 05:06:07.5'"),
    ("DateTime('Europe/Berlin')", "'2021-03-04 05:06:07'"), ("Date", "'2020-01-01'"), ("Array(UInt8)", "[]"), ("Array(String)", "['a']"),
    ("Array(Nullable(UInt8))", "[1, NULL]"), ("Map(String, UInt8)", "map('a', k)"), ("Tuple(UInt8, String)", "(1, 'a')"),
    ("Tuple(a UInt8, b Array(String))", "(k, [s])"), ("String", "concat('x', toString(k))"), ("String", "'a' || toString(k)"), ("String", "upper(s)"),
    ("FixedString(4)", "toString(k)"), ("LowCardinality(String)", "concat(s, 'y')"), ("LowCardinality(Nullable(String))", "if(k = 1, NULL, s)"),
    ("Nullable(String)", "s || '!'"), ("Nullable(Int32)", "if(k = 1, NULL, 5)"), ("Enum8('a' = 1, 'b' = 2)", "if(k = 1, 'a', 'b')"), ("UInt8", "k IN (1, 2)"),
    ("Bool", "k = 1"), ("Decimal(9, 2)", "k * 1.5"), ("Int128", "k * 10"), ("Float64", "k / 3"), ("UInt64", "cityHash64(s)"),
    ("Array(String)", "splitByChar('a', s)"), ("Array(UInt32)", "arrayMap(x -> x + k, range(3))"), ("String", "unhex('4142')"),
]

# Keys that are not computed here.
KEYS = ["k DESC", "(s, k DESC)", "substring(s, 1, 2)", "k PARTITION BY concat(s, 'x')", "concat(s, 'x')"]


@pytest.mark.parametrize("text", ["'b'", "unhex('fe')"])
def test_defaults_of_added_columns(server, tambour, database, text):
    binary = ["--strings", "binary"] if "unhex" in text else []
    for number, (kind, default) in enumerate(ADDED):
        table = f"{database}.t{number}"
        server.run(f"CREATE TABLE {table} (k UInt32, s String) ENGINE = MergeTree ORDER BY k")
        server.run(f"INSERT INTO {table} VALUES (1, 'xay'), (2, {text}), (3, '')")
        server.run(f"ALTER TABLE {table} ADD COLUMN z {kind} DEFAULT {default}")
        server.run(f"INSERT INTO {table} (k, s) VALUES (4, 'q')")
        wanted = server.run(f"SELECT * FROM {table} ORDER BY k")
        path = server.directory(database, f"t{number}")
        ours = tambour.run("sql", f"t={path}", *binary, "--format", "tsv", "--no-header", "SELECT * FROM t ORDER BY k")
        assert ours == wanted, (kind, default)


def test_many_parts_and_batches(server, tambour, database):
    table = f"{database}.t"
    server.run(f"CREATE TABLE {table} (k UInt32) ENGINE = MergeTree ORDER BY k")
    server.run(f"SYSTEM STOP MERGES {table}")
    server.run(f"INSERT INTO {table} SELECT number FROM numbers(200000)")
    for number in range(200):
        server.run(f"INSERT INTO {table} VALUES ({number})")
    # The second reads the first, which the parts do not have either.
    server.run(f"ALTER TABLE {table} ADD COLUMN a String DEFAULT concat('x', toString(k)), ADD COLUMN b String DEFAULT concat(a, 'y')")
    query = "SELECT sum(length(a)), sum(length(b)), max(b), count() FROM {}"
    path = server.directory(database, "t")
    for threads in ["1", "2"]:
        ours = tambour.run("sql", f"t={path}", "--threads", threads, "--format", "tsv", "--no-header", query.format("t"))
        assert ours == server.run(query.format(table))


@pytest.mark.parametrize("key", KEYS)
def test_keys_that_are_not_computed(server, tambour, database, key):
    table = f"{database}.t"
    server.run(f"CREATE TABLE {table} (k UInt32, s String) ENGINE = MergeTree ORDER BY {key} "
               "SETTINGS allow_experimental_reverse_key = 1, allow_suspicious_indices = 1, index_granularity = 64")
    server.run(f"INSERT INTO {table} SELECT number, toString(number % 7) FROM numbers(2000)")
    server.run(f"ALTER TABLE {table} ADD COLUMN z UInt8 DEFAULT 3")
    server.run(f"INSERT INTO {table} (k, s) VALUES (1, 'q')")
    path = server.directory(database, "t")
    for query in ["SELECT count(), sum(k), sum(z), max(s) FROM {} WHERE k > 100 AND k < 1500", "SELECT * FROM {} ORDER BY k, s LIMIT 3",
                  "SELECT count(), min(k) FROM {} WHERE s < '2'"]:
        ours = tambour.run("sql", f"t={path}", "--format", "tsv", "--no-header", query.format("t"))
        assert ours == server.run(query.format(table)), query
    for query in ["SELECT count() FROM t FINAL", "SELECT count() FROM t SETTINGS final = 1"]:
        done = tambour.call("sql", f"t={path}", query)
        assert done.returncode and b"is not known" in done.stderr, query
    done = tambour.call("sql", f"t={path}", "--write", "INSERT INTO t (k) VALUES (1)")
    assert done.returncode, "a table whose key is not known takes no rows"
