"""statsmodels: results of a MarkovRegression, Gaussian observations whose mean and variance switch."""

from __future__ import annotations

from typing import Any

import numpy as np

from hidiv.adapters.foreign import class_names, laws, numbers, unknown
from hidiv.emissions.families.gaussian import Gaussian
from hidiv.errors import InvalidModel, refuse
from hidiv.models.model import Model


def read(obj: Any) -> Model:
    """The model of fitted, smoothed or filtered results.

    Transitions are stored in columns, from the old regime (second axis) to the new one (first axis), and one is made
    before the first observation, so that the law of the first state is `predicted_marginal_probabilities[0]`, not
    `initial_probabilities`.
    """
    results = getattr(obj, "_results", obj)
    names = class_names(results)
    if any(name.startswith("MarkovAutoregression") for name in names):
        refuse(InvalidModel, "class", "observations depend on those before them, which a Model cannot represent")
    if not any(name.startswith("MarkovRegressionResults") for name in names):
        if any(name.startswith("MarkovRegression") for name in names):
            refuse(InvalidModel, "class", "has no parameters yet", remedy="give what fit() or smooth() returns")
        unknown("class", results, ["MarkovRegressionResults"])
    model = results.model
    _check(model)
    transition = numbers("regime_transition", results.regime_transition, (3,))
    if transition.shape[2] != 1:
        refuse(InvalidModel, "regime_transition", "transitions vary with time, one law a step is all a Model has")
    predicted = numbers("predicted_marginal_probabilities", results.predicted_marginal_probabilities, (2,))
    regimes = int(model.k_regimes)
    params = numbers("params", results.params, (1,))
    places = [model.parameters[i, "exog"] for i in range(regimes)]
    mean = [float(params[place].sum()) if model.trend == "c" else 0.0 for place in places]
    variance = np.broadcast_to(params[model.parameters["variance"]].ravel(), (regimes,))
    return Model(
        laws("predicted_marginal_probabilities", predicted[0], (1,)),
        laws("regime_transition", transition[:, :, 0].T, (2,)),
        Gaussian(mean, var=variance),
    )


def _check(model: Any) -> None:
    """Refuse trends and regressors, with which the law of an observation depends on more than the state."""
    if getattr(model, "tvtp", False) or getattr(model, "exog_tvtp", None) is not None:
        refuse(InvalidModel, "exog_tvtp", "transitions vary with time, one law a step is all a Model has")
    if model.k_exog:
        refuse(InvalidModel, "exog", "covariates cannot be represented, observations must depend on the state alone")
    if model.trend not in ("n", "c"):
        refuse(InvalidModel, "trend", "a trend in time cannot be represented", model.trend, "take it out of the data")
