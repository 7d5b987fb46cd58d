"""Rows that nodes share: several columns of symbols or counts give the same numbers as one row a node."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.emissions.evidence import count_tables
from hidiv.errors import HidivError
from hidiv.inference import rows as layout

BITS = hd.Bernoulli([[0.1, 0.4, 0.5], [0.6, 0.3, 0.2]])
COUNTS = hd.Poisson([[1.0, 0.5], [0.2, 2.0]])


@pytest.mark.parametrize("family", [BITS, COUNTS], ids=["bits", "counts"])
@pytest.mark.parametrize("grouped", [False, True])
def test_shared_rows_change_nothing(family, grouped, monkeypatch):
    families = [family, family.take([1, 0])] if grouped else family
    model = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], families)
    tree = hd.Tree.chain(2000, group=np.arange(2000) % 2) if grouped else hd.Tree.chain(2000)
    x = np.array(hd.sample(model, tree, seed=1)[1])
    x[7, 1] = x[11] = np.nan
    shared = layout.lay_out(hd.Evidence(x), tree, model)
    assert shared.n_rows < 200
    together = hd.smooth(model, x, tree)
    fitted = hd.fit(x, tree, start=model, max_iter=2)
    monkeypatch.setattr(layout, "LONG", 10**9)
    assert layout.lay_out(hd.Evidence(x), tree, model).n_rows == 2000
    apart = hd.smooth(model, x, tree)
    assert together.log_likelihood == pytest.approx(apart.log_likelihood, rel=1e-13)
    np.testing.assert_allclose(together.marginals, apart.marginals, rtol=1e-12, atol=1e-15)
    assert fitted.log_likelihood == pytest.approx(hd.fit(x, tree, start=model, max_iter=2).log_likelihood, rel=1e-12)


def test_what_is_no_symbol_is_still_named_by_its_node():
    model = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], BITS)
    for value in (2.0, -1.0, 0.5):
        x = np.zeros((1000, 3))
        x[900, 2] = value
        with pytest.raises(HidivError, match=r"x\[900\]\[2\]"):
            hd.log_likelihood(model, x)


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("apart", [1e-9, 0.1])
def test_large_counts_are_weighed_once_for_every_number_that_occurs(columns, apart, monkeypatch):
    size = np.array([[3.0, 5.0], [4.0, 2.0]])[:, :columns].squeeze()
    chance = np.array([[1e-3, 2e-3], [4e-3, 1e-3]])[:, :columns].squeeze()
    p, q = (
        hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.NegativeBinomial(size * (1.0 + by), chance))
        for by in (0.0, apart)
    )
    rng = np.random.default_rng(1)
    x = rng.choice(rng.integers(0, 9000, 40), (1100, columns)).astype(np.float64)
    x[7] = np.nan
    chain = hd.Tree.chain(len(x))
    # 1,100 pairs of forty numbers hardly repeat, so that two columns are looked up one by one.
    assert (layout.lay_out(hd.Evidence(x), chain, p).n_rows == 41) == (columns == 1)
    together = hd.posterior_kl(p, q, x), hd.log_likelihood(p, x)
    monkeypatch.setattr(layout, "WIDE", 0)
    monkeypatch.setattr(count_tables, "MANY", 10**9)
    assert layout.lay_out(hd.Evidence(x), chain, p).n_rows == len(x)
    assert together[0].value == pytest.approx(hd.posterior_kl(p, q, x).value, rel=1e-12, abs=0)
    assert together[1] == pytest.approx(hd.log_likelihood(p, x), rel=1e-13)
