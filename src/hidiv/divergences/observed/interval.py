"""Bounds that hold, what they rest on, and the chains they are about."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, nextafter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hidiv.types import Array

TINY = 1e-150  # products of a transition and an emission below this are left to other methods: they could underflow
UNIT = 2.0**-53  # half the distance from one to the next double: the error of one operation


class FiniteChain(NamedTuple):
    """A hidden Markov chain with a finite alphabet: initial (K,), transition (K, K), probabilities (K, M)."""

    initial: Array
    transition: Array
    probabilities: Array

    @property
    def n_states(self) -> int:
        """Number of hidden states K."""
        return len(self.initial)

    @property
    def n_symbols(self) -> int:
        """Number of symbols M."""
        return int(self.probabilities.shape[-1])

    def steps(self) -> Array:
        """(M, K, K): steps[x](r, s) = transition(r, s) probabilities(s, x), one step that emits x."""
        return np.asarray(self.transition[None, :, :] * self.probabilities.T[:, None, :])

    def laws(self) -> tuple[Array, Array]:
        """transition and probabilities, contiguous."""
        return np.ascontiguousarray(self.transition), np.ascontiguousarray(self.probabilities)

    def moves(self) -> NDArray[np.bool_]:
        """(M, K, K): where `steps` are positive, whatever underflows."""
        return np.asarray((self.transition > 0)[None, :, :] & (self.probabilities > 0).T[:, None, :])

    def first(self) -> Array:
        """(M, K, K): the first symbol, which no transition comes before."""
        return np.asarray(self.probabilities.T[:, None, :] * np.eye(self.n_states))

    def of_states(self, members: NDArray[np.int64], initial: Array | None = None) -> FiniteChain:
        """The chain on a closed set of states, with its own initial law where one is given."""
        start = self.initial[members] if initial is None else initial
        return FiniteChain(start, self.transition[np.ix_(members, members)], self.probabilities[members])


class TreeLaw(NamedTuple):
    """A hidden Markov law node by node, or level by level: initial (K,), transition (n, K, K), probabilities (n, K, M).

    The root's transition is not used.
    """

    initial: NDArray[Any]
    transition: NDArray[Any]
    probabilities: NDArray[Any]

    def support(self) -> TreeLaw:
        """Where it has mass; products and sums of booleans are "and" and "or"."""
        return TreeLaw(*(part > 0 for part in self))


@dataclass(frozen=True)
class Interval:
    """lower <= value <= upper, and `how`: method, counts, allowance for rounding."""

    lower: float
    upper: float
    how: dict[str, Any] = field(default_factory=dict)

    @property
    def width(self) -> float:
        """upper - lower; 0 where both are infinite."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower


class NotApplicable(Exception):
    """The method has no certificate for this pair; the message says why, and another method must be asked."""


def outward(lower: float, upper: float, how: dict[str, Any] | None = None) -> Interval:
    """The interval with both ends moved to the next double outside, which covers the last operation."""
    return Interval(nextafter(lower, -inf), nextafter(upper, inf), how or {})


def difference(cross: Interval, entropy: Interval) -> Interval:
    """A divergence from its two parts, D = C - h, never below zero."""
    how = {"cross_entropy": cross.how | ends(cross), "entropy": entropy.how | ends(entropy)}
    interval = outward(cross.lower - entropy.upper, cross.upper - entropy.lower, how)
    return Interval(max(interval.lower, 0.0), max(interval.upper, 0.0), how)


def ends(interval: Interval) -> dict[str, float]:
    """The bounds as entries of a certificate."""
    return {"lower": interval.lower, "upper": interval.upper}
