"""An older binary beside today's over the queries of docs/benchmarks.md, in turns: each reads the tables that it wrote itself.

A figure is the median of a query's share of a process's CPU time, start included; answers must be the same.
"""

import os
import shutil
import statistics
import subprocess
import sys

from test_queries import Q1, Q2, STUDY, TPCH_1, TPCH_6

PLAIN = "SET tambour.scan_statistics = false"
# Name, table, query, and how many times a process runs it.
QUERIES = [
    *((f"sum({name})", "study", f"SELECT sum({name}) FROM {{}}", 20) for name in ("nq_UInt64", "nq_UInt32", "nq_Float64", "nq_Float32")),
    ("Q1", "study", Q1, 20), ("Q2", "study", Q2, 5),
    ("TPC-H 1", "unsorted", TPCH_1, 3), ("TPC-H 6", "unsorted", TPCH_6, 10),
    ("TPC-H 1, sorted", "sorted", TPCH_1, 3), ("TPC-H 6, sorted", "sorted", TPCH_6, 10),
    ("start, one sum", "study", "SELECT sum(nq_UInt64) FROM {}", 1),
]


class Contender:
    def __init__(self, binary, folder):
        self.binary, self.folder = str(binary), folder
        # One from before there was such a switch has no statistics to switch off.
        knows = subprocess.run([self.binary, "sql", PLAIN], capture_output=True, check=False)
        self.switches = ["-c", PLAIN] if knows.returncode == 0 and b"no effect" not in knows.stderr else []

    def run(self, *words):
        """CPU seconds, and what the process printed."""
        child = subprocess.Popen([self.binary, *map(str, words)], stdout=subprocess.PIPE)
        out = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            sys.exit(f"{self.binary} {words}: exit {child.returncode}")
        return usage.ru_utime + usage.ru_stime, out

    def load(self, study, lineitem):
        """CPU seconds of each import."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        plain = ("import", lineitem, "--codec", "LZ4", "--threads", 1, "--into")
        imports = {
            "import study": ("import", study, "--create", STUDY.format("study"), "--threads", 1, "--into", self.folder / "study"),
            "import lineitem": (*plain, self.folder / "unsorted"),
            "import lineitem, sorted": (*plain, self.folder / "sorted", "--order-by", "l_shipdate,l_orderkey"),
        }
        return {name: self.run(*words)[0] for name, words in imports.items()}

    def ask(self, table, sql, many):
        words = ["sql", self.folder / table, "--threads", 1, "--format", "tsv", *self.switches, *["-c", sql.format(table)] * many]
        return self.run(*words)


def measure(binary, older, folder, study, lineitem, rounds, report):
    """`rounds` of queries, and a third as many of imports."""
    contenders = [Contender(older, folder / "before"), Contender(binary, folder / "now")]
    found = {}
    for _ in range(max(1, rounds // 3)):
        before, now = (contender.load(study, lineitem) for contender in contenders)
        for name, time in before.items():
            found.setdefault(name, []).append((time, now[name]))
    for _ in range(rounds):
        for name, table, sql, many in QUERIES:
            (before, theirs), (now, ours) = (contender.ask(table, sql, many) for contender in contenders)
            assert ours == theirs, f"{name}: before {theirs[:200]}, now {ours[:200]}"
            found.setdefault(name, []).append((before / many, now / many))
    for name, pairs in found.items():
        before, now = (statistics.median(times) for times in zip(*pairs))
        report[name] = {"before_ms": 1000 * before, "now_ms": 1000 * now, "ratio": now / before, "rounds": len(pairs)}
