"""Pictures of computed and measured numbers: those of the pages, drawn when they are built, and those of the README.

`python docs/draw.py` draws the README's again, for light and for dark pages.
"""

from __future__ import annotations

import re
from colorsys import hls_to_rgb, rgb_to_hls
from pathlib import Path
from typing import NamedTuple

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import hidiv as hd

HERE = Path(__file__).parent
HALF = [0.5, 0.5]
PAIRS = {
    "the paper's chains": (
        hd.Model(HALF, [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]])),
        hd.Model(HALF, [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]])),
    ),
    "states that mean different things": (
        hd.Model(HALF, [[0.6, 0.4], [0.4, 0.6]], hd.Categorical([[0.7, 0.3], [0.3, 0.7]])),
        hd.Model(HALF, [[0.2, 0.8], [0.8, 0.2]], hd.Categorical([[13 / 30, 17 / 30], [17 / 30, 13 / 30]])),
    ),
}
# Rows of docs/benchmarks.md that the README shows, by how they begin, and how it calls them.
SPEED = {
    "observed_kl by Monte Carlo to 0.001, the paper's chains, N=100, p from q": "observed divergence to 0.001",
    "fit, categorical, 5 iterations, K=10, 100 x 1000|hmmlearn, scaling": "fit, 10 states, symbols",
    "posterior_kl_batch, 1,000 x 500, K=4, close": "posterior divergence of 1,000 sequences",
    "log_likelihood, 1e5 symbols, K=16": "likelihood, 16 states",
    "log_likelihood, 1e5 symbols, K=2": "likelihood, 2 states",
}


class Timing(NamedTuple):
    """A row of a table of benchmarks."""

    section: str
    work: str
    against: str
    ratio: float


