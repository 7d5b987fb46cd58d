"""Weights and residuals of what is known, against 50-digit arithmetic.

intervals.json holds log(mass_q/mass_p) and the KL given an interval for continuous laws, by 48-point Gauss rules on
graded panels at 50 digits; everything else is computed here by mpmath.
"""

from __future__ import annotations

import json
from pathlib import Path

import mpmath
import numpy as np
import pytest

import hidiv as hd
from hidiv.emissions.composite.product import Product
from hidiv.emissions.evidence.log_ratios import residual, weight_ratio
from hidiv.emissions.families.categorical import Categorical
from hidiv.emissions.families.gaussian import Gaussian
from hidiv.emissions.registry import family_class
from hidiv.errors import InvalidEvidence

mp = mpmath.MPContext()
mp.dps = 50
mpf = mp.mpf
inf, nan = np.inf, np.nan
CASES = json.loads((Path(__file__).parent / "intervals.json").read_text())
STEPS = (0.3, 1e-3, 1e-6, 1e-9)


def law(name, *parameters):
    if name == "gaussian":
        return Gaussian([parameters[0]], std=[parameters[1]])
    return family_class(name)(*([value] for value in parameters))


def interval(low, high):
    """x not seen, lower, upper: one row, one column."""
    return np.array([[nan]]), np.array([[-inf if low is None else low]]), np.array([[inf if high is None else high]])


def error(value, expected):
    expected = mpf(expected)
    return float(abs(mpf(float(value)) - expected) / abs(expected)) if expected else abs(float(value))


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['p']} {c['q']} {c['interval']}")
def test_continuous_laws_in_an_interval(case):
    p, q, known = law(*case["p"]), law(*case["q"]), interval(*case["interval"])
    assert error(weight_ratio(p, q, *known)[0, 0], case["ratio"]) < 1e-12
    assert error(residual(p, q, *known)[0, 0], case["kl"]) < 1e-11


def log_probability(name, at):
    at = [mpf(value) for value in at]
    if name == "poisson":
        return lambda k: -at[0] + k * mp.log(at[0]) - mp.loggamma(k + 1)
    if name == "geometric":
        return lambda k: k * mp.log1p(-at[0]) + mp.log(at[0])
    if name == "bernoulli":
        return lambda k: mp.log(at[0]) if k == 1 else mp.log1p(-at[0])
    if name == "binomial":
        return lambda k: mp.log(mp.binomial(at[0], k)) + k * mp.log(at[1]) + (at[0] - k) * mp.log1p(-at[1])
    size, prob = at
    ways = lambda k: mp.loggamma(size + k) - mp.loggamma(size) - mp.loggamma(k + 1)  # noqa: E731
    return lambda k: ways(k) + size * mp.log(prob) + k * mp.log1p(-prob)


def given_set(a, b):
    """Ratio of the masses and KL of two rows given that one of their entries happened."""
    mass_a, mass_b = mp.fsum(a), mp.fsum(b)
    kl = mp.fsum(x / mass_a * mp.log(x / mass_a / (y / mass_b)) for x, y in zip(a, b, strict=True) if x)
    return mp.log(mass_b / mass_a), kl


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("name", "at", "spans", "last"),
    [
        ("poisson", [3.3], [(1, 5), (2, None), (150, None)], 300),
        ("poisson", [300.0], [(350, None), (290, 340)], 700),
        ("geometric", [0.2], [(2, 7), (900, None)], 1500),
        ("binomial", [20, 0.3], [(2.5, 7.1), (15, None), (None, 3)], 20),
        ("negative_binomial", [0.4, 0.2], [(1, 9), (3, None)], 500),
        ("negative_binomial", [2.5, 0.004], [(None, 800), (40, 900)], None),
        ("bernoulli", [0.3], [(1, None), (None, 0.5), (None, 1)], 1),
    ],
)
def test_counts_in_an_interval(name, at, spans, last, step):
    other = [at[0] if name == "binomial" else at[0] * (1 + 0.5 * step), *(value * (1 - 0.4 * step) for value in at[1:])]
    p, q = law(name, *at), law(name, *other)
    for low, high in spans:
        counts = [mpf(k) for k in range(int(np.ceil(low or 0)), int(last if high is None else high) + 1)]
        rows = [[mp.exp(f(k)) for k in counts] for f in (log_probability(name, at), log_probability(name, other))]
        ratio, kl = given_set(*rows)
        if (low, high) == (None, 1):
            ratio = mpf(0)  # every value a bit has
        known = interval(low, high)
        assert error(weight_ratio(p, q, *known)[0, 0], ratio) < 1e-12
        assert error(residual(p, q, *known)[0, 0], kl if abs(kl) > 1e-40 else 0) < 1e-11


