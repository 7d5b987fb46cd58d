"""A note where the labels of states do not seem to mean the same in all models, as those of separate fits do not.

Where labels are common, the model nearest to another keeps its order of states. Where they are not, nearest models,
which describe much the same process, come a good deal nearer in another order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hidiv.comparison.collection.by_shape import ModelsByShape, by_shape, checked_tree
from hidiv.comparison.collection.collection import evenly_spread
from hidiv.comparison.pairwise.direct import assigned_joint, direct_or_beyond
from hidiv.comparison.pairwise.operands import joint_operands
from hidiv.errors import HidivError
from hidiv.types import Flags

ROWS, COLUMNS = 6, 16  # models whose nearest one is looked for, and among how many
MUCH = 0.3  # of its value a divergence must lose by another order to count
OFTEN = 0.25  # share of the rows that lose as much from which the note is given


def note_on_labels(left: ModelsByShape, right: ModelsByShape, tree: Any) -> Callable[[], list[str]]:
    """A function that gives one sentence where many models come much nearer to their nearest one in another order.

    It looks at some models of the first shape of each list, which are copied: a result keeps no others alive.
    """
    p, q = left.groups[0].models, right.groups[0].models
    if p.n_states < 2:
        return list
    rows, columns = evenly_spread(len(p), ROWS), evenly_spread(len(q), COLUMNS)
    a, b = by_shape(p.take(rows)), by_shape(q.take(columns))
    itself = rows[:, None] == columns if right is left else np.zeros((len(rows), len(columns)), dtype=np.bool_)
    return lambda: _note(a, b, tree, itself)


def _note(a: ModelsByShape, b: ModelsByShape, tree: Any, itself: Flags) -> list[str]:
    """The sentence on the models a and b, or none; itself: where both are one model."""
    first, second = (grid.ravel() for grid in np.indices(itself.shape))
    try:
        ps, qs = joint_operands(a, b, checked_tree(a, b, tree))
        labelled, assigned = (
            values.reshape(itself.shape)
            for values in (
                direct_or_beyond(ps[0], qs[0], first, second).value,
                assigned_joint(ps[0], qs[0], first, second),
            )
        )
    except HidivError:
        return []
    labelled, assigned = np.where(itself, np.inf, labelled), np.where(itself, np.inf, assigned)
    nearest = np.minimum(labelled, assigned).argmin(axis=1)[:, None]
    before, after = (np.take_along_axis(table, nearest, axis=1)[:, 0] for table in (labelled, assigned))
    count = int(np.sum(after < (1.0 - MUCH) * before))
    if count < max(1.0, OFTEN * len(itself)):
        return []
    return [
        f"{count} of {len(itself)} models looked at come at least {MUCH:.0%} nearer to their nearest one with its "
        "states in another order, as separate fits do: the quantities aligned and observed do not depend on labels"
    ]
