"""Certified rates of chains of symbols (definitions (5.4) and (5.6)).

By closed classes of p: closed forms where there are any, collocation in the log-odds of the filter where it has two
states, contexts and grids in turns elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf, log
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hidiv.divergences.observed.alphabets import FiniteChain, alike, finite_chains, no_alphabet
from hidiv.divergences.observed.budget import SECONDS, Effort
from hidiv.divergences.observed.certified.belief_grid.grid_rates import grid_cross, grid_entropy
from hidiv.divergences.observed.certified.context_bounds import context_cross, context_entropy
from hidiv.divergences.observed.certified.joint_bound import cut_at_joint, within_tolerance
from hidiv.divergences.observed.certified.log_odds.chebyshev import values, zeros
from hidiv.divergences.observed.certified.log_odds.filter import domain
from hidiv.divergences.observed.certified.log_odds.operator import Operator, SymbolOperator
from hidiv.divergences.observed.certified.refining import Part, Refiner, bounded, narrowed
from hidiv.divergences.observed.interval import UNIT, Interval, NotApplicable, outward
from hidiv.divergences.observed.support.symbols import forbidden_word
from hidiv.errors import counted
from hidiv.recursions.gth import absorbed, closed_classes, reaches, stationary
from hidiv.types import Array

if TYPE_CHECKING:
    from hidiv.divergences.observed.budget import Budget
    from hidiv.divergences.pair import Pair
    from hidiv.divergences.result import Divergence

WIDTH = 1e-10  # of an interval, by default
UNKNOWNS = 2400  # of the collocation equations, at most
_NODES = (10, 16, 24, 36, 54, 80, 120, 180, 270, 400, 600)


def applies(pair: Pair) -> str | None:
    """Symbols of a finite alphabet."""
    return no_alphabet(pair)


def run(pair: Pair, budget: Budget) -> Divergence:
    """Bounds of the rate of an endless chain."""
    chains, cut = pair.once(finite_chains), partial(cut_at_joint, pair, budget)
    near = within_tolerance(pair, budget) if alike(*chains) else None
    return near or bounded(observed_rate(*chains, budget.narrow, budget.effort(), cut), pair, budget)


def observed_rate(
    p: FiniteChain,
    q: FiniteChain,
    enough: Callable[[Interval], bool] = lambda interval: interval.width <= WIDTH,
    effort: Effort | None = None,
    cut: Callable[[Interval], Interval] = lambda interval: interval,
) -> Interval:
    """Bounds of lim D_X(N) / N; +inf, with the word, where p emits a word q cannot.

    Cross-entropy and entropy apart: in the log-odds where the filter has two states; else by contexts and by grids of
    filters in turns, until `enough`, until the `effort` is spent, or an interrupt. `cut` narrows by other means.
    """
    effort = effort or Effort.lasting(SECONDS)
    word = forbidden_word(p, q)
    if word is not None:
        return Interval(inf, inf, {"method": "support of words", "word": list(word)})
    return narrowed(_cross_parts(p, q), _entropy_parts(p), enough, effort, cut)


def _cross_parts(p: FiniteChain, q: FiniteChain) -> list[Part]:
    """The cross-entropy rate where it is known at once, or by closed classes of p, to be refined."""
    try:
        return [Part(1.0, cross_entropy_rate(p, q), [])]
    except NotApplicable:
        pass
    p, q = reached(p), reached(q)
    return [
        Part(share, Interval(0.0, inf, {"method": "none"}), refiners_cross(part, q, p, members))
        for share, part, members in closed_parts(p)
    ]


def _entropy_parts(p: FiniteChain) -> list[Part]:
    """The entropy rate of every closed class of p, known at once or to be refined."""
    parts = []
    for share, part in classes(p):
        try:
            parts.append(Part(share, _class_entropy(part), []))
        except NotApplicable:
            most = Interval(0.0, log(part.n_symbols) * (1.0 + 4.0 * UNIT), {"method": "alphabet"})
            parts.append(Part(share, most, refiners_entropy(part)))
    return parts


def refiners_cross(p: FiniteChain, q: FiniteChain, whole: FiniteChain, members: NDArray[np.int64]) -> list[Refiner]:
    """What can bound the cross-entropy rate of q on a closed class p of `whole`, its states there `members`."""
    return [context_cross(p, q), grid_cross(p, q, whole, members)]


def refiners_entropy(p: FiniteChain) -> list[Refiner]:
    """What can bound the entropy rate of a closed class p, whatever q is."""
    return [context_entropy(p), grid_entropy(p)]


def cross_entropy_rate(p: FiniteChain, q: FiniteChain) -> Interval:
    """Bounds of lim -E_p log q(x_1..N) / N, q with at most two states that it can be in, any p.

    p's closed classes weighted by absorption; the filter forgets where it started. q must be able to emit what p does.
    """
    q = reached(q)
    if q.n_states > 2:
        raise NotApplicable(f"the filter of q has {counted(q.n_states, 'state')}, not two")
    parts = classes(p)
    if (q.transition == 0)[[0, -1], [-1, 0]].any() and _may_be_excluded(reached(p), q, parts):
        raise NotApplicable("q never forgets which of its states p excluded before it settled")
    if q.n_states == 2 and not q.transition.diagonal().any():
        return _alternating(p, q)
    if q.n_states == 1 or (q.transition == 0)[[0, 1], [1, 0]].any():
        return _weighted([(share, _settled(part, q)) for share, part in parts])
    return _weighted([(share, collocated_rate(part, q)) for share, part in parts])


def reached(chain: FiniteChain) -> FiniteChain:
    """The chain without the states it cannot be in."""
    return chain.of_states(np.flatnonzero(reaches(chain.transition > 0)[chain.initial > 0].any(axis=0)))


def classes(chain: FiniteChain) -> list[tuple[float, FiniteChain]]:
    """The closed classes that are reached, each with its probability and, as initial law, its stationary one."""
    return [(share, part) for share, part, _ in closed_parts(reached(chain))]


def closed_parts(chain: FiniteChain) -> list[tuple[float, FiniteChain, NDArray[np.int64]]]:
    """The closed classes of a chain that reaches all its states, and which states they have."""
    members = closed_classes(chain.transition)
    transient = np.ones(chain.n_states, dtype=np.bool_)
    transient[np.concatenate(members)] = False
    entered = absorbed(chain.initial, chain.transition, transient)
    shares = np.array([entered[m].sum() for m in members])
    shares /= shares.sum()
    laws = [stationary(chain.transition[np.ix_(m, m)]) for m in members]
    return [(float(w), chain.of_states(m, law), m) for w, m, law in zip(shares, members, laws, strict=True)]


def _may_be_excluded(p: FiniteChain, q: FiniteChain, parts: list[tuple[float, FiniteChain]]) -> bool:
    """Whether p, before it settles in a class, may emit a symbol that a state of q has not."""
    settled = sum(part.n_states for _, part in parts) == p.n_states
    emitted = (p.probabilities > 0).any(axis=0)
    return not settled and bool((q.probabilities[:, emitted] == 0).any())


def _class_entropy(p: FiniteChain) -> Interval:
    """Entropy rate of an irreducible chain of one or two states, or whose symbols reveal the states."""
    steps = p.steps()
    if ((steps > 0).sum(axis=2) <= 1).all():  # a state and a symbol determine the next state
        law = steps.sum(axis=2).T
        with np.errstate(divide="ignore", invalid="ignore"):
            rows = -np.where(law > 0, law * np.log(law), 0.0).sum(axis=1)
        return _exact(float(p.initial @ rows), p, "entropy of the next symbol given the state")
    if p.n_states > 2:
        raise NotApplicable(f"the filter of p has {counted(p.n_states, 'state')}, not two")
    return collocated_rate(p, p)


def _settled(p: FiniteChain, q: FiniteChain) -> Interval:
    """q that ends in a state and stays, or cannot leave one: as good as the best state to stay in.

    log q(x) is, up to log N, the largest over the time of the only jump; along p's law that is
    min over r of -E log q_r(x) - log T(r, r), states never stayed in left out.
    """
    symbols = p.initial @ p.probabilities
    with np.errstate(divide="ignore"):
        stay = np.log(q.transition.diagonal())
    return _exact(float(np.min(_costs(symbols, q) - stay)), p, "one state of q in the long run")


def _alternating(p: FiniteChain, q: FiniteChain) -> Interval:
    """q that changes state at every step: in pairs of symbols it stays as it started."""
    p = reached(p)
    pairs = FiniteChain(p.initial, p.transition @ p.transition, p.probabilities)
    members = closed_classes(pairs.transition)
    transient = np.ones(p.n_states, dtype=np.bool_)
    transient[np.concatenate(members)] = False
    entered = absorbed(p.initial, pairs.transition, transient)
    total = 0.0
    for m in members:
        first = np.zeros(p.n_states)
        first[m] = stationary(pairs.transition[np.ix_(m, m)])
        now, then = (_costs(law @ p.probabilities, q) for law in (first, first @ p.transition))
        total += float(entered[m].sum() * np.min((now + then[::-1])[q.initial > 0])) / 2
    return _exact(total, p, "q alternates between its states")


def _costs(symbols: Array, q: FiniteChain) -> Array:
    """(K,): -sum_x symbols(x) log q_r(x), +inf where a symbol is missing from r."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(-np.where(symbols > 0, symbols * np.log(q.probabilities), 0.0).sum(axis=1))


