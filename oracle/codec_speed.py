"""How fast ClickHouse and we decode the same column files, codec by codec.

    python codec_speed.py BLOCKS [--rows N] [--rounds N] [--only TEXT] [--directory DIR]

ClickHouse (chdb) writes each generated column with each codec that suits it; its speed is that of `count() WHERE NOT
ignore(x)` on one thread, by the least processor time of some runs, with and without the time of the same scan over a
column of no bytes to decode (a constant in T64). BLOCKS is the program `cargo build --release -p tambour-codec --example blocks`: it decodes the
very same files. GB/s of values; not a test.
"""

import argparse
import pathlib
import shutil
import subprocess
import time

import numpy
from chdb.session import Session

SETTINGS = "min_bytes_for_wide_part = 0, min_rows_for_wide_part = 0"


def columns(rows):
    """Name, type and values of each column, and the codecs that are tried on it."""
    random = numpy.random.default_rng(7)
    integers = ["DoubleDelta", "T64", "Delta", "GCD"]
    floats = ["Gorilla", "FPC", "ALP"]

    def rising(gaps, start=1_700_000_000, kind="uint32"):
        return (start + numpy.cumsum(gaps)).astype(kind)

    gaps = random.geometric(1 / 40, rows)
    yield "ids32", "UInt32", rising(gaps, 0), integers
    yield "clock32", "UInt32", rising(10 + random.integers(0, 2, rows)), integers
    yield "ticks32", "UInt32", rising(random.random(rows) < 0.02), ["DoubleDelta"]
    yield "steps32", "UInt32", rising(numpy.full(rows, 7)), integers
    yield "noise32", "UInt32", random.integers(0, 1 << 32, rows).astype("uint32"), integers
    yield "small16", "UInt16", random.integers(0, 3000, rows).astype("uint16"), integers
    yield "ids64", "UInt64", rising(gaps, 0, "uint64"), integers
    yield "jitter64", "UInt64", rising(1000 + random.integers(-3, 4, rows), 1_700_000_000_000, "uint64"), integers
    yield "arrival64", "Int64", rising(random.exponential(500, rows).astype("int64"), 0, "int64"), integers
    yield "steps64", "UInt64", rising(numpy.full(rows, 7), 0, "uint64"), ["DoubleDelta"]
    yield "noise64", "Int64", random.integers(-(1 << 62), 1 << 62, rows), ["DoubleDelta"]
    walk = 20 + numpy.cumsum(random.normal(0, 0.02, rows))
    yield "decimal64", "Float64", numpy.round(walk, 2), floats
    yield "walk64", "Float64", walk, floats
    held = numpy.repeat(numpy.round(walk[: rows // 20 + 1], 1), 20)[:rows]
    yield "held64", "Float64", held, floats
    yield "noise64f", "Float64", random.random(rows), floats
    steps = numpy.cumsum(random.integers(-1, 2, rows) / 8) + 100
    yield "eighths32", "Float32", steps.astype("float32"), floats
    yield "walk32", "Float32", walk.astype("float32"), floats


def least(session, query, rounds):
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        session.query(query, "TSV")
        best = min(best, time.process_time() - start)
    return best


def scan(session, table, rounds):
    query = f"SELECT count() FROM d.{table} WHERE NOT ignore(x) SETTINGS max_threads = 1"
    return least(session, query, rounds)


def written(session, table, kind, codec, source):
    """Writes a table of one part; the file of its column."""
    session.query(f"DROP TABLE IF EXISTS d.{table} SYNC")
    session.query(
        f"CREATE TABLE d.{table} (x {kind} CODEC({codec})) ENGINE = MergeTree ORDER BY tuple() SETTINGS {SETTINGS}"
    )
    session.query(f"INSERT INTO d.{table} SELECT * FROM file('{source}', 'RowBinary', 'x {kind}')")
    session.query(f"OPTIMIZE TABLE d.{table} FINAL")
    path = session.query(f"SELECT path FROM system.parts WHERE active AND table = '{table}'", "TSV")
    parts = path.bytes().decode().split()
    assert len(parts) == 1, parts
    session.query(f"SYSTEM STOP MERGES d.{table}")
    return pathlib.Path(parts[0]) / "x.bin"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("blocks", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="")
    parser.add_argument("--directory", type=pathlib.Path, default=pathlib.Path("/dev/shm/codec-speed"))
    arguments = parser.parse_args()
    shutil.rmtree(arguments.directory, ignore_errors=True)
    arguments.directory.mkdir(parents=True)
    session = Session(str(arguments.directory / "chdb"))
    for query in ["CREATE DATABASE d", "SET allow_suspicious_codecs = 1", "SET enable_alp_codec = 1"]:
        session.query(query)
    source = arguments.directory / "values.bin"
    print("column codec bytes/value chdb GB/s chdb-empty GB/s ours GB/s ours/chdb ours/(chdb-empty)")
    for name, kind, values, codecs in columns(arguments.rows):
        if arguments.only not in name:
            continue
        values.tofile(source)
        zeros = arguments.directory / "zeros.bin"
        numpy.zeros_like(values).tofile(zeros)
        integer = f"UInt{8 * values.itemsize}"
        written(session, "empty", integer, "T64", zeros)
        zeros.unlink()
        for codec in ["NONE", *codecs]:
            file = written(session, "t", kind, codec, source)
            scan(session, "t", 1)
            taken, empty = scan(session, "t", arguments.rounds), scan(session, "empty", arguments.rounds)
            command = [arguments.blocks, str(arguments.rounds), str(file)]
            run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
            if run.returncode != 0:
                # ClickHouse chooses ALP's RD variant for some columns, which we refuse.
                print(f"{name:10} {codec:12} is refused", flush=True)
                continue
            report = run.stdout.split("\t")
            stored, decoded, ours = int(report[1]), int(report[2]), float(report[3])
            assert decoded == values.nbytes, (decoded, values.nbytes)
            chdb = values.nbytes / 1e9 / taken
            net = values.nbytes / 1e9 / max(taken - empty, 1e-9)
            print(
                f"{name:10} {codec:12} {stored / len(values):6.3f} {chdb:7.2f} {net:7.2f} {ours:7.2f}"
                f" {ours / chdb:6.2f}x {ours / net:6.2f}x",
                flush=True,
            )
    session.close()
    shutil.rmtree(arguments.directory)


if __name__ == "__main__":
    main()
