"""Whether an observed divergence is finite for certain, whatever draws have shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hidiv.divergences.observed.alphabets import by_formula
from hidiv.divergences.observed.variational import emission_pairs
from hidiv.divergences.pair import closed

if TYPE_CHECKING:
    from hidiv.divergences.pair import Pair
    from hidiv.divergences.result import Divergence


def surely_finite(pair: Pair, observed: Divergence) -> bool:
    """Whether a finite value of the observed divergence of a pair is known to be finite, and not by draws alone.

    Bounds that hold say so. For symbols, what q cannot show is decided before anything is drawn, and finitely many
    words have finite terms. Elsewhere any one path of q explains what p shows, at the cost of its probability and of
    the divergences of its emissions from p's, if these are all finite.
    """
    if observed.status in ("exact", "certified"):
        return True
    if all(family.alphabet() is not None for model in (pair.p, pair.q) for family in model.emissions):
        return True
    if not closed(pair.p, pair.q) or not by_formula(pair.p, pair.q):
        return False
    return bool(np.isfinite(emission_pairs(pair.p, pair.q)).all())
