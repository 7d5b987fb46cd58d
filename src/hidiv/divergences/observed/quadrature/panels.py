"""Quadrature over the sample space of one continuous number, for all states of two models at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hidiv.divergences.observed.interval import NotApplicable
from hidiv.divergences.observed.support.any_family import log_weights
from hidiv.emissions.family import Family
from hidiv.emissions.numerics.adaptive_integrals import unit_rule
from hidiv.emissions.sample_space import Kind
from hidiv.types import Array, IntArray

NODES = 16  # of a panel
TAIL = 40.0  # densities below e^-TAIL of the peak are negligible
LOWEST = 1e6  # log-densities below -LOWEST count as no mass
HIGHEST = 700.0  # log-densities above are refused: their exponentials overflow
COVERED = 1e-9  # mass the points may miss before the rule is refused
LEVELS = 40
PANELS = 1024  # to be halved at once: four times as many as can be used, where densities are rough with rounding
TOGETHER = 8  # states whose ends are looked for at once
DRAWN = 256  # observations of a state that tell where it lies
TRIED, FARTHEST = 10, 90  # steps by half as much again that are looked at together, and in all
RESOLVED = 36.0  # log-odds beyond which a proportion and one are the same double


class Fineness(NamedTuple):
    """How finely a density is resolved.

    agree: by how much a panel's mass may differ from that of its halves; bend: how much the log-ratio of two states may
    change over a panel (a filter turns within a few units of it); faint: mass that need not be resolved.
    """

    agree: float
    bend: float
    faint: float


FINE = Fineness(1e-14, 6.0, 1e-18)  # 16 nodes then err by about 1e-13
QUICK = Fineness(1e-10, 9.0, 1e-14)  # far below the error of any number of draws


def panel_rule(p: Family, q: Family, fineness: Fineness = FINE) -> tuple[Array, Array]:
    """(J,) points and weights: integral f = sum weight f(x) for f of the size of the densities of p and q.

    Positive numbers and proportions are integrated in their logarithm and log-odds, where densities have no poles.
    """
    change = _variable(p), _variable(q)
    kind = change[0] if change[0] == change[1] else "line"
    starts, ends = (np.concatenate(parts) for parts in zip(*(_ends(f, kind) for f in (p, q)), strict=True))
    inner = np.concatenate([_bends(f, kind) for f in (p, q)])
    lo, hi = float(starts.min()), float(ends.max())
    edges = np.unique(np.concatenate([[lo, hi], starts, ends, inner[(inner > lo) & (inner < hi)]]))
    left, size = edges[:-1], np.diff(edges)
    done: list[tuple[Array, Array]] = []
    for _ in range(LEVELS):
        whole, bend = _masses(p, q, kind, left, size, fineness.faint)
        half = 0.5 * size
        first, second = (_masses(p, q, kind, start, half, 1.0)[0] for start in (left, left + half))
        rough = np.abs(first + second - whole).max(axis=1) > fineness.agree
        again = (rough | (bend > fineness.bend)) & (left + half > left)
        if np.count_nonzero(again) > PANELS:
            raise NotApplicable("the observations need too many points")
        done.append((left[~again], size[~again]))
        left, size = np.concatenate([left[again], (left + half)[again]]), np.concatenate([half[again]] * 2)
        if not left.size:
            break
    left, size = (np.concatenate(parts) for parts in zip(*done, (left, size), strict=True))
    order = np.argsort(left)
    nodes, weights = unit_rule(NODES)
    y = (left[order, None] + size[order, None] * nodes).ravel()
    x, slope = _back(y, kind)
    weight = (size[order, None] * weights).ravel() * slope
    matters = weight * np.exp(_logs(p, q, x)).max(axis=1) > 1e-6 * fineness.faint
    return x[matters], weight[matters]


def tail_points(family: Family) -> tuple[Array, Array]:
    """(K,), (K,): counts or numbers beyond which a state has negligible mass."""
    return _ends(family, "line", step=1.0)


def _variable(family: Family) -> str:
    """What to integrate over: x itself, its logarithm, its log-odds, or an angle."""
    variables = {Kind.POSITIVE: "log", Kind.UNIT: "log-odds", Kind.ANGLE: "angle"}
    return variables.get(family.space.kind, "line")


def _back(y: Array, kind: str) -> tuple[Array, Array]:
    """x and dx/dy."""
    if kind == "log":
        x = np.exp(y)
        return x, x
    if kind == "log-odds":
        x = 1.0 / (1.0 + np.exp(-y))
        return x, x * (1.0 / (1.0 + np.exp(y)))
    return y, np.ones_like(y)


def _there(x: Array, kind: str) -> Array:
    """The variable of integration of x."""
    if kind == "log":
        return np.log(x)
    return np.log(x) - np.log1p(-x) if kind == "log-odds" else x


def _logs(p: Family, q: Family, x: Array) -> Array:
    """(n, K + L): log-densities of all states."""
    logs = np.concatenate([log_weights(family, x[:, None]) for family in (p, q)], axis=1)
    if (logs > HIGHEST).any():
        raise NotApplicable("some densities are too large for a double")
    return logs


def _masses(p: Family, q: Family, kind: str, left: Array, size: Array, faint: float) -> tuple[Array, Array]:
    """(P, K + L): the mass of every panel; (P,): how much the log-ratio of two states changes over it at most."""
    nodes, weights = unit_rule(NODES)
    x, slope = _back((left[:, None] + size[:, None] * nodes).ravel(), kind)
    logs = np.maximum(_logs(p, q, x), -LOWEST).reshape(len(left), NODES, -1)
    masses = np.einsum("pns,n,pn->ps", np.exp(logs), weights, slope.reshape(len(left), NODES)) * size[:, None]
    # A state far less likely than the others does not move a filter, and where p has no mass no bend matters.
    logs = np.maximum(logs, logs.max(axis=2, keepdims=True) - TAIL)
    ratios = logs[:, :, :, None] - logs[:, :, None, :]
    bend = (ratios.max(axis=1) - ratios.min(axis=1)).max(axis=(1, 2))
    return masses, np.where(masses[:, : p.n_states].max(axis=1) > faint, bend, 0.0)


def _ends(family: Family, kind: str, step: float | None = None) -> tuple[Array, Array]:
    """(K,), (K,): the range, in the variable of integration, outside which each state's density does not show."""
    if kind == "angle":
        return np.full(family.n_states, -np.pi), np.full(family.n_states, np.pi)
    starts, ends = np.zeros(family.n_states), np.zeros(family.n_states)
    for first in range(0, family.n_states, TOGETHER):
        some = np.arange(first, min(first + TOGETHER, family.n_states))
        starts[some], ends[some] = _some_ends(family.take(some), kind, step)
    if kind == "log-odds":
        return np.maximum(starts, -RESOLVED), np.minimum(ends, RESOLVED)
    return starts, ends


