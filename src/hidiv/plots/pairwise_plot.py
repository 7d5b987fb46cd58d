"""`pairwise`: the divergences of all pairs of models as a matrix, ordered by a dendrogram if there is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hidiv.comparison.pairwise.matrix import PairwiseMatrix
from hidiv.divergences.measures.names import MEASURES
from hidiv.errors import HidivError, counted, refuse
from hidiv.plots.style import DARK, SEQUENTIAL, axes, number_label, open_frame, text
from hidiv.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NUMBERED = 12  # models; in larger matrices the numbers would be too small to read
NAMED = 60  # models; in larger matrices the names would be too small to read


def pairwise(
    matrix: ArrayLike | PairwiseMatrix, *, names: Sequence[str] | None = None, linkage: ArrayLike | None = None,
    unit: str = "nats", quantity: str | None = None, status: str | None = None, log: bool = False,
    symmetric: bool = False, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Plot the divergences D(row || column) of all pairs of models as a shaded matrix.

    Infinite entries are crossed out.

    Parameters
    ----------
    matrix : array_like of shape (m, n), or PairwiseMatrix
        The divergences. A PairwiseMatrix brings its own names, quantity and status.
    names : sequence of str or None, default None
        Names of the models; None takes those of the matrix, or numbers.
    linkage : array_like of shape (m - 1, 4) or None, default None
        A linkage as SciPy writes it. Its dendrogram is drawn above the matrix, and rows and columns are in the order of
        its leaves.
    unit : str, default "nats"
        The unit of the divergences, for the title.
    quantity : str or None, default None
        "joint", "posterior" or "observed", for the title.
    status : str or None, default None
        How far the numbers can be trusted, for the title.
    log : bool, default False
        Whether to shade by the logarithm.
    symmetric : bool, default False
        Whether the entries of a plain array are D(p || q) + D(q || p), for the title.
    ax : matplotlib.axes.Axes or None, default None
        Where to draw; None makes a new figure that pyplot does not know.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on; `.figure.savefig(path)` writes them to a file.

    Examples
    --------
    >>> import hidiv as hd
    >>> hd.plots.pairwise([[0.0, 2.0], [1.0, 0.0]], names=["a", "b"]).get_title(loc="left")
    'divergence D(row || column) in nats'
    >>> coins = [hd.Model([1.0], [[1.0]], hd.Bernoulli([prob])) for prob in (0.25, 0.5)]
    >>> hd.plots.pairwise(hd.pairwise_kl(coins, 10)).get_title(loc="left")
    'joint divergence D(row || column) in nats (exact)'
    """
    if isinstance(matrix, PairwiseMatrix):
        symmetric = symmetric or matrix.symmetric
        quantity, status = quantity or matrix.quantity, status or matrix.status
        if names is None and any(name is not None for name in matrix.names):
            names = matrix.labels()[0]
    table = np.asarray(matrix, dtype=np.float64)
    if table.ndim != 2 or not table.size or np.isnan(table).any():
        refuse(HidivError, "matrix", "must be a matrix of divergences without NaN", table.shape)
    rows, columns = table.shape
    if linkage is not None and (rows != columns or np.shape(linkage) != (rows - 1, 4)):
        refuse(HidivError, "linkage", f"must be ({rows - 1}, 4) for a square matrix of {rows}", np.shape(linkage))
    if names is not None and len(names) != rows:
        refuse(HidivError, "names", f"needs one name for each of {counted(rows, 'model')}", len(names))
    side = float(np.clip(2.2 + 0.42 * rows, 3.6, 9.0))
    ax = axes(ax, (side + 0.9, side + (1.0 if linkage is not None else 0.0)))
    order, top = np.arange(rows), ax
    if linkage is not None:
        top = _above(ax)
        order = _dendrogram(top, np.asarray(linkage, dtype=np.float64), unit)
        table = table[np.ix_(order, order)]
    image = _cells(ax, table, log)
    labels = [str(i) for i in range(rows)] if names is None else [text(name) for name in names]
    if rows <= NAMED:
        ax.set_yticks(range(rows), [labels[i] for i in order])
    if columns == rows and rows <= NAMED:
        rotation = 90 if rows > 20 or max(map(len, labels)) > 4 else 0
        ax.set_xticks(range(rows), [labels[i] for i in order], rotation=rotation)
    ax.tick_params(labelsize="small" if rows <= 30 else "x-small", length=0)
    ax.set_xlabel("q")
    ax.set_ylabel("p")
    bar = ax.figure.colorbar(image, ax=ax, aspect=30, pad=0.02)
    bar.set_label(f"{unit}{', logarithmic' if log else ''}", fontsize="small")
    bar.ax.tick_params(labelsize="small")
    what = f"{quantity} divergence" if quantity else "divergence"
    trust = f" ({status})" if status else ""
    direction = "D(p || q) + D(q || p)" if symmetric else "D(row || column)"
    title = f"{what} {direction} in {unit}" if quantity not in MEASURES else MEASURES[quantity].words
    top.set_title(f"{title}{trust}", fontsize="medium", loc="left")
    return ax


