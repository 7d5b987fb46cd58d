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


def test_what_further_states_gain():
    p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1.0, 9.0]))
    _, x = hd.sample(p, 400, seed=1)
    choice = hd.choose(x, None, (1, 2, 3), "poisson", n_init=2, seed=0)
    assert choice.losses[3].value == 0.0
    assert choice.losses[1].value > 0.1 > choice.losses[2].value
    assert choice.enough(0.05) == 2
    assert choice.enough(0.0) == 3
    assert "beyond 2 states the observed divergence gained is below 0.05 nats a step" in choice.summary(0.05)
    assert "up to 3 still gains" in choice.summary(0.0)
    assert hd.Choice.from_dict(choice.to_dict()) == choice


def test_where_there_is_no_rate():
    """Chains that end: what is lost of the log-likelihood, per observation."""
    p = hd.Model([0.5, 0.5], [[0.7, 0.2], [0.2, 0.7]], hd.Poisson([1.0, 9.0]), end=[0.1, 0.1])
    _, x = hd.sample(p, hd.UNTIL_END, 20, seed=1)
    choice = hd.choose(x, None, (1, 2), "poisson", n_init=1, seed=0, end=True)
    assert choice.losses[1].status == "approximation"
    assert choice.enough(0.01) == 2


def test_a_fit_keeps_the_models_of_its_starts():
    _, x = hd.sample(hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1.0, 9.0])), 100, seed=1)
    fitted = hd.fit(x, None, 2, "poisson", n_init=3, seed=0)
    assert len(fitted.restarts) == 3
    assert hd.agreement(fitted, nodes=400, seed=0)
    assert "restarts" not in fitted.to_dict()
    assert hd.FitResult.from_dict(fitted.to_dict()) == fitted
