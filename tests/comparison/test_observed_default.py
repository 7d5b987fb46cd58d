"""The observed divergence of all pairs when nothing else is asked for: right, bounded, and the same twice."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import HidivError
from tests.comparison.many import model, moved


def coins(weight, one, other):
    """Tosses that are independent whatever the states do."""
    return hd.Model([weight, 1 - weight], [[weight, 1 - weight]] * 2, hd.Bernoulli([one, other]))


def test_two_models_of_one_process_are_not_apart():
    p = coins(0.6, 0.9, 0.1)
    q = coins(0.99, (0.6 * 0.9 + 0.4 * 0.1 - 0.01 * 0.1) / 0.99, 0.1)
    as_it_is = np.asarray(hd.pairwise_kl([p, q], 50, quantity="observed", method="variational"))
    assert np.abs(as_it_is).max() > 5  # the approximation alone is far off
    found = hd.pairwise_kl([p, q], 50, quantity="observed")
    assert np.abs(np.asarray(found)).max() < 1e-9
    assert found.status == "estimate"
    assert found.notes[0].startswith("variational approximation not used: 2 pairs checked by draws")


def test_near_models_keep_their_order():
    rng = np.random.default_rng(0)
    base = model(rng, "categorical", 2)
    ms = [base, *(moved(rng, base, distance) for distance in (0.01, 0.05, 0.2))]
    truth = [hd.observed_kl(base, q, 6, method="exact").value for q in ms[1:]]
    assert truth == sorted(truth)
    found = hd.pairwise_kl(ms, 6, quantity="observed")
    row = np.asarray(found)[0, 1:]
    assert (np.argsort(row) == [0, 1, 2]).all()
    np.testing.assert_allclose(row, truth, rtol=0.3)
    again = hd.pairwise_kl(ms, 6, quantity="observed")
    assert (np.asarray(again) == np.asarray(found)).all()
    assert again.notes == found.notes


def test_never_below_zero_nor_above_the_joint_divergence():
    rng = np.random.default_rng(1)
    ms = [model(rng, "categorical", 2) for _ in range(4)]
    above = np.asarray(hd.pairwise_kl(ms, 10, quantity="aligned"))
    for options in ({}, {"method": "montecarlo"}, {"rtol": 0.05}):
        found = np.asarray(hd.pairwise_kl(ms, 10, quantity="observed", seed=3, **options))
        assert (found >= 0).all()
        assert (found <= above * (1 + 1e-9)).all()


def test_where_the_approximation_holds_it_is_used():
    # States that are told apart at sight: the approximation is nearly exact.
    ms = [
        hd.Model([0.5, 0.5], [[stay, 1 - stay], [1 - stay, stay]], hd.Gaussian([0.0, high], std=[1.0, 1.0]))
        for stay, high in ((0.9, 30.0), (0.7, 31.0), (0.6, 33.0))
    ]
    found = hd.pairwise_kl(ms, 20, quantity="observed")
    assert found.status == "approximation"
    assert found.notes[0] == "variational recursion, kept within 0 and the joint divergence"
    assert "pairs checked by draws: approximation over estimate" in found.notes[1]
    both = hd.pairwise_kl(ms, 20, quantity="observed", symmetric=True)
    np.testing.assert_allclose(np.asarray(both), np.asarray(found) + np.asarray(found).T, rtol=1e-12)


def test_different_numbers_of_states_have_no_bound_from_above():
    rng = np.random.default_rng(2)
    ms = [model(rng, "categorical", k) for k in (1, 2)]
    found = np.asarray(hd.pairwise_kl(ms, 4, quantity="observed", rtol=0.05))
    truth = hd.observed_kl(ms[0], ms[1], 4, method="exact").value
    assert found[0, 1] == pytest.approx(truth, rel=0.25)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"method": "best"}, 'method: must be "auto", "variational" or "montecarlo"'),
        ({"method": "variational", "samples": 9}, "samples: the variational recursion draws nothing"),
        ({"method": "variational", "rtol": 0.1}, "rtol: the variational recursion has no tolerance"),
        ({"rtol": 0.0}, "rtol: must be above 0"),
        ({"rtol": 0.1, "level_weights": "equal"}, "rtol: Monte Carlo takes no level_weights"),
        ({"quantity": "joint", "rtol": 0.1}, 'rtol: belongs to quantity="observed"'),
        ({"quantity": "joint", "method": "variational"}, 'method: belongs to quantity="observed"'),
        ({"seed": -1}, "seed: must be a whole number from 0"),
    ],
)
def test_what_is_refused(options, sentence):
    rng = np.random.default_rng(3)
    ms = [model(rng, "categorical", 2) for _ in range(2)]
    with pytest.raises(HidivError) as caught:
        hd.pairwise_kl(ms, 4, **{"quantity": "observed", **options})
    assert str(caught.value).startswith(sentence)
