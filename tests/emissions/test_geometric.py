from __future__ import annotations

import numpy as np
import pytest

from hidiv.emissions.families.geometric import Geometric
from hidiv.emissions.families.negative_binomial import NegativeBinomial

inf = np.inf


def test_a_geometric_law_is_a_negative_binomial_law_of_size_one():
    p, q = Geometric([0.2, 0.7]), Geometric([0.5, 0.7 + 1e-9])
    general_p, general_q = NegativeBinomial([1.0, 1.0], p.prob), NegativeBinomial([1.0, 1.0], q.prob)
    x = np.array([0, 1, 40])
    np.testing.assert_allclose(general_p.log_prob(x), p.log_prob(x), rtol=1e-13)
    for first, second in ((p, general_q), (general_p, q), (general_p, general_q)):
        np.testing.assert_allclose(first.kl(second), p.kl(q), rtol=1e-14)
        np.testing.assert_allclose(first.log_ratio(second, x), p.log_ratio(q, x), rtol=1e-12)
        for alpha in (0.5, 1.2):
            np.testing.assert_allclose(first.renyi(second, alpha), p.renyi(q, alpha), rtol=1e-14)


def test_sure_success():
    p, q = Geometric([1.0, 1.0, 0.5]), Geometric([1.0, 0.25, 1.0])
    np.testing.assert_array_equal(p.kl(q), [0.0, np.log(4), inf])
    np.testing.assert_allclose(p.renyi(q, 2.0), [0.0, np.log(4), inf], rtol=1e-15)
    np.testing.assert_allclose(p.renyi(q, 0.5), [0.0, np.log(4), np.log(2)], rtol=1e-15)
    assert p.gaps(q) == [None, None, "counts above 0"]
    np.testing.assert_array_equal(p.log_prob([0, 2]), [[0.0, 0.0, np.log(0.5)], [-inf, -inf, 3 * np.log(0.5)]])
    np.testing.assert_array_equal(p.log_ratio(q, [0, 1]), [[0, np.log(0.25), np.log(2)], [0.0, inf, -inf]])
    assert p.sample([0, 1], np.random.default_rng(0)).tolist() == [0.0, 0.0]
    assert p.log_mass(np.array([[1.0]]), np.array([[inf]]))[0, :2, 0].tolist() == [-inf, -inf]


def test_renyi_diverges_where_the_sum_does():
    # (1/2)^2 / (1/5) > 1: the terms grow.
    assert Geometric([0.5]).renyi(Geometric([0.8]), 2.0).tolist() == [inf]
    value = Geometric([0.5]).renyi(Geometric([0.7]), 2.0)[0]
    np.testing.assert_allclose(value, np.log(0.25 / 0.7 / (1 - 0.25 / 0.3)), rtol=1e-13)


def test_far_tails_and_tiny_probabilities():
    low, high = np.array([[1e6], [0.0], [5.2]]), np.array([[inf], [1e300], [5.9]])
    value = Geometric([0.5]).log_mass(low, high)[:, 0, 0]
    np.testing.assert_array_equal(value, [1e6 * np.log(0.5), 0.0, -inf])
    few = Geometric([1e-12]).log_mass(np.array([[0.0]]), np.array([[9.0]]))[0, 0, 0]
    np.testing.assert_allclose(few, np.log(1e-11) - 4.5e-12, rtol=1e-15)


@pytest.mark.parametrize(("p", "q"), [(5e-324, 1e-323), (5e-324, 5e-322), (2e-323, 5e-324), (5e-324, 5e-324)])
def test_denormal_probabilities_count_by_their_ratio(p, q):
    tiny, small = ([Geometric([scale * prob]) for prob in (p, q)] for scale in (1.0, 2.0**200))
    np.testing.assert_allclose(tiny[0].kl(tiny[1]), small[0].kl(small[1]), rtol=1e-13)
    for alpha in (0.3, 0.5, 2.0):
        np.testing.assert_allclose(tiny[0].renyi(tiny[1], alpha), small[0].renyi(small[1], alpha), rtol=1e-12)
