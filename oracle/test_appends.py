"""Rows that are appended and widen what is inside of arrays, maps and tuples: ClickHouse reads the parts from before as we do, and merges them; integers
of 128 and 256 bits from its own files."""

import json
import random

import pyarrow
import pyarrow.ipc
import pyarrow.parquet
import pytest
from conftest import assert_same_rows, parts_of

SEEDS = 8
ROWS = 60
KEYS = ["x", "y", "z"]


def shape(chance, depth, around=""):
    """How the values at a place look: a kind, what is inside, and how many of a hundred are NULL. Of few maps in maps nobody can tell that they are some."""
    kind = chance.choice(["int", "float", "text", "day", "list", "object", *["map"] * (around != "map")] if depth else ["int", "float", "text", "day"])
    if kind == "object":
        inside = {key: shape(chance, depth - 1) for key in KEYS[:chance.randrange(1, 3)]}
    else:
        inside = shape(chance, depth - 1, kind) if kind in ("list", "map") else None
    return [kind, inside, 0]


def later(chance, before, depth):
    """The same place in rows that come later: with NULLs, fractions and more keys."""
    kind, inside, _ = before
    if kind == "int" and chance.randrange(3) == 0:
        kind = "float"
    if kind in ("list", "map"):
        inside = later(chance, inside, depth - 1)
    if kind == "object":
        inside = {key: later(chance, value, depth - 1) for key, value in inside.items()}
        if chance.randrange(2):
            inside = {"z": shape(chance, depth - 1)} | inside
    return [kind, inside, chance.choice([0, 0, 20])]


def value(chance, place):
    kind, inside, nulls = place
    if chance.randrange(100) < nulls:
        return None
    match kind:
        case "int":
            return chance.randrange(1000)
        case "float":
            return chance.randrange(1000) / 8 + 1 / 16
        case "text":
            return f"t{chance.randrange(20)}"
        case "day":
            return f"2024-01-{chance.randrange(1, 29):02}"
        case "list":
            return [value(chance, inside) for _ in range(chance.randrange(3))]
        case "map":
            return {f"m{chance.randrange(20)}": value(chance, inside) for _ in range(2)}
    return {key: value(chance, place) for key, place in inside.items() if not nulls or chance.randrange(4)}


@pytest.mark.parametrize("seed", range(SEEDS))
def test_clickhouse_reads_and_merges_what_was_widened(tambour, server, database, tmp_path, seed):
    chance = random.Random(seed)
    first = {name: shape(chance, 2) for name in "abc"}
    second = {name: later(chance, place, 2) for name, place in first.items()}
    files = [tmp_path / "1.jsonl", tmp_path / "2.jsonl"]
    for number, (file, places) in enumerate(zip(files, (first, second))):
        rows = [{"id": number * ROWS + row} | {name: value(chance, place) for name, place in places.items()} for row in range(ROWS)]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    table, once = tmp_path / "t", tmp_path / "once"
    tambour.run("import", files[0], "--into", table, "--order-by", "id")
    tambour.run("import", files[1], "--into", table, "--append")
    tambour.run("import", *files, "--into", once, "--order-by", "id")
    query, names = "SELECT id, a, b, c FROM {} ORDER BY id", ["id", "a", "b", "c"]
    ours = tambour.rows(table, query.format("t"))
    assert_same_rows(ours, tambour.rows(once, query.format("once")), names)
    statement = tambour.run("sql", table, "SHOW CREATE TABLE t FORMAT TSVRaw").replace("CREATE TABLE t", f"CREATE TABLE {database}.t")
    server.run(statement)
    server.attach(database, "t", parts_of(table))
    assert_same_rows(ours, server.rows(query.format(f"{database}.t")), names)
    server.run(f"OPTIMIZE TABLE {database}.t FINAL")
    assert_same_rows(ours, server.rows(query.format(f"{database}.t")), names)
    tambour.run("optimize", table)
    assert_same_rows(tambour.rows(table, query.format("t")), ours, names)
    tambour.run("verify", table)


