"""Queries over tables, data frames and record stores; and the command line in the package."""

import signal
import subprocess
import sys
import threading
import time

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tambour


def test_tables_by_any_name(hits):
    for table in (hits, hits.path):
        rows = tambour.sql("SELECT page, sum(visits) AS n FROM h GROUP BY page ORDER BY page", h=table)
        assert rows.to_pylist() == [{"page": "/", "n": 70}, {"page": "/about", "n": 1}]
    assert hits.sql("SELECT count() FROM hits").to_pylist() == [{"count()": 3}]


@pytest.mark.parametrize(
    "make",
    [
        lambda: pa.table({"n": [1, 2, 3], "s": ["a", "b", "a"]}),
        lambda: pd.DataFrame({"n": [1, 2, 3], "s": ["a", "b", "a"]}),
        lambda: pl.DataFrame({"n": [1, 2, 3], "s": ["a", "b", "a"]}),
        lambda: pa.record_batch({"n": [1, 2, 3], "s": ["a", "b", "a"]}),
    ],
    ids=["pyarrow", "pandas", "polars", "batch"],
)
def test_data(make):
    rows = tambour.sql("SELECT s, sum(n) AS n FROM t GROUP BY s ORDER BY s", t=make())
    assert rows.to_pylist() == rows.to_pylist() == [{"s": "a", "n": 4}, {"s": "b", "n": 2}]


def test_join_of_table_and_data(hits):
    names = pl.DataFrame({"page": ["/", "/about"], "title": ["Home", "About"]})
    rows = hits.sql(
        "SELECT title, max(visits) AS most FROM hits JOIN names USING (page) GROUP BY title ORDER BY title", names=names
    )
    assert rows.to_polars().rows() == [("About", 1), ("Home", 40)]


def test_result_is_a_stream(numbers):
    rows = numbers.sql("SELECT n FROM numbers WHERE n < 50000")
    assert pa.table(rows).num_rows == 50_000
    assert sum(batch.num_rows for batch in rows.to_reader()) == 50_000
    assert pl.DataFrame(rows).height == 50_000
    assert pa.schema(rows).names == ["n"]
    again = tambour.sql("SELECT count() AS n FROM r", r=rows)
    assert again.to_pylist() == [{"n": 50_000}]


@pytest.mark.parametrize(
    "query, error",
    [
        ("SELECT nope FROM hits", tambour.TambourError),
        ("SELECT * FROM nope", tambour.NotFoundError),
        ("SELEC 1", tambour.TambourError),
        ("SELECT nosuch(1)", tambour.TambourError),
    ],
)
def test_errors_come_at_once(hits, query, error):
    with pytest.raises(error):
        hits.sql(query)


def test_errors_while_rows_come(numbers):
    rows = numbers.sql("SELECT intDiv(1, n - 70000) AS x FROM numbers")
    with pytest.raises(tambour.TambourError):
        rows.to_arrow()
    with pytest.raises(tambour.TambourError):
        for _ in rows.batches():
            pass


def test_options(numbers):
    rows = numbers.sql("SELECT text, count() AS n FROM numbers GROUP BY text", threads=1, memory_bytes=64 << 20)
    assert rows.to_arrow().num_rows == 97


def test_records(tmp_path):
    with tambour.RecordStore(tmp_path / "log", "a") as store:
        store["events"].extend([f'{{"user": {n % 3}, "ok": true}}' for n in range(300)])
        rows = tambour.sql("SELECT user, count() AS n FROM events GROUP BY user ORDER BY user", events=store["events"])
        assert [row["n"] for row in rows.to_pylist()] == [100, 100, 100]


def test_ctrl_c_ends_a_query(numbers):
    slow = "SELECT count() AS n FROM numbers AS a, numbers AS b WHERE a.half * b.half = 0.123"
    main = threading.main_thread().ident

    def press():
        time.sleep(0.7)
        signal.pthread_kill(main, signal.SIGINT)

    presser = threading.Thread(target=press)
    presser.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        numbers.sql(slow).to_arrow()
    presser.join()
    assert time.monotonic() - start < 30


def test_ctrl_c_ends_an_import(tmp_path):
    path = tmp_path / "large.csv"
    with path.open("w") as file:
        file.write("n,text\n")
        for n in range(400_000):
            file.write(f"{n},some text {n * 7919 % 1000}\n")
    main = threading.main_thread().ident
    begun = threading.Event()

    def press():
        begun.wait()
        signal.pthread_kill(main, signal.SIGINT)

    presser = threading.Thread(target=press)
    presser.start()

    def told(what, *rest):
        # The signal is taken by the next callback at the latest, or by the work between two of them.
        if what == "rows":
            begun.set()
            time.sleep(0.05)

    with pytest.raises(KeyboardInterrupt):
        tambour.import_files(path, tmp_path / "t", progress=told)
    presser.join()
    assert not (tmp_path / "t" / "tambour.json").exists()
    assert len(tambour.import_files(path, tmp_path / "t")) == 400_000


def command_line(*words):
    return subprocess.run([sys.executable, "-m", "tambour", *words], capture_output=True, text=True)


def test_command_line(hits):
    told = command_line("sql", hits.path, "-c", "SELECT sum(visits) FROM hits", "--format", "csv")
    assert (told.returncode, told.stdout.splitlines()[-1]) == (0, "71"), told.stderr
    version = command_line("--version")
    assert version.stdout.split() == ["tambour", tambour.__version__]
    assert command_line("no-such-command").returncode == 2
    assert command_line("verify", "/nowhere").returncode == 1