@pytest.mark.parametrize("step", STEPS)
def test_sets_of_symbols(step):
    rng = np.random.default_rng(5)
    probs = rng.dirichlet(np.ones(6), 2)
    moved = probs * rng.normal(size=probs.shape)
    p, q = Categorical(probs), Categorical(probs + 0.3 * step * (moved - probs * moved.sum(axis=1, keepdims=True)))
    inside = np.array([[1, 1, 0, 0, 1, 0], [0, 1, 1, 1, 1, 1], [0, 0, 0, 1, 0, 0], [1, 1, 1, 1, 1, 1]], dtype=bool)
    x = np.full((4, 1), nan)
    ratios, kls = weight_ratio(p, q, x, inside=inside), residual(p, q, x, inside=inside)
    for row in range(4):
        for state in range(2):
            ratio, kl = given_set(*([mpf(v) for v in f.probs[state, inside[row]]] for f in (p, q)))
            assert error(ratios[row, state], 0 if inside[row].all() else ratio) < 1e-12
            assert error(kls[row, state], kl if row != 2 else 0) < 1e-12
    span = interval(1, 3.5)
    same = np.array([[0, 1, 1, 1, 0, 0]], dtype=bool)
    assert np.allclose(weight_ratio(p, q, *span), weight_ratio(p, q, x[:1], inside=same), rtol=1e-13, atol=0)
    assert np.allclose(residual(p, q, *span), residual(p, q, x[:1], inside=same), rtol=1e-13, atol=0)


def test_zeros():
    p, q = Categorical([[0.5, 0.5, 0.0, 0.0]]), Categorical([[0.5, 0.0, 0.5, 0.0]])
    inside = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], dtype=bool)
    x = np.full((5, 1), nan)
    assert weight_ratio(p, q, x, inside=inside)[2:, 0].tolist() == [-inf, inf, 0.0]
    assert residual(p, q, x, inside=inside)[:, 0].tolist() == [inf, pytest.approx(np.log(2.0)), inf, 0.0, 0.0]
    assert weight_ratio(p, q, np.array([[1.0], [2.0], [3.0]]))[:, 0].tolist() == [-inf, inf, 0.0]
    binomial = family_class("binomial")
    fewer, more = binomial([5], [0.3]), binomial([9], [0.2])
    assert residual(more, fewer, *interval(2, 8))[0, 0] == inf
    assert weight_ratio(more, fewer, *interval(6, None))[0, 0] == -inf
    assert weight_ratio(fewer, more, *interval(6, None))[0, 0] == inf
    assert residual(fewer, more, *interval(6, None))[0, 0] == 0.0
    rows = [
        [mp.exp(log_probability("binomial", at)(k)) if k <= at[0] else mpf(0) for k in map(mpf, range(2, 9))]
        for at in ([5, 0.3], [9, 0.2])
    ]
    ratio, kl = given_set(*rows)
    assert error(weight_ratio(fewer, more, *interval(2, 8))[0, 0], ratio) < 1e-12
    assert error(residual(fewer, more, *interval(2, 8))[0, 0], kl) < 1e-12
    exponential = family_class("exponential")([1.0])
    assert weight_ratio(exponential, exponential, *interval(None, -1.0))[0, 0] == 0.0
    assert residual(exponential, exponential, *interval(None, -1.0))[0, 0] == 0.0


def test_values_and_nothing_known():
    p, q = (Gaussian([[0.0, 1.0], [2.0, 0.0]], std=[[1.0, a], [0.5, 2.0]]) for a in (1.0, 1.5))
    x = np.array([[0.1, 0.2], [nan, nan], [0.3, nan]])
    assert np.array_equal(weight_ratio(p, q, x), p.log_ratio(q, x))
    second = p.select([1]).kl(q.select([1]))
    assert np.array_equal(residual(p, q, x), np.stack([np.zeros(2), p.kl(q), second]))
    silent = family_class("silent")(3)
    assert not residual(silent, silent, np.zeros((2, 0))).any()
    assert not weight_ratio(silent, silent, np.zeros((2, 0))).any()


