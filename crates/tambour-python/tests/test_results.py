"""Rows on their way out: in the types that were announced, as often as they are asked for, in the libraries that read them."""

import datetime

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tambour

MIXED = pa.table({"i": [1, 2], "s": ["a", "b"], "c": pa.array(["x", "y"]).dictionary_encode()})


@pytest.mark.parametrize("statement", ["SHOW TABLES", "show tables like '%'", "show tables from default", "show full tables"])
def test_statements_have_the_types_that_they_say(statement, tmp_path):
    rows = tambour.sql(statement, t=MIXED)
    table = rows.to_arrow()
    table.validate(full=True)
    assert table.schema == rows.schema and "t" in table.column(0).to_pylist()
    assert rows.to_polars().height == len(rows.to_pandas()) == 1
    assert len(tambour.import_data(rows, tmp_path / "t")) == 1


def test_functions_have_names_that_can_be_written():
    names = tambour.sql("SHOW FUNCTIONS").to_arrow()["name"].to_pylist()
    assert "length" in names and all(name.isprintable() for name in names)


@pytest.mark.parametrize(
    "expression, expected",
    [
        ("if(i = 1, c, s)", ["x", "b"]),
        ("if(i = 1, s, c)", ["a", "y"]),
        ("CASE WHEN i = 1 THEN c ELSE s END", ["x", "b"]),
        ("multiIf(i = 1, c, i = 2, s, '')", ["x", "b"]),
    ],
)
def test_low_cardinality_beside_string(expression, expected):
    rows = tambour.sql(f"SELECT {expression} AS r FROM t ORDER BY i", t=MIXED)
    assert rows.to_arrow()["r"].to_pylist() == rows.to_polars()["r"].to_list() == expected
    assert list(rows.to_pandas()["r"]) == expected


def test_union_of_low_cardinality_and_string():
    rows = tambour.sql("SELECT c FROM t UNION ALL SELECT s FROM t", t=MIXED)
    assert sorted(rows.to_arrow()["c"].to_pylist()) == sorted(rows.to_polars()["c"].to_list()) == ["a", "b", "x", "y"]


def test_to_pandas_gives_memory_back(tmp_path):
    table = tambour.import_data(pa.table({"a": [1, None], "b": ["x", "y"]}), tmp_path / "t")
    frame = table.to_pandas(self_destruct=True, split_blocks=True)
    assert frame["a"].dtype == pd.Int64Dtype() and frame["a"].isna().tolist() == [False, True]
    assert list(frame["b"]) == ["x", "y"]


WIDE = pl.DataFrame(
    {
        "signed": pl.Series([5, -(2**127), 2**127 - 1], dtype=pl.Int128),
        "maybe": pl.Series([None, 1, -1], dtype=pl.Int128),
        "unsigned": pl.Series([0, 2**128 - 1, 7], dtype=pl.UInt128),
    }
)


def test_128_bits_by_polars(tmp_path):
    table = tambour.import_data(WIDE, tmp_path / "t")
    assert table.schema == {"signed": "Int128", "maybe": "Nullable(Int128)", "unsigned": "UInt128"}
    assert table.to_polars().equals(WIDE)
    assert (table.write(table.to_polars()), table.write(table.to_arrow())) == (3, 6)
    assert table.scan_polars().filter(pl.col("unsigned") > 7).collect()["unsigned"].to_list() == [2**128 - 1] * 4
    assert tambour.sql("SELECT toString(max(unsigned)) AS s FROM t", t=WIDE).to_pylist() == [{"s": str(2**128 - 1)}]


@pytest.mark.parametrize("value", ["toDecimal256('1.5', 10)", "[toInt128(5)]", "tuple(toUInt128(5))"])
def test_what_polars_has_no_type_for_is_named(value, tmp_path):
    rows = tambour.sql(f"SELECT 1 AS one, {value} AS wide")
    with pytest.raises(tambour.UnsupportedError, match="polars") as raised:
        rows.to_polars()
    assert raised.value.column == "wide"
    assert rows.to_arrow().num_rows == 1
    table = tambour.import_data(rows, tmp_path / "t")
    with pytest.raises(tambour.UnsupportedError):
        table.scan_polars()


