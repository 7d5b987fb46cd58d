"""Chains whose rows are made part by part: the same numbers as from tables, whatever the parts."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import hidiv as hd
from hidiv.emissions.evidence.log_ratios import PairWeights
from hidiv.errors import InvalidEvidence
from hidiv.inference import long_chains
from hidiv.recursions.terms import log_ratio


def laws(rng, k, groups, far):
    """initial and transition of p, q and of their log-ratios."""
    p = rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k), (groups, k))
    moved = [each * np.exp((1.0 if far else 1e-7) * rng.normal(size=each.shape)) for each in p]
    q = tuple(each / each.sum(axis=-1, keepdims=True) for each in moved)
    return p, q, (log_ratio(p[0], q[0]), log_ratio(p[1], q[1]))


def rows_of(weights, ratio):
    asked = []

    def make(first, end):
        asked.append((first, end))
        return weights[first:end].copy(), ratio[first:end].copy(), None

    return make, asked


@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("k", [1, 2, 4, 9])
def test_parts_of_any_length_give_the_numbers_of_the_tables(kernels, k, far):
    rng = np.random.default_rng(k)
    n, groups = 700, 2
    p, q, ratio = laws(rng, k, groups, far)
    of = rng.integers(0, groups, n)
    weights, apart = rng.normal(size=(n, k)), (0.5 if far else 1e-7) * rng.normal(size=(n, k))
    tables = (*p, weights), (*q, weights + apart), (*ratio, apart)
    whole = kernels.posterior_value(n, (None, of, None), *tables, None, False)[:3]
    alone = kernels.likelihood_value(n, (None, of, None), (*p, weights))[0]
    for chunk in (64, 128, 6400):
        make, asked = rows_of(weights, apart)
        np.testing.assert_allclose(kernels.posterior_stream(n, of, p, q, ratio, make, chunk), whole, rtol=1e-12)
        assert all(end - first <= chunk for first, end in asked) or not kernels.is_compiled
        value = kernels.likelihood_stream(n, of, *p, lambda *ends, make=make: (make(*ends)[0], None, None), chunk)
        np.testing.assert_allclose(value, alone, rtol=1e-13)


def test_what_the_rows_raise_comes_out_and_zeros_are_left_to_tables(kernels):
    rng = np.random.default_rng(0)
    p, q, ratio = laws(rng, 3, 1, False)

    def failing(first, end):
        raise ZeroDivisionError("no rows")

    with pytest.raises(ZeroDivisionError):
        kernels.posterior_stream(300, None, p, q, ratio, failing, 64)
    with pytest.raises(ZeroDivisionError):
        kernels.likelihood_stream(300, None, *p, failing, 64)
    never = np.full((300, 3), -np.inf)
    with np.errstate(invalid="ignore"):
        assert kernels.posterior_stream(300, None, p, q, ratio, rows_of(never, 0.0 * np.ones((300, 3)))[0], 64) is None
        assert kernels.likelihood_stream(300, None, *p, lambda a, b: (never[a:b], None, None), 64) is None


@pytest.mark.skipif(not long_chains.are_compiled(), reason="the twins use tables")
def test_rows_of_other_shapes_are_refused():
    from hidiv import _kernels

    p, q, ratio = laws(np.random.default_rng(0), 3, 1, False)
    wrong = np.zeros((64, 2))
    with pytest.raises(ValueError, match="shape"):
        _kernels.posterior_stream(300, None, p, q, ratio, lambda a, b: (wrong, wrong, None), 64)
    right = np.zeros((300, 3))
    with pytest.raises(ValueError, match="log-ratios"):
        _kernels.posterior_stream(300, None, p, q, ratio, lambda a, b: (right[a:b], None, None), 64)


@pytest.mark.parametrize("strange", ["plain", "missing", "interval", "far", "end", "allowed"])
def test_a_long_chain_has_the_numbers_of_its_tables(monkeypatch, strange):
    """The way without tables and the way with them, of models as a user has them."""
    rng = np.random.default_rng(4)
    n, k = 900, 3
    mean, cov = rng.normal(size=(k, 2)), np.stack([np.eye(2) + 0.3 * each for each in np.ones((k, 2, 2))])
    end = [0.01, 0.02, 0.03] if strange == "end" else None
    rows = rng.dirichlet(np.ones(k), k) * (np.ones(k) if end is None else 1.0 - np.array(end))[:, None]
    p, q = (hd.Model(np.ones(k) / k, rows, hd.Gaussian(mean + by, cov=cov), end=end) for by in (0.0, 1e-9))
    x, options = rng.normal(size=(n, 2)), {}
    if strange in ("missing", "interval"):
        x[[5, 400], 1] = np.nan
    if strange == "interval":
        lower = np.full_like(x, -np.inf)
        lower[400, 1] = 0.0
        options["lower"] = lower
    if strange == "far":
        x[70] = 300.0
    if strange == "allowed":
        options["allowed"] = np.ones((n, k), dtype=bool)
    evidence = hd.Evidence(x, **options)
    plain = hd.posterior_kl(p, q, evidence), hd.log_likelihood(p, evidence)
    monkeypatch.setattr(long_chains, "LONG", 10)
    monkeypatch.setattr(long_chains, "NUMBERS", 128)
    streamed = hd.posterior_kl(p, q, evidence), hd.log_likelihood(p, evidence)
    np.testing.assert_allclose(streamed[0].value, plain[0].value, rtol=1e-11)
    np.testing.assert_allclose(streamed[1], plain[1], rtol=1e-13)
    np.testing.assert_allclose(streamed[0].by_node, plain[0].by_node, rtol=1e-9, atol=1e-30)


def test_a_long_chain_refuses_by_the_name_of_the_node(monkeypatch):
    monkeypatch.setattr(long_chains, "LONG", 10)
    p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Exponential([1.0, 2.0]))
    x = np.random.default_rng(0).exponential(size=2000) + 0.5
    x[1500] = -1.0
    for ask in (lambda: hd.log_likelihood(p, x), lambda: hd.posterior_kl(p, p, x)):
        with pytest.raises(InvalidEvidence, match=r"x\[1500\]"):
            ask()


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("apart", [1e-9, 0.5])
def test_normal_rows_are_weighed_by_the_kernel_but_for_parts_with_missing_or_far_values(kernels, full, apart):
    rng = np.random.default_rng(2)
    n, k, features, chunk = 700, 3, 2, 64
    p, q, ratio = laws(rng, k, 1, False)
    mean, spread = rng.normal(size=(k, features)), rng.uniform(0.5, 2.0, (k, features))
    first, second = (
        hd.Gaussian(mean + by, cov=spread[:, :, None] * np.eye(features))
        if full
        else hd.Gaussian(mean + by, var=spread)
        for by in (0.0, apart)
    )
    x = rng.normal(size=(n, features))
    x[330], x[10] = np.nan, 1e3
    weigh = PairWeights(first, second)
    log_p, _, between = weigh(x)
    make, asked = rows_of(log_p, between)
    normal = x, weigh.fast.p, weigh.fast.q, weigh.fast.between
    plain = kernels.posterior_stream(n, None, p, q, ratio, make, chunk)
    asked.clear()
    np.testing.assert_allclose(kernels.posterior_stream(n, None, p, q, ratio, make, chunk, normal), plain, rtol=1e-12)
    one = lambda *ends: (make(*ends)[0], None, None)  # noqa: E731
    alone = kernels.likelihood_stream(n, None, *p, one, chunk)
    if kernels.is_compiled:
        assert 2 <= len(asked) - (n + chunk - 1) // chunk <= 4  # the pair may be swept twice
        asked.clear()
    value = kernels.likelihood_stream(n, None, *p, one, chunk, (x, first.normal_laws))
    np.testing.assert_allclose(value, alone, rtol=1e-13)
    assert len(asked) == 2 or not kernels.is_compiled
    with pytest.raises((TypeError, ValueError)) if kernels.is_compiled else nullcontext():
        kernels.likelihood_stream(n, None, *p, one, chunk, (x[1:], first.normal_laws))
