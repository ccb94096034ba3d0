"""Measures the picture of the README: bytes and scan time of one table in several formats, into docs/figures/scan.tsv.

    cargo xtask picture --measure [--scale 1] [--rounds 7] [--parts-only]

TPC-H's `lineitem` in the order of its generator. Every contender reads every column with one thread: the sum of each number, of
the length of each string, of the year of each date. Contenders take turns, answers are compared, and the least processor time
counts. ClickHouse is chdb; it also reads the parts that Tambour wrote, as they are. Needs `duckdb` beside oracle/requirements.txt.

With `--parts-only` Tambour writes its parts and does not scan them itself: for a binary that is not optimised, whose parts are
the same and whose times say nothing.
"""

import argparse
import datetime
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import duckdb
from pyarrow import parquet

from conftest import ROOT, ClickHouse, parts_of

FIGURES = ROOT / "docs" / "figures" / "scan.tsv"
NUMBERS = ["l_orderkey", "l_partkey", "l_suppkey", "l_linenumber", "l_quantity", "l_extendedprice", "l_discount", "l_tax"]
STRINGS = ["l_returnflag", "l_linestatus", "l_shipinstruct", "l_shipmode", "l_comment"]
DATES = ["l_shipdate", "l_commitdate", "l_receiptdate"]


def query(length, year):
    """The scan, in a dialect."""
    sums = [f"sum({column})" for column in NUMBERS]
    sums += [f"sum({length}({column}))" for column in STRINGS] + [f"sum({year}({column}))" for column in DATES]
    return f"SELECT {', '.join(sums)} FROM "


OURS, DUCK = query("length", "toYear"), query("strlen", "year")


