"""Two models to be compared on a tree: adapted and checked once, and what several quantities need computed once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from hidiv.adapters.as_model import as_models
from hidiv.divergences.comparable import check_length
from hidiv.divergences.subject import subject
from hidiv.models.groups import check_groups
from hidiv.models.model import Model
from hidiv.models.tree import Tree, as_tree
from hidiv.models.until_end import UntilEnd

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Pair:
    """p, q and the tree they are compared on; None stands for an endless chain, whose divergences are rates."""

    p: Model
    q: Model
    tree: Tree | UntilEnd | None
    _kept: dict[Callable[[Pair], Any], Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, p: Any, q: Any, tree: Any) -> Pair:
        """The pair a caller asked about; refuses models that do not belong on the tree or not together."""
        p, q = as_models(p, q)
        place = tree if tree is None or isinstance(tree, UntilEnd) else as_tree(tree)
        check_length(p, q, until_end=isinstance(place, UntilEnd))
        if isinstance(place, Tree):
            check_groups(p, place, "p")
            check_groups(q, place, "q")
        return cls(p, q, place)

    @property
    def subject(self) -> str:
        """How sentences name the pair: 'D(p || q) on a chain of 10 nodes'."""
        return subject(self.p, self.q, self.tree)

    @property
    def same_states(self) -> bool:
        """Whether states can be paired by their labels."""
        return self.p.n_states == self.q.n_states

    def once(self, work: Callable[[Pair], Result]) -> Result:
        """work(self), computed at the first call and kept: an alignment, local divergences, finite alphabets."""
        if work not in self._kept:
            self._kept[work] = work(self)
        return cast(Result, self._kept[work])
