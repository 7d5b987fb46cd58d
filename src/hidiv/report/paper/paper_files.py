"""The regenerated paper in a folder: paper.html, summary.md, paper.json, and every figure as PNG and SVG."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hidiv.divergences.result import Divergence, plain
from hidiv.errors import InvalidFile, refuse, shown
from hidiv.files.disk import replace_file, write_text
from hidiv.plots.convergence_plot import convergence
from hidiv.plots.over_length_plot import over_length
from hidiv.plots.style import DARK, LIGHT, MIDDLE, axes
from hidiv.plots.tree_drawing import edges, places
from hidiv.report.page import render, versions
from hidiv.report.paper import printed
from hidiv.report.paper.claims import claims
from hidiv.report.paper.experiments import Experiments, Figure2, Figure3, Table1
from hidiv.report.paper.summary import ABOUT, headline, markdown, meanings, parts
from hidiv.report.paper.verdicts import Verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def make(folder: Path) -> None:
    """Make the folder if it does not exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        refuse(InvalidFile, shown(str(folder)), f"cannot be made, {(error.strerror or type(error).__name__).lower()}")


def write(folder: Path, experiments: Experiments, verdicts: list[Verdict], seed: int, version: str) -> list[Path]:
    """Write the page, the summary and the numbers of what is finished beside its _figures; their paths."""
    how = f"Regenerated from the printed parameters by hidiv {version}, seed {seed}."
    judged, numbers = claims(experiments), to_json(experiments, verdicts, seed, version)
    written = [folder / "paper.html", folder / "summary.md", folder / "paper.json"]
    context = {
        "title": "The paper, regenerated", "how": f"{how} Nats throughout.", "missing": experiments.missing,
        "headline": headline(verdicts, judged), "about": ABOUT, "verdicts": verdicts, "claims": judged,
        "meanings": meanings(verdicts), "parts": parts(experiments), "versions": versions(), "result": numbers,
        "view": {},
        "pictures": {part.picture: _embedded(folder / f"{part.picture}.svg") for part in parts(experiments)},
    }  # fmt: skip
    write_text(str(written[0]), render("paper.html.j2", context, "paper.json").html)
    write_text(str(written[1]), markdown(experiments, verdicts, judged, how))
    write_text(str(written[2]), json.dumps(numbers, indent=1) + "\n")
    return written


def _embedded(picture: Path) -> str:
    """A picture as an address that holds all of it."""
    return "data:image/svg+xml;base64," + b64encode(picture.read_bytes()).decode("ascii")


def draw(folder: Path, experiments: Experiments, before: Experiments | None = None) -> list[Path]:
    """Draw the _figures of what was not finished before; equal numbers give equal files."""
    import matplotlib

    paths = []
    # Text stays text in the SVG, so that it is small and can be searched.
    with matplotlib.rc_context({"svg.hashsalt": "hidiv", "svg.fonttype": "none"}):
        for name, ax in _figures(experiments, before).items():
            figure = ax.get_figure(root=True)
            assert figure is not None
            paths += [folder / f"{name}.png", folder / f"{name}.svg"]
            replace_file(str(paths[-2]), partial(figure.savefig, format="png", dpi=150))
            replace_file(str(paths[-1]), partial(figure.savefig, format="svg", metadata={"Date": None}))
    return paths


def to_json(experiments: Experiments, verdicts: list[Verdict], seed: int, version: str) -> dict[str, Any]:
    """Everything as plain numbers, format "hidiv.paper", version 1."""
    described: dict[str, Any] = {
        "format": "hidiv.paper", "version": 1, "hidiv": version, "seed": seed, "unit": "nats",
        "missing": experiments.missing,
        "verdicts": [verdict.to_dict() for verdict in verdicts],
        "statements": [claim.to_dict() for claim in claims(experiments)],
    }  # fmt: skip
    for part in fields(experiments):
        values = getattr(experiments, part.name)
        described[part.name] = (
            None if values is None else {field.name: _plain(getattr(values, field.name)) for field in fields(values)}
        )
    return described


def _plain(value: Any) -> Any:
    """A value as JSON can hold it."""
    if isinstance(value, Divergence):
        return value.to_dict()
    if isinstance(value, list) and value and isinstance(value[0], Divergence):
        return [one.to_dict() for one in value]
    return plain(value.tolist() if isinstance(value, np.ndarray) else value)


