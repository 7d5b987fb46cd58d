"""Observed divergences of all pairs by plain Monte Carlo, each with its standard error."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hidiv.comparison.shelves import Shelves
from hidiv.divergences.montecarlo import log_likelihood_or_zero
from hidiv.inference.likelihood import log_likelihood
from hidiv.inference.sampling import check_size, draw_observations, draw_states
from hidiv.models.model import Model
from hidiv.models.tree import Tree

Array = NDArray[np.float64]


def observed_estimates(
    left: Shelves, right: Shelves, tree: Tree, samples: int, seed: int, symmetric: bool
) -> tuple[Array, Array]:
    """(M, M') means of log p(X)/q(X) over draws of X from p, and their standard errors; +inf where q cannot draw one.

    The draws of a model serve for all q, so the entries of a row are not independent.
    """
    count = check_size(samples)
    ps = _listed(left)
    qs = ps if right is left else _listed(right)
    values, errors = _one_way(ps, qs, tree, count, seed)
    if symmetric:
        back, back_errors = (values, errors) if right is left else _one_way(qs, ps, tree, count, seed + 1)
        values, errors = values + back.T, np.hypot(errors, back_errors.T)
    return values, errors


def _listed(shelves: Shelves) -> list[Model]:
    found: dict[int, Model] = {}
    for models, places in shelves.shelves:
        found.update(zip(places.tolist(), models, strict=True))
    return [found[i] for i in range(len(found))]


def _one_way(ps: list[Model], qs: list[Model], tree: Tree, count: int, seed: int) -> tuple[Array, Array]:
    values, errors = np.empty((len(ps), len(qs))), np.empty((len(ps), len(qs)))
    for i, p in enumerate(ps):
        rng = np.random.default_rng([seed, i])
        x = draw_observations(p, tree, draw_states(p, tree, count, rng), rng)
        under_p = np.array([log_likelihood(p, one, tree) for one in x])
        for j, q in enumerate(qs):
            draws = np.zeros(count) if q is p else under_p - [log_likelihood_or_zero(q, one, tree) for one in x]
            infinite = bool(np.isinf(draws).any())
            values[i, j] = np.inf if infinite else draws.mean()
            errors[i, j] = np.inf if infinite or count < 2 else draws.std(ddof=1) / np.sqrt(count)
    return values, errors
