"""Mixtures: a component is drawn given the state, then the observation from that component's law."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from hidiv.emissions.composite.mixture.law import MixtureLaw, nothing_known
from hidiv.emissions.composite.mixture.ratios import are_paired, mixed_ratio, residual, weight_ratio
from hidiv.emissions.gradients import Gradients, Items
from hidiv.emissions.registry import FamilyPair, Tables, pair, register
from hidiv.recursions.mixture_rows import mixture_tables
from hidiv.recursions.terms import log_ratio as ratio_of_weights
from hidiv.types import Array

if TYPE_CHECKING:
    from hidiv.emissions.composite.mixture.bounds import Bounds
    from hidiv.emissions.composite.mixture.marked import Marked
    from hidiv.emissions.weighted import Weighted


class Mixture(MixtureLaw):
    """Mixtures: a component is drawn given the state, then the observation from its law.

    Parameters
    ----------
    weights : array_like
        (K, C): the probability of each component in each state; rows sum to one within 1e-8.
    components : sequence of Family
        C families of K states, with the same columns and values of one kind.

    Raises
    ------
    InvalidModel
        If weights and components do not fit together, or the components show values of different kinds.

    Notes
    -----
    e_s(x) of definitions (1.1) is sum_c weights(s, c) components[c](x | s). `kl` is that of the mixture itself, which
    has no closed form: it is integrated for one column and refused for more (`bounds` and `kl_estimate` are there for
    any number). Joint divergences take the component as part of the hidden state (`complete`).

    Examples
    --------
    >>> from hidiv.emissions.families.gaussian import Gaussian
    >>> two = Mixture([[0.5, 0.5]], [Gaussian([-1.0], std=[1.0]), Gaussian([1.0], std=[1.0])])
    >>> round(float(two.log_prob([0.0])[0, 0]), 12)
    -1.418938533205
    """

    name: ClassVar[str] = "mixture"
    needs: ClassVar[str] = "its families"
    template: ClassVar[str] = "hd.Mixture([[0.5, 0.5]], [hd.Gaussian([0.0], std=[1.0]), hd.Gaussian([1.0], std=[1.0])])"
    nested: ClassVar[str | None] = "components"

    def maximise(self, known: Weighted, fixed: frozenset[str] = frozenset()) -> Self:
        """Responsibilities of the components given the state, then the weights and components that maximise with them.

        An expectation step inside the maximisation: the sum over u of weight[u, s] log w_u(s) never falls.
        """
        laws = self.component_laws(known.x, known.lower, known.upper, known.inside)
        return self.maximised(known, laws, fixed)

    def maximised(self, known: Weighted, laws: Array, fixed: frozenset[str]) -> Self:
        """The mixture that maximises the likelihood, given laws (n, K, C) of the component given state and observation.

        Each component is estimated from the weight that falls on it; weights(s, c) is its share of that of the state.
        States without weight stay as they are.
        """
        shared = laws * known.weight[:, :, None]
        members = [
            member.maximise(known.weighing(np.ascontiguousarray(shared[:, :, c])), fixed)
            for c, member in enumerate(self.components)
        ]
        weights = self.weights
        if "weights" not in fixed:
            mass = shared.sum(axis=0)
            total = mass.sum(axis=1, keepdims=True)
            weights = np.where(total > 0, mass / np.where(total > 0, total, 1.0), weights)
        return type(self)(weights, members)

    def gradients(self, known: Weighted, items: Items) -> Gradients:
        """Those of the components with the weights of their laws given the state; 0 for weights that are 0."""
        laws = self.component_laws(known.x, known.lower, known.upper, known.inside)
        nothing = nothing_known(known.x, known.lower, known.upper)
        if known.inside is not None:
            nothing &= known.inside.all(axis=1)
        shared = np.where(nothing[:, None, None], 0.0, known.weight[:, :, None] * laws)
        with np.errstate(divide="ignore", invalid="ignore"):
            weights = np.where(self.weights > 0, items.sum(shared) / self.weights, 0.0)
        components = [
            member.gradients(known.weighing(np.ascontiguousarray(shared[:, :, c])), items)
            for c, member in enumerate(self.components)
        ]
        return {"weights": weights, "components": components}

    def complete(self) -> Marked:
        from hidiv.emissions.composite.mixture.marked import Marked

        return Marked(self)

    def bounds(self, other: Mixture) -> Bounds:
        """Certified bounds on the KL of each state's mixture, any number of columns."""
        from hidiv.emissions.composite.mixture.bounds import bounds

        return bounds(self, other)

    def kl_estimate(self, other: Mixture, samples: int = 10_000, seed: Any = None) -> tuple[Array, Array]:
        """(K,) twice: a Monte Carlo estimate of the KL of each state's mixture, and its standard error."""
        from hidiv.emissions.composite.mixture.bounds import estimate

        return estimate(self, other, samples, seed)


def kl(p: Mixture, q: Mixture) -> Array:
    from hidiv.emissions.composite.mixture.integrals import divergences

    return divergences(p, q)


def renyi(p: Mixture, q: Mixture, alpha: float) -> Array:
    from hidiv.emissions.composite.mixture.integrals import renyi_divergences

    return renyi_divergences(p, q, alpha)


def gaps(p: Mixture, q: Mixture) -> list[str | None]:
    from hidiv.emissions.composite.mixture.integrals import uncovered

    return uncovered(p, q)


def log_ratio(p: Mixture, q: Mixture, x: Array) -> Array:
    """log q(x)/p(x), from the ratios of paired components where those are small."""
    ratios = None
    if are_paired(p, q):
        pairs = zip(p.components, q.components, strict=True)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratios = np.stack([a.log_ratio(b, x) for a, b in pairs], axis=2)
    return mixed_ratio(p, q, ratios, p.component_laws(x), p.log_weight(x), q.log_weight(x))


def tables(p: Mixture, q: Mixture) -> Tables:
    """From those of the components where they are paired and have them; else of each mixture."""
    how = [pair(a, b).tables for a, b in zip(p.components, q.components, strict=True)] if are_paired(p, q) else [None]
    with np.errstate(divide="ignore"):
        of_p, of_q = (np.ascontiguousarray(np.log(family.weights).T) for family in (p, q))
    if any(each is None for each in how):
        return lambda x, with_q: (p.log_weight(x), q.log_weight(x), log_ratio(p, q, x), bool(np.isnan(x).any()))
    fast = [each(a, b) for each, a, b in zip(how, p.components, q.components, strict=True) if each is not None]
    between = np.ascontiguousarray(ratio_of_weights(p.weights, q.weights).T)

    def seen(x: Array, with_q: bool) -> tuple[Array, Array | None, Array, bool]:
        first, second, ratios, odd = zip(*(each(x, True) for each in fast), strict=True)
        log_p, log_q, ratio, strange = mixture_tables(first, second, ratios, of_p, of_q, between)
        if any(odd):
            sound = np.all([np.abs(table) <= 1e300 for table in (*first, *second, *ratios)], axis=0).all(axis=1)
            ratio[~sound] = np.nan
        return log_p, log_q, ratio, strange or any(odd)

    return seen


def bounds_pair(p: Mixture, q: Mixture) -> tuple[Array, Array]:
    certified = p.bounds(q)
    return certified.lower, certified.upper


register(Mixture, Mixture, FamilyPair(kl, renyi, log_ratio, gaps, None, weight_ratio, residual, bounds_pair, tables))
