"""Divergences of mixtures themselves, one column: integrals and sums over where any component lies."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hidiv.emissions.composite.mixture.anchored import Anchors, anchors
from hidiv.emissions.composite.mixture.crowded import crowded_divergence, crowded_renyi, is_crowded
from hidiv.emissions.composite.mixture.ratios import density_ratio
from hidiv.emissions.families.beta import Beta
from hidiv.emissions.numerics.adaptive_integrals import (
    FARTHEST,
    Function,
    Laws,
    Over,
    around,
    divergence,
    integral,
    log_power,
    peak,
    renyi,
    total,
)  # fmt: skip
from hidiv.emissions.registry import comparable, pair, refuse_range
from hidiv.emissions.sample_space import Kind
from hidiv.errors import IncompatibleModels, refuse
from hidiv.types import Array

if TYPE_CHECKING:
    from hidiv.emissions.composite.mixture.law import MixtureLaw


# log-masses of the tails between which panels lie: the median, the flanks, and where a law has all but vanished.
TAILS = (log(0.5), log(0.25), log(0.05), -6.0, -12.0, -24.0, -48.0)
FLANKS = TAILS[:4]  # well inside every support
FAR_TAILS = (-100.0, -300.0, -690.0)  # for orders above one, whose weight may lie further out
DOUBLES = 2**16  # fewest between the ends of a law that is integrated
REACHES = 64  # steps outwards, each twice the last
ROUNDING = 1e-9  # below zero, of an integral's logarithm
RELATIVE = 2**46  # doubles between two that differ by a hundredth


def divergences(p: MixtureLaw, q: MixtureLaw) -> Array:
    """(K,): KL of the mixtures, accurate to about 1e-12.

    +inf where p has mass and q none.
    """
    places = places_of(p), places_of(q)
    value = np.full(p.n_states, np.inf)
    for s in (s for s, gap in enumerate(_uncovered(p, q, places[0])) if gap is None):
        a, b = p.take([s]), q.take([s])
        _check_resolved(p, places[0], s)
        _check_resolved(q, places[1], s)
        edges = _edges(p, q, places, s)
        if is_crowded(p.space.kind, edges):
            value[s] = crowded_divergence(_pieces(a, b, edges))
        else:
            found = _anchors(p, q, places, s)
            laws = _laws(a, b) if found is None else found.laws_at()
            value[s] = divergence(laws, _over(a, b, edges, found))
        if not np.isfinite(value[s]):
            refuse_range(p, "divergence")
    return value


def _pieces(p: MixtureLaw, q: MixtureLaw, edges: Array) -> list[tuple[Laws, Array]]:
    """Laws by their distance from an end, and edges; proportions below and above one half. One state."""
    least = np.finfo(np.float64).tiny
    both = [(p, q, edges)]
    if p.space.kind is Kind.UNIT:
        left, right = (type(f)(f.weights, [Beta(m.b, m.a) for m in f.components]) for f in (p, q))  # type: ignore[attr-defined]
        mirrored = np.concatenate([_used(f, places_of(f), 0) for f in (left, right)])
        both = [(a, b, np.append(at[at < 0.5], 0.5)) for a, b, at in ((p, q, edges), (left, right, mirrored))]
    for f in (law for *laws, _ in both for law in laws):
        if float(f.log_mass(np.array([[0.0]]), np.array([[least]]))[0, 0, 0]) > TAILS[-2]:
            refuse_range(p, "divergence")
    return [(_laws(a, b), at) for a, b, at in both]


def renyi_divergences(p: MixtureLaw, q: MixtureLaw, alpha: float) -> Array:
    """(K,): the same of order alpha; above 1 infinite where some component of p is so from every one of q."""
    tails = TAILS + (FAR_TAILS if alpha > 1 else ())
    places = places_of(p, tails), places_of(q, tails)
    missing = _uncovered(p, q, places[0]) if alpha > 1 else [None] * p.n_states
    value = np.full(p.n_states, np.inf)
    for s in (s for s, gap in enumerate(missing) if gap is None):
        a, b, edges = p.take([s]), q.take([s]), _edges(p, q, places, s)
        if alpha < 1 or not _diverges(a, b, alpha):
            _check_resolved(p, places[0], s)
            _check_resolved(q, places[1], s)
            value[s] = _renyi(a, b, alpha, edges, _anchors(p, q, places, s))
    return value


def _renyi(p: MixtureLaw, q: MixtureLaw, alpha: float, edges: Array, found: Anchors | None) -> float:
    """The divergence of order alpha; one state. p^alpha q^(1-alpha) may peak where neither law lies."""
    if is_crowded(p.space.kind, edges):
        value = crowded_renyi(_pieces(p, q, edges), alpha)
        if not -ROUNDING <= value < np.inf:
            refuse_range(p, "divergence")
        return max(value, 0.0)
    laws = _laws(p, q) if found is None else found.laws_at()

    def log_f(x: Array) -> Array:
        return log_power(laws, alpha, x)

    open_ended = not p.components[0].space.is_finite and p.space.kind is not Kind.ANGLE and edges.size > 1
    if open_ended and alpha > 1:
        edges = _reaching(log_f, edges, 0.0 if p.space.is_counts else -np.inf)
    height = float(log_f(edges).max())
    if open_ended:
        top = peak(log_f, edges)
        edges, height = around(top, edges), max(height, top.height)
    value = renyi(laws, alpha, _over(p, q, edges, found), height if np.isfinite(height) else 0.0)
    if not -ROUNDING <= value < np.inf or (p.space.is_counts and open_ended and edges[-1] > FARTHEST):
        refuse_range(p, "divergence")
    return max(value, 0.0)


def _reaching(log_f: Function, edges: Array, least: float) -> Array:
    """The edges, and more of them on both sides, to where the function has all but vanished."""
    step = edges[-1] - edges[0]
    for _ in range(REACHES):
        ends = np.array([max(edges[0] - step, least), edges[-1] + step])
        further = ends[log_f(ends) > log_f(edges).max() + TAILS[-1]]
        if not further.size:
            return np.union1d(edges, ends) if np.isfinite(ends).all() else edges
        edges, step = np.union1d(edges, further), 2.0 * step
    return edges


def _check_resolved(p: MixtureLaw, places: list[Array], state: int) -> None:
    """Refuse laws that no sum or integral over doubles can follow: beyond the counts told apart, or too narrow."""
    for member, table, weight in zip(p.components, places, p.weights[state], strict=True):
        if weight == 0 or member.space.is_finite:
            continue
        ends = table[state].min(), table[state].max()
        if member.space.is_counts:
            beyond = member.take([state]).log_mass(np.array([[float(FARTHEST)]]), np.array([[np.inf]]))
            resolved = ends[1] <= FARTHEST and float(beyond[0, 0, 0]) < TAILS[-2]
        else:
            resolved = ends[1] - ends[0] >= DOUBLES * np.spacing(np.abs(ends).max())
        if not resolved:
            refuse_range(p, "divergence")


def uncovered(p: MixtureLaw, q: MixtureLaw) -> list[str | None]:
    """(K,): a value p shows and q never does, in words; supports are half-lines, segments or symbols."""
    if p.space.kind is Kind.LINE:  # every law on the line has mass everywhere
        return [None] * p.n_states
    if p.n_features > 1:
        return _by_components(p, q)
    return _uncovered(p, q, places_of(p, FLANKS))


def _by_components(p: MixtureLaw, q: MixtureLaw) -> list[str | None]:
    """The same for several columns: what a component of p shows and no component of q does."""
    gaps: list[str | None] = [None] * p.n_states
    for c, member in enumerate(p.components):
        each = [pair(member, other).gaps(member, other) for other in q.components]
        for s in range(p.n_states):
            seen = [gap[s] for gap, weight in zip(each, q.weights[s], strict=True) if weight > 0]
            if p.weights[s, c] > 0 and all(gap is not None for gap in seen):
                gaps[s] = gaps[s] or f"{seen[0]} of component {c}"
    return gaps


def _uncovered(p: MixtureLaw, q: MixtureLaw, places: list[Array]) -> list[str | None]:
    gaps: list[str | None] = []
    well_inside = [t if _is_listed(m) else np.delete(t, _deep(t), 1) for m, t in zip(p.components, places, strict=True)]
    for s in range(p.n_states):
        at = _used(p, well_inside, s)
        at = at[~_ends_of(p, at)]
        with np.errstate(all="ignore"):
            log_p, log_q = (np.asarray(f.log_density(at[:, None])[:, s, 0]) for f in (p, q))
        lost = np.flatnonzero((log_p > -np.inf) & (log_q == -np.inf))
        gaps.append(f"values such as {at[lost[0]]:g}" if lost.size else None)
    return gaps


def _ends_of(p: MixtureLaw, at: Array) -> NDArray[np.bool_]:
    """Which places are ends of the sample space, or as good as: quantiles next to one are rounded to it."""
    kind = p.space.kind
    first = (kind in (Kind.POSITIVE, Kind.UNIT)) & (at < np.finfo(np.float64).tiny)
    return np.asarray(first | ((kind is Kind.UNIT) & (at >= 1.0)))


def _deep(table: Array) -> list[int]:
    """The columns of quantiles that lie beyond the flanks."""
    tails = table.shape[1] // 2
    return [c for c in range(table.shape[1]) if c % tails >= len(FLANKS)]


def _edges(p: MixtureLaw, q: MixtureLaw, places: tuple[list[Array], list[Array]], state: int) -> Array:
    """Where panels end: the places of both, and where a density bends, which a rule next to it might not notice."""
    kinks = [member.kinks()[state] for member in p.components + q.components]
    return np.unique(np.concatenate([_used(p, places[0], state), _used(q, places[1], state), *kinks]))


def _used(p: MixtureLaw, places: list[Array], state: int) -> Array:
    """Places of the components that have weight in a state."""
    kept = [table[state] for table, weight in zip(places, p.weights[state], strict=True) if weight > 0]
    return np.unique(np.concatenate(kept))


def where_it_lies(p: MixtureLaw) -> list[Array]:
    """For each state, values that mark out where the components with weight lie."""
    places = places_of(p)
    return [_used(p, places, s) for s in range(p.n_states)]


def places_of(p: MixtureLaw, tails: tuple[float, ...] = TAILS) -> list[Array]:
    """For each component (K, T) values that mark out where it lies: all symbols, counts, angles, or quantiles."""
    if p.n_features != 1:
        refuse(
            IncompatibleModels, "emission", "the KL of mixtures is integrated over one column", p.n_features,
            "use Mixture.bounds or Mixture.estimate; joint divergences take the component as part of the hidden state",
        )  # fmt: skip
    return [_places(member, tails) for member in p.components]


def _places(member: Any, tails: tuple[float, ...]) -> Array:
    space = member.space
    if space.is_finite:
        return np.tile(np.arange(space.most + 1.0), (member.n_states, 1))
    if space.is_counts:
        return count_places(member)
    if space.kind is Kind.ANGLE:
        return np.tile(np.linspace(-np.pi, np.pi, 33), (member.n_states, 1))
    places = quantiles(member, tails)
    return np.minimum(places, 1.0) if space.kind is Kind.UNIT else places  # bisection ends outside the segment


def _is_listed(member: Any) -> bool:
    """Whether the places of a family are no quantiles."""
    return member.space.is_finite or member.space.is_counts or member.space.kind is Kind.ANGLE


def quantiles(member: Any, logs: tuple[float, ...]) -> Array:
    """(K, 2 T): where each state's law leaves T log-masses below, and above; one column, by bisection over doubles."""
    states, tails = member.n_states, len(logs)
    wanted, below = np.tile(logs, 2 * states), np.tile(np.arange(2 * tails) < tails, states)
    rows, own = np.arange(wanted.size), np.repeat(np.arange(states), 2 * tails)
    high = np.full(wanted.size, _rank(np.array(np.finfo(np.float64).max)))
    low = -high
    while True:
        middle = (low & high) + ((low ^ high) >> 1)  # the mean, which a sum might not hold
        t = _double(middle)
        ends = np.where(below, -np.inf, t)[:, None], np.where(below, t, np.inf)[:, None]
        with np.errstate(all="ignore"):
            mass = member.log_mass(*ends)[rows, own, 0]
        beyond = np.where(below, mass >= wanted, mass <= wanted)
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        # Edges of panels need a few digits: of the number, and of the spread of the law it belongs to.
        near, far = _double(low).reshape(states, -1), _double(high).reshape(states, -1)
        with np.errstate(over="ignore"):
            spread = np.abs(far[:, [tails + 1]] - far[:, [1]])
            rough = (high - low > RELATIVE) | (far - near > 0.1 * spread).ravel()
        if not (rough & (high - low > 1)).any():
            return far


