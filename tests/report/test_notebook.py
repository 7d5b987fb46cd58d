"""Objects in a notebook: tables in the notebook's own colours, names as text, and the parameters of a small model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbclient
import nbformat
import numpy as np
from playwright.sync_api import Browser

import hidiv as hd
from tests.report.reading import contrasts, opened

HOSTILE = "<img src=x onerror=alert(1)>"
P = hd.Model(
    [0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Gaussian([0.0, 2.0], std=[1.0, 1.5]), name="rain",
    state_names=["dry", HOSTILE],
)  # fmt: skip
Q = P.renamed(HOSTILE)
X = hd.sample(P, 40, seed=1)[1]

MADE = """
import hidiv as hd
p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Gaussian([0.0, 2.0], std=[1.0, 1.5]), name="rain")
q = hd.Model([0.5, 0.5], [[0.8, 0.2], [0.3, 0.7]], hd.Gaussian([0.5, 2.0], std=[1.0, 1.0]), name="snow")
x = hd.sample(p, 40, seed=1)[1]
"""
SHOWN = [
    "p", "hd.Tree([-1, 0, 0, 1])", "hd.joint_kl(p, q, 9)", "hd.compare(p, q, 9)",
    "hd.fit(x, None, 2, n_init=1, max_iter=4, seed=0)", "hd.pairwise_kl([p, q], 9)",
]  # fmt: skip


def objects() -> list[Any]:
    return [
        P, hd.Tree.from_edges([(HOSTILE, "a"), (HOSTILE, "b")]), hd.joint_kl(P, Q, 5), hd.compare(P, Q, 5),
        hd.fit(X, None, 2, n_init=1, max_iter=3, seed=0), hd.pairwise_kl([P, Q], 5),
    ]  # fmt: skip


def test_names_stay_text() -> None:
    for one in objects():
        html = one._repr_html_()
        assert "<img" not in html
        assert html.startswith("<div")
        assert html.count("<table") == html.count("</table>")
    assert "&lt;img" in P._repr_html_()


def test_a_small_model_shows_its_parameters() -> None:
    lines = repr(hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1, 4]), state_names=["dry", "wet"])).split(
        "\n"
    )
    assert lines[0] == "Model: 2 states, poisson emission"
    assert lines[1].split() == ["initial", "to", "dry", "to", "wet", "rate"]
    assert lines[3].split() == ["wet", "0.5", "0.2", "0.8", "4"]
    large = hd.Model(np.full(30, 1 / 30), np.full((30, 30), 1 / 30), hd.Silent(30))
    assert repr(large) == large.headline == "Model: 30 states, silent emission"
    assert "18 more rows" in large._repr_html_()


def test_infinite_values_are_shown() -> None:
    q = hd.Model([1.0, 0.0], P.transition, P.emission)
    assert "infinite" in hd.joint_kl(P, q, 5)._repr_html_()
    assert "infinite" in hd.compare(P, q, 5)._repr_html_()
    assert "infinite" in hd.pairwise_kl([P, q], 5)._repr_html_()


def test_a_notebook_runs_and_can_be_read(browser: Browser, tmp_path: Path) -> None:
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in (MADE, *SHOWN)])
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    shown = [cell.outputs[0].data["text/html"] for cell in book.cells[1:]]
    assert len(shown) == len(SHOWN)
    for dark, colours in ((False, "color:#111;background:#fff"), (True, "color:#e0e0e0;background:#111")):
        path = tmp_path / "book.html"
        body = "".join(shown)
        path.write_text(f'<meta charset="utf-8"><link rel="icon" href="data:,"><body style="{colours}">{body}</body>')
        with opened(browser, path, dark=dark) as page:
            assert page.locator("table").count() >= 7
            low = [one for one in contrasts(page, "td:not([style*=rgba]), th, div") if one["contrast"] < 4.5]
            assert low == []
