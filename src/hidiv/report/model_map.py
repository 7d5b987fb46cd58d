"""The map of a collection: models as points of a plane, with their names where there is room."""

from __future__ import annotations

from typing import Any

import numpy as np

from hidiv.comparison.clustering.cluster import Clusters
from hidiv.types import Array

NAMED = 60  # models; with more, names are left out
MAP = 720.0, 440.0  # width and greatest height
MARGIN = 70.0  # space for names at the left and the right


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
    if len(names) <= NAMED:
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
