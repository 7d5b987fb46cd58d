"""Density of a value and probability of a closed interval, for one column of an emission."""

from __future__ import annotations

from .arithmetic import mp


def density(column, x):
    """Probability or density of x under one column."""
    name, at = column
    x = mp.mpf(x) if name != "gaussian_full" else [mp.mpf(v) for v in x]
    if name == "categorical":
        return at["probs"][int(x)]
    if name == "bernoulli":
        return at["probs"] if x == 1 else 1 - at["probs"]
    if name == "poisson":
        return mp.exp(-at["rate"]) * at["rate"] ** x / mp.factorial(x)
    if name == "geometric":
        return (1 - at["prob"]) ** x * at["prob"]
    if name == "exponential":
        return at["rate"] * mp.exp(-at["rate"] * x) if x >= 0 else mp.zero
    if name == "gamma":
        shape, rate = at["shape"], at["rate"]
        return rate**shape / mp.gamma(shape) * x ** (shape - 1) * mp.exp(-rate * x) if x > 0 else mp.zero
    if name == "gaussian":
        return mp.exp(-((x - at["mean"]) ** 2) / (2 * at["var"])) / mp.sqrt(2 * mp.pi * at["var"])
    if name == "gaussian_full":
        off = mp.matrix([v - m for v, m in zip(x, at["mean"], strict=True)])
        cov = mp.matrix(at["cov"])
        square = (off.T * mp.lu_solve(cov, off))[0]
        return mp.exp(-square / 2) / mp.sqrt((2 * mp.pi) ** len(x) * mp.det(cov))
    if name == "laplace":
        return mp.exp(-abs(x - at["loc"]) / at["scale"]) / (2 * at["scale"])
    raise NotImplementedError(name)


COUNTS = {"poisson", "geometric", "categorical", "bernoulli"}


def mass(column, lower, upper):
    """P(lower <= X <= upper); None is unbounded."""
    name, at = column
    if name in COUNTS:
        if upper is None:
            below = range(int(mp.ceil(lower or 0)))
            return 1 - sum((density(column, k) for k in below), mp.zero)
        return sum((density(column, k) for k in whole_numbers(lower, upper)), mp.zero)
    low = tail(name, at, lower) if lower is not None else mp.one
    high = tail(name, at, upper) if upper is not None else mp.zero
    return low - high


def whole_numbers(lower, upper):
    return range(max(0, int(mp.ceil(lower or 0))), int(mp.floor(upper)) + 1)


def tail(name, at, x):
    """P(X > x) of a continuous column."""
    x = mp.mpf(x)
    if name == "gaussian":
        return mp.erfc((x - at["mean"]) / mp.sqrt(2 * at["var"])) / 2
    if name == "exponential":
        return mp.exp(-at["rate"] * max(x, mp.zero))
    if name == "gamma":
        return mp.gammainc(at["shape"], at["rate"] * max(x, mp.zero), mp.inf, regularized=True)
    raise NotImplementedError(name)
