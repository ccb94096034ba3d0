"""Backups that ClickHouse itself made, of each kind that it can make in a library: our answers are those of the server at that time."""

import shutil
import zipfile

import pytest
from objects import Objects

COLUMNS = "a UInt32, b LowCardinality(String), c Nullable(Float64), d Array(UInt16)"
ROWS = "SELECT number, toString(number % 7), if(number % 3 = 0, NULL, number / 8), range(number % 4) FROM numbers"
TABLES = {
    "wide": "ENGINE = MergeTree ORDER BY a SETTINGS min_bytes_for_wide_part = 0",
    "compact": "ENGINE = MergeTree PARTITION BY a % 3 ORDER BY b",
    "replacing": "ENGINE = ReplacingMergeTree ORDER BY a SETTINGS min_bytes_for_wide_part = 0",
    "empty": "ENGINE = MergeTree ORDER BY a",
}
QUERY = "SELECT count(), sum(a), uniqExact(b), sum(c), sum(length(d)) FROM {} SETTINGS aggregate_functions_null_for_empty = 0 "


def answers(server, database):
    return {table: server.run(QUERY.format(f"{database}.{table}")) for table in TABLES}


def check(tambour, backup, database, expected):
    """Verifies a backup and asks it the queries."""
    tambour.run("verify", backup)
    for table, answer in expected.items():
        assert tambour.run("sql", backup, QUERY.format(f"{database}.{table}") + "FORMAT TSV") == answer, (backup, table)


@pytest.fixture
def backups(server, database, tmp_path):
    """A full backup, and what was made after more rows: an increment, an increment of it, archives, files by checksum."""
    for table, engine in TABLES.items():
        server.run(f"CREATE TABLE {database}.{table} ({COLUMNS}) {engine}")
        if table != "empty":
            server.run(f"INSERT INTO {database}.{table} {ROWS}(20000)")
    server.run(f"CREATE VIEW {database}.v AS SELECT 1")
    expected = {}
    store = tmp_path / "store" / "bucket"
    with Objects(store.parent) as url:

        def backup(name, settings=""):
            answer = server.run(f"BACKUP DATABASE {database} TO S3('{url}/bucket/{name}', 'key', 'secret') {settings}")
            assert "BACKUP_CREATED" in answer
            expected[name] = answers(server, database)

        def based(name):
            return f"SETTINGS base_backup = S3('{url}/bucket/{name}', 'key', 'secret')"

        backup("full")
        for table in ("wide", "compact", "replacing"):
            server.run(f"INSERT INTO {database}.{table} {ROWS}(15000, 9000)")
        backup("second", based("full"))
        server.run(f"OPTIMIZE TABLE {database}.replacing FINAL")
        server.run(f"INSERT INTO {database}.empty {ROWS}(10)")
        backup("third", based("second"))
        for name in ("plain.tar", "packed.tar.gz", "packed.tar.zst"):
            backup(name)
        backup("increment.tar", based("full"))
        backup("sums", "SETTINGS data_file_name_generator = 'checksum'")
    return store, expected


def test_every_kind_reads_as_the_server_did(tambour, database, backups):
    store, expected = backups
    assert expected["full"] != expected["second"] != expected["third"]
    for name, answer in expected.items():
        check(tambour, store / name, database, answer)


