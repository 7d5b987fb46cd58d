"""Controls of trees that need no messages: their means are zero, and few draws do what many did without them."""

import numpy as np
import pytest

import hidiv as hd
from hidiv.divergences.observed.sampled import tree_estimate
from hidiv.divergences.observed.sampled.tree_estimate import TreePair

TREE = hd.Tree([-1, 0, 0, 1, 1, 2, 5, 5, 5, 3])


def pair(family, states=3, seed=0):
    rng = np.random.default_rng(seed)

    def emission():
        means = rng.normal(size=(states, 2)) * 2
        return {
            "few symbols": lambda: hd.Categorical(rng.dirichlet(np.ones(4), states)),
            "many symbols": lambda: hd.Categorical(rng.dirichlet(np.ones(20), states)),
            "numbers": lambda: hd.Gaussian(means[:, 0], std=rng.uniform(0.5, 1.5, states)),
            "counts": lambda: hd.Poisson(rng.uniform(0.5, 10, states)),
            "vectors": lambda: hd.Gaussian(means, std=rng.uniform(0.5, 1.5, (states, 2))),
        }[family]()

    return [
        hd.Model(rng.dirichlet(np.ones(states)), rng.dirichlet(np.ones(states), states), emission()) for _ in range(2)
    ]


@pytest.mark.parametrize("family", ["few symbols", "many symbols", "numbers", "counts", "vectors"])
def test_means_are_zero(family):
    p, q = pair(family)
    drawn = TreePair(p, q, TREE).draw(40_000, np.random.default_rng(1), True)
    controls = drawn.controls[:, drawn.controls.std(axis=0) > 1e-9]
    off = controls.mean(axis=0) / controls.std(axis=0) * np.sqrt(len(controls))
    assert controls.shape[1] >= 9
    assert np.abs(off).max() < 4.5


@pytest.mark.parametrize("family", ["few symbols", "many symbols", "numbers", "counts", "vectors"])
def test_they_take_out_most_of_the_variance(family):
    p, q = pair(family)
    drawn = TreePair(p, q, TREE).draw(2_000, np.random.default_rng(1), True)
    slopes = np.linalg.lstsq(drawn.controls, drawn.base - drawn.base.mean(), rcond=None)[0]
    assert (drawn.base - drawn.controls @ slopes).var() < drawn.base.var() / 2


def test_groups_of_emissions_are_left_to_drawn_states():
    p, q = (
        hd.Model(m.initial, m.transitions[0], [m.emissions[0], hd.Poisson([1.0, 2.0, 3.0])])
        for m in pair("counts", seed=3)
    )
    tree = hd.Tree(TREE.parent, group=[0, 1, 0, 1, 0, 1, 0, 1, 0, 1])
    on_nodes = TreePair(p, q, tree)
    assert on_nodes.edges is None
    assert on_nodes.draw(200, np.random.default_rng(0), True).controls.shape[1] > 3


def test_few_draws_where_plain_ones_were_many():
    rng = np.random.default_rng(4)
    tree = hd.Tree([-1, *(int(rng.integers(0, u)) for u in range(1, 300))])
    for family in ("numbers", "counts", "vectors"):
        p, q = pair(family, states=5, seed=6)
        found = hd.observed_kl(p, q, tree, method="montecarlo", seed=1, rtol=0.005)
        plain = hd.montecarlo(p, q, tree, quantity="observed", samples=1000, seed=2)
        as_many = 1000 * (plain.std_error / found.std_error) ** 2
        assert found.n_samples < as_many / 3
        assert abs(found.value - plain.value) < 4 * np.hypot(found.std_error, plain.std_error)


def test_no_controls_are_set_up_where_the_first_draws_do(monkeypatch):
    rng = np.random.default_rng(4)
    p, q = (
        hd.Model(rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 3), hd.Gaussian(means, std=np.ones(3)))
        for means in ([0.0, 1.0, 2.0], [4.0, 5.0, 7.0])
    )
    tree = hd.Tree([-1, 0, 0, 1, 1, 2, 2, 3])
    with_controls = hd.observed_kl(p, q, tree, method="montecarlo", rtol=1e-3, seed=1)
    assert "control" in with_controls.notes[0]
    monkeypatch.setattr(tree_estimate, "edge_controls", lambda *parts: pytest.fail("set up in vain"))
    alone = hd.observed_kl(p, q, tree, method="montecarlo", rtol=0.1, seed=1)
    assert "control" not in alone.notes[0]
    assert alone.std_error <= 0.1 * alone.value
    assert abs(alone.value - with_controls.value) < 4 * alone.std_error
