"""Trees from edges or graphs, with their nodes renumbered breadth first, parents before children."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hidiv.errors import InvalidTree, refuse
from hidiv.models.tree_checks import cycle, group_by_label, shown_label


class Ordered(NamedTuple):
    """A tree with parent[u] < u, and the names and groups of its nodes in that order."""

    parent: list[int]
    labels: list[Any]
    group: list[Any] | None


def read_edges(edges: Iterable[Any], root: Hashable | None, group: Mapping[Any, Any] | None) -> Ordered:
    """The tree of (parent, child) pairs of hashable labels, in any order."""
    if isinstance(edges, str | bytes | Mapping) or not isinstance(edges, Iterable):
        refuse(InvalidTree, "edges", "must be (parent, child) pairs", type(edges).__name__)
    if group is not None and not isinstance(group, Mapping):
        refuse(
            InvalidTree,
            "group",
            "edges list no nodes in order, so groups must be a mapping from label to group",
            type(group).__name__,
        )
    nodes = _Nodes()
    if root is not None:
        nodes.number("root", root)
    for i, edge in enumerate(edges.tolist() if isinstance(edges, np.ndarray) else edges):
        if isinstance(edge, str | bytes) or not isinstance(edge, Sequence) or len(edge) != 2:
            refuse(InvalidTree, f"edges[{i}]", "must be a (parent, child) pair", edge)
        nodes.add(f"edges[{i}]", edge[0], edge[1])
    if not nodes.labels:
        refuse(InvalidTree, "edges", "an empty tree, at least the root is needed", remedy="root= names a single node")
    if root is not None and len(nodes.labels) > 1 and nodes.up[0] < 0 and not nodes.children[0]:
        refuse(InvalidTree, "root", "is a missing node, no edge has it", shown_label(root))
    return nodes.ordered("edges", root, group)


def read_graph(graph: Any, root: Hashable | None, group: str | Mapping[Any, Any] | None) -> Ordered:
    """The tree of a networkx graph: directed from parent to child, or undirected with its root named."""
    if not all(hasattr(graph, name) for name in ("nodes", "edges", "is_directed", "adj")):
        refuse(InvalidTree, "graph", "must be a networkx graph", type(graph).__name__)
    if len(graph.nodes) == 0:
        refuse(InvalidTree, "graph", "an empty tree, at least the root is needed")
    if root is not None and root not in graph:
        refuse(InvalidTree, "root", "is not a node of the graph", shown_label(root))
    nodes = _Nodes()
    for node in graph.nodes:
        nodes.number("graph", node)
    if graph.is_directed():
        for parent, child in graph.edges():
            nodes.add("graph", parent, child)
    elif root is None:
        refuse(InvalidTree, "graph", "an undirected graph does not say where its root is", remedy="name it with root=")
    else:
        _direct(graph, root, nodes)
    return nodes.ordered("graph", root, _attributes(graph, group) if isinstance(group, str) else group)


class _Nodes:
    """The nodes of a tree as they are read: labels, parents, and children in the order of their edges."""

    def __init__(self) -> None:
        self.labels: list[Hashable] = []
        self.numbers: dict[Hashable, int] = {}
        self.up: list[int] = []
        self.children: list[list[int]] = []

    def number(self, place: str, label: Hashable) -> int:
        """The number of a label, a new one at its first appearance."""
        try:
            index = self.numbers.setdefault(label, len(self.labels))
        except TypeError:
            refuse(InvalidTree, place, "a label must be hashable", label)
        if index == len(self.labels):
            self.labels.append(label)
            self.up.append(-1)
            self.children.append([])
        return index

    def add(self, place: str, parent: Hashable, child: Hashable) -> None:
        """Add an edge; a second parent is refused."""
        above, below = self.number(place, parent), self.number(place, child)
        before = self.up[below]
        if before == above:
            refuse(InvalidTree, place, f"the edge from {shown_label(parent)} to {shown_label(child)} is there twice")
        if before >= 0:
            refuse(
                InvalidTree,
                place,
                f"node {shown_label(child)} has two parents, {shown_label(self.labels[before])}"
                f" and {shown_label(parent)}",
            )
        self.up[below] = above
        self.children[above].append(below)

    def ordered(self, place: str, root: Hashable | None, group: Mapping[Any, Any] | None) -> Ordered:
        """The nodes breadth first from the root; refused where they make no tree."""
        roots = [u for u, above in enumerate(self.up) if above < 0]
        if root is not None and self.numbers[root] not in roots:
            above = self.labels[self.up[self.numbers[root]]]
            refuse(
                InvalidTree,
                "root",
                f"node {shown_label(root)} has the parent {shown_label(above)}",
                remedy="edges go from parent to child",
            )
        if len(roots) > 1:
            first, second = (shown_label(self.labels[u]) for u in roots[:2])
            refuse(InvalidTree, place, f"two roots, nodes {first} and {second} have no parent", remedy="a tree has one")
        order = roots[:1]
        for u in order:  # the list grows while it is walked: breadth first
            order.extend(self.children[u])
        if len(order) < len(self.up):
            on_cycle = cycle(self.up)
            assert on_cycle is not None  # nodes that no root reaches are below a cycle
            refuse(InvalidTree, place, f"a cycle, node {shown_label(self.labels[on_cycle])} is its own ancestor")
        position = [0] * len(order)
        for new, u in enumerate(order):
            position[u] = new
        labels = [self.labels[u] for u in order]
        return Ordered(
            [-1] + [position[self.up[u]] for u in order[1:]],
            labels,
            None if group is None else group_by_label(group, labels),
        )


def _direct(graph: Any, root: Hashable, nodes: _Nodes) -> None:
    """Add the edges of an undirected graph, directed away from the root."""
    reached, order = {root}, [root]
    for node in order:
        above = nodes.up[nodes.numbers[node]]
        for other in graph.adj[node]:
            if other not in reached:
                reached.add(other)
                order.append(other)
                nodes.add("graph", node, other)
            elif above < 0 or nodes.labels[above] != other:
                refuse(InvalidTree, "graph", f"a cycle through node {shown_label(other)}", remedy="a tree has none")
    if len(order) < len(nodes.labels):
        apart = next(label for label in nodes.labels if label not in reached)
        refuse(
            InvalidTree,
            "graph",
            f"two roots, node {shown_label(apart)} is not connected to {shown_label(root)}",
            remedy="a tree is in one piece",
        )
    if len(graph.edges) >= len(order):
        refuse(InvalidTree, "graph", "some edge is there twice", remedy="a tree with n nodes has n - 1 edges")


def _attributes(graph: Any, name: str) -> dict[Any, Any] | None:
    """The groups held by a node attribute, or None where no node has it."""
    groups = {node: data[name] for node, data in graph.nodes(data=True) if name in data}
    return groups or None
