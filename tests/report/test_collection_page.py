"""The page about many models, in a real browser."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

import hidiv as hd
from hidiv.comparison.pairwise.plan import Plan
from hidiv.errors import HidivError
from hidiv.report.collection_page import collection_page
from hidiv.report.collection_pictures import dendrogram, shades
from tests.report.reading import numbers, opened

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


def models(count: int, seed: int = 1) -> list[hd.Model]:
    """Three kinds of models."""
    rng = np.random.default_rng(seed)
    made = []
    for i in range(count):
        emission = hd.Gaussian(3 * (i % 3) + rng.normal(0, 0.2, 2), std=[1.0, 1.0])
        made.append(hd.Model([0.5, 0.5], rng.dirichlet([5, 1], 2), emission, name=f"kind {i % 3} no {i}"))
    return made


@pytest.fixture(scope="session")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "many.html"
    path.write_text(collection_page(models(9), 20).html, encoding="utf-8")
    return path


def test_all_pairs(browser: Browser, page_file: Path, tmp_path: Path) -> None:
    matrix = np.asarray(hd.pairwise_kl(models(9), 20))
    with opened(browser, page_file) as page:
        assert "They fall into 3 clusters" in page.locator(".words").inner_text()
        others = matrix[~np.eye(9, dtype=bool)]
        assert numbers(page, ".card .value .n")[::2] == [float(f"{v:.5g}") for v in (others.min(), others.max())]
        cell = page.locator('.matrix td[data-r="0"][data-c="8"]')
        cell.hover()
        first, last = (
            page.locator(".matrix tbody th").first.inner_text(),
            page.locator(".matrix thead th").last.inner_text(),
        )
        i, j = (int(name.split()[-1]) for name in (first, last))
        assert page.locator("#tip").inner_text() == f"D({first} || {last}): {float(f'{matrix[i, j]:.4g}'):g} nats"
        page.locator('.matrix td[tabindex="0"]').focus()
        page.keyboard.press("ArrowDown")
        assert page.locator(".matrix .reading").inner_text().startswith("D(")
        page.locator("svg.map circle").nth(4).hover()
        assert page.locator("#tip").inner_text() == "kind 1 no 4: cluster 1"
        with page.expect_download() as downloading:
            page.get_by_role("button", name="Download JSON").click()
        downloading.value.save_as(tmp_path / "found.json")
    told = json.loads((tmp_path / "found.json").read_text())
    assert told["format"] == "hidiv.collection_report"
    assert np.array(told["matrix"]).tolist() == matrix.tolist()
    assert np.array(told["clusters"]["linkage"]).shape == (8, 4)


def test_neighbours_sort_and_switch(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file) as page:
        column = "table.sortable tbody td:nth-child(3)"
        before = numbers(page, column)
        page.get_by_role("button", name="nearest").click()
        assert numbers(page, column) == sorted(before, reverse=True)
        page.get_by_role("radio", name="bits").check(force=True)
        bits = numbers(page, column)
        assert bits == pytest.approx([v / np.log(2) for v in sorted(before, reverse=True)], rel=1e-4)  # five digits
        assert bits == sorted(bits, reverse=True)


def test_dendrogram_and_map_name_every_model(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file) as page:
        names = {model.name for model in models(9)}
        assert set(page.locator("svg.dendrogram text:not(.n)").all_text_contents()) == names
        assert page.locator("svg.map circle").count() == 9


def test_a_hostile_name_stays_text(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    path.write_text(collection_page(models(4), 20, names=[HOSTILE, "b", "c", "d"]).html, encoding="utf-8")
    with opened(browser, path) as page:
        assert HOSTILE in page.locator("table.sortable").inner_text()
        assert page.locator("main script, main img").count() == 0
        page.locator("svg.map circle").first.hover()
        assert HOSTILE in page.locator("#tip").inner_text()


@pytest.mark.parametrize("count", [60, 150])
def test_a_larger_matrix_is_a_picture(browser: Browser, tmp_path: Path, count: int) -> None:
    path = tmp_path / "large.html"
    path.write_text(collection_page(models(count), 20).html, encoding="utf-8")
    assert path.stat().st_size < 1_000_000
    with opened(browser, path) as page:
        image = page.locator(".matrix img")
        assert image.evaluate("(node) => [node.complete, node.naturalWidth]") == [True, count]
        image.hover(position={"x": 3, "y": 100})
        expect(page.locator("#tip")).to_be_visible()
        assert page.locator("#tip").inner_text().startswith("D(kind ")
        assert page.locator("#tip").inner_text().endswith(" nats")
        dots = page.evaluate(
            "[...document.querySelectorAll('svg.map circle')].map((dot) => getComputedStyle(dot).fill)"
        )
        strip = page.evaluate(
            "[...document.querySelectorAll('.runs.down rect')].map((run) => getComputedStyle(run).fill)"
        )
        assert set(strip) == set(dots)
        for key in ("ArrowRight", "ArrowDown", "ArrowRight", "ArrowRight"):
            image.press(key)
        said = page.locator(".matrix .reading").inner_text()
        image.press("Enter")
        assert f"{said.split(':')[0]} = " in page.locator(".pair").inner_text()
        page.emulate_media(media="print")
        assert page.locator("div.printed p:visible").count() == (count if count <= 60 else 0)
        assert page.locator("p.printed:visible").count() == (0 if count <= 60 else 1)


def test_a_matrix_that_is_too_long_for_the_page_lies_beside_it(browser: Browser, tmp_path: Path) -> None:
    made = collection_page(models(400), 20, json_name="many one.json")
    assert made.json_name == "many one.json"
    path = tmp_path / "many one.html"
    path.write_text(made.html, encoding="utf-8")
    (tmp_path / made.json_name).write_text(made.data_text(), encoding="utf-8")
    assert path.stat().st_size < 1_000_000
    matrix = np.asarray(hd.pairwise_kl(models(400), 20))
    with opened(browser, path) as page:
        assert "which should be kept next to this file" in page.locator("footer").inner_text()
        link = page.get_by_role("link", name="Download JSON")
        held = Path(link.evaluate("(node) => decodeURIComponent(node.href)").removeprefix("file://")).read_text()
        assert json.loads(held)["matrix"] == matrix.tolist()
        image = page.locator(".matrix img")
        image.hover(position={"x": 3, "y": 100})
        said = page.locator("#tip").inner_text()
        i, j = (int(name.split()[-1]) for name in said[2:].split(")")[0].split(" || "))
        assert said.endswith(f": {float(f'{matrix[i, j]:.4g}'):g} nats")


@pytest.mark.parametrize("count", [9, 200])
def test_the_download_is_all_of_it(browser: Browser, tmp_path: Path, count: int) -> None:
    made = collection_page(models(count), 20)
    assert made.json_name is None
    path = tmp_path / "many.html"
    path.write_text(made.html, encoding="utf-8")
    assert path.stat().st_size < 1_000_000
    with opened(browser, path) as page:
        with page.expect_download() as downloading:
            page.get_by_role("button", name="Download JSON").click()
        downloading.value.save_as(tmp_path / "found.json")
    assert json.loads((tmp_path / "found.json").read_text()) == json.loads(made.data_text())
    assert made.data["matrix"] == np.asarray(hd.pairwise_kl(models(count), 20)).tolist()


def test_the_largest_collection_fits() -> None:
    made = collection_page(models(1000), 20)
    assert len(made.html.encode("utf-8")) < 1_000_000
    assert len(made.data["matrix"]) == 1000


def test_the_picture_is_darker_where_models_differ(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "large.html"
    path.write_text(collection_page(models(60), 20).html, encoding="utf-8")
    with opened(browser, path) as page:
        lightness = page.evaluate(
            """() => {
              const image = document.querySelector(".matrix img");
              const canvas = document.createElement("canvas");
              canvas.width = canvas.height = image.naturalWidth;
              const at = canvas.getContext("2d");
              at.drawImage(image, 0, 0);
              const pixels = at.getImageData(0, 0, canvas.width, canvas.height).data;
              return [...Array(canvas.width).keys()].map((i) => [
                pixels[4 * (i * canvas.width + i)], pixels[4 * (i * canvas.width + canvas.width - 1 - i)]]);
            }"""
        )
    diagonal, other = zip(*lightness, strict=True)
    assert min(diagonal) == max(diagonal) == 245  # zero is the lightest
    assert np.mean(other) < 150


@pytest.mark.parametrize("width", [340, 1100])
def test_no_sideways_scrolling(browser: Browser, page_file: Path, width: int) -> None:
    with opened(browser, page_file, width=width, dark=True) as page:
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_infinite_pairs(browser: Browser, tmp_path: Path) -> None:
    sure = [
        hd.Model([1.0], [[1.0]], hd.Categorical([row]), name=name)
        for name, row in (("a", [1.0, 0.0]), ("b", [0.5, 0.5]), ("c", [0.4, 0.6]), ("d", [0.0, 1.0]))
    ]
    path = tmp_path / "infinite.html"
    path.write_text(collection_page(sure, 3).html, encoding="utf-8")
    with opened(browser, path) as page:
        assert "6 of 12 divergences are infinite" in page.locator(".words").inner_text()
        page.get_by_role("radio", name="bits").check(force=True)
        assert "NaN" not in page.locator("body").inner_text()
        assert page.locator(".matrix td", has_text="∞").count() == 6


def test_dendrogram_heights() -> None:
    drawn = dendrogram(np.array([[0.0, 1.0, 2.0, 2.0], [2.0, 3.0, 4.0, 3.0]]), ["a", "b", "c"])
    assert drawn.order == [2, 0, 1]
    assert [name for _, name in drawn.leaves] == ["c", "a", "b"]
    assert drawn.path.count("M") == 2
    assert "H260.0" in drawn.path  # half of the axis, whose top is 4


def test_a_wide_range_is_logarithmic() -> None:
    values = np.array([[0.0, 1.0, 1000.0], [1.0, 0.0, 31.6227766], [1000.0, np.inf, 0.0]])
    shade = shades(values)
    assert shade[0, 0] == 0.0
    assert shade[0, 1] == pytest.approx(0.08)
    assert shade[1, 2] == pytest.approx(0.54)
    assert shade[0, 2] == shade[2, 1] == 1.0
    drawn = dendrogram(np.array([[0.0, 1.0, 1.0, 2.0], [2.0, 3.0, 1000.0, 3.0]]), ["a", "b", "c"])
    assert drawn.logarithmic
    assert [value for _, value in drawn.ticks] == [1.0, 10.0, 100.0, 1000.0]
    steps = np.diff([x for x, _ in drawn.ticks])
    assert steps == pytest.approx([steps[0]] * 3)


def test_a_click_opens_a_pair(browser: Browser, page_file: Path) -> None:
    made = models(9)
    with opened(browser, page_file) as page:
        page.locator('.matrix td[data-r="0"][data-c="8"]').click()
        names = [page.locator(f".matrix tbody tr:nth-child({r}) th").inner_text() for r in (1, 9)]
        p, q = (next(model for model in made if model.name == name) for name in names)
        panel = page.locator(".pair")
        assert panel.locator("h3").inner_text() == f"{p.name} against {q.name}"
        told = panel.inner_text()
        assert f"D({p.name} || {q.name}) = {float(f'{hd.joint_kl(p, q, 20).value:.4g}'):g} nats" in told
        assert f"D({q.name} || {p.name}) = {float(f'{hd.joint_kl(q, p, 20).value:.4g}'):g} nats" in told
        assert "What is seen in state" in told


def test_many_models_fit_the_width_and_the_paper(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "many.html"
    path.write_text(collection_page(models(30), 20).html, encoding="utf-8")
    with opened(browser, path, width=700) as page:
        fits = "document.querySelector('.matrix table').getBoundingClientRect().right <= innerWidth"
        assert page.evaluate(fits)
        titles = {th.get_attribute("title") for th in page.locator(".matrix tbody th").all()}
        assert titles == {model.name for model in models(30)}
        page.emulate_media(media="print")
        assert page.evaluate(fits)
        assert page.locator(".printed p:visible").count() == 30
        hues = page.evaluate(
            "[...document.querySelectorAll('svg.map circle')].map((dot) => getComputedStyle(dot).fill)"
        )
        assert len(set(hues)) == 3


def test_refused() -> None:
    with pytest.raises(HidivError, match="a page about a collection has 3 to 1000 models, got 2"):
        collection_page(models(2), 20)


def test_an_interrupt_leaves_the_models_whose_pairs_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    models = [hd.Model([1.0], [[1.0]], hd.Poisson([float(rate)])) for rate in range(1, 81)]
    whole = collection_page(models, 10)
    block, made = Plan.block, []

    def stopping(plan: Plan, top: int, left: int) -> object:
        if len(made) > after:
            raise KeyboardInterrupt
        made.append((top, left))
        return block(plan, top, left)

    monkeypatch.setattr(Plan, "block", stopping)
    monkeypatch.setattr("hidiv.comparison.pairwise.executors.processors", lambda: 1)
    after = 4  # five blocks of 20 rows: the first row of blocks and one more
    found = collection_page(models, 10)
    assert found.data["missing"] == ["the pairs of 60 more models"]
    assert "interrupted before it had computed the pairs of 60 more models." in found.html
    assert found.data["names"] == whole.data["names"][:20]
    assert found.data["matrix"] == [row[:20] for row in whole.data["matrix"][:20]]
    made, after = [], -1
    with pytest.raises(KeyboardInterrupt):
        collection_page(models, 10)
    assert whole.data["missing"] == []
