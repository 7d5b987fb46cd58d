"""What both models show in every state, as SVG: curves or bars state by state, and ellipses of two columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hidiv.emissions.sample_space import Kind
from hidiv.models.model import Model
from hidiv.plots.emission_curves import Curves, Ellipses, column_name, curves, ellipses
from hidiv.report.digits import shown
from hidiv.report.heat_tables import of_group
from hidiv.report.state_names import state_name
from hidiv.types import Array

PANELS = 10  # states; of more, those that add most
WIDTH, HEIGHT = 300.0, 110.0
PLANE = 560.0, 380.0  # of the picture with ellipses
CONTOUR = 2.0  # standard deviations of an ellipse: 86 % of a two-dimensional normal law
ROUND = 72  # corners of an ellipse


@dataclass(frozen=True, eq=False)
class Panel:
    """One state: the law of p as a filled shape, that of q as a line, and ticks (x, label) below."""

    title: str
    p: str
    q: str
    ticks: list[tuple[float, str, str]]  # x, label, anchor


@dataclass(frozen=True, eq=False)
class Pictures:
    """The panels of each column, and the ellipses of two."""

    columns: list[tuple[str, list[Panel]]] = field(default_factory=list)
    plane: dict[str, Any] | None = None
    left_out: str = ""


def pictures(p: Model, q: Model, weights: Array, g: int = 0) -> Pictures:
    """The emissions of a group; models with different numbers of states are drawn in one panel a column each."""
    if p.n_states != q.n_states or p.n_features != q.n_features or not p.n_features:
        return Pictures()
    chosen = [int(s) for s in np.sort(np.argsort(-np.nan_to_num(weights, posinf=np.inf), kind="stable")[:PANELS])]
    left_out = "" if p.n_states <= PANELS else f"{PANELS} of {p.n_states} states are shown, those that add most."
    if _all_bits(p, g) and _all_bits(q, g) and p.n_features > 1:
        return Pictures([("each column", [_bits(p, q, g, s) for s in chosen])], None, left_out)
    plane = ellipses(p, q, g)
    if plane is not None:
        return Pictures([], _plane(p, plane, chosen), left_out)
    return Pictures([(one.column, [_panel(p, one, s) for s in chosen]) for one in curves(p, q, g)], None, left_out)


def _all_bits(model: Model, g: int) -> bool:
    return all(space.kind is Kind.BIT for space in of_group(model.emissions, g).column_spaces())


def _panel(p: Model, law: Curves, s: int) -> Panel:
    """The law of one column in one state."""
    top = float(max(law.p[s].max(), law.q[s].max())) or 1.0
    if not np.isfinite(top):
        finite = np.concatenate([law.p[s][np.isfinite(law.p[s])], law.q[s][np.isfinite(law.q[s])]])
        top = float(finite.max(initial=1.0))
    if law.discrete:
        labels = list(law.labels) or [shown(float(x), 6) for x in law.x]
        return _bars(state_name(p, s), law.p[s] / top, law.q[s] / top, labels)
    low, high = float(law.x[0]), float(law.x[-1])
    x = WIDTH * (law.x - low) / ((high - low) or 1.0)
    paths = []
    for values in (law.p[s], law.q[s]):
        y = HEIGHT * (1 - np.clip(np.nan_to_num(values, posinf=top) / top, 0, 1) * 0.94)
        paths.append("L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True)))
    ticks = [
        (0.0, shown(low, 3), "start"), (WIDTH / 2, shown((low + high) / 2, 3), "middle"), (WIDTH, shown(high, 3), "end")
    ]  # fmt: skip
    return Panel(state_name(p, s), f"M0 {HEIGHT}L{paths[0]}L{WIDTH} {HEIGHT}z", f"M{paths[1]}", ticks)


def _bars(title: str, p: Array, q: Array, labels: list[str]) -> Panel:
    """Pairs of bars, p filled and q as an outline beside it; heights are shares of the largest."""
    n = len(p)
    step = WIDTH / n
    paths = ["", ""]
    for i in range(n):
        for k, value in enumerate((p[i], q[i])):
            x0, w = i * step + (0.1 + 0.4 * k) * step, 0.38 * step
            y = HEIGHT * (1 - 0.94 * float(value))
            paths[k] += f"M{x0:.1f} {HEIGHT}V{y:.1f}h{w:.1f}V{HEIGHT}z"
    room = max(1, round(n * max(len(label) for label in labels) * 7.5 / WIDTH + 0.5))
    ticks = [(round((i + 0.5) * step, 1), labels[i], "middle") for i in range(0, n, room)]
    return Panel(title, paths[0], paths[1], ticks)


def _bits(p: Model, q: Model, g: int, s: int) -> Panel:
    """The probability of every bit in one state."""
    left, right = (np.array([np.exp(of_group(m.emissions, g).select([f]).log_prob(np.ones((1, 1))))[0, s]
                             for f in range(p.n_features)]) for m in (p, q))  # fmt: skip
    return _bars(state_name(p, s), left, right, [column_name(p, f) for f in range(p.n_features)])


def _plane(p: Model, law: Ellipses, chosen: list[int]) -> dict[str, Any]:
    """Ellipses of every state in the plane of two columns, p filled and q dashed."""
    rings = {(side, s): _ring(mean[s], cov[s]) for side, (mean, cov) in (("p", law.p), ("q", law.q)) for s in chosen}
    every = np.concatenate(list(rings.values()))
    low, span = every.min(axis=0), np.ptp(every, axis=0)
    span = np.where(span > 0, span, 1.0)

    def pixels(points: Array) -> Array:
        at = (points - low) / span
        return np.column_stack([20 + at[:, 0] * (PLANE[0] - 40), PLANE[1] - 20 - at[:, 1] * (PLANE[1] - 40)])

    shapes = []
    for place, s in enumerate(chosen):
        middle = pixels(law.p[0][s][None])[0]
        other = pixels(law.q[0][s][None])[0]
        shapes.append(
            {
                "name": state_name(p, s), "colour": place % 8,
                "x": round(float(middle[0]), 1), "y": round(float(middle[1]), 1),
                "qx": round(float(other[0]), 1), "qy": round(float(other[1]), 1),
                **{side: "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in pixels(rings[side, s])) + "z" for side in "pq"},
            }
        )  # fmt: skip
    ends = [(shown(float(a), 3), shown(float(a + b), 3)) for a, b in zip(low, span, strict=True)]
    return {"columns": law.columns, "shapes": shapes, "ends": ends}


def _ring(mean: Array, cov: Array) -> Array:
    """(ROUND, 2): the corners of an ellipse of CONTOUR standard deviations."""
    values, vectors = np.linalg.eigh(cov)
    angle = np.linspace(0, 2 * np.pi, ROUND, endpoint=False)
    unit = np.column_stack([np.cos(angle), np.sin(angle)])
    return np.asarray(mean + CONTOUR * (unit * np.sqrt(np.clip(values, 0, None))) @ vectors.T)
