"""Models: initial law, transitions and emissions, tied by groups (definitions (1.1))."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from hidiv.emissions.dicts import emission_from_dict, emission_to_dict
from hidiv.emissions.family import Family
from hidiv.emissions.tabular import tabular
from hidiv.errors import IncompatibleModels, InvalidModel, counted, refuse
from hidiv.markup import card, table
from hidiv.models.checks import (
    check_format,
    check_keys,
    read_columns,
    read_emission,
    read_initial,
    read_names,
    read_selection,
    read_transition,
)
from hidiv.models.symbol_names import SymbolNames, read_symbol_names
from hidiv.recursions.gth import cesaro_law
from hidiv.types import Array, Flags, IntArray
from hidiv.values import Value

if TYPE_CHECKING:
    from hidiv.models.tree import Tree


Transition = ArrayLike | Sequence[ArrayLike | None]

SMALL, COLUMNS, WIDTH = 6, 8, 110  # states, parameters of the emission and letters of a model that is shown in full
SHOWN_GROUPS = 3  # in a notebook


@dataclass(frozen=True, eq=False, repr=False)
class Model(Value):
    """A hidden Markov chain or tree model: initial law, transitions and emissions.

    Frozen, and checked at construction. Equal, hashed, copied and pickled by value.

    Parameters
    ----------
    initial : array-like of shape (K,) or "stationary"
        The law of the root's state; "stationary" takes the stationary law of the transition.
    transition : array-like of shape (K, K) or (G, K, K), or list of G matrices and None
        Row s is the law of a child's state given its parent's state s. Several matrices are one for each group of
        nodes; None for a group that holds the root only.
    emission : family or list of G families
        The laws of an observation given its node's state, for example `hd.Gaussian`; a list has one for each group.
    name : str, optional
        The name of the model in messages and tables.
    state_names : sequence of str, optional
        The names of the K states.
    end : array-like of shape (K,), optional
        The probability that a chain stops after each state; each row of the transition and its end sum to one. By
        default the length is that of the tree.
    symbol_names : sequence of str, or one such sequence (or None) a column, optional
        The names of the symbols 0, 1, ... of categorical columns; None for a column of numbers.
    column_names : sequence of str, optional
        The names of the columns of an observation, all different: what `select` takes, and what tables, plots and
        reports show. A fit to a table with headings has them.

    Attributes
    ----------
    n_states, n_groups, n_features : int
        The number of states K, of groups G, and of columns of an observation.
    transitions : ndarray of shape (G, K, K)
        All transitions, zeros where a group has none; G is 1 without groups.
    has_transition : ndarray of shape (G,)
        Which groups have a transition.
    emissions : tuple of families
        All families, one without groups.

    Raises
    ------
    InvalidModel
        Where a part breaks a rule; the message names the place.

    Notes
    -----
    The law is that of definitions (1.1). A part with one group ignores the groups of a tree.

    Examples
    --------
    >>> import hidiv as hd
    >>> hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1, 4]), name="rain")
    Model 'rain': 2 states, poisson emission
         initial  to 0  to 1  rate
      0      0.5   0.9   0.1     1
      1      0.5   0.2   0.8     4
    """

    initial: Array  # (K,)
    transitions: Array  # (G, K, K), G = 1 when ungrouped; zeros where a group has none
    has_transition: Flags  # (G,)
    emissions: tuple[Family, ...]  # G families, one without groups
    end: Array | None  # (K,)
    name: str | None
    state_names: tuple[str, ...] | None
    symbol_names: SymbolNames | None  # an entry for each column
    column_names: tuple[str, ...] | None

    def __init__(
        self,
        initial: ArrayLike | str,
        transition: Transition,
        emission: Family | Sequence[Family],
        *,
        name: str | None = None,
        state_names: Sequence[str] | None = None,
        end: ArrayLike | None = None,
        symbol_names: Sequence[Any] | None = None,
        column_names: Sequence[str] | None = None,
    ) -> None:
        transitions, present, end_law = read_transition(transition, end)
        n_states = int(transitions.shape[-1])
        emissions = read_emission(emission, n_states)
        if 1 not in (len(present), len(emissions)) and len(present) != len(emissions):
            refuse(
                InvalidModel,
                "emission",
                f"needs one family or one for each of the {len(present)} transition groups",
                len(emissions),
            )
        fields = {
            "initial": read_initial(initial, transitions, end_law),
            "transitions": transitions,
            "has_transition": present,
            "emissions": emissions,
            "end": end_law,
            "name": None if name is None else read_names("name", [name], 1)[0],
            "state_names": None if state_names is None else read_names("state_names", state_names, n_states),
            "symbol_names": None if symbol_names is None else read_symbol_names(symbol_names, emissions),
            "column_names": None if column_names is None else read_columns(column_names, emissions),
        }
        for key, value in fields.items():
            object.__setattr__(self, key, value)

    @cached_property
    def n_states(self) -> int:
        """Number of hidden states K."""
        return int(self.initial.shape[0])

    @cached_property
    def n_groups(self) -> int:
        """Number of groups G of the grouped parts; 1 for a homogeneous model."""
        return max(len(self.has_transition), len(self.emissions))

    @cached_property
    def fits_every_tree(self) -> bool:
        """Whether no tree lacks a group of the model, or has nodes for which the model has no transition."""
        return self.n_groups == 1 and bool(self.has_transition[0])

    @property
    def transition(self) -> Array | list[Array | None]:
        """The transitions in the form they were given: (K, K), (G, K, K), or a list where some group has none."""
        if len(self.has_transition) == 1:
            return np.asarray(self.transitions[0])
        if self.has_transition.all():
            return self.transitions
        return [t if present else None for t, present in zip(self.transitions, self.has_transition, strict=True)]

    @property
    def emission(self) -> Family | tuple[Family, ...]:
        """The family, or a tuple with one for each group."""
        return self.emissions[0] if len(self.emissions) == 1 else self.emissions

    @cached_property
    def n_features(self) -> int:
        """Columns of an observation; 0 for a silent model."""
        return max(family.n_features for family in self.emissions)

    def stationary(self) -> Array:
        """Compute the long-run law of the states.

        Returns
        -------
        ndarray of shape (K,)
            The Cesaro limit of initial T^i, which exists for reducible and periodic chains too.

        Raises
        ------
        InvalidModel
            Where the model has several transitions or end probabilities.

        Examples
        --------
        >>> import hidiv as hd
        >>> hd.Model([1, 0], [[0.9, 0.1], [0.2, 0.8]], hd.Silent(2)).stationary().round(6)
        array([0.666667, 0.333333])
        """
        if len(self.has_transition) > 1 or self.end is not None:
            what = "groups" if self.end is None else "end probabilities"
            refuse(InvalidModel, self.title, f"a model with {what} has no stationary law")
        return cesaro_law(self.initial, self.transitions[0])

    def relabel(self, perm: Sequence[int] | IntArray) -> Model:
        """Renumber the states.

        Parameters
        ----------
        perm : sequence of int
            New state i is old state perm[i].

        Returns
        -------
        Model
            The same law with its states in the new order.

        Raises
        ------
        InvalidModel
            Where `perm` is no permutation of the states.

        Examples
        --------
        >>> import hidiv as hd
        >>> hd.Model([1, 0], [[0.9, 0.1], [0.2, 0.8]], hd.Silent(2)).relabel([1, 0]).transition
        array([[0.8, 0.2],
               [0.1, 0.9]])
        """
        order = np.asarray(perm)
        named = order.dtype.kind in "iu" and order.shape == (self.n_states,)
        if not named or sorted(order.tolist()) != list(range(self.n_states)):
            refuse(InvalidModel, "perm", f"must be a permutation of 0..{self.n_states - 1}", order.tolist())
        return self._with(
            initial=self.initial[order],
            transitions=self.transitions[:, order[:, None], order],
            emissions=tuple(family.take(order) for family in self.emissions),
            state_names=None if self.state_names is None else tuple(self.state_names[i] for i in order),
            end=None if self.end is None else self.end[order],
        )

    def _with(self, **changed: Any) -> Model:
        """The model with other values of some fields, which need no further check; new arrays are made read-only."""
        other = object.__new__(Model)
        for key in (field.name for field in fields(self)):
            value = changed.get(key, getattr(self, key))
            if key in changed and isinstance(value, np.ndarray):
                value = np.ascontiguousarray(value)
                value.flags.writeable = False
            object.__setattr__(other, key, value)
        return other

    def select(self, columns: int | str | Sequence[int | str]) -> Model:
        """Keep some columns of the observations.

        Parameters
        ----------
        columns : int, str, or a sequence of them
            The columns to keep, by number or by name, in the order wanted.

        Returns
        -------
        Model
            The law of the states and of those columns: the others are summed out exactly.

        Raises
        ------
        InvalidModel
            Where there is no such column, where one is listed twice, or none is left.

        Examples
        --------
        >>> import hidiv as hd
        >>> marks = hd.Bernoulli([[0.9, 0.1, 0.5], [0.2, 0.3, 0.5]])
        >>> m = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], marks, column_names=["H3K4me1", "H3K9ac", "CTCF"])
        >>> m.select(["CTCF", "H3K4me1"]).emission.probs
        array([[0.5, 0.9],
               [0.5, 0.2]])
        """
        kept = read_selection(columns, self.n_features, self.column_names)
        widths = [family.n_features for family in self.emissions]
        if set(widths) - {0, self.n_features}:
            refuse(InvalidModel, "columns", "cannot be chosen where groups show different numbers of columns", widths)
        return Model(
            self.initial, self.transition, [family.select(kept) for family in self.emissions],
            name=self.name, state_names=self.state_names, end=self.end,
            symbol_names=None if self.symbol_names is None else [self.symbol_names[f] for f in kept],
            column_names=None if self.column_names is None else [self.column_names[f] for f in kept],
        )  # fmt: skip

    def renamed(self, name: str | None, *, column_names: Sequence[str] | None = None) -> Model:
        """Give the model another name, or its columns other names.

        Parameters
        ----------
        name : str or None
            The new name.
        column_names : sequence of str, optional
            New names for the columns; by default they keep theirs.

        Returns
        -------
        Model
            The same model with that name.

        Examples
        --------
        >>> import hidiv as hd
        >>> hd.Model([1.0], [[1.0]], hd.Silent(1)).renamed("coin")
        Model 'coin': 1 state, silent emission
             initial  to 0
          0        1     1
        """
        columns = self.column_names if column_names is None else read_columns(column_names, self.emissions)
        return self._with(name=None if name is None else read_names("name", [name], 1)[0], column_names=columns)

    def to_dict(self) -> dict[str, Any]:
        """Describe the model as its JSON file does.

        Returns
        -------
        dict
            Lists, numbers and texts, from which `from_dict` builds the model again, bit for bit.

        Examples
        --------
        >>> import hidiv as hd
        >>> hd.Model([1.0], [[1.0]], hd.Poisson([2.0])).to_dict()["emission"]
        {'family': 'poisson', 'rate': [2.0]}
        """
        described: dict[str, Any] = {"format": "hidiv.model", "version": 1}
        if self.name is not None:
            described["name"] = self.name
        if self.state_names is not None:
            described["state_names"] = list(self.state_names)
        if self.symbol_names is not None:
            columns = [None if names is None else list(names) for names in self.symbol_names]
            described["symbol_names"] = columns[0] if len(columns) == 1 else columns
        if self.column_names is not None:
            described["column_names"] = list(self.column_names)
        described["initial"] = self.initial.tolist()
        transition = self.transition
        described["transition"] = (
            [None if t is None else t.tolist() for t in transition]
            if isinstance(transition, list)
            else transition.tolist()
        )
        if self.end is not None:
            described["end"] = self.end.tolist()
        families = [emission_to_dict(family) for family in self.emissions]
        described["emission"] = families[0] if len(families) == 1 else families
        return described

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> Model:
        """Build a model from its description.

        Parameters
        ----------
        described : mapping
            A description in the form of `to_dict`. Its format and version may be left out, and are checked when
            present.

        Returns
        -------
        Model
            The model.

        Raises
        ------
        InvalidModel
            Where a key is missing or unknown, or a part breaks a rule.

        Examples
        --------
        >>> import hidiv as hd
        >>> hd.Model.from_dict({"initial": [1], "transition": [[1]], "emission": {"family": "poisson", "rate": [2]}})
        Model: 1 state, poisson emission
             initial  to 0  rate
          0        1     1     2
        """
        check_keys(
            InvalidModel,
            described,
            ("initial", "transition", "emission"),
            ("format", "version", "name", "state_names", "symbol_names", "column_names", "end"),
        )
        check_format(InvalidModel, described, "hidiv.model")
        emission = described["emission"]
        if isinstance(emission, list):
            families: Family | list[Family] = [emission_from_dict(e, f"emission[{g}]") for g, e in enumerate(emission)]
        else:
            families = emission_from_dict(emission, "emission")
        return cls(
            described["initial"], described["transition"], families,
            name=described.get("name"), state_names=described.get("state_names"), end=described.get("end"),
            symbol_names=described.get("symbol_names"), column_names=described.get("column_names"),
        )  # fmt: skip

    @property
    def title(self) -> str:
        """How messages name the model: "model", or "model 'rain'"."""
        return "model" if self.name is None else f"model {self.name!r}"

    @property
    def headline(self) -> str:
        """The model in one line: its name, states, emission and groups."""
        groups = f", {self.n_groups} groups" if self.n_groups > 1 else ""
        kinds = "/".join(dict.fromkeys(family.name for family in self.emissions))
        return f"{self.title.capitalize()}: {counted(self.n_states, 'state')}, {kinds} emission{groups}" + (
            ", with end" if self.end is not None else ""
        )

    def __repr__(self) -> str:
        return "\n".join([self.headline, *_lines(self)])

    def _repr_html_(self) -> str:
        """The parameters as tables, in a notebook."""
        states = _state_names(self)
        starts = [[float(value)] for value in self.initial]
        heads = ["initial", *(f"to {name}" for name in states), *(["end"] if self.end is not None else [])]
        blocks = []
        for g, (matrix, present) in enumerate(zip(self.transitions, self.has_transition, strict=True)):
            if g >= SHOWN_GROUPS or not present:
                continue
            ends = [[] if self.end is None else [float(self.end[s])] for s in range(self.n_states)]
            rows = [(name, [*starts[s], *matrix[s].tolist(), *ends[s]]) for s, name in enumerate(states)]
            caption = f"transition, group {g}" if len(self.transitions) > 1 else "transition"
            blocks.append(table(heads, rows, caption, [row for _, row in rows]))
        for g, family in enumerate(self.emissions[:SHOWN_GROUPS]):
            names, values = tabular(family)
            caption = f"emission: {family.name}" + (f", group {g}" if len(self.emissions) > 1 else "")
            if names:
                blocks.append(table(names, list(zip(states, values.tolist(), strict=True)), caption))
        more = max(len(self.transitions), len(self.emissions)) - SHOWN_GROUPS
        return card(self.headline, *blocks, notes=[f"{more} more groups"] if more > 0 else [])


def _lines(model: Model) -> list[str]:
    """The parameters of a small model, a line for each state."""
    emission = model.emissions[0]
    names, values = tabular(emission)
    if model.n_states > SMALL or model.n_groups > 1 or len(names) > COLUMNS or hasattr(emission, "components"):
        return []
    states = _state_names(model)
    heads = ["initial", *(f"to {name}" for name in states), *(["end"] if model.end is not None else []), *names]
    parts = [model.initial[:, None], model.transitions[0], *([model.end[:, None]] if model.end is not None else [])]
    cells = [[f"{value:.4g}" for value in row] for row in np.hstack([*parts, values])]
    widths = [max(len(head), *(len(row[c]) for row in cells)) for c, head in enumerate(heads)]
    first = max(map(len, states))
    if 2 + first + sum(width + 2 for width in widths) > WIDTH:
        return []
    rows = [heads, *cells]
    return [
        f"  {name:<{first}}" + "".join(f"  {cell:>{width}}" for cell, width in zip(row, widths, strict=True))
        for name, row in zip(["", *states], rows, strict=True)
    ]


def _state_names(model: Model) -> list[str]:
    return [str(s) for s in range(model.n_states)] if model.state_names is None else list(model.state_names)


def by_group(table: Array, groups: int) -> Array:
    """A table by group, contiguous: as it is when grouped, repeated for every group when not."""
    return np.ascontiguousarray(table if len(table) > 1 else np.broadcast_to(table, (groups, *table.shape[1:])))


def check_groups(model: Model, tree: Tree, who: str) -> None:
    """Refuse a tree whose groups the grouped parts of a model do not have (definitions, section 1)."""
    for part, count in (("transition", len(model.has_transition)), ("emission", len(model.emissions))):
        if count == 1:
            continue
        if tree.kind == "regular":
            if count != tree.depth:
                refuse(
                    IncompatibleModels,
                    f"{who}.{part}",
                    f"has {count} groups, a regular tree of {counted(tree.depth, 'level')} needs one a level",
                    remedy="group by level or use one group",
                )
            continue
        group = tree.group
        if group is None:
            refuse(
                IncompatibleModels,
                f"{who}.{part}",
                f"has {count} groups but the tree has none",
                remedy="give the tree a group for each node",
            )
        if int(group.max()) >= count:
            node = int(np.argmax(group >= count))
            refuse(
                IncompatibleModels,
                f"{who}.{part}",
                f"has {count} groups, node {node} of the tree is in group {int(group[node])}",
                remedy=f"groups count from 0 to {count - 1}",
            )
    if not model.has_transition.all() and tree.depth > 1:
        _check_none(model, tree, who)


def _check_none(model: Model, tree: Tree, who: str) -> None:
    """Refuse a group without a transition that holds nodes other than the root."""
    if tree.kind == "regular":
        used = np.arange(1, tree.depth)
    else:
        assert tree.group is not None
        used = np.unique(tree.group[1:])
    for g in used:
        if not model.has_transition[g]:
            refuse(
                IncompatibleModels,
                f"{who}.transition[{int(g)}]",
                "is null but nodes other than the root are in this group",
                remedy="give it a matrix",
            )
