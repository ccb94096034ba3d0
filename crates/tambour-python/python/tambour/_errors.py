"""The exceptions: one tree, one class for each thing that a caller can do about an error."""

from __future__ import annotations

import os
from typing import Any

__all__ = [
    "TambourError",
    "CorruptError",
    "UnsupportedError",
    "ArgumentError",
    "ClosedError",
    "NotFoundError",
    "ConflictError",
    "LimitError",
    "IoError",
    "Interrupted",
]


_PLACE = ("path", "column", "offset", "row")


class TambourError(Exception):
    """What Tambour raises; all else it raises is Python's own, as ``KeyboardInterrupt``.

    >>> import tambour
    >>> try:
    ...     tambour.decompress(b"not a stream")
    ... except tambour.TambourError as error:
    ...     print(type(error).__name__)
    CorruptError
    """

    path: str | None
    """The file or directory in which it happened, if one is concerned."""
    column: str | None
    """The column, if one is concerned."""
    offset: int | None
    """The offset in the file, in bytes."""
    row: int | None
    """The row of the part or the file."""

    def __init__(
        self,
        message: str = "",
        *,
        path: str | None = None,
        column: str | None = None,
        offset: int | None = None,
        row: int | None = None,
    ) -> None:
        super().__init__(message)
        self.path = path
        self.column = column
        self.offset = offset
        self.row = row

    def __reduce__(self):  # type: ignore[no-untyped-def]
        # Exceptions come back from other processes with all that they know.
        place = {name: getattr(self, name) for name in _PLACE}
        return type(self), self.args, place


class CorruptError(TambourError):
    """The data is damaged: a checksum is wrong, or bytes that no writer of the format writes."""


class UnsupportedError(TambourError):
    """A format, codec, type or clause that this version does not know."""


class ArgumentError(TambourError, ValueError):
    """The call is wrong: its arguments, or the values that it hands over."""


class ClosedError(ArgumentError):
    """The store or file is closed."""


class NotFoundError(TambourError, LookupError):
    """Something named does not exist: a file, a table, a column, a record, a page."""


class ConflictError(TambourError):
    """Something exists already, or is in use by somebody else."""


class LimitError(TambourError):
    """A limit on memory or size would be exceeded."""


class IoError(TambourError, OSError):
    """The operating system said no. ``errno`` is its number of the reason, where it gave one, and ``filename`` is ``path``."""

    def __init__(self, message: str = "", *, errno: int | None = None, **place: Any) -> None:
        super().__init__(message, **place)
        self.errno = errno

    @property
    def filename(self) -> str | None:
        return self.path

    @property
    def strerror(self) -> str | None:  # type: ignore[override]
        return None if self.errno is None else os.strerror(self.errno)

    def __reduce__(self):  # type: ignore[no-untyped-def]
        place = {name: getattr(self, name) for name in (*_PLACE, "errno")}
        return type(self), self.args, place


class Interrupted(TambourError):
    """The work was told to stop by something other than Ctrl-C, which is ``KeyboardInterrupt``."""
