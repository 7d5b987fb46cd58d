"""A matrix of divergences that says what it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Status = Literal["exact", "approximation", "estimate"]


@dataclass(frozen=True, eq=False, repr=False)
class PairwiseMatrix:
    """Divergences of all pairs in nats, (M, M'): row i, column j is D(models[i] || others[j]).

    Used as an array: `np.asarray(matrix)`, `matrix[i, j]`, arithmetic and numpy's functions; what an array has and this
    has not (`min`, `T`, ...) is the array's. `values` is a zarr array where a store was asked for.
    """

    values: Any  # an ndarray, or a zarr array that is read when looked at
    quantity: Literal["joint", "posterior", "observed"]
    status: Status
    symmetric: bool  # D(p || q) + D(q || p) in place of D(p || q)
    notes: tuple[str, ...] = ()
    std_error: Any = None  # of every entry where the status is "estimate", kept as the values are
    names: tuple[str | None, ...] = ()  # of the rows
    other_names: tuple[str | None, ...] = ()  # of the columns
    finished: NDArray[np.bool_] | None = None  # after an interrupt: the pairs that are there, NaN marks the others

    @property
    def shape(self) -> tuple[int, int]:
        """(M, M')."""
        rows, columns = self.values.shape
        return int(rows), int(columns)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        array = self.values if isinstance(self.values, np.ndarray) else self.values[...]
        return np.array(array, dtype=dtype) if copy else np.asarray(array, dtype=dtype)

    def __getitem__(self, index: Any) -> Any:
        return self.values[index]

    def __len__(self) -> int:
        return self.shape[0]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(np.asarray(self), name)

    def __repr__(self) -> str:
        rows, columns = self.shape
        what = "Jeffreys, D(p || q) + D(q || p)" if self.symmetric else "D(row || column)"
        return f"{rows} x {columns} {self.quantity} divergences in nats, {what}, {self.status}"

    def __add__(self, other: Any) -> Any:
        return np.asarray(self) + other

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return np.asarray(self) - other

    def __mul__(self, other: Any) -> Any:
        return np.asarray(self) * other

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return np.asarray(self) / other

    def __lt__(self, other: Any) -> Any:
        return np.asarray(self) < other

    def __le__(self, other: Any) -> Any:
        return np.asarray(self) <= other

    def __gt__(self, other: Any) -> Any:
        return np.asarray(self) > other

    def __ge__(self, other: Any) -> Any:
        return np.asarray(self) >= other

    def __eq__(self, other: object) -> Any:
        return np.asarray(self) == other

    def __ne__(self, other: object) -> Any:
        return np.asarray(self) != other

    __hash__ = None  # type: ignore[assignment]
