"""When drawing ends, what is kept, and that workers change nothing."""

from __future__ import annotations

import io
import re
import sys
from itertools import count, pairwise

import numpy as np
import pytest

import hidiv as hd
from hidiv.divergences.observed.budget import Budget
from hidiv.divergences.observed.certified.joint_bound import below_all_orders, joint_above
from hidiv.divergences.observed.sampled import stopping
from hidiv.divergences.observed.sampled.draws import Drawn, Draws, in_order
from hidiv.divergences.observed.sampled.standard_errors import SETTLED, kurtosis
from hidiv.divergences.observed.sampled.stopping import stopped_estimate
from hidiv.divergences.observed.sampled.tree_estimate import draws_on_tree
from hidiv.divergences.pair import Pair
from hidiv.errors import HidivError, IncompatibleModels
from hidiv.progress import Progress
from tests.divergences.observed.models import P, Q


def test_ends_at_the_wanted_error_or_the_number_of_draws():
    soon = hd.observed_kl(P, Q, 20, method="montecarlo", seed=0)
    assert soon.std_error <= 1e-3 * soon.value
    assert "the wanted standard error" in soon.notes[0]
    absolute = hd.observed_kl(P, Q, 20, method="montecarlo", seed=0, rtol=0, atol=1e-4)
    assert absolute.std_error <= 1e-4
    for most in (2, 5, 128, 300, 1000):
        capped = hd.observed_kl(P, Q, 20, method="montecarlo", seed=0, rtol=0, atol=0, max_samples=most)
        assert capped.n_samples == most
        assert "the number of draws" in capped.notes[0]


def test_notes_hold_the_uncontrolled_value_and_the_gain():
    found = hd.observed_kl(P, Q, 50, method="montecarlo", seed=3)
    bare = re.fullmatch(r"without control variates it is (\S+) \(standard error \S+\)", found.notes[1])
    assert float(bare[1]) == pytest.approx(found.value, rel=1e-2)
    said = r"the log-likelihood ratio alone is (\S+) \(standard error (\S+)\) on average, and would take (\S+) times"
    plain, plain_error, gain = (float(x.replace(",", "")) for x in re.match(said, found.notes[2]).groups())
    assert abs(plain - found.value) < 4 * plain_error
    assert gain == pytest.approx((plain_error / found.std_error) ** 2, rel=0.1)  # the notes are rounded
    assert gain > 1e5


def test_ends_with_the_time(monkeypatch):
    clock = count(0, 0.25)
    monkeypatch.setattr(stopping, "monotonic", lambda: next(clock))
    found = hd.observed_kl(P, Q, 20, method="montecarlo", seed=0, rtol=0, atol=0, max_seconds=1)
    assert "the time" in found.notes[0]
    assert found.n_samples < 100_000


def test_an_error_out_of_reach_is_announced_with_what_is_expected(monkeypatch):
    """Before the long part, and near what is reached; an error within reach is not."""
    rng = np.random.default_rng(7)
    p, q = (
        hd.Model(
            rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 3),
            hd.Gaussian(rng.normal(size=(3, 5)), std=rng.uniform(0.5, 1.5, (3, 5))),
        )
        for _ in range(2)
    )  # fmt: skip
    shown: list[tuple[float, str]] = []
    monkeypatch.setattr(Progress, "show", lambda self, done, words="", total=1.0: shown.append((done, words)))
    found = hd.observed_kl(p, q, 50, method="montecarlo", seed=0, rtol=1e-6, max_samples=4000)
    said = (
        r"the wanted standard error takes about (\S+) draws; the limit was expected to leave 4e\+03, and to reach (\S+)"
    )
    ((needed, expected),) = (re.fullmatch(said, note).groups() for note in found.notes if re.match(said, note))
    assert float(expected) == pytest.approx(found.std_error, rel=0.5)
    assert float(needed) > 4000
    announced = [i for i, (_, words) in enumerate(shown) if "above the one asked for" in words]
    assert shown[announced[0]][0] == 0.0
    assert announced[0] < len(shown) - 1
    reached = hd.observed_kl(p, q, 50, method="montecarlo", seed=0, rtol=0.02, max_samples=4000)
    assert not any(re.match(said, note) for note in reached.notes)


