"""Trees listed level by level are shared by threads; the same tree in another order is not, and says the same."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from tests.recursions.trees import by_level


@pytest.mark.parametrize("states", [2, 3])
def test_the_order_of_nodes_does_not_matter(states):
    rng = np.random.default_rng(states)
    n = 70_000
    tree = hd.Tree(by_level(n, rng))  # many nodes of its levels have no child
    p, q = (
        hd.Model(
            rng.dirichlet(np.full(states, 3.0)),
            rng.dirichlet(np.full(states, 3.0), states),
            hd.Gaussian(rng.normal(size=states), std=rng.uniform(1, 2, states)),
        )
        for _ in range(2)
    )
    x = rng.normal(size=n)
    order = np.lexsort((rng.random(n), tree.level))
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    moved = hd.Tree(np.where(order == 0, -1, place[tree.parent[order]]))
    assert (np.diff(moved.parent) < 0).any()
    value, again = (float(hd.posterior_kl(p, q, *on)) for on in ((x, tree), (x[order], moved)))
    assert again == pytest.approx(value, rel=1e-12)
    found = hd.log_likelihood(p, x[order], moved)
    assert found == pytest.approx(hd.log_likelihood(p, x, tree), rel=1e-12)
