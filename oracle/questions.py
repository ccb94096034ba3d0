"""What `race` asks: the study's table, texts of 20 to 20,000 values, TPC-H; and the tables for it, ours and ClickHouse's.

ClickHouse has its own table of the same rows with its default codec, LZ4, merged to one part; `--same-parts` lets it read ours.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys

from conftest import parts_of
from test_queries import STUDY, STUDY_ROWS

VALUES = (20, 200, 2000, 20000)

TEXTS = "CREATE TABLE {} (id UInt32, " + ", ".join(f"s{n} String, l{n} LowCardinality(String)" for n in VALUES) + \
    ") ENGINE = MergeTree ORDER BY id"
TEXTS_ROWS = "SELECT toUInt32(number) AS id, " + ", ".join(
    f"concat('host-', lower(hex(cityHash64(cityHash64(number, {n}) % {n})))) AS s{n}, s{n} AS l{n}" for n in VALUES) + " FROM numbers({})"

KEYS = {"customer": "c_custkey", "lineitem": "l_orderkey, l_linenumber", "nation": "n_nationkey", "orders": "o_orderkey", "part": "p_partkey",
        "partsupp": "ps_partkey, ps_suppkey", "region": "r_regionkey", "supplier": "s_suppkey"}


def study(table="study"):
    """Of the study's table."""
    yield from ((f"sum {column}", f"SELECT sum(nq_{column}) FROM {table}") for column in ("UInt32", "UInt64", "Float32", "Float64"))
    for column in ("UInt32", "UInt64", "Float32", "Float64"):
        yield (f"top 10 by minute, {column}",
               f"SELECT period_start, sum(nq_{column}) AS nq FROM {table} GROUP BY period_start ORDER BY nq DESC, period_start LIMIT 10")
    for name, text, *is_free in (
            ("key: uniqExact", "SELECT uniqExact(digest) FROM {}"),
            ("key: DISTINCT", "SELECT DISTINCT digest FROM {}"),
            ("key: count of DISTINCT", "SELECT count() FROM (SELECT DISTINCT digest FROM {})"),
            ("key: GROUP BY, top 10", "SELECT digest, sum(nq_UInt32) AS s FROM {} GROUP BY digest ORDER BY s DESC, digest LIMIT 10"),
            ("text: GROUP BY", "SELECT client_host, sum(nq_UInt32) FROM {} GROUP BY client_host ORDER BY client_host"),
            ("text: DISTINCT", "SELECT DISTINCT client_host FROM {}"),
            ("text: uniqExact", "SELECT uniqExact(client_host) FROM {}"),
            ("two texts: GROUP BY", "SELECT client_host, db_server, count() AS c FROM {} GROUP BY client_host, db_server ORDER BY c DESC, "
             "client_host, db_server LIMIT 10"),
            ("by the hour", "SELECT toStartOfHour(period_start) AS h, sum(nq_UInt32) AS s FROM {} GROUP BY h ORDER BY h"),
            ("five aggregates", "SELECT count(), sum(nq_UInt64), min(nq_UInt32), max(nq_Float64), avg(nq_Float32) FROM {} WHERE nq_UInt64 >= 0"),
            ("sum where = 7", "SELECT sum(nq_UInt64) FROM {} WHERE nq_UInt32 = 7"),
            ("sum where < 10", "SELECT sum(nq_UInt64) FROM {} WHERE nq_UInt32 < 10"),
            ("sum where < 500", "SELECT sum(nq_UInt64) FROM {} WHERE nq_UInt32 < 500"),
            ("sum where text =", "SELECT sum(nq_UInt64) FROM {} WHERE client_host = '10.11.12.7'"),
            ("sum where range of time", "SELECT sum(nq_UInt64) FROM {} WHERE period_start >= '2019-01-31 12:00:00' AND "
             "period_start < '2019-01-31 16:00:00'"),
            ("sum where key =", "SELECT sum(nq_UInt64) FROM {} WHERE digest = (SELECT max(digest) FROM {} WHERE digest < '7')"),
            ("sum where 0.1 % of the key", "SELECT sum(nq_UInt64) FROM {} WHERE digest >= '7700' AND digest < '7742'"),
            ("min, max", "SELECT min(period_start), max(period_start) FROM {}"),
            ("key, last 10", "SELECT digest FROM {} ORDER BY digest DESC LIMIT 10"),
            ("*, top 10", "SELECT * FROM {} ORDER BY nq_UInt64 DESC, digest, db_server, db_username, db_schema, client_host, period_start "
             "LIMIT 10"),
            ("filter, LIMIT 10", "SELECT digest FROM {} WHERE nq_UInt32 = 7 LIMIT 10", True),
            ("GROUP BY, LIMIT 10", "SELECT digest, count() FROM {} GROUP BY digest LIMIT 10", True),
            ("minutes, LIMIT 10", "SELECT period_start, count() FROM {} GROUP BY period_start LIMIT 10", True),
            ("thirty sums", "SELECT " + ", ".join(f"sum(nq_UInt32 + {n})" for n in range(30)) + " FROM {}")):
        yield name, text.replace("{}", table), *is_free


