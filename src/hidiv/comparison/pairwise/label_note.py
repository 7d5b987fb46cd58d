"""A note where the labels of states do not seem to mean the same in all models, as those of separate fits do not.

Where labels are common, the model nearest to another keeps its order of states. Where they are not, nearest models,
which describe much the same process, come a good deal nearer in another order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hidiv.comparison.collection.by_shape import ModelsByShape, by_shape, checked_tree
from hidiv.comparison.pairwise.direct import assigned_joint, direct_or_beyond
from hidiv.comparison.pairwise.joint_pairs import joint_operands
from hidiv.errors import HidivError
from hidiv.types import Array, IntArray

ROWS, COLUMNS = 6, 16  # models whose nearest one is looked for, and among how many
MUCH = 0.3  # of its value a divergence must lose by another order to count
OFTEN = 0.25  # share of the rows that lose as much from which the note is given


def note_on_labels(left: ModelsByShape, right: ModelsByShape, tree: Any, values: Array | None = None) -> list[str]:
    """One sentence where many models have a nearest one that comes much nearer with its states in another order.

    values (M, M'): the joint divergences of all pairs, where they are known.
    """
    p, q = left.groups[0].models, right.groups[0].models
    if p.n_states < 2:
        return []
    rows, columns = _spread(len(p), ROWS), _spread(len(q), COLUMNS)
    a, b = by_shape(p.take(rows)), by_shape(q.take(columns))
    first, second = (grid.ravel() for grid in np.indices((len(rows), len(columns))))
    try:
        ps, qs = joint_operands(a, b, checked_tree(a, b, tree))
        assigned = assigned_joint(ps[0], qs[0], first, second).reshape(len(rows), len(columns))
        if values is None:
            labelled = direct_or_beyond(ps[0], qs[0], first, second).value.reshape(assigned.shape)
        else:
            labelled = values[np.ix_(left.groups[0].places[rows], right.groups[0].places[columns])]
    except HidivError:
        return []
    if right is left:
        itself = rows[:, None] == columns
        labelled[itself], assigned[itself] = np.inf, np.inf
    nearest = np.minimum(labelled, assigned).argmin(axis=1)[:, None]
    before, after = (np.take_along_axis(table, nearest, axis=1)[:, 0] for table in (labelled, assigned))
    count = int(np.sum(after < (1.0 - MUCH) * before))
    if count < max(1.0, OFTEN * len(rows)):
        return []
    return [
        f"{count} of {len(rows)} models looked at come at least {MUCH:.0%} nearer to their nearest one with its states "
        'in another order, as separate fits do: quantity="aligned" or "observed" does not depend on labels'
    ]


def _spread(size: int, most: int) -> IntArray:
    """At most `most` indices below `size`, evenly spread."""
    return np.unique(np.linspace(0, size - 1, most).astype(np.int64))
