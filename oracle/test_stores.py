"""Tables, data directories and backups in an object store on loopback: the answers are those of the same files on the disk."""

import contextlib
import functools
import http.server
import os
import re
import shutil
import subprocess
import threading
import time

import pytest
from objects import Objects

CREATE = "CREATE TABLE hits (a UInt32, b LowCardinality(String), c Nullable(Float64), d Array(UInt16)) ENGINE = MergeTree PARTITION BY a % 3 ORDER BY a"
ROWS = "SELECT number AS a, toString(number % 7) AS b, if(number % 3 = 0, NULL, number / 8) AS c, range(number % 4) AS d FROM numbers"
QUERY = "SELECT count(), sum(a), uniqExact(b), sum(c), sum(length(d)) FROM hits FORMAT TSV"


class Store:
    """A bucket and the environment that finds it."""

    def __init__(self, tambour, root):
        self.binary, self.bucket = tambour.binary, root / "bucket"
        self.bucket.mkdir()
        self.objects = Objects(root)
        self.variables = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "TAMBOUR_STORE_TIMEOUT": "2"}

    def run(self, *words, code=0):
        """What a command says: its answer, or the message of its failure."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | self.variables
        done = subprocess.run([self.binary, *map(str, words)], env=environment, capture_output=True, text=True, timeout=100)
        assert done.returncode == code, (words, done.stderr)
        return done.stdout if code == 0 and "--stats" not in words else done.stderr


@pytest.fixture
def store(tambour, tmp_path):
    store = Store(tambour, tmp_path)
    with store.objects as url:
        store.variables["AWS_ENDPOINT_URL"] = url
        yield store


@pytest.fixture
def hits(store, server, database, tmp_path):
    """A table of ours in the bucket, and the same on the disk."""
    source = tmp_path / "rows.parquet"
    server.run(f"INSERT INTO FUNCTION file('{source}', 'Parquet') {ROWS}(50000)")
    table = tmp_path / "hits"
    store.run("import", source, "--into", table, "--create", CREATE)
    shutil.copytree(table, store.bucket / "folder" / "hits")
    return table


def test_a_table_of_ours_answers_as_on_the_disk(store, hits):
    url = "s3://bucket/folder/hits"
    expected = store.run("sql", hits, QUERY)
    assert store.run("sql", url, QUERY) == expected
    assert store.run("sql", f"other={url}/", QUERY.replace("hits", "other")) == expected
    some = "SELECT a, b FROM hits WHERE a BETWEEN 777 AND 780 ORDER BY a FORMAT TSV"
    assert store.run("sql", url, some) == store.run("sql", hits, some)
    store.run("verify", url)
    assert "ORDER BY" in store.run("inspect", url)
    part = next(path.name for path in hits.iterdir() if path.is_dir() and path.name[0].isdigit())
    store.run("verify", f"{url}/{part}")
    assert store.run("export", url, "-", "--format", "csv") == store.run("export", hits, "-", "--format", "csv")
    requests = re.search(r"object stores: (\d+) requests?, ", store.run("sql", "--stats", url, QUERY))
    assert requests and 0 < int(requests[1]) < 80


def test_pages_of_listings(store, hits):
    store.objects.server.page = 3
    assert store.run("sql", "s3://bucket/folder/hits", QUERY) == store.run("sql", hits, QUERY)


def test_what_writes_is_refused_by_name(store, hits, tmp_path):
    url = "s3://bucket/folder/hits"
    before = sorted(path for path in store.bucket.rglob("*"))
    for words in (
        ("import", tmp_path / "rows.parquet", "--into", url, "--append"), ("optimize", url), ("optimize", "--watch", url),
        ("recompress", url, "--codec", "a=LZ4"), ("sql", "--database", url, "SELECT 1"),
        ("sql", "--write", "--yes", url, "INSERT INTO hits SELECT * FROM hits LIMIT 1"),
    ):
        done = subprocess.run([store.binary, *map(str, words)], env=os.environ | store.variables, capture_output=True, text=True)
        assert done.returncode != 0 and "object stores are only read" in done.stderr, (words, done.stderr)
    assert "local directory" in store.run("attach-script", url, code=5)
    assert before == sorted(path for path in store.bucket.rglob("*"))


def test_a_backup_and_archives_of_clickhouse(store, server, database):
    server.run(f"CREATE TABLE {database}.hits (a UInt32, b String) ENGINE = MergeTree ORDER BY a")
    server.run(f"INSERT INTO {database}.hits SELECT number, toString(number) FROM numbers(30000)")
    endpoint = store.variables["AWS_ENDPOINT_URL"]
    query = "SELECT count(), sum(a), uniqExact(b) FROM {}.hits"
    for name, settings in (
        ("full", ""), ("more", f"SETTINGS base_backup = S3('{endpoint}/bucket/full', 'key', 'secret')"), ("plain.tar", ""), ("packed.tar.zst", "")
    ):
        server.run(f"BACKUP DATABASE {database} TO S3('{endpoint}/bucket/{name}', 'key', 'secret') {settings}")
        expected = server.run(query.format(database))
        assert store.run("sql", f"s3://bucket/{name}", query.format(database) + " FORMAT TSV") == expected, name
        store.run("verify", f"s3://bucket/{name}")
        server.run(f"INSERT INTO {database}.hits SELECT number, toString(number) FROM numbers(100)")


def test_parts_and_a_statement_without_a_sidecar(store, server, database):
    # What a disk of the type `s3_plain` holds: files under their own names.
    server.run(f"CREATE TABLE {database}.hits (a UInt32, b String) ENGINE = MergeTree ORDER BY a")
    server.run(f"INSERT INTO {database}.hits SELECT number, toString(number) FROM numbers(30000)")
    shutil.copytree(server.directory(database, "hits"), store.bucket / "hits")
    expected = server.run(f"SELECT count(), sum(a), max(b) FROM {database}.hits")
    assert store.run("sql", "s3://bucket/hits", "SELECT count(), sum(a), max(b) FROM hits FORMAT TSV") == expected


def test_a_disk_with_other_names(store, server, database):
    endpoint = store.variables["AWS_ENDPOINT_URL"]
    disk = f"disk(type = s3_plain_rewritable, endpoint = '{endpoint}/bucket/disk/', access_key_id = 'key', secret_access_key = 'secret')"
    server.run(f"CREATE TABLE {database}.hits (a UInt32, b String) ENGINE = MergeTree ORDER BY a SETTINGS disk = {disk}")
    for _ in range(3):
        server.run(f"INSERT INTO {database}.hits SELECT number, toString(number) FROM numbers(9000)")
    uuid = server.run(f"SELECT uuid FROM system.tables WHERE database = '{database}' AND name = 'hits'").strip()
    expected = server.run(f"SELECT count(), sum(a), max(b) FROM {database}.hits")
    query = f'SELECT count(), sum(a), max(b) FROM "{uuid}" FORMAT TSV'
    assert store.run("sql", "s3://bucket/disk", query) == expected
    store.run("verify", "s3://bucket/disk")
    # A copy of the bucket is such a disk, too.
    assert store.run("sql", store.bucket / "disk", query) == expected


@pytest.fixture
def remote(store, server, database):
    """A table on a disk of the type `s3`: its directory, which has metadata alone, and the server's."""
    endpoint = store.variables["AWS_ENDPOINT_URL"]
    disk = f"disk(type = s3, endpoint = '{endpoint}/bucket/pre/', access_key_id = 'key', secret_access_key = 'secret')"
    settings = f"SETTINGS disk = {disk}, min_bytes_for_wide_part = 0"
    server.run(f"CREATE TABLE {database}.hits (a UInt32, b String, c Nullable(Float64)) ENGINE = MergeTree PARTITION BY a % 2 ORDER BY a {settings}")
    for _ in range(3):
        server.run(f"INSERT INTO {database}.hits SELECT number, toString(number % 7), if(number % 3 = 0, NULL, number / 8) FROM numbers(9000)")
    # The parts of before stay for a while: files of columns that did not change are of both.
    server.run(f"ALTER TABLE {database}.hits UPDATE b = 'changed' WHERE a < 1000 SETTINGS mutations_sync = 2")
    directory = server.directory(database, "hits")
    store.variables["TAMBOUR_DISK"] = "s3://bucket/pre"
    return directory, next(path.parent for path in directory.parents if path.name == "disks")


