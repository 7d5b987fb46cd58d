"""Divergences that are finite and that no double holds: all pairs refuse them, as two models alone do."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import OutOfRange

EVEN = [[0.5, 0.5], [0.5, 0.5]]


def model(emission):
    return hd.Model([0.5, 0.5], EVEN, emission)


def laplace(first, second):
    return model(hd.Laplace([first, second], [1.0, 1.0]))


def gaussian(first, second):
    return model(hd.Gaussian([first, second], std=[1.0, 1.0]))


FAR = [
    (laplace(0.0, 1e300), laplace(1.7e308, 0.0)),
    (gaussian(0.0, 1e150), gaussian(1.5e154, -1e154)),
]


@pytest.mark.parametrize(("p", "q"), FAR)
@pytest.mark.parametrize("quantity", ["joint", "aligned"])
def test_all_pairs_refuse_what_two_models_refuse(p, q, quantity):
    for compare in (lambda: hd.joint_kl(p, q, 400), lambda: hd.pairwise_kl([p, q], 400, quantity=quantity)):
        with pytest.raises(OutOfRange, match="beyond the range of doubles"):
            compare()


@pytest.mark.parametrize(("p", "q"), FAR)
def test_such_a_model_is_no_near_one(p, q):
    found = hd.nearest(p, [q, p], 400, k=1)
    assert (found.indices[0], found.values[0]) == (1, 0.0)


def test_an_order_out_of_range_is_not_the_best_one():
    p, q = laplace(0.0, 1.7e308), laplace(1.7e308, 0.0)
    with pytest.raises(OutOfRange):
        hd.pairwise_kl([p, q], 400)
    assert not np.asarray(hd.pairwise_kl([p, q], 400, quantity="aligned")).any()


def test_large_values_equal_those_of_two_models():
    p, q = laplace(0.0, 1.0), laplace(1e300, 2.0)
    np.testing.assert_allclose(hd.pairwise_kl([p, q], 4)[0, 1], hd.joint_kl(p, q, 4).value, rtol=1e-12)


def test_columns_whose_sizes_have_a_ratio_that_is_no_double():
    models = [hd.Model([1.0], [[1.0]], hd.Exponential([rate])) for rate in (1e6, 1e150)]
    one_by_one = [[hd.joint_kl(a, b, 4).value for b in models] for a in models]
    np.testing.assert_allclose(hd.pairwise_kl(models, 4), one_by_one, rtol=1e-12)
