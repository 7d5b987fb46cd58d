"""Starts of a climb: clusters of observations found by k-means++, or random shares."""

from __future__ import annotations

import numpy as np

from hidiv.emissions.composite.mixture.mixture import Mixture
from hidiv.emissions.family import Family
from hidiv.emissions.sample_space import Kind
from hidiv.emissions.weighted import Weighted, spread
from hidiv.fitting.em_steps import Draft, Problem
from hidiv.models.model import Model
from hidiv.types import Array, IntArray

MOST = 4000  # observations used for the clusters, at most
HANDFUL = 5.0
PURE = 0.9  # share of an observation that goes to its own cluster


def started(shape: Model, problem: Problem, rng: np.random.Generator, fixed: frozenset[str], which: int) -> Draft:
    """A start with the form of `shape`: emissions of clusters, transitions counted between them and smoothed.

    `which` 0 is the plainest. Of the others every second has random laws of roots and transitions, with many small
    entries, and every fourth shares the observations out at random, as likelihoods have many maxima.
    """
    k = shape.n_states
    scattered = which % 4 == 3
    emissions, share = [], np.full((problem.rows.n_rows, k), 1.0 / k)
    for family, sample, where in zip(shape.emissions, problem.samples, problem.places, strict=True):
        own = _shares(family, sample, problem.uses[where], k, rng, scattered, fixed)
        emissions.append(_estimated(family, sample, own * problem.uses[where][:, None], fixed, rng))
        share[where] = own
    if "emission" in fixed:
        emissions = list(shape.emissions)
    random = which % 2 == 1
    initial = shape.initial
    if "initial" not in fixed:
        initial = _sparse(rng, k, 1)[0] if random else np.full(k, 1.0 / k)
    transitions, end = shape.transitions, shape.end
    if "transition" not in fixed:
        transitions, end = _edges(shape, problem, share, rng, random)
    return Draft(initial, transitions, shape.has_transition, tuple(emissions), end)


def _estimated(
    family: Family, sample: Weighted, weight: Array, fixed: frozenset[str], rng: np.random.Generator
) -> Family:
    """The family estimated with these weights; numeric steps are repeated, as the prototype may be far away."""
    known = sample.weighing(weight)
    estimated = family
    if isinstance(family, Mixture) and len(sample.x):
        estimated = family.maximised(known, _components(family, known, fixed, rng), fixed)
    for _ in range(3):
        estimated = estimated.maximise(known, fixed)
    return estimated


def _shares(
    family: Family,
    sample: Weighted,
    uses: Array,
    k: int,
    rng: np.random.Generator,
    scattered: bool,
    fixed: frozenset[str],
) -> Array:
    """(r, K): the share of each row that goes to each state."""
    if k == 1 or not len(sample.x):
        return np.full((len(sample.x), k), 1.0 / k)
    if family.space.kind is Kind.SYMBOLS or not family.n_features:
        return rng.dirichlet(np.full(k, 0.5), size=len(sample.x))
    if scattered:
        # A few observations for each state and a little of all others: equal shares of all would make all states alike.
        few = rng.gamma(HANDFUL / max(len(sample.x), HANDFUL), size=(len(sample.x), k)) + 1e-300
        return np.asarray(PURE * few / few.sum(axis=0) + (1.0 - PURE) / len(few))
    points = _points(family, sample, fixed)
    centres = heaps(points, uses, k, rng)
    heap = _nearest(points, centres)
    share = np.full((len(points), k), (1.0 - PURE) / k)
    share[np.arange(len(points)), heap] += PURE
    return share


def _components(family: Mixture, known: Weighted, fixed: frozenset[str], rng: np.random.Generator) -> Array:
    """(r, K, C): the observations of each state shared out among its components, by clusters of their own."""
    points, count = _points(family, known, fixed), len(family.components)
    share = np.full((len(points), known.weight.shape[1], count), (1.0 - PURE) / count)
    for s, weight in enumerate(known.weight.T):
        if weight.sum() > 0:
            heap = _nearest(points, heaps(points, weight, count, rng))
            share[np.arange(len(points)), s, heap] += PURE
        else:
            share[:, s] = 1.0 / count
    return share


