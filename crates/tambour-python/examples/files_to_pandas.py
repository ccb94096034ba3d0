"""Files to a table to pandas: import CSV, look at what it takes, ask, and go on in pandas."""

import csv
import random
import tempfile
from pathlib import Path

import tambour

directory = Path(tempfile.mkdtemp())

# %% Some files, as they come every day.
random.seed(1)
for day in (1, 2):
    with (directory / f"rides-{day}.csv").open("w", newline="") as file:
        rides = csv.writer(file)
        rides.writerow(["started", "station", "minutes", "price"])
        for ride in range(5000):
            minutes = random.randrange(2, 90)
            started = f"2024-05-0{day} {ride // 220:02}:{ride % 60:02}:00"
            rides.writerow([started, f"station {ride % 37}", minutes, f"{minutes * 0.15:.2f}"])

# %% All of them become one table; types and codecs are found by looking at the values.
table = tambour.import_files(
    sorted(directory.glob("rides-*.csv")), directory / "rides", order_by="station, started"
)
print(table)
for column in table.columns.values():
    print(f"{column.name:8} {column.type:24} {column.uncompressed:7} -> {column.compressed:6} bytes")

# %% Rows that match, as a data frame.
long = table.scan(["station", "minutes"], filter="minutes >= 80").to_pandas()
print(long.groupby("station", observed=True)["minutes"].count().nlargest(3))

# %% The same by SQL, where the table is.
top = table.sql("SELECT station, sum(minutes) AS total FROM rides GROUP BY station ORDER BY total DESC LIMIT 3")
print(top.to_pandas())

# %% What pandas computed goes back into a table.
per_hour = table.to_pandas().groupby("station", observed=True, as_index=False)["minutes"].mean()
means = tambour.import_data(per_hour, directory / "means", order_by="station")
assert len(means) == 37
print(means.schema)
