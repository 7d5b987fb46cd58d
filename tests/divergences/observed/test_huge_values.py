"""Divergences near the largest doubles: averages keep their value, squares of them would overflow."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd


def test_estimates_of_huge_divergences():
    p, q = (hd.Model([1.0], [[1.0]], hd.Geometric([prob])) for prob in (1e-300, 0.0625))
    exact = hd.joint_kl_rate(p, q).value  # one state: nothing is hidden
    rate = hd.observed_kl_rate(p, q, seed=0, max_samples=256, max_seconds=1.0)
    np.testing.assert_allclose(rate.value, exact, rtol=0.2)
    chain = hd.observed_kl(p, q, 3, seed=0, max_samples=256, max_seconds=1.0)
    assert np.isfinite(chain.std_error)
    assert abs(chain.value - 3 * exact) <= 6 * chain.std_error


SWITCHING = [[1 / 3, 2 / 3], [1.0, 5e-324]]
FAR = [hd.Model([0.1, 0.9], SWITCHING, hd.Laplace(loc, [0.1, 2.0])) for loc in ([1.7e308, 1.7e308], [0.0, 1.0])]
PLACES = [3, hd.Tree.chain(3, [0, 1, 1]), hd.Tree([-1, 0, 0, 1]), hd.Tree.regular(2, 3)]


@pytest.mark.parametrize("tree", PLACES, ids=str)
@pytest.mark.parametrize("method", ["auto", "certified", "montecarlo", "variational"])
def test_sums_that_no_double_holds_are_refused(method, tree):
    """Every term is finite and q explains all that p shows: neither a warning nor an infinite divergence."""
    with pytest.raises(hd.HidivError):
        hd.observed_kl(*FAR, tree, method=method, seed=0, max_samples=32)


def test_bounds_whose_shares_no_double_holds():
    p = hd.Model([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], hd.Laplace([0.0, -0.8125], [0.25, 0.25]))
    q = hd.Model([1e-300, 1.0], [[0.5, 0.5], [0.5, 0.5]], hd.Laplace([0.0, -1.7e308], [0.25, 0.25]))
    found = hd.observed_kl(p, q, 3, method="certified")
    assert 0.0 <= found.lower <= found.upper


def test_an_approximation_that_no_single_state_explains_stays_infinite():
    """q has every symbol, though no state of it has both: the approximation is infinite, not out of range."""
    p = hd.Model([1.0], [[1.0]], hd.Categorical([[0.5, 0.5]]))
    q = hd.Model([0.5, 0.5], np.eye(2), hd.Categorical(np.eye(2)))
    assert hd.observed_kl(p, q, 1, method="variational").value == np.inf


def test_a_first_symbol_whose_probability_under_q_underflows():
    """Both are independent draws: half of 5e-324 is no double, but its logarithm is."""
    even = [[0.5, 0.5], [0.5, 0.5]]
    p = hd.Model([0.5, 0.5], even, hd.Categorical([[1 / 3, 1 / 3, 1 / 3]] * 2))
    q = hd.Model([0.5, 0.5], even, hd.Categorical([[0.5, 0.0, 0.5], [1.0, 5e-324, 0.0]]))
    logs = np.log([0.75, 5e-324, 0.25]) - [0.0, np.log(2.0), 0.0]
    exact = -3.0 * (np.log(3.0) + logs.mean())
    found = hd.observed_kl(p, q, 3, seed=0)
    assert abs(found.value - exact) <= 6 * (found.std_error or 1e-9 * exact)
