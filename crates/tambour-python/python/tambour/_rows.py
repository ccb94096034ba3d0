"""Rows on their way out of Tambour: of a scan, or of a query."""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from tambour import _internal

T = TypeVar("T")

# Rows that a notebook shows.
_SHOWN = 10


class Rows:
    """Rows of a scan or of a query; they are read when somebody takes them, each time anew.

    Whatever reads Arrow's protocol takes them: ``pyarrow.table(rows)``, ``polars.DataFrame(rows)``, DuckDB's
    ``FROM rows``. They come batch by batch, so that not all of them need to be in memory.

    >>> import tambour
    >>> import pyarrow
    >>> numbers = pyarrow.table({"number": [1, 2, 3]})
    >>> rows = tambour.sql("SELECT number FROM numbers WHERE number > 1", numbers=numbers)
    >>> rows.to_arrow()["number"].to_pylist()
    [2, 3]
    """

    def __init__(self, begin: Callable[[], _internal.Stream]) -> None:
        self._begin = begin
        # What is wrong is said now, not when the rows are taken.
        self._begun: tuple[int, _internal.Stream] | None = (os.getpid(), begin())
        self._shape = self._begun[1]

    def _stream(self) -> _internal.Stream:
        begun, self._begun = self._begun, None
        if begun is not None and begun[0] == os.getpid():
            return begun[1]
        return self._begin()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._stream().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> Any:
        return self._shape.__arrow_c_schema__()

    @property
    def schema(self) -> pyarrow.Schema:
        """Names and types of the columns (pyarrow)."""
        import pyarrow

        return pyarrow.schema(self)

    def __repr__(self) -> str:
        return f"<tambour.Rows: {', '.join(self._shape.columns())}>"

    def _take(self, take: Callable[[_internal.Stream], T], *, polars: bool = False) -> T:
        """Hands the stream to somebody who knows numbers and texts of errors only; raises the error as it was."""
        stream = self._stream()
        if polars:
            stream = stream.for_polars()
        try:
            return take(stream)
        except BaseException as error:
            ours = stream.error()
            if ours is None:
                raise
            raise ours from (None if isinstance(ours, KeyboardInterrupt) else error)

    def to_reader(self) -> pyarrow.RecordBatchReader:
        """The rows as a reader of batches (pyarrow)."""
        import pyarrow

        return pyarrow.RecordBatchReader.from_stream(self._stream())

    def to_arrow(self) -> pyarrow.Table:
        """All rows as a table of pyarrow."""
        import pyarrow

        return self._take(lambda stream: pyarrow.RecordBatchReader.from_stream(stream).read_all())

    def to_polars(self) -> polars.DataFrame:
        """All rows as a data frame of polars."""
        import polars

        return self._take(lambda stream: polars.DataFrame(stream), polars=True)

    def _frames(self) -> Iterator[polars.DataFrame]:
        """The rows batch by batch, as data frames of polars."""
        import polars

        stream = self._stream().for_polars()
        while (piece := stream.next()) is not None:
            yield polars.DataFrame(piece)

    def to_pandas(self, **options: Any) -> pandas.DataFrame:
        """All rows as a data frame of pandas (by pyarrow, whose options ``to_pandas`` takes).

        Whole numbers and truth values of which some are missing become pandas' own nullable types, where NumPy would make
        floats and objects of them.
        """
        return _to_pandas(self.to_arrow(), options)

    def to_pylist(self) -> list[dict[str, Any]]:
        """All rows as dictionaries (by pyarrow)."""
        rows: list[dict[str, Any]] = self.to_arrow().to_pylist()
        return rows

    def batches(self) -> Iterator[pyarrow.RecordBatch]:
        """The batches, one after the other (pyarrow)."""
        stream = self._stream()
        import pyarrow

        reader = pyarrow.RecordBatchReader.from_stream(stream)
        while True:
            try:
                batch = reader.read_next_batch()
            except StopIteration:
                return
            except BaseException as error:
                ours = stream.error()
                if ours is None:
                    raise
                raise ours from error
            yield batch

    __iter__ = batches

    def _repr_html_(self) -> str:
        shown: list[dict[str, Any]] = []
        more = False
        names: list[str] = []
        for batch in self.batches():
            names = batch.schema.names
            rows = batch.slice(0, _SHOWN + 1 - len(shown)).to_pylist()
            shown.extend(rows)
            if len(shown) > _SHOWN:
                more = True
                break
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        cells = "".join(
            "<tr>" + "".join(f"<td>{html.escape(str(row[name]))}</td>" for name in names) + "</tr>"
            for row in shown[:_SHOWN]
        )
        foot = "<p>and more</p>" if more else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{cells}</tbody></table>{foot}"


def _without_views(field: pyarrow.Field, *, top: bool = False) -> pyarrow.Field:
    """The same field with texts inside lists, structs and maps in the form that pyarrow hands to pandas."""
    import pyarrow

    kind = field.type
    types = pyarrow.types
    if not top and types.is_string_view(kind):
        kind = pyarrow.string()
    elif not top and types.is_binary_view(kind):
        kind = pyarrow.binary()
    elif types.is_list(kind):
        kind = pyarrow.list_(_without_views(kind.value_field))
    elif types.is_struct(kind):
        kind = pyarrow.struct([_without_views(kind.field(k)) for k in range(kind.num_fields)])
    elif types.is_map(kind):
        kind = pyarrow.map_(_without_views(kind.key_field), _without_views(kind.item_field))
    return field.with_type(kind)


def _to_pandas(table: pyarrow.Table, options: dict[str, Any]) -> pandas.DataFrame:
    import pandas
    import pyarrow

    nullable = {
        pyarrow.int8(): pandas.Int8Dtype(),
        pyarrow.int16(): pandas.Int16Dtype(),
        pyarrow.int32(): pandas.Int32Dtype(),
        pyarrow.int64(): pandas.Int64Dtype(),
        pyarrow.uint8(): pandas.UInt8Dtype(),
        pyarrow.uint16(): pandas.UInt16Dtype(),
        pyarrow.uint32(): pandas.UInt32Dtype(),
        pyarrow.uint64(): pandas.UInt64Dtype(),
        pyarrow.bool_(): pandas.BooleanDtype(),
    }
    table = table.cast(
        pyarrow.schema([_without_views(field, top=True) for field in table.schema])
    )
    if "types_mapper" in options:
        return table.to_pandas(**options)
    # Taken out first: with `self_destruct` the table is no longer there after the conversion.
    replaced = {
        place: column.to_pandas(types_mapper=nullable.get)
        for place, column in enumerate(table.columns)
        if column.null_count > 0 and column.type in nullable
    }
    frame = table.to_pandas(**options)
    for place, column in replaced.items():
        frame.isetitem(place, column)
    return frame