@pytest.mark.parametrize("before", [0, 1, 3])
def test_an_interrupt_keeps_what_was_drawn(before):
    draws = draws_on_tree(Pair.of(P, Q, 20))
    calls = count()

    def interrupted(size, rng, lean):
        if next(calls) >= before:
            raise KeyboardInterrupt
        return draws.draw(size, rng, lean)

    stopped = Draws(interrupted, draws.subject, draws.base, draws.at_once)
    if before == 0:
        with pytest.raises(KeyboardInterrupt):
            stopped_estimate(stopped, Budget(0, 0, seed=1), workers=1)
        return
    found = stopped_estimate(stopped, Budget(0, 0, seed=1), workers=1)
    assert "an interrupt" in found.notes[0]
    assert found.n_samples == {1: 128, 3: 1152}[before]
    assert abs(found.value - 9.4) < 0.1


@pytest.mark.parametrize("tree", [hd.Tree.chain(30), hd.Tree.regular(2, 4)], ids=["chain", "tree"])
def test_workers_change_nothing(tree):
    draws = draws_on_tree(Pair.of(P, Q, tree))
    results = [stopped_estimate(draws, Budget(0, 0, seed=11, max_samples=1700), workers=n).to_dict() for n in (1, 2, 5)]
    assert results[0] == results[1] == results[2]
    other = stopped_estimate(draws, Budget(0, 0, seed=12, max_samples=1700), workers=1)
    assert other.value != results[0]["value"]
    one, two = (stopped_estimate(draws, Budget(0, 0, seed=np.random.default_rng(5), max_samples=200)) for _ in range(2))
    assert one.value == two.value


def test_portions_come_in_order():
    assert list(in_order(lambda n: n * n, range(50), 4)) == [n * n for n in range(50)]
    endless = in_order(lambda n: n, count(), 3)
    assert [next(endless) for _ in range(10)] == list(range(10))
    endless.close()


def test_infinite_ones_are_found_without_a_draw(monkeypatch):
    q = hd.Model([1.0, 0.0], [[0.5, 0.5], [0.5, 0.5]], hd.Categorical([[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]]))
    p = hd.Model([1.0, 0.0], [[1 - 1e-12, 1e-12], [0.5, 0.5]], hd.Categorical([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]))
    assert hd.observed_kl(p, q, 3, method="montecarlo").value < np.inf
    q = hd.Model([1.0, 0.0], [[1.0, 0.0], [0.5, 0.5]], hd.Categorical([[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]]))
    for tree in (5, hd.Tree([-1, 0, 0]), hd.Tree.regular(2, 3), hd.Tree([-1, 0, 1, 1])):
        found = hd.observed_kl(p, q, tree, method="montecarlo")
        assert found.value == np.inf
        assert found.status == "exact"
        assert found.n_samples is None
    assert "0 1" in hd.observed_kl(p, q, 5, method="montecarlo").infinite[0]
    assert hd.observed_kl(p, q, 1, method="montecarlo", max_samples=2000).value < np.inf
    assert hd.observed_kl_rate(p, q, method="montecarlo").value == np.inf
    one, two = (hd.Model([1.0], [[1.0]], hd.Binomial([n], [0.5])) for n in (6, 5))
    assert hd.observed_kl(one, two, 3, method="montecarlo").value == np.inf
    assert hd.observed_kl(two, one, 3, method="montecarlo", seed=0).value < np.inf


def test_bad_wishes_are_refused():
    with pytest.raises(HidivError, match="max_samples"):
        hd.observed_kl(P, Q, 5, method="montecarlo", max_samples=1)
    with pytest.raises(HidivError, match="max_samples"):
        hd.observed_kl_rate(P, Q, method="montecarlo", max_samples=1)
    four = hd.Model([0.5, 0.5], P.transition, hd.Categorical([[0.1, 0.2, 0.3, 0.4]] * 2))
    with pytest.raises(IncompatibleModels, match="3 symbols and q has 4"):
        hd.observed_kl(P, four, 5, method="montecarlo")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_shown_on_a_terminal_only_and_not_at_once(monkeypatch):
    for stream, patience, shown in ((Terminal(), 0.0, True), (io.StringIO(), 0.0, False), (Terminal(), 60.0, False)):
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr("hidiv.progress.PATIENCE", patience)
        with Progress("drawing") as progress:
            progress.show(0.5, "1000 drawn")
            progress.show(2.0, "done")
        assert ("drawing [############------------] 1000 drawn" in stream.getvalue()) == shown
        assert stream.getvalue().endswith("\r") == shown


