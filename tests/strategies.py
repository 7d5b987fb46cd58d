"""Hypothesis strategies for models, pairs, trees and evidence, as plain dicts that hidiv and the oracle both read.

Every probability is a multiple of a power of two, so that rows sum to exactly one and near-identical pairs are exactly
as near as they say.
"""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

# Few examples and always the same: the laws run at every commit.
PHASES = (Phase.explicit, Phase.generate, Phase.shrink)
LAW = settings(max_examples=15, deadline=None, derandomize=True, phases=PHASES, suppress_health_check=list(HealthCheck))

FAMILIES = [
    "categorical", "bernoulli", "gaussian", "gaussian_var", "gaussian_diagonal", "gaussian_full",
    "poisson", "exponential", "gamma", "geometric", "silent",
]  # fmt: skip
GRAIN = 12


@st.composite
def rows(draw, size, zeros=False, grain=GRAIN):
    """A law over `size` symbols in steps of 2^-grain; positive everywhere unless zeros are wanted."""
    total = 2**grain
    cut = st.integers(0, total) if zeros else st.integers(1, total - 1)
    cuts = sorted(draw(st.lists(cut, min_size=size - 1, max_size=size - 1, unique=not zeros)))
    return [(b - a) / total for a, b in zip([0, *cuts], [*cuts, total], strict=True)]


@st.composite
def sticky_rows(draw, size, state):
    """A row that stays with probability 1 - 2^-j."""
    leaving = 2.0 ** -draw(st.integers(3, 14))
    rest = [leaving * x for x in draw(rows(size - 1))]
    return [*rest[:state], 1 - leaving, *rest[state:]]


@st.composite
def transitions(draw, n_states, zeros=False, sticky=False, grain=GRAIN):
    if sticky:
        return [draw(sticky_rows(n_states, state)) for state in range(n_states)]
    return [draw(rows(n_states, zeros, grain)) for _ in range(n_states)]


def numbers(low, high):
    """Multiples of 1/16 between low and high."""
    return st.integers(int(16 * low), int(16 * high)).map(lambda k: k / 16)


@st.composite
def emissions(draw, family, n_states, zeros=False):
    """One family; gaussian_var, gaussian_diagonal and gaussian_full are the Gaussian's other parameterisations."""

    def each(strategy):
        return [draw(strategy) for _ in range(n_states)]

    means, scales, two = numbers(-3, 3), numbers(0.5, 3), {"min_size": 2, "max_size": 2}
    if family == "categorical":
        return {"family": family, "probs": each(rows(3, zeros))}
    if family == "bernoulli":
        return {"family": family, "probs": each(numbers(0.0625, 0.9375))}
    if family == "gaussian":
        return {"family": "gaussian", "mean": each(means), "std": each(scales)}
    if family == "gaussian_var":
        return {"family": "gaussian", "mean": each(means), "var": each(scales)}
    if family == "gaussian_diagonal":
        return {"family": "gaussian", "mean": each(st.lists(means, **two)), "var": each(st.lists(scales, **two))}
    if family == "gaussian_full":
        return {"family": "gaussian", "mean": each(st.lists(means, **two)), "cov": each(covariances())}
    if family == "gamma":
        return {"family": family, "shape": each(scales), "rate": each(scales)}
    if family in ("poisson", "exponential"):
        return {"family": family, "rate": each(scales)}
    if family == "geometric":
        return {"family": family, "prob": each(numbers(0.0625, 0.9375))}
    if family == "silent":
        return {"family": family, "n_states": n_states}
    raise ValueError(family)


@st.composite
def covariances(draw):
    """L L' with L lower triangular, 2 x 2."""
    a, c, b = draw(numbers(0.5, 2)), draw(numbers(0.5, 2)), draw(numbers(-1, 1))
    return [[a * a, a * b], [a * b, b * b + c * c]]


@st.composite
def models(draw, n_states, family, *, groups=1, zeros=False, sticky=False, grain=GRAIN, end=False):
    """One model; `groups` ties parameters by group, `end` gives it a random length."""
    if end:
        parts = [draw(rows(n_states + 1, grain=4)) for _ in range(n_states)]
        transition, ends = [part[:-1] for part in parts], [part[-1] for part in parts]
    else:
        transition = [draw(transitions(n_states, zeros, sticky, grain)) for _ in range(groups)]
    emission = [draw(emissions(family, n_states, zeros)) for _ in range(groups)]
    model = {
        "initial": draw(rows(n_states, zeros)),
        "transition": transition if groups > 1 or end else transition[0],
        "emission": emission if groups > 1 else emission[0],
    }
    return {**model, "end": ends} if end else model


