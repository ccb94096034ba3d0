"""Texts that people write, by chance: dates in notations of letters, sizes, spans, addresses; and queries typed as ClickHouse takes them."""

import random

import pytest

MONTHS = ["1", "02", "12", "8", "Aug", "august", "SEP", "Dec", "xx", "13"]
TIMES = ["07:22:16", "7:22", "12:12:57", "23:59", "24:00", "7:2:1", "12:30:45.123", "1:05"]
ZONES = ["", "", "", " AM", " PM", "PM", " GMT", " UTC", "Z", " Z", " +03:00", "+0300", "-02:30", " MSK", ".5"]
UNITS = ["s", "sec", "minutes", "min", "h", "hr", "days", "w", "mo", "y", "ms", "us", "nanosecond", "X"]


def moment(chance):
    day, month, year = chance.choice(["1", "02", "18", "31", "12"]), chance.choice(MONTHS), chance.choice(["2018", "2020", "1999", "1970", "20"])
    between = chance.choice("/- ./")
    forms = [f"{day}{between}{month}{between}{year}"] * 2
    forms += [f"{year}{between}{month}{between}{day}", f"{month} {day}, {year}", f"{month} {day} {year}"]
    text = chance.choice(["", "", "", "Sat, ", "Sat ", "Saturday, ", "Foo "]) + chance.choice(forms)
    if chance.random() < 0.7:
        text += chance.choice(" T") + chance.choice(TIMES) + chance.choice(ZONES)
    return text


def size(chance):
    number = chance.choice(["", "-", "1", "12.5", "0", "1e3", "007", "5.", "1e", "9e18"])
    unit = chance.choice(["", "B", "KiB", "KB", "MiB", "MB", "GiB", "kb", "K", "PB", "EiB", "EB", "Bytes"])
    return chance.choice(["", " "]) + number + chance.choice(["", " ", "  "]) + unit + chance.choice(["", "", " ", "x"])


def span(chance):
    part = lambda: chance.choice(["1", "22", "1.5", "0", "-3", ".5"]) + chance.choice(["", " "]) + chance.choice(UNITS)
    return chance.choice([" ", ";", "-", "+", ",", ":", " ; ", ""]).join(part() for _ in range(chance.randrange(1, 4)))


def card(chance):
    return chance.choice([":", "-", ""]).join(chance.choice(["00", "1a", "FF", "zz", "a", "0B"]) for _ in range(chance.choice([6, 6, 6, 5, 3, 8])))


def word(chance):
    return "".join(chance.choice("abcABC dehwrtlmnpqrs0123-_.,éßİ") for _ in range(chance.randrange(14)))


CASES = [
    (moment, "parseDateTimeBestEffortOrNull(x)"), (moment, "parseDateTime64BestEffortUSOrNull(x, 3)"), (moment, "addDays(x, 1)"),
    (size, "parseReadableSizeOrNull(x)"), (span, "parseTimeDelta(x)"), (card, "MACStringToNum(x)"), (card, "MACStringToOUI(x)"),
    (word, "soundex(x)"), (word, "stringJaccardIndex(x, 'hello')"), (word, "stringJaccardIndexUTF8(x, 'helloß')"),
    (word, "editDistanceUTF8(x, 'helß')"), (word, "CAST(x AS Nullable(UInt8))"), (moment, "CAST(x AS Nullable(Date))"),
]


def answers(ask, texts, expression):
    """The answer to each text; None where there is an error."""
    literals = ["'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'" for text in texts]
    try:
        return ask(f"SELECT {expression} FROM (SELECT arrayJoin([{', '.join(literals)}]) AS x)").split("\n")[:-1]
    except Exception:
        if len(texts) == 1:
            return [None]
        middle = len(texts) // 2
        return answers(ask, texts[:middle], expression) + answers(ask, texts[middle:], expression)


@pytest.mark.parametrize("make, expression", CASES)
def test_texts_by_chance(server, tambour, make, expression):
    """What ClickHouse reads is read as the same, or refused; what it refuses has no value."""
    chance = random.Random(expression)
    texts = [make(chance) for _ in range(60)]
    ours = answers(lambda query: tambour.run("sql", "--format", "TabSeparated", query), texts, expression)
    theirs = answers(lambda query: server.session.query(query, "TabSeparated").bytes().decode(), texts, expression)
    assert len(ours) == len(theirs) == len(texts)
    assert [it for it in zip(texts, ours, theirs) if it[1] is not None and it[1] != it[2]] == []
    assert any(it is not None for it in ours), "some are read"


