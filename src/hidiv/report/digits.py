"""Numbers with the digits they have: a value is written down to the digit where its error begins."""

from __future__ import annotations

from math import floor, isfinite, isinf, log10

from hidiv.divergences.result import Divergence

NORMAL = 1.959963984540054  # half the 95 % interval of a normal law, in standard deviations


def shown(value: float, digits: int = 5) -> str:
    """A number as the page writes it; the script writes numbers in bits in the same way.

    >>> shown(2986.0, 3), shown(2.986e6, 3), shown(2.986e-7, 3)
    ('2990', '2.99e+6', '2.99e-7')
    """
    if isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    text = f"{value:.{digits}g}"
    mantissa, _, exponent = text.partition("e")
    if not exponent:
        return text
    return f"{float(text):.0f}" if 0 < int(exponent) < 6 else f"{mantissa}e{int(exponent):+d}"


def half_width(result: Divergence) -> float | None:
    """Half the width of the 95 % interval of an estimate, or of the interval that certainly holds; None without one."""
    if result.infinite or result.status == "exact":
        return None
    if result.lower is not None and result.upper is not None and isfinite(result.upper):
        return (result.upper - result.lower) / 2
    if result.std_error is not None:
        return NORMAL * result.std_error
    return result.error


def is_estimate(result: Divergence) -> bool:
    """Whether the result is a mean of draws, written with +-."""
    return result.status == "estimate" and not result.infinite and bool(half_width(result))


def decimals(error: float) -> int:
    """The decimals at which an error has one digit, or two if the first is a one.

    >>> decimals(0.82), decimals(0.13), decimals(37.0)
    (1, 2, -1)
    """
    exponent = floor(log10(error))
    return -exponent + (error / 10.0**exponent < 1.95)


def digits(value: float, error: float | None, most: int) -> int:
    """How many digits of a value its error leaves, at least one and at most `most`."""
    if not error or not value or not isfinite(error):
        return most
    return max(1, min(most, floor(log10(abs(value))) + 1 + decimals(error)))


def with_error(value: float, error: float) -> str:
    """A value and its error, both to the digit where the error begins.

    >>> with_error(9.6379, 0.82), with_error(0.0123456, 0.00021), with_error(3.21e-9, 1.7e-10), with_error(5212.0, 140)
    ('9.6 ± 0.8', '0.0123 ± 0.0002', '(3.21 ± 0.17)e-9', '5210 ± 140')
    """
    largest = max(abs(value), error)
    if not isfinite(largest) or error <= 0:
        return shown(value)
    exponent = floor(log10(largest))
    if -4 <= exponent < 6:
        return f"{_fixed(value, decimals(error))} ± {_fixed(error, decimals(error))}"
    scale = 10.0**exponent
    places = max(0, decimals(error / scale))
    return f"({value / scale:.{places}f} ± {error / scale:.{places}f})e{exponent:d}"


def _fixed(value: float, places: int) -> str:
    """A number with these decimals; fewer than none are zeros in front of the point."""
    return f"{value:.{places}f}" if places >= 0 else f"{round(value, places):.0f}"
