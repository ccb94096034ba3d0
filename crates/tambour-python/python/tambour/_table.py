"""Tables: made of files or data, opened, scanned, asked by SQL, written, verified."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Union

from tambour import _internal, _text
from tambour._checks import maybe
from tambour._errors import ClosedError, TambourError, UnsupportedError
from tambour._rows import Rows
from tambour._typing import ArrowData, Codecs, Filter, Goal, Path

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Exists = Literal["error", "append", "replace"]
Progress = Union[bool, Callable[[str, int, int, Union[int, None]], object]]


@dataclass(frozen=True)
class Column:
    """A column of a table, in all its parts."""

    name: str
    type: str
    """Its type in ClickHouse."""
    codec: str | None
    """The codec that the table declares."""
    codecs: list[str]
    """Those that its blocks have."""
    compressed: int
    """Bytes in the files."""
    uncompressed: int
    """Bytes of the values."""


@dataclass(frozen=True)
class Part:
    """A part of a table."""

    name: str
    path: str
    rows: int
    bytes_on_disk: int
    form: str
    """``wide``: a file for each column; ``compact``: one for all."""
    granules: int


class Columns(dict[str, Column]):
    """The columns of a table by their names."""

    def _repr_html_(self) -> str:
        rows = [
            (column.name, column.type, column.compressed, column.uncompressed)
            for column in self.values()
        ]
        return _text.bars(rows, ("column", "type", "on disk", "values"))


class Schema(dict[str, str]):
    """Names of columns and their types in ClickHouse. By Arrow's protocol it is the schema of what is read."""

    _table: _internal.Table

    def __arrow_c_schema__(self) -> Any:
        return self._table.__arrow_c_schema__()

    def to_arrow(self) -> pyarrow.Schema:
        """The schema of pyarrow."""
        import pyarrow

        return pyarrow.schema(self)


@dataclass(frozen=True)
class Verification:
    """What a verification saw."""

    parts: int
    files: int
    blocks: int
    bytes: int
    rows: int
    damage: list[TambourError] = field(repr=False)
    """All that is wrong, as exceptions with the places."""

    @property
    def good(self) -> bool:
        """Nothing is wrong."""
        return not self.damage

    def raise_for_damage(self) -> None:
        """Raises the first damage, if there is any."""
        if self.damage:
            raise self.damage[0]


@dataclass(frozen=True)
class Loss:
    """What could not be saved of a part."""

    column: str
    rows: tuple[int, int] | None
    """First row and the one after the last, in the part; ``None``: the column as a whole."""
    reason: str


@dataclass(frozen=True)
class Salvage:
    """What was saved of a part."""

    path: str
    """The new table."""
    rows: int
    """Rows that the part had, as far as it says."""
    rows_saved: int
    columns_saved: int
    losses: list[Loss]

    @property
    def whole(self) -> bool:
        """Nothing was lost."""
        return not self.losses


@dataclass(frozen=True)
class ColumnAdvice:
    """What a column should get."""

    name: str
    type: str
    now: dict[str, Any]
    """Codec, bytes, ratio and speed of decoding (``decode_gbps``) as it is."""
    best: dict[str, Any]
    """The same with the best codec for the goal."""
    pays: bool
    """A change is worth it."""
    types: list[tuple[str, str, int]]
    """Other types that hold the values: the type, the reason, and the bytes saved."""


class Advice:
    """Advice on the codecs and types of a table or of files; printed, it is a table."""

    def __init__(self, figures: dict[str, Any]) -> None:
        self.name: str = figures["name"]
        self.goal: str = figures["goal"]
        self.rows: int = figures["rows"]
        self.rows_sampled: int = figures["rows_sampled"]
        self.raw_bytes: int = figures["raw_bytes"]
        self.bytes_now: int = figures["bytes_now"]
        self.bytes_best: int = figures["bytes_best"]
        self.columns: list[ColumnAdvice] = [ColumnAdvice(**column) for column in figures["columns"]]
        self._alter: str = figures["alter"]

    def alter_statements(self) -> str:
        """The ``ALTER TABLE`` statements for what pays; types are comments, since changing one is more than a codec."""
        return self._alter

    def codecs(self) -> dict[str, str]:
        """The codecs of what pays, as :meth:`Table.recompress` and :func:`import_files` take them."""
        return {column.name: column.best["codec"] for column in self.columns if column.pays}

    def __str__(self) -> str:
        heads = ["column", "type", "now", "bytes", "best", "bytes", "GB/s"]
        rows = [
            [
                column.name,
                column.type,
                column.now["codec"],
                _text.size(column.now["bytes"]),
                column.best["codec"],
                _text.size(column.best["bytes"]),
                f"{column.best['decode_gbps']:.2f}",
            ]
            for column in self.columns
        ]
        now, best = _text.size(self.bytes_now), _text.size(self.bytes_best)
        return f"{_text.grid(heads, rows)}\n\n{self.name}: {now} now, {best} by {self.goal}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = [
            (column.name, column.best["codec"], column.best["bytes"], column.now["bytes"])
            for column in self.columns
        ]
        return _text.bars(rows, ("column", "best codec", "best", "now"))