def size(path):
    """Bytes of a file, or of all files below a directory."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)


class Contender:
    """A table in a format, and what reads it."""

    def __init__(self, system, name, reader, bytes_, scan):
        self.system, self.name, self.reader, self.bytes, self.scan = system, name, reader, bytes_, scan
        self.seconds = []


def inside(run):
    """Processor seconds of this process, and the answer."""
    def scan():
        start = time.process_time()
        answer = run()
        return time.process_time() - start, [float(value) for value in answer]
    return scan


def outside(binary, table):
    """Processor seconds of five queries in a process of ours, less that of one, and the answer."""
    def call(times):
        words = [binary, "sql", table, "--threads", "1", "--format", "tsv"] + ["-c", OURS + table.name] * times
        with tempfile.TemporaryFile() as out:
            child = subprocess.Popen(words, stdout=out, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(child.pid, 0)
            if os.waitstatus_to_exitcode(status) != 0:
                sys.exit(f"{words}: exit {os.waitstatus_to_exitcode(status)}")
            out.seek(0)
            return usage.ru_utime + usage.ru_stime, out.read().decode().splitlines()[0].split("\t")

    def scan():
        (one, answer), (many, _) = call(1), call(5)
        return (many - one) / 4, [float(value) for value in answer]
    return scan


def clickhouse_scan(server, table):
    settings = " SETTINGS max_threads = 1, use_query_condition_cache = 0"
    return inside(lambda: server.rows(OURS + table + settings)[0].split("\t"))


def contenders(options, server, folder):
    """Every table, written."""
    source = folder / "source" / "lineitem.parquet"
    if not source.exists():
        generator = options.generator or pathlib.Path(sys.executable).with_name("tpchgen-cli")
        command = [generator, "parquet", "-s", f"{options.scale:g}", "--tables=lineitem", f"--output-dir={source.parent}"]
        subprocess.run(command, check=True)
    found = []
    for label, codec in (("balance", "auto(balance)"), ("size", "auto(size)")):
        table = folder / label
        if not table.exists():
            words = [options.tambour, "import", source, "--into", table, "--codec", codec]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        parts = parts_of(table)
        written = sum(size(part) for part in parts)
        words = [options.tambour, "attach-script", table, "--sql", "--name", label]
        statements = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        server.run(statements.split(";\n")[0])
        server.attach("default", label, parts)
        if not options.parts_only:
            found.append(Contender("Tambour", codec, "Tambour", written, outside(options.tambour, table)))
        found.append(Contender("Tambour", codec, "ClickHouse", written, clickhouse_scan(server, label)))
    for label, codec in (("lz4", "LZ4"), ("zstd", "ZSTD(3)")):
        server.run(f"CREATE TABLE ch_{label} ENGINE = MergeTree ORDER BY tuple() SETTINGS default_compression_codec = '{codec}' AS "
                   f"SELECT * FROM file('{source}', 'Parquet') SETTINGS schema_inference_make_columns_nullable = 0")
        server.run(f"OPTIMIZE TABLE ch_{label} FINAL")
        written = int(server.rows(f"SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND table = 'ch_{label}'")[0])
        found.append(Contender("ClickHouse", codec, "ClickHouse", written, clickhouse_scan(server, f"ch_{label}")))
    duck = duckdb.connect(str(folder / "table.duckdb"))
    duck.execute("SET threads = 1")
    duck.execute(f"CREATE OR REPLACE TABLE lineitem AS SELECT * FROM '{source}'")
    duck.execute("CHECKPOINT")
    for codec in ("snappy", "zstd"):
        path = folder / f"{codec}.parquet"
        if not path.exists():
            parquet.write_table(parquet.read_table(source), path, compression=codec, compression_level=3 if codec == "zstd" else None)
        run = inside(lambda path=path: duck.execute(f"{DUCK}'{path}'").fetchone())
        found.append(Contender("Parquet", codec, "DuckDB", size(path), run))
    run = inside(lambda: duck.execute(f"{DUCK}lineitem").fetchone())
    found.append(Contender("DuckDB", "its own file", "DuckDB", size(folder / "table.duckdb"), run))
    return found


def machine():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    return f"{os.cpu_count()} cores, {model}, load {os.getloadavg()[0]:.1f}"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--scale", type=float, default=1)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--folder", type=pathlib.Path, default=ROOT / "target" / "picture")
    options.add_argument("--parts-only", action="store_true")
    options.add_argument("--generator", type=pathlib.Path)
    options = options.parse_args()
    options.tambour = pathlib.Path(os.environ.get("TAMBOUR", "none"))
    folder = options.folder / f"{options.scale:g}"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as path:
        server = ClickHouse(path)
        found = contenders(options, server, folder)
        server.run("SYSTEM STOP MERGES")
        for number in range(options.rounds + 1):
            for contender in found:
                seconds, answer = contender.scan()
                if contender is found[0]:
                    expected = answer
                same = all(abs(ours - theirs) <= 1e-9 * abs(theirs) for ours, theirs in zip(answer, expected, strict=True))
                assert same, f"{contender.system} {contender.name}: {answer}, not {expected}"
                # The first round warms the page cache.
                if number > 0:
                    contender.seconds.append(seconds)
        rows = server.rows("SELECT count() FROM ch_lz4")[0]
        versions = f"ClickHouse {server.rows('SELECT version()')[0]}, DuckDB {duckdb.__version__}"
    shutil.rmtree(folder / "table.duckdb", ignore_errors=True)
    head = [
        f"# data: TPC-H lineitem at scale {options.scale:g}, {int(rows):,} rows, in the order of the generator",
        "# time: the least processor time of reading every column with one thread, page cache warm; contenders took turns",
        f"# machine: {machine()}; {versions}",
        f"# date: {datetime.date.today()}",
        f"# command: cargo xtask picture --measure{' --parts-only' if options.parts_only else ''}",
        "system\tformat\tread by\tbytes\tseconds\tmedian",
    ]
    lines = [f"{it.system}\t{it.name}\t{it.reader}\t{it.bytes}\t{min(it.seconds):.4f}\t{statistics.median(it.seconds):.4f}" for it in found]
    FIGURES.parent.mkdir(parents=True, exist_ok=True)
    FIGURES.write_text("\n".join(head + lines) + "\n")
    print(FIGURES.read_text())


main()