def _exact(value: float, p: FiniteChain, method: str) -> Interval:
    """A closed form with its rounding: logarithms, sums and a stationary law, all of positive numbers."""
    if not np.isfinite(value):
        raise NotApplicable("q cannot emit what p does")
    allowance = UNIT * (8.0 * p.n_states**2 + 2.0 * p.n_symbols + 40.0) * (1.0 + abs(value))
    return outward(value - allowance, value + allowance, {"method": method, "rounding": allowance})


def _weighted(parts: list[tuple[float, Interval]]) -> Interval:
    """The mean of intervals; the weights are right to a few units."""
    if len(parts) == 1:
        return parts[0][1]
    off = 32.0 * UNIT * len(parts) * max(abs(part.upper) for _, part in parts)
    how: dict[str, Any] = {
        "method": "closed classes of p",
        "classes": [part.how | {"weight": share} for share, part in parts],
    }
    return outward(sum(w * part.lower for w, part in parts) - off, sum(w * part.upper for w, part in parts) + off, how)


def collocated_rate(p: FiniteChain, q: FiniteChain) -> Interval:
    """lim -E_p log q(x_1..N) / N for an irreducible p (any number of states) and a two-state q.

    Any phi(s, t) bounds it by the smallest and the largest cost + L phi - phi over all (s, t) in a closed set; phi is
    found by collocation, the bounds are sampled and hold between the samples too. NotApplicable where zeros of q
    leave no finite interval of log-odds.
    """
    weights = p.steps()
    return solved_rate(SymbolOperator(weights, domain(weights, q)), "collocation in the log-odds of the filter")


