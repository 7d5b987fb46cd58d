"""Which families there are, how two of them compare, and the guards put around the formulas of both.

Formulas overflow to infinities, which are right, and meet inf - inf or 0 * inf, which are not. A guard keeps numpy's
warnings inside and refuses a NaN, or a number that Python cannot form, as out of range. The methods of every family
named in `GUARDS` are wrapped when the class is made, the functions of a pair when it is registered: every caller would
otherwise need the same check, and each new family could forget it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, Protocol, TypeVar

import numpy as np

from hidiv.errors import HidivError, IncompatibleModels, OutOfRange, counted, refuse
from hidiv.types import Array

if TYPE_CHECKING:
    from hidiv.emissions.statistics import Statistics

P = ParamSpec("P")
R = TypeVar("R")

# Name in files -> module and class, one line a family. A module is imported when its family is first asked for.
FAMILIES = {
    "categorical": "families.categorical:Categorical",
    "bernoulli": "families.bernoulli:Bernoulli",
    "gaussian": "families.gaussian:Gaussian",
    "poisson": "families.poisson:Poisson",
    "exponential": "families.exponential:Exponential",
    "gamma": "families.gamma:Gamma",
    "geometric": "families.geometric:Geometric",
    "binomial": "families.binomial:Binomial",
    "negative_binomial": "families.negative_binomial:NegativeBinomial",
    "laplace": "families.laplace:Laplace",
    "log_normal": "families.log_normal:LogNormal",
    "generalized_gaussian": "families.generalized_gaussian:GeneralizedGaussian",
    "von_mises": "families.von_mises:VonMises",
    "beta": "families.beta:Beta",
    "multinomial": "families.multinomial:Multinomial",
    "silent": "families.silent:Silent",
    "product": "composite.product:Product",
    "mixture": "composite.mixture.mixture:Mixture",
}


def family_class(name: str) -> Any:
    """The class of a family by its name in files; KeyError for an unknown one."""
    module, cls = FAMILIES[name].split(":")
    return getattr(import_module(f"hidiv.emissions.{module}"), cls)


class Comparable(Protocol):
    """What a comparison reads of each side: a family, or a mixture together with its component."""

    @property
    def n_states(self) -> int: ...

    @property
    def n_features(self) -> int: ...

    @property
    def kl_is_integral(self) -> bool: ...

    def embed(self, other: Any) -> Any: ...


# (n, F), whether q's are wanted -> log-densities of p and q (n, K), log q/p, whether some number is none or infinite.
Tables = Callable[[Array, bool], tuple[Array, Array | None, Array, bool]]


@dataclass(frozen=True)
class FamilyPair:
    """How two families compare, state by state; p and q have equal numbers of states and features."""

    kl: Callable[[Any, Any], Array]  # (K,)
    renyi: Callable[[Any, Any, float], Array]  # (K,), order alpha
    log_ratio: Callable[[Any, Any, Array], Array]  # (n, F) -> (n, K), log q(x)/p(x)
    gaps: Callable[[Any, Any], list[str | None]]  # (K,), where p has mass and q none, in words
    # What a pair may do better than the rules for independent columns and their sample spaces:
    stretches: Callable[[Any, Any, Array, Array], Any] | None = None  # coordinates on [lower, upper] (U,), one column
    weight_ratio: Callable[..., Array] | None = None  # of what is known, as `evidence.log_ratios.weight_ratio`
    residual: Callable[..., Array] | None = None  # of what stays hidden, as `evidence.log_ratios.residual`
    bounds: Callable[[Any, Any], tuple[Array, Array]] | None = None  # (K,) twice, where `kl` has no closed form
    tables: Callable[[Any, Any], Tables] | None = None  # log-densities and log-ratio of seen rows in one pass


_PAIRS: dict[tuple[type, type], FamilyPair] = {}


def register(p: type, q: type, how: FamilyPair) -> None:
    """Make the families p and q comparable in this order."""
    _PAIRS[p, q] = replace(
        how,
        kl=without_nan(how.kl, "divergence"),
        renyi=without_nan(how.renyi, "divergence"),
        log_ratio=without_nan(how.log_ratio, "ratio of densities"),
        gaps=quiet(how.gaps, "support"),
    )


def comparable(p: Comparable, q: Comparable) -> bool:
    """Whether the two families can be compared."""
    return _how(p, q) is not None


def has_kl(p: Comparable, q: Comparable) -> bool:
    """Whether `p.kl(q)` has a number for an answer; laws of several columns that take an integral are only bounded."""
    return comparable(p, q) and not (p.n_features > 1 and (p.kl_is_integral or q.kl_is_integral))


def kl_bounds(p: Comparable, q: Comparable) -> tuple[Array, Array]:
    """(K,) twice: bounds on the KL of two families; equal where it has a closed form."""
    how = pair(p, q)
    if how.bounds is not None:
        return how.bounds(p, q)
    exact = how.kl(p, q)
    return exact, exact


def _how(p: Comparable, q: Comparable) -> FamilyPair | None:
    """The registered pair; else that of the more general family of the two, if it takes the other in."""
    registered_pair = _PAIRS.get((type(p), type(q)))
    if registered_pair is None and p.embed(q) is not None:
        return converted(_PAIRS[type(p), type(p)], q=p.embed)
    if registered_pair is None and q.embed(p) is not None:
        return converted(_PAIRS[type(q), type(q)], p=q.embed)
    return registered_pair


def pair(p: Comparable, q: Comparable) -> FamilyPair:
    """How p and q compare; refuses pairs that are not registered and different numbers of states or features."""
    how = _how(p, q)
    if how is None:
        refuse(
            IncompatibleModels,
            "emission",
            f"{type(p).__name__} and {type(q).__name__} laws cannot be compared in closed form",
            remedy="use one family for both, or the observed divergence by Monte Carlo",
        )
    if p.n_features != q.n_features:
        rule = f"p has {counted(p.n_features, 'column')} and q has {q.n_features}"
        refuse(IncompatibleModels, "emission", rule, remedy="compare models of the same observations")
    if p.n_states != q.n_states:
        rule = f"p has {counted(p.n_states, 'state')} and q has {q.n_states}"
        remedy = "take() the states to compare, or use the observed divergence"
        refuse(IncompatibleModels, "emission", rule, remedy=remedy)
    return how


def no_gaps(p: Comparable, q: Comparable) -> list[str | None]:
    """For families whose laws all share one support."""
    return [None] * p.n_states


def converted(
    how: FamilyPair, p: Callable[[Any], Any] = lambda f: f, q: Callable[[Any], Any] = lambda f: f
) -> FamilyPair:
    """A pair that compares through another one, after turning either side into its more general family."""

    def through(function: Any) -> Any:
        return None if function is None else lambda a, b, *rest: function(p(a), q(b), *rest)

    return FamilyPair(**{field.name: through(getattr(how, field.name)) for field in fields(how)})


def quiet(f: Callable[P, R], what: str) -> Callable[P, R]:
    """f without numpy's warnings; arithmetic that Python or LAPACK gives up on is refused, named by `what`."""

    @wraps(f)
    def inner(*args: P.args, **options: P.kwargs) -> R:
        with np.errstate(all="ignore"):
            try:
                return f(*args, **options)
            except HidivError:
                raise
            except (ArithmeticError, np.linalg.LinAlgError):
                refuse_range(args[0], what)

    return inner


