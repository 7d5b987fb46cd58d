"""Product kernels of two models: co-emission, and the joint one of any power (definitions (10.1), (10.2))."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, expm1, inf, isinf
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from hidiv.arguments import number
from hidiv.divergences.measures.close_models import complement
from hidiv.divergences.measures.measure import Measure
from hidiv.divergences.observed.interval import UNIT
from hidiv.divergences.pair import Pair, families, of_models
from hidiv.emissions.product_integrals import log_products
from hidiv.errors import HidivError, refuse
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.recursions.product_pairs import product_pairs
from hidiv.recursions.subtrees import Subtrees, listed_subtrees, regular_subtrees, structure
from hidiv.types import Array, Flags

LOST, ENOUGH = 2e-15, 1e-13  # rounding of a logarithm relative to its size, and the relative error wanted
ROUNDS = 100  # of a power iteration
LEAST = 1e-200  # of a bound of a spectral radius: smaller ones would be lost on the way
NEAR = 0.7  # -log of a normalised kernel below which one less it is computed from differences


def product_kernel(p: Any, q: Any, tree: Any, beta: float = 1.0, normalized: bool = True) -> Measure:
    """The joint product kernel of two models, exact; at beta = 1 of the observed processes, without labels.

    Parameters
    ----------
    p, q : Model or fitted model of a supported library
        The two models, with any numbers of states.
    tree : Tree, int or None
        The tree, or the length of a chain. None gives the rate along an endless chain: the logarithm of the kernel a
        step.
    beta : float, default 1.0
        The power of the probabilities, above 0. 1 sums p(x) q(x) over the observations; 1/2 bounds the Bhattacharyya
        coefficient from above (`bhattacharyya`).
    normalized : bool, default True
        Whether to divide by the square root of the kernels of each model with itself: then it lies in [0, 1], and at
        beta = 1 is 1 only for equal laws of the observations.

    Returns
    -------
    Measure
        The value, with `log` where it underflows and `complement`, one less the value, with its own digits.

    Raises
    ------
    IncompatibleModels
        Where the models do not belong on the tree or not together, or on chains of random length.
    OutOfRange
        Where a density to the power 2 beta has no finite integral.

    Notes
    -----
    Jebara, Kondor and Howard (2004); for beta = 1 Lyngso, Pedersen and Nielsen (1999). Definitions (10.1) and (10.2). A
    positive semidefinite kernel on models.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]))
    >>> q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))
    >>> round(hd.product_kernel(p, q, 10).value, 10)
    0.0132134747
    """
    beta = float(number("beta", beta))
    if not (beta > 0 and np.isfinite(beta)):
        refuse(HidivError, "beta", "must be above 0", beta)
    pair = Pair.of(p, q, tree)
    name = f"{'' if normalized else 'unnormalised '}product kernel" + ("" if beta == 1.0 else f" of power {beta:g}")
    if pair.tree is None:
        return _rate(pair, beta, normalized, name)
    place = pair.known_tree("the product kernel needs")
    if not normalized:
        log = log_kernel(pair.p, pair.q, place, beta)
        return Measure(_exp(log), name, log=log, subject=pair.both)
    log, rest = log_normalized(pair, place, beta)
    value = 1.0 - rest if rest < 0.5 else _exp(log)
    return Measure(value, name, log=log, complement=rest, subject=pair.both)


def coemission(p: Any, q: Any, tree: Any) -> Measure:
    """The co-emission probability: the sum over all observations of p(x) q(x), exact.

    Parameters
    ----------
    p, q : Model or fitted model of a supported library
        The two models, with any numbers of states.
    tree : Tree, int or None
        The tree, or the length of a chain; None for the logarithm a step of an endless one.

    Returns
    -------
    Measure
        The probability that both models show the same; for continuous observations the integral of the product of the
        densities, which may be above 1. `log` holds the logarithm where it underflows.

    Notes
    -----
    `product_kernel` with beta = 1, not normalised (definitions (10.1)).

    Examples
    --------
    >>> import hidiv as hd
    >>> coins = [hd.Model([1.0], [[1.0]], hd.Bernoulli([prob])) for prob in (0.5, 0.75)]
    >>> hd.coemission(*coins, 3)
    co-emission probability of p and q on a chain of 3 nodes = 0.125, exact
    """
    result = product_kernel(p, q, tree, 1.0, normalized=False)
    name = "co-emission probability" if result.per is None else "co-emission"
    return Measure(result.value, name, log=result.log, unit=result.unit, per=result.per, subject=result.subject)


def log_normalized(pair: Pair, tree: Tree, beta: float) -> tuple[float, float]:
    """log of the normalised kernel, and one less it; both with their digits."""
    kinds = subtrees_of(tree, max(pair.p.n_groups, pair.q.n_groups) > 1)
    cross = log_kernel(pair.p, pair.q, tree, beta, kinds)
    own = [log_kernel(m, m, tree, beta, kinds) for m in (pair.p, pair.q)]
    if isinf(cross):
        return -inf, 1.0
    log = min(cross - 0.5 * (own[0] + own[1]), 0.0)
    if pair.p == pair.q:
        return 0.0, 0.0
    # Differences of logarithms lose what differences of the models keep.
    if log > -NEAR and LOST * (1.0 + abs(own[0]) + abs(own[1])) > ENOUGH * -expm1(log):
        drift = (own[0] - cross) / float(tree.n_nodes)
        rest = complement(with_like_states(pair), kinds, beta, drift) if pair.same_states else None
        if rest is not None and rest < 0.6:
            return float(np.log1p(-rest)), rest
    return log, -expm1(log)


@of_models
def half_products(pair: Pair) -> Array:
    """(G, K, K'): log of the integrals of sqrt(e_s e'_t), by group."""
    return np.stack([log_products(a, b, 0.5) for a, b in pair.families()])


def with_like_states(pair: Pair) -> Pair:
    """The same two processes, q's states in the order whose emissions are the most like those of p."""
    cost = np.maximum(pair.once(half_products), -1e6).sum(axis=0)
    # Among equal emissions the labels stay as they are.
    order = linear_sum_assignment(cost + 1e-9 * np.eye(pair.p.n_states), maximize=True)[1]
    if (order == np.arange(len(order))).all():
        return pair
    return Pair(pair.p, pair.q.relabel(order), pair.tree)