class Table:
    """A table: a directory of parts, as it was when it was opened or last changed by this object.

    >>> import tambour
    >>> table = tambour.import_data(_data, _directory / "birds")
    >>> table
    <tambour.Table birds: 3 rows, 2 columns, 1 part>
    >>> table.schema
    {'name': 'String', 'weight': 'Float64'}
    >>> table.scan(["name"], filter="weight > 1").to_arrow()["name"].to_pylist()
    ['goose', 'swan']
    >>> table.sql("SELECT max(weight) AS heaviest FROM birds").to_pylist()
    [{'heaviest': 9.5}]
    """

    def __init__(self, path: Path) -> None:
        self._own: _internal.Table | None = _internal.Table(os.fspath(path))

    @property
    def _table(self) -> _internal.Table:
        if self._own is None:
            raise ClosedError("the table is closed")
        return self._own

    # What it is.

    @property
    def name(self) -> str:
        """The name of the table, which queries know it by."""
        return self._table.name

    @property
    def path(self) -> str:
        """Its directory."""
        return str(self._table.path)

    @property
    def statement(self) -> str | None:
        """The ``CREATE TABLE`` statement, if it is known."""
        return self._table.statement

    @property
    def schema(self) -> Schema:
        """Names of columns and their types."""
        schema = Schema(self._table.column_types())
        schema._table = self._table
        return schema

    @property
    def columns(self) -> Columns:
        """The columns, with the bytes that they take and their codecs."""
        return Columns((entry["name"], Column(**entry)) for entry in self._table.columns())

    @property
    def parts(self) -> list[Part]:
        """The parts."""
        return [Part(**entry) for entry in self._table.parts()]

    @property
    def bytes_on_disk(self) -> int:
        """Bytes of all files of all parts."""
        return sum(part.bytes_on_disk for part in self.parts)

    def __len__(self) -> int:
        return self._table.count()

    def __bool__(self) -> bool:
        return True

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process opens it there.
        return Table, (self.path,)

    def __repr__(self) -> str:
        if self._own is None:
            return "<tambour.Table, closed>"
        counts = [(len(self), "row"), (len(self.schema), "column"), (len(self.parts), "part")]
        told = ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts)
        return f"<tambour.Table {self.name}: {told}>"

    def _repr_html_(self) -> str:
        import html

        return f"<p>{html.escape(repr(self))}</p>{self.columns._repr_html_()}"

    def refresh(self) -> Table:
        """Looks at the table again: what others wrote is seen from now on."""
        self._table.refresh()
        return self

    def close(self) -> None:
        """Forgets the table. Using it afterwards is an error."""
        self._own = None

    def __enter__(self) -> Table:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # Reading.

    def scan(
        self,
        columns: Sequence[str] | str | None = None,
        filter: Filter | None = None,
        limit: int | None = None,
        *,
        binary: bool = False,
    ) -> Rows:
        """Rows: some columns (or one), those that match, this many of them.

        A `filter` is a text, as it may stand in ``WHERE``, or ``(column, operator, value)``, or a list of those, which all
        have to be true, or a list of such lists, of which one has to be. Comparisons, ``IN``, ``AND``, ``OR``, ``NOT`` and
        ``IS NULL`` are decided while reading, and leave out what cannot match; any other expression is run by SQL.

        With `binary`, strings come as bytes: those that are not UTF-8 can be read, too.
        """
        table = self._table
        if isinstance(columns, str):
            columns = [columns]
        names = None if columns is None else [str(name) for name in columns]
        most = maybe("limit", limit)
        return Rows(lambda: table.scan(names, filter, most, binary))

    def sql(self, query: str, **tables: Any) -> Rows:
        """Asks a question of this table, which goes by its name, and of others: see :func:`sql`."""
        return sql(query, **{self.name: self, **tables})

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.scan().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> Any:
        return self._table.__arrow_c_schema__()

    def to_arrow(self) -> pyarrow.Table:
        """All rows as a table of pyarrow."""
        return self.scan().to_arrow()

    def to_pandas(self, **options: Any) -> pandas.DataFrame:
        """All rows as a data frame of pandas; see :meth:`Rows.to_pandas`."""
        return self.scan().to_pandas(**options)

    def to_polars(self) -> polars.DataFrame:
        """All rows as a data frame of polars."""
        return self.scan().to_polars()

    def scan_polars(self) -> polars.LazyFrame:
        """The rows as a lazy frame of polars; see :func:`scan_polars`."""
        return scan_polars(self)

    def export(
        self,
        path: Path,
        *,
        columns: Sequence[str] = (),
        format: str | None = None,
        replace: bool = False,
    ) -> int:
        """Writes all rows into a file, as CSV, TSV, JSON lines, Parquet or Arrow, as its name says; how many."""
        return self._table.export(os.fspath(path), list(columns), format, replace)

    # Writing.

    def write(
        self,
        data: ArrowData,
        *,
        skip_unknown_columns: bool = False,
        memory_bytes: int | None = None,
        threads: int | None = None,
    ) -> int:
        """Adds rows, all or none; how many. Columns are matched by name, and values have to fit exactly."""
        wishes = _wishes(
            exists="append",
            codec={},
            skip_unknown_columns=skip_unknown_columns,
            memory_bytes=memory_bytes,
            threads=threads,
        )
        return self._table.append(data, wishes)

    def optimize(
        self,
        codec: Codecs | None = None,
        *,
        memory_bytes: int | None = None,
        threads: int | None = None,
    ) -> tuple[int, int]:
        """Merges the parts of each partition into one; how many parts there were, and are."""
        return self._table.optimize(
            _codecs(codec), maybe("memory_bytes", memory_bytes), maybe("threads", threads) or _threads()
        )

    def recompress(self, codec: Codecs) -> tuple[int, int]:
        """Gives columns other codecs, block by block: one for all, or one for each that is named. Bytes before and after."""
        return self._table.recompress(_codecs(codec))

    # Care.

    def verify(self) -> Verification:
        """Reads everything and checks it: hashes of files, checksums of blocks, marks, indexes and every value."""
        return verify(self.path)

    def salvage(self, to: Path) -> list[Salvage]:
        """Saves what its parts still hold: a new table for each, in the directory `to`, by the name of the part."""
        os.makedirs(to, exist_ok=True)
        return [salvage(part.path, os.path.join(os.fspath(to), part.name)) for part in self.parts]

    def advise(self, goal: Goal = "balance", *, server: str | None = None) -> Advice:
        """Advises on codecs and types; see :func:`advise`."""
        return advise(self.path, goal, server=server)

    def attach_script(
        self,
        database: str = "default",
        name: str | None = None,
        *,
        hosts: Sequence[str] = (),
        sql: bool = False,
    ) -> str:
        """The commands that attach the parts to a ClickHouse server: a shell script, or with `sql` the statements alone."""
        script = self._table.attach_script(database, name, list(hosts), sql)
        if script is None:
            raise UnsupportedError("the CREATE TABLE statement of the table is not known", path=self.path)
        return script


