"""How sentences speak of two models on a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hidiv.errors import counted
from hidiv.models.until_end import UntilEnd

if TYPE_CHECKING:
    from hidiv.models.model import Model
    from hidiv.models.tree import Tree


def subject(p: Model, q: Model, tree: Tree | UntilEnd | None = None) -> str:
    """D(p || q) with the models' own names, and the tree when there is one."""
    return f"D({p.name or 'p'} || {q.name or 'q'})" + ("" if tree is None else f" {on(tree)}")


def on(tree: Tree | UntilEnd) -> str:
    """'on a chain of 100 nodes', 'on a regular tree of 3 levels with 2 children a node', ..."""
    if isinstance(tree, UntilEnd):
        return "until the end"
    if tree.kind == "regular":
        each = counted(tree.children or 1, "child", "children")
        return f"on a regular tree of {counted(tree.depth, 'level')} with {each} a node"
    return f"on a {'chain' if tree.is_chain else 'tree'} of {counted(tree.n_nodes, 'node')}"
