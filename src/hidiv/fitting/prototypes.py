"""Prototypes: from a family's name, class or template to a family with the right states and columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hidiv.emissions.family import Family
from hidiv.emissions.registry import FAMILIES, family_class
from hidiv.errors import InvalidModel, refuse
from hidiv.models.evidence import Evidence
from hidiv.types import Array


def prototype(emission: Any, n_states: int, evidence: Evidence) -> Family:
    """A family of K states: a template's own shape and settings, or plain parameters for a name or a class.

    Of a template with K states the parameters are kept (they matter for those that stay fixed), of any other the first
    state's are repeated.
    """
    if hasattr(emission, "n_states") and not isinstance(emission, type):
        template: Family = emission
        return template if template.n_states == n_states else template.take(np.zeros(n_states, dtype=np.int64))
    name = emission if isinstance(emission, str) else getattr(emission, "name", None)
    if name not in FAMILIES:
        refuse(
            InvalidModel,
            "emission",
            "must be a family, its class or its name",
            emission,
            "known are " + ", ".join(FAMILIES),
        )
    if name in ("product", "binomial", "mixture"):
        what = "its trials" if name == "binomial" else "its families"
        remedy = f"give a template, for example {_TEMPLATES[name]}"
        refuse(InvalidModel, "emission", f"{name} needs {what}", remedy=remedy)
    cls = family_class(name)
    if name == "silent":
        built: Family = cls(n_states)
        return built
    if name == "categorical":
        return _categorical(cls, n_states, evidence)
    if not evidence.has_numbers:
        refuse(InvalidModel, "emission", f"{name} cannot be fitted to evidence without values", remedy="use silent")
    if name == "multinomial":
        return _multinomial(cls, n_states, evidence)
    shape = (n_states,) if evidence.n_features == 1 else (n_states, evidence.n_features)
    made: Family = cls(**{key: np.full(shape, value) for key, value in _PLAIN[name].items()})
    return made


_TEMPLATES = {
    "binomial": "hd.Binomial([10], [0.5])",
    "product": "hd.Product([hd.Gaussian([0.0], std=[1.0]), hd.Poisson([1.0])])",
    "mixture": "hd.Mixture([[0.5, 0.5]], [hd.Gaussian([0.0], std=[1.0]), hd.Gaussian([1.0], std=[1.0])])",
}

_PLAIN: dict[str, dict[str, float]] = {
    "bernoulli": {"probs": 0.5},
    "gaussian": {"mean": 0.0, "var": 1.0},
    "poisson": {"rate": 1.0},
    "exponential": {"rate": 1.0},
    "gamma": {"shape": 1.0, "rate": 1.0},
    "geometric": {"prob": 0.5},
    "negative_binomial": {"size": 1.0, "prob": 0.5},
    "laplace": {"loc": 0.0, "scale": 1.0},
    "log_normal": {"mean": 0.0, "std": 1.0},
    "generalized_gaussian": {"scale": 1.0, "shape": 1.0},
    "von_mises": {"mean": 0.0, "concentration": 1.0},
    "beta": {"a": 1.0, "b": 1.0},
}


def _categorical(cls: Any, n_states: int, evidence: Evidence) -> Family:
    """A categorical family with the symbols that occur in the evidence."""
    x = np.asarray(evidence.x, dtype=np.float64)
    seen = x[~np.isnan(x)]
    sizes = [int(seen.max()) + 1] if seen.size and np.isfinite(seen).all() else []
    if evidence.symbols is not None:
        sizes.append(evidence.symbols.shape[1])
    sizes += [max(members, default=0) + 1 for members in evidence.symbol_sets.values()]
    sizes += [len(names) for names in evidence.symbol_names or () if names is not None]
    if not sizes:
        refuse(
            InvalidModel, "emission", "categorical cannot be fitted to evidence without symbols", remedy="use silent"
        )
    size = max(1, *sizes)
    built: Family = cls(np.full((n_states, size), 1.0 / size))
    return built


def _multinomial(cls: Any, n_states: int, evidence: Evidence) -> Family:
    """A multinomial family with the number of trials that all fully seen rows have."""
    x = np.asarray(evidence.x, dtype=np.float64)
    totals = np.unique(x[~np.isnan(x).any(axis=1)].sum(axis=1))
    if len(totals) != 1 or not (np.isfinite(totals[0]) and totals[0] >= 0):
        refuse(
            InvalidModel, "emission", "multinomial needs rows of counts that all have one sum", totals[:3].tolist(),
            "give a template, for example hd.Multinomial([5], [[0.5, 0.5]])",
        )  # fmt: skip
    built: Family = cls(np.repeat(totals, n_states), np.full((n_states, x.shape[1]), 1.0 / x.shape[1]))
    return built


def features(family: Family, fixed: frozenset[str]) -> Callable[[Array], Array]:
    """(n, F) -> (n, F'): coordinates in which observations of a state form a cluster."""
    if fixed & {"mean", "loc"} and family.name in ("gaussian", "laplace"):
        middle = np.asarray(family.parameters()["mean" if family.name == "gaussian" else "loc"][0])
        return lambda x: _size(x - middle)
    return _FEATURES.get(family.name, lambda x: x)


def _size(x: Array) -> Array:
    """log |x|, bounded below, in which zero-centred laws of different scales differ."""
    size = np.abs(x)
    positive = size[size > 0]
    least = 1e-3 * float(np.median(positive)) if positive.size else 1.0
    return np.asarray(np.log(np.maximum(size, least)))


_FEATURES: dict[str, Callable[[Array], Array]] = {
    "exponential": _size,
    "gamma": _size,
    "log_normal": _size,
    "generalized_gaussian": _size,
    "von_mises": lambda x: np.hstack([np.cos(x), np.sin(x)]),
    "poisson": lambda x: np.sqrt(np.maximum(x, 0.0)),
    "negative_binomial": lambda x: np.sqrt(np.maximum(x, 0.0)),
    "geometric": lambda x: np.sqrt(np.maximum(x, 0.0)),
}
