"""The paper's plain Monte Carlo with its standard error, for comparison with exact values (definitions (5.8))."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import inf, sqrt
from typing import Any

import numpy as np

from hidiv.arguments import Seed, generator
from hidiv.divergences.forest import over_forest
from hidiv.divergences.infinite import infinite
from hidiv.divergences.pair import Pair, is_forest
from hidiv.divergences.posterior.kl import check_posterior, pair_tables, refuse_if_impossible
from hidiv.divergences.quantities import Quantity
from hidiv.divergences.result import Divergence
from hidiv.errors import HidivError, OutOfRange, refuse
from hidiv.inference.likelihood import log_likelihood, log_likelihoods
from hidiv.inference.rows import evidence_and_tree
from hidiv.inference.sampling import BLOCK, check_size, draw_observations, draw_states
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.progress import Progress, Wanted, reported
from hidiv.recursions.posterior_draws import sample_states
from hidiv.recursions.posterior_sweep import posterior
from hidiv.recursions.terms import log_ratio
from hidiv.types import Array, IntArray

Z95 = 1.959963984540054  # two-sided 95 % of a normal law


@reported
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
    """Plain Monte Carlo estimate of a divergence: the mean of log p/q over draws from p.

    Parameters
    ----------
    p, q : Model or fitted model of a supported library
        The two models.
    tree : Tree, int or list
        The tree, or the length of a chain; None is the chain as long as the evidence. A list of trees or lengths is a
        forest of independent trees, each of them drawn `samples` times; trees that are alike are drawn once.
    quantity : {"joint", "posterior", "observed"}, default "joint"
        Draw states and observations together; states given `evidence`; or observations, with states summed out.
    evidence : Evidence or array, optional
        What is known, for the posterior divergence.
    samples : int, default 1000
        How many draws.
    seed : int or Generator, optional
        The seed of the draws.
    keep_finished : bool, default False
        Whether Ctrl-C ends the drawing and gives the estimate of the draws so far, instead of a KeyboardInterrupt.
    progress : bool or callable, optional
        Whether to show progress, or a function that is called with it.

    Returns
    -------
    Divergence
        An estimate with its standard error and 95 % interval. +inf as soon as one draw is impossible under q.

    Raises
    ------
    IncompatibleModels
        Where the models do not belong on the tree or not together.
    ImpossibleEvidence
        Where either model cannot produce the evidence.

    Notes
    -----
    Definitions (5.8).

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]))
    >>> q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))
    >>> hd.montecarlo(p, q, 10, samples=1000, seed=1)
    joint divergence D(p || q) on a chain of 10 nodes = 5.40850104627 nats, estimate (standard error 0.1, 1000 samples)
    """
    count, rng = check_size(samples), generator(seed)
    if is_forest(tree) and quantity != "posterior":
        drawn = partial(montecarlo, p, q, quantity=quantity, evidence=evidence, samples=samples, seed=rng)
        return over_forest(tree, lambda one: drawn(one, keep_finished=keep_finished))
    if quantity != "posterior" and evidence is not None:
        refuse(HidivError, "evidence", 'belongs to quantity="posterior"', quantity)
    if quantity == "posterior":
        if evidence is None:
            refuse(HidivError, "evidence", 'is needed with quantity="posterior"')
        pair, draws = _posterior(Pair.models(p, q), tree, evidence, count, rng)
    elif quantity in ("joint", "observed"):
        pair = Pair.on_tree(p, q, tree, by_states="joint" if quantity == "joint" else None)
        pair.known_tree("Monte Carlo needs")
        draws = (_joint if quantity == "joint" else _observed)(pair, count, rng)
    else:
        refuse(HidivError, "quantity", 'must be "joint", "posterior" or "observed"', quantity)
    blocks: list[Array] = []
    notes: list[str] = []
    try:
        for block in draws:
            blocks.append(block)  # not a list at once: an interrupt keeps these
    except KeyboardInterrupt:
        done = sum(len(block) for block in blocks)
        if not keep_finished or done < 2:
            raise
        notes = [f"interrupted after {done} of {count} draws"]
    return _estimate(pair, quantity, np.concatenate(blocks), notes)


def _estimate(pair: Pair, quantity: Quantity, draws: Array, notes: list[str]) -> Divergence:
    """Mean, standard error and normal 95 % interval of independent draws (n,)."""
    count = len(draws)
    if np.isinf(draws).any():
        reason = f"draw {int(np.argmax(np.isinf(draws)))} from p is impossible under q"
        return infinite(pair, quantity, [reason], "estimate", n_samples=count, notes=notes)
    size = max(float(np.abs(draws).max(initial=0.0)), 1.0)  # squares of draws beyond 1e154 would overflow
    mean = float((draws / size).mean()) * size
    error = float((draws / size).std(ddof=1)) * size / sqrt(count) if count > 1 else inf
    interval = mean - Z95 * error, mean + Z95 * error
    return Divergence(mean, quantity, "estimate", *interval, error, count, notes=notes, subject=pair.subject)


def _joint(pair: Pair, count: int, rng: np.random.Generator) -> Iterator[Array]:
    """log p(S, X) / q(S, X) of draws from p, in blocks."""
    p, q, tree = pair.p, pair.q, pair.known_tree("Monte Carlo needs")
    pairs = pair.families()
    for size in _blocks(count, tree.n_nodes):
        states = draw_states(p, tree, size, rng)
        x = draw_observations(p, tree, states, rng).reshape(size, tree.n_nodes, -1)
        total = _path_ratio(p, q, tree, states)
        for g, (a, b) in enumerate(pairs):
            nodes = np.arange(tree.n_nodes) if len(pairs) == 1 else np.flatnonzero(tree.group == g)
            if nodes.size and a.n_features:
                ratios = a.complete().log_ratio(b.complete(), x[:, nodes].reshape(size * nodes.size, -1))
                own = np.take_along_axis(ratios, states[:, nodes].reshape(-1, 1), axis=1)
                own = own.reshape(size, nodes.size)
                with np.errstate(over="ignore"):
                    added = own.sum(axis=1)
                if (np.isinf(added) & np.isfinite(own).all(axis=1)).any():  # not for a zero of q
                    rule = "have log-ratios beyond the range of doubles"
                    refuse(OutOfRange, "draws", rule, remedy="rescale the observations, or use fewer nodes")
                total += added
        yield -total


def _path_ratio(p: Model, q: Model, tree: Tree, states: IntArray) -> Array:
    """(count,): log q(S) / p(S) of states (count, n) drawn from p."""
    table = log_ratio(p.transitions, q.transitions)
    group = np.zeros(tree.n_nodes, dtype=np.int64) if len(table) == 1 or tree.group is None else tree.group
    steps = table[group[1:], states[:, tree.parent[1:]], states[:, 1:]]
    return np.asarray(log_ratio(p.initial, q.initial)[states[:, 0]] + steps.sum(axis=1))


def _posterior(
    models: Pair, tree: Any, evidence: Any, count: int, rng: np.random.Generator
) -> tuple[Pair, Iterator[Array]]:
    """The pair on the tree of the evidence, and log p(S | E) / q(S | E) of draws from p's posterior, in blocks."""
    p, q = models.p, models.q
    check_posterior(p, q, "states", None)
    known, place = evidence_and_tree(evidence, tree)
    tables, layout = pair_tables(p, q, known, place, "states", None)
    refuse_if_impossible(p, q, posterior(tables, layout))
    # log q(E) / p(E); where the divergence is infinite the recursion stops before it.
    shift = log_likelihood(q, known, place) - log_likelihood(p, known, place)
    rows = layout.rows(np.arange(place.n_nodes))

    def draws() -> Iterator[Array]:
        for size in _blocks(count, place.n_nodes):
            states, _ = sample_states(tables.p, layout, rng.random((size, place.n_nodes)))
            weights = tables.weight_ratio[rows, states].sum(axis=1)
            yield shift - _path_ratio(p, q, place, states) - weights

    return Pair(p, q, place), draws()


def _observed(pair: Pair, count: int, rng: np.random.Generator) -> Iterator[Array]:
    """log p(X) / q(X) of draws from p, in blocks."""
    p, q, tree = pair.p, pair.q, pair.known_tree("Monte Carlo needs")
    for size in _blocks(count, tree.n_nodes):
        x = draw_observations(p, tree, draw_states(p, tree, size, rng), rng)
        yield log_likelihoods(p, x, tree) - log_likelihoods(q, x, tree)


def _blocks(count: int, n_nodes: int) -> Iterator[int]:
    """Sizes of blocks of draws that fit in memory."""
    at_once = max(1, BLOCK // (4 * n_nodes))
    with Progress("drawing") as progress:
        for done in range(0, count, at_once):
            progress.show(done / count, f"{done} of {count} draws")
            yield min(at_once, count - done)
