"""Salvage of a part of which a single file is lost, emptied, cut, flipped, garbled or another part's: nothing is lost by metadata, of data what
the damaged blocks held, and no row is wrong. `TAMBOUR_HARMS=N` tries all files, at N places each; otherwise some of them are tried at one."""

import json
import os
import random
import shutil
from collections import Counter

import pytest
from conftest import parts_of
from harms import MARKS, Layout, harms

FULL = int(os.environ.get("TAMBOUR_HARMS") or 0)
GRANULARITY = 200
ROWS = 900
COLUMNS = {
    "s": ("String", "concat('value ', toString(number % 50))"),
    "k": ("UInt32", "number"),
    "ns": ("Nullable(String)", "if(number % 3 = 0, NULL, toString(number))"),
    "lc": ("LowCardinality(String)", "toString(number % 7)"),
    "ln": ("LowCardinality(Nullable(String))", "if(number % 4 = 0, NULL, toString(number))"),
    "a": ("Array(UInt8)", "range(number % 5)"),
    "al": ("Array(LowCardinality(String))", "if(number < 400, [], [toString(number % 3)])"),
    "m": ("Map(String, UInt8)", "map('a', number % 3)"),
    "t": ("Tuple(x UInt8, y Nullable(String))", "(number % 9, if(number % 5 = 0, NULL, toString(number)))"),
    "z": ("UInt32", "if(number % 40 = 7, number, 0)"),
    "e": ("String", "if(number % 60 = 7, toString(number), '')"),
    "n.a": ("Array(UInt8)", "range(number % 3)"),
    "n.b": ("Array(String)", "arrayMap(x -> toString(x), range(number % 3))"),
    "d": ("Date", "toDate('2024-01-01') + number % 20"),
    "f": ("Float64", "number / 8"),
}
WIDE = "min_bytes_for_wide_part = 0, min_rows_for_wide_part = 0, min_compress_block_size = 1"
KINDS = {
    "wide": WIDE,
    "wide-plain-marks": WIDE + ", compress_marks = 0, compress_primary_key = 0",
    "wide-fixed": WIDE + ", index_granularity_bytes = 0, compress_marks = 0",
    "wide-inline": WIDE + ", string_serialization_version = 'single_stream', ratio_of_defaults_for_sparse_serialization = 1",
    "wide-few-blocks": "min_bytes_for_wide_part = 0, min_rows_for_wide_part = 0",
    "compact": "min_bytes_for_wide_part = 1000000000",
    "compact-plain-marks": "min_bytes_for_wide_part = 1000000000, compress_marks = 0",
    "compact-mrk3": "min_bytes_for_wide_part = 1000000000, write_marks_for_substreams_in_compact_parts = 0",
    "ours": "",
    "ours-old": "",
}


def statement(name, settings):
    columns = ", ".join(f"`{column}` {kind}" for column, (kind, _) in COLUMNS.items())
    more = f", {settings}" if settings else ""
    return f"CREATE TABLE {name} ({columns}) ENGINE = MergeTree PARTITION BY toYYYYMM(d) ORDER BY k SETTINGS index_granularity = {GRANULARITY}{more}"


def select(first):
    return "SELECT " + ", ".join(f"{value} AS `{column}`" for column, (_, value) in COLUMNS.items()) + f" FROM numbers({first}, {ROWS})"