TYPED = [
    "SELECT 'Hello' ~* 'HELL.*', 'a' !~ 'b', 'a' ~ 'A', 'x' !~* 'X', matchCaseInsensitive('Ab', '^aB$'), NOT 'a' ~ 'b'",
    "SELECT * WHERE 1",
    "SELECT clamp(5, 1, 3), clamp(-1.5, 0, 9), clamp('b', 'c', 'd'), clamp(1, 2, nan), clamp(nan, 1, 2), clamp(5, NULL, 3), toTypeName(clamp(1::UInt8, -5::Int64, 300))",
    "SELECT clamp(number, 3, 7), clamp(if(number = 2, NULL, number), 0, 3) AS c, toTypeName(c) FROM numbers(5)",
    "SELECT rowNumberInAllBlocks(), number FROM numbers(3)",
    "SELECT toTypeName(now()), toTypeName(now64()), toTypeName(now64(9, 'Asia/Tokyo')), toTypeName(now('Asia/Tokyo')), abs(now() - CURRENT_TIMESTAMP) < 2",
    "SELECT toDateTime('2024-01-01 00:00:00') + INTERVAL 5 MILLISECOND, toDateTime('2024-01-01 00:00:00') - toIntervalNanosecond(5)",
    "SELECT addDate(toDate('2018-01-01'), INTERVAL 3 YEAR), date_add(millisecond, 3, toDateTime('1998-06-16 00:00:00'))",
    "SELECT tumble(toDateTime('2020-01-09 12:00:01'), INTERVAL 5 MINUTE), tumbleEnd(tumble(toDateTime('2020-01-09 12:00:01'), INTERVAL 1 DAY))",
    "SELECT tumble(if(number = 1, NULL, toDateTime('2020-01-01 00:00:01')), INTERVAL 1 DAY), tumble(NULL, INTERVAL 1 DAY) FROM numbers(2)",
    "SELECT hop(toDateTime('2020-01-09 12:00:01'), INTERVAL 1 MONTH, INTERVAL 3 MONTH), hopStart(toDateTime('2020-01-09 12:00:01'), INTERVAL '1' DAY, INTERVAL '3' DAY)",
    "SELECT toFixedString('AA', 2) LIKE '%A', toFixedString('AA', 2) ILIKE '%a', toFixedString('AA', 2) NOT LIKE 'A'",
    "SELECT CAST(['a', '1'] AS Array(Nullable(UInt8))), CAST('x', 'Nullable(UUID)'), CAST('x', 'Nullable(Decimal(9, 2))'), CAST('300', 'Nullable(UInt8)')",
    "SELECT transform(number, [2, 4, 6], ['a', 'b', 'c'], 'other') FROM numbers(7)",
    "SELECT x.b FROM (SELECT 1 AS a, 2 AS b) AS x SEMI LEFT JOIN (SELECT 1 AS a) AS y ON x.a = y.a",
    "SELECT k, n, va, m FROM (SELECT 1 AS k, [7, 8] AS va) AS q LEFT ARRAY JOIN va, arrayMap(x -> x + length(va), va) AS m, arrayEnumerate(va) AS n",
    "SELECT va, v FROM (SELECT [7, 8] AS va) ARRAY JOIN va AS v, arrayReverse(va) AS va",
    "SELECT toDateTime64(1546300800000, 3), toDateTime64(-1e15, 2, 'Asia/Tokyo'), toDateTime64(1e15, 2, 'America/New_York'), toDateTime64(-1.25, 1)",
    "SELECT toDateTime64('2024-01-01 00:00:00.123456', 6) AS t, toStartOfMillisecond(t), addMicroseconds(t, -7)",
    "SELECT * FROM (SELECT 1 AS a, 2 AS b, 3 AS c) AS x NATURAL JOIN (SELECT 3 AS c, 2 AS b, 5 AS d) AS y",
    "SELECT x.a, d FROM (SELECT 1 AS a, 2 AS b) AS x NATURAL LEFT JOIN (SELECT 2 AS b, 5 AS d) AS y",
    "SELECT * FROM (SELECT 1 AS a) AS x NATURAL JOIN (SELECT 3 AS c) AS y",
    "SELECT INTERVAL 3 HOUR, -INTERVAL 3 HOUR, INTERVAL 1 DAY + INTERVAL 2 DAY, INTERVAL 1 QUARTER, toIntervalWeek(2) AS w, INTERVAL '1 day'",
    "SELECT INTERVAL 1 DAY = INTERVAL 24 HOUR, INTERVAL 1 DAY < INTERVAL 25 HOUR, INTERVAL 1 YEAR = INTERVAL 12 MONTH, toIntervalDay(number) < toIntervalHour(30), toIntervalDay(1) = number FROM numbers(3)",
    "SELECT toDateTime('2020-01-01 00:00:00', 'UTC') + x FROM (SELECT INTERVAL 1 DAY AS x)",
    "SELECT 1 AS x # a comment's end\n, 2 AS y #! and another",
    "WITH c AS MATERIALIZED (SELECT 1 AS x) SELECT * FROM c",
    "SELECT number FROM numbers(5) QUALIFY number > 3",
    "SELECT number % 2 AS k, count() FROM numbers(5) GROUP BY k QUALIFY count() > 2",
    "SELECT toDateTime('2020-03-29 02:30:00', 'Europe/Berlin') AS t, t >= '2020-03-29 02:30:00', t = '2020-03-29 03:30:00', t IN ('2020-03-29 02:30:00')",
    "SELECT toDateTime64('2020-11-01 01:00:00.5', 3, 'America/New_York') AS t, t >= '2020-11-01 01:00:00', t < '2020-11-01 01:00:01'",
]


