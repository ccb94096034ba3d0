"""Records, messages, pages, and SQLite over pages."""

import datetime
import os
import pickle
import sqlite3
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tambour
import tambour.sqlite3


def event(n):
    return f'{{"event":"login","user":"u{n}","ok":true}}'.encode()


@pytest.fixture
def log(tmp_path):
    with tambour.RecordStore(tmp_path / "log", "a", codec="zstd", segment_bytes=1 << 16) as store:
        yield store


def test_records_are_a_sequence(log):
    events = log["events"]
    assert events.extend(event(n) for n in range(5000)) == range(5000)
    assert events.append(b"last") == 5000 and events.append("text", time=7) == 5001
    assert len(events) == 5002 and events.first == 0 and events.end == 5002
    assert events[3] == event(3) and events[-2] == b"last"
    assert events[4997:5001] == [event(4997), event(4998), event(4999), b"last"]
    assert events[::2500] == [event(0), event(2500), b"last"]
    assert list(events)[:5000] == [event(n) for n in range(5000)]
    assert events.time(5001) == 7 and events.time(0) is None
    for number in (5002, -5003):
        with pytest.raises(IndexError):
            events[number]
    assert list(log) == log.categories() == ["events"] and "events" in log and len(log) == 1


def test_records_are_sealed_smaller(tmp_path):
    log = tambour.RecordStore(tmp_path / "sealed", "x", codec="zstd")
    events = log["events"]
    events.extend([event(n) for n in range(20_000)])
    before = events.stat["bytes_on_disk"]
    reports = events.seal()
    assert sum(report["records"] for report in reports) == 20_000
    assert reports[-1]["dictionary_bytes"] > 0
    assert before > 0 and events.stat["bytes_on_disk"] < events.stat["bytes"]
    assert events[12_345] == event(12_345)
    events.append(b"after")
    assert events[-1] == b"after"
    log.close()


@pytest.mark.parametrize(
    "make",
    [list, lambda n: np.array(n, dtype="int32"), lambda n: np.array(n, dtype="uint64"), pa.array, pl.Series],
    ids=["list", "int32", "uint64", "pyarrow", "polars"],
)
def test_get_many(log, make):
    events = log["events"]
    events.extend([event(n) for n in range(3000)])
    events.seal()
    numbers = [2999, 0, 7, 7, 1500]
    array = events.get_many(make(numbers))
    assert len(array) == 5
    assert pa.array(array).to_pylist() == [event(n) for n in numbers] == array.to_bytes_list()
    assert pl.Series(array).to_list() == [event(n) for n in numbers]
    if make not in (pa.array, pl.Series):
        assert len(events.get_many(make([]))) == 0
    with pytest.raises(tambour.NotFoundError):
        events.get_many(make([3000]))
    for some in (range(3), (0, 1, 2), iter([0, 1, 2])):
        assert list(events.get_many(some)) == [event(n) for n in range(3)]


@pytest.mark.parametrize("ids", [[-1], [1.5], ["a"], np.array([1.0]), pa.array([1, None])], ids=str)
def test_wrong_ids(log, ids):
    log["events"].append(b"x")
    with pytest.raises(tambour.ArgumentError):
        log["events"].get_many(ids)


def test_records_of_arrow_with_times(log):
    events = log["events"]
    times = np.arange(100, dtype="int64") * 10
    events.extend(pa.array([event(n) for n in range(100)]), times)
    between = events.between(200, 250)
    assert between["time"].to_pylist() == [200, 210, 220, 230, 240]
    assert between["record"].to_pylist() == [event(n) for n in range(20, 25)]
    table = events.to_arrow(98)
    assert table["id"].to_pylist() == [98, 99]
    with pytest.raises(tambour.ArgumentError, match="2 records and 1 times"):
        events.extend([b"a", b"b"], [1])
    with pytest.raises(tambour.ArgumentError, match="missing"):
        events.extend(pa.array([b"a", None]))
    assert len(events) == 100
    assert events.extend([]) == range(100, 100)


NEW_YEAR = datetime.datetime(2024, 1, 1)
MICROSECONDS = 1_704_067_200_000_000


