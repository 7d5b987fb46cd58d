from __future__ import annotations

import numpy as np

from hidiv.emissions.families.exponential import Exponential
from hidiv.emissions.families.gamma import Gamma

inf = np.inf


def test_an_exponential_law_is_a_gamma_law_of_shape_one():
    p, q = Exponential([1.0, 2.0]), Exponential([1.5, 2.0 + 1e-9])
    general_p, general_q = Gamma([1.0, 1.0], p.rate), Gamma([1.0, 1.0], q.rate)
    x = np.array([0.0, 0.3, 5.0])
    np.testing.assert_allclose(general_p.log_prob(x), p.log_prob(x), rtol=1e-14, atol=1e-15)
    for first, second in ((p, general_q), (general_p, q), (general_p, general_q)):
        np.testing.assert_allclose(first.kl(second), p.kl(q), rtol=1e-14)
        np.testing.assert_allclose(first.log_ratio(second, x), p.log_ratio(q, x), rtol=1e-13, atol=1e-24)
        assert first.gaps(second) == [None, None]
        for alpha in (0.5, 1.5):
            np.testing.assert_allclose(first.renyi(second, alpha), p.renyi(q, alpha), rtol=1e-14)


def test_renyi_diverges_where_the_integral_does():
    p, q = Exponential([1.0, 1.0, 1.0]), Exponential([2.0, 1.9, 3.0])
    value = p.renyi(q, 2.0)
    assert value[0] == value[2] == inf
    np.testing.assert_allclose(value[1], np.log(1 / (1.9 * 0.1)), rtol=1e-14)


def test_far_tails_do_not_underflow():
    low, high = np.array([[1e6], [-inf], [0.0]]), np.array([[inf], [1e-300], [inf]])
    np.testing.assert_allclose(Exponential([2.0]).log_mass(low, high)[:, 0, 0], [-2e6, np.log(2e-300), 0.0], rtol=1e-15)
