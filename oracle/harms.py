"""Files of a part lost, emptied, cut, flipped, garbled or another part's, each by itself; and which rows a damaged block is of."""

import struct

import pyarrow

# Checksum and header of a block.
HASH, HEADER = 16, 9
MARKS = (".mrk", ".mrk2", ".mrk3", ".mrk4", ".cmrk", ".cmrk2", ".cmrk3", ".cmrk4")


class Harm:
    """What becomes of the bytes of a file: nothing if it is removed. `places` are those of the bytes that are not what they were."""

    def __init__(self, name, data, places):
        self.name, self.data, self.places = name, data, places


def changed(data, place, value):
    copy = bytearray(data)
    copy[place] ^= value
    return bytes(copy)


def harms(data, other, chance, rounds):
    """All of a file, with `rounds` places of those that are at any place. `other` is the file of another part, if it has one."""
    size = len(data)
    found = [Harm("lost", None, range(size)), Harm("emptied", b"", range(size))]
    if other is not None:
        found.append(Harm("swapped", other, range(size)))
    for _ in range(rounds if size else 0):
        cut = chance.randrange(size)
        found.append(Harm(f"cut to {cut}", data[:cut], range(cut, size)))
        place, bit = chance.randrange(size), chance.randrange(8)
        found.append(Harm(f"bit {bit} of byte {place} flipped", changed(data, place, 1 << bit), range(place, place + 1)))
        place, value = chance.randrange(size), chance.choice([0x5a, 0xff, 0x81])
        found.append(Harm(f"byte {place} garbled", changed(data, place, value), range(place, place + 1)))
    return [harm for harm in found if harm.data != data]


def blocks(data):
    """Where the blocks of a file start, and where the last one ends."""
    starts = [0]
    while starts[-1] < len(data):
        starts.append(starts[-1] + HASH + struct.unpack_from("<I", data, starts[-1] + HASH + 1)[0])
    return starts


def unpacked(data):
    """The contents of blocks of marks, in the codecs that marks have."""
    target = b""
    starts = blocks(data)
    for start, end in zip(starts, starts[1:]):
        size = struct.unpack_from("<I", data, start + HASH + 5)[0]
        codec = pyarrow.Codec({0x82: "lz4_raw", 0x90: "zstd"}[data[start + HASH]])
        target += codec.decompress(data[start + HASH + HEADER:end], size, asbytes=True)
    return target


class Layout:
    """Where the granules of a part are, as its marks say: `rows` of each, and of each file of blocks pieces: the column, and the places
    where its granules start and where the last one ends."""

    def __init__(self, part, columns, granularity, count):
        self.files = {path.name: path.read_bytes() for path in part.iterdir() if path.is_file()}
        self.columns, self.pieces = columns, {}
        marks = [name for name in self.files if name.endswith(MARKS) and not name.startswith("skp_idx_")]
        for name in marks:
            stem, form = name.rsplit(".", 1)
            data = unpacked(self.files[name]) if form.startswith("c") else self.files[name]
            numbers = struct.unpack(f"<{len(data) // 8}Q", data)
            end = (len(self.files[stem + ".bin"]), 0)
            if form.endswith(("3", "4")):
                self.compact(numbers, form.endswith("4"))
            elif form.endswith("2"):
                self.rows = list(filter(None, numbers[2::3]))
                self.pieces[stem + ".bin"] = [(self.of(stem), [*zip(numbers[::3], numbers[1::3])][:len(self.rows)] + [end])]
            else:
                self.rows = [granularity] * (count // granularity) + [count % granularity] * bool(count % granularity)
                self.pieces[stem + ".bin"] = [(self.of(stem), [*zip(numbers[::2], numbers[1::2])] + [end])]
        assert sum(self.rows) == count

    def of(self, stem):
        """The columns of a stream: all of a Nested, if it is of their sizes."""
        own = [name for name in self.columns if stem == name or stem.startswith((name + ".", name + "%2E"))]
        if own and "." not in own[0]:
            return own
        stem = stem.replace("%2E", ".")
        own = [name for name in self.columns if stem == name or stem.startswith(name + ".")]
        return own or [name for name in self.columns if name.startswith(stem.split(".")[0] + ".")]

    def compact(self, numbers, is_of_substreams):
        """A column has the blocks up to where the next one starts."""
        widths = [1] * len(self.columns)
        if is_of_substreams:
            lines = self.files["columns_substreams.txt"].decode().splitlines()
            widths = [int(line.split(" ")[0]) for line in lines if " substreams for column " in line]
        record = 2 * sum(widths) + 1
        records = [numbers[at:at + record] for at in range(0, len(numbers), record)]
        self.rows = [it[-1] for it in records[:-1]]
        firsts = [2 * sum(widths[:number]) for number in range(len(widths))]
        starts = [[it[first] for first in firsts] for it in records]
        ends = [line[1:] + [below[0]] for line, below in zip(starts, starts[1:])]
        self.pieces["data.bin"] = [
            ([name], [(line[number], 0) for line in starts[:-1]], [(line[number], 0) for line in ends])
            for number, name in enumerate(self.columns)
        ]

    def damaged(self, file, harm):
        """The granules that a damaged file has lost, for each of its columns."""
        starts = blocks(self.files[file])
        broken = [start for start, end in zip(starts, starts[1:]) if harm.places.start < end and harm.places.stop > start]
        found = {}
        is_dictionary = file.endswith(".dict.bin")
        for names, *places in self.pieces[file.replace(".dict.bin", ".bin") if is_dictionary else file]:
            firsts, ends = (places[0][:-1], places[0][1:]) if len(places) == 1 else places
            lost = {
                number for number, (first, end) in enumerate(zip(firsts, ends))
                if any(first[0] <= start and (start, 0) < end and first != end for start in broken)
            }
            if is_dictionary:
                # Any granule that has records may need any of its blocks, and none the version in front of the first dictionary.
                needed = min(self.pieces[file][0][1][:-1])
                is_needed = any((end, 0) > needed for start, end in zip(starts, starts[1:]) if start in broken)
                lost = {number for number, (first, end) in enumerate(zip(firsts, ends)) if is_needed and first != end}
            for name in names:
                found[name] = lost
        return found
