"""`match`: the states of many models brought to one labelling, with how sure each match is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hidiv.adapters.as_model import as_model
from hidiv.arguments import whole
from hidiv.divergences.alignment.align import alignment
from hidiv.divergences.pair import Pair, check_observations, families
from hidiv.divergences.quantities import header
from hidiv.divergences.result import plain
from hidiv.divergences.saved_checks import read_saved
from hidiv.emissions.family import Family
from hidiv.errors import HidivError, counted, refuse
from hidiv.models.model import Model
from hidiv.models.tree import Tree, as_tree
from hidiv.models.until_end import UNTIL_END
from hidiv.types import Array, IntArray
from hidiv.values import Value

CANDIDATES = 30  # models that the most central one is looked for among
FAR = 1e6  # stands for an infinite distance where states are assigned
ROUNDS = 10  # of matching again with the rows of the last match
SURE = 0.5  # certainty from which a match is called sure
DRAWS = 300  # from each state, where the overlap has no formula


@dataclass(frozen=True, eq=False, repr=False)
class Matching(Value):
    """Models whose states carry the labels of one reference, as `hd.match` returns it.

    Parameters
    ----------
    models : tuple of Model
        The models with their states in the order of the reference; states without a partner come last.
    permutations : tuple of tuple of int
        New state i of a model is its old state permutation[i].
    partners : tuple of tuple of int or None
        For each new state the state of the reference it is matched with; None for a state without a partner.
    certainty : tuple of ndarray
        For each new state how sure the match is: 1 where no other state is anywhere near, 0 for a tie or no partner,
        negative where another state would be nearer.
    reference : Model
        The model whose labels are taken.
    position : int or None
        The place of the reference among the models.
    names : tuple of str
        The names of the models.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1.0, 9.0]))
    >>> hd.match([p, p.relabel([1, 0])]).permutations
    ((0, 1), (1, 0))
    """

    models: tuple[Model, ...]
    permutations: tuple[tuple[int, ...], ...]
    partners: tuple[tuple[int | None, ...], ...]
    certainty: tuple[Array, ...]
    reference: Model
    position: int | None
    names: tuple[str, ...]

    @property
    def missing(self) -> tuple[tuple[int, ...], ...]:
        """For each model the states of the reference that none of its states is matched with."""
        every = range(self.reference.n_states)
        return tuple(tuple(s for s in every if s not in partners) for partners in self.partners)

    @property
    def unmatched(self) -> tuple[tuple[int, ...], ...]:
        """For each model its own states (by their new numbers) without a partner."""
        return tuple(tuple(i for i, s in enumerate(partners) if s is None) for partners in self.partners)

    @property
    def weakest(self) -> float:
        """The least certainty of all matches."""
        sure = [
            float(value)
            for values, partners in zip(self.certainty, self.partners, strict=True)
            for value, partner in zip(values, partners, strict=True)
            if partner is not None
        ]
        return min(sure, default=1.0)

    def summary(self) -> str:
        """The answer in one sentence."""
        doubtful = [
            f"{name}'s state {i}"
            for name, values, partners in zip(self.names, self.certainty, self.partners, strict=True)
            for i, (value, partner) in enumerate(zip(values, partners, strict=True))
            if partner is not None and value < SURE
        ]
        without = sum(map(len, self.unmatched))
        sentences = [f"every match is sure (at least {self.weakest:.2f})"]
        if doubtful:
            shown = ", ".join(doubtful[:4]) + (f" and {len(doubtful) - 4} more" if len(doubtful) > 4 else "")
            sentences = [f"{counted(len(doubtful), 'match', 'matches')} in doubt: {shown}"]
        if without:
            sentences.append(f"{counted(without, 'state')} without a partner")
        if any(self.missing):
            least = sum(map(len, self.missing))
            sentences.append(f"{counted(least, 'state')} of the reference not found")
        number = counted(len(self.models), "model")
        return f"{number} with the labels of {self._reference_name()}: {'; '.join(sentences)}"

    def _reference_name(self) -> str:
        return self.reference.name or ("the reference" if self.position is None else self.names[self.position])

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and texts, ready for JSON."""
        return header("matching") | {
            "models": [model.to_dict() for model in self.models],
            "permutations": [list(order) for order in self.permutations],
            "partners": [list(each) for each in self.partners],
            "certainty": [plain(each) for each in self.certainty], "reference": self.reference.to_dict(),
            "position": self.position, "names": list(self.names),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> Matching:
        """The result of a description as `to_dict` writes it."""

        def build() -> Matching:
            partners = ([None if s is None else int(s) for s in each] for each in described["partners"])
            position = described["position"]
            return cls(
                tuple(map(Model.from_dict, described["models"])),
                tuple(tuple(map(int, order)) for order in described["permutations"]), tuple(map(tuple, partners)),
                tuple(_read_only(np.array(each, dtype=np.float64)) for each in described["certainty"]),
                Model.from_dict(described["reference"]), None if position is None else int(position),
                tuple(map(str, described["names"])),
            )  # fmt: skip

        keys = ("models", "permutations", "partners", "certainty", "reference", "position", "names")
        return read_saved(described, "hidiv.matching", keys, build)

    def __repr__(self) -> str:
        return self.summary()


def match(models: Any, reference: Any = None, *, tree: Tree | int | None = None) -> Matching:
    """Bring the states of many models to one labelling.

    Parameters
    ----------
    models : sequence or dict of Model, Collection, or of fitted models of supported libraries
        The models, those of a dict with its keys as names; their numbers of states may differ.
    reference : int or Model, optional
        The model whose labels are taken, by its place in `models` or itself. By default the one that the others are
        nearest to.
    tree : Tree or int, optional
        The tree on which states are matched; needed for models with groups. By default a long chain.

    Returns
    -------
    Matching
        The relabelled models, their permutations, and how sure each match is.

    Raises
    ------
    HidivError
        Where there are no models, or `reference` is none of them.
    IncompatibleModels
        Where models show different kinds of observations.

    See Also
    --------
    align : the best order of the states of one model.
    agreement : whether the models agree, states aside.

    Notes
    -----
    Models with as many states as the reference are put in the order that makes the joint divergence smallest. Where it
    is infinite, because of zeros, they are matched at the least total distance of laws and rows; models with other
    numbers of states at that of laws alone. How sure a match is compares distances (definitions (13.2)): with a to the
    partner and b to the nearest other state, on either side, it is (b - a) / max(a, b).

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Gaussian([0.0, 9.0], std=[1.0, 1.0]), name="p")
    >>> hd.match([p, p.relabel([1, 0])], 0)
    2 models with the labels of p: every match is sure (at least 1.00)
    """
    several = listed_models(models)
    names = tuple(model.name or f"model {i}" for i, model in enumerate(several))
    if reference is None:
        position: int | None = _central(several)
    elif isinstance(reference, int | np.integer) and not isinstance(reference, bool):
        position = whole("reference", reference, 0, len(several) - 1)
    else:
        position = None
    anchor = as_model(reference) if position is None else several[position]
    orders, partners, certainty = [], [], []
    for model in several:
        order, partner = _matched(anchor, model, tree)
        orders.append(tuple(order.tolist()))
        partners.append(partner)
        certainty.append(_read_only(_certainty(anchor, model.relabel(order), partner)))
    relabelled = tuple(model.relabel(order) for model, order in zip(several, orders, strict=True))
    return Matching(relabelled, tuple(orders), tuple(partners), tuple(certainty), anchor, position, names)


def listed_models(models: Any) -> list[Model]:
    """Several models that a caller gave, at least one; the restarts of a fit are its models."""
    kept = getattr(models, "restarts", None)
    if kept:
        models = kept
    if isinstance(models, Model) or (not isinstance(models, Sequence) and not hasattr(models, "__iter__")):
        refuse(HidivError, "models", "must be a list of models", type(models).__name__)
    if isinstance(models, Mapping) and "format" not in models:
        several = [as_model(model).renamed(str(name)) for name, model in models.items()]
    else:
        several = [as_model(model) for model in models]
    if not several:
        refuse(HidivError, "models", "must not be empty")
    return several


def _matched(anchor: Model, model: Model, tree: Tree | int | None) -> tuple[IntArray, tuple[int | None, ...]]:
    """The order of a model's states, and the partner of each in that order."""
    if model is anchor:
        return np.arange(model.n_states), tuple(range(model.n_states))
    if model.n_states == anchor.n_states:
        place = UNTIL_END if anchor.end is not None else None if tree is None else as_tree(tree)
        aligned = alignment(Pair.of(anchor, model, place, by_states="joint"))
        order = np.array(aligned.permutation) if not aligned.infinite else _by_distances(anchor, model)
        return order, tuple(range(len(order)))
    theirs, ours = _assigned(law_distances(anchor, model))
    rest = [s for s in range(model.n_states) if s not in ours.tolist()]
    partners: tuple[int | None, ...] = (*theirs.tolist(), *(None for _ in rest))
    return np.array([*ours.tolist(), *rest], dtype=np.int64), partners


def _by_distances(anchor: Model, model: Model) -> IntArray:
    """The order of as many states at the least total distance of laws and rows, for models with zeros.

    Where every order has an infinite joint divergence, the number of zeros would decide, and not what states show.
    """
    laws = law_distances(anchor, model)
    order = _assigned(laws)[1]
    for _ in range(ROUNDS):
        back = np.argsort(order)  # rows in the order of now, columns as they were
        following = _assigned(laws + _row_distances(anchor, model.relabel(order))[:, back])[1]
        if (following == order).all():
            break
        order = following
    return order


def _assigned(distances: Array) -> tuple[IntArray, IntArray]:
    """Rows and columns matched at the least total distance, rows in order."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(np.minimum(distances, FAR))
    return np.asarray(rows, dtype=np.int64), np.asarray(columns, dtype=np.int64)


def _certainty(anchor: Model, model: Model, partners: tuple[int | None, ...]) -> Array:
    """(K,): how much nearer each state is to its partner than to any other, both ways."""
    table = law_distances(anchor, model)
    if model.n_states == anchor.n_states:
        table = table + _row_distances(anchor, model)
    sure = np.zeros(model.n_states)
    for i, partner in enumerate(partners):
        if partner is None:
            continue
        own = table[partner, i]
        others = np.append(np.delete(table[:, i], partner), np.delete(table[partner], i))
        nearest = float(others.min()) if others.size else np.inf
        if np.isinf(nearest) or np.isinf(own):
            sure[i] = float(np.isfinite(own)) - float(np.isfinite(nearest))
        else:
            sure[i] = (nearest - own) / max(nearest, own) if max(nearest, own) > 0 else 0.0
    return sure


def _central(models: list[Model]) -> int:
    """The model at the least total distance from the others, of those with the commonest number of states."""
    counts = [model.n_states for model in models]
    commonest = max(set(counts), key=lambda k: (counts.count(k), -k))
    some = [i for i, k in enumerate(counts) if k == commonest][:CANDIDATES]
    total = np.zeros(len(some))
    for a, i in enumerate(some):
        for b, j in enumerate(some[:a]):
            table = law_distances(models[i], models[j])
            cost = np.minimum(table, FAR)[_assigned(table)].sum()
            total[a] += cost
            total[b] += cost
    return some[int(np.argmin(total))]


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


def law_distances(p: Model, q: Model) -> Array:
    """(K, K'): how far apart the laws of what states show are, summed over groups.

    The Renyi divergence of order 1/2, minus twice the logarithm of the overlap: symmetric, and finite where laws meet.
    """
    check_observations(p, q)
    return np.asarray(sum(_family_distances(one, two) for one, two in families(p, q)))


def _row_distances(p: Model, q: Model) -> Array:
    """(K, K): the same of the rows of transitions of two models with paired states, averaged over groups."""
    total = np.zeros((p.n_states, q.n_states))
    count = max(len(p.transitions), len(q.transitions))
    for g in range(count):
        one, two = (m.transitions[min(g, len(m.transitions) - 1)] for m in (p, q))
        rows = [np.sqrt(t if m.end is None else np.column_stack([t, m.end])) for t, m in ((one, p), (two, q))]
        with np.errstate(divide="ignore"):
            total += -2.0 * np.log(np.minimum(rows[0] @ rows[1].T, 1.0)) / count
    return total


def _family_distances(p: Family, q: Family) -> Array:
    """(K, K'): by formula where there is one, else on draws."""
    if not p.n_features:
        return np.zeros((p.n_states, q.n_states))
    first, second = (index.ravel() for index in np.indices((p.n_states, q.n_states)))
    if p.alphabet() is not None and q.alphabet() is not None:
        overlap = np.sqrt(p.symbol_table()) @ np.sqrt(q.symbol_table()).T
        with np.errstate(divide="ignore"):
            return np.asarray(-2.0 * np.log(np.minimum(overlap, 1.0)))
    try:
        table = p.take(first).renyi(q.take(second), 0.5).reshape(p.n_states, q.n_states)
    except (HidivError, NotImplementedError):
        table = _drawn(p, q)
    return np.maximum(table, 0.0)


def _drawn(p: Family, q: Family) -> Array:
    """(K, K'): the overlap as the mean of 2 sqrt(pq) / (p + q) over draws from both."""
    rng = np.random.default_rng(0)
    x = [family.draw(np.repeat(np.arange(family.n_states), DRAWS), rng) for family in (p, q)]
    overlap = np.zeros((p.n_states, q.n_states))
    for side, points in enumerate(x):
        one, two = p.log_weight(points), q.log_weight(points)  # (n, K), (n, K')
        with np.errstate(over="ignore", invalid="ignore"):
            each = 1.0 / np.cosh(0.5 * (one[:, :, None] - two[:, None, :]))
        each = np.where(np.isnan(each), 0.0, each)
        size = (p, q)[side].n_states
        means = each.reshape(size, DRAWS, p.n_states, q.n_states).mean(axis=1)
        index = np.arange(size)
        overlap += 0.5 * (means[index, index] if side == 0 else means[index, :, index].T)
    with np.errstate(divide="ignore"):
        return np.asarray(-2.0 * np.log(np.minimum(overlap, 1.0)))