def log_kernel(p: Model, q: Model, tree: Tree, beta: float, kinds: Subtrees | None = None) -> float:
    """log of the product kernel; -inf where no word is possible for both."""
    phi = np.stack([log_products(a, b, beta) for a, b in families(p, q)])
    return log_sum(p, q, tree, beta, phi, kinds)


def log_sum(p: Model, q: Model, tree: Tree, power: float, log_phi: Array, kinds: Subtrees | None = None) -> float:
    """log of the sum over both state paths of (p(s) q(s'))^power times e^log_phi (G, K, K') of the nodes."""
    if kinds is None:
        kinds = subtrees_of(tree, max(p.n_groups, q.n_groups) > 1)
    left = (p.initial**power)[None], np.ascontiguousarray((p.transitions**power)[None])
    right = (q.initial**power)[:, None], np.ascontiguousarray((q.transitions**power)[..., None])
    table = np.ascontiguousarray(log_phi[:, None, :, :, None])
    return float(product_pairs(structure(kinds), left, right, table, 1)[0, 0])


def subtrees_of(tree: Tree, grouped: bool, level_weights: Array | None = None) -> Subtrees:
    """The kinds of subtrees of a tree, with groups told apart only where some model has them."""
    if tree.kind == "regular" or (tree.kind == "chain" and (tree.group is None or not grouped)):
        return regular_subtrees(tree.children or 1, tree.depth, grouped and tree.kind == "regular", level_weights)
    group = tree.group if grouped and tree.group is not None else np.zeros(tree.n_nodes, dtype=np.int64)
    return listed_subtrees(tree.parent, group, tree.level, level_weights)


def _exp(log: float) -> float:
    """e^log, +inf beyond the range of doubles."""
    return inf if log > 709.78 else exp(log)


def _rate(pair: Pair, beta: float, normalized: bool, name: str) -> Measure:
    """The logarithm of the kernel a step along an endless chain."""
    value = log_radius(pair.p, pair.q, beta)
    notes = []
    if normalized and value > -inf:
        value = min(value - 0.5 * (log_radius(pair.p, pair.p, beta) + log_radius(pair.q, pair.q, beta)), 0.0)
    if value == -inf:
        notes = ["no long word is possible for both models"]
    value = 0.0 if normalized and pair.p == pair.q else value
    return Measure(value, f"log {name}", unit="nats", per="step", notes=notes, subject=pair.both)


def log_radius(p: Model, q: Model, beta: float) -> float:
    """log of the spectral radius of the map of pairs of states, on what the initial laws reach."""
    log_phi = log_products(p.emissions[0], q.emissions[0], beta)
    reached = _reached(p, q, log_phi)
    if not reached.any():
        return -inf
    top = float(log_phi[reached].max())
    phi = np.exp(np.where(reached, log_phi, -inf) - top).ravel()
    step = np.kron(p.transitions[0] ** beta, q.transitions[0] ** beta) * phi
    inside = step[np.ix_(reached.ravel(), reached.ravel())]
    radius = float(np.abs(np.linalg.eigvals(inside)).max(initial=0.0))
    return top + float(np.log(radius)) if radius > 0 else -inf


def log_radius_above(p: Model, q: Model, log_phi: Array) -> float:
    """An upper bound on `log_radius` of power 1/2."""
    reached = _reached(p, q, log_phi)
    if not reached.any():
        return -inf
    top = float(log_phi[reached].max())
    phi = np.where(reached, np.exp(np.clip(log_phi - top, np.log(LEAST), 0.0)), 0.0)  # raised where it would be lost
    left, right = np.sqrt(p.transitions[0]), np.sqrt(q.transitions[0])
    best = max(radius_above(lambda v: left @ (phi * v) @ right.T, reached), LEAST)
    off = 64.0 * UNIT * (p.n_states + q.n_states + 8.0)
    return top + float(np.log(best)) + off * (1.0 + abs(top))


def _reached(p: Model, q: Model, log_phi: Array) -> Flags:
    """(K, L): pairs of states with a product above zero that the initial laws lead to, in booleans."""
    possible = log_phi > -inf
    reached = possible & np.outer(p.initial > 0, q.initial > 0)
    left, right = (np.asarray(m.transitions[0]) > 0 for m in (p, q))
    while True:
        further = reached | (possible & (left.T @ reached @ right))
        if (further == reached).all():
            return np.asarray(reached)
        reached = further


def radius_above(step: Callable[[Array], Array], reached: Flags) -> float:
    """An upper bound on the spectral radius of a non-negative map: with step(v) <= r v for a v > 0 it is at most r."""
    v = np.where(reached, 1.0, 0.0)
    best = inf
    for _ in range(ROUNDS):
        ahead = step(v)
        best = min(best, float((ahead[reached] / v[reached]).max()))
        v = np.where(reached, np.maximum(v / v.max() + ahead / max(float(ahead.max()), 1e-300), 1e-100), 0.0)
    return best