def _cells(ax: Axes, table: Array, log: bool) -> Any:
    """Draw the shaded cells, cross out infinite ones, and write numbers into a small matrix; the image."""
    from matplotlib.colors import LogNorm, Normalize

    finite = table[np.isfinite(table)]
    top = float(finite.max(initial=0.0)) or 1.0
    positive = finite[finite > 0]
    norm = LogNorm(float(positive.min()), top) if log and len(positive) else Normalize(0.0, top)
    shown = np.where(np.isfinite(table), table, top)
    if log and len(positive):
        shown = np.maximum(shown, positive.min())
    image = ax.imshow(shown, cmap=SEQUENTIAL, norm=norm, aspect="auto", interpolation="nearest")
    for r, c in np.argwhere(~np.isfinite(table)):
        ax.plot([c - 0.5, c + 0.5], [r - 0.5, r + 0.5], color="white", linewidth=0.8)
        ax.plot([c - 0.5, c + 0.5], [r + 0.5, r - 0.5], color="white", linewidth=0.8)
    if max(table.shape) <= NUMBERED:
        for (r, c), value in np.ndenumerate(table):
            ink = "white" if float(norm(shown[r, c])) > 0.55 else "black"
            ax.text(
                c,
                r,
                "∞" if np.isinf(value) else number_label(float(value), 2),
                ha="center",
                va="center",
                fontsize=7,
                color=ink,
            )
    return image


def _above(ax: Axes) -> Axes:
    """New axes directly above these and as wide; their height is in points, so that the layout can reserve it."""
    from matplotlib.transforms import Affine2D, ScaledTranslation, blended_transform_factory

    corner = ScaledTranslation(0, 1, ax.transAxes)  # type: ignore[arg-type]  # any transform will do
    points = Affine2D().scale(1 / 72) + ax.figure.dpi_scale_trans + corner
    return ax.inset_axes((0.0, 3.0, 1.0, 60.0), transform=blended_transform_factory(ax.transAxes, points))


def _dendrogram(above: Axes, linkage: Array, unit: str) -> NDArray[np.int64]:
    """Draw the merges above the matrix with their heights to scale, and return the order of the leaves."""
    m = len(linkage) + 1
    members: dict[int, list[int]] = {i: [i] for i in range(m)}
    for step, (a, b, _, _) in enumerate(linkage):
        members[m + step] = members[int(a)] + members[int(b)]
    order = members[2 * m - 2]
    x = {leaf: float(at) for at, leaf in enumerate(order)}
    y = dict.fromkeys(range(m), 0.0)
    for step, (a, b, height, _) in enumerate(linkage):
        left, right = int(a), int(b)
        above.plot(
            [x[left], x[left], x[right], x[right]], [y[left], height, height, y[right]], color=DARK, linewidth=1.1
        )
        x[m + step], y[m + step] = 0.5 * (x[left] + x[right]), float(height)
    above.set_xlim(-0.5, m - 0.5)
    above.set_ylim(0, 1.05 * float(linkage[:, 2].max()) or 1.0)
    above.set_xticks([])
    above.set_ylabel(f"merged at\n({unit})", fontsize="x-small")
    open_frame(above)
    above.tick_params(labelsize="x-small")
    above.spines["bottom"].set_visible(False)
    return np.array(order)
