"""Integrals of products of powers of laws: every family against sums and quadrature."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.emissions.product_integrals import log_products
from hidiv.errors import HidivError

LINES = {
    "gaussian": (hd.Gaussian([0.0, 1.0], std=[1.0, 0.5]), hd.Gaussian([0.3, 2.0], var=[1.0, 2.0])),
    "laplace": (hd.Laplace([0.0, 1.0], [1.0, 2.0]), hd.Laplace([2.0, 0.5], [1.0, 0.5])),
    "generalized": (hd.GeneralizedGaussian([1.0, 2.0], [1.5, 1.0]), hd.GeneralizedGaussian([1.0, 0.4], [1.0, 2.5])),
    "gaussian and laplace": (hd.Gaussian([0.0, 1.0], std=[1.0, 0.5]), hd.Laplace([2.0, 0.5], [1.0, 0.5])),
    "exponential": (hd.Exponential([1.0, 3.0]), hd.Exponential([2.0, 0.5])),
    "gamma": (hd.Gamma([1.0, 3.0], [1.0, 2.0]), hd.Gamma([2.0, 1.5], [0.5, 1.0])),
    "log-normal": (hd.LogNormal([0.0, 1.0], [0.5, 0.4]), hd.LogNormal([0.2, 0.5], [0.6, 0.5])),
    "gamma and log-normal": (hd.Gamma([1.5], [1.0]), hd.LogNormal([0.2], [0.5])),
    "von mises": (hd.VonMises([0.0, 1.0], [1.0, 4.0]), hd.VonMises([2.0, -1.0], [0.5, 2.0])),
    "beta": (hd.Beta([1.0, 3.0], [2.0, 2.0]), hd.Beta([2.0, 1.5], [1.0, 1.0])),
    "mixture": tuple(
        hd.Mixture([[0.5, 0.5]], [hd.Gaussian([0.0], std=[1.0]), hd.Gaussian([m], std=[0.5])]) for m in (3.0, 2.0)
    ),
}
COUNTS = {
    "poisson": (hd.Poisson([1.0, 30.0]), hd.Poisson([0.0, 3.0])),
    "geometric": (hd.Geometric([0.3, 0.5]), hd.Geometric([0.9, 0.1])),
    "binomial": (hd.Binomial([3, 10], [0.3, 0.5]), hd.Binomial([10, 5], [0.9, 0.1])),
    "negative binomial": (hd.NegativeBinomial([3.0, 1.0], [0.3, 0.5]), hd.NegativeBinomial([3.0, 0.4], [0.9, 0.1])),
    "poisson and negative binomial": (hd.Poisson([3.0]), hd.NegativeBinomial([3.0], [0.4])),
    "categorical": (hd.Categorical([[0.2, 0.8, 0.0]]), hd.Categorical([[0.5, 0.2, 0.3], [0.0, 0.0, 1.0]])),
    "bernoulli": (hd.Bernoulli([0.3, 0.5]), hd.Bernoulli([0.9, 0.1])),
}


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("beta", [0.5, 1.0, 0.75])
def test_numbers_against_quadrature(name, beta):
    p, q = LINES[name]
    found = np.exp(log_products(p, q, beta))
    low, high = {"von mises": (-np.pi, np.pi), "beta": (0.0, 1.0)}.get(
        name, (-60.0, 60.0) if p.space.kind.value == "line" else (0.0, 150.0)
    )

    graded = np.exp2(-np.arange(1.0, 50.0))  # densities may rise steeply at the ends of a segment
    inside = (x for x in (*np.arange(-60.0, 150.0, 0.5), *graded, *(1.0 - graded)) if low < x < high)
    marks = np.unique([low, high, *inside])
    nodes, weights = np.polynomial.legendre.leggauss(20)
    x = (marks[:-1, None] + np.diff(marks)[:, None] * 0.5 * (nodes + 1.0)).reshape(-1, 1)
    size = (np.diff(marks)[:, None] * 0.5 * weights).ravel()
    with np.errstate(all="ignore"):
        a, b = (np.exp(beta * f.log_density(x)[:, :, 0]) for f in (p, q))
    np.testing.assert_allclose(found, (a * size[:, None]).T @ b, rtol=1e-5)


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("beta", [0.5, 1.0, 0.75])
def test_counts_and_symbols_against_sums(name, beta):
    p, q = COUNTS[name]
    last = min(min(f.space.most for f in (p, q)), 2000.0)
    x = np.arange(last + 1.0)[:, None]
    with np.errstate(all="ignore"):
        a, b = (np.exp(beta * np.nan_to_num(f.log_density(x)[:, :, 0], nan=-np.inf, neginf=-np.inf)) for f in (p, q))
    np.testing.assert_allclose(np.exp(log_products(p, q, beta)), a.T @ b, rtol=1e-12, atol=1e-300)


def test_columns_multiply():
    p, q = hd.Poisson([[1.0, 5.0]]), hd.Poisson([[2.0, 3.0]])
    each = [log_products(p.select([c]), q.select([c]), 1.0) for c in range(2)]
    np.testing.assert_allclose(log_products(p, q, 1.0), sum(each), rtol=1e-13)
    one, two = (hd.Product([hd.Gaussian([m], std=[1.0]), hd.Poisson([r])]) for m, r in ((0.0, 1.0), (1.0, 2.0)))
    parts = [log_products(a, b, 1.0) for a, b in zip(one.families, two.families, strict=True)]
    np.testing.assert_allclose(log_products(one, two, 1.0), sum(parts), rtol=1e-13)


def test_full_covariances_are_the_density_of_the_difference():
    rng = np.random.default_rng(0)
    covs = [np.cov(rng.normal(size=(3, 9))) for _ in range(2)]
    means = rng.normal(size=(2, 3))
    p, q = (hd.Gaussian(means[i : i + 1], cov=covs[i : i + 1]) for i in range(2))
    total, d = covs[0] + covs[1], means[0] - means[1]
    expected = -0.5 * (np.linalg.slogdet(2 * np.pi * total)[1] + d @ np.linalg.solve(total, d))
    assert log_products(p, q, 1.0)[0, 0] == pytest.approx(expected, rel=1e-12)


def test_far_and_tiny_laws_keep_their_logarithms():
    p, q = (hd.Gaussian([m], std=[1e-3]) for m in (0.0, 1.0))
    assert log_products(p, q, 0.5)[0, 0] == pytest.approx(-1.0 / 8e-6, rel=1e-12)
    a, b = hd.Categorical([[1e-200, 1.0 - 1e-200]]), hd.Categorical([[1.0, 1e-200]])
    assert log_products(a, b, 1.0)[0, 0] == pytest.approx(np.log(2e-200), rel=1e-12)


def test_what_is_refused():
    with pytest.raises(HidivError, match="no finite integral"):
        log_products(hd.Beta([0.3], [1.0]), hd.Beta([0.3], [1.0]), 1.0)
    with pytest.raises(HidivError, match="columns"):
        log_products(hd.Poisson([1.0]), hd.Poisson([[1.0, 2.0]]), 1.0)
    with pytest.raises(HidivError):
        log_products(hd.Poisson([1.0]), hd.Gaussian([1.0], std=[1.0]), 1.0)
