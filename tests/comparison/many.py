"""Random models of any family for the tests of many models."""

from __future__ import annotations

import numpy as np

import hidiv as hd


def emission(family, k, rng):
    """One family with parameters drawn at random."""
    between = rng.uniform
    laws = {
        "categorical": lambda: hd.Categorical(rng.dirichlet(np.ones(4), k)),
        "bernoulli": lambda: hd.Bernoulli(between(0.1, 0.9, (k, 2))),
        "gaussian": lambda: hd.Gaussian(rng.normal(size=k), std=between(0.5, 2, k)),
        "gaussian_diagonal": lambda: hd.Gaussian(rng.normal(size=(k, 2)), var=between(0.5, 2, (k, 2))),
        "gaussian_full": lambda: hd.Gaussian(
            rng.normal(size=(k, 2)), cov=[np.cov(rng.normal(size=(2, 9))) for _ in range(k)]
        ),
        "poisson": lambda: hd.Poisson(between(0.5, 4, k)),
        "exponential": lambda: hd.Exponential(between(0.5, 4, k)),
        "gamma": lambda: hd.Gamma(between(0.5, 4, k), between(0.5, 4, k)),
        "geometric": lambda: hd.Geometric(between(0.1, 0.9, k)),
        "binomial": lambda: hd.Binomial([7] * k, between(0.1, 0.9, k)),
        "negative_binomial": lambda: hd.NegativeBinomial([3.0] * k, between(0.1, 0.9, k)),
        "log_normal": lambda: hd.LogNormal(rng.normal(size=k), between(0.5, 2, k)),
        "von_mises": lambda: hd.VonMises(between(-3, 3, k), between(0.5, 4, k)),
        "beta": lambda: hd.Beta(between(0.5, 4, k), between(0.5, 4, k)),
        "laplace": lambda: hd.Laplace(rng.normal(size=k), between(0.5, 2, k)),
        "generalized_gaussian": lambda: hd.GeneralizedGaussian(between(0.5, 2, k), between(0.7, 2, k)),
        "silent": lambda: hd.Silent(k),
        "product": lambda: hd.Product([emission("poisson", k, rng), emission("gaussian", k, rng)]),
    }  # fmt: skip
    return laws[family]()


FAMILIES = (
    "categorical", "bernoulli", "gaussian", "gaussian_diagonal", "gaussian_full", "poisson", "exponential", "gamma",
    "geometric", "binomial", "negative_binomial", "log_normal", "von_mises", "beta", "laplace", "generalized_gaussian",
    "silent", "product",
)  # fmt: skip
WITHOUT_STATISTICS = ("laplace", "generalized_gaussian")


def model(rng, family="categorical", k=3, groups=1, end=False, name=None):
    """One model; with groups its first has no transition."""
    if groups > 1:
        transition = [None] + [rng.dirichlet(np.ones(k), k) for _ in range(groups - 1)]
        return hd.Model(
            rng.dirichlet(np.ones(k)), transition, [emission(family, k, rng) for _ in range(groups)], name=name
        )
    if end:
        rows = rng.dirichlet(np.ones(k + 1), k)
        return hd.Model(rng.dirichlet(np.ones(k)), rows[:, :k], emission(family, k, rng), end=rows[:, k], name=name)
    return hd.Model(rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k), k), emission(family, k, rng), name=name)


def moved(rng, base, distance):
    """A categorical model with every probability moved by about that much, relatively."""

    def near(rows):
        changed = rows * (1 + distance * rng.uniform(-1, 1, rows.shape))
        return changed / changed.sum(axis=-1, keepdims=True)

    return hd.Model(near(base.initial), near(base.transition), hd.Categorical(near(base.emission.probs)))


def stacked(m, seed, k=4, symbols=10):
    """A collection of m categorical models, drawn all at once."""
    rng = np.random.default_rng(seed)
    return hd.Collection.from_arrays({
        "format": np.array("hidiv.collection"), "version": np.array(1),
        "initial": rng.dirichlet(np.ones(k), m), "transition": rng.dirichlet(np.ones(k), (m, 1, k)),
        "emission.0.categorical.probs": rng.dirichlet(np.ones(symbols), (m, k)),
    })  # fmt: skip


def one_by_one(compare, ps, qs=None):
    """The matrix of a function of two models."""
    return np.array([[compare(p, q) for q in (ps if qs is None else qs)] for p in ps])


def worst(found, expected):
    """The largest relative error; infinities and zeros only count as themselves."""
    found = np.asarray(found)
    assert found.shape == expected.shape
    assert not np.isnan(found).any()
    plain = (expected != 0) & np.isfinite(expected)
    assert (found[~plain] == expected[~plain]).all()
    return float(np.max(np.abs(found[plain] / expected[plain] - 1), initial=0.0))
