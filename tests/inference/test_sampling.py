"""Draws follow their laws."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import HidivError

MODEL = hd.Model([0.25, 0.75], [[0.9, 0.1], [0.4, 0.6]], hd.Categorical([[0.5, 0.25, 0.25], [0.0, 0.5, 0.5]]))


def near(found: np.ndarray, expected: np.ndarray, draws: int) -> bool:
    """Frequencies within five standard errors."""
    return bool((np.abs(found - expected) <= 5 * np.sqrt(expected * (1 - expected) / draws) + 1e-12).all())


def test_shapes_and_seeds() -> None:
    states, x = hd.sample(MODEL, 7, seed=1)
    assert states.shape == x.shape == (7,)
    many, xs = hd.sample(MODEL, 7, size=3, seed=1)
    assert many.shape == xs.shape == (3, 7)
    again, _ = hd.sample(MODEL, 7, size=3, seed=1)
    assert (again == many).all()
    wide = hd.Model([1.0], [[1.0]], hd.Gaussian([[0.0, 1.0]], std=[[1.0, 2.0]]))
    assert hd.sample(wide, 4, seed=1)[1].shape == (4, 2)


def test_laws_of_a_tree() -> None:
    tree = hd.Tree([-1, 0, 0, 2])
    draws = 40_000
    states, x = hd.sample(MODEL, tree, size=draws, seed=3)
    law = MODEL.initial
    assert near(np.bincount(states[:, 0], minlength=2) / draws, law, draws)
    pairs = np.bincount(2 * states[:, 2] + states[:, 3], minlength=4) / draws
    joint = ((law @ MODEL.transition)[:, None] * MODEL.transition).ravel()
    assert near(pairs, joint, draws)
    assert near(
        np.bincount(x[:, 3].astype(int), minlength=3) / draws,
        law @ MODEL.transition @ MODEL.transition @ MODEL.emission.probs,
        draws,
    )


def test_posterior_draws_have_the_smoothed_laws() -> None:
    tree, draws = hd.Tree([-1, 0, 0, 2]), 20_000
    evidence = [1.0, float("nan"), 2.0, 2.0]
    states = hd.sample_posterior(MODEL, evidence, tree, size=draws, seed=4)
    smoothed = hd.smooth(MODEL, evidence, tree)
    assert near((states == 1).mean(axis=0), smoothed.marginals[:, 1], draws)
    both = np.bincount(2 * states[:, 2] + states[:, 3], minlength=4) / draws
    assert near(both, smoothed.pairs[3].ravel(), draws)
    assert hd.sample_posterior(MODEL, evidence, tree, seed=4).shape == (4,)


def test_chains_that_end() -> None:
    model = hd.Model([1.0, 0.0], [[0.5, 0.25], [0.0, 0.5]], hd.Silent(2), end=[0.25, 0.5])
    states, x = hd.sample(model, hd.UNTIL_END, size=4000, seed=1)
    lengths = np.array([len(path) for path in states])
    expected = 1 / 0.5 + 0.5 * 2  # two visits of the first state, and of the second if it is reached
    assert abs(lengths.mean() - expected) < 5 * lengths.std() / np.sqrt(4000)
    assert all(one.shape == (len(path), 0) for one, path in zip(x, states, strict=True))
    with pytest.raises(HidivError, match="chooses its own length"):
        hd.sample(model, 5)
    with pytest.raises(HidivError, match="has no end probabilities"):
        hd.sample(MODEL, hd.UNTIL_END)


def test_bad_sizes() -> None:
    for size in (0, -1, 2.5, True):
        with pytest.raises(HidivError, match="size: must be a whole number"):
            hd.sample(MODEL, 3, size=size)
