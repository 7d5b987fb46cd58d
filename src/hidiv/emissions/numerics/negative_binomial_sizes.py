"""Two negative binomial laws of different sizes: no closed form, sums over the counts.

From p the size is changed first, at p's mean, then the mean: the KL is the sum of the KLs of the two steps, and the
log-ratio of each step is of the size of the step.
"""

from __future__ import annotations

import math
from typing import NamedTuple, NoReturn

import numpy as np

from hidiv.emissions.numerics import bits
from hidiv.emissions.numerics.adaptive_integrals import (
    FARTHEST,
    Function,
    Laws,
    divergence,
    integral,
    log_power,
    peak,
    total,
)
from hidiv.emissions.numerics.adaptive_integrals import renyi as renyi_sum
from hidiv.emissions.numerics.bits import Bits
from hidiv.emissions.numerics.deviance import deviance, products
from hidiv.emissions.numerics.stirling import factorial_remainder, log_step, panel_rule, remainder, slope, slope_rise
from hidiv.errors import OutOfRange, refuse
from hidiv.types import Array

CHUNK = 4096  # counts at a time
NOTHING = -150.0  # a log-probability that no longer shows
SLOW = 1e-3  # of p's own decay: slower terms are written without it
EDGE = 2.0**20  # of the sizes: from here they are integrated


def log_pmf(x: Array, size: Array, trial: Bits) -> Array:
    """log of Gamma(size+x) / (Gamma(size) x!) one^size zero^x, as deviances: large counts keep their digits."""
    with np.errstate(invalid="ignore"):
        n = x + size
        off = size * trial.zero - x * trial.one  # expected failures out of n, less x
        binomial = deviance(x, n * trial.zero, off) + deviance(size, n * trial.one, -off)
        return np.asarray(remainder(n) - remainder(size) - factorial_remainder(x) - binomial)


class SizesBetween(NamedTuple):
    """The law of q's size and p's mean."""

    mean: Array
    trial: Bits
    step: Array  # from its probability of success to q's


def between(r: Array, p: Bits, s: Array, q: Bits) -> SizesBetween:
    """r, s: the sizes of p and q."""
    mean = r * (p.zero / p.one)
    # q's mean less p's, from differences of the parameters.
    further = products(s - r, q.zero * p.one, r, bits.step(p, q)) / (p.one * q.one)
    n = s + mean
    return SizesBetween(mean, Bits(s / n, mean / n), -further * q.one / n)


def kl_sizes(r: Array, p: Bits, s: Array, q: Bits) -> float:
    """KL of size r and trial p from size s and trial q, each one number; +inf where q is sure to be 0 and p is not."""
    if p.zero == 0:
        return float(-s * bits.log_bits(q).one)
    if q.zero == 0:
        return math.inf
    mid = between(r, p, s, q)
    laws = Laws(lambda x: log_pmf(x, r, p), lambda x: log_pmf(x, s, mid.trial), lambda x: size_ratio(x, r, s, mid.mean))
    centres = [mode(r, p), mode(s, mid.trial)]
    end = last([laws.log_p, laws.log_q], centres)
    by_size = divergence(laws, lambda f: total(f, centres, end))
    return by_size + float(s * bits.kl_failures(mid.trial, q, mid.step))


def renyi_sizes(r: Array, p: Bits, s: Array, q: Bits, alpha: float) -> float:
    """Renyi divergence of order alpha, each argument one number; +inf where the sum diverges or supports ask for it."""
    if p.zero == 0:
        return float(-s * bits.log_bits(q).one)
    if q.zero == 0:
        return math.inf if alpha > 1 else float(alpha * r * bits.log_bits(p).one) / (alpha - 1.0)
    # Terms go like x^(power-1) e^(decay x).
    decay, power = float(bits.log_powers(p, q, alpha).zero), float(alpha * r + (1.0 - alpha) * s)
    if decay > 0 or (decay == 0 and power >= 0):
        return math.inf
    laws = Laws(lambda x: log_pmf(x, r, p), lambda x: log_pmf(x, s, q), lambda x: ratio_sizes(x, r, p, s, q))
    slow = alpha > 1 and decay > SLOW * float(bits.log_bits(p).zero)
    log_terms = _slow_terms(laws, r, p, s, q, alpha) if slow else lambda x: log_power(laws, alpha, x)
    top = peak(log_terms, np.concatenate([[0.0], 2.0 ** np.arange(math.log2(FARTHEST) + 1)]))
    centres = [mode(r, p), mode(s, q), int(top.at)]

    def relative(x: Array) -> Array:
        return np.asarray(log_terms(x) - top.height)

    if slow:
        end = float(math.floor(EDGE * max(1.0, float(r), float(s))))
        z = total(lambda x: np.exp(relative(x)), centres, end) + _slow_tail(relative, end, r, s, alpha, decay)
        return (top.height + math.log(z)) / (alpha - 1.0)
    end = last([laws.log_p, laws.log_q, relative], centres)
    return renyi_sum(laws, alpha, lambda f: total(f, centres, end), top.height)


