"""Objects that are equal, hashed, copied and pickled by value, their arrays included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np


class Sentences(tuple[str, ...]):
    """A tuple of texts that is also equal to a list of the same texts."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return tuple(self) == (tuple(other) if isinstance(other, list) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__


class Value:
    """Base of frozen dataclasses: arrays are compared entry by entry and stay read-only in copies and pickles."""

    def _held(self) -> Any:
        """What is compared between two objects."""
        return tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        return same(self._held(), other._held()) if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self).__name__, hashable(self._held())))

    def __getstate__(self) -> dict[str, Any]:
        # Only fields: cached values can be computed again.
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def __setstate__(self, state: dict[str, Any]) -> None:
        restore(self, state)


def restore(obj: object, state: Mapping[str, Any]) -> None:
    """Set the attributes of an unpickled object, with arrays read-only, as numpy restores them writable."""
    for key, value in state.items():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        object.__setattr__(obj, key, value)


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal: arrays by shape and entries (NaN equals NaN), containers by their members."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.array_equal(a, b, equal_nan=a.dtype.kind == b.dtype.kind == "f")
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return False
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return bool(a == b) or (a != a and b != b)


def hashable(value: Any) -> Any:
    """A hashable form of a value; equal values have equal ones."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "OUS":
            return (value.shape, tuple(value.ravel().tolist()))
        number = np.complex128 if value.dtype.kind == "c" else np.float64  # integers as floats, -0.0 as 0.0
        return (value.shape, (value.astype(number) + 0.0).tobytes())
    if isinstance(value, tuple | list):
        return tuple(hashable(v) for v in value)
    if isinstance(value, Mapping):
        return frozenset((key, hashable(v)) for key, v in value.items())
    return "nan" if value != value else value
