"""Compressed storage for databases: smaller, faster to read, and never silently wrong.

A table is a directory of parts in ClickHouse's own format. Rows come and go by Arrow's protocol: anything that has
``__arrow_c_stream__`` can be written, and whatever reads it (pyarrow, pandas, polars, DuckDB) reads a table.

>>> import tambour, tempfile, pathlib
>>> directory = pathlib.Path(tempfile.mkdtemp())
>>> _ = (directory / "hits.csv").write_text("page,visits\\n/,30\\n/about,1\\n/,40\\n")
>>> table = tambour.import_files(directory / "hits.csv", directory / "hits", order_by="page")
>>> len(table)
3
>>> table.columns["visits"].type
'Int64'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tambour._errors import (
    ArgumentError,
    ClosedError,
    ConflictError,
    CorruptError,
    Interrupted,
    IoError,
    LimitError,
    NotFoundError,
    TambourError,
    UnsupportedError,
)

if TYPE_CHECKING:
    from tambour import frame, hash, sqlite3, varint
    from tambour._codecs import (
        Codec,
        codecs,
        compress,
        decode_block,
        decompress,
        encode_block,
        iter_blocks,
    )
    from tambour._messages import MessageCodec
    from tambour._pages import PageStore
    from tambour._records import RecordStore
    from tambour._rows import Rows
    from tambour._table import (
        Advice,
        Column,
        Part,
        Salvage,
        Table,
        Verification,
        advise,
        import_data,
        import_files,
        open,
        salvage,
        scan_polars,
        sql,
        verify,
    )

    __version__: str

# Where a name is found when it is first asked for: `import tambour` alone loads almost nothing.
_PLACES = {
    "Advice": "_table",
    "Codec": "_codecs",
    "Column": "_table",
    "MessageCodec": "_messages",
    "PageStore": "_pages",
    "Part": "_table",
    "RecordStore": "_records",
    "Rows": "_rows",
    "Salvage": "_table",
    "Table": "_table",
    "Verification": "_table",
    "__version__": "_internal",
    "advise": "_table",
    "codecs": "_codecs",
    "compress": "_codecs",
    "decode_block": "_codecs",
    "decompress": "_codecs",
    "encode_block": "_codecs",
    "import_data": "_table",
    "import_files": "_table",
    "iter_blocks": "_codecs",
    "open": "_table",
    "salvage": "_table",
    "scan_polars": "_table",
    "sql": "_table",
    "verify": "_table",
}
_MODULES = {"frame", "hash", "sqlite3", "varint"}

__all__ = [
    "Advice",
    "ArgumentError",
    "ClosedError",
    "Codec",
    "Column",
    "ConflictError",
    "CorruptError",
    "Interrupted",
    "IoError",
    "LimitError",
    "MessageCodec",
    "NotFoundError",
    "PageStore",
    "Part",
    "RecordStore",
    "Rows",
    "Salvage",
    "Table",
    "TambourError",
    "UnsupportedError",
    "Verification",
    "__version__",
    "advise",
    "codecs",
    "compress",
    "decode_block",
    "decompress",
    "encode_block",
    "frame",
    "hash",
    "import_data",
    "import_files",
    "iter_blocks",
    "open",
    "salvage",
    "scan_polars",
    "sql",
    "sqlite3",
    "varint",
    "verify",
]


def __getattr__(name: str) -> Any:
    import importlib

    if name in _MODULES:
        return importlib.import_module(f"tambour.{name}")
    if name not in _PLACES:
        raise AttributeError(f"module 'tambour' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"tambour.{_PLACES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
