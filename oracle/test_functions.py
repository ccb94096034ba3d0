"""Functions give what ClickHouse gives, over random and edge values, NULLs, columns and constants, on the same part.

The calls of `functions.txt` are compared always. With `FUNCTIONS_FULL=1`, which the nightly run sets, everything that
ClickHouse and Tambour both know is asked with every tuple of argument types that ClickHouse takes (`calls.py`). Floats
are equal within 1e-9 of each other. What Tambour refuses is counted and is not a failure; an answer that differs is one.
"""

import os
import pathlib

import calls
import pytest

FULL = bool(os.environ.get("FUNCTIONS_FULL"))


@pytest.fixture(scope="module")
def table(server):
    return calls.make_table(server)


def test_calls_of_constants(server, tambour, table):
    """Calls whose answers are easy to read, edges above all (`functions.txt`)."""
    expressions = (pathlib.Path(__file__).parent / "functions.txt").read_text(encoding="utf-8").splitlines()
    ours = calls.ask(tambour, table, expressions, "")
    wrong = []
    for call, answer in zip(expressions, ours):
        try:
            theirs = server.run(f"SELECT {call}").split("\n")[:-1]
        except RuntimeError:
            continue
        if answer is not None and not (len(answer) == len(theirs) and all(map(calls.same, answer, theirs))):
            wrong.append((call, answer, theirs))
    assert not wrong, f"{len(wrong)} of {len(expressions)} differ: {wrong}"


if FULL:  # `cargo xtask oracle`

    def test_functions_give_what_clickhouse_gives(server, tambour, table, capsys):
        outcome = calls.compare(server, tambour, table)
        with capsys.disabled():
            print(f"\n{outcome}")
        assert outcome.counts["values"] >= 2_000_000
        assert not outcome.different, f"{len(outcome.different)} calls differ: {outcome.different[:20]}"