@pytest.mark.parametrize("name", ["Parquet", "Arrow"])
def test_wide_integers_of_clickhouses_files(tambour, server, tmp_path, name):
    large = {"a": "Int128", "b": "UInt128", "c": "Int256", "d": "UInt256", "n": "Nullable(Int128)", "l": "Array(Nullable(UInt128))", "t": "Tuple(x Int128)"}
    values = ("toInt128('-170141183460469231731687303715884105728') + number", "toUInt128(toUInt128('340282366920938463463374607431768211455') - number)",
              "toInt256('-57896044618658097711785492504343953926634992332820282019728792003956564819968') + number", "toUInt256(number) * toUInt256('1000000000000000000000')",
              "if(number % 3 = 1, NULL, toInt128(number) - 2)", "[toUInt128(number), NULL]", "CAST(tuple(toInt128(-number)) AS Tuple(x Int128))")
    file, table = tmp_path / f"w.{name.lower()}", tmp_path / "w"
    selected = ", ".join(f"{value} AS {column}" for column, value in zip(large, values))
    server.run(f"INSERT INTO FUNCTION file('{file}', '{name}') SELECT {selected} FROM numbers(10)")
    columns = ", ".join(f"{column} {kind}" for column, kind in large.items())
    tambour.run("import", file, "--into", table, "--create", f"CREATE TABLE w ({columns}) ENGINE = MergeTree ORDER BY tuple()")
    expected = server.rows(f"SELECT {selected} FROM numbers(10)")
    assert_same_rows(tambour.rows(table, "SELECT * FROM w"), expected, list(large))


def struct(**elements):
    return pyarrow.struct([pyarrow.field(name, kind) for name, kind in elements.items()])


INT, FLOAT, TEXT, NOTHING = pyarrow.int64(), pyarrow.float64(), pyarrow.string(), pyarrow.null()
# Values of two files with their types, and the type of both.
PAIRS = [
    ([[1, 2]], pyarrow.list_(INT), [[1, None]], pyarrow.list_(INT), "Array(Nullable(Int64))"),
    ([{"x": 1, "y": 2}], struct(x=INT, y=INT), [{"x": 3, "z": 4}], struct(x=INT, z=INT), "Tuple(x Int64, y Nullable(Int64), z Nullable(Int64))"),
    ([{"x": 1, "y": 2}], struct(x=INT, y=INT), [{"y": 5, "x": 6}], struct(y=INT, x=INT), "Tuple(x Int64, y Int64)"),
    ([{"x": {"k": 1}}], struct(x=struct(k=INT)), [None, {"x": None}, {"x": {"k": 3}}], struct(x=struct(k=INT)), "Tuple(x Tuple(k Nullable(Int64)))"),
    ([[{"x": 1}]], pyarrow.list_(struct(x=INT)), [[{"x": 1.5, "s": "t"}, None]], pyarrow.list_(struct(x=FLOAT, s=TEXT)),
     "Array(Tuple(x Nullable(Float64), s Nullable(String)))"),
    ([[("a", [1])]], pyarrow.map_(TEXT, pyarrow.list_(INT)), [[("b", [None, 1.5])]], pyarrow.map_(TEXT, pyarrow.list_(FLOAT)), "Map(String, Array(Nullable(Float64)))"),
    ([[1, 2]], pyarrow.list_(INT), [[], []], pyarrow.list_(NOTHING), "Array(Int64)"),
    ([[1, 2]], pyarrow.list_(INT), [[None], []], pyarrow.list_(NOTHING), "Array(Nullable(Int64))"),
    ([[1, 2]], pyarrow.list_(INT), [None, None], NOTHING, "Array(Int64)"),
    ([1, 2], INT, [None], NOTHING, "Nullable(Int64)"),
    ([{"x": 1}], struct(x=INT), [{"x": None}], struct(x=NOTHING), "Tuple(x Nullable(Int64))"),
    ([[("a", [1])]], pyarrow.map_(TEXT, pyarrow.list_(INT)), [[("b", [])]], pyarrow.map_(TEXT, pyarrow.list_(NOTHING)), "Map(String, Array(Int64))"),
    ([{"x": 1}], struct(x=INT), [{"p": 2}], struct(p=INT), "Tuple(x Nullable(Int64), p Nullable(Int64))"),
]


