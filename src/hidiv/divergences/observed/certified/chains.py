"""Certified observed divergences of chains of N symbols against two-state filters (definitions (5.5))."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import fsum, inf, log, log2
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hidiv.divergences.observed.alphabets import FiniteChain, TreeLaw, alike, finite_chains, no_alphabet
from hidiv.divergences.observed.budget import SECONDS, Effort
from hidiv.divergences.observed.certified.belief_grid.grid_chains import grid_chain, grid_chain_entropy
from hidiv.divergences.observed.certified.context_bounds import block_entropy, context_chain, context_chain_entropy
from hidiv.divergences.observed.certified.joint_bound import cut_at_joint, within_tolerance
from hidiv.divergences.observed.certified.log_odds.chebyshev import coefficients, values, zeros
from hidiv.divergences.observed.certified.log_odds.filter import LARGEST, Domain, domain
from hidiv.divergences.observed.certified.log_odds.operator import Operator, SymbolOperator
from hidiv.divergences.observed.certified.rates import WIDTH, reached
from hidiv.divergences.observed.certified.refining import Part, bounded, narrowed
from hidiv.divergences.observed.certified.trees.regular_trees import cross_entropy_regular
from hidiv.divergences.observed.interval import UNIT, Interval, NotApplicable, outward
from hidiv.divergences.observed.support.symbols import forbidden_word
from hidiv.errors import counted
from hidiv.models.tree import Tree
from hidiv.recursions.powers import stochastic, summed_powers
from hidiv.types import Array

if TYPE_CHECKING:
    from hidiv.divergences.observed.budget import Budget
    from hidiv.divergences.pair import Pair
    from hidiv.divergences.result import Divergence

MESSAGES, CELLS = 2000, 1 << 13  # longest chain whose messages are followed, and the cells of their grid
STEPS = 20_000  # of the recursion at most; further ones are bounded by the last increment
_NODES = (12, 18, 27, 40, 60, 90, 135, 200, 300, 450)
_TRIAL = 30  # steps on which the number of nodes is chosen
_LOOK = 8  # steps between two looks at the increments
_BATCH = 256  # steps whose defects are sampled together
_KEPT = 1 << 23  # coefficients held in memory
_WARM_UP = 4  # symbols seen one by one at most


def applies(pair: Pair) -> str | None:
    """Symbols of a finite alphabet."""
    return no_alphabet(pair)


def run(pair: Pair, budget: Budget) -> Divergence:
    """Bounds on a chain whose parameters are the same at every node."""
    assert isinstance(pair.tree, Tree)
    chains, length, cut = pair.once(finite_chains), pair.tree.n_nodes, partial(cut_at_joint, pair, budget)
    near = within_tolerance(pair, budget) if alike(*chains, length) else None
    return near or bounded(observed_chain(*chains, length, budget.narrow, budget.effort(), cut), pair, budget)


def observed_chain(
    p: FiniteChain,
    q: FiniteChain,
    length: int,
    enough: Callable[[Interval], bool] = lambda interval: interval.width <= WIDTH,
    effort: Effort | None = None,
    cut: Callable[[Interval], Interval] = lambda interval: interval,
) -> Interval:
    """Bounds of D_X on a chain of `length` symbols; +inf where p emits a word q cannot.

    In the log-odds where the filter has two states; else by contexts and on grids of filters, finer until `enough`,
    until the `effort` is spent, or an interrupt. `cut` narrows by other means.
    """
    effort = effort or Effort.lasting(SECONDS)
    word = forbidden_word(p, q, length)
    if word is not None:
        return Interval(inf, inf, {"method": "support of words", "word": list(word)})
    p, q = reached(p), reached(q)
    parts = []
    for law, most in ((q, inf), (p, length * log(p.n_symbols) * (1.0 + 4.0 * UNIT))):
        try:
            parts.append(Part(1.0, cross_entropy_chain(p, law, length), []))
        except NotApplicable:
            if law is q:
                refiners = [context_chain(p, q, length), grid_chain(p, q, length)]
            else:
                methods = context_chain_entropy, block_entropy, grid_chain_entropy
                refiners = [method(p, length) for method in methods]
            parts.append(Part(1.0, Interval(0.0, most, {"method": "none"}), refiners))
    return narrowed(parts[:1], parts[1:], enough, effort, cut)


def cross_entropy_chain(p: FiniteChain, q: FiniteChain, length: int) -> Interval:
    """Bounds of -E_p log q(x_1..N), q with at most two states that it can be in, any p.

    The recursion in the log-odds of the filter, or where zeros forbid it that of messages, a tree of one child.
    """
    try:
        return collocated_chain(p, q, length)
    except NotApplicable:
        if length > MESSAGES:
            raise
    laws = [
        TreeLaw(c.initial, *(np.broadcast_to(a, (length, *a.shape)) for a in c[1:]))
        for c in (p, _two_states(reached(q)))
    ]
    return cross_entropy_regular(laws[0], laws[1], 1, length, CELLS)


AtStart = Callable[[Array, Array, float], float]  # of a series (K, n), levels (K,) and the sign of the rounding


class _Start(NamedTuple):
    """Filters b (n, 2) of q after some symbols, p's weights at them (n, K), and the cost of those symbols."""

    filters: Array
    weights: Array
    cost: float
    symbols: int


