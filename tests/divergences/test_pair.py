"""A pair of models: checked once, and what several quantities need computed once."""

from __future__ import annotations

import sys
from collections import Counter
from types import FrameType

import numpy as np
import pytest

import hidiv as hd
from hidiv.divergences import compare as comparing
from hidiv.divergences.alignment.align import alignment
from hidiv.divergences.infinite import SMOOTHED, infinite
from hidiv.divergences.joint.kl import joint
from hidiv.divergences.joint.local_terms import local_terms
from hidiv.divergences.joint.visits import visits_of
from hidiv.divergences.pair import Pair
from hidiv.errors import IncompatibleModels, InvalidTree

P = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]))
Q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))
COUNTED = ("alignment", "align", "local_terms", "visits_of", "emission_table", "as_models", "check_observations")


def calls(work) -> Counter[str]:
    """How often functions of hidiv were called, by their names."""
    counts: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and "hidiv" in frame.f_code.co_filename:
            counts[frame.f_code.co_name] += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return counts


@pytest.mark.parametrize("q", [Q, Q.relabel([1, 0])], ids=["as labelled", "relabelled"])
def test_the_exact_half_of_compare_computes_everything_once(q, monkeypatch):
    """One tree: one alignment, one table of emissions; local terms and visits once for each order that is weighed."""
    observed = hd.Divergence(0.1, "observed")
    monkeypatch.setattr(comparing, "kl_of_pair", lambda *_, **__: observed)
    monkeypatch.setattr(comparing, "rate_of_pair", lambda *_, **__: observed)
    counts = calls(lambda: hd.compare(P, q, 100))
    orders = 1 if q is Q else 2
    assert counts["alignment"] == counts["emission_table"] == 1
    assert counts["local_terms"] == orders
    assert counts["visits_of"] == orders + 1  # the endless chain has visits of its own
    assert counts["align"] == 0


def test_compare_aligns_once_per_tree():
    """The chain of 100 nodes is aligned once, the endless chain not at all: its certificate needs no alignment."""
    counts = calls(lambda: hd.compare(P, Q, 100))
    assert counts["alignment"] + counts["align"] == 1
    assert counts["local_terms"] == 1
    assert counts["emission_table"] == 1


def test_work_is_kept_by_pair_and_by_models():
    pair = Pair.of(P, Q, 10)
    assert pair.once(visits_of) is pair.once(visits_of)
    other = pair.on(hd.Tree.chain(20))
    assert other is pair.on(hd.Tree.chain(20))
    assert other.once(local_terms) is pair.once(local_terms)
    assert other.once(visits_of) is not pair.once(visits_of)
    assert pair.on(None).once(local_terms) is pair.once(local_terms)
    assert pair.on(pair.tree) is pair


def test_relabelled_pairs_are_kept_too():
    pair = Pair.of(P, Q, 10)
    assert pair.relabelled([0, 1]) is pair
    turned = pair.relabelled([1, 0])
    assert turned is pair.relabelled(np.array([1, 0]))
    assert turned.once(joint).value == hd.joint_kl(P, Q.relabel([1, 0]), 10).value
    assert turned.on(None) is pair.on(None).relabelled([1, 0])


def test_an_endless_chain_is_aligned_on_a_long_one():
    pair = Pair.of(P, Q.relabel([1, 0]), None)
    found = pair.once(alignment)
    assert found.permutation == hd.align(P, Q.relabel([1, 0]), 1000).permutation == (1, 0)
    assert found.value == hd.joint_kl_rate(P, Q).value
    assert found.gain == pytest.approx(hd.joint_kl_rate(P, Q.relabel([1, 0])).value - found.value, rel=1e-14)


@pytest.mark.parametrize(
    "function", [hd.joint_kl, hd.align, hd.do_bound, hd.inward, hd.montecarlo], ids=lambda f: f.__name__
)
def test_only_rates_do_without_a_tree(function):
    with pytest.raises(InvalidTree):
        function(P, Q, None)


def test_a_rate_needs_one_group():
    grouped = hd.Model(P.initial, [P.transition] * 2, P.emission)
    with pytest.raises(IncompatibleModels, match="one group"):
        hd.joint_kl_rate(P, grouped)


@pytest.mark.parametrize("tree", [hd.UNTIL_END, None])
def test_what_needs_a_known_size(tree):
    pair = Pair(P, Q, tree)
    with pytest.raises(IncompatibleModels, match="this needs a tree of known size"):
        pair.known_tree("this needs")


def test_infinity_is_built_in_one_place():
    """Every quantity names its reason and the remedy in the same words."""
    narrow = hd.Model([0.5, 0.5], Q.transition, hd.Categorical([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]))
    results = [
        hd.joint_kl(P, narrow, 5), hd.joint_kl(P, narrow, 5, per_node=True), hd.joint_kl_rate(P, narrow),
        hd.do_bound(P, narrow, 5), hd.joint_renyi(P, narrow, 5, 2.0), hd.observed_kl(P, narrow, 5),
        hd.montecarlo(P, narrow, 5, samples=50, seed=0), hd.joint_kl(P, narrow, [5, 6]),
    ]  # fmt: skip
    for result in results:
        assert result.value == np.inf
        assert result.infinite
        assert list(result.notes).count(SMOOTHED) == 1
    built = infinite(Pair.of(P, narrow, 5), "joint", ["because"], notes=["note"])
    assert (built.lower, built.upper, built.notes) == (np.inf, np.inf, ("note", SMOOTHED))
    assert built.subject == "D(p || q) on a chain of 5 nodes"
    assert infinite(Pair.of(P, narrow, 5), "observed", ["because"], "approximation").lower is None
