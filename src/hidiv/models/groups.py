"""Whether a model's groups fit a tree's (definitions, section 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hidiv.errors import IncompatibleModels, counted, refuse

if TYPE_CHECKING:
    from hidiv.models.model import Model
    from hidiv.models.tree import Tree


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
