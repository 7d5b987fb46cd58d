"""`PairwiseMatrix`: a matrix of divergences that says what it holds, and its form in JSON and NPZ files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf, log
from typing import Any, Literal, get_args

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from hidiv import markup
from hidiv.comparison.late_notes import LateNotes, settled_state
from hidiv.divergences.measures.names import MEASURES
from hidiv.errors import HidivError, InvalidFile, MissingExtra, refuse
from hidiv.types import Array

Quantity = Literal[
    "joint", "aligned", "posterior", "observed", "product_kernel", "coemission", "bhattacharyya", "hellinger",
    "total_variation", "bayes_error", "jensen_shannon", "aggregated_wasserstein", "sahraeian_yoon",
]  # fmt: skip
Status = Literal["exact", "approximation", "estimate"]

Arrays = Mapping[str, NDArray[Any]]
Fields = tuple[Any, ...]  # the arguments of a PairwiseMatrix, in their order

FORMAT = "hidiv.matrix"


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
    notes: LateNotes = LateNotes()  # noqa: RUF009 - a descriptor, which is the same for all
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
        if self.quantity in MEASURES:
            return "symmetric"
        return "Jeffreys, D(p || q) + D(q || p)" if self.symmetric else "D(row || column)"

    @property
    def unit(self) -> str:
        """The unit of the entries; most measures are plain numbers."""
        known = MEASURES.get(self.quantity)
        return "nats" if known is None else known.unit

    @property
    def words(self) -> str:
        """What the entries are, in words."""
        known = MEASURES.get(self.quantity)
        return f"{self.quantity} divergences in nats" if known is None else known.words

    def dissimilarities(self) -> Array:
        """(M, M'): larger for models farther apart: the entries, or what they are below those of equal models.

        One less a normalised kernel, a Bhattacharyya coefficient or a Sahraeian-Yoon similarity, one less twice a Bayes
        error; co-emission probabilities K give K(p, p) + K(q, q) - 2 K(p, q) and need a square matrix.
        """
        table, known = np.asarray(self), MEASURES.get(self.quantity)
        if known is None or not known.largest_is_nearest:
            return table
        if self.quantity == "bayes_error":
            return np.asarray(1.0 - 2.0 * table)
        own = np.diagonal(table) if table.shape[0] == table.shape[1] else np.ones(0)
        if self.quantity == "sahraeian_yoon" or (self.quantity != "coemission" and (own == 1.0).all()):
            return np.asarray(1.0 - table)
        if table.shape[0] != table.shape[1]:
            refuse(HidivError, "dissimilarities", "kernels that are not normalised need a square matrix", table.shape)
        return np.maximum(own[:, None] + own - 2.0 * table, 0.0)

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

        D(p || q) + D(q || p) where the matrix has one direction only; `dissimilarities` of other measures. Infinite
        entries stay infinite.
        """
        table = self.dissimilarities()
        if table.shape[0] != table.shape[1]:
            refuse(HidivError, "condensed", "needs a square matrix: the same models in rows and columns", table.shape)
        above = np.triu_indices(len(table), 1)
        return np.asarray(table[above] if self.symmetric else table[above] + table.T[above])

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, as a JSON file holds them; infinity as a text, a missing pair as null."""
        error = None if self.std_error is None else _plain(self.std_error)
        return {
            "quantity": self.quantity, "status": self.status, "symmetric": self.symmetric, "unit": self.unit,
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
        # `matrix += 1` gives a plain array, as `matrix + 1` does.
        if any(out is self for out in options.get("out", ())):
            del options["out"]
        return getattr(ufunc, method)(*plain, **options)

    def __matmul__(self, other: Any) -> Any:
        return np.asarray(self) @ other

    def __getitem__(self, index: Any) -> Any:
        return self.values[index]

    def __iter__(self) -> Iterator[Array]:
        return iter(np.asarray(self))

    def __len__(self) -> int:
        return self.shape[0]

    def __getstate__(self) -> dict[str, Any]:
        return settled_state(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "values":  # `values` is missing only while a copy is being made
            raise AttributeError(name)
        return getattr(np.asarray(self), name)

    def _repr_html_(self) -> str:
        """The matrix as a shaded table, in a notebook."""
        values = np.asarray(self, dtype=np.float64)
        top = float(values[np.isfinite(values)].max(initial=0.0)) or 1.0
        names, others = self.labels()
        shades = np.sqrt(np.clip(np.nan_to_num(values, posinf=np.inf), 0.0, None) / top).tolist()
        rows = list(zip([str(name) for name in names], values.tolist(), strict=True))
        shown = markup.table([str(name) for name in others], rows, "", shades)
        return markup.card(repr(self), shown, notes=self.notes)

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"{rows} x {columns} {self.words}, {self.direction}, {self.status}"

    __hash__ = None  # type: ignore[assignment]


def _plain(table: Any) -> list[list[Any]]:
    listed = np.asarray(table).tolist()
    return [[None if x != x else x if abs(x) < inf else "inf" for x in row] for row in listed]


def arrays_of(matrix: PairwiseMatrix) -> dict[str, NDArray[Any]]:
    """The members of an NPZ file; `hidiv cluster` reads them too."""
    rows, columns = matrix.labels()
    arrays: dict[str, NDArray[Any]] = {
        "format": np.array(FORMAT),
        "matrix": np.asarray(matrix),
        "rows": np.array(rows),
        "columns": np.array(columns),
        "named_rows": _named(matrix.names, len(rows)),
        "named_columns": _named(matrix.other_names, len(columns)),
        "quantity": np.array(matrix.quantity),
        "status": np.array(matrix.status),
        "symmetric": np.array(int(matrix.symmetric)),
        "notes": np.array(matrix.notes or ("",)),
        "unit": np.array(matrix.unit),
    }
    if matrix.std_error is not None:
        arrays["std_error"] = np.asarray(matrix.std_error)
    if matrix.finished is not None:
        arrays["finished"] = matrix.finished.astype(np.int64)
    return arrays


def fields_of_arrays(arrays: Arrays) -> Fields:
    """What an NPZ file holds of a matrix."""
    for key in ("matrix", "rows", "columns"):
        if key not in arrays:
            refuse(InvalidFile, key, "is missing")
    if "quantity" not in arrays or "status" not in arrays:
        rule = "is missing: the file does not say what its numbers are"
        refuse(InvalidFile, "quantity", rule, remedy="write it again, with hd.save or hidiv pairwise --out d.npz")
    finished = np.asarray(arrays["finished"]) > 0 if "finished" in arrays else None
    return _checked(
        arrays["matrix"],
        str(arrays["quantity"]),
        str(arrays["status"]),
        bool(np.asarray(arrays.get("symmetric", 0)).item()),
        tuple(str(note) for note in np.atleast_1d(arrays["notes"]) if note) if "notes" in arrays else (),
        arrays.get("std_error"),
        _names(arrays, "rows"),
        _names(arrays, "columns"),
        finished,
        str(arrays["unit"]) if "unit" in arrays else "nats",
    )


def fields_of_described(described: Mapping[str, Any]) -> Fields:
    """The matrix of a JSON file."""
    for key in ("quantity", "status", "symmetric", "matrix", "names"):
        if described.get(key) is None:
            refuse(InvalidFile, key, "is missing")
    values = _read("matrix", described["matrix"])
    names = tuple(described["names"])
    others = tuple(described.get("other_names", names))
    error = described.get("std_error")
    missing = np.isnan(values)
    return _checked(
        values,
        described["quantity"],
        described["status"],
        described["symmetric"] is True,
        tuple(str(note) for note in described.get("notes", ())),
        None if error is None else _read("std_error", error),
        names,
        others,
        ~missing if missing.any() else None,
        described.get("unit", "nats"),
    )


def _checked(
    values: Any, quantity: Any, status: Any, symmetric: bool, notes: tuple[str, ...], std_error: Any,
    names: tuple[str | None, ...], others: tuple[str | None, ...], finished: Any, unit: Any,
) -> Fields:  # fmt: skip
    """The arguments, refused where a matrix cannot have them; in nats."""
    for key, value, known in (("quantity", quantity, Quantity), ("status", status, Status)):
        if value not in get_args(known):
            refuse(InvalidFile, key, f"must be one of {', '.join(get_args(known))}", value)
    if unit not in ("nats", "bits", ""):
        refuse(InvalidFile, "unit", "must be nats or bits", unit)
    if values.ndim != 2 or values.dtype != np.float64 or not values.size:
        refuse(InvalidFile, "matrix", "must be rows of numbers", f"shape {values.shape}")
    if (len(names) or values.shape[0], len(others) or values.shape[1]) != values.shape:
        refuse(InvalidFile, "matrix", "must have a row and a column for every name", f"shape {values.shape}")
    for key, table in (("std_error", std_error), ("finished", finished)):
        if table is not None and table.shape != values.shape:
            refuse(InvalidFile, key, f"must have the shape of the matrix, {values.shape}", f"{table.shape}")
    present = np.ones(values.shape, dtype=np.bool_) if finished is None else finished
    if np.isnan(values[present]).any():
        refuse(InvalidFile, "matrix", "a divergence is a number", "NaN")
    if unit == "bits":
        values, std_error = values * log(2.0), None if std_error is None else std_error * log(2.0)
    return values, quantity, status, symmetric, notes, std_error, names, others, finished


def _read(key: str, rows: Any) -> NDArray[np.float64]:
    try:
        return np.array([[np.nan if x is None else float(x) for x in row] for row in rows], dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        refuse(InvalidFile, key, 'must be rows of numbers, "inf" or null, all of one length')


def _named(names: tuple[str | None, ...], size: int) -> NDArray[np.int64]:
    return np.array([name is not None for name in names or (None,) * size], dtype=np.int64)


def _names(arrays: Arrays, key: str) -> tuple[str | None, ...]:
    names = [str(name) for name in np.atleast_1d(arrays[key])]
    flags = np.atleast_1d(arrays.get(f"named_{key}", np.ones(len(names))))
    if flags.shape != (len(names),):
        refuse(InvalidFile, f"named_{key}", f"must have {len(names)} entries", f"{flags.shape}")
    return tuple(name if flag else None for name, flag in zip(names, flags.tolist(), strict=True))
