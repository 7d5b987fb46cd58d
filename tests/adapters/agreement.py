"""How well a library's own log-likelihood and ours agree; the largest difference of each kind is printed at the end."""

from __future__ import annotations

import hidiv as hd

LARGEST: dict[str, float] = {}


N_NODES = 40  # of every sequence


def agree(name, theirs, ours, tolerance):
    """Relative difference of two log-likelihoods, kept for the table and held to the tolerance.

    Densities above and below one cancel in a sum over nodes: it is no better than its terms, of size one or so.
    """
    apart = abs(float(theirs) - float(ours)) / max(abs(float(ours)), N_NODES)
    LARGEST[name] = max(apart, LARGEST.get(name, 0.0))
    assert apart <= tolerance, (name, float(theirs), float(ours))


def without_end(model):
    """The same chain going on for ever: something to draw sequences of a given length from."""
    if model.end is None:
        return model
    return hd.Model(model.initial, model.transition / (1.0 - model.end)[:, None], model.emission)