class Case:
    """A part, one of the same shape with other rows, and what the first holds."""

    def __init__(self, server, tambour, database, directory, kind):
        self.tambour, self.directory, self.kind = tambour, directory, kind
        if kind.startswith("ours"):
            sources = [directory / f"{first}.parquet" for first in (0, 5000)]
            for first, source in zip((0, 5000), sources):
                server.run(f"INSERT INTO FUNCTION file('{source}', 'Parquet') {select(first)}")
            dialect = ["--dialect", "old"] if kind == "ours-old" else []
            create = statement("t", "")
            for source in sources:
                self.run("import", source, "--into", directory / source.stem, "--create", create, *dialect)
            self.part, self.other = (parts_of(directory / source.stem)[0] for source in sources)
        else:
            server.run(statement(f"{database}.t", KINDS[kind]))
            server.run(f"SYSTEM STOP MERGES {database}.t")
            for first in (0, 5000):
                server.run(f"INSERT INTO {database}.t {select(first)}")
            self.part, self.other = parts_of(server.directory(database, "t"))
        self.statement = statement("t", "" if kind.startswith("ours") else KINDS[kind])
        self.layout = Layout(self.part, list(COLUMNS), GRANULARITY, ROWS)
        starts = [sum(self.layout.rows[:number]) for number in range(len(self.layout.rows))]
        self.granule = [max(number for number, start in enumerate(starts) if start <= row) for row in range(ROWS)]
        lines = self.run("sql", f"t={self.part}", "--format", "JSONCompactEachRow", f"SELECT {self.names(COLUMNS)} FROM t ORDER BY k").splitlines()
        self.rows = [[json.dumps(value) for value in json.loads(line)] for line in lines]
        assert len(self.rows) == ROWS

    def names(self, columns):
        return ", ".join(f"`{name}`" for name in columns)

    def run(self, *words):
        return self.tambour.run(*words)

    def harmed(self, file, data, source):
        """The part with a file that holds something else, and what says its types."""
        table = self.directory / "harmed"
        shutil.rmtree(table, ignore_errors=True)
        part = shutil.copytree(self.part, table / self.part.name)
        (part / file).chmod(0o644)
        (part / file).unlink()
        if data is not None:
            (part / file).write_bytes(data)
        if source == "statement":
            (table / "t.sql").write_text(self.statement)
        elif source == "sidecar":
            shutil.copy(self.part.parent / "tambour.json", table)
        elif source == "sibling":
            # Parts of ours are the first of their tables.
            shutil.copytree(self.other, table / self.other.name.replace("_1_1_0", "_2_2_0"))
        return part

    def salvage(self, part, *words):
        """The report, or none, and the rows in the columns that were saved."""
        target = self.directory / "saved"
        shutil.rmtree(target, ignore_errors=True)
        done = self.tambour.call("salvage", part, "--to", target, "--json", *words)
        assert done.returncode in (0, 3, 6), (done.returncode, done.stderr)
        if done.returncode == 3:
            return None, [], []
        report = json.loads(done.stdout)
        lines = self.run("sql", f"t={target}", "--format", "JSONCompactEachRowWithNames", "SELECT * FROM t").splitlines()
        names, *rows = map(json.loads, lines)
        return report, names, [[json.dumps(value) for value in row] for row in rows]

    def projected(self, names, rows=None):
        places = [list(COLUMNS).index(name) for name in names]
        return [tuple(row[place] for place in places) for row in (self.rows if rows is None else rows)]

    def check_metadata(self, file, harm, source, words):
        what = (self.kind, file, harm.name, source)
        report, names, rows = self.salvage(self.harmed(file, harm.data, source), *words)
        assert report is not None, (what, "nothing is saved")
        assert report["whole"] and report["rows_saved"] == ROWS, (what, report)
        assert sorted(names) == sorted(COLUMNS), what
        assert Counter(map(tuple, rows)) == Counter(self.projected(names)), (what, "other rows")

    def check_data(self, file, harm, fill):
        what = (self.kind, file, harm.name, fill)
        source = "sidecar" if self.kind.startswith("ours") else "statement"
        lost = self.layout.damaged(file, harm)
        is_whole_file = harm.name in ("lost", "emptied", "swapped")
        gone = {name for name, granules in lost.items() if is_whole_file or len(granules) == len(self.layout.rows)}
        report, names, rows = self.salvage(self.harmed(file, harm.data, source), *["--fill"] * fill)
        if report is None:
            assert gone == set(COLUMNS), (what, "nothing is saved")
            return
        left_out = {loss["column"] for loss in report["losses"] if loss["rows"] is None}
        assert left_out <= gone, (what, report)
        assert report["whole"] == (not report["losses"]), what
        assert report["put_right"] or not report["whole"] or not any(lost.values()), (what, "not noticed")
        if fill:
            assert report["rows_saved"] == len(rows) == ROWS, (what, report)
            sound = [name for name in COLUMNS if name not in lost or (report["whole"])]
        else:
            sound = names
        got = Counter(tuple(row[names.index(name)] for name in sound) for row in rows)
        every = Counter(self.projected(sound))
        assert got <= every, (what, "rows that the part did not have", list(got - every)[:2])
        if fill:
            assert not sound or got == every, what
            return
        dropped = {granule for name, granules in lost.items() if name not in left_out for granule in granules}
        kept = [row for row, granule in zip(self.rows, self.granule) if granule not in dropped]
        assert Counter(self.projected(sound, kept)) <= got, (what, "rows of sound blocks are missing", report)


@pytest.mark.parametrize("kind", KINDS)
def test_every_file(server, tambour, database, tmp_path, kind, record_property):
    case = Case(server, tambour, database, tmp_path, kind)
    chance = random.Random(f"{kind} {FULL}")
    own = "sidecar" if kind.startswith("ours") else "statement"
    metadata, data = [], []
    for file, bytes_ in sorted(case.layout.files.items()):
        other = case.other / file
        for harm in harms(bytes_, other.read_bytes() if other.exists() else None, chance, FULL or 1):
            (data if file in case.layout.pieces else metadata).append((file, harm))
    if not FULL:
        marks = [it for it in metadata if it[0].endswith(MARKS)]
        others = [it for it in metadata if it not in marks]
        metadata = chance.sample(others, min(len(others), 6)) + chance.sample(marks, min(len(marks), 4))
        data = chance.sample(data, min(len(data), 3))
    create = ["--create", case.statement]
    tried = []
    for file, harm in metadata:
        for source in [own, "sibling", "given"] if FULL and harm.name in ("lost", "emptied", "swapped") else [own]:
            words = create if source == "given" else []
            tried.append(fault(case.check_metadata, file, harm, source, words))
    for file, harm in data:
        tried += [fault(case.check_data, file, harm, fill) for fill in (False, True)]
    faults = [it for it in tried if it]
    record_property("said", f"{len(metadata)} harms to metadata, {len(data)} to data, {len(tried)} tried, {len(faults)} wrong")
    assert not faults, f"{len(faults)} wrong\n" + "\n".join(faults[:40])


def fault(check, *words):
    """What is wrong, or nothing."""
    try:
        check(*words)
    except AssertionError as error:
        return str(error)[:700]
    return None