def _slow_terms(laws: Laws, r: Array, p: Bits, s: Array, q: Bits, alpha: float) -> Function:
    """log of p^alpha q^(1-alpha) for alpha > 1 where it decays much slower than p: what is fast is left out."""
    (one_p, _), (one_q, _), decay = bits.log_bits(p), bits.log_bits(q), bits.log_powers(p, q, alpha).zero

    def rise(x: Array, t: Array) -> Array:  # log Gamma(x+t)/Gamma(x+1)
        up = (x + t) * np.log1p((t - 1.0) / (x + 1.0)) + (t - 1.0) * (np.log(x + 1.0) - 1.0)
        return np.asarray(up + remainder(x + t) - remainder(x + 1.0))

    def one(x: Array, t: Array, log: Array) -> Array:
        return np.asarray(rise(x, t) + t * log - (remainder(t) + t * np.log(t) - t))

    def log_terms(x: Array) -> Array:
        far = alpha * one(x, r, one_p) + (1.0 - alpha) * one(x, s, one_q) + decay * x
        return np.where(x > 1e3 * max(1.0, float(r), float(s)), far, log_power(laws, alpha, x))

    return log_terms


def _slow_tail(log_terms: Function, end: float, r: Array, s: Array, alpha: float, decay: float) -> float:
    """Sum beyond `end` of terms that go like (x + shift)^(power-1) e^(decay x): their integral from end + 1/2."""
    at, power = np.array(end), float(alpha * r + (1.0 - alpha) * s)

    def digamma(t: Array | float) -> Array:  # less log x
        return np.asarray(slope(at + t) + np.log1p(t / at))

    base = (power - 1.0) / float(alpha * digamma(r) + (1.0 - alpha) * digamma(s) - digamma(1.0))  # end + shift
    first, start = math.exp(float(log_terms(at))), math.log1p(0.5 / base)
    if decay == 0:
        return first * base * math.exp(power * start) / -power
    reach = max(math.log(NOTHING / decay / base), 0.0) + 1.0
    edges = start + np.linspace(0.0, reach, math.ceil(reach) + 1)
    return first * base * integral(lambda v: np.exp(power * v + decay * base * np.expm1(v)), edges)


def mode(size: Array, trial: Bits) -> int:
    """A most probable count."""
    count = max(float(size) - 1.0, 0.0) * float(trial.zero / trial.one)
    return int(count) if count < FARTHEST else too_far()


def last(logs: list[Function], centres: list[int]) -> float:
    """A count beyond which none of the laws has mass that shows."""
    at = max(centres) + 2.0 ** np.arange(math.log2(FARTHEST))
    beyond = np.all([f(at) < NOTHING for f in logs], axis=0)
    return float(at[np.argmax(beyond)]) if beyond.any() else too_far()


def too_far() -> NoReturn:
    """Refuse laws that reach beyond what is summed."""
    refuse(
        OutOfRange,
        "emission",
        "negative binomial laws of different sizes are summed over counts up to 2^52",
        remedy="give both the same size, or count in larger units",
    )


def ratio_sizes(x: Array, r: Array, p: Bits, s: Array, q: Bits) -> Array:
    """log q/p at counts x of any shape, r, s and the trials one number each."""
    if p.zero == 0 or q.zero == 0:
        log_p, log_q = log_pmf(x, r, p), log_pmf(x, s, q)
        with np.errstate(invalid="ignore"):
            return np.where(log_p == log_q, 0.0, log_q - log_p)
    mid = between(r, p, s, q)
    slope = log_step(mid.trial.zero, q.zero, -mid.step)
    return size_ratio(x, r, s, mid.mean) + (x - mid.mean) * slope - s * bits.kl_failures(mid.trial, q, mid.step)


def size_ratio(x: Array, r: Array, s: Array, mean: Array) -> Array:
    """log-ratio of size s to size r at one mean: the integral over the size n from r to s of
    G'(x+n) - G'(n) - h((x-mean)/(n+mean)), with G of stirling.py and h(v) = v - log1p(v).
    """
    length = log_step(r, s, s - r)
    nodes, weights = panel_rule(abs(float(length)))
    sizes = r * np.exp(length * nodes)
    flat, value = x.reshape(-1), np.empty(x.size)
    for start in range(0, x.size, CHUNK):
        at = flat[start : start + CHUNK, None]
        off = deviance(np.ones_like(at), (at + sizes) / (sizes + mean), (at - mean) / (sizes + mean))
        value[start : start + CHUNK] = (sizes * (slope_rise(sizes, at) - off)) @ (length * weights)
    return value.reshape(x.shape)
