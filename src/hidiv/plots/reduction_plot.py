"""`reduction`: what smaller models lose, against their number of states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from hidiv.plots.style import DARK, MIDDLE, OBSERVED, STATUS, axes, open_frame, sentence

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hidiv.answers.reduction import Reduction
    from hidiv.divergences.result import Divergence


def reduction(result: Reduction, *, log: bool = True, ax: Axes | None = None) -> Axes:
    """Plot what smaller models lose against their number of states.

    Parameters
    ----------
    result : Reduction
        What `hd.reduce` found.
    log : bool, default True
        Whether losses are on a logarithmic scale; those of 0 are on its lower edge.
    ax : matplotlib.axes.Axes or None, default None
        Where to draw; None makes a new figure that pyplot does not know.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on; `.figure.savefig(path)` writes them to a file.

    Examples
    --------
    >>> import hidiv as hd
    >>> twice = hd.Model([0.4, 0.6], [[0.5, 0.5], [0.3, 0.7]], hd.Poisson([2.0, 2.0]))
    >>> hd.plots.reduction(hd.reduce(twice)).get_xlabel()
    'number of states'
    """
    ax = losses(result.divergences, log=log, ax=ax)
    if result.within is not None and (result.within > 0 or not log):
        ax.axhline(result.within, color=MIDDLE, linestyle="--", linewidth=1.0, label=f"within {result.within:g}")
    lost = result.divergences[result.chosen]
    if lost.value > 0 or not log:
        label = f"chosen: {result.chosen} of {result.n_states} states"
        ax.plot([result.chosen], [lost.value], "o", color=DARK, markersize=9, fillstyle="none", label=label)
    ax.set_title(sentence(result.summary().split(";")[0]), fontsize="medium", loc="left")
    if ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize="small", frameon=False)
    return ax


def losses(divergences: Mapping[int, Divergence], *, log: bool, ax: Axes | None) -> Axes:
    """Divergences by number of states, with their intervals."""
    ax = axes(ax, (6.4, 4.0))
    sizes = sorted(divergences)
    values = np.array([divergences[k].value for k in sizes])
    ends = np.array([[_end(divergences[k], side) for k in sizes] for side in ("lower", "upper")])
    positive = values[np.isfinite(values) & (values > 0)]
    if log and positive.size:
        ax.set_yscale("log")
        floor = positive.min() / 3.0
        for k in np.array(sizes)[values == 0.0]:
            ax.annotate("0", (k, floor), xytext=(0, 6), textcoords="offset points", ha="center", fontsize="small")
        values, ends = np.maximum(values, floor), np.maximum(ends, floor)
    seen = np.isfinite(values)
    at = np.array(sizes)[seen]
    spread = np.abs(ends[:, seen] - values[seen])
    statuses = " or ".join(dict.fromkeys(STATUS[divergences[k].status] for k in sizes))
    ax.errorbar(
        at, values[seen], spread, fmt="s-", color=OBSERVED, markersize=4.5, capsize=2.5, linewidth=1.2, label=statuses
    )
    ax.set_xticks(sizes)
    first = divergences[sizes[0]]
    ax.set_xlabel("number of states")
    ax.set_ylabel(f"observed divergence lost ({first.unit} per {first.per or 'sequence'})")
    open_frame(ax)
    return ax


def _end(result: Divergence, side: str) -> float:
    """An end of the interval, the value itself without one or where it is infinite."""
    end = getattr(result, side)
    return result.value if end is None or not np.isfinite(end) else float(end)
