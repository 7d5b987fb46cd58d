"""`difference`: the statistic of a test among those of sequences dealt anew, and the divergences of all pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hidiv.plots.style import DARK, LIGHT, OBSERVED, axes, open_frame, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hidiv.answers.difference import Difference


def difference(result: Difference, *, title: str | None = None, ax: Axes | None = None) -> Axes:
    """Plot the divergence a step of every pair of groups with its interval; p-values stand beside them.

    Parameters
    ----------
    result : Difference
        What `hd.differ` returned.
    title : str or None, default None
        The title; None takes the p-value and the statistic among those of sequences dealt anew.
    ax : matplotlib.axes.Axes or None, default None
        Where to draw; None makes a new figure that pyplot does not know.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on; `.figure.savefig(path)` writes them to a file.

    Examples
    --------
    >>> import hidiv as hd
    >>> groups = {"a": [[0, 1, 0, 0]] * 5 + [[1, 0, 0, 2]] * 5, "b": [[3, 2, 5, 4]] * 5 + [[4, 4, 2, 6]] * 5}
    >>> found = hd.differ(groups, n_states=1, emission="poisson", seed=1, n_init=1)
    >>> hd.plots.difference(found).get_xlabel()
    'observed divergence (nats a step), 95 % interval'
    """
    from hidiv.answers.difference import shown_p

    pairs = list(result.pairs)
    ax = axes(ax, (6.4, 1.6 + 0.45 * len(pairs)))
    finite = [pair for pair in pairs if np.isfinite(pair.divergence.value)]
    top = max((pair.divergence.upper for pair in finite), default=1.0) or 1.0
    for i, pair in enumerate(pairs):
        one = pair.divergence
        sure = pair.adjusted <= 0.05
        if np.isfinite(one.value):
            ax.plot([one.lower, one.upper], [i, i], color=OBSERVED if sure else LIGHT, linewidth=2.5, zorder=2)
            face = OBSERVED if sure else "white"
            ax.plot([one.value], [i], "s", color=OBSERVED, markerfacecolor=face, markersize=7, zorder=3)
        ax.annotate(f"p = {shown_p(pair.adjusted)}", (1.02 * top, i), va="center", fontsize="small", color=DARK)
    ax.axvline(0.0, color=DARK, linewidth=0.8)
    ax.set_yticks(range(len(pairs)), [text(f"{pair.first} and {pair.second}") for pair in pairs])
    ax.set_ylim(len(pairs) - 0.4, -0.6)
    ax.set_xlim(-0.02 * top, 1.2 * top)
    ax.set_xlabel(f"observed divergence (nats a {pairs[0].unit}), 95 % interval")
    low, high = result.reference[[5, 195]]
    caption = f"p = {shown_p(result.p_value)}: statistic {result.statistic:.3g}, 95 % by chance {low:.3g} to {high:.3g}"
    ax.set_title(text(caption if title is None else title), fontsize="medium", loc="left")
    open_frame(ax)
    return ax