def texts(table="texts"):
    """Of texts with few and with many values, plain and as LowCardinality."""
    for n in VALUES:
        for column in (f"s{n}", f"l{n}"):
            yield f"{column}: GROUP BY", f"SELECT {column}, count() AS c FROM {table} GROUP BY {column} ORDER BY c DESC, {column} LIMIT 10"
            yield f"{column}: DISTINCT", f"SELECT count() FROM (SELECT DISTINCT {column} FROM {table})"
            yield f"{column}: uniqExact", f"SELECT uniqExact({column}) FROM {table}"
    for column in ("s20", "l20", "s20000", "l20000"):
        yield f"{column}: LIKE", f"SELECT count() FROM {table} WHERE {column} LIKE '%a7%'"
        yield f"{column}: LIKE twice", f"SELECT count() FROM {table} WHERE {column} LIKE '%a%7%'"
        yield f"{column}: avg(length)", f"SELECT avg(length({column})) FROM {table}"
        yield f"{column}: <> ''", f"SELECT count() FROM {table} WHERE {column} <> ''"
        yield f"{column}: max", f"SELECT max({column}) FROM {table}"


def lineitem(named, table="lineitem"):
    """The nine of queries.md; `named` has the queries of TPC-H."""
    yield "lineitem q1", named["q1"]
    yield "lineitem q6", named["q6"]
    for column in ("l_partkey", "l_suppkey", "l_orderkey"):
        yield f"lineitem distinct {column}", f"SELECT count(DISTINCT {column}) FROM {table}"
    yield "lineitem key =", f"SELECT count(), sum(l_quantity) FROM {table} WHERE l_orderkey = 3000001"
    yield "lineitem 1 % of the key", f"SELECT count(), sum(l_quantity) FROM {table} WHERE l_orderkey >= 3000000 AND l_orderkey < 3060000"
    yield "lineitem LIKE", f"SELECT count() FROM {table} WHERE l_comment LIKE '%special%'"
    yield "lineitem by mode", f"SELECT l_shipmode, count() AS c FROM {table} GROUP BY l_shipmode ORDER BY l_shipmode"


TPCH = """
import json, pathlib, duckdb
base = duckdb.connect(config={"allow_unsigned_extensions": "true"})
beside = pathlib.Path(duckdb.__file__).parent.with_name("duckdb_ext")
found = sorted(beside.glob("**/tpch.duckdb_extension"))
if not found:
    base.execute("INSTALL tpch")
base.execute(f"LOAD '{found[0]}'" if found else "LOAD tpch")
rows = base.execute("SELECT query_nr, query FROM tpch_queries() ORDER BY query_nr").fetchall()
print(json.dumps({f"q{number}": text.strip().rstrip(";") for number, text in rows}))
"""


