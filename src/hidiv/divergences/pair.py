"""Two models to be compared on a tree: adapted and checked once, and what several quantities need computed once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from hidiv.adapters.as_model import as_models
from hidiv.divergences.comparable import check_length, check_observations, check_same_states
from hidiv.errors import IncompatibleModels, counted, refuse
from hidiv.models.model import Model, check_groups
from hidiv.models.tree import Tree, as_tree
from hidiv.models.until_end import UntilEnd

if TYPE_CHECKING:
    from hidiv.emissions.family import Family
    from hidiv.types import IntArray

Result = TypeVar("Result")
Work = Callable[["Pair"], Result]  # a function of a pair, whose result `Pair.once` keeps

_OF_MODELS: set[Any] = set()


def of_models(work: Work[Result]) -> Work[Result]:
    """Mark work that depends on the models alone: pairs of the same models on other trees share its result."""
    _OF_MODELS.add(work)
    return work


@dataclass(frozen=True, eq=False)
class Pair:
    """p, q and the tree they are compared on; None stands for an endless chain, whose divergences are rates."""

    p: Model
    q: Model
    tree: Tree | UntilEnd | None
    _kept: dict[Any, Any] = field(default_factory=dict, repr=False)
    _kept_by_models: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, p: Any, q: Any, tree: Any, *, by_states: str | None = None) -> Pair:
        """The pair a caller asked about; refuses models that do not belong on the tree or not together.

        `by_states` names a quantity that pairs states by their labels: the models need equal numbers of them.
        """
        models = _adapted(p, q, by_states)
        return cls._checked(*models, tree if tree is None or isinstance(tree, UntilEnd) else as_tree(tree), {})

    @classmethod
    def on_tree(cls, p: Any, q: Any, tree: Any, *, by_states: str | None = None) -> Pair:
        """The same for a quantity that is no rate: a tree, a length or UNTIL_END is needed."""
        models = _adapted(p, q, by_states)
        return cls._checked(*models, tree if isinstance(tree, UntilEnd) else as_tree(tree), {})

    @classmethod
    def models(cls, p: Any, q: Any, *, by_states: str | None = None) -> Pair:
        """The models alone, where there are several trees; `on` checks them against each tree."""
        return cls(*_adapted(p, q, by_states), None)

    def on(self, tree: Tree | UntilEnd | None) -> Pair:
        """The same models on another tree, sharing what depends on the models alone."""
        if tree is self.tree:
            return self
        if tree not in self._kept:
            self._kept[tree] = self._checked(self.p, self.q, tree, self._kept_by_models)
        moved: Pair = self._kept[tree]
        return moved

    def relabelled(self, order: Sequence[int] | IntArray) -> Pair:
        """The pair in which new state i of q is its old state order[i]."""
        order = tuple(int(i) for i in order)
        if order == tuple(range(len(order))):
            return self
        if order not in self._kept_by_models:
            self._kept_by_models[order] = Pair(self.p, self.q.relabel(order), self.tree)
        relabelled: Pair = self._kept_by_models[order]
        return relabelled.on(self.tree)

    @classmethod
    def _checked(cls, p: Model, q: Model, tree: Tree | UntilEnd | None, kept_by_models: dict[Any, Any]) -> Pair:
        """Models on a tree that they were checked against."""
        check_length(p, q, until_end=isinstance(tree, UntilEnd))
        if isinstance(tree, Tree):
            check_groups(p, tree, "p")
            check_groups(q, tree, "q")
        elif tree is None and (groups := max(p.n_groups, q.n_groups)) > 1:
            rule = "needs models with one group, the same at every step"
            refuse(IncompatibleModels, "rate", rule, f"{groups} groups", "compare them on a tree")
        return cls(p, q, tree, {}, kept_by_models)

    @property
    def subject(self) -> str:
        """How sentences name the pair: 'D(p || q) on a chain of 10 nodes'."""
        return subject(self.p, self.q, self.tree)

    @property
    def same_states(self) -> bool:
        """Whether states can be paired by their labels."""
        return self.p.n_states == self.q.n_states

    def families(self) -> list[tuple[Family, Family]]:
        """The emissions of p and q by group; one pair where neither has groups."""
        return families(self.p, self.q)

    def known_tree(self, what: str) -> Tree:
        """The tree; refuses chains of random length for `what`, which needs a known size."""
        if not isinstance(self.tree, Tree):
            refuse(IncompatibleModels, "tree", f"{what} a tree of known size", "UNTIL_END")
        return self.tree

    def once(self, work: Work[Result]) -> Result:
        """work(self), computed at the first call and kept: an alignment, local divergences, finite alphabets."""
        kept = self._kept_by_models if work in _OF_MODELS else self._kept
        if work not in kept:
            kept[work] = work(self)
        result: Result = kept[work]
        return result


def _adapted(p: Any, q: Any, by_states: str | None) -> tuple[Model, Model]:
    """What a caller gave as models, with equal numbers of states where a quantity pairs them."""
    models = as_models(p, q)
    if by_states is not None:
        check_same_states(*models, by_states)
    return models


@of_models
def same_observations(pair: Pair) -> bool:
    """True; refuses models of different observations (symbols, counts, numbers, angles)."""
    check_observations(pair.p, pair.q)
    return True


def families(p: Model, q: Model) -> list[tuple[Family, Family]]:
    """The emissions of two models by group; a model with one emission uses it in every group."""
    count = max(len(p.emissions), len(q.emissions))
    if count == 1:
        return [(p.emissions[0], q.emissions[0])]
    return [
        (p.emissions[min(g, len(p.emissions) - 1)], q.emissions[min(g, len(q.emissions) - 1)]) for g in range(count)
    ]


def subject(p: Model, q: Model, tree: Tree | UntilEnd | None = None) -> str:
    """D(p || q) with the models' own names, and the tree when there is one."""
    return f"D({p.name or 'p'} || {q.name or 'q'})" + ("" if tree is None else f" {tree_in_words(tree)}")


def tree_in_words(tree: Tree | UntilEnd) -> str:
    """'on a chain of 100 nodes', 'on a regular tree of 3 levels with 2 children a node', 'until the end'."""
    if isinstance(tree, UntilEnd):
        return "until the end"
    if tree.kind == "regular":
        each = counted(tree.children or 1, "child", "children")
        return f"on a regular tree of {counted(tree.depth, 'level')} with {each} a node"
    return f"on a {'chain' if tree.is_chain else 'tree'} of {counted(tree.n_nodes, 'node')}"
