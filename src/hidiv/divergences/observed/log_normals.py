"""Log-normal observations by their logarithms: a divergence does not change, and no double overflows."""

from __future__ import annotations

from typing import Any

from hidiv.divergences.pair import Pair
from hidiv.emissions.families.gaussian import Gaussian
from hidiv.emissions.families.log_normal import LogNormal
from hidiv.models.model import Model


def in_logarithms(pair: Pair) -> Pair:
    """A pair of models of log x where all emissions are log-normal; the pair itself elsewhere."""
    if not all(isinstance(family, LogNormal) for model in (pair.p, pair.q) for family in model.emissions):
        return pair
    return Pair(_logarithms(pair.p), _logarithms(pair.q), pair.tree)


def _logarithms(model: Model) -> Model:
    """The law of log x: Gaussian with the same parameters."""
    emissions = [Gaussian(**family.parameters()) for family in model.emissions]
    moves: Any = [move if known else None for move, known in zip(model.transitions, model.has_transition, strict=True)]
    return Model(
        model.initial,
        moves if len(moves) > 1 else moves[0],
        emissions if len(emissions) > 1 else emissions[0],
        name=model.name,
        state_names=model.state_names,
        end=model.end,
    )
