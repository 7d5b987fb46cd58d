"""Models and evidence of every size, and what must hold of the answers."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

import hidiv as hd
from hidiv.errors import HidivError

TINY = [0.0, 5e-324, 1e-310, 1e-200, 1e-30]


def laws(rng, rows, k):
    """(rows, K) laws, some with entries that are zero or nearly so."""
    table = rng.dirichlet(np.ones(k), rows)
    if rng.random() < 0.5:
        table = np.where(rng.random(table.shape) < 0.3, rng.choice(TINY, table.shape), table)
        table[np.arange(rows), rng.integers(0, k, rows)] += 0.5
        table /= table.sum(axis=1, keepdims=True)
    return table


def family(rng, kind, k):
    """K laws, ordinary or extreme, within what a model may hold."""
    far = 10.0 ** rng.choice([0, 0, 3, 100, 290])
    if kind == "gaussian":
        return hd.Gaussian(rng.normal(size=k) * far, std=np.exp(rng.normal(size=k)) * rng.choice([1.0, far]))
    if kind == "poisson":
        return hd.Poisson(np.exp(rng.normal(size=k)) * rng.choice([1.0, 1e-3, 1e10, far]))
    if kind == "laplace":
        return hd.Laplace(rng.normal(size=k), np.exp(rng.normal(size=k)) * rng.choice([1.0, far]))
    if kind == "geometric":
        return hd.Geometric(rng.random(k) * rng.choice([1.0, 1e-8, 1e-100]) + 1e-300)
    return hd.Categorical(laws(rng, k, 3))


def evidence(rng, kind, n):
    """(n,) values, a few of them far in the tails, a few not seen."""
    x = rng.integers(0, 3, n).astype(float)
    if kind in ("gaussian", "laplace"):
        x = rng.normal(size=n)
    if kind != "categorical":
        far = rng.random(n) < 0.4
        x = np.where(far, np.round(x * 10.0 ** rng.choice([2, 6, 8, 10, 100, 150, 217, 300])), x)
    return np.where(rng.random(n) < 0.1, np.nan, x)


def problem(seed):
    """Two models on a chain or a tree, and evidence."""
    rng = np.random.default_rng(seed)
    k, n = int(rng.choice([1, 2, 3, 5, 9, 20])), int(rng.integers(1, 9))
    kind = str(rng.choice(["gaussian", "poisson", "laplace", "geometric", "categorical"]))
    tree = None if rng.random() < 0.6 else hd.Tree([-1, *(int(rng.integers(0, u)) for u in range(1, n))])
    p, q = (hd.Model(laws(rng, 1, k)[0], laws(rng, k, k), family(rng, kind, k)) for _ in range(2))
    return p, q if rng.random() < 0.8 else p, evidence(rng, kind, n), tree


def answers(p, q, x, tree):
    """Every function that reads evidence, by name."""
    yield "log_likelihood", lambda: hd.log_likelihood(p, x, tree)
    yield "smooth", lambda: hd.smooth(p, x, tree)
    yield "entropy_profile", lambda: hd.entropy_profile(p, x, tree)
    yield "influence", lambda: hd.influence(p, x, tree)
    yield "viterbi", lambda: hd.viterbi(p, x, tree)
    yield "sample_posterior", lambda: hd.sample_posterior(p, x, tree, size=3, seed=1)
    yield "posterior_kl", lambda: hd.posterior_kl(p, q, x, tree)
    yield "posterior_kl with itself", lambda: hd.posterior_kl(p, p, x, tree)
    if tree is None:
        yield "posterior_kl_batch", lambda: hd.posterior_kl_batch(p, q, [x] * 3)


def one_round(seed):
    """What can be said of all answers: numbers, states in range, laws that sum to one, a profile that sums up."""
    p, q, x, tree = problem(seed)
    found = {}
    for name, answer in answers(p, q, x, tree):
        with suppress(HidivError):  # one sentence is an answer too
            found[name] = answer()
    check(found, p.n_states, seed)


def check(found, k, seed):
    """Refused answers are left out."""
    if "smooth" in found:
        marginals, pairs, _ = found["smooth"]
        assert np.abs(marginals.sum(axis=1) - 1).max() < 1e-9, (seed, "smooth")
        assert np.isfinite(pairs).all(), (seed, "pairs")
    for name in ("entropy_profile", "influence"):
        if name in found:
            assert (found[name] >= -1e-12).all(), (seed, name)
    if "viterbi" in found:
        states, value = found["viterbi"]
        assert ((states >= 0) & (states < k)).all(), (seed, "viterbi")
        if "log_likelihood" in found:
            total = found["log_likelihood"]
            assert value <= total + 1e-12 * max(1.0, abs(total)), (seed, "viterbi above the likelihood")
    if "sample_posterior" in found:
        states = found["sample_posterior"]
        assert ((states >= 0) & (states < k)).all(), (seed, "sample_posterior")
    if "posterior_kl with itself" in found:
        assert found["posterior_kl with itself"].value == 0, (seed, "itself")
    if "posterior_kl" in found:
        one = found["posterior_kl"]
        assert one.value >= 0, (seed, "posterior_kl")
        parts = one.by_node.sum()
        assert np.isinf(parts) == np.isinf(one.value), (seed, "by_node", one.value, parts)
        if np.isfinite(one.value):
            assert abs(parts - one.value) <= 1e-9 * max(one.value, 1e-20), (seed, "by_node", one.value, parts)
        if "posterior_kl_batch" in found:
            assert np.allclose(found["posterior_kl_batch"], one.value, rtol=1e-9, atol=0), (seed, "batch")
