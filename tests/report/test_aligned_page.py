"""A page whose models number their states differently: it is about the aligned pair, with a way back to the labels."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

import hidiv as hd
from hidiv.report.causes import causes
from hidiv.report.pair_page import pair_page
from tests.report.reading import numbers, opened

NAMES = ["boom", "flat", "bear"]
P = hd.Model(
    [0.9, 0.05, 0.05], [[0.93, 0.06, 0.01], [0.08, 0.90, 0.02], [0.05, 0.35, 0.60]],
    hd.Gaussian([1.2, 0.1, -2.0], std=[0.8, 1.1, 2.5]), name="us", state_names=NAMES,
)  # fmt: skip
Q = hd.Model(
    [0.4, 0.3, 0.3], [[0.85, 0.15 - 6e-14, 6e-14], [0.12, 0.82, 0.06], [0.1, 0.2, 0.7]],
    hd.Gaussian([1.0, 0.2, -1.0], std=[1.0, 1.1, 2.0]), name="uk", state_names=NAMES,
)  # fmt: skip
SHUFFLED = Q.relabel([2, 0, 1])
X = hd.sample(P, 60, seed=3)[1]


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("aligned") / "page.html"
    path.write_text(pair_page(P, SHUFFLED, evidence=X).html, encoding="utf-8")
    return path


def test_headline_and_causes_are_those_of_the_aligned_pair(browser: Browser, page_file: Path) -> None:
    joint = hd.joint_kl(P, Q, 60)
    posterior = hd.posterior_kl(P, Q, X)
    with opened(browser, page_file) as page:
        expect(page.locator(".banner")).to_contain_text("put in the order that fits us best")
        shown = page.locator(".card:visible").all()
        cards = {card.locator("h3").inner_text(): card.locator(".value").inner_text() for card in shown}
        assert cards["joint, aligned"] == f"{joint.value:.5g} nats"
        assert cards["posterior, aligned"] == f"{posterior.value:.5g} nats"
        told = page.locator(".causes:visible li").all_inner_texts()
        assert told[0].startswith("uk makes boom to bear almost impossible (6e-14; us has 0.01): ")
        whole = numbers(page, '.way[data-way="aligned"] .causes li:first-child .n')[1]
        assert whole == pytest.approx(joint.value, rel=5e-3)
        assert "0.0 %" not in told[0]
        assert page.locator(".linked path.moved").count() == 3
        page.get_by_text("as labelled", exact=True).click()
        labelled = hd.joint_kl(P, SHUFFLED, 60)
        assert page.locator(".card:visible .value .n").nth(1).inner_text() == f"{labelled.value:.5g}"
        assert page.locator(".causes:visible li").first.inner_text() != told[0]


def test_the_strip_names_q_states_as_their_partners(browser: Browser, page_file: Path) -> None:
    paths = [hd.viterbi(model, X)[0] for model in (P, Q)]
    with opened(browser, page_file) as page:
        svg = page.locator('svg[data-chart="strip"]')
        svg.focus()
        for u in range(3):
            page.keyboard.press("ArrowRight")
            expected = f"us in {NAMES[paths[0][u]]}, uk in {NAMES[paths[1][u]]}"
            assert page.locator('output[data-for="strip"]').inner_text().endswith(expected)
        differ = int((paths[0] != paths[1]).sum())
        assert f"the decoded states differ at {differ} of 60 nodes" in page.locator(".words:visible").inner_text()


def test_the_data_are_told_first() -> None:
    found = re.search(r'class="words">\s*<p>(.*?)</p>', pair_page(P, SHUFFLED, evidence=X).html, re.DOTALL)
    assert found is not None
    words = re.sub("<[^>]+>", "", found.group(1))
    one, other = hd.log_likelihood(P, X), hd.log_likelihood(Q, X)
    assert words.startswith(f"The data favour {'us' if one > other else 'uk'} by {abs(one - other):.4g} nats")
    assert f"(log-likelihoods {one:.6g} for us and {other:.6g} for uk)" in words


def test_cells_are_coloured_by_what_they_add_and_otherwise(browser: Browser, page_file: Path) -> None:
    parts = hd.joint_kl(P, Q, 60).parts
    assert parts is not None
    with opened(browser, page_file) as page:
        cell = page.locator('figure.heat:visible td[data-r="0"][data-c="2"]').first
        assert cell.get_attribute("class") == "q10"
        assert 0.5 * parts.rows[0] < float(cell.inner_text()) <= parts.rows[0]
        for word, kind, text in (("difference", "d1", "+0.01"), ("us", "q1", "0.01"), ("uk", "q0", "6e-14")):
            page.locator("fieldset.paint:visible").get_by_text(word, exact=True).click()
            assert (cell.get_attribute("class"), cell.inner_text()) == (kind, text)
        page.locator("fieldset.paint:visible").get_by_text("contribution").click()
        assert cell.get_attribute("class") == "q10"


def test_causes_in_sentences() -> None:
    parts = hd.joint_kl(P, Q, 3).parts
    assert parts is not None
    words = [cause.words for cause in causes(P, Q, parts, ("us", "uk"))]
    law = "of the joint divergence is the initial law, which one sequence cannot teach: the probability to start in"
    assert any(one.startswith(f"{law} boom") for one in words)
    assert any(one.startswith("What is seen in boom differs (std is 0.8 in us and 1 in uk)") for one in words)
    whole = hd.joint_kl(P, Q, 3).value
    assert sum(cause.adds for cause in causes(P, Q, parts, ("us", "uk"))) <= whole * (1 + 1e-12)


def test_impossible_cells_are_listed_and_marked(browser: Browser, tmp_path: Path) -> None:
    p = hd.Model([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], hd.Categorical([[0.5, 0.5], [0.1, 0.9]]), name="p")
    q = hd.Model([0.4, 0.6], [[1.0, 0.0], [0.5, 0.5]], hd.Categorical([[0.5, 0.5], [0.0, 1.0]]), name="q")
    path = tmp_path / "page.html"
    path.write_text(pair_page(p, q, 5).html, encoding="utf-8")
    with opened(browser, path) as page:
        listed = page.locator("ul.guilty li").all_inner_texts()
        assert listed == ["state 0 to state 1: 0.5 in p, 0 in q", "symbol 0 in state 1: 0.1 in p, 0 in q"]
        assert page.locator("td.guilty").all_inner_texts() == ["∞", "∞"]
        assert page.locator(".card .value").first.inner_text().endswith("nats")  # what is finite comes first
        assert "are finite add up to 0.02041 nats" in page.locator(".words").inner_text()


def test_many_impossible_cells_are_folded_and_on_paper(browser: Browser, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    dense = rng.dirichlet(np.ones(10), 10)
    sparse = np.where(dense < np.sort(dense, axis=1)[:, 2:3], 0.0, dense)
    sparse /= sparse.sum(axis=1, keepdims=True)
    shown = hd.Bernoulli(rng.uniform(0.1, 0.9, (10, 8)))
    path = tmp_path / "page.html"
    path.write_text(pair_page(hd.Model(dense[0], dense, shown), hd.Model(dense[0], sparse, shown), 5).html)
    with opened(browser, path, width=760) as page:
        every = page.locator("ul.guilty li")
        chances = [float(text.split(": ")[1].split(" in p")[0]) for text in every.all_text_contents()]
        assert chances == [float(f"{x:.3g}") for x in sorted(dense[sparse == 0], reverse=True)]
        assert page.locator("ul.guilty li:visible").count() == 10
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.locator("ul.guilty li:visible").count() == len(chances) == 20
        assert page.evaluate("document.documentElement.scrollWidth") <= 760


def test_of_twenty_states_ten_rows_are_open(browser: Browser, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    p, q = (
        hd.Model(rng.dirichlet(np.ones(20)), rng.dirichlet(np.ones(20), 20), hd.Poisson(1 + 9 * rng.random(20)))
        for _ in range(2)
    )  # fmt: skip
    path = tmp_path / "page.html"
    path.write_text(pair_page(p, q, 6).html, encoding="utf-8")
    with opened(browser, path) as page:
        rows = page.locator("table.parts:visible tbody tr:visible")
        assert rows.count() == 10
        page.get_by_role("button", name="Show all 41 rows").first.click()
        assert rows.count() == 41
        heat = page.locator("figure.heat:visible").first
        assert heat.locator("tbody tr:visible").count() == 10
        heat.get_by_role("button", name="Show all 20 rows").click()
        assert heat.locator("tbody tr:visible").count() == 20


def test_different_numbers_of_states_are_matched(browser: Browser, tmp_path: Path) -> None:
    three = hd.Model([1, 0, 0], np.full((3, 3), 1 / 3), hd.Gaussian([0.0, 0.2, 5.0], std=[1, 1, 1]), name="three")
    two = hd.Model([1, 0], np.full((2, 2), 0.5), hd.Gaussian([0.1, 5.0], std=[1, 1]), name="two")
    path = tmp_path / "page.html"
    path.write_text(pair_page(three, two, 5).html, encoding="utf-8")
    with opened(browser, path) as page:
        assert page.locator("svg.linked").get_attribute("aria-label") == (
            "state 0 with state 0, state 1 with state 0, state 2 with state 1"
        )
        assert [d.locator(".state").count() for d in page.locator(".diagram").all()] == [3, 2]


def test_further_results_have_sections() -> None:
    groups = {"a": [[0, 1, 0, 0]] * 5 + [[1, 0, 0, 2]] * 5, "b": [[3, 2, 5, 4]] * 5 + [[4, 4, 2, 6]] * 5}
    found = hd.differ(groups, n_states=1, emission="poisson", seed=1, n_init=1, permutations=99)
    made = pair_page(*found.models.values(), 4, results=[found])
    assert "Do the groups of data differ?</h2>" in made.html
    assert made.data["results"] == [found.to_dict()]
    with pytest.raises(hd.HidivError, match="sections for a Difference, a Reduction, .*, got Model"):
        pair_page(P, Q, 4, results=[P])


def test_every_answer_has_a_section() -> None:
    x, y = [0, 1, 0, 2, 1, 3, 1, 0], [3, 2, 5, 4, 4, 2, 6, 3]
    fits = [hd.fit(data, None, 1, "poisson", n_init=1, seed=0) for data in (x, y)]
    results = {
        "How many states?": hd.choose(x, None, [1, 2], "poisson", n_init=1, seed=0),
        "Are they the same process?": hd.equivalent(*fits),
        "Are some of the states one?": hd.minimal(fits[0]),
        "Which state is which?": hd.match(fits),
        "Do the fits agree?": hd.agreement(fits, seed=1),
        "How sure are the parameters?": hd.standard_errors(fits[0]),
        "How sure is the divergence of the fits?": hd.divergence_interval(*fits, method="delta", on=1, seed=1),
        "How did the fit go?": fits[0],
        "By another measure": hd.hellinger(*fits, 4),
    }  # fmt: skip
    made = pair_page(*fits, 4, results=list(results.values()))
    assert all(f"{title}</h2>" in made.html for title in results)
    assert "still gains at least" in made.html or "the observed divergence gained is below" in made.html
    assert "95% intervals, information by differences" in made.html
    assert len(made.data["results"]) == len(results)
