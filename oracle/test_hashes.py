"""Hash functions give ClickHouse's results: every type, every length of string, several arguments, keys."""

import pytest
import zoo
from conftest import parts_of

FUNCTIONS = ["cityHash64", "sipHash64", "xxHash32", "xxHash64", "xxh3"]

# NULL inside of arrays, tuples and maps is refused; that is tested beside the functions.
NULLS_INSIDE = ("a_n", "t_named", "a_t", "m_lc")
COLUMNS = [column for column in zoo.ZOO if column[0] not in NULLS_INSIDE and column[0].isidentifier()]

LENGTHS = 301


@pytest.fixture(scope="module")
def table(server):
    server.run("DROP DATABASE IF EXISTS hashes SYNC")
    server.run("CREATE DATABASE hashes")
    server.run(zoo.create("hashes.t", COLUMNS, "ORDER BY k"))
    server.run(f"INSERT INTO hashes.t {zoo.select(COLUMNS, 500)}")
    yield server.directory("hashes", "t")
    server.run("DROP DATABASE hashes SYNC")


@pytest.fixture(scope="module")
def strings(server):
    """Strings of every length from 0 to 300."""
    server.run("DROP DATABASE IF EXISTS hashed_strings SYNC")
    server.run("CREATE DATABASE hashed_strings")
    server.run("CREATE TABLE hashed_strings.t (k UInt64, s String, n UInt32) ENGINE = MergeTree ORDER BY k")
    noise = "arrayStringConcat(arrayMap(x -> hex(cityHash64(number, x)), range(20)))"
    server.run(f"INSERT INTO hashed_strings.t SELECT number, substring({noise}, 1, number), number * 7 FROM numbers({LENGTHS})")
    yield server.directory("hashed_strings", "t")
    server.run("DROP DATABASE hashed_strings SYNC")


def same(server, tambour, database, directory, what):
    sql = f"SELECT k, {what} FROM {{}} ORDER BY k"
    expected = server.rows(sql.format(f"{database}.t"))
    assert len(expected) > 300
    assert tambour.rows(directory, sql.format(f'"{directory.name}"')) == expected


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("column", [name for name, _, _ in COLUMNS])
def test_every_type(server, tambour, table, function, column):
    same(server, tambour, "hashes", table, f"{function}({column})")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_length(server, tambour, strings, function):
    assert server.rows("SELECT max(length(s)) FROM hashed_strings.t") == [str(LENGTHS - 1)]
    same(server, tambour, "hashed_strings", strings, f"{function}(s)")


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("arguments", ["s, n", "n, s, k", "s, s, s, s", "toUInt8(n % 3), tuple(s, k)", "s, [n, n + 1], NULL", "'a constant'"])
def test_several_arguments(server, tambour, strings, function, arguments):
    same(server, tambour, "hashed_strings", strings, f"{function}({arguments})")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_filter_and_partition(server, tambour, strings, function):
    """What a query asks of hashes: a sample, and the sizes of partitions."""
    for sql in (f"SELECT count(), sum(n) FROM {{}} WHERE {function}(s) % 4 = 1",
                f"SELECT {function}(k) % 8 AS shard, count() FROM {{}} GROUP BY shard ORDER BY shard"):
        expected = server.rows(sql.format("hashed_strings.t"))
        assert tambour.rows(strings, sql.format(f'"{strings.name}"')) == expected


@pytest.mark.parametrize("function", FUNCTIONS)
def test_partition_key(server, tambour, database, tmp_path, function):
    """Rows go into the partitions into which ClickHouse puts them, which then takes the parts as its own."""
    create = f"CREATE TABLE {{}} (k UInt64, s String) ENGINE = MergeTree PARTITION BY {function}(s) % 5 ORDER BY k"
    rows = server.session.query("SELECT number AS k, toString(number * 31) AS s FROM numbers(1000)", "Parquet").bytes()
    (tmp_path / "rows.parquet").write_bytes(rows)
    tambour.run("import", tmp_path / "rows.parquet", "--into", tmp_path / "t", "--create", create.format("t"))
    server.run(create.format(f"{database}.t"))
    server.attach(database, "t", parts_of(tmp_path / "t"))
    assert server.check(database, "t")
    assert server.rows(f"SELECT count() FROM {database}.t WHERE toString({function}(s) % 5) != _partition_id") == ["0"]
    assert server.rows(f"SELECT count(), uniqExact(_partition_id) FROM {database}.t") == ["1000\t5"]
