"""Marginal and conditional laws of a full Gaussian column."""

from __future__ import annotations

from .arithmetic import mp


def marginal(column, kept):
    """The law of the coordinates `kept`."""
    at = column[1]
    cov = [[at["cov"][i][j] for j in kept] for i in kept]
    return "gaussian_full", {"mean": [at["mean"][i] for i in kept], "cov": cov}


def conditional(column, x):
    """The law of the coordinates where x is None given the others."""
    at = column[1]
    seen = [i for i, value in enumerate(x) if value is not None]
    rest = [i for i, value in enumerate(x) if value is None]
    if not seen:
        return column
    within = mp.matrix([[at["cov"][i][j] for j in seen] for i in seen])
    across = mp.matrix([[at["cov"][i][j] for j in seen] for i in rest])
    gain = across * mp.inverse(within)
    shift = gain * mp.matrix([mp.mpf(x[i]) - at["mean"][i] for i in seen])
    removed = gain * across.T
    mean = [at["mean"][i] + shift[row] for row, i in enumerate(rest)]
    cov = [[at["cov"][i][j] - removed[a, b] for b, j in enumerate(rest)] for a, i in enumerate(rest)]
    return "gaussian_full", {"mean": mean, "cov": cov}
