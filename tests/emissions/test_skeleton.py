"""The guide for adding a family: its two code blocks, run through the contract as they stand, then used everywhere."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy import integrate, stats

import hidiv as hd
from hidiv.emissions import registry
from tests.emissions import entries, plain_points
from tests.emissions.contract import CHECKS, registered

GUIDE = Path(__file__).parents[2] / "docs" / "developer" / "adding_a_family.md"


@pytest.fixture
def entry(monkeypatch):
    """The entry of the guide; its family is one file and one line of the registry, for the time of one test."""
    # Whatever is imported registers its pairs: all of them before those of one test are taken away again.
    registered()
    import_module("hidiv.emissions.composite.mixture.marked")
    family, described = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    (line,) = re.findall(r'^    ("rayleigh": "[\w.:]+"),$', GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    name, home = (part.strip('"') for part in line.split(": "))
    module = ModuleType(f"hidiv.emissions.{home.split(':')[0]}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(registry.FAMILIES, name, home)
    monkeypatch.setattr(registry, "_PAIRS", dict(registry._PAIRS))
    exec(compile(family, str(GUIDE), "exec"), vars(module))
    names = {**vars(plain_points), **vars(entries)}
    exec(compile(described, str(GUIDE), "exec"), names)
    return names["ENTRY"]


@pytest.fixture
def models(entry):
    """Two models of two states."""
    p = hd.Model([0.6, 0.4], [[0.9, 0.1], [0.3, 0.7]], hd.Rayleigh([1.0, 3.0]))
    q = hd.Model([0.5, 0.5], [[0.8, 0.2], [0.3, 0.7]], hd.Rayleigh([1.2, 2.5]))
    return p, q


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_the_guides_family_keeps_the_contract(check, entry):
    check(entry)


def test_fitted_by_name(models):
    x = hd.sample(models[0], 600, seed=1)[1]
    found = hd.fit(x, None, 2, "rayleigh", n_init=2, seed=0)
    np.testing.assert_allclose(np.sort(found.model.emission.scale), [1.0, 3.0], rtol=0.15)
    assert found.model.emission.n_free() == 2


def test_mixed(entry):
    x = np.linspace(0.0, 30.0, 60_001)
    p = hd.Mixture([[0.3, 0.7]], [hd.Rayleigh([1.0]), hd.Rayleigh([3.0])])
    q = hd.Mixture([[0.5, 0.5]], [hd.Rayleigh([1.2]), hd.Gamma([2.0], [1.0])])
    laws = [np.exp(f.log_prob(x[1:])[:, 0]) for f in (p, q)]
    np.testing.assert_allclose(p.kl(q), integrate.simpson(laws[0] * np.log(laws[0] / laws[1]), x=x[1:]), rtol=1e-6)
    assert p.kl(hd.Mixture([[0.3, 0.7]], p.components)).tolist() == [0.0]
    model = hd.Model([1.0], [[1.0]], p)
    assert hd.joint_kl(model, hd.Model([1.0], [[1.0]], hd.Mixture([[0.5, 0.5]], p.components)), 3).value > 0
    found = hd.fit(hd.sample(model, 300, seed=2)[1], None, 1, p, n_init=1, seed=0)
    assert found.model.emission.name == p.name


def test_in_a_product(models):
    both = [hd.Model(m.initial, m.transitions[0], hd.Product([m.emission, hd.Poisson([1.0, 2.0])])) for m in models]
    np.testing.assert_allclose(hd.joint_kl(*both, 5).value, hd.joint_kl(*models, 5).value, rtol=1e-13)
    x = hd.sample(both[0], 200, seed=3)[1]
    assert np.isfinite(hd.fit(x, None, 2, both[0].emission, n_init=1, seed=0).log_likelihood)


def test_compared_by_quadrature(models):
    """The observed divergence of one node is that of two mixtures, and q's states may be labelled otherwise."""
    p, q = models
    found = hd.observed_kl(p, q, 1, seed=0)
    mixtures = [hd.Mixture([m.initial], [m.emission.take([0]), m.emission.take([1])]) for m in models]
    np.testing.assert_allclose(found.value, mixtures[0].kl(mixtures[1])[0], rtol=1e-9)
    np.testing.assert_allclose(hd.observed_kl(p, q.relabel([1, 0]), 1, seed=0).value, found.value, rtol=1e-9)
    assert found.n_samples in (None, 0)
    rate = hd.observed_kl_rate(p, q, seed=0)
    assert 0 < rate.value < hd.joint_kl_rate(p, q).value


