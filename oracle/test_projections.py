"""Projections of ClickHouse's parts: queries read the rows in the order that leaves the fewest granules, and answer as ClickHouse does."""

import random
import shutil

import pytest
from conftest import parts_of
from test_indexes import COLUMNS, condition

READ = "rows of the projection"
# Types that a key may have, and whose order ours and ClickHouse's share.
KEYS = [name for name in sorted(COLUMNS) if not name.startswith(("a", "f")) and name not in ("ns", "ni", "ln")]


def made(server, database, chosen, number):
    """A table with some projections, in several parts: of some of its columns, of all, with a key that is calculated. The columns."""
    table = f"{database}.t{number}"
    names = chosen.sample(KEYS, 5)
    columns = [f"`{name}` {COLUMNS[name][0]}" for name in names]
    some = ", ".join(f"`{name}`" for name in names[:3])
    projections = [
        f"p0 (SELECT {some}, n ORDER BY `{names[0]}`)",
        f"p1 (SELECT * ORDER BY `{names[1]}`, n)",
        f"p2 (SELECT {some} ORDER BY ({some}))",
        f"p3 (SELECT `{names[3]}`, count() GROUP BY `{names[3]}`)",
        f"p4 (SELECT n, intDiv(n, 7) AS `{names[4]}` ORDER BY n)",
    ]
    later = projections.pop(chosen.randrange(3))
    settings = f"index_granularity = {chosen.choice([64, 100])}"
    settings += ", lightweight_mutation_projection_mode = 'rebuild'"
    settings += chosen.choice(["", ", min_bytes_for_wide_part = 0, min_rows_for_wide_part = 0"])
    listed = ", ".join(columns + [f"PROJECTION {it}" for it in projections])
    partition = chosen.choice(["", "PARTITION BY intDiv(n, 2000)"])
    server.run(f"CREATE TABLE {table} (n UInt64, {listed}) ENGINE = MergeTree {partition} ORDER BY n SETTINGS {settings}")

    def insert(first, count):
        values = ", ".join(COLUMNS[name][1 if chosen.random() < 0.3 else 2] for name in names)
        listed = ", ".join(f"`{name}`" for name in names)
        server.run(f"INSERT INTO {table} (n, {listed}) SELECT n, {values} FROM (SELECT number + {first} AS n FROM numbers({count}))")

    insert(0, 1700)
    if chosen.random() < 0.5:
        server.run(f"ALTER TABLE {table} ADD PROJECTION {later}")
        if chosen.random() < 0.5:
            server.run(f"ALTER TABLE {table} MATERIALIZE PROJECTION {later.split()[0]} SETTINGS mutations_sync = 2")
    insert(1700, 1300)
    if chosen.random() < 0.3:
        server.run(f"ALTER TABLE {table} ADD COLUMN added UInt8 DEFAULT 7")
    insert(3000, 60)
    if chosen.random() < 0.2:
        server.run(f"DELETE FROM {table} WHERE n % 9 = 4 SETTINGS mutations_sync = 2")
    return table, names


@pytest.mark.parametrize("seed", range(4))
def test_random_filters_answer_as_in_clickhouse(server, tambour, database, seed):
    chosen = random.Random(seed)
    read = 0
    for number in range(3):
        table, names = made(server, database, chosen, number)
        directory = server.directory(*table.split("."))
        statements = []
        for _ in range(25):
            asked = ", ".join(f"`{name}`" for name in chosen.sample(["n", *names], chosen.randint(1, 3)))
            more = chosen.choice(["", f" AND n > {chosen.randrange(3000)}", f" AND {condition(chosen, names)}"])
            where = condition(chosen, names[:2]) + more
            plain, grouped = f"SELECT {asked} FROM {{}} WHERE {where} ORDER BY ALL", f"SELECT count(), ifNull(min(n), 0), ifNull(max(n), 0), ifNull(sum(n), 0), uniqExact({asked}) FROM {{}} WHERE {where}"
            statements.append(chosen.choice([plain, plain, grouped]))
        for is_on in (True, False):
            script = f"SET tambour.scan_projections = {is_on}; " + "; ".join(it.format("t") + " FORMAT TSV; SELECT '--'" for it in statements)
            ours = tambour.run("sql", f"t={directory}", "--format", "tsv", "--no-header", "-c", script).split("--\n")
            for statement, answer in zip(statements, ours, strict=False):
                # Its own projections show rows that are deleted (26.9).
                assert answer == server.run(statement.format(table) + " SETTINGS optimize_use_projections = 0"), statement
        script = "; ".join("EXPLAIN " + it.format("t") for it in statements)
        read += tambour.run("sql", f"t={directory}", "-c", script).count(READ)
    assert read > 10


@pytest.fixture
def projected(server, database):
    """Two parts of 50 granules whose projection is sorted by `v`: a value of it is in one granule of each."""
    server.run(f"""CREATE TABLE {database}.t (k UInt64, v UInt32, s String, PROJECTION p (SELECT k, v, s ORDER BY v))
        ENGINE = MergeTree ORDER BY k SETTINGS index_granularity = 100, min_bytes_for_wide_part = 0""")
    for part in range(2):
        server.run(f"INSERT INTO {database}.t SELECT number + {part * 5000} AS k, cityHash64(k) % 1000 AS v, toString(v) FROM numbers(5000)")
    return server.directory(database, "t")


WANTED = "SELECT k, s FROM {} WHERE v = 321 ORDER BY k"


def ask(tambour, directory):
    """The answer, and whether the projection was read."""
    answer = tambour.run("sql", f"t={directory}", "--format", "tsv", "--no-header", WANTED.format("t"))
    return answer, READ in tambour.run("sql", f"t={directory}", "EXPLAIN " + WANTED.format("t"))


