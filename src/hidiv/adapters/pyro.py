"""Pyro: DiscreteHMM, homogeneous in time."""

from __future__ import annotations

from typing import Any

import numpy as np

from hidiv.adapters.distributions import family_of
from hidiv.adapters.foreign import class_names, laws, plain, unknown
from hidiv.errors import InvalidModel, refuse
from hidiv.models.model import Model


def read(obj: Any) -> Model:
    """The model of a DiscreteHMM; its chain moves before the first observation, so the initial law is moved once."""
    if "DiscreteHMM" not in class_names(obj):
        unknown("class", obj, ["DiscreteHMM"])
    initial = _law("initial_logits", obj.initial_logits, 1)
    transition = _law("transition_logits", obj.transition_logits, 2)
    before = obj.observation_dist.batch_shape[:-1]
    if any(n != 1 for n in before):
        refuse(InvalidModel, "observation_dist", "laws vary with time or by batch, one a state is all a Model has")
    emission = family_of("observation_dist", obj.observation_dist, len(initial))
    return Model(initial @ transition, transition, emission)


def _law(place: str, logits: Any, ndim: int) -> Any:
    """The probabilities of logits (K,) or (K, K); leading axes (time, batch) must have length 1."""
    array = np.asarray(plain(place, logits), dtype=np.float64)
    if array.ndim < ndim or any(n != 1 for n in array.shape[: array.ndim - ndim]):
        refuse(InvalidModel, place, "laws vary with time or by batch, one is all a Model has", array.shape)
    array = array.reshape(array.shape[array.ndim - ndim :])
    return laws(place, np.exp(array), (ndim,))
