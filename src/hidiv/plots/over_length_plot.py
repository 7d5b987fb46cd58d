"""`over_length`: divergences of chains of growing length, and the rate they tend to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hidiv.errors import HidivError, refuse
from hidiv.plots.style import DARK, QUANTITY, STATUS, axes, number_label, open_frame, standing, text
from hidiv.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hidiv.divergences.result import Divergence

Series = Sequence["Divergence"]


def over_length(
    lengths: Sequence[int], results: Series | Sequence[Series] | Mapping[str, Series], *,
    rate: Divergence | Sequence[Divergence] = (), per_step: bool = True, title: str | None = None,
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Plot divergences of chains over their length.

    Exact values are solid and joined by a line, certified ones have their interval, estimates are hollow with 95 %
    intervals.

    Parameters
    ----------
    lengths : sequence of int
        The lengths of the chains.
    results : sequence of Divergence, sequence of those, or mapping from a name to those
        One divergence for each length: one series, several, or several by name.
    rate : Divergence or sequence of Divergence, default ()
        Rates, drawn as horizontal lines.
    per_step : bool, default True
        Whether to divide each divergence by its length.
    title : str or None, default None
        The title; None takes the subject of the first result.
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
    >>> ax = hd.plots.over_length([5, 50], [hd.joint_kl(p, q, n) for n in (5, 50)], rate=hd.joint_kl_rate(p, q))
    >>> [t.get_text() for t in ax.get_legend().get_texts()]
    ['joint, exact', 'rate 0.1439 (joint, exact)']
    """
    named = series_of(results)
    rates = [rate] if not isinstance(rate, Sequence) else list(rate)
    ax = axes(ax, (6.8, 4.0))
    units = {one.unit for many in named.values() for one in many} | {one.unit for one in rates}
    if len(units) != 1:
        refuse(HidivError, "results", "must be in one unit", sorted(units))
    for name, many in named.items():
        if len(many) != len(lengths):
            refuse(HidivError, "results", f"needs one result a length, {len(lengths)} of them", len(many))
        _series(ax, np.asarray(lengths, dtype=np.float64), name, many, per_step)
    for one in rates if per_step else []:
        label = f"rate {number_label(one.value)} ({standing(one)})"
        style = "--" if one.quantity == "joint" else ":"
        ax.axhline(one.value, color=QUANTITY[one.quantity][0], linestyle=style, linewidth=1.2, label=label, zorder=1)
    unit = units.pop()
    ax.set_xlabel("N, nodes of the chain")
    ax.set_ylabel(f"D / N ({unit} per step)" if per_step else f"D ({unit})")
    about = next(iter(named.values()))[0].subject.split(" on a ")[0] if title is None else title
    ax.set_title(text(about), fontsize="medium", loc="left")
    ax.legend(fontsize="small", frameon=False)
    open_frame(ax)
    return ax


def series_of(results: Series | Sequence[Series] | Mapping[str, Series]) -> dict[str, Series]:
    """The series by name; the first without a name is "" and the others are numbered."""
    if isinstance(results, Mapping):
        named = {str(name): many for name, many in results.items()}
    else:
        many_series = [results] if results and hasattr(results[0], "quantity") else list(results)
        named = {f"{'' if i == 0 else i}": many for i, many in enumerate(many_series)}  # type: ignore[misc]
    if not named or not all(len(many) for many in named.values()):
        refuse(HidivError, "results", "needs at least one divergence")
    return named


def _series(ax: Axes, lengths: Array, name: str, many: Series, per_step: bool) -> None:
    """Draw one series with the marks of its weakest status."""
    scale = 1.0 / lengths if per_step else np.ones_like(lengths)
    values = np.array([one.value for one in many]) * scale
    statuses = [s for s in ("exact", "certified", "approximation", "estimate") if any(o.status == s for o in many)]
    status = statuses[-1]  # the weakest decides the marks
    colour, marker = QUANTITY[many[0].quantity]
    called = text(name) if name and not name.isdigit() else many[0].quantity
    label = f"{called}, {' or '.join(STATUS[s] for s in statuses)}"
    if status == "estimate":
        low = np.array([one.value if one.lower is None else one.lower for one in many]) * scale
        high = np.array([one.value if one.upper is None else one.upper for one in many]) * scale
        ax.errorbar(
            lengths, values, [values - low, high - values], fmt=marker, markerfacecolor="white", color=DARK,
            markeredgecolor=colour, ecolor=colour, markersize=4.5, elinewidth=1, capsize=2.5, label=label, zorder=2,
        )  # fmt: skip
        return
    style = ":" if status == "approximation" else "-"
    ax.plot(lengths, values, style, marker=marker, markersize=3, color=colour, linewidth=1.4, label=label, zorder=3)
    if status == "certified":
        low, high = (np.array([getattr(one, side) for one in many]) * scale for side in ("lower", "upper"))
        ax.fill_between(lengths, low, high, color=colour, alpha=0.25, linewidth=0)
