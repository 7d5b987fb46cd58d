"""hmmlearn: categorical, multinomial, Gaussian, Gaussian mixture and Poisson models, and back.

A variational model stands for its point model, the one its own `score` uses: posterior means of the probabilities.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.adapters.foreign import attribute, class_names, covariances, laws, numbers, unknown
from hidiv.emissions.categorical import Categorical
from hidiv.emissions.family import Family
from hidiv.emissions.gaussian import Gaussian
from hidiv.emissions.poisson import Poisson
from hidiv.errors import InvalidModel, refuse
from hidiv.models.model import Model

Array = NDArray[np.float64]


def read(obj: Any) -> Model:
    """The model of a fitted hmmlearn object."""
    family = next((FAMILIES[name] for name in class_names(obj) if name in FAMILIES), None)
    if family is None:
        unknown("class", obj, FAMILIES)
    return Model(
        laws("startprob_", attribute(obj, "startprob_"), (1,)),
        laws("transmat_", attribute(obj, "transmat_"), (2,)),
        family(obj),
    )


def categorical(obj: Any) -> Family:
    return Categorical(laws("emissionprob_", attribute(obj, "emissionprob_"), (2,)))


def poisson(obj: Any) -> Family:
    return Poisson(numbers("lambdas_", attribute(obj, "lambdas_"), (2,)))


def gaussian(obj: Any) -> Family:
    """From `_covars_`: `covars_` is blown up to full matrices, and to wrong ones for a fitted spherical model.

    There fit leaves (K, F) equal columns, which the property flattens as if they were (K,).
    """
    mean = numbers("means_", attribute(obj, "means_"), (2,))
    covars, (states, features) = attribute(obj, "_covars_"), mean.shape
    if obj.covariance_type == "spherical":
        each = numbers("_covars_", covars, (1, 2)).reshape(states, -1)
        if (each != each[:, :1]).any():
            refuse(InvalidModel, "_covars_", "a spherical state has one variance", each.tolist())
        return Gaussian(mean, var=np.repeat(each[:, :1], features, axis=1))
    if obj.covariance_type == "diag":
        return Gaussian(mean, var=numbers("_covars_", covars, (2,)))
    full = covariances("_covars_", covars, (2, 3))
    return Gaussian(mean, cov=np.broadcast_to(full, (states, features, features)))


FAMILIES: dict[str, Callable[[Any], Family]] = {
    "CategoricalHMM": categorical,
    "VariationalCategoricalHMM": categorical,
    "GaussianHMM": gaussian,
    "VariationalGaussianHMM": gaussian,
    "PoissonHMM": poisson,
}
