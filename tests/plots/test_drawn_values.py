"""What is drawn is what was computed."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from matplotlib.axes import Axes

import hidiv as hd
from hidiv.errors import HidivError
from hidiv.plots.tree_drawing import places
from tests.plots.examples import LINKAGE, MATRIX, TREE, X, drawn, gallery, pair


def legend(ax: Axes) -> list[str]:
    box = ax.get_legend()
    assert box is not None
    return [text.get_text() for text in box.get_texts()]


def test_many_parts_are_summed_up_and_none_is_lost() -> None:
    ax = gallery()["many parts"]
    result = hd.joint_kl(drawn(15, 1), drawn(15, 2), 50)
    assert sum(bar.get_width() for bar in ax.patches) == pytest.approx(result.value, rel=1e-12)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert "other transition rows" in labels[-2]
    assert "other emission states" in labels[-1]


def test_an_infinite_part_says_so() -> None:
    p = hd.Model([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], hd.Silent(2))
    q = hd.Model([0.5, 0.5], [[1.0, 0.0], [0.5, 0.5]], hd.Silent(2))
    ax = hd.plots.parts(hd.joint_kl(p, q, 5))
    assert [t.get_text() for t in ax.texts].count("infinite") == 1
    assert all(np.isfinite(bar.get_width()) for bar in ax.patches)


def test_contributions_stand_beside_their_rows() -> None:
    p, q = pair("chain")
    parts = hd.joint_kl(p, q, 10).parts
    assert parts is not None
    for name, values in (("transitions", parts.rows), ("symbols", parts.states)):
        beside = gallery()[name].child_axes[0]
        assert [bar.get_width() for bar in beside.patches] == pytest.approx(values.tolist(), rel=1e-15)


def test_profile_of_a_chain() -> None:
    result = hd.joint_kl(*pair("chain"), 10)
    heights = [bar.get_height() for bar in gallery()["chain"].patches]
    assert result.by_node is not None
    assert heights == result.by_node.tolist()
    assert sum(heights) == pytest.approx(result.value, rel=1e-12)


def test_profile_of_a_large_tree_is_by_level() -> None:
    tree = hd.Tree.regular(3, 7)
    result = hd.joint_kl(*pair("chain"), tree)
    bars = [bar.get_height() for bar in gallery()["large tree"].patches]
    assert len(bars) == 7
    assert sum(bars) == pytest.approx(result.value, rel=1e-12)


def test_places_of_a_tree() -> None:
    tree = hd.Tree([-1, 0, 0, 1, 1, 2, 5])
    x, y = places(tree)
    assert y.tolist() == [0, -1, -1, -2, -2, -2, -3]
    assert x.tolist() == [1.25, 0.5, 2.0, 0.0, 1.0, 2.0, 2.0]
    deep = hd.Tree.regular(1, 3000)  # no recursion
    assert places(deep)[0].max() == 0


def test_names_are_those_of_the_tree() -> None:
    tree = hd.Tree.from_newick("((A,B)C,D)R;")
    ax = hd.plots.profile(hd.joint_kl(*pair("chain"), tree), tree)
    assert [t.get_text().split("\n")[0] for t in ax.texts] == ["R", "C", "D", "A", "B"]


def test_lengths_are_divided_and_estimates_hollow() -> None:
    ax = gallery()["lengths"]
    p, q = pair("chain")
    exact = ax.lines[0].get_ydata()
    assert np.asarray(exact).tolist() == pytest.approx([hd.joint_kl(p, q, n).value / n for n in (5, 20, 60)], rel=1e-12)
    assert "joint, exact" in legend(ax)
    assert "joint by Monte Carlo, estimate, 95 % interval" in legend(ax)
    assert "rate 0.5681 (joint, exact)" in legend(ax)
    estimates = ax.containers[0].lines
    assert estimates[0].get_markerfacecolor() == "white"
    estimate = hd.montecarlo(p, q, 5, samples=200, seed=5)
    first = estimates[2][0].get_segments()[0]
    assert first[:, 1].tolist() == pytest.approx([estimate.lower / 5, estimate.upper / 5], rel=1e-12)
    whole = hd.plots.over_length([5], [hd.joint_kl(p, q, 5)], per_step=False)
    assert whole.lines[0].get_ydata()[0] == hd.joint_kl(p, q, 5).value
    assert whole.get_ylabel() == "D (nats)"


def test_bits_are_called_bits() -> None:
    p, q = pair("chain")
    bits = hd.joint_kl(p, q, 5).to("bits")
    assert hd.plots.profile(bits).get_ylabel() == "share of the node (bits)"
    assert hd.plots.parts(bits).get_xlabel() == "contribution to D in bits"
    assert hd.plots.over_length([5], [bits]).get_ylabel() == "D / N (bits per step)"


def test_convergence_has_the_truth_and_its_interval() -> None:
    p, q = pair("chain")
    certified = hd.observed_kl(p, q, 30)
    assert certified.status == "certified"
    ax = hd.plots.convergence([hd.montecarlo(p, q, 30, quantity="observed", samples=50, seed=1)], certified)
    assert f"observed, certified: {certified.value:.4g}" in legend(ax)
    assert ax.get_xscale() == "log"
    band = ax.patches[0].get_extents().transformed(ax.transData.inverted())
    assert (band.y0, band.y1) == pytest.approx((certified.lower, certified.upper), abs=1e-9)


def test_matrix_follows_the_dendrogram() -> None:
    ax = gallery()["dendrogram"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["c", "d", "a", "b"]
    order = [2, 3, 0, 1]
    assert np.asarray(ax.images[0].get_array()).tolist() == MATRIX[np.ix_(order, order)].tolist()
    heights = sorted(max(line.get_ydata()) for line in ax.child_axes[0].lines)
    assert heights == LINKAGE[:, 2].tolist()


def test_infinite_pairs_are_crossed_out() -> None:
    ax = hd.plots.pairwise([[0.0, inf], [1.0, 0.0]])
    assert len(ax.lines) == 2
    assert "∞" in [t.get_text() for t in ax.texts]


def test_influence_is_drawn_as_it_is() -> None:
    values = hd.influence(pair("chain")[0], X)
    ax = gallery()["influence"]
    assert np.asarray(ax.lines[0].get_ydata()).tolist() == values.tolist()
    strongest = np.argsort(-values, kind="stable")[:5]
    assert [t.get_text() for t in ax.texts] == [str(u) for u in strongest]


def test_names_are_not_mathematics() -> None:
    p, q = (hd.Model([1.0], [[1.0]], hd.Poisson([rate]), name=f"$x_{rate}^{{$") for rate in (1, 2))
    ax = hd.plots.parts(hd.joint_kl(p, q, 5))
    ax.figure.canvas.draw()
    assert r"\$x\_1".replace(r"\_", "_") in ax.get_title(loc="left")


@pytest.mark.parametrize(
    ("draw", "reason"),
    [
        (lambda: hd.plots.parts(hd.observed_kl(*pair("chain"), 3)), "has no parts"),
        (lambda: hd.plots.profile(hd.observed_kl(*pair("chain"), 3)), "has no profile by node"),
        (lambda: hd.plots.profile(hd.joint_kl(*pair("chain"), 3), TREE), "has 7 nodes and the profile 3"),
        (lambda: hd.plots.differences(*pair("chain"), part="initial"), 'must be "transition" or "emission"'),
        (lambda: hd.plots.differences(*pair("chain"), group=1), "must be one of 0..0, got 1"),
        (lambda: hd.plots.differences(pair("chain")[0], drawn(3, 1)), "has 3 states and p has 2"),
        (lambda: hd.plots.differences(pair("chain")[0], pair("tree")[0], part="emission"), "cannot be subtracted"),
        (lambda: hd.plots.over_length([1, 2], [hd.joint_kl(*pair("chain"), 3)]), "one result a length, 2 of them"),
        (lambda: hd.plots.over_length([], []), "needs at least one divergence"),
        (lambda: hd.plots.convergence([hd.joint_kl(*pair("chain"), 3)]), "needs Monte Carlo estimates"),
        (lambda: hd.plots.influence([0.1, np.nan]), "finite influences"),
        (lambda: hd.plots.pairwise([1.0, 2.0]), "must be a matrix"),
        (lambda: hd.plots.pairwise(MATRIX, names=["a"]), "one name for each of 4 models"),
        (lambda: hd.plots.pairwise(MATRIX, linkage=LINKAGE[:2]), "must be (3, 4)"),
    ],
)  # fmt: skip
def test_refused(draw: object, reason: str) -> None:
    with pytest.raises(HidivError) as caught:
        draw()  # type: ignore[operator]
    assert reason in str(caught.value)


def test_a_matrix_is_titled_by_what_it_holds():
    coins = [hd.Model([1.0], [[1.0]], hd.Bernoulli([prob]), name=f"coin {prob}") for prob in (0.25, 0.5)]
    drawn = hd.pairwise_kl(coins, 10, quantity="observed", samples=9)
    ax = hd.plots.pairwise(drawn)
    assert ax.get_title(loc="left") == "observed divergence D(row || column) in nats (estimate)"
    assert [label.get_text() for label in ax.get_yticklabels()] == ["coin 0.25", "coin 0.5"]
    both = hd.plots.pairwise(hd.pairwise_kl(coins, 10, symmetric=True))
    assert both.get_title(loc="left") == "joint divergence D(p || q) + D(q || p) in nats (exact)"
    assert hd.plots.pairwise([[0.0]]).get_title(loc="left") == "divergence D(row || column) in nats"
