"""Statements that change a table of many rows, in turns with ClickHouse; then FINAL, and opening tables of many parts.

Every round begins with the same parts on both sides (linked, so that a round costs no copy) and ends with the same rows.
Processor time is that of our process from start to end, and of this process for ClickHouse with its threads.
"""

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from conftest import parts_of

COLUMNS = "k UInt64, d Date, u UInt32, f Float64, s String, l LowCardinality(String), n Nullable(Int32)"
ROWS = (
    "SELECT number AS k, toDate('2024-01-01') + intDiv(number * 4, {0}) * 31 AS d, cityHash64(number) % 1000000 AS u, u / 7 AS f, "
    "concat('host-', toString(cityHash64(number, 1) % 50000)) AS s, concat('l', toString(u % 50)) AS l, "
    "if(u % 10 = 0, NULL, u - 500000) AS n FROM numbers({0})"
)
KEY = "PARTITION BY toYYYYMM(d) ORDER BY k"
SYNC = " SETTINGS mutations_sync = 2, lightweight_deletes_sync = 2"
SUMS = "SELECT count(), sum(k), sum(u), sum(f > 1000), sum(length(s)), uniqExact(l), sum(n) FROM {}"

# What a thousandth of the rows is: spread over all granules, or lying together.
CHANGES = [
    ("DELETE FROM, spread", "DELETE FROM {} WHERE k % 1000 = 7"),
    ("DELETE FROM, together", "DELETE FROM {} WHERE k BETWEEN 3000000 AND 3009999"),
    ("ALTER UPDATE, spread", "ALTER TABLE {} UPDATE u = u + 1 WHERE k % 1000 = 7"),
    ("ALTER UPDATE, together", "ALTER TABLE {} UPDATE u = u + 1 WHERE k BETWEEN 3000000 AND 3009999"),
    ("ALTER DELETE, spread", "ALTER TABLE {} DELETE WHERE k % 1000 = 7"),
    ("ALTER DELETE, together", "ALTER TABLE {} DELETE WHERE k BETWEEN 3000000 AND 3009999"),
]

REPLACING = {
    "two numbers": "SELECT intHash64(number) % ({0} * 3) AS k, toUInt32({1}) AS v FROM numbers({0})",
    "with a text and a time": "SELECT intHash64(number) % ({0} * 3) AS k, toUInt32({1}) AS v, concat('text ', toString(number % 100000)) AS s, "
    "toDateTime('2024-01-01 00:00:00', 'UTC') + number AS t FROM numbers({0})",
}
TYPES = {"two numbers": "k UInt64, v UInt32", "with a text and a time": "k UInt64, v UInt32, s String, t DateTime('UTC')"}
FINALS = ["SELECT count(), sum(k), sum(v) FROM {} FINAL", "SELECT * FROM {} FINAL WHERE k % 1000000 = 1 ORDER BY k"]


