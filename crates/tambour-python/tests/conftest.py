"""What the tests of the package share. `cargo xtask test` builds the package and puts it on the path."""

import datetime
import decimal

import pyarrow as pa
import pytest

import tambour


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "hits.csv"
    path.write_text("page,visits\n/,30\n/about,1\n/,40\n")
    return path


@pytest.fixture
def hits(csv, tmp_path):
    return tambour.import_files(csv, tmp_path / "hits", order_by="page")


@pytest.fixture
def numbers(tmp_path):
    """A table of several parts and many granules."""
    for start in (0, 50_000):
        rows = pa.table(
            {
                "n": pa.array(range(start, start + 50_000), pa.int64()),
                "text": pa.array([f"row {n % 97}" for n in range(start, start + 50_000)]),
                "half": pa.array([n / 2 for n in range(start, start + 50_000)], pa.float64()),
            }
        )
        exists = "error" if start == 0 else "append"
        table = tambour.import_data(
            rows, tmp_path / "numbers", order_by="n" if start == 0 else None, exists=exists
        )
    return table


def zoo():
    """A table of every type that Arrow and a table both have."""
    zone = datetime.timezone.utc
    moment = datetime.datetime(2024, 2, 29, 12, 30, 15, 123456, tzinfo=zone)
    return pa.table(
        {
            "bool": pa.array([True, False, True]),
            "i8": pa.array([-128, 0, 127], pa.int8()),
            "u64": pa.array([0, 1, 2**64 - 1], pa.uint64()),
            "nullable": pa.array([1, None, 3], pa.int32()),
            "f32": pa.array([0.5, -0.0, float("inf")], pa.float32()),
            "text": pa.array(["", "drüm", "x" * 100]),
            "maybe": pa.array(["a", None, "c"]),
            "category": pa.array(["x", "y", "x"]).dictionary_encode(),
            "decimal": pa.array([decimal.Decimal("1.25"), decimal.Decimal("-9.99"), 0], pa.decimal128(12, 2)),
            "wide": pa.array([decimal.Decimal(10**50), 0, -1], pa.decimal256(60, 0)),
            "date": pa.array([datetime.date(1970, 1, 1), datetime.date(2024, 2, 29), datetime.date(1900, 1, 1)]),
            "time": pa.array([moment, moment, moment], pa.timestamp("us", "UTC")),
            "zoned": pa.array([moment, moment, moment], pa.timestamp("ms", "Europe/Berlin")),
            "seconds": pa.array([0, 1, 2], pa.timestamp("s", "UTC")),
            "fixed": pa.array([b"abcd", b"efgh", b"\0\0\0\0"], pa.binary(4)),
            "list": pa.array([[1, 2], [], [3]], pa.list_(pa.int64())),
            "lists": pa.array([[["a"], []], [], [["b", "c"]]], pa.list_(pa.list_(pa.string()))),
            "struct": pa.array([{"x": 1, "y": "a"}, {"x": 2, "y": "b"}, {"x": 3, "y": "c"}]),
            "map": pa.array([[("a", 1)], [], [("b", 2), ("c", 3)]], pa.map_(pa.string(), pa.int32())),
        }
    )


@pytest.fixture(name="zoo")
def zoo_fixture():
    return zoo()
