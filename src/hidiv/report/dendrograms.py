"""A dendrogram in SVG coordinates: models below each other at the right, merges to their left."""

from __future__ import annotations

from dataclasses import dataclass

from hidiv.report.charts import scale
from hidiv.types import Array

WIDTH = 520.0
NAMED = 120  # models; with more, rows are too narrow for names


@dataclass(frozen=True, eq=False)
class Dendrogram:
    """All merges as one SVG path, leaves as (y, name), ticks as (x, value), and the order of the leaves."""

    path: str
    leaves: list[tuple[float, str]]
    ticks: list[tuple[float, float]]
    height: float
    order: list[int]


def dendrogram(linkage: Array, names: list[str]) -> Dendrogram:
    """Draw every merge as a bracket whose upright stands at the height of the merge."""
    m = len(names)
    members: dict[int, list[int]] = {i: [i] for i in range(m)}
    for step, (a, b, _, _) in enumerate(linkage):
        members[m + step] = members[int(a)] + members[int(b)]
    order = members[2 * m - 2]
    row = 17.0 if m <= NAMED else 700.0 / m
    top, lines = scale(float(linkage[:, 2].max()))
    x = dict.fromkeys(range(m), WIDTH)
    y = {leaf: 22.0 + row * (at + 0.5) for at, leaf in enumerate(order)}
    steps = []
    for step, (a, b, height, _) in enumerate(linkage):
        left, right = int(a), int(b)
        at = WIDTH * (1 - float(height) / top)
        steps.append(f"M{x[left]:.1f} {y[left]:.1f}H{at:.1f}V{y[right]:.1f}H{x[right]:.1f}")
        x[m + step], y[m + step] = at, 0.5 * (y[left] + y[right])
    leaves = [(round(y[leaf], 1), names[leaf]) for leaf in order] if m <= NAMED else []
    ticks = [(WIDTH * (1 - value / top), value) for _, value in lines]
    return Dendrogram("".join(steps), leaves, ticks, 22.0 + row * m + 8, order)
