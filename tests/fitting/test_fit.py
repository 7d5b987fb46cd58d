"""hd.fit as a user calls it."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import HidivError, InvalidEvidence
from tests.fitting.families import FAMILIES

CHAIN = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Gaussian([0.0, 6.0], std=[1.0, 1.0]))


def drawn(model, tree, seed, size=None):
    return hd.sample(model, tree, size=size, seed=seed)[1]


def test_the_result_speaks_of_its_model():
    x = drawn(CHAIN, 400, 1)
    found = hd.fit(x, None, 2, "gaussian", n_init=1, seed=0)
    assert found.converged
    assert found.history[-1] == found.log_likelihood
    assert abs(found.log_likelihood - hd.log_likelihood(found.model, x)) < 1e-9
    assert (np.diff(found.history) >= 0).all()
    assert found.n_parameters == 1 + 2 + 4
    assert found.bic == -2 * found.log_likelihood + 7 * np.log(400)
    assert found.log_likelihood >= hd.log_likelihood(CHAIN, x)
    assert np.allclose(sorted(found.model.emission.mean), [0.0, 6.0], atol=0.4)
    assert found.notes == ()


@pytest.mark.parametrize("name", FAMILIES)
def test_a_fit_is_no_worse_than_the_truth(name):
    """By name where a name is enough, by template where more is needed."""
    truth = hd.Model([0.6, 0.4], [[0.9, 0.1], [0.2, 0.8]], FAMILIES[name])
    tree = hd.Tree.regular(2, 7)
    states, x = hd.sample(truth, tree, seed=4)
    evidence = x
    if name == "silent":
        evidence = hd.Evidence(allowed=np.eye(2, dtype=bool)[states])
    emission = (
        name if name in ("gamma", "multinomial", "von_mises", "beta", "laplace", "log_normal") else FAMILIES[name]
    )
    found = hd.fit(evidence, tree, 2, emission, n_init=1, seed=1, max_iter=60)
    assert found.log_likelihood > hd.log_likelihood(truth, evidence, tree) - 1e-6


def test_seeds_decide_and_workers_do_not():
    x = drawn(CHAIN, 40, 2)
    one = hd.fit(x, None, 3, "gaussian", n_init=2, seed=5, workers=1, tol=1e-4)
    two = hd.fit(x, None, 3, "gaussian", n_init=2, seed=5, workers=3, tol=1e-4)
    assert one.history == two.history
    assert one.model == two.model


def test_many_trees_of_different_shapes():
    model = hd.Model([0.3, 0.7], [[0.8, 0.2], [0.1, 0.9]], hd.Poisson([1.0, 9.0]))
    trees = [hd.Tree.chain(40), hd.Tree.regular(3, 4), hd.Tree([-1, 0, 0, 1, 1, 4]), 1]
    xs = [drawn(model, tree, i) for i, tree in enumerate(trees)]
    found = hd.fit(xs, trees, start=model)
    total = sum(hd.log_likelihood(found.model, x, tree) for x, tree in zip(xs, trees, strict=True))
    assert abs(total - found.log_likelihood) < 1e-9
    assert found.log_likelihood > sum(hd.log_likelihood(model, x, tree) for x, tree in zip(xs, trees, strict=True))


def test_groups_by_level_and_by_label():
    tree = hd.Tree.regular(4, 4)
    parts = [hd.Gaussian([0.0, 0.0], std=[1.0 * (g + 1), 6.0 * (g + 1)]) for g in range(4)]
    truth = hd.Model([0.5, 0.5], [None, *[[[0.9, 0.1], [0.2, 0.8]]] * 3], parts)
    xs = list(drawn(truth, tree, 3, size=20))
    template = hd.Gaussian([0.0, 0.0], std=[1.0, 1.0])
    found = hd.fit(xs, tree, 2, template, group="level", fixed="mean", n_init=1, seed=0)
    assert found.model.n_groups == 4
    assert not found.model.has_transition[0]
    assert all((family.mean == 0).all() for family in found.model.emissions)
    assert np.allclose(np.sort(found.model.emissions[3].std), [4.0, 24.0], rtol=0.15)
    labels = hd.fit(xs, tree, 2, template, group=[tree.level] * 20, fixed="mean", n_init=1, seed=0)
    assert labels.history == found.history
    listed = [hd.Tree(tree.parent, tree.level)] * 20
    assert hd.fit(xs, listed, 2, template, fixed="mean", n_init=1, seed=0).history == found.history
    apart = hd.fit(xs, tree, 2, template, group="level", grouped="emission", fixed="mean", n_init=1, seed=0)
    assert (len(apart.model.has_transition), len(apart.model.emissions)) == (1, 4)
    once = hd.fit(xs, tree, 2, template, group=tree.level, fixed="mean", n_init=1, seed=0)
    assert once.history == found.history
    plain = hd.fit(xs, tree, 2, template, fixed="mean", n_init=1, seed=0)
    assert plain.model.n_groups == 1
    assert plain.log_likelihood < found.log_likelihood


def test_chains_that_end():
    truth = hd.Model([0.7, 0.3], [[0.7, 0.2], [0.1, 0.6]], hd.Poisson([1.0, 8.0]), end=[0.1, 0.3])
    _, xs = hd.sample(truth, hd.UNTIL_END, size=150, seed=2)
    found = hd.fit(xs, None, 2, "poisson", end=True, n_init=1, seed=0)
    order = np.argsort(found.model.emission.rate)
    assert np.allclose(found.model.end[order], [0.1, 0.3], atol=0.06)
    assert found.log_likelihood > sum(hd.log_likelihood(truth, x) for x in xs)
    again = hd.fit(xs, start=truth)
    assert abs(again.log_likelihood - found.log_likelihood) < 1e-4
    assert found.n_parameters == 1 + 2 + 2 + 2


def test_censored_lifetimes():
    """Right-censoring is not missing: the rate is events over time at risk."""
    rng = np.random.default_rng(1)
    life = rng.exponential(2.0, 500)
    seen = life < 1.5
    star = hd.Tree([-1] + [0] * 499)
    evidence = hd.Evidence(np.where(seen, life, np.nan), lower=np.where(seen, -np.inf, 1.5))
    found = hd.fit(evidence, star, 1, "exponential", n_init=1)
    rate = seen.sum() / np.minimum(life, 1.5).sum()
    assert abs(found.model.emission.rate[0] / rate - 1) < 1e-5  # where Newton's steps on differences end
    gamma = hd.fit(evidence, star, 1, "gamma", n_init=1)
    assert gamma.log_likelihood >= found.log_likelihood
    assert abs(gamma.model.emission.shape[0] - 1) < 0.2


def test_known_states_are_counted():
    """With every state given the estimate is the relative frequency."""
    states, x = hd.sample(CHAIN, 200, seed=3)
    evidence = hd.Evidence(x, allowed=np.eye(2, dtype=bool)[states])
    found = hd.fit(evidence, None, 2, "gaussian", n_init=1, seed=0)
    for s in (0, 1):
        left = states[:-1] == s
        assert abs(found.model.transition[s, 1] - states[1:][left].mean()) < 1e-12
        assert abs(found.model.emission.mean[s] - x[states == s].mean()) < 1e-12


def test_degenerate_states_are_handled_and_told():
    """Three states for two values: a spread cannot shrink to nothing, and an empty state is told."""
    x = np.tile([0.0, 1.0], 30)
    found = hd.fit(x, None, 3, "gaussian", n_init=2, seed=0, max_iter=50)
    assert np.isfinite(found.log_likelihood)
    assert any("shrunk" in note or "holds" in note for note in found.notes)
    counted = hd.fit(x, None, 3, "gaussian", n_init=2, seed=0, max_iter=50, pseudo_count=1.0)
    assert not any("shrunk" in note for note in counted.notes)


def test_a_covariance_that_became_flat_is_told():
    """Values on a line in the plane: every column is spread, the law has no width across."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(80, 2))
    x[:40] = np.outer(rng.normal(size=40), [1.0, 2.0]) + 8.0
    template = hd.Gaussian(np.zeros((1, 2)), cov=[np.eye(2)])
    found = hd.fit(x, None, 2, template, n_init=1, seed=0, max_iter=50)
    assert any("shrunk onto fewer dimensions" in note for note in found.notes)
    assert not hd.fit(x[40:], None, 1, template, n_init=1).notes


