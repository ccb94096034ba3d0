"""Queries side by side: one process of ours, ClickHouse (chdb) in this one, perhaps DuckDB in a third, query by query in turns.

What counts is processor time of the whole process. Ours runs one long script; between two queries stands a *gate*, a result of many
letters, at which it waits until somebody reads on: so only one side runs at a time, and the clock of the other process can be read
while it stands still.
"""

import fcntl
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter

GATE = 65536
LETTER = "\u00a4".encode()
PIPE = 4096
SETTINGS = " SETTINGS max_threads = {}, use_query_condition_cache = 0, session_timezone = 'UTC', join_use_nulls = 1"


def clock_of(pid):
    """The processor clock of another process."""
    return (~pid << 3) | 2


class Ours:
    """A process of ours that runs the statements of a script, one whenever `next` is called."""

    def __init__(self, binary, tables, statements, threads=1, switches=()):
        gate = f"SELECT repeat('{LETTER.decode()}', {GATE // len(LETTER)})"
        script = [*switches, gate, gate, gate, gate]
        for statement in statements:
            script += [statement, gate]
        self.file = tempfile.NamedTemporaryFile("w", suffix=".sql")
        self.file.write(";\n".join(script) + ";\n")
        self.file.flush()
        names = [f"{name}={path}" for name, path in tables.items()]
        self.messages = tempfile.TemporaryFile()
        words = [str(binary), "sql", *names, "--threads", str(threads), "--format", "tsv", "--no-header", "-f", self.file.name]
        self.child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=self.messages)
        self.out = self.child.stdout.fileno()
        fcntl.fcntl(self.out, fcntl.F_SETPIPE_SZ, PIPE)
        self.rest = b""
        self.clock = clock_of(self.child.pid)
        self.until_gate()
        # What a gate costs by itself.
        gates = [self.next() for _ in range(3)]
        self.idle, self.idle_wall = (statistics.median(it[place] for it in gates) for place in (1, 2))

    def until_gate(self):
        """What comes before the next gate, as text; the process stands at the gate then."""
        got = self.rest
        while LETTER not in got:
            more = os.read(self.out, PIPE)
            if not more:
                self.messages.seek(0)
                sys.exit(f"ours ended: {self.messages.read().decode(errors='replace')[-2000:]}")
            got += more
        before, self.rest = got.split(LETTER, 1)
        return before.decode("utf-8", "surrogateescape")

    def next(self):
        """Runs the next query: its rows, processor and wall seconds."""
        cpu, wall = time.clock_gettime(self.clock), time.perf_counter()
        while b"\n" not in self.rest:
            self.rest = os.read(self.out, PIPE)
        self.rest = self.rest.split(b"\n", 1)[1]
        text = self.until_gate()
        wall = time.perf_counter() - wall
        # It is about to wait: what it does until then belongs to the gate.
        time.sleep(0.0005)
        cpu = time.clock_gettime(self.clock) - cpu
        return text.splitlines(), cpu, wall

    def end(self):
        self.child.kill()
        self.child.wait()


class Theirs:
    """ClickHouse in this process."""

    def __init__(self, server, database, threads=1):
        self.server, self.database, self.settings = server, database, SETTINGS.format(threads)
        server.run(f"USE {database}")

    def run(self, sql):
        cpu, wall = time.process_time(), time.perf_counter()
        text = self.server.run(sql + self.settings)
        return text.splitlines(), time.process_time() - cpu, time.perf_counter() - wall


DUCKDB = """
import json, sys, time, duckdb
base = duckdb.connect(sys.argv[1])
base.execute("SET enable_progress_bar = false")
base.execute(f"SET threads = {int(sys.argv[3])}")
known = {name for name, in base.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
for name, source in json.loads(sys.argv[2]).items():
    if name not in known:
        base.execute(f"CREATE TABLE {name} AS SELECT * FROM '{source}'")
base.execute("CHECKPOINT")
for line in sys.stdin:
    cpu, wall = time.process_time(), time.perf_counter()
    try:
        rows = base.execute(json.loads(line)).fetchall()
        answer = [len(rows), time.process_time() - cpu, time.perf_counter() - wall]
    except Exception as error:
        answer = [str(error), 0, 0]
    print(json.dumps(answer), flush=True)
"""


