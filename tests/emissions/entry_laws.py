"""Laws, points to sum or integrate over, and draws, for the entries of the contract that need their own."""

from __future__ import annotations

import itertools

import numpy as np

from hidiv.emissions.registry import family_class
from tests.emissions.plain_laws import mp, mpf
from tests.emissions.plain_points import bell, line


def scales(rng, spread=0.4):
    """Three positive numbers about one."""
    return np.exp(rng.normal(0.0, spread, 3))


def only(family):
    """The parameters of a family with one state, as mpf (one column) or lists."""
    return [mpf(float(value[0])) for value in family.parameters().values()]


def normal_law(mean, std):
    constant = -mp.log(2 * mp.pi) / 2 - mp.log(std)
    return lambda x: constant - ((x - mean) / std) ** 2 / 2


def normal_points(p, q):
    (mean_p, std_p), (mean_q, std_q) = p, q
    return bell(mean_p, min(std_p, std_q), abs(mean_p - mean_q) + 13 * max(std_p, std_q))


def normal_of(family):
    """Mean and standard deviation of a scalar Gaussian however it was given."""
    mean, spread = only(family)
    return mean, spread if family.std is not None else mp.sqrt(spread)


def power_law(loc, scale, shape):
    constant = -mp.log(2 * scale) - mp.loggamma(1 + 1 / shape)
    return lambda x: constant - abs((x - loc) / scale) ** shape


def power_points(p, q):
    return line([p[0], q[0]], p[1], p[2])


def located_points(p, q):
    return power_points(power_of(p), power_of(q))


def power_of(family):
    """Location, scale and shape of Laplace, Gaussian and generalised Gaussian laws."""
    if family.name == "gaussian":
        mean, std = normal_of(family)
        return mean, std * mp.sqrt(2), mpf(2)
    return (*only(family), mpf(1)) if family.name == "laplace" else (mpf(0), *only(family))


def near_shapes(family, step, rng):
    """A smaller shape: a larger one makes the integral of p^2/q infinite, however near."""
    scale = family.scale * (1 + step * rng.uniform(-1.0, 1.0, 3))
    return type(family)(scale, family.shape * (1 - step * rng.uniform(0.3, 1.0, 3)))


def angle_law(family):
    mean, kappa = only(family)
    constant = -mp.log(2 * mp.pi * mp.besseli(0, kappa))
    return lambda x: constant + kappa * mp.cos(x - mean)


def log_normal_law(family):
    inner = normal_law(*only(family))
    return lambda x: inner(mp.log(x)) - mp.log(x) if x > 0 else -mp.inf


def log_normal_points(p, q):
    return [(mp.exp(t), w * mp.exp(t)) for t, w in normal_points(only(p), only(q))]


def full_law(family):
    """By the inverse and the determinant of the covariance, whatever way the spread was given."""
    values = family.parameters()
    mean = mp.matrix(values["mean"][0].tolist())
    if family.cov is not None:
        cov = mp.matrix(values["cov"][0].tolist())
    else:
        cov = mp.diag([mpf(v) ** (2 if family.std is not None else 1) for v in (list(values.values())[1])[0].tolist()])
    inverse, constant = cov**-1, -mp.log(mp.det(2 * mp.pi * cov)) / 2
    size = range(len(mean))

    def log_at(x):
        off = [x[i] - mean[i] for i in size]
        return constant - sum(off[i] * inverse[i, j] * off[j] for i in size for j in size) / 2

    return log_at


def full_points(p, q):
    """Two columns in the axes in which p is round: q is not far from round there."""
    values = p.parameters()
    mean, spread = values["mean"][0], list(values.values())[1][0]
    factor = np.linalg.cholesky(spread) if p.cov is not None else np.diag(spread)
    root = [[mpf(float(v)) for v in row] for row in factor]
    square = bell(0, 1, 12)
    middle, area = [mpf(float(v)) for v in mean], root[0][0] * root[1][1]
    return [
        ((middle[0] + root[0][0] * u, middle[1] + root[1][0] * u + root[1][1] * v), a * b * area)
        for u, a in square
        for v, b in square
    ]


def draw_full(rng):
    base = rng.normal(size=(3, 2, 4))
    cov = np.einsum("kif,kjf->kij", base, base) / 8 + np.eye(2)
    return family_class("gaussian")(rng.normal(size=(3, 2)) / 2, cov=(cov + cov.transpose(0, 2, 1)) / 2)


def counts(last):
    return [(mpf(k), mpf(1)) for k in range(last + 1)]


def draw_symbols(rng, size=4):
    """Probabilities on a grid of 2^-20: their sum is one to any number of digits."""
    probs = np.round(rng.dirichlet(np.full(size, 3.0), 3) * 2.0**20) / 2.0**20
    probs[:, -1] = 1.0 - probs[:, :-1].sum(axis=1)
    return family_class("categorical")(probs)


def near_symbols(family, step, rng):
    """Some mass moved on a finer grid: the sum stays one."""
    by = rng.integers(1, 8, family.probs.shape) * 2.0 ** np.round(np.log2(step / 64))
    by[:, -1] = -by[:, :-1].sum(axis=1)
    return family_class("categorical")(family.probs + by)


def symbol_law(family):
    logs = [mp.log(mpf(float(v))) for v in family.probs[0]]
    return lambda x: logs[int(x)]


def draw_counts(rng):
    return family_class("multinomial")([4, 4, 4], draw_symbols(rng).probs)


def near_counts(family, step, rng):
    return family_class("multinomial")(family.trials, near_symbols(family, step, rng).probs)


def counts_law(family):
    n, logs = int(family.trials[0]), [mp.log(mpf(float(v))) for v in family.probs[0]]
    ways = lambda x: mp.factorial(n) / mp.fprod(mp.factorial(c) for c in x)  # noqa: E731
    return lambda x: mp.log(ways(x)) + sum(c * log for c, log in zip(x, logs, strict=True)) if sum(x) == n else -mp.inf


def counts_points(p, q):
    """Every row of counts up to the trials; those with another sum have no mass."""
    rows = itertools.product(range(int(p.trials[0]) + 1), repeat=p.n_features)
    return [(tuple(mpf(c) for c in row), mpf(1)) for row in rows]
