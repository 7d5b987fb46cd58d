"""Mixtures from the tables of their components: the twin and every instruction set against 40 digits."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf

from hidiv.recursions.terms import log_ratio


@pytest.mark.parametrize("apart", [1e-9, 1e-2, 3.0])
@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 3, 2), (64, 2, 3), (33, 11, 4)])
def test_log_densities_and_ratios_have_all_their_digits(kernels, shape, apart):
    rng = np.random.default_rng(3)
    n, k, c = shape
    first = [3.0 * rng.normal(size=(n, k)) for _ in range(c)]
    ratios = [apart * rng.normal(size=(n, k)) for _ in range(c)]
    second = [a + b for a, b in zip(first, ratios, strict=True)]
    p = rng.dirichlet(np.ones(c), k)
    q = p * (1.0 + 0.1 * apart * rng.random((k, c)))
    q /= q.sum(axis=1, keepdims=True)
    weights = [np.ascontiguousarray(each.T) for each in (np.log(p), np.log(q), log_ratio(p, q))]
    log_p, log_q, ratio, odd = kernels.mixture_tables(first, second, ratios, *weights)
    alone, strange = kernels.mixture_table(first, weights[0])
    assert not odd
    assert not strange
    with mp.workdps(40):
        for i, s in ((0, 0), (n - 1, k - 1), (n // 2, k // 2)):
            terms = [mp.exp(mpf(float(first[j][i, s])) + mpf(float(weights[0][j, s]))) for j in range(c)]
            steps = [mpf(float(ratios[j][i, s])) + mpf(float(weights[2][j, s])) for j in range(c)]
            total = sum(terms)
            truth = mp.log1p(sum(t * mp.expm1(d) for t, d in zip(terms, steps, strict=True)) / total)
            assert abs(alone[i, s] - mp.log(total)) <= 4e-15 * (1 + abs(mp.log(total)))
            assert alone[i, s] == log_p[i, s]
            assert abs(ratio[i, s] - truth) <= 1e-13 * apart + 1e-13 * abs(truth)
    np.testing.assert_allclose(log_q, log_p + ratio, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("strange", [np.nan, np.inf])
def test_a_number_that_is_none_is_noticed_and_a_component_without_weight_is_not(kernels, strange):
    rng = np.random.default_rng(0)
    tables = [rng.normal(size=(50, 3)) for _ in range(2)]
    weights = np.log(np.full((2, 3), 0.5))
    empty = weights.copy()
    empty[0, 1], empty[1, 1] = -np.inf, 0.0
    value, odd = kernels.mixture_table(tables, empty)
    assert not odd
    np.testing.assert_allclose(value[:, 1], tables[1][:, 1], rtol=1e-14)
    for place in (0, 17, 49):
        wrong = [tables[0].copy(), tables[1]]
        wrong[0][place, 2] = strange
        assert kernels.mixture_table(wrong, weights)[1]
