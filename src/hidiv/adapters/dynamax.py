"""dynamax: a pair (model, params) of a hidden Markov model whose emissions depend on the state alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hidiv.adapters.foreign import class_names, covariances, laws, numbers, unknown
from hidiv.emissions.composite.mixture.mixture import Mixture
from hidiv.emissions.composite.product import Product
from hidiv.emissions.families.bernoulli import Bernoulli
from hidiv.emissions.families.categorical import Categorical
from hidiv.emissions.families.gamma import Gamma
from hidiv.emissions.families.gaussian import Gaussian
from hidiv.emissions.families.multinomial import Multinomial
from hidiv.emissions.families.poisson import Poisson
from hidiv.emissions.family import Family
from hidiv.errors import InvalidModel, refuse
from hidiv.models.model import Model


def read(obj: Any) -> Model:
    """The model of (model, params); params as `initialize` or a fit returned them."""
    if not (isinstance(obj, tuple) and len(obj) == 2 and hasattr(obj[1], "emissions")):
        refuse(InvalidModel, "model", "parameters are kept apart", remedy="give the tuple (model, params)")
    model, params = obj
    names = class_names(model)
    reason = next((REFUSED[name] for name in names if name in REFUSED), None)
    if reason is not None:
        refuse(InvalidModel, "emissions", reason)
    emissions = next((FAMILIES[name] for name in names if name in FAMILIES), None)
    if emissions is None:
        unknown("class", model, FAMILIES)
    return Model(
        laws("initial.probs", params.initial.probs, (1,)),
        laws("transitions.transition_matrix", params.transitions.transition_matrix, (2,)),
        emissions(model, params.emissions),
    )


def categorical(model: Any, params: Any) -> Family:
    """Categorical laws; probs (K, D, M) are D independent symbols."""
    probs = laws("emissions.probs", params.probs, (3,))
    columns: list[Family] = [Categorical(probs[:, d]) for d in range(probs.shape[1])]
    return columns[0] if len(columns) == 1 else Product(columns)


def multinomial(model: Any, params: Any) -> Family:
    """Multinomial laws; probs (K, D, M) are D independent rows of counts of num_trials trials."""
    probs = laws("emissions.probs", params.probs, (3,))
    trials = np.repeat(numbers("num_trials", [model.emission_component.num_trials], (1,)), len(probs))
    columns: list[Family] = [Multinomial(trials, probs[:, d]) for d in range(probs.shape[1])]
    return columns[0] if len(columns) == 1 else Product(columns)


def bernoulli(model: Any, params: Any) -> Family:
    """Independent Bernoulli columns."""
    return Bernoulli(numbers("emissions.probs", params.probs, (2,)))


def poisson(model: Any, params: Any) -> Family:
    """Independent Poisson columns."""
    return Poisson(numbers("emissions.rates", params.rates, (2,)))


def gamma(model: Any, params: Any) -> Family:
    """Gamma laws."""
    return Gamma(
        numbers("emissions.concentration", params.concentration, (1,)), numbers("emissions.rate", params.rate, (1,))
    )


def full(model: Any, params: Any) -> Family:
    """Gaussian laws with full covariances."""
    mean = numbers("emissions.means", params.means, (2,))
    return Gaussian(mean, cov=covariances("emissions.covs", params.covs, (3,)))


def shared(model: Any, params: Any) -> Family:
    """Gaussian laws with one covariance for all states."""
    mean = numbers("emissions.means", params.means, (2,))
    cov = covariances("emissions.cov", params.cov, (2,))
    return Gaussian(mean, cov=np.repeat(cov[None], len(mean), axis=0))


def low_rank(model: Any, params: Any) -> Family:
    """Gaussian laws with covariances diag(cov_diag_factors) + W W', W the low-rank factors."""
    mean = numbers("emissions.means", params.means, (2,))
    diagonal = numbers("emissions.cov_diag_factors", params.cov_diag_factors, (2,))
    factor = numbers("emissions.cov_low_rank_factors", params.cov_low_rank_factors, (3,))
    square = factor @ factor.transpose(0, 2, 1) + diagonal[:, :, None] * np.eye(diagonal.shape[1])
    return Gaussian(mean, cov=0.5 * (square + square.transpose(0, 2, 1)))


def mixture(model: Any, params: Any) -> Family:
    """Mixtures of weights (K, C) and means (K, C, F) with covs, or with scale_diags: standard deviations."""
    weights = laws("emissions.weights", params.weights, (2,))
    mean = numbers("emissions.means", params.means, (3,))
    if hasattr(params, "covs"):
        cov = covariances("emissions.covs", params.covs, (4,))
        return Mixture(weights, [Gaussian(mean[:, c], cov=cov[:, c]) for c in range(weights.shape[1])])
    std = numbers("emissions.scale_diags", params.scale_diags, (3,))
    return Mixture(weights, [Gaussian(mean[:, c], std=std[:, c]) for c in range(weights.shape[1])])


def diagonal(model: Any, params: Any) -> Family:
    """Gaussian laws with a diagonal covariance; scale_diags are standard deviations."""
    mean = numbers("emissions.means", params.means, (2,))
    return Gaussian(mean, std=numbers("emissions.scale_diags", params.scale_diags, (2,)))


def spherical(model: Any, params: Any) -> Family:
    """Gaussian laws with one standard deviation for all columns, scales (K,)."""
    mean = numbers("emissions.means", params.means, (2,))
    scale = numbers("emissions.scales", params.scales, (1,))
    return Gaussian(mean, std=np.repeat(scale[:, None], mean.shape[1], axis=1))


FAMILIES: dict[str, Callable[[Any, Any], Family]] = {
    "BernoulliHMM": bernoulli,
    "CategoricalHMM": categorical,
    "DiagonalGaussianHMM": diagonal,
    "GammaHMM": gamma,
    "DiagonalGaussianMixtureHMM": mixture,
    "GaussianHMM": full,
    "GaussianMixtureHMM": mixture,
    "LowRankGaussianHMM": low_rank,
    "MultinomialHMM": multinomial,
    "PoissonHMM": poisson,
    "SharedCovarianceGaussianHMM": shared,
    "SphericalGaussianHMM": spherical,
}

_COVARIATES = "covariates cannot be represented, observations must depend on the state alone"
REFUSED = {
    "LinearRegressionHMM": _COVARIATES,
    "LogisticRegressionHMM": _COVARIATES,
    "CategoricalRegressionHMM": _COVARIATES,
    "LinearAutoregressiveHMM": "observations depend on those before them, which a Model cannot represent",
}