def test_pseudo_counts_leave_no_zero():
    x = np.array([0, 0, 1, 1, 0, 0, 1, 1, 2])
    plain = hd.fit(x, None, 2, "categorical", n_init=2, seed=0)
    found = hd.fit(x, None, 2, "categorical", n_init=2, seed=0, pseudo_count=0.5)
    assert found.model.emission.probs.min() > 0
    assert found.model.transition.min() > 0
    assert plain.model.emission.probs.min() < found.model.emission.probs.min()


def test_warm_start_stays_where_it_is():
    x = drawn(CHAIN, 80, 5)
    first = hd.fit(x, None, 2, "gaussian", n_init=1, seed=0)
    again = hd.fit(x, start=first.model)
    assert again.n_iter <= 3
    assert abs(again.log_likelihood - first.log_likelihood) < 1e-6


BAD = {
    "no states": (lambda x: hd.fit(x), "n_states"),
    "no family": (lambda x: hd.fit(x, None, 2, "normal"), "emission"),
    "trials": (lambda x: hd.fit(x, None, 2, "binomial"), "trials"),
    "tolerance": (lambda x: hd.fit(x, None, 2, tol=-1), "tol"),
    "starts": (lambda x: hd.fit(x, None, 2, n_init=0), "n_init"),
    "pseudo": (lambda x: hd.fit(x, None, 2, pseudo_count=float("nan")), "pseudo_count"),
    "group": (lambda x: hd.fit(x, None, 2, group="depth"), "group"),
    "grouped": (lambda x: hd.fit(x, None, 2, grouped="initial"), "grouped"),
    "labels": (lambda x: hd.fit([x, x], None, 2, group=[0, 1]), "group"),
    "label": (lambda x: hd.fit(x, None, 2, group=3), "group"),
    "fixed": (lambda x: hd.fit(x, None, 2, fixed="means"), "known are emission, initial, mean, transition, var"),
    "infinite": (lambda x: hd.fit([*x, np.inf], None, 2), "finite"),
    "multinomial": (lambda x: hd.fit([[1, 2], [2, 2]], None, 2, "multinomial"), "one sum"),
    "trees": (lambda x: hd.fit([x, x], [5], 2), "tree"),
    "lengths": (lambda x: hd.fit(x, None, 2, lengths=[3, 3]), "lengths"),
    "start": (lambda x: hd.fit(x, None, 3, start=CHAIN), "n_states"),
    "symbols": (lambda x: hd.fit(x - 0.5, None, 2, "poisson"), "whole numbers"),
    "end": (lambda x: hd.fit(x, hd.Tree([-1, 0, 0, 1, 2]), 2, end=True), "end"),
}


