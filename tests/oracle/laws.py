"""A model laid out over the nodes of a tree: the root law, one transition and one emission per node."""

from __future__ import annotations

from typing import NamedTuple

from .arithmetic import exact
from .trees import groups, parents


class Law(NamedTuple):
    parent: list
    initial: list
    transition: list  # per node, None at the root
    emission: list  # per node, a family as a dict
    end: list | None


def by_group(part, is_one):
    """The groups of a part: a list of one where it is not grouped."""
    return [part] if is_one(part) else part


def law(model, tree):
    """The law of every node of a listed tree; a part with one group ignores the tree's groups."""
    parent, group = parents(tree), groups(tree)
    transitions = exact(by_group(model["transition"], lambda t: t[0] is not None and not isinstance(t[0][0], list)))
    emissions = by_group(model["emission"], lambda e: isinstance(e, dict))
    return Law(
        parent,
        exact(model["initial"]),
        [None if up < 0 else pick(transitions, g) for up, g in zip(parent, group, strict=True)],
        [pick(emissions, g) for g in group],
        exact(model.get("end")),
    )


def pick(part, group):
    return part[0] if len(part) == 1 else part[group]
