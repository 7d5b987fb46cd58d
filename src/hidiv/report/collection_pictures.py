"""The pictures of a collection's page: its matrix as shades or a PNG, its dendrogram, and a map of its models."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.comparison.clustering.cluster import Clusters
from hidiv.report.charts import scale
from hidiv.types import Array

SHADES = 10
SPAN = 100.0  # how many times the smallest value the largest must be for a logarithmic scale
FAINTEST = 0.08  # shade of the smallest value above zero on a logarithmic scale
MANY = 300  # models; the picture of more has fewer shades, so that it stays small
PALETTE = [
    tuple(round(a + (b - a) * i / 255) for a, b in zip((245, 249, 254), (8, 48, 107), strict=True)) for i in range(256)
]
WIDTH = 520.0  # of a dendrogram
NAMED_ROWS = 120  # models of a dendrogram; with more, rows are too narrow for names
NAMED_POINTS = 60  # models of a map; with more, names are left out
MAP = 720.0, 440.0  # width and greatest height
MARGIN = 70.0  # space for names at the left and the right


def is_wide(values: Array) -> bool:
    """Whether the finite values above zero span so much that they are shown on a logarithmic scale."""
    known = values[np.isfinite(values) & (values > 0)]
    return bool(len(known)) and float(known.max()) > SPAN * float(known.min())


def shades(values: Array) -> Array:
    """Shades from 0 to 1, logarithmic if values span much and square roots otherwise; infinite ones are the darkest."""
    finite = values[np.isfinite(values)]
    top = float(finite.max(initial=0.0)) or 1.0
    held = np.where(np.isfinite(values), np.clip(values, 0, None), top)
    if not is_wide(values):
        return np.asarray(np.sqrt(held / top))
    low = float(finite[finite > 0].min())
    with np.errstate(divide="ignore"):
        logs = FAINTEST + (1 - FAINTEST) * np.log(held / low) / np.log(top / low)
    return np.asarray(np.where(held > 0, logs, 0.0))


def cells(values: Array, order: list[int]) -> list[list[int]]:
    """Whole shades from 0 to 10 for the cells of a table, in the order of the dendrogram."""
    table = shades(values)[np.ix_(order, order)]
    return [[ceil(SHADES * float(v) - 1e-9) for v in row] for row in table]


def picture(values: Array, order: list[int]) -> str:
    """The shades as a PNG in a data address, one pixel for each pair, in the order of the dendrogram."""
    levels = 63 if len(values) <= MANY else 31
    table = np.round(levels * shades(values)[np.ix_(order, order)]) / levels
    return data_address(np.round(255 * table).astype(np.uint8), PALETTE)  # type: ignore[arg-type]


def data_address(pixels: NDArray[np.uint8], palette: list[tuple[int, int, int]]) -> str:
    """A PNG as 'data:image/png;base64,...'; pixels (height, width) are indices into the palette.

    >>> data_address(np.zeros((1, 1), dtype=np.uint8), [(0, 0, 0)])[:30]
    'data:image/png;base64,iVBORw0K'
    """
    height, width = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in np.ascontiguousarray(pixels))
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", bytes(level for colour in palette for level in colour)),
        (b"IDAT", zlib.compress(rows, 9)),
        (b"IEND", b""),
    ]
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
    return "data:image/png;base64," + b64encode(b"\x89PNG\r\n\x1a\n" + body).decode("ascii")


@dataclass(frozen=True, eq=False)
class Dendrogram:
    """All merges as one SVG path, leaves as (y, name), ticks as (x, value), and the order of the leaves."""

    path: str
    leaves: list[tuple[float, str]]
    ticks: list[tuple[float, float]]
    height: float
    order: list[int]
    logarithmic: bool = False


def dendrogram(linkage: Array, names: list[str]) -> Dendrogram:
    """Draw every merge as a bracket whose upright stands at the height of the merge."""
    m = len(names)
    members: dict[int, list[int]] = {i: [i] for i in range(m)}
    for step, (a, b, _, _) in enumerate(linkage):
        members[m + step] = members[int(a)] + members[int(b)]
    order = members[2 * m - 2]
    row = 17.0 if m <= NAMED_ROWS else 700.0 / m
    heights = np.asarray(linkage[:, 2], dtype=np.float64)
    logarithmic = is_wide(heights)
    top, lines = scale(float(heights.max()))
    low = 0.0
    if logarithmic:  # from a power of ten below the smallest merge to one above the largest
        low, top = floor(log10(float(heights[heights > 0].min()))) - 0.3, ceil(log10(float(heights.max())))
        lines = [(0.0, 10.0**k) for k in range(ceil(low), top + 1)]

    def place(height: float) -> float:
        if not logarithmic:
            return WIDTH * (1 - height / top)
        return WIDTH if height <= 0 else WIDTH * (top - log10(height)) / (top - low)

    x = dict.fromkeys(range(m), WIDTH)
    y = {leaf: 22.0 + row * (at + 0.5) for at, leaf in enumerate(order)}
    steps = []
    for step, (a, b, height, _) in enumerate(linkage):
        left, right = int(a), int(b)
        at = place(float(height))
        steps.append(f"M{x[left]:.1f} {y[left]:.1f}H{at:.1f}V{y[right]:.1f}H{x[right]:.1f}")
        x[m + step], y[m + step] = at, 0.5 * (y[left] + y[right])
    leaves = [(round(y[leaf], 1), names[leaf]) for leaf in order] if m <= NAMED_ROWS else []
    ticks = [(place(value), value) for _, value in lines]
    return Dendrogram("".join(steps), leaves, ticks, 22.0 + row * m + 8, order, logarithmic)


def placed(points: Array, names: list[str], groups: Clusters) -> tuple[list[dict[str, Any]], float]:
    """The points of the map in the coordinates of its SVG, and its height; names without room are left out."""
    flat = np.column_stack([points, np.zeros((len(points), max(0, 2 - points.shape[1])))])
    low, high = flat.min(axis=0), flat.max(axis=0)
    span = high - low
    room = MAP[0] - 2 * MARGIN, MAP[1] - 60
    scale = min((room[axis] / span[axis] for axis in range(2) if span[axis] > 0), default=1.0)
    height = scale * span[1] + 60
    x = MAP[0] / 2 + scale * (flat[:, 0] - (low + high)[0] / 2)
    y = height / 2 - scale * (flat[:, 1] - (low + high)[1] / 2)
    points_drawn = [
        {
            "x": round(float(a), 1),
            "y": round(float(b), 1),
            "cluster": int(cluster),
            "name": "",
            "anchor": "start",
            "tx": 0,
            "ty": 0,
        }
        for a, b, cluster in zip(x, y, groups.labels, strict=True)
    ]
    if len(names) <= NAMED_POINTS:
        _name(points_drawn, names)
    return points_drawn, round(float(height), 1)


def _name(points_drawn: list[dict[str, Any]], names: list[str]) -> None:
    """Place each name to the right of its point, or left, above or below, wherever there is room."""
    occupied = [(p["x"] - 9, p["y"] - 9, p["x"] + 9, p["y"] + 9) for p in points_drawn]
    for point, name in zip(points_drawn, names, strict=True):
        label = name if len(name) <= 16 else name[:15] + "…"
        width = 7.2 * len(label)
        x, y = point["x"], point["y"]
        for anchor, tx, ty in (
            ("start", x + 13, y + 4),
            ("end", x - 13, y + 4),
            ("middle", x, y - 14),
            ("middle", x, y + 22),
        ):
            left = tx - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
            box = (left, ty - 11, left + width, ty + 3)
            free = not any(box[0] < t[2] and t[0] < box[2] and box[1] < t[3] and t[1] < box[3] for t in occupied)
            if free and box[0] >= 0 and box[2] <= MAP[0]:
                point |= {"name": label, "anchor": anchor, "tx": round(tx, 1), "ty": round(ty, 1)}
                occupied.append(box)
                break
