"""Figures as people read them."""

from __future__ import annotations

import html
from collections.abc import Sequence

__all__ = ["bars", "grid", "size"]


def size(count: int | float) -> str:
    """Bytes with a unit."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def grid(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of text side by side; numbers stand at the right."""
    widths = [max(len(str(row[k])) for row in [heads, *rows]) for k in range(len(heads))]
    lines = []
    for row in [heads, *rows]:
        cells = [
            str(cell).rjust(width) if str(cell)[:1].isdigit() else str(cell).ljust(width)
            for cell, width in zip(row, widths)
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def bars(rows: Sequence[tuple[str, str, int, int]], heads: tuple[str, str, str, str]) -> str:
    """A table of HTML: a name, a note, and two counts of bytes, of which the first is drawn against the second."""
    most = max((row[3] for row in rows), default=0) or 1
    lines = []
    for name, note, few, many in rows:
        wide, part = 240 * many / most, 240 * few / most
        drawn = (
            f'<svg width="240" height="12" role="img" aria-label="{size(few)} of {size(many)}">'
            f'<rect width="{wide:.1f}" height="12" fill="#d0d7de"/>'
            f'<rect width="{part:.1f}" height="12" fill="#0969da"/></svg>'
        )
        cells = [html.escape(name), html.escape(note), size(few), size(many), drawn]
        lines.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    head = "".join(f"<th>{html.escape(text)}</th>" for text in (*heads, ""))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
