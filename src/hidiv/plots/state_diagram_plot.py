"""`state_diagram`: the states of a model and arrows as wide as their probability, perhaps against a second model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hidiv.adapters.as_model import as_model
from hidiv.errors import HidivError, IncompatibleModels, refuse
from hidiv.plots.diagram_layout import Arrow, arrows, circle, radius
from hidiv.plots.style import DARK, MIDDLE, axes, text
from hidiv.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hidiv.models.model import Model

MORE, LESS = "#c96512", "#5e3c99"  # larger here, larger in the other model
CHANGED = 0.05  # difference of two probabilities from which an arrow is coloured
WIDEST = 7.0  # points of an arrow of probability 1
NUMBERED = 5  # states up to which arrows have their probabilities beside them
MOST = 30  # states


def state_diagram(model: Any, against: Any = None, *, group: int = 0, ax: Axes | None = None) -> Axes:
    """Draw the states of a model, and its transitions as arrows as wide as their probability.

    Parameters
    ----------
    model : Model
        The model, of at most 30 states.
    against : Model or None, default None
        A model with as many states: arrows that are clearly larger or smaller than its (by 0.05) are coloured.
    group : int, default 0
        The group of transitions to show, of models tied by level or by another label.
    ax : matplotlib.axes.Axes or None, default None
        Where to draw; None makes a new figure that pyplot does not know.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on; `.figure.savefig(path)` writes them to a file.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1, 4]), name="rain", state_names=["dry", "wet"])
    >>> hd.plots.state_diagram(p).get_title()
    'rain'
    """
    model = as_model(model)
    own = _transition(model, group)
    other = None
    if against is not None:
        against = as_model(against)
        if against.n_states != model.n_states:
            counts = f"{model.n_states} and {against.n_states}"
            refuse(IncompatibleModels, "against", "must have as many states as the model", counts)
        other = _transition(against, group)
    ax = axes(ax, (4.6, 4.4))
    for arrow in arrows(own):
        _draw(ax, arrow, _colour(arrow, other), len(own))
    size = radius(len(own))
    from matplotlib.patches import Circle

    names = model.state_names or [str(s) for s in range(model.n_states)]
    for (x, y), name in zip(circle(len(own)), names, strict=True):
        ax.add_patch(Circle((x, y), size, facecolor="white", edgecolor=DARK, linewidth=1.2, zorder=3))
        ax.text(x, y, text(name), ha="center", va="center", fontsize=9 if len(own) <= 8 else 7, zorder=4)
    ax.set_title(text(model.name or "model"))
    if other is not None:
        words = f"orange: larger than in {text(against.name or 'the other')}; purple: smaller"
        ax.text(0.5, -0.01, words, transform=ax.transAxes, ha="center", va="top", fontsize="small", color=DARK)
    # All loops and their labels have room, whether they are drawn or not.
    edges = np.array([point for arrow in arrows(np.eye(len(own))) for point in (*arrow.points, arrow.label)])
    edges = np.concatenate([edges, np.array(circle(len(own))) - size, np.array(circle(len(own))) + size])
    (left, bottom), (right, top) = edges.min(axis=0) - 0.12, edges.max(axis=0) + 0.12
    ax.set_xlim(left, right)
    ax.set_ylim(bottom, top)
    ax.set_aspect("equal")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_axis_off()
    return ax


def _transition(model: Model, group: int) -> Array:
    """The transition matrix of a group."""
    if model.n_states > MOST:
        refuse(HidivError, "model", f"a diagram has at most {MOST} states", model.n_states, "plot the differences")
    if not 0 <= group < max(len(model.transitions), 1) or not model.has_transition[group]:
        refuse(HidivError, "group", "must be a group with a transition matrix", group)
    return np.asarray(model.transitions[group])


def _colour(arrow: Arrow, other: Array | None) -> str:
    if other is None:
        return MIDDLE
    more = arrow.probability - float(other[arrow.source, arrow.target])
    return MORE if more >= CHANGED else LESS if more <= -CHANGED else MIDDLE


def _draw(ax: Axes, arrow: Arrow, colour: str, n: int) -> None:
    """One arrow: its curve, its head, and its probability where there is room."""
    from matplotlib.patches import PathPatch, Polygon
    from matplotlib.path import Path

    width = max(0.6, WIDEST * arrow.probability)
    length = 0.05 + 0.012 * width
    (hx, hy), (x, y) = arrow.head, arrow.points[-1]
    base = (x - length * hx, y - length * hy)
    codes = [Path.MOVETO, *[Path.CURVE3 if len(arrow.points) == 3 else Path.CURVE4] * (len(arrow.points) - 1)]
    path = Path([*arrow.points[:-1], base], codes)
    patch = PathPatch(path, fill=False, edgecolor=colour, linewidth=width, capstyle="butt", zorder=2)
    patch.set_gid(f"{arrow.source}-{arrow.target}")
    ax.add_patch(patch)
    half = 0.55 * length
    corners = [(x, y), (base[0] - half * hy, base[1] + half * hx), (base[0] + half * hy, base[1] - half * hx)]
    ax.add_patch(Polygon(corners, closed=True, color=colour, zorder=2))
    if n <= NUMBERED:
        ax.text(*arrow.label, f"{arrow.probability:.2g}", ha="center", va="center", fontsize=8, color=DARK, zorder=5)
