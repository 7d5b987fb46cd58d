"""Numbers of other libraries as doubles; laws in single precision are rescaled to sum to one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np

from hidiv.emissions.parameters import indexed, reading, require
from hidiv.errors import InvalidModel, refuse
from hidiv.types import Array

TOLERANCE = 1e-5  # error of single precision in a sum of probabilities and in the symmetry of a covariance


def numbers(place: str, value: Any, ndims: Iterable[int]) -> Array:
    """Finite doubles, from arrays of numpy, torch, jax and TensorFlow alike."""
    return reading(place, plain(place, value), ndims)


def plain(place: str, value: Any) -> Any:
    """The value as something numpy reads, detached from its graph and moved off its device."""
    if value is None:
        refuse(InvalidModel, place, "is not set", remedy="fit the model, or set its parameters, first")
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    return value.numpy() if hasattr(value, "numpy") and callable(value.numpy) else value


def laws(place: str, value: Any, ndims: Iterable[int]) -> Array:
    """Rows (last axis) of probabilities; sums that are off by single precision are rescaled."""
    array = numbers(place, value, ndims)
    require(place, array, array >= 0, "probabilities cannot be negative")
    sums = array.sum(axis=-1)
    check_sums(place, sums)
    # Rows that sum to one up to rounding stay as they are, so that a round trip changes no bit.
    loose = np.abs(sums - 1.0) > 4 * array.shape[-1] * np.finfo(np.float64).eps
    return np.where(loose[..., None], array / sums[..., None], array)


def check_sums(place: str, sums: Array, what: str = "probabilities") -> None:
    """Refuse sums that differ from one by more than the error of single precision."""
    off = np.abs(sums - 1.0) > TOLERANCE
    if off.any():
        where = tuple(int(i) for i in np.argwhere(off)[0])
        refuse(InvalidModel, place + indexed(where), f"{what} must sum to 1 within {TOLERANCE:g}", float(sums[where]))


def covariances(place: str, value: Any, ndims: Iterable[int]) -> Array:
    """(..., F, F): covariances, made symmetric where single precision left them asymmetric."""
    array = numbers(place, value, ndims)
    if array.shape[-1] != array.shape[-2]:
        refuse(InvalidModel, place, "must be square matrices", array.shape)
    size = np.sqrt(np.abs(np.diagonal(array, axis1=-2, axis2=-1)))
    transposed = np.swapaxes(array, -1, -2)
    if (np.abs(array - transposed) > TOLERANCE * size[..., :, None] * size[..., None, :]).any():
        refuse(InvalidModel, place, f"must be symmetric within {TOLERANCE:g}")
    return np.asarray(0.5 * (array + transposed))


def unset(obj: Any, name: str) -> NoReturn:
    """Refuse a model whose parameters are not set yet."""
    refuse(InvalidModel, name, "is not set", remedy="fit the model, or set its parameters, first")


def attribute(obj: Any, name: str) -> Any:
    """An attribute of a fitted model, refused where it is not set."""
    value = getattr(obj, name, None)
    if value is None:
        unset(obj, name)
    return value


def class_names(obj: Any) -> list[str]:
    """The names of an object's class and of its bases, nearest first."""
    return [each.__name__ for each in type(obj).__mro__]


def unknown(kind: str, obj: Any, known: Iterable[str]) -> NoReturn:
    """Refuse an object of an unknown class of a known library."""
    refuse(InvalidModel, kind, "cannot be read", type(obj).__name__, "known are " + ", ".join(known))