@pytest.mark.parametrize("case", BAD)
def test_refused_in_one_sentence(case):
    call, word = BAD[case]
    with pytest.raises(HidivError, match=word) as refused:
        call(np.array([0.0, 1.0, 2.0, 1.0, 0.0]))
    assert "\n" not in str(refused.value)


def test_an_impossible_start_is_named():
    start = hd.Model([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], hd.Categorical([[1.0, 0.0], [1.0, 0.0]]))
    with pytest.raises(HidivError, match=r"evidence\[1\]"):
        hd.fit([[0, 0], [0, 1]], start=start)


def test_a_start_without_ends_is_given_them():
    law = hd.Model([0.6, 0.4], [[0.7, 0.1], [0.2, 0.7]], hd.Poisson([1.0, 8.0]), end=[0.2, 0.1])
    x = [hd.sample(law, hd.UNTIL_END, seed=seed)[1] for seed in range(30)]
    endless = hd.Model([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], hd.Poisson([2.0, 6.0]), name="start")
    found = hd.fit(x, start=endless, end=True)
    assert found.model.end is not None
    assert found.model.name == "start"
    ended = hd.Model([0.5, 0.5], [[0.64, 0.16], [0.16, 0.64]], hd.Poisson([2.0, 6.0]), end=[0.2, 0.2])
    assert abs(found.log_likelihood - hd.fit(x, start=ended).log_likelihood) < 1e-4
    assert hd.fit(x, start=endless).model.end is None
    with pytest.raises(HidivError, match="end"):
        hd.fit(x, start=endless, end=True, fixed="transition")
    with pytest.raises(HidivError, match="end"):
        hd.fit([1, 2, 3], hd.Tree([-1, 0, 0]), start=endless, end=True)


