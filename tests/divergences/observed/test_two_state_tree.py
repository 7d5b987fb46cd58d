"""Certified divergences of regular trees: the enumerated value is inside, and the interval is narrow."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from hidiv.divergences.observed.alphabets import TreeLaw
from hidiv.divergences.observed.budget import Effort
from hidiv.divergences.observed.certified.chains import observed_chain
from hidiv.divergences.observed.certified.trees.regular_trees import cross_entropy_regular, observed_regular
from hidiv.divergences.observed.enumerated.chain_words import enumerate_chain
from hidiv.divergences.observed.enumerated.tree_configurations import enumerate_tree
from hidiv.divergences.observed.interval import NotApplicable
from tests.seeds import seeds

from .pairs import KINDS, PAPER_P, PAPER_Q, at_nodes, contains, pair, pair_with_zeros, regular_parents

SHAPES = [(2, 3), (3, 2), (1, 6), (2, 2), (4, 2), (2, 1)]


def test_paper_parameters():
    """A binary tree of depth 6, started in the stationary laws."""
    p = PAPER_P._replace(initial=np.array([2, 1]) / 3)
    q = PAPER_Q._replace(initial=np.array([4, 3]) / 7)
    found = observed_regular(at_nodes(p, 6), at_nodes(q, 6), 2, 6, width=1e-6)
    assert 29.371329 <= found.lower <= found.upper <= 29.371338
    assert found.width <= 1e-6


@pytest.mark.parametrize("seed", seeds(90, 180))
def test_enumerated_value_is_inside(seed):
    """Any kind, zeros included, a group for every level or one for all."""
    rng = np.random.default_rng([seed, 3])
    children, depth = SHAPES[seed % len(SHAPES)]
    drawn = [pair_with_zeros(int(rng.integers(10**6))) for _ in range(depth)]
    if seed % 5 == 0:
        drawn = drawn[:1] * depth
    p, q = (
        TreeLaw(
            drawn[0][i].initial,
            np.array([d[i].transition for d in drawn]),
            np.array([d[i].probabilities for d in drawn]),
        )
        for i in (0, 1)
    )
    parent = regular_parents(children, depth)
    level = np.zeros(len(parent), dtype=int)
    for u in range(1, len(parent)):
        level[u] = level[parent[u]] + 1
    listed = (TreeLaw(law.initial, law.transition[level], law.probabilities[level]) for law in (p, q))
    value = enumerate_tree(*listed, parent).value
    found = observed_regular(p, q, children, depth, width=1e-3)
    assert contains(found, value)
    assert (found.lower == inf) == (value == inf)


@pytest.mark.parametrize("kind", KINDS)
def test_width_goes_with_the_square_of_a_cell(kind):
    p, q = (at_nodes(c, 5) for c in pair(kind, 2))
    coarse, fine = (cross_entropy_regular(p, q, 2, 5, cells) for cells in (256, 4096))
    assert coarse.lower <= fine.lower <= fine.upper <= coarse.upper
    assert fine.width < coarse.width / 100


def test_a_tree_of_one_child_is_a_chain():
    p, q = pair("sticky", 4)
    tree, chain = observed_regular(at_nodes(p, 30), at_nodes(q, 30), 1, 30, width=1e-6), observed_chain(p, q, 30)
    assert tree.lower <= chain.upper
    assert tree.upper >= chain.lower
    assert tree.width < 1e-6


def test_one_level_is_one_symbol():
    found = observed_regular(at_nodes(PAPER_P, 1), at_nodes(PAPER_Q, 1), 5, 1)
    assert contains(found, enumerate_chain(PAPER_P, PAPER_Q, 1).value)
    assert found.width < 1e-12


def test_more_states_of_p():
    """The cross-entropy needs two states of q only."""
    p, q = pair("dirichlet", 5, n_symbols=2, states=(3, 2))
    found = cross_entropy_regular(at_nodes(p, 3), at_nodes(q, 3), 2, 3, 1024)
    parent = regular_parents(2, 3)
    uniform = at_nodes(PAPER_Q._replace(probabilities=np.full((2, 2), 0.5)), 7)
    value = enumerate_tree(at_nodes(p, 7), at_nodes(q, 7), parent).value
    entropy = 7 * np.log(2.0) - enumerate_tree(at_nodes(p, 7), uniform, parent).value
    assert contains(found, value + entropy)
    with pytest.raises(NotApplicable, match="3 states"):
        cross_entropy_regular(at_nodes(q, 3), at_nodes(p, 3), 2, 3, 1024)


def test_no_time_is_one_grid():
    """What was found by then is returned, and holds."""
    p, q = at_nodes(PAPER_P, 3), at_nodes(PAPER_Q, 3)
    hurried, patient = (observed_regular(p, q, 2, 3, width=1e-9, effort=Effort.lasting(s)) for s in (0.0, inf))
    assert hurried.lower <= patient.lower <= patient.upper <= hurried.upper
    assert hurried.how["entropy"]["cells"] < patient.how["entropy"]["cells"]


def test_an_interrupt_keeps_what_was_found(monkeypatch):
    calls = []

    def interrupted(p, q, children, depth, cells):
        calls.append(cells)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return cross_entropy_regular(p, q, children, depth, cells)

    monkeypatch.setattr("hidiv.divergences.observed.certified.trees.regular_trees.cross_entropy_regular", interrupted)
    p, q = at_nodes(PAPER_P, 3), at_nodes(PAPER_Q, 3)
    found = observed_regular(p, q, 2, 3, width=1e-9)
    assert found.how["entropy"]["cells"] == calls[0]
    assert found.upper < inf
