"""Model choice: by criterion and by evidence held out, over whole trees or over single nodes."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import HidivError

TRUTH = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1.0, 9.0]))


@pytest.mark.parametrize("by", ["bic", "held-out"])
def test_two_states_are_found(by):
    x = hd.sample(TRUTH, hd.Tree.regular(2, 7), seed=1)[1]
    choice = hd.choose(x, hd.Tree.regular(2, 7), (1, 2, 3), "poisson", by=by, n_init=1, seed=0, tol=1e-5, polish=False)
    assert choice.n_states == 2
    scores = [each.score for each in choice.candidates]
    assert scores == sorted(scores, reverse=True)
    assert choice.best is choice.candidates[0].fit
    assert "2 states, poisson" in repr(choice)


def test_held_out_trees_and_families():
    xs = list(hd.sample(TRUTH, hd.Tree.regular(2, 4), size=12, seed=2)[1])
    kinds = {"counts": "poisson", "normal": "gaussian"}
    choice = hd.choose(xs, hd.Tree.regular(2, 4), (2,), kinds, by="held-out", folds=3, n_init=1, seed=0, polish=False)
    assert {each.emission for each in choice.candidates} == set(kinds)
    assert all(np.isfinite(each.score) for each in choice.candidates)
    assert choice.candidates[0].emission == "counts"


def test_the_held_out_score_is_that_of_the_others_model():
    """Two parts, one state: the score of each is its log-likelihood under the other's mean."""
    xs = [np.array([0.0, 1.0, 2.0]), np.array([4.0, 3.0, 8.0])]
    choice = hd.choose(xs, None, (1,), hd.Poisson([1.0]), by="held-out", folds=2, n_init=1, seed=0)
    wanted = sum(
        hd.log_likelihood(hd.Model([1.0], [[1.0]], hd.Poisson([other.mean()])), x)
        for x, other in (xs, xs[::-1])
    )  # fmt: skip
    assert abs(choice.candidates[0].score - wanted) < 1e-12


@pytest.mark.parametrize("bad", [{"by": "luck"}, {"n_states": ()}, {"by": "held-out", "folds": 1}])
def test_refused(bad):
    with pytest.raises(HidivError):
        hd.choose([0, 1, 2, 3], None, **{"n_states": (1,), "emission": "poisson", **bad})