def collocated_chain(p: FiniteChain, q: FiniteChain, length: int) -> Interval:
    """Bounds of -E_p log q(x_1..N), q with at most two states that it can be in, any p (definitions (5.5)).

    V_m = cost + L V_{m-1} on polynomials in the log-odds, the defect of every step bounded everywhere and summed:
    L is Markov, so that an error never grows. Once the increments are flat the rest is theirs. NotApplicable where
    zeros of q leave no finite interval of log-odds.
    """
    p, q = reached(p), _two_states(reached(q))
    weights = p.steps()
    start, odds_domain = _warm_up(p, q, length, weights)
    if odds_domain is None:
        how = {"method": "enumeration of the first symbols"}
        return _rounded(start.cost, start.cost, p, start.symbols, how)
    operator = SymbolOperator(weights, odds_domain)
    lower, upper, how = recursed(operator, length - start.symbols, partial(_at_start, operator, start, odds_domain))
    return _rounded(start.cost + lower, start.cost + upper, p, start.symbols, how)


def recursed(operator: Operator, steps: int, at_start: AtStart) -> tuple[float, float, dict[str, Any]]:
    """Bounds of V_steps as `at_start` weighs it, V_m = cost + L V_{m-1} on polynomials, and what they rest on."""
    nodes = _nodes_needed(operator, steps) if steps else 1
    lower, upper, how = _bounds(operator, *_recursion(operator, nodes, steps), steps, at_start)
    return lower, upper, how | {"nodes": nodes}


def _two_states(q: FiniteChain) -> FiniteChain:
    """A chain of one state written with two that are alike."""
    if q.n_states > 2:
        raise NotApplicable(f"the filter of q has {counted(q.n_states, 'state')}, not two")
    if q.n_states == 2:
        return q
    return FiniteChain(np.full(2, 0.5), np.full((2, 2), 0.5), np.repeat(q.probabilities, 2, axis=0))


def _warm_up(p: FiniteChain, q: FiniteChain, length: int, weights: Array) -> tuple[_Start, Domain | None]:
    """Symbols one by one until all filters lie in a domain; None instead of it when the chain ends before."""
    start = _seen(_Start(q.initial[None, :], p.initial[None, :], 0.0, 0), p.first(), q.first())
    reason = ""
    for _ in range(_WARM_UP):
        if start.symbols == length:
            return start, None
        try:
            odds_domain = domain(weights, q, (start.filters, start.weights))
        except NotApplicable as error:
            reason = str(error)
        else:
            if np.abs(odds_domain.filter.start(start.filters)).max() < LARGEST:
                return start, odds_domain
        start = _seen(start, weights, q.steps())
    if start.symbols == length:
        return start, None
    raise NotApplicable(reason)


def _seen(start: _Start, steps_p: Array, steps_q: Array) -> _Start:
    """One more symbol: every filter updated by every symbol p can emit there; equal filters are one."""
    filters = np.concatenate(start.filters[None] @ steps_q)
    weights = np.concatenate(start.weights[None] @ steps_p)
    there = weights.any(axis=1)
    filters, weights = filters[there], weights[there]
    totals = filters.sum(axis=1)
    if not (totals > 0).all():
        raise NotApplicable("q cannot emit what p does")
    cost = fsum([start.cost, *(-weights.sum(axis=1) * np.log(totals)).tolist()])
    filters = filters / totals[:, None]
    kinds, member = np.unique(filters, axis=0, return_inverse=True)
    merged = np.zeros((len(kinds), weights.shape[1]))
    np.add.at(merged, member.ravel(), weights)
    return _Start(kinds, merged, cost, start.symbols + 1)


def _nodes_needed(operator: Operator, steps: int) -> int:
    """How many nodes make the defects of the first steps as small as rounding, or as small as they get."""
    best, nodes = inf, _NODES[0]
    for n in _NODES:
        history, constants = _recursion(operator, n, min(steps, _TRIAL))
        looked = np.unique(np.geomspace(1, len(constants), 6).astype(np.int64))
        old, new = (np.moveaxis(history[looked - i], 0, 2) for i in (1, 0))
        points = zeros(2 * n + 1)
        residuals = [
            np.abs(operator.residual(c, points, old, new) - constants[looked - 1]).max() for c in operator.charts
        ]
        left, better = float(max(residuals)), 0.7 * best
        if left < best:
            best, nodes = left, n
        if left <= float(operator.error(old, new).max()) or (left >= better and best < 1e-9):
            break
    return nodes


