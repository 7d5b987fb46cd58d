"""Long-run laws by elimination without subtraction (Grassmann, Taksar, Heyman), so that no digit cancels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.types import Array, Flags

FAINT = 2.0**-500  # chances to move on below which products of them might be lost
RARE = 2.0**-200  # chances below which they are multiplied with the longest range of exponents there is


def reaches(allowed: Flags) -> Flags:
    """(K, K): whether s can be reached from r in any number of steps, none included."""
    closure = allowed | np.eye(len(allowed), dtype=np.bool_)
    for _ in range(max(len(allowed) - 1, 1).bit_length()):
        closure = (closure.astype(np.float64) @ closure.astype(np.float64)) > 0
    return np.asarray(closure, dtype=np.bool_)


def closed_classes(transition: Array) -> list[NDArray[np.int64]]:
    """The sets of states that, once entered, are never left and visited for ever."""
    closure = reaches(transition > 0)
    mutual = closure & closure.T
    classes = []
    for s in range(len(transition)):
        members = np.flatnonzero(mutual[s])
        if members[0] == s and not (closure[s] & ~mutual[s]).any():
            classes.append(members)
    return classes


def wide_range(transition: Array) -> NDArray[np.floating[Any]]:
    """A copy whose products are not lost: with the exponents of long doubles where a chance is tiny."""
    tiny = bool(((transition > 0) & (transition < RARE)).any())
    return np.array(transition, dtype=np.longdouble if tiny else np.float64)


def without_staying(transition: Array) -> tuple[NDArray[np.floating[Any]], NDArray[np.int64]]:
    """(K, K): chances to move on, and (K,): the powers of two by which rows were multiplied whose products would be
    lost, those of states that are hardly ever left."""
    work = wide_range(transition)
    np.fill_diagonal(work, 0.0)
    largest = work.max(axis=1)
    powers = np.where((largest > 0) & (largest < FAINT), -np.frexp(largest)[1], 0).astype(np.int64)
    return np.ldexp(work, powers[:, None]), powers


def stationary(transition: Array) -> Array:
    """(K,): the stationary law of an irreducible chain."""
    work, powers = without_staying(transition)
    k = len(work)
    leaving = np.ones(k, dtype=work.dtype)
    for last in range(k - 1, 0, -1):
        leaving[last] = work[last, :last].sum()
        work[:last, :last] += np.outer(work[:last, last], work[last, :last] / leaving[last])
    law = np.zeros(k, dtype=work.dtype)
    law[0] = 1.0
    for s in range(1, k):
        arriving = law[:s] @ work[:s, s]
        if arriving > leaving[s]:  # kept at most 1, for a state that is hardly left would overflow
            law[:s] *= leaving[s] / arriving
            arriving = leaving[s]
        law[s] = arriving / leaving[s]
    law = np.ldexp(law, powers - powers.max())
    return np.asarray(law / law.sum(), dtype=np.float64)


def absorbed(initial: Array, transition: Array, transient: Flags) -> Array:
    """(K,): the law of the first state outside `transient`, started from `initial`."""
    work, _ = without_staying(transition)
    law = np.array(initial, dtype=work.dtype)
    left = ~transient
    for s in np.flatnonzero(transient):
        others = left | (transient & (np.arange(len(law)) > s))
        row = np.where(others, work[s], 0.0)
        total = row.sum()
        if total > 0:  # a transient state that nothing enters may have lost its row already
            row /= total
        law, law[s] = law + law[s] * row, 0.0
        work[others] += np.outer(work[others, s], row)
        work[:, s] = 0.0
    return law.astype(np.float64)


def cesaro_law(initial: Array, transition: Array) -> Array:
    """(K,): the Cesaro limit of initial T^i: each closed class weighted by its absorption probability."""
    classes = closed_classes(transition)
    recurrent = np.zeros(len(initial), dtype=np.bool_)
    for members in classes:
        recurrent[members] = True
    entered = absorbed(initial, transition, ~recurrent)
    law = np.zeros(len(initial))
    for members in classes:
        law[members] = entered[members].sum() * stationary(transition[np.ix_(members, members)])
    return np.asarray(law / law.sum())


def visits_until_end(initial: Array, transition: Array, end: Array) -> Array:
    """(K,): expected visits initial (I - Q)^{-1} of a chain that stops after state r with probability end(r).

    States that cannot be reached count 0; every state reached must reach an end.
    """
    work = np.array(transition, dtype=np.float64)
    ends = np.array(end, dtype=np.float64)
    start = np.array(initial, dtype=np.float64)
    k = len(start)
    leaving = np.ones(k)
    for s in range(k - 1, -1, -1):
        leaving[s] = work[s, :s].sum() + ends[s]
        if leaving[s] == 0.0:  # a dead end, not reached: the caller has made sure
            leaving[s] = 1.0
            continue
        share = work[:s, s] / leaving[s]
        work[:s, :s] += np.outer(share, work[s, :s])
        ends[:s] += share * ends[s]
        start[:s] += start[s] / leaving[s] * work[s, :s]
    visits = np.zeros(k)
    for s in range(k):
        visits[s] = (start[s] + visits[:s] @ work[:s, s]) / leaving[s]
    return visits
