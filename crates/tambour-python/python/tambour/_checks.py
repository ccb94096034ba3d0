"""Numbers that callers give: one that cannot be is refused by its name."""

from __future__ import annotations

import operator
from typing import Any

from tambour._errors import ArgumentError


def count(name: str, value: Any, least: int = 0, most: int = (1 << 63) - 1) -> int:
    """A whole number that is not too small or too large."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentError(f"{name}={value!r}: a whole number is wanted") from None
    if number < least:
        raise ArgumentError(f"{name}={number}: it is at least {least}")
    if number > most:
        raise ArgumentError(f"{name}={number}: it is at most {most}")
    return number


def maybe(name: str, value: Any, least: int = 0) -> int | None:
    """The same, or nothing."""
    return None if value is None else count(name, value, least)


def index(what: str, value: Any) -> int:
    """The number of a record or a page."""
    try:
        return operator.index(value)
    except TypeError:
        raise ArgumentError(f"{what} {value!r}: a whole number or a slice is wanted") from None
