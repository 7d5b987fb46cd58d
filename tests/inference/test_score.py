"""`hd.score`: against 50-digit differences, its laws, and how it is written."""

from __future__ import annotations

import json
from inspect import signature

import mpmath
import numpy as np
import pytest

import hidiv as hd
from hidiv.emissions.gradients import Items
from hidiv.emissions.weighted import Weighted
from hidiv.errors import HidivError, ImpossibleEvidence, OutOfRange
from hidiv.inference.parameter_vector import blocks_of, moved
from hidiv.inference.score import Score, item_gradients
from tests.oracle.score import derivative, places

INITIAL, ROWS = [0.375, 0.625], [[0.75, 0.25], [0.125, 0.875]]
TREE = hd.Tree([-1, 0, 0, 1], group=[0, 1, 1, 2])
NODES = {"parent": [-1, 0, 0, 1], "group": [0, 1, 1, 2]}
ENTRIES = ("initial", "transition", "end", "emission")

CENSORED = [{"x": 0.25}, {"between": [0.5, 2.0]}, {"between": [1.0, None]}, None]
SYMBOLS = [[0.5, 0.25, 0.25], [0.125, 0.375, 0.5]]
CASES = {
    "categorical": (hd.Categorical(SYMBOLS), [{"x": 1}, None, {"in": [0, 2]}, {"x": 2}]),
    "bernoulli": (hd.Bernoulli([0.25, 0.625]), [{"x": 1}, {"x": 0}, {"states": [1]}, {"x": 1}]),
    "std": (hd.Gaussian([0.0, 1.5], std=[1.0, 0.5]), CENSORED),
    "var": (hd.Gaussian([0.0, 1.5], var=[1.0, 0.5]), [{"x": 0.25}, {"x": 3.0}, None, {"between": [1.0, 1.0009765625]}]),
    "cov": (
        hd.Gaussian([[0.0, 1.0], [1.5, -1.0]], cov=[[[1.0, 0.25], [0.25, 0.5]], [[2.0, -0.5], [-0.5, 1.0]]]),
        [{"x": [0.25, 1.0]}, {"x": [None, 0.5]}, None, {"x": [1.0, 2.0]}],
    ),
    "poisson": (hd.Poisson([1.0, 4.5]), [{"x": 3}, {"between": [2, 5]}, {"between": [4, None]}, {"x": 0}]),
    "exponential": (hd.Exponential([0.5, 3.0]), CENSORED),
    "gamma": (hd.Gamma([0.75, 3.0], [1.0, 2.5]), CENSORED),
    "geometric": (hd.Geometric([0.25, 0.75]), [{"x": 3}, {"between": [1, 4]}, {"between": [2, None]}, {"x": 0}]),
    "laplace": (hd.Laplace([0.0, 1.5], [1.0, 0.5]), [{"x": 0.25}, {"x": 2.0}, None, {"x": -1.0}]),
    "product": (
        hd.Product([hd.Poisson([1.0, 4.5]), hd.Gaussian([0.0, 1.5], std=[1.0, 0.5])]),
        [{"x": [3, 0.25]}, {"x": [None, 1.0]}, {"x": [2, None]}, None],
    ),
    "silent": (hd.Silent(2), [{"states": [0]}, None, {"states": [1]}, {"states": [0]}]),
}  # fmt: skip


def found_at(score, path):
    """The derivative of a score at a path of the model's file."""
    part = getattr(score, path[0])
    for key in path[1:]:
        part = part[key]
    return float(part)


def agrees(model, described, tree, nodes, evidence):
    score = hd.score(model, hd.Evidence.from_list(evidence), tree, coordinates="entries")
    for path in places({key: described[key] for key in ENTRIES if key in described}):
        truth = float(derivative(described, nodes, evidence, path, mirrored="cov" in path))
        assert found_at(score, path) == pytest.approx(truth, rel=1e-10, abs=1e-11), path


@pytest.mark.parametrize("name", CASES)
def test_against_differences(name):
    family, evidence = CASES[name]
    model = hd.Model(INITIAL, ROWS, family)
    agrees(model, model.to_dict(), TREE, NODES, evidence)


def test_groups_against_differences():
    evidence = CASES["poisson"][1]
    families = [hd.Poisson([1.0, 4.5]), hd.Poisson([2.0, 0.5]), hd.Poisson([1.0, 4.5])]
    model = hd.Model(INITIAL, [None, ROWS, [[0.5, 0.5], [0.25, 0.75]]], families)
    score = hd.score(model, hd.Evidence.from_list(evidence), TREE, coordinates="entries")
    described = model.to_dict()
    for g in (1, 2):
        for path in places(described["transition"][g], ("transition", g)):
            assert found_at(score, path) == pytest.approx(
                float(derivative(described, NODES, evidence, path)), rel=1e-10
            )
    for path in places(described["emission"], ("emission",)):
        assert found_at(score, path) == pytest.approx(float(derivative(described, NODES, evidence, path)), rel=1e-10)


