"""Certified divergences of two-state chains of normal numbers and counts: the proof's parts, and what it promises."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hidiv as hd
from hidiv.divergences.observed.certified.log_odds.number_rules import NODE, NODES, WEIGHT, gain
from hidiv.divergences.observed.certified.number_chains import NumberOperator
from hidiv.emissions.numerics.adaptive_integrals import unit_rule
from tests.divergences.observed.models import gaussian_pair


def chain(stay, emission, initial=(0.5, 0.5)):
    return hd.Model(list(initial), [[stay[0], 1 - stay[0]], [1 - stay[1], stay[1]]], emission)


def normal(stay, mean, std, initial=(0.5, 0.5)):
    return chain(stay, hd.Gaussian(mean, std=std), initial)


PAIRS = {
    "close": (normal((0.9, 0.8), [0.0, 1.0], [1.0, 1.0]), normal((0.88, 0.82), [0.05, 1.02], [1.0, 1.05])),
    "far": (normal((0.9, 0.8), [0.0, 10.0], [1.0, 1.0]), normal((0.7, 0.6), [-3.0, 6.0], [1.0, 2.0])),
    "sticky": (normal((0.999, 0.995), [0.0, 1.0], [1.0, 1.0]), normal((0.998, 0.997), [0.2, 1.5], [1.0, 1.2])),
    "narrow": (normal((0.9, 0.8), [0.0, 2.0], [1.0, 3.0]), normal((0.7, 0.6), [0.0, 1.5], [0.1, 2.0])),
    "poisson": (chain((0.9, 0.8), hd.Poisson([2.0, 7.0])), chain((0.7, 0.6), hd.Poisson([3.0, 50.0]))),
    "sticky poisson": (chain((0.99, 0.995), hd.Poisson([2.0, 4.0])), chain((0.98, 0.97), hd.Poisson([2.5, 4.5]))),
    "negative binomial": (
        chain((0.9, 0.8), hd.NegativeBinomial([2.0, 0.5], [0.3, 0.6])),
        chain((0.7, 0.6), hd.NegativeBinomial([1.0, 3.0], [0.4, 0.5])),
    ),
    "geometric": (chain((0.9, 0.8), hd.Geometric([0.2, 0.6])), chain((0.7, 0.6), hd.Geometric([0.3, 0.5]))),
}


@pytest.mark.parametrize("kind", PAIRS)
def test_rates_are_certified_to_a_billionth(kind):
    p, q = PAIRS[kind]
    found = hd.observed_kl_rate(p, q, method="certified", width=1e-9)
    assert found.status == "certified"
    assert 0 <= found.lower <= found.upper <= found.lower + 1e-9
    assert found.notes == ()


def test_the_known_rate():
    found = hd.observed_kl_rate(*gaussian_pair())
    assert found.status == "certified"
    assert found.lower <= 0.0842694620932 + 1e-13
    assert found.upper >= 0.0842694620932 - 1e-13
    assert found.upper - found.lower < 1e-11


def test_nodes_and_weights_are_as_good_as_the_proof_takes_them():
    nodes, weights = unit_rule(NODES)
    with mpmath.workdps(40):
        for x, w in zip(nodes, weights, strict=True):
            root = mpmath.findroot(lambda t: mpmath.legendre(NODES, t), 2 * mpmath.mpf(float(x)) - 1)
            slope = mpmath.diff(lambda t: mpmath.legendre(NODES, t), root)
            weight = 1 / ((1 - root**2) * slope**2)
            assert abs((root + 1) / 2 - mpmath.mpf(float(x))) < NODE
            assert abs(weight / mpmath.mpf(float(w)) - 1) < WEIGHT


@pytest.mark.parametrize("kind", ["close", "narrow", "far"])
def test_expectations_are_within_their_allowance(kind):
    """E[G] of number_rules.py by a fine trapezoidal rule in more digits than doubles have."""
    p, q = PAIRS[kind]
    means, stds = (q.emission.parameters()[key].astype(np.longdouble) for key in ("mean", "std"))
    z = np.linspace(np.longdouble(-12), np.longdouble(12), 240_001)
    density = np.exp(-z * z / 2) * (z[1] - z[0]) / np.sqrt(2 * np.arccos(np.longdouble(-1)))
    for s, (nearest, turn, rule) in enumerate(NumberOperator(p, q).seen):
        mean, std = (p.emission.parameters()[key].astype(np.longdouble)[s] for key in ("mean", "std"))
        x = mean + std * z
        logs = [-(((x - m) / d) ** 2) / 2 - np.log(d) for m, d in zip(means, stds, strict=True)]
        for odds in (turn.lower, turn.upper):
            t = logs[1 - nearest] - logs[nearest] + np.longdouble(odds)
            expected = density @ (np.logaddexp(0, t) - np.logaddexp(0, np.longdouble(odds)))
            found = gain(np.array([[odds]]), rule.ratio) @ rule.weight
            assert abs(found[0] - expected) <= rule.cost


def by_grid(p, q):
    """D_X on two nodes by the trapezoidal rule, which is spectrally accurate for normal laws."""
    (mean, std) = (p.emission.parameters()[key] for key in ("mean", "std"))
    x = np.linspace((mean - 9 * std).min(), (mean + 9 * std).max(), 1000)
    logs = []
    for model in (p, q):
        e = np.exp(model.emission.log_weight(x[:, None]))  # (n, 2)
        logs.append(np.log(np.einsum("xa,a,ab,yb->xy", e, model.initial, model.transition, e)))
    return float((np.exp(logs[0]) * (logs[0] - logs[1])).sum() * (x[1] - x[0]) ** 2)


probability = st.floats(0.05, 0.95)


@settings(max_examples=6, deadline=None)
@given(
    st.lists(probability, min_size=6, max_size=6),
    st.lists(st.floats(-2, 2), min_size=4, max_size=4),
    st.lists(st.floats(0.7, 1.6), min_size=4, max_size=4),
)
def test_two_nodes_hold_what_a_grid_sums_up_to(odds, means, stds):
    p, q = (
        normal(odds[3 * i : 3 * i + 2], means[2 * i : 2 * i + 2], stds[2 * i : 2 * i + 2],
               (odds[3 * i + 2], 1 - odds[3 * i + 2]))
        for i in (0, 1)
    )  # fmt: skip
    found = hd.observed_kl(p, q, 2, method="certified", rtol=0.0)
    if "cross_entropy" not in found.certificate:  # one process, or nearly
        return
    expected = by_grid(p, q)
    assert found.lower - 1e-11 <= expected <= found.upper + 1e-11
    assert found.upper - found.lower < 1e-10


@pytest.mark.parametrize("initial", [(0.5, 0.5), (1.0, 0.0), (0.0, 1.0), (1e-12, 1 - 1e-12)])
def test_counts_by_enumeration(initial):
    p, q = chain((0.9, 0.8), hd.Poisson([0.5, 2.0])), chain((0.7, 0.6), hd.Poisson([1.0, 1.5]), initial)
    last = 40
    x = np.arange(last)[:, None].astype(float)
    laws = []
    for model in (p, q):
        steps = np.exp(model.emission.log_weight(x))  # (x, state)
        laws.append(np.einsum("xa,a,ab,yb,bc,zc->xyz", steps, model.initial, model.transition, steps, model.transition,
                              steps, optimize=True))  # fmt: skip
    expected = float((laws[0] * (np.log(laws[0]) - np.log(laws[1]))).sum())
    found = hd.observed_kl(p, q, 3, method="certified", rtol=0.0)
    assert found.lower - 1e-12 <= expected <= found.upper + 1e-12
    assert found.upper - found.lower < 1e-11


def test_one_node_at_fifty_digits():
    """Against the trapezoidal rule, whose error is below e^-100 here."""
    p, q = PAIRS["close"][0], normal((0.7, 0.6), [0.5, 1.5], [1.0, 2.0], (0.25, 0.75))
    found = hd.observed_kl(p, q, 1, method="certified", rtol=0.0)

    def density(x, model):
        terms = zip(model.initial, *model.emission.parameters().values(), strict=True)
        return sum(mpmath.mpf(float(w)) * mpmath.npdf(x, float(m), float(d)) for w, m, d in terms)

    with mpmath.workdps(50):
        step, expected = mpmath.mpf(1) / 10, mpmath.mpf(0)
        for k in range(-170, 181):
            one, two = (density(k * step, model) for model in (p, q))
            expected += step * one * mpmath.log(one / two)
        assert found.lower <= expected <= found.upper
    assert found.upper - found.lower < 1e-12


def test_the_sum_over_a_long_chain_grows_by_the_rate():
    p, q = PAIRS["narrow"]
    rate = hd.observed_kl_rate(p, q, method="certified")
    long, longer = (hd.observed_kl(p, q, n, method="certified") for n in (1000, 2000))
    assert (longer.lower - long.upper) / 1000 <= rate.upper
    assert (longer.upper - long.lower) / 1000 >= rate.lower


@pytest.mark.parametrize(
    ("law", "reason"),
    [
        (hd.Poisson([1e5, 2.0]), "too many points"),
        (hd.Poisson([1.0, 2.0], shift=[1, 0]), "shift"),
    ],
)
def test_steps_aside(law, reason):
    p, q = chain((0.9, 0.8), law), chain((0.7, 0.6), hd.Poisson([1.0, 3.0]))
    found = hd.observed_kl(p, q, 5, method="certified")
    assert reason in found.certificate["because"]


def test_transitions_of_zero_leave_the_wide_bounds():
    p = chain((0.9, 0.8), hd.Poisson([1.0, 2.0]))
    q = hd.Model([0.5, 0.5], [[1.0, 0.0], [0.5, 0.5]], hd.Poisson([1.0, 3.0]))
    assert "probability zero" in hd.observed_kl(p, q, 5, method="certified").certificate["because"]
