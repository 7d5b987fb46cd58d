"""Words of pictures are seen whole, in wide and narrow windows: names of columns, probabilities beside loops."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser

import hidiv as hd
from hidiv.report.pair_page import pair_page
from tests.report.reading import cut_off, opened


def several_columns(k: int, features: int, seed: int) -> hd.Model:
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(k, 0.3), k)
    rows[0] = np.full(k, 1e-20)
    rows[0, -1] = 1.0 - rows[0, :-1].sum()
    return hd.Model(
        rng.dirichlet(np.ones(k)), rows, hd.Gaussian(rng.normal(size=(k, features)), std=np.ones((k, features)))
    )


@pytest.mark.parametrize("width", [1100, 390])
@pytest.mark.parametrize("k", [2, 3, 4, 6])
def test_words_are_not_cut_off(browser: Browser, tmp_path: Path, k: int, width: int) -> None:
    p, q = (several_columns(k, 3, seed) for seed in (1, 2))
    path = tmp_path / "page.html"
    path.write_text(pair_page(p, q, evidence=hd.sample(p, 40, seed=3)[1]).html, encoding="utf-8")
    with opened(browser, path, width=width) as page:
        assert cut_off(page) == []
