"""Two binomial laws with different numbers of trials: no closed form, sums over the counts.

From p the number of trials is changed first, at p's mean, then the mean: the KL is the sum of the KLs of the two steps,
and the log-ratio of each step is of the size of the step.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hidiv.emissions.numerics import bits
from hidiv.emissions.numerics.adaptive_integrals import Function, Laws, divergence, log_power, peak, total
from hidiv.emissions.numerics.adaptive_integrals import renyi as renyi_sum
from hidiv.emissions.numerics.bits import Bits
from hidiv.emissions.numerics.deviance import deviance, products
from hidiv.emissions.numerics.stirling import factorial_remainder, panel_rule, slope_rise
from hidiv.recursions.terms import h
from hidiv.types import Array

CHUNK = 4096  # counts at a time


def log_pmf(x: Array, n: Array, trial: Bits) -> Array:
    """log of C(n, x) one^x zero^(n-x), -inf beyond n; as deviances, so that large counts keep their digits."""
    with np.errstate(invalid="ignore"):
        at = np.minimum(x, n)
        off = n * trial.one - at
        near = deviance(at, n * trial.one, off) + deviance(n - at, n * trial.zero, -off)
        value = factorial_remainder(n) - factorial_remainder(at) - factorial_remainder(n - at) - near
        return np.where(x > n, -np.inf, value)


class TrialsBetween(NamedTuple):
    """The law of q's number of trials and p's mean."""

    mean: Array
    trial: Bits
    step: Array  # from its probability of success to q's


def between(n: Array, p: Bits, m: Array, q: Bits) -> TrialsBetween:
    """n, m: the trials of p and of q, n < m."""
    further = products(m, q.one, n, p.one)  # q's mean less p's
    return TrialsBetween(n * p.one, Bits(n * p.one / m, ((m - n) + n * p.zero) / m), further / m)


def kl_trials(n: Array, p: Bits, m: Array, q: Bits) -> float:
    """KL of n trials p from m trials q, each one number; +inf where p has counts that q lacks."""
    if p.one == 0 or p.zero == 0 or n == 0:  # one count only
        return float(-log_pmf(np.where(p.one == 0, 0.0, n), m, q))
    if n > m or q.one == 0 or q.zero == 0:
        return math.inf
    mid = between(n, p, m, q)

    def log_ratio(x: Array) -> Array:
        return np.where(x > n, np.inf, trials_ratio(np.minimum(x, n), n, m, p))

    laws = Laws(lambda x: log_pmf(x, n, p), lambda x: log_pmf(x, m, mid.trial), log_ratio)
    by_trials = divergence(laws, lambda f: _sum(f, n, m, [float(mid.mean)]))
    return by_trials + float(m * bits.kl(mid.trial, q, mid.step))


def renyi_trials(n: Array, p: Bits, m: Array, q: Bits, alpha: float) -> float:
    """Renyi divergence of order alpha, each argument one number; +inf where the supports ask for it."""
    laws = Laws(lambda x: log_pmf(x, n, p), lambda x: log_pmf(x, m, q), lambda x: ratio_trials(x, n, p, m, q))
    for law, other, weight in ((p, laws.log_q, 1.0), (q, laws.log_p, alpha / (1.0 - alpha))):
        size = n if law is p else m
        if law.one == 0 or law.zero == 0 or size == 0:  # one count only
            at = other(np.where(law.one == 0, 0.0, size))
            if law is q and alpha > 1:
                return math.inf
            return float(-weight * at)
    if alpha > 1 and n > m:
        return math.inf
    top = peak(lambda x: log_power(laws, alpha, x), np.linspace(0.0, float(min(n, m)), 33))
    centres = [float(n * p.one), float(m * q.one), top.at]
    return renyi_sum(laws, alpha, lambda f: _sum(f, n, m, centres), top.height)


def _sum(f: Function, n: Array, m: Array, centres: list[float]) -> float:
    """Sum over all counts of either law, cut where the smaller one ends."""
    return total(f, [*(int(c) for c in centres), int(min(n, m)), int(min(n, m)) + 1], float(max(n, m)))


def ratio_trials(x: Array, n: Array, p: Bits, m: Array, q: Bits) -> Array:
    """log q/p at counts x of any shape, trials and probabilities one number each; infinite where one law ends."""
    if n > m:
        return -ratio_trials(x, m, q, n, p)
    log_p, log_q = log_pmf(x, n, p), log_pmf(x, m, q)
    with np.errstate(invalid="ignore"):
        plain = np.where(log_p == log_q, 0.0, log_q - log_p)
    if n == m or min(p.one, p.zero, q.one, q.zero) == 0 or n == 0:
        return plain
    mid = between(n, p, m, q)
    one, zero = bits.log_ratio(mid.trial, q, mid.step)
    at = np.minimum(x, n)
    value = trials_ratio(at, n, m, p) + (at - mid.mean) * (one - zero) - m * bits.kl(mid.trial, q, mid.step)
    # Beyond p's trials, and where a probability is so small that a step on the way overflows.
    return np.where((x > n) | ~np.isfinite(value), plain, value)


def trials_ratio(x: Array, n: Array, m: Array, p: Bits) -> Array:
    """log-ratio of m trials to n < m trials at the mean n p.one, x <= n: the integral over k from n to m of
    G'(k+1) - G'(k-x+1) + log1p(1/k) - 1/(k-mean) + h((mean-x+1)/(k-mean)), with G of stirling.py, h(v) = v - log1p(v).
    """
    mean, left, step = n * p.one, n * p.zero, m - n
    flat, value = x.reshape(-1), np.empty(x.size)
    for start in range(0, x.size, CHUNK):
        at = flat[start : start + CHUNK, None]
        room = np.minimum(left, n - at + 1.0)  # how far the integrand stays smooth below n
        length = np.log1p(step / room)
        nodes, weights = panel_rule(float(np.max(length, initial=0.0)))
        further = room * np.expm1(length * nodes)  # k - n
        rest = left + further
        bend = deviance(np.ones_like(rest), (n - at + 1.0 + further) / rest, (mean - at + 1.0) / rest)
        # log1p(1/k) - 1/(k-mean) is what the last two take off.
        k = n + further
        terms = slope_rise(n - at + 1.0 + further, at) + bend - h(1.0 / k) - mean / (k * rest)
        value[start : start + CHUNK] = length[:, 0] * (((room + further) * terms) @ weights)
    return value.reshape(x.shape)