def without_nan(f: Callable[P, R], what: str) -> Callable[P, R]:
    """The same, and a NaN among the values is refused."""
    calm = quiet(f, what)

    @wraps(f)
    def inner(*args: P.args, **options: P.kwargs) -> R:
        value = calm(*args, **options)
        if np.isnan(np.asarray(value)).any():
            refuse_range(args[0], what)
        return value

    return inner


def guarded(what: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`without_nan` as a decorator."""
    return lambda f: without_nan(f, what)


def no_more_than_one(f: Callable[..., Any]) -> Callable[..., Any]:
    """Log-masses without NaN, which rounding does not take above 0."""
    whole = without_nan(f, "probability of an interval")

    @wraps(f)
    def inner(*args: Any, **options: Any) -> Any:
        return np.minimum(whole(*args, **options), 0.0)

    return inner


def finite_draws(f: Callable[..., Any]) -> Callable[..., Any]:
    """Draws that are all finite, or a refusal."""
    calm = quiet(f, "draw")

    @wraps(f)
    def inner(*args: Any, **options: Any) -> Any:
        drawn = calm(*args, **options)
        if not np.isfinite(drawn).all():
            refuse_range(args[0], "draw")
        return drawn

    return inner


def usable_statistics(f: Callable[..., Any]) -> Callable[..., Any]:
    """Statistics, or None where a double does not hold them, as for a family that has none."""
    calm = quiet(f, "mean")

    @wraps(f)
    def inner(*args: Any, **options: Any) -> Any:
        statistics: Statistics | None = calm(*args, **options)
        if statistics is None:
            return None
        held = (
            np.isfinite(statistics.expected).all()
            and not (np.isnan(statistics.natural) | (statistics.natural == np.inf)).any()
        )
        return statistics if held else None

    return inner


GUARDS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "log_density": lambda f: quiet(f, "density"),  # NaN where an entry is not seen
    "log_weight": lambda f: without_nan(f, "density"),
    "log_mass": no_more_than_one,
    "draw": finite_draws,
    "statistics": usable_statistics,
}


def refuse_range(family: Any, what: str) -> NoReturn:
    """Refuse: `what` of these laws is beyond the range of doubles."""
    refuse(
        OutOfRange,
        "emission",
        f"the {what} of {getattr(family, 'name', 'these')} laws with these parameters is beyond the range of doubles",
        remedy="rescale the observations, or use less extreme parameters",
    )


def refuse_integral(name: str, exponent: float) -> NoReturn:
    """Refuse: a density to this power has no finite integral."""
    rule = f"the density of these {name} laws to the power {exponent:g} has no finite integral"
    refuse(OutOfRange, "emission", rule, remedy="use beta=0.5, whose integrals are all finite")