def test_intervals_and_missing_values(models):
    p, q = models
    x = np.array([0.5, np.nan, np.nan, 4.0])
    known = hd.Evidence(x, lower=np.array([-np.inf, 1.0, 0.2, -np.inf]), upper=np.array([np.inf, 2.0, np.inf, np.inf]))
    found = hd.posterior_kl(p, q, known, target="unobserved")
    assert 0 < found.value < np.inf
    assert hd.posterior_kl(p, p, known, target="unobserved").value == 0
    assert hd.posterior_kl(p, q, hd.Evidence(x), target="unobserved").value > 0
    assert hd.fit(known, None, 1, "rayleigh", n_init=1, seed=0).log_likelihood < 0


def test_the_law_inside_an_interval(entry):
    """Ratio of masses and KL given the interval, against integrals of scipy's densities; near-equal laws too."""
    from hidiv.emissions.evidence.log_ratios import residual, weight_ratio

    nothing = np.array([[np.nan]])
    for scales, low, high in (((1.0, 1.5), 0.5, 2.0), ((2.0, 2.0 * (1 + 1e-7)), 1.0, np.inf), ((1.0, 3.0), 4.0, 4.5)):
        p, q = (hd.Rayleigh([scale]) for scale in scales)
        a, b = (stats.rayleigh(scale=scale) for scale in scales)
        ends = np.array([[low]]), np.array([[high]])
        mass = a.sf(low) - a.sf(high)
        ratio = np.log((b.sf(low) - b.sf(high)) / mass)
        x = np.linspace(low, min(high, 40.0), 20_001)
        expected = integrate.simpson(a.pdf(x) / mass * (a.logpdf(x) - b.logpdf(x) + ratio), x=x)
        np.testing.assert_allclose(weight_ratio(p, q, nothing, *ends)[0, 0], ratio, rtol=1e-8)
        np.testing.assert_allclose(residual(p, q, nothing, *ends)[0, 0], expected, rtol=1e-8, atol=1e-14)


def test_near_equal_laws_inside_an_interval_keep_their_digits(entry):
    """KL given the interval is v^2 / 2 times the variance of the statistic there, to first order in v."""
    from hidiv.emissions.evidence.log_ratios import residual

    step = 1e-6
    p, q = hd.Rayleigh([1.0]), hd.Rayleigh([1.0 + step])
    a = stats.rayleigh()
    mass = a.cdf(2.0) - a.cdf(0.5)
    mean, square = (integrate.quad(lambda x, n=n: a.pdf(x) / mass * x ** (2 * n), 0.5, 2.0)[0] for n in (1, 2))
    found = residual(p, q, np.array([[np.nan]]), np.array([[0.5]]), np.array([[2.0]]))[0, 0]
    np.testing.assert_allclose(found, 0.5 * step**2 * (square - mean**2), rtol=1e-5)


def test_saved_and_loaded(models, tmp_path):
    p, q = models
    hd.save(p, tmp_path / "p.json")
    assert hd.load(tmp_path / "p.json") == p
    collection = hd.Collection([p, q])
    collection.save(tmp_path / "both.npz")
    assert list(hd.Collection.load(tmp_path / "both.npz")) == [p, q]
    np.testing.assert_allclose(hd.pairwise_kl(collection, 4)[0, 1], hd.joint_kl(p, q, 4).value, rtol=1e-11)


def test_plotted(models, tmp_path):
    import matplotlib

    matplotlib.use("Agg")
    assert hd.plots.differences(*models, part="emission").get_title() is not None
    assert hd.compare(*models, 4, seed=0).joint.value > 0


def test_an_unknown_name_is_no_attribute():
    with pytest.raises(AttributeError, match="no attribute 'Rayleigh'"):
        _ = hd.Rayleigh
