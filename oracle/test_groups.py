"""Aggregates of many groups: what each group holds is held together, within a limit of memory, and the answers are ClickHouse's."""

import pytest
from conftest import parts_of

ROWS = """SELECT number AS n, toUInt32(cityHash64(number) % 40000) AS k, number % 7 AS few, concat('text ', toString(cityHash64(number, 1) % 5000)) AS s,
toLowCardinality(concat('l', toString(cityHash64(number, 2) % 900))) AS l, if(number % 5 = 0, NULL, toString(number % 300)) AS ns,
toFloat64(cityHash64(number, 3) % 1000) / 8 AS f, toDateTime64('2024-01-01 00:00:00', 3, 'UTC') + number % 5000 AS t FROM numbers({}, 40000)"""

# Of each group, ordered by the key. Aggregates that may take any row are asked for what all rows of a group share.
AGGREGATES = [
    "uniqExact(s), count(), avg(n)", "uniqExact(s, few), uniqExact(l)", "uniqExact(s, ns)", "uniqExactIf(s, n > 50000), uniqExactIf(l, few = 3)", "uniqExact((l, few)), sum(few)",
    "uniqExact([few, n % 3]), max(s)", "uniqExact(f), uniqExact(t), min(f)", "uniqExact(ns), uniqExact(tuple(ns, few)), count()", "count(DISTINCT s, l), count(DISTINCT l)",
    "any(k), any(toString(k)), count()", "ifNull(anyIf(toString(k), few = 2), '') IN ('', toString(k)), any(toLowCardinality(toString(k)))", "any(k % 3 = 0), any(toDate(k)), any(toDecimal64(k, 2))",
    "argMin(s, n), argMax(l, n), argMin(l, (t, n))", "ifNull(argMaxIf(l, n, few > 2), ''), argMin(ns, n)", "quantileExact(0.9)(n), quantilesExact(0.1, 0.5)(few)",
    "quantileExact(0.5)(f), ifNull(quantileExactIf(0.5)(few, few > 3), 0)", "medianExact(toDecimal64(few, 1)), medianExact(toDate(n % 1000))", "quantileExact(toInt256(n) * 77 - 4000000), quantilesExact(0.2, 0.9)(toUInt256(n))",
    "groupArrayMovingSum(few), groupArrayMovingSum(3)(n)", "argMax((few, s), n), argMin((s, f), (t, n)), argMin([few], n)", "max((f, s)), min((t, few, l)), max([few, n % 11])",
    "max((ns, few)), min([ns])", "argMax((k, s), n), argMax([l], n), argMaxIf((k, l), n, n >= 0)", "arraySort(groupUniqArray(s)), arraySort(groupUniqArray(few))",
    "arraySort(groupUniqArrayIf(l, few < 3)), arraySort(groupUniqArray(ns)), length(groupUniqArray((s, few)))", "arraySort(groupUniqArray(f)), arraySort(groupUniqArray(toDate(t))), length(groupUniqArray([s]))",
    "sum(n * (1 - few)), sum(n * (1 - few) * (1 + few)), count()", "sum(length(s) * (1 - few)), max(length(s) * (1 - few) + n), min(s)",
]
KEYS = ["k", "few", "l", "s, few"]


@pytest.fixture(scope="module")
def tables(server):
    server.run("CREATE DATABASE groups")
    server.run(f"CREATE TABLE groups.t ENGINE = MergeTree ORDER BY n SETTINGS index_granularity = 1024 AS {ROWS.format(0)}")
    for part in (1, 2):
        server.run(f"INSERT INTO groups.t {ROWS.format(part * 40000)}")
    yield server.directory("groups", "t")
    server.run("DROP DATABASE groups SYNC")


@pytest.mark.parametrize("aggregates", AGGREGATES)
def test_groups_hold_what_clickhouse_counts(server, tambour, tables, aggregates):
    assert len(parts_of(tables)) >= 2
    for keys in KEYS:
        # A group has no row without its key: what is asked of `k` is known of no other key.
        if keys != "k" and "any" in aggregates:
            continue
        ordered = "n" in aggregates and "groupArray" in aggregates
        source = "(SELECT * FROM {} ORDER BY n)" if ordered else "{}"
        asked = f"SELECT {keys}, {aggregates} FROM {source} WHERE few != 5 AND k != 77 GROUP BY {keys} ORDER BY {keys}"
        expected = server.run(asked.format("groups.t") + " SETTINGS max_threads = 1")
        for threads in (1, 3):
            ours = tambour.run("sql", f"t={tables}", "--memory", "400MiB", "--threads", threads, "--format", "tsv", "--no-header", asked.format("t"))
            for row, (one, other) in enumerate(zip(ours.splitlines(), expected.splitlines(), strict=True)):
                assert one == other, f"row {row} of {asked}"
