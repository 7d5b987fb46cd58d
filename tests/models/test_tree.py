"""Trees: what they say of themselves, however they were written."""

from __future__ import annotations

import copy
import pickle
import time

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hidiv.errors import InvalidTree
from hidiv.models.tree import UNTIL_END, Tree, as_tree
from tests.refusals import found_or_refused


@st.composite
def parents(draw: st.DrawFn) -> list[int]:
    n = draw(st.integers(1, 30))
    return [-1] + [draw(st.integers(0, u - 1)) for u in range(1, n)]


def plain_levels(parent: list[int]) -> list[int]:
    level = [0]
    for u in range(1, len(parent)):
        level.append(level[parent[u]] + 1)
    return level


# Properties


def test_a_listed_tree_describes_itself() -> None:
    tree = Tree([-1, 0, 0, 1, 1, 2], group=[0, 1, 1, 2, 2, 2])
    assert (tree.kind, tree.n_nodes, tree.depth, tree.n_groups, tree.is_chain) == ("listed", 6, 3, 3, False)
    assert tree.level.tolist() == [0, 1, 1, 2, 2, 2]
    assert tree.level_counts().tolist() == [1, 2, 3]
    assert tree.children is None
    assert tree.labels is None
    assert repr(tree) == "Tree of 6 nodes, 3 levels, 3 groups"
    assert [tree.word(u) for u in range(6)] == ["", "0", "1", "00", "01", "10"]
    assert tree.parent.dtype == tree.level.dtype == np.int64


def test_arrays_are_copies_and_read_only() -> None:
    parent = np.array([-1, 0, 1])
    tree = Tree(parent, parent + 1)
    parent[2] = 0
    assert tree.parent.tolist() == [-1, 0, 1]
    for array in (tree.parent, tree.group, tree.level, Tree.chain(4).parent, Tree.regular(2, 3).level):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5
    with pytest.raises(AttributeError):
        tree.kind = "chain"


def test_whole_floats_and_every_integer_type_are_integers() -> None:
    for dtype in (np.float64, np.int8, np.int32, np.float32):
        assert Tree(np.array([-1, 0, 1], dtype=dtype)) == Tree([-1, 0, 1])
    assert Tree([-1, 0], np.array([0, 3], dtype=np.uint64)).n_groups == 4


def test_a_chain_is_never_listed() -> None:
    start = time.process_time()
    tree = Tree.chain(10**12)
    assert tree.n_nodes == tree.depth == 10**12
    assert tree.is_chain
    assert tree.group is None
    assert tree == as_tree(10**12)
    assert hash(tree) == hash(as_tree(10**12))
    assert repr(tree) == "Tree.chain(1000000000000)"
    assert tree.word(5) == "00000"
    assert time.process_time() - start < 0.1
    with pytest.raises(InvalidTree, match=r"Tree.chain\(1000000000000\).parent: .* cannot be listed"):
        _ = tree.parent


def test_a_short_chain_lists_itself_on_demand() -> None:
    tree = Tree.chain(4, group=[0, 0, 1, 1])
    listed = Tree([-1, 0, 1, 2], [0, 0, 1, 1])
    assert tree.parent.tolist() == listed.parent.tolist()
    assert tree.level.tolist() == listed.level.tolist() == [0, 1, 2, 3]
    assert tree.level_counts().tolist() == listed.level_counts().tolist()
    assert tree.group.tolist() == [0, 0, 1, 1]
    assert tree.is_chain
    assert listed.is_chain
    assert tree != listed
    assert repr(tree) == "Tree.chain(4, 2 groups)"


@pytest.mark.parametrize(("children", "depth"), [(1, 5), (2, 1), (2, 4), (3, 4), (10, 3)])
def test_a_regular_tree_equals_its_listing(children: int, depth: int) -> None:
    tree = Tree.regular(children, depth)
    listed = Tree(tree.parent)
    assert tree.n_nodes == listed.n_nodes == sum(children**level for level in range(depth))
    assert tree.depth == listed.depth == tree.n_groups == depth
    assert tree.level.tolist() == tree.group.tolist() == listed.level.tolist()
    assert tree.level_counts().tolist() == listed.level_counts().tolist()
    assert tree.is_chain == listed.is_chain
    assert [tree.word(u) for u in range(tree.n_nodes)] == [listed.word(u) for u in range(tree.n_nodes)]
    for u in range(1, tree.n_nodes):
        assert children * tree.parent[u] + 1 <= u <= children * tree.parent[u] + children


