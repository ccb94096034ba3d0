"""Compressed files: LZ4 and zstd frames and streams of ClickHouse blocks, opened like other files.

>>> from tambour import frame
>>> with frame.open(_directory / "words.lz4", "wb") as file:
...     _ = file.write(b"drum " * 1000)
>>> with frame.open(_directory / "words.lz4") as file:
...     file.read(9)
b'drum drum'
"""

from __future__ import annotations

import builtins
import io
import os
from typing import Any, BinaryIO, Literal, cast

from tambour import _internal
from tambour._checks import count, maybe
from tambour._codecs import Format, compress, decompress
from tambour._errors import ArgumentError, TambourError
from tambour._typing import Path

__all__ = ["FrameFile", "compress", "decompress", "open"]

_SUFFIXES: dict[str, Format] = {".lz4": "lz4", ".zst": "zstd", ".zstd": "zstd"}
# Bytes that a reader or writer collects.
_BUFFER = 1 << 17


class FrameFile(io.RawIOBase):
    """A compressed file without a buffer of its own; :func:`open` gives one with."""

    def __init__(
        self,
        file: Path | BinaryIO,
        mode: Literal["rb", "wb", "xb"] = "rb",
        *,
        format: Format | None = None,
        level: int | None = None,
        codec: str = "LZ4",
        block_bytes: int | None = None,
        threads: int = 1,
        dictionary: bytes | None = None,
        linked: bool = False,
        block_checksums: bool = False,
        content_checksum: bool = True,
    ) -> None:
        super().__init__()
        self._reader: _internal.FrameReader | None = None
        self._writer: _internal.FrameWriter | None = None
        self._file: BinaryIO | None = None
        if mode not in ("rb", "wb", "xb"):
            raise ArgumentError(f"mode {mode!r}: there are rb, wb and xb")
        self._owned = isinstance(file, (str, os.PathLike))
        if isinstance(file, (str, os.PathLike)):
            if mode != "rb" and format is None:
                format = _SUFFIXES.get(os.path.splitext(os.fspath(file))[1], "lz4")
            self._file = cast(BinaryIO, builtins.open(file, mode, buffering=0))
        else:
            self._file = file
        try:
            if mode == "rb":
                self._reader = _internal.FrameReader(self._file, format, dictionary)
            else:
                wishes: dict[str, Any] = {
                    "format": format or "lz4",
                    "codec": codec,
                    "level": level,
                    "block_bytes": maybe("block_bytes", block_bytes),
                    "threads": count("threads", threads),
                    "dictionary": dictionary,
                    "linked": linked,
                    "block_checksums": block_checksums,
                    "content_checksum": content_checksum,
                }
                self._writer = _internal.FrameWriter(self._file, wishes)
        except BaseException:
            if self._owned:
                self._file.close()
            raise

    def readable(self) -> bool:
        return self._reader is not None

    def writable(self) -> bool:
        return self._writer is not None

    def readinto(self, target: Any) -> int:
        if self._reader is None:
            raise io.UnsupportedOperation("the file was opened to write")
        try:
            return self._reader.readinto(target)
        except TambourError as error:
            # The library reads a file object, and does not know of which file.
            name = getattr(self._file, "name", None)
            if error.path is None and isinstance(name, (str, os.PathLike)):
                error.path = os.fspath(name)
            raise

    def write(self, data: Any) -> int:
        if self._writer is None:
            raise io.UnsupportedOperation("the file was opened to read")
        return self._writer.write(data)

    def close(self) -> None:
        if self.closed:
            return
        try:
            if self._reader is not None:
                self._reader.close()
            if self._writer is not None:
                self._writer.close()
        finally:
            if self._owned and self._file is not None:
                self._file.close()
            super().close()


def open(
    file: Path | BinaryIO, mode: Literal["rb", "wb", "xb"] = "rb", **options: Any
) -> io.BufferedReader | io.BufferedWriter:
    """Opens a compressed file, or a file object over compressed bytes. A new file's name says its format: ``.lz4``,
    ``.zst``; all else is LZ4, unless `format` says otherwise. Further options are those of :func:`tambour.compress`.
    """
    raw = FrameFile(file, mode, **options)
    if mode == "rb":
        return io.BufferedReader(raw, _BUFFER)
    return io.BufferedWriter(raw, _BUFFER)
