"""Choice of codecs over tables of one's own: `TAMBOUR=BINARY python oracle/choice.py [--advise] [--vortex PYTHON] FILE.parquet...`

For each file: bytes that the choice makes as shares of the best of ClickHouse's four settings (ZSTD(1), ZSTD(3), each with and without
`enable_adaptive_codec_selection`, after OPTIMIZE FINAL), of Parquet by zstd(3), and of Vortex's compact mode (a Python with vortex-data); balance
as a share of ZSTD(1), with the time of ClickHouse's scan of those parts. `--advise`: what the advisor promises of ClickHouse's own table, over
what ALTER and OPTIMIZE make of it.
"""

import argparse
import json
import math
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import pyarrow.parquet
from conftest import ClickHouse, Tambour, parts_of

WIDE = "min_bytes_for_wide_part = 0, min_rows_for_wide_part = 0"
CHOICES = {
    "smallest": ["--types", "smallest", "--codec", "auto(size)"],
    "natural": ["--types", "natural", "--codec", "auto(size)"],
    "own": ["--types", "smallest", "--codec", "auto(size)", "--portable=no"],
    "balance": ["--types", "natural", "--codec", "auto"],
}
SCANS = 7
VORTEX = """
import os, sys, pyarrow.parquet, vortex
vortex.io.VortexWriteOptions.compact().write(vortex.array(pyarrow.parquet.read_table(sys.argv[1])), sys.argv[2])
print(os.path.getsize(sys.argv[2]))
"""


class Case:
    """One file, imported in every way."""

    def __init__(self, server, tambour, file, folder):
        self.server, self.tambour, self.file, self.folder = server, tambour, file, folder
        self.imported("keep", ["--types", "keep", "--codec", "LZ4"])
        described = [line.replace("\\'", "'") for line in tambour.rows(folder / "keep", "DESCRIBE keep")]
        self.columns = ", ".join("`{}` {}".format(*line.split("\t")[:2]) for line in described)

    def imported(self, name, words):
        """Bytes of the streams of a table of ours."""
        self.tambour.run("import", self.file, "--into", self.folder / name, "--threads", "1", *words)
        return sum(stream.stat().st_size for stream in (self.folder / name).glob("*/*.bin"))

    def made(self, codec, adaptive=False):
        """Bytes that ClickHouse makes of the file, in the table `theirs`."""
        server = self.server
        server.run("DROP TABLE IF EXISTS theirs SYNC")
        server.run(f"CREATE TABLE theirs ({self.columns}) ENGINE = MergeTree ORDER BY tuple() SETTINGS {WIDE}, default_compression_codec = '{codec}', "
                   f"enable_adaptive_codec_selection = {int(adaptive)}")
        server.run(f"INSERT INTO theirs SELECT * FROM file('{self.file}') SETTINGS max_threads = 1, max_insert_threads = 1")
        server.run("OPTIMIZE TABLE theirs FINAL")
        return sum(self.sizes().values())

    def sizes(self):
        lines = self.server.rows("SELECT name, data_compressed_bytes FROM system.columns WHERE table = 'theirs'")
        return {name: int(size) for name, size in (line.split("\t") for line in lines)}

    def scanned(self, name):
        """How many times as fast ClickHouse scans our parts as `theirs`."""
        server = self.server
        script = self.tambour.run("attach-script", "--sql", self.folder / name)
        server.run("DROP TABLE IF EXISTS ours SYNC")
        server.run(script[:script.index(";")].replace(f"default.{name}", "default.ours"))
        server.attach("default", "ours", parts_of(self.folder / name))
        least = dict.fromkeys(["ours", "theirs", ""], math.inf)
        for _ in range(SCANS):
            for table in least:
                query = f"SELECT * FROM {table} FORMAT Null SETTINGS max_threads = 1" if table else "SELECT 1 FORMAT Null"
                start = time.process_time()
                server.session.query(query, "Null")
                least[table] = min(least[table], time.process_time() - start)
        return (least["theirs"] - least[""]) / max(least["ours"] - least[""], 1e-6)

    def advised(self, goal):
        """Promised bytes, those of ClickHouse afterwards, and what was said of the present ones over what they are."""
        present = sum(self.sizes().values())
        shutil.copytree(self.server.directory("default", "theirs"), self.folder / "copy")
        advice = json.loads(self.tambour.run("advise", self.folder / "copy", "--goal", goal, "--json", "--quiet"))
        settings = "SETTINGS allow_suspicious_codecs = 1, enable_alp_codec = 1"
        for column in advice["columns"]:
            self.server.run(f"ALTER TABLE theirs MODIFY COLUMN `{column['name']}` CODEC({column['best'][goal]['codec']}) {settings}")
        self.server.run("OPTIMIZE TABLE theirs FINAL SETTINGS optimize_skip_merged_partitions = 0")
        promised = sum(column["best"][goal]["bytes"] for column in advice["columns"])
        said = sum(column["now"]["bytes"] for column in advice["columns"])
        return {"promise": promised / sum(self.sizes().values()), "present": said / present}

    def compared(self, vortex):
        theirs = {(codec, adaptive): self.made(codec, adaptive) for codec in ("ZSTD(3)", "ZSTD(1)") for adaptive in (True, False)}
        best = min(theirs.values())
        ours = {name: self.imported(name, words) for name, words in CHOICES.items()}
        parquet = self.folder / "file.parquet"
        pyarrow.parquet.write_table(pyarrow.parquet.read_table(self.file), parquet, compression="zstd", compression_level=3)
        shares = {"smallest": ours["smallest"] / best, "natural": ours["natural"] / best, "smallest/Parquet": ours["smallest"] / parquet.stat().st_size}
        if vortex:
            made = subprocess.run([vortex, "-c", VORTEX, str(self.file), str(self.folder / "vortex")], capture_output=True, check=True, text=True)
            shares |= {"smallest/Vortex": ours["smallest"] / int(made.stdout), "own/Vortex": ours["own"] / int(made.stdout)}
        return shares | {"balance/ZSTD(1)": ours["balance"] / theirs["ZSTD(1)", False], "scan": self.scanned("balance")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--vortex", help="a Python with vortex-data and pyarrow")
    parser.add_argument("--advise", action="store_true")
    parser.add_argument("--goal", default="size")
    parser.add_argument("--present", default="ZSTD(1)", help="the codec of the tables that are advised on")
    options = parser.parse_args()
    tambour, found = Tambour(), {}
    files = [pathlib.Path(file).resolve() for file in options.files]
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        server = ClickHouse(pathlib.Path(scratch) / "server")
        for file in files:
            name, folder = file.stem, pathlib.Path(scratch) / "tables"
            folder.mkdir()
            case = Case(server, tambour, file, folder)
            if options.advise:
                case.made(options.present)
            found[name] = case.advised(options.goal) if options.advise else case.compared(options.vortex)
            print(f"{name:20}", "  ".join(f"{what} {share:.3f}" for what, share in found[name].items()), flush=True)
            shutil.rmtree(folder)
    for what in next(iter(found.values())):
        shares = [row[what] for row in found.values()]
        mean = math.exp(sum(map(math.log, shares)) / len(shares))
        print(f"{what:20} mean {mean:.3f}, least {min(shares):.3f}, most {max(shares):.3f}")


if __name__ == "__main__":
    main()
