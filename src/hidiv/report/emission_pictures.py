"""What both models show in every state, as SVG: curves or bars state by state, and ellipses of two columns."""

from __future__ import annotations

from collections.abc import Sequence
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
LETTER = 9.0  # pixels of a letter below an axis


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


def pictures(p: Model, q: Model, weights: Array, g: int = 0, links: Sequence[dict[str, Any]] = ()) -> Pictures:
    """The emissions of a group, state by state; with different numbers of states, of the states that are linked."""
    if p.n_features != q.n_features or not p.n_features:
        return Pictures()
    if p.n_states != q.n_states:
        return _linked(p, q, g, [(int(link["from"]), int(link["to"])) for link in links])
    chosen = [int(s) for s in np.sort(np.argsort(-np.nan_to_num(weights, posinf=np.inf), kind="stable")[:PANELS])]
    left_out = "" if p.n_states <= PANELS else f"{PANELS} of {p.n_states} states are shown, those that add most."
    if _all_bits(p, g) and _all_bits(q, g) and p.n_features > 1:
        return Pictures([("each column", [_bits(p, q, g, s, s) for s in chosen])], None, left_out)
    plane = ellipses(p, q, g)
    if plane is not None:
        return Pictures([], _plane(p, plane, chosen), left_out)
    panels = [(one.column, [_panel(state_name(p, s), one, s, s) for s in chosen]) for one in curves(p, q, g)]
    return Pictures(panels, None, left_out)


def _linked(p: Model, q: Model, g: int, pairs: list[tuple[int, int]]) -> Pictures:
    """A panel for every link between a state of p and one of q, the first of them if there are many."""
    left_out = "" if len(pairs) <= PANELS else f"{PANELS} of {len(pairs)} pairs are shown."
    pairs = pairs[:PANELS]
    if not pairs:
        return Pictures()
    if _all_bits(p, g) and _all_bits(q, g) and p.n_features > 1:
        return Pictures([("each column", [_bits(p, q, g, s, t) for s, t in pairs])], None, left_out)
    titles = [_both(p, q, s, t) for s, t in pairs]
    panels = [
        (one.column, [_panel(title, one, s, t) for title, (s, t) in zip(titles, pairs, strict=True)])
        for one in curves(p, q, g)
    ]
    return Pictures(panels, None, left_out)


def _both(p: Model, q: Model, s: int, t: int) -> str:
    """The names of two states, one where they are the same."""
    names = dict.fromkeys([state_name(p, s), state_name(q, t)])
    return " with ".join(names)


def _all_bits(model: Model, g: int) -> bool:
    return all(space.kind is Kind.BIT for space in of_group(model.emissions, g).column_spaces())


def _panel(title: str, law: Curves, s: int, t: int) -> Panel:
    """The law of one column in state s of p and state t of q."""
    top = float(max(law.p[s].max(), law.q[t].max())) or 1.0
    if not np.isfinite(top):
        finite = np.concatenate([law.p[s][np.isfinite(law.p[s])], law.q[t][np.isfinite(law.q[t])]])
        top = float(finite.max(initial=1.0))
    if law.discrete:
        labels = list(law.labels) or [shown(float(x), 6) for x in law.x]
        return _bars(title, law.p[s] / top, law.q[t] / top, labels)
    low, high = float(law.x[0]), float(law.x[-1])
    x = WIDTH * (law.x - low) / ((high - low) or 1.0)
    paths = []
    for values in (law.p[s], law.q[t]):
        y = HEIGHT * (1 - np.clip(np.nan_to_num(values, posinf=top) / top, 0, 1) * 0.94)
        paths.append("L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True)))
    ticks = [(WIDTH * (at - low) / ((high - low) or 1.0), shown(at, 6), "middle") for at in round_numbers(low, high)]
    return Panel(title, f"M0 {HEIGHT}L{paths[0]}L{WIDTH} {HEIGHT}z", f"M{paths[1]}", ticks)


def round_numbers(low: float, high: float) -> list[float]:
    """Two to five round numbers for an axis from `low` to `high`, none close to its ends.

    >>> round_numbers(-5.36, 3.86), round_numbers(0.0, 1.0), round_numbers(2.0, 2.0)
    ([-4.0, -2.0, 0.0, 2.0], [0.2, 0.4, 0.6, 0.8], [2.0])
    """
    span = high - low
    if span <= 0:
        return [low]
    step = 10.0 ** np.floor(np.log10(span))
    step = next(float(step * f) for f in (5.0, 2.0, 1.0, 0.5, 0.2) if 0.9 * span / (step * f) >= 3)
    first, last = np.ceil((low + 0.05 * span) / step), np.floor((high - 0.05 * span) / step)
    return [float(f"{k * step:.9g}") for k in range(int(first), int(last) + 1)]


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
    return Panel(title, paths[0], paths[1], _labels(labels, step))


def _labels(labels: list[str], step: float) -> list[tuple[float, str, str]]:
    """Those of the labels that fit below bars `step` apart, none over another or over an end of the axis."""
    ticks, used = [], 0.0
    for i, label in enumerate(labels):
        wide = LETTER * len(label)
        left = min(max((i + 0.5) * step - wide / 2, 0.0), max(WIDTH - wide, 0.0))
        if left >= used:
            ticks.append((round(left + wide / 2, 1), label, "middle"))
            used = left + wide
    return ticks


def _bits(p: Model, q: Model, g: int, s: int, t: int) -> Panel:
    """The probability of every bit in state s of p and state t of q."""
    left, right = (np.array([np.exp(of_group(m.emissions, g).select([f]).log_prob(np.ones((1, 1))))[0, state]
                             for f in range(p.n_features)]) for m, state in ((p, s), (q, t)))  # fmt: skip
    return _bars(
        _both(p, q, s, t) if p.n_states != q.n_states else state_name(p, s),
        left,
        right,
        [column_name(p, f) for f in range(p.n_features)],
    )


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
