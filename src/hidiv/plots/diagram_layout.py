"""Where to draw states and the arrows between them: states on a circle, an arrow of each direction on its own side."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, hypot, pi, sin

import numpy as np

from hidiv.types import Array

RADIUS = 0.27  # of a state, where the circle of states has radius 1
BOW = 0.16  # how far an arrow bends aside, as a share of its length
LOOP = 0.62  # how far a loop reaches beyond the middle of its state
LEAST = 0.005  # arrows of smaller probability are left out

Point = tuple[float, float]


@dataclass(frozen=True)
class Arrow:
    """An arrow from one state to another as a Bezier curve: its start, its control points, and its tip."""

    source: int
    target: int
    probability: float
    points: tuple[Point, ...]  # three of a bent arrow, four of a loop
    label: Point  # where the probability is written

    @property
    def head(self) -> Point:
        """The direction of the tip, of length 1."""
        (x0, y0), (x1, y1) = self.points[-2:]
        length = hypot(x1 - x0, y1 - y0) or 1.0
        return (x1 - x0) / length, (y1 - y0) / length


def circle(n_states: int) -> list[Point]:
    """The middles of the states, the first at the top and the others clockwise; two states lie side by side.

    >>> circle(2)
    [(-1.0, 0.0), (1.0, 0.0)]
    """
    if n_states == 1:
        return [(0.0, 0.0)]
    if n_states == 2:
        return [(-1.0, 0.0), (1.0, 0.0)]
    angles = [pi / 2 - 2 * pi * s / n_states for s in range(n_states)]
    return [(cos(a), sin(a)) for a in angles]


def arrows(transition: Array, least: float = LEAST) -> list[Arrow]:
    """The arrows of all probabilities of at least `least`, the widest first so that thin ones stay visible."""
    middles = circle(len(transition))
    drawn = [
        _arrow(middles, int(i), int(j), float(transition[i, j]))
        for i, j in np.argwhere(np.asarray(transition) >= least)
    ]  # fmt: skip
    return sorted(drawn, key=lambda arrow: -arrow.probability)


def _arrow(middles: list[Point], i: int, j: int, probability: float) -> Arrow:
    """One arrow, which ends at the rims of the two states."""
    size = radius(len(middles))
    (ax, ay), (bx, by) = middles[i], middles[j]
    if i == j:
        out = hypot(ax, ay)
        ux, uy = (ax / out, ay / out) if out and len(middles) != 2 else (0.0, 1.0)
        reach = LOOP * size / RADIUS
        start, end = ((ax + size * x, ay + size * y) for x, y in (_turned(ux, uy, 0.55), _turned(ux, uy, -0.55)))
        c1, c2 = (
            (ax + 1.25 * reach * x, ay + 1.25 * reach * y) for x, y in (_turned(ux, uy, 0.5), _turned(ux, uy, -0.5))
        )
        return Arrow(i, j, probability, (start, c1, c2, end), (ax + 1.3 * reach * ux, ay + 1.3 * reach * uy))
    length = hypot(bx - ax, by - ay)
    nx, ny = (by - ay) / length, -(bx - ax) / length
    bow = max(BOW * length, 0.22 if len(middles) < 6 else 0.1)
    control = ((ax + bx) / 2 + bow * nx, (ay + by) / 2 + bow * ny)
    start, end = _towards((ax, ay), control, size), _towards((bx, by), control, size)
    middle = tuple(0.25 * s + 0.5 * c + 0.25 * e for s, c, e in zip(start, control, end, strict=True))
    # The middle of the circle is crowded: the label of an arrow bent inwards stands on its outer side.
    inwards = len(middles) > 2 and nx * (ax + bx) + ny * (ay + by) < -0.1
    aside = -0.08 if inwards else 0.1
    label = (middle[0] + aside * nx, middle[1] + aside * ny)
    return Arrow(i, j, probability, (start, control, end), label)


def radius(n_states: int) -> float:
    """The radius of a state: smaller where there are many."""
    return RADIUS if n_states <= 5 else RADIUS * 5.5 / n_states + 0.04


def _turned(x: float, y: float, angle: float) -> Point:
    """A direction turned by an angle."""
    return x * cos(angle) - y * sin(angle), x * sin(angle) + y * cos(angle)


def _towards(start: Point, aim: Point, distance: float) -> Point:
    """The point at a distance from the start, on the way to the aim."""
    x, y = aim[0] - start[0], aim[1] - start[1]
    length = hypot(x, y) or 1.0
    return start[0] + distance * x / length, start[1] + distance * y / length