def solved_rate(operator: Operator, method: str) -> Interval:
    """The rate of an operator's cost between the smallest and the largest residual of a phi found by collocation."""
    series, nodes = _solution(operator)
    charts = operator.charts
    lower, upper, counts = operator.defects(series[:, :, None], series[:, :, None], np.zeros(1))
    how: dict[str, Any] = {
        "method": method, "nodes": nodes,
        "samples": int(counts["samples"]), "degree": int(counts["degree"]),
        "rounding": counts["rounding"], "truncation": counts["truncation"],
        "log_odds": [min(c.middle - c.half for c in charts), max(c.middle + c.half for c in charts)],
        "margin": list(operator.filter.margin),
    }  # fmt: skip
    return outward(float(lower.min()), float(upper.max()), how)


def _solution(operator: Operator) -> tuple[Array, int]:
    """Series (K, n) of a phi with a nearly constant residual, and the number of nodes it was found with."""
    best: tuple[float, Array, int] | None = None
    failures = 0
    for n in _NODES:
        if n * operator.n_states > UNKNOWNS and best is not None:
            break
        series = _collocated(operator, n)
        if series is None:
            continue
        series, ends = _levelled(operator, series)
        left = float(ends[:, 1].max() - ends[:, 0].min()) / 2
        if best is None or left < 0.5 * best[0]:
            failures = 0
        else:
            failures += 1
        if best is None or left < best[0]:
            best = left, series, n
        column = series[:, :, None]
        if left <= float(operator.error(column, column).max()) or (failures >= 2 and best[0] < 1e-9):
            break
    if best is None:
        raise NotApplicable("the collocation equations are singular")
    return _shortened(best[1]), best[2]


