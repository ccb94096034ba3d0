"""What other libraries and other processes can do wrong: an exception each time, and never the end of the interpreter."""

import ctypes
import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pytest

import tambour


class Given:
    """An object whose stream is what somebody says."""

    def __init__(self, give):
        self.give = give

    def __arrow_c_stream__(self, requested_schema=None):
        return self.give()


def raises():
    raise ZeroDivisionError("mine")


def used_up():
    capsule = pa.table({"a": [1]}).__arrow_c_stream__()
    pa.RecordBatchReader._import_from_c_capsule(capsule)
    return capsule


def breaks_off():
    def batches():
        yield pa.record_batch({"a": [1]})
        raise ZeroDivisionError("in the middle")

    return pa.RecordBatchReader.from_batches(pa.schema({"a": pa.int64()}), batches()).__arrow_c_stream__()


@pytest.mark.parametrize(
    "give, error",
    [
        (raises, ZeroDivisionError),
        (lambda: None, TypeError),
        (lambda: "capsule", TypeError),
        (lambda: pa.schema({"a": pa.int64()}).__arrow_c_schema__(), TypeError),
        (lambda: pa.array([1]).__arrow_c_array__(), TypeError),
        (lambda: pa.chunked_array([[1]]).__arrow_c_stream__(), tambour.ArgumentError),
        (used_up, tambour.ArgumentError),
        (breaks_off, tambour.ArgumentError),
    ],
    ids=["raises", "none", "text", "schema", "array", "no batches", "used up", "breaks off"],
)
def test_streams_that_lie(tmp_path, give, error):
    with pytest.raises(error):
        tambour.import_data(Given(give), tmp_path / "t")
    assert not (tmp_path / "t" / "tambour.json").exists()
    with pytest.raises(error):
        tambour.sql("SELECT * FROM t", t=Given(give)).to_arrow()


def test_another_schema_the_second_time(tmp_path):
    tables = [pa.table({"a": [1]}), pa.table({"b": ["x"]})]
    with pytest.raises(tambour.ArgumentError, match="other columns"):
        tambour.import_data(Given(lambda: tables.pop(0).__arrow_c_stream__()), tmp_path / "t")


class CArray(ctypes.Structure):
    """An array as Arrow's interface has it, to lie with."""


CArray._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(CArray))),
    ("dictionary", ctypes.POINTER(CArray)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]


def exported(batch):
    """A batch in capsules, and its structure."""
    schema, array = batch.__arrow_c_array__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return schema, array, CArray.from_address(pointer(array, b"arrow_array"))


class Pair:
    """Two capsules, which are taken once."""

    def __init__(self, make):
        self.make = make

    def __arrow_c_array__(self, requested_schema=None):
        return self.make()


def lie_length(array):
    array.length = -1


def lie_offset(array):
    array.offset = 2**62


def lie_children(array):
    # Fewer, not more: whoever made the array counts them when it is released.
    array.n_children = 2


def lie_no_children(array):
    array.n_children = 0


def lie_child_length(array):
    array.children[0].contents.length = 1


def lie_buffers(array):
    array.children[0].contents.n_buffers = 1


def lie_null_buffer(array):
    array.children[0].contents.buffers[1] = None


def lie_offsets(array):
    # The first offset of the texts is past the last.
    offsets = ctypes.cast(array.children[1].contents.buffers[1], ctypes.POINTER(ctypes.c_int32))
    offsets[0] = 1 << 20


def lie_utf8(array):
    ctypes.cast(array.children[1].contents.buffers[2], ctypes.POINTER(ctypes.c_uint8))[0] = 0xFF


def lie_keys(array):
    ctypes.cast(array.children[2].contents.buffers[1], ctypes.POINTER(ctypes.c_int32))[0] = 99


def lie_dictionary(array):
    array.children[2].contents.dictionary = ctypes.POINTER(CArray)()


LIES = [
    lie_length,
    lie_offset,
    lie_children,
    lie_no_children,
    lie_child_length,
    lie_buffers,
    lie_null_buffer,
    lie_offsets,
    lie_utf8,
    lie_keys,
    lie_dictionary,
]


