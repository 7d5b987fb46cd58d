"""What is no tree is refused, each time in its own sentence."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from hidiv.errors import InvalidTree
from hidiv.models.tree import Tree


@pytest.mark.parametrize(
    ("parent", "group", "sentence"),
    [
        ([], None, "parent: an empty tree"),
        ([-1, 0, -1], None, "parent: two roots, nodes 0 and 2"),
        ([-1, 2, 3, 1], None, "parent: a cycle, node 1 is its own ancestor"),
        ([0, 0], None, "parent: a cycle, node 0"),
        ([-1, 0, 2], None, "parent: a cycle, node 2"),
        ([1, -1], None, "parent[0]: must be -1"),
        ([-1, 2, 0], None, "parent[1]: a parent comes before its children, below 1, got 2; Tree.from_edges"),
        ([-1, 0, 9], None, "parent[2]: a missing parent, the nodes are 0 to 2, got 9"),
        ([-1, -2], None, "parent[1]: a missing parent"),
        ([-1, 0.5], None, "parent[1]: must be an integer of at most 63 bits, got 0.5"),
        ([-1, np.nan], None, "parent[1]: must be an integer"),
        ([-1, None], None, "parent[1]: must be an integer of at most 63 bits, got None"),
        ([-1, 2**70], None, "parent[1]: must be an integer"),
        ([-1, 10**5000], None, "parent[1]: must be an integer of at most 63 bits, got an integer of 16610 bits"),
        (["a"], None, 'parent[0]: must be an integer of at most 63 bits, got "a"'),
        ([[-1]], None, "parent: must be a sequence of integers"),
        ([[-1], 3], None, "parent: must be a sequence of integers"),
        (3, None, "parent: must be a sequence of integers, one a node, got int"),
        ([-1, 0], [0], "group: needs one group for each of the 2 nodes, got 1"),
        ([-1, 0], [0, -1], "group[1]: groups are counted from 0, got -1"),
        ([-1, 0], [0, 1.5], "group[1]: must be an integer of at most 63 bits, got 1.5"),
        ([-1, 0], "ab", "group: must be a sequence of integers"),
    ],
)
def test_parents_and_groups_refused(parent: object, group: object, sentence: str) -> None:
    with pytest.raises(InvalidTree) as caught:
        Tree(parent, group)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("edges", "root", "group", "sentence"),
    [
        ([], None, None, "edges: an empty tree"),
        ([("r", "x"), ("a", "b"), ("b", "c"), ("c", "a")], None, None, 'edges: a cycle, node "a"'),
        ([("a", "b"), ("b", "a")], None, None, "edges: a cycle"),
        ([("a", "a")], None, None, 'edges: a cycle, node "a"'),
        ([("a", "b"), ("c", "d")], None, None, 'edges: two roots, nodes "a" and "c"'),
        ([("a", "c"), ("b", "c")], None, None, 'edges[1]: node "c" has two parents, "a" and "b"'),
        ([("a", "c"), ("a", "c")], None, None, 'edges[1]: the edge from "a" to "c" is there twice'),
        ([("a", "b")], "b", None, 'root: node "b" has the parent "a"'),
        ([("a", "b")], "z", None, "root: is a missing node"),
        ([("a", "b", "c")], None, None, "edges[0]: must be a (parent, child) pair"),
        (["ab"], None, None, "edges[0]: must be a (parent, child) pair"),
        ([(["a"], "b")], None, None, "edges[0]: a label must be hashable"),
        ("ab", None, None, "edges: must be (parent, child) pairs"),
        ([("a", "b")], None, [0, 1], "group: edges list no nodes in order"),
        ([("a", "b")], None, {"a": 0}, 'group: node "b" has no group'),
        ([("a", "b")], None, {"a": 0, "b": 0, "c": 0}, 'group: "c" is not a node'),
    ],
)
def test_edges_refused(edges: object, root: object, group: object, sentence: str) -> None:
    with pytest.raises(InvalidTree) as caught:
        Tree.from_edges(edges, root, group)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("graph", "root", "sentence"),
    [
        (nx.path_graph(3), None, "graph: an undirected graph does not say where its root is; name it with root="),
        (nx.cycle_graph(3), 0, "graph: a cycle through node"),
        (nx.Graph([(0, 1), (2, 3)]), 0, "graph: two roots, node 2 is not connected to 0"),
        (nx.MultiGraph([(0, 1), (0, 1)]), 0, "graph: some edge is there twice"),
        (nx.MultiDiGraph([(0, 1), (0, 1)]), None, "graph: the edge from 0 to 1 is there twice"),
        (nx.DiGraph([(0, 1), (1, 0)]), None, "graph: a cycle"),
        (nx.DiGraph([(0, 2), (1, 2)]), None, "graph: node 2 has two parents"),
        (nx.DiGraph([(0, 1)]), 1, "root: node 1 has the parent 0"),
        (nx.path_graph(3), 8, "root: is not a node of the graph, got 8"),
        (nx.DiGraph(), None, "graph: an empty tree"),
        ([(0, 1)], None, "graph: must be a networkx graph, got list"),
    ],
)
def test_graphs_refused(graph: object, root: object, sentence: str) -> None:
    with pytest.raises(InvalidTree) as caught:
        Tree.from_networkx(graph, root)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("words", "group", "sentence"),
    [
        ([], None, "words: an empty tree"),
        (["", "01"], None, 'words[1]: a missing parent, "01" is there and "0" is not'),
        (["0"], None, 'words[0]: a missing parent, "0" is there and "" is not'),
        (["", "0", "0"], None, "words[2]: words must differ"),
        (["", "A"], None, "words[1]: a word is made of child numbers"),
        (["", 0], None, "words[1]: a word is made of child numbers"),
        ("01", None, "words: must be a list of words"),
        (["", "0"], [0], "group: needs one group for each of the 2 words"),
        (["", "0"], {"": 0}, 'group: node "0" has no group'),
    ],
)
def test_words_refused(words: object, group: object, sentence: str) -> None:
    with pytest.raises(InvalidTree) as caught:
        Tree.from_words(words, group)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "newick, position 1: an empty tree"),
        (" ; ", "newick, position 2: an empty tree"),
        ("(A,B)", "newick, position 6: must end with ;"),
        ("(A,B", "newick, position 5: must end with ;"),
        ("(A,B;", "newick, position 5: the tree ends inside a parenthesis"),
        ("(A,B));", "newick, position 6: ) cannot stand here"),
        ("(A,B)C D;", "newick, position 8: D cannot stand here"),
        ("A(B);", "newick, position 2: ( cannot stand here"),
        ("(A:x,B);", "newick, position 4: a branch length must be a number"),
        ("(A:1:2);", "newick, position 5: : cannot stand here"),
        ("('A);", "newick, position 2: a quote is never closed"),
        ("(A[b);", "newick, position 3: a comment [ is never closed"),
        ("(A,B);(C);", "newick, position 7: one tree only"),
        ("(A,A);", 'labels[2]: labels must differ, this one is there twice, got "A"'),
        (5, "newick: must be text, got int"),
    ],
)
def test_newick_refused(text: object, sentence: str) -> None:
    with pytest.raises(InvalidTree) as caught:
        Tree.from_newick(text)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Tree.chain(0), "n: the number of nodes must be at least 1, got 0"),
        (lambda: Tree.chain(2.0), "n: the number of nodes must be an integer, got 2.0"),
        (lambda: Tree.chain(True), "n: the number of nodes must be an integer, got True"),
        (lambda: Tree.chain(2**63), "n: the number of nodes must be below 2**63"),
        (lambda: Tree.chain(3, [0, 1]), "group: needs one group for each of the 3 nodes, got 2"),
        (lambda: Tree.regular(0, 3), "children: the number of children must be at least 1"),
        (lambda: Tree.regular(2, 0), "depth: the number of levels must be at least 1"),
        (lambda: Tree.regular(2, 10**400), "depth: the number of levels must be below 2**63"),
        (lambda: Tree([-1, 0], labels=["a", "a"]), "labels[1]: labels must differ"),
        (lambda: Tree([-1, 0], labels=["a"]), "labels: needs one label for each of the 2 nodes, got 1"),
        (lambda: Tree([-1, 0], labels="ab"), "labels: must be a sequence of labels"),
        (lambda: Tree([-1, 0], labels=["a", []]), "labels[1]: a label must be hashable"),
    ],
)
def test_sizes_and_labels_refused(make: object, sentence: str) -> None:
    with pytest.raises(InvalidTree) as caught:
        make()
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("described", "sentence"),
    [
        ([-1, 0], "description: must be a mapping"),
        ({}, "tree: needs exactly one of parent, chain and regular, got none"),
        ({"parent": [-1], "chain": 1}, "tree: needs exactly one of parent, chain and regular, got parent and chain"),
        ({"parents": [-1]}, "parents: is not a known key"),
        ({"chain": 3, "labels": ["a", "b", "c"]}, "labels: only a tree written by its parents has labels"),
        ({"regular": {"children": 2, "depth": 2}, "group": [0, 1, 1]}, "group: the groups of a regular tree"),
        ({"regular": [2, 3]}, "regular: must be"),
        ({"chain": "3"}, "n: the number of nodes must be an integer"),
        ({"format": "hidiv.model", "chain": 3}, "format: must be"),
        ({"version": 2, "chain": 3}, "version: must be 1"),
    ],
)
def test_descriptions_refused(described: object, sentence: str) -> None:
    with pytest.raises(InvalidTree) as caught:
        Tree.from_dict(described)
    assert str(caught.value).startswith(sentence)