def _collocated(operator: Operator, n: int) -> Array | None:
    """Series (K, n) of phi with phi - L phi + rate = cost at the nodes, level zero on average."""
    k = operator.n_states
    cost, step = operator.matrix(n)
    system = np.zeros((k * n + 1, k * n + 1))
    system[:-1, :-1] = -step.reshape(k * n, k * n)
    table = values(zeros(n), n)
    for s in range(k):
        system[s * n : (s + 1) * n, s * n : (s + 1) * n] += table
        # A level counts by its differences from the others; 1 - P(s, s) would lose them where p seldom changes.
        system[s * n : (s + 1) * n, : k * n : n] = np.diag(operator.leaving.sum(axis=1))[s] - operator.leaving[s]
    system[:-1, -1] = 1.0
    system[-1, : k * n : n] = 1.0
    try:
        solution = np.linalg.solve(system, np.append(cost.ravel(), 0.0))
    except np.linalg.LinAlgError:
        return None
    series = solution[:-1].reshape(k, n)
    return series if np.isfinite(series).all() else None


def _levelled(operator: Operator, series: Array) -> tuple[Array, Array]:
    """phi with the levels of its states corrected: the large system has them only up to its own rounding.

    With it, (K, 2), the smallest and the largest cost + L phi - phi for each state of p, at points between the nodes.
    """
    k, points, column = operator.n_states, zeros(2 * series.shape[1] + 1), series[:, :, None]
    level_free = np.zeros((k, 2))  # the same but for levels, which shift all points of a state alike
    for chart in operator.charts:
        residual = operator.level_free_residual(chart, points, column, column)[:, :, 0]
        level_free[chart.states] = np.stack([residual.min(axis=1), residual.max(axis=1)], axis=1)

    def ends(phi: Array) -> Array:
        return np.asarray(level_free + operator.level_changes(phi[:, :, None], phi[:, :, None])[0])

    system = np.ones((k + 1, k + 1))
    system[:k, :k] = np.diag(operator.leaving.sum(axis=1)) - operator.leaving
    system[k, k] = 0.0
    corrected = series.copy()
    for _ in range(2):
        middle = ends(corrected).mean(axis=1)
        try:
            corrected[:, 0] += np.linalg.solve(system, np.append(middle, 0.0))[:k]
        except np.linalg.LinAlgError:
            return series, ends(series)
    return corrected, ends(corrected)


def _shortened(series: Array) -> Array:
    """Without the last coefficients, which are noise: any phi gives bounds, a shorter one grows less outside."""
    size = np.abs(series).sum(axis=1).max()
    rest = np.abs(series).sum(axis=0)[::-1].cumsum()[::-1]
    keep = max(1, int((rest > 2e-17 * size).sum()))
    return series[:, :keep]
