"""Pictures as a reader gets them: pixels, in grey, and the boxes of their words."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

Array = NDArray[np.float64]


def rendered(ax: Axes) -> Array:
    """(height, width, 3) in 0..1, the first row at the top."""
    canvas = ax.figure.canvas
    assert isinstance(canvas, FigureCanvasAgg)
    if ax.figure.stale:
        canvas.draw()
    return np.asarray(canvas.buffer_rgba())[:, :, :3] / 255.0


def grey(colours: Array) -> Array:
    """Relative luminance of sRGB colours (..., 3)."""
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    return np.asarray(linear @ np.array([0.2126, 0.7152, 0.0722]))


def at(ax: Axes, image: Array, x: float, y: float) -> Array:
    """(3,): the colour of the picture at data coordinates."""
    column, row = ax.transData.transform((x, y))
    return np.asarray(image[image.shape[0] - 1 - round(row), round(column)])


def words(ax: Axes) -> list[tuple[str, Bbox]]:
    """Every visible text of the figure with its box in pixels."""
    figure = ax.figure
    rendered(ax)
    unseen = {id(text) for one in figure.findobj(Axis) if isinstance(one, Axis) for text in beyond(one)}
    texts = [t for t in figure.findobj(Text) if isinstance(t, Text) and t.get_visible() and t.get_text().strip()]
    return [(t.get_text(), t.get_window_extent()) for t in texts if id(t) not in unseen]


def beyond(axis: Axis) -> list[Text]:
    """Labels of ticks outside the axis, which are never drawn."""
    low, high = sorted(axis.get_view_interval())
    ticks = [*axis.majorTicks, *axis.minorTicks]
    return [text for tick in ticks if not low <= tick.get_loc() <= high for text in (tick.label1, tick.label2)]


def cut_off(ax: Axes) -> list[str]:
    """Texts that the edge of the figure cuts, and "ink" where something else is."""
    image = rendered(ax)
    height, width = image.shape[:2]
    lost = [said for said, box in words(ax) if box.x0 < 0 or box.y0 < 0 or box.x1 > width or box.y1 > height]
    edge = np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])
    return lost + (["ink"] if (edge < 0.99).any() else [])