def timings() -> list[Timing]:
    """The rows of docs/benchmarks.md that have two times and their ratio."""
    found, section = [], ""
    for line in (HERE / "benchmarks.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line[3:]
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 6 and re.fullmatch(r"[\d.]+(e[+-]\d+)?", cells[4]):
            found.append(Timing(section, cells[0], cells[1], float(cells[4])))
    return found


def draw_all(folder: Path) -> None:
    """The pictures of the pages."""
    folder.mkdir(exist_ok=True)
    saved(three_divergences(), folder / "three_divergences.svg")
    saved(speed_over_states(), folder / "speed_posterior.svg")
    rows = [
        row for row in timings() if row.section == "Fitting, the paper" and re.search("score|hmmlearn", row.against)
    ]
    labels = [f"{row.work}\nagainst {row.against}" for row in rows]
    saved(times_as_fast(labels, [row.ratio for row in rows]), folder / "speed_fit.svg")
    saved(speed(), folder / "speed.svg")
    saved(two_models(), folder / "landing.svg")


def speed() -> Axes:
    """How many times as fast as what people use instead."""
    chosen = []
    for key in SPEED:
        work, _, against = key.partition("|")
        chosen.append(next(row for row in timings() if row.work == work and row.against.startswith(against)))
    return times_as_fast(list(SPEED.values()), [row.ratio for row in chosen])


def speed_over_states() -> Axes:
    """How many times as fast as hmmlearn over the number of states, one line for each piece of work."""
    lines = {
        r"log_likelihood, 1e5 symbols, K=(\d+)": ("log_likelihood against a score", "#0b5394", "o"),
        r"posterior_kl, 1e5 symbols, K=(\d+), far": ("posterior_kl, far models, against two scores", "#d55e00", "s"),
        r"posterior_kl, 1e5 symbols, K=(\d+), close": (
            "posterior_kl, close models, the same",
            "#44aa99",
            "D",
        ),
        r"the same, K=(\d+), far": ("posterior_kl, far models, against two scores by logarithms", "#777777", "^"),
    }
    axes = Figure(figsize=(8, 3.6), layout="constrained").subplots()
    for pattern, (label, colour, marker) in lines.items():
        found = [(int(m[1]), 1 / row.ratio) for row in timings() if (m := re.fullmatch(pattern, row.work))]
        axes.plot(*zip(*found, strict=True), color=colour, marker=marker, label=label)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_yticks([1, 3, 10, 30, 100], ["1", "3", "10", "30", "100"])
    axes.set_xticks([2, 4, 8, 16, 32, 64], ["2", "4", "8", "16", "32", "64"])
    axes.minorticks_off()
    axes.set_xlabel("hidden states; 100,000 symbols")
    axes.set_ylabel("times as fast as hmmlearn")
    axes.legend(fontsize=8, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def times_as_fast(labels: list[str], ratios: list[float]) -> Axes:
    """Bars of 1 / ratio on a logarithmic scale, the fastest first."""
    order = sorted(range(len(labels)), key=lambda i: ratios[i])
    figure = Figure(figsize=(8, 0.7 + 0.34 * len(labels) * (1.3 if "\n" in labels[0] else 1)), layout="constrained")
    axes = figure.subplots()
    for row, i in enumerate(order):
        times = 1 / ratios[i]
        axes.barh(row, times, left=0, height=0.62, color="#0b5394")
        axes.text(times * 1.12, row, f"{float(f'{times:.2g}'):,g} times", va="center", fontsize=9)
    axes.set_yticks(range(len(order)), [labels[i] for i in order], fontsize=9 if "\n" not in labels[0] else 7)
    axes.set_xscale("log")
    axes.set_xlim(1, max(1 / r for r in ratios) * (60 if max(1 / r for r in ratios) > 100 else 2))
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.set_xlabel("times as fast as hmmlearn or a script with it (logarithmic)", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def three_divergences() -> Axes:
    """One bar a pair: the joint rate, cut into the observed one and the expected posterior one."""
    figure = Figure(figsize=(8, 2.6), layout="constrained")
    axes = figure.subplots()
    for row, (p, q) in enumerate(PAIRS.values()):
        joint, observed = hd.joint_kl_rate(p, q).value, hd.observed_kl_rate(p, q).value
        axes.barh(row, observed, color="#0b5394", label="observed: what can be seen" if row == 0 else None)
        axes.barh(
            row, joint - observed, left=observed, color="#d9d9d9", hatch="///", edgecolor="#7f7f7f",
            label="expected posterior: only about hidden states" if row == 0 else None,
        )  # fmt: skip
        axes.text(joint + 0.008, row, f"joint {joint:.3f}\nobserved {observed:.3g}", va="center", fontsize=9)
    axes.set_yticks(range(len(PAIRS)), list(PAIRS))
    axes.invert_yaxis()
    axes.set_xlim(0, 0.72)
    axes.set_xlabel("divergence rate, nats per observation")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=2, frameon=False, fontsize=9)
    return axes


def two_models() -> Axes:
    """Two models side by side as state diagrams, arrows coloured where they differ, and where that comes from."""
    names = ["bear", "calm", "boom"]
    p = hd.Model(
        [0.2, 0.6, 0.2], [[0.90, 0.08, 0.02], [0.05, 0.90, 0.05], [0.10, 0.10, 0.80]],
        hd.Gaussian([-1.0, 0.1, 1.0], std=[1.5, 0.5, 0.8]), name="before", state_names=names,
    )  # fmt: skip
    q = hd.Model(
        [0.2, 0.6, 0.2], [[0.80, 0.15, 0.05], [0.04, 0.92, 0.04], [0.02, 0.28, 0.70]],
        hd.Gaussian([-1.2, 0.1, 0.7], std=[2.0, 0.4, 0.8]), name="after", state_names=names,
    )  # fmt: skip
    figure = Figure(figsize=(11, 3.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=[1, 1, 1.25])
    hd.plots.state_diagram(p, q, ax=left)
    hd.plots.state_diagram(q, p, ax=middle)
    hd.plots.parts(hd.joint_kl(p, q, 250), state_names=names, ax=right)
    return right


def saved(axes: Axes, path: Path) -> None:
    """Save the figure; text stays text, nothing in the file depends on the day."""
    with matplotlib.rc_context({"svg.hashsalt": "hidiv"}):
        axes.get_figure(root=True).savefig(path, transparent=True, metadata={"Date": None})  # type: ignore[union-attr]


def darkened(svg: str) -> str:
    """The colours of a drawing for a dark page: hues stay, light and dark change places."""

    def changed(found: re.Match[str]) -> str:
        red, green, blue = (int(found[0][i : i + 2], 16) / 255 for i in (1, 3, 5))
        hue, light, vivid = rgb_to_hls(red, green, blue)
        return "#" + "".join(f"{round(255 * part):02x}" for part in hls_to_rgb(hue, 0.08 + 0.92 * (1 - light), vivid))

    inherited = svg.replace("<svg ", '<svg fill="#000000" ', 1)  # letters have no colour of their own
    return re.sub(r"#[0-9a-f]{6}\b", changed, inherited)


def for_the_readme(folder: Path) -> None:
    """Write the README's pictures, each for light and for dark pages."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, axes in {"two_models": two_models(), "speed": speed()}.items():
        saved(axes, folder / f"{name}-light.svg")
        light = (folder / f"{name}-light.svg").read_text(encoding="utf-8")
        (folder / f"{name}-dark.svg").write_text(darkened(light), encoding="utf-8")


if __name__ == "__main__":
    for_the_readme(HERE / "static")