class Duck:
    """DuckDB of another Python, over tables of the same files."""

    WORDS = (("uniqExact(", "count(DISTINCT "), ("toStartOfHour(", "date_trunc('hour', "), ("count()", "count(*)"))

    def __init__(self, python, database, sources, threads=1):
        files = json.dumps({name: str(path) for name, path in sources.items()})
        words = [python, "-c", DUCKDB, str(database), files, str(threads)]
        self.child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, sql):
        for ours, theirs in self.WORDS:
            sql = sql.replace(ours, theirs)
        print(json.dumps(sql), file=self.child.stdin, flush=True)
        return json.loads(self.child.stdout.readline())


def same(a, b):
    if a == b:
        return True
    ours, theirs = a.split("\t"), b.split("\t")
    return len(ours) == len(theirs) and all(x == y or close(x, y) for x, y in zip(ours, theirs))


def close(a, b):
    try:
        return math.isclose(float(a), float(b), rel_tol=1e-9, abs_tol=1e-6)
    except ValueError:
        return False


def equal(ours, theirs, is_loose):
    """True if rows are equal, in any order, numbers up to rounding; of a query that may choose its rows only their number counts."""
    if len(ours) != len(theirs):
        return False
    if is_loose or Counter(ours) == Counter(theirs):
        return True
    return all(map(same, ours, theirs)) or all(map(same, sorted(ours), sorted(theirs)))


def race(binary, tables, theirs, queries, rounds=5, threads=1, switches=(), duck=None, report=None, is_shown=True):
    """Runs `queries` (name, text, and whether rows may be chosen freely) in turns; figures by name."""
    script = [text for _ in range(rounds + 1) for _, text, *_ in queries]
    ours = Ours(binary, tables, script, threads, switches)
    figures = {name: {"ours": [], "chdb": [], "duckdb": [], "ours_wall": [], "chdb_wall": []} for name, *_ in queries}
    wrong = []
    for turn in range(rounds + 1):
        for name, text, *loose in queries:
            rows, cpu, wall = ours.next()
            found, their_cpu, their_wall = theirs.run(text) if theirs else (rows, 0, 0)
            ducks = duck.run(text) if duck else [0, 0, 0]
            if turn == 0:
                if not equal(rows, found, any(loose)):
                    wrong.append(name)
                    print(f"{name}: DIFFERENT ANSWERS: {text}\n  ours   {rows[:3]}\n  theirs {found[:3]}", file=sys.stderr)
                continue
            figure = figures[name]
            figure["ours"].append(cpu - ours.idle)
            figure["chdb"].append(their_cpu)
            figure["ours_wall"].append(wall - ours.idle_wall)
            figure["chdb_wall"].append(their_wall)
            if duck and not isinstance(ducks[0], str):
                figure["duckdb"].append(ducks[1])
    ours.end()
    result = report if report is not None else {}
    for name, figure in figures.items():
        middle = {key: 1000 * statistics.median(values) for key, values in figure.items() if values}
        line = {"ours_cpu_ms": middle["ours"], "chdb_cpu_ms": middle["chdb"], "equal": name not in wrong,
                "ours_ms": middle["ours_wall"], "chdb_ms": middle["chdb_wall"]}
        if middle["chdb"]:
            line["ratio"] = middle["ours"] / middle["chdb"]
        if "duckdb" in middle:
            line["duckdb_cpu_ms"], line["ratio_duckdb"] = middle["duckdb"], middle["ours"] / middle["duckdb"]
        result[name] = line
        if is_shown:
            beside = f"  duckdb {middle['duckdb']:9.2f} ms  {line['ratio_duckdb']:6.2f}" if "duckdb" in middle else ""
            print(f"{name:<34} {middle['ours']:9.2f} ms  chdb {middle['chdb']:9.2f} ms  {line.get('ratio', 0):6.2f}{beside}"
                  f"{'' if line['equal'] else '  DIFFERENT'}", flush=True)
    ratios = [result[name]["ratio"] for name in figures if result[name].get("ratio", 0) > 0]
    if ratios and is_shown:
        print(f"{'geometric mean':<34} {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f} of chdb over {len(ratios)}", flush=True)
    return result
