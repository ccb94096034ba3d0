"""Columns that `*` hides, columns of a Nested, and tables in the syntax before 2018, as the server wrote them."""

import shutil

import pytest
from conftest import assert_same_rows, parts_of

HIDDEN = """
    k UInt32,
    s String DEFAULT concat('s', toString(k)),
    m UInt64 MATERIALIZED k * 2,
    md Date MATERIALIZED toDate('2020-01-01') + k,
    al Int64 ALIAS k - 5,
    alt ALIAS upper(s),
    `n.a` Array(UInt8),
    `n.b` Array(String)
"""
ROWS = """
    SELECT number, 'x' || toString(number % 4), range(number % 4), arrayMap(v -> 'b' || toString(v), range(number % 4))
    FROM numbers({}, 60)
"""
QUESTIONS = [
    "SELECT * FROM t ORDER BY k",
    "SELECT *, m, md, al, alt FROM t ORDER BY k",
    "SELECT al, alt FROM t ORDER BY k",
    "SELECT y.k, y.s, x.al FROM t AS y JOIN t AS x ON y.k = x.m ORDER BY y.k",
    "SELECT count(), sum(m), sum(al), uniqExact(alt) FROM t WHERE al > 3 AND m < 100",
    "SELECT alt, count(), max(md) FROM t GROUP BY alt ORDER BY alt",
    "SELECT m AS al, k FROM t ORDER BY al DESC LIMIT 3",
    "SELECT k FROM t WHERE alt IN ('X1', 'X2') ORDER BY al DESC",
    "SELECT count() FROM (SELECT * FROM t WHERE m % 4 = 0)",
    "SELECT toString(tuple(*)) AS whole FROM t ORDER BY k LIMIT 2",
    # Another table has columns of the names that are hidden in this one.
    "SELECT * FROM t JOIN (SELECT k, k + 1 AS m, 'z' AS md FROM t) AS o USING (k) ORDER BY k",
    "SELECT * FROM (SELECT * FROM t) AS i JOIN (SELECT k, 7 AS m FROM t) AS o ON i.k = o.k ORDER BY i.k",
    "SELECT t.*, o.m, t.m FROM t JOIN (SELECT k, k + 1 AS m FROM t) AS o ON t.k = o.k ORDER BY t.k",
    "WITH t AS (SELECT 1 AS k, 2 AS m) SELECT * FROM t",
    "SELECT k, n.a, n.b FROM t ORDER BY k",
    "SELECT k, n.a, n.b FROM t ARRAY JOIN n ORDER BY k, n.a",
    "SELECT k, n.a FROM t ARRAY JOIN n.a ORDER BY k, n.a",
    "SELECT k, n.a, n.b FROM t ARRAY JOIN n.a ORDER BY k, n.a",
    "SELECT k, e.a, e.b, n.a FROM t ARRAY JOIN n AS e ORDER BY k, e.a",
    "SELECT k, x, n.a FROM t LEFT ARRAY JOIN n.a AS x ORDER BY k, x",
    "SELECT n.b, count(), sum(al) FROM t ARRAY JOIN n WHERE n.a > 0 GROUP BY n.b ORDER BY n.b",
    "SELECT k, length(n.c), n.c FROM t ORDER BY k",
    "SELECT k, n.a, n.c FROM t ARRAY JOIN n ORDER BY k, n.a",
]


@pytest.fixture(scope="module")
def hidden(server):
    server.run("DROP TABLE IF EXISTS default.t SYNC")
    server.run(f"CREATE TABLE default.t ({HIDDEN}) ENGINE = MergeTree ORDER BY k")
    server.run(f"INSERT INTO default.t (k, s, n.a, n.b) {ROWS.format(0)}")
    # Parts from before a column of the Nested was there have as many of its defaults as its siblings have items.
    server.run("ALTER TABLE default.t ADD COLUMN `n.c` Array(Int16)")
    server.run(f"INSERT INTO default.t (k, s, n.a, n.b) {ROWS.format(60)}")
    yield server.directory("default", "t")
    server.run("DROP TABLE default.t SYNC")


@pytest.mark.parametrize("query", QUESTIONS)
def test_hidden_and_nested_columns(server, tambour, hidden, query):
    theirs = server.session.query(query, "TSVWithNames").bytes().decode()
    ours = tambour.run("sql", f"t={hidden}", "--format", "TSVWithNames", query)
    assert theirs.count("\n") > 1
    assert ours == theirs


OLD = {
    "MergeTree": ("MergeTree(d, k, {})", ""),
    "sampled": ("MergeTree(d, intHash32(k), (k, intHash32(k)), {})", ""),
    "Replacing": ("ReplacingMergeTree(d, k, {}, v)", "FINAL"),
    "Summing": ("SummingMergeTree(d, k, {})", "FINAL"),
    "Collapsing": ("CollapsingMergeTree(d, k, {}, sign)", "FINAL"),
    "Aggregating": ("AggregatingMergeTree(d, k, {})", "FINAL"),
}


@pytest.mark.parametrize("engine", OLD)
@pytest.mark.parametrize("granularity", [3, 8192])
def test_tables_of_the_syntax_before_2018(server, tambour, database, engine, granularity, tmp_path):
    text, final = OLD[engine]
    server.run("SET allow_deprecated_syntax_for_merge_tree = 1")
    server.run(f"CREATE TABLE {database}.t (d Date, k UInt32, v UInt64, sign Int8) ENGINE = {text.format(granularity)}")
    server.run(f"SYSTEM STOP MERGES {database}.t")
    for start in (0, 1, 20):
        server.run(f"INSERT INTO {database}.t SELECT toDate('2014-01-15') + number % 70, {start} + number % 40, number, "
                   f"{'1' if start else '-1'} FROM numbers(100)")
    directory = server.directory(database, "t")

    def compare(*clauses):
        for clause in clauses:
            query = "SELECT * FROM {} " + clause
            ours = tambour.rows(directory, query.format(f'"{directory.name}"'))
            assert_same_rows(ours, server.rows(query.format(f"{database}.t")), ["d", "k", "v", "sign"])

    tambour.run("verify", directory)
    compare("", "WHERE d >= '2014-02-01' AND d < '2014-03-01'", "WHERE k BETWEEN 7 AND 9", "WHERE toYYYYMM(d) = 201403")
    if final:
        compare("FINAL", "FINAL WHERE k < 10")
    if engine == "sampled":
        compare("SAMPLE 1/3")
    server.run(f"SYSTEM START MERGES {database}.t")
    server.run(f"OPTIMIZE TABLE {database}.t FINAL")
    server.run(f"ALTER TABLE {database}.t UPDATE {'sign = sign + 1' if engine == 'Replacing' else 'v = v + 1'} WHERE k % 2 = 0 SETTINGS mutations_sync = 2")
    compare("", "WHERE k = 8")
    tambour.run("verify", directory)
    # Writing such parts is refused; the copy stays what it is.
    copy = tmp_path / "copy"
    shutil.copytree(directory, copy)
    names = [part.name for part in parts_of(copy)]
    for call in (["sql", "--write", copy, 'DELETE FROM "copy" WHERE k = 8'], ["optimize", copy], ["attach-script", copy]):
        done = tambour.call(*call)
        assert done.returncode != 0, call
        assert b"2018" in done.stderr or b"old" in done.stderr, done.stderr
    assert [part.name for part in parts_of(copy)] == names
