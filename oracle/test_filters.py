"""Filters of several conditions: what is asked first, which columns are read for it, and of which rows what may fail is asked."""

import random

import pytest

ROWS = """SELECT number AS id, toUInt8(number % 11) AS u8, toInt16(cityHash64(number, 1) % 900) - 450 AS i16, cityHash64(number, 2) AS u64,
if(number % 7 = 0, NULL, toInt32(number % 100)) AS n, toDate('2024-01-01') + number % 300 AS d, toDateTime64('2024-01-01 00:00:00', 3, 'UTC') + number AS t,
['', 'a', 'some text', 'a text of more than twelve bytes'][number % 4 + 1] AS s, concat('word ', toString(cityHash64(number, 3) % 500)) AS w,
toLowCardinality(['red', 'green', ''][number % 3 + 1]) AS l, CAST(number % 2 + 1, 'Enum8(\\'x\\' = 1, \\'y\\' = 2)') AS e, number % 5 = 0 AS b, range(number % 3) AS a
FROM numbers({}, 6000)"""

SAFE = ["u8 > {small}", "u8 != 0", "{small} >= u8", "i16 < {number}", "{number} < i16", "u64 > 9000000000000000000", "n = {small}", "n IS NULL", "NOT n > {small}", "d > '2024-0{digit}-01'",
        "t < '2024-01-01 0{digit}:00:00'", "s = ''", "s != ''", "s != 'a'", "w LIKE '%{digit}%'", "w IN ('word 1', 'word {digit}')", "l = 'red'", "l != ''", "e = 'x'", "b",
        "i16 BETWEEN -{number} AND {number}", "u8 IN (1, 3, {small})", "(u8 = {small} OR s = 'a')", "NOT (b AND l = 'red')",
        "u8 IS NOT DISTINCT FROM n", "n IS DISTINCT FROM {small}"]
# True where u8 is not 0 and the text is not empty; elsewhere they fail, or would.
RISKY = ["intDiv(100, u8) > {small}", "100 % u8 < {small}", "intDiv(60, length(s)) < {number}"]
OTHER = ["length(s) > {digit}", "lower(w) != 'word 1'", "has(a, 1)", "startsWith(s, 'a')", "length(a) < 2", "toYear(d) = 2024", "abs(i16) > {number}"]
SHAPES = ["SELECT count(), sum(id), max(w) FROM {} WHERE {w}", "SELECT id, s, w FROM {} WHERE {w} ORDER BY id LIMIT 7", "SELECT id, l FROM {} WHERE {w} ORDER BY id DESC LIMIT 5",
          "SELECT w, id FROM {} WHERE {w} ORDER BY w, id LIMIT 6", "SELECT i16, id FROM {} WHERE {w} ORDER BY i16 DESC, id LIMIT 6", "SELECT l, e, count(), min(s) FROM {} WHERE {w} GROUP BY l, e ORDER BY l, e",
          "SELECT l, countIf({w}), sum(w LIKE '%1%' AND {w}) FROM {} GROUP BY l ORDER BY l", "SELECT id, {w} AS c, NOT ({w}) FROM {} ORDER BY c DESC, id LIMIT 9",
          "SELECT count() FROM {} AS x JOIN (SELECT id FROM {} WHERE u8 = 3) AS y ON x.id = y.id WHERE {w}"]


# What rows are ordered by: some are computed from others.
ORDERED = ["n * u8", "n", "u8", "i16", "i16 + u8", "-n", "id % 3", "w", "length(s)", "toYear(d)", "d", "u8 * 2", "l", "concat(l, s)", "s"]


@pytest.fixture(scope="module")
def table(server):
    server.run("CREATE DATABASE filters")
    settings = "SETTINGS index_granularity = 64, min_bytes_for_wide_part = 0"
    server.run(f"CREATE TABLE filters.t ENGINE = MergeTree ORDER BY id {settings} AS {ROWS.format(0)}")
    server.run(f"INSERT INTO filters.t {ROWS.format(6000)}")
    server.run("DELETE FROM filters.t WHERE id % 13 = 5 OR id BETWEEN 300 AND 500")
    yield server.directory("filters", "t")
    server.run("DROP DATABASE filters SYNC")


