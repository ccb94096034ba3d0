"""Joins of two and three tables, USING, ON and commas, under random lists of results: names and rows as ClickHouse has them."""

import random

import compare
import pytest

SEED = 20261126
COUNT = 1500
TABLES = {
    "a": ("k Int32, l Nullable(Int32), x String", "(1, 1, 'p'), (1, 2, 'q'), (2, NULL, 'r'), (4, 4, 's')"),
    "b": ("k Int32, l Nullable(Int32), y String", "(1, 1, 'P'), (2, 2, 'Q'), (2, NULL, 'R'), (5, 4, 'S')"),
    "c": ("k Int32, l Nullable(Int32), x UInt8, z Int8", "(1, 2, 7, 1), (2, 1, 8, 0), (6, NULL, 9, -1)"),
}
OWN = {"a": "klx", "b": "kly", "c": "klxz"}
# Queries in the place of tables, some with results that have no name of their own.
QUERIES = {
    "a": ["(SELECT k, l, x FROM a)", "(SELECT k, l, x, count(), max(l) FROM a GROUP BY k, l, x)", "(SELECT *, 1, equals(k, 1) FROM a)"],
    "b": ["(SELECT * FROM b)", "(SELECT y, lower(y), l, k FROM b)", "(SELECT b.k, b.l, b.y FROM b JOIN (SELECT k FROM c) AS d USING (k))"],
    "c": ["(SELECT * FROM c WHERE k < 9)", "(SELECT c.*, negate(z) FROM c)", "(SELECT k, l, x, z FROM c UNION ALL SELECT k + 3, l, x, z FROM c)"],
}
CONDITIONS = ["k > 1", "l IS NULL", "k IN (1, 2, 5)", "arrayExists(k -> k = 2, [1, 2]) AND k != 4", "k + 1 = 3 OR l = 4"]
KINDS = ["JOIN", "INNER JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]
MARK = "=== end ==="


def source(generator, tables, names):
    """FROM with its joins."""
    def written(place):
        table, name = tables[place], names[place]
        if generator.random() < 0.25:
            return f"{generator.choice(QUERIES[table])} AS {name}"
        return f"{table} AS {name}" if name != table else table

    text = written(0)
    for place in range(1, len(tables)):
        table = written(place)
        before = names[generator.randrange(place)]
        way = generator.random()
        if way < 0.15:
            text += f", {table}"
        elif way < 0.2:
            text += f" CROSS JOIN {table}"
        elif way < 0.65:
            keys = generator.choice(["k", "l", "k, l", "(k)", "(l, k)"])
            text += f" {generator.choice(KINDS)} {table} USING {keys if keys.startswith('(') else '(' + keys + ')'}"
        else:
            key = generator.choice("kl")
            text += f" {generator.choice(KINDS)} {table} ON {before}.{key} = {names[place]}.{generator.choice('kl')}"
    return text


def results(generator, tables, names):
    every = [f"{name}.{column}" for table, name in zip(tables, names) for column in OWN[table]]
    kinds = ["*", *[f"{name}.*" for name in names], "names", "names", "bare"]
    items = []
    for kind in generator.sample(kinds, generator.randrange(1, 4)):
        if kind == "names":
            items += generator.sample(every, 2)
        elif kind == "bare":
            items.append(generator.choice(["k", "l", "k + 1 AS m", "toString(k)", "arrayMap(k -> k + 1, [5]) AS n"]))
        else:
            items.append(kind)
    return list(dict.fromkeys(items))


def questions():
    generator = random.Random(SEED)
    for _ in range(COUNT):
        tables = generator.sample(sorted(TABLES), generator.choice([2, 2, 3]))
        names = [generator.choice([table, f"t{place}"]) for place, table in enumerate(tables)]
        items = ", ".join(results(generator, tables, names))
        text = f"SELECT {items} FROM {source(generator, tables, names)}"
        way = generator.random()
        if way < 0.2:
            text += f" WHERE {generator.choice(CONDITIONS)}"
        elif way < 0.3:
            text = f"SELECT k, count(), sum(k), max(l) FROM {source(generator, tables, names)} GROUP BY k"
        elif way < 0.4:
            text = f"SELECT * FROM ({text}) AS whole"
        yield f"{text} SETTINGS join_use_nulls = {generator.randrange(2)}"


@pytest.fixture
def places(server, database):
    server.run(f"USE {database}")
    for name, (columns, rows) in TABLES.items():
        server.run(f"CREATE TABLE {name} ({columns}) ENGINE = MergeTree ORDER BY k")
        server.run(f"INSERT INTO {name} VALUES {rows}")
    yield [f"{name}={server.directory(database, name)}" for name in TABLES]
    server.run("USE default")


def table_of(answer):
    """Names, and rows in an order of their own."""
    names, *rows = answer.splitlines() or [""]
    return [names, *sorted(rows)]


def test_joins(server, tambour, places):
    asked = list(dict.fromkeys(questions()))
    script = "".join(f"{query};\nSELECT '{MARK}' FORMAT TSV;\n" for query in asked)
    done = tambour.call("sql", *places, "--format", "TSVWithNames", "--ignore-error", input=script.encode())
    answers = done.stdout.decode().split(MARK + "\n")[:-1]
    assert len(answers) == len(asked)
    different, refused, equal = [], 0, 0
    for query, ours in zip(asked, answers):
        try:
            theirs = server.session.query(query, "TSVWithNames").bytes().decode()
        except RuntimeError:
            continue
        if not ours:
            refused += 1
        elif table_of(ours) == table_of(theirs):
            equal += 1
        else:
            different.append(f"{query}\nours:\n{ours}\nClickHouse:\n{theirs}")
    assert not different, f"{len(different)} differ, {equal} equal\n" + "\n".join(different[:12])
    assert equal > 20 * refused, f"{refused} refused, {equal} equal"


@pytest.mark.parametrize("join", [
    "numbers(40, 20) AS n LEFT JOIN g AS x ON n.number = x.k",
    "g AS x RIGHT JOIN numbers(40, 20) AS n ON n.number = x.k",
    "g AS x FULL JOIN numbers(40, 20) AS n ON n.number = x.k",
    "(SELECT number AS k FROM numbers(40, 20)) AS n FULL JOIN g AS x USING (k)",
    "(SELECT toUInt64(number) AS k, 1 AS one FROM numbers(50, 3)) AS n FULL JOIN g AS x USING (k) RIGHT JOIN numbers(47, 7) AS m ON m.number = n.k",
])
def test_defaults_of_all_types(server, tambour, join):
    table = compare.create(server.session)
    query = f"SELECT * FROM {join} SETTINGS join_use_nulls = 0"
    theirs = server.run(query.replace("g AS", "compared.g AS"))
    ours = tambour.run("sql", f"g={table}", "--format", "TSV", query)
    assert len(theirs.splitlines()) > 5
    different = [(a, b) for a, b in zip(sorted(ours.splitlines()), sorted(theirs.splitlines())) if not compare.same(a, b)]
    assert len(ours.splitlines()) == len(theirs.splitlines())
    assert not different, different[:2]
