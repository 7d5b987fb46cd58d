"""Parameters of a family: read once, checked once, read-only afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hidiv.arguments import is_masked
from hidiv.errors import InvalidModel, refuse
from hidiv.types import Array

SUM_TOLERANCE = 1e-8  # beyond it a row is refused; within, renormalised once (definitions, section 8)


SHAPES = (1e-60, 1e60)  # parameters without a unit, which formulas square and multiply
EXACT = 2.0**53  # doubles tell whole numbers apart up to here
RESCALE = "rescale the observations, or use a less extreme one"


def reading(place: str, value: ArrayLike, ndims: Iterable[int]) -> Array:
    """A finite read-only float array with one of the numbers of axes allowed, none of them empty."""
    try:
        given = np.asarray(value)
        # numpy would read "0.5" and what is masked.
        if given.dtype.kind in "UScmM" or (is_masked(value) and np.ma.is_masked(value)):
            raise TypeError
        array = given if _is_constant(given) else np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        refuse(InvalidModel, place, "must be a rectangular array of numbers", value)
    if array.ndim not in tuple(ndims) or array.size == 0:
        wanted = " or ".join(f"{n}-dimensional" for n in ndims)
        refuse(InvalidModel, place, f"must be a non-empty {wanted} array", f"shape {array.shape}")
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        refuse(InvalidModel, place + indexed(where), "must be finite", float(array[where]))
    array.flags.writeable = False
    return array


def _is_constant(array: NDArray[Any]) -> bool:
    """Whether numbers lie in bytes or in a mapped file that nobody can write to: no copy is needed."""
    if array.flags.writeable or array.dtype != np.float64 or not array.flags.c_contiguous:
        return False
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return owner is not None and memoryview(owner).readonly


def indexed(where: Iterable[int]) -> str:
    """(1, 2) -> '[1][2]', as the place would be written."""
    return "".join(f"[{i}]" for i in where)


def require(place: str, array: Array, good: NDArray[np.bool_], rule: str, remedy: str = "") -> None:
    """Refuse the first entry that breaks a rule, naming it."""
    if not good.all():
        where = tuple(int(i) for i in np.argwhere(~good)[0])
        refuse(InvalidModel, place + indexed(where), rule, float(array[where]), remedy)


def positive(
    place: str, value: ArrayLike, ndims: Iterable[int] = (1, 2), span: tuple[float, float] = (1e-300, 1e300)
) -> Array:
    """Parameters above zero, within a span in which the formulas of the family hold."""
    array = reading(place, value, ndims)
    require(place, array, array > 0, "must be above 0")
    low, high = span
    require(place, array, (array >= low) & (array <= high), f"must be between {low:g} and {high:g}", RESCALE)
    return array


def proportions(place: str, value: ArrayLike, ndims: Iterable[int] = (1, 2)) -> Array:
    """Parameters in [0, 1]."""
    array = reading(place, value, ndims)
    require(place, array, (array >= 0) & (array <= 1), "must be between 0 and 1")
    return array


def counts(place: str, value: ArrayLike, ndims: Iterable[int] = (1, 2)) -> Array:
    """Parameters that are whole numbers from 0, up to where doubles tell them apart."""
    array = reading(place, value, ndims)
    require(place, array, (array >= 0) & (array == np.floor(array)), "must be a whole number from 0")
    require(place, array, array <= EXACT, f"must be at most 2^53 = {EXACT:.0f}")
    return array


def same_shape(place: str, first: Array, second: Array) -> None:
    """Refuse two parameters of one family that differ in shape."""
    if first.shape != second.shape:
        refuse(InvalidModel, place, f"must have the shape {first.shape} of the parameter before it", second.shape)


def distributions(
    place: str, value: ArrayLike, ndims: Iterable[int], rule: str = "probabilities must sum to 1"
) -> Array:
    """Rows (last axis) of probabilities that sum to one."""
    array = reading(place, value, ndims)
    require(place, array, array >= 0, "probabilities cannot be negative")
    with np.errstate(over="ignore"):
        sums = np.asarray(array.sum(axis=-1))
    off = np.abs(sums - 1.0)
    if (off > SUM_TOLERANCE).any():
        where = tuple(int(i) for i in np.argwhere(off > SUM_TOLERANCE)[0])
        refuse(
            InvalidModel, place + indexed(where), f"{rule} within {SUM_TOLERANCE:g}", float(sums[where]), "rescale them"
        )
    # Left untouched within 4 K ulp, so that saving and loading changes no bit.
    loose = off > 4 * array.shape[-1] * np.finfo(np.float64).eps
    if loose.any():
        array = np.where(loose[..., None], array / sums[..., None], array)
        array.flags.writeable = False
    return array


def wide(array: Array) -> Array:
    """(K,) or (K, F) as (K, F): a scalar family has one column."""
    return array[:, None] if array.ndim == 1 else array


def outer_rows(tables: Sequence[Array]) -> Array:
    """Tables (K, M_1), (K, M_2), ... -> (K, M_1 M_2 ...): products of their entries, the last one changes fastest."""
    product = tables[0]
    for table in tables[1:]:
        product = (product[:, :, None] * table[:, None, :]).reshape(len(table), -1)
    return product
