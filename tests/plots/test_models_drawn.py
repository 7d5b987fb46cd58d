"""State diagrams and laws of observations: what is drawn is what the models hold."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.patches import Ellipse, PathPatch

import hidiv as hd
from hidiv.errors import HidivError
from hidiv.plots.diagram_layout import RADIUS, arrows, circle
from hidiv.plots.state_diagram_plot import LESS, MORE, WIDEST
from tests.plots.pixels import cut_off

NAMES = ["boom", "flat", "bear"]
ROWS = np.array([[0.93, 0.06, 0.01], [0.08, 0.90, 0.02], [0.05, 0.35, 0.60]])
P = hd.Model([1, 0, 0], ROWS, hd.Gaussian([1.2, 0.1, -2.0], std=[0.8, 1.1, 2.5]), name="us", state_names=NAMES)
Q = hd.Model(
    [0.4, 0.3, 0.3], [[0.85, 0.15, 0.0], [0.12, 0.82, 0.06], [0.1, 0.2, 0.7]],
    hd.Gaussian([1.0, 0.2, -1.0], std=[1.0, 1.1, 2.0]), name="uk", state_names=NAMES,
)  # fmt: skip
PLANE = [
    hd.Model(
        [0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]],
        hd.Gaussian([[0.0, 5.0, shift], [4.0, 5.0, 1.0]], cov=[np.diag([1.0, 1.0, 4.0]), np.diag([1.0, 2.0, 9.0])]),
        column_names=["height", "width", "depth"],
    )
    for shift in (0.0, 2.0)
]  # fmt: skip


def test_arrows_are_as_wide_as_their_probability() -> None:
    ax = hd.plots.state_diagram(P, Q)
    drawn = {patch.get_gid(): patch for patch in ax.patches if isinstance(patch, PathPatch)}
    assert set(drawn) == {f"{i}-{j}" for i in range(3) for j in range(3)}
    for name, patch in drawn.items():
        i, j = (int(part) for part in name.split("-"))
        assert patch.get_linewidth() == max(0.6, WIDEST * ROWS[i, j])
    colours = {name: patch.get_edgecolor() for name, patch in drawn.items()}
    from matplotlib.colors import to_rgba

    assert [name for name, colour in colours.items() if colour == to_rgba(MORE)] == ["0-0", "1-1", "2-1"]
    assert sorted(name for name, colour in colours.items() if colour == to_rgba(LESS)) == ["0-1", "2-0", "2-2"]
    words = [text.get_text() for text in ax.texts]
    assert {*NAMES, "0.93", "0.35"} <= set(words)
    assert cut_off(ax) == []


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_arrows_begin_and_end_at_the_rims(n: int) -> None:
    middles = np.array(circle(n))
    for arrow in arrows(np.full((n, n), 1 / n)):
        ends = np.array(arrow.points[0]), np.array(arrow.points[-1])
        sizes = [np.hypot(*(end - middles[s])) for end, s in zip(ends, (arrow.source, arrow.target), strict=True)]
        assert sizes[0] == pytest.approx(sizes[1])
        assert sizes[0] <= RADIUS * (1 + 1e-9)
    assert len(arrows(np.eye(n))) == n


def test_densities_are_those_of_the_states() -> None:
    ax = hd.plots.emissions(P, Q, state=2)
    x, y = ax.lines[0].get_data()
    assert y == pytest.approx(np.exp(-((x + 1.0) ** 2) / 8) / np.sqrt(8 * np.pi))
    assert ax.get_title() == "bear"
    assert cut_off(ax) == []


def test_bars_are_probabilities() -> None:
    p, q = (
        hd.Model([1.0], [[1.0]], hd.Categorical([row]), symbol_names=["a", "b"]) for row in ([0.3, 0.7], [0.6, 0.4])
    )
    ax = hd.plots.emissions(p, q)
    assert [bar.get_height() for bar in ax.patches] == pytest.approx([0.3, 0.7, 0.6, 0.4])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b"]


def test_ellipses_of_the_columns_that_differ_most() -> None:
    ax = hd.plots.emissions(*PLANE)
    assert {ax.get_xlabel(), ax.get_ylabel()} >= {"depth"}
    rings = [patch for patch in ax.patches if isinstance(patch, Ellipse)]
    assert len(rings) == 4
    for ring, deviation in zip(rings, (2.0, 3.0, 2.0, 3.0), strict=True):
        assert max(ring.get_width(), ring.get_height()) == pytest.approx(4 * deviation)
    assert rings[2].get_center()[1] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("draw", "reason"),
    [
        (lambda: hd.plots.state_diagram(P, PLANE[0]), "as many states as the model, got 3 and 2"),
        (lambda: hd.plots.state_diagram(P, group=1), "must be a group with a transition matrix"),
        (lambda: hd.plots.emissions(P, Q, state=3), "must be a state, 0 to 2, got 3"),
        (lambda: hd.plots.emissions(P, PLANE[0]), "must have the states and the columns of p"),
        (lambda: hd.plots.emissions(*[hd.Model([1], [[1]], hd.Silent(1))] * 2), "shows nothing"),
    ],
)
def test_refused(draw: object, reason: str) -> None:
    with pytest.raises(HidivError) as caught:
        draw()  # type: ignore[operator]
    assert reason in str(caught.value)
