"""Rows that nodes share: several columns of symbols or counts give the same numbers as one row a node."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
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
