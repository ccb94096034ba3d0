"""Record stores: many small records, compressed with dictionaries trained on them, found by number."""

from __future__ import annotations

import datetime
import os
import threading
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Union, overload

from tambour import _internal
from tambour._checks import count, index, maybe
from tambour._columns import moment
from tambour._columns import numbers as _numbers
from tambour._columns import times as _times
from tambour._errors import ArgumentError, ClosedError, TambourError
from tambour._typing import ArrowData, Buffer, Path

if TYPE_CHECKING:
    import pyarrow

Codec = Literal["raw", "lz4", "zstd"]
Time = Union[int, datetime.datetime]

# Records that an iteration holds, in bytes.
_AHEAD = 1 << 22
# Bytes of sealed segments that a reader keeps in memory.
_MEMORY = 1 << 30


class Category:
    """The records of one category of a store: a sequence that grows at its end.

    Numbers of records go on when old ones are dropped: ``category[0]`` is the record with the number 0, not the oldest one
    that is left, and ``category.first`` is the number of that. Negative numbers count from the end.

    Of records with keys (``tambour records append --key``), ``len``, iteration and slices have the latest of each key: some of
    the numbers stand for nothing any more.

    Times are microseconds since 1970, which is what queries take ``_time`` for. Moments (``datetime``, NumPy's, Arrow's) are
    converted, and what is finer is cut off; without a zone they are of UTC.
    """

    def __init__(self, store: RecordStore, name: str) -> None:
        self._store = store
        self.name = name
        self._own: _internal.View | None = None
        self._writer: _internal.Writer | None = None
        self._stale = False
        # Of several threads that begin to append, one opens the writer.
        self._opening = threading.Lock()

    # Reading.

    @property
    def _view(self) -> _internal.View:
        store = self._store._store
        if self._own is None:
            self._own = store.view(self.name, _MEMORY)
        elif self._stale:
            self._own.refresh()
        self._stale = False
        return self._own

    def _queried(self) -> _internal.View:
        return self._view

    def refresh(self) -> Category:
        """Takes in what others appended, sealed or dropped."""
        self._stale = True
        return self

    @property
    def first(self) -> int:
        """The number of the oldest record."""
        return self._view.ids()[0]

    @property
    def end(self) -> int:
        """The number that the next record gets."""
        return self._view.ids()[1]

    @property
    def _is_new(self) -> bool:
        """Nothing was ever appended: there is nothing to open, and nothing in it."""
        store = self._store
        return self._own is None and store.mode != "r" and self.name not in store.categories()

    def __len__(self) -> int:
        return 0 if self._is_new else self._view.count()

    def __bool__(self) -> bool:
        return True

    def _number(self, number: int) -> int:
        first, end = self._view.ids()
        if number < 0:
            number += end
        if not first <= number < end:
            raise IndexError(f"record {number}: there are {first} to {end - 1}")
        return number

    @overload
    def __getitem__(self, number: int) -> bytes: ...
    @overload
    def __getitem__(self, number: slice) -> list[bytes]: ...
    def __getitem__(self, number: int | slice) -> bytes | list[bytes]:
        if isinstance(number, slice):
            return [] if self._is_new else self._slice(number)
        if self._is_new:
            raise IndexError(f"record {number}: there are none yet")
        return self._view.get(self._number(index("record", number)))

    def _slice(self, asked: slice) -> list[bytes]:
        view = self._view
        first, end = view.ids()
        wanted = range(*asked.indices(end))
        if not view.is_keyed():
            kept = [number for number in wanted if number >= first]
            return view.get_many(kept).to_bytes_list()  # type: ignore[return-value]
        low, high = (min(wanted), max(wanted) + 1) if wanted else (0, 0)
        found = [record for number, record in self._scan(view, low, high) if number in wanted]
        return found if wanted.step > 0 else found[::-1]

    def _scan(self, view: _internal.View, at: int, end: int) -> Iterator[tuple[int, bytes]]:
        """Numbers and records of a range, without those that a later one with the same key has replaced."""
        while at < end:
            ids, _, records = view.scan(at, end, _AHEAD)
            if len(ids) == 0:
                return
            found = memoryview(ids).cast("B").cast("q")
            at = found[-1] + 1
            for number, record in zip(found, records.to_bytes_list()):
                yield number, record or b""

    def __iter__(self) -> Iterator[bytes]:
        if self._is_new:
            return
        view = self._view
        for _, record in self._scan(view, *view.ids()):
            yield record

    def get_many(self, numbers: Any) -> _internal.Array:
        """Records in the order of their `numbers` (any iterable, a NumPy or an Arrow array), side by side in one Arrow array.

        ``pyarrow.array(...)`` and ``polars.Series(...)`` take it without a copy.
        """
        return self._view.get_many(_numbers(numbers))

    def time(self, number: int) -> int | None:
        """The time of a record in microseconds since 1970; ``None`` without one."""
        return self._view.time(self._number(index("record", number)))

    def between(self, start: Time, end: Time) -> pyarrow.Table:
        """Records with times from `start` to before `end`: columns ``id``, ``time``, ``record`` (pyarrow)."""
        return _table(*self._view.scan_time(moment(start), moment(end)))

    def to_arrow(self, first: int | None = None, end: int | None = None) -> pyarrow.Table:
        """Records of a range of numbers: columns ``id``, ``time``, ``record`` (pyarrow). Negative numbers count from the end."""
        least, most = self._view.ids()

        def place(name: str, number: int | None, missing: int) -> int:
            if number is None:
                return missing
            number = count(name, number, -(1 << 63))
            return max(number + most if number < 0 else number, 0)

        start, stop = place("first", first, least), place("end", end, most)
        return _table(*self._view.scan(start, stop, 1 << 62))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    @property
    def stat(self) -> dict[str, int]:
        """Records, their bytes, and those of the files."""
        return self._view.stat()

    # Writing.

    @property
    def writer(self) -> _internal.Writer:
        """Who appends; the category is locked against others from the first use on."""
        with self._opening:
            if self._writer is None or self._writer.closed:
                store = self._store._store
                self._store._check_writable()
                self._writer = store.writer(self.name)
            return self._writer

    def append(
        self, record: Buffer | str, time: Time | None = None, *, durable: bool = True
    ) -> int:
        """Adds a record; its number. It is durable when this returns, unless told otherwise: then it is read after
        :meth:`flush`."""
        data = record.encode() if isinstance(record, str) else record
        at = None if time is None else moment(time)
        number = self.writer.append(data, at, not durable)
        self._stale = True
        return number

    def extend(self, records: Iterable[Buffer | str] | ArrowData, times: Any = None) -> range:
        """Adds records, all or none; their numbers. They are durable when this returns.

        `times` are a list, a NumPy or an Arrow array of as many moments or numbers of microseconds; ``None`` is none.
        """
        data = records
        if not (hasattr(records, "__arrow_c_stream__") or hasattr(records, "__arrow_c_array__")):
            data = list(records)  # type: ignore[arg-type]
        first, end = self.writer.append_many(data, _times(times))
        self._stale = True
        return range(first, end)

    def flush(self) -> None:
        """Makes everything durable that was appended."""
        self.writer.flush()
        self._stale = True

    def seal(
        self,
        *,
        all: bool = True,
        codec: Codec | None = None,
        level: int | None = None,
        dictionary_bytes: int = 64 << 10,
        group: int = 1,
    ) -> list[dict[str, Any]]:
        """Compresses segments with a dictionary trained on them: those that are full, or all."""
        size, together = count("dictionary_bytes", dictionary_bytes), count("group", group, 1)
        reports = self.writer.seal(all, codec, level, size, together)
        self._stale = True
        return reports

    def retain(self, *, before: Time | None = None, max_bytes: int | None = None) -> int:
        """Drops the oldest segments: those with times before one, or until the files take this much. How many records."""
        oldest, size = None if before is None else moment(before), maybe("max_bytes", max_bytes)
        dropped = self.writer.retain(oldest, size)
        self._stale = True
        return dropped

    def close(self) -> None:
        """Makes everything durable, and lets others write."""
        if self._writer is not None:
            self._writer.close()
        if self._own is not None:
            self._own.close()
        self._writer = self._own = None

    def __repr__(self) -> str:
        return f"<tambour.Category {self.name}>"


