"""Salvage of a lone part of ClickHouse's where one file contradicts the others: a damaged name in columns.txt, another part's checksums.txt."""

import random
import shutil

import pytest

COLUMNS = ["k", "s", "lc", "ns", "a", "m", "d", "dt"]
CREATE = ("CREATE TABLE {} (k UInt32, s String, lc LowCardinality(String), ns Nullable(String), a Array(UInt8), m Map(String, UInt8), d Date, dt DateTime) "
          "ENGINE = MergeTree ORDER BY k SETTINGS min_bytes_for_wide_part = {}")
ROWS = ("INSERT INTO {} SELECT number + {}, toString(number), toString(number % 7), if(number % 3 = 0, NULL, 'x'), [number % 5], map('a', number % 3), "
        "toDate('2020-01-01') + number % 100, toDateTime('2020-01-01 00:00:00') + number FROM numbers({})")


def saved(tambour, part, target):
    shutil.rmtree(target, ignore_errors=True)
    tambour.run("salvage", part, "--to", target)
    return tambour.run("sql", f"t={target}", "--format", "TSVWithNames", "SELECT * FROM t ORDER BY k")


@pytest.mark.parametrize("wide", [0, 1 << 40])
def test_names_and_checksums_that_others_contradict(server, tambour, database, tmp_path, wide):
    table = f"{database}.t"
    server.run(CREATE.format(table, wide))
    server.run(f"SYSTEM STOP MERGES {table}")
    server.run(ROWS.format(table, 0, 3000))
    server.run(ROWS.format(table, 5000, 3100))
    path = server.directory(database, "t")
    whole = saved(tambour, shutil.copytree(path / "all_1_1_0", tmp_path / "whole" / "all_1_1_0"), tmp_path / "out")
    assert whole.count("\n") == 3001
    for name in COLUMNS:
        part = shutil.copytree(path / "all_1_1_0", tmp_path / name / "all_1_1_0")
        text = (part / "columns.txt").read_text()
        flipped = name[:-1] + chr(ord(name[-1]) ^ 0x20)
        assert f"`{name}`" in text
        (part / "columns.txt").chmod(0o644)
        (part / "columns.txt").write_text(text.replace(f"`{name}`", f"`{flipped}`"))
        assert saved(tambour, part, tmp_path / "out") == whole, name
    part = shutil.copytree(path / "all_1_1_0", tmp_path / "sums" / "all_1_1_0")
    (part / "checksums.txt").unlink()
    shutil.copy(path / "all_2_2_0" / "checksums.txt", part)
    assert saved(tambour, part, tmp_path / "out") == whole


@pytest.mark.parametrize("wide", [0, 1 << 40])
def test_a_single_bit_is_put_right(server, tambour, database, tmp_path, wide):
    table = f"{database}.t"
    server.run(CREATE.format(table, wide))
    server.run(ROWS.format(table, 0, 3000))
    path = server.directory(database, "t") / "all_1_1_0"
    whole = saved(tambour, shutil.copytree(path, tmp_path / "whole" / "all_1_1_0"), tmp_path / "out")
    chance = random.Random(4)
    for file in sorted(path.glob("*.bin")):
        for place in [3, 25, chance.randrange(25, file.stat().st_size)]:
            part = shutil.copytree(path, tmp_path / f"{file.stem}{place}" / "all_1_1_0")
            damaged = bytearray(file.read_bytes())
            bit = chance.randrange(8)
            damaged[place] ^= 1 << bit
            (part / file.name).chmod(0o644)
            (part / file.name).write_bytes(damaged)
            shutil.rmtree(tmp_path / "out")
            told = tambour.run("salvage", part, "--to", tmp_path / "out")
            assert f"put right: bit {bit} of byte {place} of {file.name}" in told
            assert tambour.run("sql", f"t={tmp_path / 'out'}", "--format", "TSVWithNames", "SELECT * FROM t ORDER BY k") == whole, (file.name, place)
            damaged[place + 1] ^= 1
            (part / file.name).write_bytes(damaged)
            shutil.rmtree(tmp_path / "out")
            assert tambour.call("salvage", part, "--to", tmp_path / "out").returncode, "two bits are not put right"
