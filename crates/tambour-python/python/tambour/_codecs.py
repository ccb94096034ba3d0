"""Streams and blocks of compressed bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tambour import _internal
from tambour._checks import count, maybe
from tambour._typing import Buffer

Format = Literal["lz4", "zstd", "block"]


@dataclass(frozen=True)
class Codec:
    """A codec that blocks can have."""

    name: str
    """As it is written after ``CODEC``."""
    method: int
    """The byte that stands for it on disk."""
    takes: str
    """``bytes``, or ``values`` of the column's type."""
    portable: bool
    """ClickHouse reads it."""
    variant: str | None
    """The decoder that this processor runs, where there are several."""


def codecs() -> list[Codec]:
    """The codecs of this version.

    >>> import tambour
    >>> [codec.name for codec in tambour.codecs() if codec.method == 0x90]
    ['ZSTD']
    """
    return [Codec(**entry) for entry in _internal.codecs()]


def compress(
    data: Buffer,
    format: Format = "lz4",
    *,
    level: int | None = None,
    codec: str = "LZ4",
    block_bytes: int | None = None,
    threads: int = 1,
    dictionary: bytes | None = None,
    linked: bool = False,
    block_checksums: bool = False,
    content_checksum: bool = True,
) -> bytes:
    """Compresses bytes into a stream that the programs ``lz4``, ``zstd`` or ``clickhouse-compressor`` read.

    `level` is for ``lz4`` and ``zstd``, `codec` for ``block``; `linked` and the checksums are for ``lz4``.

    >>> import tambour
    >>> packed = tambour.compress(b"drum " * 1000, "zstd")
    >>> len(packed) < 100
    True
    >>> tambour.decompress(packed) == b"drum " * 1000
    True
    """
    wishes = {
        "format": format,
        "codec": codec,
        "level": level,
        "block_bytes": maybe("block_bytes", block_bytes),
        "threads": count("threads", threads),
        "dictionary": dictionary,
        "linked": linked,
        "block_checksums": block_checksums,
        "content_checksum": content_checksum,
    }
    return _internal.compress(data, wishes)


def decompress(
    data: Buffer,
    format: Format | None = None,
    *,
    dictionary: bytes | None = None,
    max_bytes: int | None = None,
    threads: int = 1,
) -> bytes:
    """Decompresses a whole stream; its first bytes say of which format it is. All checksums are checked.

    >>> import tambour
    >>> tambour.decompress(tambour.compress(b"drum"))
    b'drum'
    >>> tambour.decompress(tambour.compress(bytes(1 << 20)), max_bytes=1000)
    Traceback (most recent call last):
    ...
    tambour._errors.LimitError: the data decompress to more than the 1000 bytes allowed
    """
    most = maybe("max_bytes", max_bytes)
    return _internal.decompress(data, format, dictionary, most, count("threads", threads))


def decode_block(data: Buffer, offset: int = 0) -> bytes:
    """The content of the ClickHouse block at `offset`, whose checksum is checked.

    >>> import tambour
    >>> block = tambour.encode_block(b"drum " * 100)
    >>> tambour.decode_block(block) == b"drum " * 100
    True
    """
    return _internal.decode_block(data, count("offset", offset))[0]


def iter_blocks(data: Buffer) -> Iterator[bytes]:
    """The contents of all blocks of a stream of ClickHouse blocks, as a ``.bin`` file is one.

    >>> import tambour
    >>> data = tambour.encode_block(b"one") + tambour.encode_block(b"two")
    >>> list(tambour.iter_blocks(data))
    [b'one', b'two']
    """
    view = memoryview(data)
    offset = 0
    while offset < view.nbytes:
        content, offset = _internal.decode_block(view, offset)
        yield content


def encode_block(data: Buffer, codec: str = "LZ4", *, type: str = "String") -> bytes:
    """One ClickHouse block of some bytes. Codecs of values want to know the `type` of these.

    >>> import tambour, array
    >>> numbers = array.array("q", range(1000))
    >>> block = tambour.encode_block(numbers, "Delta, LZ4", type="Int64")
    >>> len(block) < 200
    True
    >>> tambour.decode_block(block) == numbers.tobytes()
    True
    """
    return _internal.encode_block(data, codec, type)
