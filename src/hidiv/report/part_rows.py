"""The parts of a joint divergence as rows of a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from hidiv.divergences.joint.local_terms import Local
from hidiv.divergences.result import Divergence
from hidiv.models.model import Model
from hidiv.report.heat_tables import share

MOST = 400  # rows; of more, the largest are shown


def part_rows(p: Model, q: Model, joint: Divergence | None, local: Local | None) -> dict[str, Any]:
    """The initial law, rows and states with their own divergence and what they add to the whole, the largest first."""
    if joint is None or joint.parts is None or local is None:
        return {"rows": [], "left_out": 0, "grouped": False}
    rows: list[dict[str, Any]] = [_row("initial law", None, "", local.initial, joint.parts.initial, joint.value)]
    for kind, own, adds in (
        ("transition from", local.rows, np.atleast_2d(joint.parts.rows)),
        ("emission in", local.states, np.atleast_2d(joint.parts.states)),
    ):
        for (g, s), value in np.ndenumerate(adds):
            name = f"state {s}" if p.state_names is None else p.state_names[s]
            group = int(g) if len(adds) > 1 else None
            rows.append(_row(kind, group, name, float(own[min(g, len(own) - 1), s]), float(value), joint.value))
    rows.sort(key=lambda row: -row["adds"])
    grouped = any(row["group"] is not None for row in rows)
    return {"rows": rows[:MOST], "left_out": max(0, len(rows) - MOST), "grouped": grouped}


def _row(kind: str, group: int | None, state: str, own: float, adds: float, whole: float) -> dict[str, Any]:
    """One row as the template reads it."""
    return {"kind": kind, "group": group, "state": state, "own": own, "adds": adds, "share": share(adds, whole)}
