"""Zeros filled: every law mixed with the even one, nothing else changed."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import InvalidModel
from tests.files.examples import models

ONE, TWO = [[1.0, 0.0], [0.0, 1.0]], [1.0, 0.0]
FAMILIES = {
    "categorical": hd.Categorical([[1, 0, 0], [0, 0.5, 0.5]]),
    "bernoulli": hd.Bernoulli([[0.0, 1.0], [1.0, 0.5]]),
    "binomial": hd.Binomial([3, 2], [0.0, 1.0]),
    "geometric": hd.Geometric([1.0, 0.5]),
    "negative_binomial": hd.NegativeBinomial([2.0, 1.0], [1.0, 0.5]),
    "multinomial": hd.Multinomial([2, 2], [[1.0, 0.0], [0.0, 1.0]]),
    "silent": hd.Silent(2),
    "product": hd.Product([hd.Bernoulli([0.0, 1.0]), hd.Gaussian([0.0, 1.0], std=[1.0, 2.0])]),
    "mixture": hd.Mixture([[1.0, 0.0], [0.0, 1.0]], [hd.Bernoulli([0.0, 1.0]), hd.Bernoulli([1.0, 0.0])]),
}


@pytest.mark.parametrize("weight", [0.25, 1e-20, 1e-300])
@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_is_ruled_out(family, weight):
    """Whatever the other states of a family show is possible in each."""
    q = hd.Model(TWO, ONE, FAMILIES[family])
    p = q.relabel([1, 0])
    filled = hd.smoothed(q, weight)
    if family not in ("binomial",):  # other numbers of trials are no zeros
        found = hd.joint_kl(p, filled, 5)
        assert np.isfinite(found.value)
        assert not found.infinite
    for law in (filled.initial, filled.transitions):
        assert (law > 0).all()
    assert filled.emission.name == FAMILIES[family].name


def test_numbers():
    q = hd.Model([1, 0], [[0.9, 0.1], [0, 1]], hd.Product([hd.Categorical([[1, 0, 0, 0], [0, 0.5, 0.5, 0]]),
                 hd.Bernoulli([0.0, 1.0]), hd.Poisson([1.0, 2.0])]), name="a", state_names=["x", "y"])  # fmt: skip
    found = hd.smoothed(q, 0.2)
    assert (found.name, found.state_names) == ("a", ("x", "y"))
    np.testing.assert_allclose(found.initial, [0.9, 0.1], rtol=1e-15)
    np.testing.assert_allclose(found.transition, [[0.82, 0.18], [0.1, 0.9]], rtol=1e-15)
    symbols, bits, counts = found.emission.families
    np.testing.assert_allclose(symbols.probs, [[0.85, 0.05, 0.05, 0.05], [0.05, 0.45, 0.45, 0.05]], rtol=1e-14)
    np.testing.assert_allclose(bits.probs, [0.1, 0.9], rtol=1e-15)
    assert counts == q.emission.families[2]
    even = hd.smoothed(q, 1.0)
    np.testing.assert_allclose(even.transition, 0.5)


def test_a_floor_is_the_least_probability():
    q = hd.Model([1, 0], [[0.9, 0.1], [0, 1]], hd.Categorical([[1, 0, 0], [0, 0.5, 0.5]]))
    found = hd.as_model(q, floor=1e-3)
    for law in (found.initial, found.transitions, found.emission.probs):
        assert law.min() == 1e-3
    np.testing.assert_allclose(found.emission.probs, [[0.998, 0.001, 0.001], [0.001, 0.4995, 0.4995]], rtol=1e-15)


def test_the_end_is_an_entry_of_its_rows():
    q = hd.Model([1, 0], [[0.5, 0.0], [0.0, 1.0]], hd.Silent(2), end=[0.5, 0.0])
    found = hd.smoothed(q, 0.3)
    np.testing.assert_allclose(found.transition, [[0.45, 0.1], [0.1, 0.8]], rtol=1e-15)
    np.testing.assert_allclose(found.end, [0.45, 0.1], rtol=1e-15)


def test_groups_without_a_transition_keep_none():
    q = hd.Model([1, 0], [None, ONE], [hd.Silent(2), hd.Categorical(ONE)])
    found = hd.smoothed(q, 0.5)
    assert found.transition[0] is None
    np.testing.assert_allclose(found.transition[1], [[0.75, 0.25], [0.25, 0.75]])
    np.testing.assert_allclose(found.emission[1].probs, [[0.75, 0.25], [0.25, 0.75]])


@pytest.mark.parametrize("name", list(models()))
def test_nothing_mixed_in_changes_nothing(name):
    assert hd.smoothed(models()[name], 0) == models()[name]


def test_underflow_is_mended():
    """A state whose probability underflowed in q: infinite before, finite after, and the message names the way."""
    p = hd.Model([2.9e-279, 1.0], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1.0, 4.0]))
    q = hd.Model([0.0, 1.0], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1.0, 4.0]))
    found = hd.joint_kl(p, q, 10)
    assert "state 0 has probability 2.9e-279 under p and 0 under q" in found.infinite[0]
    assert "hd.smoothed(q, weight)" in repr(found)
    assert hd.joint_kl(p, hd.smoothed(q, 1e-9), 10).value < 1e-8


@pytest.mark.parametrize("weight", [-0.1, 1.1, float("nan"), "a", True, None])
def test_a_weight_is_a_share(weight):
    with pytest.raises(InvalidModel, match="^weight: must be a number from 0 to 1"):
        hd.smoothed(models()["poisson"], weight)


def test_a_floor_leaves_room_for_all():
    with pytest.raises(InvalidModel, match="^floor: must be a number from 0 to 0.5, got 0.6"):
        hd.as_model(models()["poisson"], floor=0.6)
    with pytest.raises(InvalidModel, match="^floor: can be at most 1/3 for a law of 3 entries, got 0.4"):
        hd.as_model(hd.Model(TWO, ONE, FAMILIES["categorical"]), floor=0.4)
