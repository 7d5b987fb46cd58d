"""Posterior divergences of hard pairs against 50 digits: sticky chains, sharp emissions, models that nearly agree."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from tests.loading import tree, within
from tests.oracle.posterior_recursion import conditional_law, posterior_by_recursion

LAWS = {
    "sticky": [[1 - 2**-10, 2**-10], [2**-11, 1 - 2**-11]],  # stays with probability 0.999 and 0.9995
    "mixing": [[0.75, 0.25], [0.375, 0.625]],
    "sharp": [[1 - 2**-20, 2**-20], [2**-21, 1 - 2**-21]],  # right but for one in a million
    "blunt": [[0.625, 0.375], [0.25, 0.75]],
}


def pair_of(transition, probs, step):
    """p, and q with `step` moved within every row; smaller entries move by half of themselves."""

    def moved(row):
        by = min(step, row[0] / 2, row[1] / 2)
        return [row[0] + by, row[1] - by]

    def model(change):
        emission = {"family": "categorical", "probs": [change(row) for row in probs]}
        return {"initial": change([0.5, 0.5]), "transition": [change(row) for row in transition], "emission": emission}

    return model(list), model(moved)


def shape_of(kind, n_nodes):
    if kind == "chain":
        return {"chain": n_nodes}
    rng = np.random.default_rng(n_nodes)
    return {"parent": [-1] + [int(rng.integers(max(0, u - 40), u)) for u in range(1, n_nodes)]}


SITUATIONS = [
    (transition, probs, step, "chain", 250)
    for transition in ("sticky", "mixing")
    for probs in ("sharp", "blunt")
    for step in (10, 20, 30)
] + [
    ("sticky", "sharp", 20, "chain", 2000),
    ("sticky", "blunt", 30, "tree", 250),
    ("mixing", "sharp", 10, "tree", 250),
]


@pytest.mark.parametrize(("transition", "probs", "step", "kind", "n_nodes"), SITUATIONS)
def test_hard_pairs(transition, probs, step, kind, n_nodes):
    """Differences of 1e-3, 1e-6 and 1e-9; runs of one symbol, then a coin that p finds unlikely."""
    p, q = pair_of(LAWS[transition], LAWS[probs], 2.0**-step)
    shape = shape_of(kind, n_nodes)
    rng = np.random.default_rng(step)
    runs, coin = np.repeat(rng.integers(0, 2, n_nodes), 25)[: n_nodes // 2], rng.integers(0, 2, n_nodes)
    x = [int(v) for v in np.concatenate([runs, coin])[:n_nodes]]
    known = [{"x": v} for v in x]
    first, second = hd.Model.from_dict(p), hd.Model.from_dict(q)
    expected = posterior_by_recursion(p, q, shape, known)
    # 1e-11 is what the reference allows at these distances.
    assert within(hd.posterior_kl(first, second, x, tree(shape)).value, expected, 1e-11)
    assert within(hd.log_likelihood(first, x, tree(shape)), conditional_law(p, shape, known)[2], 1e-12)


def test_log_ratios_whose_sum_is_beyond_the_doubles():
    # q's log-densities are about -1e308 in both states, so that adding two overflows; a warning fails a test.
    p, q = (
        hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.GeneralizedGaussian(scale, [2.0, 2.0]))
        for scale in ([1e154, 2e154], [1.0, 1.05])
    )
    found = hd.posterior_kl(p, q, np.array([1.3e154, 1e150]))
    narrow, wide = np.exp(-1.69) * (0.9 + 0.1 / 2), np.exp(-1.69 / 4) / 2 * (0.2 + 0.8 / 2)
    apart = 1.3e154**2 * (1 - 1.05**-2)  # of q's states at the first node, which the narrow one loses
    assert found.value == pytest.approx(narrow / (narrow + wide) * apart, rel=1e-7)
