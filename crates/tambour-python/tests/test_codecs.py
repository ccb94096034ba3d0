"""Streams and blocks: against the libraries of others, over every kind of buffer, and damaged."""

import array
import io
import mmap

import numpy as np
import pytest
import zstandard

import tambour
from tambour import frame

TEXT = b"the quick brown drum " * 5000


@pytest.mark.parametrize("format", ["lz4", "zstd", "block"])
@pytest.mark.parametrize("data", [b"", b"x", TEXT, bytes(range(256)) * 300])
def test_round_trip(format, data):
    assert tambour.decompress(tambour.compress(data, format), format) == data


def test_zstd_is_that_of_others():
    assert zstandard.ZstdDecompressor().decompress(tambour.compress(TEXT, "zstd")) == TEXT
    assert tambour.decompress(zstandard.ZstdCompressor(level=7).compress(TEXT)) == TEXT


def test_levels_and_threads_change_only_the_size():
    sizes = [len(tambour.compress(TEXT, "zstd", level=level)) for level in (1, 19)]
    assert sizes[1] <= sizes[0]
    assert tambour.decompress(tambour.compress(TEXT, "lz4", threads=2, block_bytes=65536), threads=2) == TEXT


def test_dictionary_is_needed():
    packed = tambour.compress(TEXT, "lz4", dictionary=b"brown drum " * 50)
    assert tambour.decompress(packed, dictionary=b"brown drum " * 50) == TEXT
    with pytest.raises(tambour.TambourError):
        tambour.decompress(packed, dictionary=b"another one" * 50)


@pytest.mark.parametrize(
    "buffer",
    [
        bytearray(TEXT),
        memoryview(TEXT),
        array.array("B", TEXT),
        np.frombuffer(TEXT, dtype="uint8"),
        np.frombuffer(TEXT[:80000], dtype="int64").reshape(100, 100),
    ],
    ids=["bytearray", "memoryview", "array", "numpy", "matrix"],
)
def test_any_buffer(buffer):
    assert tambour.decompress(tambour.compress(buffer)) == memoryview(buffer).tobytes()