def _table(ids: Any, times: Any, records: Any) -> pyarrow.Table:
    import pyarrow

    columns = {"id": ids, "time": times, "record": records}
    return pyarrow.table({name: pyarrow.array(column) for name, column in columns.items()})


class RecordStore:
    """A store of small records, in categories. `mode` is ``r`` to read, ``a`` to write as well, ``x`` to make a new one;
    ``a`` makes one if there is none.

    >>> import tambour
    >>> with tambour.RecordStore(_directory / "log", "a") as store:
    ...     logins = store["logins"]
    ...     numbers = logins.extend(f'{{"user": {user}}}' for user in range(1000))
    ...     report = logins.seal(codec="zstd")
    ...     len(logins), logins[-1], logins[1:3]
    (1000, b'{"user": 999}', [b'{"user": 1}', b'{"user": 2}'])
    """

    def __init__(
        self,
        path: Path,
        mode: Literal["r", "a", "x"] = "r",
        *,
        codec: Codec = "lz4",
        segment_bytes: int = 64 << 20,
    ) -> None:
        self.path = os.fspath(path)
        self.mode = mode
        if mode not in ("r", "a", "x"):
            raise ArgumentError(f"mode {mode!r}: there are r, a and x")
        make = mode == "x" or mode == "a" and not _internal.Records.is_at(self.path)
        self._own: _internal.Records | None = (
            _internal.Records.create(self.path, codec, count("segment_bytes", segment_bytes))
            if make
            else _internal.Records.open(self.path)
        )
        self._categories: dict[str, Category] = {}

    @property
    def _store(self) -> _internal.Records:
        if self._own is None:
            raise ClosedError("the record store is closed")
        return self._own

    def _check_writable(self) -> None:
        if self.mode == "r":
                raise ArgumentError('the record store was opened to read: open it with mode "a"')

    def categories(self) -> list[str]:
        """The names of the categories."""
        return self._store.categories()

    def __getitem__(self, name: str) -> Category:
        self._store
        if name not in self._categories:
            self._categories[name] = Category(self, name)
        return self._categories[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.categories())

    def __contains__(self, name: object) -> bool:
        return name in self.categories()

    def __len__(self) -> int:
        return len(self.categories())

    def __bool__(self) -> bool:
        return True

    @staticmethod
    def verify(path: Path) -> tuple[dict[str, int], list[TambourError]]:
        """Reads all of a store and checks all sums: counts, and all that is wrong, as exceptions."""
        return _internal.Records.verify(os.fspath(path))

    def close(self) -> None:
        """Closes all categories. Using the store afterwards is an error."""
        for category in self._categories.values():
            category.close()
        if self._own is not None:
            self._own.close()
        self._own = None

    def __enter__(self) -> RecordStore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<tambour.RecordStore {self.path}{'' if self._own else ', closed'}>"
