"""The exceptions: one tree, one class for each thing that a caller can do about an error."""

from __future__ import annotations

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
        place = {name: getattr(self, name) for name in ("path", "column", "offset", "row")}
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
    """The operating system said no."""


class Interrupted(TambourError):
    """The work was told to stop by something other than Ctrl-C, which is ``KeyboardInterrupt``."""
