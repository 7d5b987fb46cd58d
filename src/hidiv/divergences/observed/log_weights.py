"""Log-densities of observations that may lie outside the sample space of one of the two families."""

from __future__ import annotations

import numpy as np

from hidiv.emissions.family import Family
from hidiv.types import Array


def log_weights(family: Family, x: Array) -> Array:
    """(n, K): log-density of x (n, F), -inf outside the sample space."""
    try:
        return family.log_weight(x)
    except ValueError:  # outside the sample space of this family: it has no mass there
        away = np.full_like(x, np.inf)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            terms = family.log_density(x)
            # A formula may give a number beyond the support: what lies there has no mass on one side of it.
            inside = (family.log_mass(-away, x) > -np.inf) & (family.log_mass(x, away) > -np.inf)
            terms = np.where(inside, terms, -np.inf).sum(axis=2)
        return np.where(np.isnan(terms), -np.inf, terms)
