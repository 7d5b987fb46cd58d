"""Laws of counts and of positive numbers in 50 digits, straight from their definitions; divergences by sums and quadrature."""

from __future__ import annotations

import mpmath

mp = mpmath.MPContext()
mp.dps = 50
mpf = mp.mpf


def log_density(name, parameters):
    """log-density of one law as a function of an mpf."""
    a, *more = (mpf(float(value)) for value in parameters)
    b = more[0] if more else None
    gamma = mp.loggamma
    return {
        "bernoulli": lambda x: mp.log(a) if x == 1 else mp.log1p(-a),
        "poisson": lambda x: x * mp.log(a) - a - gamma(x + 1),
        "geometric": lambda x: mp.log(a) + x * mp.log1p(-a),
        "binomial": lambda x: (
            gamma(a + 1) - gamma(x + 1) - gamma(a - x + 1) + x * mp.log(b) + (a - x) * mp.log1p(-b) if x <= a else -mp.inf
        ),
        "negative_binomial": lambda x: gamma(a + x) - gamma(a) - gamma(x + 1) + a * mp.log(b) + x * mp.log1p(-b),
        "exponential": lambda x: mp.log(a) - a * x,
        "gamma": lambda x: a * mp.log(b) + (a - 1) * mp.log(x) - b * x - gamma(a),
        "beta": lambda x: gamma(a + b) - gamma(a) - gamma(b) + (a - 1) * mp.log(x) + (b - 1) * mp.log1p(-x),
    }[name]


def total(name, f, last):
    """Sum of f over the counts 0..last, or its integral over the sample space."""
    if name == "beta":
        # t = x/(1-x) in logs: no singularity is left at either end.
        return mp.quad(lambda t: f(1 / (1 + mp.exp(-t))) / ((1 + mp.exp(t)) * (1 + mp.exp(-t))), [-last, -8, 0, 8, last])
    if name in ("exponential", "gamma"):
        return mp.quad(lambda t: f(mp.exp(t)) * mp.exp(t), [-last, -8, 0, 2, 5])
    return mp.fsum(f(mpf(k)) for k in range(int(last) + 1))


def kl(name_p, p, name_q, q, last):
    """Mean of log p/q under p."""
    log_p, log_q = log_density(name_p, p), log_density(name_q, q)
    return total(name_p, lambda x: mp.exp(log_p(x)) * (log_p(x) - log_q(x)), last)


def renyi(name_p, p, name_q, q, alpha, last):
    """log of the sum of p^alpha q^(1-alpha), over alpha - 1."""
    log_p, log_q, a = log_density(name_p, p), log_density(name_q, q), mpf(float(alpha))
    return mp.log(total(name_p, lambda x: mp.exp(a * log_p(x) + (1 - a) * log_q(x)), last)) / (a - 1)


def error(value, expected):
    """Relative error of a double."""
    return float(abs(mpf(float(value)) - expected) / abs(expected))
