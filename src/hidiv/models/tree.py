"""Trees: nodes 0..n-1, parents before children, perhaps in groups (definitions, section 1)."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log2
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from hidiv.errors import InvalidTree, counted, refuse
from hidiv.markup import card, table
from hidiv.models.newick import read_newick
from hidiv.models.tree_checks import (
    SIZE_LIMIT,
    checked_group,
    checked_labels,
    checked_node,
    checked_parent,
    described_form,
    group_by_label,
    in_words,
    shown_label,
)
from hidiv.models.tree_reading import Ordered, read_edges, read_graph
from hidiv.models.until_end import UNTIL_END
from hidiv.models.words import listed_word, path_word, ranks, read_words, regular_word, words_of_labels
from hidiv.recursions.levels import levels
from hidiv.types import IntArray
from hidiv.values import Value

__all__ = ["UNTIL_END", "Tree", "as_tree"]


LISTING_LIMIT = 10**8  # nodes up to which a chain or a regular tree may be listed one by one
COUNT_BITS = 10**7  # bits up to which the number of nodes of a regular tree is computed exactly


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Tree(Value):
    """A rooted tree whose nodes come after their parents.

    Chains and regular trees are described, not listed: `Tree.chain(10**12)` costs nothing, and their arrays are
    computed only when asked for. Frozen; equal, hashed, copied and pickled by value.

    Parameters
    ----------
    parent : array-like of int, shape (n,)
        The parent of each node: parent[0] is -1 and parent[u] is below u. `Tree.from_edges` takes nodes in any order.
    group : array-like of int, shape (n,), optional
        The group of each node, from 0. Nodes of a group share the parameters of a grouped model.
    labels : iterable of hashable, optional
        Names of the nodes, all different ("" for none).

    Attributes
    ----------
    kind : {"chain", "regular", "listed"}
        How the tree is described.
    children : int or None
        The number of children of the inner nodes of a regular tree.
    n_nodes, depth : int
        The number of nodes, exact at any size, and of levels, that of the root included.
    level : ndarray of shape (n,)
        The number of edges between each node and the root.
    is_chain : bool
        Whether the tree is a path.
    n_groups : int or None
        One more than the largest group; None without groups.

    Raises
    ------
    InvalidTree
        Where the parents make no tree, or groups or labels do not fit it; the message names the node.

    See Also
    --------
    UNTIL_END : stands for the chain of random length of a model with end probabilities.

    Notes
    -----
    Definitions, section 1.

    Examples
    --------
    >>> import hidiv as hd
    >>> hd.Tree([-1, 0, 0, 1], group=[0, 1, 1, 2])
    Tree of 4 nodes, 3 levels, 3 groups
    >>> hd.Tree.regular(2, 500).n_nodes == 2**500 - 1
    True
    """

    kind: Literal["chain", "regular", "listed"]
    children: int | None  # of every node that has any, in a regular tree; None in the others
    labels: tuple[Hashable, ...] | None  # the names the nodes were given, in node order
    _size: int  # nodes of a chain or a listed tree, levels of a regular one
    _parent: IntArray | None
    _group: IntArray | None

    def __init__(
        self, parent: ArrayLike, group: ArrayLike | None = None, *, labels: Iterable[Hashable] | None = None
    ) -> None:
        up = checked_parent(parent)
        n = up.shape[0]
        self._set(
            "listed",
            n,
            None,
            up,
            None if group is None else checked_group(group, n),
            None if labels is None else checked_labels(labels, n),
        )

    @classmethod
    def chain(cls, n: int, group: ArrayLike | None = None) -> Tree:
        """Describe a chain, the path of n nodes.

        A plain integer n is accepted wherever a tree is.

        Parameters
        ----------
        n : int
            The number of nodes.
        group : array-like of int, shape (n,), optional
            The group of each node.

        Returns
        -------
        Tree
            The chain, not listed.

        Raises
        ------
        InvalidTree
            Where n is no whole number from 1, or the groups do not fit it.

        Examples
        --------
        >>> import hidiv as hd
        >>> hd.Tree.chain(10**12).depth
        1000000000000
        """
        count = _size("n", n, "the number of nodes")
        tree = cls.__new__(cls)
        tree._set("chain", count, None, None, None if group is None else checked_group(group, count), None)
        return tree

    @classmethod
    def regular(cls, children: int, depth: int) -> Tree:
        """Describe a tree in which all nodes but the leaves have as many children and all leaves the same depth.

        Parameters
        ----------
        children : int
            The number C of children of every inner node.
        depth : int
            The number of levels, that of the root included.

        Returns
        -------
        Tree
            The tree of 1 + C + ... + C^(depth-1) nodes, not listed. Nodes are numbered breadth first, the children of u
            are C u + 1 to C u + C, and the group of a node is its level.

        Raises
        ------
        InvalidTree
            Where a number is no whole number from 1.

        Examples
        --------
        >>> import hidiv as hd
        >>> hd.Tree.regular(2, 3).parent.tolist()
        [-1, 0, 0, 1, 1, 2, 2]
        """
        n_children = _size("children", children, "the number of children")
        n_levels = _size("depth", depth, "the number of levels")
        tree = cls.__new__(cls)
        tree._set("regular", n_levels, n_children, None, None, None)
        return tree

    @classmethod
    def from_edges(
        cls, edges: Iterable[tuple[Hashable, Hashable]], root: Hashable | None = None,
        group: Mapping[Any, int] | None = None,
    ) -> Tree:  # fmt: skip
        """Build a tree from (parent, child) pairs in any order.

        Parameters
        ----------
        edges : iterable of pairs of hashable
            The labels of a parent and of its child.
        root : hashable, optional
            The label of the root; needed for a single node without edges.
        group : mapping from label to int, optional
            The group of each node.

        Returns
        -------
        Tree
            Its nodes are numbered breadth first, siblings in the order of their edges; `labels` keeps the names.

        Raises
        ------
        InvalidTree
            Where the edges make no tree.

        Examples
        --------
        >>> import hidiv as hd
        >>> hd.Tree.from_edges([("b", "c"), ("a", "b")]).labels
        ('a', 'b', 'c')
        """
        return cls._of(read_edges(edges, root, group))

    @classmethod
    def from_networkx(
        cls, graph: Any, root: Hashable | None = None, group: str | Mapping[Any, int] | None = "group"
    ) -> Tree:
        """Build a tree from a graph of networkx.

        Parameters
        ----------
        graph : networkx.Graph or networkx.DiGraph
            A directed graph has edges from parent to child; an undirected one needs its root.
        root : hashable, optional
            The node that is the root.
        group : str or mapping from node to int, default "group"
            The node attribute that holds the groups (no groups where no node has it), or the groups themselves.

        Returns
        -------
        Tree
            Its nodes are numbered breadth first; `labels` keeps the nodes of the graph.

        Raises
        ------
        InvalidTree
            Where the graph is no tree.

        Examples
        --------
        >>> import networkx as nx
        >>> import hidiv as hd
        >>> hd.Tree.from_networkx(nx.path_graph(["a", "b", "c"]), root="c").labels
        ('c', 'b', 'a')
        """
        return cls._of(read_graph(graph, root, group))

    @classmethod
    def from_newick(cls, text: str) -> Tree:
        """Build a tree from Newick text.

        Parameters
        ----------
        text : str
            For example "((A,B)C,D)root;". Branch lengths and comments are ignored.

        Returns
        -------
        Tree
            Its nodes are numbered breadth first, siblings as written; `labels` keeps the names, "" for a node without
            one.

        Raises
        ------
        InvalidTree
            Where the text is no tree; the message gives the position.

        Examples
        --------
        >>> import hidiv as hd
        >>> hd.Tree.from_newick("((A,B)C,D)root;").labels
        ('root', 'C', 'D', 'A', 'B')
        """
        parent, labels = read_newick(text)
        level = levels(np.array(parent, dtype=np.int64))
        order = np.argsort(level, kind="stable")  # breadth first: siblings stay as they were written
        position = np.empty_like(order)
        position[order] = np.arange(order.shape[0])
        up = np.array(parent)[order]
        return cls._of(Ordered([-1, *position[up[1:]].tolist()], [labels[u] for u in order.tolist()], None))

    @classmethod
    def from_words(cls, words: Iterable[str], group: Mapping[str, int] | Sequence[int] | None = None) -> Tree:
        """Build a tree from the paper's indices of its nodes.

        Parameters
        ----------
        words : iterable of str
            Child numbers from the root down, one character each: "" is the root, "01" child 1 of child 0. In any order.
        group : mapping from word to int, or sequence of int, optional
            The group of each node; a sequence is in the order of `words`.

        Returns
        -------
        Tree
            Its nodes are ordered by the length of their words; `labels` keeps the words.

        Raises
        ------
        InvalidTree
            Where a word's parent is missing, or a word is there twice.

        Examples
        --------
        >>> import hidiv as hd
        >>> hd.Tree.from_words(["01", "", "0"]).parent.tolist()
        [-1, 0, 1]
        """
        return cls._of(read_words(words, group))

    @classmethod
    def _of(cls, ordered: Ordered) -> Tree:
        """The tree of nodes that were read and ordered."""
        return cls(ordered.parent, ordered.group, labels=ordered.labels)

    def _set(
        self, kind: str, size: int, children: int | None, parent: IntArray | None, group: IntArray | None,
        labels: tuple[Hashable, ...] | None,
    ) -> None:  # fmt: skip
        """Set all fields."""
        keys = ("kind", "_size", "children", "_parent", "_group", "labels")
        for key, value in zip(keys, (kind, size, children, parent, group, labels), strict=True):
            object.__setattr__(self, key, value)

    @cached_property
    def n_nodes(self) -> int:
        """Number of nodes, exact at any size."""
        if self.children is None or self.children == 1:
            return self._size
        if self._size * log2(self.children) > COUNT_BITS:
            refuse(InvalidTree, repr(self), "has too many nodes to count exactly", remedy="its depth counts its levels")
        return int((self.children**self._size - 1) // (self.children - 1))

    @cached_property
    def size(self) -> float:
        """The number of nodes as a float, +inf where none can hold it."""
        if self.children is not None and self.children > 1 and self.depth * log2(self.children) > 1030:
            return np.inf  # an exact integer of that many digits would cost more than the answer
        try:
            return float(self.n_nodes)
        except OverflowError:
            return np.inf

    @cached_property
    def depth(self) -> int:
        """Number of levels, the root's included."""
        return int(self.level.max()) + 1 if self.kind == "listed" else self._size

    @cached_property
    def is_chain(self) -> bool:
        """Whether the tree is a path, however it was written."""
        if self._parent is not None:
            return bool((self._parent == np.arange(-1, self._size - 1)).all())
        return self.kind == "chain" or self.children == 1 or self._size == 1

    @cached_property
    def parent(self) -> IntArray:
        """(n,): the parent of each node, -1 for the root."""
        if self._parent is not None:
            return self._parent
        return _read_only((np.arange(self._listable("parent"), dtype=np.int64) - 1) // (self.children or 1))

    @cached_property
    def level(self) -> IntArray:
        """(n,): the number of edges between each node and the root."""
        if self._parent is not None:
            return _read_only(levels(self._parent))
        n = self._listable("level")
        if self.kind == "chain":
            return _read_only(np.arange(n, dtype=np.int64))
        return _read_only(np.repeat(np.arange(self._size, dtype=np.int64), self.level_counts()))

    @cached_property
    def group(self) -> IntArray | None:
        """(n,): the group of each node, its level in a regular tree; None without groups."""
        if self.kind != "regular":
            return self._group
        self._listable("group")
        return self.level

    @cached_property
    def n_groups(self) -> int | None:
        """One more than the largest group, the depth of a regular tree; None without groups."""
        if self.kind == "regular":
            return self._size
        return None if self._group is None else int(self._group.max()) + 1

    def level_counts(self) -> IntArray:
        """Count the nodes of each level.

        Returns
        -------
        ndarray of shape (depth,)
            The number of nodes of each level.

        Raises
        ------
        InvalidTree
            Where a level has 2**63 nodes or more.

        Examples
        --------
        >>> import hidiv as hd
        >>> hd.Tree.regular(3, 4).level_counts()
        array([ 1,  3,  9, 27])
        """
        if self._parent is not None:
            return np.bincount(self.level)
        if self.children is None or self.children == 1:
            return np.ones(self._listable("level_counts"), dtype=np.int64)
        if self._size > 64 or self.children ** (self._size - 1) >= 2**63:
            refuse(InvalidTree, f"{self!r}.level_counts", "levels of 2**63 nodes and more cannot be held in an array")
        return self.children ** np.arange(self._size, dtype=np.int64)

    def word(self, u: int) -> str:
        """Name a node by the paper's index.

        Parameters
        ----------
        u : int
            A node.

        Returns
        -------
        str
            The child numbers from the root down, 0-9 then a-z; "" for the root.

        Raises
        ------
        InvalidTree
            Where there is no such node, or a child number beyond 35 has no character.

        Examples
        --------
        >>> import hidiv as hd
        >>> hd.Tree.regular(2, 3).word(5)
        '10'
        """
        node = checked_node(u, self.n_nodes)
        if self._labels_are_words and self.labels is not None:
            return str(self.labels[node])
        if self._parent is not None:
            return listed_word(self._parent, self._rank, node)
        return path_word(node) if self.kind == "chain" else regular_word(self.children or 1, node)

    def with_group(self, group: ArrayLike | Mapping[Any, int] | None) -> Tree:
        """Give the tree other groups.

        Parameters
        ----------
        group : array-like of int, mapping from label to int, or None
            The group of each node, in node order or by label.

        Returns
        -------
        Tree
            The same tree with these groups; a regular tree becomes a listed one.

        Raises
        ------
        InvalidTree
            Where the groups do not fit the tree.

        Examples
        --------
        >>> import hidiv as hd
        >>> hd.Tree.chain(3).with_group([0, 1, 1]).n_groups
        2
        """
        if isinstance(group, Mapping):
            if self.labels is None:
                refuse(InvalidTree, "group", "a mapping needs a tree with labels", remedy="give a group for each node")
            group = group_by_label(group, self.labels)
        if self.kind == "chain":
            return Tree.chain(self._size, group)
        return Tree(self.parent, group, labels=self.labels)

    def to_dict(self) -> dict[str, Any]:
        """Describe the tree as its JSON file does.

        Returns
        -------
        dict
            Lists, numbers and texts, from which `from_dict` builds the tree again.

        Examples
        --------
        >>> import hidiv as hd
        >>> hd.Tree.regular(2, 3).to_dict()["regular"]
        {'children': 2, 'depth': 3}
        """
        described: dict[str, Any] = {"format": "hidiv.tree", "version": 1}
        if self._parent is not None:
            described["parent"] = self._parent.tolist()
        elif self.kind == "chain":
            described["chain"] = self._size
        else:
            described["regular"] = {"children": self.children, "depth": self._size}
        if self._group is not None:
            described["group"] = self._group.tolist()
        if self.labels is not None:
            described["labels"] = list(self.labels)
        return described

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> Tree:
        """Build a tree from its description.

        Parameters
        ----------
        described : mapping
            A description in the form of `to_dict`. Its format and version may be left out, and are checked when
            present.

        Returns
        -------
        Tree
            The tree.

        Raises
        ------
        InvalidTree
            Where a key is unknown or the description makes no tree.

        Examples
        --------
        >>> import hidiv as hd
        >>> hd.Tree.from_dict({"parent": [-1, 0, 0]})
        Tree of 3 nodes, 2 levels
        """
        form = described_form(described)
        if form == "regular":
            return cls.regular(**described["regular"])
        if form == "chain":
            return cls.chain(described["chain"], described.get("group"))
        return cls(described["parent"], described.get("group"), labels=described.get("labels"))

    def _repr_html_(self) -> str:
        """The tree in numbers, in a notebook."""
        facts: list[tuple[str, list[Any]]] = [("nodes", [self.n_nodes]), ("levels", [self.depth])]
        if self.n_groups is not None:
            facts.append(("groups", [self.n_groups]))
        if self.kind not in ("chain", "regular"):
            facts.append(("leaves", [int(self.n_nodes - len(np.unique(self.parent[1:])))]))
            counts = np.bincount(np.asarray(self.level)).tolist()
            facts.append(("nodes by level", [", ".join(map(str, counts[:12])) + (", …" if len(counts) > 12 else "")]))
        if self.labels is not None:
            labels = [str(label) for label in self.labels[:12]]
            facts.append(("labels", [", ".join(labels) + (", …" if self.n_nodes > 12 else "")]))
        return card(repr(self), table([""], facts))

    def __repr__(self) -> str:
        groups = "" if self.n_groups is None else ", " + counted(self.n_groups, "group")
        if self.kind == "regular":
            return f"Tree.regular({self.children}, {self._size})"
        if self.kind == "chain":
            return f"Tree.chain({self._size}{groups})"
        return f"Tree of {counted(self._size, 'node')}, {counted(self.depth, 'level')}{groups}"

    @cached_property
    def _rank(self) -> IntArray:
        """(n,): the child number of each node."""
        return ranks(self.parent)

    @cached_property
    def _labels_are_words(self) -> bool:
        """Whether the labels are the paper's indices."""
        return self.labels is not None and words_of_labels(self.labels, self.parent)

    def _listable(self, what: str) -> int:
        """The number of nodes; refused where they are too many to be listed one by one."""
        n = self._size if self.children is None else self.n_nodes
        if n > LISTING_LIMIT:
            refuse(InvalidTree, f"{self!r}.{what}", f"a tree of more than {LISTING_LIMIT} nodes cannot be listed")
        return n


def as_tree(tree: object, n: int | None = None) -> Tree:
    """A tree as it is, an integer as the chain of that length, None as the chain of the n nodes of the evidence."""
    if isinstance(tree, Tree):
        return tree
    if tree is None and n is not None:
        return Tree.chain(n)
    if isinstance(tree, bool | np.bool_) or not hasattr(tree, "__index__"):
        several = "joint_kl, observed_kl, montecarlo, compare and samples_to_tell_apart take lists of trees"
        remedy = several if isinstance(tree, list | tuple | np.ndarray) else ""
        rule = "must be a Tree, or an integer for the chain of that length"
        refuse(InvalidTree, "tree", rule, shown_label(tree), remedy)
    return Tree.chain(_size("tree", tree, "the length of a chain"))


def _read_only(array: IntArray) -> IntArray:
    """The array itself, made read-only."""
    array.flags.writeable = False
    return array


def _size(place: str, value: object, what: str) -> int:
    """A count of at least one, exact: an integer, no float and no bool."""
    if isinstance(value, bool | np.bool_):
        refuse(InvalidTree, place, f"{what} must be an integer", bool(value))
    try:
        count = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        refuse(InvalidTree, place, f"{what} must be an integer", shown_label(value))
    if count < 1:
        refuse(InvalidTree, place, f"{what} must be at least 1", in_words(count))
    if count > SIZE_LIMIT:
        refuse(InvalidTree, place, f"{what} must be below 2**63", in_words(count))
    return count
