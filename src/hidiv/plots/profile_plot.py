"""`profile`: the share of every node in a divergence, along a chain or on a drawn tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hidiv.errors import HidivError, counted, refuse
from hidiv.models.tree import as_tree
from hidiv.plots.style import DARK, JOINT, LIGHT, QUANTITY, SEQUENTIAL, axes, heading, number_label, open_frame, text
from hidiv.plots.tree_drawing import edges, node_names, places
from hidiv.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hidiv.divergences.result import Divergence
    from hidiv.models.tree import Tree

DRAWN = 300  # nodes; a larger tree is summed up level by level
NAMED = 31  # nodes; in larger trees the names would overlap
BARS = 80  # nodes of a chain; a longer one is a filled curve
POINTS = 2000  # of a curve; on longer chains the largest value and the mean of each stretch are drawn


def profile(result: Divergence, tree: Tree | int | None = None, *, ax: Axes | None = None) -> Axes:
    """Plot the share of every node in a divergence.

    Chains are drawn as bars or as a curve, trees of up to 300 nodes as a tree, and larger trees level by level. In a
    drawn tree both the size and the shade of a node show its share.

    Parameters
    ----------
    result : Divergence
        A joint or posterior divergence with a profile by node.
    tree : Tree, int or None, default None
        The tree the result was computed on; None is a chain.
    ax : matplotlib.axes.Axes or None, default None
        Where to draw; None makes a new figure that pyplot does not know.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on; `.figure.savefig(path)` writes them to a file.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1, 4]))
    >>> q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Poisson([1, 5]))
    >>> hd.plots.profile(hd.joint_kl(p, q, hd.Tree.regular(2, 4)), hd.Tree.regular(2, 4)).get_ylabel()
    'level'
    """
    shares = result.by_node
    if shares is None:
        refuse(HidivError, "result", "has no profile by node", result.subject, "use a tree whose nodes can be listed")
    if not np.isfinite(shares).all():
        node = int(np.argmax(~np.isfinite(shares)))
        refuse(HidivError, "result", f"is infinite at node {node}, a profile needs finite shares", result.subject)
    nodes = as_tree(tree, len(shares))
    if nodes.n_nodes != len(shares):
        refuse(HidivError, "tree", f"has {counted(nodes.n_nodes, 'node')} and the profile {len(shares)}")
    if nodes.is_chain:
        ax = _chain(shares, result, ax)
    elif nodes.n_nodes <= DRAWN:
        ax = _tree(shares, result, nodes, ax)
    else:
        ax = _levels(shares, result, nodes, ax)
    ax.set_title(heading(result, 64 if nodes.is_chain or nodes.n_nodes > NAMED else 48), fontsize="medium", loc="left")
    return ax


def _chain(shares: Array, result: Divergence, ax: Axes | None) -> Axes:
    """Bars of a short chain, a filled curve of a longer one, largest and mean of stretches of a very long one."""
    ax = axes(ax, (7.2, 2.8))
    colour = QUANTITY[result.quantity][0]
    n = len(shares)
    if n <= BARS:
        ax.bar(range(n), shares, 0.8, color=colour)
    elif n <= POINTS:
        ax.fill_between(range(n), shares, step="mid", color=colour, linewidth=0)
    else:
        cuts = np.linspace(0, n, POINTS + 1).astype(int)[:-1]
        middle = cuts + 0.5 * (n / POINTS)
        ax.fill_between(middle, np.maximum.reduceat(shares, cuts), color=LIGHT, linewidth=0, label="largest nearby")
        means = np.add.reduceat(shares, cuts) / np.diff(np.append(cuts, n))
        ax.plot(middle, means, color=colour, linewidth=1, label="mean")
        ax.legend(fontsize="small", loc="lower right", facecolor="white", framealpha=1.0, edgecolor="none")
    ax.set_xlim(-0.6, n - 0.4)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("node")
    ax.set_ylabel(f"share of the node ({result.unit})")
    open_frame(ax)
    return ax


def _tree(shares: Array, result: Divergence, tree: Tree, ax: Axes | None) -> Axes:
    """A drawn tree whose nodes have an area and a shade in proportion to their share."""
    x, y = places(tree)
    leaves = float(x.max()) + 1
    ax = axes(ax, (min(11.0, max(5.2, 0.32 * leaves + 2.2)), min(9.0, 1.9 + 0.75 * tree.depth)))
    edges(ax, tree, x, y)
    top = float(shares.max()) or 1.0
    inches = ax.figure.get_figure(root=True).get_size_inches()[0]
    room = float(np.clip(0.8 * 72 * (inches - 2) / leaves, 3.0, 22.0))  # points across the largest node
    area = room**2 * np.clip(shares / top, 0.02, 1.0)
    dots = ax.scatter(
        x, y, area, c=shares, cmap=SEQUENTIAL, vmin=0, vmax=top, edgecolors=DARK, linewidths=0.7, zorder=2
    )
    if tree.n_nodes <= NAMED:
        for u, name in enumerate(node_names(tree)):
            label = f"{text(name)}\n{number_label(float(shares[u]), 2)}"
            behind = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
            drop = (0, -0.5 * float(np.sqrt(area[u])) - 3)
            ax.annotate(
                label, (x[u], y[u]), drop, textcoords="offset points", ha="center", va="top", fontsize=7, bbox=behind
            )
    bar = ax.figure.colorbar(dots, ax=ax, aspect=25, pad=0.02)
    bar.set_label(f"share of the node ({result.unit}); area too", fontsize="small")
    bar.ax.tick_params(labelsize="small")
    ax.set_xlim(-0.8, leaves - 0.2)
    ax.set_ylim(float(y.min()) - 0.65, 0.45)
    ax.set_xticks([])
    ax.set_yticks([-level for level in range(tree.depth)], [str(level) for level in range(tree.depth)])
    ax.set_ylabel("level")
    open_frame(ax)
    for side in ("bottom", "left"):
        ax.spines[side].set_visible(False)
    return ax


def _levels(shares: Array, result: Divergence, tree: Tree, ax: Axes | None) -> Axes:
    """One bar for each level: the shares of its nodes added up."""
    ax = axes(ax, (6.4, 3.2))
    level = np.asarray(tree.level)
    sums, counts = np.bincount(level, shares), np.bincount(level)
    ax.bar(range(len(sums)), sums, 0.8, color=QUANTITY.get(result.quantity, (JOINT, ""))[0])
    if len(sums) <= 24:
        for at, (value, count) in enumerate(zip(sums, counts, strict=True)):
            label = f"{count} x {value / count:.2g}" if len(sums) <= 8 else f"{count}"
            ax.annotate(label, (at, value), (0, 2), textcoords="offset points", ha="center", fontsize="x-small")
    ax.set_ylim(0, 1.12 * float(sums.max()) or 1.0)
    ax.set_xlabel("level (above each bar: nodes x their mean)" if len(sums) <= 8 else "level (above each bar: nodes)")
    ax.set_ylabel(f"share of the level ({result.unit})")
    open_frame(ax)
    return ax