class Both:
    """A table on both sides."""

    def __init__(self, tambour, server, folder, threads):
        self.tambour, self.server, self.folder, self.threads = tambour, server, folder, threads

    def ours(self, *arguments):
        """Seconds, processor seconds and the rows of our process."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as messages:
            start = time.perf_counter()
            child = subprocess.Popen([str(self.tambour), *map(str, arguments)], stdout=out, stderr=messages)
            _, status, usage = os.wait4(child.pid, 0)
            wall = time.perf_counter() - start
            child.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            messages.seek(0)
            if child.returncode != 0:
                sys.exit(f"{arguments}: exit {child.returncode}\n{messages.read().decode()}")
            return wall, usage.ru_utime + usage.ru_stime, out.read().decode().splitlines()

    def sql(self, table, statement):
        return self.ours("sql", table, "--write", "--threads", self.threads, "--format", "tsv", "--no-header", statement)

    def theirs(self, statement):
        wall, cpu = time.perf_counter(), time.process_time()
        rows = self.server.rows(f"{statement}{', ' if 'SETTINGS' in statement else ' SETTINGS '}max_threads = {self.threads}")
        return time.perf_counter() - wall, time.process_time() - cpu, rows

    def begin(self, name, create, origin):
        """The parts of `origin`, linked into a new table on each side."""
        mine = self.folder / name
        shutil.rmtree(mine, ignore_errors=True)
        shutil.copytree(origin, mine, copy_function=os.link)
        # The sidecar is rewritten in place of the old one, but its lock must be its own.
        self.server.run(f"DROP TABLE IF EXISTS default.{name} SYNC")
        self.server.run(f"CREATE TABLE default.{name} {create}")
        detached = self.server.directory("default", name) / "detached"
        for part in parts_of(origin):
            shutil.copytree(part, detached / part.name, copy_function=os.link)
            self.server.run(f"ALTER TABLE default.{name} ATTACH PART '{part.name}'")
        return mine


def parquet(server, folder, name, sql):
    path = folder / f"{name}.parquet"
    if not path.exists():
        server.run(f"INSERT INTO FUNCTION file('{path}', 'Parquet') {sql} SETTINGS session_timezone = 'UTC'")
    return path


def medians(name, ours, theirs, report, **more):
    mine, other = (statistics.median(it[1] for it in side) for side in (ours, theirs))
    walls = [statistics.median(it[0] for it in side) for side in (ours, theirs)]
    report[name] = {"ours_cpu": mine, "chdb_cpu": other, "ratio": mine / other, "ours_s": walls[0], "chdb_s": walls[1], **more}


def changes(both, count, rounds, report):
    """Each change alone on the same parts, and INSERT … SELECT of all rows."""
    source = parquet(both.server, both.folder, f"changing-{count}", ROWS.format(count))
    create = f"({COLUMNS}) ENGINE = MergeTree {KEY}"
    origin = both.folder / "changing_origin"
    shutil.rmtree(origin, ignore_errors=True)
    both.ours("import", source, "--into", origin, "--codec", "LZ4", "--create", f"CREATE TABLE changing_origin {create}")
    for name, statement in CHANGES:
        ours, theirs = [], []
        for _ in range(rounds):
            table = both.begin("changing", create, origin)
            ours.append(both.sql(table, statement.format("changing")))
            theirs.append(both.theirs(statement.format("default.changing") + SYNC))
            got, expected = both.sql(table, SUMS.format("changing"))[2], both.theirs(SUMS.format("default.changing"))[2]
            assert got == expected, f"{name}: ours {got}, ClickHouse {expected}"
        medians(name, ours, theirs, report)
    ours, theirs = [], []
    for _ in range(rounds):
        table = both.begin("changing", create, origin)
        both.sql(table, "TRUNCATE TABLE changing")
        both.server.run("TRUNCATE TABLE default.changing")
        ours.append(both.ours("sql", table, origin, "--write", "--threads", both.threads, "INSERT INTO changing SELECT * FROM changing_origin"))
        both.server.run(f"CREATE TABLE IF NOT EXISTS default.changing_origin {create}")
        if both.server.rows("SELECT count() FROM default.changing_origin") != [str(count)]:
            both.server.attach("default", "changing_origin", parts_of(origin))
        theirs.append(both.theirs(f"INSERT INTO default.changing SELECT * FROM default.changing_origin SETTINGS max_insert_threads = {both.threads}"))
        got, expected = both.sql(table, SUMS.format("changing"))[2], both.theirs(SUMS.format("default.changing"))[2]
        assert got == expected, f"INSERT SELECT: ours {got}, ClickHouse {expected}"
    medians("INSERT SELECT", ours, theirs, report, rows_per_cpu_second=count / statistics.median(it[1] for it in ours))


def finals(both, count, rounds, report):
    """FINAL over five parts of a ReplacingMergeTree."""
    for label, rows in REPLACING.items():
        create = f"({TYPES[label]}) ENGINE = ReplacingMergeTree(v) ORDER BY k"
        origin = both.folder / "replacing_origin"
        shutil.rmtree(origin, ignore_errors=True)
        for part in range(5):
            source = parquet(both.server, both.folder, f"replacing-{label.replace(' ', '_')}-{count}-{part}", rows.format(count // 5, part))
            how = ["--append"] if part else ["--codec", "LZ4", "--create", f"CREATE TABLE replacing_origin {create}"]
            both.ours("import", source, "--into", origin, *how)
        table = both.begin("replacing", create, origin)
        for query in FINALS:
            ours, theirs = [], []
            for _ in range(rounds):
                ours.append(both.sql(table, query.format("replacing")))
                theirs.append(both.theirs(query.format("default.replacing")))
                assert ours[-1][2] == theirs[-1][2], f"{query}: ours {ours[-1][2][:3]}, ClickHouse {theirs[-1][2][:3]}"
            medians(f"FINAL, {label}: {query.split(' FROM')[0][7:]}", ours, theirs, report)


def openings(both, parts, report):
    """Tables of many parts, opened for a query that reads none of their columns."""
    create = "(p UInt32, k UInt64, v String) ENGINE = MergeTree PARTITION BY p ORDER BY k"
    table = both.folder / f"opening_{parts}"
    # An import makes at most 10,000 partitions.
    for first in range(0, 0 if table.exists() else parts, 10_000):
        here = min(parts - first, 10_000)
        rows = f"SELECT toUInt32({first} + intDiv(number, 10)) AS p, number AS k, toString(number) AS v FROM numbers({here * 10})"
        how = ["--append"] if first else ["--create", f"CREATE TABLE opening_{parts} {create}"]
        both.ours("import", parquet(both.server, both.folder, f"opening-{parts}-{first}", rows), "--into", table, *how)
    query = f"SELECT count(), (SELECT count() FROM system.parts) FROM opening_{parts}"
    both.ours("sql", table, query)
    times = [both.ours("sql", table, "--format", "tsv", "--no-header", query) for _ in range(5)]
    assert times[0][2] == [f"{parts * 10}\t{parts}"], times[0][2]
    report[f"opening {parts} parts"] = {"ours_cpu": statistics.median(it[1] for it in times), "ours_s": statistics.median(it[0] for it in times)}


def measure(tambour, server, folder, options, report):
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    both = Both(tambour, server, folder, options.threads)
    changes(both, options.rows, options.rounds, report)
    finals(both, options.rows, options.rounds, report)
    for parts in (5_000, 100_000):
        openings(both, parts, report)
