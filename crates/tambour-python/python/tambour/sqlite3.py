"""SQLite databases that are compressed: Python's own ``sqlite3`` over a page store.

>>> import tambour.sqlite3
>>> database = tambour.sqlite3.connect(_directory / "drums.pages")
>>> _ = database.execute("CREATE TABLE drum (name TEXT)")
>>> _ = database.execute("INSERT INTO drum VALUES ('snare')")
>>> database.commit()
>>> database.execute("SELECT * FROM drum").fetchall()
[('snare',)]
>>> database.close()
"""

from __future__ import annotations

import os
import sqlite3
import threading
from typing import Any
from urllib.parse import quote

from tambour import _internal
from tambour._errors import UnsupportedError
from tambour._typing import Path

__all__ = ["connect", "register"]

_lock = threading.Lock()
_registered = False


def register() -> None:
    """Registers the file system ``tambour`` with the SQLite that Python's ``sqlite3`` is linked with. From then on,
    ``sqlite3.connect("file:NAME?vfs=tambour", uri=True)`` opens a database in a page store.

    It needs no ``enable_load_extension``, which many builds of Python lack.
    """
    global _registered
    with _lock:
        if _registered:
            return
        _internal.register_sqlite(*_functions())
        _registered = True


def _functions() -> list[int]:
    """Where the functions of Python's SQLite are."""
    import ctypes

    import _sqlite3

    if sqlite3.sqlite_version_info < (3, 14, 0):
        raise UnsupportedError(f"SQLite 3.14 or newer is needed, got {sqlite3.sqlite_version}")
    # The names are looked for in the module and in what it is linked with: no other copy of SQLite is found by this.
    library = ctypes.CDLL(getattr(_sqlite3, "__file__", None))
    names = ("sqlite3_vfs_find", "sqlite3_vfs_register", "sqlite3_malloc")
    try:
        functions = [getattr(library, name) for name in names]
    except AttributeError as error:
        raise UnsupportedError("this Python hides the functions of its SQLite") from error
    return [ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions]


def connect(path: Path, **options: Any) -> sqlite3.Connection:
    """Opens the database in a page store, or makes one. Options are those of ``sqlite3.connect``."""
    register()
    name = quote(os.path.abspath(os.fspath(path)))
    database: sqlite3.Connection = sqlite3.connect(f"file:{name}?vfs=tambour", uri=True, **options)
    return database