def blocks(family, state, seen, free):
    """Mean and covariance of the free columns given values of the seen ones, as a function of those."""
    mean, cov = [mpf(v) for v in family.mean[state]], [[mpf(v) for v in row] for row in family.cov[state]]
    part = lambda rows, columns: mp.matrix([[cov[i][j] for j in columns] for i in rows])  # noqa: E731
    gain = part(free, seen) * mp.inverse(part(seen, seen)) if seen else None

    def given(values):
        base = mp.matrix([mean[i] for i in free])
        if gain is None:
            return base, part(free, free)
        off = mp.matrix([v - mean[i] for v, i in zip(values, seen, strict=True)])
        return base + gain * off, part(free, free) - gain * part(seen, free)

    return given


def normal_kl(a, b):
    (mean_a, cov_a), (mean_b, cov_b) = a, b
    inverse, apart = mp.inverse(cov_b), mean_a - mean_b
    product = inverse * cov_a
    trace = mp.fsum(product[i, i] for i in range(product.rows))
    return (trace - product.rows + mp.log(mp.det(cov_b) / mp.det(cov_a)) + (apart.T * inverse * apart)[0]) / 2


@pytest.mark.parametrize("step", STEPS)
def test_full_covariance(step):
    rng = np.random.default_rng(3)
    mean, roots, moved = rng.normal(size=(2, 3)), rng.normal(size=(2, 3, 3)), rng.normal(size=(2, 3, 3))
    cov = roots @ roots.transpose(0, 2, 1) + np.eye(3)
    p = Gaussian(mean, cov=cov)
    q = Gaussian(mean + step * rng.normal(size=mean.shape), cov=cov + 0.3 * step * (moved + moved.transpose(0, 2, 1)))
    x = np.array([[0.3, nan, nan], [nan, nan, nan], [nan, 0.2, -4.0], [1.0, 2.0, 3.0]])
    lower, upper = np.full((4, 3), -inf), np.full((4, 3), inf)
    found = residual(p, q, x, lower, upper)
    for row, seen in ((0, [0]), (1, []), (2, [1, 2])):
        free = [i for i in range(3) if i not in seen]
        for state in range(2):
            laws = [blocks(f, state, seen, free)([mpf(x[row, i]) for i in seen]) for f in (p, q)]
            assert error(found[row, state], normal_kl(*laws)) < 1e-12
    assert not found[3].any()
    # Column 0 seen, column 1 in an interval, column 2 free.
    lower[0, 1], upper[0, 1] = 0.5, 2.0
    ends, at = [mpf(0.5), mpf(1), mpf(2)], mpf(0.3)
    kl, ratio = residual(p, q, x, lower, upper)[0], weight_ratio(p, q, x, lower, upper)[0]
    for state in range(2):
        (m_p, v_p), (m_q, v_q) = (blocks(f, state, [0], [1])([at]) for f in (p, q))
        log = [lambda y, m=m[0], v=v[0]: -((y - m) ** 2) / v / 2 - mp.log(v) / 2 for m, v in ((m_p, v_p), (m_q, v_q))]
        mass_p, mass_q = (mp.quad(lambda y, f=f: mp.exp(f(y)), ends, method="gauss-legendre") for f in log)
        last = [blocks(f, state, [0, 1], [2]) for f in (p, q)]

        def hidden(y, log=log, last=last):
            return mp.exp(log[0](y)) * (log[0](y) - log[1](y) + normal_kl(last[0]([at, y]), last[1]([at, y])))

        apart = mp.log(mass_q / mass_p)
        assert error(kl[state], mp.quad(hidden, ends, method="gauss-legendre") / mass_p + apart) < 1e-12
        assert error(ratio[state] - weight_ratio(p, q, x)[0, state], apart) < 1e-12 + 1e-15 / step
    with pytest.raises(InvalidEvidence, match="correlated"):
        residual(p, q, np.full((1, 3), nan), np.zeros((1, 3)), np.ones((1, 3)))


def test_products_add_and_mix():
    full = [Gaussian([[a, 1.0]], cov=[[[1.0, b], [b, 2.0]]]) for a, b in ((0.0, 0.3), (0.1, 0.2))]
    rates = family_class("poisson")([2.0]), family_class("poisson")([2.5])
    p, q = (Product([a, b]) for a, b in zip(full, rates, strict=True))
    x = np.array([[0.3, nan, nan], [nan, nan, 3.0]])
    lower, upper = np.full((2, 3), -inf), np.full((2, 3), inf)
    lower[0, 2] = 2.0
    for f in (weight_ratio, residual):
        parts = f(*full, x[:, :2], lower[:, :2], upper[:, :2]) + f(*rates, x[:, 2:], lower[:, 2:], upper[:, 2:])
        assert np.array_equal(f(p, q, x, lower, upper), parts)
    assert p.select([1, 2]).n_features == 2


