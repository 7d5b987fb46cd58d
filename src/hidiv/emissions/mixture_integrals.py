"""Divergences of mixtures themselves, one column: integrals and sums over where any component lies."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hidiv.emissions.quadrature import Function, Laws, Over, divergence, integral, log_power, renyi, total
from hidiv.emissions.registry import is_paired
from hidiv.errors import IncompatibleModels, refuse

if TYPE_CHECKING:
    from hidiv.emissions.mixture import Mixture

Array = NDArray[np.float64]

# log-masses of the tails between which panels lie: the median, the flanks, and where a law has all but vanished.
TAILS = (log(0.5), log(0.25), log(0.05), -6.0, -12.0, -24.0, -48.0)
FAR_TAILS = (-100.0, -300.0, -690.0)  # for orders above one, whose weight may lie further out
WIDEST = 709.0  # sinh of it is next to the largest double
HALVINGS = 64


def divergences(p: Mixture, q: Mixture) -> Array:
    """(K,): KL of the mixtures, accurate to about 1e-12; +inf where p has mass and q none."""
    places = where_it_lies(p), where_it_lies(q)
    missing = _uncovered(p, q, places[0])
    value = np.full(p.n_states, np.inf)
    for s in (s for s, gap in enumerate(missing) if gap is None):
        a, b = p.take([s]), q.take([s])
        value[s] = divergence(_laws(a, b), _over(a, b, np.union1d(places[0][s], places[1][s])))
    return value


def renyi_divergences(p: Mixture, q: Mixture, alpha: float) -> Array:
    """(K,): the same of order alpha; above 1 infinite where some component of p is so from every one of q."""
    further = FAR_TAILS if alpha > 1 else ()
    places = where_it_lies(p, further), where_it_lies(q, further)
    missing = _uncovered(p, q, places[0]) if alpha > 1 else [None] * p.n_states
    value = np.full(p.n_states, np.inf)
    for s in (s for s, gap in enumerate(missing) if gap is None):
        a, b, edges = p.take([s]), q.take([s]), np.union1d(places[0][s], places[1][s])
        if alpha < 1 or not _diverges(a, b, alpha):
            laws = _laws(a, b)
            height = max(0.0, float(log_power(laws, alpha, edges).max()))
            value[s] = renyi(laws, alpha, _over(a, b, edges), height)
    return value


def uncovered(p: Mixture, q: Mixture) -> list[str | None]:
    """(K,): a value p shows and q never does, in words; supports are half-lines, segments or symbols."""
    return _uncovered(p, q, where_it_lies(p))


def _uncovered(p: Mixture, q: Mixture, places: list[Array]) -> list[str | None]:
    found: list[str | None] = []
    for s, at in enumerate(places):
        with np.errstate(all="ignore"):
            log_p, log_q = (np.asarray(f.log_density(at[:, None])[:, s, 0]) for f in (p, q))
        lost = np.flatnonzero((log_p > -np.inf) & (log_q == -np.inf))
        found.append(f"values such as {at[lost[0]]:g}" if lost.size else None)
    return found


def where_it_lies(p: Mixture, further: tuple[float, ...] = ()) -> list[Array]:
    """For each state, values that mark out where the components with weight lie: all symbols, or quantiles."""
    from hidiv.emissions.mixture import kind

    if p.n_features != 1:
        refuse(
            IncompatibleModels, "emission", "the KL of mixtures is integrated over one column", p.n_features,
            "use Mixture.bounds or Mixture.estimate; joint divergences take the component as part of the hidden state",
        )  # fmt: skip
    what = kind(p)
    if what == "angles":
        every = [np.tile(np.linspace(-np.pi, np.pi, 33), (p.n_states, 1)) for _ in p.components]
    else:
        every = [symbols(member) if is_finite(member) else quantiles(member, further) for member in p.components]
    if what == "counts":
        every = [np.ceil(np.clip(table, 0.0, 2.0**50)) for table in every]
    return [
        np.unique(np.concatenate([table[s] for table, weight in zip(every, p.weights[s], strict=True) if weight > 0]))
        for s in range(p.n_states)
    ]


def is_finite(member: Any) -> bool:
    """Whether a family has finitely many values."""
    return member.name in ("categorical", "bernoulli", "binomial")


def symbols(member: Any) -> Array:
    """(K, M): all values of a family that has finitely many."""
    if member.name == "categorical":
        last = int(member.n_symbols) - 1
    else:
        last = 1 if member.name == "bernoulli" else int(np.max(member.trials))
    return np.tile(np.arange(last + 1.0), (member.n_states, 1))


def quantiles(member: Any, further: tuple[float, ...] = ()) -> Array:
    """(K, 2 T): where each state's law leaves T log-masses below, and above; one column, by bisection."""
    states, logs = member.n_states, np.array(TAILS + further)
    wanted = np.tile(np.concatenate([logs, logs]), states)
    below = np.tile(np.arange(2 * len(logs)) < len(logs), states)
    rows, own = np.arange(wanted.size), np.repeat(np.arange(states), 2 * len(logs))
    low, high = np.full(wanted.size, -WIDEST), np.full(wanted.size, WIDEST)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        t = np.sinh(middle)
        ends = np.where(below, -np.inf, t)[:, None], np.where(below, t, np.inf)[:, None]
        with np.errstate(all="ignore"):
            mass = member.log_mass(*ends)[rows, own, 0]
        beyond = np.where(below, mass >= wanted, mass <= wanted)
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return np.asarray(np.sinh(0.5 * (low + high)).reshape(states, -1))


def _laws(p: Mixture, q: Mixture) -> Laws:
    """Both laws and their ratio at any point, between counts too, where rules for sums look."""
    from hidiv.emissions.mixture import density_ratio

    def at(f: Callable[[Array], Array]) -> Function:
        def each(x: Array) -> Array:
            with np.errstate(all="ignore"):
                return np.asarray(f(x.reshape(-1, 1)).reshape(x.shape))

        return each

    return Laws(at(p.log_density), at(q.log_density), at(lambda x: density_ratio(p, q, x)))


def _over(p: Mixture, q: Mixture, edges: Array) -> Over:
    """Sum or integral over all that either has mass on; one state."""
    from hidiv.emissions.mixture import kind

    if all(is_finite(member) for member in p.components + q.components):
        return lambda f: float(f(edges).sum())
    if kind(p) == "counts":
        return lambda f: total(f, [int(edge) for edge in edges])
    return lambda f: integral(f, edges)


def _diverges(p: Mixture, q: Mixture, alpha: float) -> bool:
    """Whether a component of p has an infinite Renyi divergence from every component of q; one state."""

    def finite(a: Any, b: Any) -> bool:
        if not is_paired(a, b):
            rule = f"{a.name} and {b.name} components have no Renyi divergence of order above 1"
            refuse(IncompatibleModels, "emission", rule, alpha)
        return bool(np.isfinite(a.renyi(b, alpha)[0]))

    def used(f: Mixture) -> list[Any]:
        return [member for member, weight in zip(f.components, f.weights[0], strict=True) if weight > 0]

    return any(not any(finite(a, b) for b in used(q)) for a in used(p))
