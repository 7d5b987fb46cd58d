"""The similarity of Sahraeian and Yoon (2011): how surely states of one model correspond to states of the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from hidiv.arguments import number
from hidiv.divergences.measures.measure import Measure
from hidiv.divergences.measures.stationary_states import stationary_pair
from hidiv.emissions.family import Family
from hidiv.errors import HidivError, refuse
from hidiv.types import Array


def sahraeian_yoon(p: Any, q: Any, k: float | str = 1.0) -> Measure:
    """The similarity of Sahraeian and Yoon: how sparse the correspondence of states is, in [0, 1].

    Parameters
    ----------
    p, q : Model or fitted model of a supported library
        The two models, with any numbers of states and one group.
    k : float or "inverse", default 1.0
        How fast the similarity of two states falls with their divergence, exp(-k D); "inverse" takes 1/D.

    Returns
    -------
    Measure
        Near 1 where every state has one counterpart. It sees transitions only through the stationary laws.

    Raises
    ------
    IncompatibleModels
        Where the models have groups, or their observations do not compare.

    Notes
    -----
    Sahraeian and Yoon (2011). D is the mean of both KL divergences of the emissions, Q the product of the stationary
    probabilities and the similarity of the emissions, scaled to sum to one; the value is the mean of the normalised
    Gini indices of its rows and columns (definitions (10.7)). A state that is infinitely far from another has
    similarity 0 with it. It is no distance: a model with itself is not at 1 unless its states are far apart.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], hd.Gaussian([0.0, 5.0], std=[1.0, 1.0]))
    >>> q = hd.Model([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], hd.Gaussian([5.0, 0.5], std=[1.0, 1.0]))
    >>> round(hd.sahraeian_yoon(p, q).value, 6)
    0.999953
    """
    inverse = k == "inverse"
    if not inverse and not number("k", k) > 0:
        refuse(HidivError, "k", 'must be above 0 or "inverse"', k)
    pair, nu, other = stationary_pair("sahraeian_yoon", p, q)
    apart = symmetric_kl(pair.p.emissions[0], pair.q.emissions[0])
    weights = nu[:, None] * other
    with np.errstate(divide="ignore", over="ignore"):
        if inverse:
            alike = np.where(weights > 0, 1.0 / apart, 0.0)
            if np.isinf(alike).any():  # equal emissions outweigh all others
                alike = np.isinf(alike).astype(np.float64)
        else:
            # Divided by the largest, which the scale of Q takes out again: far models do not underflow.
            least = apart[weights > 0].min(initial=np.inf)
            alike = np.exp(-float(k) * (apart - (least if np.isfinite(least) else 0.0)))
    table = weights * np.where(np.isfinite(apart), alike, 0.0)
    total = float(table.sum())
    table = table / total if total > 0 else np.zeros_like(table)
    value = 0.5 * (gini(table).mean() + gini(table.T).mean())
    return Measure(float(np.clip(value, 0.0, 1.0)), "Sahraeian-Yoon similarity", subject=pair.both)


def symmetric_kl(p: Family, q: Family) -> Array:
    """(K, K'): the mean of both KL divergences of every pair of states."""
    first, second = (grid.ravel() for grid in np.indices((p.n_states, q.n_states)))
    a, b = p.take(first), q.take(second)
    return np.asarray(0.5 * (a.kl(b) + b.kl(a))).reshape(p.n_states, q.n_states)


def gini(rows: Array) -> Array:
    """(n,): the normalised Gini index of each row (n, m), 0 for equal entries and 1 for a single one that is not 0.

    m/(m - 1) [1 - 2 sum_k (u_(k)/sum u) (m - k + 1/2)/m] with u ascending; 0 for one entry and for rows of zeros.
    """
    m = rows.shape[1]
    total = rows.sum(axis=1)
    if m == 1:
        return np.zeros(len(rows))
    ranks = (m - np.arange(1, m + 1) + 0.5) / m
    shares = np.sort(rows, axis=1) / np.where(total > 0, total, 1.0)[:, None]
    return np.where(total > 0, np.clip(m / (m - 1.0) * (1.0 - 2.0 * shares @ ranks), 0.0, 1.0), 0.0)
