"""TensorFlow Probability, on TensorFlow or jax: HiddenMarkovModel."""

from __future__ import annotations

from typing import Any

from hidiv.adapters.distributions import family_of, parameter
from hidiv.adapters.foreign import class_names, laws, unknown
from hidiv.errors import InvalidModel, refuse
from hidiv.models.model import Model


def read(obj: Any) -> Model:
    """The model of a HiddenMarkovModel; the number of steps belongs to the tree and is left out."""
    if "HiddenMarkovModel" not in class_names(obj):
        unknown("class", obj, ["HiddenMarkovModel"])
    given = obj.parameters
    for what in ("transition", "observation"):
        if given.get(f"time_varying_{what}_distribution"):
            refuse(InvalidModel, f"{what}_distribution", f"{what}s vary with time, one law is all a Model has")
    if obj.mask is not None:
        refuse(InvalidModel, "mask", "is evidence, not part of a model", remedy="mark those values NaN in the evidence")
    if len(tuple(obj.batch_shape)):
        refuse(InvalidModel, "batch_shape", "must be one model", tuple(obj.batch_shape), "give them one by one")
    initial = laws("initial_distribution", parameter(obj.initial_distribution, "probs"), (1,))
    transition = laws("transition_distribution", parameter(obj.transition_distribution, "probs"), (2,))
    return Model(initial, transition, family_of("observation_distribution", obj.observation_distribution, len(initial)))
