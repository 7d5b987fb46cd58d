"""A lower bound on chains of symbols: how far single symbols tell the models apart (Donsker and Varadhan).

For any function g of a symbol, D >= E_p[sum of g(x_t)] - log E_q[exp(sum of g(x_t))]. The first is p's expected counts
of symbols; the second the recursion of q with emissions weighted by e^g. g is raised where p shows a symbol more often
than q does so weighted, which climbs a concave function; whatever it is, the bound holds.
"""

from __future__ import annotations

from math import inf, log

import numpy as np

from hidiv.divergences.measures.product_kernel import radius_above
from hidiv.divergences.observed.alphabets import FiniteChain
from hidiv.divergences.observed.certified.revealed import ROOM
from hidiv.recursions.gth import absorbed, closed_classes, stationary
from hidiv.recursions.powers import stochastic, summed_powers
from hidiv.types import Array

NODES = 128  # that g is fitted on
ROUNDS = 60  # of the fit
ENOUGH = 1e-5  # relative gain of a round at which it ends
LARGEST = 3.0  # change of g in a round


def tilted(p: FiniteChain, q: FiniteChain, length: int | None) -> float:
    """The bound on a chain of `length` symbols, or a step along an endless one; at least 0."""
    tilt = _fitted(p, q, NODES if length is None else min(length, NODES))
    weight = (q.probabilities * np.exp(tilt)).sum(axis=1)  # (K,)
    shown = p.probabilities @ tilt
    if length is None:
        law = _long_run(p)
        gain, size = float(law @ shown), float(law @ np.abs(shown))
        lost = log(radius_above(lambda v: q.transition @ (weight * v), np.ones(q.n_states, dtype=np.bool_)))
    else:
        move = stochastic(p.transition)
        gain, size = (float(p.initial @ summed_powers(move, each, length)) for each in (shown, np.abs(shown)))
        lost = _log_mean(q.initial * weight, q.transition * weight, length - 1)
    return max(gain - lost - 16.0 * ROOM * (size + abs(lost)), 0.0)


def _long_run(p: FiniteChain) -> Array:
    """p's states in the long run."""
    members = closed_classes(p.transition)
    transient = np.ones(p.n_states, dtype=np.bool_)
    transient[np.concatenate(members)] = False
    entered, law = absorbed(p.initial, p.transition, transient), np.zeros(p.n_states)
    for m in members:
        law[m] = entered[m].sum() * stationary(p.transition[np.ix_(m, m)])
    return law


def _log_mean(start: Array, step: Array, turns: int) -> float:
    """log of start step^turns 1, by squaring."""
    total, scale, log_step = start, 0.0, 0.0
    while True:
        if turns & 1:
            total, scale = total @ step, scale + log_step
        top = float(total.max())
        total, scale = total / top, scale + log(top)
        turns >>= 1
        if not turns:
            return scale + log(float(total.sum()))
        step = step @ step
        top = float(step.max())
        step, log_step = step / top, 2.0 * log_step + log(top)


def _fitted(p: FiniteChain, q: FiniteChain, length: int) -> Array:
    """(M,): g for a chain of so many symbols."""
    counts, law = np.zeros(p.n_states), p.initial
    for _ in range(length):
        counts, law = counts + law, law @ p.transition
    wanted = counts @ p.probabilities
    tilt, best, pace = np.zeros(p.n_symbols), 0.0, 1.0
    _, now = _weighted(q, tilt, length)
    for _ in range(ROUNDS):
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.clip(np.nan_to_num(np.log(wanted) - np.log(now), nan=0.0), -LARGEST, LARGEST)
        value = -inf
        while value <= best and pace > 1e-3:
            trial = tilt + pace * step
            lost, then = _weighted(q, trial, length)
            value = float(wanted @ trial) - lost
            pace *= 0.5
        if value <= best * (1.0 + ENOUGH):
            break
        tilt, best, now, pace = trial, value, then, min(1.0, 3.0 * pace)
    return tilt


def _weighted(q: FiniteChain, tilt: Array, length: int) -> tuple[float, Array]:
    """log E_q e^(sum of g), and how often symbols show in the law so weighted (M,)."""
    emitted = q.probabilities * np.exp(tilt)
    weight = emitted.sum(axis=1)
    forward, lost, now = np.empty((length, q.n_states)), 0.0, q.initial * weight
    for t in range(length):
        total = float(now.sum())
        lost += log(total)
        forward[t] = now / total
        now = (forward[t] @ q.transition) * weight
    counts, backward = np.zeros(q.n_states), np.ones(q.n_states)
    for t in range(length - 1, -1, -1):
        here = forward[t] * backward
        counts += here / here.sum()
        backward = q.transition @ (weight * backward)
        backward /= backward.max()
    return lost, np.asarray((counts / np.where(weight > 0, weight, 1.0)) @ emitted)
