"""Statements over trees of expressions that are drawn by chance from trees.txt: in rows, groups, windows, subqueries and joins.

Single calls show no type that is lost on its way to another call; these do. Each is asked of both engines over the same part. What
ClickHouse refuses is left out; what Tambour refuses is counted. `TREES=20000` asks that many, `TREES_SEED` others.
"""

import os
import pathlib
import random
import re

from test_variants import compare, drawn, is_same, table, theirs  # noqa: F401 (the table is the same)
from values import SEED

MOST = int(os.environ.get("TREES", "600"))
WEIGHTS = {"int": 6, "float": 3, "str": 6, "date": 2, "dt": 2, "bool": 2, "dec": 2, "ai": 2, "as": 2, "enum": 1, "fs": 1, "uuid": 1, "cond": 3}
# On purpose (docs/functions.md): averages, sums and products that wrap around or lose digits there. By chance: a NULL that is looked for in an array is
# what lies below it. Left: IN with columns on its right, which may be NULL there whatever the columns say.
LEFT_OUT = re.compile(r"avg\w*\((cityHash|\(?[ui]64)|has\([^()]*(\([^()]*\))?[^()]*, (\w+\()?ns|NOT IN \(\(?[a-z]|Variant|stddev|u32 \* u32")
# Decimals of nine digits beside integers of as many, added up, and quotients of decimals.
OVERFLOW = re.compile(r"(dec|toDecimal).* [-+*] .*\b[ui](32|64)\b|\b[ui](32|64)\b.* [-+*] .*(dec|toDecimal)|(dec|toDecimal).* / ")
OPERATOR = re.compile(r" [-+*/%<>=|]|^-|\b(AND|OR|NOT|IN|LIKE|ILIKE|BETWEEN|IS|CASE|INTERVAL)\b|::")


def sections():
    found, name = {}, None
    for line in (pathlib.Path(__file__).parent / "trees.txt").read_text().splitlines():
        if line.startswith("#") or not line:
            continue
        if heading := re.fullmatch(r"\[(\w+)\]", line):
            name = heading.group(1)
            found[name] = ([], [])
        elif line == "--":
            found[name] = (found[name][1], [])
        else:
            found[name][1].append(line)
    return found


class Trees:
    """Draws statements."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.sections = sections()

    def tree(self, kind, depth):
        if kind == "any":
            kind = self.chance.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        leaves, forms = self.sections[kind]
        if depth <= 0 or kind in WEIGHTS and kind != "cond" and self.chance.random() < 0.15:
            return self.chance.choice(leaves)
        return self.filled(self.chance.choice(forms), depth - 1)

    def filled(self, form, depth):
        def one(match):
            kind = match.group(1)
            inner = self.tree(kind, 0 if kind in ("key", "whole") else depth)
            return f"({inner})" if OPERATOR.search(inner) and not re.fullmatch(r"\w+\([^()]*\)", inner) else inner
        return re.sub(r"\{(\w+)\}", one, form)

    def statement(self):
        chance, depth = self.chance, self.chance.choice([1, 1, 2, 2, 3])
        def tree(kind, less=1):
            return self.tree(kind, depth - less)
        def several(kind, counts):
            return ", ".join(self.filled(chance.choice(self.sections[kind][1]), depth - 1) for _ in range(chance.choice(counts)))
        where = f" WHERE {tree('cond')}" if chance.random() < 0.3 else ""
        shape = chance.choices(["rows", "groups", "whole", "window", "subquery", "distinct", "join", "with"], [28, 27, 8, 12, 10, 5, 5, 5])[0]
        if shape == "rows":
            first = tree("any", 0)
            more = chance.choice(["", f", toTypeName({first})", f", {tree('any', 0)}"])
            return f"SELECT {first}{more} FROM v{where} ORDER BY id"
        if shape == "groups":
            having = chance.choice([""] * 6 + [" HAVING count() > 2", " HAVING max(u8) > 5"])
            key = self.filled(chance.choice(self.sections["key"][1]), chance.choice([0, 1]))
            return f"SELECT {key} AS k, {several('whole', [1, 2])} FROM v{where} GROUP BY k{having} ORDER BY k"
        if shape == "whole":
            return f"SELECT {several('whole', [2])} FROM v{where}"
        if shape == "window":
            return f"SELECT id, {several('window', [1])} FROM v ORDER BY id"
        if shape == "subquery":
            shown = chance.choice(self.sections["over"][1])
            return f"SELECT {shown} FROM (SELECT id, {tree('any')} AS x, {tree('any')} AS y FROM v{where}) ORDER BY id"
        if shape == "distinct":
            return f"SELECT count(), max(x), min(x) FROM (SELECT DISTINCT {tree('any')} AS x FROM v{where})"
        if shape == "join":
            key = tree(chance.choice(["int", "str", "date"]))
            sides = [f"(SELECT id, {key} AS k FROM v WHERE id < {most})" for most in (12, 20)]
            return f"SELECT a.id, b.id FROM {sides[0]} AS a {chance.choice(['', 'LEFT ', 'FULL '])}JOIN {sides[1]} AS b ON a.k = b.k ORDER BY a.id, b.id"
        return f"WITH {tree('any')} AS x SELECT x, toTypeName(x) FROM v{where} ORDER BY id"


def without_widths(text):
    """Names of types without what differs on purpose: how a column is stored, and how many digits a decimal may have."""
    text = re.sub(r"LowCardinality\(((?:Nullable\(\w+\)|\w+))\)", r"\1", text)
    return re.sub(r"Decimal\(\d+", "Decimal(", text)


def test_trees_are_answered_or_refused(server, tambour, table, record_property):  # noqa: F811
    trees = Trees(int(os.environ.get("TREES_SEED", SEED)))

    def draw():
        statement = trees.statement()
        return None if len(statement) > 900 or LEFT_OUT.search(statement) else statement

    statements, refused, different = drawn(draw, server, tambour, table, MOST), 0, []
    for statement, answer, wanted in statements:
        answer, expected = without_widths(answer), without_widths(wanted)
        if not answer and expected:
            refused += 1
        elif not is_same(answer, expected, statement) and "Variant(" not in expected and not OVERFLOW.search(statement):
            if theirs(server, statement, ", max_block_size = 7, max_threads = 1") == wanted:
                different.append((statement, compare.first_difference(answer, expected)))
    record_property("said", f"{len(statements)} trees, {refused} refused, {len(different)} differ")
    assert not different, "\n".join(f"{statement}\n    {how}" for statement, how in different)
    assert refused < len(statements) / 20