def _rank(x: Array) -> NDArray[np.int64]:
    """Positive doubles counted from 0 upwards."""
    return np.asarray(x.view(np.int64))


def _double(rank: NDArray[np.int64]) -> Array:
    """The double of a rank; negative ranks are negative numbers."""
    return np.asarray(np.where(rank < 0, -1.0, 1.0) * np.abs(rank).view(np.float64))


def count_places(member: Any) -> Array:
    """(K, T): a most probable count of each state's law, and counts from there out to where it has all but vanished."""
    from hidiv.emissions.evidence.interval_points import fall

    table = []
    for s in range(member.n_states):
        one = member.take([s])
        peak = np.ravel(one.modes())

        def log_p(k: Array, one: Any = one) -> Array:
            with np.errstate(all="ignore"):
                return np.asarray(one.log_density(k.reshape(-1, 1)).reshape(k.shape))

        far = float(fall(log_p, peak, 1.0)[0])
        side = far * np.exp2(-np.arange(8.0))
        table.append(np.concatenate([peak, peak + side, np.maximum(peak - side, one.first_counts()[0, 0])]))
    return np.asarray(np.ceil(np.array(table)))


def _laws(p: MixtureLaw, q: MixtureLaw) -> Laws:
    """Both laws and their ratio at any point, between counts too, where rules for sums look."""
    # A node that rounds to the end of the segment would meet a density of 0 or infinity there.
    last = np.nextafter(1.0, 0.0) if p.space.kind is Kind.UNIT else np.inf

    def at(f: Callable[[Array], Array]) -> Function:
        def each(x: Array) -> Array:
            with np.errstate(all="ignore"):
                return np.asarray(f(np.minimum(x, last).reshape(-1, 1)).reshape(x.shape))

        return each

    return Laws(at(p.log_density), at(q.log_density), at(lambda x: density_ratio(p, q, x)))


