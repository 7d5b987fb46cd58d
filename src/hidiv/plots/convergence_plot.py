"""`convergence`: Monte Carlo estimates with their intervals over the number of draws, against the exact value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hidiv.errors import HidivError, refuse
from hidiv.plots.style import DARK, LIGHT, QUANTITY, STATUS, axes, number_label, open_frame, standing, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hidiv.divergences.result import Divergence

SHIFT = 0.85  # factor that moves a second quantity a bit to the left, so that intervals do not overlap


def convergence(
    estimates: Sequence[Divergence], reference: Divergence | Sequence[Divergence] = (), *, title: str | None = None,
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Plot Monte Carlo estimates over their number of draws, on a logarithmic axis.

    Parameters
    ----------
    estimates : sequence of Divergence
        Estimates with a standard error and a number of draws.
    reference : Divergence or sequence of Divergence, default ()
        Exact values or certified intervals to compare with, drawn as horizontal lines.
    title : str or None, default None
        The title; None takes the subject of the first estimate.
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
    >>> q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Poisson([1, 5]))
    >>> draws = [hd.montecarlo(p, q, 10, samples=n, seed=n) for n in (100, 1000)]
    >>> hd.plots.convergence(draws, hd.joint_kl(p, q, 10)).get_xlabel()
    'draws'
    """
    if not estimates or any(one.n_samples is None or one.std_error is None for one in estimates):
        refuse(HidivError, "estimates", "needs Monte Carlo estimates with their number of draws")
    references = [reference] if not isinstance(reference, Sequence) else list(reference)
    units = {one.unit for one in [*estimates, *references]}
    if len(units) != 1:
        refuse(HidivError, "estimates", "must be in one unit, with the reference", sorted(units))
    ax = axes(ax, (6.4, 3.8))
    for one in references:
        colour = QUANTITY[one.quantity][0]
        style = "-" if one.quantity == estimates[0].quantity else "--"
        ax.axhline(
            one.value, color=colour, linestyle=style, linewidth=1.3, label=f"{standing(one)}: {number_label(one.value)}"
        )
        if one.lower is not None and one.upper is not None and one.status != "exact":
            ax.axhspan(one.lower, one.upper, color=LIGHT, alpha=0.6, zorder=0)
    for i, quantity in enumerate(dict.fromkeys(one.quantity for one in estimates)):
        _estimates(ax, quantity, [one for one in estimates if one.quantity == quantity], SHIFT**i)
    ax.set_xscale("log")
    ax.set_xlabel("draws")
    ax.set_ylabel(f"D ({estimates[0].measure})")
    ax.set_title(text(estimates[0].subject if title is None else title), fontsize="medium", loc="left")
    ax.legend(fontsize="small", frameon=False)
    open_frame(ax)
    return ax


def _estimates(ax: Axes, quantity: str, alike: Sequence[Divergence], shift: float) -> None:
    """Draw the estimates of one quantity with their 95 % intervals."""
    values = np.array([one.value for one in alike])
    low, high = (
        np.array([one.value if (v := getattr(one, s)) is None else v for one in alike]) for s in ("lower", "upper")
    )
    colour, marker = QUANTITY[quantity]
    ax.errorbar(
        [shift * float(one.n_samples or 0) for one in alike], values, [values - low, high - values], fmt=marker,
        color=DARK, markerfacecolor="white", markeredgecolor=colour, ecolor=colour, markersize=6, elinewidth=1.2,
        capsize=4, label=f"{quantity}, {STATUS['estimate']}", zorder=3,
    )  # fmt: skip
