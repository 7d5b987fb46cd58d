"""Certified entropies of chains of N symbols by blocks, best where the past is soon forgotten (definitions (5.4)).

H(X_n | the L symbols before, the state before those) <= H(X_n | all before) <= H(X_n | the L symbols before).
"""

from __future__ import annotations

from math import log2

import numpy as np

from hidiv.divergences.observed.certified.effort import Effort
from hidiv.divergences.observed.certified.refining import Refiner
from hidiv.divergences.observed.interval import UNIT, FiniteChain, Interval, outward
from hidiv.recursions.powers import stochastic, summed_powers
from hidiv.types import Array

WORDS = 1 << 18
_ONE_BY_ONE = 6  # first laws of the state before a block that are taken one by one


def block_entropy(p: FiniteChain, length: int) -> Refiner:
    """Bounds of H(X_1..N), with longer blocks at every step."""
    block = 1

    def step(effort: Effort) -> Interval | None:
        nonlocal block
        if p.n_symbols ** (block + 1) > WORDS or block > length:
            return None
        lower, upper = _bounds(p, length, min(block, length - 1))
        words = p.n_symbols ** (block + 1)
        effort.spend(20.0 * words * p.n_states * (p.n_states + _ONE_BY_ONE + 2.0))
        rounding = UNIT * length * (4.0 * p.n_states * (block + 2.0) + log2(words) + 64.0) * (1.0 + upper / length)
        how = {"method": "blocks", "symbols": block, "words": words, "rounding": rounding}
        block += 1
        return outward(max(lower - rounding, 0.0), upper + rounding, how)

    return Refiner("blocks", step, float(p.n_symbols), 0.5)


def _bounds(p: FiniteChain, length: int, block: int) -> tuple[float, float]:
    """The first block + 1 symbols exactly, every later one by the block before it."""
    first = _entropy(p, p.initial, block + 1)
    later = length - block - 1
    if later == 0:
        return first, first
    given = np.array([_increment(p, row, block) for row in p.transition])
    transition = stochastic(p.transition)
    # (I + T + ...) given from every state, then from the law of the first one
    lower = float(p.initial @ summed_powers(transition, given, later))
    law, upper = p.initial @ transition, 0.0
    alone = min(later, _ONE_BY_ONE)
    for _ in range(alone):
        upper += _increment(p, law, block)
        law = law @ transition
    if later > alone:  # concave in the law before the block: that of the mean law is not less
        mean = np.array([law @ summed_powers(transition, unit, later - alone) for unit in np.eye(p.n_states)])
        upper += (later - alone) * _increment(p, mean / mean.sum(), block)
    return first + lower, first + upper


def _increment(p: FiniteChain, start: Array, block: int) -> float:
    """H(X_{L+1} | X_1..L), the first state drawn from start."""
    return _entropy(p, start, block + 1) - _entropy(p, start, block)


def _entropy(p: FiniteChain, start: Array, length: int) -> float:
    """H(X_1..L) by its words, the first state drawn from start."""
    front = start[None, :]
    for i in range(length):
        front = front if i == 0 else front @ p.transition
        front = (front[:, None, :] * p.probabilities.T[None]).reshape(-1, p.n_states)
    chances = front.sum(axis=1)
    chances = chances[chances > 0]
    return float(-(chances * np.log(chances)).sum())
