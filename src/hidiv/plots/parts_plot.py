"""`parts`: a joint divergence as bars, one for the initial law, each transition row and each emission state."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from hidiv.errors import HidivError, refuse
from hidiv.plots.style import JOINT, MIDDLE, axes, heading, number_label, open_frame, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hidiv.divergences.result import Divergence, Parts
    from hidiv.types import Array

MOST = 40  # bars; if there are more, the largest are drawn and the others are added up
# Kind of part -> fill and hatch; the three differ in grey as well.
LOOKS = {"initial law": (MIDDLE, ""), "transition row": (JOINT, ""), "emission state": ("#f0b27a", "////")}


class Bar(NamedTuple):
    """One contribution to the divergence."""

    kind: str
    label: str
    value: float


def parts(
    result: Divergence, *, state_names: Sequence[str] | None = None, most: int = MOST, ax: Axes | None = None
) -> Axes:
    """Plot the parts of a joint divergence as bars, each with its share of the whole.

    Parameters
    ----------
    result : Divergence
        A joint divergence; other divergences have no parts.
    state_names : sequence of str or None, default None
        Names of the states; None numbers them.
    most : int, default 40
        The largest number of bars. If there are more parts, the largest are drawn and the others are added up, one bar
        for each kind.
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
    >>> [label.get_text() for label in hd.plots.parts(hd.joint_kl(p, q, 10)).get_yticklabels()]
    ['initial law', 'transition from 0', 'transition from 1', 'emission in 0', 'emission in 1']
    """
    if result.parts is None:
        refuse(HidivError, "result", f"a {result.quantity} divergence of this kind has no parts", result.status)
    bars = largest(listed(result.parts, state_names), most)
    ax = axes(ax, (6.4, 1.4 + 0.27 * len(bars)))
    longest = max((bar.value for bar in bars if isfinite(bar.value)), default=0.0) or 1.0
    for kind, (fill, hatch) in LOOKS.items():
        alike = [(i, bar) for i, bar in enumerate(bars) if bar.kind == kind]
        if alike:
            lengths = [bar.value if isfinite(bar.value) else 1.1 * longest for _, bar in alike]
            ax.barh([i for i, _ in alike], lengths, color=fill, hatch=hatch, edgecolor="white", linewidth=0, label=kind)
    for i, bar in enumerate(bars):
        share = f"  ({bar.value / result.value:.1%})" if isfinite(result.value) and bar.value > 0 else ""
        end = bar.value if isfinite(bar.value) else 1.1 * longest
        ax.annotate(
            f"{number_label(bar.value, 3)}{share}",
            (end, i),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
        )
    ax.set_yticks(range(len(bars)), [text(bar.label) for bar in bars])
    ax.set_ylim(len(bars) - 0.4, -0.6)
    ax.set_xlim(0, 1.45 * longest)
    ax.set_xlabel(f"contribution to D in {result.measure}")
    ax.set_title(heading(result), fontsize="medium", loc="left")
    open_frame(ax)
    return ax


def listed(parts: Parts, state_names: Sequence[str] | None) -> list[Bar]:
    """One bar for each part, labelled."""
    bars = [Bar("initial law", "initial law", parts.initial)]
    for kind, word, table in (
        ("transition row", "transition from", parts.rows),
        ("emission state", "emission in", parts.states),
    ):
        bars += _table(kind, word, table, state_names)
    return bars


def _table(kind: str, word: str, table: Array, state_names: Sequence[str] | None) -> list[Bar]:
    """Bars of a table (K,) by state, or (G, K) by group and state."""
    groups = table if table.ndim == 2 else table[None, :]
    bars = []
    for g, row in enumerate(groups):
        where = f"group {g}, " if table.ndim == 2 else ""
        for s, value in enumerate(row):
            name = str(s) if state_names is None else state_names[s]
            bars.append(Bar(kind, f"{where}{word} {name}", float(value)))
    return bars


def largest(bars: list[Bar], most: int) -> list[Bar]:
    """At most `most` bars: the largest in their order, then one for the rest of each kind."""
    if len(bars) <= most:
        return bars
    chosen = set(sorted(range(len(bars)), key=lambda i: -bars[i].value)[:most])
    kept = [bar for i, bar in enumerate(bars) if i in chosen]
    for kind in LOOKS:
        rest = [bar for i, bar in enumerate(bars) if i not in chosen and bar.kind == kind]
        if len(rest) == 1:
            kept.append(rest[0])
        elif rest:
            kept.append(Bar(kind, f"{len(rest)} other {kind}s", sum(bar.value for bar in rest)))
    return kept
