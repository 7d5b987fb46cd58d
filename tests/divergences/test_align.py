"""align: the best order of q's states, against every order."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import hidiv as hd
from hidiv.divergences.alignment.relabelling_costs import Costs
from hidiv.divergences.pair import Pair
from hidiv.errors import IncompatibleModels
from tests.seeds import seeds

TREES = {
    "chain": hd.Tree.chain(7),
    "one node": hd.Tree.chain(1),
    "regular": hd.Tree.regular(3, 4),
    "listed": hd.Tree([-1, 0, 0, 1, 1, 1, 4]),
}


def drawn(rng, n_states, zeros=False, groups=1, family="categorical"):
    """A random model; zeros in a third of its transitions and emissions, some states never entered."""

    def rows(*shape):
        table = rng.dirichlet(np.ones(shape[-1]), size=shape[:-1])
        if zeros:
            table = np.where(rng.random(table.shape) < 0.3, 0.0, table)
            table = np.where(table.sum(axis=-1, keepdims=True) > 0, table, 1.0)
        return table / table.sum(axis=-1, keepdims=True)

    def emission():
        if family == "categorical":
            return hd.Categorical(rows(n_states, 3))
        return hd.Gaussian(rng.normal(size=n_states), std=rng.uniform(0.5, 2.0, size=n_states))

    if groups == 1:
        return hd.Model(rows(n_states), rows(n_states, n_states), emission())
    return hd.Model(rows(n_states), rows(groups, n_states, n_states), [emission() for _ in range(groups)])


def terms(p, q, tree):
    """(how many terms of the joint divergence are infinite, what the others add up to per node)."""
    found = hd.joint_kl(p, q, tree, per_node=True)
    parts = np.concatenate([[found.parts.initial], found.parts.rows.ravel(), found.parts.states.ravel()])
    assert np.isinf(parts).sum() == len(found.infinite)
    return len(found.infinite), parts[np.isfinite(parts)].sum()


def check_against_every_order(p, q, tree):
    """Fewest infinite terms first, then the smallest rest; the labels as they are come first among equals."""
    found = hd.align(p, q, tree)
    orders = list(permutations(range(p.n_states)))
    by_order = {order: terms(p, q.relabel(order), tree) for order in orders}
    fewest = min(infinite for infinite, _ in by_order.values())
    least = min(rest for infinite, rest in by_order.values() if infinite == fewest)
    best = [o for o, (infinite, rest) in by_order.items() if infinite == fewest and rest <= least * (1 + 1e-12)]
    assert found.optimal
    assert found.permutation == best[0]
    assert found.ties == len(best) - 1
    assert found.infinite == fewest
    assert found.labelled_infinite == by_order[orders[0]][0]
    aligned, labelled = (hd.joint_kl(p, q.relabel(order), tree).value for order in (found.permutation, orders[0]))
    assert found.value == aligned
    assert np.isfinite(found.value) == (found.infinite == 0)
    assert found.gain == (0.0 if labelled == found.value else labelled - found.value)
    assert found.as_labelled == (found.permutation == orders[0])
    return found


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
@pytest.mark.parametrize("zeros", [False, True], ids=["positive", "zeros"])
@pytest.mark.parametrize("seed", range(4))
def test_every_order(tree, zeros, seed):
    rng = np.random.default_rng([seed, 7])
    n_states = 2 + seed % 3
    check_against_every_order(drawn(rng, n_states, zeros), drawn(rng, n_states, zeros), tree)


def test_zeros_make_some_orders_infinite_and_all_of_them_for_some_pairs():
    """The draws above hold all three kinds; here one of each by hand."""
    p = hd.Model([1.0, 0.0], [[0.5, 0.5], [0.0, 1.0]], hd.Silent(2))
    assert check_against_every_order(p, p.relabel([1, 0]), 5).permutation == (1, 0)
    everywhere = hd.Model([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], hd.Silent(2))
    nowhere = check_against_every_order(everywhere, p, 5)
    assert (nowhere.value, nowhere.gain, nowhere.ties, nowhere.permutation) == (np.inf, 0.0, 1, (0, 1))
    assert (nowhere.infinite, nowhere.labelled_infinite, nowhere.as_labelled) == (2, 2, True)
    # What p never reaches may be forbidden: its state 1 is not entered within two nodes.
    late = hd.Model([1.0, 0.0, 0.0], [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.5, 0.5]], hd.Silent(3))
    early = hd.Model([1.0, 0.0, 0.0], [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], hd.Silent(3))
    assert check_against_every_order(late, early, 2).value == 0.0
    assert check_against_every_order(late, early, 3).value == np.inf


def test_zeros_count_however_rarely_they_are_met():
    """At the root of a tree of 2^900 nodes a state has a weight of 1e-271, and an infinite cost is one all the same."""
    p = hd.Model([1.0, 0.0], [[0.5, 0.5], [0.5, 0.5]], hd.Gaussian([0.0, 0.1], std=[1.0, 1.0]))
    q = hd.Model([0.0, 1.0], [[0.5, 0.5], [0.5, 0.5]], hd.Gaussian([0.0, 0.1], std=[1.0, 1.0]))
    found = check_against_every_order(p, q, hd.Tree.regular(2, 900))
    assert found.permutation == (1, 0)
    assert np.isfinite(found.value)


def test_an_infinite_term_that_stays_does_not_hide_the_others():
    """A symbol that q lacks makes every order infinite; the states are those of p in the other order."""
    p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.05, 0.9, 0.05], [0.0, 0.2, 0.8]]))
    q = hd.Model([0.5, 0.5], [[0.8, 0.2], [0.1, 0.9]], hd.Categorical([[0.0, 0.2, 0.8], [0.0, 0.95, 0.05]]))
    found = check_against_every_order(p, q, 10)
    assert (found.permutation, found.value, found.infinite, found.ties) == ((1, 0), np.inf, 1, 0)
    assert found.finite == pytest.approx(0.0, abs=1e-14)
    fewer = hd.Model(p.initial, p.transition, hd.Categorical([[0.0, 0.0, 1.0], [0.0, 0.5, 0.5]]))
    assert check_against_every_order(p, fewer, 10).labelled_infinite == 1
    many = hd.Tree.regular(2, 5000)
    assert (hd.align(p, q, many).permutation, hd.align(p, q, many).finite) == ((1, 0), np.inf)


@pytest.mark.parametrize("zeros", [False, True], ids=["positive", "zeros"])
def test_a_far_emission_does_not_blur_the_rest(zeros):
    """One state is 1e9 standard deviations off: which of the seven others is which is still told."""
    rng = np.random.default_rng(2)
    table = drawn(rng, 8, zeros).transition
    mean = np.r_[1e9, 0.1 * np.arange(7)]
    p = hd.Model(np.full(8, 0.125), table, hd.Gaussian(mean, std=np.ones(8)))
    order = rng.permutation(8)
    assert hd.align(p, p.relabel(order), 50).permutation == tuple(np.argsort(order))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sides", [(3, 3), (3, 1), (1, 3)])
def test_groups(seed, sides):
    rng = np.random.default_rng([seed, 11])
    p, q = (drawn(rng, 3, seed == 1, groups) for groups in sides)
    check_against_every_order(p, q, hd.Tree([-1, 0, 0, 1, 1, 2], [0, 1, 2, 2, 1, 1]))
    check_against_every_order(p, q, hd.Tree.regular(2, 3))


def test_other_families_and_ends():
    rng = np.random.default_rng(5)
    p, q = (drawn(rng, 3, family="gaussian") for _ in range(2))
    check_against_every_order(p, q, 6)
    ending = [hd.Model(m.initial, m.transition * 0.75, m.emission, end=[0.25] * 3) for m in (p, q)]
    check_against_every_order(*ending, hd.UNTIL_END)


def test_eight_states_are_all_tried():
    rng = np.random.default_rng(8)
    p = drawn(rng, 8)
    order = rng.permutation(8)
    found = hd.align(p, p.relabel(order), 10)
    assert (found.value, found.optimal, found.ties) == (0.0, True, 0)
    assert found.permutation == tuple(np.argsort(order))


def test_ties_are_counted_and_the_labels_as_they_are_come_first():
    same = hd.Model([1 / 3] * 3, np.full((3, 3), 1 / 3), hd.Categorical([[0.5, 0.5]] * 3))
    found = check_against_every_order(same, same, 4)
    assert (found.permutation, found.ties, found.gain) == ((0, 1, 2), 5, 0.0)


def test_states_that_hardly_differ_are_still_told_apart():
    """The cost of two orders agrees to 1e-15; their divergences are 0 and 1e-14."""
    near = hd.Categorical([[0.5, 0.5], [0.5 + 2**-24, 0.5 - 2**-24]])
    p = hd.Model([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], near)
    found = hd.align(p, p.relabel([1, 0]), 10)
    assert (found.permutation, found.value, found.ties) == ((1, 0), 0.0, 0)
    assert 0 < found.gain < 1e-12


@pytest.mark.parametrize("seed", seeds(1, 3))
@pytest.mark.parametrize("zeros", [False, True], ids=["positive", "zeros"])
def test_nine_states_are_searched_and_the_best_is_found(seed, zeros):
    rng = np.random.default_rng([seed, 9])
    p, q = drawn(rng, 9), drawn(rng, 9, zeros)
    found = hd.align(p, q, 50)
    orders = np.array(list(permutations(range(9))))
    infinite, finite, _ = Costs.of(Pair.of(p, q, 50)).of_orders(orders)
    best = orders[np.lexsort((finite, infinite))[0]]
    assert found.infinite == infinite.min()
    assert found.finite / 50 >= finite[infinite == infinite.min()].min() * (1 - 1e-12)
    assert (found.optimal, found.ties) == (False, None)
    assert found.value == hd.joint_kl(p, q.relabel(found.permutation), 50).value
    assert found.value == pytest.approx(hd.joint_kl(p, q.relabel(best), 50).value, rel=1e-12)


@pytest.mark.parametrize("n_states", [9, 12, 30])
@pytest.mark.parametrize("zeros", [False, True], ids=["positive", "zeros"])
def test_a_model_finds_its_own_relabelling(n_states, zeros):
    rng = np.random.default_rng([n_states, zeros])
    p = drawn(rng, n_states, zeros)
    found = hd.align(p, p.relabel(rng.permutation(n_states)), hd.Tree.regular(2, 5))
    assert (found.value, found.optimal) == (0.0, False)


def assigned(part, order):
    """A quadratic assignment as it is defined."""
    return part.linear[np.arange(len(order)), order].sum() + (part.weights * part.costs[:, order][:, :, order]).sum()


def test_what_an_exchange_adds():
    """The quick difference against the two costs it is the difference of."""
    rng = np.random.default_rng(3)
    for zeros in (False, True):
        costs = Costs.of(Pair.of(drawn(rng, 6, zeros), drawn(rng, 6, zeros), 9))
        for part in (costs.finite, costs.infinite):
            order = rng.permutation(6)
            added, before = part.exchanges(order), assigned(part, order)
            for i, j in np.ndindex(6, 6):
                exchanged = order.copy()
                exchanged[[i, j]] = order[[j, i]]
                assert added[i, j] == pytest.approx(assigned(part, exchanged) - before, abs=1e-12)


def test_bad_input():
    two, three = (drawn(np.random.default_rng(0), k) for k in (2, 3))
    with pytest.raises(IncompatibleModels, match="2 and 3 states"):
        hd.align(two, three, 4)
