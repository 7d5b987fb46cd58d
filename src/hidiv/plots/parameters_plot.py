"""`standard_errors`: the parameters of a fit with their intervals; `score`: the gradient of a log-likelihood."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hidiv.errors import HidivError, refuse
from hidiv.plots.style import DARK, JOINT, LIGHT, axes, open_frame, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hidiv.fitting.parameter_errors import StandardErrors
    from hidiv.inference.score import Score

Part = Literal["initial", "transition", "end", "emission"]

MOST = 60  # rows that can be read


def standard_errors(
    errors: StandardErrors, *, part: Part | None = None, title: str | None = None, ax: Axes | None = None
) -> Axes:
    """Plot the parameters of a fit with their intervals.

    Parameters
    ----------
    errors : StandardErrors
        What `hd.standard_errors` returned.
    part : {"initial", "transition", "end", "emission"} or None, default None
        The parameters to draw; None draws all that were fitted, those with the widest intervals if they are many.
    title : str or None, default None
        The title; None says what the intervals are.
    ax : matplotlib.axes.Axes or None, default None
        Where to draw; None makes a new figure that pyplot does not know.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on; `.figure.savefig(path)` writes them to a file.

    Examples
    --------
    >>> import hidiv as hd
    >>> fit = hd.fit([0, 1, 0, 2, 1, 3, 1, 0], None, 1, "poisson", n_init=1, seed=0)
    >>> hd.plots.standard_errors(hd.standard_errors(fit)).get_title(loc="left")
    '95% intervals, information by differences'
    """
    rows = [row for row in errors.rows() if part in (None, _part(row[0]))]
    if not rows:
        refuse(HidivError, "errors", "there is no fitted parameter to draw", part)
    rows = _most(rows, [high - low for _, _, _, low, high in rows])
    ax = axes(ax, (6.4, 1.4 + 0.28 * len(rows)))
    for i, (_, value, _, low, high) in enumerate(rows):
        ax.plot([low, high], [i, i], color=JOINT, linewidth=2.0, zorder=2)
        ax.plot([value], [i], "o", color=JOINT, markersize=5, zorder=3)
    caption = f"{errors.level:.0%} intervals, information by {errors.method}"
    return _finished(ax, [row[0] for row in rows], "parameter", caption if title is None else title)


def score(result: Score, *, title: str | None = None, ax: Axes | None = None) -> Axes:
    """Plot the derivatives of a log-likelihood in every parameter: where the data would move the model.

    Parameters
    ----------
    result : Score
        What `hd.score` returned.
    title : str or None, default None
        The title; None gives the log-likelihood.
    ax : matplotlib.axes.Axes or None, default None
        Where to draw; None makes a new figure that pyplot does not know.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on; `.figure.savefig(path)` writes them to a file.

    Examples
    --------
    >>> import hidiv as hd
    >>> coin = hd.Model([1.0], [[1.0]], hd.Bernoulli([0.25]))
    >>> hd.plots.score(hd.score(coin, [0, 0, 1])).get_xlabel()
    'derivative of the log-likelihood'
    """
    from hidiv.fitting.parameter_errors import by_place

    table = by_place({part: getattr(result, part) for part in ("initial", "transition", "end", "emission")})
    rows = _most(list(table.items()), [abs(value) for value in table.values()])
    ax = axes(ax, (6.4, 1.4 + 0.28 * len(rows)))
    ax.barh(range(len(rows)), [value for _, value in rows], color=JOINT, height=0.6)
    caption = f"log-likelihood {result.log_likelihood:.6g}"
    return _finished(
        ax, [name for name, _ in rows], "derivative of the log-likelihood", caption if title is None else title
    )


def _part(name: str) -> str:
    """The part of a model that a parameter belongs to; those of emissions are named by the family's own words."""
    first = name.partition("[")[0]
    return first if first in ("initial", "transition", "end") else "emission"


def _most(rows: list[Any], sizes: list[float]) -> list[Any]:
    """The rows with the largest sizes, in their order, if there are more than can be read."""
    largest = np.sort(np.argsort(-np.asarray(sizes), kind="stable")[:MOST])
    return [rows[i] for i in largest.tolist()]


def _finished(ax: Axes, names: list[str], label: str, title: str) -> Axes:
    ax.axvline(0.0, color=DARK if label != "parameter" else LIGHT, linewidth=0.8, zorder=0)
    ax.set_yticks(range(len(names)), [text(name) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlabel(label)
    ax.set_title(text(title), fontsize="medium", loc="left")
    open_frame(ax)
    return ax
