"""Counts looked up column by column: the twin and every instruction set, and chains of them against tables."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.emissions.evidence import count_tables
from hidiv.inference import long_chains
from hidiv.inference import rows as layout
from hidiv.recursions.kernels import twins


def counts(rng, n, columns):
    """Counts of any size, some not seen, the last column never seen."""
    x = rng.poisson(rng.uniform(1.0, 50.0, columns), (n, columns)).astype(np.float64) + rng.integers(0, 2000, columns)
    x[rng.random(x.shape) < 0.1] = np.nan
    x[:, columns - 1] = np.nan if columns > 1 else x[:, columns - 1]
    return x


@pytest.mark.parametrize("n_states", [1, 2, 3, 4, 10])
def test_the_kernel_is_its_twin_at_every_size(kernels, n_states):
    rng = np.random.default_rng(n_states)
    for n, columns in ((0, 2), (1, 1), (7, 3), (3000, 2), (500, 9)):
        x = counts(rng, n, columns)
        found, wanted = kernels.distinct_counts(x, 10**6), twins["distinct_counts"](x, 10**6)
        for mine, theirs in zip((*found[0], found[1]), (*wanted[0], wanted[1]), strict=True):
            np.testing.assert_array_equal(mine, theirs)
            assert mine.dtype == theirs.dtype
        values = rng.normal(size=(found[1][-1] + 1, n_states))
        value, odd = kernels.count_table(x, found[0], values)
        assert not odd
        plain = np.zeros((n, n_states))
        for i in range(n):
            for f in range(columns):
                among = np.unique(x[~np.isnan(x[:, f]), f])
                row = -1 if np.isnan(x[i, f]) else found[1][f] + int(np.searchsorted(among, x[i, f]))
                plain[i] += values[row]
        np.testing.assert_allclose(value, plain, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("strange", [-1.0, 0.5, np.inf, -np.inf, 2.0**54, 2e6])
def test_what_is_no_count_or_too_large_has_no_places(kernels, strange):
    x = counts(np.random.default_rng(0), 50, 3)
    assert kernels.distinct_counts(x, 10**6) is not None
    x[20, 1] = strange
    assert kernels.distinct_counts(x, 10**6) is None


def test_the_spans_of_all_columns_count(kernels):
    x = np.array([[0.0, 5.0], [9.0, 14.0]])
    assert kernels.distinct_counts(x, 20) is not None
    assert kernels.distinct_counts(x, 19) is None


@pytest.mark.parametrize("strange", [-3.0, 2.5, 7.0, 1e300, -1e300, np.inf])
def test_a_number_that_is_not_in_the_table_is_noticed(kernels, strange):
    x = np.array([[1.0, 2.0], [9.0, 4.0], [3.0, np.nan]])
    places, first = kernels.distinct_counts(x, 100)
    values = np.arange(2.0 * (first[-1] + 1)).reshape(-1, 2)
    assert not kernels.count_table(x, places, values)[1]
    y = x.copy()
    y[1, 0] = strange
    value, odd = kernels.count_table(y, places, values)
    assert odd
    np.testing.assert_array_equal(value[[0, 2]], kernels.count_table(x, places, values)[0][[0, 2]])


@pytest.mark.skipif(not long_chains.are_compiled(), reason="the twins index with numpy")
def test_places_outside_the_table_are_refused():
    from hidiv import _kernels

    x = np.ones((4, 1))
    places, values = _kernels.distinct_counts(x, 9)[0], np.zeros((2, 3))
    for wrong, match in (
        ((places[0], places[1] + 1, places[2]), "start"),
        ((places[0], places[1], places[2] + 5), "rows of the table"),
        ((places[0], places[1][:1], places[2]), "start"),
    ):
        with pytest.raises(ValueError, match=match):
            _kernels.count_table(x, wrong, values)
    with pytest.raises(ValueError, match=r"\(n, F\)"):
        _kernels.count_table(np.ones((4, 2)), places, values)


FAMILIES = {
    "close": (hd.Poisson([[3.0, 20.0], [5.0, 15.0]]), hd.Poisson([[3.0 + 3e-9, 20.0], [5.0, 15.0 - 1e-8]])),
    "far": (hd.Poisson([[3.0, 20.0], [5.0, 15.0]]), hd.Poisson([[30.0, 2.0], [5.0, 40.0]])),
    "large": (hd.Poisson([[3e4, 2e4], [3.1e4, 2.1e4]]), hd.Poisson([[3e4, 2.05e4], [3.2e4, 2.1e4]])),
    "negative binomial": (
        hd.NegativeBinomial([[3.0, 2.0], [5.0, 1.5]], [[0.1, 0.2], [0.3, 0.1]]),
        hd.NegativeBinomial([[3.0, 2.0], [5.0, 1.5]], [[0.1, 0.21], [0.3, 0.1]]),
    ),
    "binomial": (
        hd.Binomial([[40, 40]] * 2, [[0.1, 0.2], [0.3, 0.1]]),
        hd.Binomial([[40, 40]] * 2, [[0.1, 0.2 + 1e-9], [0.3, 0.1]]),
    ),
    "two families": (
        hd.NegativeBinomial([[3.0, 2.0], [5.0, 1.5]], [[0.1, 0.2], [0.3, 0.1]]),
        hd.Geometric([[0.2, 0.1], [0.3, 0.05]]),
    ),
}


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("which", FAMILIES)
def test_a_long_chain_of_counts_has_the_numbers_of_its_tables(monkeypatch, which, missing):
    p, q = (hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], family) for family in FAMILIES[which])
    x = np.array(hd.sample(p, 3000, seed=3)[1])
    if missing:
        x[[4, 1500], 1] = x[700] = np.nan
    monkeypatch.setattr(layout, "LONG", 10**9)  # a row for every node
    streamed = []
    for many in (1024, 10**9):
        monkeypatch.setattr(count_tables, "MANY", many)
        for long in (10**9, 100):
            monkeypatch.setattr(long_chains, "LONG", long)
            streamed.append((hd.posterior_kl(p, q, x).value, hd.log_likelihood(p, x)))
    for value, likelihood in streamed:
        assert value == pytest.approx(streamed[2][0], rel=1e-12, abs=0)  # looked up in no table, all rows at once
        assert likelihood == pytest.approx(streamed[2][1], rel=1e-13)