def test_equal_intervals_are_computed_once_and_rows_do_not_matter():
    p, q = family_class("gamma")([2.0, 0.5], [1.0, 3.0]), family_class("gamma")([2.1, 0.5], [1.0, 3.1])
    low = np.array([0.5, 1.0, 0.5, 0.0])[:, None]
    high = np.array([inf, 2.0, inf, 0.1])[:, None]
    x = np.full((4, 1), nan)
    together = residual(p, q, x, low, high)
    alone = np.concatenate([residual(p, q, x[:1], low[i : i + 1], high[i : i + 1]) for i in range(4)])
    assert np.allclose(together, alone, rtol=1e-14, atol=0)
    assert np.array_equal(together[0], together[2])


def test_an_interval_that_one_law_all_but_fills_and_another_does_not():
    """What p leaves outside underflows, and by how much q leaves more overflows."""
    p, q = law("gaussian", 8.0, 0.2), law("gaussian", 0.0, 1.0)
    known, mass = interval(-2.0, None), mp.ncdf(2)
    assert error(weight_ratio(p, q, *known)[0, 0], mp.log(mass)) < 1e-12
    assert error(weight_ratio(q, p, *known)[0, 0], -mp.log(mass)) < 1e-12
    assert error(residual(p, q, *known)[0, 0], mpf(p.kl(q)[0]) + mp.log(mass)) < 1e-12


def test_what_q_cannot_count_is_infinite_however_rare():
    """The counts from 45 have 1e-87 of p's mass; no point of the sum stands there."""
    fewer, more = family_class("binomial")([44], [0.5]), family_class("binomial")([51], [0.007])
    assert residual(more, fewer, *interval(1, None))[0, 0] == inf
    assert residual(more, fewer, *interval(1, 45))[0, 0] == inf
    assert np.isfinite(residual(more, fewer, *interval(1, 44))[0, 0])
    assert np.isfinite(weight_ratio(more, fewer, *interval(1, None))[0, 0])


@pytest.mark.parametrize(
    ("name", "at", "last", "counts"),
    [
        ("poisson", [0.39], 7, 60), ("poisson", [9.0], 40, 120), ("binomial", [40, 0.3], 30, 40),
        ("negative_binomial", [2.0, 0.6], 30, 400), ("negative_binomial", [0.3, 0.9], 12, 200),
        ("geometric", [0.7], 25, 300),
    ],
)  # fmt: skip
def test_a_log_mass_near_zero_keeps_the_digits_of_what_is_left_out(name, at, last, counts):
    rest = mp.fsum(mp.exp(log_probability(name, at)(mpf(k))) for k in range(last + 1, counts + 1))
    found = law(name, *at).log_mass(np.array([[0.0]]), np.array([[float(last)]]))[0, 0, 0]
    assert error(found, mp.log1p(-rest)) < 1e-12


def test_a_log_mass_of_an_exponential_law_near_zero():
    found = law("exponential", 1.5).log_mass(np.array([[0.0], [1e-9]]), np.array([[20.0], [30.0]]))[:, 0, 0]
    for value, low, high in zip(found, (0.0, 1e-9), (20.0, 30.0), strict=True):
        below, above = 1 - mp.exp(-mpf(1.5) * mpf(low)), mp.exp(-mpf(1.5) * mpf(high))
        assert error(value, mp.log1p(-(below + above))) < 1e-12


def test_a_log_mass_of_a_mixture_near_zero():
    mixture = hd.Mixture([[0.4, 0.6]], [hd.Poisson([0.4]), hd.Poisson([0.7])])
    rest = mp.fsum(
        mpf(weight) * mp.exp(log_probability("poisson", [rate])(mpf(k)))
        for weight, rate in ((0.4, 0.4), (0.6, 0.7))
        for k in range(9, 60)
    )
    low, high = np.array([[0.0]]), np.array([[8.0]])
    assert error(mixture.log_mass(low, high)[0, 0, 0], mp.log1p(-rest)) < 1e-12
    assert error(mixture.log_weight(np.array([[nan]]), low, high)[0, 0], mp.log1p(-rest)) < 1e-12
