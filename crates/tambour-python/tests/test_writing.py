"""Rows that are written into tables: what fits, what is refused and where it says so, and who writes at the same time."""

import os
import pickle
import shutil
import signal
import threading
import time

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import tambour


def test_numbers_do_not_become_infinite(tmp_path):
    numbers = pa.table({"f": pa.array([1.0], pa.float32()), "l": pa.array([[1.0]], pa.list_(pa.float32()))})
    table = tambour.import_data(numbers, tmp_path / "t")
    for rows, column in (({"f": [1.0, 1e300], "l": [[], []]}, "f"), ({"f": [1.0, 1.0], "l": [[1.0], [0.5, -1e39]]}, "l")):
        with pytest.raises(tambour.ArgumentError, match="outside the range") as raised:
            table.write(pa.table(rows))
        assert (raised.value.column, raised.value.row, raised.value.path) == (column, 2, None)
    # Rounding is what columns of floats do, and what is infinite stays so.
    table.write(pa.table({"f": [float("inf"), 16777217.0], "l": [[], []]}))
    assert table.to_arrow()["f"].to_pylist() == [1.0, float("inf"), 16777216.0]


def test_times_past_the_day(tmp_path):
    times = duckdb.sql("SELECT TIME '24:00:00' AS c UNION ALL SELECT TIME '01:00:00.25'")
    assert tambour.import_data(times, tmp_path / "t").to_arrow()["c"].to_pylist() == ["24:00:00", "01:00:00.250"]
    late = pa.array([-1_800_000_000, 90_000_000_000], pa.int64()).cast(pa.time64("us"), safe=False)
    text = tambour.import_data(pa.table({"c": late}), tmp_path / "u").to_arrow()["c"].to_pylist()
    assert text == ["-00:30:00", "25:00:00"]


def test_a_table_that_is_gone_is_not_made_anew(tmp_path):
    table = tambour.import_data(pl.DataFrame({"id": pl.Series([1], dtype=pl.Int32)}), tmp_path / "t", order_by="id")
    shutil.rmtree(table.path)
    with pytest.raises(tambour.NotFoundError) as raised:
        table.write(pl.DataFrame({"id": [1]}))
    assert raised.value.path == table.path and not os.path.exists(table.path)


UNUSUAL = """
SELECT toUUID('00112233-4455-6677-8899-aabbccddeeff') AS u, toIPv6('2001:db8::1') AS v, toInt256(-5) AS w,
       toUInt256(7) AS x, toNullable(toUUID('00112233-4455-6677-8899-aabbccddeeff')) AS n
"""


def test_bytes_of_uuids_addresses_and_big_numbers(tmp_path):
    table = tambour.import_data(tambour.sql(UNUSUAL), tmp_path / "t")
    assert table.schema == {"u": "UUID", "v": "IPv6", "w": "Int256", "x": "UInt256", "n": "Nullable(UUID)"}
    for read in (table.to_pandas, table.to_polars, table.to_arrow):
        table.write(read())
    assert table.sql("SELECT count() AS c FROM t GROUP BY u, v, w, x, n").to_pylist() == [{"c": 8}]
    # Text is still read as text, also where it has as many characters as there are bytes.
    texts = {"u": ["00112233-4455-6677-8899-aabbccddeeff"], "v": [b"2001:db8:1:2::12"], "w": ["5"], "x": ["6"], "n": [None]}
    table.write(pa.table(texts))
    told = tambour.sql("SELECT toString(v) AS v, toString(n) AS n FROM t WHERE toString(w) = '5'", t=table).to_pylist()
    assert told == [{"v": "2001:db8:1:2::12", "n": None}]


@pytest.mark.parametrize("frame", [pa.table({"b": [b"\xff\x00", b"a"]}), pl.DataFrame({"b": [b"\xff\x00", b"a"]})], ids=["pyarrow", "polars"])
def test_strings_that_are_not_utf8(tmp_path, frame):
    table = tambour.import_data(frame, tmp_path / "t")
    table.write(table.scan(binary=True))
    assert table.schema == {"b": "String"}
    assert table.scan(binary=True).to_arrow()["b"].to_pylist() == [b"\xff\x00", b"a"] * 2
    with pytest.raises(tambour.TambourError, match="UTF-8|binary"):
        table.to_arrow()