def drawn(chance):
    """Some conditions in any order, those that may fail after what keeps them from it."""
    some = chance.sample(SAFE, chance.randint(1, 3)) + chance.sample(OTHER, chance.randint(0, 1))
    chance.shuffle(some)
    risky = chance.choice(RISKY)
    if chance.random() < 0.4:
        some = ["u8 != 0", "s != ''", *some, risky, *chance.sample([*OTHER, "toUInt8(id) > {digit}", "match(w, '[0-9]$')", "id % u8 != 1"], chance.randint(0, 2))]
    elif chance.random() < 0.4:
        some.append(chance.choice([f"NOT (u8 != 0 AND s != '' AND {risky})", f"(u8 = 0 OR s = '' OR {risky})", f"(s = '' OR n IS NULL OR NOT (u8 != 0 AND n > 3 AND {risky}))",
                                   f"(n > 3 OR s = '' OR u8 = 0 OR {risky} OR {chance.choice(RISKY)})", f"(id = {{number}} AND u8 != 0 AND s != '' AND {risky} OR id = {{digit}} AND n > 2)"]))
    names = {"{small}": str(chance.randint(0, 10)), "{number}": str(chance.randint(1, 400)), "{digit}": str(chance.randint(1, 9))}
    text = " AND ".join(some)
    for name, value in names.items():
        text = text.replace(name, value)
    return text


def first_rows(chance):
    keys = [f"{it}{chance.choice(['', ' DESC', ' NULLS FIRST', ' DESC NULLS FIRST'])}" for it in chance.sample(ORDERED, chance.randint(1, 3))]
    keys.insert(chance.randint(1, len(keys)), "id")
    return f"SELECT id, l, w FROM {{}} WHERE {drawn(chance)} ORDER BY {', '.join(keys)} LIMIT {chance.randint(1, 12)}"


@pytest.mark.parametrize("seed", range(6))
def test_conditions_in_any_order(server, tambour, table, seed):
    chance = random.Random(seed)
    compare(server, tambour, table, [chance.choice(SHAPES).replace("{w}", drawn(chance)) for _ in range(40)])


def test_many_conditions_that_may_fail_and_granules_that_are_left(server, tambour, table):
    terms = " AND ".join(f"intDiv(u64, u8 + {at}) >= 0" for at in range(1, 40))
    statements = [f"SELECT count(n > 5 AND {terms}), sum(n > 5 OR NOT ({terms})) FROM {{}}", f"SELECT count() FROM {{}} WHERE n > 5 AND {terms}"]
    for statement in statements:
        expected = server.run(statement.replace("{}", "filters.t"))
        assert tambour.run("sql", f"t={table}", "--format", "TabSeparated", statement.replace("{}", "t")) == expected, statement
    few = "(id = 3 AND intDiv(10, u8 + 1) > 0) OR (id = 5 AND u8 != 0 AND intDiv(20, u8) > 0)"
    explained = tambour.run("sql", f"t={table}", f"EXPLAIN SELECT count() FROM t WHERE {few}")
    assert "1 of 188 granules" in explained, explained


@pytest.mark.parametrize("seed", range(4))
def test_first_rows_of_computed_orders(server, tambour, table, seed):
    chance = random.Random(seed + 100)
    compare(server, tambour, table, [first_rows(chance) for _ in range(40)])


def there(server, statement):
    """ClickHouse's answer; none where it moves a condition in front of the one that keeps it from dividing by zero."""
    try:
        return server.run(statement.replace("{}", "filters.t"))
    except RuntimeError as error:
        if "ILLEGAL_DIVISION" not in str(error):
            raise
        return None


def compare(server, tambour, table, statements):
    answered = [(it, answer) for it in statements if (answer := there(server, it)) is not None]
    statements, expected = [it for it, _ in answered], [answer for _, answer in answered]
    assert sum(bool(it) for it in expected) > 20
    asked = "SET aggregate_functions_null_for_empty = 0;\n" + ";\n".join(f"SELECT '-- {at}';\n" + it.replace("{}", "t") for at, it in enumerate(statements))
    for threads in (1, 3):
        ours = tambour.run("sql", f"t={table}", "--threads", threads, "--format", "TabSeparated", asked)
        found = dict(part.split("\n", 1) for part in ours.split("-- ")[1:])
        for at, (statement, answer) in enumerate(zip(statements, expected)):
            assert found[str(at)] == answer, statement


def test_a_damaged_text_counts_where_it_is_handed_out(server, tambour):
    server.run("CREATE DATABASE damaged")
    server.run("CREATE TABLE damaged.t ENGINE = MergeTree ORDER BY id SETTINGS index_granularity = 64 AS "
               "SELECT number AS id, number % 10 AS k, if(number = 777, unhex('c3'), 'fine') AS s FROM numbers(2000)")
    table = f"t={server.directory('damaged', 't')}"
    assert tambour.run("sql", table, "--format", "tsv", "--no-header", "SELECT s, count() FROM t WHERE k = 3 GROUP BY s").split() == ["fine", "200"]
    assert tambour.run("sql", table, "--format", "tsv", "--no-header", "SELECT max(s) FROM t WHERE k < 7 AND s != ''").split() == ["fine"]
    done = tambour.call("sql", table, "SELECT s FROM t WHERE k = 7 AND s != ''")
    assert done.returncode != 0
    assert b'part "all_1_1_0"' in done.stderr and b"column `s`, row 777: bytes are not UTF-8" in done.stderr, done.stderr
    server.run("DROP DATABASE damaged SYNC")