def _some_ends(family: Family, kind: str, step: float | None) -> tuple[Array, Array]:
    """The same of a few states, all looked at together."""
    states = np.arange(family.n_states)
    drawn = [family.draw(np.full(DRAWN, s), np.random.default_rng(0))[:, 0] for s in states.tolist()]
    y = np.sort(_there(np.stack(drawn), kind), axis=1)
    floor = _heights(family, y, kind, states).max(axis=1) - TAIL
    first, last = y[:, 0], y[:, -1]
    least = 1e-300 if step is None else step
    spread = np.maximum(np.maximum(last - first, least), 1e-9 * np.abs(first))
    out = []
    for at, sign in ((first, -1.0), (last, 1.0)):
        end, left = at.copy(), states
        for begin in range(0, FARTHEST, TRIED):
            reach = 0.25 * spread[left, None] * 1.5 ** np.arange(begin, begin + TRIED)
            there = at[left, None] + sign * (reach if step is None else np.ceil(reach))
            beyond = _heights(family, there, kind, left, step is not None) <= floor[left, None]
            beyond[:, -1] |= begin + TRIED >= FARTHEST
            end[left] = there[np.arange(len(left)), beyond.argmax(axis=1)]
            left = left[~beyond.any(axis=1)]
            if not left.size:
                break
        out.append(end)
    return out[0], out[1]


def _heights(family: Family, y: Array, kind: str, states: IntArray, counts: bool = False) -> Array:
    """(n, m): log-density of each of `states` (n,) at its own y (n, m), in the variable of integration; `counts` below
    0 have none."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        x, slope = _back(y.ravel(), kind)
        logs = log_weights(family, np.maximum(x, 0.0)[:, None] if counts else x[:, None])
        own = np.take_along_axis(logs, np.repeat(states, y.shape[1])[:, None], axis=1)[:, 0] + np.log(slope)
        own = np.where(counts & (x < 0), -np.inf, own)
    return np.nan_to_num(own, nan=-np.inf, neginf=-np.inf).reshape(y.shape)


def _bends(family: Family, kind: str) -> Array:
    """Where a density may have a kink."""
    if kind == "line":
        parameters = family.parameters()
        return np.concatenate(
            [np.zeros(1), *(np.ravel(parameters[key]) for key in ("loc", "mean") if key in parameters)]
        )
    return np.zeros(0)
