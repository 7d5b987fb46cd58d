"""Objects as small HTML in notebooks: a headline, tables and notes in the notebook's own colours, light or dark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from math import isfinite, isinf, isnan
from typing import Any

MOST = 12  # rows or columns of a table; further ones are counted
LINE = "1px solid rgba(128,128,128,.45)"
CELL = "padding:2px 8px;text-align:right;border:0;background:none"


def card(title: str, *blocks: str, notes: Iterable[str] = ()) -> str:
    """A headline with blocks of HTML below it, and notes in smaller type; title and notes are plain text."""
    lines = "".join(f'<div style="font-size:85%;opacity:.75;margin-top:4px">{escape(note)}</div>' for note in notes)
    head = f'<div style="font-weight:600;margin-bottom:4px">{escape(title)}</div>'
    frame = "border-left:3px solid #2f7fc1;padding:4px 12px;margin:4px 0;color:inherit;max-width:60em;overflow-x:auto"
    return f'<div style="{frame}">{head}{"".join(blocks)}{lines}</div>'


def table(
    head: Sequence[str],
    rows: Sequence[tuple[str, Sequence[Any]]],
    caption: str = "",
    shades: Sequence[Sequence[float]] | None = None,
) -> str:
    """A table of names and values; `shades` from 0 to 1 colour the cells. Beyond MOST rows or columns it is cut."""
    wide = len(head) > MOST
    columns = [escape(str(name)) for name in head[:MOST]] + (["…"] if wide else [])
    lines = []
    for r, (name, values) in enumerate(rows[:MOST]):
        cells = "".join(
            _cell(value, shades[r][c] if shades is not None else 0.0) for c, value in enumerate(values[:MOST])
        )
        lines.append(f'<tr><th style="{CELL};text-align:left;font-weight:400">{escape(str(name))}</th>{cells}</tr>')
    top = "".join(f'<th style="{CELL};font-weight:600">{column}</th>' for column in columns)
    more = [f"{len(rows) - MOST} more rows"] if len(rows) > MOST else []
    more += [f"{len(head) - MOST} more columns"] if wide else []
    after = f'<div style="font-size:85%;opacity:.75">{" and ".join(more)}</div>' if more else ""
    title = f'<div style="font-size:85%;opacity:.75;margin-top:6px">{escape(caption)}</div>' if caption else ""
    style = "border-collapse:collapse;font-variant-numeric:tabular-nums;margin:2px 0;color:inherit;font-size:90%"
    body = f'<thead><tr style="border-bottom:{LINE};background:none"><th style="{CELL}"></th>{top}</tr></thead>'
    return f'{title}<table style="{style}">{body}<tbody>{"".join(lines)}</tbody></table>{after}'


def number(value: float) -> str:
    """A number for a table.

    >>> number(0.25), number(1 / 3), number(float("inf")), number(6e-14)
    ('0.25', '0.3333', 'infinite', '6e-14')
    """
    if isnan(value):
        return ""
    return f"{value:.4g}" if isfinite(value) else "infinite" if value > 0 else "minus infinite"


def line(values: Sequence[float], label: str) -> str:
    """A small curve of the values, in the colour of the text."""
    known = [value for value in values if isfinite(value)]
    if len(known) < 2:
        return ""
    low, span = min(known), (max(known) - min(known)) or 1.0
    points = " ".join(
        f"{200 * i / (len(known) - 1):.1f},{36 - 32 * (value - low) / span:.1f}" for i, value in enumerate(known)
    )
    return (
        f'<svg width="204" height="40" viewBox="-2 0 204 40" role="img" aria-label="{escape(label)}">'
        f'<polyline points="{points}" fill="none" stroke="currentColor" stroke-width="1.5"/></svg>'
    )


def _cell(value: Any, shade: float) -> str:
    """A value; a shade is a blue that both light and dark text stand out from."""
    text = number(value) if isinstance(value, float) else escape(str(value))
    share = 1.0 if isinf(shade) else min(max(shade, 0.0), 1.0)
    paint = f";background:rgba(66,133,208,{0.55 * share:.2f})" if share > 0 else ""
    return f'<td style="{CELL}{paint}">{text}</td>'
