"""The error of a divergence: against its size for one state, where it is known, and the same whoever runs it."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import hidiv as hd
from benchmarks.bootstrap_size import interval, rejected
from hidiv.errors import HidivError
from hidiv.fitting.bootstrap_measures import drawn_observed, many
from hidiv.fitting.bootstrap_result import NO_INTERVAL, NO_TEST, standard_error, summary
from hidiv.fitting.evidence_forest import forest_of
from hidiv.fitting.simulation import redrawn

P = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1.0, 8.0]))


def test_one_state_has_a_known_error():
    """KL of two normal laws of known spread is (a - b)^2/2 a node: its error is |a - b| sqrt(1/n + 1/m) a node."""
    law = hd.Gaussian([0.0], std=[1.0])
    n, m = 80, 120
    x, y = np.random.default_rng(0).normal(size=n), 1.0 + np.random.default_rng(1).normal(size=m)
    x, y = [[each] for each in x], [[each] for each in y]  # many trees of one node
    p, q = (hd.fit(each, None, 1, law, fixed="std", n_init=1).model for each in (x, y))
    found = hd.bootstrap_divergence(p, q, x, y, divergence="joint", on=1, replicates=100, seed=2, fixed="std")
    apart = p.emission.mean[0] - q.emission.mean[0]
    assert abs(found.value - apart**2 / 2) < 1e-12
    # A standard deviation of 100 draws is known to 7 percent.
    assert abs(found.std_error / (abs(apart) * np.sqrt(1 / n + 1 / m)) - 1) < 0.2
    assert found.lower < found.value < found.upper
    assert found.p_value == 1 / 101
    assert repr(found).endswith("more than chance gives, the smallest that 100 replicates allow")


def test_no_difference_is_told():
    xs = hd.sample(P, hd.Tree.regular(2, 6), size=2, seed=4)[1]
    tree = hd.Tree.regular(2, 6)
    p, q = (hd.fit(x, tree, start=P) for x in xs)
    found = hd.bootstrap_divergence(p, q, *xs, tree, tree, replicates=30, seed=0, tol=1e-4)
    assert found.p_value > 0.05
    assert "no more than chance" in repr(found)
    assert hd.bootstrap_divergence(p, q, *xs, tree, tree, replicates=2, seed=0, null=False, max_iter=2).p_value is None


def test_an_interval_and_a_p_value_that_disagree_are_explained():
    spread, even = np.linspace(0.0, 6.0, 99), np.linspace(1.9, 2.4, 99)
    wide, narrow = summary(2.0, spread, even - 1.0, 2.0), summary(2.0, even, spread, 2.0)
    assert wide.p_value < 0.05
    assert wide.lower == 0.0
    assert repr(wide).endswith(NO_INTERVAL)
    assert narrow.p_value > 0.05
    assert narrow.lower > 0.0
    assert repr(narrow).endswith(NO_TEST)
    agreed = summary(2.0, even, even - 1.0, 2.0), summary(2.0, spread, spread, 2.0), summary(2.0, spread, even[:9], 2.0)
    assert [found.notes for found in agreed] == [(), (), ()]


def test_executors_give_the_same_numbers():
    xs = hd.sample(P, 40, size=2, seed=4)[1]
    settings = {"replicates": 4, "seed": 1, "max_iter": 5, "divergence": "aligned"}
    first = hd.bootstrap_divergence(P, P, *xs, **settings)
    with ThreadPoolExecutor(1) as pool:
        again = hd.bootstrap_divergence(P, P, *xs, executor=pool, **settings)
    assert np.array_equal(first.replicates, again.replicates)
    assert np.array_equal(first.null, again.null)


def test_trees_and_functions():
    tree = hd.Tree.regular(2, 5)
    xs = hd.sample(P, tree, size=3, seed=0)[1]
    found = hd.bootstrap_divergence(
        P, P, list(xs), list(xs), tree, tree, divergence=lambda p, q: hd.joint_kl_rate(p, q).value, replicates=3,
        seed=0, max_iter=3,
    )  # fmt: skip
    assert found.value == 0
    assert (found.replicates > 0).all()


def test_draws_are_shown_as_the_evidence_was():
    """Missing stays missing; a draw inside a known interval is hidden in it, one outside is seen."""
    evidence = hd.Evidence([1.0, np.nan, np.nan, 2.0], lower=[-np.inf, -np.inf, 3.0, -np.inf])
    model = hd.Model([1.0], [[1.0]], hd.Gaussian([3.0], std=[1.0]))
    inside = 0
    for seed in range(200):
        drawn = redrawn(model, forest_of(evidence, None, None, None), np.random.default_rng(seed)).evidence
        assert np.isnan(drawn.x[1, 0])
        assert not np.isnan(drawn.x[[0, 3], 0]).any()
        hidden = np.isnan(drawn.x[2, 0])
        assert drawn.lower[2, 0] == (3.0 if hidden else -np.inf)
        assert hidden or drawn.x[2, 0] < 3.0
        inside += hidden
    assert 70 < inside < 130


def test_states_are_drawn_as_the_model_says():
    forest = forest_of([np.zeros(4), np.zeros(7)], [hd.Tree.chain(4), hd.Tree.regular(2, 3)], None, None)
    model = hd.Model([1.0, 0.0], [[0.0, 1.0], [1.0, 0.0]], hd.Poisson([0.0, 50.0]))
    x = redrawn(model, forest, np.random.default_rng(0)).evidence.x[:, 0]
    assert ((x > 0) == [0, 1, 0, 1, 0, 1, 1, 0, 0, 0, 0]).all()


def separate_fits() -> tuple[list[np.ndarray], ...]:
    """Two samples of one law, and fits that number their states the other way round."""
    x, y = (list(hd.sample(P, 20, size=8, seed=seed)[1]) for seed in (11, 12))
    p, q = (hd.fit(each, start=P, tol=1e-4).model for each in (x, y))
    return p, q.relabel([1, 0]), x, y


@pytest.mark.parametrize("divergence", ["observed", "aligned", "joint"])
def test_the_numbering_of_states_is_no_difference(divergence):
    p, q, x, y = separate_fits()
    found = hd.bootstrap_divergence(p, q, x, y, divergence=divergence, replicates=19, seed=0, tol=1e-4)
    assert found.p_value > 0.05
    exact = {"observed": hd.observed_kl, "aligned": hd.align, "joint": hd.joint_kl}[divergence](p, q, 20)
    assert abs(found.value / exact.value - 1) < 0.02
    if divergence == "joint":
        assert found.value > 20 * found.statistic  # as labelled, states are mistaken for each other
        assert "the p-value is that of" in repr(found)
    else:
        assert abs(found.statistic / found.value - 1) < 0.2


def test_observed_is_the_default_and_takes_any_numbers_of_states():
    p, q, x, y = separate_fits()
    settings = {"replicates": 3, "seed": 0, "max_iter": 3}
    default = hd.bootstrap_divergence(p, q, x, y, **settings)
    named = hd.bootstrap_divergence(p, q, x, y, divergence="observed", **settings)
    assert np.array_equal(default.replicates, named.replicates)
    one = hd.fit(y, None, 1, "poisson", n_init=1)
    found = hd.bootstrap_divergence(p, one, x, y, **settings)
    assert found.value > 0
    assert np.isfinite(found.replicates).all()


@pytest.mark.parametrize("seed", range(3))
def test_quick_observed_divergences(seed, monkeypatch):
    """Against every word listed: draws of both models, right for near and far pairs and whatever they exclude."""
    monkeypatch.setattr("hidiv.fitting.bootstrap_measures.SEED", seed)
    a = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]))
    near = hd.Model([0.4, 0.6], [[0.85, 0.15], [0.25, 0.75]], hd.Categorical([[0.65, 0.2, 0.15], [0.1, 0.35, 0.55]]))
    far = hd.Model([0.4, 0.6], [[0.5, 0.5], [0.5, 0.5]], hd.Categorical([[0.1, 0.1, 0.8], [0.1, 0.8, 0.1]]))
    fewer = hd.Model([1.0, 0.0], [[0.5, 0.5], [0.0, 1.0]], hd.Categorical([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]))
    for tree in (hd.Tree.chain(5), hd.Tree([-1, 0, 0, 1, 1])):
        shape = many(tree, 1)
        for p, q in ((a, near), (a, far), (far, a), (fewer, a)):
            exact = hd.observed_kl(p, q, tree, method="exact").value
            assert abs(drawn_observed(p, q, tree, shape) / exact - 1) < 0.25  # four standard errors of 1000 draws
        assert drawn_observed(a, fewer, tree, shape) == np.inf
        assert abs(drawn_observed(a, a.relabel([1, 0]), tree, shape)) < 1e-14


@pytest.mark.parametrize(("degrees", "apart"), [(1, 0.0), (4, 0.0), (12, 0.0), (4, 10.0), (4, 400.0)])
def test_standard_error_near_zero_and_far_from_it(degrees, apart):
    """A divergence of fits is a chi-square off centre: its spread is known, that of replicates is larger near 0."""
    rng = np.random.default_rng(degrees)
    values = 0.1 * rng.noncentral_chisquare(degrees, apart, size=200)
    truth = 0.1 * np.sqrt(2 * degrees + 4 * apart)
    drawn = [0.1 * rng.noncentral_chisquare(degrees, value / 0.1, size=400) for value in values]
    found = [standard_error(value, each) for value, each in zip(values, drawn, strict=True)]
    assert 0.85 < np.median(found) / truth < 1.15
    if not apart:
        assert np.median([each.std() for each in drawn]) / truth > 1.2  # what replicates themselves say


def test_rejections_where_one_law_made_both():
    """The small form of benchmarks/bootstrap_size.py: as many as an exact test rejects in 95 of 100 studies."""
    law = hd.Model([0.5, 0.5], [[0.8, 0.2], [0.3, 0.7]], hd.Gaussian([0.0, 6.0], std=[1.0, 1.0]))
    nulls = 40
    told = [rejected(law, 8, 4, seed) for seed in range(nulls)]
    for name in ("observed", "aligned"):
        assert interval(nulls)[0] <= sum(each[name] for each in told) <= interval(nulls)[1], name


def test_one_sample_shows_what_the_other_never_did():
    x, y = [[0, 1, 0, 1, 1, 0], [0, 0, 1, 0]], [[0, 2, 1, 2, 0, 2], [2, 2, 0, 1]]
    p, q = (hd.Model([1.0], [[1.0]], hd.Categorical([probs])) for probs in ([0.6, 0.4, 0.0], [0.3, 0.2, 0.5]))
    found = hd.bootstrap_divergence(p, q, x, y, replicates=4, seed=0)
    assert np.isfinite(found.value)
    assert found.p_value is not None
    turned = hd.bootstrap_divergence(q, p, y, x, replicates=4, seed=0)
    assert turned.value == np.inf
    assert turned.p_value is not None


def test_few_replicates_have_a_word_and_intervals_hold_their_value():
    p, q, x, y = separate_fits()
    few = hd.bootstrap_divergence(p, q, x, y, replicates=4, seed=0, max_iter=5)
    assert "the smallest that 4 replicates allow" in repr(few)
    assert "chance gives" not in repr(few)
    above = summary(1.0, np.array([1.5, 1.6, 1.8]), np.array([2.0]), 1.0)
    assert above.lower <= above.corrected <= above.upper
    assert "divergence 1 nats, 0.63 of it by noise: 0.3667 [" in repr(above)
    far = summary(0.4, np.array([0.9, 1.2, 3.0, 0.8]), None, None)  # a value below what noise alone adds
    assert (far.lower, far.corrected) == (0.0, 0.0)
    assert "p-value 1: the smallest that 1 replicate allows is 0.5, too few to tell" in repr(above)
    assert summary(1.0, np.array([0.5, 1.6]), None, None).notes == ()
    endless = summary(np.inf, np.array([1.0, np.inf]), np.array([1.0]), np.inf)
    assert (endless.lower, endless.upper, endless.std_error, endless.bias) == (0.0, np.inf, np.inf, 0.0)
    assert "nan" not in repr(endless)


def test_models_without_observations_have_no_observed_divergence():
    silent = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Silent(2))
    known = hd.Evidence(allowed=np.eye(2, dtype=bool)[[0, 0, 1, 1, 0]])
    with pytest.raises(HidivError, match="joint"):
        hd.bootstrap_divergence(silent, silent, known, known)
    assert hd.bootstrap_divergence(silent, silent, known, known, divergence="joint", replicates=2, seed=0).value == 0


@pytest.mark.parametrize("bad", [{"replicates": 1}, {"divergence": "nearest"}])
def test_refused(bad):
    with pytest.raises(HidivError):
        hd.bootstrap_divergence(P, P, [0, 1], [1, 2], **bad)


@pytest.mark.parametrize("null", [True, False])
def test_it_is_saved_and_read(null, tmp_path):
    p = hd.Model([1.0], [[1.0]], hd.Poisson([1.0]))
    x, y = [0, 1, 0, 2, 1], [3, 2, 5, 4, 4]
    found = hd.bootstrap_divergence(p, p, x, y, divergence="joint", replicates=5, null=null, seed=1)
    hd.save(found, tmp_path / "b.json")
    assert hd.load(tmp_path / "b.json") == found
    (tmp_path / "c.json").write_text(json.dumps(found.to_dict() | {"replicates": "many"}))
    with pytest.raises(hd.HidivError, match="holds what was never saved"):
        hd.load(tmp_path / "c.json")


@pytest.mark.parametrize("said", [float("nan"), "far", None])
def test_a_function_that_gives_no_number_is_refused(said):
    x, y = [list(hd.sample(P, 5, size=4, seed=seed)[1]) for seed in (0, 1)]
    with pytest.raises(HidivError, match=r"^divergence: the function must give a number for every pair of models"):
        hd.bootstrap_divergence(P, P, x, y, divergence=lambda p, q: said, replicates=2)


def test_noise_is_no_more_than_all_of_a_divergence():
    found = summary(0.1, np.linspace(1.0, 3.0, 99), None, None)
    assert found.bias > found.value
    assert repr(found).startswith("divergence 0.1 nats, all of it by noise: 0 [0, ")
    assert repr(summary(0.0, np.linspace(1.0, 3.0, 99), None, None)).startswith("divergence 0 nats [0, ")
