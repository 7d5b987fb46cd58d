"""deeptime: hidden Markov models with discrete or Gaussian outputs."""

from __future__ import annotations

from typing import Any

from hidiv.adapters.foreign import class_names, laws, numbers, unknown
from hidiv.emissions.families.categorical import Categorical
from hidiv.emissions.families.gaussian import Gaussian
from hidiv.emissions.family import Family
from hidiv.errors import InvalidModel, refuse
from hidiv.models.model import Model


def read(obj: Any) -> Model:
    """The model of a HiddenMarkovModel; messages for estimators and posteriors name the model to give instead."""
    names = class_names(obj)
    if "HiddenMarkovModel" not in names:
        if "BayesianHMMPosterior" in names:
            refuse(InvalidModel, "class", "holds many models", remedy="give its .prior, or one of its .samples")
        if hasattr(obj, "fetch_model"):
            refuse(InvalidModel, "class", "is an estimator", remedy="give what fetch_model() returns")
        unknown("class", obj, ["HiddenMarkovModel"])
    return Model(
        laws("initial_distribution", obj.initial_distribution, (1,)),
        laws("transition_matrix", _dense(obj.transition_model.transition_matrix), (2,)),
        _outputs(obj.output_model),
    )


def _outputs(output: Any) -> Family:
    """The family of an output model."""
    names = class_names(output)
    if "DiscreteOutputModel" in names:
        # Symbols are numbered by the columns of the table, whatever their names in the data.
        return Categorical(laws("output_probabilities", output.output_probabilities, (2,)))
    if "GaussianOutputModel" in names:
        return Gaussian(numbers("means", output.means, (1,)), std=numbers("sigmas", output.sigmas, (1,)))
    unknown("output_model", output, ["DiscreteOutputModel", "GaussianOutputModel"])


def _dense(matrix: Any) -> Any:
    """The matrix as a dense one."""
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix
