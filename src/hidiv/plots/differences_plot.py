"""`differences`: transitions or emissions of two models as a heat map, with what each row adds to the divergence."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hidiv.adapters.as_model import as_models
from hidiv.emissions.tabular import is_probabilities, tabular
from hidiv.errors import HidivError, IncompatibleModels, counted, refuse
from hidiv.plots.style import DARK, MIDDLE, axes, number_label, open_frame, text
from hidiv.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hidiv.divergences.result import Divergence
    from hidiv.models.model import Model

Part = Literal["transition", "emission"]
CELLS_WITH_NUMBERS = 12  # rows or columns; in larger tables the numbers would be too small to read
DIVERGING = ["#5e3c99", "#b2abd2", "#f7f7f7", "#fdb863", "#c96512"]  # purple where p is smaller


def differences(
    p: Any, q: Any, result: Divergence | None = None, *, part: Part = "transition", group: int = 0,
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Plot the parameters of p minus those of q, row by row, as a heat map.

    Each cell shows the difference and, below it, both values. In large tables a cell where p is smaller has a dash, so
    that the sign can be seen in grey too. Columns that are not probabilities are coloured relative to their own largest
    value.

    Parameters
    ----------
    p, q : Model
        Models with the same number of states and, for emissions, the same family.
    result : Divergence or None, default None
        Their joint divergence; if it is given, bars at the right show what each row adds to it.
    part : {"transition", "emission"}, default "transition"
        Which parameters to show.
    group : int, default 0
        The group of parameters to show, of models tied by level or by another label.
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
    >>> hd.plots.differences(p, p.relabel([1, 0])).get_xlabel()
    'to state'
    """
    p, q = as_models(p, q)
    columns, left, right = tables(p, q, part, group)
    difference = left - right
    probabilities = part == "transition" or is_probabilities(p.emissions[min(group, len(p.emissions) - 1)])
    shade = difference if probabilities else difference / _scale(left, right)
    limit = float(np.abs(shade).max(initial=0.0)) or 1.0
    rows, width = difference.shape
    ax = axes(ax, (2.6 + 0.75 * min(width, 20) + 1.6, 1.9 + 0.5 * min(rows, 24)))
    image = ax.pcolormesh(shade, cmap=_colours(), vmin=-limit, vmax=limit, edgecolors="white", linewidth=0.5)
    if max(rows, width) <= CELLS_WITH_NUMBERS:
        _numbers(ax, left, right, shade / limit)
    else:
        smaller_rows, smaller_columns = np.nonzero(shade < -0.05 * limit)
        ax.scatter(
            smaller_columns + 0.5,
            smaller_rows + 0.5,
            4000 / max(rows, width),
            marker="_",
            linewidths=1,
            c=[
                "white" if shade[r, c] < -0.6 * limit else DARK
                for r, c in zip(smaller_rows, smaller_columns, strict=True)
            ],
        )
    names = p.state_names or tuple(str(s) for s in range(p.n_states))
    ax.set_yticks(np.arange(rows) + 0.5, [text(name) for name in names])
    shown = range(0, width, max(1, -(-width // 30)))
    ax.set_xticks([c + 0.5 for c in shown], [text(columns[c]) for c in shown])
    if any(len(columns[c]) > 6 for c in shown) and width > 4:
        ax.tick_params(axis="x", labelrotation=40)
    ax.set_ylim(rows, 0)
    ax.set_xlabel("to state" if part == "transition" else "of an observation")
    ax.set_ylabel("from state" if part == "transition" else "in state")
    ax.tick_params(labelsize="small", length=0)
    first, second = text(p.name or "p"), text(q.name or "q")
    of = f", group {group}" if max(p.n_groups, q.n_groups) > 1 else ""
    ax.set_title(f"{part}{of}: {first} minus {second}", fontsize="medium", loc="left")
    bar = ax.figure.colorbar(image, ax=ax, location="bottom", shrink=0.7, aspect=30, pad=0.02)
    kind = "difference of probabilities" if probabilities else "difference, relative to the column's largest"
    bar.set_label(kind, fontsize="small")
    bar.ax.tick_params(labelsize="small")
    if result is not None:
        _contributions(ax, result, part, group)
    return ax


def tables(p: Model, q: Model, part: str, group: int) -> tuple[list[str], Array, Array]:
    """Column names, and the tables of p and q (K, columns) with a group's transitions or emission parameters."""
    if part not in ("transition", "emission"):
        refuse(HidivError, "part", 'must be "transition" or "emission"', part)
    if not 0 <= group < max(p.n_groups, q.n_groups):
        refuse(HidivError, "group", f"must be one of 0..{max(p.n_groups, q.n_groups) - 1}", group)
    if p.n_states != q.n_states:
        refuse(
            IncompatibleModels, "q", f"has {counted(q.n_states, 'state')} and p has {p.n_states}: no rows to subtract"
        )
    if part == "transition":
        names = [str(s) for s in range(p.n_states)] if p.state_names is None else list(p.state_names)
        left, right = (model.transitions[min(group, len(model.transitions) - 1)] for model in (p, q))
        return names, left, right
    families = [model.emissions[min(group, len(model.emissions) - 1)] for model in (p, q)]
    (names, left), (others, right) = (tabular(family) for family in families)
    if names != others or type(families[0]) is not type(families[1]):
        kinds = " and ".join(family.name for family in families)
        refuse(IncompatibleModels, "emission", f"parameters of different kinds cannot be subtracted, {kinds}")
    if not names:
        refuse(IncompatibleModels, "emission", "has no parameters to subtract", families[0].name)
    return names, left, right


def _colours() -> Any:
    """A colour map from purple over white to orange."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("purple to orange", DIVERGING)


def _scale(left: Array, right: Array) -> Array:
    """(columns,): the largest absolute value of each column, 1 for a column of zeros."""
    largest = np.maximum(np.abs(left), np.abs(right)).max(axis=0)
    return np.where(largest > 0, largest, 1.0)


def _numbers(ax: Axes, left: Array, right: Array, strength: Array) -> None:
    """Write the difference into every cell, and both values below it."""
    for (r, c), value in np.ndenumerate(left - right):
        ink = "white" if strength[r, c] < -0.6 else "black"
        ax.text(c + 0.5, r + 0.42, f"{value:+.3g}" if value else "0", ha="center", va="center", fontsize=9, color=ink)
        both = f"{left[r, c]:.3g} | {right[r, c]:.3g}"
        ax.text(c + 0.5, r + 0.75, both, ha="center", va="center", fontsize=6.5, color=ink)


def _contributions(ax: Axes, result: Any, part: str, group: int) -> None:
    """Draw bars at the right of the rows: what each row adds to the divergence."""
    if result.parts is None:
        refuse(HidivError, "result", f"a {result.quantity} divergence of this kind has no parts", result.status)
    table = result.parts.rows if part == "transition" else result.parts.states
    values = [float(v) for v in (table if table.ndim == 1 else table[group])]
    longest = max((v for v in values if isfinite(v)), default=0.0) or 1.0
    bars = ax.inset_axes((1.03, 0.0, 0.32, 1.0), sharey=ax)
    bars.barh([r + 0.5 for r in range(len(values))], [min(v, 1.1 * longest) for v in values], 0.6, color=MIDDLE)
    for r, value in enumerate(values):
        share = f" ({value / result.value:.0%})" if isfinite(result.value) and value > 0 else ""
        label = f"{number_label(value, 3)}{share}"
        end = min(value, 1.1 * longest)
        bars.annotate(label, (end, r + 0.5), (3, 0), textcoords="offset points", va="center", fontsize="x-small")
    bars.set_xlim(0, 2.1 * longest)
    bars.set_xticks([])
    bars.tick_params(axis="y", left=False, labelleft=False)
    bars.set_title(f"adds to D\n({result.measure}, {result.status})", fontsize="x-small", loc="left")
    open_frame(bars)
    bars.spines["bottom"].set_visible(False)
