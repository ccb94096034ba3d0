"""Tables as lazy frames of polars: columns, row limits and what of a predicate a scan decides exactly are pushed down.

A predicate is run once more by polars on what comes back. So it is enough that the scan loses no row that polars would
keep: what the two see differently (floats with NaN, categories by number or text) is left to polars.
"""

from __future__ import annotations

import datetime
import io
import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from tambour._table import Table

# Operators, and the same with its sides exchanged.
_OPERATORS = {
    "Eq": ("=", "="),
    "NotEq": ("!=", "!="),
    "Lt": ("<", ">"),
    "LtEq": ("<=", ">="),
    "Gt": (">", "<"),
    "GtEq": (">=", "<="),
}
_INTEGER = re.compile(r"U?Int(8|16|32|64)$")
_EPOCH = datetime.date(1970, 1, 1)


class _Left(Exception):
    """Something that is left to polars."""


def scan(table: Table) -> pl.LazyFrame:
    """The lazy frame of a table."""
    from polars.io.plugins import register_io_source

    types = dict(table.schema)
    empty = table.scan(limit=0).to_polars()

    def read(
        columns: list[str] | None,
        predicate: pl.Expr | None,
        rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        wanted = list(types) if columns is None else columns
        needed = list(wanted)
        if predicate is not None:
            needed += [name for name in predicate.meta.root_names() if name not in needed]
        # Both come only where the limit comes first, as in `head(10).filter(...)`: the rows that are counted are those before
        # the predicate, and the scan must not leave out any of them.
        pushed = None if predicate is None or rows is not None else condition(predicate, types)
        if not needed:
            # Only the number of rows counts.
            needed = list(types)[:1]
        for frame in table.scan(needed, pushed, rows)._frames():
            if predicate is not None:
                frame = frame.filter(predicate)
            yield frame.select(wanted)

    return register_io_source(read, schema=empty.schema, validate_schema=True)


def condition(predicate: pl.Expr, types: dict[str, str]) -> str | None:
    """The part of a predicate that a scan decides, as text; ``None`` if that is nothing."""
    try:
        import warnings

        with warnings.catch_warnings():
            # The form is that of one version of polars; what is not known in it is left to polars.
            warnings.simplefilter("ignore")
            tree = json.loads(predicate.meta.serialize(format="json"))
        return _loose(tree, types)
    except Exception:
        return None


def _loose(tree: Any, types: dict[str, str]) -> str | None:
    """A condition that is true wherever the expression is; of what has to be true at once, a part is enough."""
    binary = tree.get("BinaryExpr") if isinstance(tree, dict) else None
    if binary and binary["op"] in ("And", "LogicalAnd"):
        sides = [_loose(binary[side], types) for side in ("left", "right")]
        kept = [side for side in sides if side is not None]
        return " AND ".join(f"({side})" for side in kept) or None
    try:
        return _exact(tree, types)
    except (_Left, KeyError, TypeError, ValueError):
        return None


def _exact(tree: Any, types: dict[str, str]) -> str:
    """The same condition; raises if there is none."""
    if "BinaryExpr" in tree:
        binary = tree["BinaryExpr"]
        left, right, op = binary["left"], binary["right"], binary["op"]
        if op in ("And", "LogicalAnd", "Or", "LogicalOr"):
            word = "AND" if op.endswith("And") else "OR"
            return f"({_exact(left, types)}) {word} ({_exact(right, types)})"
        if op not in _OPERATORS:
            raise _Left
        if "Column" in left:
            return _compare(left["Column"], _OPERATORS[op][0], right, types)
        return _compare(right["Column"], _OPERATORS[op][1], left, types)
    if "Function" in tree:
        function = tree["Function"]["function"]["Boolean"]
        inputs = tree["Function"]["input"]
        if function in ("IsNull", "IsNotNull"):
            word = "IS NULL" if function == "IsNull" else "IS NOT NULL"
            return f"{_name(inputs[0]['Column'])} {word}"
        if isinstance(function, dict) and "IsIn" in function:
            return _among(inputs, types)
        if isinstance(function, dict) and "IsBetween" in function:
            if function["IsBetween"]["closed"] != "Both":
                raise _Left
            column = inputs[0]["Column"]
            low = _compare(column, ">=", inputs[1], types)
            return f"{low} AND {_compare(column, '<=', inputs[2], types)}"
    raise _Left


def _among(inputs: Any, types: dict[str, str]) -> str:
    column = inputs[0]["Column"]
    packed = inputs[1]["Literal"]["Scalar"]["List"]
    values = pl.read_ipc_stream(io.BytesIO(bytes(packed))).to_series().to_list()
    if not values or any(value is None for value in values):
        raise _Left
    texts = [_literal(column, value, "=", types) for value in values]
    return f"{_name(column)} IN ({', '.join(texts)})"


def _compare(column: str, operator: str, value: Any, types: dict[str, str]) -> str:
    return f"{_name(column)} {operator} {_literal(column, _value(value), operator, types)}"


def _value(tree: Any) -> Any:
    """The value of a literal."""
    literal = tree["Literal"]
    if "Dyn" in literal:
        ((kind, value),) = literal["Dyn"].items()
        if kind not in ("Int", "Str"):
            raise _Left
        return value
    ((kind, value),) = literal["Scalar"].items()
    if kind in ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "String"):
        return value
    if kind == "Date":
        return _EPOCH + datetime.timedelta(days=value)
    raise _Left


def _literal(column: str, value: Any, operator: str, types: dict[str, str]) -> str:
    """A value as text, if the column compares it as polars does."""
    plain = types[column]
    while plain.startswith(("Nullable(", "LowCardinality(")):
        plain = plain[plain.index("(") + 1 : -1]
    dictionary = types[column].startswith("LowCardinality(")
    if isinstance(value, bool):
        raise _Left
    if isinstance(value, int) and _INTEGER.match(plain):
        return str(value)
    if isinstance(value, str) and plain == "String" and (not dictionary or operator in ("=", "!=")):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    if isinstance(value, datetime.date) and plain in ("Date", "Date32"):
        return f"'{value.isoformat()}'"
    raise _Left


def _name(column: str) -> str:
    escaped = column.replace("\\", "\\\\").replace("`", "\\`")
    return f"`{escaped}`"
