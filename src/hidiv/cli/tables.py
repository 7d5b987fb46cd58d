"""Numbers aligned for reading."""

from __future__ import annotations

from collections.abc import Iterable
from math import isinf


def shown(value: float) -> str:
    """Ten significant digits, infinity in words."""
    return "infinite" if isinf(value) else f"{value:.10g}"


def table(rows: Iterable[tuple[str, str, str]]) -> str:
    """Lines of label, number and remark; labels and numbers aligned."""
    lines = list(rows)
    label = max(len(row[0]) for row in lines)
    number = max(len(row[1]) for row in lines)
    return "\n".join(f"{a:<{label}}  {b:>{number}}  {c}".rstrip() for a, b, c in lines)
