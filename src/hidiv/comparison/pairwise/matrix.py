"""A matrix of divergences that says what it holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from hidiv.comparison.pairwise.matrix_files import (
    Arrays,
    Quantity,
    Status,
    arrays_of,
    fields_of_arrays,
    fields_of_described,
)
from hidiv.errors import HidivError, MissingExtra, refuse
from hidiv.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class PairwiseMatrix(NDArrayOperatorsMixin):
    """Divergences of all pairs in nats, (M, M'): row i, column j is D(models[i] || others[j]).

    It is used as an array: `np.asarray(matrix)`, `matrix[i, j]`, arithmetic, comparisons and numpy's functions give
    plain arrays, and attributes of arrays (`min`, `T`, ...) work too. `to_frame()` is a pandas table with the models'
    names, `condensed()` what scipy's linkage takes; `hd.save` writes it as JSON or NPZ. `pairwise_kl` makes it.

    Parameters
    ----------
    values : (M, M') array
        The divergences; an array, or the zarr array of a store, which is read when it is used.
    quantity : {"joint", "aligned", "posterior", "observed"}
        What the entries are divergences of.
    status : {"exact", "approximation", "estimate"}
        How far they can be trusted.
    symmetric : bool
        Whether an entry is D(p || q) + D(q || p) (definitions (3.7)) instead of D(p || q).
    notes : tuple of str, default ()
        How the entries were computed.
    std_error : (M, M') array, default None
        Standard errors of the entries where the status is "estimate".
    names, other_names : tuple of str or None, default ()
        Of the models of rows and columns.
    finished : (M, M') array of bool, default None
        After an interrupt: the finished pairs; the others are NaN.

    Examples
    --------
    >>> import hidiv as hd
    >>> coins = [hd.Model([1.0], [[1.0]], hd.Bernoulli([prob])) for prob in (0.5, 0.75)]
    >>> matrix = hd.pairwise_kl(coins, 2)
    >>> matrix.shape, matrix.status, float(matrix[0, 0])
    ((2, 2), 'exact', 0.0)
    """

    values: Any  # an ndarray, or a zarr array that is read when looked at
    quantity: Quantity
    status: Status
    symmetric: bool  # D(p || q) + D(q || p) in place of D(p || q)
    notes: tuple[str, ...] = ()
    std_error: Any = None  # of every entry where the status is "estimate", kept as the values are
    names: tuple[str | None, ...] = ()  # of the rows
    other_names: tuple[str | None, ...] = ()  # of the columns
    finished: NDArray[np.bool_] | None = None  # after an interrupt: the finished pairs, the others are NaN

    @property
    def shape(self) -> tuple[int, int]:
        """(M, M')."""
        rows, columns = self.values.shape
        return int(rows), int(columns)

    @property
    def direction(self) -> str:
        """What an entry is, in words."""
        return "Jeffreys, D(p || q) + D(q || p)" if self.symmetric else "D(row || column)"

    def labels(self) -> tuple[list[str], list[str]]:
        """Names of rows and columns, the place in the list for a model without one."""
        first, second = (
            [str(i) if name is None else name for i, name in enumerate(given or (None,) * size)]
            for given, size in zip((self.names, self.other_names), self.shape, strict=True)
        )
        return first, second

    def to_frame(self) -> Any:
        """A pandas DataFrame: rows and columns by the models' names.

        >>> import hidiv as hd
        >>> coins = [hd.Model([1.0], [[1.0]], hd.Bernoulli([prob]), name=f"coin {prob}") for prob in (0.5, 0.75)]
        >>> float(hd.pairwise_kl(coins, 2).to_frame().loc["coin 0.5", "coin 0.75"])  # 2 log(2 / sqrt(3))
        0.287682072...
        """
        try:
            from pandas import DataFrame  # type: ignore[import-untyped,unused-ignore]
        except ModuleNotFoundError:
            refuse(MissingExtra, "to_frame", "needs pandas", remedy="pip install pandas")
        rows, columns = self.labels()
        return DataFrame(np.array(self), index=rows, columns=columns)

    def condensed(self) -> Array:
        """(M (M - 1) / 2,): the pairs above the diagonal, row by row, as scipy's linkage takes them.

        D(p || q) + D(q || p) where the matrix has one direction only. Infinite entries stay infinite.
        """
        table = np.asarray(self)
        if table.shape[0] != table.shape[1]:
            refuse(HidivError, "condensed", "needs a square matrix: the same models in rows and columns", table.shape)
        above = np.triu_indices(len(table), 1)
        return np.asarray(table[above] if self.symmetric else table[above] + table.T[above])

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, as a JSON file holds them; infinity as a text, a missing pair as null."""
        error = None if self.std_error is None else _plain(self.std_error)
        return {
            "quantity": self.quantity, "status": self.status, "symmetric": self.symmetric, "unit": "nats",
            "names": list(self.names), "other_names": list(self.other_names), "notes": list(self.notes),
            "matrix": _plain(self), "std_error": error,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> PairwiseMatrix:
        """A matrix from the form of `to_dict`."""
        return cls(*fields_of_described(described))

    def to_arrays(self) -> Arrays:
        """Named arrays, as an NPZ file holds them."""
        return arrays_of(self)

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> PairwiseMatrix:
        """A matrix from the form of `to_arrays`."""
        return cls(*fields_of_arrays(arrays))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        array = self.values if isinstance(self.values, np.ndarray) else self.values[...]
        return np.array(array, dtype=dtype) if copy else np.asarray(array, dtype=dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [np.asarray(x) if isinstance(x, PairwiseMatrix) else x for x in inputs]
        return getattr(ufunc, method)(*plain, **options)

    def __matmul__(self, other: Any) -> Any:
        return np.asarray(self) @ other

    def __getitem__(self, index: Any) -> Any:
        return self.values[index]

    def __iter__(self) -> Iterator[Array]:
        return iter(np.asarray(self))

    def __len__(self) -> int:
        return self.shape[0]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "values":  # `values` is missing only while a copy is being made
            raise AttributeError(name)
        return getattr(np.asarray(self), name)

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"{rows} x {columns} {self.quantity} divergences in nats, {self.direction}, {self.status}"

    __hash__ = None  # type: ignore[assignment]


def _plain(table: Any) -> list[list[Any]]:
    listed = np.asarray(table).tolist()
    return [[None if x != x else x if abs(x) < inf else "inf" for x in row] for row in listed]
