"""Log-normal observations by their logarithms: a divergence does not change, and no double overflows."""

from __future__ import annotations

from typing import Any

from hidiv.emissions.families.gaussian import Gaussian
from hidiv.emissions.families.log_normal import LogNormal
from hidiv.models.model import Model


def in_logarithms(p: Model, q: Model) -> tuple[Model, Model]:
    """p and q as models of log x where all emissions of both are log-normal; as they are elsewhere."""
    if not all(isinstance(family, LogNormal) for m in (p, q) for family in m.emissions):
        return p, q
    return _logarithms(p), _logarithms(q)


def _logarithms(model: Model) -> Model:
    emissions = [Gaussian(**family.parameters()) for family in model.emissions]
    moves: Any = [move if there else None for move, there in zip(model.transitions, model.has_transition, strict=True)]
    return Model(
        model.initial,
        moves if len(moves) > 1 else moves[0],
        emissions if len(emissions) > 1 else emissions[0],
        name=model.name,
        state_names=model.state_names,
        end=model.end,
    )
