"""One look for every picture: it must hold in grey and for the colour-blind, so nothing is said by hue alone."""

from __future__ import annotations

from math import isinf
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from hidiv.errors import MissingExtra, refuse

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hidiv.divergences.result import Divergence

# Colours that differ in lightness too (after Okabe and Ito), one a quantity; markers repeat what they say.
JOINT, OBSERVED, POSTERIOR = "#0b5394", "#d55e00", "#44aa99"
QUANTITY = {"joint": (JOINT, "o"), "observed": (OBSERVED, "s"), "posterior": (POSTERIOR, "D")}
DARK, MIDDLE, LIGHT = "#333333", "#777777", "#cccccc"
SEQUENTIAL = "Blues"  # light is little, dark is much, in grey as well

# How far a number can be trusted, in the words of legends.
STATUS = {
    "exact": "exact",
    "certified": "certified",
    "estimate": "estimate, 95 % interval",
    "approximation": "approximation, no bound",
}


def axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The axes given, or the only axes of a new figure that pyplot knows nothing of."""
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


def plain(ax: Axes) -> None:
    """No box around what needs none."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.tick_params(labelsize="small")


def said(value: float, digits: int = 4) -> str:
    """A number as a label."""
    return "infinite" if isinf(value) else f"{value:.{digits}g}"


def standing(result: Divergence) -> str:
    """What the number is and how far it can be trusted: 'joint, exact'."""
    return f"{result.quantity}, {STATUS[result.status]}"


def heading(result: Divergence, width: int = 64) -> str:
    """Subject, value and standing of a result, in lines of about `width` letters."""
    about = f"{said(result.value)} {result.measure} ({result.status})"
    error = result.std_error if result.std_error is not None else result.error
    if error is not None:
        about = f"{said(result.value)} ± {said(error, 2)} {result.measure} ({result.status})"
    subject = "\n".join(wrap(text(result.subject), width))
    return f"{subject}\n{result.quantity} divergence: {about}"


def text(name: Any) -> str:
    """A name from a file as matplotlib should write it: dollars are dollars, not mathematics."""
    return "".join(c if c.isprintable() else " " for c in str(name)).replace("$", r"\$")