def _threads() -> int:
    return os.cpu_count() or 1


def _codecs(codec: Codecs | None) -> list[tuple[str | None, str]]:
    if codec is None:
        return []
    if isinstance(codec, str):
        return [(None, codec)]
    return [(None if name == "*" else name, text) for name, text in codec.items()]


def _wishes(*, codec: Codecs | None, **given: Any) -> dict[str, Any]:
    wishes: dict[str, Any] = {
        "exists": "error",
        "order_by": None,
        "primary_key": None,
        "partition_by": None,
        "definition": None,
        "portable": True,
        "types": "natural",
        "format": None,
        "header": None,
        "delimiter": None,
        "skip_unknown_columns": False,
        "rows_per_part": None,
        "memory_bytes": None,
        "threads": None,
        **given,
        "codecs": _codecs(codec),
    }
    for key, least in (("rows_per_part", 1), ("memory_bytes", 0), ("threads", 0)):
        wishes[key] = maybe(key, wishes[key], least)
    for key in ("order_by", "primary_key", "partition_by"):
        if wishes[key] is not None and not isinstance(wishes[key], str):
            wishes[key] = ", ".join(wishes[key])
    return wishes


def open(path: Path) -> Table:
    """Opens a table: one that Tambour made, a directory of ClickHouse parts, or a single part.

    >>> import tambour
    >>> tambour.open("/nowhere/hits")
    Traceback (most recent call last):
    ...
    tambour._errors.NotFoundError: "/nowhere/hits" is not a table: the directory does not exist
    """
    return Table(path)


