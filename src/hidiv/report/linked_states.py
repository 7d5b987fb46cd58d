"""Models with different numbers of states: each state linked with the one whose observations are nearest."""

from __future__ import annotations

from typing import Any

import numpy as np

from hidiv.errors import HidivError
from hidiv.models.model import Model
from hidiv.report.state_names import state_name


def matching(p: Model, q: Model) -> list[dict[str, Any]]:
    """Links from every state of the larger model to the nearest of the smaller; none where the laws do not compare."""
    if p.n_states == q.n_states or p.n_groups > 1 or q.n_groups > 1:
        return []
    left, right = p.emissions[0], q.emissions[0]
    rows, columns = np.repeat(np.arange(p.n_states), q.n_states), np.tile(np.arange(q.n_states), p.n_states)
    try:
        apart = left.take(rows).kl(right.take(columns)).reshape(p.n_states, q.n_states)
    except HidivError:
        return []
    nearest = [(s, int(np.argmin(apart[s]))) for s in range(p.n_states)]
    if p.n_states < q.n_states:
        nearest = [(int(np.argmin(apart[:, t])), t) for t in range(q.n_states)]
    return [
        {"p": state_name(p, s), "q": state_name(q, t), "from": s, "to": t, "moved": False, "apart": float(apart[s, t])}
        for s, t in nearest
    ]
