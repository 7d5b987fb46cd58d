"""The routing table: what the folder's docstring says is what choose.py holds, and what runs."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.divergences import observed
from hidiv.divergences.observed.choose import ROUTES, TREES, place
from hidiv.divergences.pair import Pair
from tests.divergences.observed.models import P, Q, gaussian_pair

REGULAR, LISTED = hd.Tree.regular(2, 3), hd.Tree([-1, 0, 0, 1, 1])


def file_of(route):
    return route.file.__name__.removeprefix("hidiv.divergences.observed.").replace(".", "/") + ".py"


def places_of(route):
    words = ", ".join(route.places)
    return words.replace(", ".join(TREES), "any tree")


def test_the_docstring_is_the_table():
    rows = [line for line in observed.__doc__.splitlines() if line.startswith("| ")][1:]
    assert rows == [
        f"| {route.method} | {places_of(route)} | {route.states} | {route.observations} | {file_of(route)} |"
        for route in ROUTES
    ]


def three(seed, family=None):
    rng = np.random.default_rng(seed)
    emission = hd.Categorical(rng.dirichlet(np.ones(3), 3)) if family is None else family
    return hd.Model("stationary", rng.dirichlet(np.ones(3), 3), emission)


def grouped(seed):
    rng = np.random.default_rng(seed)
    return hd.Model([0.5, 0.5], rng.dirichlet(np.ones(2), (2, 2)), hd.Categorical(rng.dirichlet(np.ones(3), 2)))


def ending(seed):
    rng = np.random.default_rng(seed)
    moves = 0.4 * rng.dirichlet(np.ones(2), 2)
    return hd.Model([0.5, 0.5], moves, hd.Categorical(rng.dirichlet(np.ones(2), 2)), end=[0.6, 0.6])


GROUPS = hd.Tree.chain(4, group=[0, 1, 0, 1])
SYMBOLS, THREE, NUMBERS, GROUPED = (P, Q), (three(1), three(2)), gaussian_pair(), (grouped(1), grouped(2))
COLUMNS = tuple(hd.Model(m.initial, m.transition, hd.Gaussian([[0.0, 1.0], [s, 0.0]], std=np.ones((2, 2))))
                for m, s in ((P, 1.0), (Q, 2.0)))  # fmt: skip
ANGLES = tuple(hd.Model(m.initial, m.transition, hd.VonMises([0.0, s], [1.0, 5.0])) for m, s in ((P, 1.0), (Q, 2.0)))
FEW = {"max_samples": 64, "seed": 1}

# pair, tree (None: a rate), method -> place and files that are asked, in order
EXAMPLES = [
    (SYMBOLS, 3, "exact", "chain", ["enumerated/chain_words.py"]),
    (GROUPED, GROUPS, "exact", "grouped chain", ["enumerated/tree_configurations.py"]),
    (SYMBOLS, REGULAR, "exact", "regular tree", ["enumerated/tree_configurations.py"]),
    (SYMBOLS, LISTED, "exact", "listed tree", ["enumerated/tree_configurations.py"]),
    ((P, P.relabel([1, 0])), 5, "certified", "chain", ["certified/chains.py"]),
    ((P, P.relabel([1, 0])), REGULAR, "certified", "regular tree", ["certified/joint_bound.py"]),
    ((P, P.relabel([1, 0])), None, "certified", "endless chain", ["certified/rates.py"]),
    (SYMBOLS, 5, "certified", "chain", ["certified/chains.py"]),
    ((P, THREE[1]), 5, "certified", "chain", ["certified/chains.py"]),
    (GROUPED, GROUPS, "certified", "grouped chain", ["certified/joint_bound.py", "certified/trees/regular_trees.py"]),
    (SYMBOLS, REGULAR, "certified", "regular tree", ["certified/joint_bound.py", "certified/trees/regular_trees.py"]),
    (SYMBOLS, LISTED, "certified", "listed tree", ["certified/joint_bound.py", "certified/trees/listed_trees.py"]),
    (THREE, LISTED, "certified", "listed tree", ["certified/joint_bound.py", "certified/cheap_bounds.py"]),
    (NUMBERS, 5, "certified", "chain", ["certified/joint_bound.py", "certified/number_chains.py"]),
    (NUMBERS, None, "certified", "endless chain", ["certified/joint_bound.py", "certified/number_chains.py"]),
    (ANGLES, 5, "certified", "chain", ["certified/joint_bound.py", "certified/cheap_bounds.py"]),
    (SYMBOLS, None, "certified", "endless chain", ["certified/rates.py"]),
    ((ending(1), ending(2)), hd.UNTIL_END, "certified", "until the end", ["certified/cheap_bounds.py"]),
    (SYMBOLS, 5, "montecarlo", "chain", ["sampled/tree_estimate.py"]),
    (GROUPED, GROUPS, "montecarlo", "grouped chain", ["sampled/tree_estimate.py"]),
    (SYMBOLS, REGULAR, "montecarlo", "regular tree", ["sampled/tree_estimate.py"]),
    (COLUMNS, LISTED, "montecarlo", "listed tree", ["sampled/tree_estimate.py"]),
    (SYMBOLS, None, "montecarlo", "endless chain", ["sampled/rate_estimate.py"]),
    ((ending(1), ending(2)), hd.UNTIL_END, "montecarlo", "until the end", ["sampled/until_end_estimate.py"]),
    (SYMBOLS, 5, "variational", "chain", ["variational.py"]),
    (GROUPED, GROUPS, "variational", "grouped chain", ["variational.py"]),
    (NUMBERS, REGULAR, "variational", "regular tree", ["variational.py"]),
    (NUMBERS, LISTED, "variational", "listed tree", ["variational.py"]),
    (SYMBOLS, 3, "auto", "chain", ["enumerated/chain_words.py"]),
    (SYMBOLS, 30, "auto", "chain", ["certified/chains.py"]),
    (NUMBERS, 30, "auto", "chain", ["certified/joint_bound.py", "certified/number_chains.py"]),
    (ANGLES, None, "auto", "endless chain",
     ["certified/joint_bound.py", "certified/cheap_bounds.py", "quadrature/two_state_chains.py"]),
    (NUMBERS, LISTED, "auto", "listed tree",
     ["certified/joint_bound.py", "certified/cheap_bounds.py", "quadrature/two_state_trees.py"]),
    (COLUMNS, 5, "auto", "chain",
     ["certified/joint_bound.py", "certified/cheap_bounds.py", "sampled/tree_estimate.py"]),
    ((ending(1), ending(2)), hd.UNTIL_END, "auto", "until the end", ["sampled/until_end_estimate.py"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("pair", "tree", "method", "where", "files"), EXAMPLES, ids=lambda v: v if isinstance(v, str) else ""
)
def test_the_table_is_what_runs(pair, tree, method, where, files, monkeypatch):
    asked = []

    def watched(run, name):
        def answer(pair, budget):
            asked.append(name)
            return run(pair, budget)

        return answer

    for file, name in {route.file: file_of(route) for route in ROUTES}.items():
        monkeypatch.setattr(file, "run", watched(file.run, name))
    if tree is None:
        hd.observed_kl_rate(*pair, method=method, width=1e-3, **FEW)
    else:
        hd.observed_kl(*pair, tree, method=method, **FEW)
    assert asked == files
    assert place(Pair.of(*pair, tree)) == where
    for file in files:
        rows = [route for route in ROUTES if file_of(route) == file]
        assert any(where in route.places and method in (route.method, "auto") for route in rows)


def test_every_row_of_the_table_is_an_example():
    answered = {files[-1] for *_, files in EXAMPLES}
    assert answered == {file_of(route) for route in ROUTES}


def test_every_file_of_the_table_has_the_two_functions():
    for route in ROUTES:
        assert callable(route.file.applies)
        assert callable(route.file.run)