def _points(family: Family, sample: Weighted, fixed: frozenset[str]) -> Array:
    """(r, F'): coordinates for the clusters in units of their spread; unseen values are replaced by the mean."""
    x = np.where(sample.seen, sample.x, np.nan)
    if sample.bounded is not None and sample.lower is not None and sample.upper is not None:
        low, high = sample.lower[sample.bounded], sample.upper[sample.bounded]
        low, high = np.where(np.isfinite(low), low, high), np.where(np.isfinite(high), high, low)
        x[sample.bounded] = 0.5 * (low + high)
    missing = np.isnan(x)
    with np.errstate(invalid="ignore"):
        middle = np.where(missing.all(axis=0), 0.0, np.nansum(x, axis=0) / np.maximum((~missing).sum(axis=0), 1))
    points = family.heap_coordinates(np.where(missing, middle, x), fixed)
    return points / spread(points)


def heaps(points: Array, uses: Array, k: int, rng: np.random.Generator) -> Array:
    """(K, F'): centres by k-means++ and a few rounds of k-means, in the order of their first coordinate."""
    chance = uses / uses.sum()
    index = rng.choice(len(points), size=min(MOST, len(points)), replace=len(points) < MOST, p=chance)
    some = points[index]
    centres = some[rng.integers(len(some))][None]
    while len(centres) < k:
        far = _distances(some, centres).min(axis=1)
        total = far.sum()
        chosen = rng.choice(len(some), p=far / total) if total > 0 else rng.integers(len(some))
        centres = np.vstack([centres, some[chosen]])
    for _ in range(int(rng.integers(1, 8))):
        heap = _nearest(some, centres)
        for s in range(k):
            if (heap == s).any():
                centres[s] = some[heap == s].mean(axis=0)
    return np.asarray(centres[np.argsort(centres[:, 0], kind="stable")])


def _distances(points: Array, centres: Array) -> Array:
    return np.asarray(np.square(points[:, None, :] - centres).sum(axis=2))


def _nearest(points: Array, centres: Array) -> IntArray:
    return np.asarray(_distances(points, centres).argmin(axis=1))


def _sparse(rng: np.random.Generator, k: int, rows: int) -> Array:
    """(rows, K): random laws concentrated on few entries, none of them zero."""
    drawn = rng.dirichlet(np.full(k, 1.0 / k), size=rows) + 1e-3
    return np.asarray(drawn / drawn.sum(axis=1, keepdims=True))


def _edges(
    shape: Model, problem: Problem, share: Array, rng: np.random.Generator, random: bool
) -> tuple[Array, Array | None]:
    """Transitions counted between shares of parents and children, shrunk towards a random probability of staying."""
    forest, k = problem.forest, shape.n_states
    of_node = share if problem.rows.row_of is None else share[problem.rows.row_of]
    up = np.arange(-1, forest.n_nodes - 1) if forest.parent is None else forest.parent
    child = np.ones(forest.n_nodes, dtype=np.bool_)
    child[forest.roots] = False
    nodes = np.flatnonzero(child)
    stay = rng.uniform(0.3, 0.9)
    smooth = stay * np.eye(k) + (1.0 - stay) * rng.dirichlet(np.ones(k), size=k)
    met = np.zeros_like(shape.transitions)
    groups = len(shape.transitions)
    for g in range(groups):
        if random:
            met[g] = _sparse(rng, k, k)
            continue
        mine = nodes if groups == 1 or forest.group is None else nodes[forest.group[nodes] == g]
        met[g] = of_node[up[mine]].T @ of_node[mine]
        met[g] += max(1.0, 0.5 * len(mine) / k) * smooth + 1e-3
    met /= met.sum(axis=2, keepdims=True)
    if shape.end is None:
        return met, None
    stop = np.full(k, min(0.5, forest.n_trees / forest.n_nodes))
    return met * (1.0 - stop)[None, :, None], stop