@pytest.mark.parametrize(
    "times",
    [
        [NEW_YEAR],
        [NEW_YEAR.replace(tzinfo=datetime.timezone.utc)],
        [np.datetime64("2024-01-01", "ns")],
        [MICROSECONDS],
        np.array([MICROSECONDS]),
        *(np.array(["2024-01-01"], f"M8[{unit}]") for unit in ("D", "s", "ms", "us", "ns")),
        *(pa.array([NEW_YEAR], pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")),
        pa.array([NEW_YEAR.date()]),
        pl.Series([NEW_YEAR], dtype=pl.Datetime("ms")),
        pd.Series([NEW_YEAR]).astype("datetime64[ns]"),
    ],
    ids=lambda times: f"{type(times).__name__} {getattr(times, 'dtype', getattr(times, 'type', ''))}",
)
def test_times_of_any_unit_are_microseconds(log, times):
    events = log["events"]
    events.extend([b"{}"], times)
    assert events.time(0) == MICROSECONDS
    assert tambour.sql("SELECT _time FROM e", e=events).to_pylist() == [{"_time": NEW_YEAR}]
    later = NEW_YEAR + datetime.timedelta(days=1)
    assert events.between(NEW_YEAR, later)["id"].to_pylist() == [0] and len(events.between(later, later)) == 0
    events.append(b"{}", NEW_YEAR + datetime.timedelta(hours=5))
    assert events.time(1) == MICROSECONDS + 5 * 3_600_000_000


@pytest.mark.parametrize(
    "times",
    [np.array([1.5]), ["now"], [1.5], np.array([2**62], "M8[s]"), pa.array([2**62], pa.timestamp("s")), np.array([2**64 - 1], "uint64")],
    ids=str,
)
def test_what_is_no_time(log, times):
    with pytest.raises(tambour.ArgumentError):
        log["events"].extend([b"x"], times)
    with pytest.raises(tambour.ArgumentError):
        log["events"].append(b"x", times[0] if isinstance(times, list) else "now")


def test_missing_times(log):
    log["events"].extend([b"a", b"b"], [None, None])
    assert log["events"].time(1) is None
    with pytest.raises(tambour.ArgumentError, match="a time is missing"):
        log["events"].extend([b"a", b"b"], [5, None])
    with pytest.raises(tambour.ArgumentError, match="a time is missing"):
        log["events"].extend([b"a", b"b"], np.array(["2024-01-01", "NaT"], "M8[ns]"))


def test_a_flush_shows_what_was_appended(log):
    events = log["events"]
    events.append("a")
    assert len(events) == 1
    number = events.append("b", durable=False)
    events.flush()
    assert (number, len(events), events[-1]) == (1, 2, b"b")


def test_records_with_keys(tmp_path):
    def run(*words, lines=""):
        told = subprocess.run([sys.executable, "-m", "tambour", "records", *words], input=lines, capture_output=True, text=True)
        assert told.returncode == 0, told.stderr

    def line(key, value):
        return f'{{"id": "{key}", "v": {value}}}'

    path = str(tmp_path / "log")
    first = [line("a", 1), line("b", 1), line("c", 1), line("a", 2), line("b", 2)]
    run("create", path)
    run("append", path, "--key", "id", lines="\n".join(first) + "\n")
    run("delete", path, "--key", "c")
    run("append", path, "--key", "id", lines=line("d", 1) + "\n")
    current = [text.encode() for text in (line("a", 2), line("b", 2), line("d", 1))]
    with tambour.RecordStore(path) as store:
        log = store["default"]
        assert list(log) == log[:] == log[::-1][::-1] == current and len(log) == 3
        assert log[-1] == current[-1] and log[0:4] == current[:1] and log[:3] == []
        # A record that was replaced is still there by its number.
        assert log[0] == first[0].encode()


def test_a_category_without_records(log, tmp_path):
    events = log["events"]
    assert len(events) == 0 and list(events) == events[:] == [] and log.categories() == []
    with pytest.raises(IndexError):
        events[0]
    events.append("a", NEW_YEAR)
    assert len(events) == 1 and pl.DataFrame(events).rows() == [(0, MICROSECONDS, b"a")]
    with tambour.RecordStore(tmp_path / "log") as reader, pytest.raises(tambour.NotFoundError):
        len(reader["nothing"])


def test_wrong_numbers_of_records_and_pages(log, tmp_path):
    log["events"].append("a")
    assert log["events"].to_arrow(-1)["id"].to_pylist() == [0]
    for use in (
        lambda: log["events"]["a"],
        lambda: log["events"].seal(dictionary_bytes=-1),
        lambda: log["events"].seal(group=0),
        lambda: tambour.PageStore(tmp_path / "p", "x", page_bytes=-1),
        lambda: tambour.MessageCodec(b"", generation=2**40),
    ):
        with pytest.raises(tambour.ArgumentError):
            use()
    with tambour.PageStore(tmp_path / "pages", "x", page_bytes=4096) as store:
        store.append(bytes(4096))
        assert len(store.get_many(range(1))) == 4096
        with pytest.raises(tambour.ArgumentError):
            store["a"]
        for use in (lambda: store[-1], lambda: store.__setitem__(-1, bytes(4096)), lambda: store.__delitem__(-1)):
            with pytest.raises(IndexError):
                use()


def test_message_codecs_go_to_other_processes():
    codec = tambour.MessageCodec.train([f'{{"method": "get", "id": {n}}}' for n in range(2000)])
    codec.add(codec.dictionary, 2)
    assert repr(codec) == "<tambour.MessageCodec, generation 1 of 1, 2>"
    again = pickle.loads(pickle.dumps(codec))
    codec.switch_to(2)
    assert again.decode(codec.encode(b"abc")) == b"abc" and pickle.loads(pickle.dumps(codec)).decode(again.encode(b"x")) == b"x"


def test_old_records_are_dropped(log):
    events = log["events"]
    for start in range(0, 20_000, 1000):
        numbers = range(start, start + 1000)
        events.extend([event(n) for n in numbers], np.array(numbers))
    events.seal()
    dropped = events.retain(before=10_000)
    assert 0 < dropped <= 10_000 and events.first == dropped and len(events) == 20_000 - dropped
    assert events[dropped] == event(dropped)
    with pytest.raises(IndexError):
        events[0]


def test_one_writer_and_many_readers(log, tmp_path):
    log["events"].append(b"one")
    with pytest.raises(tambour.ConflictError):
        with tambour.RecordStore(tmp_path / "log", "a") as other:
            other["events"].append(b"two")
    with tambour.RecordStore(tmp_path / "log") as reader:
        events = reader["events"]
        assert len(events) == 1
        log["events"].append(b"two")
        assert len(events) == 1 and len(events.refresh()) == 2
        with pytest.raises(tambour.ArgumentError, match="opened to read"):
            events.append(b"three")


def test_record_store_is_closed(tmp_path):
    with tambour.RecordStore(tmp_path / "log", "x") as store:
        events = store["events"]
        events.append(b"one")
    for use in (lambda: store["events"], lambda: events[0], lambda: events.append(b""), lambda: len(events), store.categories):
        with pytest.raises(tambour.ClosedError):
            use()
    store.close()
    with pytest.raises(tambour.ConflictError):
        tambour.RecordStore(tmp_path / "log", "x")
    with pytest.raises(tambour.NotFoundError):
        tambour.RecordStore(tmp_path / "nothing")
    with pytest.raises(tambour.ArgumentError, match="mode"):
        tambour.RecordStore(tmp_path / "log", "w")


def test_damaged_records(log, tmp_path):
    events = log["events"]
    events.extend([event(n) for n in range(3000)])
    events.seal()
    log.close()
    counts, damage = tambour.RecordStore.verify(tmp_path / "log")
    assert counts["records"] == 3000 and damage == []
    file = max((tmp_path / "log" / "events").iterdir(), key=lambda path: path.stat().st_size)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    counts, damage = tambour.RecordStore.verify(tmp_path / "log")
    assert damage and isinstance(damage[0], tambour.CorruptError) and damage[0].path == str(file)
    with tambour.RecordStore(tmp_path / "log") as store, pytest.raises(tambour.CorruptError):
        list(store["events"])


def test_messages():
    samples = [f'{{"method":"get","user":"u{n % 97}","id":{n}}}' for n in range(2000)]
    codec = tambour.MessageCodec.train(samples)
    encoded = [codec.encode(sample) for sample in samples]
    assert sum(map(len, encoded)) < sum(map(len, samples)) / 2
    other = tambour.MessageCodec(codec.dictionary)
    assert [other.decode(message).decode() for message in encoded] == samples
    for at in range(len(encoded[0])):
        damaged = bytearray(encoded[0])
        damaged[at] ^= 0x10
        with pytest.raises(tambour.TambourError):
            other.decode(damaged)
    newer = tambour.MessageCodec.train(samples[1000:], generation=2)
    with pytest.raises(tambour.TambourError):
        other.decode(newer.encode(samples[0]))
    other.add(newer.dictionary, 2)
    assert other.decode(newer.encode(samples[0])).decode() == samples[0]
    other.switch_to(2)
    assert other.retire(1) and newer.decode(other.encode(b"x")) == b"x"
    with pytest.raises(tambour.TambourError):
        tambour.MessageCodec(b"no dictionary")
    with pytest.raises(tambour.TambourError):
        tambour.MessageCodec.train([])


def test_pages(tmp_path):
    path = tmp_path / "drum.pages"
    with tambour.PageStore(path, "x", page_bytes=4096) as store:
        content = [bytes([n]) * 4096 for n in range(10)]
        pages = [store.append(data) for data in content]
        assert store[pages[3]] == content[3] and len(store) == 10 and pages[3] in store
        assert store[2:5] == content[2:5] and list(store) == pages
        assert store.get_many([5, 1, 5]) == content[5] + content[1] + content[5]
        room = bytearray(4096)
        store.read_into(7, room)
        assert room == content[7]
        store.backup(tmp_path / "full")
        at = store.generation
        store[1] = content[9]
        store.commit({2: content[8]}, free=[0])
        assert 0 not in store and store[2] == content[8]
        store.backup(tmp_path / "changes", since=at)
        assert store.verify() == (9, [])
        assert store.stat["pages"] == 9 and store.stat["bytes_on_disk"] > 0
        del store[9]
    with tambour.PageStore(path) as store:
        assert 9 not in store and store[1] == content[9]
        with pytest.raises(tambour.TambourError):
            store[1] = content[0]
    tambour.PageStore.restore([tmp_path / "full", tmp_path / "changes"], tmp_path / "copy")
    with tambour.PageStore(tmp_path / "copy") as store:
        assert store[1] == content[9] and store[9] == content[9] and 0 not in store


def test_wrong_pages(tmp_path):
    path = tmp_path / "drum.pages"
    with tambour.PageStore(path, "a", page_bytes=4096) as store:
        store.append(b"x" * 4096)
        for wrong in (lambda: store.append(b"short"), lambda: store.read_into(0, bytearray(5)), lambda: store.read_into(0, bytes(4096))):
            with pytest.raises(tambour.ArgumentError):
                wrong()
        for missing in (lambda: store[99], lambda: store.get_many([99])):
            with pytest.raises(tambour.NotFoundError):
                missing()
        with pytest.raises(IndexError):
            store[-1]
        with pytest.raises(tambour.ConflictError):
            tambour.PageStore(path, "a")
        with pytest.raises(tambour.ConflictError):
            tambour.PageStore(path, "x")
    assert store.closed
    for use in (lambda: store[0], lambda: len(store), lambda: store.append(b"x" * 4096)):
        with pytest.raises(tambour.ClosedError):
            use()
    store.close()
    for options in ({"page_bytes": 5000}, {"codec": "gzip"}):
        with pytest.raises(tambour.ArgumentError):
            tambour.PageStore(tmp_path / "other", "x", **options)
    with pytest.raises(tambour.NotFoundError):
        tambour.PageStore(tmp_path / "nothing")


def test_damaged_pages(tmp_path):
    path = tmp_path / "drum.pages"
    with tambour.PageStore(path, "x", page_bytes=4096, codec="none") as store:
        for n in range(20):
            store.append(os.urandom(4096))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with tambour.PageStore(path) as store:
        pages, damage = store.verify()
        assert pages == 20 and isinstance(damage[0], tambour.CorruptError) and damage[0].path == str(path)


def test_sqlite(tmp_path):
    path = tmp_path / "a drum's.pages"
    database = tambour.sqlite3.connect(path)
    database.execute("CREATE TABLE drum (name TEXT, made INTEGER)")
    database.executemany("INSERT INTO drum VALUES (?, ?)", [(f"drum {n}", n) for n in range(10_000)])
    database.commit()
    database.close()
    assert path.read_bytes()[:8] == b"TAMBPAGE"
    with tambour.PageStore(path) as store:
        assert store.verify()[1] == []
    database = tambour.sqlite3.connect(path)
    assert database.execute("SELECT count(*), sum(made) FROM drum").fetchone() == (10_000, 49_995_000)
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    plain = sqlite3.connect(tmp_path / "plain.db")
    database.backup(plain)
    assert plain.execute("SELECT count(*) FROM drum").fetchone() == (10_000,)
    plain.close()
    database.close()
    assert path.stat().st_size < (tmp_path / "plain.db").stat().st_size
