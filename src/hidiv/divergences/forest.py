"""Several independent trees in place of one: their divergences add up."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import hypot, isinf
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from hidiv.divergences.infinite import SMOOTHED
from hidiv.divergences.quantities import STATUSES
from hidiv.divergences.result import Detail, Divergence, Parts
from hidiv.errors import HidivError, InvalidTree, OutOfRange, counted, refuse
from hidiv.models.tree import Tree, as_tree
from hidiv.types import Array


class Forest(tuple[Tree, ...]):
    """Independent trees, in the order they were given."""

    __slots__ = ()

    @property
    def n_nodes(self) -> float:
        """All nodes together, +inf where no double holds them."""
        return sum(tree.size for tree in self)

    def __str__(self) -> str:
        nodes = "" if isinf(self.n_nodes) else f" with {counted(int(self.n_nodes), 'node')} together"
        return f"on {counted(len(self), 'independent tree')}{nodes}"


def as_forest(trees: Any) -> Forest:
    """Trees and lengths of chains as a forest."""
    if isinstance(trees, Forest):
        return trees
    if len(trees) == 0:
        refuse(
            InvalidTree, "tree", "a list of trees needs at least one", remedy="give a tree, a length or a list of them"
        )
    made = []
    for i, tree in enumerate(trees):
        try:
            made.append(as_tree(tree))
        except HidivError as error:
            raise type(error)(f"tree[{i}]: {str(error).removeprefix('tree: ')}") from None
    return Forest(made)


def tree_alone() -> NoReturn:
    """Refuse per_tree for a single tree."""
    refuse(HidivError, "per_tree", "is for a list of trees", remedy="give the tree in a list, or leave it out")


def over_forest(
    trees: Any, measured: Callable[[Tree], Divergence], *, per_node: bool = False, per_tree: bool = False
) -> Divergence:
    """The divergence of independent trees, which is the sum of theirs; trees that are alike are measured once.

    Its status is that of the least certain of them. `per_node` divides by all nodes, `per_tree` by the number of trees.
    """
    forest = as_forest(trees)
    alike: dict[Tree, list[int]] = {}
    for i, tree in enumerate(forest):
        alike.setdefault(tree, []).append(i)
    results = []
    for tree, places in alike.items():
        try:
            results.append(measured(tree))
        except HidivError as error:
            raise type(error)(f"tree[{places[0]}]: {error}") from None
    counts = np.array([len(places) for places in alike.values()], dtype=np.float64)
    if per_node and per_tree:
        refuse(HidivError, "per_tree", "is one way to divide and per_node another", remedy="ask for one of them")
    size = forest.n_nodes if per_node else float(len(forest)) if per_tree else 1.0
    order = np.empty(len(forest), dtype=np.int64)
    for k, places in enumerate(alike.values()):
        order[places] = k
    return _added(forest, results, counts / size, order, size, "node" if per_node else "tree" if per_tree else None)


def _added(
    forest: Forest, results: list[Divergence], weights: Array, order: NDArray[np.int64], size: float, per: str | None
) -> Divergence:
    """The weighted sum of results, with its bounds and status."""
    first = results[0]
    weighted = list(zip(weights.tolist(), results, strict=True))
    value = float(sum(w * one.value for w, one in weighted))
    infinite = list(dict.fromkeys(reason for one in results for reason in one.infinite))
    if isinf(value) and not infinite:
        refuse(OutOfRange, "value", "is beyond the range of doubles on trees this large", remedy="give fewer trees")
    status = max(results, key=_uncertainty).status
    lower, upper = _bounds(weighted)
    draws = [one.n_samples for one in results if one.n_samples is not None]
    std_errors = [w * one.std_error for w, one in weighted if one.std_error is not None]
    errors = [w * one.error for w, one in weighted if one.error is not None]
    known = not any(one.status == "approximation" and one.error is None for one in results)
    return Divergence(
        value, first.quantity, status, lower, upper,
        hypot(*std_errors) if std_errors and status == "estimate" and not isinf(value) else None,
        sum(draws) if draws else None,
        unit=first.unit, per=per,
        infinite=infinite,
        certificate=None if status != "certified" else {"trees": [one.certificate for one in results]},
        notes=_notes(forest, results, value * size),
        subject=f"{first.subject.partition(' on ')[0]} {forest}",
        error=sum(errors) if errors and known and status == "approximation" and not isinf(value) else None,
        detail=Detail(partial(_parts, results, weights), partial(_by_node, results, order, size)),
    )  # fmt: skip


def _uncertainty(result: Divergence) -> int:
    """0 for an exact result, larger for less certain ones; an approximation with an error goes before an estimate."""
    if result.status == "approximation":
        return 2 if result.error is not None else 4
    return {"exact": 0, "certified": 1, "estimate": 3}[result.status]


def _bounds(weighted: list[tuple[float, Divergence]]) -> tuple[float | None, float | None]:
    """Bounds that hold for every tree add up, and so do errors; deviations of independent estimates as squares do."""
    sides = []
    for side, sign in (("lower", -1.0), ("upper", 1.0)):
        total, deviation = 0.0, 0.0
        for w, one in weighted:
            bound = getattr(one, side)
            if bound is None and one.error is not None:
                bound = one.value + sign * one.error
            if bound is None:
                return None, None
            if one.status == "estimate" and not isinf(one.value):
                total, deviation = total + w * one.value, hypot(deviation, w * (bound - one.value))
            else:
                total += w * bound
        sides.append(total + sign * deviation)
    return sides[0], sides[1]


def _notes(forest: Forest, results: list[Divergence], total: float) -> list[str]:
    """What the trees add up to, how many of them have which status, and the notes they have in common."""
    size = forest.n_nodes
    each = "" if isinf(size) else f", {total / size:.10g} per node"
    notes = [f"independent trees add up: {total:.10g} in all, {total / len(forest):.10g} per tree{each}"]
    counts = {status: sum(one.status == status for one in results) for status in STATUSES}
    if sum(count > 0 for count in counts.values()) > 1:
        kinds = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
        notes.append(f"of {len(results)} different trees {kinds}")
    if len(results) == 1:
        return [*notes, *results[0].notes]
    return [*notes, SMOOTHED] if any(SMOOTHED in one.notes for one in results) else notes


def _parts(results: list[Divergence], weights: Array) -> Parts | None:
    """The weighted sum of the parts; None where one tree has none."""
    parts = [one.parts for one in results]
    if any(one is None for one in parts):
        return None
    scaled = [one.scaled(float(w)) for one, w in zip(parts, weights, strict=True) if one is not None]
    initial, rows, states = ([getattr(one, name) for one in scaled] for name in ("initial", "rows", "states"))
    return Parts(float(sum(initial)), np.sum(rows, axis=0), np.sum(states, axis=0))


def _by_node(results: list[Divergence], order: NDArray[np.int64], size: float) -> Array | None:
    """The nodes of all trees, one tree after the other."""
    profiles = [one.by_node for one in results]
    if any(profile is None for profile in profiles):
        return None
    return np.concatenate([profiles[k] for k in order]) / size