def import_files(
    paths: Path | Iterable[Path],
    table: Path,
    *,
    order_by: str | Sequence[str] | None = None,
    partition_by: str | Sequence[str] | None = None,
    primary_key: str | Sequence[str] | None = None,
    codec: Codecs = "auto",
    definition: str | None = None,
    exists: Exists = "error",
    format: str | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    types: Literal["natural", "smallest", "keep"] = "natural",
    portable: bool = True,
    skip_unknown_columns: bool = False,
    rows_per_part: int | None = None,
    memory_bytes: int | None = None,
    threads: int | None = None,
    progress: Progress = False,
) -> Table:
    """Imports CSV, TSV, JSON lines, Parquet or Arrow files (also compressed ones) into a table, all rows or none.

    Types are found by looking at the values: ``natural`` ones, which later rows fit too, the ``smallest``, or those that the
    files ``keep``. Columns get the codecs that suit them, unless `definition` (a
    ``CREATE TABLE`` statement) or `codec` (one for all, or a dictionary by column) say otherwise. With `progress`, a bar of
    tqdm is drawn if that is installed; a function is called with what happens, rows, bytes and bytes of all.

    >>> import tambour
    >>> table = tambour.import_files(_csv, _directory / "visits", order_by="page")
    >>> table.to_arrow()["visits"].to_pylist()
    [30, 40, 1]
    """
    files = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    wishes = _wishes(
        exists=exists,
        order_by=order_by,
        primary_key=primary_key,
        partition_by=partition_by,
        codec=_first_codec(codec),
        definition=definition,
        portable=portable,
        types=types,
        format=format,
        header=header,
        delimiter=delimiter,
        skip_unknown_columns=skip_unknown_columns,
        rows_per_part=rows_per_part,
        memory_bytes=memory_bytes,
        threads=threads,
    )
    with _Bar(progress) as tell:
        names = [os.fspath(path) for path in files]
        _internal.import_files(names, os.fspath(table), wishes, tell)
    return Table(table)


def _first_codec(codec: Codecs) -> Codecs | None:
    """`auto` is what columns get anyway; a table that is there, or stated, has its codecs."""
    return None if codec == "auto" else codec


class _Bar:
    """A bar of progress, if somebody wants one and it can be drawn."""

    def __init__(self, progress: Progress) -> None:
        self._tell = progress if callable(progress) else None
        self._bar: Any = None
        if progress is True:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return
            self._bar = tqdm(unit="B", unit_scale=True, desc="import", file=sys.stderr)
            self._tell = self._draw

    def _draw(self, what: str, rows: int, bytes: int, total: int | None) -> None:
        if what == "opened":
            self._bar.reset(total=total)
        elif what == "rows":
            self._bar.update(bytes - self._bar.n)
            self._bar.set_postfix(rows=rows)
        elif what == "restart":
            self._bar.reset()

    def __enter__(self) -> Callable[..., object] | None:
        return self._tell

    def __exit__(self, *raised: object) -> None:
        if self._bar is not None:
            self._bar.close()


