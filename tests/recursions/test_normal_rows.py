"""Normal log-densities and log-ratios of rows: the twin and every instruction set against 40 digits."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf

from hidiv.emissions.families.gaussian import Gaussian, _form, tables


def laws(rng, n_states, n_features, full, apart):
    """Two families whose parameters differ by `apart`."""
    mean = rng.normal(size=(n_states, n_features))
    moved = mean + apart * rng.normal(size=mean.shape)
    if not full:
        var = rng.uniform(0.5, 2.0, mean.shape)
        return Gaussian(mean, var=var), Gaussian(moved, var=var * (1.0 + apart * rng.random(mean.shape)))
    root = rng.normal(size=(n_states, n_features, n_features))
    cov = root @ root.transpose(0, 2, 1) + np.eye(n_features)
    wider = cov * (1.0 + apart)
    wider[:, 0, 0] *= 1.0 + apart
    return Gaussian(mean, cov=cov), Gaussian(moved, cov=wider)


def exact(family, s, x):
    """The log-density of one row without its normalising power of 2 pi."""
    size = len(x)
    cov = np.diag(family.variance[s]) if family.cov is None else family.cov[s]
    factor = mp.cholesky(mp.matrix(cov.tolist()))
    z = []
    for i in range(size):
        rest = mpf(float(x[i])) - mpf(float(family.mean[s, i])) - sum(factor[i, j] * z[j] for j in range(i))
        z.append(rest / factor[i, i])
    return -sum(value * value for value in z) / 2 - sum(mp.log(factor[i, i]) for i in range(size))


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("apart", [1e-9, 1e-3, 1.0, 30.0])
def test_log_densities_and_ratios_have_all_their_digits(kernels, full, apart, monkeypatch):
    monkeypatch.setattr("hidiv.recursions.normal_rows.normal_tables", kernels.normal_tables)
    rng = np.random.default_rng(5)
    p, q = laws(rng, 3, 4, full, apart)
    x = 2.0 * rng.normal(size=(37, 4))
    log_p, log_q, ratio, odd = tables(p, q)(x, True)
    assert not odd
    with mp.workdps(40):
        half = 2 * mp.log(2 * mp.pi)
        for i in (0, 20, 36):
            for s in range(3):
                first, second = exact(p, s, x[i]), exact(q, s, x[i])
                assert abs(log_p[i, s] - (first - half)) <= 1e-13 * (1 + abs(first))
                assert abs(log_q[i, s] - (second - half)) <= 1e-13 * (1 + abs(second))
                assert abs(ratio[i, s] - (second - first)) <= 3e-13 * abs(second - first) + 1e-14 * apart


@pytest.mark.parametrize("n_states", [1, 2, 3, 4, 5, 11])
@pytest.mark.parametrize("full", [False, True])
def test_the_kernel_is_its_twin_at_every_size(kernels, n_states, full):
    rng = np.random.default_rng(n_states)
    for n, n_features in ((0, 2), (1, 1), (7, 3), (100, 13), (3000, 2)):
        p, _ = laws(rng, n_states, n_features, full, 0.0)
        x = rng.normal(size=(n, n_features))
        form = _form(p, full)
        value, odd = kernels.normal_table(x, form)
        plain = p._log_weight(x, None, None)
        np.testing.assert_allclose(value, plain, rtol=1e-12, atol=1e-12)
        assert not odd
        assert value.shape == (n, n_states)


@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf, 1e200])
@pytest.mark.parametrize("place", [0, 40, 99])
@pytest.mark.parametrize("full", [False, True])
def test_a_row_that_is_no_row_of_numbers_is_noticed_wherever_it_is(kernels, strange, place, full):
    p, _ = laws(np.random.default_rng(0), 3, 2, full, 1e-3)
    x = np.random.default_rng(1).normal(size=(100, 2))
    x[place, 1] = strange
    assert kernels.normal_table(x, _form(p, full))[1]
    others = np.arange(100) != place
    assert np.isfinite(kernels.normal_table(x, _form(p, full))[0][others]).all()
    assert not kernels.normal_table(x[others], _form(p, full))[1]


def test_missing_columns_and_intervals_leave_other_rows_alone():
    p, q = laws(np.random.default_rng(0), 3, 2, True, 1e-3)
    x = np.random.default_rng(1).normal(size=(100, 2))
    gaps = x.copy()
    gaps[[3, 50], 0] = np.nan
    lower, upper = np.full_like(x, -np.inf), np.full_like(x, np.inf)
    lower[3, 0], upper[3, 0] = -0.5, 0.5
    whole, partly = p.log_weight(x), p.log_weight(gaps, lower, upper)
    others = np.ones(100, dtype=bool)
    others[[3, 50]] = False
    assert (whole[others] == partly[others]).all()
    marginal = p.select([1]).log_weight(x[:, 1:])
    np.testing.assert_allclose(partly[50], marginal[50], rtol=1e-13)
    np.testing.assert_allclose(
        p.log_ratio(q, gaps)[50], p.select([1]).log_ratio(q.select([1]), x[50:51, 1])[0], rtol=1e-9
    )
