"""Inward quantities with evidence."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import ImpossibleEvidence

nan = float("nan")
TREE = hd.Tree([-1, 0, 0, 1, 1, 2, 5])


def pair(seed: int, distance: float | None = None) -> tuple[hd.Model, hd.Model]:
    rng = np.random.default_rng(seed)
    parts = [rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 3), rng.dirichlet(np.ones(4), 3)]
    others = [rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 3), rng.dirichlet(np.ones(4), 3)]
    if distance is not None:
        others = [(1 - distance) * a + distance * b for a, b in zip(parts, others, strict=True)]
    return tuple(hd.Model(i, t, hd.Categorical(e)) for i, t, e in (parts, others))  # type: ignore[return-value]


@pytest.mark.parametrize("seed", range(3))
def test_nothing_known_is_no_evidence(seed: int) -> None:
    p, q = pair(seed)
    unknown = hd.Evidence(np.full(7, nan))
    assert hd.inward(p, q, TREE, unknown) == pytest.approx(hd.inward(p, q, TREE), rel=1e-12)


@pytest.mark.parametrize("distance", [None, 1e-3, 1e-6])
@pytest.mark.parametrize("x", [[0, 1, 2, 3, 0, 1, 2], [nan, 1, nan, 3, nan, nan, 2]])
def test_a_row_is_the_divergence_of_the_subtree(x: list[float], distance: float | None) -> None:
    """K_u(r): the tree cut at u, with the transition row of r as its initial law."""
    p, q = pair(4, distance)
    found = hd.inward(p, q, TREE, x)
    for u, nodes in ((1, [1, 3, 4]), (2, [2, 5, 6]), (6, [6])):
        subtree = hd.Tree([-1] + [nodes.index(int(TREE.parent[v])) for v in nodes[1:]])
        for r in range(3):
            a, b = (hd.Model(m.transition[r], m.transition, m.emission) for m in (p, q))
            part = hd.posterior_kl(a, b, [x[v] for v in nodes], subtree, target="unobserved").value
            assert found[u, r] == pytest.approx(part, rel=1e-11)


def test_infinite_and_impossible_states() -> None:
    emission = hd.Categorical([[0.5, 0.5], [1.0, 0.0]])
    p = hd.Model([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], emission)
    q = hd.Model([0.5, 0.5], [[0.0, 1.0], [0.5, 0.5]], emission)
    found = hd.inward(p, q, 3, [0, 0, 0])
    assert np.isinf(found[2]).tolist() == [True, False]
    assert not np.isnan(found).any()
    stuck = hd.Model([0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]], emission)
    assert hd.inward(stuck, stuck, 2, [0, 1]).tolist() == [[0, 0], [0, 0]]
    with pytest.raises(ImpossibleEvidence):
        hd.inward(stuck, hd.Model([0.0, 1.0], [[1.0, 0.0], [0.0, 1.0]], emission), 2, [0, 1])
