"""`equivalence` and `minimal`: a word that tells two models apart, and which states are one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hidiv.plots.style import DARK, MIDDLE, OBSERVED, axes, number_label, open_frame, sentence, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hidiv.divergences.equivalence.equivalent import Equivalence
    from hidiv.divergences.equivalence.minimal import Minimal


def equivalence(result: Equivalence, *, ax: Axes | None = None) -> Axes:
    """Plot the probabilities of the word that tells two models apart; equal bars of height 1 where there is none.

    Parameters
    ----------
    result : Equivalence
        What `hd.equivalent` found.
    ax : matplotlib.axes.Axes or None, default None
        Where to draw; None makes a new figure that pyplot does not know.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on; `.figure.savefig(path)` writes them to a file.

    Examples
    --------
    >>> import hidiv as hd
    >>> p, q = (hd.Model([1.0], [[1.0]], hd.Bernoulli([prob])) for prob in (0.2, 0.6))
    >>> [bar.get_height().round(6) for bar in hd.plots.equivalence(hd.equivalent(p, q)).patches]
    [np.float64(0.333333), np.float64(1.0)]
    """
    ax = axes(ax, (5.2, 3.2))
    values = np.array(result.probabilities or (1.0, 1.0))
    ax.bar(range(2), values / max(values.max(), 1e-300), color=[OBSERVED, MIDDLE], width=0.6)
    labels = [text(name) for name in result.names]
    if result.probabilities is not None:
        labels = [f"{name}\n{number_label(value)}" for name, value in zip(labels, result.probabilities, strict=True)]
    ax.set_xticks(range(2), labels)
    ax.set_ylabel("relative to the larger")
    ax.set_title(sentence(result.summary(), 56), fontsize="medium", loc="left")
    open_frame(ax)
    return ax


def minimal(result: Minimal, *, ax: Axes | None = None) -> Axes:
    """Plot which old states each new state stands for.

    Parameters
    ----------
    result : Minimal
        What `hd.minimal` found.
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
    >>> hd.plots.minimal(hd.minimal(twice)).get_xlabel()
    'old state'
    """
    count = sum(map(len, result.merged)) + len(result.unreachable)
    ax = axes(ax, (max(5.2, 1.0 + 0.35 * count), 1.6 + 0.3 * result.n_states))
    for row, block in enumerate(result.merged):
        ax.plot(block, [row] * len(block), "o-", color=DARK, markersize=7)
    for state in result.unreachable:
        ax.axvline(state, color=MIDDLE, linestyle=":", linewidth=1.0)
    names = result.state_names or tuple(map(str, range(count)))
    ax.set_xticks(range(count), [text(name) for name in names], fontsize="small")
    ax.set_yticks(range(result.n_states))
    ax.set_ylim(result.n_states - 0.5, -0.5)
    ax.set_xlim(-0.5, count - 0.5)
    ax.set_xlabel("old state")
    ax.set_ylabel("new state")
    ax.set_title(sentence(result.summary(), 56), fontsize="medium", loc="left")
    open_frame(ax)
    return ax
