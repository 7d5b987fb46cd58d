"""A mixture together with its component: what a joint divergence compares, in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hidiv.emissions.registry import FamilyPair, pair, register
from hidiv.errors import IncompatibleModels, refuse
from hidiv.recursions.terms import row_divergence, row_renyi
from hidiv.types import Array

UNDERFLOWS = 1e-290  # probabilities below may have lost digits

if TYPE_CHECKING:
    from hidiv.emissions.composite.mixture.law import MixtureLaw


@dataclass(frozen=True, eq=False)
class Marked:
    """The law of (component, observation) given the state; its observations are those of the mixture.

    KL = KL(weights) + sum_c weights_p(c) KL(component c of p || component c of q): components are paired by place, as
    states are by label.
    """

    name: ClassVar[str] = "marked"
    mixture: MixtureLaw

    @property
    def n_states(self) -> int:
        return self.mixture.n_states

    @property
    def n_features(self) -> int:
        return self.mixture.n_features

    @property
    def kl_is_integral(self) -> bool:
        return False

    def take(self, states: ArrayLike) -> Marked:
        return Marked(self.mixture.take(states))

    def embed(self, other: Any) -> Any:
        """A plain family as the mixture of it alone, with its component."""
        mixture = self.mixture.embed(other)
        return None if mixture is None else Marked(mixture)

    def kl(self, other: Any) -> Array:
        return pair(self, other).kl(self, other)

    def renyi(self, other: Any, alpha: float) -> Array:
        return pair(self, other).renyi(self, other, alpha)

    def log_ratio(self, other: Any, x: Array) -> Array:
        """(n, K): the mean of log q/p of (component, x) over p's component given x."""
        return pair(self, other).log_ratio(self, other, x)

    def gaps(self, other: Any) -> list[str | None]:
        return pair(self, other).gaps(self, other)


def paired_components(p: Marked, q: Marked) -> list[tuple[FamilyPair, Any, Any]]:
    """How each component of p compares with the one in the same place in q."""
    first, second = p.mixture.components, q.mixture.components
    if len(first) != len(second):
        rule = f"the mixtures have {len(first)} and {len(second)} components, which cannot be paired"
        refuse(IncompatibleModels, "emission", rule, remedy="use the observed divergence, or give components weight 0")
    return [(pair(a, b), a, b) for a, b in zip(first, second, strict=True)]


def weighted_sum(weights: Array, values: Array) -> Array:
    """(K, C) twice -> (K,): sums in which an infinite value without weight counts nothing."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(weights > 0, weights * values, 0.0).sum(axis=-1))


def kl(p: Marked, q: Marked) -> Array:
    each = np.stack([how.kl(a, b) for how, a, b in paired_components(p, q)], axis=1)
    return row_divergence(p.mixture.weights, q.mixture.weights) + weighted_sum(p.mixture.weights, each)


def renyi(p: Marked, q: Marked, alpha: float) -> Array:
    """log Z of the weights, and of the components under the weights' geometric mean; both of one sign."""
    a, b = p.mixture.weights, q.mixture.weights
    each = np.stack([how.renyi(f, g, alpha) for how, f, g in paired_components(p, q)], axis=1)
    outer = row_renyi(a, b, alpha)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        logs = alpha * np.log(a) + (1.0 - alpha) * np.log(b)
        tilted = np.where((a > 0) & (b > 0), np.exp(logs - (alpha - 1.0) * outer[:, None]), 0.0)
        excess = weighted_sum(tilted, np.expm1((alpha - 1.0) * each))
        return np.where(np.isinf(outer), outer, outer + np.log1p(excess) / (alpha - 1.0))


def log_ratio(p: Marked, q: Marked, x: Array) -> Array:
    paired_components(p, q)
    laws, others = p.mixture.component_laws(x), q.mixture.component_laws(x)
    value = np.asarray(p.mixture.log_ratio(q.mixture, x) - row_divergence(laws, others))
    far = ((laws > 0) & (others < UNDERFLOWS)).any(axis=-1)
    if far.any():  # a share that has no digits left: its logarithm has them
        first, second = (family.mixture.component_logs(x) for family in (p, q))
        with np.errstate(invalid="ignore"):
            value = np.where(far, weighted_sum(laws, second - first), value)
    return value


def gaps(p: Marked, q: Marked) -> list[str | None]:
    """The first component that has one."""
    each = [how.gaps(a, b) for how, a, b in paired_components(p, q)]
    first_gaps: list[str | None] = []
    for s, (a, b) in enumerate(zip(p.mixture.weights, q.mixture.weights, strict=True)):
        of_state = [f"component {c}" if b[c] == 0 else f"{gap[s]} of component {c}" for c, gap in enumerate(each)
                    if a[c] > 0 and (b[c] == 0 or gap[s] is not None)]  # fmt: skip
        first_gaps.append(of_state[0] if of_state else None)
    return first_gaps


register(Marked, Marked, FamilyPair(kl, renyi, log_ratio, gaps))
