"""A ClickHouse operator's check of a backup: is it whole, what is damaged, what can be saved, and how to attach it."""

import tempfile
from pathlib import Path

import tambour

directory = Path(tempfile.mkdtemp())

# %% A backup: a directory of parts, as ClickHouse writes them. Here it is made first.
source = directory / "hits.csv"
source.write_text("day,page,visits\n" + "".join(f"2024-05-{n % 28 + 1:02},/page{n % 50},{n}\n" for n in range(20_000)))
backup = tambour.import_files(source, directory / "backup", order_by="day", partition_by="toYYYYMM(day)").path

# %% Everything is read and checked: hashes of files, checksums of blocks, marks, indexes, values.
seen = tambour.verify(backup)
print(f"{seen.parts} parts, {seen.blocks} blocks, {seen.rows} rows:", "good" if seen.good else "damaged")
assert seen.good

# %% A bit of a disk turns.
part = tambour.open(backup).parts[0]
file = max(Path(part.path).glob("*.bin"), key=lambda path: path.stat().st_size)
content = bytearray(file.read_bytes())
content[len(content) // 3] ^= 0x40
file.write_bytes(content)

# %% The check says where. Exceptions have the place: path, column, offset.
seen = tambour.verify(backup)
assert not seen.good
for damage in seen.damage:
    print(f"{type(damage).__name__}: {damage}")
    print(f"    path {damage.path}, column {damage.column}, offset {damage.offset}")

# %% What the part still holds goes into a new table; what is lost is listed.
saved = tambour.salvage(part.path, directory / "saved")
print(f"{saved.rows_saved} of {saved.rows} rows saved")
for loss in saved.losses:
    print(f"lost in {loss.column}, rows {loss.rows}: {loss.reason}")

# %% The new table is good, and these statements attach it to a server.
table = tambour.open(saved.path)
assert table.verify().good
print(table.attach_script("default", "hits", sql=True))