def test_zeros_of_a_start_are_no_parameters():
    """From left to right over three states: what is 0 stays 0, and BIC does not pay for it."""
    path = hd.Model(
        [1.0, 0.0, 0.0], [[0.8, 0.2, 0.0], [0.0, 0.8, 0.2], [0.0, 0.0, 1.0]],
        hd.Categorical([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.0, 0.0, 1.0]]),
    )  # fmt: skip
    x = [0, 1, 0, 2, 1, 2, 2, 2]
    found = hd.fit([x] * 3, start=path)
    assert found.n_parameters == 0 + (1 + 1 + 0) + (1 + 2 + 0)
    assert found.bic == -2 * found.log_likelihood + 5 * np.log(24)
    # Added observations make all of it possible again; and a search begins without zeros.
    assert hd.fit([x] * 3, start=path, pseudo_count=1.0).n_parameters == 2 + 6 + 6
    assert hd.fit([x] * 3, None, 3, "categorical", n_init=1, seed=0).n_parameters == 2 + 6 + 6
    bits = hd.Model([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], hd.Bernoulli([[0.0, 0.5], [0.5, 1.0]]))
    assert hd.fit(np.array([[0, 1], [1, 1], [0, 0]]), start=bits, max_iter=3).n_parameters == 1 + 2 + 2
    ended = hd.Model([0.5, 0.5], [[0.5, 0.5], [0.5, 0.0]], hd.Poisson([0.0, 3.0]), end=[0.0, 0.5])
    assert hd.fit([[0, 0, 3], [2, 0, 4]], start=ended, max_iter=3).n_parameters == 1 + (1 + 1) + 1


def test_a_fixed_first_law_leaves_the_families_their_formulas(monkeypatch):
    """What is fixed elsewhere is no reason to climb where the maximum has a formula."""
    from hidiv.emissions.numerics import climbing

    def climbed(*_):
        raise AssertionError("climbed")

    monkeypatch.setattr(climbing, "climb_family", climbed)
    x = [0, 1, 0, 2, 1, 9, 8, 7, 9, 9]
    start = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], hd.Poisson([1.0, 8.0]))
    fitted = hd.fit(x, start=start, fixed="initial", max_iter=3)
    assert fitted.model.initial.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("last_bits", [1e-15, 2e-15, -1e-15])
def test_last_bits_do_not_order_the_states(last_bits):
    """Of climbs to the same maximum, which differ in the order of their states, the first is taken."""
    p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Gaussian([0.0, 4.0], std=[1.0, 1.0]))
    x = hd.sample(p, 200, seed=6)[1]
    one, two = (hd.fit(data, None, 2, "gaussian", n_init=2, seed=6).model for data in (x, x * (1 + last_bits)))
    assert one.emission.mean == pytest.approx(two.emission.mean, abs=1e-6)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize(
    "emission",
    [
        "gaussian",
        hd.Gaussian(np.zeros((2, 2)), std=np.ones((2, 2))),
        hd.Gaussian(np.zeros((2, 2)), cov=np.stack([np.eye(2)] * 2)),
    ],
    ids=["by name", "diagonal", "full"],
)
def test_values_whose_squares_leave_the_doubles_are_named(emission, scale):
    # The variance was said to be 0 or NaN, or the start to give the values probability 0, after warnings of numpy.
    x = scale * np.random.default_rng(4).normal(size=(80, 2))
    with pytest.raises(InvalidEvidence, match=r"standard deviation between 1e-150 and 1e\+150.*rescale"):
        hd.fit(x, None, 2, emission, n_init=1, seed=0)


def test_a_column_never_seen_is_no_extreme_one():
    x = np.column_stack([np.random.default_rng(4).normal(size=80), np.full(80, np.nan)])
    assert np.isfinite(hd.fit(x, None, 2, "gaussian", n_init=1, seed=0, max_iter=3).log_likelihood)
