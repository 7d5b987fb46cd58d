"""`influence`: how much each observation changes what is known of the states, the strongest numbered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from hidiv.errors import HidivError, refuse
from hidiv.plots.style import DARK, POSTERIOR, axes, open_frame, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def influence(
    values: ArrayLike, *, name: str | None = None, unit: str = "nats", strongest: int = 5, ax: Axes | None = None
) -> Axes:
    """Plot the influence of each observation on the hidden states, node by node.

    Parameters
    ----------
    values : array_like of shape (n,)
        What `hd.influence` returned.
    name : str or None, default None
        The name of the model, for the title.
    unit : str, default "nats"
        The unit of the values, for the axis.
    strongest : int, default 5
        How many of the strongest observations are marked with their number.
    ax : matplotlib.axes.Axes or None, default None
        Where to draw; None makes a new figure that pyplot does not know.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on; `.figure.savefig(path)` writes them to a file.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1, 4]))
    >>> hd.plots.influence(hd.influence(p, [0, 1, 9, 0]), strongest=1).texts[0].get_text()
    '2'
    """
    series = np.asarray(values, dtype=np.float64)
    if series.ndim != 1 or not len(series) or not np.isfinite(series).all():
        refuse(HidivError, "values", "must be a vector of finite influences, one a node", series.shape)
    ax = axes(ax, (7.2, 2.8))
    nodes = np.arange(len(series))
    ax.vlines(nodes, 0, series, color=POSTERIOR, linewidth=float(np.clip(300 / len(series), 0.4, 3.0)))
    if len(series) <= 200:
        ax.plot(nodes, series, "o", color=POSTERIOR, markersize=3)
    top = float(series.max()) or 1.0
    for u in np.argsort(-series, kind="stable")[:strongest]:
        if series[u] > 0:
            ax.annotate(
                str(u), (float(u), float(series[u])), (0, 3), color=DARK, textcoords="offset points", ha="center",
                fontsize="small",
            )  # fmt: skip
    ax.set_ylim(0, 1.15 * top)
    ax.set_xlim(-0.6, len(series) - 0.4)
    ax.set_xlabel("node, the strongest numbered")
    ax.set_ylabel(f"influence ({unit})")
    of = "" if name is None else f" under {text(name)}"
    ax.set_title(f"influence of each observation on the hidden states{of} (exact)", fontsize="medium", loc="left")
    open_frame(ax)
    return ax