def test_a_limit_of_draws_does_not_hide_what_controls_gain():
    """The paper's trees: neither way reaches the tolerance within the draws, and controls still win."""
    transition = [None, [[0.9, 0.1], [0.2, 0.8]], [[0.9, 0.1], [0.2, 0.8]]]
    p, q = (
        hd.Model([0.5, 0.5], transition, [hd.Gaussian([0.0, shift], std=[1.0, 1.5 + g]) for g in range(3)])
        for shift in (1.0, 1.4)
    )
    result = hd.observed_kl(p, q, hd.Tree.regular(2, 3), method="montecarlo", seed=0, max_samples=4000, rtol=1e-5)
    assert result.n_samples == 4000
    assert re.search(r"corrected by \d+ control variates", result.notes[0])


@pytest.mark.parametrize("states", [2, 4, 9])
@pytest.mark.parametrize("tree", [hd.Tree.chain(30), hd.Tree.regular(3, 3)], ids=["chain", "tree"])
def test_no_order_of_states_is_below_the_bound_of_all(tree, states):
    """Which spares an estimate below it the search for the best order."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        p, q = (
            hd.Model(
                rng.dirichlet(np.ones(states)), rng.dirichlet(np.ones(states), states),
                hd.Gaussian(rng.normal(size=states), std=np.ones(states)),
            )
            for _ in range(2)
        )  # fmt: skip
        pair = Pair.of(p, q, tree)
        assert 0 < below_all_orders(pair) <= joint_above(pair)
        if states < 9:
            assert below_all_orders(pair) == pytest.approx(joint_above(pair), rel=1e-7)


@pytest.mark.parametrize("states", [2, 3, 5])
def test_the_quick_bound_is_below_that_of_all_orders_and_of_use(states):
    """An estimate below it asks for no order at all; relabelled models, whose best order costs nothing, are not."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        p, q = (
            hd.Model(
                rng.dirichlet(np.ones(states)), rng.dirichlet(np.ones(states), states),
                hd.Poisson(rng.uniform(1.0, 9.0, states)),
            )
            for _ in range(2)
        )  # fmt: skip
        for other in (q, p.relabel(np.roll(np.arange(states), 1))):
            pair = Pair.of(p, other, 30)
            assert 0 <= draws_on_tree(pair).below_joint() <= joint_above(pair) + 1e-9
    assert draws_on_tree(Pair.of(P, Q, 100)).below_joint() > hd.observed_kl(P, Q, 100, rtol=1e-3, seed=1).upper


def test_an_error_that_a_few_draws_decide_ends_nothing_by_luck():
    """Those runs would stop first whose draws happen to lack the far ones."""
    drawn = []

    def draw(size, rng, lean):
        drawn.append(1.0 + 0.05 * rng.standard_t(2.5, size))
        return Drawn(drawn[-1], drawn[-1], np.zeros((size, 0)), np.zeros((size, 0)))

    few = 0
    for seed in range(20):
        drawn.clear()
        found = stopped_estimate(Draws(draw, "", "", 512), Budget(0.01, 0.0, seed=seed), workers=1)
        if found.n_samples < SETTLED * kurtosis(np.concatenate(drawn)):
            few += 1
            assert 1.3 * found.std_error <= 0.01 * found.value
    assert few


def test_one_far_draw_does_not_make_the_next_look_late(monkeypatch):
    """Its square says little about how many draws are needed."""
    drawn, looks = 0, []
    look = stopping._Drawing.look

    def looked(self, progress):
        looks.append(self.drawn)
        return look(self, progress)

    def draw(size, rng, lean):
        nonlocal drawn
        values = rng.normal(100.0, 4.0, size)
        values[np.arange(drawn, drawn + size) == 700] += 400.0
        drawn += size
        return Drawn(values, values, np.zeros((size, 0)), np.zeros((size, 0)))

    monkeypatch.setattr(stopping._Drawing, "look", looked)
    found = stopped_estimate(Draws(draw, "", "", 128), Budget(1e-3, 0.0, seed=1), workers=1)
    assert found.std_error <= 1e-3 * found.value
    assert all(later <= 2 * one for one, later in pairwise(looks) if one > 700)
