"""Whole columns of integers in few bytes.

Layouts are ``leb128``, the varints of protobuf, and ``streamvbyte`` for numbers of 32 bits.

>>> from tambour import varint
>>> import numpy
>>> packed = varint.encode(numpy.array([1, 300, 70000], dtype="uint64"))
>>> len(packed)
6
>>> varint.decode(packed)
array([    1,   300, 70000], dtype=uint64)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from tambour import _internal
from tambour._checks import maybe
from tambour._columns import prepared
from tambour._typing import Buffer

if TYPE_CHECKING:
    import numpy

__all__ = ["decode", "decode_arrow", "encode"]

Layout = Literal["leb128", "streamvbyte"]
Dtype = Literal["uint32", "uint64", "int32", "int64"]


def encode(values: Any, layout: Layout = "leb128", *, zigzag: bool = False) -> bytes:
    """Encodes a column of whole numbers. Those with a sign need `zigzag`, which keeps small ones short."""
    return _internal.varint_encode(prepared(values), layout, zigzag)


def decode(
    data: Buffer,
    count: int | None = None,
    dtype: Dtype = "uint64",
    layout: Layout = "leb128",
) -> numpy.ndarray[Any, Any]:
    """Decodes numbers into an array of NumPy: `count` of them, and what follows is not looked at; or of ``leb128`` all that
    there are, of which the last must be whole. With a sign (``int32``, ``int64``) they are taken for zigzag.

    >>> from tambour import varint
    >>> varint.decode(varint.encode([-1, 1, -300], zigzag=True), dtype="int64")
    array([  -1,    1, -300])
    """
    import numpy

    values: Any = decode_arrow(data, count, dtype, layout)
    decoded: numpy.ndarray[Any, Any] = numpy.frombuffer(values, dtype=numpy.dtype(dtype))
    return decoded


def decode_arrow(
    data: Buffer,
    count: int | None = None,
    dtype: Dtype = "uint64",
    layout: Layout = "leb128",
) -> _internal.Array:
    """The same as an Arrow array."""
    return _internal.varint_decode(data, maybe("count", count), dtype, layout)[0]
