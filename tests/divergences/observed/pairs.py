"""Random pairs of finite chains of the kinds the methods find easy and hard, with and without zeros."""

from __future__ import annotations

import numpy as np

from hidiv.divergences.observed.alphabets import FiniteChain, TreeLaw
from hidiv.divergences.observed.certified.rates import _class_entropy, _weighted, classes
from hidiv.recursions.gth import cesaro_law

KINDS = ("dirichlet", "sticky", "sharp", "stickysharp", "weak")

PAPER_P = FiniteChain(
    np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]])
)
PAPER_Q = FiniteChain(
    np.array([0.5, 0.5]), np.array([[0.7, 0.3], [0.4, 0.6]]), np.array([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]])
)


def drawn(kind, n_states, n_symbols, rng, common):
    """A chain started in its stationary law."""
    transition = rng.dirichlet(np.ones(n_states), size=n_states)
    probabilities = rng.dirichlet(np.ones(n_symbols), size=n_states)
    stay = {"sticky": 0.9, "stickysharp": 0.95}.get(kind, 0.0)
    transition = stay * np.eye(n_states) + (1 - stay) * transition
    if "sharp" in kind:
        probabilities = 0.97 * np.eye(n_symbols)[np.arange(n_states) % n_symbols] + 0.03 * probabilities
    if kind == "weak":
        probabilities = 0.8 * common + 0.2 * probabilities
    start = np.full(n_states, 1 / n_states)
    return FiniteChain(cesaro_law(start, transition), transition, probabilities)


def pair(kind, seed, n_symbols=3, states=(2, 2)):
    """p and q of a kind."""
    rng = np.random.default_rng(seed)
    common = rng.dirichlet(np.ones(n_symbols))
    return tuple(drawn(kind, k, n_symbols, rng, common) for k in states)


def with_zeros(chain, rng):
    """The chain with some of: a transition, an emission, an initial probability at zero; or as it was."""
    initial, transition, probabilities = (part.copy() for part in chain)
    for what in rng.choice(["", "transition", "emission", "initial"], size=2):
        r = rng.integers(len(initial))
        if what == "transition":
            transition[r, rng.integers(len(initial))] = 0
            transition[transition.sum(axis=1) == 0] = 1
        elif what == "emission":
            probabilities[r, rng.integers(probabilities.shape[1])] = 0
        elif what == "initial":
            initial = np.eye(len(initial))[r]
    rows = probabilities.sum(axis=1, keepdims=True)
    probabilities = np.where(rows > 0, probabilities, 1.0)
    return FiniteChain(
        initial,
        transition / transition.sum(axis=1, keepdims=True),
        probabilities / probabilities.sum(axis=1, keepdims=True),
    )


def pair_with_zeros(seed, n_symbols=2, states=(2, 2)):
    """A pair of a kind that goes with the seed, zeros in either, both or none."""
    rng = np.random.default_rng([seed, 1])
    return tuple(with_zeros(chain, rng) for chain in pair(KINDS[seed % len(KINDS)], seed, n_symbols, states))


def at_nodes(chain, n_nodes):
    """The same law at every node."""
    return TreeLaw(
        chain.initial, *(np.broadcast_to(a, (n_nodes, *a.shape)) for a in (chain.transition, chain.probabilities))
    )


def regular_parents(children, depth):
    """parent of each node, breadth first."""
    n_nodes = sum(children**level for level in range(depth))
    return np.array([-1] + [(u - 1) // children for u in range(1, n_nodes)])


def entropy_rate(p):
    """Bounds of lim H(X_1..N) / N from those of the closed classes of p."""
    return _weighted([(share, _class_entropy(part)) for share, part in classes(p)])


def contains(interval, value, rtol=1e-14):
    """Whether a value known to a relative error is inside."""
    room = rtol * abs(value) + 1e-15
    return interval.lower == value or interval.lower - room <= value <= interval.upper + room
