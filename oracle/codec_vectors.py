"""Column files as ClickHouse writes them, as vectors for `crates/tambour-codec/tests/`.

    python oracle/codec_vectors.py small > crates/tambour-codec/tests/vectors/clickhouse.tsv
    cargo xtask vectors        # the large ones, which are not kept: made and replayed

Each line: ClickHouse type, class and width of an element, codec, `same` if our encoder gives the same bytes (`other` where the
encoder has a choice), uncompressed bytes, bytes of the file; both in hex.
"""

import glob
import itertools
import random
import shutil
import struct
import sys
import tempfile

from chdb import session

SMALL = sys.argv[1:] == ["small"]
INTEGERS = {f"{sign}Int{8 * width}": (sign == "U", width) for sign in ("U", "") for width in (1, 2, 4, 8, 16, 32)}
FLOATS = {"Float32": 4, "Float64": 8}
FLOAT_FORMAT = {4: "<f", 8: "<d"}
NAN = {4: ["0000807f", "000080ff", "0000c07f", "0100807f", "ffffffff", "00000080"], 8: [
    "000000000000f07f", "000000000000f0ff", "000000000000f87f", "010000000000f07f", "ffffffffffffffff", "0000000000000080"]}


def integers(signed, width, dice):
    """Lists of values by name."""
    bits = 8 * width
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    wrap = lambda value: (value - low) % (1 << bits) + low
    count = 20 if SMALL else 3000
    yield "one", [7]
    yield "two", [100, 3]
    yield "zeros", [0] * 5
    yield "edges", [low, high, low, 0, high, high, 1, wrap(-1), low + 1, high - 1, 0, 0, 5]
    yield "lowest", [low, low, low]
    yield "ramp", [wrap(k * 3 + (k % 7 == 0)) for k in range(count)]
    yield "steps", [wrap(dice.choice([-1, 1]) * ((1 << (k % bits)) + dice.choice([-1, 0, 1]))) for k in range(count)]
    yield "noise", [dice.randint(low, high) for _ in range(count // 2)]
    for divisor in (6, 100):
        span = 127 // divisor if width == 1 else 300
        yield f"times {divisor}", [divisor * dice.randint(-span if signed else 0, span) for _ in range(count // 2)]
    if SMALL:
        return
    for used in range(1, bits + 1, 1 if width <= 8 else 17):
        below = 1 << used
        yield f"{used} bits", [wrap(high // 3 + dice.randrange(below)) for _ in range(200)]
        yield f"{used} bits around 0", [wrap(dice.randrange(below) - below // 2) for _ in range(130)]
    for used in range(1, bits):
        edge = 1 << used
        values, value, delta = [], 0, 0
        for _ in range(40):
            delta += dice.choice([edge, -edge, edge - 1, 1 - edge, edge + 1, -edge - 1, 0, 63, 64, -62, -63, 255, 256, -254, -255, 2047, 2048, -2046, -2047])
            value += delta
            values.append(wrap(value))
        yield f"second differences of {used} bits", values


def floats(width, dice):
    count = 20 if SMALL else 3000
    pack = lambda values: [struct.pack(FLOAT_FORMAT[width], value) for value in values]
    yield "one", pack([7.25])
    yield "two", pack([0.1, -3])
    yield "constant", pack([1.5] * 9)
    yield "decimals", pack([20.15, 20.16, 20.16, 20.11, 19.99] + [round(20 + dice.gauss(0, 1), 2) for _ in range(count)])
    yield "special", [bytes.fromhex(text) for text in NAN[width]] * 2 + pack([0.1, 1e-30, 1e30])
    yield "special among decimals", pack([k / 4 for k in range(40)]) + [bytes.fromhex(text) for text in NAN[width]] + pack([k / 10 for k in range(20 if SMALL else 1100)])
    yield "slow", pack([100 + k // 5 * 0.125 for k in range(count)])
    yield "noise", [dice.randbytes(width) for _ in range(count // 2)]
    if not SMALL:
        yield "roots", pack([k**0.5 for k in range(1025)])
        for digits in range(0, 12):
            yield f"{digits} digits", pack([round(dice.uniform(-1000, 1000), digits) for _ in range(1500)])


class Server:
    def __init__(self):
        self.path = tempfile.mkdtemp()
        self.session = session.Session(self.path)
        self.session.query("SET allow_suspicious_codecs = 1, allow_experimental_codecs = 1, enable_alp_codec = 1")

    def column(self, type_name, codec, raw, width, block_bytes):
        """The data file of a column of these bytes."""
        run = self.session.query
        run("DROP TABLE IF EXISTS default.t SYNC")
        cut = f", min_compress_block_size = {block_bytes}, max_compress_block_size = {block_bytes}" if block_bytes else ""
        run(
            f"CREATE TABLE default.t (x {type_name} CODEC({codec})) ENGINE = MergeTree ORDER BY tuple() SETTINGS "
            f"min_bytes_for_wide_part = 0, min_rows_for_wide_part = 0, ratio_of_defaults_for_sparse_serialization = 1{cut}"
        )
        with open(f"{self.path}/data.bin", "wb") as file:
            file.write(raw)
        run(
            f"INSERT INTO default.t SELECT * FROM file('{self.path}/data.bin', 'RowBinary', $$x {type_name}$$)"
            " SETTINGS max_insert_threads = 1, max_threads = 1, min_insert_block_size_rows = 1000000"
        )
        (found,) = glob.glob(f"{self.path}/store/*/*/all_*/x.bin")
        with open(found, "rb") as file:
            return file.read()

    def close(self):
        self.session.close()
        shutil.rmtree(self.path, ignore_errors=True)


def main():
    server, dice = Server(), random.Random(5)

    def line(type_name, kind, width, codec, same, values, block_bytes=0):
        raw = b"".join(values)
        file = server.column(type_name, codec, raw, width, block_bytes)
        print(type_name, kind, width, codec, same, raw.hex(), file.hex(), sep="\t")

    for type_name, (unsigned, width) in INTEGERS.items():
        kind = "unsigned" if unsigned else "signed"
        if SMALL and type_name in ("UInt16", "Int8", "Int32", "UInt128", "Int256"):
            continue
        for name, values in integers(not unsigned, width, dice):
            values = [value.to_bytes(width, "little", signed=not unsigned) for value in values]
            codecs = ["GCD"]
            if width <= 8:
                codecs += [f"Delta({width})", "DoubleDelta", f"Gorilla({width})", "T64", "T64('bit')"]
            for codec in codecs:
                line(type_name, kind, width, codec, "same", values)
            if width <= 8 and name in ("ramp", "steps"):
                # Blocks cut inside of values, and widths that are not the type's.
                values = values[:9]
                for codec, block_bytes in itertools.product(codecs, (2 * width + 1,) if SMALL else (1, 2 * width + 1, 3 * width - 1)):
                    line(type_name, kind, width, codec, "same", values, block_bytes)
                for other, codec in itertools.product((1, 8) if SMALL else (1, 2, 4, 8), ("Delta", "DoubleDelta", "Gorilla")):
                    line(type_name, kind, width, f"{codec}({other})", "same", values)
                for codec in ("Delta, LZ4", "Delta, ZSTD(1)", "DoubleDelta, LZ4", "T64, LZ4", "Delta, T64, LZ4", "GCD, Delta, T64('bit')",
                              "NONE, NONE", "LZ4, LZ4", "Delta, DoubleDelta, Gorilla(4)", "ZSTD(1), T64"):
                    line(type_name, kind, width, codec, "other" if "ZSTD" in codec or "LZ4" in codec else "same", values)
    for type_name, width in FLOATS.items():
        for name, values in floats(width, dice):
            for codec in ("Gorilla", "FPC", "FPC(1)", "FPC(7)", f"FPC(5, {12 - width})", "DoubleDelta", "Delta", "ALP(STD)"):
                if SMALL and codec in ("FPC(7)", "Delta", "DoubleDelta") and name != "slow":
                    continue
                line(type_name, "float", width, codec, "other" if "ALP" in codec else "same", values)
            if name in ("decimals", "slow"):
                values = values[:5]
                for codec, block_bytes in itertools.product(("Gorilla", "FPC", "DoubleDelta"), (1, 2 * width + 1, 5 * width - 1)):
                    line(type_name, "float", width, codec, "same", values, block_bytes)
                for codec in ("Gorilla, LZ4", "FPC, ZSTD(1)", "ALP(STD), LZ4"):
                    line(type_name, "float", width, codec, "other", values)
    for type_name, width in (("Date", 2), ("Date32", 4), ("DateTime", 4), ("DateTime64(3)", 8), ("Decimal32(2)", 4), ("Decimal64(2)", 8),
                             ("Enum8('a' = 1, 'b' = 2, 'c' = -3)", 1), ("Enum16('a' = 1, 'b' = 2000, 'c' = -3)", 2), ("IPv4", 4), ("Bool", 1)):
        values = [1, 2, 1, 2 if "Enum" in type_name else 1, 1]
        if "Enum8" in type_name:
            values += [253]
        values = [value.to_bytes(width, "little") for value in values]
        for codec in ("T64", "T64('bit')", f"Delta({width}), T64"):
            line(type_name, "other", width, codec, "other", values)
    server.close()


main()
