"""The measurements of docs/benchmarks.md at full size, beside ClickHouse (chdb). Prints a table; `--json FILE` keeps the figures.

    cargo xtask scale [--only study,sum,tpch,changes] [--rows 10000000] [--folder DIR]
    cargo xtask scale --only study-queries,texts,lineitem,tpch-queries [--rounds 5] [--threads 1] [--same-parts]
    cargo xtask scale --only listed --queries FILE --table NAME=FILE.parquet:KEY
    cargo xtask scale --only before --before BINARY --rounds 21

The second form runs many queries of `questions.py` in turns with ClickHouse (and DuckDB: `--duckdb PYTHON`), without statistics
(`SET tambour.scan_statistics = false`); `--set` switches more on or off. The queries of TPC-H come from DuckDB's extension `tpch`.

Contenders are interleaved round by round, answers compared, medians shown. CPU seconds are those of the child process (ours) or of
this process (chdb), so that a noisy neighbour counts less.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import before
import changing
import questions
from conftest import ROOT, ClickHouse, parts_of
from race import Duck, Theirs, race
from test_queries import Q1, Q2, STUDY, STUDY_ROWS, TPCH_1, TPCH_6

TAMBOUR = pathlib.Path(os.environ["TAMBOUR"])
if not TAMBOUR.is_absolute():
    TAMBOUR = ROOT / TAMBOUR


def measured(*arguments):
    """Runs our binary; wall seconds, CPU seconds, peak memory in MiB, standard output."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as messages:
        start = time.perf_counter()
        child = subprocess.Popen([str(TAMBOUR), *map(str, arguments)], stdout=out, stderr=messages)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        messages.seek(0)
        if child.returncode != 0:
            sys.exit(f"{arguments}: exit {child.returncode}\n{messages.read().decode()}")
        return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, out.read().decode()


def rows(text):
    return text.splitlines()


def generate_study(server, folder, count):
    path = folder / f"study-{count}.parquet"
    if not path.exists():
        server.run(f"INSERT INTO FUNCTION file('{path}', 'Parquet') {STUDY_ROWS.format(count)} SETTINGS session_timezone = 'UTC'")
    return path


def study(server, folder, count, report):
    source = generate_study(server, folder, count)
    table = folder / "study"
    shutil.rmtree(table, ignore_errors=True)
    wall, cpu, memory, _ = measured("import", source, "--into", table, "--create", STUDY.format("study"))
    report["study import"] = {"rows": count, "seconds": wall, "cpu_seconds": cpu, "peak_mib": memory, "rows_per_cpu_second": count / cpu}
    server.run("DROP TABLE IF EXISTS default.study SYNC")
    server.run(STUDY.format("default.study"))
    server.attach("default", "study", parts_of(table))
    for name, sql in (("Q1", Q1), ("Q2", Q2)):
        expected = server.rows(sql.format("default.study") + " SETTINGS session_timezone = 'UTC'")
        _, _, _, out = measured("sql", table, "--format", "tsv", sql.format("study"))
        assert rows(out) == expected, f"{name}: ours {rows(out)}, ClickHouse {expected}"
        report[f"study {name}"] = {"equal": True, "first_row": expected[0]}
    return table


def sums(server, table, rounds, report):
    """Single-threaded sum of each column. A process of ours runs one query, another one many of them: the difference is free of start-up."""
    for column in ("nq_UInt64", "nq_UInt32", "nq_Float64", "nq_Float32"):
        sql = f"SELECT sum({column}) FROM "
        many = 20
        ours, theirs, ours_cpu, theirs_cpu = [], [], [], []
        answers = set()
        for _ in range(rounds):
            single = measured("sql", table, "--threads", 1, "--format", "tsv", "-c", sql + "study")
            series = measured("sql", table, "--threads", 1, "--format", "tsv", *(["-c", sql + "study"] * (many + 1)))
            answers.update(float(answer) for answer in rows(single[3]) + rows(series[3]))
            ours.append((series[0] - single[0]) / many)
            ours_cpu.append((series[1] - single[1]) / many)
            start, cpu = time.perf_counter(), time.process_time()
            for _ in range(many):
                answer = server.run(sql + "default.study SETTINGS max_threads = 1, use_query_condition_cache = 0")
            theirs.append((time.perf_counter() - start) / many)
            theirs_cpu.append((time.process_time() - cpu) / many)
            answers.add(float(answer))
        low, high = min(answers), max(answers)
        assert high - low <= 1e-6 * abs(high), f"sum({column}): {answers}"
        wall, wall_chdb = statistics.median(ours), statistics.median(theirs)
        cpu, cpu_chdb = statistics.median(ours_cpu), statistics.median(theirs_cpu)
        report[f"sum({column})"] = {"ours_ms": 1000 * wall, "chdb_ms": 1000 * wall_chdb, "ratio": wall / wall_chdb,
                                    "ours_cpu_ms": 1000 * cpu, "chdb_cpu_ms": 1000 * cpu_chdb, "cpu_ratio": cpu / cpu_chdb}


def generate_lineitem(folder, scale):
    source = folder / f"tpch-{scale}" / "lineitem.parquet"
    if not source.exists():
        generator = pathlib.Path(sys.executable).with_name("tpchgen-cli")
        subprocess.run([generator, "parquet", "-s", f"{scale:g}", "--tables=lineitem", f"--output-dir={source.parent}"], check=True)
    return source


