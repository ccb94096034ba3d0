"""Joins of two and three tables, USING, ON and commas, under random lists of results: names and rows as ClickHouse has them."""

import random

import pytest

SEED = 20261126
COUNT = 600
TABLES = {
    "a": ("k Int32, l Nullable(Int32), x String", "(1, 1, 'p'), (1, 2, 'q'), (2, NULL, 'r'), (4, 4, 's')"),
    "b": ("k Int32, l Nullable(Int32), y String", "(1, 1, 'P'), (2, 2, 'Q'), (2, NULL, 'R'), (5, 4, 'S')"),
    "c": ("k Int32, l Nullable(Int32), x UInt8, z Int8", "(1, 2, 7, 1), (2, 1, 8, 0), (6, NULL, 9, -1)"),
}
OWN = {"a": "klx", "b": "kly", "c": "klxz"}
KINDS = ["JOIN", "INNER JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]
MARK = "=== end ==="


def source(generator, tables, names):
    """FROM with its joins, and whether bare names of keys are free to use."""
    text = f"{tables[0]} AS {names[0]}" if names[0] != tables[0] else tables[0]
    for place in range(1, len(tables)):
        table = f"{tables[place]} AS {names[place]}" if names[place] != tables[place] else tables[place]
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
            items.append(generator.choice(["k", "l", "k + 1 AS m"]))
        else:
            items.append(kind)
    return list(dict.fromkeys(items))


def questions():
    generator = random.Random(SEED)
    for _ in range(COUNT):
        tables = generator.sample(sorted(TABLES), generator.choice([2, 2, 3]))
        names = [generator.choice([table, f"t{place}"]) for place, table in enumerate(tables)]
        items = ", ".join(results(generator, tables, names))
        nulls = generator.randrange(2)
        yield f"SELECT {items} FROM {source(generator, tables, names)} SETTINGS join_use_nulls = {nulls}"


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
    assert not different, f"{len(different)} differ, {equal} equal\n" + "\n".join(different[:25])
    assert equal > 20 * refused, f"{refused} refused, {equal} equal"