def test_granules_are_left_out(server, tambour, database, projected):
    answer, is_read = ask(tambour, projected)
    assert answer == server.run(WANTED.format(f"{database}.t")) and is_read
    assert "2 of 2 parts, 2 of 100 granules" in tambour.run("sql", f"t={projected}", "EXPLAIN " + WANTED.format("t"))
    # A filter on the table's own key has one granule to read, and one without the projection's key has them all.
    assert READ not in tambour.run("sql", f"t={projected}", "EXPLAIN SELECT s FROM t WHERE k = 3 AND v > 0")
    assert READ not in tambour.run("sql", f"t={projected}", "EXPLAIN SELECT s FROM t WHERE s = '3'")


@pytest.mark.parametrize("harm", ["lost", "lost column", "lost index", "short index", "rows in another order", "another column"])
def test_projections_that_are_not_sound_are_passed_by(server, tambour, database, projected, tmp_path, harm):
    expected = server.run(WANTED.format(f"{database}.t"))
    copy = tmp_path / "t"
    shutil.copytree(projected, copy)
    (copy / "t.sql").write_text(server.run(f"SHOW CREATE TABLE {database}.t FORMAT TSVRaw"))
    assert ask(tambour, copy) == (expected, True)
    projection = parts_of(copy)[0] / "p.proj"
    if harm == "lost":
        shutil.rmtree(projection)
    elif harm == "lost column":
        (projection / "columns.txt").unlink()
    elif harm == "lost index":
        next(projection.glob("primary.*idx")).unlink()
    elif harm == "short index":
        index = next(projection.glob("primary.*idx"))
        index.write_bytes(index.read_bytes()[:20])
    else:
        statement = (copy / "t.sql").read_text()
        flat = " ".join(statement.split())
        assert "ORDER BY v )" in flat and "k, v, s ORDER" in flat
        other = ("ORDER BY v )", "ORDER BY intDiv(v, 2) )") if harm == "rows in another order" else ("k, v, s ORDER", "k, v, v + 1 AS s ORDER")
        (copy / "t.sql").write_text(flat.replace(*other))
    assert ask(tambour, copy) == (expected, False)


def test_rows_that_are_deleted_stay_deleted(server, tambour, database, projected, tmp_path):
    copy = tmp_path / "t"
    shutil.copytree(projected, copy)
    (copy / "t.sql").write_text(server.run(f"SHOW CREATE TABLE {database}.t FORMAT TSVRaw"))
    before = ask(tambour, copy)[0].splitlines()
    tambour.run("sql", copy, "--write", f"DELETE FROM t WHERE k = {before[0].split()[0]}")
    after, _ = ask(tambour, copy)
    assert after.splitlines() == before[1:]


def test_damage_is_found(server, tambour, database, projected, tmp_path):
    server.run(f"CREATE TABLE {database}.u (k UInt64, s String, PROJECTION g (SELECT s, count(), sum(k) GROUP BY s), PROJECTION p (SELECT * ORDER BY s)) ENGINE = MergeTree ORDER BY k")
    server.run(f"INSERT INTO {database}.u SELECT number, toString(number % 7) FROM numbers(1000)")
    for directory in (projected, server.directory(database, "u")):
        copy = tmp_path / directory.name
        shutil.copytree(directory, copy)
        tambour.run("verify", copy)
        # Nothing says what is in these two notes, and no query reads them; nor does any read the states of aggregates, whose types are nowhere else.
        notes = ("checksums.txt", "default_compression_codec.txt", "metadata_version.txt")
        files = sorted(path for path in parts_of(copy)[0].glob("*.proj/*") if path.name not in notes and path.parts[-2:] != ("g.proj", "columns.txt"))
        assert len(files) > 5
        for file in files:
            content = bytearray(file.read_bytes())
            content[len(content) // 2] ^= 1
            file.write_bytes(content)
            done = tambour.call("verify", copy)
            assert done.returncode == 3 and file.parent.name.encode() in done.stdout + done.stderr, file
            content[len(content) // 2] ^= 1
            file.write_bytes(content)
        # A projection of another part is sound, and not the one that the part lists.
        both = parts_of(copy)
        if len(both) > 1:
            shutil.rmtree(both[0] / "p.proj")
            shutil.copytree(both[1] / "p.proj", both[0] / "p.proj")
            assert tambour.call("verify", copy).returncode == 3


def test_a_mutation_may_leave_other_values_in_a_projection_of_all_columns(server, tambour, database):
    server.run(f"CREATE TABLE {database}.t (k UInt64, v UInt32, s String, PROJECTION p (SELECT * ORDER BY v)) ENGINE = MergeTree ORDER BY k SETTINGS index_granularity = 100")
    server.run(f"INSERT INTO {database}.t SELECT number AS k, cityHash64(k) % 1000 AS v, toString(v) FROM numbers(5000)")
    assert ask(tambour, server.directory(database, "t"))[1]
    server.run(f"ALTER TABLE {database}.t DROP COLUMN s SETTINGS mutations_sync = 2")
    server.run(f"ALTER TABLE {database}.t ADD COLUMN s String DEFAULT 'x'")
    for statement in ("SELECT 1", f"ALTER TABLE {database}.t MATERIALIZE COLUMN s SETTINGS mutations_sync = 2"):
        server.run(statement)
        expected = server.run(WANTED.format(f"{database}.t") + " SETTINGS optimize_use_projections = 0")
        assert ask(tambour, server.directory(database, "t")) == (expected, False)
