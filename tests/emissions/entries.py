"""What the contract test needs to know of each family: how to draw parameters, and the law itself in 50 digits."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats

from hidiv.emissions.registry import family_class
from tests.emissions.plain_laws import log_density, mp, mpf, points
from tests.emissions.plain_points import bell, circle, line, product


@dataclass(frozen=True)
class Entry:
    """One family, or one way to write its parameters; laws and points are those of a family with one state."""

    family: str
    draw: Callable[[np.random.Generator], Any]  # three states
    law: Callable[[Any], Callable[[Any], Any]]  # log-density at a point, an mpf or a tuple of them
    points: Callable[[Any, Any], list[Any]]  # (point, weight) pairs that carry p and q
    frozen: Callable[[Any], list[Any]] | None = None  # scipy's law of each column
    bad: dict[str, Any] = field(default_factory=dict)  # parameter -> a first entry that must be refused
    moved: tuple[str, ...] = ()  # parameters that are moved by a step, not stretched by it
    kept: tuple[str, ...] = ()  # parameters a near law shares
    near: Callable[[Any, float, np.random.Generator], Any] | None = None  # a near law, where those two do not say it
    tails: tuple[tuple[float, float], ...] = ()  # far and tiny intervals of the first state drawn


def scales(rng, spread=0.4):
    """Three positive numbers about one."""
    return np.exp(rng.normal(0.0, spread, 3))


def only(family):
    """The parameters of a family with one state, as mpf (one column) or lists."""
    return [mpf(float(value[0])) for value in family.parameters().values()]


def plain(name, draw, last, frozen, bad, **more):
    """An entry for the laws of counts, rates and proportions that plain_laws knows."""
    return Entry(
        name,
        lambda rng: family_class(name)(*draw(rng)),
        lambda family: log_density(name, only(family)),
        lambda p, q: points(name, last),
        frozen and (lambda family: [frozen(*(float(value[0]) for value in family.parameters().values()))]),
        bad,
        **more,
    )


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


def draw_product(rng):
    return family_class("product")([ENTRIES[name].draw(rng) for name in ("bernoulli", "gaussian")])


def product_law(family):
    each = [ENTRIES[member.name].law(member) for member in family.families]
    return lambda x: sum(law(value) for law, value in zip(each, x, strict=True))


def product_points(p, q):
    pairs = zip(p.families, q.families, strict=True)
    return product(*(ENTRIES[a.name].points(a, b) for a, b in pairs))


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


FAR = ((20.0, 21.0), (-31.0, -30.0), (0.4, 0.4 + 1e-13), (-9.0, 12.0), (14.0, np.inf), (-np.inf, -15.0))

ENTRIES = {
    "categorical": Entry(
        "categorical",
        draw_symbols,
        symbol_law,
        lambda p, q: counts(p.n_symbols - 1),
        lambda f: [stats.rv_discrete(values=(np.arange(f.n_symbols), f.probs[0]))()],
        {"probs": -0.1},
        near=near_symbols,
        tails=((1.0, 2.0), (-np.inf, 0.0)),
    ),
    "multinomial": Entry(
        "multinomial",
        draw_counts,
        counts_law,
        counts_points,
        bad={"trials": 1.5, "probs": -0.1},
        near=near_counts,
    ),
    "bernoulli": plain(
        "bernoulli", lambda rng: [rng.random(3)], 1, stats.bernoulli, {"probs": 1.5}, tails=((0.5, 3.0),)
    ),
    "poisson": plain(
        "poisson", lambda rng: [3 * scales(rng)], 110, stats.poisson, {"rate": -1.0}, tails=((40.0, 45.0),)
    ),
    "exponential": plain(
        "exponential",
        lambda rng: [scales(rng)],
        100,
        lambda rate: stats.expon(scale=1 / rate),
        {"rate": 0.0},
        tails=((200.0, 201.0), (0.4, 0.4 + 1e-13), (90.0, np.inf)),
    ),
    "gamma": plain(
        "gamma",
        lambda rng: [2 * scales(rng), scales(rng)],
        60,
        lambda shape, rate: stats.gamma(shape, scale=1 / rate),
        {"shape": 0.0, "rate": -1.0},
        tails=((200.0, 201.0), (0.4, 0.4 + 1e-13), (1e-30, 1e-29)),
    ),
    "geometric": plain(
        "geometric",
        lambda rng: [rng.uniform(0.35, 0.9, 3)],
        220,
        lambda prob: stats.geom(prob, loc=-1),
        {"prob": 0.0},
        tails=((60.0, 64.0),),
    ),
    "binomial": plain(
        "binomial",
        lambda rng: [np.full(3, 11.0), rng.uniform(0.2, 0.8, 3)],
        11,
        stats.binom,
        {"trials": 2.5, "prob": -0.5},
        kept=("trials",),
        tails=((9.0, 11.0),),
    ),
    "negative_binomial": plain(
        "negative_binomial",
        lambda rng: [np.full(3, 2.5), rng.uniform(0.45, 0.9, 3)],
        170,
        stats.nbinom,
        {"size": 0.0, "prob": 0.0},
        kept=("size",),
        tails=((60.0, 64.0),),
    ),
    "beta": plain(
        "beta",
        lambda rng: [2 * scales(rng), 2 * scales(rng)],
        100,
        stats.beta,
        {"a": 0.0, "b": -1.0},
        tails=((0.3, 0.3 + 1e-13), (1e-30, 1e-29)),
    ),
    "silent": Entry(
        "silent", lambda rng: family_class("silent")(3), lambda f: lambda x: mpf(0), lambda p, q: [((), mpf(1))]
    ),
    "gaussian": Entry(
        "gaussian",
        lambda rng: family_class("gaussian")(rng.normal(size=3), std=scales(rng)),
        lambda f: normal_law(*normal_of(f)),
        lambda p, q: normal_points(normal_of(p), normal_of(q)),
        lambda f: [stats.norm(float(f.mean[0]), float(f.deviation[0, 0]))],
        {"mean": np.inf, "std": 0.0},
        moved=("mean",),
        tails=FAR,
    ),
    "gaussian by var": Entry(
        "gaussian",
        lambda rng: family_class("gaussian")(rng.normal(size=3), var=scales(rng)),
        lambda f: normal_law(*normal_of(f)),
        lambda p, q: normal_points(normal_of(p), normal_of(q)),
        bad={"var": -1.0},
        moved=("mean",),
    ),
    "gaussian by cov": Entry("gaussian", draw_full, full_law, full_points, bad={"cov": -1.0}, moved=("mean",)),
    "log_normal": Entry(
        "log_normal",
        lambda rng: family_class("log_normal")(rng.normal(size=3), scales(rng) / 2),
        log_normal_law,
        log_normal_points,
        lambda f: [stats.lognorm(float(f.std[0]), scale=float(np.exp(f.mean[0])))],
        {"mean": np.inf, "std": -1.0},
        moved=("mean",),
        tails=((1e9, 2e9), (1e-9, 2e-9), (0.4, 0.4 + 1e-13), (-3.0, 2.0), (1e6, np.inf)),
    ),
    "laplace": Entry(
        "laplace",
        lambda rng: family_class("laplace")(rng.normal(size=3), scales(rng)),
        lambda f: power_law(*power_of(f)),
        located_points,
        lambda f: [stats.laplace(float(f.loc[0]), float(f.scale[0]))],
        {"loc": np.inf, "scale": 0.0},
        moved=("loc",),
        tails=(*FAR, (300.0, 301.0)),
    ),
    "generalized_gaussian": Entry(
        "generalized_gaussian",
        lambda rng: family_class("generalized_gaussian")(scales(rng), 1.3 * scales(rng, 0.2)),
        lambda f: power_law(*power_of(f)),
        located_points,
        lambda f: [stats.gennorm(float(f.shape[0]), scale=float(f.scale[0]))],
        {"scale": 0.0, "shape": -1.0},
        near=near_shapes,
        tails=FAR,
    ),
    "von_mises": Entry(
        "von_mises",
        lambda rng: family_class("von_mises")(rng.normal(size=3), 2 * scales(rng)),
        angle_law,
        lambda p, q: circle(160),
        lambda f: [stats.vonmises(float(f.concentration[0]), float(f.mean[0]))],
        {"mean": np.inf, "concentration": -1.0},
        moved=("mean",),
        tails=((3.0, 4.0), (1.0, 7.2), (0.4, 0.4 + 1e-13)),
    ),
    "product": Entry("product", draw_product, product_law, product_points),
}

# Pairs of two families, compared both ways: how to draw each with three states, and points that carry both.
CROSSED = {
    ("bernoulli", "categorical"): (ENTRIES["bernoulli"].draw, lambda rng: draw_symbols(rng, 2), lambda p, q: counts(1)),
    ("bernoulli", "binomial"): (
        ENTRIES["bernoulli"].draw,
        lambda rng: family_class("binomial")([3, 2, 1], rng.uniform(0.2, 0.8, 3)),
        lambda p, q: counts(3),
    ),
    ("exponential", "gamma"): (ENTRIES["exponential"].draw, ENTRIES["gamma"].draw, lambda p, q: points("gamma", 75)),
    ("geometric", "negative_binomial"): (
        ENTRIES["geometric"].draw,
        ENTRIES["negative_binomial"].draw,
        ENTRIES["geometric"].points,
    ),
    ("laplace", "gaussian"): (ENTRIES["laplace"].draw, ENTRIES["gaussian"].draw, located_points),
    ("generalized_gaussian", "laplace"): (
        ENTRIES["generalized_gaussian"].draw,
        ENTRIES["laplace"].draw,
        located_points,
    ),
    ("generalized_gaussian", "gaussian"): (
        ENTRIES["generalized_gaussian"].draw,
        ENTRIES["gaussian"].draw,
        located_points,
    ),
}


def law_of(family):
    """The plain law of a family with one state, whatever the pair it stands in."""
    law = ENTRIES[family.name].law(family)
    return (lambda x: law(x) if x <= 1 else -mp.inf) if family.name == "bernoulli" else law
