"""Checks of arguments that are whole numbers, tolerances, seeds or observations."""

from __future__ import annotations

from math import inf, isfinite, isnan
from typing import Any, TypeAlias

import numpy as np

from hidiv.errors import HidivError, InvalidEvidence, counted, refuse
from hidiv.types import Array

Seed: TypeAlias = "int | np.random.Generator | None"  # a text: numpy.random takes long to import


def whole(
    place: str,
    value: Any,
    least: int = 1,
    most: float = inf,
    *,
    of: str = "",
    error: type[HidivError] = HidivError,
) -> int:
    """The value as an int, refused unless it is whole and from `least` to `most`; `of` names what `most` counts."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not least <= value <= most:
        upto = "" if most == inf else f" to the {counted(most, of.removesuffix('s'))}"
        refuse(error, place, f"must be a whole number from {least}{upto}", value)
    return int(value)


def number(place: str, value: Any, *, endless: bool = False) -> float:
    """The value as a float, refused unless it is a number from 0; infinite is allowed with `endless`."""
    if not isinstance(value, int | float | np.floating) or isinstance(value, bool) or isnan(value) or value < 0:
        refuse(HidivError, place, "must be a number from 0", value)
    if not endless and not isfinite(value):
        refuse(HidivError, place, "must be finite", value)
    return float(value)


def generator(seed: Seed) -> np.random.Generator:
    """The generator of a seed; a generator is returned as it is, None gives an unpredictable one."""
    return seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed_number(seed))


def seed_number(seed: Any) -> int | None:
    """A seed that is no generator, as an int or None; anything else is refused."""
    if seed is not None and (not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0):
        refuse(HidivError, "seed", "must be a whole number from 0, a numpy Generator or None", seed)
    return None if seed is None else int(seed)


def is_masked(value: Any) -> bool:
    """Whether this is a masked array. numpy.ma, which takes long to import, is asked about subclasses alone."""
    return isinstance(value, np.ndarray) and type(value) is not np.ndarray and np.ma.isMaskedArray(value)


def observations(place: str, value: Any) -> Array:
    """A copy as floats, masked entries as NaN; complex numbers, dates and times are none, though numpy casts them."""
    given: Any = None
    try:
        given = value if is_masked(value) else np.asarray(value)
        if isinstance(value, str | bytes) or given.dtype.kind in "cmM":
            raise TypeError
        array = given.astype(np.float64)
    except (TypeError, ValueError):
        got = f"an array of {given.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
        remedy = "list(text) has a symbol for each character" if isinstance(value, str) else ""
        refuse(InvalidEvidence, place, "must be an array of numbers, (n,) or (n, F)", got, remedy)
    return np.asarray(np.ma.filled(array, np.nan)) if is_masked(array) else array
