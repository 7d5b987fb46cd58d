"""The paper's plain Monte Carlo, with its standard error, to stand beside every exact value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf, sqrt
from typing import Any, Literal

import numpy as np

from hidiv.adapters.as_model import as_models
from hidiv.arguments import Seed, generator
from hidiv.divergences.comparable import check_length
from hidiv.divergences.joint.kl import check_joint
from hidiv.divergences.posterior.kl import check_posterior, pair_tables, refuse_if_impossible
from hidiv.divergences.remedy import advised
from hidiv.divergences.result import Divergence
from hidiv.divergences.subject import subject
from hidiv.errors import HidivError, ImpossibleEvidence, IncompatibleModels, refuse
from hidiv.inference.likelihood import log_likelihood
from hidiv.inference.many_likelihoods import log_likelihoods
from hidiv.inference.sampling import BLOCK, check_size, draw_observations, draw_states
from hidiv.models.groups import check_groups
from hidiv.models.model import Model
from hidiv.models.tree import Tree, as_tree
from hidiv.progress import Progress, Wanted, reported
from hidiv.recursions.posterior_draws import sample_states
from hidiv.recursions.posterior_sweep import posterior
from hidiv.recursions.terms import log_ratio
from hidiv.types import Array, IntArray

Quantity = Literal["joint", "posterior", "observed"]

Z95 = 1.959963984540054  # two-sided 95 % of a normal law


@reported
@advised
def montecarlo(
    p: Any,
    q: Any,
    tree: Any,
    *,
    quantity: Quantity = "joint",
    evidence: Any = None,
    samples: int = 1000,
    seed: Seed = None,
    keep_finished: bool = False,
    progress: Wanted = None,  # for @reported
) -> Divergence:
    """Mean of log p/q over draws from p, with standard error and 95 % interval (definitions (5.8)); always an estimate.

    joint: states and observations drawn together; posterior: states drawn given `evidence`; observed: observations
    drawn, states summed out. +inf as soon as one draw is impossible under q. Ctrl-C raises KeyboardInterrupt; with
    keep_finished=True it ends the drawing, and the estimate is that of the draws so far.

    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]))
    >>> q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))
    >>> hd.montecarlo(p, q, 10, samples=1000, seed=1)
    joint divergence D(p || q) on a chain of 10 nodes = 5.40850104627 nats, estimate (standard error 0.1, 1000 samples)
    """
    p, q = as_models(p, q)
    count = check_size(samples)
    rng = generator(seed)
    if quantity != "posterior" and evidence is not None:
        refuse(HidivError, "evidence", 'belongs to quantity="posterior"', quantity)
    if quantity == "joint":
        on = check_joint(p, q, tree)
        if not isinstance(on, Tree):
            refuse(IncompatibleModels, "tree", "Monte Carlo needs a tree of known size", "UNTIL_END")
        draws = _joint(p, q, on, count, rng)
    elif quantity == "posterior":
        if evidence is None:
            refuse(HidivError, "evidence", 'is needed with quantity="posterior"')
        on, draws = _posterior(p, q, tree, evidence, count, rng)
    elif quantity == "observed":
        on = as_tree(tree)
        check_length(p, q, until_end=False)
        check_groups(p, on, "p")
        check_groups(q, on, "q")
        draws = _observed(p, q, on, count, rng)
    else:
        refuse(HidivError, "quantity", 'must be "joint", "posterior" or "observed"', quantity)
    drawn: list[Array] = []
    notes: list[str] = []
    try:
        for block in draws:
            drawn.append(block)  # not a list at once: an interrupt keeps these
    except KeyboardInterrupt:
        done = sum(len(block) for block in drawn)
        if not keep_finished or done < 2:
            raise
        notes = [f"interrupted after {done} of {count} draws"]
    return replace(estimate(quantity, np.concatenate(drawn), subject(p, q, on)), notes=notes)


def estimate(quantity: Quantity, draws: Array, about: str) -> Divergence:
    """Mean, standard error and normal 95 % interval of independent draws."""
    count = len(draws)
    if np.isinf(draws).any():
        at = int(np.argmax(np.isinf(draws)))
        return Divergence(
            inf,
            quantity,
            "estimate",
            inf,
            inf,
            None,
            count,
            infinite=[f"draw {at} from p is impossible under q"],
            subject=about,
        )
    size = max(float(np.abs(draws).max(initial=0.0)), 1.0)  # squares of draws beyond 1e154 would overflow
    mean = float((draws / size).mean()) * size
    error = float((draws / size).std(ddof=1)) * size / sqrt(count) if count > 1 else inf
    return Divergence(mean, quantity, "estimate", mean - Z95 * error, mean + Z95 * error, error, count, subject=about)


def _joint(p: Model, q: Model, tree: Tree, count: int, rng: np.random.Generator) -> Iterator[Array]:
    """log p(S, X) / q(S, X) of draws from p."""
    for size in _blocks(count, tree.n_nodes):
        states = draw_states(p, tree, size, rng)
        x = draw_observations(p, tree, states, rng).reshape(size, tree.n_nodes, -1)
        total = _path_ratio(p, q, tree, states)
        for g in range(max(len(p.emissions), len(q.emissions))):
            a, b = (model.emissions[min(g, len(model.emissions) - 1)] for model in (p, q))
            nodes = (
                np.arange(tree.n_nodes)
                if len(p.emissions) == len(q.emissions) == 1
                else np.flatnonzero(tree.group == g)
            )
            if nodes.size and a.n_features:
                ratios = a.complete().log_ratio(b.complete(), x[:, nodes].reshape(size * nodes.size, -1))
                own = np.take_along_axis(ratios, states[:, nodes].reshape(-1, 1), axis=1)
                total += own.reshape(size, nodes.size).sum(axis=1)
        yield -total


def _path_ratio(p: Model, q: Model, tree: Tree, states: IntArray) -> Array:
    """(count,): log q(S) / p(S) of states drawn from p."""
    table = log_ratio(p.transitions, q.transitions)
    group = np.zeros(tree.n_nodes, dtype=np.int64) if len(table) == 1 or tree.group is None else tree.group
    steps = table[group[1:], states[:, tree.parent[1:]], states[:, 1:]]
    return np.asarray(log_ratio(p.initial, q.initial)[states[:, 0]] + steps.sum(axis=1))


def _posterior(
    p: Model, q: Model, tree: Any, evidence: Any, count: int, rng: np.random.Generator
) -> tuple[Tree, Iterator[Array]]:
    """log p(S | E) / q(S | E) of draws from p's posterior."""
    check_posterior(p, q, "states", None)
    pair, layout, on = pair_tables(p, q, evidence, tree, "states", None)
    found = posterior(pair, layout)
    refuse_if_impossible(p, q, found)
    # log q(E) / p(E); where the divergence is infinite the recursion stops before it.
    shift = log_likelihood(q, evidence, on) - log_likelihood(p, evidence, on)
    rows = layout.rows(np.arange(on.n_nodes))

    def draws() -> Iterator[Array]:
        for size in _blocks(count, on.n_nodes):
            states, _ = sample_states(pair.p, layout, rng.random((size, on.n_nodes)))
            weights = pair.weight_ratio[rows, states].sum(axis=1)
            yield shift - _path_ratio(p, q, on, states) - weights

    return on, draws()


def _observed(p: Model, q: Model, tree: Tree, count: int, rng: np.random.Generator) -> Iterator[Array]:
    """log p(X) / q(X) of draws from p."""
    for size in _blocks(count, tree.n_nodes):
        x = draw_observations(p, tree, draw_states(p, tree, size, rng), rng)
        yield log_likelihoods(p, x, tree) - log_likelihoods(q, x, tree)


def log_likelihood_or_zero(q: Model, x: Array, tree: Tree) -> float:
    """log q(x), -inf where q cannot produce x."""
    try:
        return log_likelihood(q, x, tree)
    except ImpossibleEvidence:
        return -inf


def _blocks(count: int, n_nodes: int) -> Iterator[int]:
    """Draws in portions that fit in memory."""
    at_once = max(1, BLOCK // (4 * n_nodes))
    with Progress("drawing") as progress:
        for done in range(0, count, at_once):
            progress.show(done / count, f"{done} of {count} draws")
            yield min(at_once, count - done)
