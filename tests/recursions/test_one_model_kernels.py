"""The recursions on one model, every way they can run, against all hidden configurations."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

RTOL = 1e-12


def problem(seed):
    """(n, places, law, unseen, parents): a few nodes, zeros in every second one."""
    rng = np.random.default_rng(seed)
    n, k, groups = int(rng.integers(1, 7)), int(rng.integers(1, 4)), 2
    parent = None if seed % 3 == 0 else np.array([-1, *(rng.integers(0, u) for u in range(1, n))], dtype=np.int64)
    transition = rng.dirichlet(np.ones(k), size=(groups, k))
    unseen = np.where(rng.random((n, k)) < 0.15, -np.inf, 0.0)
    log_weight = 5 * np.log(rng.random((n, k))) + unseen
    if seed % 2 and k > 1:
        transition[rng.random(transition.shape) < 0.3] = 0.0
        transition[transition.sum(axis=-1) == 0] = 1 / k
        transition /= transition.sum(axis=-1, keepdims=True)
        log_weight[rng.random((n, k)) < 0.2] = -np.inf
    places = parent, rng.integers(0, groups, n), rng.permutation(n)
    return n, places, (rng.dirichlet(np.ones(k)), transition, log_weight), unseen


def joint(n, places, law):
    """All configurations, and P(S, E) of each."""
    parent, transition_of, row_of = places
    initial, transition, log_weight = law
    above = np.arange(n) - 1 if parent is None else parent
    configurations = np.array(list(product(range(len(initial)), repeat=n)))
    value = initial[configurations[:, 0]] * np.exp(log_weight[row_of[0], configurations[:, 0]])
    for u in range(1, n):
        value = value * transition[transition_of[u], configurations[:, above[u]], configurations[:, u]]
        value = value * np.exp(log_weight[row_of[u], configurations[:, u]])
    return configurations, value, above


@pytest.mark.parametrize("seed", range(40))
def test_against_all_configurations(kernels, seed):
    n, places, law, unseen = problem(seed)
    configurations, value, above = joint(n, places, law)
    k, total = len(law[0]), value.sum()
    if total == 0:
        assert kernels.likelihood_value(n, places, law)[1] >= 0
        assert kernels.smoothed(n, places, law, True)[3] >= 0
        assert kernels.best_states(n, places, law)[2] >= 0
        return
    p = value / total
    log_likelihood, failed = kernels.likelihood_value(n, places, law)
    assert failed == -1
    assert abs(log_likelihood - np.log(total)) < RTOL
    exact = np.array([[p[configurations[:, u] == s].sum() for s in range(k)] for u in range(n)])
    log_likelihood, marginals, pairs, _ = kernels.smoothed(n, places, law, True)
    assert abs(log_likelihood - np.log(total)) < RTOL
    assert abs(marginals - exact).max() < RTOL
    assert kernels.smoothed(n, places, law, False)[2] is None
    exact_pairs, entropies = np.zeros((n, k, k)), np.zeros(n)
    for u, r, s in product(range(1, n), range(k), range(k)):
        exact_pairs[u, r, s] = share = p[(configurations[:, above[u]] == r) & (configurations[:, u] == s)].sum()
        entropies[u] -= share * np.log(share / exact[above[u], r]) if share > 0 else 0.0
    entropies[0] = -sum(x * np.log(x) for x in exact[0] if x > 0)
    assert abs(pairs - exact_pairs).max() < RTOL
    assert abs(kernels.entropies(n, places, law)[0] - entropies).max() < RTOL
    states, best, _ = kernels.best_states(n, places, law)
    chosen = value[(configurations == states).all(axis=1)]
    assert abs(best - np.log(value.max())) < RTOL
    assert abs(np.log(chosen[0]) - best) < RTOL
    influence = kernels.influences(n, places, law, unseen)[0]
    for j in range(n):
        without = law[2].copy()
        without[places[2][j]] = unseen[places[2][j]]
        q = joint(n, places, (law[0], law[1], without))[1]
        q, seen = q / q.sum(), p > 0
        assert abs(influence[j] - (p[seen] * np.log(p[seen] / q[seen])).sum()) < RTOL


def test_draws_follow_the_marginals(kernels):
    n, places, law, _ = problem(4)
    uniform = np.random.default_rng(1).random((20_000, n))
    drawn, failed = kernels.drawn_states(n, places, law, uniform)
    marginals = kernels.smoothed(n, places, law, False)[1]
    shares = np.stack([(drawn == s).mean(axis=0) for s in range(len(law[0]))], axis=1)
    assert failed == -1
    assert abs(shares - marginals).max() < 0.02


def test_weights_beyond_doubles(kernels):
    # Adding a constant per node changes the log-likelihood by it and nothing else; states 900 nats apart stay apart.
    rng = np.random.default_rng(2)
    n, k = 60, 3
    law = rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k), size=(1, k)), rng.normal(size=(n, k))
    law[2][7, 0] = law[2][30, 2] = -900.0
    shift = rng.normal(size=(n, 1)) * 5000
    places = None, None, None
    moved = law[0], law[1], law[2] + shift
    before, after = kernels.smoothed(n, places, law, False), kernels.smoothed(n, places, moved, False)
    assert abs(after[0] - before[0] - shift.sum()) < 1e-9  # the logarithms themselves are rounded at 5000
    assert abs(after[1] - before[1]).max() < 1e-11
    assert abs(kernels.likelihood_value(n, places, moved)[0] / after[0] - 1) < RTOL


def test_long_chain_and_path_agree(kernels):
    rng = np.random.default_rng(3)
    n, k = 3000, 4
    law = rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k), size=(1, k)), rng.normal(size=(5, k))
    row_of = rng.integers(0, 5, n)
    chain = kernels.likelihood_value(n, (None, None, row_of), law)[0]
    path = kernels.likelihood_value(n, (np.arange(n) - 1, None, row_of), law)[0]
    assert abs(chain / path - 1) < 1e-14
