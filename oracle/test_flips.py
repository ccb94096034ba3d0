"""A bit of a part the other way round, beside which no CREATE lies: an answer is right, refused, or comes with a word about what nothing proves.
ClickHouse keeps no hash of `columns.txt`; what no data contradicts there is listed below. `TAMBOUR_FLIPS=N` flips every bit of that file and N
in each other one; otherwise some of them."""

import os
import random
import shutil
from collections import Counter

import pytest
from conftest import parts_of
from harms import changed

FULL = int(os.environ.get("TAMBOUR_FLIPS") or 0)
COLUMNS = {
    "k": ("UInt32", "number"),
    "i": ("Int64", "number * 1000003 - 70000000"),
    "u8": ("UInt8", "number % 256"),
    "f": ("Float64", "number / 8"),
    "s": ("String", "concat('value ', toString(number))"),
    "fs": ("FixedString(3)", "toString(number % 1000)"),
    "lc": ("LowCardinality(String)", "toString(number % 7)"),
    "ns": ("Nullable(String)", "if(number % 3 = 0, NULL, toString(number))"),
    "a": ("Array(UInt16)", "range(number % 5)"),
    "e": ("Enum8('low' = -1, 'high' = 1)", "if(number % 2 = 0, 'low', 'high')"),
    "dec": ("Decimal(9, 2)", "number / 4"),
    "d": ("Date", "toDate('2024-01-01') + number % 20"),
    "dt": ("DateTime('UTC')", "toDateTime('2024-01-01 00:00:00', 'UTC') + number"),
    "dx": ("DateTime64(3, 'Europe/Berlin')", "toDateTime64('2024-06-01 00:00:00.123', 3, 'Europe/Berlin') + number"),
    "t": ("Tuple(x UInt8, y String)", "(number % 9, toString(number))"),
    "m": ("Map(String, UInt8)", "map('a', number % 3)"),
    "u": ("UUID", "reinterpretAsUUID(toFixedString(concat('id', toString(number)), 16))"),
    "ip": ("IPv4", "toIPv4(number + 167772160)"),
    "b": ("Bool", "number % 2"),
    "o": ("UInt64", "if(number % 40 = 7, number, 0)"),
}
KINDS = {
    "wide": "min_bytes_for_wide_part = 0, min_rows_for_wide_part = 0",
    "wide-old": "min_bytes_for_wide_part = 0, min_rows_for_wide_part = 0, index_granularity_bytes = 0, compress_marks = 0, compress_primary_key = 0, "
                "string_serialization_version = 'single_stream', serialization_info_version = 'basic', ratio_of_defaults_for_sparse_serialization = 1",
    "compact": "min_bytes_for_wide_part = 1000000000",
    "compact-mrk3": "min_bytes_for_wide_part = 1000000000, write_marks_for_substreams_in_compact_parts = 0",
}
SILENT_MAX = 20


class Part:
    """A part alone in its directory, and what is asked of it."""

    def __init__(self, server, tambour, database, directory, kind):
        self.tambour, self.directory = tambour, directory
        columns = ", ".join(f"`{name}` {kind}" for name, (kind, _) in COLUMNS.items())
        server.run(f"CREATE TABLE {database}.t ({columns}) ENGINE = MergeTree ORDER BY k SETTINGS index_granularity = 100, {KINDS[kind]}")
        values = ", ".join(f"{value} AS `{name}`" for name, (_, value) in COLUMNS.items())
        server.run(f"INSERT INTO {database}.t SELECT {values} FROM numbers(350)")
        self.path = parts_of(server.directory(database, "t"))[0]
        self.files = {path.name: path.read_bytes() for path in sorted(self.path.iterdir())}
        self.part = shutil.copytree(self.path, directory / "alone" / self.path.name)
        for file in self.part.iterdir():
            file.chmod(0o644)
        self.whole = self.answer()
        assert self.whole[0] == 0 and len(self.whole[1]) == len(COLUMNS)

    def answer(self):
        """The exit code, the columns with their names, and the messages."""
        done = self.tambour.call("sql", f"t={self.part}", "--format", "TSVWithNames", "SELECT * FROM t ORDER BY 1")
        if done.returncode:
            return done.returncode, [], done.stderr.decode(errors="replace")
        lines = done.stdout.decode("utf-8", "surrogateescape").splitlines()
        return 0, list(zip(*(line.split("\t") for line in lines))), done.stderr.decode(errors="replace")

    def flipped(self, file, place, bit):
        """What comes of it: `refused`, `same`, `told`, or the columns that are others without a word."""
        (self.part / file).write_bytes(changed(self.files[file], place, 1 << bit))
        code, columns, said = self.answer()
        (self.part / file).write_bytes(self.files[file])
        if code:
            assert "panicked" not in said and "internal" not in said, (file, place, bit, said)
            return "refused"
        if columns == self.whole[1]:
            return "same"
        others = [mine[0] for mine, was in zip(columns, self.whole[1]) if mine != was]
        is_renamed = [column[1:] for column in columns] == [column[1:] for column in self.whole[1]]
        if len(columns) == len(self.whole[1]) and all(f"`{name}`" in said for name in others):
            return "told"
        if is_renamed and "the names of all columns" in said:
            return "told"
        return ", ".join(others) or "columns are missing"


@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_bit_changes_no_answer_without_a_word(server, tambour, database, tmp_path, kind, record_property):
    part = Part(server, tambour, database, tmp_path, kind)
    chance = random.Random(kind)
    bits = [(place, bit) for place in range(len(part.files["columns.txt"])) for bit in range(8)]
    counts, silent = Counter(), []
    for place, bit in bits if FULL else chance.sample(bits, 25):
        found = part.flipped("columns.txt", place, bit)
        if found not in ("refused", "same", "told"):
            was = part.files["columns.txt"]
            line = [it for it in zip(was.splitlines(), changed(was, place, 1 << bit).splitlines()) if it[0] != it[1]]
            silent.append((place, bit, found, line))
            found = "silent"
        counts[found] += 1
    record_property("said", f"columns.txt: {dict(counts)} {silent}")
    assert len(silent) <= (SILENT_MAX if FULL else 1), silent
    counts = Counter()
    others = [file for file, data in part.files.items() if file != "columns.txt" and data]
    for file in others if FULL else chance.sample(others, min(len(others), 8)):
        data = part.files[file]
        for _ in range(FULL or 1):
            place, bit = chance.randrange(len(data)), chance.randrange(8)
            found = part.flipped(file, place, bit)
            assert found in ("refused", "same"), (file, place, bit, found)
            counts[found] += 1
    record_property("said", f"other files: {dict(counts)}")
