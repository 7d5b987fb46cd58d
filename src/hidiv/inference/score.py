"""`score`: the gradient of the log-likelihood in every parameter, by Fisher's identity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hidiv.adapters.as_model import as_model
from hidiv.emissions.gradients import Gradients, Items
from hidiv.emissions.weighted import Weighted
from hidiv.errors import HidivError, ImpossibleEvidence, OutOfRange, counted, refuse, sentence
from hidiv.inference.likelihood import representable
from hidiv.inference.parameter_vector import ParameterBlock, on_simplex, stacked_rows
from hidiv.inference.rows import EvidenceRows, evidence_and_tree, lay_out, with_ends
from hidiv.inference.weights import check_end, log_weights, near, symbol_sets
from hidiv.models.checks import frozen
from hidiv.models.evidence import Evidence
from hidiv.models.model import Model, check_groups
from hidiv.models.tree import Tree
from hidiv.recursions.expectation import expect
from hidiv.recursions.tables import Tables
from hidiv.types import Array, IntArray
from hidiv.values import Value

COORDINATES = ("simplex", "entries")


@dataclass(frozen=True, eq=False, repr=False)
class Score(Value):
    """The gradient of a log-likelihood, in the shapes of the parameters; returned by `hd.score`.

    Attributes
    ----------
    initial : ndarray of shape (K,)
        The derivatives in the initial law.
    transition : ndarray of shape (K, K) or (G, K, K)
        The derivatives in the transitions.
    end : ndarray of shape (K,) or None
        The derivatives in the end probabilities; None for a model without them.
    emission : dict, or tuple of dict
        By parameter of the family, in its shape; a tuple has a dict for each group. A product or mixture has a list of
        these for its families.
    log_likelihood : float
        The log-likelihood at the model.
    coordinates : str
        "simplex" or "entries", as asked for.

    Examples
    --------
    >>> import hidiv as hd
    >>> coin = hd.Model([1.0], [[1.0]], hd.Bernoulli([0.25]))
    >>> hd.score(coin, [0, 0, 1]).emission["probs"].round(9).tolist()
    [1.333333333]
    """

    initial: Array
    transition: Array
    end: Array | None
    emission: Any
    log_likelihood: float
    coordinates: str = "simplex"

    def to_dict(self) -> dict[str, Any]:
        """The result as plain numbers and texts."""
        return {
            "format": "hidiv.score", "version": 1, "coordinates": self.coordinates,
            "log_likelihood": self.log_likelihood, "initial": self.initial.tolist(),
            "transition": self.transition.tolist(), "end": None if self.end is None else self.end.tolist(),
            "emission": _plain(self.emission),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> Score:
        """The score of a description as `to_dict` writes it."""
        arrays = {
            key: None if described[key] is None else frozen(np.array(described[key], dtype=np.float64))
            for key in ("initial", "transition", "end")
        }
        assert arrays["initial"] is not None
        assert arrays["transition"] is not None
        return cls(
            arrays["initial"], arrays["transition"], arrays["end"], _arrays(described["emission"]),
            float(described["log_likelihood"]), str(described["coordinates"]),
        )  # fmt: skip

    def __repr__(self) -> str:
        size = max((float(np.abs(part).max(initial=0.0)) for part in _leaves(self)), default=0.0)
        return f"score at log-likelihood {self.log_likelihood:.6g}; the largest derivative is {size:.3g}"


def _leaves(score: Score) -> list[Array]:
    blocks: list[Array] = [part for part in (score.initial, score.transition, score.end) if part is not None]

    def walk(part: Any) -> None:
        if isinstance(part, np.ndarray):
            blocks.append(part)
        else:
            for inner in part.values() if isinstance(part, dict) else part:
                walk(inner)

    walk(score.emission)
    return blocks


def _plain(part: Any) -> Any:
    if isinstance(part, np.ndarray):
        return part.tolist()
    return {key: _plain(value) for key, value in part.items()} if isinstance(part, dict) else [_plain(p) for p in part]


def _arrays(part: Any, nested: bool = False) -> Any:
    if isinstance(part, dict):
        return {
            key: _arrays(value) if _has_dicts(value) else frozen(np.array(value, dtype=np.float64))
            for key, value in part.items()
        }
    parts = [_arrays(each, True) for each in part]
    return parts if nested else tuple(parts)


def _has_dicts(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and isinstance(value[0], dict)


def score(model: Any, evidence: Any, tree: Any = None, *, coordinates: str = "simplex") -> Score:
    """Compute the gradient of the log-likelihood in every parameter.

    Parameters
    ----------
    model : Model or object of a supported library
        Whatever `hd.as_model` takes.
    evidence : Evidence, array-like, DataFrame or list of text, or a list of these
        What is known of the nodes; NaN is not seen. The log-likelihood of a list is the sum over its items.
    tree : Tree, int or list of these, optional
        The tree of the nodes, or one for each item. By default the chain as long as the evidence.
    coordinates : {"simplex", "entries"}, default "simplex"
        Of rows that sum to one (the initial law, transitions with their ends, probabilities of symbols, weights of
        mixtures): "simplex" gives derivatives in z where p = exp(z) / sum exp(z), which sum to 0 in every row;
        "entries" gives those in each entry with the others held, as if rows need not sum to one.

    Returns
    -------
    Score
        The derivatives, in the shapes of the parameters.

    Raises
    ------
    InvalidEvidence
        Where the evidence does not fit the model or the tree.
    IncompatibleModels
        Where the model's groups or end probabilities do not fit the tree.
    ImpossibleEvidence
        Where the model gives the evidence probability 0.

    See Also
    --------
    standard_errors : errors of a fit, from the scores of its data.
    differ : a test of whether groups of sequences differ, from their scores.

    Notes
    -----
    The gradient of definitions (2.4), by Fisher's identity: that of log P(E) is the mean of that of log P(S, E) under
    the law of the states given the evidence, so one smoothing pass gives all of it. Probabilities that are 0 stay 0:
    their derivative is 0 in either kind of coordinates. All other parameters are their own coordinates; the derivative
    in a covariance is the symmetric matrix D with d log P = sum_ij D_ij dC_ij. An initial law that was given as
    "stationary" counts as a parameter of its own. Derivatives are closed forms, except in the shapes of gamma, beta and
    generalized Gaussian laws, the concentration of a von Mises law and the probabilities of binomial, negative binomial
    and geometric laws where a value is known by an interval, and full covariances with intervals: these are taken by
    extrapolated differences.

    References
    ----------
    O. Cappé, E. Moulines and T. Rydén, Inference in Hidden Markov Models, Springer, 2005, section 10.1.

    Examples
    --------
    >>> import hidiv as hd
    >>> two = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1.0, 4.0]))
    >>> gradient = hd.score(two, [0, 1, 5, 4, 1])
    >>> gradient.emission["rate"].round(3).tolist()
    [-0.531, -0.274]
    >>> bool(abs(gradient.transition.sum(axis=1)).max() < 1e-12)
    True
    """
    if coordinates not in COORDINATES:
        refuse(HidivError, "coordinates", 'must be "simplex" or "entries"', coordinates)
    model = as_model(model)
    total: ItemGradients | None = None
    for item, place in _items(evidence, tree):
        known, nodes = evidence_and_tree(item, place)
        check_groups(model, nodes, "model")
        check_end(model, nodes)
        start = np.array([0, nodes.n_nodes])
        each = item_gradients(model, known, start, None if nodes.is_chain else nodes.parent, nodes.group)
        total = each if total is None else total.plus(each)
    assert total is not None
    return total.summed(model, coordinates)


def _items(evidence: Any, tree: Any) -> list[tuple[Any, Any]]:
    """Each item of evidence with its tree."""
    several = (
        isinstance(evidence, list | tuple)
        and len(evidence) > 0
        and all(isinstance(item, Evidence | list | tuple) or getattr(item, "ndim", 0) >= 1 for item in evidence)
    )
    if not several:
        return [(evidence, tree)]
    trees = list(tree) if isinstance(tree, list | tuple) else [tree] * len(evidence)
    if len(trees) != len(evidence):
        items = counted(len(evidence), "item")
        refuse(HidivError, "tree", f"must be one tree, or one for each of the {items} of evidence", len(trees))
    return list(zip(evidence, trees, strict=True))


@dataclass(frozen=True, eq=False)
class ItemGradients:
    """Of each of m items: expected counts of the initial law and of the transitions with ends, derivatives of families.

    initial (m, K); rows (m, G, K, K) or (m, G, K, K + 1); emission: the `Gradients` of every family.
    """

    log_likelihoods: Array  # (m,)
    initial: Array
    rows: Array
    emission: tuple[Gradients, ...]

    def plus(self, other: ItemGradients) -> ItemGradients:
        """The gradients of the items of both, one after the other."""
        return ItemGradients(
            *(_joined(getattr(self, name), getattr(other, name)) for name in self.__dataclass_fields__)
        )

    def at(self, block: ParameterBlock) -> Array:
        """(m, size): the derivatives in the coordinates of a block."""
        if block.path == ("initial",):
            return on_simplex(block.value, self.initial)[:, block.free]
        if block.path == ("transition",):
            return on_simplex(block.value, self.rows)[:, block.free]
        part: Any = self.emission
        for step in block.path[1:]:
            part = part[step]
        return block.project(part)

    def vectors(self, blocks: list[ParameterBlock]) -> Array:
        """(m, P): the score of every item in the coordinates of the blocks."""
        return np.concatenate([self.at(block) for block in blocks], axis=1)

    @np.errstate(all="ignore")
    def summed(self, model: Model, coordinates: str) -> Score:
        """The sum over all items, in the shapes of the parameters."""
        k = model.n_states
        laws = (model.initial, stacked_rows(model))
        counts = (self.initial.sum(axis=0), self.rows.sum(axis=0))
        if coordinates == "simplex":
            initial, rows = (on_simplex(law, count) for law, count in zip(laws, counts, strict=True))
        else:
            initial, rows = (_over(count, law) for law, count in zip(laws, counts, strict=True))
        transition = rows[:, :, :k] if len(rows) > 1 else rows[0, :, :k]
        end = None if model.end is None else frozen(rows[:, :, k].sum(axis=0))
        emission = tuple(
            _in_coordinates(family, gradients, coordinates)
            for family, gradients in zip(model.emissions, self.emission, strict=True)
        )
        found = Score(
            frozen(initial), frozen(transition), end, emission[0] if len(emission) == 1 else emission,
            representable(float(self.log_likelihoods.sum())), coordinates,
        )  # fmt: skip
        if not all(np.isfinite(part).all() for part in _leaves(found)):
            refuse(
                OutOfRange, "evidence", "a derivative of its log-likelihood is beyond the range of doubles",
                remedy="rescale the observations, or use less extreme parameters",
            )  # fmt: skip
        return found


def _over(counts: Array, law: Array) -> Array:
    """counts / law, 0 where the law is."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(law > 0, counts / law, 0.0)


