"""Statements as people type them, and variants of them: columns, constants and functions are exchanged for others.

Each is asked of both engines over the same part. What ClickHouse refuses is left out; what Tambour refuses is counted.
`VARIANTS=20000` asks that many instead of some hundreds, `VARIANTS_SEED` others.
"""

import os
import pathlib
import random
import re

import compare
import pytest
from engines import run_script
from values import SEED

MOST = int(os.environ.get("VARIANTS", "600"))
STATEMENTS = (pathlib.Path(__file__).parent / "statements.txt").read_text().splitlines()
ROWS = 48
COLUMNS = {"ss" if name == "as" else name: column for name, column in compare.COLUMNS.items()}
CONSTANTS = ["0", "1", "-1", "3", "10", "255", "256", "65536", "-128", "1.5", "NULL", "''", "'a'", "'1'", "'red'", "'2020-02-29'", "'2020-02-29 12:00:00'",
             "true", "[1, 2]", "['a']", "(1, 2)", "toDecimal64(1.25, 2)", "toNullable(3)", "toInt8(5)", "toDate('2020-02-29')"]
AGGREGATES = ["sum", "min", "max", "avg", "any", "uniqExact", "count", "groupArray", "argMin", "argMax", "median", "quantileExact", "sumIf", "countIf",
              "stddevPop", "groupArray(3)", "minIf", "maxIf", "groupBitOr", "sumKahan", "uniq"]
# Their values differ on purpose (docs/functions.md: the precision of averages and of decimals, overflow), by chance, or by the order of rows that are equal.
LEFT_OUT = re.compile("|".join([r"avg(If)?\([ui]64", r"(covar|corr|stddev|var|skew|sumKahan)\w*\([^)]*([ui]64|i32)", r"dec / |/ dec|divide\(dec", r"INTERVAL [ui]64|% NULL|, nf\)|map\((255|true)|multiIf.*u64|% true|i64\) FROM v\) - dec",
                                r"any\(|anyLast|first_value|topK|anyHeavy|argM|groupUniqArray|deltaSum|rand|UUIDv4|nth_value|groupArray.*(TOTALS|ROLLUP|CUBE)|groupArray\(number|ifNull\(n[if], dec\) / |assumeNotNull\(n|(least|greatest)\([ui](32|64), dec|DISTINCT .*\bn?f"]))
WORD = re.compile(r"('(?:[^'\\]|\\.)*'|\b[A-Za-z_][A-Za-z0-9_]*\b|\b\d+(?:\.\d+)?\b)")
FUNCTIONS = sorted({it for statement in STATEMENTS for it in re.findall(r"\b([a-z][A-Za-z0-9_]*)\(", statement)} - {"v", "numbers", "rand", "generateUUIDv4"})
TIES = re.compile(r"LIMIT|QUALIFY|OVER|ORDER BY .*FILL")


def variant(chance):
    """A statement with some words exchanged."""
    words = WORD.split(chance.choice(STATEMENTS))
    places = range(1, len(words), 2)
    for _ in range(chance.choice([1, 1, 1, 2, 2, 3])):
        at = chance.choice(places)
        word = words[at]
        if word in COLUMNS:
            words[at] = chance.choice(list(COLUMNS))
        elif word[0].isdigit() or word[0] == "'":
            words[at] = chance.choice(CONSTANTS) if chance.random() < 0.7 else chance.choice(list(COLUMNS))
        elif word in FUNCTIONS and words[at + 1].startswith("("):
            words[at] = chance.choice(AGGREGATES if word in AGGREGATES else FUNCTIONS)
    return "".join(words)


@pytest.fixture(scope="module")
def table(server):
    server.run("CREATE DATABASE IF NOT EXISTS variants")
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
    server.run(f"CREATE TABLE variants.v (id UInt32, {columns}) ENGINE = MergeTree ORDER BY id SETTINGS min_bytes_for_wide_part = 0, min_rows_for_wide_part = 0")
    rows = []
    for row in range(ROWS):
        values = [kinds[(row // (index % 3 + 1) + index) % len(kinds)] for index, (_, kinds) in enumerate(COLUMNS.values())]
        rows.append(f"({row}, {', '.join(values)})")
    server.run(f"INSERT INTO variants.v VALUES {', '.join(rows)}")
    yield server.directory("variants", "v")
    server.run("DROP DATABASE variants SYNC")


def theirs(server, statement, more=""):
    """ClickHouse's answer where the outer joins and empty aggregates give NULL, as ours do; none if it takes no such statement."""
    settings = " SETTINGS join_use_nulls = 1, aggregate_functions_null_for_empty = 1, max_execution_time = 5, max_result_rows = 20000"
    text = re.sub(r"\b(FROM|JOIN) v\b", r"\1 variants.v", statement)
    try:
        return server.run(text + settings + more)
    except (RuntimeError, UnicodeDecodeError):
        return None


def is_same(ours, wanted, statement):
    ours, wanted = compare.without_signs_of_zeros(ours), compare.without_signs_of_zeros(wanted)
    if compare.same(ours, wanted):
        return True
    # Without an order of all rows each engine has its own.
    return "ORDER BY" in statement and compare.same("\n".join(sorted(ours.split("\n"))), "\n".join(sorted(wanted.split("\n"))))


def drawn(draw, server, tambour, table, most):
    """Statements that ClickHouse takes, as `draw` gives them (none for one that is left out), its answers, and ours."""
    wanted = {}
    while len(wanted) < most:
        statement = draw()
        if statement and statement not in wanted and (answer := theirs(server, statement)) is not None:
            wanted[statement] = answer
    statements, ours = list(wanted), []
    for at in range(0, len(statements), 50):
        ours += run_script(tambour, [f"v={table}"], statements[at:at + 50])[0]
    return [(statement, mine, wanted[statement]) for statement, mine in zip(statements, ours)]


def test_statements_are_answered(server, tambour, table):
    """Each as it is written."""
    ours = run_script(tambour, [f"v={table}"], STATEMENTS)[0]
    wrong = [(it, compare.first_difference(mine, theirs(server, it) or "")) for it, mine in zip(STATEMENTS, ours) if not is_same(mine, theirs(server, it) or "", it)]
    assert not wrong, "\n".join(map(str, wrong))


def test_variants_are_answered_or_refused(server, tambour, table, record_property):
    chance = random.Random(int(os.environ.get("VARIANTS_SEED", SEED)))

    def draw():
        statement = variant(chance)
        return None if LEFT_OUT.search(statement) else statement

    statements, refused, different = drawn(draw, server, tambour, table, MOST), 0, []
    for statement, answer, wanted in statements:
        if not answer and wanted:
            refused += 1
        elif not is_same(answer, wanted, statement):
            # Asked again: another block size shows what depends on the order of equal rows, and an answer may have been left by the statement before.
            again = [theirs(server, statement), theirs(server, statement, ", max_block_size = 7, max_threads = 1")]
            if again[0] == again[1] and not is_same(answer, again[0], statement) and not TIES.search(statement):
                different.append((statement, compare.first_difference(answer, again[0])))
    record_property("said", f"{len(statements)} variants, {refused} refused, {len(different)} differ")
    assert not different, "\n".join(f"{statement}\n    {how}" for statement, how in different)
    assert refused < len(statements) / 3