def test_bytes_inside_and_beside_texts(tmp_path):
    rows = pa.table({"l": [[b"\xff"], []], "s": ["x", "y"]})
    table = tambour.import_data(rows, tmp_path / "t")
    assert table.scan(["s"]).to_pylist() == [{"s": "x"}, {"s": "y"}]
    assert table.scan(["l"], binary=True).to_pylist() == [{"l": [b"\xff"]}, {"l": []}]


def at_once(count, work):
    """Runs work in this many threads, and gives what they raised."""
    raised = []

    def run(number):
        try:
            work(number)
        except Exception as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def test_threads_that_write_wait_for_each_other(tmp_path):
    table = tambour.import_data(pa.table({"n": [0]}), tmp_path / "t")
    assert at_once(6, lambda number: table.write(pa.table({"n": [number]}))) == []
    assert len(table) == 7
    with tambour.RecordStore(tmp_path / "log", "a") as store:
        assert at_once(8, lambda number: store["new"].append(str(number))) == []
        assert sorted(store["new"]) == sorted(str(number).encode() for number in range(8))


def test_ctrl_c_ends_the_import_of_a_frame(tmp_path):
    """One batch of many rows, which is taken in pieces; what was stopped is not in the table."""
    frame = pl.DataFrame({"n": pl.int_range(8_000_000, eager=True), "s": ["some text"] * 8_000_000})
    table = tambour.import_data(frame.head(10), tmp_path / "t")
    for delay in (0.02, 0.1, 0.2):
        timer = threading.Timer(delay, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            table.write(frame)
            # Never before the signal has come: it would end another test.
            time.sleep(10)
        assert len(tambour.open(tmp_path / "t")) == 10


def test_errors_know_their_place(tmp_path, hits):
    def place(work):
        with pytest.raises(tambour.TambourError) as raised:
            work()
        return type(raised.value), raised.value.path, raised.value.column

    nope = str(tmp_path / "nope")
    assert place(lambda: tambour.open(nope)) == (tambour.NotFoundError, nope, None)
    rows = pa.table({"page": ["/"]})
    assert place(lambda: tambour.import_data(rows, hits.path)) == (tambour.ConflictError, hits.path, None)
    assert place(lambda: tambour.import_data(rows, nope, order_by="zz")) == (tambour.NotFoundError, None, "zz")
    assert place(lambda: hits.scan(["zz"])) == (tambour.NotFoundError, None, "zz")
    assert place(lambda: hits.scan(filter="zz = 1")) == (tambour.NotFoundError, None, "zz")
    assert place(lambda: hits.write(pa.table({"page": ["/"], "visits": ["x"]}))) == (tambour.ArgumentError, None, "visits")


def test_errors_of_the_system_have_its_number(tmp_path, hits):
    with pytest.raises(OSError) as raised:
        hits.export(tmp_path / "nowhere" / "hits.csv")
    error = raised.value
    assert isinstance(error, tambour.IoError) and error.errno == 2 and error.strerror == os.strerror(2)
    assert error.filename == error.path and error.path.startswith(str(tmp_path / "nowhere"))
    again = pickle.loads(pickle.dumps(error))
    assert (again.errno, again.path, str(again)) == (error.errno, error.path, str(error))


def test_damage_keeps_its_class_on_the_way_through(tmp_path):
    table = tambour.import_data(pa.table({"n": range(100_000)}), tmp_path / "t", codec="NONE")
    path = tmp_path / "t" / "all_1_1_0" / "n.bin"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    for give in (lambda: table, lambda: table.scan(), lambda: table.scan().__arrow_c_stream__ and table._table.scan()):
        with pytest.raises(tambour.CorruptError, match="checksum") as raised:
            tambour.import_data(give(), tmp_path / "u")
        assert raised.value.path == str(path) and raised.value.column == "n" and raised.value.offset
    path.unlink()
    for look in (lambda: table.columns, table.to_arrow):
        with pytest.raises(tambour.CorruptError) as raised:
            look()
        assert raised.value.path == str(path)


def test_handles_go_to_other_processes(hits):
    assert len(pickle.loads(pickle.dumps(hits))) == 3
