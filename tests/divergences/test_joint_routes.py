"""Every way to the same number agrees: closed forms, listed trees, groups, special families and general ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hidiv as hd
from hidiv.errors import OutOfRange
from tests.loading import tree, within
from tests.strategies import LAW, listed_trees, models, near_pairs, pairs, regular_trees


def built(pair):
    return [hd.Model.from_dict(model) for model in pair]


def value(pair, shape):
    return hd.joint_kl(*built(pair), shape).value


def grouped(model, groups):
    """The same model, its only group repeated for every group."""
    return {**model, "transition": [model["transition"]] * groups, "emission": [model["emission"]] * groups}


@LAW
@given(pairs(), st.sampled_from([1, 2, 3, 17, 200]))
def test_chain_is_the_path_and_a_regular_tree_of_one_child(pair, n_nodes):
    exact = value(pair, hd.Tree.chain(n_nodes))
    assert within(value(pair, n_nodes), exact, 1e-13)
    assert within(value(pair, hd.Tree(list(range(-1, n_nodes - 1)))), exact, 1e-13)
    assert within(value(pair, hd.Tree.regular(1, n_nodes)), exact, 1e-13)


@LAW
@given(pairs(), regular_trees())
def test_regular_tree_is_the_listed_one(pair, shape):
    regular = tree(shape)
    assert within(value(pair, hd.Tree(regular.parent)), value(pair, regular), 1e-13)


@LAW
@given(pairs(groups=3), st.sampled_from([1, 2, 4]))
def test_level_groups_are_groups(pair, children):
    regular = hd.Tree.regular(children, 3)
    assert within(value(pair, hd.Tree(regular.parent, regular.level)), value(pair, regular), 1e-13)


@LAW
@given(pairs(), listed_trees(15))
def test_one_group_is_the_same_group_for_every_node(pair, shape):
    """Level counts on one side, the upward kernel on the other."""
    n_nodes = len(shape["parent"])
    exact = value(pair, tree(shape))
    everywhere = [grouped(model, n_nodes) for model in pair]
    one_per_node = hd.Tree(shape["parent"], list(range(n_nodes)))
    assert within(value(everywhere, one_per_node), exact, 1e-13)
    # p and q need not be grouped alike.
    assert within(value([pair[0], everywhere[1]], one_per_node), exact, 1e-13)
    assert within(value([everywhere[0], pair[1]], one_per_node), exact, 1e-13)
    assert within(value(pair, one_per_node), exact, 1e-13)


@LAW
@given(near_pairs(), st.sampled_from([(1, 40), (2, 6), (4, 3)]))
def test_routes_agree_for_near_identical_models(pair, shape):
    """Closed form, level counts and upward kernel keep the same digits of values of 1e-10 to 1e-16."""
    regular = hd.Tree.regular(*shape)
    exact = value(pair, regular)
    levels = [int(level) for level in regular.level]
    everywhere = [grouped(model, regular.depth) for model in pair]
    assert within(value(pair, hd.Tree(regular.parent)), exact, 1e-13)
    assert within(value(everywhere, regular), exact, 1e-13)
    assert within(value(everywhere, hd.Tree(regular.parent, levels)), exact, 1e-13)
    assert within(float(hd.do_bound(*built(everywhere), hd.Tree(regular.parent, levels))), exact, 1e-13)


@LAW
@given(pairs(groups=2), listed_trees(10, groups=2))
def test_a_part_with_one_group_ignores_groups(pair, shape):
    partly = [{**model, "transition": model["transition"][0]} for model in pair]
    spelled = [{**model, "transition": [model["transition"][0]] * 2} for model in pair]
    assert within(value(partly, tree(shape)), value(spelled, tree(shape)), 1e-13)


@LAW
@given(pairs(groups=2), listed_trees(10, groups=2))
def test_numbering_of_the_nodes_does_not_matter(pair, shape):
    """Edges in any order in, the same value out."""
    n_nodes = len(shape["parent"])
    if n_nodes < 2:
        return
    depth_first = []
    stack = [0]
    while stack:
        node = stack.pop()
        depth_first.append(node)
        stack += [u for u in range(n_nodes) if shape["parent"][u] == node]
    place = {node: i for i, node in enumerate(depth_first)}
    parent = [-1 if shape["parent"][node] < 0 else place[shape["parent"][node]] for node in depth_first]
    other = hd.Tree(parent, [shape["group"][node] for node in depth_first])
    assert within(value(pair, other), value(pair, tree(shape)), 1e-13)


@LAW
@given(pairs(["bernoulli"]), listed_trees(8))
def test_bernoulli_is_a_categorical_of_two_symbols(pair, shape):
    def spelled(model):
        probs = [[1 - x, x] for x in model["emission"]["probs"]]
        return {**model, "emission": {"family": "categorical", "probs": probs}}

    exact = value(pair, tree(shape))
    both = [spelled(model) for model in pair]
    for mixed in (both, [pair[0], both[1]], [both[0], pair[1]]):
        assert within(value(mixed, tree(shape)), exact, 1e-12)


@LAW
@given(pairs(["gaussian_diagonal"]), listed_trees(8))
def test_diagonal_gaussian_is_a_full_one(pair, shape):
    def spelled(model):
        full = [[[a, 0.0], [0.0, b]] for a, b in model["emission"]["var"]]
        return {**model, "emission": {"family": "gaussian", "mean": model["emission"]["mean"], "cov": full}}

    exact = value(pair, tree(shape))
    both = [spelled(model) for model in pair]
    for mixed in (both, [pair[0], both[1]], [both[0], pair[1]]):
        assert within(value(mixed, tree(shape)), exact, 1e-12)


@LAW
@given(pairs(["gaussian_var"]), listed_trees(8))
def test_scalar_gaussian_is_a_diagonal_one_of_one_column(pair, shape):
    def spelled(model):
        emission = model["emission"]
        columns = {"mean": [[m] for m in emission["mean"]], "var": [[v] for v in emission["var"]]}
        return {**model, "emission": {"family": "gaussian", **columns}}

    exact = value(pair, tree(shape))
    both = [spelled(model) for model in pair]
    for mixed in (both, [pair[0], both[1]], [both[0], pair[1]]):
        assert within(value(mixed, tree(shape)), exact, 1e-12)


@LAW
@given(pairs(["exponential"]), listed_trees(8))
def test_exponential_is_a_gamma_of_shape_one(pair, shape):
    def spelled(model):
        rate = model["emission"]["rate"]
        return {**model, "emission": {"family": "gamma", "shape": [1.0] * len(rate), "rate": rate}}

    exact = value(pair, tree(shape))
    both = [spelled(model) for model in pair]
    for mixed in (both, [pair[0], both[1]], [both[0], pair[1]]):
        assert within(value(mixed, tree(shape)), exact, 1e-12)


@LAW
@given(pairs(["poisson"]), pairs(["gaussian"]), listed_trees(8))
def test_product_of_one_column_is_the_column_and_columns_add(first, second, shape):
    def with_emission(model, emission):
        return {**model, "emission": emission}

    n_states = min(len(first[0]["initial"]), len(second[0]["initial"]))
    if {len(first[0]["initial"]), len(second[0]["initial"])} != {n_states}:
        return
    shape = tree(shape)
    alone = [with_emission(m, {"family": "product", "families": [m["emission"]]}) for m in first]
    assert within(value(alone, shape), value(first, shape), 1e-12)
    two = [
        with_emission(m, {"family": "product", "families": [m["emission"], other["emission"]]})
        for m, other in zip(first, second, strict=True)
    ]
    silent = [with_emission(m, {"family": "silent", "n_states": n_states}) for m in first]
    other = [with_emission(m, o["emission"]) for m, o in zip(first, second, strict=True)]
    expected = value(first, shape) + value(other, shape) - value(silent, shape)
    assert within(value(two, shape), expected, 1e-12)


@LAW
@given(pairs(grain=4, sticky=False))
def test_per_node_of_a_deep_tree_tends_to_the_rate(pair):
    """4^2000 nodes do not fit in a double; their mean does. Rows of at least 1/16 forget fast."""
    p, q = built(pair)
    deep = hd.Tree.regular(4, 2000)
    with pytest.raises(OutOfRange, match="per_node") as caught:
        hd.joint_kl(p, q, deep)
    assert "\n" not in str(caught.value)
    assert within(hd.joint_kl(p, q, deep, per_node=True).value, hd.joint_kl_rate(p, q).value, 1e-10)


@LAW
@given(models(2, "categorical"))
def test_a_deep_tree_of_one_model_with_itself(model):
    p = hd.Model.from_dict(model)
    assert hd.joint_kl(p, p, hd.Tree.regular(4, 2000), per_node=True).value == 0


@LAW
@given(pairs(["categorical"]))
def test_the_largest_tree_a_double_can_hold(pair):
    """2^1000 nodes fit; so do 10^15 of a chain, by either name."""
    p, q = built(pair)
    deep = hd.Tree.regular(2, 1000)
    assert within(hd.joint_kl(p, q, deep).value, hd.joint_kl(p, q, deep, per_node=True).value * float(2**1000), 1e-12)
    assert within(value(pair, hd.Tree.regular(1, 10**15)), value(pair, 10**15), 1e-13)


def test_a_profile_is_for_trees_one_can_list():
    p = hd.Model([0.5, 0.5], [[0.5, 0.5], [0.25, 0.75]], hd.Bernoulli([0.25, 0.5]))
    q = hd.Model([0.5, 0.5], [[0.25, 0.75], [0.5, 0.5]], hd.Bernoulli([0.5, 0.5]))
    listed = hd.joint_kl(p, q, 10**4)
    assert listed.by_node.shape == (10**4,)
    assert within(listed.by_node.sum(), listed.value, 1e-12)
    assert hd.joint_kl(p, q, 10**12).by_node is None
    assert hd.joint_kl(p, q, hd.Tree.regular(2, 500)).by_node is None