def tpch(server, folder, scale, report):
    source = generate_lineitem(folder, scale)
    table = folder / "lineitem"
    for label, flags in (("lineitem import, unsorted", []), ("lineitem import, by l_shipdate", ["--order-by", "l_shipdate,l_orderkey"])):
        shutil.rmtree(table, ignore_errors=True)
        wall, cpu, memory, _ = measured("import", source, "--into", table, "--codec", "LZ4", "--threads", 1, *flags)
        count = int(rows(measured("sql", table, "--format", "tsv", "SELECT count() FROM lineitem")[3])[0])
        report[label] = {"rows": count, "seconds": wall, "cpu_seconds": cpu, "peak_mib": memory, "rows_per_cpu_second": count / cpu}
    for name, sql in (("Q1", TPCH_1), ("Q6", TPCH_6)):
        expected = server.rows(sql.format(f"file('{source}', 'Parquet')"))
        wall, cpu, _, out = measured("sql", table, "--format", "tsv", sql.format("lineitem"))
        got = rows(out)
        same = len(got) == len(expected) and all(
            a == b or abs(float(a) - float(b)) <= 1e-9 * abs(float(b))
            for ours, theirs in zip(got, expected) for a, b in zip(ours.split("\t"), theirs.split("\t")))
        assert same, f"TPC-H {name}: ours {got}, ClickHouse {expected}"
        report[f"TPC-H {name}"] = {"seconds": wall, "cpu_seconds": cpu, "equal": True}


def races(options, report):
    """Queries in turns."""
    folder = options.folder
    server = ClickHouse(folder / "server")
    tables = questions.Tables(TAMBOUR, server, folder, options.same_parts)
    if options.fresh:
        tables.removed()
    asked = []
    if "study-queries" in options.only:
        tables.study(options.rows)
        asked += questions.study()
    if "texts" in options.only:
        tables.texts(options.rows)
        asked += questions.texts()
    if "lineitem" in options.only:
        tables.tpch(options.scale, ["lineitem"])
        asked += questions.lineitem(questions.tpch(folder, options.duckdb))
    if "tpch-queries" in options.only:
        tables.tpch(options.scale)
        asked += questions.tpch(folder, options.duckdb).items()
    if "listed" in options.only:
        for table in options.table:
            name, source, order = re.fullmatch("(\\w+)=([^:]*):?(.*)", table).groups()
            tables.add(name, pathlib.Path(source).absolute(), order=order or "tuple()")
        asked += questions.listed(options.queries)
    wanted = [query for query in asked if re.search(options.match, query[0])]
    switches = [f"SET {switch}" for switch in ["tambour.scan_statistics = false", *options.set]]
    theirs = None if options.alone else Theirs(server, tables.database, options.threads)
    duck = Duck(options.duckdb, folder / "duckdb", tables.sources, options.threads) if options.duckdb else None
    race(TAMBOUR, tables.ours, theirs, wanted, options.rounds, options.threads, switches, duck, report)


RACES = ("study-queries", "texts", "lineitem", "tpch-queries", "listed")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--only", default="study,sum,tpch")
    options.add_argument("--rows", type=int, default=10_000_000)
    options.add_argument("--scale", type=float, default=1)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--folder", type=pathlib.Path, default=ROOT / "target" / "scale")
    options.add_argument("--json", type=pathlib.Path)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--match", default="", help="only queries whose names this expression finds")
    options.add_argument("--set", action="append", default=[], metavar="NAME = VALUE")
    options.add_argument("--same-parts", action="store_true", help="ClickHouse reads our parts, not its own")
    options.add_argument("--fresh", action="store_true", help="write our tables again")
    options.add_argument("--alone", action="store_true", help="without ClickHouse")
    options.add_argument("--duckdb", metavar="PYTHON", help="a Python with duckdb, for a third contender")
    options.add_argument("--queries", type=pathlib.Path, help="a file of queries for `listed`")
    options.add_argument("--table", action="append", default=[], metavar="NAME=FILE:KEY")
    options.add_argument("--before", type=pathlib.Path, metavar="BINARY", help="an older program for `before`")
    options = options.parse_args()
    options.only = options.only.split(",")
    options.folder.mkdir(parents=True, exist_ok=True)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    report = {}
    if set(options.only) & set(RACES):
        races(options, report)
        if options.json:
            options.json.write_text(json.dumps(report, indent=1))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as path:
        server = ClickHouse(path)
        if "study" in options.only or "sum" in options.only:
            table = study(server, options.folder, options.rows, report)
        if "sum" in options.only:
            sums(server, table, options.rounds, report)
        if "tpch" in options.only:
            tpch(server, options.folder, options.scale, report)
        if "before" in options.only:
            sources = generate_study(server, options.folder, options.rows), generate_lineitem(options.folder, options.scale)
            before.measure(TAMBOUR, options.before, options.folder, *sources, options.rounds, report)
        if "changes" in options.only:
            changing.measure(TAMBOUR, server, options.folder, options, report)
    for name, figures in report.items():
        shown = ", ".join(f"{key} {value:.3f}" if isinstance(value, float) else f"{key} {value}" for key, value in figures.items())
        print(f"{name:<34} {shown}")
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))


main()
