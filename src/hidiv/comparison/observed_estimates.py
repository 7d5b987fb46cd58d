"""Observed divergences of all pairs by plain Monte Carlo, each with its standard error."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hidiv.comparison.execution import Progress
from hidiv.comparison.shelves import Shelves
from hidiv.divergences.montecarlo import log_likelihood_or_zero
from hidiv.inference.likelihood import log_likelihood
from hidiv.inference.sampling import check_size, draw_observations, draw_states
from hidiv.models.model import Model
from hidiv.models.tree import Tree

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


def observed_estimates(
    left: Shelves, right: Shelves, tree: Tree, samples: int, seed: int, symmetric: bool,
    keep_finished: bool = False, progress: Progress = None,
) -> tuple[Array, Array, Flags]:  # fmt: skip
    """(M, M') means of log p(X)/q(X) over draws of X from p, and their standard errors; +inf where q cannot draw one.

    The draws of a model serve for all q, so the entries of a row are not independent. The third says which pairs are
    there: all of them but after an interrupt with `keep_finished`, when the others are NaN.
    """
    count = check_size(samples)
    ps = _listed(left)
    qs = ps if right is left else _listed(right)
    ways = [(ps, qs, seed)]
    if symmetric and right is not left:
        ways.append((qs, ps, seed + 1))
    total = sum(len(p) for p, _, _ in ways)
    tables = [(np.full((len(p), len(q)), np.nan), np.full((len(p), len(q)), np.nan)) for p, q, _ in ways]
    done = 0
    try:
        for (p, q, start), (values, errors) in zip(ways, tables, strict=True):
            for i in range(len(p)):
                values[i], errors[i] = _row(i, p, q, tree, count, start)
                done += 1
                if progress is not None:
                    progress(done, total)
    except KeyboardInterrupt:
        if not keep_finished or not done:
            raise
    values, errors = tables[0]
    if symmetric:
        back, back_errors = tables[-1]
        values, errors = values + back.T, np.hypot(errors, back_errors.T)
    return values, errors, ~np.isnan(values)


def _listed(shelves: Shelves) -> list[Model]:
    found: dict[int, Model] = {}
    for models, places in shelves.shelves:
        found.update(zip(places.tolist(), models, strict=True))
    return [found[i] for i in range(len(found))]


def _row(i: int, ps: list[Model], qs: list[Model], tree: Tree, count: int, seed: int) -> tuple[Array, Array]:
    p, rng = ps[i], np.random.default_rng([seed, i])
    values, errors = np.empty(len(qs)), np.empty(len(qs))
    x = draw_observations(p, tree, draw_states(p, tree, count, rng), rng)
    under_p = np.array([log_likelihood(p, one, tree) for one in x])
    for j, q in enumerate(qs):
        draws = np.zeros(count) if q is p else under_p - [log_likelihood_or_zero(q, one, tree) for one in x]
        infinite = bool(np.isinf(draws).any())
        values[j] = np.inf if infinite else draws.mean()
        errors[j] = np.inf if infinite or count < 2 else draws.std(ddof=1) / np.sqrt(count)
    return values, errors
