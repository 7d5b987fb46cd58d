"""Smaller models: exact merges first, then the least loss; and starts that merge what costs least."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.answers.merging import blended, merge_path, merged_model
from hidiv.answers.refitting import drawn_evenly
from hidiv.errors import HidivError

NEAR = hd.Model(
    "stationary", [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.2, 0.7]],
    hd.Categorical([[0.9, 0.1], [0.2, 0.8], [0.21, 0.79]]), state_names=["dry", "wet", "soaked"],
)  # fmt: skip
LUMPABLE = hd.Model([0.5, 0.3, 0.2], [[0.9, 0.06, 0.04], [0.2, 0.5, 0.3], [0.2, 0.1, 0.7]], hd.Poisson([1.0, 4.0, 4.0]))


def test_what_can_be_lumped_loses_nothing():
    found = hd.reduce(LUMPABLE, 2, within=0.0, nodes=1000, seed=1)
    assert found.chosen == 2
    assert found.divergences[2].value == 0.0
    assert found.divergences[2].status == "exact"
    assert found.merged[2] == ((0,), (1, 2))
    assert hd.equivalent(found.model, LUMPABLE)
    assert "2 of 3 states lose nothing; states 1 and 2 became one" in repr(found)


def test_states_that_are_nearly_alike():
    found = hd.reduce(NEAR, within=1e-3, nodes=20_000, seed=1)
    assert found.chosen == 2
    assert found.merged[2] == ((0,), (1, 2))
    assert "states wet and soaked became one" in found.summary()
    # Losses grow as states are taken away, and a single state loses what independence loses.
    values = [found.divergences[k].value for k in (3, 2, 1)]
    assert values == sorted(values)
    assert found.model.n_states == 2
    # Fitted, a model is no worse than with states merged alone.
    merged = merged_model(NEAR, ((0,), (1, 2)), NEAR.stationary(), np.random.default_rng(0))
    bound = hd.observed_kl_rate(NEAR, merged, seed=1)
    lost = hd.observed_kl_rate(NEAR, found.model, seed=1)
    assert lost.value <= bound.upper
    assert found.divergences[2].value == pytest.approx(lost.value, rel=0.1)
    assert found == type(found).from_dict(found.to_dict())


def test_wide_bounds_do_not_hide_that_merging_loses_less(monkeypatch):
    """Bounds that are found in a second can be wide: their middle is no reason to prefer a model."""
    from hidiv.answers import reduction

    merged = merged_model(NEAR, ((0,), (1, 2)), NEAR.stationary(), np.random.default_rng(0))

    def bounded(p, q, **_):
        same = q.emission.probs == pytest.approx(merged.emission.probs, abs=1e-9)
        value, upper = (1.2e-7, 1.3e-7) if same else (1e-8, 1.8e-6)
        return hd.Divergence(value, "observed", "certified", lower=0.0, upper=upper, per="step")

    monkeypatch.setattr(reduction, "observed_kl_rate", bounded)
    assert hd.reduce(NEAR, 2, nodes=2000, seed=1).divergences[2].upper == 1.3e-7


def test_the_same_seed_gives_the_same_models():
    one, two = (hd.reduce(NEAR, 2, nodes=2000, seed=7) for _ in range(2))
    assert one.models == two.models
    assert list(one.models) == [2]


def test_on_a_regular_tree():
    tree = hd.Tree.regular(2, 4)
    found = hd.reduce(NEAR, 2, tree=tree, nodes=5000, seed=1)
    assert found.divergences[2].per == "node"
    assert found.merged[2] == ((0,), (1, 2))
    direct = hd.observed_kl(NEAR, found.model, tree, seed=2)
    assert found.divergences[2].value == pytest.approx(direct.value / tree.n_nodes, rel=0.3, abs=1e-4)


def test_chains_that_end():
    p = hd.Model([0.5, 0.3, 0.2], [[0.8, 0.05, 0.05], [0.1, 0.6, 0.1], [0.1, 0.2, 0.5]],
                 hd.Categorical([[0.9, 0.1], [0.2, 0.8], [0.25, 0.75]]), end=[0.1, 0.2, 0.2])  # fmt: skip
    found = hd.reduce(p, 2, nodes=4000, seed=1)
    assert found.model.end is not None
    assert found.divergences[2].value < 0.05


def test_merging_costs():
    """The path merges what is alike first, and the bound holds: no merge costs less than it loses."""
    p = hd.Model("stationary", 0.85 * np.eye(5) + 0.03, hd.Gaussian([0.0, 0.2, 4.0, 4.3, 9.0], std=np.ones(5)))
    visits = p.stationary()
    path = merge_path(p, visits, 1, np.random.default_rng(0))
    assert path[3] == ((0, 1), (2, 3), (4,))
    assert sorted(path) == [1, 2, 3, 4, 5]
    small = merged_model(p, path[3], visits, np.random.default_rng(0))
    assert small.transition.sum(axis=1) == pytest.approx(np.ones(3))
    assert small.emission.mean == pytest.approx([0.1, 4.15, 9.0], abs=0.2)


def test_nothing_rare_is_lost():
    """A symbol that no draw shows stays possible."""
    p = hd.Model("stationary", [[0.9, 0.1], [0.1, 0.9]], hd.Categorical([[0.5, 0.5 - 1e-9, 1e-9], [0.4, 0.6, 0.0]]))
    found = hd.reduce(p, 1, nodes=500, seed=1)
    assert np.isfinite(found.divergences[1].value)
    q = blended(found.model, found.model, 0.5)
    assert q.emission.probs == pytest.approx(found.model.emission.probs)


def test_an_interrupt_keeps_what_is_finished(monkeypatch):
    from hidiv.answers import reduction

    original = reduction.best_refit

    def interrupted(starts, draw, rng):
        if starts[0].n_states == 1:
            raise KeyboardInterrupt
        return original(starts, draw, rng)

    monkeypatch.setattr(reduction, "best_refit", interrupted)
    found = hd.reduce(NEAR, nodes=1000, seed=1)
    assert sorted(found.models) == [2, 3]
    assert found.notes == ("interrupted before models of 1 state",)
    with pytest.raises(KeyboardInterrupt):
        hd.reduce(NEAR, 1, nodes=1000, seed=1)


BAD = [
    (lambda: hd.reduce(NEAR, 4), "n_states: must be a whole number from 1 to the 3 states"),
    (lambda: hd.reduce(NEAR, []), "n_states: must name at least one"),
    (lambda: hd.reduce(NEAR, within=-1.0), "within: must be a number from 0"),
    (lambda: hd.reduce(NEAR, nodes=5), "nodes: must be a whole number from 100"),
    (lambda: hd.reduce(hd.Model([1.0], [[[1.0]], [[1.0]]], hd.Silent(1))), "reduce: needs a tree.*2 groups"),
    (lambda: hd.reduce(hd.Model([1], [[0.5]], hd.Silent(1), end=[0.5]), tree=hd.Tree.chain(4)), "choose their own"),
]


@pytest.mark.parametrize(("call", "said"), BAD)
def test_what_is_refused(call, said):
    with pytest.raises(HidivError, match=said):
        call()


def test_an_even_draw_has_what_is_rare_as_often_as_it_should():
    transition = np.array([[0.995, 0.004, 0.001], [0.1, 0.9, 0.0], [0.3, 0.0, 0.7]])
    p = hd.Model([1 / 3] * 3, transition, hd.Categorical([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]]))
    p = hd.Model(p.stationary(), transition, p.emission)
    states, x = drawn_evenly(p, 1000, 20, np.random.default_rng(0))
    assert states.shape == (20, 1000)
    assert x.shape == (20, 1000, 1)
    steps = np.zeros((3, 3))
    np.add.at(steps, (states[:, :-1], states[:, 1:]), 1)
    # At most one off in what is used of the last deck, and what the ends of the chains leave open.
    expected = steps.sum(axis=1, keepdims=True) * transition
    assert (np.abs(steps - expected) <= 1.0 + np.sqrt(expected) / 4 + 20 * transition).all()
    assert (steps[transition == 0.0] == 0).all()
    for state in range(3):
        mine = x[states == state]
        shown = np.bincount(mine[:, 0].astype(int), minlength=2)
        assert np.abs(shown - len(mine) * p.emission.probs[state]).max() <= 1.0
    np.testing.assert_allclose(np.bincount(states.ravel()) / states.size, p.stationary(), rtol=0.25)