def _figures(experiments: Experiments, before: Experiments | None = None) -> dict[str, Axes]:
    """File name without ending -> figure, for what is finished and was not finished before."""
    drawn = {} if before is not None else {"figure-1": _figure_1()}
    before = before or Experiments()
    if experiments.trees is not None and experiments.trees is not before.trees:
        drawn["table-1"] = _table_1(experiments.trees)
    if experiments.lengths is not None and experiments.lengths is not before.lengths:
        drawn["figure-2"] = _figure_2(experiments.lengths)
    if experiments.given is not None and experiments.given is not before.given:
        drawn["figure-3"] = _figure_3(experiments.given)
    return drawn


def _figure_1() -> Axes:
    """The binary tree with its node words: hidden states in circles, observations in squares below them."""
    tree = printed.binary_tree()
    x, y = places(tree)
    y = 1.1 * y
    ax = axes(None, (6.0, 3.6))
    edges(ax, tree, x, y)
    box = {"boxstyle": "circle,pad=0.28", "facecolor": "white", "edgecolor": DARK}
    square = {"boxstyle": "square,pad=0.28", "facecolor": LIGHT, "edgecolor": DARK}
    for u in range(tree.n_nodes):
        word = tree.word(u) or r"\emptyset"
        ax.plot([x[u], x[u]], [y[u], y[u] - 0.95], color=MIDDLE, linewidth=0.8, zorder=1)
        ax.text(x[u], y[u], f"$S_{{{word}}}$", ha="center", va="center", bbox=box, zorder=3, fontsize=11)
        ax.text(x[u], y[u] - 0.95, f"$X_{{{word}}}$", ha="center", va="center", bbox=square, zorder=3, fontsize=11)
    ax.set_xlim(-0.5, 3.5)
    ax.set_ylim(float(y.min()) - 1.3, 0.4)
    ax.set_axis_off()
    ax.set_title("Hidden states (circles) and observations (squares) of a binary tree, N = 3", fontsize="medium")
    return ax


def _table_1(trees: Table1) -> Axes:
    """Our estimates and the exact value, with the printed estimates in grey, and the observed divergence."""
    ax = convergence([*trees.estimates, *trees.observed], trees.joint, title="Table I: trees, theta_1 against theta_0")
    rows = printed.TABLE_1[: len(trees.estimates)]
    ends = np.array([(row.estimate - row.lower, row.upper - row.estimate) for row in rows]).T
    ax.errorbar(
        [1.25 * row.trials for row in rows], [row.estimate for row in rows], ends, fmt="x", color=MIDDLE,
        markersize=5, elinewidth=1.2, capsize=4, label="joint, as the paper prints it",
    )  # fmt: skip
    ax.legend(fontsize="small", frameon=False)
    ax.set_xlabel("trials")
    return ax


def _figure_2(chains: Figure2) -> Axes:
    """Joint and observed divergence per step over N, with their rates."""
    return over_length(
        chains.lengths,
        {"joint": chains.joint, "joint, Monte Carlo": chains.estimates, "observed": chains.observed},
        rate=[chains.joint_rate, chains.observed_rate],
        title="Figure 2: chains, divergence per step, theta_1 against theta_0",
    )


def _figure_3(given: Figure3) -> Axes:
    """Posterior divergence along the evidence, and its mean over data from theta_1."""
    ax = over_length(
        given.lengths, {"posterior given the evidence": given.posterior}, per_step=False,
        title="Figure 3: hidden states given the evidence, theta_1 against theta_0",
    )  # fmt: skip
    over_length(
        given.sampled, {"posterior given the evidence": given.estimates}, per_step=False,
        title=ax.get_title(loc="left"), ax=ax,
    )  # fmt: skip
    status = "certified" if any(one.status == "certified" for one in given.expected) else given.expected[0].status
    ax.plot(
        given.sampled, [one.value for one in given.expected], "--", color=DARK, linewidth=1.2,
        label=f"mean over data of theta_1: joint minus observed, {status}",
    )  # fmt: skip
    ax.set_xlabel("N, observations given")
    ax.legend(fontsize="small", frameon=False)
    return ax