def test_a_regular_tree_of_any_size_counts_its_nodes() -> None:
    tree = Tree.regular(2, 500)
    assert tree.n_nodes == 2**500 - 1
    assert Tree.regular(1, 10**15).n_nodes == 10**15
    last = tree.word(2**500 - 2)
    assert last == "1" * 499
    assert tree.word(2**499 - 1) == "0" * 499
    assert repr(tree) == "Tree.regular(2, 500)"
    with pytest.raises(InvalidTree, match="cannot be listed"):
        _ = tree.group
    with pytest.raises(InvalidTree, match="cannot be held in an array"):
        tree.level_counts()
    with pytest.raises(InvalidTree, match="too many nodes to count"):
        _ = Tree.regular(2, 10**15).n_nodes
    assert Tree.regular(2**62, 2).level_counts().tolist() == [1, 2**62]


@given(parents())
def test_levels_and_words_follow_the_parents(parent: list[int]) -> None:
    tree = Tree(parent)
    assert tree.level.tolist() == plain_levels(parent)
    words = [tree.word(u) for u in range(len(parent))]
    assert all(words[u][:-1] == words[parent[u]] for u in range(1, len(parent)))
    assert len(set(words)) == len(words)
    again = Tree.from_words(words)
    assert sorted(again.labels) == sorted(words)
    assert all(again.word(u) == label for u, label in enumerate(again.labels))


def test_words_need_at_most_36_children() -> None:
    assert Tree.regular(36, 2).word(36) == "z"
    assert Tree([-1] + [0] * 40).word(36) == "z"
    for tree in (Tree.regular(50, 2), Tree([-1] + [0] * 40)):
        with pytest.raises(InvalidTree, match="36 children"):
            tree.word(37)
    with pytest.raises(InvalidTree, match="zeros"):
        Tree.chain(10**12).word(10**11)
    for u in (-1, 3, True, 1.0, "0", np.zeros(2), 10**5000):
        with pytest.raises(InvalidTree, match="^u: "):
            Tree([-1, 0, 1]).word(u)


def test_millions_of_nodes_are_checked_in_well_under_a_second() -> None:
    n = 1_398_101
    parent = (np.arange(n) - 1) // 4
    start = time.process_time()
    tree = Tree(parent, np.arange(n) % 100)
    assert tree.depth == 11
    assert time.process_time() - start < 1.0


def test_groups_come_and_go() -> None:
    tree = Tree.from_edges([("a", "b"), ("a", "c")])
    grouped = tree.with_group({"c": 2, "a": 0, "b": 1})
    assert grouped == tree.with_group([0, 1, 2]) == Tree([-1, 0, 0], [0, 1, 2], labels=["a", "b", "c"])
    assert grouped.with_group(None) == tree
    assert Tree.chain(3).with_group([0, 1, 0]) == Tree.chain(3, [0, 1, 0])
    assert Tree.regular(2, 2).with_group([0, 1, 0]) == Tree([-1, 0, 0], [0, 1, 0])
    with pytest.raises(InvalidTree, match="needs a tree with labels"):
        Tree.chain(3).with_group({0: 1})


def test_equality_and_copies() -> None:
    trees = [
        Tree([-1, 0, 1]),
        Tree([-1, 0, 0]),
        Tree([-1, 0, 0], [0, 0, 0]),
        Tree.chain(3),
        Tree.chain(3, [0, 0, 0]),
        Tree.regular(2, 2),
        Tree.regular(3, 2),
        Tree.from_words(["", "0", "1"]),
    ]
    for i, a in enumerate(trees):
        for j, b in enumerate(trees):
            assert (a == b) == (i == j)
        assert pickle.loads(pickle.dumps(a)) == a == copy.deepcopy(a)
        assert Tree.from_dict(a.to_dict()) == a
    assert len(set(trees)) == len(trees)
    assert Tree([-1]) != [-1]
    assert copy.deepcopy(UNTIL_END) is UNTIL_END is pickle.loads(pickle.dumps(UNTIL_END))
    assert repr(UNTIL_END) == "hd.UNTIL_END"


# Other ways to write a tree


