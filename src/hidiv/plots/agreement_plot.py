"""`agreement` and `matching`: which models show the same, and how sure their states are matched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hidiv.plots.pairwise_plot import pairwise
from hidiv.plots.style import SEQUENTIAL, axes, sentence, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hidiv.answers.agreement import Agreement
    from hidiv.answers.matching import Matching


def agreement(result: Agreement, *, ax: Axes | None = None) -> Axes:
    """Plot the observed divergences among models, those that show the same side by side.

    Parameters
    ----------
    result : Agreement
        What `hd.agreement` found.
    ax : matplotlib.axes.Axes or None, default None
        Where to draw; None makes a new figure that pyplot does not know.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on; `.figure.savefig(path)` writes them to a file.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1.0, 9.0]))
    >>> ax = hd.plots.agreement(hd.agreement([p, p.relabel([1, 0])], nodes=200, seed=1))
    >>> ax.get_title(loc="left").split(":")[0]
    '2 models agree'
    """
    order = [i for group in result.groups for i in group]
    names = [result.matching.names[i] for i in order]
    table = result.divergences[np.ix_(order, order)]
    ax = pairwise(table, names=names, quantity="observed", status="estimate", ax=ax)
    ax.set_title(f"{sentence(result.summary(), 44)}\nobserved divergences, estimates", fontsize="medium", loc="left")
    return ax


def matching(result: Matching, *, ax: Axes | None = None) -> Axes:
    """Plot how sure the states of many models are matched with those of a reference.

    Parameters
    ----------
    result : Matching
        What `hd.match` found.
    ax : matplotlib.axes.Axes or None, default None
        Where to draw; None makes a new figure that pyplot does not know.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on; `.figure.savefig(path)` writes them to a file.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1.0, 9.0]))
    >>> hd.plots.matching(hd.match([p, p.relabel([1, 0])])).get_xlabel()
    'state of the reference'
    """
    names = result.reference.state_names or tuple(str(s) for s in range(result.reference.n_states))
    table = np.full((len(result.models), len(names)), np.nan)
    for row, (partners, sure) in enumerate(zip(result.partners, result.certainty, strict=True)):
        for partner, value in zip(partners, sure, strict=True):
            if partner is not None:
                table[row, partner] = value
    ax = axes(ax, (max(6.4, 1.6 + 0.7 * len(names)), 1.6 + 0.4 * len(table)))
    image = ax.imshow(np.ma.masked_invalid(table), cmap=SEQUENTIAL, vmin=0.0, vmax=1.0, aspect="auto")
    for (row, column), value in np.ndenumerate(table):
        shown = "none" if np.isnan(value) else f"{value:.2f}"
        ax.text(
            column, row, shown, ha="center", va="center", fontsize="small", color="white" if value > 0.6 else "black"
        )
    ax.set_xticks(range(len(names)), [text(name) for name in names], fontsize="small")
    ax.set_yticks(range(len(table)), [text(name) for name in result.names], fontsize="small")
    ax.set_xlabel("state of the reference")
    ax.set_title(sentence(result.summary(), 52), fontsize="medium", loc="left")
    ax.figure.colorbar(image, ax=ax, label="certainty of the match")
    return ax
