"""Which observations decide: influence along a series, the strongest named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from hidiv.errors import HidivError, refuse
from hidiv.plots.ink import DARK, POSTERIOR, axes, plain, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def influence(
    values: ArrayLike, *, name: str | None = None, unit: str = "nats", strongest: int = 5, ax: Axes | None = None
) -> Axes:
    """What `hd.influence` gave, node by node; the strongest observations carry their number.

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
    plain(ax)
    return ax
