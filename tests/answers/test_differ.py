"""`hd.differ`: what it finds, what it says, and what it refuses."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from inspect import signature

import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import HidivError, InvalidEvidence, InvalidModel, InvalidTree

OLD = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1.0, 6.0]))
NEW = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.4, 0.6]], hd.Poisson([1.0, 9.0]))
QUICK = {"emission": "poisson", "n_init": 1, "tol": 1e-4, "seed": 1, "permutations": 499}


def drawn(model, count=10, length=40, seed=1):
    return list(hd.sample(model, length, size=count, seed=seed)[1])


GROUPS = {"old": drawn(OLD), "new": drawn(NEW, seed=2)}


@pytest.fixture(scope="module")
def found():
    return hd.differ(GROUPS, n_states=2, **QUICK)


def test_a_difference_is_found(found):
    assert found.differs
    assert found.p_value == pytest.approx(1 / 500)
    pair = found.pairs[0]
    assert (pair.first, pair.second) == ("old", "new")
    assert found.divergences["old", "new"] == pair.divergence
    assert pair.divergence.lower <= pair.divergence.value <= pair.divergence.upper
    assert pair.divergence.lower < float(hd.observed_kl(OLD, NEW, 40, rtol=0.05, seed=1)) / 40 < pair.divergence.upper
    assert set(found.models) == {"old", "new"}
    assert found.sentence().startswith("groups old and new differ (p = 0.002); 0.")
    assert "observations tell them apart" in found.sentence()


def test_none_is_found_where_there_is_none():
    told = hd.differ([drawn(OLD), drawn(OLD, seed=3)], n_states=2, **QUICK)
    assert told.p_value > 0.05
    assert told.sentence().startswith("no difference between groups a and b was found (p = 0.")
    assert told.pairs[0].divergence.lower == 0.0


def test_three_groups_and_their_pairs():
    told = hd.differ({**GROUPS, "same": drawn(OLD, seed=3)}, n_states=[1, 2], **QUICK)
    assert [(pair.first, pair.second) for pair in told.pairs] == [("old", "new"), ("old", "same"), ("new", "same")]
    assert [pair.adjusted <= 0.05 for pair in told.pairs] == [True, False, True]
    assert all(pair.adjusted >= pair.p_value for pair in told.pairs)
    assert "of 3 pairs 2 differ: old and new" in told.sentence()
    apart, *others = told.pairs
    one = replace(told, pairs=(apart, *(replace(pair, adjusted=1.0) for pair in others)))
    assert "of 3 pairs 1 differs: old and new" in one.sentence()
    assert any("by BIC, of 1, 2" in note for note in told.notes)


def test_a_given_model_is_not_fitted():
    told = hd.differ(GROUPS, model=OLD, seed=1, permutations=499)
    assert told.pooled == OLD
    assert told.p_value <= 0.01


def test_the_executor_does_not_matter(found):
    with ThreadPoolExecutor(2) as pool:
        assert hd.differ(GROUPS, n_states=2, executor=pool, **QUICK) == found


def test_blocks_of_one_long_sequence():
    one, two = (hd.sample(model, 600, seed=4)[1] for model in (OLD, NEW))
    told = hd.differ({"one": [one], "two": [two]}, n_states=2, block=50, **QUICK)
    assert told.sizes == {"one": 12, "two": 12}
    assert told.p_value < 0.01
    assert any("cut into 24 pieces of 50 to 50 steps" in note for note in told.notes)
    short = hd.differ({"one": [one], "two": [two]}, n_states=2, block=5, **QUICK)
    assert any("p may be too small" in note for note in short.notes)


def test_strata_of_length_and_of_labels():
    groups = {"a": [x[:n] for x, n in zip(drawn(OLD, 8), [10, 40] * 4, strict=True)], "b": drawn(OLD, 8, seed=3)}
    by_length = hd.differ(groups, n_states=2, strata="length", **QUICK)
    assert any("dealt within strata" in note for note in by_length.notes)
    as_it_comes = hd.differ(groups, n_states=2, **QUICK)
    assert any("10 to 40 steps, dealt whatever their length" in note for note in as_it_comes.notes)
    labels = {name: [i % 2 for i in range(8)] for name in groups}
    assert 0.0 < hd.differ(groups, n_states=2, strata=labels, **QUICK).p_value <= 1.0


def test_trees_of_symbols():
    law, other = (
        hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[p, 1 - p], [0.2, 0.8]])) for p in (0.9, 0.6)
    )
    tree = hd.Tree([-1, 0, 0, 1, 1, 2, 2])
    names = np.array(["NOUN", "VERB"])
    groups = {
        name: [list(names[x.astype(int)]) for x in hd.sample(model, tree, size=25, seed=1)[1]]
        for name, model in (("novels", law), ("news", other))
    }  # fmt: skip
    told = hd.differ(groups, tree, n_states=2, n_init=1, seed=1, tol=1e-4, permutations=499)
    assert told.p_value < 0.05
    assert told.pooled.symbol_names == (("NOUN", "VERB"),)
    trees = {name: [tree] * 25 for name in groups}
    assert hd.differ(groups, trees, n_states=2, n_init=1, seed=1, tol=1e-4, permutations=499).p_value == told.p_value


def test_it_is_saved_and_read(found, tmp_path):
    hd.save(found, tmp_path / "d.json")
    assert hd.load(tmp_path / "d.json") == found
    assert hd.plots.difference(found).get_xlabel().startswith("observed divergence")
    assert repr(found) == found.summary()


@pytest.mark.parametrize(
    ("groups", "options", "error", "said"),
    [
        ({"a": GROUPS["old"]}, {}, HidivError, "groups: at least two are needed to tell whether they differ, got 1"),
        ([[[1, 2, 3]], [[2, 1], [3, 1]]], {}, HidivError, r"groups\['a'\]: holds one sequence, and whole sequences"),
        ([[1, 2, 3], [2, 1]], {}, InvalidEvidence, "must be a list of sequences, not of numbers"),
        (
            [[[[1, 2], [3, 4]]] * 2, [[1, 2, 3]] * 2], {}, InvalidEvidence,
            r"groups\['b'\]: must have 2 columns like 'a', got 1",
        ),
        (
            [[[1, 2, 3]] * 2, [[1, 2, 4]] * 2], {"n_states": 5}, InvalidModel,
            "n_states: a model of 5 states has 29 parameters for 12 observations; take fewer states",
        ),
        ("abc", {}, HidivError, "groups: must be a list or a dict of lists of sequences"),
        (GROUPS, {"strata": "weight"}, HidivError, 'strata: must be "length", or a label'),
        (GROUPS, {"strata": [1, 2]}, HidivError, "strata: must have a label for each of the 20 sequences, got 2"),
        (
            GROUPS, {"strata": {"old": [1] * 10, "new": [2] * 10}}, HidivError,
            "strata: every stratum holds sequences of one group only, so that none can be dealt to another",
        ),
        (
            [GROUPS["old"][:1], GROUPS["new"]], {"block": 30}, HidivError,
            r"groups\['a'\]: its 40 steps make one piece of at least 30, .* give more, or block=20 or less",
        ),
        (GROUPS, {"n_states": []}, HidivError, "n_states: must name at least one number of states"),
        (GROUPS, {"tree": [40]}, InvalidTree, "tree: must be one tree, or a list for each of the 2 groups, got 1"),
        (GROUPS, {"executor": "dusk", "n_states": 1}, HidivError, "executor: must be None"),
        (GROUPS, {"permutations": 0}, HidivError, "permutations: must be a whole number from 1"),
    ],
)  # fmt: skip
def test_what_is_refused(groups, options, error, said):
    tree = options.pop("tree", None)
    with pytest.raises(error, match=said) as refused:
        hd.differ(groups, tree, **{**QUICK, "permutations": 10**8, **options})
    assert "\n" not in str(refused.value)


def test_blocks_do_not_cut_trees():
    with pytest.raises(InvalidTree, match="block: cuts chains, not trees"):
        hd.differ([[[1, 2, 3]] * 2, [[1, 2, 3]] * 2], hd.Tree([-1, 0, 0]), block=2)


def test_the_signature():
    expected = (
        "groups", "tree", "n_states", "emission", "model", "permutations", "strata", "block", "seed", "executor",
    )  # fmt: skip
    assert tuple(signature(hd.differ).parameters)[:10] == expected
    assert signature(hd.differ).parameters["permutations"].default == 9999


ONE = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]))
TWO = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))


def test_groups_far_apart_keep_their_divergence():
    """The pooled model has one state for each group, never left; each group's own model has both of its states."""
    groups = {"a": drawn(ONE, 8, 200), "b": drawn(TWO, 8, 200, seed=2)}
    found = hd.differ(groups, n_states=2, emission="categorical", n_init=2, seed=0, permutations=99)
    assert found.pooled.transition == pytest.approx(np.eye(2), abs=1e-6)
    assert all(model.transition.min() > 0.01 for model in found.models.values())
    (interval,) = found.divergences.values()
    assert interval.lower < float(hd.observed_kl_rate(ONE, TWO)) < interval.upper
    assert 0.05 < interval.upper - interval.lower < 0.3


@pytest.mark.parametrize("far", [1e-19, 1e-99])
def test_fits_with_an_empty_state_keep_the_error_of_the_others(far):
    """What an empty state leaves open does not hide what the data leave open of the other one."""
    models = [
        hd.Model([1 - far, far], [[1 - far, far], [0.19, 0.81]], hd.Categorical([seen, [0.55, 0.21, 0.24]]))
        for seen in ([0.133, 0.234, 0.633], [0.429, 0.371, 0.2])
    ]
    data = [drawn(model, 8, 200, seed) for seed, model in enumerate((ONE, TWO))]
    found = hd.divergence_interval(*models, *data, on=100, method="delta", seed=1)
    assert found.fitted / 100 == pytest.approx(0.466, rel=0.03)
    # Two multinomial laws of 1600 draws each: the standard deviation of their divergence is 0.036.
    assert found.std_error / 100 == pytest.approx(0.036, rel=0.15)
    assert any("next to nothing about" in note for note in found.notes)
