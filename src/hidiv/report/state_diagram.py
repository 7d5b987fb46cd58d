"""State diagrams of two models side by side, as SVG: arrows as wide as their probability, differences in colour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hidiv.models.model import Model
from hidiv.plots.diagram_layout import LEAST, Arrow, arrows, circle, radius
from hidiv.report.digits import shown
from hidiv.report.heat_tables import has_transition, of_group
from hidiv.report.state_names import state_name
from hidiv.types import Array

MOST = 12  # states of a diagram; of more, those that add most
SCALE = 104.0  # pixels of the circle's radius
MIDDLE = 200.0, 0.0
BESIDE = 24.0  # pixels left and right for the probabilities beside loops
WIDEST = 9.0  # pixels of an arrow of probability 1
NUMBERED = 4  # states up to which every arrow has its probability beside it
CHANGED = 0.05  # difference of two probabilities from which the larger arrow is coloured
SLIGHT = 0.02  # the same where one is at least twice the other
FAINT = 1e-3  # a probability this many times smaller than the other model's is as good as missing
OF_MANY = 0.04  # the least probability that has an arrow where there are many states
LETTERS = 9


@dataclass(frozen=True, eq=False)
class Diagram:
    """Circles and arrows of one model, ready for the template."""

    side: str
    name: str
    states: list[dict[str, Any]]
    arrows: list[dict[str, Any]]
    box: str  # the view box of the SVG


def diagrams(p: Model, q: Model, names: tuple[str, str], weights: Array, g: int = 0) -> tuple[list[Diagram], str]:
    """The diagrams of both models with states in the same places, and a sentence about what is left out."""
    if not (has_transition(p, g) and has_transition(q, g)):
        return [], ""
    a, b = of_group(p.transitions, g), of_group(q.transitions, g)
    if p.n_states != q.n_states:
        sides = [("p", p, names[0], a, None), ("q", q, names[1], b, None)]
    else:
        sides = [("p", p, names[0], a, b), ("q", q, names[1], b, a)]
    made, left_out = [], ""
    for side, model, name, own, other in sides:
        chosen = np.arange(model.n_states)
        if model.n_states > MOST:
            order = weights if len(weights) == model.n_states else model.initial
            chosen = np.sort(np.argsort(-np.nan_to_num(order, posinf=np.inf), kind="stable")[:MOST])
            left_out = f"{MOST} of {model.n_states} states are drawn, those that add most."
        pick = np.ix_(chosen, chosen)
        made.append(_diagram(side, model, name, chosen, own[pick], None if other is None else other[pick]))
    return made, left_out


def _diagram(side: str, model: Model, name: str, chosen: Any, own: Array, other: Array | None) -> Diagram:
    n = len(chosen)
    size = radius(n) * SCALE
    labels = [_short(state_name(model, int(s)) if model.state_names is not None else str(int(s)), n) for s in chosen]
    states = [
        {"x": x, "y": y, "r": round(size, 1), "label": label, "name": state_name(model, int(s))}
        for (x, y), label, s in zip(map(_pixel, circle(n)), labels, chosen, strict=True)
    ]
    drawn = arrows(own, LEAST if n <= NUMBERED + 2 else OF_MANY)
    if other is not None:  # what the other model has and this one lacks is drawn broken
        lost = arrows(np.where((other >= CHANGED) & (own < FAINT * other), other, 0.0))
        drawn = [one for one in drawn if own[one.source, one.target] >= FAINT * other[one.source, one.target]]
    else:
        lost = []
    shapes = [_shape(one, _class(one, other, side), n, states) for one in drawn]
    faint = f"lost more-{'q' if side == 'p' else 'p'}"
    shapes += [_shape(one, faint, n, states, float(own[one.source, one.target])) for one in lost]
    return Diagram(side, name, states, shapes, _box(n))


def _box(n: int) -> str:
    """The view box that holds all states with a loop each, as wide for every number of states."""
    points = [point for arrow in arrows(np.eye(n)) for point in (*arrow.points, arrow.label)]
    points += [(x, y + sign * radius(n)) for x, y in circle(n) for sign in (-1, 1)]
    high, low = (_pixel((0.0, edge(y for _, y in points)))[1] for edge in (max, min))
    return f"{-BESIDE:.0f} {high - 8:.0f} {2 * (MIDDLE[0] + BESIDE):.0f} {low - high + 22:.0f}"


def _class(arrow: Arrow, other: Array | None, side: str) -> str:
    """How an arrow is coloured: in the model's colour where it is clearly larger than the other model's."""
    if other is None:
        return "same"
    than = float(other[arrow.source, arrow.target])
    more = arrow.probability - than
    return f"more-{side}" if more >= (SLIGHT if arrow.probability >= 2 * than else CHANGED) else "same"


def _shape(
    arrow: Arrow, kind: str, n: int, states: list[dict[str, Any]], probability: float | None = None
) -> dict[str, Any]:  # fmt: skip
    """One arrow as an SVG path, a triangle for its head, and its words."""
    value = arrow.probability if probability is None else probability
    width = 1.6 if kind.startswith("lost") else max(0.7, WIDEST * arrow.probability)
    length = 5.0 + 0.9 * width
    hx, hy = arrow.head[0], -arrow.head[1]
    points = [_pixel(point) for point in arrow.points]
    tip = points[-1]
    base = tip[0] - length * hx, tip[1] - length * hy
    half = 2.6 + 0.62 * width
    head = [tip, (base[0] - half * hy, base[1] + half * hx), (base[0] + half * hy, base[1] - half * hx)]
    points[-1] = base[0] + 0.5 * hx, base[1] + 0.5 * hy
    start, *rest = [f"{x:.1f} {y:.1f}" for x, y in points]
    lx, ly = _pixel(arrow.label)
    return {
        "d": f"M{start}{'Q' if len(rest) == 2 else 'C'}{' '.join(rest)}",
        "head": " ".join(f"{x:.1f},{y:.1f}" for x, y in head),
        "width": round(width, 2), "kind": kind, "x": lx, "y": ly,
        "text": shown(value, 2) if n <= NUMBERED else "",
        "title": f"{states[arrow.source]['name']} to {states[arrow.target]['name']}: {shown(value, 3)}",
    }  # fmt: skip


def _pixel(point: tuple[float, float]) -> tuple[float, float]:
    return round(MIDDLE[0] + SCALE * point[0], 1), round(MIDDLE[1] - SCALE * point[1], 1)


def _short(name: str, n: int) -> str:
    """A name that fits in its circle."""
    room = LETTERS if n <= 5 else 5
    return name if len(name) <= room else name[: room - 1] + "…"
