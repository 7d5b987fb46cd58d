"""Gaussian laws: three ways to give the spread, full covariances, what is not seen, intervals, extremes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from hidiv.emissions.families.gaussian import Gaussian
from hidiv.emissions.families.laplace import Laplace
from hidiv.errors import IncompatibleModels, InvalidEvidence, InvalidModel
from tests.emissions.entry_laws import full_law
from tests.emissions.plain_laws import error, mp, mpf

MEAN = np.array([[0.5, -1.0, 2.0], [0.0, 0.0, 0.0]])
COV = np.array(
    [[[2.0, 0.6, -0.3], [0.6, 1.0, 0.2], [-0.3, 0.2, 0.5]], [[1.0, 0.0, 0.0], [0.0, 4.0, 1.0], [0.0, 1.0, 1.0]]]
)
OTHER = np.array(
    [[[1.5, 0.1, 0.0], [0.1, 2.0, 0.3], [0.0, 0.3, 1.0]], [[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 3.0]]]
)
FULL = Gaussian(MEAN, cov=COV)


def matrices(family, state=0):
    """Mean and covariance in 50 digits."""
    mean = mp.matrix(family.mean[state].tolist())
    if family.cov is not None:
        return mean, mp.matrix(family.cov[state].tolist())
    if family.std is not None:
        return mean, mp.diag([mpf(v) ** 2 for v in family.std[state].tolist()])
    return mean, mp.diag([mpf(v) for v in family.var[state].tolist()])


def plain_kl(p, q):
    (mean_p, cov_p), (mean_q, cov_q) = p, q
    inverse, off = cov_q**-1, mean_p - mean_q
    product = inverse * cov_p
    trace = sum(product[i, i] for i in range(len(off)))
    return (trace - len(off) - mp.log(mp.det(cov_p) / mp.det(cov_q)) + (off.T * inverse * off)[0]) / 2


def plain_renyi(p, q, alpha):
    (mean_p, cov_p), (mean_q, cov_q) = p, q
    a, off = mpf(alpha), mean_p - mean_q
    between = a * cov_q + (1 - a) * cov_p
    log_det = mp.log(mp.det(between) / (mp.det(cov_p) ** (1 - a) * mp.det(cov_q) ** a))
    return a * (off.T * between**-1 * off)[0] / 2 + log_det / (2 * (1 - a))


@pytest.mark.parametrize("step", [None, 1e-3, 1e-6, 1e-9])
def test_every_way_to_give_the_spread_compares_with_every_other(step):
    rng = np.random.default_rng(1)
    std = np.exp(rng.normal(size=(1, 3)))
    mixed = rng.normal(size=(1, 3, 3))
    noise = 0.0 if step is None else step * (mixed + mixed.transpose(0, 2, 1)) / 8
    first = [
        Gaussian(MEAN[:1], std=std),
        Gaussian(MEAN[:1], var=std**2),
        Gaussian(MEAN[:1], cov=np.eye(3) * std[:, None] ** 2),
    ]
    if step is None:
        second = [Gaussian(-MEAN[:1], std=1 / std), Gaussian(-MEAN[:1], var=std), Gaussian(-MEAN[:1], cov=OTHER[:1])]
    else:
        moved, wide = MEAN[:1] + step * rng.normal(size=(1, 3)), std * (1 + step * rng.normal(size=(1, 3)))
        cov = (np.eye(3) + noise) * wide[:, None] * wide[:, :, None]
        second = [
            Gaussian(moved, std=wide),
            Gaussian(moved, var=wide**2),
            Gaussian(moved, cov=(cov + cov.transpose(0, 2, 1)) / 2),
        ]
    for p in first:
        for q in second:
            assert error(p.kl(q)[0], plain_kl(matrices(p), matrices(q))) < 1e-12
            for alpha in (0.1, 0.5, 0.999) if step is None else (0.1, 0.5, 0.999, 2.0, 5.0):
                assert error(p.renyi(q, alpha)[0], plain_renyi(matrices(p), matrices(q), alpha)) < 1e-12


@pytest.mark.parametrize("step", [1e-3, 1e-9])
def test_log_ratio_of_full_covariances_on_the_columns_that_are_seen(step):
    rng = np.random.default_rng(2)
    other = Gaussian(MEAN + step * rng.normal(size=(2, 3)), cov=COV * (1 + step))
    x = rng.normal(size=(5, 3)) + MEAN[0]
    for seen in ([0, 1, 2], [0, 2], [1]):
        hidden = np.full((5, 3), np.nan)
        hidden[:, seen] = x[:, seen]
        log_p, log_q = (full_law(f.select(seen).take([0])) for f in (FULL, other))
        expected = [float(log_q(at) - log_p(at)) for at in [[mpf(v) for v in row] for row in x[:, seen].tolist()]]
        np.testing.assert_allclose(FULL.log_ratio(other, hidden)[:, 0], expected, rtol=1e-11, atol=1e-13 * step)


def test_log_prob_of_full_covariances_leaves_out_what_is_not_seen():
    x = np.array(
        [[1.0, 0.0, 2.5], [np.nan, 0.3, 1.0], [np.nan, np.nan, np.nan], [0.2, np.nan, np.nan], [0.1, 0.3, np.nan]]
    )
    value = FULL.log_prob(x)
    for row, at in enumerate(x):
        seen = ~np.isnan(at)
        for state in range(2):
            part = COV[state][np.ix_(seen, seen)]
            expected = stats.multivariate_normal(MEAN[state][seen], part).logpdf(at[seen]) if seen.any() else 0.0
            assert abs(value[row, state] - expected) < 1e-13


def test_an_interval_on_one_column_is_conditional_on_what_is_seen():
    x = np.array([[0.7, np.nan, 1.5], [np.nan, np.nan, np.nan]])
    lower = np.array([[-np.inf, -0.5, -np.inf], [-np.inf, -np.inf, 9.0]])
    upper = np.array([[np.inf, 0.25, np.inf], [np.inf, np.inf, np.inf]])
    seen, rest = COV[0][np.ix_([0, 2], [0, 2])], COV[0][1, [0, 2]]
    weights = np.linalg.solve(seen, rest)
    law = stats.norm(MEAN[0, 1] + weights @ (x[0, [0, 2]] - MEAN[0, [0, 2]]), np.sqrt(COV[0, 1, 1] - weights @ rest))
    expected = stats.multivariate_normal(MEAN[0, [0, 2]], seen).logpdf(x[0, [0, 2]]) + np.log(
        law.cdf(0.25) - law.cdf(-0.5)
    )
    value = FULL.log_weight(x, lower, upper)
    assert abs(value[0, 0] - expected) < 1e-13
    assert abs(value[1, 0] - stats.norm(2.0, np.sqrt(0.5)).logsf(9.0)) < 1e-12


def test_intervals_on_two_columns_only_where_they_do_not_depend_on_each_other():
    x, lower, upper = np.full((1, 3), np.nan), np.full((1, 3), -np.inf), np.array([[0.5, 1.0, np.inf]])
    independent = FULL.take([1])
    expected = stats.norm.logcdf(0.5) + stats.norm(0.0, 2.0).logcdf(1.0)
    assert abs(independent.log_weight(x, lower, upper)[0, 0] - expected) < 1e-14
    with pytest.raises(InvalidEvidence, match=r"^lower\[0\]: intervals on two correlated columns of a full covariance"):
        FULL.log_weight(x, lower, upper)


def test_samples_have_the_covariance():
    x = FULL.sample(np.zeros(20_000, dtype=int), np.random.default_rng(3))
    assert np.abs(np.cov(x.T) - COV[0]).max() < 5 * 2.0 * np.sqrt(2 / 20_000)  # five standard errors of the largest
    assert np.abs(x.mean(axis=0) - MEAN[0]).max() < 5 * np.sqrt(2.0 / 20_000)


def test_renyi_is_infinite_where_the_integral_diverges():
    narrow, wide = Gaussian([0.0], std=[1.0]), Gaussian([0.0], std=[2.0])
    assert wide.renyi(narrow, 2.0).tolist() == [np.inf]
    assert np.isfinite(narrow.renyi(wide, 2.0)).all()
    assert Gaussian([[0.0]], cov=[[[4.0]]]).renyi(narrow, 2.0).tolist() == [np.inf]
    assert wide.renyi(Gaussian([0.0], var=[2.0]), 2.0).tolist() == [np.inf]  # 2 var_q - var_p = 0
    assert wide.gaps(narrow) == [None]


def test_spreads_from_1e_minus_150_to_1e150():
    small, large = Gaussian([0.0, 1.0], std=[1e-150, 1e-150]), Gaussian([0.0, 0.0], std=[1e150, 1.0])
    np.testing.assert_allclose(small.kl(large), [300 * np.log(10) - 0.5, 150 * np.log(10)], rtol=1e-14)
    assert large.kl(small)[0] == np.inf  # 5e599: no double holds it
    assert error(large.kl(small)[1], mpf(10) ** 300) < 1e-13
    for alpha in (0.01, 0.5, 0.99):
        assert np.isfinite([*small.renyi(large, alpha), *large.renyi(small, alpha)]).all()
    exact = plain_renyi(
        (mp.matrix([0]), mp.matrix([mpf(1e-150) ** 2])), (mp.matrix([0]), mp.matrix([mpf(1e150) ** 2])), 0.3
    )
    assert error(small.renyi(large, 0.3)[0], exact) < 1e-14
    near = Gaussian([0.0, 1.0], std=[1e-150 * (1 + 1e-9), 1e-150])
    v = (mpf(1e-150) / mpf(float(near.std[0]))) ** 2
    assert error(small.kl(near)[0], (v - 1 - mp.log(v)) / 2) < 1e-13


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "std: give exactly one of std, var and cov, got none of them"),
        ({"std": [1.0], "var": [1.0]}, "std: give exactly one of std, var and cov, got std and var"),
        ({"std": [1.0, 2.0]}, "std: must have the shape (1,)"),
        ({"var": [0.0]}, "var[0]: must be above 0, got 0.0"),
        ({"cov": [[[1.0]]]}, "mean: must be a non-empty 2-dimensional array"),
    ],
)
def test_the_spread_is_given_once(arguments, words):
    with pytest.raises(InvalidModel) as refusal:
        Gaussian([0.0], **arguments)
    assert str(refusal.value).startswith(words)


@pytest.mark.parametrize(
    ("cov", "words"),
    [
        ([[[1.0, 0.5], [0.4, 1.0]]], "cov[0]: must be symmetric, entries [0][1] and [1][0] differ, got 0.5 and 0.4"),
        ([[[1.0, 2.0], [2.0, 1.0]]], "cov[0]: must be positive definite"),
        ([[[1.0, 0.0], [0.0, np.nan]]], "cov[0][1][1]: must be finite, got nan"),
        ([[1.0, 0.5]], "cov: must be a non-empty 3-dimensional array"),
        ([[[1.0]]], "cov: must have the shape (1, 2, 2) that goes with mean, got (1, 1, 1)"),
    ],
)
def test_bad_covariances_name_the_state(cov, words):
    with pytest.raises(InvalidModel) as refusal:
        Gaussian([[0.0, 0.0]], cov=cov)
    assert str(refusal.value).startswith(words)


def test_a_full_covariance_compares_with_gaussians_only():
    with pytest.raises(
        IncompatibleModels, match="^emission: a Gaussian with a full covariance compares with Gaussians only"
    ):
        Gaussian([[0.0, 0.0]], cov=[np.eye(2)]).kl(Laplace([[0.0, 0.0]], [[1.0, 1.0]]))


def test_diagonal_gaussians_do_without_scipy():
    code = "import sys; from hidiv.emissions.families.gaussian import Gaussian as G; g = G([0.0], std=[1.0]); g.kl(g)"
    subprocess.run([sys.executable, "-c", f"{code}; assert 'scipy' not in sys.modules"], check=True)
