"""Statements over values of every type in every shape: alone, in arrays and tuples, and those in one another.

There is a part for each row, so that each has its own dictionaries and batches. What Tambour refuses is counted and is no
failure; an answer that differs is one. `SHAPES_FULL=1` asks all, a plain run some, picked with a fixed seed.
"""

import os
import random

import compare
import pytest
from engines import run_script
from values import SEED

MOST = None if os.environ.get("SHAPES_FULL") else 700
TYPES = {
    "i": ("Int64", ["5", "-1", "0", "9007199254740993", "7", "5"]),
    "b8": ("UInt8", ["5", "1", "0", "255", "1", "0"]),
    "f": ("Float64", ["0.", "-0.", "nan", "1.5", "-inf", "1.5"]),
    "f4": ("Float32", ["0.", "-0.", "nan", "0.1", "-1", "0.1"]),
    "nf": ("Nullable(Float64)", ["NULL", "1.5", "nan", "-0.", "NULL", "0."]),
    "ni": ("Nullable(Int32)", ["NULL", "1", "-5", "0", "NULL", "1"]),
    "s": ("String", ["''", "'a'", "'B'", "'\\xff'", "'a\\0'", "'a'"]),
    "ns": ("Nullable(String)", ["NULL", "''", "'b'", "'B'", "NULL", "'b'"]),
    "lc": ("LowCardinality(String)", ["'red'", "'green'", "''", "'a'", "'red'", "'zz'"]),
    "e": ("Enum8('b' = -1, 'a' = 2, 'c' = 0)", ["'a'", "'b'", "'c'", "'c'", "'a'", "'b'"]),
    "ne": ("Nullable(Enum8('b' = -1, 'a' = 2, 'c' = 0))", ["'a'", "NULL", "'c'", "'b'", "NULL", "'a'"]),
    "bo": ("Bool", ["true", "false"]),
    "d": ("Date", ["'1970-01-01'", "'2020-02-29'", "'2149-06-06'", "'2106-02-07'", "'1970-01-02'", "'2020-02-29'"]),
    "d32": ("Date32", ["'1900-01-01'", "'2020-02-29'", "'2299-12-31'", "'1969-12-31'", "'1970-01-01'", "'2106-02-07'"]),
    "t": ("DateTime('UTC')", ["'1970-01-01 00:00:00'", "'2020-02-29 00:00:00'", "'2106-02-07 06:28:15'", "'1970-01-02 00:00:00'"]),
    "t6": ("DateTime64(3, 'UTC')", ["'1969-12-31 23:59:59.500'", "'2020-02-29 00:00:00'", "'2149-06-06 00:00:00'", "'2106-02-07 00:00:00.001'"]),
    "u": ("UUID", ["'00000000-0000-0001-0000-000000000000'", "'00000000-0000-0000-0000-000000000002'", "'61f0c404-5cb3-11e7-907b-a6006ad3dba0'"]),
    "nu": ("Nullable(UUID)", ["NULL", "'00000000-0000-0000-0000-000000000002'", "'00000000-0000-0001-0000-000000000000'"]),
    "w": ("Int256", ["-5", "7", "0", "-70000", "57896044618658097711785492504343953926634992332820282019728792003956564819967", "7"]),
    "uw": ("UInt256", ["5", "7", "0", "70000", "115792089237316195423570985008687907853269984665640564039457584007913129639935", "7"]),
    "w1": ("Int128", ["-5", "7", "0", "-70000", "170141183460469231731687303715884105727", "7"]),
    "de": ("Decimal(9, 2)", ["0", "-1.25", "99.99", "-300", "0", "1.5"]),
    "p4": ("IPv4", ["'1.2.3.4'", "'255.0.0.1'", "'0.0.0.0'", "'10.0.0.1'"]),
    "p6": ("IPv6", ["'::1'", "'::ffff:1.2.3.4'", "'ff::'", "'::'"]),
    "fs": ("FixedString(3)", ["'abc'", "'b'", "''", "'a'"]),
}
ROWS = 6
SHAPES = {
    "": ("{}", ["{0}", "{1}", "{2}", "{3}", "{4}", "{5}"]),
    "a_": ("Array({})", ["[{0}]", "[]", "[{1}, {2}]", "[{2}, {3}]", "[{1}]", "[{1}, {4}]"]),
    "t_": ("Tuple({}, UInt8)", ["({0}, 1)", "({1}, 1)", "({2}, 1)", "({3}, 2)", "({4}, 0)", "({1}, 3)"]),
    "at_": ("Array(Tuple({}, UInt8))", ["[({0}, 1)]", "[]", "[({1}, 1), ({2}, 1)]", "[({2}, 1)]", "[({2}, 2)]", "[({1}, 1), ({4}, 1)]"]),
    "ta_": ("Tuple(Array({}), UInt8)", ["([{0}], 1)", "([], 1)", "([{1}, {2}], 1)", "([{1}], 2)", "([], 0)", "([{1}, {4}], 1)"]),
    "aa_": ("Array(Array({}))", ["[[{0}]]", "[[]]", "[[{1}], [{2}]]", "[]", "[[{1}]]", "[[{1}, {4}], []]"]),
}
COLUMNS = {shape + name: (of.format(data_type), [row.format(*(values[i % len(values)] for i in range(ROWS))) for row in rows])
           for name, (data_type, values) in TYPES.items() for shape, (of, rows) in SHAPES.items()}
