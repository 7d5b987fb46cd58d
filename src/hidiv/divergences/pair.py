"""Two models to be compared on a tree: adapted and checked once, and what several quantities need computed once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeGuard, TypeVar

import numpy as np

from hidiv.adapters.as_model import as_models
from hidiv.emissions.registry import has_kl
from hidiv.emissions.sample_space import Kind, SampleSpace
from hidiv.errors import HidivError, IncompatibleModels, counted, refuse
from hidiv.models.model import Model, check_groups
from hidiv.models.symbol_names import listed
from hidiv.models.tree import Tree, as_tree
from hidiv.models.until_end import UntilEnd
from hidiv.types import Array, IntArray

if TYPE_CHECKING:
    from hidiv.emissions.family import Family

Result = TypeVar("Result")
Several = Sequence[Tree | int] | IntArray  # independent trees, as they are handed in
Initial = bool | Literal["stationary"]  # which laws of the first state are compared
Work = Callable[["Pair"], Result]  # a function of a pair, whose result `Pair.once` keeps
STARTS: dict[Initial, str] = {True: "", False: " from the start of p", "stationary": " from stationary starts"}

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
    initial: Initial = True  # False: q starts as p does, in whatever order its states are
    _kept: dict[Any, Any] = field(default_factory=dict, repr=False)
    _kept_by_models: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, p: Any, q: Any, tree: Any, *, by_states: str | None = None, initial: Initial = True) -> Pair:
        """The pair a caller asked about; refuses models that do not belong on the tree or not together.

        `by_states` names a quantity that pairs states by their labels: the models need equal numbers of them.
        """
        models = cls.models(p, q, by_states=by_states, initial=initial)
        return models.checked_on(tree if tree is None or isinstance(tree, UntilEnd) else as_tree(tree))

    @classmethod
    def on_tree(cls, p: Any, q: Any, tree: Any, *, by_states: str | None = None, initial: Initial = True) -> Pair:
        """The same for a quantity that is no rate: a tree, a length or UNTIL_END is needed."""
        models = cls.models(p, q, by_states=by_states, initial=initial)
        return models.checked_on(tree if isinstance(tree, UntilEnd) else as_tree(tree))

    @classmethod
    def models(cls, p: Any, q: Any, *, by_states: str | None = None, initial: Initial = True) -> Pair:
        """The models alone, where there are several trees; `on` checks them against each tree.

        `initial` "stationary": both start from their long-run laws; False: q starts as p does.
        """
        one, two = _adapted(p, q, by_states)
        if initial is True:
            return cls(one, two, None)
        if initial is False:
            if one.n_states != two.n_states:
                rule = "q can start as p does only where both have the same number of states"
                refuse(IncompatibleModels, "initial", rule, False, 'use initial="stationary"')
            return cls(one, _starting(two, one.initial), None, initial)
        if initial != "stationary":
            refuse(HidivError, "initial", 'must be True, False or "stationary"', initial)
        return cls(_starting(one, one.stationary()), _starting(two, two.stationary()), None, initial)

    def on(self, tree: Tree | UntilEnd | None) -> Pair:
        """The same models on another tree, sharing what depends on the models alone."""
        if tree is self.tree:
            return self
        if tree not in self._kept:
            self._kept[tree] = self.checked_on(tree)
        moved: Pair = self._kept[tree]
        return moved

    def relabelled(self, order: Sequence[int] | IntArray) -> Pair:
        """The pair in which new state i of q is its old state order[i]."""
        order = tuple(int(i) for i in order)
        if order == tuple(range(len(order))):
            return self
        if order not in self._kept_by_models:
            other = self.q.relabel(order)
            other = _starting(other, self.p.initial) if self.initial is False else other
            self._kept_by_models[order] = Pair(self.p, other, self.tree, self.initial)
        relabelled: Pair = self._kept_by_models[order]
        return relabelled.on(self.tree)

    def checked_on(self, tree: Tree | UntilEnd | None) -> Pair:
        """The same models on a tree that they are checked against."""
        p, q = self.p, self.q
        check_length(p, q, until_end=isinstance(tree, UntilEnd))
        if isinstance(tree, Tree):
            check_both(p, q, tree)
        elif tree is None and (groups := max(p.n_groups, q.n_groups)) > 1:
            rule = "needs models with one group, the same at every step"
            refuse(IncompatibleModels, "rate", rule, f"{groups} groups", "compare them on a tree")
        return Pair(p, q, tree, self.initial, {}, self._kept_by_models)

    @property
    def subject(self) -> str:
        """How sentences name the pair: 'D(p || q) on a chain of 10 nodes'."""
        models = subject(self.p, self.q) + STARTS[self.initial]
        return models if self.tree is None else f"{models} {tree_in_words(self.tree)}"

    @property
    def both(self) -> str:
        """How sentences name what has no direction: 'p and q on a chain of 10 nodes'."""
        place = "" if self.tree is None else f" {tree_in_words(self.tree)}"
        return f"{self.p.name or 'p'} and {self.q.name or 'q'}{place}"

    def subject_and_unit(self) -> tuple[str, str | None]:
        """How sentences name a quantity of the pair, and "step" where it is the rate of an endless chain."""
        return (self.subject, None) if self.tree is not None else (f"{self.subject} rate", "step")

    @property
    def same_states(self) -> bool:
        """Whether states can be paired by their labels."""
        return self.p.n_states == self.q.n_states

    def families(self) -> list[tuple[Family, Family]]:
        """The emissions of p and q by group; one pair where neither has groups."""
        return families(self.p, self.q)

    def known_tree(self, what: str) -> Tree:
        """The tree; refuses chains of random length and endless ones for `what`, which needs a known size."""
        if not isinstance(self.tree, Tree):
            given = "None" if self.tree is None else "UNTIL_END"
            refuse(IncompatibleModels, "tree", f"{what} a tree of known size", given, "give a tree or a length")
        return self.tree

    def once(self, work: Work[Result]) -> Result:
        """work(self), computed at the first call and kept: an alignment, local divergences, finite alphabets."""
        kept = self._kept_by_models if work in _OF_MODELS else self._kept
        if work not in kept:
            kept[work] = work(self)
        result: Result = kept[work]
        return result


def check_both(p: Model, q: Model, tree: Tree) -> None:
    """Refuse a tree whose groups either model does not have."""
    for model, who in ((p, "p"), (q, "q")):
        if not model.fits_every_tree:
            check_groups(model, tree, who)


def _adapted(p: Any, q: Any, by_states: str | None) -> tuple[Model, Model]:
    """What a caller gave as models, with equal numbers of states where a quantity pairs them."""
    models = (p, q) if isinstance(p, Model) and isinstance(q, Model) else as_models(p, q)
    if by_states is not None:
        check_same_states(*models, by_states)
    return models


def _starting(model: Model, law: Array) -> Model:
    """The model with another law of the first state."""
    return Model(
        law, model.transition, model.emission,
        name=model.name, state_names=model.state_names, end=model.end,
        symbol_names=model.symbol_names, column_names=model.column_names,
    )  # fmt: skip


def families(p: Model, q: Model) -> list[tuple[Family, Family]]:
    """The emissions of two models by group; a model with one emission uses it in every group."""
    count = max(len(p.emissions), len(q.emissions))
    if count == 1:
        return [(p.emissions[0], q.emissions[0])]
    return [
        (p.emissions[min(g, len(p.emissions) - 1)], q.emissions[min(g, len(q.emissions) - 1)]) for g in range(count)
    ]


def is_forest(tree: Any) -> TypeGuard[Several]:
    """Whether several trees were handed in: a list, a tuple or an array of lengths."""
    return isinstance(tree, list | tuple) or (isinstance(tree, np.ndarray) and tree.ndim == 1)


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
    nodes = "1 node" if tree.n_nodes == 1 else f"{tree.n_nodes} nodes"
    return f"on a {'chain' if tree.is_chain else 'tree'} of {nodes}"


def check_same_states(p: Model, q: Model, quantity: str) -> None:
    """Refuse different numbers of states: joint and posterior divergences pair states by their labels."""
    if p.n_states != q.n_states:
        refuse(
            IncompatibleModels,
            "p and q",
            f"have {p.n_states} and {q.n_states} states, so their {quantity} divergence is not defined",
            remedy="use hd.observed_kl, which does not look at states",
        )


def check_observations(p: Model, q: Model) -> None:
    """Refuse models of different observations: symbols, counts, numbers or angles, column by column."""
    for one in p.emissions:
        for two in q.emissions:
            if not _same_columns(one, two):
                refuse(
                    IncompatibleModels,
                    "emission",
                    f"p shows {_family_in_words(one)} and q shows {_family_in_words(two)}",
                    remedy="compare models of the same observations",
                )


def _same_columns(one: Family, two: Family) -> bool:
    """Whether two families show the same kinds of columns."""
    alike = one.space == two.space and one.space.kind is not Kind.VECTOR and one.n_features == two.n_features
    return alike or columns(one) == columns(two)


def closed(p: Model, q: Model) -> bool:
    """Whether the emissions have divergences in closed form."""
    return all(has_kl(one, two) for one in p.emissions for two in q.emissions)


def columns(family: Family) -> list[str]:
    """What each column of the observations holds; a bit is a symbol of two, and of several columns sizes count."""
    spaces = family.column_spaces()
    return [_in_words(space, len(spaces) > 1) for space in spaces]


def _in_words(space: SampleSpace, sized: bool) -> str:
    """What one column shows, with the size of its alphabet where there are several columns."""
    if space.n_symbols is not None:
        return f"symbols of {space.n_symbols}" if sized else "symbols"
    return "counts" if space.is_counts else "angles" if space.kind is Kind.ANGLE else "numbers"


def _family_in_words(family: Family) -> str:
    """What a family shows: "counts", or "3 columns of counts and numbers"."""
    kinds = columns(family)
    if len(kinds) < 2:
        return kinds[0] if kinds else "nothing"
    return f"{len(kinds)} columns of {' and '.join(dict.fromkeys(kinds))}"


def check_length(p: Model, q: Model, until_end: bool) -> None:
    """Refuse models with `end` on a tree of known size, and models without it until the end."""
    _check_symbols(p, q)
    _check_columns(p, q)
    if (p.end is None) != (q.end is None):
        with_end, without = ("p", "q") if p.end is not None else ("q", "p")
        refuse(
            IncompatibleModels,
            "end",
            f"{with_end} has end probabilities and {without} has none",
            remedy="give both or neither an end",
        )
    if until_end and p.end is None:
        refuse(
            IncompatibleModels,
            "tree",
            "UNTIL_END needs models with end probabilities",
            remedy="give a tree, or models with end",
        )
    if not until_end and p.end is not None:
        refuse(
            IncompatibleModels,
            "tree",
            "models with end probabilities choose their own length",
            remedy="use tree=hd.UNTIL_END",
        )


def _check_symbols(p: Model, q: Model) -> None:
    """Refuse symbols with different names in the two models: by number, the wrong ones would be paired."""
    for one, two in zip(p.symbol_names or (), q.symbol_names or (), strict=False):
        if one is not None and two is not None and one != two:
            rule = f"p has the symbols {listed(one)} and q has {listed(two)}"
            remedy = "fit both with the same categories, in one order"
            refuse(IncompatibleModels, "symbol_names", rule, remedy=remedy)


def _check_columns(p: Model, q: Model) -> None:
    """Refuse a column of p that q has at another place: by place, the wrong ones would be compared."""
    own, other = p.column_names or (), q.column_names or ()
    for f, name in enumerate(own):
        if name in other and other.index(name) != f:
            rule = f"{name!r} is column {f} of p and column {other.index(name)} of q"
            common = [column for column in own if column in other]
            remedy = f"compare p.select(names) with q.select(names); both have {listed(common)}"
            refuse(IncompatibleModels, "column_names", rule, remedy=remedy)
