"""Trees as plain lists: the parent and the group of every node."""

from __future__ import annotations


def parents(tree):
    """parent[u] for every node, -1 at the root; regular trees are listed breadth first."""
    if "chain" in tree:
        return list(range(-1, tree["chain"] - 1))
    if "regular" in tree:
        children, depth = tree["regular"]["children"], tree["regular"]["depth"]
        n_nodes = sum(children**level for level in range(depth))
        return [-1] + [(u - 1) // children for u in range(1, n_nodes)]
    return list(tree["parent"])


def levels(tree):
    """Distance of every node from the root."""
    result = []
    for parent in parents(tree):
        result.append(0 if parent < 0 else result[parent] + 1)
    return result


def groups(tree):
    """The group of every node: the level on a regular tree, None where the tree has no groups."""
    if "regular" in tree:
        return levels(tree)
    return tree.get("group") or [None] * len(parents(tree))


def children(tree):
    """The children of every node, in increasing order."""
    result = [[] for _ in parents(tree)]
    for u, parent in enumerate(parents(tree)):
        if parent >= 0:
            result[parent].append(u)
    return result
