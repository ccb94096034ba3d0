"""Hashes and integers of whole columns, against the libraries of others."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xxhash

import tambour
from tambour import hash, varint

THEIRS = {
    "xxh32": xxhash.xxh32_intdigest,
    "xxh64": xxhash.xxh64_intdigest,
    "xxh3_64": xxhash.xxh3_64_intdigest,
    "xxh3_128": xxhash.xxh3_128_intdigest,
}


@pytest.mark.parametrize("name", THEIRS)
@pytest.mark.parametrize("key", [b"", b"drum", b"x" * 1000])
def test_keys(name, key):
    for seed in (0, 7):
        assert getattr(hash, name)(key, seed) == THEIRS[name](key, seed)
    assert getattr(hash, name)(bytearray(key)) == getattr(hash, name)(memoryview(key)) == THEIRS[name](key)


def test_other_hashes_of_keys():
    assert hash.crc32c(b"123456789") == 0xE3069283
    assert hash.crc32c(b"6789", hash.crc32c(b"12345")) == 0xE3069283
    # As ClickHouse has them.
    assert hash.city64("drum") == hash.city64(b"drum")
    assert 0 <= hash.sip64(b"") < 2**64 and 0 <= hash.city128(b"") < 2**128


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint32", "int64", "float32", "float64", "bool"])
@pytest.mark.parametrize("name", ["xxh32", "xxh64", "xxh3_64"])
def test_numpy(name, dtype):
    values = np.arange(1000).astype(dtype)
    got = getattr(hash, name)(values, 3)
    assert got.dtype == ("uint32" if name == "xxh32" else "uint64")
    assert got.tolist() == [THEIRS[name](value.tobytes(), 3) for value in values]


def test_numpy_of_128_bits():
    values = np.arange(100)
    got = hash.xxh3_128(values)
    assert got.shape == (100, 2)
    assert [low | high << 64 for low, high in got.tolist()] == [THEIRS["xxh3_128"](value.tobytes()) for value in values]


def test_moments_and_missing_numbers():
    moments = np.array(["2024-02-29", "NaT"], dtype="datetime64[ns]")
    assert hash.xxh64(moments).tolist() == hash.xxh64(moments.view("int64")).tolist()
    numbers = np.array([0.0, float("nan")])
    assert hash.xxh64(numbers).tolist() == [THEIRS["xxh64"](value.tobytes()) for value in numbers]


@pytest.mark.parametrize("make", [pa.array, pl.Series, pd.Series, list], ids=["pyarrow", "polars", "pandas", "list"])
def test_texts(make):
    texts = ["", "a", "drüm", "x" * 100] * 10
    got = pa.array(hash.xxh64(make(texts)))
    assert got.to_pylist() == [THEIRS["xxh64"](text.encode()) for text in texts]


def test_arrow():
    chunks = pa.chunked_array([[1, 2], [None, 4]], pa.int32())
    expected = [THEIRS["xxh64"](np.int32(n).tobytes()) if n else None for n in (1, 2, None, 4)]
    assert pa.array(hash.xxh64(chunks)).to_pylist() == expected
    dictionary = pa.array(["b", "a", "b"]).dictionary_encode()
    assert pa.array(hash.xxh64(dictionary)).to_pylist() == [THEIRS["xxh64"](t) for t in (b"b", b"a", b"b")]
    sliced = pa.array([0, 1, 2, 3], pa.int64())[1:3]
    assert pa.array(hash.xxh64(sliced)).to_pylist() == [THEIRS["xxh64"](np.int64(n).tobytes()) for n in (1, 2)]
    fixed = pa.array([b"abc", b"def"], pa.binary(3))
    assert pa.array(hash.xxh3_64(fixed)).to_pylist() == [THEIRS["xxh3_64"](b"abc"), THEIRS["xxh3_64"](b"def")]
    assert pa.array(hash.xxh64(pa.array([], pa.string()))).to_pylist() == []
    assert len(pa.array(hash.xxh3_128(pa.array(["a"])))[0].as_py()) == 16


@pytest.mark.parametrize(
    "values, words",
    [
        (np.arange(10)[::2], "not contiguous"),
        (np.zeros((2, 2)), "one dimension"),
        (np.array(["a", None], dtype=object), "NumPy array, Arrow data or a list|no numbers"),
        (np.array(["text"]), "no numbers|NumPy array"),
        (pa.array([[1]]), "only texts and numbers"),
        (7, "NumPy array, Arrow data or a list"),
        ([1.5], "list of values"),
        ([1, "a"], "list of values"),
        ([1, 2**64], "64 bits"),
        (np.array(5), "one dimension"),
        (np.array(["2024-01-01"], "M8[D]").reshape(1, 1), "one dimension"),
    ],
    ids=str,
)
def test_what_is_no_column(values, words):
    with pytest.raises(tambour.ArgumentError, match=words):
        hash.xxh64(values)


def test_seed_of_32_bits():
    with pytest.raises(tambour.ArgumentError, match="32 bits"):
        hash.xxh32(b"", 1 << 40)
    with pytest.raises(tambour.ArgumentError, match="seed=-1"):
        hash.xxh64(b"", -1)


def protobuf(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "uint64", "int64"])
def test_varints(dtype):
    limits = np.iinfo(dtype)
    numbers = np.array([0, 1, 127, 100, limits.max], dtype=dtype)
    packed = varint.encode(numbers)
    assert packed == b"".join(protobuf(int(number)) for number in numbers)
    assert varint.decode(packed).tolist() == numbers.tolist()
    assert varint.encode(pa.array(numbers)) == varint.encode(numbers.tolist()) == packed
    assert pa.array(varint.decode_arrow(packed, 2)).to_pylist() == [0, 1]


def test_zigzag():
    numbers = np.array([0, -1, 1, -(2**63), 2**63 - 1])
    packed = varint.encode(numbers, zigzag=True)
    assert packed[:3] == b"\x00\x01\x02"
    assert varint.decode(packed, dtype="int64").tolist() == numbers.tolist()
    small = np.array([-3, 3], dtype="int8")
    assert varint.decode(varint.encode(small, zigzag=True), dtype="int32").tolist() == [-3, 3]


def test_streamvbyte():
    numbers = np.array([1, 1024, 0, 2**32 - 1], dtype="uint32")
    packed = varint.encode(numbers, "streamvbyte")
    assert packed[0] == 0b11_00_01_00
    assert varint.decode(packed, 4, "uint32", "streamvbyte").tolist() == numbers.tolist()
    with pytest.raises(tambour.ArgumentError, match="32 bits"):
        varint.encode([2**40], "streamvbyte")
    with pytest.raises(tambour.ArgumentError, match="how many"):
        varint.decode(packed, layout="streamvbyte")


@pytest.mark.parametrize("cut", [varint.encode([1, 2, 300])[:-1], b"\x80", b"\xff" * 11], ids=str)
def test_varints_cut_short(cut):
    with pytest.raises(tambour.CorruptError, match="cut short"):
        varint.decode(cut)


def test_arrays_are_sequences():
    array = hash.xxh64(pa.array(["a", None]))
    first = THEIRS["xxh64"](b"a")
    assert list(array) == array.to_pylist() == [first, None] and array[-2] == first and len(array) == 2
    assert repr(array) == "<tambour array of 2 values, UInt64>"
    with pytest.raises(IndexError):
        array[2]
    wide = hash.xxh3_128(pa.array(["a"]))
    assert wide[0] == pa.array(wide)[0].as_py()


@pytest.mark.parametrize("numbers", [[-1], np.array([-1]), np.array([1.5]), pa.array([1, None])], ids=str)
def test_numbers_that_have_no_varint(numbers):
    with pytest.raises(tambour.ArgumentError):
        varint.encode(numbers)


@pytest.mark.parametrize("data, count", [(b"\x80", 1), (b"\x80" * 11, 1), (b"", 1), (b"\x01", 10**15), (b"\xff" * 10, 1)])
def test_damaged_varints(data, count):
    with pytest.raises(tambour.CorruptError):
        varint.decode(data, count)