def test_ends_against_differences():
    model = hd.Model(INITIAL, [[0.5, 0.25], [0.125, 0.5]], hd.Poisson([1.0, 4.5]), end=[0.25, 0.375])
    evidence = [{"x": 3}, None, {"x": 1}]
    score = hd.score(model, hd.Evidence.from_list(evidence), coordinates="entries")
    # The oracle's likelihood knows nothing of ends: that of the last state is a factor.
    smoothed = hd.smooth(model, hd.Evidence.from_list(evidence))
    np.testing.assert_allclose(score.end, smoothed.marginals[-1] / model.end, rtol=1e-12)
    assert score.transition.shape == (2, 2)


LAWS = {
    "beta": (hd.Beta([2.5], [0.75]), lambda x, a, b: x ** (a - 1) * (1 - x) ** (b - 1) / mpmath.beta(a, b), True),
    "laplace": (hd.Laplace([0.25], [0.75]), lambda x, m, b: mpmath.exp(-abs(x - m) / b) / (2 * b), True),
    "log_normal": (
        hd.LogNormal([0.25], [0.75]),
        lambda x, m, s: mpmath.npdf(mpmath.log(x), m, s) / x, True,
    ),
    "generalized_gaussian": (
        hd.GeneralizedGaussian([1.5], [0.75]),
        lambda x, a, b: b / (2 * a * mpmath.gamma(1 / b)) * mpmath.exp(-((abs(x) / a) ** b)), True,
    ),
    "von_mises": (
        hd.VonMises([0.25], [1.75]),
        lambda x, m, k: mpmath.exp(k * mpmath.cos(x - m)) / (2 * mpmath.pi * mpmath.besseli(0, k)), True,
    ),
    "negative_binomial": (
        hd.NegativeBinomial([2.5], [0.375]),
        lambda x, r, p: mpmath.gamma(x + r) / mpmath.gamma(r) / mpmath.factorial(x) * p**r * (1 - p) ** x, False,
    ),
    "binomial": (
        hd.Binomial([7], [0.375]), lambda x, n, p: mpmath.binomial(n, x) * p**x * (1 - p) ** (n - x), False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("known", ["value", "interval", "short"])
def test_families_against_mpmath(name, known):
    family, density, continuous = LAWS[name]
    ranges = family.ranges()
    parameters = {key: mpmath.mpf(float(value[0])) for key, value in family.parameters().items()}
    low, high = {"value": (0.3, 0.3), "interval": (0.2, 0.9), "short": (0.2, 0.2009765625)}[known]
    if not continuous:
        low, high = {"value": (3.0, 3.0), "interval": (1.0, 5.0), "short": (2.0, 2.0)}[known]

    kinks = [0.25] if low < 0.25 < high else []

    def log_weight(*values):
        if known == "value":
            return mpmath.log(density(mpmath.mpf(low), *values))
        if continuous:
            return mpmath.log(mpmath.quad(lambda t: density(t, *values), [low, *kinks, high]))
        return mpmath.log(sum(density(mpmath.mpf(k), *values) for k in range(int(low), int(high) + 1)))

    if known == "value":
        weighted = Weighted(np.array([[low]]), np.ones((1, 1)))
    else:
        weighted = Weighted(np.array([[np.nan]]), np.ones((1, 1)), np.array([[low]]), np.array([[high]]))
    found = family.gradients(weighted, Items(np.zeros(1, dtype=np.int64), 1))
    with mpmath.workdps(20):
        for i, key in enumerate(parameters):
            if ranges.get(key) == "fixed":
                assert key not in found
                continue
            order = tuple(int(j == i) for j in range(len(parameters)))
            truth = float(mpmath.diff(log_weight, tuple(parameters.values()), order))
            assert found[key][0, 0] == pytest.approx(truth, rel=1e-9, abs=1e-10), key


def test_multinomial_and_mixture_by_differences():
    rng = np.random.default_rng(0)
    multinomial = hd.Multinomial([4, 4], rng.dirichlet(np.ones(3), 2))
    mixture = hd.Mixture([[0.25, 0.75], [0.5, 0.5]], [hd.Poisson([1.0, 4.0]), hd.Poisson([3.0, 8.0])])
    for family in (multinomial, mixture):
        model = hd.Model(INITIAL, ROWS, family)
        _, seen = hd.sample(model, 6, seed=1)
        x = np.array(seen, dtype=float)
        x[2] = np.nan
        blocks = blocks_of(model)
        found = item_gradients(model, hd.Evidence(x), np.array([0, 6]), None, None).vectors(blocks)[0]
        for i in range(len(found)):
            step = np.zeros(len(found))
            step[i] = 1e-3
            ahead = [hd.log_likelihood(moved(model, blocks, c * step), x) for c in (1, -1, 2, -2)]
            slope = (8 * (ahead[0] - ahead[1]) - (ahead[2] - ahead[3])) / 12e-3
            assert found[i] == pytest.approx(slope, abs=1e-9)


@pytest.mark.parametrize(
    "family",
    [
        hd.Poisson([1.0, 4.0], [2, 0]), hd.Geometric([0.25, 0.5], [0, 1]), hd.Binomial([5, 6], [0.25, 0.5], [1, 1]),
        hd.NegativeBinomial([1.5, 3.0], [0.25, 0.5], [1, 0]),
    ],
    ids=lambda family: family.name,
)  # fmt: skip
def test_shifted_counts_by_differences(family):
    model = hd.Model(INITIAL, ROWS, family)
    evidence = hd.Evidence.from_list([{"x": 3}, {"between": [2, 4]}, {"x": 2}, {"x": 5}])
    blocks = blocks_of(model)
    found = item_gradients(model, evidence, np.array([0, 4]), None, None).vectors(blocks)[0]
    for i in range(len(found)):
        step = np.zeros(len(found))
        step[i] = 1e-3
        ahead = [hd.log_likelihood(moved(model, blocks, c * step), evidence) for c in (1, -1, 2, -2)]
        assert found[i] == pytest.approx((8 * (ahead[0] - ahead[1]) - (ahead[2] - ahead[3])) / 12e-3, abs=1e-7)


def test_a_list_is_the_sum_of_its_items():
    model = hd.Model(INITIAL, ROWS, hd.Poisson([1.0, 4.5]))
    items = [[1, 2, 5], [0, 3], [7, 7, 1, 0]]
    both, each = hd.score(model, items), [hd.score(model, item) for item in items]
    np.testing.assert_allclose(both.transition, sum(one.transition for one in each), rtol=1e-12)
    assert both.log_likelihood == pytest.approx(sum(one.log_likelihood for one in each), rel=1e-14)
    start = np.cumsum([0] + [len(item) for item in items])
    blocks = blocks_of(model)
    together = item_gradients(model, hd.Evidence(np.concatenate(items)), start, None, None).vectors(blocks)
    for i, item in enumerate(items):
        alone = item_gradients(model, hd.Evidence(item), np.array([0, len(item)]), None, None).vectors(blocks)
        np.testing.assert_allclose(together[i], alone[0], rtol=1e-11, atol=1e-13)


def test_at_a_maximum_it_is_zero():
    model = hd.Model(INITIAL, ROWS, hd.Poisson([1.0, 9.0]))
    _, seen = hd.sample(model, 40, size=10, seed=1)
    fitted = hd.fit(list(seen), None, 2, "poisson", n_init=1, tol=1e-12, seed=0).model
    score = hd.score(fitted, list(seen))
    assert max(abs(score.transition).max(), abs(score.initial).max(), abs(score.emission["rate"]).max()) < 1e-3


def test_zeros_stay():
    model = hd.Model([1.0, 0.0], [[0.5, 0.5], [0.0, 1.0]], hd.Categorical([[1.0, 0.0], [0.5, 0.5]]))
    for coordinates in ("simplex", "entries"):
        score = hd.score(model, [0, 1, 0], coordinates=coordinates)
        assert score.initial[1] == score.transition[1, 0] == score.emission["probs"][0, 1] == 0.0
    assert abs(hd.score(model, [0, 1, 0]).transition.sum(axis=1)).max() < 1e-15


def test_it_is_saved_and_read(tmp_path):
    mixture = hd.Mixture([[0.25, 0.75], [0.5, 0.5]], [hd.Poisson([1.0, 4.0]), hd.Poisson([3.0, 8.0])])
    score = hd.score(hd.Model(INITIAL, ROWS, mixture), [1, 2, 3])
    assert Score.from_dict(json.loads(json.dumps(score.to_dict()))) == score
    assert repr(score).startswith("score at log-likelihood")


def test_what_is_refused():
    model = hd.Model(INITIAL, ROWS, hd.Categorical([[1.0, 0.0], [1.0, 0.0]]))
    with pytest.raises(ImpossibleEvidence, match="evidence: model gives it probability 0"):
        hd.score(model, [0, 1])
    with pytest.raises(HidivError, match='coordinates: must be "simplex" or "entries", got'):
        hd.score(model, [0], coordinates="polar")
    with pytest.raises(HidivError, match="tree: must be one tree, or one for each of the 2 items"):
        hd.score(model, [[0], [0]], [1])


def test_a_slope_without_weight_is_not_looked_at():
    """What the first law says of the observation has a derivative beyond all doubles, and no weight."""
    model = hd.Model([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], hd.Gaussian([0.0, 1.0], std=[1e-300, 1.0]))
    score = hd.score(model, [1.0, 2.0])
    assert score.emission["mean"].tolist() == [0.0, 1.0]
    assert all(np.isfinite(part).all() for part in score.emission.values())


def test_a_derivative_beyond_doubles_is_refused():
    model = hd.Model([1.0], [[1.0]], hd.Gaussian([0.0], std=[1e-150]))
    with pytest.raises(OutOfRange, match="evidence: a derivative of its log-likelihood is beyond the range of doubles"):
        hd.score(model, [1e-3])


def test_the_signature():
    assert str(signature(hd.score)).startswith("(model: 'Any', evidence: 'Any', tree: 'Any' = None, *")
