"""Logs into a record store: append lines with their times, compress them with a dictionary, find them again."""

import json
import tempfile
from pathlib import Path

import tambour

directory = Path(tempfile.mkdtemp())

# %% Lines as a service writes them, with their times in milliseconds.
start = 1_717_000_000_000
lines = [
    json.dumps({"level": "info" if n % 50 else "error", "user": f"u{n % 331}", "path": f"/api/{n % 7}", "ms": n % 113})
    for n in range(20_000)
]
times = [start + 250 * n for n in range(len(lines))]

with tambour.RecordStore(directory / "log", "a", codec="zstd") as store:
    # %% A batch is durable when `extend` returns.
    log = store["requests"]
    numbers = log.extend(lines, times)
    print(f"records {numbers.start} to {numbers.stop - 1}, {log.stat['bytes_on_disk']} bytes")

    # %% Sealed, they take a fraction; each is still read by itself.
    for report in log.seal():
        print(f"sealed {report['records']} records: {report['bytes']} -> {report['bytes_on_disk']} bytes")
    assert log[12_345].decode() == lines[12_345]

    # %% By number, many at once, as an Arrow array; by time, as a table.
    found = log.get_many([7, 11, 19_999])
    assert found.to_bytes_list() == [lines[n].encode() for n in (7, 11, 19_999)]
    minute = log.between(start + 60_000, start + 120_000)
    print(f"{minute.num_rows} requests in the second minute")

    # %% And by SQL: fields of JSON are columns.
    slow = tambour.sql(
        "SELECT path, count() AS errors, max(ms) AS slowest FROM requests WHERE level = 'error' GROUP BY path ORDER BY path",
        requests=log,
    )
    for row in slow.to_pylist():
        print(row)