REMOTE = "SELECT count(), sum(a), uniqExact(b), sum(length(b)), sum(c) FROM {} FORMAT TSV"


def test_a_disk_with_its_metadata_on_the_server(store, server, database, remote, tmp_path):
    directory, data = remote
    expected = server.run(REMOTE.format(f"{database}.hits"))
    parts = [path for path in directory.iterdir() if (path / "checksums.txt").exists()]
    assert len(parts) == 12, "parts of before the mutation are there, too"
    assert any((path / "a.bin").read_text().split("\n")[-4] == "1" for path in parts), "a file has two names"
    assert store.run("sql", f"hits={directory}", REMOTE.format("hits")) == expected
    assert store.run("sql", data, REMOTE.format(f"{database}.hits")) == expected
    assert store.run("sql", "--io", "mmap", f"hits={directory}", REMOTE.format("hits")) == expected
    disk = next(path for path in directory.parents if path.parent.name == "disks")
    assert store.run("sql", disk, REMOTE.format(f'"{directory.name}"')) == expected
    store.run("verify", directory)
    store.run("verify", disk)
    store.run("verify", parts[0])
    shown = store.run("inspect", directory)
    assert "ORDER BY" in shown and "27,000" in shown, shown
    assert "a.bin" in store.run("inspect", parts[0])
    assert store.run("export", directory, tmp_path / "all.tsv") == ""
    exported = (tmp_path / "all.tsv").read_text().splitlines()[1:]
    assert sorted(exported) == sorted(server.rows(f"SELECT * FROM {database}.hits"))
    # Copies: of the metadata, and of the bucket.
    copy = tmp_path / "hits"
    shutil.copytree(directory, copy)
    assert store.run("sql", copy, REMOTE.format("hits")) == expected
    shutil.copytree(store.bucket / "pre", tmp_path / "copied" / "pre")
    for place in (store.bucket / "pre", store.bucket, tmp_path / "copied" / "pre", tmp_path / "copied"):
        store.variables["TAMBOUR_DISK"] = str(place)
        assert store.run("sql", copy, REMOTE.format("hits")) == expected, place


