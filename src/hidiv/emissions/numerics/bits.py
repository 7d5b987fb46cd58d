"""One trial that succeeds or not: what Bernoulli, binomial, geometric and negative binomial laws are made of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hidiv.emissions.numerics.deviance import deviance, power_gap
from hidiv.emissions.numerics.stirling import log_step
from hidiv.types import Array

RARE, LIFT = 1e-290, 2.0**100  # probabilities of success below the first are multiplied by the second


class Bits(NamedTuple):
    """Probabilities of success and of failure, each with all its digits; any shape."""

    one: Array
    zero: Array


def bits(prob: Array) -> Bits:
    """From the probability of success."""
    return Bits(prob, 1.0 - prob)


def step(p: Bits, q: Bits) -> Array:
    """How much likelier a success is under q, taken where the probabilities are small and have most digits."""
    return np.where(p.one + q.one <= 1.0, q.one - p.one, p.zero - q.zero)


def slope_of_bits(ones: Array, zeros: Array, prob: Array) -> Array:
    """The derivative of ones log(prob) + zeros log(1 - prob) in prob; 0 at prob 0 and 1, which a climb never leaves."""
    inside = (prob > 0) & (prob < 1)
    safe = np.where(inside, prob, 0.5)
    return np.where(inside, ones / safe - zeros / (1.0 - safe), 0.0)


def log_bits(p: Bits) -> Bits:
    """Logs of both probabilities."""
    with np.errstate(divide="ignore"):
        return Bits(np.log(p.one), np.where(p.one < 0.5, np.log1p(-p.one), np.log(p.zero)))


def log_ratio(p: Bits, q: Bits, d: Array) -> Bits:
    """log q/p of a success and of a failure, relatively accurate; d = step(p, q)."""
    return Bits(log_step(p.one, q.one, d), log_step(p.zero, q.zero, -d))


def kl(p: Bits, q: Bits, d: Array) -> Array:
    """KL of one trial; +inf where q rules out what p does not."""
    return deviance(p.one, q.one, d) + deviance(p.zero, q.zero, -d)


def defect(p: Bits, q: Bits, d: Array, alpha: float) -> Array:
    """1 - sum of p^alpha q^(1-alpha) over both outcomes; -inf where alpha > 1 and q rules out what p does not."""
    return power_gap(p.one, q.one, d, alpha) + power_gap(p.zero, q.zero, -d, alpha)


def log_powers(p: Bits, q: Bits, alpha: float) -> Bits:
    """log of p^alpha q^(1-alpha) for both outcomes; -inf where p has none."""
    (one_p, zero_p), (one_q, zero_q) = log_bits(p), log_bits(q)
    with np.errstate(invalid="ignore"):
        one, zero = alpha * one_p + (1.0 - alpha) * one_q, alpha * zero_p + (1.0 - alpha) * zero_q
    return Bits(np.where(p.one == 0, -np.inf, one), np.where(p.zero == 0, -np.inf, zero))


def kl_failures(p: Bits, q: Bits, d: Array) -> Array:
    """KL of the failures before one success: that of one trial, as often as p tries."""
    p, q, d = lifted(p, q, d)
    return np.asarray(kl(p, q, d) / p.one)


def lifted(p: Bits, q: Bits, d: Array) -> tuple[Bits, Bits, Array]:
    """The same with rare successes made less rare: failures before them depend on the ratio of the probabilities alone.

    Products of denormal probabilities would have no digits left.
    """
    lift = np.where(np.maximum(p.one, q.one) < RARE, LIFT, 1.0)
    return Bits(lift * p.one, p.zero), Bits(lift * q.one, q.zero), lift * d
