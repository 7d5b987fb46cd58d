"""Whether the labels of states mean the same in all models: separate fits number theirs by chance."""

from __future__ import annotations

from typing import Any

import numpy as np

from hidiv.comparison.collection.by_shape import Shelves, checked_tree, shelves_of
from hidiv.comparison.pairwise.assigned_orders import assigned_joint
from hidiv.comparison.pairwise.direct import direct_joint
from hidiv.comparison.pairwise.joint_pairs import joint_sides
from hidiv.errors import HidivError

PAIRS = 16  # looked at
MUCH = 0.5  # of its value a divergence must lose by another order to count
OFTEN = 0.25  # share of the pairs that lose as much from which it is said


def note_on_labels(left: Shelves, right: Shelves, tree: Any) -> list[str]:
    """One sentence where another order of the states brings many pairs much nearer; nothing else."""
    p, q = left.shelves[0].models, right.shelves[0].models
    if p.n_states < 2:
        return []
    rows = np.arange(PAIRS) * len(p) // PAIRS
    columns = (np.arange(PAIRS) * len(q) // PAIRS + 1 + np.arange(PAIRS)) % len(q)
    apart = np.unique(np.stack([rows, columns])[:, (rows != columns) | (right is not left)], axis=1)
    if not apart.size:
        return []
    used = [np.unique(which) for which in apart]
    a, b = (shelves_of(models.take(which)) for models, which in zip((p, q), used, strict=True))
    first, second = (np.searchsorted(which, at) for which, at in zip(used, apart, strict=True))
    try:
        ps, qs = joint_sides(a, b, checked_tree(a, b, tree))
        labelled, assigned = direct_joint(ps[0], qs[0], first, second), assigned_joint(ps[0], qs[0], first, second)
    except HidivError:
        return []
    count = int(np.sum(assigned < (1.0 - MUCH) * labelled))
    if count < max(1.0, OFTEN * len(first)):
        return []
    return [
        f"{count} of {len(first)} pairs looked at come to less than half with their states in another order, as those "
        'of separate fits do: quantity="aligned" or "observed" does not depend on labels'
    ]
