"""Laws of counts, rates and proportions in 50 digits, as they are defined; divergences by sums and quadrature."""

from __future__ import annotations

import mpmath

mp = mpmath.MPContext()
mp.dps = 50
mpf = mp.mpf


def log_density(name, parameters):
    """log-density of one law as a function of an mpf."""
    a, *more = (mpf(float(value)) for value in parameters)
    log, log1p, gamma = mp.log, mp.log1p, mp.loggamma
    if name == "bernoulli":
        return lambda x: log(a) if x == 1 else log1p(-a)
    if name == "poisson":
        return lambda x: x * log(a) - a - gamma(x + 1)
    if name == "geometric":
        return lambda x: log(a) + x * log1p(-a)
    if name == "exponential":
        return lambda x: log(a) - a * x
    (b,) = more
    if name == "binomial":
        one, zero = log(b), log1p(-b)
        return lambda x: log(mp.binomial(a, x)) + x * one + (a - x) * zero if x <= a else -mp.inf
    if name == "negative_binomial":
        constant, zero = a * log(b) - gamma(a), log1p(-b)
        return lambda x: gamma(a + x) - gamma(x + 1) + constant + x * zero
    if name == "gamma":
        constant = a * log(b) - gamma(a)
        return lambda x: constant + (a - 1) * log(x) - b * x
    constant = gamma(a + b) - gamma(a) - gamma(b)
    return lambda x: constant + (a - 1) * log(x) + (b - 1) * log1p(-x)


def points(name, last):
    """Counts 0..last with weight 1; positive numbers and proportions by the trapezoidal rule in log x, log x/(1-x).

    The step 1/10 is good to 40 digits for smooth laws that have died out at the last point.
    """
    if name not in ("exponential", "gamma", "beta"):
        return [(mpf(k), mpf(1)) for k in range(int(last) + 1)]
    step = mpf(1) / 10
    grid = [step * k for k in range(-int(last * 10), int(last * 10 if name == "beta" else 50) + 1)]
    if name == "beta":
        return [(1 / (1 + mp.exp(-t)), step / ((1 + mp.exp(t)) * (1 + mp.exp(-t)))) for t in grid]
    return [(mp.exp(t), step * mp.exp(t)) for t in grid]


def divergences(p, q, last, alphas=()):
    """KL, then the Renyi divergences, of two laws (name, parameters): sums of p log p/q and of p^alpha q^(1-alpha)."""
    log_p, log_q = log_density(*p), log_density(*q)
    terms = []
    for x, weight in points(p[0], last):
        at_p = log_p(x)
        if at_p > -mp.inf:
            terms.append((weight * mp.exp(at_p), at_p - log_q(x)))
    assert abs(mp.fsum(mass for mass, _ in terms) - 1) < mpf(10) ** -30  # the points carry the law
    kl = mp.fsum(mass * ratio for mass, ratio in terms)
    orders = [mpf(float(alpha)) - 1 for alpha in alphas]
    return [kl, *(mp.log(mp.fsum(mass * mp.exp(a * ratio) for mass, ratio in terms)) / a for a in orders)]


def error(value, expected):
    """Relative error of a double."""
    return float(abs(mpf(float(value)) - expected) / abs(expected))
