"""ClickHouse as a library, and our binary, for every test."""

import os
import pathlib
import shutil
import subprocess
from collections import Counter

import pytest
from chdb import session as chdb_session

ROOT = pathlib.Path(__file__).resolve().parent.parent


class ClickHouse:
    """One embedded server for all tests; a database per test."""

    def __init__(self, path):
        self.session = chdb_session.Session(str(path))
        self.run("SET allow_suspicious_low_cardinality_types = 1")

    def run(self, sql):
        return self.session.query(sql, "TabSeparated").bytes().decode("utf-8", "surrogateescape")

    def rows(self, sql):
        return self.run(sql).splitlines()

    def directory(self, database, table):
        """Where the server keeps a table."""
        paths = self.run(f"SELECT data_paths[1] FROM system.tables WHERE database = '{database}' AND name = '{table}'")
        return pathlib.Path(paths.strip())

    def attach(self, database, table, parts):
        """Copies part directories into `detached` and attaches them one by one."""
        detached = self.directory(database, table) / "detached"
        for part in parts:
            shutil.copytree(part, detached / part.name)
            self.run(f"ALTER TABLE {database}.{table} ATTACH PART '{part.name}'")

    def check(self, database, table):
        """True if CHECK TABLE finds nothing."""
        return self.run(f"CHECK TABLE {database}.{table} SETTINGS check_query_single_value_result = 1").strip() == "1"


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    return ClickHouse(tmp_path_factory.mktemp("clickhouse"))


@pytest.fixture
def database(server, request):
    name = "d" + str(abs(hash(request.node.nodeid)))
    server.run(f"CREATE DATABASE {name}")
    yield name
    server.run(f"DROP DATABASE {name} SYNC")


class Tambour:
    """Our binary; a failure shows its messages."""

    def __init__(self):
        binary = os.environ.get("TAMBOUR")
        assert binary, "TAMBOUR must name the tambour binary"
        self.binary = pathlib.Path(binary)
        if not self.binary.is_absolute():
            self.binary = ROOT / self.binary

    def call(self, *arguments, input=None):
        words = [str(self.binary), *map(str, arguments)]
        return subprocess.run(words, input=input, capture_output=True, check=False)

    def run(self, *arguments, input=None):
        done = self.call(*arguments, input=input)
        assert done.returncode == 0, f"{arguments}: exit {done.returncode}\n{done.stderr.decode(errors='replace')}"
        return done.stdout.decode("utf-8", "surrogateescape")

    def rows(self, table, sql):
        """Result rows."""
        return self.run("sql", table, "--format", "tsv", "--no-header", sql).splitlines()


@pytest.fixture(scope="session")
def tambour():
    return Tambour()


def parts_of(directory):
    """Part directories of a table directory."""
    names = sorted(path for path in pathlib.Path(directory).iterdir() if path.is_dir())
    return [path for path in names if (path / "columns.txt").exists() and not path.name.startswith(("tmp_", "detached"))]


def assert_same_rows(got, expected, names):
    """Equal as multisets; the first difference is shown column by column."""
    if len(got) != len(expected):
        ours, theirs = Counter(got), Counter(expected)
        raise AssertionError(f"{len(got)} rows, ClickHouse {len(expected)}; ours only: {list(ours - theirs)[:4]}, ClickHouse only: {list(theirs - ours)[:4]}")
    for ours, theirs in zip(sorted(got), sorted(expected)):
        if ours != theirs:
            pairs = zip(names, ours.split("\t"), theirs.split("\t"))
            wrong = [f"{name}: ours {a!r}, ClickHouse {b!r}" for name, a, b in pairs if a != b]
            raise AssertionError("\n".join(wrong) or f"ours {ours!r}, ClickHouse {theirs!r}")


def pytest_terminal_summary(terminalreporter):
    """What tests have counted: those that run in processes of their own cannot print it themselves."""
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, value in getattr(report, "user_properties", ()):
            if name == "said" and report.when == "call":
                terminalreporter.write_line(f"{report.nodeid}: {value}")