def test_readers_are_asked_again():
    rows = tambour.sql("SELECT sum(a) AS s FROM t", t=pa.table({"a": [1, 2]}).to_reader())
    assert "3" in rows._repr_html_()
    assert rows.to_pylist() == rows.to_pylist() == [{"s": 3}]


def test_what_rows_say_of_themselves(hits):
    rows = hits.scan()
    assert repr(rows) == "<tambour.Rows: page String, visits Int64>"
    assert rows.schema.names == ["page", "visits"] and rows.schema == rows.to_arrow().schema


@pytest.mark.parametrize(
    "ask, expected",
    [
        (lambda frame: frame.head(10).filter(pl.col("id") > 7), [8, 9]),
        (lambda frame: frame.limit(15).filter(pl.col("id") >= 13), [13, 14]),
        (lambda frame: frame.head(5).filter(pl.col("id") % 2 == 1), [1, 3]),
        (lambda frame: frame.filter(pl.col("id") > 7).head(3), [8, 9, 10]),
        (lambda frame: frame.head(10).filter(pl.col("id") > 3).head(2), [4, 5]),
        (lambda frame: frame.slice(4, 6).filter(pl.col("id") > 7), [8, 9]),
    ],
)
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_limits_before_and_after_predicates(tmp_path, ask, expected, engine):
    frame = pl.DataFrame({"id": range(20)})
    table = tambour.import_data(frame, tmp_path / "t", order_by="id")
    assert ask(table.scan_polars()).collect(engine=engine)["id"].to_list() == expected
    assert ask(frame.lazy()).collect()["id"].to_list() == expected


MOMENTS = [datetime.datetime(2024, 1, 1), datetime.datetime(2024, 7, 1, 12, 30), None]


def test_moments_without_a_zone_stay_without(tmp_path):
    frame = pl.DataFrame({"t": MOMENTS, "z": pl.Series(MOMENTS).dt.replace_time_zone("Europe/Berlin")})
    table = tambour.import_data(frame, tmp_path / "t")
    assert table.schema == {"t": "Nullable(DateTime64(6))", "z": "Nullable(DateTime64(6, 'Europe/Berlin'))"}
    assert table.to_polars().equals(frame) and table.scan_polars().collect().equals(frame)
    assert table.schema.to_arrow() == table.to_arrow().schema == table.scan().schema
    assert table.to_arrow()["t"].to_pylist() == MOMENTS
    # Literals of all libraries have no zone either.
    assert table.to_polars().filter(pl.col("t") > datetime.datetime(2024, 2, 1)).height == 1
    seen = table.to_pandas()
    assert (seen.t > pd.Timestamp("2024-02-01")).tolist() == [False, True, False]
    assert table.scan(filter=("t", "=", seen.t.max())).to_arrow().num_rows == 1
    table.write(table.to_pandas())
    assert table.schema["t"] == "Nullable(DateTime64(6))" and len(table) == 6


def test_moments_inside_of_others(tmp_path):
    moments = [moment for moment in MOMENTS if moment]
    maps = pa.array([[("a", moments[0])], []], pa.map_(pa.string(), pa.timestamp("us")))
    rows = pa.table({"l": [moments, []], "s": [{"t": moment, "n": 1} for moment in moments], "m": maps})
    table = tambour.import_data(rows, tmp_path / "t")
    back = table.to_arrow()
    back.validate(full=True)
    assert back.to_pylist() == rows.to_pylist() and table.schema.to_arrow() == back.schema
    assert table.sql("SELECT l, l[1] AS first FROM t").to_arrow()["l"].to_pylist() == [moments, []]


def test_moments_of_queries():
    rows = tambour.sql("SELECT toDateTime('2024-01-01 00:00:00') AS naive, toDateTime('2024-01-01 00:00:00', 'UTC') AS aware")
    [row] = rows.to_pylist()
    assert row["naive"] == MOMENTS[0] and row["aware"] == MOMENTS[0].replace(tzinfo=datetime.timezone.utc)