def batch():
    texts = pa.array([f"text {n}" for n in range(10)])
    # Buffers of its own, which a lie may be written into.
    columns = [pa.array(range(10), pa.int64()), texts, pa.array(["a", "b"] * 5).dictionary_encode()]
    return pa.record_batch(columns, names=["n", "text", "key"])


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
def test_structures_that_lie(tmp_path, lie):
    schema, array, structure = exported(batch())
    lie(structure)
    with pytest.raises((tambour.ArgumentError, tambour.UnsupportedError)) as raised:
        tambour.import_data(Pair(lambda: (schema, array)), tmp_path / "t")
    assert "released" not in str(raised.value)
    assert not (tmp_path / "t" / "tambour.json").exists()
    gc.collect()


def test_the_same_batch_without_a_lie(tmp_path):
    table = tambour.import_data(Pair(lambda: exported(batch())[:2]), tmp_path / "t")
    assert table.scan(["n", "text", "key"]).to_pylist() == batch().to_pylist()


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2], pa.duration("s")),
        pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array([1, 2])]),
        pa.array([[1], [2]], pa.list_view(pa.int64())),
        pa.RunEndEncodedArray.from_arrays([2], [1]),
        pa.array([[[1]], [[2]]], pa.list_(pa.list_view(pa.int64()))),
    ],
    ids=lambda column: str(column.type),
)
def test_types_that_a_table_has_not(tmp_path, column):
    with pytest.raises(tambour.UnsupportedError) as raised:
        tambour.import_data(pa.table({"c": column}), tmp_path / "t")
    assert raised.value.column == "c"


def test_slices_and_offsets(tmp_path):
    whole = pa.table(
        {
            "n": pa.array([None, 1, 2, None, 4, 5, 6, 7, 8, None], pa.int16()),
            "b": pa.array([True, False, None, True] * 2 + [None, True]),
            "s": pa.array(["a", None, "ccc", "d", "e", None, "g", "h", "i", "j"]),
            "l": pa.array([[1], None, [2, 3], [], [4], [5], None, [6], [7, 8], [9]], pa.list_(pa.int32())),
            "k": pa.array(["x", "y", None, "x", "z"] * 2).dictionary_encode(),
            "t": pa.array([{"a": n, "b": str(n)} for n in range(10)]),
            "v": pa.array(["short", "a text of more than twelve bytes"] * 5, pa.string_view()),
        }
    )
    for start in (0, 1, 3, 7):
        piece = whole.slice(start, 3)
        table = tambour.import_data(piece, tmp_path / f"t{start}")
        expected = piece.to_pylist()
        for row in expected:
            row["l"] = row["l"] or []
        assert table.to_arrow().to_pylist() == expected


def test_3_gigabytes_are_streamed(tmp_path):
    # As batches, so that the test does not need the memory; each is the same megabytes.
    text = pa.array(["x" * 1000] * 10_000)
    piece = pa.record_batch({"text": text})
    count = 40 if os.environ.get("TAMBOUR_LARGE") is None else 320
    reader = pa.RecordBatchReader.from_batches(piece.schema, (piece for _ in range(count)))
    table = tambour.import_data(reader, tmp_path / "t", codec="LZ4", memory_bytes=64 << 20)
    assert table.columns["text"].uncompressed > count * 10_000_000
    assert sum(batch.num_rows for batch in table.scan(["text"])) == count * 10_000


def test_zones_that_do_not_exist(tmp_path):
    moments = pa.array([0], pa.timestamp("s", "Nowhere/Atlantis"))
    with pytest.raises(tambour.TambourError):
        tambour.import_data(pa.table({"t": moments}), tmp_path / "t")


def test_nan_and_missing_moments(tmp_path):
    import pandas

    frame = pandas.DataFrame({"f": [1.0, float("nan")], "t": pandas.to_datetime(["2024-02-29", None])})
    table = tambour.import_data(frame, tmp_path / "t")
    assert table.to_pandas()["t"].isna().tolist() == [False, True]
    assert table.scan(filter="f > 0").to_arrow().num_rows == 1


def test_exceptions_survive_pickling():
    error = tambour.CorruptError("text", path="p", column="c", offset=5)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.path, again.column, again.offset) == (tambour.CorruptError, "text", "p", "c", 5)