@pytest.mark.parametrize("pair", range(len(PAIRS)))
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_structs_and_lists_of_files_with_types(tambour, tmp_path, kind, pair):
    *sides, expected = PAIRS[pair]
    files = [tmp_path / f"{number}.{kind}" for number in range(2)]
    for file, values, data_type in zip(files, sides[::2], sides[1::2]):
        rows = pyarrow.table({"a": pyarrow.array(values, data_type)})
        if kind == "parquet":
            pyarrow.parquet.write_table(rows, file)
        else:
            with pyarrow.OSFile(str(file), "wb") as sink, pyarrow.ipc.new_file(sink, rows.schema) as writer:
                writer.write_table(rows)
    table, once = tmp_path / "t", tmp_path / "once"
    tambour.run("import", files[0], "--into", table)
    tambour.run("import", files[1], "--into", table, "--append")
    tambour.run("import", *files, "--into", once)
    ours = tambour.rows(table, "SELECT a, toTypeName(a) FROM t")
    assert_same_rows(ours, tambour.rows(once, "SELECT a, toTypeName(a) FROM once"), ["a", "type"])
    assert " ".join(tambour.run("sql", table, "DESCRIBE TABLE t FORMAT TSV").split("\t")[1].replace("\\n", " ").split()).replace("( ", "(").replace(" )", ")") == expected


def test_keys_without_a_name(tambour, tmp_path):
    """An element of a tuple needs a name: objects with an empty key are maps or texts, and nothing is made that cannot be read again."""
    def rows(*objects):
        (tmp_path / "rows.json").write_text("\n".join(json.dumps(it) for it in objects))
        return tmp_path / "rows.json"

    for name, value, read in [("maps", {"": 5}, "{'':5}"), ("texts", {"": 5, "b": "x"}, '{"": 5, "b": "x"}'), ("lists", [{"": 5}], "[{'':5}]")]:
        tambour.run("import", rows({"k": 1, "t": value}), "--into", tmp_path / name)
        assert tambour.rows(tmp_path / name, f"SELECT t FROM {name}") == [read]
    tambour.run("import", rows({"k": 1, "t": {"a": 5}}), "--into", tmp_path / "tuples")
    refused = tambour.call("import", rows({"k": 3, "t": {"a": 5, "": 7}}), "--append", "--into", tmp_path / "tuples")
    assert refused.returncode == 1 and b"import all rows --into another table" in refused.stderr
    assert tambour.rows(tmp_path / "tuples", "SELECT k, t FROM tuples") == ["1\t(5)"]


@pytest.mark.parametrize("element", ["h Date32", "e Enum8('a' = 1)", "i Tuple(h Date32)"])
def test_elements_that_are_not_zero_without_a_value(tambour, tmp_path, element):
    """ClickHouse reads the number zero where a part lacks an element; that is not what a column of these types has without a value."""
    create = "CREATE TABLE t (k Int64, u Tuple(a Int8{})) ENGINE = MergeTree ORDER BY k"
    (tmp_path / "rows.json").write_text('{"k": 1, "u": {"a": 3}}')
    tambour.run("import", tmp_path / "rows.json", "--into", tmp_path / "t", "--create", create.format(""))
    refused = tambour.call("import", tmp_path / "rows.json", "--append", "--into", tmp_path / "t", "--create", create.format(f", {element}"))
    assert refused.returncode == 1, refused.stderr
    assert tambour.rows(tmp_path / "t", "SELECT k, u FROM t") == ["1\t(3)"]