@pytest.mark.parametrize("query", TYPED)
def test_typed_queries(server, tambour, query):
    theirs = server.session.query(query, "TabSeparated").bytes().decode()
    assert tambour.run("sql", "--format", "TabSeparated", query) == theirs


def test_tables_with_an_alias_keep_their_name(server, tambour, tmp_path):
    queries = [
        "SELECT named.a, x.b FROM {} AS x WHERE named.a > 1 ORDER BY named.b DESC",
        "SELECT named.a, y.c FROM {} AS x JOIN (SELECT 2 AS a, 7 AS c) AS y ON named.a = y.a",
        "SELECT named.* FROM {} x WHERE named.a IN (SELECT named.a FROM {} WHERE named.b > 1)",
    ]
    # Elements that are called as a column hide it.
    queries += ["SELECT a, b FROM {} ARRAY JOIN [10, 20] AS b WHERE b > 10 ORDER BY a", "SELECT a, b FROM {} ARRAY JOIN range(a) AS b ORDER BY a, b"]
    (tmp_path / "rows.csv").write_text("a,b\n1,1\n2,2\n3,3\n")
    tambour.run("import", tmp_path / "rows.csv", "--into", tmp_path / "named")
    server.run("DROP TABLE IF EXISTS default.named SYNC")
    server.run("CREATE TABLE default.named (a Int64, b Int64) ENGINE = MergeTree ORDER BY ()")
    server.run("INSERT INTO default.named VALUES (1, 1), (2, 2), (3, 3)")
    for query in queries:
        theirs = server.run(query.replace("{}", "default.named"))
        ours = tambour.run("sql", f"named={tmp_path / 'named'}", "--format", "tsv", "--no-header", query.replace("{}", "named"))
        assert theirs and ours == theirs, query


def test_ends_that_are_no_range_are_refused(server, tambour):
    for query in ["SELECT clamp(5, 9, 3)", "SELECT clamp(number, 3, number) FROM numbers(5)"]:
        with pytest.raises(Exception, match="minimum"):
            server.run(query)
        with pytest.raises(Exception, match="minimum"):
            tambour.run("sql", query)


def test_all_columns_of_a_semi_join_are_refused(tambour):
    query = "SELECT * FROM (SELECT 1 AS a) AS x LEFT SEMI JOIN (SELECT 1 AS a) AS y ON x.a = y.a"
    with pytest.raises(Exception, match="name the columns"):
        tambour.run("sql", query)