def test_mapped_file(tmp_path):
    (tmp_path / "data").write_bytes(TEXT)
    with open(tmp_path / "data", "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert tambour.decompress(tambour.compress(mapped)) == TEXT


@pytest.mark.parametrize("buffer", [np.arange(10)[::2], memoryview(b"abcdef")[::2]])
def test_buffer_with_gaps_is_refused(buffer):
    with pytest.raises(tambour.ArgumentError, match="not contiguous"):
        tambour.compress(buffer)


@pytest.mark.parametrize("wrong", ["text", 7, None, object()])
def test_what_has_no_buffer_is_refused(wrong):
    with pytest.raises(TypeError):
        tambour.compress(wrong)


@pytest.mark.parametrize("format", ["lz4", "zstd", "block"])
def test_every_cut_and_many_flips_are_found(format):
    packed = tambour.compress(TEXT[:2000], format)
    for length in range(1, len(packed)):
        with pytest.raises(tambour.TambourError):
            tambour.decompress(packed[:length], format)
    for at in range(len(packed)):
        damaged = bytearray(packed)
        damaged[at] ^= 1 << at % 8
        try:
            # A flip may land where the format has no meaning for it; what comes out is right then.
            content = tambour.decompress(damaged, format)
        except tambour.TambourError:
            continue
        assert format != "block"
        assert content == TEXT[:2000]


def test_error_has_its_kind():
    packed = bytearray(tambour.encode_block(TEXT))
    packed[30] ^= 1
    with pytest.raises(tambour.CorruptError, match="checksum"):
        tambour.decode_block(packed)
    with pytest.raises(tambour.ArgumentError, match="gzip"):
        tambour.compress(b"", "gzip")
    with pytest.raises(tambour.TambourError):
        tambour.compress(b"", "block", codec="NOPE")


def test_bombs_are_limited():
    packed = tambour.compress(bytes(50_000_000), "zstd")
    assert len(packed) < 10_000
    with pytest.raises(tambour.LimitError, match="1000 bytes allowed"):
        tambour.decompress(packed, max_bytes=1000)


def test_blocks_of_values():
    values = np.arange(1000, dtype="int64") * 1000
    block = tambour.encode_block(values, "Delta, ZSTD(1)", type="Int64")
    assert len(block) < 500
    assert np.array_equal(np.frombuffer(tambour.decode_block(block), dtype="int64"), values)
    stream = block + tambour.encode_block(b"more")
    assert [len(content) for content in tambour.iter_blocks(stream)] == [8000, 4]
    with pytest.raises(tambour.ArgumentError, match="offset 99"):
        tambour.decode_block(b"", 99)


def test_codecs_are_listed():
    listed = {codec.name: codec for codec in tambour.codecs()}
    assert listed["LZ4"].method == 0x82 and listed["LZ4"].variant
    assert listed["T64"].takes == "values" and listed["ZSTD"].takes == "bytes"
    assert not listed["Pco"].portable


@pytest.mark.parametrize("name, magic", [("a.lz4", b"\x04\x22\x4d\x18"), ("a.zst", b"\x28\xb5\x2f\xfd")])
def test_files(tmp_path, name, magic):
    with frame.open(tmp_path / name, "wb") as file:
        for _ in range(50):
            file.write(TEXT)
    assert (tmp_path / name).read_bytes()[:4] == magic
    with frame.open(tmp_path / name) as file:
        assert file.read(10) == TEXT[:10]
        assert file.read() == (TEXT * 50)[10:]
    with frame.open(tmp_path / name) as file:
        assert sum(1 for _ in io.TextIOWrapper(file)) == 1


def test_files_over_file_objects():
    packed = io.BytesIO()
    with frame.open(packed, "wb", format="zstd", level=5) as file:
        file.write(TEXT)
    assert zstandard.ZstdDecompressor().decompressobj().decompress(packed.getvalue()) == TEXT
    packed.seek(0)
    assert frame.open(packed).read() == TEXT


class Little(io.RawIOBase):
    """A raw file that takes a few bytes at a time, as a pipe may, or says so."""

    def __init__(self, answer):
        self.content, self.answer = b"", answer

    def writable(self):
        return True

    def write(self, data):
        taken = bytes(data)[:7]
        self.content += taken
        return self.answer(taken)


def test_files_that_take_a_part():
    little = Little(len)
    with tambour.frame.open(little, "wb") as file:
        file.write(b"hello world" * 1000)
    assert tambour.decompress(little.content) == b"hello world" * 1000
    with pytest.raises(OSError):
        with tambour.frame.open(Little(lambda taken: None), "wb") as file:
            file.write(b"hello world" * 1000)


def test_what_is_only_like_a_file():
    class Sink:
        content = b""

        def write(self, data):
            self.content += data

    sink = Sink()
    with tambour.frame.open(sink, "wb") as file:
        file.write(b"hello world" * 1000)
    assert tambour.decompress(sink.content) == b"hello world" * 1000


def test_file_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        frame.open(tmp_path / "nothing.lz4")
    (tmp_path / "bad.lz4").write_bytes(tambour.compress(TEXT)[:-20])
    with pytest.raises(tambour.CorruptError) as raised, frame.open(tmp_path / "bad.lz4") as file:
        file.read()
    assert raised.value.path == str(tmp_path / "bad.lz4")

    class Raises(io.RawIOBase):
        def readable(self):
            return True

        def read(self, size=-1):
            raise ZeroDivisionError("mine")

        def write(self, data):
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        frame.open(Raises()).read()
    with pytest.raises(ZeroDivisionError, match="mine"):
        file = frame.FrameFile(Raises(), "wb")
        file.write(TEXT)
        file.close()
    file = frame.open(tmp_path / "closed.lz4", "wb")
    file.close()
    with pytest.raises(ValueError):
        file.write(b"x")
