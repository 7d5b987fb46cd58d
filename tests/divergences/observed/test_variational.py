"""The deterministic approximation: its formula in plain loops, where it is exact, and how near it comes elsewhere."""

from __future__ import annotations

from math import exp, inf, log

import numpy as np
import pytest
from scipy.stats import spearmanr

import hidiv as hd
from hidiv.divergences.observed import variational as recursion
from hidiv.errors import IncompatibleModels
from tests.divergences.observed.pairs import KINDS, pair


def model(chain):
    return hd.Model(chain.initial, chain.transition, hd.Categorical(chain.probabilities))


def plain(p, q, tree):
    """Definitions, section 5, node by node and state by state; one group."""
    children = {u: [c for c in range(tree.n_nodes) if tree.parent[c] == u] for u in range(tree.n_nodes)}

    def emission(a, b, law):
        left, right = p.emission.probs[a], law.emission.probs[b]
        return sum(inf if y == 0 else x * log(x / y) for x, y in zip(left, right, strict=True) if x > 0)

    def mixed(row_p, law, row_q, u):
        """-sum_a' row_p(a') log sum_b' row_q(b') exp(-V_u(a', b'))."""
        total = 0.0
        for a, x in enumerate(row_p):
            if x > 0:
                inner = sum(y * exp(-value(u, a, b, law)) for b, y in enumerate(row_q))
                total += inf if inner == 0 else -x * log(inner)
        return total

    def value(u, a, b, law):
        total = emission(a, b, law)
        for c in children[u]:
            total += mixed(p.transition[a], law, law.transition[b], c) - mixed(p.transition[a], p, p.transition[a], c)
        return total

    return mixed(p.initial, q, q.initial, 0) - mixed(p.initial, p, p.initial, 0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("states", [(2, 2), (2, 3), (3, 1)])
def test_the_formula(kind, states):
    p, q = (model(chain) for chain in pair(kind, 3, states=states))
    for tree in (hd.Tree.chain(4), hd.Tree([-1, 0, 0, 1, 1]), hd.Tree.regular(2, 3)):
        found = hd.observed_kl(p, q, tree, method="variational")
        assert found.status == "approximation"
        assert found.value == pytest.approx(plain(p, q, tree), rel=1e-12, abs=1e-15)


def test_groups_by_level_on_listed_and_regular_trees():
    rng = np.random.default_rng(2)
    p, q = (
        hd.Model(rng.dirichlet([1, 1]), rng.dirichlet([1, 1], size=(3, 2)),
                 [hd.Gaussian(rng.normal(size=2), std=rng.uniform(0.5, 2, size=2)) for _ in range(3)])
        for _ in range(2)
    )  # fmt: skip
    regular = hd.Tree.regular(2, 3)
    listed = hd.Tree(regular.parent, regular.level)
    assert hd.observed_kl(p, q, regular, method="variational").value == pytest.approx(
        hd.observed_kl(p, q, listed, method="variational").value, rel=1e-13
    )


def test_a_long_chain_is_cut_short_and_equals_the_path_tree():
    p, q = (model(chain) for chain in pair("dirichlet", 4))
    n = 3000
    path = hd.Tree(np.arange(-1, n - 1), np.zeros(n, dtype=int))
    assert hd.observed_kl(p, q, n, method="variational").value == pytest.approx(
        hd.observed_kl(p, q, path, method="variational").value, rel=1e-11
    )  # the cut trusts increments that agree to 1e-15, 3000 times


def test_zeros_do_not_keep_a_long_chain_from_settling():
    p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.5, 0.5, 0.0], [0.0, 0.2, 0.8]]))
    q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.6, 0.4, 0.0], [0.0, 0.5, 0.5]]))
    long, short, shorter = (hd.observed_kl(p, q, n, method="variational").value for n in (10**9, 200, 100))
    assert long / 10**9 == pytest.approx((short - shorter) / 100, rel=1e-9)
    # Infinite both ways wherever states differ: nothing is mixed, and the joint divergence is all there is.
    assert long == pytest.approx(hd.joint_kl(p, q, 10**9).value, rel=1e-12)


