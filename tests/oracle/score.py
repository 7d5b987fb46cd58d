"""The gradient of a log-likelihood by 50-digit differences of its enumeration, entry by entry."""

from __future__ import annotations

from copy import deepcopy

from .arithmetic import mp
from .likelihood import log_likelihood

STEP = mp.mpf(10) ** -16


def derivative(model, tree, evidence, path, mirrored=False):
    """d log-likelihood in the entry of the model (a dict) at a path of keys, all other entries held.

    mirrored: the two entries of a symmetric matrix move together, and each has half of the derivative.
    """

    def value(step):
        moved = deepcopy(model)
        for route in {path, (*path[:-2], path[-1], path[-2])} if mirrored else {path}:
            inner = moved
            for key in route[:-1]:
                inner = inner[key]
            inner[route[-1]] = mp.mpf(inner[route[-1]]) + step
        return log_likelihood(moved, tree, evidence)

    slope = (value(STEP) - value(-STEP)) / (2 * STEP)
    return slope / 2 if mirrored and path[-1] != path[-2] else slope


def places(part, prefix=()):
    """The paths of all numbers in nested lists and dicts; texts and None are passed over."""
    if isinstance(part, dict):
        part = {key: value for key, value in part.items() if not isinstance(value, str) and key != "n_states"}.items()
    elif isinstance(part, (list, tuple)):
        part = enumerate(part)
    elif part is None:
        return
    else:
        yield prefix
        return
    for key, value in part:
        yield from places(value, (*prefix, key))
