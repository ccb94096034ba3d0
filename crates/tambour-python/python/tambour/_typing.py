"""Names for what functions take."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, Union, runtime_checkable

__all__ = [
    "ArrowArray",
    "ArrowData",
    "ArrowStream",
    "Buffer",
    "Codecs",
    "Filter",
    "Goal",
    "Path",
]


@runtime_checkable
class ArrowStream(Protocol):
    """Anything that hands over batches by Arrow's protocol: tables, data frames, readers."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


@runtime_checkable
class ArrowArray(Protocol):
    """Anything that hands over one array or batch by Arrow's protocol."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any: ...


ArrowData: TypeAlias = Union[ArrowStream, ArrowArray]
# `collections.abc.Buffer` is of Python 3.12.
Buffer: TypeAlias = Any
Path: TypeAlias = Union[str, "os.PathLike[str]"]
Codecs: TypeAlias = Union[str, Mapping[str, str]]
Goal: TypeAlias = Literal["size", "speed", "balance"]
Condition: TypeAlias = "tuple[str, str, Any]"
Filter: TypeAlias = Union[str, Condition, Sequence[Condition], Sequence[Sequence[Condition]]]
