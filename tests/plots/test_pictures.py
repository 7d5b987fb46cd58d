"""Every picture as a reader gets it: whole, labelled, and as clear in grey and to the colour-blind."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import hidiv as hd
from hidiv.plots.parts_plot import LOOKS
from hidiv.plots.style import QUANTITY
from tests.plots.examples import MATRIX, TREE, X, gallery, pair
from tests.plots.pixels import at, cut_off, grey, rendered, words

PICTURES = [
    "parts",
    "parts by group",
    "many parts",
    "transitions",
    "symbols",
    "Gaussians",
    "many states",
    "chain",
    "long chain",
    "very long chain",
    "small tree",
    "tree",
    "large tree",
    "lengths",
    "convergence",
    "influence",
    "matrix",
    "dendrogram",
    "equivalence",
    "minimal",
    "reduction",
    "agreement",
    "matching",
    "standard errors",
    "emission errors",
    "score",
    "interval",
    "bootstrap",
    "choice",
]
WITHOUT_UNIT = ("equivalence", "minimal", "matching", "standard errors", "emission errors", "score")  # fmt: skip


def test_every_kind_is_here() -> None:
    assert list(gallery()) == PICTURES


@pytest.mark.parametrize("name", PICTURES)
def test_nothing_is_cut_off(name: str) -> None:
    assert cut_off(gallery()[name]) == []


@pytest.mark.parametrize("name", [name for name in PICTURES if name not in WITHOUT_UNIT])
def test_says_its_unit_and_its_standing(name: str) -> None:
    said = " ".join(text for text, _ in words(gallery()[name]))
    assert "nats" in said
    assert any(word in said for word in ("exact", "certified", "estimate"))


@pytest.mark.parametrize("name", PICTURES)
def test_labels_of_an_axis_do_not_overlap(name: str) -> None:
    ax = gallery()[name]
    rendered(ax)
    for labels in (ax.get_xticklabels(), ax.get_yticklabels()):
        # A line of slanted labels overlaps as boxes and not as words.
        boxes = [t.get_window_extent() for t in labels if t.get_text() and t.get_rotation() in (0, 90)]
        assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))


def test_bars_are_as_long_as_their_parts() -> None:
    ax = gallery()["parts"]
    parts = hd.joint_kl(*pair("chain"), 10).parts
    assert parts is not None
    image = rendered(ax)
    for row, value in enumerate([parts.initial, *parts.rows, *parts.states]):
        if value > 0:  # in a hatched bar: not the very pixel
            inside = image[_row(ax, image, row)][:, 0]
            ends = np.flatnonzero(inside < 0.97)
            start, end = (ax.transData.transform((x, row))[0] for x in (0.0, value))
            within = ends[(ends > start) & (ends < end + 2)]
            assert within.max() == pytest.approx(end, abs=3)


def _row(ax: object, image: np.ndarray, y: float) -> int:  # type: ignore[type-arg]
    return image.shape[0] - 1 - round(ax.transData.transform((0.0, y + 0.3))[1])  # type: ignore[attr-defined]


def test_the_looks_of_parts_differ_in_grey() -> None:
    shades = [float(grey(np.array(to_rgb(fill)))) for fill, _ in LOOKS.values()]
    assert min(abs(a - b) for a, b in combinations(shades, 2)) > 0.08
    assert len({hatch for _, hatch in LOOKS.values()}) == 2


# What the two commonest colour-blindnesses see (Viénot, Brettel and Mollon 1999), on linear sRGB.
SEEN = {
    "protanope": [[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]],
    "deuteranope": [[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]],
}


@pytest.mark.parametrize("who", SEEN)
def test_quantities_differ_to_the_colour_blind(who: str) -> None:
    colours = np.array([to_rgb(colour) for colour, _ in QUANTITY.values()])
    seen = (colours**2.2) @ np.array(SEEN[who]).T
    distances = [float(np.abs(a - b).max()) for a, b in combinations(seen, 2)]
    assert min(distances) > 0.08
    assert len({marker for _, marker in QUANTITY.values()}) == len(QUANTITY)


def test_a_larger_divergence_is_darker() -> None:
    ax = gallery()["matrix"]
    image = rendered(ax)
    cells = [(MATRIX[r, c], float(grey(at(ax, image, c + 0.4, r + 0.4)))) for r, c in np.ndindex(MATRIX.shape)]
    for (small, light), (large, dark) in combinations(sorted(cells), 2):
        assert light > dark or large == small


def test_the_sign_of_a_difference_survives_in_grey() -> None:
    p, q = pair("chain")
    written = {t.get_text() for t in gallery()["transitions"].texts}
    assert {"+0.2", "-0.2", "0.9 | 0.7"} <= written
    ax = gallery()["many states"]
    marks = {(round(y - 0.5), round(x - 0.5)) for x, y in ax.collections[1].get_offsets()}
    image = rendered(ax)
    r, c = next(iter(marks))
    dash = grey(at(ax, image, c + 0.5, r + 0.5))
    assert abs(dash - grey(at(ax, image, c + 0.5, r + 0.2))) > 0.1
    assert p.n_states == q.n_states


def test_a_tree_node_with_more_is_larger_and_darker() -> None:
    result = hd.joint_kl(*pair("tree"), TREE)
    dots = gallery()["small tree"].collections[1]
    order = np.argsort(result.by_node)
    assert (np.diff(dots.get_sizes()[order]) >= 0).all()
    image, ax = rendered(gallery()["small tree"]), gallery()["small tree"]
    shades = [float(grey(at(ax, image, *dots.get_offsets()[u]))) for u in order]
    assert shades[0] > shades[-1] + 0.3


def test_axes_are_those_given() -> None:
    figure = Figure(figsize=(14, 10), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(3, 3).ravel()
    p, q = pair("chain")
    joint = hd.joint_kl(p, q, 10)
    returned = [
        hd.plots.parts(joint, ax=grid[0]),
        hd.plots.differences(p, q, joint, ax=grid[1]),
        hd.plots.profile(joint, ax=grid[2]),
        hd.plots.profile(hd.joint_kl(p, q, TREE), TREE, ax=grid[3]),
        hd.plots.over_length([10], [joint], ax=grid[4]),
        hd.plots.convergence([hd.montecarlo(p, q, 10, seed=0)], joint, ax=grid[5]),
        hd.plots.influence(hd.influence(p, X), ax=grid[6]),
        hd.plots.pairwise(MATRIX, ax=grid[7]),
        hd.plots.differences(p, q, joint, part="emission", ax=grid[8]),
    ]
    assert all(a is b for a, b in zip(returned, grid, strict=True))
    assert cut_off(grid[0]) == []


def test_no_global_state() -> None:
    code = (
        "import hidiv as hd, sys; ax = hd.plots.pairwise([[0.0, 1.0], [1.0, 0.0]]); "
        "print(ax.get_xlabel(), 'matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["q", "False"]
