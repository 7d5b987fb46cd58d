"""A model and evidence as the tables that a recursion reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from hidiv.inference.rows import EvidenceRows, evidence_and_tree, lay_out, with_ends
from hidiv.inference.weights import FAR, check_end, log_weights, near
from hidiv.models.model import Model, check_groups
from hidiv.models.tree import Tree
from hidiv.recursions.normal_rows import normal_table
from hidiv.recursions.tables import Layout, Tables
from hidiv.types import Array


def tables_of(
    model: Model, evidence: Any, tree: Any, accurate: bool = True, limit: float = FAR
) -> tuple[Tables, Layout, EvidenceRows]:
    """The tables of a model given the evidence, which of their rows each node uses, and the rows themselves.

    accurate: whether differences between states must keep their digits where logarithms are beyond +-limit, which a
    likelihood does not need.
    """
    known, place = evidence_and_tree(evidence, tree)
    check_groups(model, place, "model")
    check_end(model, place)
    rows = lay_out(known, place, model)
    if model.end is not None:
        rows = with_ends(rows, np.array([place.n_nodes - 1]))
    weights, shift = _weights(model, rows, place, accurate, limit)
    return (
        Tables(model.initial, model.transitions, weights, shift),
        rows.layout(place, len(model.transitions)),
        rows,
    )


def _weights(model: Model, rows: EvidenceRows, place: Tree, accurate: bool, limit: float) -> tuple[Array, Array | None]:
    """Log-weights (R, K) and what was taken out of each row; those of normal laws by one kernel while near."""
    laws = model.emissions[0].normal_laws if rows.plain else None
    if laws is not None:
        weights, odd = normal_table(np.ascontiguousarray(rows.x), laws, limit=limit)
        if not odd:
            return weights, None
    return near(model, rows, log_weights(model, rows, place), accurate, limit)