def _joined(one: Any, two: Any) -> Any:
    if isinstance(one, np.ndarray):
        return np.concatenate([one, two])
    if isinstance(one, dict):
        return {key: _joined(one[key], two[key]) for key in one}
    return type(one)(_joined(a, b) for a, b in zip(one, two, strict=True))


def _in_coordinates(family: Any, gradients: Gradients, coordinates: str) -> dict[str, Any]:
    """The derivatives of a family summed over the items, rows in the coordinates asked for."""
    ranges, parameters = family.ranges(), family.parameters()
    result: dict[str, Any] = {}
    for name, value in gradients.items():
        if name == family.nested:
            pairs = zip(parameters[name], value, strict=True)
            result[name] = [_in_coordinates(member, each, coordinates) for member, each in pairs]
            continue
        total = value.sum(axis=0)
        if ranges.get(name) == "rows" and coordinates == "simplex":
            total = on_simplex(parameters[name], parameters[name] * total)
        result[name] = frozen(total)
    return result


@np.errstate(all="ignore")  # slopes where the weight is 0 may be anything, and `summed` looks at what comes out
def item_gradients(
    model: Model, known: Evidence, start: IntArray, parent: IntArray | None, group: IntArray | None
) -> ItemGradients:
    """The gradients of m items: item i holds the nodes start[i]..start[i+1]-1 of the evidence.

    parent (N,) counts from the first node of all and is -1 at roots; None for chains.
    """
    n, m, groups = int(start[-1]), len(start) - 1, len(model.transitions)
    line = Tree.chain(n, group)
    rows = lay_out(known, line, model)
    if m > 1:
        rows = _one_a_node(rows)
    if model.end is not None:
        rows = with_ends(rows, start[1:] - 1)
    weights, shift = near(model, rows, log_weights(model, rows, line))
    item = np.repeat(np.arange(m), np.diff(start))
    # Every item has transitions of its own, so that one pass keeps their counts apart.
    own = np.zeros(n, dtype=np.int64) if groups == 1 or group is None else np.asarray(group)
    tables = Tables(model.initial, np.tile(model.transitions, (m, 1, 1)), weights)
    counts = expect(tables, (parent, own + groups * item, rows.row_of), start)
    if not (counts.log_likelihoods > -np.inf).all():
        worst = int(np.argmin(counts.log_likelihoods > -np.inf))
        place = "evidence" if m == 1 else f"evidence[{worst}]"
        remedy = "check its values, or fill the zeros of the model with hd.smoothed(model, weight)"
        raise ImpossibleEvidence(sentence(place, f"{model.title} gives it probability 0", remedy=remedy))
    values = counts.log_likelihoods
    if shift is not None:
        per_node = shift if rows.row_of is None else shift[rows.row_of]
        values = values + np.add.reduceat(per_node, start[:-1])
    k = model.n_states
    transition = counts.transition.reshape(m, groups, k, k)
    item_of_row = item if m > 1 else np.zeros(rows.n_rows, dtype=np.int64)
    table = counts.rows
    if model.end is not None:
        ended = np.zeros((m, 1, k, 1))
        last = slice(rows.n_rows - rows.n_ended, rows.n_rows)
        if m == 1:
            ended[0, 0, :, 0] = table[last].sum(axis=0)
        else:
            assert rows.row_of is not None
            ended[:, 0, :, 0] = table[rows.row_of[start[1:] - 1]]
            table = table[rows.row_of]
            rows = replace(_one_a_node(rows), n_ended=0)
        transition = np.concatenate([transition, np.repeat(ended, groups, axis=1)], axis=3)
    first = counts.initial[None] if m == 1 else table[start[:-1]]
    emission = []
    for g, family in enumerate(model.emissions):
        alone = rows.group is None or len(model.emissions) == 1
        where: Any = slice(None) if alone else np.flatnonzero(rows.group == g)
        own_rows = _weighted(family, rows, where, table)
        emission.append(family.gradients(own_rows, Items(item_of_row[where], m)))
    return ItemGradients(values, first, transition, tuple(emission))


def _weighted(family: Any, rows: EvidenceRows, where: Any, table: Array) -> Weighted:
    lower, upper = (None if bound is None else bound[where] for bound in (rows.lower, rows.upper))
    return Weighted(rows.x[where], table[where], lower, upper, symbol_sets(family, rows, where))


def _one_a_node(rows: EvidenceRows) -> EvidenceRows:
    """The rows repeated for every node that uses them."""
    if rows.row_of is None:
        return rows
    index = rows.row_of.astype(np.int64)
    lower, upper = (None if part is None else part[index] for part in (rows.lower, rows.upper))
    group = None if rows.group is None else rows.group[index]
    symbols, states = (
        {i: sets[int(old)] for i, old in enumerate(index.tolist()) if int(old) in sets}
        if isinstance(sets, dict)
        else (None if sets is None else sets[index])
        for sets in (rows.symbols, rows.states)
    )
    return EvidenceRows(rows.x[index], lower, upper, symbols, states, group, None, rows.n_ended)
