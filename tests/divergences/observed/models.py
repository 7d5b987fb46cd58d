"""Models for the estimates: the paper's chains, and pairs of pairs.py as models."""

from __future__ import annotations

import hidiv as hd
from tests.divergences.observed.pairs import PAPER_P, PAPER_Q, pair, pair_with_zeros


def model(chain):
    """A finite chain as a model."""
    return hd.Model(chain.initial, chain.transition, hd.Categorical(chain.probabilities))


P, Q = model(PAPER_P), model(PAPER_Q)


def models(kind, seed, n_symbols=3, states=(2, 2)):
    """p and q of a kind."""
    return tuple(model(chain) for chain in pair(kind, seed, n_symbols, states))


def models_with_zeros(seed, n_symbols=2, states=(2, 2)):
    """p and q with zeros in either, both or none."""
    return tuple(model(chain) for chain in pair_with_zeros(seed, n_symbols, states))


def gaussian_pair():
    """The Gaussian pair whose observed rate is known to thirteen digits."""
    return (
        hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Gaussian([0.0, 2.0], std=[1.0, 1.0])),
        hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Gaussian([0.0, 1.0], std=[1.0, 1.5])),
    )
