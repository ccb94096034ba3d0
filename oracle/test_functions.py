"""Functions give what ClickHouse gives, over random and edge values, NULLs, columns and constants, on the same part.

Everything that ClickHouse and Tambour both know is asked (`calls.py`): a few calls of each, picked with a fixed seed; with
`FUNCTIONS_FULL=1`, which the nightly run sets, every tuple of argument types that ClickHouse takes. The calls of
`functions.txt` are compared always. Floats are equal within 1e-9 of each other (1e-14 near zero). What Tambour refuses is counted and is not a
failure; an answer that differs is one.
"""

import os
import pathlib

import calls
import engines
import nothing
import pytest
from values import COLUMNS, make_table

FULL = bool(os.environ.get("FUNCTIONS_FULL"))
# Calls of a kind in the short run.
MOST, MOST_OF_NOTHING = 3, 20
# Functions of texts, and the columns that they are asked of where texts are not UTF-8.
TEXTS = ("UTF8|ase|[cC]ase|[sS]ub[sS]tr|osition|[lL]ike|^match|replace|xtract|split|oken|ngram|oncat|[tT]rim|[pP]ad|lower|upper|reverse|left|right|hex|"
         "URL|domain|^cut|^path|translate|overlay|With|empty|ength|^to(String|Fixed)|JSON|ascii|char|^format|crc|[hH]ash|Search|^(if|ifNull|least|greatest)$")
OF_TEXTS = ["s", "ns", "lc", "nlc", "fs", "as", "u8", "ni"]


@pytest.fixture
def table(server):
    return make_table(server)


def test_calls_of_constants(server, tambour, table):
    """Calls whose answers are easy to read, edges above all (`functions.txt`)."""
    expressions = (pathlib.Path(__file__).parent / "functions.txt").read_text(encoding="utf-8").splitlines()
    clickhouse = engines.ClickHouse(server)
    subject = calls.Subject(clickhouse, "functions.txt", "")
    # One by one: a line may be several expressions, and have its own FROM.
    found = {expression: clickhouse.ask([expression], "")[0] for expression in expressions}
    subject.answers = {expression: answer for expression, answer in found.items() if isinstance(answer, list)}
    ours = engines.Tambour(tambour, table).ask(list(subject.answers), "", width=1)
    equal, _, different = calls.differences(subject, ours)
    assert not different, f"{len(different)} of {len(expressions)} differ: {different}"
    assert equal >= 850


def test_functions_give_what_clickhouse_gives(server, tambour, table, record_property):
    outcome = calls.compare(server, engines.Tambour(tambour, table), most=None if FULL else MOST)
    record_property("said", str(outcome))
    assert outcome.counts["values"] >= (2_000_000 if FULL else 100_000)
    assert not outcome.different, f"{len(outcome.different)} calls differ: {outcome.different[:20]}"


def test_aggregates_of_nothing(server, tambour, table):
    """No rows, NULLs alone, rows that -If leaves out (`nothing.py`)."""
    outcome = nothing.compare(server, engines.Tambour(tambour, table), most=None if FULL else MOST_OF_NOTHING)
    assert outcome.counts["calls"] - outcome.counts["refused"] >= 500
    assert not outcome.different, f"{len(outcome.different)} calls differ: {outcome.different[:20]}"


def test_texts_that_are_not_utf8(server, tambour, monkeypatch):
    monkeypatch.setattr(calls, "COLUMNS", {name: COLUMNS[name] for name in OF_TEXTS})
    binary = engines.Tambour(tambour, make_table(server, has_bytes=True), ["--strings", "binary"])
    outcome = calls.compare(server, binary, f"^(?!aggregate).*({TEXTS})", most=None if FULL else MOST)
    assert outcome.counts["values"] >= 80_000
    assert not outcome.different, f"{len(outcome.different)} calls differ: {outcome.different[:20]}"
