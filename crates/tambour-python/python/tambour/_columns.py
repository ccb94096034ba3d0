"""Columns on their way in and out: NumPy's stay NumPy's."""

from __future__ import annotations

import sys
from typing import Any


def _numpy(values: Any) -> Any:
    """NumPy, if the values are one of its arrays."""
    numpy = sys.modules.get("numpy")
    return numpy if numpy is not None and isinstance(values, numpy.ndarray) else None


def prepared(values: Any) -> Any:
    """Values that have a buffer: NumPy's moments and durations have none, the numbers that they are do."""
    if _numpy(values) is not None and values.dtype.kind in "mM":
        return values.view("int64")
    return values


def like(values: Any, array: Any, dtype: str) -> Any:
    """The result as what the values are: an array of NumPy, or of Arrow."""
    numpy = _numpy(values)
    if numpy is None:
        return array
    if dtype == "uint64x2":
        return numpy.frombuffer(array, dtype="uint64").reshape(-1, 2)
    return numpy.frombuffer(array, dtype=dtype)