def test_a_copy_of_the_data_directory_and_a_freeze(server, tambour, database, tmp_path):
    """What lies on a server's disk, with columns that some parts lack, a mutation, rows that are hidden, and a part that is detached."""
    for table, engine in TABLES.items():
        server.run(f"CREATE TABLE {database}.{table} ({COLUMNS}) {engine}")
        server.run(f"SYSTEM STOP MERGES {database}.{table}")
        if table != "empty":
            server.run(f"INSERT INTO {database}.{table} {ROWS}(20000)")
            server.run(f"ALTER TABLE {database}.{table} ADD COLUMN more UInt16 DEFAULT a % 100")
            server.run(f"INSERT INTO {database}.{table} (a, b, c, d) {ROWS}(15000, 9000)")
            server.run(f"SYSTEM START MERGES {database}.{table}")
    server.run(f"ALTER TABLE {database}.wide UPDATE b = 'other' WHERE a % 10 = 3 SETTINGS mutations_sync = 2")
    server.run(f"DELETE FROM {database}.compact WHERE a % 7 = 2 SETTINGS mutations_sync = 2")
    server.run(f"ALTER TABLE {database}.replacing DETACH PARTITION tuple()")
    query = QUERY.replace("sum(length(d))", "sum(length(d)), min(a), max(b)")
    expected = {table: server.run(query.format(f"{database}.{table}")) for table in TABLES}
    more = {table: server.run(f"SELECT count(more), sum(more) FROM {database}.{table}") for table in TABLES if table != "empty"}
    directory = server.directory(database, "wide")
    data = next(path.parent for path in directory.parents if path.name == "store")
    server.run(f"ALTER TABLE {database}.wide FREEZE WITH NAME '{database}'")
    copy = shutil.copytree(data, tmp_path / "copy", symlinks=True)
    frozen = copy / "shadow" / database
    for table in TABLES:
        assert tambour.run("sql", copy, query.format(f"{database}.{table}") + "FORMAT TSV") == expected[table], table
    for table, answer in more.items():
        assert tambour.run("sql", copy, f"SELECT count(more), sum(more) FROM {database}.{table} SETTINGS aggregate_functions_null_for_empty = 0 FORMAT TSV") == answer, table
    parts = [path for path in frozen.rglob("*") if (path / "checksums.txt").exists()]
    assert parts
    assert tambour.run("sql", f"t={parts[0].parent}", query.format("t") + "FORMAT TSV") == expected["wide"]
    detached = next(path for path in copy.rglob("detached") if any(path.iterdir()))
    rows = tambour.run("sql", f"t={detached}", "SELECT count(), sum(a) FROM t FORMAT TSV")
    server.run(f"ALTER TABLE {database}.replacing ATTACH PARTITION tuple()")
    assert rows == server.run(f"SELECT count(), sum(a) FROM {database}.replacing")


def test_zips_and_bases_in_them(tambour, database, backups, tmp_path):
    # ClickHouse writes no zip into S3; its own have the same files, deflated.
    store, expected = backups
    for name, method in (("deflated.zip", zipfile.ZIP_DEFLATED), ("stored.zip", zipfile.ZIP_STORED)):
        with zipfile.ZipFile(tmp_path / name, "w", method) as archive:
            for file in sorted((store / "full").rglob("*")):
                if file.is_file():
                    archive.write(file, file.relative_to(store / "full"))
        check(tambour, tmp_path / name, database, expected["full"])
    # The base of an increment may be an archive that has the base's name.
    (tmp_path / "zipped").mkdir()
    shutil.copytree(store / "second", tmp_path / "zipped" / "second")
    shutil.copy(tmp_path / "deflated.zip", tmp_path / "zipped" / "full")
    check(tambour, tmp_path / "zipped" / "second", database, expected["second"])


def test_what_is_missing_or_damaged_is_told(tambour, database, backups, tmp_path):
    store, expected = backups
    shutil.copytree(store / "second", tmp_path / "alone" / "second")
    answer = tambour.call("sql", tmp_path / "alone" / "second", "SELECT 1")
    assert answer.returncode == 1 and "/bucket/full" in answer.stderr.decode() and "same directory" in answer.stderr.decode()
    # A file of the base that another one replaced: the increment's check tells, as no check of a part alone could.
    damaged = tmp_path / "damaged"
    shutil.copytree(store / "full", damaged / "full")
    shutil.copytree(store / "third", damaged / "third")
    shutil.copytree(store / "second", damaged / "second")
    statement = damaged / "full" / "metadata" / database / "wide.sql"
    statement.write_text(statement.read_text().replace("UInt32", "UInt23"))
    answer = tambour.call("verify", damaged / "third")
    assert answer.returncode == 3 and b"checksum mismatch" in answer.stdout + answer.stderr
    check(tambour, store / "third", database, expected["third"])