def _anchors(p: MixtureLaw, q: MixtureLaw, places: tuple[list[Array], list[Array]], state: int) -> Anchors | None:
    """Anchors of the laws of a state, where they are narrow beside their distance from 0."""
    used = [
        table[state]
        for f, tables in ((p, places[0]), (q, places[1]))
        for table, weight in zip(tables, f.weights[state], strict=True)
        if weight > 0
    ]
    return anchors(p.take([state]), q.take([state]), used, _laws)


def _over(p: MixtureLaw, q: MixtureLaw, edges: Array, found: Anchors | None) -> Over:
    """Sum or integral over all that either has mass on; one state."""
    if found is not None:
        return found.over(edges)
    if all(member.space.is_finite for member in p.components + q.components):
        return lambda f: float(f(edges).sum())
    if p.space.is_counts:
        return lambda f: total(f, [int(edge) for edge in edges])
    return lambda f: integral(f, edges)


def _diverges(p: MixtureLaw, q: MixtureLaw, alpha: float) -> bool:
    """Whether a component of p has an infinite Renyi divergence from every component of q; one state."""

    def finite(a: Any, b: Any) -> bool:
        if not comparable(a, b):
            rule = f"{a.name} and {b.name} components have no Renyi divergence of order above 1"
            refuse(IncompatibleModels, "emission", rule, alpha)
        return bool(np.isfinite(a.renyi(b, alpha)[0]))

    def weighed(f: MixtureLaw) -> list[Any]:
        return [member for member, weight in zip(f.components, f.weights[0], strict=True) if weight > 0]

    return any(not any(finite(a, b) for b in weighed(q)) for a in weighed(p))
