"""Hashes: of one key, and of whole columns at once.

A key is ``bytes``, a ``bytearray`` or a ``str``, and its hash a number. A column is a NumPy array, Arrow data (of pyarrow,
polars, pandas) or a list; NumPy's hashes are a NumPy array, all others an Arrow array, in which a value that is missing has
no hash. Numbers are hashed as the bytes that they have in memory: NaN and NaT, too. Results are those of the C libraries.

>>> from tambour import hash
>>> hex(hash.xxh64(b"drum"))
'0x142d30289fb0972a'
>>> import numpy
>>> hash.xxh64(numpy.array([1, 2, 3])).dtype
dtype('uint64')
"""

from __future__ import annotations

from typing import Any

from tambour import _internal
from tambour._checks import count
from tambour._columns import like, prepared

__all__ = ["city64", "city128", "crc32c", "sip64", "xxh3_64", "xxh3_128", "xxh32", "xxh64"]


def _hash(name: str, keys: Any, seed: int, dtype: str) -> Any:
    if isinstance(keys, str):
        keys = keys.encode()
    if isinstance(keys, (bytes, bytearray, memoryview)):
        return _internal.hash_key(name, keys, _seed(seed))
    hashed = _internal.hash_column(name, prepared(keys), _seed(seed))
    return like(keys, hashed, dtype)


def _seed(seed: int) -> int:
    return count("seed", seed, 0, (1 << 64) - 1)


def xxh32(keys: Any, seed: int = 0) -> Any:
    """XXH32 of a key, or of each value of a column."""
    return _hash("xxh32", keys, seed, "uint32")


def xxh64(keys: Any, seed: int = 0) -> Any:
    """XXH64 of a key, or of each value of a column."""
    return _hash("xxh64", keys, seed, "uint64")


def xxh3_64(keys: Any, seed: int = 0) -> Any:
    """XXH3 of 64 bits of a key, or of each value of a column."""
    return _hash("xxh3_64", keys, seed, "uint64")


def xxh3_128(keys: Any, seed: int = 0) -> Any:
    """XXH3 of 128 bits of a key, or of each value of a column: rows of a lower and an upper half in NumPy, 16 bytes
    (little-endian) in Arrow."""
    return _hash("xxh3_128", keys, seed, "uint64x2")


def city64(key: bytes | str) -> int:
    """ClickHouse's ``cityHash64`` of a key."""
    return _internal.hash_key("city64", key.encode() if isinstance(key, str) else key, 0)


def city128(key: bytes | str) -> int:
    """CityHash128 (version 1.0.2) of a key: the checksum of ClickHouse's blocks."""
    return _internal.hash_key("city128", key.encode() if isinstance(key, str) else key, 0)


def sip64(key: bytes | str) -> int:
    """ClickHouse's ``sipHash64`` of a key."""
    return _internal.hash_key("sip64", key.encode() if isinstance(key, str) else key, 0)


def crc32c(key: bytes | str, start: int = 0) -> int:
    """CRC-32C of bytes, continued from `start`.

    >>> from tambour import hash
    >>> hex(hash.crc32c(b"123456789"))
    '0xe3069283'
    """
    return _internal.hash_key("crc32c", key.encode() if isinstance(key, str) else key, start)
