"""Layouts that import chooses: strings with sizes, sorted dictionaries, smaller types. ClickHouse creates the table, attaches, checks, reads and merges."""

import json

import pytest
from conftest import parts_of

ROWS = 200_000
SELECT = f"""SELECT number AS id, cityHash64(number) % 250 AS small, toFloat64(cityHash64(number, 1) % 5000) - 2500 AS whole,
    cityHash64(number, 2) % 100 / 8 AS eighths, toDate('1992-01-01') + cityHash64(number, 3) % 40 AS day,
    toDateTime('2024-01-01 00:00:00', 'UTC') + 60 * (cityHash64(number, 4) % 70) AS minute,
    toDateTime64(toDateTime('2001-01-01 00:00:00', 'UTC') + cityHash64(number, 8) % 900000000, 3, 'UTC') AS second,
    if(number % 5 = 0, NULL, toDateTime64(toDateTime('2001-01-01 00:00:00', 'UTC') + cityHash64(number, 9) % 900000000, 6, 'UTC')) AS seconds,
    addMilliseconds(toDateTime64('2024-01-01 00:00:00', 3, 'UTC'), cityHash64(number, 10) % 900000000) AS finer,
    arrayElement(['DELIVER IN PERSON', 'COLLECT COD', 'NONE', 'TAKE BACK RETURN'], cityHash64(number, 5) % 4 + 1) AS few,
    arrayStringConcat(arrayMap(x -> arrayElement(['carefully', 'packages', 'sleep', 'quickly', 'final', 'even', 'accounts', 'haggle', 'furiously'],
        cityHash64(number, x) % 9 + 1), range(cityHash64(number, 6) % 9)), ' ') AS comment,
    if(number % 7 = 0, NULL, concat('maybe ', toString(cityHash64(number, 7) % 3000))) AS maybe
    FROM numbers({ROWS}) ORDER BY cityHash64(number)"""
NAMES = ["id", "small", "whole", "eighths", "day", "minute", "second", "seconds", "finer", "few", "comment", "maybe"]
# Of the same value a DateTime prints less than a DateTime64.
TEXTS = {name: f"replaceRegexpOne(toString({name}), '[.]0+$', '')" for name in ("minute", "second", "seconds")}


def imported(server, tambour, path, *flags):
    source = path / "rows.parquet"
    source.write_bytes(server.session.query(SELECT, "Parquet").bytes())
    types = [] if "--keep-types" in flags else ["--types", "smallest"]
    answer = tambour.run("import", source, "--into", path / "t", "--order-by", "id", "--json", *types, *flags)
    return source, json.loads(answer)


def sums(server, table, cast=""):
    """A hash of each column's texts: types differ, values do not."""
    columns = ", ".join(f"sum(cityHash64(id, ifNull({TEXTS.get(name, f'toString({name})')}, 'NULL')))" for name in NAMES)
    return server.run(f"SELECT count(), {columns} FROM {table}{cast}")


@pytest.mark.parametrize("flags", [[], ["--codec", "auto(size)"], ["--codec", "auto(size,'since=24.8')"], ["--keep-types"], ["--dialect", "old"]],
                         ids=["balance", "size", "since", "keep", "old"])
def test_clickhouse_takes_what_was_chosen(server, tambour, database, tmp_path, flags):
    source, answer = imported(server, tambour, tmp_path, *flags)
    tambour.run("verify", tmp_path / "t")
    sized = [part for part in parts_of(tmp_path / "t") if (part / "serialization.json").exists()]
    if flags in ([], ["--codec", "auto(size)"]):
        types = {column["name"]: column["type"] for column in answer["columns"]}
        assert "UInt8" in types["small"] and types["whole"] in ("Int16", "Int32") and types["few"] == "LowCardinality(String)"
        assert "DateTime('UTC')" in types["minute"], "written to Parquet as milliseconds"
        assert types["second"] == "DateTime('UTC')" and types["seconds"] == "Nullable(DateTime('UTC'))"
        assert types["finer"] == "DateTime64(3, 'UTC')"
    if flags == ["--keep-types"]:
        types = {column["name"]: column["type"] for column in answer["columns"]}
        assert types["second"] == "DateTime64(3, 'UTC')" and types["seconds"] == "Nullable(DateTime64(6, 'UTC'))"
    if flags == ["--codec", "auto(size)"]:
        assert sized and all((part / "comment.size.bin").exists() for part in sized)
    if "since" in str(flags) or "old" in flags:
        assert not sized
    # As on a server where nobody has set anything.
    server.run("SET allow_suspicious_low_cardinality_types = 0")
    try:
        server.run(answer["create"].replace("CREATE TABLE t", f"CREATE TABLE {database}.t", 1))
    finally:
        server.run("SET allow_suspicious_low_cardinality_types = 1")
    server.attach(database, "t", parts_of(tmp_path / "t"))
    assert server.check(database, "t")
    expected = sums(server, f"file('{source}', Parquet)")
    assert sums(server, f"{database}.t") == expected
    # Its own rows have its own layout, and are merged with ours.
    server.run(f"INSERT INTO {database}.t SELECT * FROM {database}.t WHERE id % 3 = 0")
    twice = sums(server, f"(SELECT * FROM {database}.t)")
    server.run(f"OPTIMIZE TABLE {database}.t FINAL")
    assert sums(server, f"{database}.t") == twice
    assert server.check(database, "t")


def test_keys_of_chosen_types(server, tambour, database, tmp_path):
    """A wrong primary.idx passes CHECK TABLE and loses rows: ask for ranges."""
    source = tmp_path / "rows.parquet"
    source.write_bytes(server.session.query(SELECT, "Parquet").bytes())
    answer = json.loads(tambour.run("import", source, "--into", tmp_path / "t", "--order-by", "(small, day, few, id)", "--json", "--codec", "auto(size)"))
    server.run(answer["create"].replace("CREATE TABLE t", f"CREATE TABLE {database}.t", 1))
    server.attach(database, "t", parts_of(tmp_path / "t"))
    assert server.check(database, "t")
    for condition in ["small = 7", "small > 240 AND day < '1992-01-09'", "small = 3 AND day = '1992-02-01' AND few = 'NONE'", "day = '1992-01-30'", "small IN (1, 249)"]:
        sql = f"SELECT count(), sum(id), min(id), max(id) FROM {{}} WHERE {condition}"
        expected = server.rows(sql.format(f"{database}.t") + " SETTINGS use_primary_key = 0")
        assert server.rows(sql.format(f"{database}.t")) == expected
        assert tambour.rows(tmp_path / "t", sql.format("t")) == expected


def test_what_is_merged_is_laid_out_anew(server, tambour, database, tmp_path):
    source, answer = imported(server, tambour, tmp_path, "--codec", "auto(size)", "--rows-per-part", "50000")
    tambour.run("optimize", tmp_path / "t")
    tambour.run("verify", tmp_path / "t")
    parts = parts_of(tmp_path / "t")
    assert len(parts) == 1 and (parts[0] / "serialization.json").exists()
    server.run(answer["create"].replace("CREATE TABLE t", f"CREATE TABLE {database}.t", 1))
    server.attach(database, "t", parts)
    assert server.check(database, "t")
    assert sums(server, f"{database}.t") == sums(server, f"file('{source}', Parquet)")


def test_exports_give_the_values_back(server, tambour, tmp_path):
    source, _ = imported(server, tambour, tmp_path)
    tambour.run("export", tmp_path / "t", tmp_path / "back.csv")
    structure = ("id UInt64, small UInt64, whole Float64, eighths Float64, day Date, minute DateTime(\\'UTC\\'), "
                 "second DateTime64(3, \\'UTC\\'), seconds Nullable(DateTime64(6, \\'UTC\\')), finer DateTime64(3, \\'UTC\\'), few String, comment String, "
                 "maybe Nullable(String)")
    back = f"file('{tmp_path}/back.csv', CSVWithNames, '{structure}')"
    typed = f"file('{source}', Parquet, '{structure}')"
    assert sums(server, back) == sums(server, typed)


def test_a_script_without_settings_attaches(server, tambour, database, tmp_path):
    imported(server, tambour, tmp_path, "--codec", "auto(size)")
    script = tambour.run("attach-script", tmp_path / "t", "--sql", "--database", database)
    server.run("SET allow_suspicious_low_cardinality_types = 0")
    try:
        server.run(script.split(";\n", 1)[0])
    finally:
        server.run("SET allow_suspicious_low_cardinality_types = 1")
    server.attach(database, "t", parts_of(tmp_path / "t"))
    assert server.run(f"SELECT count() FROM {database}.t").strip() == str(ROWS)
