"""Which values the components of a mixture speak of: laws of one kind mix, counts beyond one of them are no error."""

from __future__ import annotations

from typing import Any

import numpy as np

from hidiv.emissions.family import Family, check_whole
from hidiv.types import Array

COUNTS = ("bernoulli", "poisson", "geometric", "binomial", "negative_binomial")
KINDS = {
    "silent": "silent",
    "multinomial": "rows of counts",
    "product": "columns of several families",
    "von_mises": "angles",
    "exponential": "continuous from 0 on",
    "gamma": "continuous from 0 on",
    "log_normal": "continuous from 0 on",
    "beta": "continuous from 0 to 1",
}


def kind(family: Family) -> str:
    """What the values of a family are; laws of different kinds do not mix."""
    components = getattr(family, "components", None)
    name = family.name if components is None else components[0].name  # components are alike
    if name == "categorical":
        first: Any = family if components is None else components[0]
        return f"symbols 0 to {first.n_symbols - 1}"
    return "counts" if name in COUNTS else KINDS.get(name, "continuous")


def most(family: Any) -> float:
    """The largest count a family of counts takes."""
    if family.name == "bernoulli":
        return 1.0
    return float(family.trials.max()) if family.name == "binomial" else np.inf


def check_counts(x: Array, components: tuple[Family, ...]) -> None:
    """Refuse what is no count, or one that no component takes."""
    check_whole(x, "mixture", max(most(member) for member in components))


def log_weight(member: Family, x: Array, lower: Array | None, upper: Array | None) -> Array:
    """(n, K): the component's own, -inf for counts beyond it that others may take."""
    highest = most(member) if kind(member) == "counts" else np.inf
    beyond = np.asarray((x > highest).any(axis=1))
    if not beyond.any():
        return member.log_weight(x, lower, upper)
    terms = member.log_weight(np.where(x > highest, 0.0, x), lower, upper)
    return np.where(beyond[:, None], -np.inf, terms)
