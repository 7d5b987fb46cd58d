"""What the contract test needs to know of each family: how to draw parameters, and the law itself in 50 digits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats

from hidiv.emissions.registry import family_class
from tests.emissions.entry_laws import (
    angle_law,
    counts,
    counts_law,
    counts_points,
    draw_counts,
    draw_full,
    draw_symbols,
    full_law,
    full_points,
    located_points,
    log_normal_law,
    log_normal_points,
    near_counts,
    near_shapes,
    near_symbols,
    normal_law,
    normal_of,
    normal_points,
    only,
    power_law,
    power_of,
    scales,
    symbol_law,
)
from tests.emissions.plain_laws import log_density, mp, mpf, points
from tests.emissions.plain_points import bell, circle, product


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


def draw_product(rng):
    return family_class("product")([ENTRIES[name].draw(rng) for name in ("bernoulli", "gaussian")])


def product_law(family):
    each = [ENTRIES[member.name].law(member) for member in family.families]
    return lambda x: sum(law(value) for law, value in zip(each, x, strict=True))


def product_points(p, q):
    pairs = zip(p.families, q.families, strict=True)
    return product(*(ENTRIES[a.name].points(a, b) for a, b in pairs))


def draw_mixture(rng):
    """Two normal laws a state; weights on a grid of 2^-20, so that they sum to one to any number of digits."""
    share = np.round(rng.uniform(0.2, 0.8, 3) * 2.0**20) / 2.0**20
    members = [ENTRIES["gaussian"].draw(rng) for _ in range(2)]
    return family_class("mixture")(np.stack([share, 1.0 - share], axis=1), members)


def near_mixture(family, step, rng):
    by = rng.integers(1, 8, 3) * 2.0 ** np.round(np.log2(step / 64))
    members = [
        type(member)(
            member.mean + step * rng.uniform(-1.0, 1.0, 3), std=member.std * (1 + step * rng.uniform(-1.0, 1.0, 3))
        )
        for member in family.components
    ]
    return type(family)(family.weights + np.stack([by, -by], axis=1), members)


def mixture_law(family):
    each = [ENTRIES[member.name].law(member) for member in family.components]
    shares = [mpf(float(weight)) for weight in family.weights[0]]
    return lambda x: mp.log(mp.fsum(share * mp.exp(law(x)) for share, law in zip(shares, each, strict=True)))


def mixture_points(p, q):
    """As fine as the narrowest of the normal laws needs, as far as the widest goes."""
    places = [normal_of(member) for mixture in (p, q) for member in mixture.components]
    means, stds = [mean for mean, _ in places], [std for _, std in places]
    # log q/p has singularities off the line, so the steps are finer than one normal law needs.
    return bell(means[0], min(stds) / 6, max(means) - min(means) + 13 * max(stds))


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
    "mixture": Entry(
        "mixture",
        draw_mixture,
        mixture_law,
        mixture_points,
        bad={"weights": -0.5},
        near=near_mixture,
        tails=((20.0, 21.0), (0.4, 0.4 + 1e-13), (-31.0, -30.0)),
    ),
    "product": Entry("product", draw_product, product_law, product_points),
}


def moved(name, by, last, tails):
    """The entry of a family of counts whose laws start at `by`."""
    base = ENTRIES[name]

    def draw(rng):
        return family_class(name)(**base.draw(rng).parameters(), shift=by)

    def law(family):
        plain = base.law(family.unshifted())
        return lambda x: plain(x - by) if x >= by else -mp.inf

    def frozen(family):
        (plain,) = base.frozen(family.unshifted())
        return [type(plain)(plain.dist, *plain.args, **{**plain.kwds, "loc": plain.kwds.get("loc", 0) + by})]

    def at(p, q):
        return counts(last)

    return Entry(name, draw, law, at, frozen, {"shift": 0.5}, kept=(*base.kept, "shift"), tails=tails)


ENTRIES |= {
    "poisson from 2": moved("poisson", 2, 112, ((42.0, 47.0), (0.0, 4.0), (-np.inf, 2.0))),
    "geometric from 1": moved("geometric", 1, 221, ((61.0, 65.0), (0.0, 3.0))),
    "binomial from 3": moved("binomial", 3, 14, ((12.0, 14.0), (1.0, 5.0))),
    "negative_binomial from 4": moved("negative_binomial", 4, 174, ((64.0, 68.0), (0.0, 9.0))),
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
