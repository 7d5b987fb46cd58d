"""One model and evidence as the numbers a recursion reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from hidiv.inference.far_rows import FAR, near
from hidiv.inference.rows import EvidenceRows, evidence_and_tree, lay_out, with_ends
from hidiv.inference.weights import check_end, layout_of, log_weights
from hidiv.models.groups import check_groups
from hidiv.models.model import Model
from hidiv.recursions.layout import Layout
from hidiv.recursions.tables import Tables


def tables_of(
    model: Model, evidence: Any, tree: Any, accurate: bool = True, limit: float = FAR
) -> tuple[Tables, Layout, EvidenceRows]:
    """One model's tables on the evidence, and how the nodes use them.

    accurate: differences between states keep their digits where logarithms are beyond +-limit; a likelihood needs none.
    """
    known, on = evidence_and_tree(evidence, tree)
    check_groups(model, on, "model")
    check_end(model, on)
    rows = lay_out(known, on, model)
    if model.end is not None:
        rows = with_ends(rows, np.array([on.n_nodes - 1]))
    weights, shift = near(model, rows, log_weights(model, rows, on), accurate, limit)
    return (
        Tables(model.initial, model.transitions, weights, shift),
        layout_of(len(model.transitions), on, rows),
        rows,
    )
