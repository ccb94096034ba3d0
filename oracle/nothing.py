"""Aggregates of no rows, of NULLs alone, and of rows that -If leaves out, with `aggregate_functions_null_for_empty = 0`, where they are what
they are in ClickHouse: defaults, NaN, or NULL where an argument may be NULL."""

import itertools
import re

import calls

ROWS = "(SELECT toInt64(number) AS a, NULL::Nullable(Int64) AS n, number % 2 AS g, if(number % 2, a, NULL) AS h, toUInt32(number) AS u FROM numbers(6))"
WAY = " SETTINGS aggregate_functions_null_for_empty = 0"
SOURCES = [f" FROM {ROWS} GROUP BY g ORDER BY g{WAY}", f" FROM {ROWS} WHERE a > 6{WAY}"]
COMBINATORS = ["", "OrNull", "OrDefault", "If", "IfOrNull", "IfOrDefault", "OrNullIf", "OrDefaultIf"]
CONDITIONS = ["a > 1", "n > 1", "h > 1"]
ARGUMENTS = [[it] for it in "anh"] + [list(it) for it in itertools.product("anh", "anh")] + [["a", "u"], ["n", "u"], ["h", "u"]]
# Samples, and values in an order of their own.
LEFT_OUT = re.compile(r"^(topK|approx_top|groupUniqArray|groupArraySample)")


def questions(name):
    """Calls of an aggregate with all combinators."""
    for parameters, combinator, arguments in itertools.product(["", "(2)"], COMBINATORS, ARGUMENTS):
        for condition in CONDITIONS if "If" in combinator else [None]:
            given = arguments + [condition] * (condition is not None)
            yield f"{name}{combinator}{parameters}({', '.join(given)})", given


def compare(server, tambour, most=None):
    """The outcome of all aggregates that both engines know; `most` questions of each, picked at random."""
    outcome, clickhouse = calls.Outcome(), calls.ClickHouse(server)
    for title, _, name in calls.everything(server, tambour.binary):
        if not title.startswith("aggregate ") or LEFT_OUT.search(name):
            continue
        for source in SOURCES:
            subject = calls.Subject(clickhouse, f"{title}{source}", source, most)
            subject.ask(questions(name))
            outcome.add(subject, calls.differences(subject, tambour.ask(list(subject.answers), source)))
    return outcome