def tpch(folder, python):
    """All 22 by name, as DuckDB's extension `tpch` has them; a file keeps them. The extension is downloaded, or that of the package
    `duckdb-ext-tpch`."""
    path = folder / "tpch-queries.json"
    if not path.exists():
        if not python:
            sys.exit("the queries of TPC-H come from DuckDB: --duckdb PYTHON")
        done = subprocess.run([python, "-c", TPCH], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"the queries of TPC-H: {done.stderr}")
        path.write_text(done.stdout)
    return json.loads(path.read_text())


def listed(path):
    """Of a file with a query on each line, or several lines that end with a semicolon."""
    queries = [query.strip() for query in re.split(r";\s*(?:\n|$)", pathlib.Path(path).read_text())]
    for number, query in enumerate(filter(None, queries)):
        has_free_rows = "LIMIT" in query and ("ORDER BY" not in query or "OFFSET" in query)
        yield f"{number}", query, has_free_rows


class Tables:
    """Ours in a folder, ClickHouse's in a server that is kept beside it."""

    def __init__(self, binary, server, folder, is_same_parts=False):
        self.binary, self.server, self.folder, self.is_same_parts = binary, server, folder, is_same_parts
        self.ours, self.sources = {}, {}
        self.database = "parts" if is_same_parts else "own"
        for name in ("parts", "own"):
            server.run(f"CREATE DATABASE IF NOT EXISTS {name}")

    def run(self, *arguments):
        done = subprocess.run([str(self.binary), *map(str, arguments)], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{arguments}: {done.stderr}")
        return done.stdout

    def add(self, name, source, create=None, order="tuple()", flags=()):
        """A table of a Parquet file on both sides."""
        path = self.folder / "ours" / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            how = ["--create", create.format(name)] if create else ["--order-by", order]
            self.run("import", source, "--into", path, *how, *flags)
        self.ours[name], self.sources[name] = path, source
        if self.is_same_parts:
            statement = self.run("attach-script", "--sql", path).split(";")[0]
            self.server.run(f"DROP TABLE IF EXISTS parts.{name} SYNC")
            self.server.run(re.sub(rf"CREATE TABLE\s+\S*\b{name}`?", f"CREATE TABLE parts.{name}", statement, count=1))
            self.server.attach("parts", name, parts_of(path))
        elif not self.server.rows(f"EXISTS TABLE own.{name}") == ["1"]:
            rows = f"SELECT * FROM file('{source}', 'Parquet')"
            nulls = "SETTINGS schema_inference_make_columns_nullable = 0"
            if create:
                self.server.run(create.format(f"own.{name}"))
                self.server.run(f"INSERT INTO own.{name} {rows}")
            else:
                self.server.run(f"CREATE TABLE own.{name} ENGINE = MergeTree ORDER BY ({order}) AS {rows} {nulls}")
            self.server.run(f"OPTIMIZE TABLE own.{name} FINAL")

    def generated(self, name, rows, count):
        """A Parquet file of rows that ClickHouse makes."""
        path = self.folder / f"{name}-{count}.parquet"
        if not path.exists():
            self.server.run(f"INSERT INTO FUNCTION file('{path}', 'Parquet') {rows.format(count)} SETTINGS session_timezone = 'UTC', max_threads = 1")
        return path

    def study(self, count):
        self.add("study", self.generated("study", STUDY_ROWS, count), STUDY)

    def texts(self, count):
        self.add("texts", self.generated("texts", TEXTS_ROWS, count), TEXTS)

    def tpch(self, scale, names=tuple(KEYS)):
        source = self.folder / f"tpch-{scale:g}"
        if not (source / "lineitem.parquet").exists():
            generator = pathlib.Path(sys.executable).with_name("tpchgen-cli")
            subprocess.run([generator, "parquet", "-s", f"{scale:g}", f"--output-dir={source}"], check=True)
        for name in names:
            self.add(name, source / f"{name}.parquet", order=KEYS[name])

    def removed(self):
        shutil.rmtree(self.folder / "ours", ignore_errors=True)
