"""The live reports of the gallery, written when the pages are built."""

from __future__ import annotations

from pathlib import Path
from shutil import copy
from tempfile import TemporaryDirectory

import numpy as np

import hidiv as hd
from hidiv.report.collection_page import collection_page
from hidiv.report.page import Page
from hidiv.report.pair_page import pair_page
from hidiv.report.paper import printed
from hidiv.report.paper.experiments import run
from hidiv.report.paper.paper_files import draw, write
from hidiv.report.paper.verdicts import verdicts


def write_all(folder: Path) -> None:
    """Write every report."""
    reports = folder / "reports"
    reports.mkdir(parents=True, exist_ok=True)
    for name, page in {"two_models": two_models, "two_trees": two_trees, "twelve_models": twelve_models}.items():
        (reports / f"{name}.html").write_text(page().html, encoding="utf-8")
    experiments = run(most_trials=10**4)
    with TemporaryDirectory() as beside:  # the page holds its pictures
        draw(Path(beside), experiments)
        write(Path(beside), experiments, verdicts(experiments), 0, hd.__version__)
        copy(Path(beside) / "paper.html", reports)


def two_models() -> Page:
    """Market models whose states come in another order, with data of the first."""
    p = hd.Model(
        [0.2, 0.6, 0.2], [[0.90, 0.08, 0.02], [0.05, 0.90, 0.05], [0.10, 0.10, 0.80]],
        hd.Gaussian([-1.0, 0.1, 1.0], std=[1.5, 0.5, 0.8]), name="before", state_names=["bear", "calm", "boom"],
    )  # fmt: skip
    q = hd.Model(
        [0.2, 0.6, 0.2], [[0.80, 0.15, 0.05], [0.04, 0.92, 0.04], [0.02, 0.28, 0.70]],
        hd.Gaussian([-1.2, 0.1, 0.7], std=[2.0, 0.4, 0.8]), name="after",
    )  # fmt: skip
    return pair_page(p, q.relabel([2, 0, 1]), evidence=hd.sample(p, 300, seed=3)[1])


def two_trees() -> Page:
    """The trees of the paper's Table I."""
    return pair_page(*printed.trees(), printed.binary_tree())


def twelve_models() -> Page:
    """Models of three kinds."""
    rng = np.random.default_rng(1)
    kinds = [(rng.dirichlet(np.ones(2), 2), rng.dirichlet(np.ones(4), 2)) for _ in range(3)]
    models = []
    for i in range(12):
        moves, symbols = kinds[i % 3]
        moves, symbols = (0.9 * a + 0.1 * rng.dirichlet(np.ones(a.shape[1]), 2) for a in (moves, symbols))
        models.append(hd.Model("stationary", moves, hd.Categorical(symbols), name=f"{'abc'[i % 3]}{i // 3 + 1}"))
    return collection_page(models, hd.Tree.chain(100), quantity="aligned")
