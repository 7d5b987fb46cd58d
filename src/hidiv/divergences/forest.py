"""Several independent trees in place of one: what is compared on them adds up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import hypot, isinf
from typing import Any, NoReturn, TypeGuard

import numpy as np
from numpy.typing import NDArray

from hidiv.divergences.joint.visits import tree_size
from hidiv.divergences.result import Detail, Divergence, Parts, Status
from hidiv.errors import HidivError, InvalidTree, OutOfRange, counted, refuse
from hidiv.models.tree import Tree, as_tree
from hidiv.types import Array

STANDINGS: tuple[Status, ...] = ("exact", "certified", "estimate", "approximation")  # the last one there counts


@dataclass(frozen=True)
class Forest:
    """Independent trees, in the order they came."""

    trees: tuple[Tree, ...]

    @property
    def n_nodes(self) -> float:
        """All nodes together, +inf where no double holds them."""
        return sum(tree_size(tree) for tree in self.trees)

    def __iter__(self) -> Iterator[Tree]:
        return iter(self.trees)

    def __len__(self) -> int:
        return len(self.trees)

    def __str__(self) -> str:
        nodes = "" if isinf(self.n_nodes) else f" with {counted(int(self.n_nodes), 'node')} together"
        return f"on {counted(len(self.trees), 'independent tree')}{nodes}"


Several = Sequence[Tree | int] | NDArray[np.int64] | Forest  # independent trees, as they are handed in


def is_forest(tree: Any) -> TypeGuard[Several]:
    """Whether several trees were handed in: a list, a tuple or an array of lengths."""
    return isinstance(tree, list | tuple | Forest) or (isinstance(tree, np.ndarray) and tree.ndim == 1)


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
            raise type(error)(f"tree[{i}]: {error}") from None
    return Forest(tuple(made))


def tree_alone() -> NoReturn:
    """per_tree for a single tree."""
    refuse(HidivError, "per_tree", "is for a list of trees", remedy="give the tree in a list, or leave it out")


def over_forest(
    trees: Any, measured: Callable[[Tree], Divergence], *, per_node: bool = False, per_tree: bool = False
) -> Divergence:
    """The divergence of independent trees, which is the sum of theirs; trees that are alike are measured once.

    It stands as the least certain of them does. `per_node` divides by all nodes, `per_tree` by the number of trees.
    """
    forest = as_forest(trees)
    alike: dict[Tree, list[int]] = {}
    for i, tree in enumerate(forest):
        alike.setdefault(tree, []).append(i)
    found = []
    for tree, places in alike.items():
        try:
            found.append(measured(tree))
        except HidivError as error:
            raise type(error)(f"tree[{places[0]}]: {error}") from None
    counts = np.array([len(places) for places in alike.values()], dtype=np.float64)
    if per_node and per_tree:
        refuse(HidivError, "per_tree", "is one way to divide and per_node another", remedy="ask for one of them")
    size = forest.n_nodes if per_node else float(len(forest)) if per_tree else 1.0
    order = np.empty(len(forest), dtype=np.int64)
    for k, places in enumerate(alike.values()):
        order[places] = k
    return _added(forest, found, counts / size, order, size, "node" if per_node else "tree" if per_tree else None)


def _added(
    forest: Forest, found: list[Divergence], weights: Array, order: NDArray[np.int64], size: float, per: str | None
) -> Divergence:
    """The weighted sum of results, with bounds and standing."""
    first = found[0]
    value = float(sum(w * one.value for w, one in zip(weights, found, strict=True)))
    infinite = list(dict.fromkeys(reason for one in found for reason in one.infinite))
    if isinf(value) and not infinite:
        refuse(OutOfRange, "value", "is beyond the range of doubles on trees this large", remedy="give fewer trees")
    status = max((one.status for one in found), key=STANDINGS.index)
    lower, upper = _bounds(found, weights)
    drawn = [one.n_samples for one in found if one.n_samples is not None]
    errors = [w * one.std_error for w, one in zip(weights, found, strict=True) if one.std_error is not None]
    return Divergence(
        value, first.quantity, status, lower, upper,
        hypot(*errors) if errors and status == "estimate" and not isinf(value) else None,
        sum(drawn) if drawn else None,
        unit=first.unit, per=per,
        infinite=infinite,
        certificate=None if status != "certified" else {"trees": [one.certificate for one in found]},
        notes=_notes(forest, found, value * size),
        subject=f"{first.subject.partition(' on ')[0]} {forest}",
        detail=Detail(partial(_parts, found, weights), partial(_by_node, found, order, size)),
    )  # fmt: skip


def _bounds(found: list[Divergence], weights: Array) -> tuple[float | None, float | None]:
    """What holds for every tree adds up; 95 % intervals of independent estimates add up as standard errors do."""
    if any(one.lower is None or one.upper is None for one in found):
        return None, None
    sides = []
    for side in ("lower", "upper"):
        total, drawn = 0.0, 0.0
        for w, one in zip(weights, found, strict=True):
            if one.status == "estimate" and not isinf(one.value):
                total, drawn = total + w * one.value, hypot(drawn, w * (getattr(one, side) - one.value))
            else:
                total += w * getattr(one, side)
        sides.append(total - drawn if side == "lower" else total + drawn)
    return sides[0], sides[1]


def _notes(forest: Forest, found: list[Divergence], total: float) -> list[str]:
    size = forest.n_nodes
    each = "" if isinf(size) else f", {total / size:.10g} per node"
    said = [f"independent trees add up: {total:.10g} in all, {total / len(forest):.10g} per tree{each}"]
    standings = {status: sum(one.status == status for one in found) for status in STANDINGS}
    if sum(count > 0 for count in standings.values()) > 1:
        told = ", ".join(f"{count} {status}" for status, count in standings.items() if count)
        said.append(f"of {len(found)} different trees {told}")
    said += list(dict.fromkeys(note for one in found for note in one.notes)) if len(found) == 1 else []
    return said


def _parts(found: list[Divergence], weights: Array) -> Parts | None:
    parts = [one.parts for one in found]
    if any(one is None for one in parts):
        return None
    scaled = [one.scaled(float(w)) for one, w in zip(parts, weights, strict=True) if one is not None]
    initial, rows, states = ([getattr(one, name) for one in scaled] for name in ("initial", "rows", "states"))
    return Parts(float(sum(initial)), np.sum(rows, axis=0), np.sum(states, axis=0))


def _by_node(found: list[Divergence], order: NDArray[np.int64], size: float) -> Array | None:
    """The nodes of all trees, one tree after the other."""
    profiles = [one.by_node for one in found]
    if any(profile is None for profile in profiles):
        return None
    return np.concatenate([profiles[k] for k in order]) / size
