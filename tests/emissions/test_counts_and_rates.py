"""Families of counts, rates and proportions beyond the contract: near equality, intervals, wide ranges, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hidiv.emissions.registry import family_class
from hidiv.errors import InvalidEvidence, InvalidModel
from tests.emissions.plain_laws import divergences, error, log_density, mp, mpf, points

inf, nan = np.inf, np.nan

# Name, parameters, other parameters, where sums and integrals may stop.
LAWS = [
    ("bernoulli", (0.3,), (0.6,), 1),
    ("poisson", (3.0,), (4.5,), 90),
    ("geometric", (0.4,), (0.25,), 250),
    ("binomial", (12, 0.3), (12, 0.55), 12),
    ("negative_binomial", (2.5, 0.4), (2.5, 0.3), 270),
    ("exponential", (1.5,), (0.8,), 100),
    ("gamma", (2.5, 1.5), (1.4, 2.0), 45),
    ("beta", (2.5, 1.5), (3.5, 0.8), 80),
]
STEPS = (1e-3, 1e-6, 1e-9)
ALPHAS = (0.3, 0.5, 2.0, 3.0)
COUNTS = ("bernoulli", "poisson", "geometric", "binomial", "negative_binomial")
FROZEN = {
    "bernoulli": stats.bernoulli,
    "poisson": stats.poisson,
    "geometric": lambda prob: stats.geom(prob, loc=-1),
    "binomial": stats.binom,
    "negative_binomial": stats.nbinom,
    "exponential": lambda rate: stats.expon(scale=1 / rate),
    "gamma": lambda shape, rate: stats.gamma(shape, scale=1 / rate),
    "beta": stats.beta,
}
laws = pytest.mark.parametrize(
    ("name", "p", "q", "last"), LAWS, ids=lambda value: value if isinstance(value, str) else ""
)


def family(name, *rows):
    """One state for each row of parameters."""
    return family_class(name)(*np.array(rows).T)


def stepped(name, p, step):
    """Every parameter a relative step away, by turns up and down; the number of trials stays."""
    return tuple(v if name == "binomial" and i == 0 else v * (1 + step * (-1) ** i) for i, v in enumerate(p))


@laws
@pytest.mark.parametrize("step", STEPS)
def test_near_equal_parameters_keep_their_digits(name, p, q, last, step):
    q = stepped(name, p, step)
    expected = divergences((name, p), (name, q), last, ALPHAS)
    assert error(family(name, p).kl(family(name, q))[0], expected[0]) < 1e-13
    for alpha, each in zip(ALPHAS, expected[1:], strict=True):
        assert error(family(name, p).renyi(family(name, q), alpha)[0], each) < 1e-13


@laws
@pytest.mark.parametrize("step", [0.3, *STEPS])
def test_log_ratios_come_from_the_differences_of_the_parameters(name, p, q, last, step):
    q = stepped(name, p, step)
    x = np.arange(2.0) if name == "bernoulli" else FROZEN[name](*p).ppf([0.001, 0.1, 0.9, 0.9999])
    log_p, log_q = log_density(name, p), log_density(name, q)
    expected = [float(log_q(mpf(float(v))) - log_p(mpf(float(v)))) for v in x]
    np.testing.assert_allclose(
        family(name, p).log_ratio(family(name, q), x)[:, 0], expected, rtol=1e-12, atol=1e-14 * step
    )


@laws
def test_sample_moments(name, p, q, last):
    states = np.repeat([0, 1], 20_000)
    x = family(name, p, q).sample(states, np.random.default_rng(7))
    for state, law in enumerate((FROZEN[name](*p), FROZEN[name](*q))):
        mean, var, kurtosis = (float(m) for m in law.stats("mvk"))
        drawn = x[states == state]
        assert abs(drawn.mean() - mean) < 4 * np.sqrt(var / drawn.size)
        assert abs(drawn.var() - var) < 4 * var * np.sqrt((kurtosis + 2) / drawn.size)


@laws
def test_interval_masses(name, p, q, last):
    law = family(name, p)
    low, high = {"bernoulli": (0.0, 0.5), "beta": (0.2, 0.7)}.get(name, (1.0, 4.0))
    whole = law.log_mass(np.array([[-inf]]), np.array([[inf]]))[0, 0, 0]
    below, inside, above = (
        law.log_mass(np.array([[a]]), np.array([[b]]))[0, 0, 0]
        for a, b in ((-inf, np.nextafter(low, -inf)), (low, high), (np.nextafter(high, inf), inf))
    )
    assert abs(whole) < 1e-14
    assert abs(np.exp([below, inside, above]).sum() - 1) < 1e-14
    log_p = log_density(name, p)
    terms = points(name, last) if name in COUNTS else []
    if terms:
        mass = mp.fsum(mp.exp(log_p(x)) for x, _ in terms if low <= x <= high)
    else:
        mass = mp.quad(lambda x: mp.exp(log_p(x)), [mpf(low), mpf(high)])
    assert error(inside, mp.log(mass)) < 1e-13
    assert law.log_mass(np.array([[high]]), np.array([[low - 0.5]]))[0, 0, 0] == -inf  # nothing in between


@pytest.mark.parametrize(
    ("name", "p", "low", "high"),
    [
        ("exponential", (2.0,), 400.0, 400.0 + 1e-9),
        ("gamma", (2.5, 1.5), 2.0, 2.0 + 1e-12),
        ("gamma", (2.5, 1.5), 1e-30, 1e-30 * (1 + 1e-12)),
        ("gamma", (0.01, 1.0), 1e-200, 1e-199),
        ("gamma", (1e6, 1e3), 1000.0, 1000.0 + 1e-9),
        ("gamma", (1e6, 1e3), 900.0, 900.0 + 1e-9),
        ("beta", (2.5, 1.5), 0.3, 0.3 + 1e-13),
        ("beta", (2.5, 1.5), 1 - 1e-12, 1 - 0.9e-12),
        ("beta", (3e5, 7e5), 0.3, 0.3 + 1e-12),
    ],
)
def test_tiny_intervals(name, p, low, high):
    log_p = log_density(name, p)
    # In log x, which the widest of them wants.
    mass = mp.quad(lambda t: mp.exp(log_p(mp.exp(t)) + t), [mp.log(mpf(low)), mp.log(mpf(high))])
    value = family(name, p).log_mass(np.array([[low]]), np.array([[high]]))[0, 0, 0]
    assert abs(value - mp.log(mass)) < 1e-12


@pytest.mark.parametrize(
    ("name", "bad", "words"),
    [
        ("bernoulli", ([1.5],), "probs[0]: must be between 0 and 1, got 1.5"),
        ("bernoulli", ([[0.2, nan]],), "probs[0][1]: must be finite, got nan"),
        ("poisson", ([1.0, -2.0],), "rate[1]: cannot be negative, got -2.0"),
        ("poisson", ([],), "rate: must be a non-empty 1-dimensional or 2-dimensional array, got shape (0,)"),
        ("exponential", ([0.0],), "rate[0]: must be above 0, got 0.0"),
        ("exponential", ("fast",), "rate: must be a rectangular array of numbers, got fast"),
        ("gamma", ([1.0], [-1.0]), "rate[0]: must be above 0, got -1.0"),
        ("gamma", ([1.0], [1.0, 2.0]), "rate: must have the shape (1,) of the parameter before it, got (2,)"),
        (
            "geometric",
            ([0.0],),
            "prob[0]: must be above 0, got 0.0; a success that never comes has no count of failures",
        ),
        ("binomial", ([2.5], [0.5]), "trials[0]: must be a whole number from 0, got 2.5"),
        ("binomial", ([2], [-0.5]), "prob[0]: must be between 0 and 1, got -0.5"),
        ("negative_binomial", ([0.0], [0.5]), "size[0]: must be above 0, got 0.0"),
        ("negative_binomial", ([1.0], [0.0]), "prob[0]: must be above 0, got 0.0"),
        ("beta", ([1.0], [0.0]), "b[0]: must be above 0, got 0.0"),
        ("beta", ([inf], [1.0]), "a[0]: must be finite, got inf"),
        ("silent", (0,), "n_states: must be a whole number from 1, got 0"),
        ("silent", (True,), "n_states: must be a whole number from 1, got True"),
    ],
)
def test_bad_parameters_get_one_sentence(name, bad, words):
    with pytest.raises(InvalidModel) as refusal:
        family_class(name)(*bad)
    assert str(refusal.value).startswith(words)


@pytest.mark.parametrize(
    ("name", "p", "x"),
    [
        ("bernoulli", (0.5,), 2.0),
        ("poisson", (1.0,), 0.5),
        ("geometric", (0.5,), -1.0),
        ("binomial", (3, 0.5), 4.0),
        ("negative_binomial", (1.5, 0.5), inf),
        ("exponential", (1.0,), -0.1),
        ("gamma", (0.5, 1.0), 0.0),
        ("beta", (2.0, 2.0), 1.1),
        ("beta", (0.5, 2.0), 0.0),
    ],
)
def test_values_outside_the_sample_space_are_refused(name, p, x):
    with pytest.raises(InvalidEvidence, match=r"^x\[1\]: "):
        family(name, p).log_prob([nan, x])


@pytest.mark.parametrize(("name", "p", "q", "last"), LAWS)
def test_wide_ranges_give_neither_nan_nor_overflow(name, p, q, last):
    rng = np.random.default_rng(3)
    span = {"gamma": [(-3, 6), (-8, 8)], "beta": [(-3, 6), (-3, 6)], "negative_binomial": [(-3, 6), (-6, 0)]}
    low, high = np.transpose(span.get(name, [(-8, 0 if name in ("bernoulli", "geometric") else 8)]))
    if name == "binomial":
        rows = np.column_stack([rng.integers(0, 10**6, 40), rng.random(40)])
        rows[20:, 0] = rows[:20, 0]
    else:
        rows = 10.0 ** rng.uniform(low, high, (40, low.size))
        if name == "negative_binomial":
            rows[20:, 0] = rows[:20, 0]
    first, second = family(name, *rows[:20]), family(name, *rows[20:])
    for value in (first.kl(second), first.renyi(second, 0.5), first.renyi(second, 2.0)):
        assert (value >= 0).all()
    assert np.isfinite(first.kl(second)).all()
    x = first.sample(np.arange(20), rng)
    assert not np.isnan(first.log_prob(x)).any()
    assert not np.isnan(first.log_ratio(second, x)).any()