@st.composite
def pairs(draw, families=FAMILIES, *, groups=1, zeros=False, sticky=None, grain=GRAIN, end=False, max_states=3):
    """(p, q) of one family with as many states; with zeros, q has none, so that the divergence is finite."""
    n_states, family = draw(st.integers(2, max_states)), draw(st.sampled_from(families))
    sticks = draw(st.booleans()) if sticky is None else sticky
    options = {"groups": groups, "grain": grain, "end": end}
    p = draw(models(n_states, family, zeros=zeros, sticky=sticks and not zeros, **options))
    return p, draw(models(n_states, family, **options))


@st.composite
def near_pairs(draw, *, max_states=3):
    """(p, q) categorical, q moved from p by 2^-20 to 2^-30 in every row: differences of 1e-6 to 1e-9."""
    n_states = draw(st.integers(2, max_states))
    p = draw(models(n_states, "categorical"))
    step = 2.0 ** -draw(st.integers(20, 30))

    def moved(row):
        first, second = draw(st.permutations(range(len(row))))[:2]
        return [x + step if i == first else x - step if i == second else x for i, x in enumerate(row)]

    q = {
        "initial": moved(p["initial"]),
        "transition": [moved(row) for row in p["transition"]],
        "emission": {"family": "categorical", "probs": [moved(row) for row in p["emission"]["probs"]]},
    }
    return p, q


@st.composite
def listed_trees(draw, max_nodes=6, groups=1):
    """Any tree by its parents, with a group for every node where groups are wanted."""
    n_nodes = draw(st.integers(1, max_nodes))
    tree = {"parent": [-1] + [draw(st.integers(0, u - 1)) for u in range(1, n_nodes)]}
    if groups > 1:
        tree["group"] = [draw(st.integers(0, groups - 1)) for _ in range(n_nodes)]
    return tree


def chains(max_nodes=6):
    return st.integers(1, max_nodes).map(lambda n: {"chain": n})


def regular_trees():
    """Regular trees of at most fifteen nodes."""
    shapes = [(1, 5), (2, 1), (2, 2), (2, 3), (2, 4), (3, 2), (3, 3), (5, 2)]
    return st.sampled_from(shapes).map(lambda shape: {"regular": {"children": shape[0], "depth": shape[1]}})


def small_trees():
    """Trees with at most six nodes, so that 3^6 configurations can be enumerated."""
    shapes = [(1, 4), (2, 2), (3, 2)]
    few = st.sampled_from(shapes).map(lambda shape: {"regular": {"children": shape[0], "depth": shape[1]}})
    return st.one_of(chains(), listed_trees(), few)


@st.composite
def evidence(draw, model, n_nodes):
    """Evidence that a model without zeros can produce: values, sets, intervals, nothing; some states ruled out."""
    family = model["emission"][0] if isinstance(model["emission"], list) else model["emission"]
    n_states = len(model["initial"])
    entries = []
    for _ in range(n_nodes):
        entry = draw(observations(family))
        if draw(st.integers(0, 3)) == 0:
            allowed = sorted(draw(st.sets(st.integers(0, n_states - 1), min_size=1)))
            entry = {**(entry or {}), "states": allowed}
        entries.append(entry)
    return entries


@st.composite
def observations(draw, family):
    """One entry of the list form that fits a family: null, x, in or between."""
    name = family["family"]
    if name == "silent":
        return None
    count, positive, real = st.integers(0, 5), numbers(0.0625, 4), numbers(-4, 4)
    if name == "categorical":
        symbols = range(len(family["probs"][0]))
        value, bounds = st.sampled_from(symbols), None
    elif name == "gaussian" and isinstance(family["mean"][0], list):
        value, bounds = st.lists(st.one_of(st.none(), real), min_size=2, max_size=2), None
    else:
        known = {"bernoulli": st.integers(0, 1), "poisson": count, "geometric": count, "gaussian": real}
        value = known.get(name, positive)
        bounds = None if name in ("bernoulli", "geometric") else value
    kind = draw(st.sampled_from(["x", "x", "nothing", "set"]))
    if kind == "nothing" or (kind == "set" and bounds is None and name != "categorical"):
        return None
    if kind == "x":
        return {"x": draw(value)}
    if name == "categorical":
        return {"in": sorted(draw(st.sets(st.sampled_from(symbols), min_size=1)))}
    low, width = draw(bounds), draw(numbers(1, 3))
    return {"between": draw(st.sampled_from([[low, None], [low, low + width], [None, low + width]]))}
