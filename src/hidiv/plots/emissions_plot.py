"""`emissions`: what two models show in each state: densities or bars overlaid, ellipses for two Gaussian columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hidiv.adapters.as_model import as_models
from hidiv.errors import HidivError, IncompatibleModels, refuse
from hidiv.plots.emission_curves import Ellipses, curves, ellipses
from hidiv.plots.style import DARK, JOINT, OBSERVED, axes, open_frame, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hidiv.models.model import Model

CONTOUR = 2.0  # standard deviations of an ellipse: 86 % of a two-dimensional normal law
HUES = ["#0b5394", "#d55e00", "#1f8f6b", "#a8578f", "#b98a00", "#4aa3d9", "#7a4a21", "#6b6b6b"]


def emissions(p: Any, q: Any, *, state: int = 0, group: int = 0, ax: Axes | None = None) -> Axes:
    """Draw the laws of the observations of two models over each other.

    Two or more Gaussian columns are drawn as ellipses of all states, in the plane of the two columns that differ most.
    Otherwise the law of one state is drawn: a density, or bars for symbols and counts; of several columns that one
    whose laws differ most.

    Parameters
    ----------
    p, q : Model
        Models with the same number of states and the same columns.
    state : int, default 0
        The state whose law is drawn; ellipses are drawn for all states.
    group : int, default 0
        The group of emissions to show, of models tied by level or by another label.
    ax : matplotlib.axes.Axes or None, default None
        Where to draw; None makes a new figure that pyplot does not know.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on; `.figure.savefig(path)` writes them to a file.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Gaussian([0, 3], std=[1, 1]), column_names=["height"])
    >>> hd.plots.emissions(p, p.relabel([1, 0]), state=1).get_xlabel()
    'height'
    """
    p, q = as_models(p, q)
    if p.n_states != q.n_states or p.n_features != q.n_features:
        refuse(IncompatibleModels, "q", "must have the states and the columns of p")
    if not 0 <= state < p.n_states:
        refuse(HidivError, "state", f"must be a state, 0 to {p.n_states - 1}", state)
    plane = ellipses(p, q, group)
    if plane is not None:
        return _plane(axes(ax, (5.6, 4.6)), p, q, plane)
    drawn = curves(p, q, group, most=1)
    if not drawn:
        refuse(HidivError, "p", "shows nothing that could be drawn column by column")
    law = drawn[0]
    ax = axes(ax, (5.2, 3.2))
    names = text(p.name or "p"), text(q.name or "q")
    if law.discrete:
        place = np.arange(len(law.x))
        ax.bar(place - 0.2, law.p[state], 0.38, color=JOINT, label=names[0])
        ax.bar(place + 0.2, law.q[state], 0.38, color="white", edgecolor=OBSERVED, hatch="//", label=names[1])
        shown = place[:: max(1, len(place) // 12)]
        labels = law.labels or [f"{x:g}" for x in law.x]
        ax.set_xticks(shown, [text(labels[i]) for i in shown])
        ax.set_ylabel("probability")
    else:
        ax.fill_between(law.x, law.p[state], color=JOINT, alpha=0.35, label=names[0])
        ax.plot(law.x, law.q[state], color=OBSERVED, linewidth=1.8, label=names[1])
        ax.set_ylabel("density")
        ax.set_ylim(bottom=0)
    ax.set_xlabel(text(law.column))
    ax.set_title(text(p.state_names[state] if p.state_names is not None else f"state {state}"))
    ax.legend(frameon=False, fontsize="small")
    open_frame(ax)
    return ax


def _plane(ax: Axes, p: Model, q: Model, law: Ellipses) -> Axes:
    """Ellipses of every state, p filled and q dashed."""
    from matplotlib.patches import Ellipse

    for side, (means, covs) in (("p", law.p), ("q", law.q)):
        for s, (mean, cov) in enumerate(zip(means, covs, strict=True)):
            values, vectors = np.linalg.eigh(cov)
            width, height = 2 * CONTOUR * np.sqrt(np.clip(values, 0, None))
            angle = float(np.degrees(np.arctan2(vectors[1, 0], vectors[0, 0])))
            hue = HUES[s % len(HUES)]
            look: dict[str, Any] = (
                {"facecolor": hue, "alpha": 0.25, "edgecolor": hue}
                if side == "p"
                else {"fill": False, "linestyle": "--", "linewidth": 1.6, "edgecolor": hue}
            )
            ax.add_patch(Ellipse((float(mean[0]), float(mean[1])), float(width), float(height), angle=angle, **look))
            if side == "p":
                name = p.state_names[s] if p.state_names is not None else f"state {s}"
                ax.annotate(text(name), (float(mean[0]), float(mean[1])), ha="center", fontsize="small", color=DARK)
    ax.autoscale_view()
    ax.margins(0.08)
    ax.set_xlabel(text(law.columns[0]))
    ax.set_ylabel(text(law.columns[1]))
    ax.set_title(f"filled: {text(p.name or 'p')}, dashed: {text(q.name or 'q')}", fontsize="medium")
    open_frame(ax)
    return ax
