"""pomegranate: DenseHMM and SparseHMM, with their end probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hidiv.adapters.foreign import TOLERANCE, attribute, check_sums, class_names, covariances, laws, numbers, unknown
from hidiv.adapters.foreign import plain as readable
from hidiv.emissions.composite.mixture.mixture import Mixture
from hidiv.emissions.composite.product import Product
from hidiv.emissions.families.bernoulli import Bernoulli
from hidiv.emissions.families.categorical import Categorical
from hidiv.emissions.families.exponential import Exponential
from hidiv.emissions.families.gamma import Gamma
from hidiv.emissions.families.gaussian import Gaussian
from hidiv.emissions.families.poisson import Poisson
from hidiv.emissions.family import Family
from hidiv.errors import InvalidModel, refuse
from hidiv.models.model import Model
from hidiv.types import Array

States = Sequence[Any]  # a distribution for each state


def read(obj: Any) -> Model:
    """The model of a DenseHMM or SparseHMM, which keep starts, edges and ends as logarithms.

    Where rows and ends sum to one, as after a fit, the model has these end probabilities. Ends that were not given are
    1/K while the rows alone sum to one: a constant factor of every sequence, which is left out.
    """
    names = class_names(obj)
    if not {"DenseHMM", "SparseHMM"} & set(names):
        unknown("class", obj, ["DenseHMM", "SparseHMM"])
    states = list(attribute(obj, "distributions"))
    starts = _exponentials(obj, "starts")
    ends = np.zeros(len(states)) if getattr(obj, "ends", None) is None else _exponentials(obj, "ends")
    edges = _dense(obj, len(states)) if "SparseHMM" in names else _exponentials(obj, "edges")
    transition, end = _with_ends(edges, ends)
    return Model(laws("starts", starts, (1,)), transition, family_of("distributions", states), end=end)


def _exponentials(obj: Any, name: str) -> Array:
    """The probabilities whose logarithms are an attribute."""
    value = np.asarray(readable(name, attribute(obj, name)), dtype=np.float64)
    return numbers(name, np.exp(value), (1, 2))


def _dense(obj: Any, n_states: int) -> Array:
    """(K, K): the transitions of a sparse list of edges."""
    edges = np.zeros((n_states, n_states))
    first, second = (
        np.asarray(readable(name, attribute(obj, name))) for name in ("_edge_idx_starts", "_edge_idx_ends")
    )
    edges[first, second] = _exponentials(obj, "_edge_log_probs")
    return edges


def _with_ends(edges: Array, ends: Array) -> tuple[Array, Array | None]:
    """Transition and end (None without), each row and its end summing to one."""
    rows = edges.sum(axis=1)
    if (np.abs(rows + ends - 1.0) <= TOLERANCE).all() and ends.any():
        total = rows + ends
        return edges / total[:, None], ends / total
    if (np.abs(rows - 1.0) <= TOLERANCE).all():
        if np.ptp(ends) > TOLERANCE:
            refuse(
                InvalidModel,
                "ends",
                "rows that sum to one leave no room for ends that differ between states",
                ends.tolist(),
                "give ends that sum to one with their row of edges, or none",
            )
        return edges / rows[:, None], None
    check_sums("edges", rows + ends, "a row and its end")
    refuse(InvalidModel, "edges", "rows must sum to one, either all with or all without their end", rows.tolist())


def family_of(place: str, states: States) -> Family:
    """One family of as many states as there are distributions, which must all be of one kind."""
    kinds = {type(state).__name__ for state in states}
    if len(kinds) > 1:
        refuse(InvalidModel, place, "states must all have one kind of distribution", ", ".join(sorted(kinds)))
    kind = kinds.pop()
    if kind in REFUSED:
        refuse(InvalidModel, place, REFUSED[kind], kind)
    if kind not in READERS:
        unknown(place, states[0], READERS)
    return READERS[kind](place, states)


def _stacked(place: str, states: States, name: str) -> Array:
    """(K, ...): a parameter of all states."""
    each = [numbers(f"{place}[{i}].{name}", attribute(state, name), range(3)) for i, state in enumerate(states)]
    if len({array.shape for array in each}) > 1:
        refuse(InvalidModel, f"{place}.{name}", "must have one shape in all states", [array.shape for array in each])
    return np.stack(each)


def _columns(family: Callable[..., Family], *names: str) -> Callable[[str, States], Family]:
    """A reader for a family whose parameters have these names, in the order of its constructor."""
    return lambda place, states: family(*(_stacked(place, states, name) for name in names))


def _normal(place: str, states: States) -> Family:
    """A normal law; covs are covariances when full, else variances, one for all columns when spherical."""
    mean, covs = _stacked(place, states, "means"), _stacked(place, states, "covs")
    if covs.ndim == 3:
        return Gaussian(mean, cov=covariances(f"{place}.covs", covs, (3,)))
    return Gaussian(mean, var=np.array(np.broadcast_to(covs.reshape(len(mean), -1), mean.shape)))


def _categorical(place: str, states: States) -> Family:
    """Categorical laws; probs (F, M) of a state are F independent symbols."""
    probs = laws(f"{place}.probs", _stacked(place, states, "probs"), (3,))
    columns: list[Family] = [Categorical(probs[:, f]) for f in range(probs.shape[1])]
    return columns[0] if len(columns) == 1 else Product(columns)


def _exponential(place: str, states: States) -> Family:
    """Exponential laws, whose scales are their means."""
    return Exponential(1.0 / _stacked(place, states, "scales"))


def _components(place: str, states: States) -> Family:
    """A product; every state lists the laws of its columns."""
    listed = [list(state.distributions) for state in states]
    if len({len(each) for each in listed}) > 1:
        refuse(InvalidModel, place, "states must have the same number of columns", [len(each) for each in listed])
    return Product([family_of(f"{place}, column {f}", each) for f, each in enumerate(zip(*listed, strict=True))])


def _mixture(place: str, states: States) -> Family:
    """A mixture; every state lists its components and their weights."""
    weights = laws(f"{place}.priors", _stacked(place, states, "priors"), (2,))
    members = zip(*(list(state.distributions) for state in states), strict=True)
    return Mixture(weights, [family_of(f"{place}, component {c}", each) for c, each in enumerate(members)])


READERS: dict[str, Callable[[str, States], Family]] = {
    "Bernoulli": _columns(Bernoulli, "probs"),
    "Categorical": _categorical,
    "Exponential": _exponential,
    "Gamma": _columns(Gamma, "shapes", "rates"),
    "GeneralMixtureModel": _mixture,
    "IndependentComponents": _components,
    "Normal": _normal,
    "Poisson": _columns(Poisson, "lambdas"),
}

REFUSED = {
    "LogNormal": "pomegranate gives it the density of log x, without the factor 1/x; take logarithms and use Normal",
}
