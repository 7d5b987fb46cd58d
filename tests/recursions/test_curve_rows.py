"""Rows of exponential to generalized Gaussian laws: the twin and every instruction set against 40 digits."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from mpmath import mp, mpf

import hidiv as hd

FAMILIES = ("exponential", "gamma", "beta", "von_mises", "laplace", "generalized_gaussian")


def laws(rng, name, n_states, n_features, apart):
    """Two families whose parameters differ by the factor 1 + `apart`."""
    low, high = (rng.uniform(0.3, 9.0, (n_states, n_features)) for _ in range(2))
    moved = low * (1.0 + apart), high * (1.0 + 0.5 * apart)
    if name == "exponential":
        return hd.Exponential(low), hd.Exponential(moved[0])
    if name == "generalized_gaussian":
        return hd.GeneralizedGaussian(low, 0.5 + 0.2 * high), hd.GeneralizedGaussian(moved[0], 0.5 + 0.2 * moved[1])
    family = {"gamma": hd.Gamma, "beta": hd.Beta, "von_mises": hd.VonMises, "laplace": hd.Laplace}[name]
    return family(low, high), family(*moved)


def points(rng, name, shape):
    """Observations in the range of a family, some of them near its ends."""
    x = rng.uniform(0.0, 1.0, shape) ** rng.integers(1, 6, shape)
    return 9.0 * x if name in ("exponential", "gamma") else x if name == "beta" else 20.0 * x - 10.0


def exact(family, name, s, f, x):
    """The log-density of one entry."""
    first, *second = (mpf(float(value[s, f])) for value in family.parameters().values())
    at = mpf(float(x))
    if name == "exponential":
        return mp.log(first) - first * at
    (other,) = second
    if name == "gamma":
        return first * mp.log(other) - mp.loggamma(first) + (first - 1) * mp.log(at) - other * at
    if name == "beta":
        constant = mp.loggamma(first + other) - mp.loggamma(first) - mp.loggamma(other)
        return constant + (first - 1) * mp.log(at) + (other - 1) * mp.log(1 - at)
    if name == "laplace":
        return -abs(at - first) / other - mp.log(2 * other)
    if name == "generalized_gaussian":
        return -((abs(at) / first) ** other) - mp.log(2 * first) - mp.loggamma(1 + 1 / other)
    return other * mp.cos(at - first) - mp.log(2 * mp.pi * mp.besseli(0, other))


def tables(name):
    return import_module(f"hidiv.emissions.families.{name}").tables


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("apart", [1e-9, 1e-3, 1.0, 30.0])
def test_log_densities_and_ratios_have_all_their_digits(kernels, name, apart, monkeypatch):
    monkeypatch.setattr("hidiv.recursions.curve_rows.curve_tables", kernels.curve_tables)
    rng = np.random.default_rng(5)
    p, q = laws(rng, name, 3, 2, apart)
    x = points(rng, name, (37, 2))
    log_p, log_q, ratio, odd = tables(name)(p, q)(x, True)
    assert not odd
    with mp.workdps(40):
        for i in (0, 11, 20, 36):
            for s in range(3):
                one, two = ([exact(family, name, s, f, x[i, f]) for f in range(2)] for family in (p, q))
                first, second = sum(one), sum(two)
                size = 1 + sum(abs(term) for term in one + two)
                assert abs(log_p[i, s] - first) <= 2e-14 * size
                assert abs(log_q[i, s] - second) <= 2e-14 * size
                each = sum(abs(b - a) for a, b in zip(one, two, strict=True))
                assert abs(ratio[i, s] - (second - first)) <= 1e-12 * each + 3e-15 * apart


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("n_states", [1, 2, 3, 4, 5, 11])
def test_the_kernel_is_its_twin_at_every_size(kernels, name, n_states):
    rng = np.random.default_rng(n_states)
    for n, n_features in ((0, 2), (1, 1), (7, 3), (100, 13), (3000, 2)):
        p, q = laws(rng, name, n_states, n_features, 0.1)
        x = points(rng, name, (n, n_features))
        value, odd = kernels.curve_table(x, p.curve_laws)
        np.testing.assert_allclose(value, p._by_columns(x, None, None), rtol=1e-12, atol=1e-12)
        assert not odd
        assert value.shape == (n, n_states)
        pair = tables(name)(p, q)
        of_p, of_q, ratio, odd = kernels.curve_tables(x, pair.p, pair.q, pair.between)
        assert not odd
        assert (of_p == value).all()
        np.testing.assert_allclose(ratio, of_q - of_p, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf, 1e301])
@pytest.mark.parametrize("place", [0, 40, 99])
def test_a_row_out_of_range_is_noticed_wherever_it_is(kernels, name, strange, place):
    rng = np.random.default_rng(0)
    p, q = laws(rng, name, 3, 2, 1e-3)
    x = points(rng, name, (100, 2))
    x[place, 1] = strange
    pair = tables(name)(p, q)
    others = np.arange(100) != place
    *found, odd = kernels.curve_tables(x, pair.p, pair.q, pair.between)
    assert odd
    for table in (*found, kernels.curve_table(x, p.curve_laws)[0]):
        assert np.isnan(table[place]).all()
        assert np.isfinite(table[others]).all()


@pytest.mark.parametrize(("name", "end"), [("gamma", 0.0), ("beta", 0.0), ("beta", 1.0), ("gamma", 5e-324)])
def test_the_ends_of_a_range_are_left_to_the_family(kernels, name, end):
    family = {"gamma": hd.Gamma, "beta": hd.Beta}[name]([2.0, 1.0], [3.0, 1.0])
    assert kernels.curve_table(np.array([[end], [0.5]]), family.curve_laws)[1]
    np.testing.assert_array_equal(family.log_prob([end]), family._by_columns(np.array([[end]]), None, None))


@pytest.mark.parametrize("name", FAMILIES)
def test_missing_columns_and_intervals_leave_other_rows_alone(name):
    rng = np.random.default_rng(0)
    p, q = laws(rng, name, 3, 2, 1e-3)
    x = points(rng, name, (100, 2))
    gaps = x.copy()
    gaps[[3, 50], 0] = np.nan
    lower, upper = np.full_like(x, -np.inf), np.full_like(x, np.inf)
    lower[3, 0], upper[3, 0] = 0.2, 0.5
    whole, partly = p.log_weight(x), p.log_weight(gaps, lower, upper)
    others = ~np.isin(np.arange(100), [3, 50])
    assert (whole[others] == partly[others]).all()
    np.testing.assert_allclose(partly[50], p.select([1]).log_weight(x[:, 1:])[50], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        p.log_ratio(q, gaps)[50], p.select([1]).log_ratio(q.select([1]), x[50:51, 1])[0], rtol=1e-9
    )


def test_angles_many_turns_away():
    p = hd.VonMises([0.3, -2.0], [1.5, 40.0])
    turns = 2.0 * np.pi * np.array([0.0, 1.0, -7.0, 1e4, 1e9])
    table = p.log_prob(0.7 + turns)
    np.testing.assert_allclose(table[:4], table[[0, 0, 0, 0]], rtol=1e-9)
    assert np.isfinite(table).all()