def import_data(
    data: ArrowData,
    table: Path,
    *,
    order_by: str | Sequence[str] | None = None,
    partition_by: str | Sequence[str] | None = None,
    primary_key: str | Sequence[str] | None = None,
    codec: Codecs = "auto",
    definition: str | None = None,
    exists: Exists = "error",
    portable: bool = True,
    skip_unknown_columns: bool = False,
    rows_per_part: int | None = None,
    memory_bytes: int | None = None,
    threads: int | None = None,
) -> Table:
    """Makes a table of anything with ``__arrow_c_stream__``: a data frame, a table, a reader, a result of DuckDB.

    Data that can be read again are read twice: a column is Nullable only if it has a NULL. Of a reader it is if it may.
    """
    wishes = _wishes(
        exists=exists,
        order_by=order_by,
        primary_key=primary_key,
        partition_by=partition_by,
        codec=_first_codec(codec),
        definition=definition,
        portable=portable,
        skip_unknown_columns=skip_unknown_columns,
        rows_per_part=rows_per_part,
        memory_bytes=memory_bytes,
        threads=threads,
    )
    _internal.import_data(data, os.fspath(table), wishes)
    return Table(table)


def sql(
    query: str,
    *,
    threads: int | None = None,
    memory_bytes: int | None = None,
    **tables: Table | ArrowData | Path,
) -> Rows:
    """Asks a question in ClickHouse's dialect. Tables are given by name: a directory, a :class:`Table`, a category of a
    record store, or anything that hands over Arrow batches.

    >>> import tambour, pyarrow
    >>> numbers = pyarrow.table({"n": [1, 2, 3]})
    >>> tambour.sql("SELECT sum(n) AS total FROM numbers", numbers=numbers).to_pylist()
    [{'total': 6}]
    """
    if not _internal.has_sql:
        raise UnsupportedError("this build of tambour has no SQL")
    named = [(name, _queried(what)) for name, what in tables.items()]
    most, memory = maybe("threads", threads, 1), maybe("memory_bytes", memory_bytes)
    return Rows(lambda: _internal.sql(query, [(n, w()) for n, w in named], most, memory))


def _queried(what: Any) -> Callable[[], Any]:
    """What a query reads, each time it is run."""
    if isinstance(what, (str, os.PathLike)):
        table = _internal.Table(os.fspath(what))
        return lambda: table
    if isinstance(what, Table):
        own = what._table
        return lambda: own
    view = getattr(what, "_queried", None)
    if view is not None:
        return view  # type: ignore[no-any-return]
    if hasattr(what, "read_next_batch") or hasattr(what, "__next__"):
        # A reader is used up once it was read, and the rows of a result can be read again.
        kept = _internal.collect(what)
        return lambda: kept
    return lambda: what


def scan_polars(table: Table | Path) -> polars.LazyFrame:
    """A table as a lazy frame of polars, which reads only the columns, rows and parts that a query needs.

    >>> import tambour, polars as pl
    >>> frame = tambour.scan_polars(_directory / "birds")
    >>> frame.filter(pl.col("weight") > 1).select("name").collect()["name"].to_list()
    ['goose', 'swan']
    """
    from tambour import _polars

    return _polars.scan(table if isinstance(table, Table) else Table(table))


def verify(path: Path) -> Verification:
    """Reads all of a table, a directory of parts or a part, and checks it; also one that cannot be opened.

    >>> import tambour
    >>> tambour.verify(_directory / "birds").good
    True
    """
    counts, damage = _internal.verify_table(os.fspath(path))
    return Verification(**counts, damage=damage)


def salvage(part: Path, to: Path, *, threads: int | None = None) -> Salvage:
    """Saves what a damaged part still holds into a new table."""
    rows, saved, columns, losses = _internal.salvage_part(
        os.fspath(part), os.fspath(to), threads or _threads()
    )
    return Salvage(os.fspath(to), rows, saved, columns, [Loss(*loss) for loss in losses])


def advise(
    paths: Path | Iterable[Path],
    goal: Goal = "balance",
    *,
    server: str | None = None,
    threads: int | None = None,
) -> Advice:
    """Measures which codecs and types suit the columns of a table, a part or files, by size, speed or a balance of both.

    >>> import tambour
    >>> advice = tambour.advise(_directory / "birds", "size")
    >>> [column.name for column in advice.columns]
    ['name', 'weight']
    """
    files = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    names = [os.fspath(path) for path in files]
    return Advice(_internal.advise(names, goal, server, maybe("threads", threads) or _threads()))