def test_a_disk_whose_objects_are_elsewhere(store, server, database, remote, tmp_path):
    directory, data = remote
    del store.variables["TAMBOUR_DISK"]
    for words in (("sql", f"hits={directory}", "SELECT 1"), ("verify", directory), ("inspect", directory), ("export", directory, "-", "--format", "csv")):
        done = subprocess.run([store.binary, *map(str, words)], env=os.environ | store.variables, capture_output=True, text=True)
        said = done.stdout + done.stderr
        assert done.returncode != 0 and str(directory) in said and "TAMBOUR_DISK=s3://bucket/prefix" in said, said
    done = subprocess.run([store.binary, "sql", data, "SELECT 1"], env=os.environ | store.variables, capture_output=True, text=True)
    assert "1" in done.stdout and f"{database}.hits is left out" in done.stderr and "TAMBOUR_DISK=s3://" in done.stderr, done
    store.variables["TAMBOUR_DISK"] = "s3:/bucket"
    assert "TAMBOUR_DISK=\"s3:/bucket\"" in store.run("sql", f"hits={directory}", "SELECT 1", code=1)
    store.variables["TAMBOUR_DISK"] = "s3://bucket/other"
    assert "s3://bucket/other/pre/" in store.run("sql", f"hits={directory}", "SELECT 1", code=3)