@given(parents(), st.randoms(use_true_random=False))
def test_edges_in_any_order_give_the_same_tree(parent: list[int], random: object) -> None:
    edges = [(f"n{parent[u]}", f"n{u}") for u in range(1, len(parent))]
    group = {f"n{u}": u % 3 for u in range(len(parent))}
    random.shuffle(edges)
    tree = Tree.from_edges(edges, root="n0", group=group)
    assert tree.level.tolist() == sorted(plain_levels(parent))
    assert {(tree.labels[tree.parent[u]], tree.labels[u]) for u in range(1, tree.n_nodes)} == set(edges)
    assert [group[label] for label in tree.labels] == tree.group.tolist()
    listed = list(zip(tree.parent.tolist(), range(tree.n_nodes), strict=True))
    assert listed[1:] == sorted(listed[1:])  # breadth first: parents never step back
    graph = nx.DiGraph(edges)
    graph.add_node("n0")
    assert set(Tree.from_networkx(graph).labels) == set(tree.labels)
    undirected = Tree.from_networkx(graph.to_undirected(), root="n0")
    assert sorted(undirected.word(u) for u in range(tree.n_nodes)) == sorted(tree.word(u) for u in range(tree.n_nodes))


def test_children_come_in_the_order_of_their_edges() -> None:
    tree = Tree.from_edges([("b", "x"), ("a", "d"), ("a", "b"), ("b", "c")])
    assert tree.labels == ("a", "d", "b", "x", "c")
    assert tree.parent.tolist() == [-1, 0, 0, 2, 2]
    assert Tree.from_edges(np.array([[5, 3], [9, 5]])).labels == (9, 5, 3)
    assert Tree.from_edges([], root="only").labels == ("only",)


def test_networkx_groups() -> None:
    graph = nx.DiGraph([("a", "b"), ("a", "c")])
    assert Tree.from_networkx(graph).group is None
    for node, group in (("a", 0), ("b", 1), ("c", 1)):
        graph.nodes[node]["group"] = group
        graph.nodes[node]["scale"] = 2 - group
    assert Tree.from_networkx(graph).group.tolist() == [0, 1, 1]
    assert Tree.from_networkx(graph, group="scale").group.tolist() == [2, 1, 1]
    assert Tree.from_networkx(graph, group=None).group is None
    del graph.nodes["c"]["group"]
    with pytest.raises(InvalidTree, match='node "c" has no group'):
        Tree.from_networkx(graph)
    one = nx.Graph()
    one.add_node(7)
    assert Tree.from_networkx(one, root=7).labels == (7,)


def test_words_in_any_order() -> None:
    tree = Tree.from_words(["10", "", "1", "0", "z"], group=[2, 0, 1, 1, 3])
    assert tree.labels == ("", "0", "1", "z", "10")
    assert tree.parent.tolist() == [-1, 0, 0, 0, 2]
    assert tree.group.tolist() == [0, 1, 1, 3, 2]
    assert tree.word(3) == "z"  # the given word, though it is the third child
    by_name = Tree.from_words(["", "0"], group={"0": 4, "": 1})
    assert by_name.group.tolist() == [1, 4]


def test_newick() -> None:
    tree = Tree.from_newick(" (('it''s [a] (b)':1e-3, B[a [nested] comment])C:-2.5,,D : 4 ) root:0;\n[end]")
    assert tree.labels == ("root", "C", "", "D", "it's [a] (b)", "B")
    assert tree.parent.tolist() == [-1, 0, 0, 0, 1, 1]
    assert Tree.from_newick("A;").labels == ("A",)
    assert Tree.from_newick("(,(,));").labels == ("",) * 5
    assert [Tree.from_newick("(,(,));").word(u) for u in range(5)] == ["", "0", "1", "10", "11"]


def test_newick_of_any_depth() -> None:
    depth = 100_000
    tree = Tree.from_newick("(" * depth + "leaf" + ")" * depth + "root;")
    assert tree.depth == depth + 1
    assert tree.is_chain
    assert tree.labels[-1] == "leaf"


@given(st.text(alphabet="(),:;[]' \nAB1.", max_size=40))
def test_any_newick_text_is_a_tree_or_one_sentence(text: str) -> None:
    tree = found_or_refused(lambda: Tree.from_newick(text))
    assert tree is None or tree.n_nodes == len(tree.labels)


def test_an_integer_is_a_chain() -> None:
    tree = Tree([-1, 0])
    assert as_tree(tree) is tree
    assert as_tree(np.int32(7)) == as_tree(None, 7) == Tree.chain(7)
    for wrong in (True, np.True_, 2.0, "chain:5", None, [1], 0, -1, 2**63, 10**5000, UNTIL_END):
        with pytest.raises(InvalidTree, match="^tree: "):
            as_tree(wrong)
