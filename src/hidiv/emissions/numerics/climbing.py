"""Safeguarded numeric maximisation, many small problems at once: one for each state and column."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from hidiv.emissions.parameters import wide
from hidiv.errors import HidivError, refuse
from hidiv.types import Array

if TYPE_CHECKING:
    from hidiv.emissions.weighted import Weighted


STEP = 1e-4  # of the differences that stand for derivatives: coordinates are of order one
LONGEST = 2.0  # step of a coordinate at once
HALVINGS = 14
ROUNDS = 12
HIGH_LOG = 20.0  # positive parameters stay within e^-20..e^20, in the unit of the values
HIGH_LOGIT = 36.0
MOVED = ("positive", "length", "rate", "area", "real", "number", "unit")  # ranges that have a coordinate


def climb(value: Callable[[Array], Array], start: Array, bounds: tuple[float, float], rounds: int = ROUNDS) -> Array:
    """(D, ...) -> (D, ...): coordinates with a larger value(z) (...), one or two of them for every problem.

    Newton steps on differences, along the gradient where the value is not concave, halved until the value rises:
    never below the start. NaN counts as minus infinity.
    """

    def safe(z: Array) -> Array:
        with np.errstate(all="ignore"):
            tried = np.asarray(value(np.clip(z, *bounds)))
        return np.where(np.isnan(tried), -np.inf, tried)

    z = np.clip(start, *bounds)
    best = safe(z)
    for _ in range(rounds):
        step = _newton(safe, z, best)
        room = np.clip(z + step, *bounds) - z
        left, gained = np.ones(best.shape, dtype=np.bool_), np.zeros(best.shape, dtype=np.bool_)
        for _ in range(HALVINGS):
            trial = np.where(left, z + room, z)
            tried = safe(trial)
            better = left & (tried > best)
            z = np.where(better, trial, z)
            gained |= better & ~(tried <= best + 1e-14 * np.abs(np.where(np.isfinite(best), best, 0.0)))
            best = np.where(better, tried, best)
            left &= ~better
            room = 0.5 * room
            if not (left & (np.abs(room) > 1e-7).any(axis=0)).any():
                break
        if not gained.any() or float(np.abs(step).max()) < 1e-9:
            break
    return z


def _newton(value: Callable[[Array], Array], z: Array, best: Array) -> Array:
    """(D, ...): the Newton step where the value is concave, else a step uphill."""
    size = len(z)
    ahead, behind = [], []
    for d in range(size):
        shift = np.zeros((size, *(1,) * best.ndim))
        shift[d] = STEP
        ahead.append(value(z + shift))
        behind.append(value(z - shift))
    with np.errstate(all="ignore"):
        slope = np.stack([(a - b) / (2 * STEP) for a, b in zip(ahead, behind, strict=True)])
        bend = np.stack([(a - 2 * best + b) / STEP**2 for a, b in zip(ahead, behind, strict=True)])
        alone = slope / np.maximum(np.abs(bend), 1e-8)
        if size == 1:
            step = alone
        else:
            cross = (value(z + STEP) - ahead[0] - ahead[1] + best) / STEP**2
            det = bend[0] * bend[1] - cross * cross
            both = np.stack([cross * slope[1] - bend[1] * slope[0], cross * slope[0] - bend[0] * slope[1]]) / det
            concave = (bend[0] < 0) & (bend[1] < 0) & (det > 1e-12 * bend[0] * bend[1])
            step = np.where(concave, both, alone)
    return np.clip(np.where(np.isfinite(step), step, 0.0), -LONGEST, LONGEST)


def climb_family(family: Any, known: Weighted, fixed: frozenset[str]) -> Any:
    """The family moved uphill in sum of weight times log-weight, values seen and intervals alike; columns apart."""
    ranges = family.ranges()
    parameters = family.parameters()
    free = [name for name in parameters if ranges.get(name) in MOVED and name not in fixed]
    if not free:
        return family
    if len(free) > 2:
        refuse(HidivError, family.name, "has more than two parameters a column and no step of its own")
    bounded = known.bounded
    used = known.weight.any(axis=1) & (
        known.seen.any(axis=1) if bounded is None else (known.seen | bounded).any(axis=1)
    )
    if not used.any():
        return family
    x, weight = known.x[used], known.weight[used]
    seen = known.seen[used]
    inside = None if bounded is None else bounded[used]
    if inside is not None and known.lower is not None and known.upper is not None:
        cut = np.flatnonzero(inside.any(axis=1))
        lower, upper = known.lower[used][cut], known.upper[used][cut]
    mass = np.maximum(weight.T @ (seen if inside is None else seen | inside).astype(np.float64), 1e-300)
    unit = np.maximum(known.smallest / 1e-4, 1e-300)
    scalar = family.is_scalar

    def built(z: Array) -> Any:
        moved = dict(parameters)
        for name, row in zip(free, z, strict=True):
            parameter = _outward(row, ranges[name], unit)
            moved[name] = parameter[:, 0] if scalar else parameter
        return type(family)(**moved)

    def value(z: Array) -> Array:
        law = built(z)
        terms = np.where(seen[:, None, :], law.log_density(x), 0.0)
        if inside is not None:
            terms[cut] = np.where(inside[cut][:, None, :], law.log_mass(lower, upper), terms[cut])
        weighed = np.where(weight[:, :, None] > 0, weight[:, :, None] * terms, 0.0)
        return np.asarray(weighed.sum(axis=0) / mass)

    start = np.stack([_inward(wide(parameters[name]), ranges[name], unit) for name in free])
    reached = climb(value, start, (-HIGH_LOGIT, HIGH_LOGIT), rounds=1)
    return built(reached) if np.any(reached != np.clip(start, -HIGH_LOGIT, HIGH_LOGIT)) else family


def _inward(parameter: Array, kind: str, unit: Array) -> Array:
    """A parameter as a coordinate without bounds; lengths and rates are measured in the unit of the values."""
    with np.errstate(divide="ignore"):
        if kind == "real":
            return parameter / unit
        if kind == "number":
            return parameter
        if kind == "area":
            return np.asarray(np.log(parameter / unit**2))
        if kind == "length":
            return np.asarray(np.log(parameter / unit))
        if kind == "rate":
            return np.asarray(np.log(parameter * unit))
        if kind == "unit":
            return np.asarray(np.clip(np.log(parameter) - np.log1p(-parameter), -HIGH_LOGIT, HIGH_LOGIT))
        return np.asarray(np.log(parameter))


def _outward(z: Array, kind: str, unit: Array) -> Array:
    """The parameter at a coordinate."""
    if kind == "real":
        return z * unit
    if kind == "number":
        return z
    if kind == "unit":
        return np.asarray(1.0 / (1.0 + np.exp(-z)))
    size = np.exp(np.clip(z, -HIGH_LOG, HIGH_LOG))
    return np.asarray(size * {"length": unit, "rate": 1.0 / unit, "area": unit**2}.get(kind, 1.0))