def test_a_disk_is_not_written(store, remote, tmp_path):
    directory, _ = remote
    before = {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    (tmp_path / "rows.csv").write_text("a,b,c\n1,x,2\n")
    for words in (
        ("import", tmp_path / "rows.csv", "--into", directory, "--append"), ("optimize", directory), ("recompress", directory, "--codec", "a=LZ4"),
        ("sql", "--write", "--yes", f"hits={directory}", "INSERT INTO hits SELECT * FROM hits LIMIT 1"), ("attach-script", directory),
    ):
        done = subprocess.run([store.binary, *map(str, words)], env=os.environ | store.variables, capture_output=True, text=True)
        assert done.returncode != 0 and ("only read" in done.stderr or "local directory" in done.stderr), (words, done)
    assert before == {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_damage_on_a_disk_is_told_by_name(store, remote, tmp_path):
    directory, _ = remote
    copy = tmp_path / "hits"
    shutil.copytree(directory, copy)
    part = max(path for path in copy.iterdir() if (path / "checksums.txt").exists() and path.name.count("_") == 4)
    metadata = part / "a.bin"
    good, key = metadata.read_text(), metadata.read_text().splitlines()[2].split("\t")[1]
    place, query = store.bucket / key, "SELECT sum(a) FROM hits FORMAT TSV"
    body = place.read_bytes()

    def told(*wanted):
        for words in (("sql", copy, query), ("verify", copy)):
            done = subprocess.run([store.binary, *map(str, words)], env=os.environ | store.variables, capture_output=True, text=True)
            said = done.stdout + done.stderr
            assert done.returncode == 3 and all(text in said for text in (f"{part.name}/a.bin", *wanted)), said

    place.unlink()
    told(key, "does not exist")
    place.write_bytes(body[:-1])
    told(key, f"has {len(body) - 1} bytes, not {len(body)}")
    place.write_bytes(body)
    for text, wanted in (
        (good.replace(str(len(body)), str(len(body) + 1)), "size"), (good[:-3], "ends before"), (good.replace(key, f"../{key}"), f"../{key}"),
        (good.replace(key, f"/{key}"), f"/{key}"), (good.replace("5\n1\t", "5\n4000000000\t"), "of 4000000000"), (good.replace("5\n", "9\n", 1), "version 9"),
    ):
        metadata.write_text(text)
        told(wanted)
    metadata.write_text(good)
    store.run("verify", copy)


def test_salvage_of_a_part_in_a_store(store, hits, tmp_path):
    part = next(path for path in sorted((store.bucket / "folder" / "hits").iterdir()) if (path / "checksums.txt").exists())
    query = "SELECT count(), sum(a), uniqExact(b), sum(c), sum(length(d)) FROM t FORMAT TSV"
    expected = store.run("sql", f"t={part}", query)
    next(part.glob("a.*mrk*")).unlink()
    (part / "columns.txt").unlink()
    store.run("salvage", f"s3://bucket/folder/hits/{part.name}", "--to", tmp_path / "saved")
    assert store.run("sql", f"t={tmp_path / 'saved'}", query) == expected
    assert "only read" in store.run("salvage", f"s3://bucket/folder/hits/{part.name}", "--to", "s3://bucket/other", code=5)


def test_faults(store, hits):
    url, server = "s3://bucket/folder/hits", store.objects.server
    expected = store.run("sql", hits, QUERY)
    for faults in (["busy"] * 2, ["truncate"] * 2, ["busy", "truncate"], ["stall"]):
        server.faults = faults.copy()
        assert store.run("sql", url, QUERY) == expected, faults
    for fault, wanted in (("busy", "503"), ("truncate", "folder/hits"), ("stall", "folder/hits")):
        server.faults, before = [fault] * 1000, time.monotonic()
        message = store.run("sql", url, QUERY, code=1)
        assert wanted in message and "s3://bucket/folder/hits" in message, (fault, message)
        assert time.monotonic() - before < 60, fault
    server.faults = []


def test_credentials_and_names_that_are_not_there(store):
    store.run("sql", "s3://bucket/none", "SELECT 1", code=1)
    del store.variables["AWS_ACCESS_KEY_ID"], store.variables["AWS_SECRET_ACCESS_KEY"]
    before = time.monotonic()
    message = store.run("sql", "s3://bucket/folder/hits", QUERY, code=1)
    assert "AWS_ACCESS_KEY_ID" in message and "AWS_SKIP_SIGNATURE" in message, message
    assert time.monotonic() - before < 20


def test_an_object_that_is_replaced(store, hits):
    # The listing tells a tag that the object does not have any more.
    server = store.objects.server
    name = max((path for path in (store.bucket / "folder").rglob("*.bin")), key=lambda path: path.stat().st_size)
    body = name.read_bytes()

    def replace():
        while not any("list-type" not in path and "columns.txt" in path for _, path, _ in list(server.requests)):
            time.sleep(0.001)
        name.write_bytes(bytes(len(body)))

    thread = threading.Thread(target=replace)
    thread.start()
    environment = os.environ | store.variables
    done = subprocess.run([store.binary, "verify", "s3://bucket/folder/hits"], env=environment, capture_output=True, text=True)
    thread.join()
    assert done.returncode != 0 and "changed while it was read" in done.stdout + done.stderr, done


class Ranged(http.server.SimpleHTTPRequestHandler):
    """A web server: ranges, no listings."""

    disable_nagle_algorithm = True

    def log_message(self, *arguments):
        pass

    def send_head(self):
        path = self.translate_path(self.path)
        wanted = self.headers.get("Range")
        if os.path.isdir(path):
            self.send_error(404)
            return None
        if not wanted or not os.path.isfile(path):
            return super().send_head()
        start, end = wanted.removeprefix("bytes=").split("-")
        with open(path, "rb") as file:
            body = file.read()
        piece = body[int(start):int(end) + 1]
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-{int(start) + len(piece) - 1}/{len(body)}")
        self.send_header("Content-Length", str(len(piece)))
        self.send_header("Last-Modified", self.date_time_string(os.stat(path).st_mtime))
        self.end_headers()
        self.wfile.write(piece)
        return None


def test_a_web_server(store, hits, tmp_path):
    shutil.make_archive(str(tmp_path / "packed"), "tar", hits.parent, "hits")
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Ranged, directory=str(tmp_path)))
    thread = threading.Thread(target=web.serve_forever, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{web.server_port}"
    expected = store.run("sql", hits, QUERY)
    assert store.run("sql", f"{url}/hits", QUERY) == expected
    assert store.run("sql", f"{url}/packed.tar", "SELECT count() FROM hits FORMAT TSV") == expected.split()[0] + "\n"
    assert "tambour.json" in store.run("sql", f"{url}/folder", "SELECT 1", code=1)
    web.shutdown()


def test_workers(store, hits):
    with contextlib.ExitStack() as stack:
        addresses = []
        for _ in range(2):
            words = [store.binary, "worker", "--root", "s3://bucket/folder", "--listen", "127.0.0.1:0"]
            worker = subprocess.Popen(words, env=os.environ | store.variables, stdout=subprocess.PIPE, text=True)
            stack.callback(worker.wait)
            stack.callback(worker.terminate)
            addresses.append(re.search(r"listening on (\S+),", worker.stdout.readline())[1])
        url = "s3://bucket/folder/hits"
        assert store.run("sql", "--workers", ",".join(addresses), url, QUERY) == store.run("sql", hits, QUERY)
        store.run("verify", "--workers", ",".join(addresses), url)
        outside = store.run("sql", "--workers", ",".join(addresses), "s3://bucket/folder/../hits", QUERY, code=1)
        assert "`..`" in outside