def test_threads(numbers):
    def work(results, k):
        rows = numbers.scan(["n"], ("n", "<", 1000 * k)).to_arrow().num_rows
        [total] = numbers.sql(f"SELECT count() AS rows FROM numbers WHERE n < {1000 * k}").to_pylist()
        results[k] = (rows, total["rows"])

    results = {}
    threads = [threading.Thread(target=work, args=(results, k)) for k in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {k: (1000 * k, 1000 * k) for k in range(1, 9)}


def test_one_stream_of_many_threads(numbers):
    """A stream is read once, whoever comes first."""
    stream = numbers._table.scan(["n"])
    taken, refused = [], []

    def take():
        try:
            taken.append(pa.RecordBatchReader.from_stream(stream).read_all().num_rows)
        except tambour.ConflictError:
            refused.append(True)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert taken == [100_000] and len(refused) == 3


def counted(path):
    table = tambour.open(path)
    return len(table.scan(["n"]).to_arrow()), table.sql("SELECT count() AS n FROM numbers").to_pylist()[0]["n"]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes(numbers, method):
    # Threads of a query have run here before.
    assert counted(numbers.path) == (100_000, 100_000)
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(counted, [numbers.path] * 4) == [(100_000, 100_000)] * 4


def in_child(work):
    """Runs work in a forked process; what it returned."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        # Who waits for a thread that only the other process has would wait for ever.
        signal.alarm(60)
        try:
            told = work()
        except BaseException as error:
            told = f"{type(error).__name__}: {error}"
        os.write(writing, str(told).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        told = file.read()
    os.waitpid(child, 0)
    return told


def threads():
    """The threads of this process, as the system counts them."""
    return set(os.listdir("/proc/self/task")) if os.path.exists("/proc/self/task") else set()


def left(before):
    """The threads that are there now and were not before. One that has ended is listed a moment longer than its join takes."""
    until = time.monotonic() + 2
    while (more := threads() - before) and time.monotonic() < until:
        time.sleep(0.01)
    return more


def test_handles_of_before_a_fork(numbers, tmp_path):
    # What a thread waits for, or holds, is held for ever in a child: there is none before the first batch is asked for, and none
    # after the last.
    before = threads()
    rows = numbers.sql("SELECT n FROM numbers")
    assert not left(before)
    assert numbers.sql("SELECT n FROM numbers").to_arrow().num_rows == 100_000
    assert not left(before)
    assert in_child(lambda: rows.to_arrow().num_rows) == "100000"
    stream = rows._stream()
    assert in_child(lambda: pa.RecordBatchReader.from_stream(stream)).startswith("ConflictError")
    reader = pa.RecordBatchReader.from_stream(stream)
    assert "forked" in in_child(reader.read_all)
    assert in_child(lambda: gc.collect() and None) == "None"
    assert reader.read_all().num_rows == 100_000
    with tambour.PageStore(tmp_path / "pages", "x", page_bytes=4096) as store:
        store.append(bytes(4096))
        assert in_child(lambda: store.append(bytes(4096))).startswith("ConflictError")
        assert len(store) == 1
    with tambour.RecordStore(tmp_path / "log", "a") as log:
        log["a"].append(b"one")
        assert in_child(lambda: log["a"].append(b"two")).startswith("ConflictError")
        assert len(log["a"].refresh()) == 1


def test_import_is_fast_and_alone():
    program = (
        "import sys, time; before = set(sys.modules); start = time.perf_counter(); import tambour;"
        "print(time.perf_counter() - start, [m for m in ('pyarrow', 'pandas', 'numpy', 'polars') if m in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert told.split(maxsplit=1)[1].strip() == "[]"
    everything = "import sys, tambour; [getattr(tambour, n) for n in tambour.__all__]; print('pyarrow' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", everything], capture_output=True, text=True, check=True).stdout
    assert told.strip() == "False"


def test_hashes_outlive_their_column():
    got = tambour.hash.xxh64(np.arange(1000))
    gc.collect()
    assert got.sum() == tambour.hash.xxh64(np.arange(1000)).sum()
    with pytest.raises(ValueError):
        got[0] = 1
