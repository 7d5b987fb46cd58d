"""`hd.standard_errors` and `hd.divergence_interval`: closed forms, agreement of methods, and what they say."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import HidivError
from hidiv.fitting.near_zero import corrected

LAW = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Gaussian([0.0, 4.0], std=[1.0, 2.0]))
ONE = {"n_init": 1, "seed": 0}


def drawn(model, length, count, seed):
    return list(hd.sample(model, length, size=count, seed=seed)[1])


MANY = hd.fit(drawn(LAW, 20, 150, 1), None, 2, hd.Gaussian([0.0], std=[1.0]), start=None, **ONE)


@pytest.mark.parametrize("method", ["differences", "outer products"])
def test_one_state_has_closed_forms(method):
    x = [[value] for value in np.random.default_rng(1).normal(3.0, 2.0, size=400)]
    fit = hd.fit(x, None, 1, hd.Gaussian([0.0], std=[1.0]), **ONE)
    errors = hd.standard_errors(fit, method=method)
    std = float(fit.model.emission.std[0])
    tolerance = 1e-5 if method == "differences" else 0.1
    assert errors.emission["mean"][0] == pytest.approx(std / 20.0, rel=tolerance)
    assert errors.emission["std"][0] == pytest.approx(std / np.sqrt(800.0), rel=tolerance)
    half = 1.959964 * errors.emission["mean"][0]
    assert errors.upper["emission"]["mean"][0] - fit.model.emission.mean[0] == pytest.approx(half, rel=1e-6)


def test_a_seen_chain_has_multinomial_errors():
    """With states that are seen a row of transitions is a row of counts."""
    sticky = hd.Model([0.5, 0.5], [[0.8, 0.2], [0.3, 0.7]], hd.Categorical([[1.0, 0.0], [0.0, 1.0]]))
    x = hd.sample(sticky, 400, seed=1)[1]
    fit = hd.fit(x, None, 2, start=sticky)
    errors = hd.standard_errors(fit)
    for s in (0, 1):
        p, n = fit.model.transition[s], int((np.asarray(x)[:-1] == s).sum())
        np.testing.assert_allclose(errors.transition[s], np.sqrt(p[0] * p[1] / n), rtol=1e-5)
    assert (errors.initial == 0.0).all()


def test_methods_agree():
    one, two = (hd.standard_errors(MANY, method=method) for method in ("differences", "outer products"))
    np.testing.assert_allclose(one.transition, two.transition, rtol=0.25)
    np.testing.assert_allclose(one.emission["mean"], two.emission["mean"], rtol=0.25)
    assert hd.standard_errors(MANY).method == "outer products"


def test_intervals_hold_the_truth_and_stay_in_range():
    errors = hd.standard_errors(MANY, level=0.999)
    order = np.argsort(MANY.model.emission.mean)
    low, high = (side["emission"]["mean"][order] for side in (errors.lower, errors.upper))
    assert (low < [0.0, 4.0]).all()
    assert (high > [0.0, 4.0]).all()
    assert (errors.lower["transition"] > 0.0).all()
    assert (errors.upper["transition"] < 1.0).all()


def test_a_fit_shows_them(tmp_path):
    text = MANY.summary()
    assert "95% intervals, information by outer products" in text
    assert "transition[0][1]" in text
    assert MANY.errors == hd.standard_errors(MANY)
    hd.save(MANY, tmp_path / "f.json")
    loaded = hd.load(tmp_path / "f.json")
    assert loaded == MANY
    assert loaded.summary() == repr(MANY)
    with pytest.raises(HidivError, match="evidence: is needed: only a fit that comes straight from hd.fit"):
        hd.standard_errors(loaded)
    hd.save(MANY.errors, tmp_path / "e.json")
    assert hd.load(tmp_path / "e.json") == MANY.errors


def test_what_is_fixed_has_no_error():
    fit = hd.fit(drawn(LAW, 40, 5, 1), start=LAW, fixed=("initial", "std"))
    errors = hd.standard_errors(fit)
    assert (errors.emission["std"] == 0.0).all()
    assert (errors.emission["mean"] > 0.0).all()
    assert (errors.initial == 0.0).all()


def test_what_the_data_say_nothing_about_is_told():
    fit = hd.fit(
        [0.1, -0.4, 0.3, 0.2, -0.1], start=hd.Model([1.0, 0.0], [[1.0 - 1e-9, 1e-9], [0.5, 0.5]], LAW.emission)
    )
    assert any("next to nothing about" in note for note in hd.standard_errors(fit).notes)


def test_groups_products_mixtures_ends_and_covariances():
    tree = hd.Tree([-1, 0, 0, 1], group=[0, 1, 1, 1])
    grouped = hd.Model([0.5, 0.5], [None, LAW.transition], [hd.Poisson([1.0, 6.0]), hd.Poisson([2.0, 9.0])])
    product = hd.Product([hd.Poisson([1.0, 8.0]), hd.Gaussian([[0.0, 1.0], [3.0, 4.0]], cov=[np.eye(2), np.eye(2)])])
    mixture = hd.Mixture([[0.5, 0.5], [0.3, 0.7]], [hd.Poisson([1.0, 20.0]), hd.Poisson([8.0, 40.0])])
    ending = hd.Model([0.5, 0.5], [[0.7, 0.1], [0.2, 0.6]], hd.Poisson([1.0, 9.0]), end=[0.2, 0.2])
    cases = [
        (grouped, drawn(grouped, tree, 60, 1), tree),
        (
            hd.Model([0.5, 0.5], LAW.transition, product),
            drawn(hd.Model([0.5, 0.5], LAW.transition, product), 30, 5, 1),
            None,
        ),
        (
            hd.Model([0.5, 0.5], LAW.transition, mixture),
            drawn(hd.Model([0.5, 0.5], LAW.transition, mixture), 60, 5, 1),
            None,
        ),
        (ending, [hd.sample(ending, hd.UNTIL_END, seed=seed)[1] for seed in range(60)], None),
    ]
    for model, x, on in cases:
        errors = hd.standard_errors(model, x, on)
        assert errors.rows()
        assert all(low <= value <= high for _, value, _, low, high in errors.rows())
    assert (errors.end > 0.0).all()


def test_what_is_refused():
    for options, said in (({"level": 2.0}, "level: must lie between"), ({"method": "magic"}, "method: must be one of")):
        with pytest.raises(HidivError, match=said):
            hd.standard_errors(MANY, **options)
        with pytest.raises(HidivError, match=said):
            hd.divergence_interval(MANY, MANY, **options)


def test_the_delta_method_of_two_rates():
    """One-state Poisson chains: D a step is a log(a/b) - a + b, and its error has a closed form."""
    rng = np.random.default_rng(3)
    p, q = (hd.fit(rng.poisson(rate, 500), None, 1, "poisson", **ONE) for rate in (2.0, 3.0))
    a, b = (float(fit.model.emission.rate[0]) for fit in (p, q))
    exact = np.sqrt(np.log(a / b) ** 2 * a / 500 + (1 - a / b) ** 2 * b / 500)
    for divergence in ("joint", "observed", "aligned"):
        found = hd.divergence_interval(p, q, on=1, divergence=divergence, seed=1)
        assert found.method == "delta"
        assert found.fitted == pytest.approx(a * np.log(a / b) - a + b, rel=1e-2)
        assert found.std_error == pytest.approx(exact, rel=0.08)
        assert found.bias == pytest.approx(0.5 * (1 / 500 + a / b / 500), rel=0.3)
        assert found.lower < found.value < found.upper


def test_near_zero_it_is_a_bootstrap(tmp_path):
    p, q = (hd.fit(drawn(LAW, 20, 5, seed), start=LAW) for seed in (1, 2))
    found = hd.divergence_interval(p, q, on=5, seed=1, replicates=10)
    assert found.method == "bootstrap"
    assert found.lower <= found.value <= found.upper
    assert "standard errors above 0: bootstrap of 10 replicates" in found.notes[0]
    hd.save(found, tmp_path / "d.json")
    assert hd.load(tmp_path / "d.json") == found
    assert float(found.per(5)) == pytest.approx(found.value / 5)
    assert repr(found).startswith("divergence ")


def test_an_infinite_divergence_has_no_interval():
    p = hd.Model([1.0], [[1.0]], hd.Categorical([[0.5, 0.5]]))
    q = hd.Model([1.0], [[1.0]], hd.Categorical([[1.0, 0.0]]))
    for divergence in ("observed", "joint"):
        found = hd.divergence_interval(p, q, [0, 1, 0], [0, 0, 0], divergence=divergence, seed=1)
        assert (found.value, found.lower, found.upper) == (np.inf, 0.0, np.inf)


@pytest.mark.parametrize("fitted", [0.0, 0.3, 1.0, 3.0, 30.0])
def test_intervals_of_a_noncentral_law(fitted):
    """The divergence is c times a noncentral chi-square variable; the interval covers it as it should."""
    value, lower, upper = corrected(fitted, 1.0, 2.0 * 0.25 * 1.0 + 4.0 * 0.25 * max(fitted - 1.0, 0.0))
    assert 0.0 <= lower <= value <= upper
    assert value == max(0.0, fitted - 1.0)
    rng = np.random.default_rng(1)
    c, d = 0.25, 4
    for truth in (lower, upper):
        draws = c * ((np.sqrt(truth / c) + rng.normal(size=20_000)) ** 2 + rng.chisquare(d - 1, size=20_000))
        share = (draws >= fitted).mean() if truth == lower else (draws <= fitted).mean()
        assert share == pytest.approx(0.025, abs=0.02) or truth == 0.0
