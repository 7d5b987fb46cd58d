"""The divergences of the initial laws, of single transition rows and of single emission states.

Every joint divergence is a sum of these local terms, weighted by how often p visits each of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hidiv.divergences.pair import Pair, families, of_models
from hidiv.emissions.registry import pair as check_comparable
from hidiv.errors import HidivError, OutOfRange, refuse
from hidiv.recursions.terms import row_divergence
from hidiv.types import Array

if TYPE_CHECKING:
    from collections.abc import Callable

    from hidiv.emissions.family import Family
    from hidiv.models.model import Model


@dataclass(frozen=True, eq=False)
class Local:
    """Root, row and state divergences; one group when neither model ties that part by group."""

    initial: float
    rows: Array  # (G or 1, K)
    states: Array  # (G or 1, K)

    @property
    def is_finite(self) -> bool:
        """Whether no term at all is infinite, reached or not."""
        return bool(np.isfinite(self.initial) and np.isfinite(self.rows).all() and np.isfinite(self.states).all())


@of_models
def local_terms(pair: Pair) -> Local:
    """KL of the initial laws, of every transition row (end included) and of every emission state."""
    p, q = pair.p, pair.q
    rows = row_divergence(with_end(p), with_end(q))
    return Local(
        float(row_divergence(p.initial, q.initial)), used_rows(p, q, rows), by_family(p, q, _emission_divergence)
    )


def used_rows(p: Model, q: Model, rows: Array) -> Array:
    """Row terms (G or 1, K) with 0 for a group that lacks a matrix in either model: such a group is never used."""
    return np.where((p.has_transition & q.has_transition)[:, None], rows, 0.0)


def _emission_divergence(p: Family, q: Family) -> Array:
    """(K,): +inf only where q lacks support that p has; a finite value no double holds is an error."""
    value = p.kl(q)
    if np.isinf(value).any():
        for state, gap in enumerate(p.gaps(q)):
            if gap is None and np.isinf(value[state]):
                refuse(
                    OutOfRange,
                    "emission",
                    f"the divergence in state {state} is finite but beyond the range of doubles",
                    remedy="rescale the observations",
                )
    return value


def with_end(model: Model) -> Array:
    """Transition rows (G, K, K), with the end probability as a last column where there is one."""
    return (
        model.transitions
        if model.end is None
        else np.concatenate([model.transitions, model.end[None, :, None]], axis=2)
    )


def by_family(p: Model, q: Model, compare: Callable[[Family, Family], Array]) -> Array:
    """(G or 1, K): one comparison for each pair of families; a refusal starts with the group.

    The component of a mixture is compared as part of the hidden state.
    """
    pairs = families(p, q)
    compared = []
    for g, (a, b) in enumerate(pairs):
        try:
            whole_a, whole_b = a.complete(), b.complete()
            if whole_a is not a or whole_b is not b:
                check_comparable(a, b)  # a refusal names the families as the user knows them
            compared.append(compare(whole_a, whole_b))
        except HidivError as error:
            raise type(error)(f"group {g}, {error}" if len(pairs) > 1 else str(error)) from None
    return np.stack(compared)
