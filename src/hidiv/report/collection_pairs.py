"""What the page about many models tells of a pair that is clicked: its parts, and the largest causes in words."""

from __future__ import annotations

from math import isinf
from typing import Any

from hidiv.adapters.as_model import as_model
from hidiv.divergences.joint.kl import joint_kl
from hidiv.errors import HidivError
from hidiv.report.causes import causes, finite_whole, guilty
from hidiv.report.page import short

MOST = 20  # models; the pairs of more would take long, and their numbers are on the page anyway
TOLD = 3  # causes of a pair


def pairs_in_words(models: Any, tree: Any, names: list[str]) -> dict[str, Any]:
    """By "i,j" the initial, transition and emission part of the joint divergence as labelled, and its causes."""
    if len(names) > MOST:
        return {}
    known = [as_model(models[i]) for i in range(len(names))]
    told: dict[str, Any] = {}
    for i, p in enumerate(known):
        for j, q in enumerate(known):
            if i == j or p.n_states != q.n_states:
                continue
            try:
                joint = joint_kl(p, q, tree)
            except HidivError:
                continue
            parts = joint.parts
            if parts is None:
                continue
            both = names[i], names[j]
            cells = guilty(p, q, parts, both)[:TOLD] if isinf(joint.value) else []
            told[f"{i},{j}"] = {
                "joint": short(joint.value, 5),
                "parts": short([parts.initial, parts.transition, parts.emission], 4),
                "whole": short(finite_whole(parts), 4),
                "impossible": cells,
                "causes": [[one.words, short(one.adds, 3), one.place] for one in causes(p, q, parts, both)[:TOLD]],
            }
    return told
