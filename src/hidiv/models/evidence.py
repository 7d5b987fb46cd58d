"""Evidence: what is known of each node, as values, sets, intervals and allowed states (definitions (1.2))."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hidiv.arguments import is_masked, observations
from hidiv.errors import InvalidEvidence, counted, refuse, shown
from hidiv.models.checks import read_selection
from hidiv.models.symbol_names import SymbolNames, has_headings, text_columns
from hidiv.types import Array, Flags
from hidiv.values import Value

Sets = Mapping[int, tuple[int, ...]]


@dataclass(frozen=True, eq=False, repr=False)
class Evidence(Value):
    """What is known of the nodes of a tree, and of their hidden states.

    Of each node a value, a set of symbols, an interval, or nothing; and which states it may have. A plain array is
    accepted wherever evidence is. Frozen; equal, hashed, copied and pickled by value.

    Parameters
    ----------
    x : array-like of shape (n,) or (n, F), DataFrame or list of text, optional
        The observations; NaN and masked entries are not seen. Text and categories become symbols 0, 1, ..., whose names
        are kept in `symbol_names`.
    missing : array-like of bool, shape (n,), optional
        Nodes whose whole observation is not seen.
    allowed : array-like of bool, shape (n, K), optional
        Which states each node may have.
    symbols : array-like of bool, shape (n, M), optional
        Of categorical observations, the set of symbols each lies in.
    lower, upper : array-like of shape (n,) or (n, F), optional
        The closed interval each observation lies in (a censored value); infinite is unbounded.

    Attributes
    ----------
    n_nodes, n_features : int
        The number of nodes and of columns.
    symbol_names : tuple or None
        The names of the symbols, column by column (None for a column of numbers); None where x holds numbers only.
    column_names : tuple of str or None
        The headings of a table.

    Raises
    ------
    InvalidEvidence
        Where parts do not fit each other; the message names the node.

    Notes
    -----
    Evidence enters all computations through the weights of definitions (1.2).

    Examples
    --------
    >>> import hidiv as hd
    >>> hd.Evidence([0, 2, float("nan")], allowed=[[True, True], [True, False], [True, True]])
    evidence on 3 nodes, 2 with a value
    """

    x: NDArray[Any]  # (n, F), NaN where not seen; integers stay integers
    lower: Array | None  # (n, F)
    upper: Array | None
    allowed: Flags | None  # (n, K)
    symbols: Flags | None  # (n, M)
    symbol_sets: Sets  # by node, for nodes that have one; checked against the model at use
    state_sets: Sets
    is_listed: bool  # built from a list: nodes of the tree beyond it are unrestricted
    symbol_names: SymbolNames | None  # of the numbers in x, column by column; None where x holds numbers only
    column_names: tuple[str, ...] | None  # of a table

    def __init__(
        self,
        x: ArrayLike | None = None,
        *,
        missing: ArrayLike | None = None,
        allowed: ArrayLike | None = None,
        symbols: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
    ) -> None:
        values, names, headings = (None, None, None) if x is None else _values(x)
        low, high = (
            None if bound is None else _bounds(place, bound) for place, bound in (("lower", lower), ("upper", upper))
        )
        states, sets = (
            None if table is None else _flags(place, table, 2)
            for place, table in (("allowed", allowed), ("symbols", symbols))
        )
        hidden = None if missing is None else _flags("missing", missing, 1)
        n = _common_length(
            {"x": values, "lower": low, "upper": high, "allowed": states, "symbols": sets, "missing": hidden}
        )
        shape = next((table.shape for table in (values, low, high) if table is not None), (n, 1))
        if values is None:
            values = np.full(shape, np.nan)
        if hidden is not None:
            values = np.where(hidden[:, None], np.nan, values)
        if low is not None or high is not None:
            low = np.full(shape, -np.inf) if low is None else low
            high = np.full(shape, np.inf) if high is None else high
            _check_intervals(values, low, high)
        if sets is not None:
            both = ~np.isnan(values).all(axis=1) & ~sets.all(axis=1)
            if both.any():
                refuse(
                    InvalidEvidence,
                    f"node {int(np.argmax(both))}",
                    "has a value and a set of symbols",
                    remedy="give one of the two",
                )
        self._set(values, low, high, states, sets, {}, {}, False, names, headings)

    @classmethod
    def from_list(cls, nodes: Sequence[Any]) -> Evidence:
        """Build evidence from a list with an item for each node.

        Parameters
        ----------
        nodes : sequence of mapping or None
            None, {"x": value}, {"in": [symbols]} or {"between": [lower, upper]}, each also with {"states": [allowed
            states]}. Values and bounds may be lists with an entry for each column, None where it is not known or not
            bounded.

        Returns
        -------
        Evidence
            The evidence; nodes of a tree beyond the list are unrestricted. Sets are checked against the model at use.

        Raises
        ------
        InvalidEvidence
            Where an item breaks a rule; the message names the node.

        Examples
        --------
        >>> import hidiv as hd
        >>> hd.Evidence.from_list([{"x": 1}, None, {"between": [2, None]}, {"in": [0, 1], "states": [1]}])
        evidence on 4 nodes, 1 with a value
        """
        if isinstance(nodes, str | Mapping) or not isinstance(nodes, Sequence) or not nodes:
            refuse(InvalidEvidence, "evidence", "must be a non-empty list with one item a node", nodes)
        items = [_item(u, node) for u, node in enumerate(nodes)]
        rows = [(u, key, item[key]) for u, item in enumerate(items) for key in ("x", "between") if key in item]
        widths = {len(value if key == "x" else value[0]) for _, key, value in rows}
        if len(widths) > 1:
            refuse(
                InvalidEvidence, "evidence", "values must have the same number of columns at every node", sorted(widths)
            )
        shape = (len(items), widths.pop() if widths else 1)
        x, low, high = np.full(shape, np.nan), np.full(shape, -np.inf), np.full(shape, np.inf)
        for u, key, value in rows:
            if key == "x":
                x[u] = value
            else:
                low[u], high[u] = value
        _check_intervals(x, low, high)
        symbol_sets, state_sets = (
            {u: item[key] for u, item in enumerate(items) if key in item} for key in ("in", "states")
        )
        evidence = cls.__new__(cls)
        bounded = any(key == "between" for _, key, _ in rows)
        ends = (low, high) if bounded else (None, None)
        evidence._set(x, *ends, None, None, symbol_sets, state_sets, True, None, None)
        return evidence

    @classmethod
    def named(cls, x: Array, symbol_names: SymbolNames | None, column_names: tuple[str, ...] | None) -> Evidence:
        """Build evidence from numbers that stand for symbols with names.

        Parameters
        ----------
        x : ndarray of shape (n, F)
            The numbers; NaN is not seen.
        symbol_names : tuple or None
            The names of the symbols, column by column; None for a column of numbers.
        column_names : tuple of str or None
            The headings of the columns.

        Returns
        -------
        Evidence
            The evidence.

        Examples
        --------
        >>> import numpy as np
        >>> import hidiv as hd
        >>> hd.Evidence.named(np.array([[0.0], [1.0]]), (("dry", "wet"),), None).symbol_names
        (('dry', 'wet'),)
        """
        evidence = cls.__new__(cls)
        evidence._set(x, None, None, None, None, {}, {}, False, symbol_names, column_names)
        return evidence

    def select(self, columns: int | str | Sequence[int | str]) -> Evidence:
        """Keep some columns of the values.

        Parameters
        ----------
        columns : int, str, or a sequence of them
            The columns to keep, by number or by heading, in the order wanted.

        Returns
        -------
        Evidence
            The same evidence without what was known of the other columns.

        Raises
        ------
        InvalidModel
            Where there is no such column, or one is listed twice.

        Examples
        --------
        >>> import hidiv as hd
        >>> hd.Evidence([[1.0, 5.0], [2.0, 6.0]]).select(1).x.tolist()
        [[5.0], [6.0]]
        """
        kept = read_selection(columns, self.n_features, self.column_names)
        some = Evidence.__new__(Evidence)
        some._set(
            self.x[:, kept], *(None if bound is None else bound[:, kept] for bound in (self.lower, self.upper)),
            self.allowed, self.symbols, self.symbol_sets, self.state_sets, self.is_listed,
            None if self.symbol_names is None else tuple(self.symbol_names[f] for f in kept),
            None if self.column_names is None else tuple(self.column_names[f] for f in kept),
        )  # fmt: skip
        return some

    def _set(self, *fields: Any) -> None:
        """Set all fields in their order, arrays as read-only views."""
        for key, value in zip(self.__dataclass_fields__, fields, strict=True):
            if isinstance(value, np.ndarray):
                value = np.ascontiguousarray(value.view())
                value.flags.writeable = False
            object.__setattr__(self, key, value)

    @property
    def n_nodes(self) -> int:
        """Number of nodes described."""
        return int(self.x.shape[0])

    @property
    def n_features(self) -> int:
        """Columns of the values."""
        return int(self.x.shape[1])

    @property
    def is_plain(self) -> bool:
        """Whether nothing but values is known: no intervals, sets of symbols or allowed states."""
        sets = self.allowed is not None or self.symbols is not None or self.symbol_sets or self.state_sets
        return self.lower is None and not sets

    @property
    def has_numbers(self) -> bool:
        """Whether any value is seen or any interval given."""
        return self.lower is not None or not bool(np.isnan(self.x).all())

    def __len__(self) -> int:
        return self.n_nodes

    def __repr__(self) -> str:
        seen = int((~np.isnan(self.x)).any(axis=1).sum())
        return f"evidence on {counted(self.n_nodes, 'node')}, {seen} with a value"


def as_evidence(evidence: Any) -> Evidence:
    """Evidence as it is, anything else as its values; an array of integers is not copied, as it may be long."""
    if isinstance(evidence, Evidence):
        return evidence
    if type(evidence) is np.ndarray and evidence.dtype.kind in "iu" and evidence.ndim == 1 and evidence.size:
        shared = Evidence.__new__(Evidence)
        shared._set(evidence[:, None], None, None, None, None, {}, {}, False, None, None)
        return shared
    return Evidence(evidence)


def _values(x: Any) -> tuple[Array, SymbolNames | None, tuple[str, ...] | None]:
    """(n, F) numbers, the names of those that are symbols, and the headings of a table."""
    if isinstance(x, np.ndarray | list | tuple) or not has_headings(x):
        try:
            return _numbers("x", x), None, None
        except InvalidEvidence:
            if is_masked(x) or not _has_text(x):
                raise
    values, names, headings = text_columns("x", x)
    if not len(values):
        refuse(InvalidEvidence, "x", "must have shape (n,) or (n, F) with n at least 1", values.shape)
    return values, names, headings


def _has_text(x: Any) -> bool:
    """Whether an array or a list (of lists) has text among its entries."""
    try:
        array = np.asarray(x, dtype=object)
    except ValueError:
        return False
    return array.ndim in (1, 2) and any(isinstance(entry, str) for entry in array.ravel().tolist())


def _numbers(place: str, value: ArrayLike) -> Array:
    """(n, F) floats; masked entries become NaN, a vector becomes one column."""
    array = observations(place, value)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[0] == 0:
        refuse(InvalidEvidence, place, "must have shape (n,) or (n, F) with n at least 1", array.shape)
    return array


def _bounds(place: str, value: ArrayLike) -> Array:
    """(n, F) bounds; infinite is unbounded, NaN is refused."""
    array = _numbers(place, value)
    if np.isnan(array).any():
        where = np.argwhere(np.isnan(array))[0]
        refuse(
            InvalidEvidence,
            f"{place}[{int(where[0])}]",
            "a bound cannot be NaN",
            remedy="use an infinite bound for none",
        )
    return array


def _flags(place: str, value: ArrayLike, ndim: int) -> Flags:
    """An array of booleans, given as such or as zeros and ones."""
    array = np.asarray(value)
    if array.ndim != ndim or array.size == 0 or not (array.dtype == np.bool_ or np.isin(array, (0, 1)).all()):
        refuse(InvalidEvidence, place, f"must be a {ndim}-dimensional array of booleans", shown(str(array.shape)))
    return array.astype(np.bool_)


def _common_length(tables: Mapping[str, NDArray[Any] | None]) -> int:
    """The number of nodes, refused where the parts describe different numbers of nodes or columns."""
    given = {place: table for place, table in tables.items() if table is not None}
    if not given:
        refuse(InvalidEvidence, "evidence", "needs at least one of x, missing, allowed, symbols, lower, upper")
    first, n = next((place, len(table)) for place, table in given.items())
    for place, table in given.items():
        if len(table) != n:
            refuse(InvalidEvidence, place, f"must describe {counted(n, 'node')} like {first}", len(table))
    widths = {place: given[place].shape[1] for place in ("x", "lower", "upper") if place in given}
    for place, width in widths.items():
        if width != next(iter(widths.values())):
            refuse(
                InvalidEvidence,
                place,
                f"must have {counted(next(iter(widths.values())), 'column')} like {next(iter(widths))}",
                width,
            )
    return n


def _check_intervals(x: Array, lower: Array, upper: Array) -> None:
    """Refuse bounds in the wrong order, and bounds for a value that is seen."""
    for bad, rule in (
        (lower > upper, "the lower bound is above the upper one"),
        (~np.isnan(x) & ((lower > -np.inf) | (upper < np.inf)), "has a value and an interval"),
    ):
        if bad.any():
            u, column = (int(i) for i in np.argwhere(bad)[0])
            refuse(InvalidEvidence, f"node {u}", rule, f"[{lower[u, column]:g}, {upper[u, column]:g}]")


def _item(u: int, node: Any) -> dict[str, Any]:
    """One item of the list form, checked, with values as lists and sets as tuples."""
    if node is None:
        return {}
    if not isinstance(node, Mapping):
        refuse(InvalidEvidence, f"node {u}", 'must be null or a mapping such as {"x": 1}', node)
    for key in node:
        if key not in ("x", "in", "between", "states"):
            refuse(InvalidEvidence, f"node {u}", "has an unknown key", str(key), "known are x, in, between, states")
    if len({"x", "in", "between"} & set(node)) > 1:
        refuse(InvalidEvidence, f"node {u}", "may have only one of x, in, between", ", ".join(node))
    item: dict[str, Any] = {key: _index_set(u, key, node[key]) for key in ("in", "states") if key in node}
    if "x" in node:
        item["x"] = _row(u, node["x"], np.nan)
    if "between" in node:
        ends = node["between"]
        if not isinstance(ends, Sequence) or isinstance(ends, str) or len(ends) != 2:
            refuse(InvalidEvidence, f"node {u}", '"between" needs a lower and an upper end', ends)
        low, high = _row(u, ends[0], -np.inf), _row(u, ends[1], np.inf)
        width = max(len(low), len(high))
        if {len(low), len(high)} - {1, width}:
            refuse(
                InvalidEvidence,
                f"node {u}",
                '"between" needs ends with the same number of columns',
                f"{len(low)} and {len(high)}",
            )
        item["between"] = tuple(
            end * width if len(end) == 1 and ends[i] is None else end for i, end in enumerate((low, high))
        )
        if len(item["between"][0]) != len(item["between"][1]):
            refuse(
                InvalidEvidence,
                f"node {u}",
                '"between" needs ends with the same number of columns',
                f"{len(low)} and {len(high)}",
            )
    return item


def _row(u: int, value: Any, unknown: float) -> list[float]:
    """A number, or a list of numbers and None, as a list of floats with `unknown` for None."""
    entries = list(value) if isinstance(value, list | tuple | np.ndarray) else [value]
    if not entries:
        refuse(InvalidEvidence, f"node {u}", "needs at least one number", value)
    row = []
    for entry in entries:
        if entry is not None and (isinstance(entry, bool | np.bool_) or not isinstance(entry, int | float | np.number)):
            refuse(InvalidEvidence, f"node {u}", "values are numbers or null", entry)
        row.append(unknown if entry is None else float(entry))
        if np.isnan(row[-1]) and not np.isnan(unknown):
            refuse(InvalidEvidence, f"node {u}", "a bound cannot be NaN", remedy="use null for none")
    return row


def _index_set(u: int, key: str, value: Any) -> tuple[int, ...]:
    """A list of symbols or states as a tuple, refused unless all are whole numbers from 0."""
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(type(i) is int and i >= 0 for i in value):
        refuse(InvalidEvidence, f"node {u}", f'"{key}" needs a list of whole numbers from 0', value)
    return tuple(value)