def test_a_chain_that_does_not_settle_is_refused(monkeypatch):
    """Two states in turn: what a level adds alternates for ever."""
    turns = [[0.0, 1.0], [1.0, 0.0]]
    p, q = (hd.Model([x, 1 - x], turns, hd.Categorical([[x, 1 - x], [0.5, 0.5]])) for x in (0.3, 0.6))
    assert hd.observed_kl(p, q, 9, method="variational").value > 0
    monkeypatch.setattr(recursion, "PATIENCE", 1000)
    with pytest.raises(IncompatibleModels, match="did not settle within 1000 of 1000000000 levels"):
        hd.observed_kl(p, q, 10**9, method="variational")


@pytest.mark.parametrize("tree", [hd.Tree.chain(5), hd.Tree.regular(2, 3), hd.Tree([-1, 0, 0, 1])])
def test_exact_where_nothing_is_mixed(tree):
    """One state each: independent nodes. Emissions that tell the state: a Markov tree."""
    one, other = (hd.Model([1.0], [[1.0]], hd.Categorical([row])) for row in ([0.2, 0.8], [0.5, 0.5]))
    assert hd.observed_kl(one, other, tree, method="variational").value == pytest.approx(
        tree.n_nodes * one.emission.kl(other.emission)[0], rel=1e-13
    )
    seen = hd.Categorical([[0.3, 0.7, 0.0], [0.0, 0.0, 1.0]])
    p, q = (hd.Model([x, 1 - x], [[x, 1 - x], [0.5, 0.5]], seen) for x in (0.3, 0.6))
    exact = hd.joint_kl(p, q, tree).value
    assert hd.observed_kl(p, q, tree, method="exact").value == pytest.approx(exact, rel=1e-12)
    assert hd.observed_kl(p, q, tree, method="variational").value == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_zero_on_itself_and_blind_to_labels(kind):
    p, q = (model(chain) for chain in pair(kind, 6, states=(3, 3)))
    tree = hd.Tree.regular(2, 3)
    assert abs(hd.observed_kl(p, p, tree, method="variational").value) < 1e-14
    value = hd.observed_kl(p, q, tree, method="variational").value
    assert abs(hd.observed_kl(p, p.relabel([2, 0, 1]), tree, method="variational").value) < 1e-13
    assert hd.observed_kl(p.relabel([1, 0, 2]), q.relabel([2, 1, 0]), tree, method="variational").value == (
        pytest.approx(value, rel=1e-12)
    )


def test_infinite_where_no_state_of_q_explains():
    p = hd.Model([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], hd.Categorical([[0.5, 0.5, 0.0], [0.2, 0.4, 0.4]]))
    q = hd.Model([1.0], [[1.0]], hd.Categorical([[0.5, 0.5, 0.0]]))
    found = hd.observed_kl(p, q, 3, method="variational")
    assert (found.value, found.infinite) == (inf, ["p has observations that no state of q explains"])
    assert np.isfinite(hd.observed_kl(q, p, 3, method="variational").value)


def test_it_orders_pairs_as_the_observed_divergence_does():
    """What it is for; the joint divergence, which sees labels, orders the same pairs less well."""
    exact, approximate, joint = [], [], []
    for seed in range(40):
        p, q = (model(chain) for chain in pair(KINDS[seed % len(KINDS)], seed))
        exact.append(hd.observed_kl(p, q, 6, method="exact").value)
        approximate.append(hd.observed_kl(p, q, 6, method="variational").value)
        joint.append(hd.joint_kl(p, q, 6).value)
    near = spearmanr(exact, approximate).statistic
    assert near > 0.95
    assert near > spearmanr(exact, joint).statistic


def test_a_value_below_zero_is_called_a_failure():
    rng = np.random.default_rng(0)
    tree = hd.Tree([-1, *(int(rng.integers(u)) for u in range(1, 200))])
    p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]]))
    q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], hd.Categorical([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]))
    below, above = (hd.observed_kl(*pair, tree, method="variational") for pair in ((p, q), (q, p)))
    assert below.value < 0
    assert any("fails" in note for note in below.notes)
    assert above.value > 0
    assert not any("fails" in note for note in above.notes)
