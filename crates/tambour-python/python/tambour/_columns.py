"""Columns on their way in and out: NumPy's stay NumPy's."""

from __future__ import annotations

import datetime
import operator
import sys
from typing import Any

from tambour._errors import ArgumentError

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MICROSECOND = datetime.timedelta(microseconds=1)


def _numpy(values: Any) -> Any:
    """NumPy, if the values are one of its arrays."""
    numpy = sys.modules.get("numpy")
    return numpy if numpy is not None and isinstance(values, numpy.ndarray) else None


def prepared(values: Any) -> Any:
    """Values that have a buffer: NumPy's moments and durations have none, the numbers that they are do."""
    if _numpy(values) is not None and values.dtype.kind in "mM":
        return values.view("int64")
    return values


def numbers(values: Any) -> Any:
    """Numbers of records or pages as a column: also of what is only iterated over, as a range, a set or a generator."""
    if _numpy(values) is not None or isinstance(values, (list, str, bytes, bytearray, memoryview)):
        return values
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        return values
    try:
        return list(values)
    except TypeError:
        return values


def moment(time: Any) -> int:
    """A moment as microseconds since 1970; a whole number is taken for that. Without a zone, it is of UTC."""
    if isinstance(time, datetime.datetime):
        if time != time:
            raise ArgumentError("NaT is not a time")
        aware = time if time.tzinfo is not None else time.replace(tzinfo=datetime.timezone.utc)
        return (aware - _EPOCH) // _MICROSECOND
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(time, numpy.datetime64):
        [ticks] = _ticks(numpy, time.reshape(1))
        if ticks is None:
            raise ArgumentError("NaT is not a time")
        return int(ticks)
    try:
        return operator.index(time)
    except TypeError:
        text = f"a time is a datetime, or a whole number of microseconds since 1970, not {type(time)}"
        raise ArgumentError(text) from None


def times(values: Any) -> Any:
    """Times of records as a column of microseconds; what is Arrow's knows its unit itself."""
    numpy = _numpy(values)
    if numpy is not None and values.dtype.kind == "M":
        return _ticks(numpy, values)
    if numpy is not None or values is None:
        return values
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        return values
    return [None if time is None else moment(time) for time in values]


def _ticks(numpy: Any, values: Any) -> Any:
    """Moments of NumPy as microseconds: an array, or a list where some are missing."""
    ticks = values.astype("datetime64[us]")
    missing = numpy.isnat(values)
    # A coarse unit reaches further than microseconds do, and NumPy would begin anew on the other side.
    is_finer = numpy.datetime_data(values.dtype)[0] in ("ns", "ps", "fs", "as")
    if not is_finer and ((ticks.astype(values.dtype) != values) & ~missing).any():
        raise ArgumentError("a time is too far away")
    if not missing.any():
        return ticks.view("int64")
    return [None if gone else int(tick) for gone, tick in zip(missing, ticks.view("int64"))]


def like(values: Any, array: Any, dtype: str) -> Any:
    """The result as what the values are: an array of NumPy, or of Arrow."""
    numpy = _numpy(values)
    if numpy is None:
        return array
    if dtype == "uint64x2":
        return numpy.frombuffer(array, dtype="uint64").reshape(-1, 2)
    return numpy.frombuffer(array, dtype=dtype)