def _recursion(operator: Operator, n: int, steps: int) -> tuple[Array, Array]:
    """Series (m+1, K, n) of V_0..V_m without levels, and the levels (m,); m < steps once increments are flat."""
    k = operator.n_states
    cost, step = operator.matrix(n)
    fit = coefficients(n)
    step = np.einsum("ab,sbtc->satc", fit, step).reshape(k * n, k * n)
    cost = (cost @ fit.T).ravel()
    current = np.zeros(k * n)
    history, constants = [current], []
    for done in range(1, min(steps, STEPS, _KEPT // (k * n)) + 1):
        new = cost + step @ current
        level = float(new[::n].mean())
        new[::n] -= level
        constants.append(level)
        history.append(new)
        change, current = (new - current).reshape(k, n), new
        if done % _LOOK == 0:
            # Flat in t for every state is enough: the levels of the states are followed exactly afterwards.
            column = new.reshape(k, n, 1)
            error = operator.error(column, column)
            if (np.abs(change[:, 1:]).sum(axis=1) <= 0.1 * error[:, 0]).all():
                break
    return np.array(history).reshape(-1, k, n), np.array(constants)


def _bounds(
    operator: Operator, history: Array, constants: Array, steps: int, at_start: AtStart
) -> tuple[float, float, dict[str, Any]]:
    """The recursion with its defects summed, the rest by the last increment, and the value at the start filters."""
    done = len(constants)
    low: list[float] = []
    high: list[float] = []
    counts: dict[str, float] = {}
    rounding = 0.0
    for i in range(0, done, _BATCH):
        old, new = (np.moveaxis(history[j : j + _BATCH][: done - i], 0, 2) for j in (i, i + 1))
        lower, upper, counts = operator.defects(old, new, constants[i : i + _BATCH])
        low.extend(lower.min(axis=0).tolist())
        high.extend(upper.max(axis=0).tolist())
        rounding = max(rounding, counts["rounding"])
    last = history[-1]
    levels = fsum(constants.tolist())
    beyond = steps - done
    below, above = np.full(operator.n_states, fsum(low)), np.full(operator.n_states, fsum(high))
    if beyond:
        lower, upper, _ = operator.defects(last[:, :, None], last[:, :, None], np.zeros(1))
        below = below + _later(operator.moves, lower[:, 0], beyond, -1.0)
        above = above + _later(operator.moves, upper[:, 0], beyond, 1.0)
    ends = [levels + at_start(last, *end) for end in ((below, -1.0), (above, 1.0))]
    slack = 4.0 * UNIT * (abs(ends[0]) + abs(ends[1]))
    how = {
        "method": "recursion in the log-odds of the filter", "steps": done, "bounded_steps": beyond,
        "samples": int(counts.get("samples", 0)), "degree": int(counts.get("degree", 0)),
        "rounding_per_step": rounding,
        "margin": list(operator.filter.margin),
    }  # fmt: skip
    return ends[0] - slack, ends[1] + slack, how


def _later(moves: Array, increment: Array, terms: int, sign: float) -> Array:
    """(K,): `terms` further steps, (I + P + ... + P^(terms-1)) increment, moved outward by the rounding."""
    transition = stochastic(moves)
    middle = float(increment.mean())
    apart = increment - middle
    rest = summed_powers(transition, apart, terms)
    off = UNIT * terms * (16.0 * len(moves) * (log2(terms) + 2.0) * float(np.abs(apart).max()) + 4.0 * abs(middle))
    return np.asarray(terms * middle + rest + sign * off)


def _at_start(
    operator: Operator, start: _Start, odds_domain: Domain, series: Array, level: Array, sign: float
) -> float:
    """sum over start filters and states of weight (V(s, t) + level(s)), moved outward by the rounding."""
    t = odds_domain.filter.start(start.filters)
    total, off = [], 0.0
    size = np.abs(series).sum(axis=1)
    error = operator.error(series[:, :, None], series[:, :, None])[:, 0]
    for chart in operator.charts:
        for s in chart.states:
            there = start.weights[:, s] > 0
            points = np.clip((t[there] - chart.middle) / chart.half, -1.0, 1.0)
            weights = start.weights[there, s]
            total.extend((weights * (values(points, series.shape[1]) @ series[s] + level[s])).tolist())
            off += float(weights.sum() * (error[s] + 8.0 * UNIT * (size[s] + abs(level[s]))))
    return fsum(total) + sign * off


def _rounded(lower: float, upper: float, p: FiniteChain, symbols: int, how: dict[str, Any]) -> Interval:
    """Bounds moved outward by the rounding of the first symbols, which are costed one by one."""
    off = UNIT * symbols * (8.0 * p.n_states + 2.0 * p.n_symbols + 40.0) * (1.0 + max(abs(lower), abs(upper)))
    return outward(lower - off, upper + off, how | {"first_symbols": symbols, "rounding": off})