PAIRS = " FROM n AS a CROSS JOIN n AS b ORDER BY a.k, b.k"
# What is asked of each column, which stands for X.
ASKED = [
    *[f"SELECT k FROM n ORDER BY X {order}, k" for order in ("", "DESC", "NULLS FIRST", "DESC NULLS FIRST")],
    "SELECT k, rank() OVER (ORDER BY X DESC) AS r FROM n ORDER BY k",
    "SELECT k, count() OVER (PARTITION BY X) AS r FROM n ORDER BY k",
    "SELECT X, k FROM n ORDER BY X DESC, k LIMIT 1 BY X",
    "SELECT arraySort(groupArray(X)), arrayReverseSort(groupArray(X)) FROM n GROUP BY k % 3 ORDER BY k % 3",
    "SELECT min(X), max(X) FROM n GROUP BY k % 2 ORDER BY k % 2",
    "SELECT min((X, k)), max((X, k)), min([X]), max([X]) FROM n GROUP BY k % 2 ORDER BY k % 2",
    "SELECT any(X), anyLast(X) FROM (SELECT * FROM n ORDER BY k)",
    "SELECT uniqExact(X), count(DISTINCT X) FROM n",
    "SELECT X, count(), min(k) AS m FROM n GROUP BY X ORDER BY m",
    "SELECT count() FROM (SELECT DISTINCT X, k % 2 FROM n)",
    "SELECT a.k, b.k FROM n AS a JOIN n AS b ON a.X = b.X ORDER BY a.k, b.k",
    "SELECT a.k, b.k FROM n AS a JOIN n AS b USING X ORDER BY a.k, b.k",
    "SELECT a.k, b.k FROM n AS a LEFT JOIN (SELECT * FROM n WHERE k < 3) AS b ON a.X = b.X ORDER BY a.k, b.k SETTINGS join_use_nulls = 1",
    "SELECT a.k, b.k FROM n AS a JOIN n AS b ON a.X = b.X AND a.k <= b.k ORDER BY a.k, b.k",
    "SELECT a.k, b.k FROM n AS a JOIN n AS b ON a.k % 2 = b.k % 2 WHERE a.X = b.X ORDER BY a.k, b.k",
    "SELECT a.k FROM n AS a SEMI JOIN (SELECT * FROM n WHERE k IN (1, 2, 3)) AS b ON a.X = b.X ORDER BY a.k",
    "SELECT a.k FROM n AS a ANTI JOIN (SELECT * FROM n WHERE k IN (1, 2, 3)) AS b ON a.X = b.X ORDER BY a.k",
    "SELECT k FROM n WHERE X IN (SELECT X FROM n WHERE k < 3) ORDER BY k",
    "SELECT count() FROM (SELECT X FROM n INTERSECT SELECT X FROM n WHERE k < 3)",
    "SELECT count() FROM (SELECT X FROM n EXCEPT SELECT X FROM n WHERE k < 3)",
    "SELECT [X, X], (X, 1), k FROM n ORDER BY k",
    "SELECT arrayDistinct(groupArray(X)) FROM (SELECT * FROM n ORDER BY k)",
    "SELECT cityHash64(X), sipHash64(X) FROM n ORDER BY k",
    *["SELECT " + them + PAIRS for them in (
        "a.X = b.X, a.X != b.X", "a.X < b.X, a.X <= b.X, a.X > b.X, a.X >= b.X", "(a.X, a.k) < (b.X, b.k)", "[a.X] < [b.X], [a.X] = [b.X]",
        "has([a.X], b.X), indexOf([a.X, b.X], b.X)", "greatest(a.X, b.X), least(a.X, b.X)", "nullIf(a.X, b.X)", "a.X BETWEEN b.X AND b.X",
        "CASE a.X WHEN b.X THEN 1 ELSE 2 END", "if(a.k > 2, a.X, b.X)", "arrayDistinct([a.X, b.X])")],
]


def is_left_out(ask, name):
    """Where ClickHouse looks at what stands under a NULL."""
    return "has(" in ask and COLUMNS[name][0].startswith("Nullable")


@pytest.fixture(scope="module")
def table(server):
    server.run("CREATE DATABASE IF NOT EXISTS shapes")
    columns = ", ".join(f"{name} {data_type}" for name, (data_type, _) in COLUMNS.items())
    server.run(f"CREATE OR REPLACE TABLE shapes.n (k UInt32, {columns}) ENGINE = MergeTree ORDER BY k SETTINGS min_bytes_for_wide_part = 0")
    server.run("SYSTEM STOP MERGES shapes.n")
    for row in range(ROWS):
        server.run(f"INSERT INTO shapes.n VALUES ({row}, {', '.join(values[row] for _, values in COLUMNS.values())})")
    return server.directory("shapes", "n")


def test_values_of_every_shape_are_what_they_are_there(server, tambour, table, record_property):
    statements = [ask.replace("X", name) for ask in ASKED for name in COLUMNS if not is_left_out(ask, name)]
    if MOST:
        statements = random.Random(SEED).sample(statements, MOST)
    theirs = {}
    for statement in statements:
        try:
            theirs[statement] = server.run(statement.replace("FROM n", "FROM shapes.n").replace("JOIN n", "JOIN shapes.n"))
        except RuntimeError:
            pass  # ClickHouse does not take it.
    statements = list(theirs)
    ours, refused, different = [], 0, []
    for at in range(0, len(statements), 50):
        ours += run_script(tambour, [f"n={table}"], statements[at:at + 50])[0]
    for statement, answer in zip(statements, ours):
        if not answer and theirs[statement]:
            refused += 1
            continue
        answer, wanted = (compare.without_signs_of_zeros(it) for it in (answer, theirs[statement]))
        if not compare.same(answer, wanted):
            different.append((statement, compare.first_difference(answer, wanted)))
    record_property("said", f"{len(statements)} statements, {refused} refused, {len(different)} differ")
    assert not different, f"{len(different)} differ: {different[:20]}"
    assert refused < len(statements) / 4
