"""`choice`: fits with different numbers of states, by their criterion and by what more states gain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hidiv.plots.reduction_plot import losses
from hidiv.plots.style import DARK, JOINT, sentence, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hidiv.fitting.selection import Choice


def choice(result: Choice, *, gain: float = 0.002, ax: Axes | None = None) -> Axes:
    """Plot what each number of states loses of the largest fit, and the criterion it was chosen by.

    Parameters
    ----------
    result : Choice
        What `hd.choose` found.
    gain : float, default 0.002
        The observed divergence a step below which more states are not worth it, drawn as a line.
    ax : matplotlib.axes.Axes or None, default None
        Where to draw; None makes a new figure that pyplot does not know.

    Returns
    -------
    matplotlib.axes.Axes
        The axes of the losses; those of the criterion share their horizontal axis.

    Examples
    --------
    >>> import hidiv as hd
    >>> found = hd.choose([0, 1, 0, 2, 1, 9, 8, 7, 9, 9], None, (1, 2), "poisson", n_init=1, seed=0)
    >>> hd.plots.choice(found).get_xlabel()
    'number of states'
    """
    ax = losses(result.losses, log=True, ax=ax)
    ax.axhline(gain, color=DARK, linestyle=":", linewidth=1.0)
    right = ax.twinx()
    sign = 1.0 if result.by == "held-out" else -1.0
    for name in dict.fromkeys(each.emission for each in result.candidates):
        alike = sorted((each.n_states, sign * each.score) for each in result.candidates if each.emission == name)
        right.plot(*zip(*alike, strict=True), "o--", color=JOINT, markersize=3.5, linewidth=1.0, label=text(name))
    right.set_ylabel(f"{result.by} ({'larger' if sign > 0 else 'smaller'} is better)", color=JOINT)
    right.tick_params(labelsize="small")
    ax.legend(fontsize="small", frameon=False)
    ax.set_title(sentence(result.summary(gain)), fontsize="medium", loc="left")
    return ax
