"""The charts of a page in SVG coordinates: bars along nodes or levels, or a drawn tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, floor, log10, sqrt
from typing import Any

import numpy as np

from hidiv.models.tree import Tree
from hidiv.plots.tree_drawing import node_names, places
from hidiv.report.page import short
from hidiv.types import Array

WIDTH, HEIGHT = 720.0, 170.0
BARS = 720  # with more values, each bar shows the largest of several
NAMED = 18  # leaves of a tree whose nodes have their names beside them
DRAWN = 300  # nodes; a larger tree is shown level by level
LETTERS = 9  # of a name beside a node
SHADES = 10
ABOVE = 6.0  # a bar so many times the next largest is cut off, so that the others can be seen
OVER = 12.0  # pixels that it reaches above the axis


@dataclass(frozen=True, eq=False)
class BarChart:
    """Bars as one SVG path, with (x, label) ticks below and (y, value) lines behind them."""

    id: str
    word: str  # what a bar stands for: "node", "level"
    path: str
    ticks: list[tuple[float, str]]
    lines: list[tuple[float, float]]
    n: int
    values: list[float]  # of each bar
    starts: list[int]  # the first node of each bar
    note: str
    largest: tuple[int, float]  # place and value
    cut: bool = False  # whether the largest bar is higher than the axis
    form: str = "bars"

    def view(self) -> dict[str, Any]:
        """What the script of the page needs."""
        return {
            "id": self.id, "word": self.word, "values": short(self.values), "starts": self.starts, "n": self.n,
            "form": self.form,
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class TreeChart:
    """A drawn tree: its edges as one SVG path, and nodes with x, y, radius, shade, name and value."""

    id: str
    height: float
    edges: str
    nodes: list[dict[str, Any]] = field(default_factory=list)
    form: str = "tree"

    def view(self) -> dict[str, Any]:
        """What the script of the page needs."""
        names, values = [node["name"] for node in self.nodes], [node["value"] for node in self.nodes]
        return {"id": self.id, "word": "node", "values": short(values), "names": names, "form": self.form}


def node_chart(name: str, shares: Array, tree: Tree) -> BarChart | TreeChart:
    """The values of the nodes as bars along a chain, as a drawn tree or, for a large tree, as bars by level."""
    if tree.is_chain:
        return bars(name, shares, "node")
    if tree.n_nodes <= DRAWN:
        return drawn(name, shares, tree)
    counts = np.bincount(np.asarray(tree.level))
    note = f"{tree.n_nodes} nodes, summed up level by level; the largest level has {counts.max()}."
    return bars(name, np.asarray(np.bincount(np.asarray(tree.level), shares), dtype=np.float64), "level", note)


def bars(name: str, values: Array, word: str, note: str = "") -> BarChart:
    """One bar for each value; of very many values, one bar for the largest of each stretch."""
    n = len(values)
    starts = np.arange(n)
    if n > BARS:
        starts = np.linspace(0, n, BARS + 1).astype(np.int64)[:-1]
        note = f"Each bar is the largest of about {n // BARS} {word}s. {note}".strip()
    heights = np.maximum.reduceat(values, starts)
    first, second = np.partition(np.append(heights, [0.0, 0.0]), -2)[-2:][::-1]
    cut = bool(first > ABOVE * second > 0)
    top, lines = scale(float(second if cut else first))
    width = WIDTH / len(heights)
    gap = 0.15 * width if width > 4 else 0.0
    steps = []
    for i, value in enumerate(heights):
        if value > 0:
            x, y = i * width + gap / 2, max(HEIGHT * (1 - value / top), -OVER)
            steps.append(f"M{x:.2f} {HEIGHT:.0f}V{y:.2f}h{width - gap:.2f}V{HEIGHT:.0f}z")
    place = int(np.argmax(values))
    return BarChart(
        name, word, "".join(steps), ticks(n), lines, n, heights.tolist(), starts.tolist(), note,
        (place, float(values[place])), cut,
    )  # fmt: skip


def scale(largest: float) -> tuple[float, list[tuple[float, float]]]:
    """A round number for the top of the axis, and its grid lines as (y, value)."""
    if largest <= 0:
        return 1.0, [(HEIGHT, 0.0)]
    step = 10.0 ** floor(log10(largest))
    step = next(step * factor for factor in (0.2, 0.5, 1.0, 2.0, 5.0) if largest / (step * factor) <= 4)
    count = ceil(largest / step - 1e-9)
    top = count * step
    return top, [(HEIGHT * (1 - i / count), float(f"{i * step:.6g}")) for i in range(count + 1)]


def ticks(n: int) -> list[tuple[float, str]]:
    """Up to seven round places among n bars, except at the right end, where the axis is named."""
    step = 10 ** floor(log10(max(n - 1, 1)))
    step = max(1, next(int(step * f) for f in (0.1, 0.2, 0.5, 1.0, 2.0) if step * f >= 1 and (n - 1) / (step * f) <= 7))
    places = [((i + 0.5) * WIDTH / n, str(i)) for i in range(0, n, step)]
    return [(x, label) for x, label in places if x < WIDTH - 40]


def drawn(name: str, shares: Array, tree: Tree) -> TreeChart:
    """A drawn tree whose nodes have an area and a shade in proportion to their share."""
    x, level = places(tree)
    leaves = float(x.max()) + 1
    across = WIDTH / leaves
    named = leaves <= NAMED
    down = float(np.clip(0.9 * across, 48.0 if named else 34.0, 64.0))
    radius = float(np.clip(0.42 * across, 2.5, 13.0))
    px, py = (x + 0.5) * across, radius + 6 - level * down
    top = float(shares.max()) or 1.0
    parent = tree.parent
    edges = "".join(f"M{px[parent[u]]:.1f} {py[parent[u]]:.1f}L{px[u]:.1f} {py[u]:.1f}" for u in range(1, tree.n_nodes))
    nodes = [
        {
            "x": round(float(px[u]), 1), "y": round(float(py[u]), 1),
            "r": round(radius * sqrt(max(float(shares[u]) / top, 0.04)), 2),
            "shade": ceil(SHADES * float(shares[u]) / top - 1e-9), "name": node, "value": float(shares[u]),
            "label": node[:LETTERS] if named and len(node) <= LETTERS else node[: LETTERS - 1] + "…" if named else "",
            "ly": round(float(py[u]) + radius + 11, 1),
        }
        for u, node in enumerate(node_names(tree))
    ]  # fmt: skip
    return TreeChart(name, float(py.max()) + radius + (18 if named else 6), edges, nodes)
