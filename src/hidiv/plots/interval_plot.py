"""`interval`: a divergence between two fits with its interval, and what a bootstrap drew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hidiv.errors import HidivError, refuse
from hidiv.plots.style import DARK, LIGHT, OBSERVED, axes, open_frame, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hidiv.fitting.bootstrap_result import BootstrapResult
    from hidiv.fitting.divergence_interval import DivergenceInterval


def interval(result: DivergenceInterval | BootstrapResult, *, title: str | None = None, ax: Axes | None = None) -> Axes:
    """Plot a divergence of two fits with its interval, beside that of the fitted models as they are.

    Parameters
    ----------
    result : DivergenceInterval or BootstrapResult
        What `hd.divergence_interval` or `hd.bootstrap_divergence` returned; the replicates of the latter are drawn.
    title : str or None, default None
        The title; None says the value and the interval.
    ax : matplotlib.axes.Axes or None, default None
        Where to draw; None makes a new figure that pyplot does not know.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on; `.figure.savefig(path)` writes them to a file.

    Raises
    ------
    HidivError
        Where the divergence is infinite and has no interval.

    Examples
    --------
    >>> import hidiv as hd
    >>> fits = [hd.fit(x, None, 1, "poisson", n_init=1, seed=0) for x in ([0, 1, 0, 2, 1] * 8, [3, 2, 5, 4, 4] * 8)]
    >>> result = hd.divergence_interval(*fits, on=1, divergence="joint")
    >>> hd.plots.interval(result).get_xlabel()
    'divergence (nats)'
    """
    drawn = np.asarray(getattr(result, "replicates", ()), dtype=np.float64)
    fitted = float(getattr(result, "fitted", result.value))
    value = float(getattr(result, "corrected", result.value))
    if not np.isfinite([value, result.lower, result.upper]).all():
        refuse(HidivError, "result", "an infinite divergence has no interval to draw", fitted)
    ax = axes(ax, (6.4, 2.2))
    finite = drawn[np.isfinite(drawn)]
    if len(finite):
        ax.plot(finite, np.ones(len(finite)), "|", color=LIGHT, markersize=14, zorder=1)
    ax.plot([fitted], [1.0], "o", color=DARK, markerfacecolor="white", markersize=7, zorder=3)
    ax.plot([result.lower, result.upper], [0.0, 0.0], color=OBSERVED, linewidth=2.5, zorder=2)
    ax.plot([value], [0.0], "s", color=OBSERVED, markersize=7, zorder=3)
    ax.axvline(0.0, color=DARK, linewidth=0.8)
    ax.set_yticks([0, 1], ["without noise", "of the fits and of replicates" if len(finite) else "of the fits"])
    ax.set_ylim(-0.6, 1.6)
    ax.set_xlabel("divergence (nats)")
    level = getattr(result, "level", 0.95)
    caption = f"estimate {value:.4g} nats, {level:.0%} interval {result.lower:.4g} to {result.upper:.4g}"
    ax.set_title(text(caption if title is None else title), fontsize="medium", loc="left")
    open_frame(ax)
    return ax
