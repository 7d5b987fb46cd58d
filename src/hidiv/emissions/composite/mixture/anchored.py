"""Laws that are narrow beside their distance from 0: points as an anchor and the distance from it.

A double near 1e9 is blurred by 1e-7, which a law of width 1 notices. Where every component can be moved, the laws near
such a place are moved to 0 together: differences of doubles that lie close together are exact, and so are the points.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hidiv.emissions.numerics.adaptive_integrals import Anchored, Function, Laws, Over, panel_integral
from hidiv.emissions.sample_space import Kind
from hidiv.types import Array

if TYPE_CHECKING:
    from hidiv.emissions.composite.mixture.law import MixtureLaw

NARROW = 2.0**-10  # width of a law over its distance from 0, below which points are blurred
NEAR = 0.25  # distance from an anchor, divided by that of the anchor from 0, within which differences are exact


class Anchors(NamedTuple):
    """at (A,): the first is 0, where points are as they are; laws[i]: both laws, moved by at[i]."""

    at: Array
    laws: list[Laws]

    def laws_at(self) -> Laws:
        """Both laws and their ratio at plain points or anchored ones."""

        def each(part: int) -> Function:
            def value(x: Array | Anchored) -> Array:
                if not isinstance(x, Anchored):
                    return self.laws[0][part](x)
                out = np.empty(x.off.shape)
                for i in np.unique(x.anchor):
                    rows = x.anchor == i
                    out[rows] = self.laws[i][part](x.off[rows])
                return out

            return value

        return Laws(each(0), each(1), each(2))

    def over(self, edges: Array) -> Over:
        """The integral between edges; a panel near an anchor is one of distances from it."""
        start, end = edges[:-1], edges[1:]
        off = np.abs(0.5 * start + 0.5 * end - self.at[1:, None])
        nearest = 1 + np.argmin(off, axis=0)
        at = self.at[nearest]
        is_near = np.maximum(np.abs(start - at), np.abs(end - at)) <= NEAR * np.abs(at)
        anchor = np.where(is_near, nearest, 0)
        first = start - self.at[anchor]
        return lambda f: panel_integral(f, first, (end - self.at[anchor]) - first, anchor)


def anchors(
    p: MixtureLaw, q: MixtureLaw, places: list[Array], laws: Callable[[MixtureLaw, MixtureLaw], Laws]
) -> Anchors | None:
    """Anchors of mixtures of one state; None where none is needed, or a component cannot be moved.

    places: quantiles of the components that have weight, the medians and the quartiles first (`quantiles`).
    """
    if p.space.kind is not Kind.LINE:
        return None
    at = [0.0]
    for each in places:
        middle, half = float(each[0]), len(each) // 2
        width = abs(float(each[half + 1] - each[1]))
        if 0.0 < width < NARROW * abs(middle):
            # Rounded to the width, so that the places of other laws stay exact when they are moved.
            unit = 2.0 ** np.ceil(np.log2(width))
            at.append(float(np.round(middle / unit) * unit))
    every = np.unique(at[1:])
    if not every.size:
        return None
    both = [laws(p, q)]
    for by in every:
        near_p, near_q = p.moved(by), q.moved(by)
        if near_p is None or near_q is None:
            return None
        both.append(laws(near_p, near_q))
    return Anchors(np.append(0.0, every), both)
