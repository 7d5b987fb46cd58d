"""No observation at all: a Markov chain or tree of states alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from hidiv.emissions.family import Family
from hidiv.emissions.gradients import Gradients, Items
from hidiv.emissions.registry import FamilyPair, no_gaps, register
from hidiv.emissions.sample_space import NOTHING, SampleSpace
from hidiv.emissions.statistics import Statistics
from hidiv.emissions.weighted import Weighted
from hidiv.errors import InvalidModel, refuse
from hidiv.types import Array, IntArray


@dataclass(frozen=True, eq=False)
class Silent(Family):
    """States that show nothing: a Markov chain or tree alone.

    Parameters
    ----------
    n_states : int
        The number of states K, at least 1.

    Raises
    ------
    InvalidModel
        If it is not a whole number from 1.

    Notes
    -----
    Observations have no columns, and every log-probability is 0.

    Examples
    --------
    >>> Silent(3).log_prob([[], []]).shape
    (2, 3)
    """

    name: ClassVar[str] = "silent"
    states: int

    def __init__(self, n_states: int) -> None:
        if isinstance(n_states, bool) or not isinstance(n_states, int | np.integer) or n_states < 1:
            refuse(InvalidModel, "n_states", "must be a whole number from 1", n_states)
        object.__setattr__(self, "states", int(n_states))

    @cached_property
    def n_states(self) -> int:
        return self.states

    @property
    def n_features(self) -> int:
        return 0

    @property
    def is_scalar(self) -> bool:
        return False

    def parameters(self) -> dict[str, int]:
        return {"n_states": self.states}

    def take(self, states: ArrayLike) -> Self:
        return type(self)(int(np.arange(self.states)[np.asarray(states)].size))

    @property
    def space(self) -> SampleSpace:
        return NOTHING

    def check(self, x: Array) -> None:
        """Nothing can be wrong with an observation of no columns."""

    def log_density(self, x: Array) -> Array:
        return np.zeros((x.shape[0], self.states, 0))

    def log_mass(self, lower: Array, upper: Array) -> Array:
        return np.zeros((lower.shape[0], self.states, 0))

    def draw(self, states: IntArray, rng: np.random.Generator) -> Array:
        return np.zeros((states.shape[0], 0))

    def ranges(self) -> dict[str, str]:
        return {"n_states": "fixed"}

    @classmethod
    def begin(cls, n_states: int, x: Array | None, n_symbols: int) -> Self:
        return cls(n_states)

    def maximise(self, known: Weighted, fixed: frozenset[str] = frozenset()) -> Self:
        return self

    def gradients(self, known: Weighted, items: Items) -> Gradients:
        return {}

    def statistics(self) -> Statistics:
        return Statistics((self.name,), np.ones((self.states, 1)), np.zeros((self.states, 1)))

    def powered(self, exponent: float) -> tuple[Self, Array]:
        return self, np.zeros(self.n_states)


def kl(p: Silent, q: Silent) -> Array:
    return np.zeros(p.n_states)


def renyi(p: Silent, q: Silent, alpha: float) -> Array:
    return np.zeros(p.n_states)


def log_ratio(p: Silent, q: Silent, x: Array) -> Array:
    return np.zeros((x.shape[0], p.n_states))


register(Silent, Silent, FamilyPair(kl, renyi, log_ratio, no_gaps))
