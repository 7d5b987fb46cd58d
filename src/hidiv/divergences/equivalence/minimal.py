"""`minimal`: a smaller model that is exactly the same process; `order`: how few states any equal model needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hidiv.adapters.as_model import as_model
from hidiv.arguments import number
from hidiv.divergences.equivalence.blocks import indicators, lumped, refined
from hidiv.divergences.equivalence.equivalent import LISTED, PLACES, TOLERANCE, automaton, check_one_group
from hidiv.divergences.equivalence.letters import few, letters_of, own_laws
from hidiv.divergences.equivalence.spanning_words import spanned
from hidiv.divergences.quantities import header
from hidiv.divergences.saved_checks import read_saved
from hidiv.errors import HidivError, IncompatibleModels, counted, refuse
from hidiv.models.model import Model
from hidiv.types import Array, Flags, IntArray
from hidiv.values import Value

SINGULAR = 1e-10  # of the largest: smaller singular values are rounding


@dataclass(frozen=True, eq=False, repr=False)
class Minimal(Value):
    """A smaller model that is the same process, as `hd.minimal` returns it.

    Parameters
    ----------
    model : Model
        The smaller model; the model itself where no states could be merged.
    merged : tuple of tuple of int
        The old states that each new state stands for.
    unreachable : tuple of int
        Old states that are never visited, which were left out.
    order : int or None
        The least number of states that an equal model can have, on chains; None where it is not known, for a model with
        groups or laws that are not linearly independent.
    state_names : tuple of str or None, default None
        The names of the old states.

    Examples
    --------
    >>> import hidiv as hd
    >>> twice = hd.Model([0.4, 0.6], [[0.5, 0.5], [0.3, 0.7]], hd.Poisson([2.0, 2.0]))
    >>> hd.minimal(twice)
    2 states are 1: states 0 and 1 are one; no equal model has fewer
    """

    model: Model
    merged: tuple[tuple[int, ...], ...]
    unreachable: tuple[int, ...]
    order: int | None
    state_names: tuple[str, ...] | None = None

    @property
    def n_states(self) -> int:
        """The number of states left."""
        return self.model.n_states

    def summary(self) -> str:
        """What was merged, in one sentence."""
        before = sum(map(len, self.merged)) + len(self.unreachable)
        merges = [f"states {self._listed(block)} are one" for block in self.merged if len(block) > 1]
        if self.unreachable:
            word = "state" if len(self.unreachable) == 1 else "states"
            merges.append(f"{word} {self._listed(self.unreachable)} never visited")
        what = "; ".join(merges) if merges else "no two states are alike"
        begin = f"{counted(before, 'state')} are {self.n_states}" if merges else counted(before, "state")
        if self.order is None:
            return f"{begin}: {what}"
        least = (
            "no equal model has fewer" if self.order == self.n_states else f"no equal model has fewer than {self.order}"
        )
        return f"{begin}: {what}; {least}"

    def _listed(self, states: tuple[int, ...]) -> str:
        names = [str(s) if self.state_names is None else self.state_names[s] for s in states]
        return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and texts, ready for JSON."""
        return header("minimal") | {
            "model": self.model.to_dict(), "merged": [list(block) for block in self.merged],
            "unreachable": list(self.unreachable), "order": self.order,
            "state_names": None if self.state_names is None else list(self.state_names),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> Minimal:
        """The result of a description as `to_dict` writes it."""

        def build() -> Minimal:
            names, order = described["state_names"], described["order"]
            return cls(
                Model.from_dict(described["model"]), tuple(tuple(map(int, block)) for block in described["merged"]),
                tuple(map(int, described["unreachable"])), None if order is None else int(order),
                None if names is None else tuple(map(str, names)),
            )  # fmt: skip

        keys = ("model", "merged", "unreachable", "order", "state_names")
        return read_saved(described, "hidiv.minimal", keys, build)

    def __repr__(self) -> str:
        return self.summary()


def minimal(p: Any, *, on: str = "chains", tolerance: float = TOLERANCE) -> Minimal:
    """Merge the states of a model that can be merged without changing what it shows.

    States that are never visited are left out. States with equal laws of what they show are merged where they lead to
    each block of merged states with equal probability and, on chains, where they are always entered in one proportion.

    Parameters
    ----------
    p : Model or fitted model of a supported library
        The model; with groups, states are merged that are alike in every group.
    on : {"chains", "trees"}, default "chains"
        Where the smaller model must be the same process; what holds on all trees holds on chains too.
    tolerance : float, default 1e-10
        Probabilities, and relative densities, that differ by at most this count as equal.

    Returns
    -------
    Minimal
        The smaller model, which states became one, and the least number of states that an equal model can have.

    Raises
    ------
    HidivError
        Where an argument is out of range.

    See Also
    --------
    reduce : smaller models that lose something, and how much.
    order : the least number of states of an equal model.

    Notes
    -----
    Definitions (12.3). Merging finds the smallest partition of the states, not always the smallest model: `order` says
    how far a model that is no merged version of p could go.

    Examples
    --------
    >>> import hidiv as hd
    >>> split = hd.Model(
    ...     [0.5, 0.3, 0.2], [[0.9, 0.06, 0.04], [0.2, 0.5, 0.3], [0.2, 0.1, 0.7]],
    ...     hd.Categorical([[0.9, 0.1], [0.3, 0.7], [0.3, 0.7]]))
    >>> result = hd.minimal(split)
    >>> result.merged, result.model.transition.round(6).tolist()
    (((0,), (1, 2)), [[0.9, 0.1], [0.2, 0.8]])
    """
    model, room = as_model(p), number("tolerance", tolerance)
    if on not in PLACES:
        refuse(HidivError, "on", f"must be {' or '.join(PLACES)}", on)
    reached = _reachable(model)
    blocks = [[int(s)] for s in np.flatnonzero(reached)]
    small = model if reached.all() else _taken(model, np.flatnonzero(reached))
    while True:
        labels = _alike_after(small, room)
        weights = np.ones(small.n_states)
        if labels.max() + 1 == small.n_states and on == "chains" and small.n_groups == 1:
            labels, weights = _entered_alike(small, room)
        if labels.max() + 1 == small.n_states:
            break
        small = _merged(small, labels, weights)
        blocks = [sorted(s for i in np.flatnonzero(labels == b) for s in blocks[i]) for b in range(small.n_states)]
    if small.n_states == model.n_states:
        small = model
    return Minimal(
        small, tuple(map(tuple, blocks)), tuple(np.flatnonzero(~reached).tolist()),
        _order_if_known(small, room), model.state_names,
    )  # fmt: skip


def _order_if_known(model: Model, tolerance: float) -> int | None:
    """The order; None for a model with groups, and for laws that are not linearly independent."""
    try:
        return order(model, tolerance=tolerance)
    except IncompatibleModels:
        return None


def order(p: Any, *, tolerance: float = TOLERANCE) -> int:
    """Compute the order of a process: no model of the same process has fewer states.

    Parameters
    ----------
    p : Model or fitted model of a supported library
        The model, with one group.
    tolerance : float, default 1e-10
        Densities that differ relatively by at most this are of the same law.

    Returns
    -------
    int
        The rank of the probabilities of words uw, as a matrix by beginnings u and continuations w.

    Raises
    ------
    IncompatibleModels
        Where the model has groups, or a family's laws are not linearly independent.

    See Also
    --------
    minimal : an equal model with fewer states.

    Notes
    -----
    Definitions (12.2). The order may be smaller than the number of states of the smallest model, because probabilities
    cannot be negative.

    Examples
    --------
    >>> import hidiv as hd
    >>> hd.order(hd.Model([0.4, 0.6], [[0.5, 0.5], [0.3, 0.7]], hd.Poisson([2.0, 2.0])))
    1
    """
    model = as_model(p)
    check_one_group(model, "p")
    letters = few(letters_of([model.emissions[0]], number("tolerance", tolerance)), LISTED // model.n_states**2)
    one = automaton(model, tables=letters.tables)
    before = spanned(one.first, one.step)
    letters_first = one.letters.T[None, :, :]

    def earlier(vectors: Array) -> Array:
        """(B, S, n): what states give words that begin with one more letter."""
        return np.asarray((letters_first * vectors[:, None, :]) @ one.transition.T)

    after = spanned(one.tests.T, earlier)
    sizes = np.linalg.svd(before @ after.T, compute_uv=False)
    return int((sizes > SINGULAR * sizes[0]).sum())


def _reachable(model: Model) -> Flags:
    """(K,): which states are ever visited, in some group."""
    reached = np.asarray(model.initial > 0)
    edges = np.asarray((model.transitions > 0).any(axis=0))
    for _ in range(model.n_states):
        reached = reached | edges[reached].any(axis=0)
    return reached


def _taken(model: Model, states: IntArray) -> Model:
    """The model of some states, to which the others never lead."""
    chosen = np.eye(model.n_states)[:, states]
    return lumped(model, chosen, chosen, [family.take(states) for family in model.emissions])


def _own_laws(model: Model, tolerance: float) -> Array:
    """(K, m): what states show, group by group, and how they end; states with equal rows show the same."""
    tables = [own_laws(family, tolerance) for family in model.emissions]
    if model.end is not None:
        tables.append(model.end[:, None])
    return np.hstack(tables)


def _alike_after(model: Model, tolerance: float) -> IntArray:
    """Blocks of states that show the same and lead to every block with the same probability, in every group."""
    own = _own_laws(model, tolerance)
    transitions = model.transitions[model.has_transition]

    def signature(blocks: Array) -> Array:
        return np.hstack([own, *(t @ blocks for t in transitions)])

    return refined(np.zeros(model.n_states, dtype=np.int64), signature, tolerance)


def _entered_alike(model: Model, tolerance: float) -> tuple[IntArray, Array]:
    """Blocks of states that show the same and are always entered in one proportion, and those proportions.

    Given what was seen they are then always in that proportion, whatever each of them leads to.
    """
    shown = own_laws(model.emissions[0], tolerance)
    entered = np.vstack([model.initial, model.transitions[0]]).T  # (K, 1 + K): how each state is entered
    weights = entered.sum(axis=1)
    shape = entered / weights[:, None]
    labels = refined(np.zeros(model.n_states, dtype=np.int64), lambda blocks: np.hstack([shown, shape]), tolerance)
    return labels, weights


def _merged(model: Model, labels: IntArray, weights: Array) -> Model:
    """The model whose states are the blocks; the states of a block show the same."""
    member = indicators(labels)
    share = member * weights[:, None]
    first = np.argmax(member, axis=0)
    return lumped(model, member, share / share.sum(axis=0), [family.take(first) for family in model.emissions])
