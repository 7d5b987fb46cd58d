"""The paper's figures drawn again, with the observed divergence in addition to what the paper shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hidiv.plots.convergence_plot import convergence
from hidiv.plots.over_length_plot import over_length
from hidiv.plots.style import DARK, LIGHT, MIDDLE, axes
from hidiv.plots.tree_drawing import edges, places
from hidiv.report.paper import printed
from hidiv.report.paper.experiments import Experiments, Figure2, Figure3, Table1

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def figures(experiments: Experiments, before: Experiments | None = None) -> dict[str, Axes]:
    """File name without ending -> figure, for what is finished and was not finished before."""
    drawn = {} if before is not None else {"figure-1": figure_1()}
    before = before or Experiments()
    if experiments.trees is not None and experiments.trees is not before.trees:
        drawn["table-1"] = table_1(experiments.trees)
    if experiments.lengths is not None and experiments.lengths is not before.lengths:
        drawn["figure-2"] = figure_2(experiments.lengths)
    if experiments.given is not None and experiments.given is not before.given:
        drawn["figure-3"] = figure_3(experiments.given)
    return drawn


def figure_1() -> Axes:
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


def table_1(trees: Table1) -> Axes:
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


def figure_2(chains: Figure2) -> Axes:
    """Joint and observed divergence per step over N, with their rates."""
    return over_length(
        chains.lengths,
        {"joint": chains.joint, "joint, Monte Carlo": chains.estimates, "observed": chains.observed},
        rate=[chains.joint_rate, chains.observed_rate],
        title="Figure 2: chains, divergence per step, theta_1 against theta_0",
    )


def figure_3(given: Figure3) -> Axes:
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
