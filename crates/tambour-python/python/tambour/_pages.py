"""Page stores: pages of a fixed size, compressed, in one file, written in commits that are whole or absent."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Literal, overload

from tambour import _internal
from tambour._checks import count, index
from tambour._columns import numbers
from tambour._errors import ArgumentError, TambourError
from tambour._typing import Buffer, Path


class PageStore:
    """A store of pages. `mode` is ``r`` to read, ``a`` to write as well, ``x`` to make a new one; ``a`` makes one if there is
    none.

    >>> import tambour
    >>> with tambour.PageStore(_directory / "drum.pages", "x", page_bytes=4096) as store:
    ...     page = store.append(b"x" * 4096)
    ...     store[page] == b"x" * 4096, len(store)
    (True, 1)
    """

    def __init__(
        self,
        path: Path,
        mode: Literal["r", "a", "x"] = "r",
        *,
        page_bytes: int = 16 << 10,
        codec: str = "zstd",
        holes: bool = False,
    ) -> None:
        self.path = os.fspath(path)
        self.mode = mode
        if mode not in ("r", "a", "x"):
            raise ArgumentError(f"mode {mode!r}: there are r, a and x")
        if mode == "x" or mode == "a" and not os.path.exists(self.path):
            size = count("page_bytes", page_bytes)
            self._store = _internal.Pages.create(self.path, size, codec, holes)
        else:
            self._store = _internal.Pages.open(self.path, mode != "r")

    @property
    def page_bytes(self) -> int:
        """Bytes of a page."""
        return self._store.page_bytes

    @property
    def generation(self) -> int:
        """The number of the last commit."""
        return self._store.generation()

    # Reading.

    def __len__(self) -> int:
        return len(self._store.pages())

    def __bool__(self) -> bool:
        return True

    def __contains__(self, page: object) -> bool:
        return isinstance(page, int) and page >= 0 and self._store.contains(page)

    def __iter__(self) -> Iterator[int]:
        return iter(self._store.pages())

    @overload
    def __getitem__(self, page: int) -> bytes: ...
    @overload
    def __getitem__(self, page: slice) -> list[bytes]: ...
    def __getitem__(self, page: int | slice) -> bytes | list[bytes]:
        if isinstance(page, slice):
            numbers = range(*page.indices(self._store.end()))
            kept = [number for number in numbers if self._store.contains(number)]
            content = memoryview(self._store.read_many(kept))
            size = self.page_bytes
            return [bytes(content[k * size : (k + 1) * size]) for k in range(len(kept))]
        return self._store.read(_page(page))

    def read_into(self, page: int, target: Buffer) -> None:
        """Reads a page into a buffer of its size."""
        self._store.read_into(_page(page), target)

    def get_many(self, pages: Any) -> bytes:
        """Pages one after another, in the order in which they were asked for."""
        return self._store.read_many(numbers(pages))

    # Writing.

    def append(self, content: Buffer, *, durable: bool = True) -> int:
        """Writes a page that was not in use; its number."""
        page = self._store.alloc()
        self.commit({page: content}, durable=durable)
        return page

    def alloc(self) -> int:
        """The number of a page that is not in use; it exists once it is written."""
        return self._store.alloc()

    def __setitem__(self, page: int, content: Buffer) -> None:
        self.commit({page: content})

    def __delitem__(self, page: int) -> None:
        self.commit({}, free=[page])

    def commit(
        self,
        pages: Mapping[int, Buffer],
        *,
        free: Iterable[int] = (),
        durable: bool = True,
    ) -> int:
        """Writes and frees pages, all or none; the number of the commit. Without `durable`, it survives a power cut only
        with a later one that is."""
        written = [(_page(page), content) for page, content in pages.items()]
        return self._store.commit(written, [_page(page) for page in free], durable)

    # Care.

    @property
    def stat(self) -> dict[str, Any]:
        """Pages, their bytes, and those of the files."""
        return self._store.stat()

    def verify(self) -> tuple[int, list[TambourError]]:
        """Decodes every page: how many, and all that is wrong, as exceptions."""
        return self._store.verify()

    def train_dictionary(self) -> None:
        """Trains a dictionary on the pages, for those that are written from now on."""
        self._store.train_dictionary()

    def backup(self, path: Path, since: int = 0) -> None:
        """Writes a backup into a new file: of everything, or of what changed after a commit."""
        self._store.backup(os.fspath(path), count("since", since))

    @staticmethod
    def restore(backups: Path | Iterable[Path], path: Path) -> None:
        """Makes a store of a full backup and of those that followed it."""
        files = [backups] if isinstance(backups, (str, os.PathLike)) else list(backups)
        _internal.Pages.restore([os.fspath(file) for file in files], os.fspath(path))

    @property
    def closed(self) -> bool:
        """The store was closed."""
        return self._store.closed

    def close(self) -> None:
        """Closes the store. Using it afterwards is an error."""
        self._store.close()

    def __enter__(self) -> PageStore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<tambour.PageStore {self.path}{', closed' if self.closed else ''}>"


def _page(page: Any) -> int:
    number = index("page", page)
    if number < 0:
        raise IndexError(f"page {number}: pages are counted from 0")
    return number
