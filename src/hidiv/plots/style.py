"""The common look of all plots: readable in grey and for the colour-blind, so hue alone never carries meaning."""

from __future__ import annotations

from math import isinf
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from hidiv.errors import MissingExtra, refuse

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hidiv.divergences.result import Divergence

# One colour for each quantity, different in lightness too (after Okabe and Ito), and a marker of its own.
JOINT, OBSERVED, POSTERIOR = "#0b5394", "#d55e00", "#44aa99"
QUANTITY = {"joint": (JOINT, "o"), "observed": (OBSERVED, "s"), "posterior": (POSTERIOR, "D")}
DARK, MIDDLE, LIGHT = "#333333", "#777777", "#cccccc"
SEQUENTIAL = "Blues"  # small values are light and large ones dark, in grey as well

# How far a number can be trusted, as legends word it.
STATUS = {
    "exact": "exact",
    "certified": "certified",
    "estimate": "estimate, 95 % interval",
    "approximation": "approximation, no bound",
}


def axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The given axes, or the only axes of a new figure of this size that pyplot does not manage."""
    if ax is not None:
        return ax
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        refuse(MissingExtra, "plots", "matplotlib is not installed", remedy="pip install 'hidiv[plot]'")
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot()


def open_frame(ax: Axes) -> None:
    """Remove the top and the right edge of the frame, and use small tick labels."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.tick_params(labelsize="small")


def number_label(value: float, digits: int = 4) -> str:
    """A number as a label, "infinite" for infinity."""
    if isinf(value):
        return "infinite"
    rounded = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e+" in rounded and abs(value) < 1e6 else rounded


def standing(result: Divergence) -> str:
    """The quantity and how far the number can be trusted, for legends: 'joint, exact'."""
    return f"{result.quantity}, {STATUS[result.status]}"


def heading(result: Divergence, width: int = 64) -> str:
    """A title with the subject, value and status of a result, in lines of about `width` letters."""
    about = f"{number_label(result.value)} {result.measure} ({result.status})"
    error = result.std_error if result.std_error is not None else result.error
    if error is not None:
        about = f"{number_label(result.value)} ± {number_label(error, 2)} {result.measure} ({result.status})"
    subject = "\n".join(wrap(text(result.subject), width))
    return f"{subject}\n{result.quantity} divergence: {about}"


def sentence(words: str, width: int = 64) -> str:
    """A sentence as a title, in lines of about `width` letters."""
    return "\n".join(wrap(text(words), width))


def text(name: Any) -> str:
    """A name as matplotlib should print it: a dollar sign does not start a formula."""
    return "".join(c if c.isprintable() else " " for c in str(name)).replace("$", r"\$")
