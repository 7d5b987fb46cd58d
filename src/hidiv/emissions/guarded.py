"""Guards around the formulas of families: at the limits of the doubles they give a value, or refuse in one sentence.

Formulas overflow to infinities, which are right, and meet inf - inf or 0 * inf, which are not. A guard keeps numpy's
warnings inside and refuses a NaN, or a number that Python cannot form, as out of range.

What is wrapped: the methods of every family named in `GUARDS` (by `Family.__init_subclass__`, when the class is made),
the functions of every registered pair (by `registry.register`), and `weight_ratio` and `residual` of evidence. They are
wrapped there, once, because every caller would otherwise need the same check and each new family could forget it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar

import numpy as np

from hidiv.errors import HidivError, OutOfRange, refuse

if TYPE_CHECKING:
    from hidiv.emissions.statistics import Statistics

P = ParamSpec("P")
R = TypeVar("R")


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
