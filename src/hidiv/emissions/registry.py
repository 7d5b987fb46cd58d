"""Which families there are, and how two of them compare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from hidiv.emissions.guarded import quiet, without_nan
from hidiv.errors import IncompatibleModels, counted, refuse, sentence
from hidiv.types import Array

if TYPE_CHECKING:
    from hidiv.emissions.family import Family


# Name in files -> class; modules are imported when a family is first asked for, so that the light ones stay light.
FAMILIES = {
    "categorical": "Categorical",
    "bernoulli": "Bernoulli",
    "gaussian": "Gaussian",
    "poisson": "Poisson",
    "exponential": "Exponential",
    "gamma": "Gamma",
    "geometric": "Geometric",
    "binomial": "Binomial",
    "negative_binomial": "NegativeBinomial",
    "laplace": "Laplace",
    "log_normal": "LogNormal",
    "generalized_gaussian": "GeneralizedGaussian",
    "von_mises": "VonMises",
    "beta": "Beta",
    "multinomial": "Multinomial",
    "silent": "Silent",
    "product": "Product",
    "mixture": "Mixture",
}
_COMPOSITE = {"product": "composite.product", "mixture": "composite.mixture.mixture"}  # made of other families
_MIXED = ("mixture", "marked")
NESTED = {"product": "families", "mixture": "components"}  # families made of families -> the parameter that lists them


def family_class(name: str) -> Any:
    """The class of a family by its name in files; KeyError for an unknown one."""
    return getattr(import_module(f"hidiv.emissions.{_COMPOSITE.get(name, f'families.{name}')}"), FAMILIES[name])


@dataclass(frozen=True)
class Pair:
    """How two families compare, state by state; p and q have equal numbers of states and features."""

    kl: Callable[[Any, Any], Array]  # (K,)
    renyi: Callable[[Any, Any, float], Array]  # (K,), order alpha
    log_ratio: Callable[[Any, Any, Array], Array]  # (n, F) -> (n, K), log q(x)/p(x)
    gaps: Callable[[Any, Any], list[str | None]]  # (K,), where p has mass and q none, in words


_PAIRS: dict[tuple[type, type], Pair] = {}


def register(p: type, q: type, how: Pair) -> None:
    """Make the families p and q comparable in this order."""
    _PAIRS[p, q] = Pair(
        kl=without_nan(how.kl, "divergence"),
        renyi=without_nan(how.renyi, "divergence"),
        log_ratio=without_nan(how.log_ratio, "ratio of densities"),
        gaps=quiet(how.gaps, "support"),
    )


def registered() -> list[tuple[type, type]]:
    """The pairs of families that compare, every family imported."""
    for name in FAMILIES:
        family_class(name)
    return list(_PAIRS)


def comparable(p: Family, q: Family) -> bool:
    """Whether somebody registered the pair."""
    return _how(p, q) is not None


def has_kl(p: Family, q: Family) -> bool:
    """Whether `p.kl(q)` has a number for an answer; mixtures of several columns are only bounded."""
    return comparable(p, q) and not ("mixture" in (p.name, q.name) and p.n_features > 1)


def _how(p: Family, q: Family) -> Pair | None:
    """The pair somebody registered, or that of mixtures where one side is a mixture and its components compare."""
    found = _PAIRS.get((type(p), type(q)))
    if found is None and (p.name in _MIXED) != (q.name in _MIXED):
        mixed: Any = p if p.name in _MIXED else q
        members = (mixed.mixture if mixed.name == "marked" else mixed).components
        pairs = [(m, q) if mixed is p else (p, m) for m in members]
        if all((type(a), type(b)) in _PAIRS for a, b in pairs):
            return converted(_PAIRS[type(mixed), type(mixed)], *(_single(mixed, side) for side in (p, q)))
    return found


def _single(mixed: Any, side: Family) -> Callable[[Any], Any]:
    """What makes of a plain family a mixture of one component."""
    if side is mixed:
        return lambda family: family
    return (lambda family: type(mixed)(as_mixture(family))) if mixed.name == "marked" else as_mixture


def as_mixture(family: Any) -> Any:
    """A family as a mixture of it alone; a mixture as it is."""
    if family.name == "mixture":
        return family
    return family_class("mixture")(np.ones((family.n_states, 1)), [family])


def pair(p: Family, q: Family) -> Pair:
    """How p and q compare; refuses pairs nobody registered and different numbers of states or features."""
    how = _how(p, q)
    if how is None:
        refuse(
            IncompatibleModels,
            "emission",
            f"{type(p).__name__} and {type(q).__name__} laws cannot be compared in closed form",
            remedy="use one family for both, or the observed divergence by Monte Carlo",
        )
    if p.n_features != q.n_features:
        raise IncompatibleModels(
            sentence(
                "emission",
                f"p has {counted(p.n_features, 'column')} and q has {q.n_features}",
                remedy="compare models of the same observations",
            )
        )
    if p.n_states != q.n_states:
        raise IncompatibleModels(
            sentence(
                "emission",
                f"p has {counted(p.n_states, 'state')} and q has {q.n_states}",
                remedy="take() the states to compare, or use the observed divergence",
            )
        )
    return how


def no_gaps(p: Family, q: Family) -> list[str | None]:
    """For families whose laws all share one support."""
    return [None] * p.n_states


def converted(how: Pair, p: Callable[[Any], Any] = lambda f: f, q: Callable[[Any], Any] = lambda f: f) -> Pair:
    """A pair that compares through another one, after turning either side into its more general family."""
    return Pair(
        kl=lambda a, b: how.kl(p(a), q(b)),
        renyi=lambda a, b, alpha: how.renyi(p(a), q(b), alpha),
        log_ratio=lambda a, b, x: how.log_ratio(p(a), q(b), x),
        gaps=lambda a, b: how.gaps(p(a), q(b)),
    )
