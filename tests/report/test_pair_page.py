"""The page about two models, in a real browser."""

from __future__ import annotations

import json
from math import log
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

import hidiv as hd
from hidiv.report.heat_tables import heat_tables
from hidiv.report.pair_page import pair_page
from tests.plots.examples import X, drawn, pair
from tests.report.reading import contrasts, numbers, opened

HOSTILE = "<img src=x onerror=alert(1)></script><script>document.title='owned'</script>&amp; \"quoted\" ${1}"


@pytest.fixture(scope="session")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "page.html"
    path.write_text(pair_page(*pair("chain"), evidence=X).html, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def grouped_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "grouped.html"
    path.write_text(pair_page(*pair("tree"), hd.Tree.regular(2, 3)).html, encoding="utf-8")
    return path


def test_the_answer_comes_first(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file) as page:
        assert page.title() == "theta_1 against theta_0"
        words = page.locator(".words p").all_inner_texts()
        assert words[0].startswith("The data favour ")
        assert "posterior divergence, exact" in words[0]
        assert words[1].startswith("On average, 100 observations from theta_1 carry 46.66")
        cards = page.locator(".card")
        assert [cards.nth(i).locator("h3").inner_text() for i in range(3)] == ["observed", "joint", "posterior"]
        assert numbers(page, ".card .value .n") == [46.657, 56.791, 9.2846]
        assert [cards.nth(i).locator(".status").inner_text() for i in range(3)] == ["certified", "exact", "exact"]
        assert "about 16 observations" in page.locator(".words").inner_text()


def test_hover_reads_a_cell_and_click_opens_its_row(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file) as page:
        figure = page.locator("figure.heat").first
        figure.locator('td[data-r="0"][data-c="1"]').hover()
        expect(page.locator("#tip")).to_be_visible()
        said = page.locator("#tip").inner_text()
        assert said.startswith("from 0 to 1: theta_1 0.1, theta_0 0.3; adds ")
        page.mouse.move(2, 2)
        expect(page.locator("#tip")).not_to_be_visible()
        expect(figure.locator(".detail")).to_be_hidden()
        figure.locator('td[data-r="1"][data-c="0"]').click()
        expect(figure.locator(".detail")).to_be_visible()
        assert "transition from 1" in figure.locator(".detail caption").inner_text()
        parts = hd.joint_kl(*pair("chain"), 100).parts
        assert parts is not None
        added = [float(text) for text in figure.locator(".detail td:last-child").all_inner_texts()]
        assert sum(added) == pytest.approx(parts.rows[1], rel=1e-3)  # shown with four digits
        figure.locator('td[data-r="1"][data-c="0"]').click()
        expect(figure.locator(".detail")).to_be_hidden()


def test_heat_tables_by_keyboard(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file) as page:
        figure = page.locator("figure.heat").nth(1)
        figure.locator('td[tabindex="0"]').focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowDown")
        assert figure.locator(".reading").inner_text().startswith("in 1 of symbol 1: theta_1 0.1, theta_0 0.2")
        page.keyboard.press("Enter")
        expect(figure.locator(".detail")).to_be_visible()
        assert figure.locator('td[tabindex="0"]').count() == 1


def test_tables_sort(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file) as page:
        column = "table.parts tbody tr td:nth-child(3)"
        before = numbers(page, column)
        assert before != sorted(before)
        heading = page.get_by_role("button", name="own divergence")
        heading.click()
        assert numbers(page, column) == sorted(before, reverse=True)
        assert page.locator("table.parts th[aria-sort]").get_attribute("aria-sort") == "descending"
        heading.press("Enter")
        assert numbers(page, column) == sorted(before)
        page.get_by_role("button", name="part").click()
        words = page.locator("table.parts tbody th").all_inner_texts()
        assert words == sorted(words)


def test_switch_to_bits_and_back(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file) as page:
        shown = {unit: [] for unit in ("nats", "bits", "again")}
        for unit in shown:
            page.get_by_text("nats" if unit == "again" else unit, exact=True).first.click()
            shown[unit] = numbers(page, ".card .value .n")
            assert page.locator(".card .u").first.inner_text() == ("bits" if unit == "bits" else "nats")
        assert shown["again"] == shown["nats"]
        assert shown["bits"] == pytest.approx(
            [v / log(2) for v in (46.656817909892, 56.790527866, 9.28460240521942)], rel=2e-5
        )
        page.get_by_role("radio", name="bits").focus()
        page.keyboard.press("ArrowLeft")
        page.get_by_role("radio", name="bits").check(force=True)
        page.locator("figure.heat").first.locator("td[data-c]").first.hover()
        assert page.locator("#tip").inner_text().endswith("bits")


def test_numbers_of_python_and_script_agree(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file) as page:
        before = page.locator(".n").all_inner_texts()
        page.get_by_role("radio", name="bits").check(force=True)
        page.get_by_role("radio", name="nats").check(force=True)
        assert page.locator(".n").all_inner_texts() == before


def test_download(browser: Browser, page_file: Path, tmp_path: Path) -> None:
    with opened(browser, page_file) as page:
        with page.expect_download() as downloading:
            page.get_by_role("button", name="Download JSON").click()
        downloading.value.save_as(tmp_path / "found.json")
        told = json.loads((tmp_path / "found.json").read_text())
    p, q = pair("chain")
    assert (told["format"], told["version"], told["unit"]) == ("hidiv.report", 1, "nats")
    assert told["comparison"]["joint"]["value"] == hd.joint_kl(p, q, 100).value
    assert told["comparison"]["posterior"]["value"] == hd.posterior_kl(p, q, X).value
    assert told["profile"]["by_node"] == hd.posterior_kl(p, q, X).by_node.tolist()
    assert [one["by_node"] for one in told["influence"]] == [hd.influence(m, X).tolist() for m in (p, q)]
    assert [hd.Model.from_dict(m) for m in told["models"]] == [p, q]


@pytest.mark.parametrize(("length", "in_the_page"), [(20_000, True), (60_000, False)])
def test_long_data_are_downloaded_in_full(browser: Browser, tmp_path: Path, length: int, in_the_page: bool) -> None:
    p, q = pair("chain")
    x = np.random.default_rng(4).integers(0, 3, length)
    made = pair_page(p, q, evidence=x, json_name="long.json")
    path = tmp_path / "long.html"
    path.write_text(made.html, encoding="utf-8")
    assert path.stat().st_size < 1_000_000
    assert (made.json_name is None) == in_the_page
    with opened(browser, path) as page:
        if in_the_page:
            with page.expect_download() as downloading:
                page.get_by_role("button", name="Download JSON").click()
            downloading.value.save_as(tmp_path / "long.json")
        else:
            (tmp_path / "long.json").write_text(made.data_text(), encoding="utf-8")
            assert page.get_by_role("link", name="Download JSON").get_attribute("href") == "long.json"
    told = json.loads((tmp_path / "long.json").read_text())
    assert told == json.loads(made.data_text())
    assert told["profile"]["by_node"] == hd.posterior_kl(p, q, x).by_node.tolist()
    assert [one["by_node"] for one in told["influence"]] == [hd.influence(m, x).tolist() for m in (p, q)]


def test_pictures_are_read_by_pointer_and_keys(browser: Browser, page_file: Path) -> None:
    profile = hd.posterior_kl(*pair("chain"), X).by_node
    with opened(browser, page_file) as page:
        svg = page.locator('svg[data-chart="profile"]')
        box = svg.bounding_box()
        assert box is not None
        svg.hover(position={"x": box["width"] * (84 + 720 * 0.285) / 812, "y": box["height"] / 2})
        assert page.locator("#tip").inner_text() == f"node 28: {float(f'{profile[28]:.4g}'):g} nats"
        svg.focus()
        page.keyboard.press("ArrowRight")
        assert page.locator('output[data-for="profile"]').inner_text().startswith("node 29: ")
        page.keyboard.press("End")
        assert page.locator('output[data-for="profile"]').inner_text().startswith("node 99: ")


def test_a_hostile_name_stays_text(browser: Browser, tmp_path: Path) -> None:
    p, q = pair("chain")
    described = p.to_dict() | {"name": HOSTILE, "state_names": ["<b>dry</b>", "'\"><svg onload=alert(2)>"]}
    path = tmp_path / "hostile.html"
    path.write_text(pair_page(hd.Model.from_dict(described), q, evidence=X).html, encoding="utf-8")
    with opened(browser, path) as page:
        assert page.title().startswith("<img src=x")
        assert HOSTILE in page.locator("h1").inner_text()
        assert page.locator("img").count() == 0
        page.locator("figure.heat").first.locator("td[data-c]").first.click()
        assert "<b>dry</b>" in page.locator("figure.heat").first.locator(".detail").inner_text()
        assert page.locator("main b, main script, svg[onload]").count() == 0
        assert "<b>dry</b>" in page.locator("table.parts").inner_text()


EMISSION = "Emission, level 2 (numbers are theta_1 minus theta_0; every cell has the shade of its row)"


def test_groups_are_chosen(browser: Browser, grouped_file: Path) -> None:
    with opened(browser, grouped_file) as page:
        parts = hd.joint_kl(*pair("tree"), hd.Tree.regular(2, 3)).parts
        assert parts is not None
        dominant = int(np.argmax(parts.rows.sum(axis=1) + parts.states.sum(axis=1)))
        level = page.locator(".choose select")
        assert level.input_value() == str(dominant)
        level.select_option("0")
        assert page.locator("figure.heat:visible").count() == 1  # the root's level has no transition
        level.select_option("2")
        captions = page.locator("figure.heat:visible figcaption").all_inner_texts()
        assert captions == ["Transition, level 2", EMISSION]
        assert {"root", "0", "01", "11"} <= set(page.locator("svg.tree text").all_text_contents())
        page.locator("svg.tree circle").first.hover()
        assert page.locator("#tip").inner_text().startswith("root: 0.25")
        page.emulate_media(media="print")
        assert page.locator("figure.heat:visible").count() == 5
        expect(page.get_by_role("button", name="Download JSON")).to_be_hidden()


@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out(browser: Browser, page_file: Path, dark: bool) -> None:
    with opened(browser, page_file, dark=dark) as page:
        for selector in ("p", "td", "th", ".status", "figcaption", ".switch span", "button"):
            low = [one for one in contrasts(page, selector) if one["contrast"] < 4.5]
            assert low == []
        # Every shade, also those this page does not need.
        page.evaluate(
            """() => {
              const row = document.createElement("p");
              row.id = "shades";
              document.querySelector("main").append(row);
              for (const kind of "dmq") for (let i = 0; i <= 10; i += 1) {
                const one = document.createElement("span");
                one.className = kind + i;
                row.append(one);
              }
            }"""
        )
        assert [one for one in contrasts(page, "#shades span") if one["contrast"] < 4.5] == []


@pytest.mark.parametrize("width", [340, 700, 1400])
def test_no_sideways_scrolling(browser: Browser, page_file: Path, width: int) -> None:
    with opened(browser, page_file, width=width) as page:
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_structure_for_screen_readers(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file) as page:
        assert page.locator("html").get_attribute("lang") == "en"
        assert page.locator("h1").count() == 1
        unnamed = page.locator("svg:not([aria-label]):not([aria-hidden]), img:not([alt]), th:not([scope])").count()
        assert unnamed == 0
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map((node) => node.id)")
        assert len(ids) == len(set(ids))
        labels = page.evaluate(
            "[...document.querySelectorAll('[aria-labelledby]')].map((n) => n.getAttribute('aria-labelledby'))"
        )
        assert set(labels) <= set(ids)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the answer"


def test_infinite_and_undefined_are_said(browser: Browser, tmp_path: Path) -> None:
    p = hd.Model([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], hd.Categorical([[0.5, 0.5], [0.1, 0.9]]), name="p")
    q = hd.Model([0.5, 0.5], [[1.0, 0.0], [0.5, 0.5]], hd.Categorical([[0.5, 0.5], [0.0, 1.0]]), name="q")
    one = hd.Model([1.0], [[1.0]], hd.Categorical([[0.5, 0.5]]), name="one")
    for other, said in ((q, "p allows what q excludes."), (one, "not defined")):
        path = tmp_path / "page.html"
        path.write_text(pair_page(p, other, 5).html, encoding="utf-8")
        with opened(browser, path) as page:
            assert said in page.locator("main").inner_text()
            page.get_by_role("radio", name="bits").check(force=True)
            assert "NaN" not in page.locator("body").inner_text()


def test_long_data_are_summed_up(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(pair_page(*pair("chain"), evidence=np.tile(X, 20)).html, encoding="utf-8")
    assert path.stat().st_size < 300_000
    with opened(browser, path) as page:
        svg = page.locator('svg[data-chart="profile"]')
        svg.hover()
        assert page.locator("#tip").inner_text().startswith("nodes ")


def test_of_many_states_those_that_add_most_are_shown() -> None:
    p, q = drawn(45, 1), drawn(45, 2)
    parts = hd.joint_kl(p, q, 50).parts
    assert parts is not None
    (transition, emission), left_out = heat_tables(p, q, parts)
    assert left_out == ""
    assert transition.left_out == "40 of 45 rows and 40 of 45 columns, those that differ most."
    assert emission.columns == [f"symbol {i}" for i in range(5)]
    dropped = {str(s) for s in np.argsort(parts.rows)[:5]}
    assert dropped.isdisjoint(transition.rows)
    assert transition.adds is not None
    kept = [int(name) for name in transition.rows]
    assert np.abs(transition.shades).max() == 10
    assert transition.row_adds == parts.rows[kept].tolist()


def test_many_groups_are_cut_to_those_that_add_most() -> None:
    rng = np.random.default_rng(4)
    p, q = (
        hd.Model([0.5, 0.5], rng.dirichlet([1, 1], (60, 2)), [hd.Poisson(1 + rng.random(2)) for _ in range(60)])
        for _ in range(2)
    )
    parts = hd.joint_kl(p, q, hd.Tree.chain(60, group=range(60))).parts
    assert parts is not None
    tables, left_out = heat_tables(p, q, parts)
    assert left_out == f"{len({t.group for t in tables})} of 60 groups are shown, those that add most."
    shown = {t.group for t in tables}
    adds = parts.rows.sum(axis=1) + parts.states.sum(axis=1)
    assert min(adds[g] for g in shown) >= max(adds[g] for g in set(range(60)) - shown)


def test_an_interrupt_leaves_the_page_of_what_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("hidiv.report.pair_page.samples_needed", stop)
        made = pair_page(*pair("chain"), evidence=X[:10])
        assert made.data["missing"] == ["how many observations would tell them apart"]
        assert "interrupted before it had computed how many observations would tell them apart." in made.html
        assert len(made.data["influence"]) == 2
        patch.setattr("hidiv.report.pair_page.influence", stop)
        made = pair_page(*pair("chain"), evidence=X[:10])
        assert made.data["missing"][0] == "influence of observations"
        assert made.data["profile"]["quantity"] == "posterior"
        patch.setattr("hidiv.divergences.compare.kl_of_pair", stop)
        made = pair_page(*pair("chain"), evidence=X[:10])
        assert made.data["missing"][:2] == ["observed", "expected posterior"]
        assert made.data["comparison"]["joint"]["value"] > 0
    assert pair_page(*pair("chain"), evidence=X[:10]).data["missing"] == []
    late = pair_page(*pair("chain"), evidence=X[:10], stopped=lambda: True)  # one that a computation made do with
    assert late.data["missing"] == ["how many observations would tell them apart"]
